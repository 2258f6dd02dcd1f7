"""The verdict in one sentence: the word comes from the exact audit, numbers say how it stands."""

import math
from typing import TYPE_CHECKING

from lowlift._audit import Audit
from lowlift._guarantees import (
    EMPTY,
    FAILS,
    HOLDS,
    UNPROVEN,
    ends_of,
    measured,
    promise_of,
    verdict_word,
)
from lowlift._rounding import at_least, at_most, percent_at_most
from lowlift._wording import capital, counted, joined, of_rows, percent, times
from lowlift.report import rows
from lowlift.report.records import Number, Verdict

if TYPE_CHECKING:
    from lowlift.report.report import Report

BEYOND = "Not for all that was published"
_TONES = {HOLDS: "good", FAILS: "bad", UNPROVEN: "plain", EMPTY: "plain", BEYOND: "bad"}
_NOTHING = "This bound is always kept, whatever is published: it promises nothing."
_EXACT = (
    "Decided exactly, in whole numbers: the counts of the table and the weights by which values "
    "are drawn. The numbers shown are rounded."
)


def verdict_of(report: "Report", *, is_public: bool = False) -> Verdict:
    """Return the verdict on what is published, or on publishing X as it is.

    In its public form it has no number of the table.
    """
    criterion, subject = report.raw.criterion, report.subject
    columns = "the columns" if is_public else _columns(report)
    word = verdict_word(criterion, subject.is_certified, report.is_satisfied)
    sentence, detail = _NOTHING, ""
    if word == UNPROVEN:
        sentence = (
            "This bound is not one of lowlift's own and was compared in floating point only: "
            "no verdict is given."
        )
    elif word == HOLDS:
        start = f"{columns} may be published as is"
        if report.is_release:
            start = "This release keeps its promise"
        sentence, detail = f"{start}: {promise_of(criterion)}.", _EXACT
    elif word == FAILS:
        start = f"Do not publish {columns} as is"
        if report.is_release:
            start = "This release breaks its promise"
        elif is_public:
            start = f"{columns} break the bound as is"
        asked = f"The bound asks that {promise_of(criterion)}"
        sentence, detail = f"{start}.", f"{asked}."
        if not is_public:
            sentence = f"{start}: {measured(subject.lift.min(), subject.lift.max())}."
            detail = f"{asked}; {_broken_by(subject)}. {_EXACT}"
    if report.is_rows:
        sentence, detail = of_rows(sentence), of_rows(detail)
    numbers = () if is_public else numbers_of(report)
    found = Verdict(word, _TONES[word], capital(sentence), detail, numbers)
    if not report.uncovered or word in {FAILS, UNPROVEN}:
        return found
    sentence = f"The bound holds for the released columns alone, but {report.uncovered}."
    return found._replace(word=BEYOND, tone=_TONES[BEYOND], sentence=sentence)


def _columns(report: "Report") -> str:
    return joined(report.origin.schema.released) if report.origin else "X"


def _broken_by(audit: Audit) -> str:
    if audit.violations:
        count = counted(audit.channel.n_y, "value")
        return f"{len(audit.violations):,} of {count} break it"
    # A criterion that is not convex can hold for all columns together and fail for one.
    return "it does not hold for each sensitive column alone"


def curve_verdict(report: "Report") -> Verdict:
    """Return what a trade-off says first: how risky X is as it is."""
    lift = report.raw.lift
    lifts = measured(lift.min(), lift.max())
    sentence = f"With {_columns(report)} published as is, {lifts}."
    detail = (
        f"The curve shows what {counted(len(report.points), 'release')} keep under bounds from "
        "strict to loose. Each was audited exactly."
    )
    return Verdict("Trade-off", "plain", sentence, detail, ())


def numbers_of(report: "Report") -> tuple[Number, ...]:
    """Return the numbers behind the verdict."""
    subject, ends = report.subject, ends_of(report.raw.criterion)
    most = f"allowed: at most ×{at_most(ends.upper)}" if math.isfinite(ends.upper) else "no bound"
    least = (
        f"allowed: at least ×{at_least(-ends.lower)}" if math.isfinite(ends.lower) else "no bound"
    )
    if report.encoded is not None:
        as_is = "cells as they are" if report.is_rows else "X as it is"
        most = f"{most}; {as_is}: {times(float(report.raw.lift.max()))}"
        least = f"{least}; {as_is}: {times(float(report.raw.lift.min()))}"
    how = "decided exactly" if subject.is_certified else "compared in floating point"
    blind, seeing = map(percent, report.guesses)
    broken = f"{len(subject.violations):,}"
    what = "Cells" if report.is_rows else "Values"
    found = (
        Number("Largest lift", times(float(subject.lift.max())), most),
        Number("Smallest lift", times(float(subject.lift.min())), least),
        Number(f"{what} that break the bound", broken, f"of {subject.channel.n_y:,}, {how}"),
        Number("Best guess right", seeing, f"{blind} without seeing anything"),
    )
    if report.encoded is None:
        return found
    if report.is_rows:
        return (*found, *rows.changes(report.encoded))
    bound, kept = report.upper_bound, percent(min(1.0, subject.nmi))
    note = "" if bound is None else f"proven: at most {percent_at_most(bound)}"
    changed = percent(report.encoded.share_changed)
    return (
        *(*found, Number("Information kept", kept, note)),
        Number("Rows changed", changed, "expected share"),
    )
