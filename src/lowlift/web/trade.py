"""The trade-off as a chart whose points are links, and what to do about an answer that is poor."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from lowlift.criteria import Criterion
from lowlift.report.outcome import CANNOT, EMPTY, LEAST_KEPT, USEFUL, whole_percent
from lowlift.web.frame import Place
from lowlift.web.settings import Setting, shortest
from lowlift.workflow.stops import Stop

#: The limits that a trade-off shows, as factors, and budgets of criteria that are in nats.
LIMITS, NATS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: The box of the chart in the units of its picture.
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 540.0, 56.0, 236.0
#: How far the foot of a label is from its point, below it and above; and how high a label is.
_BELOW, _ABOVE, _HIGH = 27.0, 18.0, 15.0


class Mark(NamedTuple):
    """A point of the chart: where it is, what it is called, and where it leads."""

    x: float
    y: float
    name: str
    #: What is kept, in percent; empty where it is not known yet.
    kept: str
    #: "", "weak" or "none".
    kind: str
    words: str
    address: str
    is_current: bool
    #: Where what is kept is written, and which end of it is there: where neither line passes.
    label: tuple[float, float, str] = (0.0, 0.0, "start")


class Chart(NamedTuple):
    """The marks, the lines through them, and the zone in which nothing can be promised."""

    marks: tuple[Mark, ...]
    curve: str
    best: str
    #: The right end of the zone; 0 where there is none.
    zone: float
    is_nats: bool


def bounds_of(setting: Setting) -> tuple[tuple[float, Criterion], ...]:
    """Return the limits of a trade-off, and the criteria made from them."""
    every = NATS if setting.criterion else LIMITS
    return tuple((budget, setting.at(budget).bound()) for budget in every)


def chart_of(place: Place, points: Sequence[Stop], now: Stop | None) -> Chart:
    """Return the chart of the points found, and of the answer to the present limit."""
    setting = place.setting
    known = {point.limit: point for point in points if not point.is_late}
    if now is not None:
        known[now.limit] = now
    known = _never_falling(known)
    if now is not None and now.state == CANNOT:  # as the answer beside it says
        known[now.limit] = now
    every = sorted({*(NATS if setting.criterion else LIMITS), setting.budget})
    step = (_RIGHT - _LEFT) / len(every)
    places = [round(_LEFT + step * (k + 0.5), 1) for k in range(len(every))]
    marks = [_mark(place, x, b, known.get(b)) for x, b in zip(places, every, strict=True)]
    first = list(takewhile(lambda mark: mark.kind == "none", marks))  # too strict a limit
    zone = round(first[-1].x + step / 2, 1) if first else 0.0
    lines = [
        (mark.x, mark.y, known[budget].most)
        for mark, budget in zip(marks, every, strict=True)
        if budget in known and known[budget].state != CANNOT
    ]
    curve = " ".join(f"{x:g},{y:g}" for x, y, _ in lines)
    best = " ".join(f"{x:g},{_height(most):g}" for x, _, most in lines if most is not None)
    return Chart(tuple(marks), curve, best, zone, bool(setting.criterion))


def _never_falling(known: Mapping[float, Stop]) -> dict[float, Stop]:
    """Return the points with the better of each limit and all tighter ones.

    What holds at a limit holds at a looser one, where a search that was stopped may have found
    less. Rows that stay by chance, of a release that keeps almost nothing, count as nothing kept.
    """
    found, best = dict[float, Stop](), None
    for limit in sorted(known):
        point = known[limit]
        if point.state == EMPTY and point.share >= LEAST_KEPT:
            point = point._replace(share=0.0)
        if best is not None and (point.state == CANNOT or point.share < best.share):
            point = best._replace(limit=limit, most=point.most)
        if point.state != CANNOT:
            best = point
        found[limit] = point
    return found


def _mark(place: Place, x: float, budget: float, point: Stop | None) -> Mark:
    setting, name = place.setting, shortest(budget)
    is_current = budget == setting.budget
    what = f"{name} nats" if setting.criterion else f"At most {name} times"
    address = Place("protection", setting.at(budget), place.pinned).address()
    if point is None:
        return Mark(x, _BOTTOM, name, "", "", f"{what}: not known yet", address, is_current)
    kept = "" if point.state == CANNOT else whole_percent(point.share)
    kind = {USEFUL: "", EMPTY: "weak", CANNOT: "none"}[point.state]
    words = f"{what}: keeps {kept}" if kept else f"{what}: cannot be promised"
    if point.state == EMPTY:
        words = f"{what}: keeps almost nothing"
    y = _BOTTOM if point.state == CANNOT else _height(point.share)
    return Mark(x, y, name, kept, kind, words, address, is_current, _label(x, y, point.most))


def _label(x: float, y: float, most: float | None) -> tuple[float, float, str]:
    """Return the foot of a label and its end that is there.

    The curve never falls, and the bound lies above it: there is room below a point, to its right.
    Near the axis there is none: the label is between both where it fits, else above the bound.
    """
    if y + _BELOW + 4 <= _BOTTOM:
        return round(x + 4, 1), round(y + _BELOW, 1), "start"
    if most is None:
        return x, round(y - _ABOVE, 1), "middle"
    if (bound := _height(most)) <= y - _ABOVE - _HIGH:
        return round(x - 6, 1), round(y - _ABOVE, 1), "start"
    return round(x + 10, 1), round(min(y - _ABOVE, bound - 8), 1), "end"


def _height(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0), 1)


class Way(NamedTuple):
    """A change that would help: its words, where it leads, and what it keeps if that is known."""

    words: str
    address: str
    kept: str = ""


def ways(place: Place, state: str, points: Sequence[Stop]) -> list[Way]:
    """Return what would make an answer possible or useful; nothing for a useful one.

    Other limits are among them once it is known what they keep: looser ones; where nothing can be
    promised, the nearest tighter one, which another release may keep.
    """
    setting = place.setting
    if state == USEFUL:
        return []
    found = []
    if setting.criterion and state == CANNOT:
        address = place.address("protection", criterion="", encoding="")
        found.append(Way("Use a limit on each value instead of the criterion", address))
    if setting.encoding and state == CANNOT:
        address = place.address("protection", encoding="")
        found.append(Way("Write it as fits the mechanism", address))
    known = {point.limit: point for point in points}
    useful = sorted(limit for limit, point in known.items() if point.state == USEFUL)
    tighter = [b for b in useful if b < setting.budget] if state == CANNOT else []
    for budget in (*tighter[-1:], *[b for b in useful if b > setting.budget][:2]):
        name = f"{shortest(budget)} nats" if setting.criterion else f"{shortest(budget)} times"
        kept = f"keeps {whole_percent(known[budget].share)}"
        there = Place("protection", setting.at(budget), place.pinned)
        verb = "Allow" if budget > setting.budget else "Allow no more than"
        found.append(Way(f"{verb} {name}", there.address(), kept))
    if setting.audience == "population":
        found.append(Way("The rows are everybody", place.address("protection", audience="table")))
    if len(setting.released) > 1:
        found.append(Way("Leave out a column that tells much", place.address("columns")))
    return found
