"""What one column says about S, and what it adds to the others: from counts alone (NumPy).

Shapes: a table of counts by S is (codes, |S|), a table of a pair of columns (codes, codes).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from lowlift._arrays import Floats, Ints

#: The penalty of the regression, per row: it only makes duplicated columns solvable.
_RIDGE = 1e-6


def occupied(counts: Ints) -> Ints:
    """Return the counts without the codes and the values of S that do not occur."""
    return np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])


def lift_range(counts: Ints) -> tuple[float, float]:
    """Return the smallest and the largest P(s given v) / P(s) of counts that are `occupied`."""
    p_s = counts.sum(axis=0) / counts.sum()
    lifts = counts / counts.sum(axis=1, keepdims=True) / p_s
    return float(lifts.min()), float(lifts.max())


def entropy(counts: Ints) -> float:
    """Return the entropy of counts of one axis, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(0.0 - (shares * np.log(shares)).sum())  # never -0.0


def information(counts: Ints) -> float:
    """Return I(V; S) in nats, less its bias: (cells - codes - values of S + 1) / 2 rows.

    Counts of few rows look informative by chance. Miller and Madow's term is the mean of that to
    first order. What is left is between 0 and H(S).
    """
    counts = occupied(counts)
    v, s = counts.sum(axis=1), counts.sum(axis=0)
    whole = entropy(s)
    raw = entropy(v) + whole - entropy(counts.ravel())
    bias = (np.count_nonzero(counts) - len(v) - len(s) + 1) / (2 * counts.sum())
    return float(min(max(0.0, raw - bias), whole))


def guessed(counts: Ints) -> float:
    """Return how often the best guess of S from V is right, each row guessed from the others.

    A code with no other row, and a tie, are decided by the frequency of S.
    """
    counts = occupied(counts)
    prior = counts.sum(axis=0)
    # A frequency below 1/2 breaks ties between whole counts.
    score = counts + prior / (2 * prior.sum() + 1)
    right = 0
    for s in range(counts.shape[1]):
        others = score.copy()
        others[:, s] -= 1 + 1 / (2 * prior.sum() + 1)
        best = others[:, s] >= others.max(axis=1)
        right += int(counts[best, s].sum())
    return right / int(counts.sum())


def explained(counts: Ints) -> float:
    """Return the share of S that V explains: adjusted R squared of the indicators of S.

    Without the adjustment it is Goodman and Kruskal's tau. NaN where there is a code for each row.
    """
    counts = occupied(counts)
    rows, v, s = int(counts.sum()), counts.sum(axis=1), counts.sum(axis=0)
    base = float((s.astype(np.float64) ** 2).sum() / rows)
    within = float(((counts.astype(np.float64) ** 2).sum(axis=1) / v).sum())
    if rows <= len(v) or rows <= base:
        return math.nan
    return _clipped(1 - (rows - within) / (rows - len(v)) * (rows - 1) / (rows - base))


def explained_on_top(
    by_s: Sequence[Ints], pairs: Mapping[tuple[int, int], Ints]
) -> tuple[list[float], float]:
    """Return what each column adds to all the others, and what all of them explain.

    The indicators of S are regressed on the indicators of the codes of all columns, by least
    squares: the products of the indicators are the counts of pairs. What a column adds is the
    adjusted R squared with it less the one without it. All are NaN where there are too few rows.

    Parameters
    ----------
    by_s, pairs
        The counts of each column by S, and of each pair of columns k < l.

    Cost
        One inverse of the size of all codes; a column is taken out of it by a block of its own.
    """
    rows = int(by_s[0].sum())
    margins = [counts.sum(axis=1) for counts in by_s]
    used = [margin > 0 for margin in margins]
    sums = np.concatenate([m[u] for m, u in zip(margins, used, strict=True)]).astype(np.float64)
    gram = _gram(margins, used, pairs)
    s = by_s[0].sum(axis=0).astype(np.float64)
    gram -= np.outer(sums, sums) / rows
    cross = np.concatenate([counts[u] for counts, u in zip(by_s, used, strict=True)])
    moment = cross - np.outer(sums, s) / rows
    inverse = np.linalg.inv(gram + _RIDGE * rows * np.eye(len(gram)))
    slopes = inverse @ moment
    total = rows - float((s**2).sum()) / rows
    left = total - float((slopes * moment).sum())
    free = rows - 1 - (len(gram) - _RIDGE * rows * float(np.trace(inverse)))
    if total <= 0 or free < 10:
        return [math.nan] * len(by_s), math.nan
    whole = 1 - left / free * (rows - 1) / total
    ends = np.cumsum([0, *(int(u.sum()) for u in used)])
    added = []
    for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        block = np.linalg.inv(inverse[a:b, a:b])
        without = left + float((slopes[a:b] * (block @ slopes[a:b])).sum())
        # The trace of the inverse without the block, by its Schur complement.
        lost = float((block * (inverse[a:b] @ inverse[:, a:b]).T).sum())
        freed = free + (b - a) + _RIDGE * rows * (-lost)
        added.append(_clipped(whole - (1 - without / freed * (rows - 1) / total)))
    return added, _clipped(whole)


def _gram(
    margins: Sequence[Ints], used: Sequence[np.ndarray], pairs: Mapping[tuple[int, int], Ints]
) -> Floats:
    """Return the products of all indicators: the counts of pairs of codes that occur."""
    every = {(k, k): np.diag(margin) for k, margin in enumerate(margins)} | dict(pairs)
    every |= {(j, k): block.T for (k, j), block in pairs.items()}
    places = range(len(margins))
    blocks = [[every[k, j][used[k]][:, used[j]].astype(np.float64) for j in places] for k in places]
    return np.block(blocks)


def _clipped(share: float) -> float:
    return min(max(0.0, share), 1.0)
