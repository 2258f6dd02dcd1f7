"""The content of a release's file: written, read, and compared with what is recomputed."""

import math
from typing import TYPE_CHECKING, Any

from lowlift._audit import Audit
from lowlift._channel import Channel
from lowlift._distortion.certificate import certificate_from_dict
from lowlift._joint import Joint, unwarned
from lowlift._partition import Partition
from lowlift.criteria import criterion_on, from_dict, to_dict
from lowlift.errors import InvalidInput
from lowlift.tables.layouts import Layout, Refines
from lowlift.tables.schema import Origin

if TYPE_CHECKING:
    from lowlift._release import Release

#: Version 1 held the channel before its encoding, version 2 holds the channel that is published.
VERSION, BEFORE_ENCODING = 2, 1
#: Above every number of an audit, and small enough for a float.
_LARGEST = 1e300
_AUDITED = ("nmi", "mutual_information", "min_lift_leakage", "max_lift_leakage")


def content_of(release: "Release") -> dict[str, Any]:
    """Return what the file of a release holds."""
    joint, channel, audit = release.joint, release.channel, release.audit
    by_counts = joint.is_counted
    numbers: Any = joint.counts if by_counts else joint.masses
    return {
        "format": "lowlift-release",
        "version": VERSION if release.is_encoded else BEFORE_ENCODING,
        "confidential": "holds P(s, x): keep it with the data; publish the codebook instead",
        "mechanism": release.mechanism,
        "criterion": to_dict(release.criterion),
        "audit": {"is_satisfied": audit.is_satisfied}
        | {name: _number(getattr(audit, name)) for name in _AUDITED},
        "certificate": None if release.certificate is None else release.certificate.to_dict(),
        "partition": None if release.partition is None else list(release.partition),
        "channel": {
            "denominator": channel.denominator,
            "y_labels": channel.y_labels,
            "atoms": [channel.atom(y) for y in range(channel.n_y)],
        },
        "joint": {
            "s_labels": joint.s_labels,
            "x_labels": joint.x_labels,
            "counts" if by_counts else "p_sx": numbers.tolist(),
        },
        "table": release.table,
    } | {
        name: part.to_dict()
        for name, part in (("draws", release.draws), ("refines", release.refines))
        if part is not None  # other files stay as earlier versions read them
    }


def parts_of(saved: dict[str, Any]) -> dict[str, Any]:
    """Return what `Release.of` needs, from a content that fits the schema."""
    stored, part = saved["joint"], saved["channel"]
    make, key = (Joint.from_counts, "counts") if "counts" in stored else (Joint, "p_sx")
    with unwarned():
        joint = make(stored[key], stored["s_labels"], stored["x_labels"])
    if saved["table"] is not None:
        joint = joint.with_table(Origin.from_dict(saved["table"]))
    channel = Channel.from_atoms(joint, part["atoms"], part["denominator"], part["y_labels"])
    partition, certified = saved["partition"], saved["certificate"]
    if partition is not None:
        partition = Partition(_tuples(partition))
        _check_blocks(joint, channel, partition)
    return {
        "joint": joint,
        "channel": channel,
        "criterion": criterion_on(from_dict(saved["criterion"]), joint),
        "partition": partition,
        "certificate": None if certified is None else certificate_from_dict(certified),
        "mechanism": saved["mechanism"],
    }


def draws_of(saved: dict[str, Any], release: "Release") -> dict[str, Any]:
    """Return how a release is drawn by a key and what it refines, where its file says so."""
    found = dict[str, Any]()
    if "draws" in saved:
        found["draws"] = Layout.from_dict(saved["draws"])
        found["draws"].check(release.channel)
    if "refines" in saved:
        found["refines"] = Refines.from_dict(saved["refines"])
        if len(found["refines"].parents) != release.channel.n_y:
            raise InvalidInput("each output must say which output of the first it refines.")
    return found


def check_stored_audit(recomputed: Audit, stored: dict[str, Any], name: str) -> None:
    """Refuse a file whose audit is not the one recomputed from its channel."""
    is_same = stored["is_satisfied"] is recomputed.is_satisfied
    if not (is_same and all(_agree(stored[key], getattr(recomputed, key)) for key in _AUDITED)):
        raise InvalidInput(
            f"the audit stored in {name} disagrees with the one recomputed from its channel: "
            "the file was changed. Design the release again."
        )


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _agree(stored: Any, recomputed: float) -> bool:
    if isinstance(stored, str) or math.isinf(recomputed):
        return bool(stored == _number(recomputed))
    if abs(stored) > _LARGEST:
        return False
    # Displayed floats may differ in their last digits between machines; the verdict may not.
    return math.isclose(stored, recomputed, rel_tol=1e-9, abs_tol=1e-9)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value


def _check_blocks(joint: Joint, channel: Channel, partition: Partition) -> None:
    """Refuse a partition of other symbols, or one that an output's members straddle."""
    block_of = [partition.block_of[label] for label in joint.x_labels]
    used = [{block_of[x] for x in channel.atom(y)[0]} for y in range(channel.n_y)]
    is_coarser = channel.denominator == 1 and len(partition) != channel.n_y
    if len(partition.block_of) != joint.n_x or max(map(len, used)) > 1 or is_coarser:
        raise InvalidInput("the partition is not the channel's.")
