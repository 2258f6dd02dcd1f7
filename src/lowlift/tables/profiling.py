"""Count every column of a table against S, and against each other: codes and counts, no values.

Each column becomes a small whole number inside the engine: 0 for a missing value, the bin of a
number between quantiles, the rank of a category by its frequency (what is rarer shares one code).
Only counts of codes leave the engine.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import TypeVar

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables import queries
from lowlift.tables.columns import Column
from lowlift.tables.dialects import Dialect, Expression, call, number
from lowlift.tables.engines import Engine
from lowlift.tables.queries import named

T = TypeVar("T")

#: Columns that one query counts: PostgreSQL returns at most 1,664 values a row.
_AT_ONCE = 50
#: What an e-mail address is like, as a pattern of SQL.
_MAIL = "_%@_%._%"
#: The first day that dates are counted from.
_FIRST = exp.cast(exp.Literal.string("1970-01-01"), "date")


@dataclass(frozen=True)
class Summary:
    """What is counted of a column alone.

    Parameters
    ----------
    present, different
        Rows with a value, and different values; dates are counted by day.
    spaces
        Spaces in a text, on average; 0 for other kinds.
    fractional
        Rows with a number that is not whole; 0 for other kinds.
    mails
        Rows with a text that looks like an e-mail address; 0 for other kinds.
    """

    present: int
    different: int
    spaces: float
    fractional: int
    mails: int


@dataclass(frozen=True)
class Coding:
    """How a column becomes a code inside the engine.

    Parameters
    ----------
    value
        The value in SQL, NULL where it is missing.
    edges
        Where the bins of a number begin; None for categories.
    most
        Categories with a code of their own, the most frequent ones.
    """

    value: Expression
    edges: tuple[float, ...] | None = None
    most: int = 0

    @property
    def size(self) -> int:
        """Return the number of codes; the first is for missing values."""
        return self.most + 2 if self.edges is None else len(self.edges) + 2


class Profiling:
    """The counts of columns of one open table."""

    def __init__(self, engine: Engine, kinds: Mapping[str, str]) -> None:
        self._engine, self._kinds = engine, kinds
        self._dialect: Dialect = engine.dialect

    def value(self, name: str, column: Column | None = None) -> Expression:
        """Return a column's value in SQL, NULL where it is missing; a declared bin is its text."""
        if column is not None and column.bins is not None:
            return queries.symbol(column, self._dialect)
        kind, value = self._kinds[name], named(name)
        if kind == "real":
            real = exp.cast(value, "double")
            return exp.case().when(self._dialect.is_nan(real), exp.null()).else_(real.copy())
        if kind in {"date", "timestamp"}:
            day = value if kind == "date" else exp.cast(value, "timestamp")
            return self._dialect.days(exp.cast(day, "date"), _FIRST.copy())
        return value

    def coding(
        self, name: str, column: Column | None, edges: Sequence[float] | None, most: int
    ) -> Coding:
        """Return how a column becomes a code: by edges, else by the ranks of its values."""
        is_binned = column is not None and column.bins is not None
        cut = None if edges is None or is_binned else tuple(edges)
        return Coding(self.value(name, column), cut, 0 if cut is not None else most)

    def unique_rows(self, names: Sequence[str]) -> int:
        """Return how many rows no other row equals in these columns: one GROUP BY."""
        return int(self._engine.fetch(queries.unique_rows(names, self._engine.table))[0][0])

    def summaries(self, names: Sequence[str]) -> dict[str, Summary]:
        """Return what is counted of each column alone: one pass for every 50 of them."""
        found = {}
        for part in _parts(names, _AT_ONCE):
            asked = [each for name in part for each in self._summary(name)]
            row = self._engine.fetch(exp.select(*asked).from_(self._engine.table.copy()))[0]
            for name, answer in zip(part, _parts(row, 5), strict=True):
                present, different, spaces, fractional, mails = answer
                counts = int(present), int(different), float(spaces or 0)
                found[name] = Summary(*counts, int(fractional), int(mails))
        return found

    def _summary(self, name: str) -> list[Expression]:
        value, kind = self.value(name), self._kinds[name]
        spaces: Expression = exp.null()
        fractional: Expression = exp.Count(this=exp.null())
        mails: Expression = exp.Count(this=exp.null())
        if kind == "text":
            text = exp.cast(value.copy(), "text")
            without = call("replace", text, exp.Literal.string(" "), exp.Literal.string(""))
            spaces = call("avg", exp.paren(_length(text.copy()) - _length(without)))
            like = exp.Like(this=text.copy(), expression=exp.Literal.string(_MAIL))
            mails = exp.Count(this=exp.case().when(like, number(1)))
        if kind == "real":
            is_whole = exp.EQ(this=value.copy(), expression=exp.Floor(this=value.copy()))
            broken = exp.case().when(is_whole, exp.null()).else_(value.copy())
            fractional = exp.Count(this=broken)
        return [
            exp.Count(this=value),
            exp.Count(this=exp.Distinct(expressions=[value.copy()])),
            spaces,
            fractional,
            mails,
        ]

    def unevenness(self, name: str, found: Summary) -> float:
        """Return the variance of how often the values of a column occur, by the squared mean."""
        value = self.value(name)
        counts = exp.select(exp.Count(this=value).as_("n")).from_(self._engine.table.copy())
        counts = counts.group_by(value.copy())
        often = exp.cast(named("n"), "double")
        squares = exp.select(exp.Sum(this=often * often.copy())).from_(counts.subquery("g"))
        total = float(self._engine.fetch(squares)[0][0])
        return found.different * total / max(found.present, 1) ** 2 - 1

    def values(self, name: str, most: int) -> list[float]:
        """Return different values of a column of numbers, up to so many; they stay here."""
        value = self.value(name)
        is_there = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
        query = exp.select(value).distinct().from_(self._engine.table.copy()).where(is_there)
        return [found for (found,) in self._engine.fetch(query.limit(most))]

    def ranges(self, names: Sequence[str]) -> dict[str, tuple[float, float] | None]:
        """Return the least and the largest value of columns of numbers or dates (days since 1970).

        None where all values are missing.
        """
        found: dict[str, tuple[float, float] | None] = {}
        for part in _parts(names, _AT_ONCE):
            ends = [kind(this=self.value(name)) for name in part for kind in (exp.Min, exp.Max)]
            row = self._engine.fetch(exp.select(*ends).from_(self._engine.table.copy()))[0]
            for name, (low, high) in zip(part, _parts(row, 2), strict=True):
                found[name] = None if low is None else (float(low), float(high))
        return found

    def histogram(self, name: str, start: float, step: float, size: int) -> list[int]:
        """Count the values of a column of numbers or dates in bars of one width."""
        value = exp.cast(self.value(name), "double")
        place = exp.Floor(this=exp.paren(exp.paren(value - number(start)) / number(step)))
        query = exp.select(place.as_("bar"), exp.Count(this=self.value(name)))
        query = query.from_(self._engine.table.copy()).group_by(place.copy())
        counts = [0] * size
        for bar, rows in self._engine.fetch(query):
            if bar is not None:
                counts[min(max(int(bar), 0), size - 1)] += int(rows)
        return counts

    def beginning(self, names: Sequence[str], letters: Sequence[str]) -> int:
        """Count the texts of these columns that begin with one of these letters."""
        listed = [exp.Literal.string(letter) for letter in letters]
        total = 0
        for part in _parts(names, _AT_ONCE):
            firsts = (call("substr", named(name), number(1), number(1)) for name in part)
            counts = (
                exp.Count(this=exp.case().when(exp.In(this=first, expressions=listed), number(1)))
                for first in firsts
            )
            row = self._engine.fetch(exp.select(*counts).from_(self._engine.table.copy()))[0]
            total += sum(map(int, row))
        return total

    def edges(self, sizes: Mapping[str, int], parts: int) -> dict[str, tuple[float, ...]]:
        """Return where the bins of numbers begin: quantiles, those that fall together once.

        Parameters
        ----------
        sizes
            The rows that have a value, by column.
        parts
            Bins to make; fewer where a column has few rows.
        """
        found = {}
        for names in _parts(sizes, _AT_ONCE):
            shares = {name: _shares(sizes[name], parts) for name in names}
            parts_of = {n: self._dialect.quantiles(self.value(n), shares[n]) for n in names}
            query = exp.select(*(part for every in parts_of.values() for part in every))
            row = list(self._engine.fetch(query.from_(self._engine.table.copy()))[0])
            for name in names:
                answer, row = row[: len(parts_of[name])], row[len(parts_of[name]) :]
                values = answer[0] if isinstance(answer[0], list) else answer
                # A bin ends after its quantile: the least value stays in the first bin.
                found[name] = tuple(sorted({float(value) for value in values}))
        return found

    def by_sensitive(self, codings: Sequence[Coding], sensitive: Sequence[Coding]) -> list[Ints]:
        """Count the codes of each column by those of S: (codes, |S|) arrays.

        Several columns of S are one code.
        """
        found: list[Ints] = []
        for part in _parts(codings, _AT_ONCE):
            found += self._counted(part, sensitive, [], 1)[0]
        return found

    def by_pairs(
        self, codings: Sequence[Coding], sensitive: Sequence[Coding], part: int
    ) -> tuple[list[Ints], dict[tuple[int, int], Ints]]:
        """Count codes by those of S, and of each pair of columns, in one of `part` rows.

        Which rows is decided by a hash of their values.
        """
        return self._counted(codings, sensitive, list(combinations(range(len(codings)), 2)), part)

    def _counted(
        self,
        codings: Sequence[Coding],
        sensitive: Sequence[Coding],
        pairs: Sequence[tuple[int, int]],
        part: int,
    ) -> tuple[list[Ints], dict[tuple[int, int], Ints]]:
        shapes = [(coding.size, math.prod(each.size for each in sensitive)) for coding in codings]
        shapes += [(codings[a].size, codings[b].size) for a, b in pairs]
        s: Expression = number(0)
        for k, each in enumerate(sensitive, len(codings)):
            s = exp.paren(s * number(each.size) + named(f"c{k}"))
        second = [s] * len(codings) + [named(f"c{b}") for _, b in pairs]
        starts = [0, *accumulate(a * b for a, b in shapes)]
        cells = [
            _cell(a, size, other.copy(), start)
            for a, (_, size), other, start in zip(
                [*range(len(codings)), *(a for a, _ in pairs)], shapes, second, starts, strict=False
            )
        ]
        counts = self._tally(self._coded([*codings, *sensitive], part), cells, starts[-1])
        found = [
            counts[start:stop].reshape(shape)
            for shape, (start, stop) in zip(shapes, pairwise(starts), strict=True)
        ]
        return found[: len(codings)], dict(zip(pairs, found[len(codings) :], strict=True))

    def different_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Count the different pairs of values, missing ones included, of two columns each."""
        found = []
        for first, second in pairs:
            both = exp.select(self.value(first).as_("a"), self.value(second).as_("b"))
            both = both.from_(self._engine.table.copy()).distinct()
            query = exp.select(exp.Count(this=exp.Star())).from_(both.subquery("d"))
            found.append(int(self._engine.fetch(query)[0][0]))
        return found

    def _coded(self, codings: Sequence[Coding], part: int) -> exp.Select:
        """Return the codes of one of `part` rows as c0, c1, ..."""
        values = (coding.value.copy().as_(f"v{k}") for k, coding in enumerate(codings))
        rows = exp.select(*values).from_(self._engine.table.copy()).subquery("v")
        # One SELECT of ready parts: each method of a query would copy what is there.
        query = exp.select(*(_code(k, coding).as_(f"c{k}") for k, coding in enumerate(codings)))
        query = query.from_(rows, copy=False)
        for k, coding in enumerate(codings):
            if coding.edges is None:
                is_same = exp.EQ(this=named(f"v{k}", "v"), expression=named("v", f"r{k}"))
                ranks = self._ranks(coding).subquery(f"r{k}", copy=False)
                query = query.join(ranks, on=is_same, join_type="left", copy=False)
        if part > 1:
            hashed = self._dialect.hashed([named(f"v{k}", "v") for k in range(len(codings))])
            rest = exp.Mod(this=hashed, expression=number(part))
            query = query.where(exp.EQ(this=rest, expression=number(0)), copy=False)
        return query

    def _ranks(self, coding: Coding) -> exp.Select:
        """Return the most frequent values and their ranks; equal ones in the order of texts."""
        value = coding.value.copy()
        counts = exp.select(value.as_("v"), exp.Count(this=exp.Star()).as_("n"))
        counts = counts.from_(self._engine.table.copy()).group_by(value.copy())
        order = exp.Order(
            expressions=[
                exp.Ordered(this=named("n"), desc=True),
                exp.Ordered(this=self._dialect.text(named("v"))),
            ]
        )
        rank = exp.Window(this=exp.RowNumber(), order=order).as_("r")
        ranked = exp.select(named("v"), rank).from_(counts.subquery("n"))
        ranked = ranked.where(exp.Not(this=named("v").is_(exp.null())))
        few = exp.LTE(this=named("r"), expression=number(coding.most))
        return exp.select(named("v"), named("r")).from_(ranked.subquery("k")).where(few)

    def _tally(self, coded: exp.Select, cells: Sequence[Expression], size: int) -> Ints:
        """Count how many rows are in each cell; each row is in one cell of each list."""
        counts = np.zeros(size, np.int64)
        if cells:
            listed = exp.Array(expressions=list(cells))
            each = call("explode" if self._dialect.name == "spark" else "unnest", listed)
            every = exp.select(each.as_("g")).from_(coded.subquery("c"))
            query = exp.select(named("g"), exp.Count(this=exp.Star())).from_(every.subquery("e"))
            for cell, rows in self._engine.fetch(query.group_by(named("g"))):
                counts[int(cell)] = int(rows)
        return counts


def _code(place: int, coding: Coding) -> Expression:
    """Return a code: 0 for a missing value, else the bin or the rank, the last for what is rare."""
    value, rank = named(f"v{place}", "v"), named("r", f"r{place}")
    ifs = [exp.If(this=value.is_(exp.null()), true=number(0))]
    if coding.edges is None:
        ifs.append(exp.If(this=rank.is_(exp.null()), true=number(coding.most + 1)))
        return exp.cast(exp.Case(ifs=ifs, default=rank), "bigint")
    for code, edge in enumerate(coding.edges, 1):
        up_to = exp.LTE(this=value.copy(), expression=number(edge))
        ifs.append(exp.If(this=up_to, true=number(code)))
    last = number(len(coding.edges) + 1)
    return exp.cast(exp.Case(ifs=ifs, default=last), "bigint")


def _cell(first: int, size: int, second: Expression, start: int) -> Expression:
    """Return the place of two codes in a list of cells, built in place: operators copy."""
    row = exp.Mul(this=named(f"c{first}"), expression=number(size))
    both = exp.Add(this=row, expression=second)
    return exp.Add(this=both, expression=number(start))


def _length(text: Expression) -> Expression:
    return call("length", text)


def _shares(rows: int, parts: int) -> list[float]:
    """Return the shares of the quantiles, half a rank below: no rounding moves them."""
    return [(math.ceil(k * rows / parts) - 0.5) / rows for k in range(1, parts)]


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    every = list(items)
    return (every[k : k + size] for k in range(0, len(every), size))
