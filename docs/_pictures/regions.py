"""The region of every criterion on the triangle, at three budgets."""

import math
from collections.abc import Sequence

import numpy as np

import lowlift as ll
from _pictures.clinic import DISEASES, clinic
from _pictures.drawing import box, dot, line, picture, words
from _pictures.triangle import Triangle
from lowlift.criteria import Criterion

BUDGETS = (1.0, 0.5, 0.25)
SHADES = (0.10, 0.20, 0.34)


def nested(panels: Sequence[tuple[str, Sequence[tuple[str, Criterion]]]], title: str) -> str:
    """Draw panels side by side; each has criteria from the loosest to the tightest."""
    p_s = clinic().p_s
    parts = []
    for k, (name, criteria) in enumerate(panels):
        triangle = Triangle(125 + k * 250, 235, 215, DISEASES)
        parts += [words((triangle.x, 18), name, bold=True, size=13)] if name else []
        parts += [
            triangle.region(criterion, p_s, shade)
            for (_, criterion), shade in zip(criteria, SHADES, strict=True)
        ]
        parts += [triangle.frame(12), triangle.prior(p_s)]
        for j, (label, _) in enumerate(criteria):
            x = triangle.x - 104 + j * 72
            # Nested regions add their shades up.
            parts += [
                box(
                    (x, 263), (12, 12), "region-ink", 1 - math.prod(1 - s for s in SHADES[: j + 1])
                ),
                words((x + 17, 273), label, anchor="start", size=12),
            ]
    return picture(250 * len(panels), 285, title, parts)


def _by_budget(
    name: str, make: type | object, *values: object
) -> tuple[str, list[tuple[str, Criterion]]]:
    return name, [(f"{b:g}", make(*(b if v is None else v for v in values))) for b in BUDGETS]  # type: ignore[operator]


def boxes() -> str:
    """Draw LIP, ALIP with two splits, and max-lift alone."""
    return nested(
        [
            _by_budget("LIP(ε)", ll.LIP, None),
            (
                "ALIP(λε, (1−λ)ε), λ = 0.65",
                [(f"{2 * b:g}", ll.ALIP.split(2 * b, 0.65)) for b in BUDGETS],
            ),
            _by_budget("MaxLift(ε)", ll.MaxLift, None),
        ],
        "Regions of LIP, ALIP and max-lift",
    )


def ldp() -> str:
    """Draw LDP, and the LIP that implies it."""
    return nested(
        [
            ("LDP(ε)", [(f"{2 * b:g}", ll.LDP(2 * b)) for b in BUDGETS]),
            ("LIP(ε/2), which implies it", [(f"{2 * b:g}", ll.LIP(b)) for b in BUDGETS]),
        ],
        "Regions of LDP",
    )


def every_prior() -> str:
    """Draw the bound for every prior: for all readers, and for fewer and fewer of them."""
    return nested(
        [
            _by_budget("c = 0, which is LDP(ε)", ll.EveryPrior, 0.0, None, None),
            _by_budget("c = 0.1", ll.EveryPrior, 0.1, None, None),
            _by_budget("c = 0.2", ll.EveryPrior, 0.2, None, None),
        ],
        "Regions of the bound for every prior",
    )


def l1() -> str:
    """Draw the l1-lift, its inverse, and both."""
    return _sides(ll.L1Lift, "ℓ₁", "Regions of the l1-lift")


def chi2() -> str:
    """Draw the chi2-lift, its inverse, and both."""
    return _sides(ll.Chi2Lift, "χ²", "Regions of the chi2-lift")


def _sides(make: type, name: str, title: str) -> str:
    return nested(
        [
            _by_budget(f"{name}-lift: upper = ε", make, math.inf, None),
            _by_budget(f"{name}-lift-inverse: lower = ε", make, None, math.inf),
            _by_budget("both", make, None, None),
        ],
        title,
    )


def alpha() -> str:
    """Draw the alpha-lift with both sides at three orders."""
    return nested(
        [_by_budget(f"α = {order}", ll.AlphaLift, order, None, None) for order in (2, 10, 100)],
        "Regions of the alpha-lift with both sides",
    )


def alpha_sides() -> str:
    """Draw the two sides of the alpha-lift apart."""
    return nested(
        [
            _by_budget("α = 2: upper = ε", ll.AlphaLift, 2, math.inf, None),
            _by_budget("α = 2: lower = ε", ll.AlphaLift, 2, None, math.inf),
        ],
        "Regions of the alpha-lift, side by side",
    )


def not_convex() -> str:
    """Draw two allowed outputs of the l1-lift-inverse whose mixture is not allowed."""
    p_s = np.array([0.166, 0.622, 0.212])
    one, two, share = np.array([0.952, 0.678, 1.984]), np.array([2.282, 0.66, 0.992]), 0.52
    budget = math.log(1 + 0.4155)  # the measure may be at most e^budget - 1
    criterion = ll.L1Lift(budget, math.inf)
    # Lifts have the mean 1; the printed digits are rounded.
    beliefs = [p_s * lifts / (p_s @ lifts) for lifts in (one, two)]
    mixed = share * beliefs[0] + (1 - share) * beliefs[1]
    triangle = Triangle(250, 390, 420, ("s₁", "s₂", "s₃"))
    a, b, m = (triangle.place(v) for v in (*beliefs, mixed))
    parts = [
        triangle.region(criterion, p_s, 0.2),
        triangle.frame(14),
        triangle.prior(p_s),
        line(a, b, "line", 1, "3 3"),
        dot(a, 5, "region", label="allowed"),
        dot(b, 5, "region", label="allowed"),
        dot(m, 5, "atom", label="their mixture: not allowed"),
        words((m[0], m[1] + 20), "their mixture", "atom-ink", size=12),
    ]
    return picture(500, 415, "A region that is not convex", parts)
