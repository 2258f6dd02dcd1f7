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
from lowlift._wording import counted
from lowlift.codebook import Codebook
from lowlift.confidence import lift_intervals
from lowlift.criteria import AtMost, BuiltIn, Criterion, Population, plain_criterion
from lowlift.criteria.protocol import epsilon_of
from lowlift.encodings import Encoded, described
from lowlift.encodings.rows import RowChanges
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.report import Beside, Number, Point, Report
from lowlift.report.limits import is_merged, is_too_small
from lowlift.tables import Schema, open_table
from lowlift.tables.schema import OF_CELLS, ROWS
from lowlift.tables.sources import is_frame_name
from lowlift.workflow.cautions import cautions
from lowlift.workflow.columns import per_column
from lowlift.workflow.curves import tradeoff_of
from lowlift.workflow.designing import Design, TableAudit
from lowlift.workflow.profiling import profile_table
from lowlift.workflow.repeating import (
    apply_command,
    sanitize_command,
    verify_command,
    what_is_drawn,
    wrapped,
)
from lowlift.workflow.sanitizing import Sanitized, files_beside

#: Budgets of the curve around a release, as multiples of its own, the most telling first.
_FACTORS = (1.0, 2.0, 0.5, 4.0, 1.5, 0.25, 3.0, 0.75, 6.0)
#: What is said of a column that gives S away, or a part of it.
_TELLS = {
    *("same-as-sensitive", "determines-sensitive", "nearly-determines-sensitive"),
    "follows-from-sensitive",
}
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
    beside: Beside | None = None,
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
    beside
        What else is handed out with the table, and whether its codebook is.

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
    'The limit is kept'
    """
    if isinstance(found, Sanitized) and not found.verification.is_ok:
        raise BoundViolated("what was written is not verified, so there is no report on it.")
    facts = _facts(found)
    encoded: Encoded | None = facts.get("encoded")
    if isinstance(found, Sanitized):
        receipt = receipt or found.receipt
        recipient = recipient or found.recipient
        facts |= _verified(found)
        withheld = found.codebook.warnings if beside and beside.is_codebook_withheld else ()
        facts["cautions"] = tuple(text for text in found.warnings if text not in withheld)
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
    facts |= {"analysis": analysis, "recipient": recipient, "beside": beside or Beside()}
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


def _verified(found: Sanitized) -> dict[str, Any]:
    """Return how many checks hold of what was written, and what its columns tell."""
    checks = found.verification.checks
    accepted = len(found.verification.exceptions)
    words = f"{sum(check.is_ok for check in checks)} of {counted(len(checks), 'check')}"
    words += f", {accepted} accepted although not so" if accepted else ""
    facts: dict[str, Any] = {"verified": words}
    if found.source is not None:  # rows, of which others may recognise one
        schema = found.design.spec.schema
        facts["tells"] = columns_that_tell(found.source, found.engine, schema)
    return facts


def columns_that_tell(source: Any, engine: str | None, schema: Schema) -> tuple[str, ...]:
    """Return the published columns that give a protected one away, or a part of it."""
    bins = {name: schema.bins[name] for name in schema.sensitive if name in schema.bins}
    with open_table(source, engine) as table:
        profile = profile_table(table, schema.sensitive, bins, is_alone=True)
    return tuple(
        column.name
        for column in profile.columns
        if column.name in schema.released and not _TELLS.isdisjoint(column.flags)
    )


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
    published = None if is_frame else receipt
    others = _other_commands(facts, published, source)
    target = output or ("safe.csv" if published is None else published.output)
    draws = "fresh" if receipt is None else receipt.draws
    drawn = what_is_drawn(draws, is_merged=is_merged(encoded))
    identity = None
    if draws == "keyed":
        identity = found.identity if isinstance(found, Sanitized) else "ID"
    if published is not None and identity:  # designed anew, it can be another release
        repeat = apply_command(source, target, published, identity)
        drawn += "" if isinstance(found, Sanitized) else " ID is the column of the ids."
        return (
            Number("Publish again by the same release and key", repeat, drawn),
            Number("Check what was published", verify_command(target, source)),
            *others,
        )
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
        identity=identity,
    )
    if facts["intervals"] and is_too_small(facts["intervals"], encoded.release.audit):
        drawn += (
            " If these people are a sample, add --for population to make a table for everybody "
            "behind them. Hand it out in place of this one."
        )
    commands = [Number(again, repeat, drawn)] if repeat else []
    if published is not None:
        commands.append(Number("Check what was published", verify_command(target, source)))
    return (*commands, *others)


def _other_commands(
    facts: dict[str, Any], published: Receipt | None, source: str
) -> tuple[Number, ...]:
    """Return the commands that audit and compare what was published with something else."""
    encoded: Encoded = facts["encoded"]
    if published is None:
        return ()
    files = files_beside(published.output)
    if encoded.name in OF_CELLS:
        if facts["analysis"] is not None:
            return ()
        words = ["lowlift", "report", str(files["release"]), "--receipt", str(files["receipt"])]
        words += ["--source", source, "--published", published.output]
        return (Number("Compare the published table with its source", wrapped(words)),)
    note = "OTHER is the release of the other table. Draws of both are taken to be independent."
    if published.draws == "fresh" and not is_merged(encoded):
        note += " By a key, with --id and --key-file the same release repeats its draws instead."
    words = ["lowlift", "audit", str(files["release"]), "OTHER.release.json"]
    return (Number("Audit it together with another table of these people", wrapped(words), note),)


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
        "values_kept": found.kept,
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
