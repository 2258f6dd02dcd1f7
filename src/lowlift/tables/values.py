"""One value of Python as a symbol: the text that every engine makes of the same value in a table.

`lowlift.tables.queries.symbol` says the same in SQL; a test compares the two on every engine.
"""

from datetime import timedelta
from typing import Any

import numpy as np

from lowlift import _one_record
from lowlift._one_record.symbols import Reader
from lowlift.errors import InvalidInput
from lowlift.tables.bins import Each, Edges, Width
from lowlift.tables.columns import Column
from lowlift.tables.date_bins import Calendar, DateEdges, Days

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
    return _one_record.symbol_reader(column_rule(column), plain)


def column_rule(column: Column) -> dict[str, Any]:
    """Return a column as a program has it: name, kind and how a value becomes a symbol's text.

    Examples
    --------
    >>> column_rule(Column("age", "integer", Width(10)))
    {'name': 'age', 'shown': "'age'", 'kind': 'integer', 'bins': {'width': '10'}}
    """
    shown = {"name": column.name, "shown": repr(column.name), "kind": column.kind}
    return {**shown, "bins": _rule(column)}


def _rule(column: Column) -> dict[str, Any] | None:
    match column.bins:
        case None | Each():
            return None
        case Edges() | DateEdges() as bins:
            return _edges_rule(column.kind, bins)
        case Width(ratio=(width, 1)) if column.kind == "integer":
            return {"width": str(width)}
        case Width() as bins:
            return {"ratio": list(bins.ratio)}
        case Calendar(months=int(months)):
            return {"months": months}
        case Calendar() | Days() as bins:
            return {"days": bins.days if isinstance(bins, Days) else 1}
    raise InvalidInput("quantiles must be resolved by Table.column before they are used.")


def _edges_rule(kind: str, bins: Edges | DateEdges) -> dict[str, Any]:
    edges: list[Any] = list(bins.edges)
    if isinstance(bins, DateEdges):
        of = "date"
    elif kind == "integer" and all(isinstance(edge, int) for edge in edges):
        of, edges = "integer", list(map(str, edges))  # JavaScript's numbers do not hold them all
    else:
        of, edges = "real", list(map(float, edges))
    return {"of": of, "edges": edges, "labels": list(bins.labels)}


def plain(value: Any) -> Any:
    """Return a value of NumPy or pandas in Python's type, None where it is missing."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.datetime64):
        return _plain_time(value)
    rest = getattr(value, "nanosecond", 0)  # of a pandas.Timestamp; NaN of a NaT
    is_fine = isinstance(rest, int) and rest > 0
    return _rounded(value.to_pydatetime(warn=False), rest) if is_fine else value


def _plain_time(value: np.datetime64) -> Any:
    if np.isnat(value):
        return None
    if np.datetime_data(value.dtype)[0] not in _FINE:
        found = value.item()
        return value if isinstance(found, int) else found  # beyond the years that Python has
    rest = int(value.astype("datetime64[ns]").astype(np.int64)) % 1000
    return _rounded(value.astype("datetime64[us]").item(), rest)


def _rounded(value: Any, rest: int) -> Any:
    """Return a time as DuckDB rounds it to microseconds: halves away from 1970."""
    is_up = rest >= _HALF + (value.year < 1970)
    return value + timedelta(microseconds=is_up)
