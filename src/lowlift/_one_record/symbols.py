"""One value as a symbol: the text that every engine makes of the same value in a table."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from lowlift._one_record.texts import KINDS, TEXTS, type_word
from lowlift.errors import InvalidInput

#: From a value to its symbol's text; None where the value is missing.
Reader: TypeAlias = Callable[[Any], str | None]

#: Whole numbers that some engine has a type for.
_SMALLEST, _LARGEST = -(1 << 127), 1 << 128
#: Whole numbers up to here are exact as floats; a value that lies this many bins from zero is said
#: to lie outside.
FAR = 1 << 53
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ in {"NAType", "NaTType"}  # pandas has them, and is not loaded


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def whole_number(value: Any) -> int | None:
    """Return an int; of a float, one that is whole and below 2**53, else None.

    JavaScript and some writers of JSON do not tell 41.0 from 41.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and -FAR < value < FAR else None
    return None if isinstance(value, bool) or not isinstance(value, int) else value


def _integer(value: Any) -> int | None:
    found = whole_number(value)
    return found if found is not None and _SMALLEST <= found < _LARGEST else None


def _real(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, float | int | Decimal):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):  # an int beyond every float; a signalling NaN
        return None
    return None if math.isnan(found) else found


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> date | None:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _timestamp(value: Any) -> date | None:
    """Return the day of a time: bins of timestamps are of days."""
    if isinstance(value, str):
        match = _TIME.fullmatch(value)
        return None if match is None else _date(match[1])
    # Nanoseconds, of a pandas.Timestamp, may round to the next day.
    is_plain = isinstance(value, datetime) and not getattr(value, "nanosecond", 0)
    return value.date() if is_plain and value.tzinfo is None else None


def _uuid(value: Any) -> str | None:
    if isinstance(value, str) and _UUID.fullmatch(value):
        return value.lower()
    return str(value) if isinstance(value, UUID) else None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "uuid": _uuid,
}


def symbol_reader(column: Mapping[str, Any], plain: Callable[[Any], Any] | None = None) -> Reader:
    """Return the function from a value of a column to the text of its symbol.

    Parameters
    ----------
    column
        Of a program: ``name``, ``kind`` and ``bins``.
    plain
        Makes a plain value, None where it is missing, of one whose type is not known here.

    Examples
    --------
    >>> read = symbol_reader({"name": "age", "kind": "integer", "bins": {"width": "10"}})
    >>> read(41), read(-1), read(None)
    ('4', '-1', None)
    """
    kind, name = column["kind"], repr(column["name"])
    convert, symbol = _CONVERTERS[kind], _binned(kind, column["bins"])

    def read(value: Any) -> str | None:
        if value is None:
            return None
        found = convert(value)
        if found is None and plain is not None:
            value = plain(value)
            found = None if value is None else convert(value)
        if found is not None:
            return symbol(found)
        if value is None or _is_missing(value):
            return None
        raise InvalidInput(TEXTS["kind"].format(name, KINDS[kind], type_word(value, kind)))

    return read


def _binned(kind: str, bins: Mapping[str, Any] | None) -> Callable[[Any], str]:
    """Return the function from a converted value to its symbol's text."""
    if bins is None:
        return _boolean_text if kind == "boolean" else str
    if "labels" in bins:
        return _between(bins["edges"], bins["labels"], bins["of"])
    if "ratio" in bins:
        return _real_width(*map(float, bins["ratio"]))
    ((unit, size),) = bins.items()
    size = int(size)
    if unit == "width":
        return lambda value: str(value // size)
    if unit == "days":
        return lambda day: str((day.toordinal() - 1) // size)
    return lambda day: str((12 * day.year + day.month - 1) // size)


def _between(edges: Sequence[Any], labels: Sequence[str], kind: str) -> Callable[[Any], str]:
    if kind == "real":
        floats = tuple(map(float, edges))
        return lambda value: labels[bisect_right(floats, float(value))]
    exact: tuple[Any, ...] = tuple(map(date.fromisoformat if kind == "date" else int, edges))
    return lambda value: labels[bisect_right(exact, value)]


def _real_width(by: float, times: float) -> Callable[[Any], str]:
    def text(value: float) -> str:
        ratio = float(value) * times / by  # the engines' arithmetic: doubles, in this order
        if ratio < -FAR:
            return "<"
        return ">" if ratio >= FAR else str(math.floor(ratio))

    return text


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def published_value(text: str | None, kind: str) -> Any:
    """Return a published text in Python's type: str, int, bool, date or UUID; None is NULL."""
    if text is None or kind == "text":
        return text
    if kind == "boolean":
        return text == "true"
    readers: dict[str, Callable[[str], Any]]
    readers = {"integer": int, "date": date.fromisoformat, "uuid": UUID}
    return readers[kind](text)
