"""Curves of a sweep: what is kept and what leaks, over the budget."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lowlift.figures.panels import Curve, Panel

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift._certificates import Certificate


@dataclass(frozen=True)
class Point:
    """One release of a sweep."""

    mechanism: str
    criterion: str
    #: The lower side's share of epsilon; NaN for a criterion of one budget.
    split: float
    epsilon: float
    nmi: float
    upper_bound: float
    min_lift_leakage: float
    max_lift_leakage: float
    is_satisfied: bool
    seconds: float
    #: Whether the search was stopped before it ended by itself.
    is_stopped: bool = False

    @classmethod
    def of(
        cls,
        mechanism: str,
        audit: "Audit",
        certificate: "Certificate | None",
        *,
        split: float,
        epsilon: float,
        seconds: float = math.nan,
    ) -> "Point":
        """Return a release as a point: what it was asked for, its audit and what is proven."""
        return cls(
            mechanism,
            str(audit.criterion),
            split,
            epsilon,
            audit.nmi,
            certificate.upper_bound if certificate else math.nan,
            audit.min_lift_leakage,
            audit.max_lift_leakage,
            audit.is_satisfied,
            seconds,
            certificate is not None and certificate.is_stopped,
        )


def _series(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Return the points by their label in the legend, by rising budget."""
    splits = {point.split for point in points if not math.isnan(point.split)}
    found: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda point: point.epsilon):
        is_plain = len(splits) < 2 or math.isnan(point.split)
        label = point.mechanism if is_plain else f"{point.mechanism}, split {point.split:g}"
        found.setdefault(label, []).append(point)
    names = [point.mechanism for point in points]
    return dict(sorted(found.items(), key=lambda item: names.index(item[1][0].mechanism)))


def curve_panels(points: Sequence[Point], mark: Point | None = None) -> list[Panel]:
    """Return utility and leakages over the budget, one curve per mechanism and split."""
    panels = []
    for quantity, title, words in (
        ("nmi", "Information kept (NMI)", "NMI, I(X;Y)/H(X)"),
        ("max_lift_leakage", "Leakage above: log of the largest lift", "nats"),
        ("min_lift_leakage", "Leakage below: −log of the smallest lift", "nats"),
    ):
        curves = []
        for k, (label, some) in enumerate(_series(points).items()):
            x = np.array([point.epsilon for point in some])
            y = np.array([getattr(point, quantity) for point in some])
            curves.append(Curve(label, x, y, colour=(1, 3, 2, 4, 5, 6, 0)[k % 7]))
        if mark is not None:
            here = np.array([mark.epsilon])
            value = np.array([getattr(mark, quantity)])
            curves.append(Curve("this release", here, value, "marker", 0))
            if quantity == "nmi" and math.isfinite(mark.upper_bound):
                bound = np.array([mark.upper_bound])
                curves.append(Curve("proven bound", here, bound, "tick", 0))
        panels.append(Panel(title, "budget ε (nats)", words, tuple(curves)))
    return panels
