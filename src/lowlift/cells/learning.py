"""Cells learnt from the published columns alone: split where rows come nearest to each other.

S plays no part: cells that depend on it would say something about it.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lowlift.arrays import Bools, Floats, Ints
from lowlift.cells.features import Feature, features_of, is_rest
from lowlift.cells.tree import Split, Tree
from lowlift.deadline import Deadline

#: Twice the standard deviation over the root of 3 is the mean distance of a uniform law.
_UNIFORM = 2 / 3**0.5
#: Where a column may be split: at these many parts of the rows.
_CANDIDATES = 4


class Cells(NamedTuple):
    """A tree, the cell of each row it was learnt from, and the mean distances between cells."""

    tree: Tree
    of: Ints
    distances: Floats


def learn_cells(
    columns: Mapping[str, npt.NDArray[Any]],
    most: int,
    *,
    min_rows: int = 20,
    weights: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
) -> Cells:
    """Return at most so many cells of these rows.

    Parameters
    ----------
    columns
        Per column its values: floats (NaN missing) for numbers and dates, objects (None missing)
        for the rest.
    most
        How many cells at most.
    min_rows
        How many rows each has at least.
    weights
        What a column counts, 1 by default.
    deadline
        When it is over, what there is stays as it is.
    """
    features = features_of(columns)
    shares = np.array([(weights or {}).get(name, 1.0) for name in columns])
    shares = shares / shares.sum()
    splitter = _Splitter(features, shares, min_rows)
    tree, of = _grown(splitter, tuple(columns), most, deadline or Deadline(None))
    return Cells(tree, of, cell_distances(of, features, shares, tree.size))


class _Split(NamedTuple):
    gain: float
    feature: int
    low: Bools
    condition: dict[str, Any]


class _Splitter:
    """Scores a split of a node at the median of each column: by how much rows come nearer."""

    def __init__(self, features: Sequence[Feature], shares: Floats, min_rows: int) -> None:
        self.features, self.shares, self.min_rows = features, shares, min_rows
        parts, self.slices, at = [], [], 0
        for feature in features:
            if feature.is_number:
                part = np.column_stack([feature.places, feature.places**2])
            else:
                part = np.eye(len(feature.distances))[feature.codes]
            parts.append(part.astype(np.float32))
            self.slices.append(slice(at, at + part.shape[1]))
            at += part.shape[1]
        self.sums = np.hstack(parts)
        self.places = np.column_stack([feature.places for feature in features])

    def spread(self, totals: Floats, rows: Floats) -> Floats:
        """Return the mean distance between two rows, over all columns, for each set of rows."""
        means = totals / rows[:, None]
        out = np.zeros(len(rows))
        for feature, share, part in zip(self.features, self.shares, self.slices, strict=True):
            mean = means[:, part]
            if feature.is_number:
                variance = np.maximum(mean[:, 1] - mean[:, 0] ** 2, 0)
                out += share * _UNIFORM * np.sqrt(variance)
            else:
                out += share * (1 - (mean**2).sum(axis=1))
        return out

    def best(self, rows: Ints) -> _Split | None:
        """Return the split of some rows that gains most; None where there is none."""
        size = len(rows)
        if size < 2 * self.min_rows:
            return None
        places = self.places[rows]
        at = [(size * k) // _CANDIDATES for k in range(1, _CANDIDATES)]
        cuts = np.partition(places, at, axis=0)[at]
        found = []
        for k in range(places.shape[1]):
            tried = set()
            for cut in np.unique(cuts[:, k]):
                for low in (places[:, k] <= cut, places[:, k] < cut):
                    count = int(np.count_nonzero(low))
                    if self.min_rows <= count <= size - self.min_rows and count not in tried:
                        tried.add(count)
                        found.append((k, low))
        if not found:
            return None
        sums = self.sums[rows]
        total = sums.sum(axis=0, dtype=np.float64)[None]
        low = np.array([part for _, part in found])
        left = (low.astype(np.float32) @ sums).astype(np.float64)
        left_rows = np.count_nonzero(low, axis=1).astype(np.float64)
        right, right_rows = total - left, size - left_rows
        gains = size * self.spread(total, np.array([float(size)]))
        gains = gains - left_rows * self.spread(left, left_rows)
        gains -= right_rows * self.spread(right, right_rows)
        chosen = int(np.argmax(gains))
        k = found[chosen][0]
        condition = self._condition(k, rows, low[chosen])
        return _Split(float(gains[chosen]), k, low[chosen], condition)

    def _condition(self, k: int, rows: Ints, low: Bools) -> dict[str, Any]:
        """Return the condition that the rows on the left meet and no others."""
        feature = self.features[k]
        if feature.is_number:
            below = np.max(feature.values[rows[low]])
            above = np.min(np.nan_to_num(feature.values[rows[~low]], nan=np.inf))
            # Halfway: a value that is rounded when it is written stays on its side.
            middle = below + (above - below) / 2
            return {"most": float(middle if below <= middle < above < np.inf else below)}
        last = int(feature.codes[rows[low]].max())
        # Values that no row here has go with their neighbours in the order.
        left, right = feature.values[: last + 1], feature.values[last + 1 :]
        if any(is_rest(value) for value in left):  # the rare ones cannot be listed
            return {"values": tuple(right), "swap": True}
        return {"values": tuple(left)}


def _grown(
    splitter: _Splitter, names: tuple[str, ...], most: int, deadline: Deadline
) -> tuple[Tree, Ints]:
    """Split the cell that gains most, again and again."""
    size = len(splitter.places)
    rows: list[Ints] = [np.arange(size)]
    splits: dict[int, tuple[_Split, int, int]] = {}
    heap: list[tuple[float, int, _Split]] = []

    def push(node: int) -> None:
        found = splitter.best(rows[node])
        if found is not None:
            heapq.heappush(heap, (-found.gain, node, found))

    push(0)
    while heap and len(splits) + 1 < most and not deadline.is_over:
        _, node, found = heapq.heappop(heap)
        here = rows[node]
        left, right = len(rows), len(rows) + 1
        rows += [here[found.low], here[~found.low]]
        splits[node] = (found, left, right)
        push(left)
        push(right)
    return _numbered(rows, splits, names, size)


def _numbered(
    rows: list[Ints],
    splits: dict[int, tuple[_Split, int, int]],
    names: tuple[str, ...],
    size: int,
) -> tuple[Tree, Ints]:
    """Return the tree with nodes and cells numbered from left to right."""
    made: list[Split | None] = []
    of = np.zeros(size, np.int64)
    cells = 0

    def walk(node: int) -> int:
        nonlocal cells
        if node not in splits:
            of[rows[node]] = cells
            cells += 1
            return -cells
        found, left, right = splits[node]
        at = len(made)
        made.append(None)
        condition = dict(found.condition)
        if condition.pop("swap", False):
            left, right = right, left
        first = walk(left)
        second = walk(right)
        made[at] = Split(found.feature, first, second, **condition)
        return at

    walk(0)
    return Tree(names, tuple(split for split in made if split is not None)), of


def cell_distances(of: Ints, features: Sequence[Feature], shares: Floats, size: int) -> Floats:
    """Return the mean distance between a row of one cell and a row of another, (m, m)."""
    sizes = np.bincount(of, minlength=size)[:, None]
    out = np.zeros((size, size))
    for feature, share in zip(features, shares, strict=True):
        classes = len(feature.distances)
        table = np.bincount(of * classes + feature.codes, minlength=size * classes)
        shape = table.reshape(size, classes) / sizes
        out += share * (shape @ feature.distances @ shape.T)
    return out
