"""A table before any column is chosen: its rows, what each column is, and a look at its values.

Values are for the page that shows the table to who has it: not to be stored, logged or published.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lowlift.errors import InvalidInput
from lowlift.tables import Table, open_table
from lowlift.tables.classes import MOST_CLASSES
from lowlift.tables.columns import NUMERIC
from lowlift.workflow.profiles import ColumnProfile
from lowlift.workflow.profiling import flagged

if TYPE_CHECKING:
    from lowlift.tables.profiling import Profiling

#: Kinds that have an order: they are shown by their range, and can have bins.
ORDERED = NUMERIC | {"date", "timestamp"}
#: Rows that examples are taken from, drawn at random, and how many of a column.
_SOME_ROWS, _EXAMPLES = 1_000, 4
#: Numbers with so many values or fewer are shown by their values.
_FEW = 6
#: Bars of a histogram: one for each whole number up to so many; about so many otherwise.
_SINGLE_BARS, _BARS = 100, 40


@dataclass(frozen=True)
class Overview:
    """The rows of a table and its columns, in the table's order.

    Parameters
    ----------
    rows, columns
        What is counted.
    examples
        The most frequent values in some rows of the whole table, of columns without a range.
    ranges
        The least, the middle and the largest of columns of many numbers or dates (days since 1970).
    single
        The bins that keep each value apart, of columns of few whole numbers.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict, repr=False)
    single: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    @property
    def publishable(self) -> tuple[str, ...]:
        """The columns to publish when none is named, S among them: all but identifiers."""
        return tuple(column.name for column in self.columns if not column.is_withheld)


@dataclass(frozen=True)
class Histogram:
    """How many rows a column of numbers or dates (days since 1970) has where.

    Parameters
    ----------
    start, step
        Where the first bar begins, and the width of every bar.
    counts
        The rows of each bar.
    missing
        The rows without a value.
    quartiles
        Where the upper three quarters begin.
    """

    start: float
    step: float
    counts: tuple[int, ...]
    missing: int
    quartiles: tuple[float, ...]


def overview_of(source: Any, *, engine: str | None = None) -> Overview:
    """Return the rows of a table and what each column is, so that one can choose.

    Cost
        One pass each for counts, for ranges, for medians and for examples.
    """
    with open_table(source, engine) as table:
        columns = flagged(table, ())
        look: Profiling = table.profiling()
        ranged = [
            column.name
            for column in columns
            if column.kind in ORDERED and (column.different or 0) > _FEW
        ]
        present = {
            column.name: round((1 - (column.missing or 0)) * table.rows)
            for column in columns
            if column.name in ranged
        }
        middles, ends = look.edges(present, 2), look.ranges(ranged)
        ranges = {
            name: (found[0], middles[name][0], found[1])
            for name in ranged
            if (found := ends[name]) is not None and middles[name]
        }
        single = {c.name: bins for c in columns if (bins := _single(look, c))}
        listed = [c.name for c in columns if c.kind != "other" and c.name not in ranges]
        return Overview(table.rows, columns, _examples(table, listed), ranges, single)


def _single(look: "Profiling", column: ColumnProfile) -> str:
    if column.kind not in NUMERIC or not 0 < (column.different or 0) <= MOST_CLASSES:
        return ""
    if column.kind == "integer":
        return "each"
    return "width:1" if look.summaries([column.name])[column.name].fractional == 0 else ""


def _examples(table: Table, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if not names:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    rows = table.sample(names, (), _SOME_ROWS, is_random=True)
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        often = Counter(_shown(value) for value in values if value is not None)
        found[name] = tuple(text for text, _ in often.most_common(_EXAMPLES) if text != "nan")
    return found


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def histogram_of(source: Any, name: str, *, engine: str | None = None) -> Histogram:
    """Return the histogram of a column of numbers or dates.

    Raises
    ------
    InvalidInput
        For a column that has none.
    """
    with open_table(source, engine) as table:
        table.check_name(name)
        look: Profiling = table.profiling()
        ends = look.ranges([name])[name] if table.kinds[name] in ORDERED else None
        if ends is None:
            raise InvalidInput(
                f"a histogram is of numbers or dates; column {name!r} is {table.kinds[name]} or "
                "has no values. Choose another column."
            )
        start, step, size = _bars(table, look, name, *ends)
        counts = look.histogram(name, start, step, size)
        present = sum(counts)
        quartiles = look.edges({name: present}, 4)[name]
        return Histogram(start, step, tuple(counts), table.rows - present, quartiles)


def _bars(
    table: Table, look: "Profiling", name: str, low: float, high: float
) -> tuple[float, float, int]:
    """Return where the first bar begins, its width, and how many there are."""
    is_whole = table.kinds[name] != "real" or look.summaries([name])[name].fractional == 0
    if is_whole and high - low < _SINGLE_BARS:
        return low, 1.0, int(high - low) + 1
    step = nice_step((high - low) / _BARS, is_whole=is_whole)
    start = math.floor(low / step) * step
    return start, step, int((high - start) / step) + 1


def nice_step(least: float, *, is_whole: bool) -> float:
    """Return a round number, at least so large: 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> nice_step(3.2, is_whole=True), nice_step(0.03, is_whole=False)
    (5.0, 0.05)
    """
    power = 10.0 ** math.floor(math.log10(max(least, 1e-300)))
    found = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return max(1.0, found) if is_whole else float(f"{found:.12g}")
