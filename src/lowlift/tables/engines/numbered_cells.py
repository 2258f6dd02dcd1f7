"""Cells of the rows of a stored table in DuckDB, found a part of the tree at a time."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables import queries
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.dialects import DUCKDB, Expression, number, table_named
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.queries import named

#: The most conditions of a query below the top of a tree; so few stay with the top.
_CONDITIONS, _FEW = 128, 16


class NumbersCells:
    """A stored table of DuckDB, whose rows have numbers: they get their cells at once."""

    sandbox: Sandbox
    table: Expression
    #: Whether the rows have numbers.
    _is_held = True
    #: The cells of the rows that were numbered last.
    _numbered: tuple[CellBins, Ints, Ints] | None = None

    def cells_of_rows(self, cells: Column) -> tuple[Ints, Ints]:
        """Return the numbers of the rows, and the cell of each."""
        bins = cells_in(cells)
        if self._numbered is None or self._numbered[0] != bins:
            self._numbered = bins, *numbers_of_cells(self.sandbox, self.table, bins)
        return self._numbered[1:]

    def numbered_cells(self, columns: Sequence[Column]) -> tuple[list[Column], Expression]:
        """Return columns and the table to count them in, whose rows know their cells if held."""
        made, table = list(columns), self.table
        for k, column in enumerate(columns):
            if isinstance(column.bins, CellBins) and self._is_held:
                rows, cells = self.cells_of_rows(column)
                row, place = (f"{name}_{secrets.token_hex(8)}" for name in ("row", "cell"))
                self.sandbox.register("numbers", {row: rows, place: cells})
                made[k] = replace(column, bins=replace(column.bins, known=place))
                table = (
                    exp.select(exp.Column(this=exp.Star(), table="h"), named(place))
                    .from_(exp.alias_(self.table.copy(), "h", table=True))
                    .join(table_named("numbers"), on=named("rowid", "h").eq(named(row)))
                    .subquery("numbered")
                )
        return made, table


def numbers_of_cells(sandbox: Sandbox, table: Expression, bins: CellBins) -> tuple[Ints, Ints]:
    """Return the numbers of the rows of a stored table, and the cell of each.

    DuckDB sets memory aside for each condition of a query, and runs it for each 2,048 rows however
    few come to it. So a large tree is cut: rows are sorted by the subtree that they come to, and
    each subtree is a query of its own.
    """
    roots, (row, end) = _roots(bins), (f"{name}_{secrets.token_hex(8)}" for name in ("row", "end"))
    first = queries.below(bins, 0 if bins.tree.splits else -1, DUCKDB, roots)
    columns = [named("rowid").as_(row), first.as_(end)]
    query = exp.select(*columns).from_(table)
    if roots:
        every = exp.select(*map(named, bins.tree.columns), *columns).from_(table)
        stored = DUCKDB.sql(every.order_by(named(end)))
        sandbox.run(f"CREATE OR REPLACE TEMP TABLE sorted AS {stored}")
        query = exp.select(named(row), named(end)).from_("sorted")
    queue = [query]
    for root in sorted(roots):
        inside = exp.select(named(row), queries.below(bins, root, DUCKDB, roots).as_("c"))
        queue.append(inside.from_("sorted").where(named(end).eq(number(-1 - root))))
    found = [sandbox.answer(each, lambda answer: answer.fetchnumpy()) for each in queue]
    if roots:
        sandbox.run("DROP TABLE sorted")
    rows, cells = (np.concatenate(part) for part in zip(*(f.values() for f in found), strict=True))
    done = cells >= 0
    return rows[done], cells[done].astype(np.int64)


def _roots(bins: CellBins) -> set[int]:
    """Return nodes that cut a tree into parts of at most `_CONDITIONS` conditions below the top."""
    splits = bins.tree.splits
    sizes = [1] * len(splits)
    for node in range(len(splits) - 1, -1, -1):  # children come after their parents
        for child in (splits[node].left, splits[node].right):
            sizes[node] += sizes[child] if child >= 0 else 0
    cut, waiting = set[int](), [0] if splits else []
    while waiting:
        node = waiting.pop()
        for child in (splits[node].left, splits[node].right):
            if child >= 0 and sizes[child] > _CONDITIONS:
                waiting.append(child)
            elif child >= 0 and sizes[child] > _FEW < _CONDITIONS < sizes[node]:
                cut.add(child)
    return cut
