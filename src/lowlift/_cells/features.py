"""Columns as numbers: a place in an order, sums that say how far rows are apart, and histograms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints

#: A column of numbers with at most so many different values is a category.
_FEW = 8
#: Values of a category that are told apart; rarer ones count as one.
_MOST_VALUES = 200
#: Bins of the histogram of a column of numbers.
_BINS = 16


class _Rest:
    """Stands for all values of a category that are too rare to be told apart."""


_REST = _Rest()


@dataclass(frozen=True)
class Feature:
    """A column: numbers and dates by rank, all else by value.

    Parameters
    ----------
    name
        The column's.
    is_number
        Whether values are compared by size; the distance is then that of ranks, else 0 or 1.
    places
        Per row: the rank in [0, 1], or the number of the category.
    values
        Of numbers: the values themselves, NaN where missing. Of categories: the value of each
        number, None for a missing one; the last may stand for all rare ones.
    codes, distances
        Per row a class of the histogram, and how far two rows of these classes are apart on the
        average; so two rows of one class may be apart too.
    """

    name: str
    is_number: bool
    places: Floats
    values: Any
    codes: Ints
    distances: Floats


def number_feature(name: str, values: Floats) -> Feature:
    """Return a column of numbers; ties share their middle rank, missing values the highest."""
    filled = np.where(np.isnan(values), np.inf, values)
    _, where, counts = np.unique(filled, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    places = ((ends - (counts - 1) / 2) / len(values))[where.reshape(-1)]
    cuts = np.unique(np.quantile(places, np.arange(1, _BINS) / _BINS))
    _, codes = np.unique(np.searchsorted(cuts, places), return_inverse=True)
    codes = codes.reshape(-1)
    middles = np.bincount(codes, places) / np.bincount(codes)
    distances = np.abs(middles[:, None] - middles)
    inside = [_mean_difference(places[codes == k]) for k in range(len(middles))]
    np.fill_diagonal(distances, inside)
    return Feature(name, True, places, values, codes, distances)


def _mean_difference(places: Floats) -> float:
    """Return the mean of |u - v| over all pairs of numbers; rounding does not take it below 0."""
    size = len(places)
    return max(0.0, float(2 * (np.arange(1 - size, size, 2) @ np.sort(places)) / size**2))


def category_feature(name: str, values: Sequence[Any]) -> Feature:
    """Return a column of categories, numbered by frequency; beyond 200 the rest are one."""
    counts: dict[Any, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    common = sorted(counts, key=lambda value: -counts[value])[:_MOST_VALUES]
    number = {value: k for k, value in enumerate(common)}
    codes = np.array([number.get(value, len(common)) for value in values], np.int64)
    rare = np.array([n for value, n in counts.items() if value not in number], np.float64)
    distances = 1.0 - np.eye(len(common) + bool(rare.size))
    if rare.size:
        common.append(_REST)
        distances[-1, -1] = 1.0 - float((rare**2).sum() / rare.sum() ** 2)
    return Feature(name, False, codes.astype(np.float64), common, codes, distances)


def features_of(
    columns: Mapping[str, npt.NDArray[Any]],
) -> list[Feature]:
    """Return a feature per column: floats (NaN missing) are numbers, all else categories."""
    made = []
    for name, values in columns.items():
        if values.dtype.kind == "f" and len(np.unique(values[~np.isnan(values)])) > _FEW:
            made.append(number_feature(name, values))
        elif values.dtype.kind == "f":
            missing = np.isnan(values).tolist()
            pairs = zip(values.tolist(), missing, strict=True)
            made.append(category_feature(name, [None if gone else v for v, gone in pairs]))
        else:
            made.append(category_feature(name, values.tolist()))
    return [_ordered(feature, made) for feature in made]


def _ordered(feature: Feature, others: Sequence[Feature]) -> Feature:
    """Return a category numbered by likeness: by the first axis of correspondence with the others.

    Values that occur with the same values of other columns are neighbours, so that a split keeps
    them together.
    """
    size = len(feature.distances)
    if feature.is_number or size < 3:
        return feature
    tables = [_crossed(feature.codes, other.codes) for other in others if other is not feature]
    if not tables:
        return feature
    profile = np.hstack(tables)
    rows = profile.sum(axis=1)
    expected = np.outer(rows, profile.sum(axis=0)) / profile.sum()
    residual = (profile - expected) / np.sqrt(np.maximum(expected, 1e-12))
    axis = np.linalg.svd(residual, full_matrices=False)[0][:, 0] / np.sqrt(rows)
    order = np.argsort(axis, kind="stable")
    place = np.empty(size, np.int64)
    place[order] = np.arange(size)
    codes = place[feature.codes]
    values = [feature.values[k] for k in order.tolist()]
    distances = feature.distances[np.ix_(order, order)]
    return Feature(feature.name, False, codes.astype(np.float64), values, codes, distances)


def _crossed(a: Ints, b: Ints) -> Floats:
    size = int(b.max()) + 1
    flat = np.bincount(a * size + b, minlength=(int(a.max()) + 1) * size)
    return flat.reshape(-1, size).astype(np.float64)


def is_rest(value: Any) -> bool:
    """Tell whether a category's value stands for the rare ones."""
    return value is _REST
