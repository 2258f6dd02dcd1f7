"""The head of a report: what is protected, in which table, how strongly, for whom."""

import math
from typing import TYPE_CHECKING

from lowlift._guarantees import EMPTY, UNPROVEN, Ends, ends_of, promise_of
from lowlift._rounding import at_least, at_most
from lowlift._wording import capital, cell, counted, joined
from lowlift.criteria import AtMost, Criterion, Population, plain_criterion
from lowlift.report.promises import whom, within
from lowlift.report.records import Number
from lowlift.report.verdicts import BROKEN, in_names
from lowlift.tables.sources import is_frame_name

if TYPE_CHECKING:
    from lowlift.report.report import Report

#: Columns that are named one by one.
MOST_NAMED = 8
#: What a title says of a verdict that is not a good one.
_NOT = {BROKEN: "not safe to publish", UNPROVEN: "not decided", EMPTY: "nothing is bounded"}


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
        return "what can be kept under limits from strict to loose"
    word, claim = report.verdict.word, asked_of(report)
    if report.verdict.tone == "good":
        return claim
    if word == EMPTY:
        return _NOT[EMPTY]
    return f"{_NOT.get(word, 'not for all that was published')} (asked for: {claim})"


def asked_of(report: "Report") -> str:
    """Return `claim_of` the limit of a report, with the names of what is protected."""
    return in_names(report, claim_of(report.raw.criterion))


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
        return promise_of(plain, within)
    if math.isfinite(ends.upper):
        return f"no value becomes more than {at_most(ends.upper)} times as likely"
    return f"no value becomes less than {at_least(-ends.lower)} times as likely"


def about(report: "Report") -> str:
    """Return what the report is on: a release, an audit or a trade-off of some columns."""
    released = report.origin.schema.released if report.origin else ("X",)
    is_long = len(released) > MOST_NAMED
    names = f"{len(released)} columns" if is_long else ", ".join(released)
    if not report.is_release:
        return f"{report.kind} of {names}"
    return f"{len(released)} published columns" if is_long else f"Published columns: {names}"


def heads(report: "Report", *, is_public: bool = False) -> tuple[Number, ...]:
    """Return the lines under the title: what is published, for whom the promise is, to whom.

    In public without the recipient, the number of people and the checks.
    """
    found = []
    if not report.is_curve:
        found.append(Number("The promise is", _for_whom(report, is_public=is_public)))
    if report.is_release and not is_public:
        found.append(Number("Recipient", recipient_of(report)))
        found += _of_files(report)
    return (*found, Number("Made", report.made_at))


def recipient_of(report: "Report") -> str:
    """Return who gets what is published."""
    return report.recipient or "nobody named (treat as everybody)"


def people_of(report: "Report") -> str:
    """Return how many people are in what was published, or in the table; empty for shares."""
    if report.publication is not None:
        return counted(report.publication.rows_out, "person", "people")
    is_counted = report.raw.joint.is_counted
    return counted(int(report.raw.joint.counts.sum()), "person", "people") if is_counted else ""


def _for_whom(report: "Report", *, is_public: bool) -> str:
    """Return for whom the promise is, and where it is told what becomes of a sample."""
    if isinstance(report.raw.criterion, Population):
        return capital(whom(report.raw.criterion))
    words = "For the people in this table only"
    if is_public:
        return words
    names = [limit.name for limit in report.limits if limit.is_warning]
    place = "Warnings" if "Sample or population" in names else "Not promised"
    return f"{words}. If they are a sample of others, see {place}"


def _of_files(report: "Report") -> list[Number]:
    """Return what was published, of how many people, and that it was verified."""
    people, found = people_of(report), []
    if report.publication is not None:
        found.append(Number("Published file", f"{report.publication.output}, {people}"))
    elif people:
        found.append(Number("In the table", people))
    if report.verified:
        found.append(Number("Verified", report.verified))
    return found
