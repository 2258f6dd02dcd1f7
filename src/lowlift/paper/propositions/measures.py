"""The measures of a case: in floats for many cases at once, in rationals for one."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from lowlift.arrays import Bools, Ints
from lowlift.paper.propositions.enclosures import (
    Ends,
    log,
    power,
    root,
    scaled_log,
    sum_of,
    weighted,
)

Table: TypeAlias = Sequence[Sequence[int]]
#: Floats, or objects that are fractions.
Numbers: TypeAlias = Any


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
    one
        The number 1 of the arithmetic: a float, or a fraction for exact measures.
    """

    def __init__(
        self, counts: Ints, weights: Ints, high: Bools, one: float | Fraction = 1.0
    ) -> None:
        self.counts, self.weights, self.high, self._one = counts, weights, high, one
        self._exact: dict[int, Exact] = {}
        self.masses = self._numbers(counts @ weights)
        self.rows = self.masses.sum(axis=2)
        totals, outputs = self.rows.sum(axis=1), self.masses.sum(axis=1)
        self.p_s, self.p_y = self.rows / totals[:, None], outputs / totals[:, None]
        self.lift = self._ratio(
            self.masses * totals[:, None, None], self.rows[:, :, None] * outputs[:, None], one
        )
        self.u, self.d = self.lift.max(axis=(1, 2)), self.lift.min(axis=(1, 2))

    def __len__(self) -> int:
        return len(self.counts)

    def _numbers(self, whole: Ints) -> Numbers:
        kind = float if isinstance(self._one, float) else object
        return whole.astype(kind) * self._one

    def _ratio(self, above: Numbers, below: Numbers, otherwise: float | Fraction) -> Numbers:
        """Divide; where nothing is below, return `otherwise`."""
        found = np.full(above.shape, otherwise)
        return np.divide(above, below, out=found, where=below > 0)

    def exact(self, k: int) -> "Exact":
        """Return case k in rationals."""
        if k not in self._exact:
            weights = self.weights[k][:, (self.counts[k] @ self.weights[k]).any(axis=0)]
            counts, high = self.counts[k : k + 1], self.high[k : k + 1]
            self._exact[k] = Exact(Cases(counts, weights[None], high, Fraction(1)))
        return self._exact[k]

    def _means(self, function: Callable[[Any], Any], p_s: Numbers = None) -> Numbers:
        """Return sum_s P(s) f(l(s, y)) per output."""
        weights = self.p_s if p_s is None else p_s
        return (weights[:, :, None] * function(self.lift)).sum(axis=1)

    def _average(self, values: Numbers) -> Numbers:
        """Return sum_y P(y) values."""
        return (self.p_y * values).sum(axis=1)

    @cached_property
    def total_variation(self) -> Numbers:
        """T(S;Y)."""
        return self._average(self._means(lambda v: abs(v - 1))) / 2

    @cached_property
    def chi2_divergence(self) -> Numbers:
        """The chi2 information of S and Y."""
        return self._average(self._means(lambda v: (v - 1) ** 2))

    @cached_property
    def l1(self) -> Numbers:
        """The l1-lift."""
        return self._means(lambda v: abs(v - 1)).max(axis=1)

    @cached_property
    def chi2(self) -> Numbers:
        """The chi2-lift."""
        return self._means(lambda v: (v - 1) ** 2).max(axis=1)

    @cached_property
    def l1_inverse(self) -> Numbers:
        """The l1-lift-inverse."""
        return self._means(lambda v: abs(1 / v - 1)).max(axis=1)

    @cached_property
    def chi2_inverse(self) -> Numbers:
        """The chi2-lift-inverse."""
        return self._means(lambda v: (1 / v - 1) ** 2).max(axis=1)

    @cached_property
    def chord(self) -> Numbers:
        """(u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
        return self._ratio((self.u - 1) * (1 - self.d), self.u - self.d, 0 * self._one)

    @cached_property
    def farthest(self) -> Numbers:
        """The largest deviation of 1/l from 1 that d <= l <= u leaves."""
        return np.maximum(1 / self.d - 1, 1 - 1 / self.u)

    @cached_property
    def information(self) -> Numbers:
        """I(S;Y) in nats."""
        return self._average(self._means(lambda v: v * np.log(v)))

    def powers(self, alpha: float) -> Numbers:
        """Return max_y sum_s P(s) l**alpha."""
        return self._means(lambda v: v**alpha).max(axis=1)

    def sibson(self, alpha: float, p_s: Numbers = None) -> Numbers:
        """Return Sibson's information of order alpha, in nats, under the prior or another one."""
        norms = self._means(lambda v: v**alpha, p_s) ** (1 / alpha)
        return alpha / (alpha - 1) * np.log(self._average(norms))

    def arimoto(self, alpha: float) -> Numbers:
        """Return Arimoto's information of order alpha: Sibson's form under the tilted prior."""
        return self.sibson(alpha, self.p_s**alpha / (self.p_s**alpha).sum(axis=1, keepdims=True))

    # Where nearly equal lifts compete in floats, the largest P(s) is the hardest case.

    @property
    def _tolerance(self) -> float:
        return 1e-12 if isinstance(self._one, float) else 0

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
        rates = masses / self.rows[:, :, None]
        return self._ratio(rates.max(axis=1), rates.min(axis=1), self._one).max(axis=1)

    @cached_property
    def gamma(self) -> Numbers:
        """The largest Gamma(y)."""
        return self._largest_gamma(self.masses)

    @cached_property
    def _high_counts(self) -> Numbers:
        return self._numbers(self.counts * self.high[:, None])

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


class Exact:
    """One case in rationals: the measures of `Cases` by the same names, or enclosures of them."""

    def __init__(self, case: Cases) -> None:
        self._case = case
        #: The lifts of each output.
        self.lifts: list[list[Fraction]] = case.lift[0].T.tolist()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._case, name)[0]

    def information(self, bits: int) -> Ends:
        """Enclose I(S;Y)."""
        return weighted(
            [p_y * p_s * v for p_y, row in self._rows() for p_s, v in row],
            [log(v, bits) for _, row in self._rows() for _, v in row],
        )

    def _rows(self) -> list[tuple[Fraction, list[tuple[Fraction, Fraction]]]]:
        """Return per output P(y) and, for each s, P(s) and the lift."""
        rows = (list(zip(self.p_s, lifts, strict=True)) for lifts in self.lifts)
        return list(zip(self.p_y, rows, strict=True))

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
            root(sum_of(power(p * v, alpha, bits) for p, v in row), alpha, bits)
            for _, row in self._rows()
        ]
        prior = root(sum_of(power(p, alpha, bits) for p in self.p_s), alpha, bits)
        low, high = weighted(self.p_y, norms)
        return scaled_log(alpha, (low / prior[1], high / prior[0]), bits)
