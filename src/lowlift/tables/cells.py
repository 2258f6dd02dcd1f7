"""Cells of several columns as one column: learnt from a table, found again by conditions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift._cells.tree import Split, Tree
from lowlift._deadline import Deadline
from lowlift._joint import Label
from lowlift._labels import number_of
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift._cells.learning import Cells
    from lowlift.tables.columns import Column
    from lowlift.tables.table import Table

#: The name and the kind of the column that a row's cell is.
NAME, KIND = "cell", "cells"
#: Kinds whose values are compared by size; all others are categories.
ORDERED = ("integer", "real", "date", "timestamp")
#: Rows that cells are learnt from.
MOST_ROWS = 100_000
#: Cells by default: so many, and so many rows in each on the average.
_MOST_CELLS, _ROWS_PER_CELL = 500, 40
#: The same for the population; the part of the rows that a pilot has, and its rows per cell.
_MOST_FOR_POPULATION, _ROWS_FOR_POPULATION = 60, 500
_PILOT, _ROWS_PER_PILOT = 0.05, 12
#: A column with more values than this, and than this share of the rows, is nearly unique.
_MOST_VALUES, _MOST_SHARE = 50, 0.9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class CellBins:
    """The cells of several columns: a symbol is the number of a cell.

    Parameters
    ----------
    tree
        The conditions.
    kinds
        The kind of each column of the tree.
    texts
        Columns that are texts here whatever their kind, as in a CSV that was published.
    known
        The column that has the numbers of the cells already; empty: conditions tell them.
    """

    tree: Tree
    kinds: tuple[str, ...]
    texts: frozenset[str] = frozenset()
    known: str = ""

    @property
    def columns(self) -> dict[str, str]:
        """The kind of each column by name."""
        return dict(zip(self.tree.columns, self.kinds, strict=True))

    def label_of(self, text: str) -> Label:
        """Return the number of a cell from its symbol text."""
        return int(text)

    def text_of(self, label: Label) -> str:
        """Return the symbol text of the number of a cell."""
        if type(label) is not int or not 0 <= label < self.tree.size:
            raise InvalidInput("a label of cells must be the number of one; one is not.")
        return str(label)

    def order_of(self, label: Label) -> float:
        """Return a number that sorts labels."""
        return number_of(label)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"bins": KIND, "kinds": list(self.kinds), **self.tree.to_dict()}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the cells that `to_dict` wrote."""
        tree = Tree.from_dict({k: saved[k] for k in ("columns", "splits")})
        return cls(tree, tuple(saved["kinds"]))

    def read_from(self, kinds: Mapping[str, str]) -> Self:
        """Return the cells for a table whose columns have these kinds: some may be texts."""
        texts = {name for name, kind in self.columns.items() if kind != "text"}
        return replace(self, texts=frozenset(n for n in texts if kinds.get(n) == "text"))


@dataclass(frozen=True)
class Learnt:
    """Cells that were learnt of some columns, and the values of S of the rows they come from."""

    cells: "Cells"
    kinds: Mapping[str, str]
    sensitive: tuple[Label, ...]
    #: Columns in which nearly every row has a value of its own.
    unique: tuple[str, ...] = ()
    #: Whether the time for it was over before there were as many cells as were asked for.
    is_late: bool = False

    @property
    def column(self) -> "Column":
        """The cells as a column."""
        return self.column_of(self.cells.tree)

    def column_of(self, tree: Tree) -> "Column":
        """Return a tree of the same columns as a column."""
        from lowlift.tables.columns import Column

        kinds = tuple(self.kinds.values())
        splits = tuple(_typed(split, kinds[split.column]) for split in tree.splits)
        return Column(NAME, KIND, CellBins(replace(tree, splits=splits), kinds))

    def numbers_of(self, s_labels: Sequence[Label]) -> Ints:
        """Return the number of each row's value of S in the labels of a joint."""
        number = {label: s for s, label in enumerate(s_labels)}
        return np.array([number[label] for label in self.sensitive])


def learn(
    table: "Table",
    names: Sequence[str],
    sensitive: Sequence["Column"],
    most: int | str,
    *,
    min_rows: int = 20,
    weights: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
    is_pilot: bool = False,
) -> Learnt:
    """Learn cells of some columns from at most 100,000 rows of a table, in half of the time.

    S plays no part in them; its values are handed on for what comes after. A pilot is a small part
    of the rows, drawn at random: cells learnt from it are fixed before the others are counted.

    Raises
    ------
    InvalidInput
        For a column that cannot be read.
    """
    from lowlift._cells.learning import learn_cells

    kinds = {}
    for name in names:
        table.check_name(name)
        kinds[name] = table.kinds[name]
        if kinds[name] == "other":
            raise InvalidInput(
                f"column {name!r} has a type that cannot be published in cells. Cast it in a view, "
                "or leave it out."
            )
    deadline = deadline or Deadline(None)
    size = MOST_ROWS
    if is_pilot:
        size, most, min_rows = _pilot(table.rows, most, min_rows)
    with deadline.paused():
        rows = table.sample(names, sensitive, size, is_random=is_pilot)
    if most == "auto":
        most = max(1, min(_MOST_CELLS, len(rows) // _ROWS_PER_CELL))
    parts = list(zip(*rows, strict=True))
    columns = {name: as_values(parts[k], kinds[name]) for k, name in enumerate(names)}
    # The other half is for the channel: cells without one publish nothing but the law of the table.
    half = deadline.half()
    found = learn_cells(columns, int(most), min_rows=min_rows, weights=weights, deadline=half)
    texts = zip(*parts[len(names) :], strict=True)
    labels = (tuple(c.label_of(t) for c, t in zip(sensitive, s, strict=True)) for s in texts)
    values = tuple(one if len(sensitive) > 1 else one[0] for one in labels)
    unique = tuple(name for name in names if _is_unique(columns[name], kinds[name]))
    return Learnt(found, kinds, values, unique, half.is_over and found.tree.size < int(most))


def _pilot(total: int, most: int | str, min_rows: int) -> tuple[int, int, int]:
    """Return how many of all rows to draw, and how many cells of how many rows to learn from them.

    Fewer cells than for the table alone: each must be known well enough from the other rows.
    """
    if most == "auto":
        most = max(2, min(_MOST_FOR_POPULATION, total // _ROWS_FOR_POPULATION))
    size = max(round(_PILOT * total), min(_ROWS_PER_PILOT * int(most), total // 5), 1)
    size = min(size, MOST_ROWS)
    return size, int(most), max(3, -(-min_rows * size // total))


def _is_unique(values: npt.NDArray[Any], kind: str) -> bool:
    """Tell whether a column is taken for an identifier; measured numbers and times are none."""
    if kind in {"real", "timestamp"}:
        return False
    different = len(set(values.tolist()))
    return different > _MOST_VALUES and different > _MOST_SHARE * len(values)


def as_values(values: Sequence[Any], kind: str) -> npt.NDArray[Any]:
    """Return a column's values as cells are learnt from: floats, or objects."""
    if kind in ORDERED:
        try:  # numbers, of which None becomes NaN; times are none
            return np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array([_number(value) for value in values], dtype=np.float64)
    out = np.empty(len(values), dtype=object)
    out[:] = [value if value is None or isinstance(value, bool) else str(value) for value in values]
    return out


def _number(value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, str):  # a time of a CSV, which is kept as it is written
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return (value - _EPOCH).total_seconds()
    return float(value.toordinal()) if isinstance(value, date) else float(value)


def _typed(split: Split, kind: str) -> Split:
    """Return a condition with values of the column's own kind: whole numbers, days, times."""
    if kind not in ORDERED:
        return split
    if split.is_category:
        values = (None if v is None else _value(v, kind) for v in split.values)
        return replace(split, values=tuple(values))
    return replace(split, most=_value(split.most, kind))


def _value(number: Any, kind: str) -> Any:
    if kind == "integer":
        return int(number)  # rounded down: whole numbers up to it are the same
    if kind == "date":
        return date.fromordinal(int(number)).isoformat()
    if kind == "timestamp":
        moment = datetime.fromtimestamp(float(number), UTC).replace(tzinfo=None)
        return moment.isoformat(" ", "microseconds")
    return float(number)
