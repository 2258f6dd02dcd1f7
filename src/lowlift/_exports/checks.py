"""One SELECT that returns a row for each thing that is wrong with a table drawn by a release.

It counts the rows and outputs of what was drawn, and audits the channel under the counts of S by
X of the table that was drawn from. The bound is decided in whole numbers. With n rows, n(s) of them
with s, and the weights of the channel, n(s, y) and n(y) in units of the weights, the lift of s is
``n n(s, y) / (n(s) n(y))``. Its comparison with ``e**budget`` is one of ``a <= e**budget b`` in
whole numbers, and ``floor(u b / 2**f)`` with ``u = floor(2**f e**budget)`` is never above the right
side: what rounding decides, it decides against the release.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from lowlift._exact import exp_of
from lowlift._exports.slots import values_of
from lowlift._exports.statements import NULL, Statement, marked, named_as
from lowlift.criteria import ALIP, LIP, Criterion, MaxLift
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import Expression, number
from lowlift.tables.queries import named

#: A number of at most 108 bits is multiplied by one of at most 72 in two parts of 54.
_PART_BITS, _FACTOR_BITS = 54, 72


def limits_of(criterion: Criterion) -> list[tuple[bool, float]]:
    """Return the sides of a criterion that SQL can check: whether it is the upper one, its budget.

    Raises
    ------
    InvalidInput
        When it is no box of lifts, or its budget is too large.
    """
    sides = []
    if isinstance(criterion, ALIP | LIP | MaxLift):
        pairs = (True, criterion.upper), (False, getattr(criterion, "lower", math.inf))
        sides = [(upper, float(budget)) for upper, budget in pairs if budget < math.inf]
    most = (_FACTOR_BITS - _PART_BITS - 1) * math.log(2)
    if not sides or max(budget for _, budget in sides) > most:
        raise InvalidInput(
            f"the test of a dbt model must check the bound; SQL can check lip, alip and max-lift "
            f"with budgets up to {most:.1f}, and this release is for {criterion}. Design for one "
            "of these, or accept a model whose bound is not checked.",
            advice="unchecked",
        )
    return sides


@dataclass(frozen=True)
class Check:
    """What is checked: a table that a statement drew, by the table that it drew from.

    Parameters
    ----------
    statement
        The statement.
    drawn
        The table that it made.
    sides
        The sides of the bound (`limits_of`); none: it is not checked.
    """

    statement: Statement
    drawn: Expression
    sides: list[tuple[bool, float]]

    def select(self) -> exp.Select:
        """Return fault (text) and amount of what is wrong; no row where nothing is."""
        faults = [
            ("rows are missing, or there are more than were drawn", self._row_fault()),
            (
                "rows have an output that the release does not have",
                self.statement.output_fault(self.drawn),
            ),
        ]
        if self.sides:
            faults += [
                ("rows have no value of S, and the design had none such", self._missing_fault()),
                ("lifts are beyond the bound on the rows that were drawn", self._bound_fault()),
            ]
        parts = [
            exp.select(exp.Literal.string(text).as_("fault"), named("n").as_("amount"))
            .from_(fault.subquery("f"))
            .where(named("n").neq(number(0)))
            for text, fault in faults
        ]
        union = parts[0]
        for part in parts[1:]:
            union = exp.union(union, part, distinct=False)  # type: ignore[assignment]  # as below
        query = exp.select(named("fault"), named("amount")).from_(union.subquery("w"))
        return self._with_tables(query)

    def _with_tables(self, query: exp.Select) -> exp.Select:
        tables = [
            ("lowlift_symbols", self.statement.symbols()),
            *self.statement.output_tables(),
            ("lowlift_counts", self._counts()),
        ]
        if self.sides:
            tables += [
                ("lowlift_weights", self._weights()),
                ("lowlift_s", self._sums("s", "lowlift_counts")),
                ("lowlift_sy", self._masses()),
                ("lowlift_y", self._sums("y", "lowlift_sy")),
            ]
        for name, part in tables:
            query = query.with_(exp.to_identifier(name, quoted=True), as_=part, copy=False)
        return query

    def _counts(self) -> exp.Select:
        """Return the rows of the source by x (NULL where it is unseen) and s (one text)."""
        origin, width = self.statement.encoded.origin, self.statement.width
        sensitive = origin.sensitive if self.sides else ()
        texts = [self.statement.symbol_of(column) for column in (*origin.released, *sensitive)]
        inner = exp.select(*(text.as_(f"c{k}") for k, text in enumerate(texts)))
        inner = self.statement.own(inner.from_(self.statement.table.copy()))
        rows = exp.select(*(marked(named(f"c{k}")).as_(f"c{k}") for k in range(len(texts))))
        rows = rows.from_(inner.subquery("v"))
        if origin.missing == "drop":
            missing = exp.or_(*(named(f"c{k}").is_(exp.null()) for k in range(width)))
            rows = rows.where(exp.Not(this=exp.paren(missing)))
        matches = [named(f"c{k}", "r").eq(named(f"c{k}", "a")) for k in range(width)]
        # With the length of each part before it, two lists of texts never read the same.
        secret: Expression = exp.Literal.string("")
        lacking: Expression = exp.false()
        for k in range(width, len(texts)):
            part = named(f"c{k}", "r")
            for more in (exp.cast(exp.Length(this=part), "text"), part.copy()):
                secret = exp.DPipe(this=secret, expression=more)
            lacking = exp.or_(lacking, part.copy().eq(exp.Literal.string(NULL)))
        found = (
            exp.select(named("x", "a").as_("x"), secret.as_("s"), self._whole(number(1)).as_("one"))
            .select(exp.case().when(lacking, number(1)).else_(number(0)).as_("lacks"))
            .from_(rows.subquery("r"))
            .join(named_as("lowlift_symbols", "a"), on=exp.and_(*matches), join_type="left")
        )
        return (
            exp.select(named("x"), named("s"), named("lacks"))
            .select(exp.Sum(this=named("one")).as_("n"))
            .from_(found.subquery("g"))
            .group_by(named("x"), named("s"), named("lacks"))
        )

    def _whole(self, value: Expression) -> Expression:
        return exp.cast(value, self.statement.dialect.whole)

    def _sums(self, name: str, table: str) -> exp.Select:
        return (
            exp.select(named(name), exp.Sum(this=named("n")).as_("n"))
            .from_(named_as(table, "t"))
            .where(exp.Not(this=named("x").is_(exp.null())) if table == "lowlift_counts" else None)
            .group_by(named(name))
        )

    def _row_fault(self) -> exp.Select:
        """Return the rows that were drawn less those that should have been."""
        drawn = exp.select(exp.Count(this=exp.Star()).as_("n")).from_(self.drawn.copy())
        counted = exp.select(exp.Sum(this=named("n")).as_("n")).from_(
            named_as("lowlift_counts", "t")
        )
        if self.statement.unseen == "suppress":
            counted = counted.where(exp.Not(this=named("x").is_(exp.null())))
        less = self._whole(named("n", "d")) - exp.Coalesce(
            this=named("n", "c"), expressions=[number(0)]
        )
        return (
            exp.select(less.as_("n"))
            .from_(drawn.subquery("d"))
            .join(exp.alias_(counted.subquery(), "c", table=True), join_type="cross")
        )

    def _missing_fault(self) -> exp.Select:
        found = exp.select(
            exp.Coalesce(this=exp.Sum(this=named("n")), expressions=[number(0)]).as_("n")
        ).from_(named_as("lowlift_counts", "t"))
        if self.statement.encoded.origin.missing == "value":
            return found.where(exp.false())
        return found.where(named("lacks").eq(number(1)))

    def _weights(self) -> exp.Select:
        """Return the weights of the channel: x, y, w."""
        channel = self.statement.encoded.channel
        entries = channel.members, channel.entry_outputs, channel.member_weights
        return values_of(["x", "y", "w"], zip(*(part.tolist() for part in entries), strict=True))

    def _masses(self) -> exp.Select:
        """Return n(s, y) in units of the weights, where it is not 0."""
        product = named("n", "t") * named("w", "w")
        return (
            exp.select(named("s", "t").as_("s"), named("y", "w").as_("y"))
            .select(exp.Sum(this=product).as_("n"))
            .from_(named_as("lowlift_counts", "t"))
            .join(named_as("lowlift_weights", "w"), on=named("x", "t").eq(named("x", "w")))
            .group_by(named("s", "t"), named("y", "w"))
        )

    def _bound_fault(self) -> exp.Select:
        """Count the pairs of s and y whose lift is not proven to be within the bound."""
        rows = exp.select(exp.Sum(this=named("n"))).from_(named_as("lowlift_s", "q")).subquery()
        mass = exp.Coalesce(this=named("n", "sy"), expressions=[number(0)])
        lift = exp.select(
            (self._whole(rows) * self._whole(mass)).as_("a"),
            (self._whole(named("n", "s")) * self._whole(named("n", "y"))).as_("b"),
        ).from_(named_as("lowlift_s", "s"))
        lift = lift.join(named_as("lowlift_y", "y"), join_type="cross").join(
            named_as("lowlift_sy", "sy"),
            on=exp.and_(named("s", "sy").eq(named("s", "s")), named("y", "sy").eq(named("y", "y"))),
            join_type="left",
        )
        holds = exp.and_(
            *(
                self._is_at_most("a", "b", budget) if upper else self._is_at_most("b", "a", budget)
                for upper, budget in self.sides
            )
        )
        # What is not known to hold counts as broken, and so does a number too large to compare.
        is_broken = exp.case().when(holds, number(0)).else_(number(1))
        total = exp.Coalesce(this=exp.Sum(this=is_broken), expressions=[number(0)])
        return exp.select(total.as_("n")).from_(lift.subquery("l"))

    def _is_at_most(self, less: str, more: str, budget: float) -> Expression:
        """Return ``less <= floor(u more / 2**f)``, the product in two parts."""
        divide = self.statement.dialect.divide_whole
        bits, factor = _factor(budget)
        part = 1 << _PART_BITS
        high = exp.paren(divide(named(more), part))
        low = exp.paren(exp.Mod(this=named(more), expression=self._whole(number(part))))
        large = self._whole(exp.Literal.string(str(factor)))  # beyond 64 bits
        carried = exp.paren(divide(exp.paren(large * low), part))
        product = exp.paren(large.copy() * high + carried)
        shifted = divide(product, 1 << (bits - _PART_BITS)) if bits > _PART_BITS else product
        return named(less) <= exp.paren(shifted)


def _factor(budget: float) -> tuple[int, int]:
    """Return f and ``floor(2**f e**budget)``, less than 2**72.

    Examples
    --------
    >>> _factor(0.0)
    (70, 1180591620717411303424)
    """
    exact = Fraction(budget)
    whole = exp_of(exact, 128)[0] >> 128
    bits = _FACTOR_BITS - 1 - whole.bit_length()
    return bits, 1 << bits if exact == 0 else exp_of(exact, 128)[0] >> (128 - bits)
