"""The head of a report: what is protected, in which table, how strongly, for whom."""

import math
from typing import TYPE_CHECKING

from lowlift._guarantees import EMPTY, FAILS, UNPROVEN, Ends, ends_of, for_whom, promise_of
from lowlift._rounding import at_least, at_most
from lowlift._wording import capital, cell, joined, of_rows
from lowlift.criteria import AtMost, Criterion, plain_criterion
from lowlift.report.records import Number
from lowlift.tables.sources import is_frame_name

if TYPE_CHECKING:
    from lowlift.report.report import Report

#: Columns that are named one by one.
_MOST_NAMED = 8
#: What a title says of a verdict that is not a good one.
_NOT = {FAILS: "not safe to publish", UNPROVEN: "not decided", EMPTY: "nothing is bounded"}


def title_of(report: "Report", *, is_public: bool = False) -> str:
    """Return the protected columns, the table and the promise; in public without the table."""
    origin = report.origin
    names = joined(origin.schema.sensitive) if origin else "S"
    where = ""
    if origin is not None and not is_public:
        a = "a " if is_frame_name(origin.source) else ""
        where = f" in {a}{cell(origin.source)}"
    return f"{cell(names)}{where}: {_claim(report)}"


def _claim(report: "Report") -> str:
    if report.is_curve:
        return "what can be kept under bounds from strict to loose"
    word, claim = report.verdict.word, claim_of(report.raw.criterion)
    claim = of_rows(claim) if report.is_rows else claim
    if report.verdict.tone == "good":
        return claim
    if word == EMPTY:
        return _NOT[EMPTY]
    return f"{_NOT.get(word, 'not for all that was published')} (asked for: {claim})"


def claim_of(criterion: Criterion) -> str:
    """Return what is promised, in a few words.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, LIP
    >>> claim_of(LIP.at_most(2)), claim_of(LIP(0.0))
    ('no value becomes more than 2 times as likely', 'nothing is learnt about it')
    >>> claim_of(ALIP(0.5, math.inf))
    'no value becomes less than 0.606 times as likely'
    """
    plain, ends = plain_criterion(criterion), ends_of(criterion)
    if ends == Ends(0, 0):
        return "nothing is learnt about it"
    if isinstance(plain, AtMost) or math.isinf(min(ends)):
        return promise_of(plain)
    if math.isfinite(ends.upper):
        return f"no value becomes more than {at_most(ends.upper)} times as likely"
    return f"no value becomes less than {at_least(-ends.lower)} times as likely"


def about(report: "Report") -> str:
    """Return what the report is on: a release, an audit or a trade-off of some columns."""
    released = report.origin.schema.released if report.origin else ("X",)
    is_long = len(released) > _MOST_NAMED
    names = f"{len(released)} columns" if is_long else ", ".join(released)
    return f"{report.kind} of {names}"


def heads(report: "Report") -> tuple[Number, ...]:
    """Return the lines under the title: what is published, for whom the promise is, to whom."""
    found = []
    if not report.is_curve:
        found.append(Number("The promise is", capital(for_whom(report.raw.criterion))))
    if report.is_release:
        found.append(Number("Recipient", report.recipient or "not said"))
    return (*found, Number("Made", report.made_at))
