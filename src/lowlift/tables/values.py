"""One value of Python as a symbol: the text that every engine makes of the same value in a table.

`lowlift.tables.queries.symbol` says the same in SQL; a test compares the two on every engine.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np

from lowlift.errors import InvalidInput
from lowlift.tables.bins import FAR, Each, Edges, Width
from lowlift.tables.columns import Column
from lowlift.tables.date_bins import FIRST, Calendar, DateEdges, Days

#: From a value to its symbol's text; None where the value is missing.
Reader: TypeAlias = Callable[[Any], str | None]

#: Whole numbers that some engine has a type for.
_SMALLEST, _LARGEST = -(1 << 127), 1 << 128
#: NumPy's units that Python's times do not have.
_FINE = frozenset({"ns", "ps", "fs", "as"})
#: Nanoseconds in half of a microsecond.
_HALF = 500


def symbol_reader(column: Column) -> Reader:
    """Return the function from a value of this column to the text of its symbol.

    Missing are None, NaN, NaT and pandas.NA. The function raises `InvalidInput` for a value of
    another kind; the message has the name of its type.

    Examples
    --------
    >>> read = symbol_reader(Column("age", "integer", Edges((18, 65))))
    >>> read(41), read(None)
    ('[18, 65)', None)
    """
    convert, expected = _KINDS[column.kind]
    symbol = _symbol(column)

    def read(value: Any) -> str | None:
        if value is None:
            return None
        found = convert(value)
        if found is not None:
            return symbol(found)
        if _is_missing(value):
            return None
        raise InvalidInput(
            f"a value of column {column.name!r} must be {expected}, or None where it is missing; "
            f"got {type(value).__name__}. Convert it before it is drawn."
        )

    return read


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return type(value).__name__ in {"NAType", "NaTType"}  # pandas has them, and is not loaded


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return None
    found = int(value)
    return found if _SMALLEST <= found < _LARGEST else None


def _real(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(
        value, float | int | Decimal | np.floating | np.integer
    ):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):  # an int beyond every float; a signalling NaN
        return None
    return None if math.isnan(found) else found


def _boolean(value: Any) -> bool | None:
    return bool(value) if isinstance(value, bool | np.bool_) else None


def _date(value: Any) -> date | None:
    found = value.item() if isinstance(value, np.datetime64) else value
    return found if isinstance(found, date) and not isinstance(found, datetime) else None


def _timestamp(value: Any) -> date | None:
    """Return the day of a time: bins of timestamps are of days."""
    rest = getattr(value, "nanosecond", 0)  # of a pandas.Timestamp
    if isinstance(value, np.datetime64):
        if np.datetime_data(value.dtype)[0] in _FINE and not np.isnat(value):
            rest = int(value.astype("datetime64[ns]").astype(np.int64)) % 1000
            value = value.astype("datetime64[us]")
        value = value.item()
    if not isinstance(value, datetime) or value.tzinfo is not None or _is_missing(value):
        return None
    # DuckDB rounds to microseconds, halves away from 1970, before it takes the day.
    is_up = rest >= _HALF + (value.year < 1970)
    return (value + timedelta(microseconds=is_up)).date()


def _uuid(value: Any) -> UUID | None:
    return value if isinstance(value, UUID) else None


#: By kind: the value as a plain one, or None; and what it must be.
_KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "text": (_text, "a str"),
    "integer": (_integer, "an int of at most 128 bits"),
    "real": (_real, "a float, an int or a Decimal"),
    "boolean": (_boolean, "a bool"),
    "date": (_date, "a datetime.date without a time"),
    "timestamp": (_timestamp, "a datetime.datetime without a time zone"),
    "uuid": (_uuid, "a uuid.UUID"),
}


def _symbol(column: Column) -> Callable[[Any], str]:
    bins = column.bins
    if isinstance(bins, Edges):
        return _edges(column, bins)
    if isinstance(bins, Width):
        return _width(column, bins)
    if isinstance(bins, DateEdges):
        days, names = tuple(map(date.fromisoformat, bins.edges)), bins.labels
        return lambda day: names[bisect_right(days, day)]
    if isinstance(bins, Calendar) and bins.months is not None:
        months = bins.months
        return lambda day: str((12 * day.year + day.month - 1) // months)
    if isinstance(bins, Calendar | Days):
        size = bins.days if isinstance(bins, Days) else 1
        return lambda day: str((day - FIRST).days // size)
    if not isinstance(bins, Each | None):
        raise InvalidInput("quantiles must be resolved by Table.column before they are used.")
    return _boolean_text if column.kind == "boolean" else str


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _edges(column: Column, bins: Edges) -> Callable[[Any], str]:
    labels = bins.labels
    if column.kind == "integer" and all(isinstance(edge, int) for edge in bins.edges):
        whole = bins.edges
        return lambda value: labels[bisect_right(whole, value)]
    edges = tuple(map(float, bins.edges))
    return lambda value: labels[bisect_right(edges, float(value))]


def _width(column: Column, bins: Width) -> Callable[[Any], str]:
    width, parts = bins.ratio
    if column.kind == "integer" and parts == 1:
        return lambda value: str(value // width)
    by, times = float(width), float(parts)

    def text(value: float) -> str:
        ratio = float(value) * times / by  # the engines' arithmetic: doubles, in this order
        if ratio < -FAR:
            return "<"
        return ">" if ratio >= FAR else str(math.floor(ratio))

    return text
