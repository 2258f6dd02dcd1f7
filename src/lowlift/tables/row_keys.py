"""Keys that tell the rows of a table apart, and the rows that were drawn, found by their keys."""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from lowlift.tables.columns import Column
from lowlift.tables.dialects import Dialect, Expression, number
from lowlift.tables.queries import cell, named

#: More rows than a cell can have: the keys of a cell's rows begin at a multiple of it.
_PER_CELL = 1 << 40


def key_of(cells: Any, places: Any) -> Any:
    """Return the keys that `keyed` gives to rows at these places of cells."""
    return cells * _PER_CELL + places + 1


def numbered_by(value: Expression) -> Expression:
    """Return the number of a row, from 1 on, in the order of a value."""
    order = exp.Order(expressions=[exp.Ordered(this=value, nulls_first=False)])
    return exp.Window(this=exp.RowNumber(), order=order)


def keyed(
    cells: Column,
    table: Expression,
    dialect: Dialect,
    id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
) -> exp.Select:
    """Return a key r of each row and the columns k0, k1, ...

    The key is of its cell and its number in it; with an id column, the place of its id among all.
    """
    if id is not None:
        key = numbered_by(dialect.text(named(id)))
        shown = (named(name).as_(f"k{k}") for k, name in enumerate(cells.names))
        return exp.select(key.as_("r"), *shown).from_(table.copy())
    inner = exp.select(
        *(named(name).as_(f"k{k}") for k, name in enumerate(cells.names)),
        exp.cast(cell(cells, dialect), "bigint").as_("c"),
        dialect.row_number().as_("o"),
    ).from_(table.copy())
    numbered = exp.Window(
        this=exp.RowNumber(),
        partition_by=[named("c")],
        order=exp.Order(expressions=[exp.Ordered(this=named("o"), nulls_first=False)]),
    )
    key = named("c") * number(_PER_CELL) + numbered
    columns = (named(f"k{k}") for k in range(len(cells.names)))
    return exp.select(key.as_("r"), *columns).from_(inner.subquery("v"))


def at_keys(
    shown: Sequence[Expression], given: Expression, key: str, drawn: Expression, *, by_column: bool
) -> exp.Select:
    """Return columns of the rows that were drawn, in their order.

    Parameters
    ----------
    shown
        The columns, of "t0"; where each is drawn by itself, the one at place k of "tk".
    given, key
        The rows, and the column that tells them apart.
    drawn
        The keys r0, or r0, r1, ... for each column, and the order o.
    """
    query = exp.select(*shown).from_(exp.alias_(drawn, "d", table=True))
    for k in range(len(shown) if by_column else 1):
        query = query.join(
            exp.alias_(given.copy(), f"t{k}", table=True),
            on=named(key, f"t{k}").eq(named(f"r{k}", "d")),
        )
    return query.order_by(named("o", "d"))
