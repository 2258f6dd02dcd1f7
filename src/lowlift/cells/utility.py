"""What an analyst gets: how far the tables of what is published are from those of the source."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift.arrays import Floats, Ints

#: Classes of a column of numbers, by quantiles of the source.
_CLASSES = 10
#: Values of a category that are told apart.
_MOST_VALUES = 200


@dataclass(frozen=True)
class Utility:
    """Distances between tables of the source and of what is published, and unique rows.

    A distance is a total variation: the share of rows that would have to change their place in the
    table. A bootstrap sample of the source, as large as it, is what chance alone does.
    """

    #: Per column: the distance of its table of counts, and that of a bootstrap sample.
    columns: Mapping[str, tuple[float, float]]
    #: Over all pairs of columns: the mean, the largest, and the pair that has it.
    pairs_mean: float
    pairs_worst: float
    worst_pair: tuple[str, str]
    #: The means of a bootstrap sample.
    bootstrap_columns: float
    bootstrap_pairs: float
    #: The largest difference between correlations of two columns of numbers, and the mean.
    correlation_worst: float
    correlation_mean: float
    #: Rows that no other row equals, before and after, and the smallest group of equal rows.
    unique_before: int
    unique_after: int
    smallest_before: int
    smallest_after: int
    #: Published rows that equal a row of the source that is unique there.
    unique_rows_published: int
    rows: int

    @property
    def columns_mean(self) -> float:
        """The mean distance of the columns' tables."""
        return float(np.mean([found for found, _ in self.columns.values()]))


def compare(
    before: Mapping[str, npt.NDArray[Any]], after: Mapping[str, npt.NDArray[Any]], seed: int = 0
) -> Utility:
    """Compare the published columns with those of the source; values as for cells.

    Parameters
    ----------
    before, after
        Per column its values: floats (NaN missing) for numbers and dates, objects (None missing)
        for the rest.
    seed
        Of the bootstrap sample.
    """
    names = list(before)
    codes = [_coded(before[name], after[name]) for name in names]
    rows, published = len(codes[0][0]), len(codes[0][1])
    drawn = np.random.default_rng(seed).integers(0, rows, published)
    singles = {
        name: (_variation(a, b, size), _variation(a, a[drawn], size))
        for name, (a, b, size) in zip(names, codes, strict=True)
    }
    pairs, chance = {}, []
    for (i, one), (j, other) in combinations(enumerate(names), 2):
        (a, b, n), (c, d, m) = codes[i], codes[j]
        joint = a * m + c
        pairs[one, other] = _variation(joint, b * m + d, n * m)
        chance.append(_variation(joint, joint[drawn], n * m))
    worst = max(pairs, key=lambda pair: pairs[pair]) if pairs else (names[0], names[0])
    correlations = _correlations(before, after)
    sizes, groups = _groups(before, after)
    return Utility(
        columns=singles,
        pairs_mean=float(np.mean(list(pairs.values()))) if pairs else 0.0,
        pairs_worst=pairs.get(worst, 0.0),
        worst_pair=worst,
        bootstrap_columns=float(np.mean([found for _, found in singles.values()])),
        bootstrap_pairs=float(np.mean(chance)) if chance else 0.0,
        correlation_worst=float(correlations.max(initial=0.0)),
        correlation_mean=float(correlations.mean()) if correlations.size else 0.0,
        unique_before=int((sizes[0] == 1).sum()),
        unique_after=int((sizes[1] == 1).sum()),
        smallest_before=int(sizes[0].min(initial=rows, where=sizes[0] > 0)),
        smallest_after=int(sizes[1].min(initial=published, where=sizes[1] > 0)),
        unique_rows_published=int((sizes[0][groups] == 1).sum()),
        rows=published,
    )


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


def _variation(a: Ints, b: Ints, size: int) -> float:
    shares = np.bincount(a, minlength=size) / len(a) - np.bincount(b, minlength=size) / len(b)
    return float(np.abs(shares).sum() / 2)


def _correlations(
    before: Mapping[str, npt.NDArray[Any]], after: Mapping[str, npt.NDArray[Any]]
) -> Floats:
    """Return by how much the correlation of each two columns of numbers differs."""
    found = [name for name, x in before.items() if x.dtype.kind == "f" and np.nanstd(x) > 0]
    out = []
    for one, other in combinations(found, 2):
        parts = []
        for table in (before, after):
            x, y = table[one], table[other]
            here = ~(np.isnan(x) | np.isnan(y))
            if here.sum() < 2 or x[here].std() == 0 or y[here].std() == 0:
                break
            parts.append(float(np.corrcoef(x[here], y[here])[0, 1]))
        if len(parts) == 2:
            out.append(abs(parts[0] - parts[1]))
    return np.array(out)


def _groups(
    before: Mapping[str, npt.NDArray[Any]], after: Mapping[str, npt.NDArray[Any]]
) -> tuple[tuple[Ints, Ints], Ints]:
    """Return the sizes of groups of equal rows in both, and the group of each published row."""
    rows = len(next(iter(before.values())))
    key = np.zeros(rows + len(next(iter(after.values()))), np.int64)
    for name in before:
        both = np.concatenate([before[name], after[name]])
        if both.dtype.kind == "f":
            _, codes = np.unique(both, return_inverse=True)
        else:
            number: dict[Any, int] = {}
            codes = np.array([number.setdefault(v, len(number)) for v in both.tolist()])
        pairs = key * (int(codes.max()) + 1) + codes.reshape(-1)
        _, key = np.unique(pairs, return_inverse=True)
        key = key.reshape(-1)
    size = int(key.max()) + 1
    sizes = tuple(np.bincount(part, minlength=size) for part in (key[:rows], key[rows:]))
    return (sizes[0], sizes[1]), key[rows:]
