"""The inequalities: as printed, and for the false ones corrected and where they hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from lowlift.arrays import Floats
from lowlift.paper.propositions.enclosures import (
    DOUBT,
    Ends,
    exact_slack,
    log,
    power,
    root,
    scaled_log,
)
from lowlift.paper.propositions.measures import Cases, Exact, Table

#: From measures to (smaller, larger), in floats or rationals alike.
Formula: TypeAlias = Callable[[Any], tuple[Any, Any]]

ALPHAS = (Fraction(3, 2), Fraction(2), Fraction(10))
#: Counter-example: P_S = (.2, .8), lifts (.2, 1.2) and (1.2, .95).
RARE = ((8, 192), (192, 608))
#: P_S uniform, one lift of 3/13 and two of 18/13 per symbol; no 2 x n table breaks 1(2).
CYCLIC = ((1, 6, 6), (6, 1, 6), (6, 6, 1))
#: P_S = (.9, .1), lifts (.9, 1.9) for the first symbol.
LIKELY = ((81, 819), (19, 81))
_BELOW = (" where 1 − e^−εl ≤ e^εu − 1", lambda m: (1 - m.d, m.u - 1))
_ABOVE = (" where 1 − e^−εu ≤ e^εl − 1", lambda m: (1 - 1 / m.u, 1 / m.d - 1))
_FOR = f", α = {', '.join(f'{float(alpha):g}' for alpha in ALPHAS)}"


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


@dataclass(frozen=True)
class Inequality:
    """A statement with the parts that must all hold, where it is claimed, and its known example."""

    proposition: str
    form: str
    statement: str
    parts: tuple[Part, ...]
    where: Part | None = None
    example: Table | None = None


def _false(
    number: str,
    measure: str,
    printed: tuple[str, Formula],
    corrected: tuple[str, Formula],
    where: tuple[str, Formula],
    example: Table,
) -> Iterator[Inequality]:
    """Yield the three forms of an inequality that is false as printed."""
    text, formula = printed
    part, condition = rational(formula), rational(where[1])
    for form, bound, side, limit in (
        ("printed", text, part, None),
        ("corrected", corrected[0], rational(corrected[1]), None),
        ("printed, where it holds", text + where[0], part, condition),
    ):
        yield Inequality(number, form, f"{measure} ≤ {bound}", (side,), limit, example)


def _true(number: str, statement: str, *parts: Part) -> Inequality:
    return Inequality(number, "printed", statement, parts)


INEQUALITIES: tuple[Inequality, ...] = (
    _true(
        "1(1)",
        "I(S;Y) ≤ εu",
        Part(
            lambda m: (m.information, np.log(m.u)),
            lambda case, bits: (case.information(bits), log(case.u, bits)),
        ),
    ),
    *_false(
        "1(2)",
        "T(S;Y)",
        ("(e^εu − 1)/2", lambda m: (m.total_variation, (m.u - 1) / 2)),
        ("(e^εu − 1)(1 − e^−εl)/(e^εu − e^−εl)", lambda m: (m.total_variation, m.chord)),
        _BELOW,
        CYCLIC,
    ),
    *_false(
        "1(2)",
        "χ²(S;Y)",
        ("(e^εu − 1)²", lambda m: (m.chi2_divergence, (m.u - 1) ** 2)),
        ("(e^εu − 1)(1 − e^−εl)", lambda m: (m.chi2_divergence, (m.u - 1) * (1 - m.d))),
        _BELOW,
        CYCLIC,
    ),
    _true("1(3)", f"Sibson I_α(S;Y) ≤ α/(α − 1) εu{_FOR}", *informations("sibson")),
    _true("1(3)", f"Arimoto I_α(S;Y) ≤ α/(α − 1) εu{_FOR}", *informations("arimoto")),
    _true("1(4)", "max Γ(y) ≤ e^(εl + εu)", rational(lambda m: (m.gamma, m.u / m.d))),
    *_false(
        "3(1)",
        "max l1-lift",
        ("e^εu − 1", lambda m: (m.l1, m.u - 1)),
        ("2(e^εu − 1)(1 − e^−εl)/(e^εu − e^−εl)", lambda m: (m.l1, 2 * m.chord)),
        _BELOW,
        RARE,
    ),
    *_false(
        "3(2)",
        "max χ²-lift",
        ("(e^εu − 1)²", lambda m: (m.chi2, (m.u - 1) ** 2)),
        ("(e^εu − 1)(1 − e^−εl)", lambda m: (m.chi2, (m.u - 1) * (1 - m.d))),
        _BELOW,
        RARE,
    ),
    _true("3(3)", f"max α-lift ≤ e^εu{_FOR}", *norms(1)),
    _true(
        "4(1)",
        "max Λ(y) ≤ ε/P(s) + 1 for ε = max l1-lift",
        rational(lambda m: (m.u, m.l1 / m.p_at_max + 1)),
    ),
    _true("4(2)", "max Λ(y) ≤ √(ε/P(s)) + 1 for ε = max χ²-lift", max_from_chi2()),
    _true(
        "4(3)",
        f"max Λ(y) ≤ ε/P(s)^(1/α) for ε = max α-lift{_FOR}",
        *map(max_from_norm, ALPHAS),
    ),
    *_false(
        "5(1)",
        "max l1-lift-inverse",
        ("e^εl − 1", lambda m: (m.l1_inverse, 1 / m.d - 1)),
        ("max(e^εl − 1, 1 − e^−εu)", lambda m: (m.l1_inverse, m.farthest)),
        _ABOVE,
        LIKELY,
    ),
    *_false(
        "5(2)",
        "max χ²-lift-inverse",
        ("(e^εl − 1)²", lambda m: (m.chi2_inverse, (1 / m.d - 1) ** 2)),
        ("max(e^εl − 1, 1 − e^−εu)²", lambda m: (m.chi2_inverse, m.farthest**2)),
        _ABOVE,
        LIKELY,
    ),
    _true("5(3)", f"max α-lift-inverse ≤ e^εl{_FOR}", *norms(-1)),
    _true(
        "6(1)",
        "min Ψ(y) ≥ P(s)/(ε + P(s)) for ε = max l1-lift-inverse",
        rational(lambda m: (m.p_at_min / (m.l1_inverse + m.p_at_min), m.d)),
    ),
    _true(
        "6(2)",
        "min Ψ(y) ≥ √P(s)/(√ε + √P(s)) for ε = max χ²-lift-inverse",
        min_from_chi2(),
    ),
    _true(
        "6(3)",
        f"min Ψ(y) ≥ P(s)^(1/α)/ε for ε = max α-lift-inverse{_FOR}",
        *map(min_from_norm, ALPHAS),
    ),
    _true(
        "7",
        "if: Γ(y) ≤ Γ(X_H) for X_H randomised without regard to x",
        rational(lambda m: (m.gamma_invariant, m.gamma_merged)),
    ),
    _true(
        "7",
        "only if: Γ(X_H) ≤ max Γ(y) for any randomisation of X_H",
        rational(lambda m: (m.gamma_merged, m.gamma_randomised)),
    ),
    _true(
        "Theorem 1",
        "max Γ(y) of X_H randomised without regard to x ≤ that of any other",
        rational(lambda m: (m.gamma_invariant, m.gamma_randomised)),
    ),
)
