"""What was written and has no name yet, and what is read from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lowlift._labels import number_of
from lowlift.errors import InvalidInput
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.outputs import Applied, OutputColumn

if TYPE_CHECKING:
    from lowlift.tables.table import Table
    from lowlift.tables.targets import Target


@dataclass(frozen=True)
class ReadBack:
    """What a written or published table has, read from it and from nothing else.

    Parameters
    ----------
    names
        Its columns.
    counts
        The rows of each output; outputs with the same texts are counted at the first.
    unknown
        Rows that are no output.
    sha256
        The digest of its files; None for a table of a database.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    unknown: int
    sha256: str | None

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self.counts) + self.unknown


def check_published(table: "Table", names: Iterable[str]) -> None:
    """Refuse a published table that lacks a column."""
    for name in names:
        if name not in table.kinds:
            raise InvalidInput(f"the published table must have the column {name!r}; it has not.")


def read_back(table: "Table", columns: Sequence[OutputColumn]) -> ReadBack:
    """Count the outputs in a table that has been written.

    Raises
    ------
    InvalidInput
        When a column of the outputs is not in it.

    Cost
        One GROUP BY in the engine.
    """
    check_published(table, (column.name for column in columns))
    asked = [Column(column.name, "text") for column in columns]  # as written, whatever it is
    counted = table.count(asked)
    place: dict[tuple[str | None, ...], int] = {}
    for y, texts in enumerate(zip(*(column.written for column in columns), strict=True)):
        place.setdefault(texts, y)
    counts, unknown = [0] * len(columns[0].texts), 0
    for symbol, amount in zip(counted.symbols, counted.counts, strict=True):
        texts = tuple(c.text_of(label) for c, label in zip(asked, symbol, strict=True))
        if texts in place:
            counts[place[texts]] += amount
        else:
            unknown += amount
    return ReadBack(tuple(table.kinds), tuple(counts), unknown, table.sha256())


def read_back_cells(table: "Table", cells: Column, outputs: Sequence[int]) -> ReadBack:
    """Count the cells of the rows of a table that has been written; `outputs` numbers its cells.

    Raises
    ------
    InvalidInput
        When a column of the cells is not in it.
    """
    check_published(table, cells.names)
    table.hold(cells.names)
    counted = table.count([replace(cells, bins=cells_in(cells).read_from(table.kinds))])
    place = {cell: y for y, cell in enumerate(outputs)}
    counts, unknown = [0] * len(outputs), 0
    for (cell,), amount in zip(counted.symbols, counted.counts, strict=True):
        if cell in place:
            counts[place[number_of(cell)]] += amount
        else:
            unknown += amount
    return ReadBack(tuple(table.kinds), tuple(counts), unknown, table.sha256())


@dataclass(frozen=True)
class Staged:
    """An output that is written and read back, and has no name yet."""

    applied: Applied
    #: What is there, read from it.
    found: ReadBack
    _target: "Target"

    def commit(self) -> None:
        """Give the output its name."""
        self._target.commit()

    @property
    def frame(self) -> Any:
        """The frame, once it is committed, of an output without a target; else None."""
        return getattr(self._target, "frame", None)

    def undo(self) -> bool:
        """Take back a commit; return whether what was there before is there again."""
        return self._target.undo()
