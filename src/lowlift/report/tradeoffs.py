"""The trade-off curve with a release marked on it, and the mechanisms side by side."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lowlift._rounding import at_most, percent_at_most
from lowlift._wording import percent
from lowlift.criteria.protocol import epsilon_of, split_of
from lowlift.figures.page import Table
from lowlift.report.records import Point

if TYPE_CHECKING:
    from lowlift.report.report import Report

_ROWS = 24
#: A limit that is said by a factor, as people ask for it.
_FACTOR = re.compile(r"(?<!\w)LIP\(epsilon=")


def mark_of(report: "Report") -> Point | None:
    """Return the release of a report as a point of the curve; None without one."""
    if report.published is None:
        return None
    criterion = report.published.criterion
    sides = {"split": split_of(criterion), "epsilon": epsilon_of(criterion)}
    # A bound on merging alone is not drawn: the curve has other mechanisms too.
    proven = report.certificate if report.upper_bound is not None else None
    found = Point.of(report.mechanism, report.published, proven, **sides)
    return replace(found, is_satisfied=report.is_satisfied)


def side_by_side(points: Sequence[Point], mark: Point | None) -> Table:
    """Return the mechanisms at the release's budget, or at every budget without a release."""
    rows: list[tuple[str, ...]] = []
    some = list(points)
    caption = "The releases on the curve, each judged by the limit of its budget; leakages in nats."
    if mark is not None:
        rows.append(_row(mark, f"{mark.mechanism or 'given channel'} (this release)"))
        some = _nearest(points, mark.epsilon)
        caption = (
            "The mechanisms side by side at this budget, or the nearest one, each judged by the "
            "limit of its budget; leakages in nats."
        )
    some.sort(key=lambda point: (point.epsilon, -point.nmi))
    rows += [_row(point, point.mechanism) for point in some]
    head: tuple[str, ...] = (
        *("mechanism", "at most", "budget ε", "information kept", "proven at most"),
        *("leakage above", "leakage below", "limit is kept"),
    )
    if any(row[4] for row in rows):
        caption += (
            " Proven at most: no mechanism keeps more; for optimal-merging, no merging of values "
            "does."
        )
    else:
        head, *rows = [(*row[:4], *row[5:]) for row in (head, *rows)]
    if not any(row[1] for row in rows):
        head, *rows = [(row[0], *row[2:]) for row in (head, *rows)]
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
    factor = f"{at_most(point.epsilon)} times" if _FACTOR.search(point.criterion) else ""
    return (
        *(name, factor, f"{point.epsilon:g}", percent(min(1.0, point.nmi)), proven),
        *("∞" if math.isinf(value) else f"{value:.3f}" for value in leakages),
        "yes" if point.is_satisfied else "no",
    )
