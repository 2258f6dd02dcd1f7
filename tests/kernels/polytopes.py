"""Polytopes in boxes by exact rationals: their vertices, and the least of a linear cost.

A polytope is ``lo <= (v, rows v) <= hi``, as the kernels take it: floats, each of which is the
binary fraction it is. v is boxed, so where there is a point there is a vertex.
"""

import itertools
from fractions import Fraction

import mpmath
import numpy as np

from lowlift._kernels import lp


def fractions(array):
    return [Fraction(float(value)) for value in array]


def solved(matrix, right):
    """Return the one solution of a square system of Fractions, None where it has none or many."""
    size = len(right)
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [value / table[k][k] for value in table[k]]
        for i in range(size):
            if i != k and table[i][k] != 0:
                factor = table[i][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


def vertices(rows, lo, hi):
    """Return every vertex, as a tuple of Fractions."""
    r, n = rows.shape
    walls = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    walls += [fractions(row) for row in rows]
    low, high = fractions(lo), fractions(hi)
    sides = [sorted({a, b}) for a, b in zip(low, high, strict=True)]
    found = set()
    for chosen in itertools.combinations(range(n + r), n):
        matrix = [walls[i] for i in chosen]
        rights = list(itertools.product(*(sides[i] for i in chosen)))
        for right in _near(rows, lo, hi, chosen, rights):
            v = solved(matrix, right)
            if v is None:
                break  # the walls are dependent, whatever the right side
            if tuple(v) not in found and is_inside(walls, low, high, v):
                found.add(tuple(v))
    return sorted(found)


def _near(rows, lo, hi, chosen, rights):
    """Return the right sides that may give a point inside: floats rule out those far from it.

    All of them where the walls are so nearly dependent that floats cannot tell.
    """
    walls = np.vstack([np.eye(rows.shape[1]), rows])
    matrix = walls[list(chosen)]
    if np.abs(walls).max() > 100 or np.linalg.cond(matrix) > 1e6:
        return rights
    points = walls @ np.linalg.solve(matrix, np.array(rights, dtype=float).T)
    inside = (points > lo[:, None] - 1e-6) & (points < hi[:, None] + 1e-6)
    return [rights[k] for k in np.flatnonzero(inside.all(axis=0))]


def is_inside(walls, low, high, v):
    for wall, a, b in zip(walls, low, high, strict=True):
        value = sum(w * x for w, x in zip(wall, v, strict=True) if w)
        if not a <= value <= b:
            return False
    return True


def least_cost(rows, lo, hi, cost):
    """Return the least of ``cost . v``, None where there is no point."""
    c = fractions(cost)
    found = (sum(a * b for a, b in zip(c, v, strict=True)) for v in vertices(rows, lo, hi))
    return min(found, default=None)


def dual_value(rows, lo, hi, cost, y):
    """Return the lower bound of ``cost . v`` that multipliers y give, exactly."""
    y, low, high = fractions(y), fractions(lo), fractions(hi)
    weights = [*net_costs(rows, cost, y), *y]
    return sum(min(w * low[j], w * high[j]) for j, w in enumerate(weights))


def net_costs(rows, cost, y):
    """Return ``cost - rows' y`` for Fractions y."""
    columns = [fractions(column) for column in rows.T]
    return [
        c - sum(a * b for a, b in zip(column, y, strict=True))
        for c, column in zip(fractions(cost), columns, strict=True)
    ]


def value(v, pi):
    """Return ``H(v) - pi . v`` to 60 digits."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for share, dual in zip(v, pi, strict=True):
            if share:
                x = mpmath.mpf(share.numerator) / share.denominator
                total -= x * (mpmath.log(x) + mpmath.mpf(float(dual)))
        return total


def largest(rows, lo, hi):
    """Return, per row, what `lp.minimise` takes as its size."""
    n = rows.shape[1]
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    return np.maximum(sizes, np.maximum(np.abs(lo[n:]), np.abs(hi[n:])))


class Program:
    """A linear program and its tableau, which goes on from call to call."""

    def __init__(self, rows, lo, hi):
        self.rows, self.lo, self.hi = rows, lo, hi
        self.largest = largest(rows, lo, hi)
        self.start = lp.fresh_tableau(rows)

    def minimise(self, cost, cutoff=np.inf, pivots=500):
        r, n = self.rows.shape
        self.x, self.net, self.y = np.zeros(n + r), np.zeros(n), np.zeros(r)
        self.status, self.bound, self.error, self.pivots = lp.minimise(
            self.rows, self.largest, *self.start, cost, self.lo, self.hi, cutoff, pivots,
            self.x, self.net, self.y,
        )  # fmt: skip
        return self.status


def random_posteriors(rng, n, r, *, slack=0.3, below=0.0, above=1.0):
    """Return a polytope of posteriors that has a point: the sum, and boxes of r random lifts.

    Shares may have lower bounds above 0, and upper ones below 1.
    """
    rows = np.vstack([np.ones(n), rng.random((r, n)) * 2])
    center = rng.dirichlet(np.ones(n))
    middle = rows[1:] @ center
    room = slack * rng.random((2, r))
    lo = np.concatenate([below * center * rng.random(n), [1.0], middle - room[0]])
    hi = np.concatenate([center + (1 - center) * rng.uniform(above, 1, n), [1.0], middle + room[1]])
    return rows, lo, hi
