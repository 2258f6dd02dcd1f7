"""What is promised, against whom, and what is not."""

from typing import TYPE_CHECKING

from lowlift._guarantees import for_whom
from lowlift._receipts import Receipt
from lowlift._rounding import ceiling, floor
from lowlift._wording import capital, counted, joined
from lowlift.confidence import smallest_sample
from lowlift.criteria import BuiltIn, Population, plain_criterion
from lowlift.report.records import Limit

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift.confidence import LiftIntervals
    from lowlift.criteria import Criterion
    from lowlift.report.report import Report

_ADVERSARY = (
    "Someone who knows how the protected and the published columns go together in the table, "
    "knows how values are drawn, the codebook and this software, and sees the published value of "
    "one record. They do not know that record's own value"
)

#: Cells of a table up to which it is told how many rows would support a bound.
_MOST_CELLS = 2_000
#: What no release promises.
_AGAIN = "Repeated releases"
_NEVER = (
    Limit(
        "Other knowledge about a person",
        "The promise starts from how common the sensitive values are in the table. Who already "
        "knows more about a person, from a neighbour or another table, may end further away.",
    ),
    Limit(
        "Other columns",
        "Only the columns named here are covered. Any other column published beside them, or "
        "joined to them, is not.",
    ),
    Limit(
        _AGAIN,
        "Limits do not add up: two releases of the same table can together reveal what neither "
        "does.",
    ),
    Limit(
        "Being in the table",
        "That a person is in the table, and how many rows there are, is not hidden.",
    ),
    Limit(
        "Chance",
        "The bound is on probabilities. Frequencies counted in one published table scatter about "
        "them.",
    ),
)
#: What whoever publishes can do about it: values, and rows, which are not drawn by a key.
_AUDIT = "Audit them together (lowlift audit r1.json r2.json), or draw by a key."
_ONCE = "Publish rows of a table once."
_SAMPLE = Limit(
    "Sample or population",
    "The bound is exact for the table it was designed on. If that table is a sample of a larger "
    "population, its counts are estimates of the population's.",
)
_VALUES = (
    "That holds for a random sample, and for people whose released values are among those of the "
    "table."
)
WHOSE_ROW = Limit(
    "Re-identification",
    "Whose row it is: a published row is a row of the table, drawn by chance. The bound limits "
    "what it tells about the sensitive columns, and says nothing about recognising its owner by "
    "the values of the others.",
)
UNSUPPORTED = "these rows do not support the bound for the population."
TOO_SMALL = "as a sample the table is too small to support the bound."
_UNCHECKED = Limit(
    "Not checked on this table",
    "The sensitive columns are not in the table that was published from: the bound is the one of "
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
    found += [*_zeros(report), *([WHOSE_ROW] if report.is_rows else [])]
    if report.origin is not None and report.origin.from_data:
        names = joined(report.origin.from_data)
        text = (
            f"The bins of {names} were taken from the data, as asked for: their edges tell of it."
        )
        found.append(Limit("Bins from the data", text))
    found += _never(is_rows=report.is_rows)
    return tuple(sorted(found, key=lambda limit: not limit.is_warning))


def _never(*, is_rows: bool) -> list[Limit]:
    """Return what no release promises, with advice for whoever publishes."""
    advice = _ONCE if is_rows else _AUDIT
    return [
        limit._replace(text=f"{limit.text} {advice}") if limit.name == _AGAIN else limit
        for limit in _NEVER
    ]


def public_limits(
    criterion: "Criterion", publication: Receipt | None, *, is_rows: bool = False
) -> tuple[Limit, ...]:
    """Return what is not promised, without any number of the table."""
    is_sample = isinstance(criterion, Population)
    whom = _population(criterion) if is_sample else _SAMPLE
    found = _of_publication(publication, is_public=True)
    return (*found, *([WHOSE_ROW] if is_rows else []), whom, *_NEVER)


def _of_publication(publication: Receipt | None, is_public: bool = False) -> list[Limit]:
    if publication is None:
        return []
    outside = publication.outside_the_guarantee
    if is_public:  # the reason in brackets may count
        outside = tuple(item.partition(" (")[0] for item in outside)
    found = [Limit("Outside the guarantee", f"{capital(item)}.", True) for item in outside]
    if publication.kept and not found and not is_public:
        names = joined(publication.kept)
        text = (
            f"Published beside Y, and audited with it: {names}. The bound holds for both together."
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
        text = f"The bound does not hold for {joined(broken)} alone. The verdict counts that."
        return [Limit("Each sensitive column alone", text, True)]
    text = f"The bound holds for {names} together and for each of them alone."
    return [Limit("Each sensitive column alone", text)]


def sample_note(intervals: "LiftIntervals", *, is_rows: bool = False) -> str:
    """Return what the lifts are if the table is a sample.

    Cells of published rows were learnt from the same rows, which the confidence does not cover.
    """
    low, high = float(intervals.low.min()), float(intervals.high.max())
    cells = ", if cells had been given: these were learnt from the rows" if is_rows else ""
    return (
        f"If its {counted(intervals.n_rows, 'row')} are a sample, the lifts of the population lie "
        f"between {floor(low)} and {ceiling(high)} (all at once with {intervals.level:.0%} "
        f"confidence, also for a channel chosen with the same rows{cells})."
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
    """Return what it means that so many pairs of a sensitive and a released value have no row."""
    if is_rows:
        never = "occurs" if cells == 1 else "occur"
        return (
            f"{counted(cells, 'pair')} of a sensitive value and a cell never {never} together: "
            "rows of such a cell, published as they are, would rule that value out."
        )
    never = f"never {'occurs' if cells == 1 else 'occur'} together"
    return (
        f"{counted(cells, 'pair')} of a sensitive and a released value {never}: publishing such a "
        "value as it is would rule the sensitive one out."
    )


def _population(criterion: "Criterion") -> Limit:
    return Limit(_SAMPLE.name, f"The bound is {for_whom(criterion)}. {_VALUES}")


def _sample(report: "Report") -> Limit:
    if isinstance(report.subject.criterion, Population):
        return _population(report.subject.criterion)
    if report.intervals is None:
        return _SAMPLE
    text = promise_note(report.subject.criterion, report.intervals, is_rows=report.is_rows)
    if is_too_small(report.intervals, report.subject):
        return Limit(_SAMPLE.name, f"{text} {capital(TOO_SMALL)}", True)
    return Limit(_SAMPLE.name, text)


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
