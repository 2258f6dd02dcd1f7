"""Declared bins of a column of dates or timestamps: which days share a symbol, and its name."""

import re
from dataclasses import dataclass, fields
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, cast

from lowlift._joint import Label
from lowlift.errors import InvalidInput

#: The days that can be named; what lies outside is one symbol on each side.
FIRST, LAST = date.min, date.max
#: Months of each unit but the day.
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_OUTSIDE = {"<": f"before {FIRST}", ">": f"after {LAST}"}


class Declared:
    """Bins that a file says by their kind and their fields."""

    _kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {one.name: getattr(self, one.name) for one in fields(cast("Any", self))}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        return {"bins": self._kind, **plain}


class Labelled(Declared):
    """Bins whose symbols' texts are their labels, all of which are listed."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the bins, in their order."""
        raise NotImplementedError

    def label_of(self, text: str) -> Label:
        """Return the label of a symbol text, which is the label itself."""
        return text

    def text_of(self, label: Label) -> str:
        """Return the symbol text of a label."""
        if label not in self.labels:
            raise InvalidInput("a label must be that of a declared bin; one is not.")
        return str(label)

    def order_of(self, label: Label) -> float:
        """Return a number that sorts labels from first to last."""
        return self.labels.index(str(label))


@dataclass(frozen=True)
class _Periods(Declared):
    """Periods with numbers; a symbol's text is the number, or ``<`` or ``>`` far outside."""

    def name_of(self, index: int) -> str:
        """Return the label of a period."""
        raise NotImplementedError

    def index_of(self, label: str) -> int:
        """Return the number of the period that a label may be of."""
        raise NotImplementedError

    def label_of(self, text: str) -> Label:
        """Return the label of a symbol text."""
        return _OUTSIDE[text] if text in _OUTSIDE else self.name_of(int(text))

    def text_of(self, label: Label) -> str:
        """Return the symbol text of a label."""
        for text, outside in _OUTSIDE.items():
            if label == outside:
                return text
        try:
            index = self.index_of(str(label))
            is_same = self.name_of(index) == label
        except (ValueError, OverflowError, IndexError):
            is_same = False
        if not is_same:
            raise InvalidInput("a label must be that of a declared bin; one is not.")
        return str(index)

    def order_of(self, label: Label) -> float:
        """Return a number that sorts labels from early to late."""
        text = self.text_of(label)
        return {"<": -1.0, ">": float("inf")}.get(text) or float(text)


@dataclass(frozen=True)
class Calendar(_Periods):
    """Each day, month, quarter or year is a symbol.

    Parameters
    ----------
    unit
        "day", "month", "quarter" or "year".

    Examples
    --------
    >>> Calendar("month").label_of(Calendar("month").text_of("2024-03"))
    '2024-03'
    """

    _kind = "calendar"
    unit: str

    def __post_init__(self) -> None:
        if self.unit != "day" and self.unit not in _MONTHS:
            raise InvalidInput(f"a unit must be day, month, quarter or year; got {self.unit!r}.")

    @property
    def months(self) -> int | None:
        """How many months a period has; None for a day."""
        return _MONTHS.get(self.unit)

    def name_of(self, index: int) -> str:
        """Return a label such as 2024-03-05, 2024-03, 2024-Q1 or 2024."""
        if self.months is None:
            return (FIRST + timedelta(index)).isoformat()
        year, part = divmod(index, 12 // self.months)
        shown = {"month": f"-{part + 1:02}", "quarter": f"-Q{part + 1}", "year": ""}[self.unit]
        return f"{year:04}{shown}"

    def index_of(self, label: str) -> int:
        """Return the number of a period, from a label."""
        if self.months is None:
            return (date.fromisoformat(label) - FIRST).days
        year, _, part = label.partition("-")
        return int(year) * (12 // self.months) + int(part.removeprefix("Q") or 1) - 1


@dataclass(frozen=True)
class Days(_Periods):
    """Periods of so many days, counted from Monday, 1 January of the year 1: of 7, weeks.

    Parameters
    ----------
    days
        A whole number, at least 1.

    Examples
    --------
    >>> Days(7).label_of(Days(7).text_of("2024-01-01 to 2024-01-07"))
    '2024-01-01 to 2024-01-07'
    """

    _kind = "days"
    days: int

    def __post_init__(self) -> None:
        whole = isinstance(self.days, int) and not isinstance(self.days, bool)
        if not whole or not 1 <= self.days <= LAST.toordinal():
            raise InvalidInput(
                f"a width of dates must be a whole number of days, at least 1; got {self.days}."
            )

    def name_of(self, index: int) -> str:
        """Return the first and the last day of a period."""
        start = FIRST + timedelta(index * self.days)
        rest = min(self.days - 1, (LAST - start).days)
        return f"{start} to {start + timedelta(rest)}"

    def index_of(self, label: str) -> int:
        """Return the number of a period, from a label."""
        return (date.fromisoformat(label.partition(" ")[0]) - FIRST).days // self.days


@dataclass(frozen=True)
class DateEdges(Labelled):
    """Periods that begin on given days, and what lies before the first.

    Parameters
    ----------
    edges
        Increasing days as ``date`` or ISO texts, at least one.

    Examples
    --------
    >>> DateEdges(("2024-01-01", "2024-07-01")).labels
    ('before 2024-01-01', '2024-01-01 to 2024-06-30', 'from 2024-07-01')
    """

    _kind = "dates"
    edges: tuple[str, ...]

    def __post_init__(self) -> None:
        days = [_day(edge) for edge in self.edges]
        if not days or any(a >= b for a, b in pairwise(days)):
            raise InvalidInput(
                "edges of dates must be increasing days, at least one; "
                f"got {', '.join(map(str, days)) or 'none'}."
            )
        object.__setattr__(self, "edges", tuple(map(str, days)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the bins, from early to late."""
        inner = (f"{a} to {date.fromisoformat(b) - timedelta(1)}" for a, b in pairwise(self.edges))
        return (f"before {self.edges[0]}", *inner, f"from {self.edges[-1]}")


DateBins = Calendar | Days | DateEdges


def _day(edge: Any) -> date:
    if type(edge) is date:
        return edge
    # Not the other ISO forms, week dates among them, that Python takes too.
    if isinstance(edge, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", edge):
        try:
            return date.fromisoformat(edge)
        except ValueError:
            pass
    raise InvalidInput(f"an edge of dates must be a day such as 2024-03-05; got {edge!r}.")
