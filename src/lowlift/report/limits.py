"""What is promised, against whom, and what is not."""

import math
import re
from typing import TYPE_CHECKING

from lowlift._guarantees import ends_of, for_whom
from lowlift._receipts import Receipt
from lowlift._rounding import at_most, ceiling, floor
from lowlift._wording import capital, counted, joined
from lowlift.confidence import smallest_sample
from lowlift.criteria import BuiltIn, Population, plain_criterion
from lowlift.encodings import is_deterministic
from lowlift.report.promises import whom
from lowlift.report.records import Limit

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift.confidence import LiftIntervals
    from lowlift.criteria import Criterion
    from lowlift.encodings import Encoded
    from lowlift.report.report import Report

_ADVERSARY = (
    "Someone who knows the statistics of the whole table and the method, and sees one published "
    "row, but does not know that person's true row"
)

#: Options of commands in brackets, which a page does not name.
_OPTIONS = re.compile(r" \(--[^()]*\)")
#: Cells of a table up to which it is told how many rows would support a bound.
_MOST_CELLS = 2_000
#: What no release promises.
_AGAIN = "Repeated releases"
#: That people can be recognised, where it is known that they can.
RECOGNISING = "Recognising people"
_NEVER = (
    Limit(
        "Other knowledge about a person",
        "The promise starts from how common the protected values are in the table. Who already "
        "knows more about a person, from a neighbour or another table, may become surer than the "
        "limit says.",
    ),
    Limit(
        "Other columns",
        "Only the columns named here are covered. Any other column published beside them, or "
        "joined to them, is not.",
    ),
    Limit(
        _AGAIN,
        "The limit is for one release. Two releases of the same people together can tell more "
        "than either limit allows.",
    ),
    Limit(
        "Being in the table",
        "That a person is in the table, and how many rows there are, is not hidden.",
    ),
    Limit(
        "Chance",
        "The limit is on the chances by which rows are published. Shares that are counted in the "
        "published file differ a little from these chances.",
    ),
)
#: What whoever publishes rows can do about it; for values it is among the commands.
_ONCE = "Publish rows of a table once."
_ANONYMITY = Limit(
    "Anonymity",
    "People may be recognised in the table: that nobody can be is not promised.",
)
_SAMPLE = Limit(
    "Sample or population",
    "The limit is exact for the table it was designed on. If that table is a sample of a larger "
    "population, its counts are estimates of the population's, and the limit need not hold there.",
)
_VALUES = (
    "That holds for a random sample, and for people whose values in the published columns are "
    "among those of the table."
)
WHOSE_ROW = Limit(
    "Re-identification",
    "Whose row it is: a published row is a row of the table, drawn by chance. The limit is on "
    "what it tells about the protected columns, and says nothing about recognising its owner by "
    "the values of the others.",
)
#: What to do where the table is a sample: with what is to be handed out, and before.
_INSTEAD = "do not hand this one out. Publish a table for the population instead."
_FOR_THEM = "ask for a limit that holds for the population."
UNSUPPORTED = "these rows do not support the bound for the population."
TOO_SMALL = "as a sample the table is too small to support the bound."
_UNCHECKED = Limit(
    "Not checked on this table",
    "The protected columns are not in the table that was published from: the limit is the one of "
    "the table it was designed on.",
    is_warning=True,
)


def adversary(publication: Receipt | None) -> str:
    """Return the reader against whom the promise holds; who knows no key if there is one."""
    is_keyed = publication is not None and publication.draws.startswith("keyed")
    return f"{_ADVERSARY}, nor the key of the draws." if is_keyed else f"{_ADVERSARY}."


def limits_of(report: "Report") -> tuple[Limit, ...]:
    """Return what is not promised, warnings about this very release first."""
    found = [*_of_publication(report.publication), *_of_columns(report), _sample(report)]
    found += [*_zeros(report), *_columns_that_tell(report), _whose(report)]
    if report.origin is not None and report.origin.from_data:
        names = joined(report.origin.from_data)
        text = (
            f"The bins of {names} were taken from the data, as asked for: their edges tell of it."
        )
        found.append(Limit("Bins from the data", text))
    found += _never(report)
    return tuple(sorted(found, key=lambda limit: not limit.is_warning))


def _never(report: "Report") -> list[Limit]:
    """Return what no release promises, with advice for whoever publishes rows."""
    if not report.is_rows:
        return list(_NEVER)
    return [
        limit._replace(text=f"{limit.text} {_ONCE}") if limit.name == _AGAIN else limit
        for limit in _NEVER
    ]


def without_options(text: str) -> str:
    """Return a warning without the options of commands that it names in brackets.

    Examples
    --------
    >>> without_options("Round it (--round-to 0.05; in Python round_to=0.05), or keep it back.")
    'Round it, or keep it back.'
    """
    return _OPTIONS.sub("", text)


def is_merged(encoded: "Encoded | None") -> bool:
    """Return whether each value is always published alike, so that nothing is drawn."""
    is_merging = encoded is not None and encoded.name in {"codes", "groups"}
    return encoded is not None and is_merging and is_deterministic(encoded.channel)


def _whose(report: "Report") -> Limit:
    """Return that people can be recognised: of rows a warning, with how many are of one person."""
    if not report.is_rows:
        return _ANONYMITY
    found = report.analysis
    if found is None or not found.unique_rows_published:
        return WHOSE_ROW
    text = f"{_copies(found.unique_rows_published, found.rows_after)} that only one person has."
    if found.unchanged is not None and found.unchanged < 0.5:
        text += " Usually the copy stands in another person's place."
    text += " Whoever knows that person can recognise the record."
    return Limit(RECOGNISING, text, is_warning=True)


def _copies(number: int, rows: int) -> str:
    if number == rows:
        return f"All {counted(rows, 'published row')} are copies of records"
    verb = "is a copy of a record" if number == 1 else "are copies of records"
    return f"{number:,} of {counted(rows, 'published row')} {verb}"


def _columns_that_tell(report: "Report") -> list[Limit]:
    """Return a warning where a column of published rows gives the protected one away.

    The row of another person is published, with that person's value of the column.
    """
    if not report.tells:
        return []
    names, what = joined(report.tells), joined(report.sensitive)
    one = "it" if len(report.tells) == 1 else "such a column"
    text = (
        f"In the table, {names} {'tells' if len(report.tells) == 1 else 'tell'} {what}, "
        f"wholly or in part: "
        f"who recognises the person whose record it is reads that from {one}. The limit is on "
        "what a row tells of the person in whose place it stands."
    )
    return [Limit("Columns that tell what is protected", text, is_warning=True)]


def public_limits(
    criterion: "Criterion", publication: Receipt | None, *, is_rows: bool = False
) -> tuple[Limit, ...]:
    """Return what is not promised, without any number of the table."""
    is_sample = isinstance(criterion, Population)
    whom = _population(criterion) if is_sample else _SAMPLE
    found = _of_publication(publication, is_public=True)
    return (*found, WHOSE_ROW if is_rows else _ANONYMITY, whom, *_NEVER)


def _of_publication(publication: Receipt | None, is_public: bool = False) -> list[Limit]:
    if publication is None:
        return []
    # That it was not checked on this table is said below.
    every = publication.outside_the_guarantee
    outside = tuple(item for item in every if not item.startswith("whether the bound holds"))
    if is_public:  # the reason in brackets may count
        outside = tuple(item.partition(" (")[0] for item in outside)
    found = [Limit("Outside the guarantee", f"{capital(item)}.", True) for item in outside]
    if publication.kept and not found and not is_public:
        names = joined(publication.kept)
        text = (
            f"Published beside Y, and audited with it: {names}. The limit is kept for both. What "
            "this report says of beliefs after is of Y alone: with both they can go further, up to "
            "the limit."
        )
        found.append(Limit("Kept columns", text))
    if not publication.checked_on_this_table:
        found.append(_UNCHECKED)
    return found


def _of_columns(report: "Report") -> list[Limit]:
    if not report.columns:
        return []
    broken = [name for name, part in report.columns if not part.is_satisfied]
    names = joined([name for name, _ in report.columns])
    if broken:
        text = f"The limit is not kept for {joined(broken)} alone. The verdict counts that."
        return [Limit("Each protected column alone", text, True)]
    text = f"The limit is kept for {names} together and for each of them alone."
    return [Limit("Each protected column alone", text)]


def sample_note(intervals: "LiftIntervals", *, is_rows: bool = False) -> str:
    """Return what the lifts are if the table is a sample.

    Cells of published rows were learnt from the same rows, which the confidence does not cover.
    """
    low, high = float(intervals.low.min()), float(intervals.high.max())
    cells = ", if cells had been given: these were learnt from the rows" if is_rows else ""
    return (
        f"If its {counted(intervals.n_rows, 'row')} are a sample, a sensitive value becomes "
        f"between {floor(low)} and {ceiling(high)} times as likely in the population (all values "
        f"at once with {intervals.level:.0%} confidence, also for a channel chosen with the same "
        f"rows{cells})."
    )


def promise_note(
    criterion: "Criterion", intervals: "LiftIntervals", *, is_rows: bool = False
) -> str:
    """Return for whom the bound is: the population with a confidence, or this table."""
    if isinstance(criterion, Population):
        return f"The bound is {for_whom(criterion)}. {_VALUES}"
    return f"The bound is {for_whom(criterion)}. {sample_note(intervals, is_rows=is_rows)}"


def needed_rows(audit: "Audit") -> str:
    """Return how many rows would support a bound that the table as a sample does not; or nothing.

    Rows with the same shares, published by the same channel.
    """
    joint, criterion = audit.joint, audit.criterion
    if joint.n_x * joint.n_s > _MOST_CELLS or not isinstance(criterion, BuiltIn):
        return ""
    level = criterion.confidence if isinstance(criterion, Population) else 0.95
    found = smallest_sample(joint, audit.channel, plain_criterion(criterion), level)
    if found is None:
        return "No number of rows with the same shares would: it lies on its bound, or beyond."
    return f"About {found:,} rows with the same shares would."


def is_too_small(intervals: "LiftIntervals", audit: "Audit") -> bool:
    """Return whether a bound that holds would not be supported by the table as a sample."""
    if isinstance(audit.criterion, Population):  # the audit itself is of the population
        return False
    return audit.is_satisfied and intervals.supports(audit.criterion) is False


def never_together(cells: int, *, is_rows: bool = False) -> str:
    """Return what it means that so many pairs of a protected and a published value have no row."""
    if is_rows:
        never = "occurs" if cells == 1 else "occur"
        return (
            f"{counted(cells, 'pair')} of a protected value and a cell never {never} together: "
            "rows of such a cell, published as they are, would rule that value out."
        )
    never = f"never {'occurs' if cells == 1 else 'occur'} together"
    return (
        f"{counted(cells, 'pair')} of a protected and a published value {never}: publishing such a "
        "value as it is would rule the protected one out."
    )


def _population(criterion: "Criterion") -> Limit:
    return Limit(_SAMPLE.name, f"The limit is {whom(criterion)}. {_VALUES}")


def _sample(report: "Report") -> Limit:
    if isinstance(report.subject.criterion, Population):
        return _population(report.subject.criterion)
    if report.intervals is None:
        return _SAMPLE
    return Limit(_SAMPLE.name, _if_sample(report), is_too_small(report.intervals, report.subject))


def _if_sample(report: "Report") -> str:
    """Return what becomes of the limit for the people behind a sample, and what to do then."""
    if report.intervals is None:
        return _SAMPLE.text
    text = if_sample(report.intervals, report.subject, is_rows=report.is_rows)
    if is_too_small(report.intervals, report.subject):
        text += f" In that case {_INSTEAD if report.is_release else _FOR_THEM}"
    return text


def if_sample(intervals: "LiftIntervals", audit: "Audit", *, is_rows: bool = False) -> str:
    """Return what becomes of the limit for the people behind a sample, in numbers."""
    ends = ends_of(audit.criterion)
    low, high = float(intervals.low.min()), float(intervals.high.max())
    more = f"up to {ceiling(high)} times as likely"
    less = f"as little as {floor(low)} times" if low else "be ruled out"
    if high > math.exp(min(ends.upper, 700.0)):
        more += f", beyond the limit of {at_most(ends.upper)}"
    if low < math.exp(-ends.lower):
        less += ", below the lower limit"
    text = (
        f"If these {counted(intervals.n_rows, 'person', 'people')} are a sample, then for "
        f"everybody behind them a value may become {more}, or {less} (with "
        f"{intervals.level:.0%} confidence)."
    )
    if is_rows:
        text += " The confidence does not cover that the kinds of rows were learnt from these rows."
    return text


def _zeros(report: "Report") -> list[Limit]:
    audit = report.subject
    ruled_out = int((audit.lift == 0).sum())
    if not ruled_out:
        return []
    cells = int((audit.joint.masses == 0).sum())
    text = never_together(cells, is_rows=report.is_rows)
    if report.is_release:
        remain = "remains" if ruled_out == 1 else "remain"
        text += f" {counted(ruled_out, 'such pair')} {remain} in what is published."
    return [Limit("Values that never occur together", text, is_warning=True)]
