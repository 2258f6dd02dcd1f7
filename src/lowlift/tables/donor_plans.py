"""Rows drawn by a key: the cell of each by a digest of its id, then a row of that cell.

The digest of an id (`lowlift._one_record.draws.uniform_of`) has 64 hex digits. The first 15 draw
the cell, as an output of the channel. The next 15 are a number v below 2**60, which draws one of
the n rows of that cell: the one at place ``floor(v n / 2**60)``. The next 15 order the rows inside
their own cells (equal ones by the bytes of their ids), so that a place means the same row in every
engine. The last 19 order what is published. Where each column is drawn alone, the numbers v are
those of further digests, of the same text with the number of four columns and a comma after the
subkey: four columns share a digest.

Guarantee
    Given the cell, the row that is published depends on the key, the id and the rows of that cell
    alone: not on the values of the row that it is drawn for. So what it tells about S is what its
    cell tells, and that is the channel's matter. The numbers v are uniform up to n / 2**60.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DIGITS, Dialect, DrawingDialect, Expression, number
from lowlift.tables.queries import named

#: So that the products below are numbers of 63 bits.
MOST_ROWS = 1 << 32
_HALF = 2 * DIGITS
#: Columns that share a digest.
_SHARING = 4
_DRAWN, _ORDER, _REST = DIGITS + 1, 2 * DIGITS + 1, 3 * DIGITS + 1


def place_of(v: Any, rows: Any) -> Any:
    """Return ``floor(v rows / 2**60)`` of numbers or arrays, in whole numbers below 2**63.

    Examples
    --------
    >>> place_of((1 << 60) - 1, 7), place_of(1 << 59, 7), place_of(0, 7)
    (6, 3, 0)
    """
    low = (v & ((1 << _HALF) - 1)) * rows >> _HALF
    return ((v >> _HALF) * rows + low) >> _HALF


def refuse_many(rows: int) -> None:
    """Refuse a table with so many rows that places would not be whole numbers of 63 bits."""
    if rows > MOST_ROWS:
        raise InvalidInput(
            f"rows drawn by a key must be at most {MOST_ROWS:,}; this table has {rows:,}. Draw "
            "without a key."
        )


def empty_cells(counts: Mapping[int, int], sizes: Mapping[int, int]) -> None:
    """Refuse cells that were drawn and have no rows here."""
    empty = sum(bool(drawn) and not sizes.get(cell) for cell, drawn in counts.items())
    if empty:
        raise InvalidInput(
            f"each cell that is drawn must have rows in this table; {empty} have none. Design the "
            "release on this table."
        )


@dataclass(frozen=True)
class DonorPlan:
    """How rows are drawn by a key, and by which one."""

    #: The cells of X.
    cells: Column
    #: The alias table: c (a cell), slot, threshold, first and other, which are cells; or of a
    #: layout: c, slot, low, high, first.
    alias: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    #: Its bits of slots and places, k and d.
    bits: tuple[int, int]
    #: The digits of the key. It must stay in this process, as that of `RowPlan` must.
    key: str = field(repr=False)
    #: The column that is hashed.
    id: str
    #: Whether each column is drawn alone.
    by_column: bool

    @property
    def numbers(self) -> list[str]:
        """The names of the numbers v: one, or one for each column."""
        return [f"v{k}" for k in range(len(self.cells.names) if self.by_column else 1)]

    def given(
        self, table: Expression, dialect: Dialect, shown: Sequence[Expression] = ()
    ) -> exp.Select:
        """Return what rows are drawn by: their cells c, their ids as texts t; and what is shown."""
        return exp.select(
            exp.cast(queries.cell(self.cells, dialect), "bigint").as_("c", quoted=True),
            exp.cast(named(self.id), "text").as_("t", quoted=True),
            *shown,
        ).from_(table.copy())

    def drawn(
        self,
        given: Expression,
        alias: Expression,
        dialect: DrawingDialect,
        key: Expression,
        carried: Sequence[str],
    ) -> exp.Select:
        """Return c, t, what is carried, y (the cell drawn), v0, v1, ..., and d and o, the orders.

        y is NULL for a row whose cell the channel does not know. `given` has c, t and the columns
        that are carried; `alias` is the table that draws.
        """
        digests = exp.select(*map(named, ("c", "t", *carried)))
        digests = digests.select(dialect.digest(self._message(dialect, key)).as_("h", quoted=True))
        if self.by_column:
            for group in range(-(-len(self.numbers) // _SHARING)):
                message = self._message(dialect, key, f"{group},")
                digests = digests.select(dialect.digest(message).as_(f"h{group}", quoted=True))
        uniform = exp.select(*map(named, ("c", "t", *carried)))
        uniform = uniform.select(_number("h", 1, dialect).as_("u", quoted=True))
        for k, name in enumerate(self.numbers):
            digest, start = "h", _DRAWN
            if self.by_column:
                digest, start = f"h{k // _SHARING}", k % _SHARING * DIGITS + 1
            uniform = uniform.select(_number(digest, start, dialect).as_(name, quoted=True))
        uniform = uniform.select(
            _number("h", _ORDER, dialect).as_("d", quoted=True),
            dialect.text(_digits("h", _REST, 64 - 3 * DIGITS)).as_("o", quoted=True),
        ).from_(digests.from_(given.copy()).subquery("g"))
        return self._looked_up(uniform, alias, ("c", "t", *carried, *self.numbers, "d", "o"))

    def _message(self, dialect: DrawingDialect, key: Expression, group: str = "") -> Expression:
        text = named("t")
        size = exp.cast(dialect.octets(text), "text")
        first = [key.copy(), exp.Literal.string(group)] if group else [key.copy()]
        return dialect.concat(*first, size, exp.Literal.string(":"), text.copy())

    def _looked_up(
        self, uniform: exp.Select, alias: Expression, carried: Sequence[str]
    ) -> exp.Select:
        k, d = self.bits
        whole = 4 * DIGITS
        slot = _shifted(named("u", "u"), whole - k)
        rest = exp.paren(_masked(_shifted(named("u", "u"), whole - k - d), d))
        on: list[Expression] = [named("c", "u").eq(named("c", "a")), named("slot", "a").eq(slot)]
        output: Expression = named("first", "a")
        if "low" in self.alias:
            on += [rest >= named("low", "a"), rest.copy() < named("high", "a")]
        else:
            output = (
                exp.case().when(rest < named("threshold", "a"), output).else_(named("other", "a"))
            )
        return (
            exp.select(output.as_("y", quoted=True))
            .select(*(named(name, "u").as_(name, quoted=True) for name in carried))
            .from_(uniform.subquery("u"))
            .join(exp.alias_(alias.copy(), "a", table=True), on=exp.and_(*on), join_type="left")
        )

    def placed(self, drawn: Expression) -> exp.Select:
        """Return y, o and r0, r1, ...: the keys of the rows that v0, v1, ... draw in y.

        They are NULL where y has no rows. A key is of the cell and the place in it: of two numbers
        to join by, PostgreSQL might take one and compare all rows of a cell with each other.
        """
        sizes = (
            exp.select(named("c"), exp.Count(this=exp.Star()).as_("n", quoted=True))
            .from_(drawn.copy())
            .group_by(named("c"))
        )
        keys = [
            _key(named("y", "d"), _place(named(v, "d"), named("n", "s"))).as_(f"r{k}", quoted=True)
            for k, v in enumerate(self.numbers)
        ]
        return (
            exp.select(named("y", "d").as_("y", quoted=True), named("o", "d").as_("o", quoted=True))
            .select(*keys)
            .from_(exp.alias_(drawn.copy(), "d", table=True))
            .join(sizes.subquery("s"), on=named("c", "s").eq(named("y", "d")), join_type="left")
        )

    def ranked(self, drawn: Expression) -> exp.Select:
        """Return the rows that can be drawn: their keys r (see `placed`) and columns k0, k1, ..."""
        order = exp.Order(
            expressions=[exp.Ordered(this=named(name), nulls_first=False) for name in ("d", "t")]
        )
        rank = exp.Window(this=exp.RowNumber(), partition_by=[named("c")], order=order)
        key = _key(named("c"), exp.Sub(this=rank, expression=number(1)))
        columns = (named(f"k{k}") for k in range(len(self.cells.names)))
        return exp.select(exp.cast(key, "bigint").as_("r", quoted=True), *columns).from_(
            drawn.copy()
        )

    def published(
        self, placed: Expression, ranked: Expression, shown: Sequence[Expression]
    ) -> exp.Select:
        """Return columns of the rows at the places that were drawn, in their order.

        `shown` are the columns k0, k1, ... of "q0", or each of a table of its own, "q0", "q1", ...
        The places are those of "p".
        """
        query = exp.select(*shown).from_(exp.alias_(placed.copy(), "p", table=True))
        for k in range(len(self.numbers)):
            query = query.join(
                exp.alias_(ranked.copy(), f"q{k}", table=True),
                on=named("r", f"q{k}").eq(named(f"r{k}", "p")),
                join_type="left",
            )
        return query.order_by(named("o", "p"))

    def source_of(self, k: int) -> str:
        """Return the table of `published` that has the column at place k."""
        return f"q{k if self.by_column else 0}"


def keys_of(numbers: Ints, outputs: Ints, cells: Ints, rows: Ints) -> Ints:
    """Return the rows that numbers v draw in the cells `outputs`, (n,) or (n, columns).

    `rows` are those of the table, sorted by their `cells` and in the order of each cell.
    """
    most = int(max(cells.max(initial=0), outputs.max(initial=0))) + 1
    sizes = np.bincount(cells, minlength=most)
    starts = (np.cumsum(sizes) - sizes)[outputs]
    n = sizes[outputs]
    if numbers.ndim > 1:
        starts, n = starts[:, None], n[:, None]
    return np.asarray(rows[starts + place_of(numbers, n)])


def _key(cell: Expression, place: Expression) -> Expression:
    """Return the number of a row of a cell; places are below `MOST_ROWS`."""
    return cell * number(MOST_ROWS) + exp.paren(place)


def _place(v: Expression, rows: Expression) -> Expression:
    """Return `place_of` in SQL."""
    low = _shifted(exp.paren(exp.paren(_masked(v, _HALF)) * rows), _HALF)
    high = exp.paren(_shifted(v.copy(), _HALF)) * rows.copy()
    return _shifted(exp.paren(high + exp.paren(low)), _HALF)


def _digits(digest: str, start: int, length: int) -> Expression:
    return exp.Substring(this=named(digest), start=number(start), length=number(length))


def _number(digest: str, start: int, dialect: DrawingDialect) -> Expression:
    return dialect.hex_number(_digits(digest, start, DIGITS))


def _shifted(value: Expression, bits: int) -> Expression:
    return exp.BitwiseRightShift(this=value, expression=number(bits)) if bits else value


def _masked(value: Expression, bits: int) -> Expression:
    return exp.BitwiseAnd(this=exp.paren(value), expression=number((1 << bits) - 1))
