"""The trade-off as a chart whose points are links, and what to do about an answer that is poor."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from lowlift._wording import joined
from lowlift.criteria import Criterion
from lowlift.report.outcome import (
    AVERAGE,
    CANNOT,
    EMPTY,
    LEAST_KEPT,
    PROVES,
    TOLD,
    USEFUL,
    whole_percent,
)
from lowlift.web.frame import Place
from lowlift.web.settings import Setting, shortest
from lowlift.web.words import NAMES, TELLS
from lowlift.workflow.stops import Stop

#: The limits that a trade-off shows, as factors, and budgets of criteria that are in nats.
LIMITS, NATS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: How points are drawn, by how their states are shown, and what is said beside what they keep.
_KINDS = {USEFUL: "", PROVES: "proves", AVERAGE: "average", EMPTY: "weak", CANNOT: "none"}
_SAID = {"proves": ", but can prove a value", "average": ", on average"}
#: The box of the chart in the units of its picture.
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 540.0, 40.0, 236.0
#: How far the foot of a label is from its point: below it, above, and between two lines; and how
#: high a label is.
_BELOW, _ABOVE, _BETWEEN, _HIGH = 27.0, 18.0, 14.0, 15.0


class Mark(NamedTuple):
    """A point of the chart: where it is, what it is called, and where it leads."""

    x: float
    y: float
    name: str
    #: What is kept, in percent; empty where it is not known yet.
    kept: str
    #: "", "proves", "average", "weak", "none", or "late" where the time ran out.
    kind: str
    words: str
    address: str
    is_current: bool
    #: Where what is kept is written, and which end of it is there: where neither line passes.
    label: tuple[float, float, str] = (0.0, 0.0, "start")
    #: What the field of the limit has for it: the name, or a budget in nats.
    budget: str = ""


class Chart(NamedTuple):
    """The marks, the lines through them, and the zone in which nothing can be promised."""

    marks: tuple[Mark, ...]
    curve: str
    best: str
    #: The right end of the zone; 0 where there is none.
    zone: float
    #: Whether points are named by how many times as likely a value may become; else by a budget.
    is_factor: bool


def bounds_of(setting: Setting) -> tuple[tuple[float, Criterion], ...]:
    """Return the limits of a trade-off, and the criteria made from them."""
    every = NATS if setting.criterion else LIMITS
    return tuple((budget, setting.at(budget).bound()) for budget in every)


def chart_of(place: Place, points: Sequence[Stop], now: Stop | None) -> Chart:
    """Return the chart of the points found, and of the answer to the present limit."""
    setting = place.setting
    known = {point.limit: point for point in points if not point.is_late}
    late = {point.limit for point in points if point.is_late}
    if now is not None:
        known[now.limit] = now
    known = _never_falling(known)
    if now is not None and now.state == CANNOT:  # as the answer beside it says
        known[now.limit] = now
    every = sorted({*(NATS if setting.criterion else LIMITS), setting.budget})
    step = (_RIGHT - _LEFT) / len(every)
    places = [round(_LEFT + step * (k + 0.5), 1) for k in range(len(every))]
    marks = [
        _mark(place, x, b, known.get(b), is_late=b in late)
        for x, b in zip(places, every, strict=True)
    ]
    first = list(takewhile(lambda mark: mark.kind == "none", marks))  # too strict a limit
    zone = round(first[-1].x + step / 2, 1) if first else 0.0
    lines = [
        (mark.x, mark.y, known[budget].most)
        for mark, budget in zip(marks, every, strict=True)
        if budget in known and known[budget].state != CANNOT
    ]
    curve = " ".join(f"{x:g},{y:g}" for x, y, _ in lines)
    best = " ".join(f"{x:g},{_height(most):g}" for x, _, most in lines if most is not None)
    return Chart(tuple(marks), curve, best, zone, bool(setting.factor))


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


def _mark(place: Place, x: float, budget: float, point: Stop | None, *, is_late: bool) -> Mark:
    setting = place.setting.at(budget)
    name, what = shortest(budget), "Setting {} under Advanced"
    if place.setting.factor:
        name, what = setting.factor or name, "At most {} times"
    what = what.format(name)
    more: dict[str, Any] = {"address": Place("protection", setting, place.pinned).address()}
    more |= {"is_current": budget == place.setting.budget, "budget": shortest(budget)}
    if point is None:
        words = "the time ran out; it may keep more" if is_late else "not known yet"
        kind = "late" if is_late else ""
        return Mark(x, _BOTTOM, name, "", kind, f"{what}: {words}", **more)
    kept = "" if point.state == CANNOT else whole_percent(point.share)
    kind = _KINDS[point.shown or point.state]
    words = f"keeps {kept}{_SAID.get(kind, '')}" if kept else "cannot be promised"
    if point.state == EMPTY:
        words = "keeps almost nothing"
    y = _BOTTOM if point.state == CANNOT else _height(point.share)
    label = _label(x, y, point.most)
    return Mark(x, y, name, kept, kind, f"{what}: {words}", label=label, **more)


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
        return x, round(y - _BETWEEN, 1), "middle"
    return round(x + 10, 1), round(min(y - _ABOVE, bound - 8), 1), "end"


def _height(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * min(max(share, 0.0), 1.0), 1)


class Way(NamedTuple):
    """A change that would help: its words, where it leads, and what it keeps if that is known."""

    words: str
    address: str
    kept: str = ""


def ways(
    place: Place,
    shown: str,
    points: Sequence[Stop],
    *,
    is_rows: bool = False,
    tells: tuple[str, ...] = (),
) -> list[Way]:
    """Return what would make an answer possible, useful or green; nothing for a green one.

    Other limits are among them once it is known what they keep: looser ones; where nothing can be
    promised or a value can be proven, the nearest tighter one that is useful and proves none.

    Parameters
    ----------
    place
        Where the answer is.
    shown
        How its state is shown.
    points
        What other limits keep, as far as it is known.
    is_rows
        Whether rows are published, and not values.
    tells
        The columns of them that tell what is protected.
    """
    setting, found = place.setting, list[Way]()
    if shown == USEFUL:
        return found
    if shown == TELLS:  # whatever the limit
        left = tuple(name for name in setting.released if name not in tells)
        address = place.address("protection", released=left) if left else place.address("columns")
        return [Way(f"Leave {joined(tells)} out" if left else "Change the columns", address)]
    if shown == NAMES:
        return [Way("Leave out or group such columns", place.address("columns"))]
    if setting.criterion and shown in {CANNOT, PROVES, AVERAGE}:
        address = place.address("protection", criterion="", encoding="")
        found.append(Way("Use a limit on each value instead of the criterion", address))
    if shown == AVERAGE:  # whatever its budget and its columns
        return found
    if setting.encoding and shown == CANNOT:
        address = place.address("protection", encoding="")
        found.append(Way("Write it as fits the mechanism", address))
    found += _other_limits(place, shown, points, is_rows=is_rows)
    if len(setting.released) > 1:
        found.append(Way("Leave out a column that tells much", place.address("columns")))
    if setting.audience == "population":  # last: it is a question of what is true, and no choice
        words = "If these rows are in fact everybody, say so"
        found.append(Way(words, place.address("protection", audience="table")))
    return found


def _other_limits(
    place: Place, shown: str, points: Sequence[Stop], *, is_rows: bool
) -> Iterator[Way]:
    """Yield the other limits among `ways`."""
    setting = place.setting
    known = {point.limit: point for point in points}
    useful = sorted(b for b, each in known.items() if each.state == USEFUL and each.shown != PROVES)
    tighter = [b for b in useful if b < setting.budget] if shown in {CANNOT, PROVES} else []
    looser = [b for b in useful if b > setting.budget] if shown != PROVES else []
    for budget in (*tighter[-1:], *looser[:2]):
        there = setting.at(budget)
        name = f"a setting of {shortest(budget)} under Advanced"
        if there.factor:
            name = f"{there.factor} times as likely"
        share = whole_percent(known[budget].share)
        kept = f"rows stay {share} close" if is_rows else f"keeps {share} {TOLD}"
        verb = "Allow" if budget > setting.budget else "Allow no more than"
        yield Way(f"{verb} {name}", Place("protection", there, place.pinned).address(), kept)
