"""From what a step returned to a report on it."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from lowlift._cells.utility import Utility
from lowlift._joint import Joint
from lowlift._kernels.compilation import prepare
from lowlift._receipts import Receipt
from lowlift._release import Release
from lowlift.codebook import Codebook
from lowlift.confidence import lift_intervals
from lowlift.criteria import AtMost, BuiltIn, Criterion, Population, plain_criterion
from lowlift.criteria.protocol import epsilon_of
from lowlift.encodings import Encoded, described
from lowlift.encodings.rows import RowChanges
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.report import Number, Point, Report
from lowlift.tables.schema import OF_CELLS, ROWS
from lowlift.tables.sources import is_frame_name
from lowlift.workflow.cautions import cautions
from lowlift.workflow.columns import per_column
from lowlift.workflow.curves import tradeoff_of
from lowlift.workflow.designing import Design, TableAudit
from lowlift.workflow.repeating import sanitize_command, verify_command
from lowlift.workflow.sanitizing import Sanitized

#: Budgets of the curve around a release, as multiples of its own, the most telling first.
_FACTORS = (1.0, 2.0, 0.5, 4.0, 1.5, 0.25, 3.0, 0.75, 6.0)
#: The same for a release whose budget is 0, in nats.
_EPSILONS = (0.0, 1.0, 0.5, 2.0, 0.25, 4.0)
#: Seconds for the curve; steps |X|**2 |S| of merging in that time; the most symbols and cells for a
#: proven optimum.
_SECONDS, _STEPS, _SMALL, _CELLS = 1.0, 1e9, 14, 10_000


def report_of(
    found: TableAudit | Design | Sanitized | Release,
    *,
    points: Sequence[Point] | None = None,
    receipt: Receipt | None = None,
    round_to: float | None = None,
    analysis: Utility | None = None,
    recipient: str = "",
    output: str = "",
) -> Report:
    """Return the report on an audit, a design, a published table or a release.

    Parameters
    ----------
    found
        What a step of the workflow returned, or a release alone.
    points
        A trade-off curve; None runs the merging mechanisms around the release's budget, for about
        a second. Pass () for none.
    receipt
        What was published by the release; `Sanitized` has its own.
    round_to
        The step of probabilities in the public form, at least 0.01.
    analysis
        What the analyst gets of published rows; `Sanitized` is compared with its source.
    recipient
        Who gets what is published; `Sanitized` has its own where a ledger was told.
    output
        The file that the commands of the report name; by default the receipt's.

    Raises
    ------
    InvalidInput
        When the receipt is of another release.
    BoundViolated
        When what was written failed its verification.

    Examples
    --------
    >>> import lowlift as ll
    >>> release = ll.subset_merging(ll.datasets.titanic(), ll.ALIP(0.5, 0.5))
    >>> report_of(release, points=()).verdict.word
    'The bound holds'
    """
    if isinstance(found, Sanitized) and not found.verification.is_ok:
        raise BoundViolated("what was written is not verified, so there is no report on it.")
    facts = _facts(found)
    encoded: Encoded | None = facts.get("encoded")
    if isinstance(found, Sanitized):
        receipt = receipt or found.receipt
        recipient = recipient or found.recipient
        facts["cautions"] = found.warnings
    elif encoded is not None and encoded.name not in OF_CELLS:
        facts["cautions"] += _of_codebook(encoded, round_to)
    if receipt is not None:
        _refuse_other(receipt, encoded)
        facts["publication"] = receipt
    is_rows = encoded is not None and encoded.name in OF_CELLS
    if isinstance(found, Sanitized) and is_rows and analysis is None:
        analysis = found.utility() if found.source is not None else None
    if points is None:  # merging cells is no alternative to rows
        points = () if encoded is None or is_rows else _points_around(encoded.release)
    facts |= {"points": tuple(points), "round_to": 0.01 if round_to is None else round_to}
    facts |= {"analysis": analysis, "recipient": recipient}
    facts["commands"] = _commands(found, facts, output, round_to)
    return Report(**facts) if encoded is None else Report.of_release(**facts)


def report_of_curve(found: TableAudit, points: Sequence[Point]) -> Report:
    """Return the report on a trade-off: the table as it is, and the curve."""
    return Report(found.audit, **_audited(found), points=tuple(points), is_curve=True)


def _audited(found: TableAudit) -> dict[str, Any]:
    return {
        "columns": found.columns,
        "intervals": found.intervals,
        "origin": found.spec,
        "cautions": found.warnings,
        "notes": found.notes,
    }


def _of_codebook(encoded: Encoded, round_to: float | None) -> tuple[str, ...]:
    """Return what to know before the codebook of a release is published."""
    if not isinstance(encoded.release.criterion, BuiltIn):
        return ()
    return Codebook.of(encoded, round_to=round_to).warnings


def _commands(
    found: TableAudit | Design | Sanitized | Release,
    facts: dict[str, Any],
    output: str,
    round_to: float | None,
) -> tuple[Number, ...]:
    """Return the commands that repeat a release and check it; none for joints without a table."""
    encoded, origin, receipt = (facts.get(name) for name in ("encoded", "origin", "publication"))
    if encoded is None or origin is None:
        return ()
    made = found.design if isinstance(found, Sanitized) else found
    asked, mechanism = None, facts["mechanism"]
    if isinstance(made, Design):
        asked, mechanism = made.asked, "auto" if made.chosen.is_auto else mechanism
    is_rows = encoded.name in OF_CELLS
    if asked is None:  # of cells that were split, the file has the parts
        asked = origin.schema
        asked = replace(asked, cells=RowChanges.of(encoded.release).cells) if is_rows else asked
    is_frame = is_frame_name(origin.source)
    source, again = origin.source, "Design and publish again"
    if is_frame:
        source, again = "table.csv", f"{again}, with the frame saved as table.csv"
    has_file = receipt is not None and not is_frame
    written = receipt.output if receipt is not None and has_file else "safe.csv"
    target = output or written
    repeat = sanitize_command(
        asked,
        encoded.release.criterion,
        source,
        target,
        mechanism="auto" if is_rows else mechanism,
        encoding=None if encoded.name == ROWS else encoded.name,
        to=facts["recipient"],
        keep=receipt.kept if receipt is not None else (),
        round_to=round_to,
    )
    commands = [Number(again, repeat)] if repeat else []
    if has_file:
        commands.append(Number("Check what was published", verify_command(target, source)))
    return tuple(commands)


@singledispatch
def _facts(found: Any) -> dict[str, Any]:
    raise InvalidInput(
        "a report is on what audit_table, design or sanitize returned, or on a Release; got "
        f"{type(found).__name__}."
    )


@_facts.register
def _(found: TableAudit) -> dict[str, Any]:
    return {"raw": found.audit, **_audited(found)}


@_facts.register
def _(found: Design) -> dict[str, Any]:
    return {
        "encoded": found.encoded,
        "mechanism": found.chosen.name,
        "reason": found.chosen.reason,
        "certificate": found.release.certificate,
        "left_out": found.left_out,
        **_audited(found),
    }


@_facts.register
def _(found: Sanitized) -> dict[str, Any]:
    return _facts(found.design)


@_facts.register
def _(found: Release) -> dict[str, Any]:
    origin, encoded = found.origin, described(found)
    joint, channel = found.joint, encoded.channel
    return {
        "encoded": encoded,
        "mechanism": found.mechanism.replace("_", "-"),
        "certificate": found.certificate,
        "columns": per_column(joint, channel, found.criterion, origin.sensitive) if origin else (),
        "intervals": lift_intervals(joint, channel) if joint.is_counted else None,
        "origin": origin,
        "cautions": cautions(joint, origin.sensitive, origin.released) if origin else (),
    }


def _refuse_other(receipt: Receipt, encoded: Encoded | None) -> None:
    """Refuse a receipt of another release."""
    if encoded is None or receipt.release != encoded.release.fingerprint:
        raise InvalidInput(
            "the receipt must be of this release; its fingerprint is another. Name the receipt "
            "that lowlift apply wrote for this very release."
        )
    if (receipt.criterion, receipt.encoding) != (str(encoded.release.criterion), encoded.name):
        raise InvalidInput(
            "the receipt must be of this release; its bound or encoding is another. Name the "
            "receipt that lowlift apply wrote for this very release."
        )


def _points_around(release: Release) -> list[Point]:
    """Run the merging mechanisms at budgets around the release's own, in about a second."""
    joint, criterion = release.joint, release.criterion
    is_bounded = math.isfinite(min(criterion.lower, criterion.upper))
    plain, is_for_table = plain_criterion(criterion), not isinstance(criterion, Population)
    if not isinstance(plain, BuiltIn) or isinstance(plain, AtMost) or not is_bounded:
        return []
    epsilons = _epsilons_around(joint, criterion)
    prepare("merging", "partitions")  # not a part of the seconds
    end = time.perf_counter() + _SECONDS
    mechanisms = ["subset-merging", "watchdog"]
    if is_for_table and joint.n_x <= _SMALL and joint.n_x * joint.n_s <= _CELLS:
        mechanisms.insert(0, "optimal-merging")
    found = tradeoff_of(
        joint,
        criterion=criterion,
        mechanisms=mechanisms,
        epsilons=epsilons,
        time_limit=_SECONDS / 8,
        is_monotone=True,
        progress=lambda done, _: done % len(mechanisms) != 0 or time.perf_counter() < end,
    )
    return sorted(found, key=lambda point: (mechanisms.index(point.mechanism), point.epsilon))


def _epsilons_around(joint: Joint, criterion: Criterion) -> list[float]:
    own = epsilon_of(criterion)
    wanted = [own * factor for factor in _FACTORS] if own else list(_EPSILONS)
    steps = joint.n_x**2 * joint.n_s
    return wanted[: max(3, min(len(wanted), int(_STEPS / steps)))]
