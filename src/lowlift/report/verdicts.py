"""The verdict in one sentence: the word comes from the exact audit, numbers say how it stands."""

import math
from typing import TYPE_CHECKING

from lowlift._guarantees import (
    EMPTY,
    FAILS,
    HOLDS,
    UNPROVEN,
    ends_of,
    measured,
    promise_in_full,
    promise_of,
    verdict_word,
)
from lowlift._rounding import at_least, at_most, percent_at_most
from lowlift._wording import capital, counted, joined, of_rows, percent
from lowlift.criteria import BuiltIn, Population, plain_criterion
from lowlift.report import rows
from lowlift.report.outputs import INFORMATION, as_they_are, unit_of
from lowlift.report.promises import confidence, whom, within
from lowlift.report.records import Number, Verdict, at_least_times, at_most_times

if TYPE_CHECKING:
    from lowlift.report.report import Report

BEYOND = "Not for all that was published"
#: The words of a report; those of commands are in `_guarantees`.
KEPT, BROKEN = "The limit is kept", "The limit is not kept"
_WORDS = {HOLDS: KEPT, FAILS: BROKEN}
_TONES = {KEPT: "good", BROKEN: "bad", UNPROVEN: "plain", EMPTY: "plain", BEYOND: "bad"}
_NOTHING = "This limit is always kept, whatever is published: it promises nothing."
_EXACT = "Checked by exact calculation, not estimated. Numbers shown are rounded."


def verdict_of(report: "Report", *, is_public: bool = False) -> Verdict:
    """Return the verdict on what is published, or on publishing X as it is.

    In its public form it has no number of the table.
    """
    criterion, subject = report.raw.criterion, report.subject
    columns = "the columns" if is_public else _columns(report)
    word = verdict_word(criterion, subject.is_certified, report.is_satisfied)
    word, promised = _WORDS.get(word, word), promised_of(report)
    sentence, detail = _NOTHING, ""
    if word == UNPROVEN:
        sentence = (
            "This limit is not one of lowlift's own and was compared in floating point only: "
            "no verdict is given."
        )
    elif word == KEPT:
        start = f"{columns} may be published {_as_is(report)}"
        if report.is_release:
            start = "This release keeps its promise"
        sentence, detail = f"{start}: {promised}.", _checked(report)
    elif word == BROKEN:
        start = f"Do not publish {columns} {_as_is(report)}"
        if report.is_release:
            start = "This release breaks its promise"
        elif is_public:
            start = "As they are, the columns break the limit"
        asked = f"The limit asks that {promised}"
        sentence, detail = f"{start}.", f"{asked}."
        if not is_public:
            sentence = f"{start}: {measured(subject.lift.min(), subject.lift.max())}."
            detail = f"{asked}; {_broken_by(report)}. {_checked(report)}"
    sentence, detail = in_names(report, sentence), in_names(report, detail)
    numbers = () if is_public else numbers_of(report)
    found = Verdict(word, _TONES[word], capital(sentence), detail, numbers)
    if not report.uncovered or word in {BROKEN, UNPROVEN}:
        return found
    sentence = f"The limit is kept for the published columns alone, but {report.uncovered}."
    return found._replace(word=BEYOND, tone=_TONES[BEYOND], sentence=sentence)


def promised_of(report: "Report") -> str:
    """Return what is promised, in words, with the names of what is protected."""
    criterion = report.raw.criterion
    words = in_names(report, promise_of(plain_criterion(criterion), within))
    return f"{words}, {whom(criterion)}" if isinstance(criterion, Population) else words


def in_names(report: "Report", words: str) -> str:
    """Return a sentence with the names of what is protected; of a table it is on a row of it."""
    words = words.replace("sensitive values", f"values of {joined(report.sensitive)}")
    words = words.replace("sensitive value", f"value of {joined(report.sensitive, 'or')}")
    return of_rows(words) if report.of_table else words


def promise_sentence(report: "Report", *, holds: bool) -> str:
    """Return the promise as a sentence, or that there is none; formulas are in the annex."""
    criterion = report.raw.criterion
    if not isinstance(criterion, BuiltIn):
        return promise_in_full(criterion, holds)
    words = f"{capital(promised_of(report))}."
    return words if holds else f"Asked for, but not kept: {words}"


def _checked(report: "Report") -> str:
    """Return how the verdict was reached."""
    criterion = report.raw.criterion
    if not isinstance(criterion, Population):
        return _EXACT
    return (
        "Checked for every population that these rows leave possible, with "
        f"{confidence(criterion)}. Numbers shown are rounded."
    )


def _as_is(report: "Report") -> str:
    is_one = report.origin is not None and len(report.origin.schema.released) == 1
    return "as it is" if is_one else "as they are"


def _columns(report: "Report") -> str:
    return joined(report.origin.schema.released) if report.origin else "X"


def _broken_by(report: "Report") -> str:
    audit = report.subject
    if audit.violations:
        count = counted(audit.channel.n_y, unit_of(report, is_published=True))
        return f"{len(audit.violations):,} of {count} break it"
    # A criterion that is not convex can hold for all columns together and fail for one.
    return "it is not kept for each protected column alone"


def curve_verdict(report: "Report") -> Verdict:
    """Return what a trade-off says first: how risky X is as it is."""
    lift = report.raw.lift
    lifts = in_names(report, measured(lift.min(), lift.max()))
    sentence = f"With {_columns(report)} published {_as_is(report)}, {lifts}."
    detail = (
        f"The curve shows what {counted(len(report.points), 'release')} keep under limits from "
        "strict to loose. Each was audited exactly."
    )
    return Verdict("Trade-off", "plain", sentence, detail, ())


def numbers_of(report: "Report") -> tuple[Number, ...]:
    """Return the numbers behind the verdict."""
    subject, ends = report.subject, ends_of(report.raw.criterion)
    most = f"allowed: at most ×{at_most(ends.upper)}" if math.isfinite(ends.upper) else "no limit"
    least = (
        f"allowed: at least ×{at_least(-ends.lower)}" if math.isfinite(ends.lower) else "no limit"
    )
    if report.encoded is not None:
        as_is = "cells as they are" if report.is_rows else "X as it is"
        most = f"{most}; {as_is}: {at_most_times(float(report.raw.lift.max()))}"
        least = f"{least}; {as_is}: {at_least_times(float(report.raw.lift.min()))}"
    how = "decided exactly" if subject.is_certified else "compared in floating point"
    how = "judged for the population" if report.population and subject.is_certified else how
    blind, seeing = map(percent, report.guesses)
    broken = f"{len(subject.violations):,}"
    what = capital(unit_of(report, is_published=True))
    found = (
        Number("Largest lift", at_most_times(float(subject.lift.max())), most),
        Number("Smallest lift", at_least_times(float(subject.lift.min())), least),
        Number(f"{what}s that break the limit", broken, f"of {subject.channel.n_y:,}, {how}"),
        Number("Best guess right", seeing, f"{blind} without seeing anything"),
    )
    if report.encoded is None:
        return found
    if report.is_rows:
        return (*found, *rows.changes(report.encoded))
    bound, kept = report.upper_bound, percent(min(1.0, subject.nmi))
    note = "" if bound is None else f"proven: at most {percent_at_most(bound)}"
    return *found, as_they_are(report.encoded), Number(INFORMATION, kept, note)
