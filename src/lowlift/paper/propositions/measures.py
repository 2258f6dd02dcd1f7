"""The measures of a case: in floats for many cases at once, in rationals for one."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from lowlift._arrays import Bools, Ints
from lowlift.paper.propositions.enclosures import larger, log, power

Table: TypeAlias = Sequence[Sequence[int]]
#: Floats, or objects that are fractions.
Numbers: TypeAlias = Any


def _largest(function: Callable[[Any], Any]) -> "cached_property[Numbers]":
    """Return the largest over the outputs of sum_s P(s) f(l(s, y)) as an attribute of cases."""
    return cached_property(lambda cases: cases.means(function).max(axis=1))


class Cases:
    """Cases of one shape and their measures, one number per case.

    An output that never occurs has mass 0 and counts as lift 1, which changes no measure. `l1`,
    `chi2` and their inverses are the largest over the outputs.

    Parameters
    ----------
    counts
        Shape (k, |S|, |X|), positive.
    weights
        Shape (k, |X|, |Y|).
    high
        Shape (k, |X|): the symbols of X_H.
    """

    _kind: type = float
    _one: float | Fraction = 1.0
    #: Where nearly equal lifts compete, the largest P(s) is the hardest case.
    _tolerance = 1e-12

    def __init__(self, counts: Ints, weights: Ints, high: Bools) -> None:
        self.counts, self.weights, self.high = counts, weights, high
        self._exact: dict[int, Exact] = {}
        self.masses: Numbers = (counts @ weights).astype(self._kind)
        self.rows, outputs = self.masses.sum(axis=2), self.masses.sum(axis=1)
        totals = self.rows.sum(axis=1)[:, None]
        self.p_s, self.p_y = self._ratio(self.rows, totals), self._ratio(outputs, totals)
        expected = self.rows[:, :, None] * outputs[:, None]
        self.lift = self._ratio(self.masses * totals[:, None], expected)
        self.u, self.d = self.lift.max(axis=(1, 2)), self.lift.min(axis=(1, 2))

    def __len__(self) -> int:
        return len(self.counts)

    def _ratio(self, above: Numbers, below: Numbers) -> Numbers:
        """Divide; what is divided by 0 counts as 1."""
        found = np.ones(np.broadcast_shapes(above.shape, below.shape))
        return np.divide(above, below, out=found, where=below > 0)

    def exact(self, k: int) -> "Exact":
        """Return case k in rationals."""
        if k not in self._exact:
            weights = self.weights[k][:, (self.counts[k] @ self.weights[k]).any(axis=0)]
            self._exact[k] = Exact(self.counts[[k]], weights[None], self.high[[k]])
        return self._exact[k]

    def means(self, function: Callable[[Any], Any], p_s: Numbers = None) -> Numbers:
        """Return sum_s P(s) f(l(s, y)) per output."""
        weights = self.p_s if p_s is None else p_s
        return (weights[:, :, None] * function(self.lift)).sum(axis=1)

    def _average(self, values: Numbers) -> Numbers:
        """Return sum_y P(y) values."""
        return (self.p_y * values).sum(axis=1)

    @cached_property
    def total_variation(self) -> Numbers:
        """T(S;Y)."""
        return self._average(self.means(lambda v: abs(v - 1))) / 2

    @cached_property
    def chi2_divergence(self) -> Numbers:
        """The chi2 information of S and Y."""
        return self._average(self.means(lambda v: (v - 1) ** 2))

    l1 = _largest(lambda v: abs(v - 1))
    chi2 = _largest(lambda v: (v - 1) ** 2)
    l1_inverse = _largest(lambda v: abs(1 / v - 1))
    chi2_inverse = _largest(lambda v: (1 / v - 1) ** 2)

    @cached_property
    def chord(self) -> Numbers:
        """(u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
        return self._ratio((self.u - 1) * (1 - self.d), self.u - self.d) * (self.u > self.d)

    @cached_property
    def farthest(self) -> Numbers:
        """The largest deviation of 1/l from 1 that d <= l <= u leaves."""
        return np.maximum(1 / self.d - 1, 1 - 1 / self.u)

    def power(self, values: Numbers, exponent: Fraction) -> Numbers:
        """Return values**exponent."""
        return values ** float(exponent)

    def log(self, values: Numbers) -> Numbers:
        """Return the logarithm of the values."""
        return np.log(values)

    def log_of_order(self, alpha: Fraction, values: Numbers) -> Numbers:
        """Return alpha / (alpha - 1) log(values)."""
        return alpha / (alpha - 1) * self._one * self.log(values)

    @property
    def information(self) -> Numbers:
        """I(S;Y) in nats."""
        return self._average(self.means(lambda v: v * self.log(v)))

    def powers(self, alpha: Fraction) -> Numbers:
        """Return max_y sum_s P(s) l**alpha."""
        return self.means(lambda v: self.power(v, alpha)).max(axis=1)

    def sibson(self, alpha: Fraction, p_s: Numbers = None) -> Numbers:
        """Return Sibson's information of order alpha, in nats, under the prior or another one."""
        means = self.means(lambda v: self.power(v, alpha), p_s)
        return self.log_of_order(alpha, self._average(self.power(means, 1 / alpha)))

    def arimoto(self, alpha: Fraction) -> Numbers:
        """Return Arimoto's information of order alpha: Sibson's form under the tilted prior."""
        tilted = self.power(self.p_s, alpha)
        return self.sibson(alpha, tilted / tilted.sum(axis=1, keepdims=True))

    @cached_property
    def p_at_max(self) -> Numbers:
        """P(s) where the lift is largest."""
        near = self.lift.max(axis=2) >= self.u[:, None] * (1 - self._tolerance)
        return np.where(near, self.p_s, 0 * self._one).max(axis=1)

    @cached_property
    def p_at_min(self) -> Numbers:
        """P(s) where the lift is smallest."""
        near = self.lift.min(axis=2) <= self.d[:, None] * (1 + self._tolerance)
        return np.where(near, self.p_s, 0 * self._one).max(axis=1)

    def _largest_gamma(self, masses: Numbers) -> Numbers:
        """Return max_y of max_s P(y|s) / min_s P(y|s), over the outputs that occur."""
        rates = self._ratio(masses, self.rows[:, :, None])
        return self._ratio(rates.max(axis=1), rates.min(axis=1)).max(axis=1)

    @cached_property
    def gamma(self) -> Numbers:
        """The largest Gamma(y)."""
        return self._largest_gamma(self.masses)

    @cached_property
    def _high_counts(self) -> Numbers:
        return (self.counts * self.high[:, None]).astype(self._kind)

    @cached_property
    def gamma_merged(self) -> Numbers:
        """Gamma of X_H as one output."""
        return self._largest_gamma(self._high_counts.sum(axis=2, keepdims=True))

    @cached_property
    def gamma_invariant(self) -> Numbers:
        """The largest Gamma(y) when every x of X_H is randomised by the first row of weights."""
        merged = self._high_counts.sum(axis=2, keepdims=True)
        return self._largest_gamma(merged * self.weights[:, :1])

    @cached_property
    def gamma_randomised(self) -> Numbers:
        """The largest Gamma(y) when each x of X_H is randomised by its own row of weights."""
        return self._largest_gamma(self._high_counts @ self.weights)


class Exact(Cases):
    """One case in rationals; powers and logarithms are enclosed to so many bits."""

    _kind = object
    _one = Fraction(1)
    _tolerance = 0
    #: May be set; what depends on it is not kept.
    bits = 128

    def _ratio(self, above: Numbers, below: Numbers) -> Numbers:
        return np.frompyfunc(lambda a, b: Fraction(a, b) if b else self._one, 2, 1)(above, below)

    def power(self, values: Numbers, exponent: Fraction) -> Numbers:
        """Enclose values**exponent."""
        return np.frompyfunc(lambda value: power(value, exponent, self.bits), 1, 1)(values)

    def log(self, values: Numbers) -> Numbers:
        """Enclose the logarithm of the values."""
        return np.frompyfunc(lambda value: log(value, self.bits), 1, 1)(values)

    def powers(self, alpha: Fraction) -> Numbers:
        """Enclose max_y sum_s P(s) l**alpha."""
        means = self.means(lambda v: self.power(v, alpha))
        return np.frompyfunc(larger, 2, 1).reduce(means, axis=1)

    def arimoto(self, alpha: Fraction) -> Numbers:
        """Enclose Arimoto's information of order alpha."""
        if self.u[0] == 1:  # it is 0, which no enclosure can tell from a little more
            return self.sibson(alpha)
        return super().arimoto(alpha)
