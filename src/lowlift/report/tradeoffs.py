"""The trade-off curve with a release marked on it, and the mechanisms side by side."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from lowlift.criteria.protocol import epsilon_of, split_of
from lowlift.figures.tradeoffs import curve_panels
from lowlift.report.records import Point, Table
from lowlift.report.wording import percent
from lowlift.rounding import percent_at_most

__all__ = ["Mark", "curve_panels", "epsilon_of", "side_by_side", "split_of"]

_ROWS = 24


class Mark(NamedTuple):
    """A release on the curve."""

    name: str
    epsilon: float
    nmi: float
    #: What is proven that no mechanism exceeds; NaN when nothing is.
    upper_bound: float
    min_lift_leakage: float
    max_lift_leakage: float
    holds: bool


def side_by_side(points: Sequence[Point], mark: Mark | None) -> Table:
    """Return the mechanisms at the release's budget, or at every budget without a release."""
    rows: list[tuple[str, ...]] = []
    some = list(points)
    if mark is not None:
        name = f"{mark.name or 'given channel'} (this release)"
        leaks = mark.max_lift_leakage, mark.min_lift_leakage
        word = "yes" if mark.holds else "no"
        rows.append((name, f"{mark.epsilon:g}", *_cells(mark.nmi, mark.upper_bound, *leaks), word))
        some = _nearest(points, mark.epsilon)
    order = sorted(some, key=lambda point: (point.epsilon, -point.nmi))
    for point in order:
        leaks = point.max_lift_leakage, point.min_lift_leakage
        cells = _cells(point.nmi, point.upper_bound, *leaks)
        word = "yes" if point.is_satisfied else "no"
        rows.append((point.mechanism, f"{point.epsilon:g}", *cells, word))
    names = ("mechanism", "budget ε", "information kept", "proven at most")
    head: tuple[str, ...] = (*names, "leakage above", "leakage below", "bound holds")
    caption = (
        "The mechanisms side by side at this budget, or the nearest one; leakages in nats."
        if mark is not None
        else "The releases on the curve; leakages in nats."
    )
    if any(row[3] for row in rows):
        caption += " Proven: what no mechanism exceeds, for optimal-merging no merging of values."
    else:
        head, rows = _without(head, 3), [_without(row, 3) for row in rows]
    numeric = tuple(range(1, len(head) - 1))
    return Table(caption, head, tuple(rows[:_ROWS]), numeric, max(0, len(rows) - _ROWS))


def _without(cells: tuple[str, ...], place: int) -> tuple[str, ...]:
    return cells[:place] + cells[place + 1 :]


def _nearest(points: Sequence[Point], epsilon: float) -> list[Point]:
    """Return, per mechanism and split, the point whose budget is closest."""
    found: dict[tuple[str, str], Point] = {}
    for point in points:
        key = point.mechanism, str(point.split)
        old = found.get(key)
        if old is None or abs(point.epsilon - epsilon) < abs(old.epsilon - epsilon):
            found[key] = point
    return list(found.values())


def _cells(nmi: float, bound: float, above: float, below: float) -> tuple[str, ...]:
    proven = "" if math.isnan(bound) else percent_at_most(bound)
    leaks = ("∞" if math.isinf(value) else f"{value:.3f}" for value in (above, below))
    return percent(min(1.0, nmi)), proven, *leaks
