"""A tree of conditions on single columns, whose leaves are the cells of a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Ints
from lowlift.errors import InvalidInput

#: A value that a condition compares with: as files hold it. Dates are texts (ISO 8601).
Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Split:
    """A condition: rows that meet it go to the left.

    Parameters
    ----------
    column
        The column's number.
    most
        Of a number or a date: left are values up to this one. Missing values go to the right.
    values
        Of a category: left are these values, of which one may be None (missing). All others, also
        those that were not there when the cells were learnt, go to the right.
    left, right
        Numbers of nodes, or ``-1 - cell``.
    """

    column: int
    left: int
    right: int
    most: Value = None
    values: tuple[Value, ...] = ()

    @property
    def is_category(self) -> bool:
        """Whether the condition lists values."""
        return self.most is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        ends = {"column": self.column, "left": self.left, "right": self.right}
        return ends | ({"in": list(self.values)} if self.is_category else {"most": self.most})


@dataclass(frozen=True)
class Tree:
    """Conditions from the first on; every row ends in one cell, ``0..size - 1``.

    Examples
    --------
    >>> tree = Tree(("age", "job"), (Split(0, 1, -3, most=30), Split(1, -1, -2, values=("nurse",))))
    >>> tree.size, tree.cell_of({"age": 20, "job": "nurse"}), tree.cell_of({"age": None})
    (3, 0, 2)
    >>> tree.describe(1)
    'age up to 30, job other than nurse'
    """

    columns: tuple[str, ...]
    splits: tuple[Split, ...]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.splits) + 1

    def cell_of(self, record: Mapping[str, Any]) -> int:
        """Return the cell of one record, whose values are as the conditions have them."""
        node = 0 if self.splits else -1
        while node >= 0:
            split = self.splits[node]
            value = record.get(self.columns[split.column])
            if split.is_category:
                is_left = value in split.values
            else:
                is_left = value is not None and value <= split.most
            node = split.left if is_left else split.right
        return -1 - node

    def assign(self, columns: Sequence[npt.NDArray[Any]]) -> Ints:
        """Return the cell of each row: numbers as floats (NaN: missing), categories as objects."""
        rows = len(columns[0])
        cells = np.zeros(rows, np.int64)
        waiting = [(0, np.arange(rows))] if self.splits else []
        while waiting:
            node, where = waiting.pop()
            split = self.splits[node]
            left = _meets(split, columns[split.column][where])
            for child, part in ((split.left, where[left]), (split.right, where[~left])):
                if child >= 0:
                    waiting.append((child, part))
                else:
                    cells[part] = -1 - child
        return cells

    @cached_property
    def paths(self) -> list[list[tuple[Split, bool]]]:
        """The conditions that lead to each cell, and whether each is met."""
        found: list[list[tuple[Split, bool]]] = [[] for _ in range(self.size)]

        def walk(node: int, path: list[tuple[Split, bool]]) -> None:
            if node < 0:
                found[-1 - node] = path
                return
            split = self.splits[node]
            walk(split.left, [*path, (split, True)])
            walk(split.right, [*path, (split, False)])

        walk(0 if self.splits else -1, [])
        return found

    def joined(self, cells: Iterable[int]) -> tuple[Self, Ints]:
        """Return the tree without the last conditions on the way to these cells.

        Also returns the new cell of each cell: what a condition told apart is one cell now.

        Examples
        --------
        >>> tree = Tree(("a",), (Split(0, 1, -3, most=3), Split(0, -1, -2, most=1)))
        >>> smaller, cells = tree.joined([0])
        >>> smaller.splits, cells.tolist()
        ((Split(column=0, left=-1, right=-2, most=3, values=()),), [0, 0, 1])
        """
        ends = {-1 - cell for cell in cells}
        gone = {k for k, split in enumerate(self.splits) if ends & {split.left, split.right}}
        to, made, size = np.zeros(self.size, np.int64), list[Split](), 0

        def below(node: int) -> Iterator[int]:
            if node < 0:
                yield -1 - node
                return
            yield from below(self.splits[node].left)
            yield from below(self.splits[node].right)

        def walk(node: int) -> int:
            nonlocal size
            if node < 0 or node in gone:
                to[list(below(node))] = size
                size += 1
                return -size
            at, split = len(made), self.splits[node]
            made.append(split)
            made[at] = replace(split, left=walk(split.left), right=walk(split.right))
            return at

        walk(0 if self.splits else -1)
        return replace(self, splits=tuple(made)), to

    def describe(self, cell: int) -> str:
        """Return a cell's conditions in words; columns without one are not named."""
        words = list(self._words(self.paths[cell]))
        return ", ".join(words) if words else "all rows"

    def _words(self, path: list[tuple[Split, bool]]) -> Iterator[str]:
        for number, name in enumerate(self.columns):
            here = [(split, left) for split, left in path if split.column == number]
            if not here:
                continue
            if here[0][0].is_category:
                yield f"{name} {_category_words(here)}"
                continue
            most: list[Any] = [split.most for split, left in here if left]
            least: list[Any] = [split.most for split, left in here if not left]
            below = f"up to {min(most)}" if most else ""
            above = f"above {max(least)}" if least else ""
            missing = "" if most else " or missing"
            yield f"{name} {' '.join(part for part in (above, below) if part)}{missing}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "columns": list(self.columns),
            "splits": [split.to_dict() for split in self.splits],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the tree of data that fits the schema of cells.

        Raises
        ------
        InvalidInput
            When its nodes do not form one tree.
        """
        columns, splits = tuple(saved["columns"]), tuple(map(_split_of, saved["splits"]))
        children = [child for split in splits for child in (split.left, split.right)]
        nodes = sorted(child for child in children if child >= 0)
        cells = sorted(-1 - child for child in children if child < 0)
        if (
            any(not 0 <= split.column < len(columns) for split in splits)
            or nodes != list(range(1, len(splits)))
            or (splits and cells != list(range(len(splits) + 1)))
            or any(0 <= child <= at for at, s in enumerate(splits) for child in (s.left, s.right))
        ):
            raise InvalidInput("the cells in the release are damaged.")
        return cls(columns, splits)


def _split_of(saved: Mapping[str, Any]) -> Split:
    ends = saved["column"], saved["left"], saved["right"]
    if "in" in saved:
        return Split(*ends, values=tuple(saved["in"]))
    return Split(*ends, most=saved["most"])


def _meets(split: Split, values: npt.NDArray[Any]) -> Bools:
    """Tell which rows go to the left."""
    if not split.is_category:
        return np.asarray(values <= split.most)  # NaN is not
    listed = set(split.values)
    return np.fromiter((value in listed for value in values.tolist()), np.bool_, len(values))


def _category_words(path: list[tuple[Split, bool]]) -> str:
    """Return the values of a category that a cell allows."""
    kept: set[Value] | None = None
    barred: set[Value] = set()
    for split, left in path:
        if left:
            kept = set(split.values) if kept is None else kept & set(split.values)
        else:
            barred |= set(split.values)
    shown = barred if kept is None else kept - barred
    words = sorted("missing" if value is None else str(value) for value in shown)
    if len(words) > 4:
        words = [*words[:3], f"{len(words) - 3} more"]
    joined = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    return f"other than {joined}" if kept is None else joined
