"""The comparisons that inequalities are made of, each in floats and exactly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from lowlift.paper.propositions.enclosures import DOUBT, Ends, exact_slack, power, root, scaled_log
from lowlift.paper.propositions.measures import Cases, Exact, Floats

__all__ = [
    "ALPHAS",
    "Formula",
    "Part",
    "informations",
    "max_from_chi2",
    "max_from_norm",
    "min_from_chi2",
    "min_from_norm",
    "norms",
    "rational",
]

#: From measures to (smaller, larger), in floats or rationals alike.
Formula: TypeAlias = Callable[[Any], tuple[Any, Any]]

ALPHAS = (Fraction(3, 2), Fraction(2), Fraction(10))


@dataclass(frozen=True)
class Part:
    """A comparison: (smaller, larger) of many cases in floats, and of one case exactly."""

    floats: Callable[[Any], tuple[Floats, Floats]]
    exact: Callable[[Any, int], tuple[Ends, Ends]]

    def slacks(self, cases: Cases) -> Floats:
        """Return larger - smaller per case, with exact signs."""
        smaller, larger = self.floats(cases)
        slack = larger - smaller
        scale = np.maximum(1.0, np.maximum(np.abs(smaller), np.abs(larger)))
        for k in np.flatnonzero(slack <= DOUBT * scale).tolist():
            slack[k] = exact_slack(partial(self.exact, cases.exact(k)))
        return slack


def rational(formula: Formula) -> Part:
    """Return the part whose sides are rational in the lifts: one formula for floats and exactly."""

    def exact(case: Any, bits: int) -> tuple[Ends, Ends]:  # noqa: ARG001 (rationals need none)
        smaller, larger = formula(case)
        return (smaller, smaller), (larger, larger)

    return Part(formula, exact)


def informations(name: str) -> Iterator[Part]:
    """Yield Sibson's or Arimoto's information against alpha / (alpha - 1) log u."""

    def part(alpha: Fraction, order: float) -> Part:
        return Part(
            lambda m: (getattr(m, name)(order), order / (order - 1) * np.log(m.u)),
            lambda case, bits: (
                getattr(case, name)(alpha, bits),
                scaled_log(alpha, (case.u, case.u), bits),
            ),
        )

    return (part(alpha, float(alpha)) for alpha in ALPHAS)


def norms(side: int) -> Iterator[Part]:
    """Yield max_y of the alpha-lift (side 1) or its inverse (-1) against the largest l**side."""

    def part(alpha: Fraction, order: float) -> Part:
        return Part(
            lambda m: (m.powers(side * order) ** (1 / order), m.u if side > 0 else 1 / m.d),
            lambda case, bits: (
                root(_largest(case.powers(side * alpha, bits)), alpha, bits),
                power(case.u if side > 0 else case.d, Fraction(side), bits),
            ),
        )

    return (part(alpha, float(alpha)) for alpha in ALPHAS)


def max_from_norm(alpha: Fraction) -> Part:
    """Return u against the alpha-lift over P(s)**(1/alpha)."""
    order = float(alpha)
    return Part(
        lambda m: (m.u, (m.powers(order) / m.p_at_max) ** (1 / order)),
        lambda case, bits: (
            (case.u, case.u),
            root(_largest(case.powers(alpha, bits), case.p_at_max), alpha, bits),
        ),
    )


def min_from_norm(alpha: Fraction) -> Part:
    """Return P(s)**(1/alpha) over the alpha-lift-inverse against d."""
    order = float(alpha)

    def exact(case: Exact, bits: int) -> tuple[Ends, Ends]:
        inverse = root(_largest(case.powers(-alpha, bits), case.p_at_min), alpha, bits)
        return (1 / inverse[1], 1 / inverse[0]), (case.d, case.d)

    return Part(lambda m: ((m.p_at_min / m.powers(-order)) ** (1 / order), m.d), exact)


def max_from_chi2() -> Part:
    """Return u against 1 + sqrt(chi2-lift / P(s))."""

    def exact(case: Exact, bits: int) -> tuple[Ends, Ends]:
        square = case.chi2 / case.p_at_max
        low, high = root((square, square), Fraction(2), bits)
        return (case.u, case.u), (1 + low, 1 + high)

    return Part(lambda m: (m.u, np.sqrt(m.chi2 / m.p_at_max) + 1), exact)


def min_from_chi2() -> Part:
    """Return 1 / (1 + sqrt(chi2-lift-inverse / P(s))) against d."""

    def exact(case: Exact, bits: int) -> tuple[Ends, Ends]:
        square = case.chi2_inverse / case.p_at_min
        low, high = root((square, square), Fraction(2), bits)
        return (1 / (1 + high), 1 / (1 + low)), (case.d, case.d)

    return Part(lambda m: (1 / (1 + np.sqrt(m.chi2_inverse / m.p_at_min)), m.d), exact)


def _largest(parts: Sequence[Ends], divisor: Fraction = Fraction(1)) -> Ends:
    return max(lo for lo, _ in parts) / divisor, max(hi for _, hi in parts) / divisor
