"""The table of inequalities: as printed, and for the false ones corrected and where they hold."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lowlift.paper.propositions.enclosures import log
from lowlift.paper.propositions.known import CYCLIC, LIKELY, RARE
from lowlift.paper.propositions.measures import Table
from lowlift.paper.propositions.parts import (
    ALPHAS,
    Formula,
    Part,
    informations,
    max_from_chi2,
    max_from_norm,
    min_from_chi2,
    min_from_norm,
    norms,
    rational,
)

__all__ = ["INEQUALITIES", "Inequality"]

_BELOW = (" where 1 − e^−εl ≤ e^εu − 1", lambda m: (1 - m.d, m.u - 1))
_ABOVE = (" where 1 − e^−εu ≤ e^εl − 1", lambda m: (1 - 1 / m.u, 1 / m.d - 1))
_FOR = f", α = {', '.join(f'{float(alpha):g}' for alpha in ALPHAS)}"


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
