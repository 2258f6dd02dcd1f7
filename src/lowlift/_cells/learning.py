"""Cells learnt from the published columns alone: split where rows come nearest to each other.

S plays no part: cells that depend on it would say something about it.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Floats, Ints
from lowlift._cells.features import Feature, features_of, is_rest
from lowlift._cells.tree import Split, Tree
from lowlift._deadline import Deadline

#: Twice the standard deviation over the root of 3 is the mean distance of a uniform law.
_UNIFORM = 2 / 3**0.5
#: Multiplications of a product that BLAS computes in one thread.
_SMALL = 250_000
#: With fewer rows at a time, small products take longer than a large one.
_FEW_ROWS = 8
#: Where a column may be split: at these many parts of the rows.
_CANDIDATES = 4


class Cells(NamedTuple):
    """A tree, the cell of each row it was learnt from, and the mean distances between cells."""

    tree: Tree
    of: Ints
    distances: Floats
    splitter: "Splitter"


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
    splitter = Splitter(features, shares)
    nodes = Nodes(splitter, np.arange(len(splitter.places)), min_rows)
    nodes.grow(most, deadline or Deadline(None))
    return cells_of(splitter, [nodes])


class _Split(NamedTuple):
    gain: float
    feature: int
    low: Bools
    condition: dict[str, Any]


class Splitter:
    """Scores a split of a node at the median of each column: by how much rows come nearer."""

    def __init__(self, features: Sequence[Feature], shares: Floats) -> None:
        self.features, self.shares = features, shares
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

    def best(
        self, rows: Ints, min_rows: int, allows: Callable[[Bools], Bools] | None = None
    ) -> _Split | None:
        """Return the split of some rows that gains most; None where there is none.

        `allows` tells for candidates (k, rows), which rows go to the left, which may be taken.
        """
        size = len(rows)
        if size < 2 * min_rows:
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
                    if min_rows <= count <= size - min_rows and count not in tried:
                        tried.add(count)
                        found.append((k, low))
        if not found:
            return None
        sums = self.sums[rows]
        total = sums.sum(axis=0, dtype=np.float64)[None]
        low = np.array([part for _, part in found])
        left = _product(low.astype(np.float32), sums).astype(np.float64)
        left_rows = np.count_nonzero(low, axis=1).astype(np.float64)
        right, right_rows = total - left, size - left_rows
        gains = size * self.spread(total, np.array([float(size)]))
        gains = gains - left_rows * self.spread(left, left_rows)
        gains -= right_rows * self.spread(right, right_rows)
        if allows is not None:
            gains = np.where(allows(low), gains, -np.inf)
        chosen = int(np.argmax(gains))
        if gains[chosen] == -np.inf:
            return None
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


class Nodes:
    """A tree that grows: the node that gains most is split, again and again."""

    def __init__(self, splitter: Splitter, rows: Ints, min_rows: int, allows: Any = None) -> None:
        self.splitter, self.min_rows = splitter, min_rows
        self.allows = allows
        #: The rows of each node; the first is all of them.
        self.rows: list[Ints] = [rows]
        self.splits: dict[int, tuple[_Split, int, int]] = {}
        self._heap: list[tuple[float, int, _Split]] = []
        self._push(0)

    def _push(self, node: int) -> None:
        here = self.rows[node]
        allows = None if self.allows is None else (lambda low: self.allows(here, low))
        found = self.splitter.best(here, self.min_rows, allows)
        if found is not None:
            heapq.heappush(self._heap, (-found.gain, node, found))

    def grow(self, most: int, deadline: Deadline) -> None:
        """Split until there are so many leaves, or none can be split."""
        while self._heap and len(self.splits) + 1 < most and not deadline.is_over:
            _, node, found = heapq.heappop(self._heap)
            here = self.rows[node]
            left = len(self.rows)
            self.rows += [here[found.low], here[~found.low]]
            self.splits[node] = (found, left, left + 1)
            self._push(left)
            self._push(left + 1)


class _Numbered:
    """Conditions and cells, numbered from left to right."""

    def __init__(self, size: int) -> None:
        self.made: list[Split | None] = []
        self.of = np.zeros(size, np.int64)
        self.cells = 0

    def add(self, nodes: Nodes, node: int = 0) -> int:
        """Add the part of a tree below a node; return its number as `Split` has it."""
        if node not in nodes.splits:
            self.of[nodes.rows[node]] = self.cells
            self.cells += 1
            return -self.cells
        found, left, right = nodes.splits[node]
        condition = dict(found.condition)
        if condition.pop("swap", False):
            left, right = right, left
        at = len(self.made)
        self.made.append(None)
        ends = self.add(nodes, left), self.add(nodes, right)
        self.made[at] = Split(found.feature, *ends, **condition)
        return at

    def graft(self, tree: Tree, parts: Sequence[Nodes], node: int = 0) -> int:
        """Add a tree whose cells are split further, each by nodes of its own."""
        if node < 0:
            return self.add(parts[-1 - node])
        split = tree.splits[node]
        at = len(self.made)
        self.made.append(None)
        ends = self.graft(tree, parts, split.left), self.graft(tree, parts, split.right)
        self.made[at] = replace(split, left=ends[0], right=ends[1])
        return at


def cells_of(splitter: Splitter, parts: Sequence[Nodes], tree: Tree | None = None) -> Cells:
    """Return the leaves of nodes as cells; those of `parts`, where they are parts of a tree."""
    numbered = _Numbered(len(splitter.places))
    if tree is None:
        numbered.add(parts[0])
    else:
        numbered.graft(tree, parts, 0 if tree.splits else -1)
    names = tuple(feature.name for feature in splitter.features)
    found = Tree(names, tuple(split for split in numbered.made if split is not None))
    distances = cell_distances(numbered.of, splitter.features, splitter.shares, found.size)
    return Cells(found, numbered.of, distances, splitter)


def cell_distances(of: Ints, features: Sequence[Feature], shares: Floats, size: int) -> Floats:
    """Return the mean distance between a row of one cell and a row of another, (m, m)."""
    sizes = np.bincount(of, minlength=size)[:, None]
    out = np.zeros((size, size))
    for feature, share in zip(features, shares, strict=True):
        classes = len(feature.distances)
        table = np.bincount(of * classes + feature.codes, minlength=size * classes)
        shape = table.reshape(size, classes) / sizes
        far = feature.distances @ shape.T
        step = _SMALL // far.size
        if step < _FEW_ROWS:
            step = size
        for at in range(0, size, step):
            out[at : at + step] += share * (shape[at : at + step] @ far)
    return out


def _product(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a @ b as a sum of small products, which BLAS computes in one thread.

    Its threads wait for each other: where others use the cores, that takes 10 times as long.
    """
    step = max(1, _SMALL // (len(a) * b.shape[1]))
    whole = len(b) // step * step
    out = a[:, whole:] @ b[whole:]
    if whole:
        parts = a[:, :whole].reshape(len(a), -1, step).transpose(1, 0, 2)
        out = out + (parts @ b[:whole].reshape(-1, step, b.shape[1])).sum(axis=0)
    return np.asarray(out)
