"""The trade-off curve with a release marked on it, and the mechanisms side by side."""

import math
from collections.abc import Sequence

import numpy as np

from lowlift.criteria import BuiltIn, Criterion
from lowlift.figures.page import Table
from lowlift.figures.panels import Curve, Panel
from lowlift.report.records import Point
from lowlift.rounding import percent_at_most
from lowlift.wording import percent

_ROWS = 24


def epsilon_of(criterion: Criterion) -> float:
    """Return the whole budget in nats: both sides of a criterion that has two.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, LIP, MaxLift
    >>> epsilon_of(ALIP(0.5, 1.0)), epsilon_of(LIP(0.5)), epsilon_of(MaxLift(2.0))
    (1.5, 0.5, 2.0)
    """
    if isinstance(criterion, BuiltIn) and "epsilon" in criterion.parameters():
        return criterion.parameters()["epsilon"]
    return math.fsum(side for side in (criterion.lower, criterion.upper) if side < math.inf)


def split_of(criterion: Criterion) -> float:
    """Return the lower side's share of `epsilon_of`; NaN for a criterion of one budget.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, LIP
    >>> split_of(ALIP(0.5, 1.5)), split_of(LIP(0.5))
    (0.25, nan)
    """
    if isinstance(criterion, BuiltIn) and "epsilon" in criterion.parameters():
        return math.nan
    sides = criterion.lower, criterion.upper
    if math.inf in sides:
        return math.nan
    return sides[0] / sum(sides) if sum(sides) else 0.5


def _series(points: Sequence[Point]) -> dict[str, list[Point]]:
    """Return the points by their label in the legend, by rising budget."""
    splits = {point.split for point in points if not math.isnan(point.split)}
    found: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda point: point.epsilon):
        is_plain = len(splits) < 2 or math.isnan(point.split)
        label = point.mechanism if is_plain else f"{point.mechanism}, split {point.split:g}"
        found.setdefault(label, []).append(point)
    order = dict.fromkeys(point.mechanism for point in points)
    names = list(order)
    return dict(sorted(found.items(), key=lambda item: names.index(item[1][0].mechanism)))


def curve_panels(points: Sequence[Point], mark: Point | None) -> list[Panel]:
    """Return utility and leakages over the budget, one curve per mechanism."""
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


def side_by_side(points: Sequence[Point], mark: Point | None) -> Table:
    """Return the mechanisms at the release's budget, or at every budget without a release."""
    rows: list[tuple[str, ...]] = []
    some = list(points)
    caption = "The releases on the curve; leakages in nats."
    if mark is not None:
        rows.append(_row(mark, f"{mark.mechanism or 'given channel'} (this release)"))
        some = _nearest(points, mark.epsilon)
        caption = (
            "The mechanisms side by side at this budget, or the nearest one; leakages in nats."
        )
    some.sort(key=lambda point: (point.epsilon, -point.nmi))
    rows += [_row(point, point.mechanism) for point in some]
    head: tuple[str, ...] = (
        *("mechanism", "budget ε", "information kept", "proven at most"),
        *("leakage above", "leakage below", "bound holds"),
    )
    if any(row[3] for row in rows):
        caption += " Proven: what no mechanism exceeds, for optimal-merging no merging of values."
    else:
        head, *rows = [(*row[:3], *row[4:]) for row in (head, *rows)]
    numeric = tuple(range(1, len(head) - 1))
    return Table(caption, head, tuple(rows[:_ROWS]), numeric, max(0, len(rows) - _ROWS))


def _nearest(points: Sequence[Point], epsilon: float) -> list[Point]:
    """Return, per mechanism and split, the point whose budget is closest."""
    found: dict[tuple[str, str], Point] = {}
    for point in points:
        key = point.mechanism, str(point.split)
        old = found.get(key)
        if old is None or abs(point.epsilon - epsilon) < abs(old.epsilon - epsilon):
            found[key] = point
    return list(found.values())


def _row(point: Point, name: str) -> tuple[str, ...]:
    proven = "" if math.isnan(point.upper_bound) else percent_at_most(point.upper_bound)
    leakages = point.max_lift_leakage, point.min_lift_leakage
    return (
        *(name, f"{point.epsilon:g}", percent(min(1.0, point.nmi)), proven),
        *("∞" if math.isinf(value) else f"{value:.3f}" for value in leakages),
        "yes" if point.is_satisfied else "no",
    )
