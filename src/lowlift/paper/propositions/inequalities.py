"""The inequalities: as printed, and for the false ones corrected and where they hold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from lowlift._arrays import Floats
from lowlift.paper.propositions.enclosures import DOUBT, Number, exact_slack
from lowlift.paper.propositions.measures import Cases, Exact, Table

#: From measures to (smaller, larger), of many cases in floats and of one case exactly.
Formula: TypeAlias = Callable[[Any], tuple[Any, Any]]

ALPHAS = (Fraction(3, 2), Fraction(2), Fraction(10))
_HALF = Fraction(1, 2)
#: Counter-example: P_S = (.2, .8), lifts (.2, 1.2) and (1.2, .95).
RARE = ((8, 192), (192, 608))
#: P_S uniform, one lift of 3/13 and two of 18/13 per symbol; no 2 x n table breaks 1(2).
CYCLIC = ((1, 6, 6), (6, 1, 6), (6, 6, 1))
#: P_S = (.9, .1), lifts (.9, 1.9) for the first symbol.
LIKELY = ((81, 819), (19, 81))
_BELOW = (" where 1 − e^−εl ≤ e^εu − 1", lambda m: (1 - m.d, m.u - 1))
_ABOVE = (" where 1 − e^−εu ≤ e^εl − 1", lambda m: (1 - 1 / m.u, 1 / m.d - 1))
_FOR = f", α = {', '.join(f'{float(alpha):g}' for alpha in ALPHAS)}"


def slacks(formula: Formula, cases: Cases) -> Floats:
    """Return larger - smaller per case, with exact signs."""
    smaller, larger = formula(cases)
    slack: Floats = larger - smaller
    scale = np.maximum(1.0, np.maximum(np.abs(smaller), np.abs(larger)))
    for k in np.flatnonzero(slack <= DOUBT * scale).tolist():
        slack[k] = exact_slack(partial(exact_sides, formula, cases.exact(k)))
    return slack


def exact_sides(formula: Formula, case: Exact, bits: int) -> tuple[Number, Number]:
    """Return or enclose (smaller, larger) of a case."""
    case.bits = bits
    smaller, larger = formula(case)
    return smaller[0], larger[0]


def _orders(formula: Callable[[Fraction, Any], tuple[Any, Any]]) -> tuple[Formula, ...]:
    """Return the formula with each order alpha."""
    return tuple(partial(formula, alpha) for alpha in ALPHAS)


@dataclass(frozen=True)
class Inequality:
    """A statement with the formulas that must all hold, where it is claimed, and its example."""

    proposition: str
    form: str
    statement: str
    formulas: tuple[Formula, ...]
    where: Formula | None = None
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
    for form, bound, compared, limit in (
        ("printed", text, formula, None),
        ("corrected", *corrected, None),
        ("printed, where it holds", text + where[0], formula, where[1]),
    ):
        yield Inequality(number, form, f"{measure} ≤ {bound}", (compared,), limit, example)


def _true(number: str, statement: str, *formulas: Formula) -> Inequality:
    return Inequality(number, "printed", statement, formulas)


INEQUALITIES: tuple[Inequality, ...] = (
    _true("1(1)", "I(S;Y) ≤ εu", lambda m: (m.information, m.log(m.u))),
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
    _true(
        "1(3)",
        f"Sibson I_α(S;Y) ≤ α/(α − 1) εu{_FOR}",
        *_orders(lambda a, m: (m.sibson(a), m.log_of_order(a, m.u))),
    ),
    _true(
        "1(3)",
        f"Arimoto I_α(S;Y) ≤ α/(α − 1) εu{_FOR}",
        *_orders(lambda a, m: (m.arimoto(a), m.log_of_order(a, m.u))),
    ),
    _true("1(4)", "max Γ(y) ≤ e^(εl + εu)", lambda m: (m.gamma, m.u / m.d)),
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
    _true(
        "3(3)",
        f"max α-lift ≤ e^εu{_FOR}",
        *_orders(lambda a, m: (m.power(m.powers(a), 1 / a), m.u)),
    ),
    _true(
        "4(1)",
        "max Λ(y) ≤ ε/P(s) + 1 for ε = max l1-lift",
        lambda m: (m.u, m.l1 / m.p_at_max + 1),
    ),
    _true(
        "4(2)",
        "max Λ(y) ≤ √(ε/P(s)) + 1 for ε = max χ²-lift",
        lambda m: (m.u, m.power(m.chi2 / m.p_at_max, _HALF) + 1),
    ),
    _true(
        "4(3)",
        f"max Λ(y) ≤ ε/P(s)^(1/α) for ε = max α-lift{_FOR}",
        *_orders(lambda a, m: (m.u, m.power(m.powers(a) / m.p_at_max, 1 / a))),
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
    _true(
        "5(3)",
        f"max α-lift-inverse ≤ e^εl{_FOR}",
        *_orders(lambda a, m: (m.power(m.powers(-a), 1 / a), 1 / m.d)),
    ),
    _true(
        "6(1)",
        "min Ψ(y) ≥ P(s)/(ε + P(s)) for ε = max l1-lift-inverse",
        lambda m: (m.p_at_min / (m.l1_inverse + m.p_at_min), m.d),
    ),
    _true(
        "6(2)",
        "min Ψ(y) ≥ √P(s)/(√ε + √P(s)) for ε = max χ²-lift-inverse",
        lambda m: (1 / (1 + m.power(m.chi2_inverse / m.p_at_min, _HALF)), m.d),
    ),
    _true(
        "6(3)",
        f"min Ψ(y) ≥ P(s)^(1/α)/ε for ε = max α-lift-inverse{_FOR}",
        *_orders(lambda a, m: (m.power(m.p_at_min / m.powers(-a), 1 / a), m.d)),
    ),
    _true(
        "7",
        "if: Γ(y) ≤ Γ(X_H) for X_H randomised without regard to x",
        lambda m: (m.gamma_invariant, m.gamma_merged),
    ),
    _true(
        "7",
        "only if: Γ(X_H) ≤ max Γ(y) for any randomisation of X_H",
        lambda m: (m.gamma_merged, m.gamma_randomised),
    ),
    _true(
        "Theorem 1",
        "max Γ(y) of X_H randomised without regard to x ≤ that of any other",
        lambda m: (m.gamma_invariant, m.gamma_randomised),
    ),
)
