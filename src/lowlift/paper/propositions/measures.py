"""What a case is measured by: in floats for many cases at once, in rationals for one."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.paper.propositions.enclosures import (
    Ends,
    log,
    power,
    root,
    scaled_log,
    sum_of,
    weighted,
)

__all__ = ["Bools", "Cases", "Exact", "Floats", "Ints", "Table"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Table: TypeAlias = Sequence[Sequence[int]]


class _Measures:
    """What floats (many cases) and rationals (one case) share.

    `l1`, `chi2` and their inverses are the largest over the outputs.
    """

    u: Any
    d: Any
    #: Per output, sum_s P(s) f(l(s, y)).
    means: Callable[[Callable[[Any], Any]], Any]
    #: sum_y P(y) values.
    average: Callable[[Any], Any]
    #: max_y values.
    largest: Callable[[Any], Any]

    @cached_property
    def total_variation(self) -> Any:
        return self.average(self.means(lambda v: abs(v - 1))) / 2

    @cached_property
    def chi2_divergence(self) -> Any:
        return self.average(self.means(lambda v: (v - 1) ** 2))

    @cached_property
    def l1(self) -> Any:
        return self.largest(self.means(lambda v: abs(v - 1)))

    @cached_property
    def chi2(self) -> Any:
        return self.largest(self.means(lambda v: (v - 1) ** 2))

    @cached_property
    def l1_inverse(self) -> Any:
        return self.largest(self.means(lambda v: abs(1 / v - 1)))

    @cached_property
    def chi2_inverse(self) -> Any:
        return self.largest(self.means(lambda v: (1 / v - 1) ** 2))


class Cases(_Measures):
    """Cases of one shape, measured in floats.

    `counts` is (k, |S|, |X|), `weights` (k, |X|, |Y|), `high` (k, |X|) marks X_H. An output that
    never occurs has mass 0 and counts as lift 1, which changes no measure.
    """

    def __init__(self, counts: Ints, weights: Ints, high: Bools) -> None:
        self.counts, self.weights, self.high = counts, weights, high
        self._exact: dict[int, Exact] = {}
        self.masses = counts @ weights
        self.rows = self.masses.sum(axis=2)
        p_sy = self.masses / self.masses.sum(axis=(1, 2), keepdims=True)
        self.p_s, self.p_y = p_sy.sum(axis=2), p_sy.sum(axis=1)
        above = self.masses * self.rows.sum(axis=1)[:, None, None].astype(np.float64)
        below = self.rows[:, :, None].astype(np.float64) * self.masses.sum(axis=1)[:, None]
        self.lift = np.divide(above, below, out=np.ones(above.shape), where=below > 0)
        self.u, self.d = self.lift.max(axis=(1, 2)), self.lift.min(axis=(1, 2))
        self.means = lambda function: self._mean(self.p_s, function(self.lift))
        self.average = lambda values: (self.p_y * values).sum(axis=1)
        self.largest = lambda values: values.max(axis=1)

    def __len__(self) -> int:
        return len(self.counts)

    @staticmethod
    def _mean(p_s: Floats, values: Floats) -> Floats:
        return np.asarray(np.einsum("ks,ksy->ky", p_s, values))

    def exact(self, k: int) -> "Exact":
        """Return case k in rationals."""
        if k not in self._exact:
            table = self.counts[k].tolist()
            self._exact[k] = Exact(table, self.weights[k].tolist(), self.high[k].tolist())
        return self._exact[k]

    @cached_property
    def chord(self) -> Floats:
        """(u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
        spread = self.u - self.d
        top = (self.u - 1) * (1 - self.d)
        return np.asarray(np.divide(top, spread, out=np.zeros(len(self)), where=spread > 0))

    @cached_property
    def farthest(self) -> Floats:
        """The largest deviation of 1/l from 1 that d <= l <= u leaves."""
        return np.asarray(np.maximum(1 / self.d - 1, 1 - 1 / self.u))

    @cached_property
    def information(self) -> Any:
        """I(S;Y) in nats."""
        return self.average(self.means(lambda v: v * np.log(v)))

    def powers(self, alpha: float) -> Any:
        """Return max_y sum_s P(s) l**alpha."""
        return self.largest(self.means(lambda v: v**alpha))

    def sibson(self, alpha: float) -> Any:
        """Return Sibson's information of order alpha, in nats."""
        norms = self.means(lambda v: v**alpha) ** (1 / alpha)
        return alpha / (alpha - 1) * np.log(self.average(norms))

    def arimoto(self, alpha: float) -> Any:
        """Return Sibson's form under the tilted prior."""
        tilted = self.p_s**alpha / (self.p_s**alpha).sum(axis=1, keepdims=True)
        norms = self._mean(tilted, self.lift**alpha) ** (1 / alpha)
        return alpha / (alpha - 1) * np.log(self.average(norms))

    # Where nearly equal lifts compete, the largest P(s) is the hardest case.

    @cached_property
    def p_at_max(self) -> Floats:
        """P(s) where the lift is largest."""
        near = self.lift.max(axis=2) >= self.u[:, None] * (1 - 1e-12)
        return np.asarray(np.where(near, self.p_s, 0.0).max(axis=1))

    @cached_property
    def p_at_min(self) -> Floats:
        """P(s) where the lift is smallest."""
        near = self.lift.min(axis=2) <= self.d[:, None] * (1 + 1e-12)
        return np.asarray(np.where(near, self.p_s, 0.0).max(axis=1))

    def _largest_gamma(self, masses: npt.NDArray[Any]) -> Floats:
        """Return max_y of max_s P(y|s) / min_s P(y|s), over the outputs that occur."""
        rates = masses / self.rows[:, :, None]
        high, low = rates.max(axis=1), rates.min(axis=1)
        ratios = np.divide(high, low, out=np.ones(high.shape), where=low > 0)
        return np.asarray(ratios.max(axis=1))

    @cached_property
    def gamma(self) -> Floats:
        """The largest Gamma(y)."""
        return self._largest_gamma(self.masses)

    @cached_property
    def gamma_merged(self) -> Floats:
        """Gamma of X_H as one output."""
        return self._largest_gamma((self.counts * self.high[:, None]).sum(axis=2, keepdims=True))

    @cached_property
    def gamma_invariant(self) -> Floats:
        """The largest Gamma(y) when every x of X_H is randomised by the first row of weights."""
        merged = (self.counts * self.high[:, None]).sum(axis=2, keepdims=True)
        return self._largest_gamma(merged * self.weights[:, :1])

    @cached_property
    def gamma_randomised(self) -> Floats:
        """The largest Gamma(y) when each x of X_H is randomised by its own row of weights."""
        return self._largest_gamma((self.counts * self.high[:, None]) @ self.weights)


class Exact(_Measures):
    """One case in rationals: the same measures by the same names."""

    def __init__(self, counts: Table, weights: Table, high: Sequence[bool]) -> None:
        self.weights = weights
        self.high_counts = [list(map(int.__mul__, row, map(int, high))) for row in counts]
        columns = _columns(counts, weights)
        self.rows = [sum(column[s] for column in columns) for s in range(len(counts))]
        total = sum(self.rows)
        self.p_s = [Fraction(row, total) for row in self.rows]
        self.p_y = [Fraction(sum(column), total) for column in columns]
        self.lifts = [
            [Fraction(n * total, row * mass) for n, row in zip(column, self.rows, strict=True)]
            for column in columns
            for mass in (sum(column),)
        ]
        self.u, self.d = max(map(max, self.lifts)), min(map(min, self.lifts))
        self.means = lambda function: [_dot(self.p_s, map(function, l_s)) for l_s in self.lifts]
        self.average = lambda values: _dot(self.p_y, values)
        self.largest = max

    @property
    def chord(self) -> Fraction:
        """(u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
        u, d = Fraction(self.u), Fraction(self.d)
        return (u - 1) * (1 - d) / (u - d) if u > d else Fraction()

    @property
    def farthest(self) -> Fraction:
        """The largest deviation of 1/l from 1 that d <= l <= u leaves."""
        return Fraction(max(1 / self.d - 1, 1 - 1 / self.u))

    def _p_where(self, value: Fraction) -> Fraction:
        pairs = (pair for l_s in self.lifts for pair in zip(self.p_s, l_s, strict=True))
        return max(p for p, v in pairs if v == value)

    @property
    def p_at_max(self) -> Fraction:
        """P(s) where the lift is largest."""
        return self._p_where(self.u)

    @property
    def p_at_min(self) -> Fraction:
        """P(s) where the lift is smallest."""
        return self._p_where(self.d)

    def _largest_gamma(self, columns: Iterable[Sequence[int]]) -> Fraction:
        rates = [list(map(Fraction, column, self.rows)) for column in columns]
        return max(max(rate) / min(rate) for rate in rates)

    @property
    def gamma(self) -> Fraction:
        """The largest Gamma(y)."""
        return max(max(l_s) / min(l_s) for l_s in self.lifts)

    @cached_property
    def gamma_merged(self) -> Fraction:
        """Gamma of X_H as one output."""
        return self._largest_gamma([list(map(sum, self.high_counts))])

    @property
    def gamma_invariant(self) -> Fraction:
        """The largest Gamma(y) when every x of X_H is randomised by the first row of weights."""
        merged = list(map(sum, self.high_counts))
        return self._largest_gamma([[n * w for n in merged] for w in self.weights[0] if w])

    @property
    def gamma_randomised(self) -> Fraction:
        """The largest Gamma(y) when each x of X_H is randomised by its own row of weights."""
        return self._largest_gamma(_columns(self.high_counts, self.weights))

    def information(self, bits: int) -> Ends:
        """Enclose I(S;Y)."""
        parts = [
            (p_y * p_s * v, log(v, bits))
            for p_y, l_s in zip(self.p_y, self.lifts, strict=True)
            for p_s, v in zip(self.p_s, l_s, strict=True)
        ]
        return sum_of((p * lo, p * hi) for p, (lo, hi) in parts)

    def powers(self, alpha: Fraction, bits: int) -> list[Ends]:
        """Enclose sum_s P(s) l**alpha per output."""
        return [weighted(self.p_s, [power(v, alpha, bits) for v in l_s]) for l_s in self.lifts]

    def sibson(self, alpha: Fraction, bits: int) -> Ends:
        """Enclose Sibson's information of order alpha."""
        norms = [root(ends, alpha, bits) for ends in self.powers(alpha, bits)]
        return scaled_log(alpha, weighted(self.p_y, norms), bits)

    def arimoto(self, alpha: Fraction, bits: int) -> Ends:
        """Enclose Arimoto's information of order alpha."""
        if self.u == 1:  # it is 0, which no enclosure can tell from a little more
            return Fraction(), Fraction()
        norms = [
            root(sum_of(power(p * v, alpha, bits) for p, v in pairs), alpha, bits)
            for pairs in (list(zip(self.p_s, l_s, strict=True)) for l_s in self.lifts)
        ]
        prior = root(sum_of(power(p, alpha, bits) for p in self.p_s), alpha, bits)
        low, high = weighted(self.p_y, norms)
        return scaled_log(alpha, (low / prior[1], high / prior[0]), bits)


def _columns(counts: Table, weights: Table) -> list[list[int]]:
    """Return counts @ weights per output, without the outputs of mass 0."""
    found = [
        [sum(map(int.__mul__, row, shares)) for row in counts]
        for shares in zip(*weights, strict=True)
    ]
    return [column for column in found if any(column)]


def _dot(weights: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction())
