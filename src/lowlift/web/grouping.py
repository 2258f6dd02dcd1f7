"""Groups of numbers and dates: what is suggested, and what to do where only some have groups."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lowlift._wording import joined
from lowlift.web.cards import Way
from lowlift.workflow import ColumnProfile
from lowlift.workflow.overview import Overview, nice_step

if TYPE_CHECKING:
    from lowlift.web.frame import Place

#: Groups that a suggestion makes of numbers and of dates, at most; values that can each be one.
_MOST_GROUPS, _MOST_UNITS, _EACH = 12, 120, 50
_DAYS = {"day": 1.0, "month": 30.4, "quarter": 91.3, "year": 365.25}
#: Columns that the words of a link name.
_MOST_NAMED = 3


def suggestions(
    profile: ColumnProfile, span: float, *, is_whole: bool
) -> Iterator[tuple[str, str]]:
    """Return groups of values over a span as texts of ``--bin``, each with its name."""
    if profile.kind in {"date", "timestamp"}:
        units = [unit for unit, days in _DAYS.items() if 2 <= span / days <= _MOST_UNITS]
        for unit in units[-2:]:
            yield unit, f"{unit.capitalize()}s"
    else:
        step = nice_step(span / _MOST_GROUPS, is_whole=is_whole)
        is_age = profile.name.lower() in {"age", "ages"} or profile.name.lower().endswith("_age")
        yield f"width:{step:g}", f"{step:g} years" if is_age else f"Steps of {step:g}"
        yield "quantiles:4", "Quartiles"
        if profile.kind == "integer" and (profile.different or 0) <= _EACH:
            yield "each", "Each value"


def mending(place: "Place", overview: Overview) -> tuple[Way, ...]:
    """Return what one click can do where some numbers to publish have groups and others have none.

    It gives each of the others the groups that are suggested first, or takes all groups away.
    """
    setting = place.setting
    plain = setting.ungrouped(overview.kinds)
    if not plain:
        return ()
    found = {name: text for name in plain if (text := _first(name, overview))}
    names = joined(plain) if len(plain) <= _MOST_NAMED else f"the {len(plain)} others"
    grouped = place.address(bins=(*setting.bins, *found.items()))
    ways = (Way(f"Group {names} too", grouped),) if len(found) == len(plain) else ()
    kept = tuple((name, text) for name, text in setting.bins if name not in setting.released)
    return (*ways, Way("Back to automatic groups", place.address(bins=kept)))


def _first(name: str, overview: Overview) -> str:
    """Return the groups that are suggested first; nothing where the ends are not known."""
    profile = next(column for column in overview.columns if column.name == name)
    if name not in overview.ranges:
        return ""
    low, _, high = overview.ranges[name]
    found = suggestions(profile, high - low, is_whole=profile.kind == "integer")
    return next((text for text, _ in found), "")
