"""Rows that are drawn one by one, by a digest of their id or number: how, and the SQL of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DIGITS, Dialect, DrawingDialect, Expression, number
from lowlift.tables.queries import bound, named, symbol


@dataclass(frozen=True)
class RowPlan:
    """How rows are drawn one by one."""

    #: The columns of X.
    columns: tuple[Column, ...]
    #: The alias table: columns c0, c1, ..., slot, threshold, first, other; or of a layout: c0, c1,
    #: ..., slot, low, high, first.
    alias: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    #: Its bits of slots and places, k and d.
    bits: tuple[int, int]
    #: The digits of the key. It must stay in this process: no statement, bound value or plan that
    #: an engine could log may hold it.
    key: str = field(repr=False)
    #: The text that stands for NULL in the alias table.
    null: str
    #: The column that is hashed; None for the row's number.
    id: str | None
    #: Columns to carry along.
    keep: tuple[str, ...] = ()
    #: "shuffled": by further digits of the digest; "kept": by the row's number.
    order: str | None = None
    #: Whether rows with a missing symbol leave.
    drop_missing: bool = False
    #: The symbol of each row of the alias table, by its number; ascending.
    numbers: Ints | None = field(default=None, repr=False)

    @property
    def places(self) -> list[str]:
        """The columns of the symbols' texts: c0, c1, ..."""
        return [f"c{k}" for k in range(len(self.columns))]

    def symbols(self, table: Expression, dialect: Dialect) -> exp.Select:
        """Return what a row is drawn by: its symbols c0, ..., what is kept, its id as text in t."""
        identity = [] if self.id is None else [exp.cast(named(self.id), "text").as_("t")]
        return exp.select(
            *(symbol(column, dialect).as_(f"c{k}") for k, column in enumerate(self.columns)),
            *(named(name).as_(f"k{k}") for k, name in enumerate(self.keep)),
            *identity,
        ).from_(table.copy())

    def query(
        self, table: Expression, alias: Expression, dialect: DrawingDialect, key: Expression
    ) -> exp.Select:
        """Return y (NULL for a row that must leave), k0, k1, ... and o, the order.

        The uniform number u of a row has 60 bits. Its leading k bits choose a slot of the alias
        table and the d that follow choose between the slot's two outputs, so that k + d <= 60.
        The key is a bound value, or a subquery where plans show bound values; `null` is bound.
        """
        uniform = self._digests(table, dialect, key, dialect.hex_number(_digits(1, DIGITS)))
        is_layout = "low" in self.alias
        given = uniform, self.places, self._carried, alias, self.bits, dialect
        return _joined_to_alias(*given, is_layout=is_layout)

    def query_by_digits(
        self, table: Expression, digits: Expression, dialect: DrawingDialect, key: Expression
    ) -> exp.Select:
        """Return what `query` returns, by a table of `by_digits`.

        Digests are compared as texts: for Spark, reading one as a number takes as long as taking
        it.
        """
        digest = named("u", "u")
        leading = exp.Substring(this=digest, start=number(1), length=number(self._n_leading))
        within = [
            named("leading", "a").eq(leading),
            digest.copy() >= named("low", "a"),
            digest.copy() < named("high", "a"),
        ]
        drawn = exp.select(
            named("first", "a").as_("y"), *(named(place, "u").as_(place) for place in self._carried)
        )
        # A left join, as for `query`.
        return drawn.from_(self._digests(table, dialect, key, named("h")).subquery("u")).join(
            exp.alias_(digits.copy(), "a", table=True),
            on=exp.and_(*_same_symbol(self.places, dialect), *within),
            join_type="left",
        )

    @property
    def _n_leading(self) -> int:
        """The hex digits by which a digest finds its pieces: of each, at most 32 are compared."""
        return max(1, self.bits[0] // 4)

    def by_digits(self) -> dict[str, npt.NDArray[Any]]:
        """Return the alias table as pieces: digests from `low` on, before `high`, draw `first`.

        All are texts of hex digits, which are in the order of the numbers; a piece belongs to the
        digests that begin with `leading`. The columns of symbols are those of the alias table.
        """
        k, d = self.bits
        unit = 4 * DIGITS - k - d
        slots = self.alias["slot"].astype(np.int64) << (4 * DIGITS - k)
        rows = np.arange(len(slots))
        if "low" in self.alias:
            low, high, output = self.alias["low"], self.alias["high"], self.alias["first"]
        else:
            rows = np.concatenate([rows, rows])
            middle, zero = self.alias["threshold"], np.zeros(len(slots), np.int64)
            low = np.concatenate([zero, middle])
            high = np.concatenate([middle, zero + (1 << d)])
            output = np.concatenate([self.alias["first"], self.alias["other"]])
        low = slots[rows] + (low.astype(np.int64) << unit)
        high = slots[rows] + (high.astype(np.int64) << unit)
        is_some = high > low
        rows, low, high, output = rows[is_some], low[is_some], high[is_some], output[is_some]
        shift = 4 * (DIGITS - self._n_leading)
        begins, ends = low >> shift, (high - 1) >> shift
        often = ends - begins + 1
        leading = np.arange(often.sum()) - np.repeat(np.cumsum(often) - often - begins, often)
        pieces = {"leading": _in_hex(leading, self._n_leading), "first": np.repeat(output, often)}
        texts = {"low": _in_hex(low, DIGITS), "high": _in_hex(high, DIGITS)}
        symbols = {place: self.alias[place][rows] for place in self.places}
        return {name: np.repeat(part, often) for name, part in (symbols | texts).items()} | pieces

    @property
    def _carried(self) -> list[str]:
        """The columns of a drawn row, beside its output."""
        return [*(f"k{k}" for k in range(len(self.keep))), *(["o"] if self.order else [])]

    def _digests(
        self, table: Expression, dialect: DrawingDialect, key: Expression, uniform: Expression
    ) -> exp.Select:
        """Return symbols, what is kept, the order o, and u, made of the digest h."""
        numbered = ["o"] if self.order == "kept" else []
        values = self.symbols(table, dialect)
        if self.id is None:
            values = values.select(exp.cast(dialect.row_number(), "text").as_("t"))
        values = values.select(*(dialect.row_number().as_(place) for place in numbered))
        text = named("t")
        message = dialect.concat(
            key, exp.cast(dialect.octets(text), "text"), exp.Literal.string(":"), text.copy()
        )
        carried = [*self.places, *(f"k{k}" for k in range(len(self.keep))), *numbered]
        digests = exp.select(*map(named, carried), dialect.digest(message).as_("h"))
        digests = self._remaining(digests.from_(values.subquery("v")))
        found = exp.select(*map(named, carried), uniform.as_("u"))
        if self.order == "shuffled":
            found = found.select(dialect.text(_digits(DIGITS + 1, 32)).as_("o"))
        return found.from_(digests.subquery("d"))

    def _remaining(self, query: exp.Select) -> exp.Select:
        """Leave out rows with a missing symbol where they leave."""
        if not self.drop_missing:
            return query
        return query.where(*(exp.Not(this=named(c).is_(exp.null())) for c in self.places))

    def numbered(self, table: Expression, symbols: Expression, dialect: Dialect) -> exp.Select:
        """Return what a row is drawn by: the number of its symbol, -1 for none, and its id as text.

        The columns of `symbols` are c0, c1, ..., and x, the number; `null` is bound.
        """
        values = self._remaining(
            exp.select(*map(named, [*self.places, "t"])).from_(
                self.symbols(table, dialect).subquery("v")
            )
        )
        known = exp.Coalesce(this=named("x", "a"), expressions=[number(-1)])
        return (
            exp.select(exp.cast(known, "int").as_("x"), named("t", "u"))
            .from_(values.subquery("u"))
            .join(
                exp.alias_(symbols.copy(), "a", table=True),
                on=exp.and_(*_same_symbol(self.places, dialect)),
                join_type="left",
            )
        )


def _in_hex(numbers: Ints, digits: int) -> npt.NDArray[Any]:
    """Return numbers as texts of hex digits; the one after the last as a text after all of them."""
    return np.array(
        [f"{each:0{digits}x}" if each < 16**digits else "g" for each in numbers.tolist()], object
    )


def _digits(start: int, length: int) -> Expression:
    return exp.Substring(this=named("h"), start=number(start), length=number(length))


def _joined_to_alias(
    uniform: exp.Select,
    symbols: Sequence[str],
    carried: Sequence[str],
    alias: Expression,
    bits: tuple[int, int],
    dialect: Dialect,
    *,
    is_layout: bool,
) -> exp.Select:
    k, d = bits
    whole = 4 * DIGITS
    slot = _shifted(named("u", "u"), whole - k)
    rest = exp.BitwiseAnd(
        this=exp.paren(_shifted(named("u", "u"), whole - k - d)), expression=number((1 << d) - 1)
    )
    is_first = exp.paren(rest) < named("threshold", "a")
    if is_layout:
        output: Expression = named("first", "a")
        within = [exp.paren(rest) >= named("low", "a"), exp.paren(rest.copy()) < named("high", "a")]
    else:
        output = exp.case().when(is_first, named("first", "a")).else_(named("other", "a"))
        within = []
    matches = _same_symbol(symbols, dialect)
    # A left join: a symbol that the channel does not know must be found, not lost.
    return (
        exp.select(
            output.as_("y"),
            *(named(place, "u").as_(place) for place in carried),
        )
        .from_(uniform.subquery("u"))
        .join(
            exp.alias_(alias.copy(), "a", table=True),
            on=exp.and_(*matches, named("slot", "a").eq(slot), *within),
            join_type="left",
        )
    )


def _same_symbol(places: Sequence[str], dialect: Dialect) -> list[Expression]:
    """Return the conditions under which row u has the symbol that table a lists."""
    null = dialect.text(bound("null"))
    return [
        exp.Coalesce(this=named(place, "u"), expressions=[null.copy()]).eq(named(place, "a"))
        for place in places
    ]


def _shifted(value: Expression, bits: int) -> Expression:
    return exp.BitwiseRightShift(this=value, expression=number(bits)) if bits else value


def by_output(drawn_rows: exp.Select) -> exp.Select:
    """Count the rows of each output; NULL for rows whose symbol the channel does not know."""
    return (
        exp.select(named("y"), exp.Count(this=exp.Star()).as_("n"))
        .from_(drawn_rows.subquery("r"))
        .group_by(named("y"))
    )


def in_order(drawn_rows: exp.Select, kept: int) -> exp.Select:
    """Return y, k0, k1, ... of the rows that have an output, in their order."""
    places = ["y", *(f"k{k}" for k in range(kept))]
    query = (
        exp.select(*map(named, places))
        .from_(drawn_rows.subquery("r"))
        .where(exp.Not(this=named("y").is_(exp.null())))
    )
    return query.order_by(named("o"))
