"""The trade-off curve with a release marked on it, and the mechanisms side by side."""

import math
from collections.abc import Sequence

from lowlift._rounding import percent_at_most
from lowlift._wording import percent
from lowlift.figures.page import Table
from lowlift.report.records import Point

_ROWS = 24


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
