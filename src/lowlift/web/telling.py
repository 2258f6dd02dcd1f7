"""What a column says about the protected ones by itself, and its flags in words."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from lowlift._guarantees import ends_of
from lowlift.errors import InvalidInput
from lowlift.web.settings import Setting
from lowlift.workflow import ColumnProfile

#: Flags as tags: the tone, the icon and the words, of which {s} is the protected column.
_TAGS = {
    "identifier": ("bad", "badge", "names a person"),
    "free-text": ("bad", "badge", "free text"),
    "not-counted": ("bad", "stop", "cannot be counted"),
    "constant": ("", "dash", "one value"),
    "few-rows-each": ("warn", "warn", "few rows per value"),
    "almost-unique": ("warn", "warn", "almost one value per row"),
    "same-as-sensitive": ("bad", "equal", "{s} in other words"),
    "determines-sensitive": ("bad", "equal", "determines {s}"),
    "nearly-determines-sensitive": ("bad", "equal", "nearly determines {s}"),
    "follows-from-sensitive": ("bad", "equal", "made from {s}"),
}
_GIVEN_AWAY = frozenset({"same-as-sensitive", "determines-sensitive"})
#: The lift up to which nothing is told, and the end of a bar; nats that are no factor any more.
_NOTHING, _MOST, _MOST_NATS = 1.05, 10.0, 700.0
#: What floats may add to a lift that is at the limit.
_SLACK = 1e-9


class Limits(NamedTuple):
    """How many times as likely a value may become, and as unlikely; infinite without a bound."""

    down: float
    up: float


class Tag(NamedTuple):
    """A flag of a column: its look and its words."""

    tone: str
    icon: str
    words: str


class _Side(NamedTuple):
    """The largest change of one direction: as a factor of 1 or more, and in words."""

    factor: float
    limit: float
    way: str
    word: str

    @property
    def is_over(self) -> bool:
        return self.factor > self.limit * (1 + _SLACK)


class Telling(NamedTuple):
    """What a column says, as words and as a bar from 1 to 10 times; lengths are of 100."""

    bar: float
    is_over: bool
    limit: float | None
    #: "up to" or "down to" and how many times, or only words.
    way: str = ""
    word: str = ""
    soft: str = ""


def limits_of(setting: Setting) -> Limits:
    """Return how a setting bounds single lifts.

    Examples
    --------
    >>> limits_of(Setting(limit=2.0)), limits_of(Setting(criterion="l1"))
    (Limits(down=2.0, up=2.0), Limits(down=inf, up=inf))
    """
    if not setting.criterion:  # no value falls below what its inverse is
        return Limits(setting.limit, setting.limit)
    try:
        ends = ends_of(setting.bound())
    except InvalidInput:  # the answer says what is wrong with the budgets
        return Limits(math.inf, math.inf)
    down, up = (math.exp(end) if end < _MOST_NATS else math.inf for end in ends)
    return Limits(down, up)


def telling(found: ColumnProfile, limits: Limits) -> Telling:
    """Return what a column says alone, of the direction that is worse for the limit."""
    sides = _sides(found, limits)
    worse = max(sides, key=lambda side: (side.is_over, side.factor))
    limit = None if worse.limit == math.inf else _length(worse.limit)
    if not _GIVEN_AWAY.isdisjoint(found.flags) or "identifier" in found.flags:
        is_unknown = found.lift_high is None and min(limits) < math.inf
        # Who knows S exactly knows of its other values that they are not it.
        is_over = is_unknown or limits.down < math.inf or worse.is_over
        word = "tells rows apart" if "identifier" in found.flags else "tells it exactly"
        return Telling(100.0, is_over, limit, word=word)
    if found.lift_high is None:
        soft = "nothing" if "constant" in found.flags else "not measured"
        return Telling(0.0, False, limit, soft=soft)
    bar = _length(worse.factor)
    if worse.factor < _NOTHING and not worse.is_over:
        return Telling(bar, False, limit, soft="next to nothing")
    if worse.factor == math.inf:
        return Telling(bar, worse.is_over, limit, word="can rule a value out")
    return Telling(bar, worse.is_over, limit, worse.way, worse.word)


def _sides(found: ColumnProfile, limits: Limits) -> list[_Side]:
    """Return both directions; with a bound on the upper one only that one counts."""
    high = 1.0 if found.lift_high is None else found.lift_high
    low = 1.0 if found.lift_low is None else found.lift_low
    # Rounded outwards: what is beyond a limit of two digits never reads as if it were at it.
    up = _Side(high, limits.up, "up to", f"{math.ceil(round(100 * high, 6)) / 100:.2f}")
    if limits.down == math.inf and limits.up < math.inf:
        return [up]
    factor = 1 / low if low > 0 else math.inf
    word = f"{math.floor(round(100 * low, 6)) / 100:.2f}"
    return [up, _Side(factor, limits.down, "down to", word)]


def _length(factor: float) -> float:
    return 100 * min(1.0, math.log(max(factor, 1.0), _MOST))


def tags(found: ColumnProfile, setting: Setting) -> list[Tag]:
    """Return what the flags of a column say."""
    s = ", ".join(setting.sensitive) or "it"
    said = [_tag(flag, s) for flag in _flags(found, setting) if flag in _TAGS]
    return said + [Tag("", "equal", f"same as {name}") for name in found.duplicates[:1]]


def _tag(flag: str, s: str) -> Tag:
    tone, icon, words = _TAGS[flag]
    return Tag(tone, icon, words.format(s=s))


def _flags(found: ColumnProfile, setting: Setting) -> list[str]:
    """Return the flags of a column as it is published: in groups its values repeat."""
    is_grouped = found.name in dict(setting.bins)
    return [flag for flag in found.flags if not (is_grouped and flag == "almost-unique")]


def advice(found: ColumnProfile, setting: Setting) -> str:
    """Return what to know where the column is published."""
    if "almost-unique" in _flags(found, setting):
        return "Almost every row has a value of its own: group its values."
    return ""


def given_away(measured: Mapping[str, ColumnProfile], setting: Setting) -> tuple[str, ...]:
    """Return the columns to publish that tell the protected ones exactly."""
    found = (measured[name] for name in setting.released if name in measured)
    return tuple(each.name for each in found if not _GIVEN_AWAY.isdisjoint(each.flags))
