"""What an analyst gets: how far the tables of what is published are from those of the source."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Floats, Ints
from lowlift._cells.features import number_feature
from lowlift._display import card, frame, text_table
from lowlift._wording import counted, percent

if TYPE_CHECKING:
    import pandas as pd

#: Classes of a column of numbers, by quantiles of the source.
_CLASSES = 10
#: Values of a category that are told apart in tables.
_MOST_VALUES = 200
#: Numbers with at most so many different values are categories, as they are for cells.
_FEW = 8

CONFIDENTIAL = "Confidential: these numbers are computed from the source table."
OTHER_PROMISE = (
    "Re-identification is another promise: the bound limits what a row tells about S, not whose "
    "row it is. A published row is a row of the table, drawn by chance."
)

Values = Mapping[str, npt.NDArray[Any]]


class ColumnUtility(NamedTuple):
    """One column: its table of counts, and what becomes of the value of a row."""

    name: str
    #: The distance of its table from that of the source, and that of a bootstrap sample.
    distance: float
    bootstrap: float
    #: Expected, over rows and draws: the share of rows whose published value is another one.
    changed: float | None = None
    #: The mean distance between a row and its published row: ranks of numbers in [0, 1], else 0
    #: or 1; and the same for a row of the table drawn at random.
    moved: float | None = None
    moved_at_random: float | None = None


class Score(NamedTuple):
    """How well a model does; what it does without looking at any column is the base."""

    name: str
    measure: str
    base: float
    raw: float
    published: float


@dataclass(frozen=True)
class Utility:
    """Distances between tables of the source and of what is published, and unique rows.

    A distance is a total variation: the share of rows that would have to change their place in the
    table. A bootstrap sample of the source, as large as what is published, is what chance alone
    does. All of it is computed from the source, so it is confidential.

    Examples
    --------
    >>> import numpy as np
    >>> before = {"age": np.array([20.0, 30.0, 40.0, 50.0]), "job": np.array(list("aabb"), object)}
    >>> after = {"age": np.array([20.0, 20.0, 40.0, 50.0]), "job": np.array(list("aaab"), object)}
    >>> found = compare(before, after)
    >>> found.columns[0].distance, found.pairs_worst, found.unique_rows_published
    (0.25, 0.5, 3)
    """

    columns: tuple[ColumnUtility, ...]
    #: Over all pairs of columns: the mean, the largest, the pair that has it, and the mean and the
    #: largest of a bootstrap sample.
    pairs_mean: float
    pairs_worst: float
    worst_pair: tuple[str, str]
    bootstrap_pairs: float
    bootstrap_worst: float
    #: The largest difference between the shares of one cell of these tables of two columns.
    cell_worst: float
    #: Differences between the correlations of two columns of numbers: the mean, the largest, and
    #: the mean of a bootstrap sample; None where there are no two such columns.
    correlation_mean: float | None
    correlation_worst: float | None
    bootstrap_correlation: float | None
    #: Rows that no other row equals, before and after, and the smallest group of equal rows.
    unique_before: int
    unique_after: int
    smallest_before: int
    smallest_after: int
    #: Published rows that equal a row of the source that is unique there; None where the tables
    #: have more rows than are compared, and other types: other rows may then have been chosen.
    unique_rows_published: int | None
    #: The rows that were compared, and whether the tables have more.
    rows_before: int
    rows_after: int
    is_sample: bool = False
    #: The expected share of rows that are published unchanged in all columns.
    unchanged: float | None = None
    #: What models can do; empty unless asked for.
    scores: tuple[Score, ...] = ()

    @property
    def columns_mean(self) -> float:
        """The mean distance of the columns' tables."""
        return float(np.mean([column.distance for column in self.columns]))

    @property
    def bootstrap_columns(self) -> float:
        """The mean distance of the columns' tables of a bootstrap sample."""
        return float(np.mean([column.bootstrap for column in self.columns]))

    @property
    def moved(self) -> float | None:
        """The mean over columns of the distance between a row and its published row."""
        return _mean([column.moved for column in self.columns])

    @property
    def moved_at_random(self) -> float | None:
        """The mean over columns of the distance between a row and one drawn at random."""
        return _mean([column.moved_at_random for column in self.columns])

    @property
    def facts(self) -> list[tuple[str, str]]:
        """All but the columns, as names and sentences."""
        sampled = " (a sample of both tables)" if self.is_sample else ""
        rows = f"{self.rows_before:,} of the source, {self.rows_after:,} published{sampled}"
        found = [("Rows compared", rows)]
        if self.moved is not None and self.moved_at_random is not None:
            text = f"{self.moved:.3f} on the average (a random row: {self.moved_at_random:.3f})"
            found.append(("Distance of a row to its published row", text))
        if self.unchanged is not None:
            found.append(("Rows published unchanged", f"{percent(self.unchanged)}, expected"))
        text = f"{self.columns_mean:.4f} on the average (bootstrap: {self.bootstrap_columns:.4f})"
        found.append(("Tables of one column", text))
        if len(self.columns) > 1:
            text = f"{self.pairs_mean:.4f} on the average (bootstrap: {self.bootstrap_pairs:.4f})"
            found.append(("Tables of two columns", text))
            text = (
                f"{self.pairs_worst:.4f}, {' by '.join(self.worst_pair)} "
                f"(worst of the bootstrap: {self.bootstrap_worst:.4f})"
            )
            found.append(("Worst table of two columns", text))
            found.append(("Worst cell of them", f"{self.cell_worst:.4f} of all rows"))
        if self.correlation_mean is not None:
            text = (
                f"differ by {self.correlation_mean:.4f} on the average (bootstrap: "
                f"{self.bootstrap_correlation:.4f}), by {self.correlation_worst:.4f} at most"
            )
            found.append(("Correlations of numbers", text))
        for score in self.scores:
            text = f"{score.raw:.3f} raw, {score.published:.3f} published, base {score.base:.3f}"
            found.append((f"{score.name} ({score.measure})", text))
        return found + self.reidentification

    @property
    def reidentification(self) -> list[tuple[str, str]]:
        """How many rows are unique, as names and sentences."""
        before = f"{self.unique_before:,} ({percent(self.unique_before / self.rows_before)}) before"
        after = f"{self.unique_after:,} ({percent(self.unique_after / self.rows_after)}) after"
        smallest = f"{self.smallest_before:,} before, {self.smallest_after:,} after"
        found = [
            ("Unique rows", f"{before}, {after}"),
            ("Smallest group of equal rows", smallest),
        ]
        if (equal := self.unique_rows_published) is not None:
            text = f"{counted(equal, 'published row')} ({percent(equal / self.rows_after)})"
            found.append(("Equal to a row that is unique in the source", text))
        return found

    @property
    def head(self) -> tuple[str, ...]:
        """The head of the table of columns."""
        names = ("column", "distance of its table", "bootstrap")
        return (*names, "rows changed", "distance", "random row") if self._is_simulated else names

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table of columns as texts."""
        found: list[tuple[str, ...]] = []
        for one in self.columns:
            more: tuple[str, ...] = ()
            if one.changed is not None:
                more = percent(one.changed), f"{one.moved:.3f}", f"{one.moved_at_random:.3f}"
            found.append((one.name, f"{one.distance:.4f}", f"{one.bootstrap:.4f}", *more))
        return found

    @property
    def _is_simulated(self) -> bool:
        return self.columns[0].changed is not None

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per column, with the fields of `ColumnUtility`."""
        return frame(self.columns).set_index("name")

    def __str__(self) -> str:
        table, facts = text_table([self.head, *self.rows]), text_table(self.facts, (0, 1))
        return "\n".join([*table, "", *facts, "", OTHER_PROMISE, CONFIDENTIAL])

    def _repr_html_(self) -> str:
        """Return the numbers as a notebook shows them."""
        return card(
            "What the analyst gets",
            word="Confidential",
            text=f"{CONFIDENTIAL} {OTHER_PROMISE}",
            facts=self.facts,
            head=self.head,
            rows=self.rows,
        )


def _mean(values: list[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if found else None


def compare(before: Values, after: Values, seed: int = 0, *, are_samples: bool = False) -> Utility:
    """Compare the published columns with those of the source; values as for cells.

    Parameters
    ----------
    before, after
        Per column its values: floats (NaN missing) for numbers and dates, objects (None missing)
        for the rest.
    seed
        Of the bootstrap sample.
    are_samples
        Whether both are samples of larger tables, taken independently: what chance alone does is
        then told by two bootstrap samples.
    """
    names = list(before)
    codes = [_coded(before[name], after[name]) for name in names]
    rows, published = len(codes[0][0]), len(codes[0][1])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, rows, published)
    base = rng.integers(0, rows, rows) if are_samples else np.arange(rows)
    singles = tuple(
        ColumnUtility(name, _variation(a, b, size)[0], _variation(a[base], a[drawn], size)[0])
        for name, (a, b, size) in zip(names, codes, strict=True)
    )
    pairs, chance, cell = {}, [0.0], 0.0
    for (i, first), (j, second) in combinations(enumerate(names), 2):
        (a, b, n), (c, d, m) = codes[i], codes[j]
        joint = a * m + c
        pairs[first, second], largest = _variation(joint, b * m + d, n * m)
        cell = max(cell, largest)
        chance.append(_variation(joint[base], joint[drawn], n * m)[0])
    worst = max(pairs, key=lambda pair: pairs[pair]) if pairs else (names[0], names[0])
    resampled = [{name: x[part] for name, x in before.items()} for part in (base, drawn)]
    correlations = [_correlations(table) for table in (before, after, *resampled)]
    known = ~np.isnan(correlations).any(axis=0)
    one, other, *chances = (part[known] for part in correlations)
    differ, by_chance = np.abs(one - other), np.abs(chances[0] - chances[1])
    sizes, groups = _groups(before, after)
    return Utility(
        columns=singles,
        pairs_mean=float(np.mean(list(pairs.values()))) if pairs else 0.0,
        pairs_worst=pairs.get(worst, 0.0),
        worst_pair=worst,
        bootstrap_pairs=float(np.mean(chance[1:])) if pairs else 0.0,
        bootstrap_worst=max(chance),
        cell_worst=cell,
        correlation_mean=_mean(differ.tolist()),
        correlation_worst=float(differ.max()) if differ.size else None,
        bootstrap_correlation=_mean(by_chance.tolist()),
        unique_before=int((sizes[0] == 1).sum()),
        unique_after=int((sizes[1] == 1).sum()),
        smallest_before=int(sizes[0].min(initial=rows, where=sizes[0] > 0)),
        smallest_after=int(sizes[1].min(initial=published, where=sizes[1] > 0)),
        unique_rows_published=None if are_samples else int((sizes[0][groups] == 1).sum()),
        rows_before=rows,
        rows_after=published,
    )


def with_changes(
    found: Utility, source: Values, rows: Ints, donors: Ints, seed: int = 0
) -> Utility:
    """Add what becomes of a row: `donors` has the row that is published for each of `rows`.

    Both are numbers of rows of the source, and a row may occur several times.
    """
    at_random = np.random.default_rng(seed).integers(0, len(next(iter(source.values()))), len(rows))
    columns, is_same = [], np.ones(len(rows), np.bool_)
    for column in found.columns:
        codes = _numbered(source[column.name])
        differs = codes[rows] != codes[donors]
        is_same &= ~differs
        places = _places(source[column.name])
        moved, random = (
            codes[rows] != codes[other] if places is None else np.abs(places[rows] - places[other])
            for other in (donors, at_random)
        )
        numbers = (float(np.mean(part)) for part in (differs, moved, random))
        columns.append(ColumnUtility(*column[:3], *numbers))
    return replace(found, columns=tuple(columns), unchanged=float(is_same.mean()))


def _numbered(values: npt.NDArray[Any]) -> Ints:
    """Return the number of each row's value among the different ones; missing is one value."""
    if values.dtype.kind == "f":
        return np.unique(values, return_inverse=True)[1].reshape(-1)
    number: dict[Any, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values.tolist()], np.int64)


def _places(values: npt.NDArray[Any]) -> Floats | None:
    """Return ranks in [0, 1] of a column of numbers; None for a category."""
    if values.dtype.kind != "f" or len(np.unique(values[~np.isnan(values)])) <= _FEW:
        return None
    return number_feature("", values).places


def _coded(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> tuple[Ints, Ints, int]:
    """Return classes of both: quantiles of numbers, values of categories, missing apart."""
    if before.dtype.kind == "f":
        here = before[~np.isnan(before)]
        values = np.unique(here)
        cuts = np.quantile(here, np.arange(1, _CLASSES) / _CLASSES) if len(values) else values
        if len(values) <= _CLASSES:
            cuts = values[1:]
        edges = np.unique(cuts)
        parts = [
            np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="right"))
            for x in (before, after)
        ]
        return parts[0], parts[1], len(edges) + 2
    counts: dict[Any, int] = {}
    for value in before.tolist():
        counts[value] = counts.get(value, 0) + 1
    common = sorted(counts, key=lambda value: -counts[value])[:_MOST_VALUES]
    number = {value: k for k, value in enumerate(common)}
    rest = len(common)
    found = [np.array([number.get(v, rest) for v in x.tolist()]) for x in (before, after)]
    return found[0], found[1], rest + 1


def _variation(a: Ints, b: Ints, size: int) -> tuple[float, float]:
    """Return the total variation of two tables of counts, and the largest difference of a cell."""
    shares = np.bincount(a, minlength=size) / len(a) - np.bincount(b, minlength=size) / len(b)
    differ = np.abs(shares)
    return float(differ.sum() / 2), float(differ.max())


def _correlations(table: Values) -> Floats:
    """Return the correlation of each two columns of numbers; NaN where there is none."""
    found = [x for x in table.values() if x.dtype.kind == "f"]
    return np.array([_correlation(x, y) for x, y in combinations(found, 2)])


def _correlation(x: Floats, y: Floats) -> float:
    here: Bools = ~(np.isnan(x) | np.isnan(y))
    x, y = x[here], y[here]
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _groups(before: Values, after: Values) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the sizes of groups of equal rows in both, and the group of each published row."""
    rows = len(next(iter(before.values())))
    key = np.zeros(rows + len(next(iter(after.values()))), np.int64)
    for name in before:
        codes = _numbered(np.concatenate([before[name], after[name]]))
        _, key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)
        key = key.reshape(-1)
    size = int(key.max()) + 1
    sizes = tuple(np.bincount(part, minlength=size) for part in (key[:rows], key[rows:]))
    return (sizes[0], sizes[1]), key[rows:]
