"""One SELECT that draws a release: symbols, digests, look-up tables and refusals inside.

It is built from the parts by which `apply` draws (`lowlift.tables.row_plans`), so that both draw
the same. The look-up tables are three lists of values: the symbols (their number and texts), the
slots that a uniform number chooses from, and the outputs (what is published).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from sqlglot import exp

from lowlift._exports.dialects import StatementDialect, written_day
from lowlift._exports.kinds import fault_of, kinds_read, type_names
from lowlift._exports.slots import listed_slots, values_of
from lowlift.encodings import Encoded
from lowlift.tables.columns import Column
from lowlift.tables.dialects import Expression, number
from lowlift.tables.draws import Draw
from lowlift.tables.layouts import lookup
from lowlift.tables.queries import named, symbol
from lowlift.tables.row_plans import RowPlan

#: Hex digits of the subkey that a statement is given; see `lowlift.tables.alias.key_text`.
_KEY_DIGITS = 40
_HEX = "0123456789abcdef"
_SUBKEY = f"a subkey must be {_KEY_DIGITS} digits of 0-9 and a-f, in lower case"
_PRINT = "Print it with lowlift key subkey."
NULL = "null"
_UNSEEN = (
    "every value must have been seen at design; a row has one that was not. Design again on this "
    "table, or suppress such rows."
)
_MISSING = (
    "every value must be present; a row lacks one, and missing values were errors at design. "
    "Remove such rows."
)
_NUMBERS = re.compile(r"^ +(?=\((?:\d+, )+\d+\),?$)", re.MULTILINE)
_Query = TypeVar("_Query", bound=Expression)


@dataclass(frozen=True)
class Statement:
    """What a statement draws, and from what.

    Parameters
    ----------
    encoded
        The release.
    dialect
        The warehouse.
    table
        The table that is read.
    id
        The column that is hashed; None for a release that draws nothing.
    key
        Where the subkey is read from.
    unseen
        "error" or "suppress": what becomes of rows whose values the design did not have.
    keep
        Columns that are carried along as they are.
    """

    encoded: Encoded
    dialect: StatementDialect
    table: Expression
    id: str | None
    key: Expression
    unseen: str = "error"
    keep: tuple[str, ...] = ()

    def select(self) -> exp.Select:
        """Return the statement: a row for each row of the table, in random order."""
        y, order = named("y", "r"), named("o", "r")
        outputs = [
            exp.cast(named(f"o{k}", "o"), self.dialect.types[column.kind]).as_(
                column.name, quoted=True
            )
            for k, column in enumerate(self.encoded.columns)
        ]
        kept = [named(f"k{k}", "r").as_(n, quoted=True) for k, n in enumerate(self.keep)]
        query = (
            exp.select(*outputs, *kept)
            .from_(self._drawn().subquery("r"))
            .join(named_as("lowlift_outputs", "o"), on=named("y", "o").eq(y), join_type="left")
        )
        query = query.where(unseen_or_fail(self, y, order))
        if self.id is not None or self.dialect.types_read is not None:
            query = query.join(named_as("lowlift_checked", "c"), join_type="cross").where(
                named("is_right", "c").eq(number(1))
            )
        return self.with_tables(query.order_by(order))

    def write(self, query: Expression) -> str:
        """Return a query as the warehouse reads it.

        Every name is in quotes: some warehouses read others in upper case. Rows of numbers are not
        indented: there may be thousands.
        """
        return _NUMBERS.sub("", self.dialect.sql(query, pretty=True, identify=True))

    def with_tables(self, query: exp.Select) -> exp.Select:
        """Return a query that can read the parts."""
        for name, part in self.parts():
            query = query.with_(exp.to_identifier(name, quoted=True), as_=part, copy=False)
        return query

    def parts(self) -> list[tuple[str, Expression]]:
        """Return the tables that the statement is made of, by their names."""
        return [
            ("lowlift_symbols", self.symbols()),
            ("lowlift_slots", self._slots()),
            *self.output_tables(),
            ("lowlift_rows", self._rows()),
            *self.checks(),
        ]

    def checks(self) -> list[tuple[str, Expression]]:
        """Return the tables of types and of the subkey, and that of the checks of them and ids."""
        types = self.dialect.types_read
        parts: list[tuple[str, Expression]] = []
        if types is not None:
            names = [*kinds_read(self.encoded), *filter(None, [self.id])]
            columns = (named(name).as_(f"v{k}", quoted=True) for k, name in enumerate(names))
            row = self.own(exp.select(*columns).from_(self.table.copy())).limit(1)
            parts.append(("lowlift_types", type_names(names, row, types)))
        if self.id is not None:
            key = exp.select(exp.cast(self.key.copy(), "text").as_("key", quoted=True))
            return [*parts, ("lowlift_key", key), ("lowlift_checked", self._checked(self.id))]
        if types is not None:
            is_right = self.type_faults(exp.case()).else_(number(1))
            parts.append(("lowlift_checked", exp.select(is_right.as_("is_right", quoted=True))))
        return parts

    def type_faults(self, case: exp.Case) -> exp.Case:
        """Add what is wrong with the types of the columns, where the warehouse can tell them."""
        types = self.dialect.types_read
        if types is None:
            return case
        fault = fault_of(kinds_read(self.encoded), self.id, types)
        said = exp.select(fault).from_(named_as("lowlift_types", "t")).subquery()
        return case.when(exp.Not(this=said.is_(exp.null())), self.dialect.fail(said.copy()))

    def _drawn(self) -> exp.Select:
        """Return y, k0, k1, ... and the order o of each row."""
        alias = (
            exp.select(
                *(named(f"c{k}", "s") for k in range(self.width)),
                *(named(name, "l") for name in self._lookup[1]),
            )
            .from_(named_as("lowlift_symbols", "s"))
            .join(named_as("lowlift_slots", "l"), on=named("x", "s").eq(named("x", "l")))
        )
        rows = exp.to_table("lowlift_rows")
        rows.this.set("quoted", True)
        if self.id is None:
            return self._looked_up(rows, alias)
        plan = RowPlan(
            columns=tuple(Column(f"c{k}", "text") for k in range(self.width)),
            alias=self._lookup[1],
            bits=self._lookup[2],
            key="",
            null=NULL,
            id="t",
            keep=tuple(f"k{k}" for k in range(len(self.keep))),
            order="shuffled",
        )
        key = exp.select(named("key")).from_(named_as("lowlift_key", "k")).subquery()
        query = plan.query(rows, alias.subquery(), self.dialect, key)
        for place in query.find_all(exp.Placeholder):
            place.replace(exp.Literal.string(NULL))
        return query

    def _looked_up(self, rows: Expression, alias: exp.Select) -> exp.Select:
        """Return the same for a release that draws nothing: its order is random, its y is not."""
        matches = [named(f"c{k}", "u").eq(named(f"c{k}", "a")) for k in range(self.width)]
        kept = (named(f"k{k}", "u") for k in range(len(self.keep)))
        return (
            exp.select(named("first", "a").as_("y", quoted=True), *kept)
            .select(exp.Rand().as_("o", quoted=True))
            .from_(exp.alias_(rows, "u", table=True))
            .join(
                exp.alias_(alias.subquery(), "a", table=True),
                on=exp.and_(*matches),
                join_type="left",
            )
        )

    def own(self, query: _Query) -> _Query:
        """Return a query, or part of one, whose names are columns of the table and nothing else.

        Without the table's name, some warehouses take a column that is missing for an expression of
        the same SELECT (the value to be hidden) or for a function as ``user``.
        """
        found = query.copy()
        for column in found.find_all(exp.Column):
            column.set("table", exp.to_identifier(self.qualifier, quoted=True))
        return found

    @property
    def qualifier(self) -> str | None:
        """The name before those of the table's columns."""
        return self.table.alias_or_name if self.dialect.qualifies_columns else None

    @property
    def width(self) -> int:
        """How many columns X has."""
        return len(self.encoded.origin.released)

    def _rows(self) -> exp.Select:
        """Return what each row is drawn by: its symbols c0, c1, ..., its id t, what is kept."""
        symbols = [self.symbol_of(column) for column in self.encoded.origin.released]
        inner = exp.select(*(one.as_(f"c{k}", quoted=True) for k, one in enumerate(symbols)))
        if self.id is not None:
            inner = inner.select(exp.cast(named(self.id), "text").as_("t", quoted=True))
        inner = inner.select(*(named(n).as_(f"k{k}", quoted=True) for k, n in enumerate(self.keep)))
        inner = self.own(inner.from_(self.table.copy()))
        texts = [marked(named(f"c{k}")).as_(f"c{k}", quoted=True) for k in range(self.width)]
        more = ["t"] * (self.id is not None) + [f"k{k}" for k in range(len(self.keep))]
        query = exp.select(*texts, *map(named, more)).from_(inner.subquery("v"))
        missing = exp.or_(*(named(f"c{k}").is_(exp.null()) for k in range(self.width)))
        if self.encoded.origin.missing == "drop":
            return query.where(exp.Not(this=exp.paren(missing)))
        if self.encoded.origin.missing == "error":
            first = exp.Coalesce(this=named("c0"), expressions=[exp.Literal.string("")])
            return query.where(self.or_fail(missing, _MISSING, first))
        return query

    def symbol_of(self, column: Column) -> Expression:
        """Return a symbol as text.

        Not every warehouse casts booleans or has UUIDs, and some write days by a setting.
        """
        if column.kind == "boolean":
            value = named(column.name)
            case = exp.case().when(value, exp.Literal.string("true"))
            return case.when(exp.Not(this=value.copy()), exp.Literal.string("false"))
        found = symbol(column, self.dialect)
        if column.kind == "date" and column.bins is None and self.dialect.writes_days_by_setting:
            return written_day(named(column.name), found)
        return exp.Lower(this=found) if column.kind == "uuid" else found

    def or_fail(self, wrong: Expression, message: str, row: Expression) -> Expression:
        """Return a condition that is true, or raises where something is wrong.

        Some warehouses compute constants before they read a row, so nothing of the row's text is
        added to the message.
        """
        nothing = exp.Substring(this=exp.cast(row, "text"), start=number(1), length=number(0))
        text = self.dialect.concat(exp.Literal.string(message), nothing)
        # PostgreSQL takes an inequality to hold for nearly all rows, and plans for that many.
        return exp.paren(exp.case().when(wrong, self.dialect.fail(text)).else_(number(1))).neq(
            number(0)
        )

    def _checked(self, identity_name: str) -> exp.Select:
        """Return is_right = 1, or raise for types, ids or a subkey that are not as they must be."""
        identity = exp.cast(named(identity_name), "text")
        counted = exp.select(
            exp.Count(this=exp.Star()).as_("n", quoted=True),
            exp.Count(this=identity).as_("present", quoted=True),
            exp.Count(this=exp.Distinct(expressions=[self.dialect.text(named(identity_name))])).as_(
                "different", quoted=True
            ),
        ).from_(self.table.copy())
        n, present, different = (named(name, "i") for name in ("n", "present", "different"))
        key = named("key", "k")
        size = exp.Coalesce(this=exp.Length(this=key), expressions=[number(0)])
        rest = exp.Anonymous(
            this="TRANSLATE",
            expressions=[key.copy(), exp.Literal.string(_HEX), exp.Literal.string("")],
        )
        case = self.faults(
            self.type_faults(exp.case())
            .when(
                size.copy().neq(number(_KEY_DIGITS)),
                self.told(f"{_SUBKEY}; got ", size.copy(), f" characters. {_PRINT}"),
            )
            .when(
                exp.Length(this=rest).neq(number(0)),
                self.told(f"{_SUBKEY}; of its ", size, f" characters some are not. {_PRINT}"),
            )
            .when(
                exp.or_(present < n, different < present.copy()),
                self.told(
                    "ids must be present and different; the id column has ",
                    n.copy() - present.copy(),
                    " missing and ",
                    present.copy() - different.copy(),
                    " repeated ones in ",
                    n.copy(),
                    " rows. Use a column that has neither.",
                ),
            ),
            n.copy(),
        ).else_(number(1))
        return (
            exp.select(case.as_("is_right", quoted=True))
            .from_(self.own(counted).subquery("i"))
            .join(named_as("lowlift_key", "k"), join_type="cross")
        )

    def faults(self, case: exp.Case, rows: Expression) -> exp.Case:  # noqa: ARG002 (for others)
        """Add what else is wrong with a table of so many rows."""
        return case

    def told(self, *parts: str | Expression) -> Expression:
        """Return an error of texts and numbers."""
        return self.dialect.fail(
            self.dialect.concat(
                *(
                    exp.Literal.string(part) if isinstance(part, str) else exp.cast(part, "text")
                    for part in parts
                )
            )
        )

    def symbols(self) -> exp.Select:
        """Return the symbols of the channel: x, c0, c1, ..."""
        channel, labels = self.encoded.channel, self.encoded.release.joint.x_labels
        texts = Draw(self.encoded.origin.released, channel, labels).texts()
        rows = [
            (x, *(NULL if text is None else f"[{text}]" for text in row))
            for x, row in enumerate(texts)
        ]
        return values_of(["x", *(f"c{k}" for k in range(self.width))], rows)

    @cached_property
    def _lookup(self) -> tuple[Any, dict[str, Any], tuple[int, int]]:
        return lookup(self.encoded.channel, self.encoded.release.draws)

    def _slots(self) -> exp.Select:
        """Return the table of slots with the symbol of each."""
        symbols, columns, _ = self._lookup
        listed = {name: part.tolist() for name, part in columns.items()}
        return listed_slots("x", {"x": symbols.tolist()} | listed)

    def output_tables(self) -> list[tuple[str, Expression]]:
        """Return the table of the outputs by its name."""
        return [("lowlift_outputs", self.outputs())]

    def output_fault(self, drawn: Expression) -> exp.Select:
        """Count the rows of a table whose columns are together those of no output."""
        matches = [
            exp.NullSafeEQ(
                this=exp.cast(named(column.name, "d"), "text"),
                expression=exp.cast(
                    exp.cast(named(f"o{k}", "o"), self.dialect.types[column.kind]), "text"
                ),
            )
            for k, column in enumerate(self.encoded.columns)
        ]
        known = exp.select(number(1)).from_(named_as("lowlift_outputs", "o")).where(*matches)
        return (
            exp.select(exp.Count(this=exp.Star()).as_("n"))
            .from_(exp.alias_(drawn.copy(), "d", table=True))
            .where(exp.Not(this=exp.Exists(this=known)))
        )

    def outputs(self) -> exp.Select:
        """Return what is published for each output: y, o0, o1, ..., as texts."""
        columns = self.encoded.columns
        texts = zip(*(column.texts for column in columns), strict=True)
        rows = [(y, *row) for y, row in enumerate(texts)]
        return values_of(["y", *(f"o{k}" for k in range(len(columns)))], rows)


def unseen_or_fail(statement: Statement, y: Expression, row: Expression) -> Expression:
    """Return the condition on rows whose values the design did not have: y is NULL."""
    is_unseen = y.copy().is_(exp.null())
    if statement.unseen == "suppress":
        return exp.Not(this=is_unseen)
    return statement.or_fail(is_unseen, _UNSEEN, row.copy())


def named_as(name: str, alias: str | None) -> Expression:
    """Return a part of the statement as a table."""
    table = exp.Table(this=exp.to_identifier(name, quoted=True))
    return table if alias is None else exp.alias_(table, alias, table=True)


def marked(text: Expression) -> Expression:
    """Return a symbol's text so that no text looks like a missing value, and blanks count."""
    joined = exp.DPipe(
        this=exp.DPipe(this=exp.Literal.string("["), expression=text),
        expression=exp.Literal.string("]"),
    )
    return exp.Coalesce(this=joined, expressions=[exp.Literal.string(NULL)])
