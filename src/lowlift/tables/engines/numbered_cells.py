"""Cells of the rows of a stored table in DuckDB, found a part of the tree at a time."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
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
#: So many listed values take as much memory as a condition.
_VALUES = 16


class NumbersCells:
    """A stored table of DuckDB, whose rows have numbers: they get their cells at once."""

    sandbox: Sandbox
    table: Expression
    kinds: Mapping[str, str]
    #: Whether the rows have numbers.
    _is_held = True
    #: The cells of the rows that were numbered last.
    _numbered: tuple[CellBins, Ints, Ints] | None = None

    def cells_of_rows(self, cells: Column) -> tuple[Ints, Ints]:
        """Return the numbers of the rows, and the cell of each."""
        bins = cells_in(cells)
        if self._numbered is None or self._numbered[0] != bins:
            table, row = numbered_rows(self.table, self.kinds)
            self._numbered = bins, *numbers_of_cells(self.sandbox, table, row, bins)
        return self._numbered[1:]

    def numbered_cells(self, columns: Sequence[Column]) -> tuple[list[Column], Expression]:
        """Return columns and the table to count them in, whose rows know their cells if held."""
        made, table = list(columns), self.table
        for k, column in enumerate(columns):
            if isinstance(column.bins, CellBins) and self._is_held:
                rows, cells = self.cells_of_rows(column)
                row, place = (f"{name}_{secrets.token_hex(8)}" for name in ("row", "cell"))
                self.sandbox.register("numbers", {row: rows, place: cells})
                stored, key = numbered_rows(self.table, self.kinds)
                made[k] = replace(column, bins=replace(column.bins, known=place))
                table = (
                    exp.select(exp.Column(this=exp.Star(), table="h"), named(place))
                    .from_(exp.alias_(stored, "h", table=True))
                    .join(table_named("numbers"), on=named(key, "h").eq(named(row)))
                    .subquery("numbered")
                )
        return made, table


def is_free(place: str, names: Iterable[str]) -> bool:
    """Tell whether a column that DuckDB adds, such as "rowid", can be asked for by its name."""
    return all(name.casefold() != place for name in names)


def numbered_rows(table: Expression, names: Iterable[str]) -> tuple[Expression, str]:
    """Return a stored table of these columns, and the column that numbers its rows from 0."""
    if is_free("rowid", names):
        return table.copy(), "rowid"
    place = f"row_{secrets.token_hex(8)}"
    counted = exp.Sub(this=DUCKDB.row_number(), expression=number(1)).as_(place)
    return exp.select(exp.Star(), counted).from_(table.copy()).subquery("stored"), place


def numbers_of_cells(
    sandbox: Sandbox, table: Expression, key: str, bins: CellBins
) -> tuple[Ints, Ints]:
    """Return the numbers of the rows of a stored table, in its column `key`, and the cell of each.

    DuckDB sets memory aside for each condition of a query and each value that it lists, and runs it
    for each 2,048 rows however few come to it. So a large tree is cut: rows are sorted by the
    subtree that they come to, and each subtree is a query of its own.
    """
    roots, (row, end) = _roots(bins), (f"{name}_{secrets.token_hex(8)}" for name in ("row", "end"))
    names = [named(name) for name in bins.tree.columns]

    def found(query: exp.Select) -> Mapping[str, Ints]:
        return sandbox.answer(query, lambda answer: answer.fetchnumpy())

    def ended(start: int, place: Expression) -> list[Expression]:
        return [place.as_(row), queries.below(bins, start, DUCKDB, roots).as_(end)]

    first = ended(0 if bins.tree.splits else -1, named(key))
    done = []
    if not roots:
        done.append(found(exp.select(*first).from_(table)))
    else:
        every = exp.select(*names, *first).from_(table)
        sandbox.run(f"CREATE TEMP TABLE level AS {DUCKDB.sql(every.order_by(named(end)))}")
    waiting = roots
    while waiting:
        sandbox.run("CREATE TEMP TABLE deeper AS FROM level LIMIT 0")
        done.append(found(exp.select(named(row), named(end)).from_("level")))
        left: set[int] = set()
        for root in sorted(waiting):
            inner = _reached(bins, root, roots)
            shown = [*(names if inner else []), *ended(root, named(row))]
            here = exp.select(*shown).from_("level").where(named(end).eq(number(-1 - root)))
            if inner:
                sandbox.run(f"INSERT INTO deeper {DUCKDB.sql(here)}")
            else:
                done.append(found(here))
            left |= inner
        waiting = left
        sandbox.run("DROP TABLE level; ALTER TABLE deeper RENAME TO level")
    if roots:
        sandbox.run("DROP TABLE level")
    rows, cells = (np.concatenate(part) for part in zip(*(f.values() for f in done), strict=True))
    are_cells = cells >= 0
    return rows[are_cells], cells[are_cells].astype(np.int64)


def _reached(bins: CellBins, root: int, roots: Collection[int]) -> set[int]:
    """Return the nodes below a node at which its query ends."""
    found, waiting = set[int](), [root]
    while waiting:
        split = bins.tree.splits[waiting.pop()]
        for child in (split.left, split.right):
            if child in roots:
                found.add(child)
            elif child >= 0:
                waiting.append(child)
    return found & set(roots)


def _roots(bins: CellBins) -> set[int]:
    """Return nodes that cut a tree into parts of about `_CONDITIONS` conditions, few levels deep.

    Subtrees of at most so many become parts. Where what is left above them is still too large, as
    in a tree that is a long chain, it is cut too.
    """
    splits = bins.tree.splits
    costs = [1 + (len(split.values) // _VALUES if split.is_category else 0) for split in splits]
    children = [[c for c in (split.left, split.right) if c >= 0] for split in splits]
    sizes = list(costs)
    for node in range(len(splits) - 1, -1, -1):  # children come after their parents
        sizes[node] += sum(sizes[child] for child in children[node])
    cut, waiting = set[int](), [0] if splits else []
    while waiting:
        node = waiting.pop()
        for child in children[node]:
            if sizes[child] > _CONDITIONS:
                waiting.append(child)
            elif sizes[child] > _FEW < _CONDITIONS < sizes[node]:
                cut.add(child)
    above = list(costs)
    for node in range(len(splits) - 1, -1, -1):
        for child in sorted(children[node], key=lambda child: above[child]):
            if child in cut:
                continue
            if above[node] + above[child] > 2 * _CONDITIONS:
                cut.add(child)
            else:
                above[node] += above[child]
    return cut
