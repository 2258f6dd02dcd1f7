"""One SELECT that publishes rows by a key: cells as one CASE, and the draws of `DonorPlan`."""

import secrets
from dataclasses import replace
from functools import cached_property
from typing import Any

from sqlglot import exp

from lowlift._exports.slots import listed_slots
from lowlift._exports.statements import Statement, named_as, unseen_or_fail
from lowlift.tables import queries
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.dialects import Expression, number
from lowlift.tables.donor_plans import MOST_ROWS, DonorPlan
from lowlift.tables.draws import Draw, lookup_of_cells
from lowlift.tables.queries import named
from lowlift.tables.schema import COLUMNS

_EMPTY = (
    "each cell that is drawn must have rows in this table; one has none. Design the release on "
    "this table, or give its columns the types that they had at design."
)


class RowStatement(Statement):
    """A statement that publishes rows of the table, drawn inside cells."""

    @cached_property
    def _place(self) -> str:
        """What stands for the cell of a row while SQL is written, which would indent its texts."""
        return f"cell_{secrets.token_hex(16)}"

    def write(self, query: Expression) -> str:
        """Return a query as the warehouse reads it, with the conditions of the cells."""
        cell = queries.cell(self.encoded.origin.released[0], self.dialect, self.qualifier)
        place, conditions = map(self.dialect.sql, (named(self._place, self.qualifier), cell))
        return super().write(query).replace(place, conditions)

    def symbol_of(self, column: Column) -> Expression:
        """Return a symbol as text; that of a row is the number of its cell."""
        if column in self.encoded.origin.released:
            return exp.cast(named(self._place), "text")
        return super().symbol_of(column)

    @cached_property
    def plan(self) -> DonorPlan:
        """How rows are drawn; without a key."""
        origin, release = self.encoded.origin, self.encoded.release
        draw = Draw(origin.released, release.channel, release.joint.x_labels, layout=release.draws)
        alias, bits = lookup_of_cells(draw)
        bins = replace(cells_in(origin.released[0]), known=self._place)
        cells = replace(origin.released[0], bins=bins)
        by_column = self.encoded.name == COLUMNS
        return DonorPlan(cells, alias, bits, "", self.id or "", by_column)

    def select(self) -> exp.Select:
        """Return the statement: a row for each row of the table, in random order."""
        y, order = named("y", "p"), named("o", "p")
        shown = [
            named(f"k{k}", self.plan.source_of(k)).as_(name, quoted=True)
            for k, name in enumerate(self.encoded.names)
        ]
        placed, ranked = (named_as(f"lowlift_{name}", None) for name in ("placed", "ranked"))
        query = self.plan.published(placed, ranked, shown)
        query = query.where(unseen_or_fail(self, y, order))
        is_empty = exp.and_(
            exp.Not(this=y.copy().is_(exp.null())), named("r", "q0").is_(exp.null())
        )
        query = query.where(self.or_fail(is_empty, _EMPTY, order.copy()))
        query = query.join(named_as("lowlift_checked", "c"), join_type="cross").where(
            named("is_right", "c").eq(number(1))
        )
        return self.with_tables(query)

    def parts(self) -> list[tuple[str, Expression]]:
        """Return the tables that the statement is made of, by their names."""
        names = [f"k{k}" for k in range(len(self.encoded.names))]
        columns = [
            named(name).as_(k, quoted=True)
            for k, name in zip(names, self.encoded.names, strict=True)
        ]
        key = exp.select(named("key")).from_(named_as("lowlift_key", "k")).subquery()
        rows, slots, drawn = (
            named_as(f"lowlift_{name}", None) for name in ("rows", "slots", "drawn")
        )
        listed = {name: part.tolist() for name, part in self.plan.alias.items()}
        return [
            ("lowlift_slots", listed_slots("c", listed)),
            ("lowlift_rows", self.own(self.plan.given(self.table, self.dialect, columns))),
            *self.checks(),
            ("lowlift_drawn", self.plan.drawn(rows, slots, self.dialect, key, names)),
            ("lowlift_placed", self.plan.placed(drawn)),
            ("lowlift_ranked", self.plan.ranked(drawn)),
        ]

    def faults(self, case: exp.Case, rows: Expression) -> exp.Case:
        """Add the fault of a table with too many rows."""
        told = self.told(
            f"rows drawn by a key must be at most {MOST_ROWS:,}; this table has ",
            rows.copy(),
            ". Draw without a key.",
        )
        return super().faults(case, rows).when(rows > number(MOST_ROWS), told)

    def output_tables(self) -> list[tuple[str, Expression]]:
        """Return none: what is published is in the table itself."""
        return []

    def output_fault(self, drawn: Expression) -> exp.Select:
        """Count the different rows (or values of single columns) that the table does not have."""
        names = self.encoded.names
        groups = [(name,) for name in names] if self.plan.by_column else [names]
        parts: list[exp.Select] = []
        for group in groups:
            own, other = (
                exp.select(*map(named, group)).from_(table.copy()) for table in (drawn, self.table)
            )
            missing = exp.except_(own, other, distinct=True)
            counted = exp.select(exp.Count(this=exp.Star()).as_("n", quoted=True))
            parts.append(counted.from_(missing.subquery("e")))
        union: Any = parts[0]
        for part in parts[1:]:
            union = exp.union(union, part, distinct=False)
        total = exp.Sum(this=named("n")).as_("n", quoted=True)
        return exp.select(total).from_(union.subquery("z"))
