"""Refuse columns with too many combinations of values, by an estimate before they are counted."""

from collections.abc import Sequence
from typing import NoReturn

from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.columns import Column
from lowlift.tables.engines import Engine

#: Combinations counted for an estimate, about, when there are as many as are accepted: its
#: standard error is below 2 percent, and one this much beyond is no chance.
_SAMPLED, _SURELY = 4096, 1.5
#: First rows that are looked at, for each combination to accept.
_HEAD = 4
#: Rows in which the values of each column are counted for a message.
_SHOWN = 200_000


def refuse_surely_many(engine: Engine, columns: Sequence[Column], most: int, known: float) -> None:
    """Refuse combinations that an estimate shows to be too many; what is near is counted.

    A table of no more rows is not read for it, nor a view, which would be computed anew.
    """
    rows = engine.most_different() if engine.is_steady else 0
    if min(rows, known) <= most:
        return
    # A short look is enough where there are few; a longer one tells more.
    for head in (max(most // 4, 1), _HEAD * most) if engine.dialect.stops_early else ():
        if rows > head:
            found = combinations(engine, columns, most, head)
            if found > _SURELY * most:
                refuse_many(engine, columns, most, found, head)
            later = 2 * (rows - head) / head
            if found + (found and found * later) <= most:
                return
    if engine.dialect.stops_early and rows > head:
        # Later rows have no more new ones than the second half of these, unless the table is
        # sorted by something else.
        new = found - combinations(engine, columns, most, head // 2)
        if new <= 0 or found + new * later <= most:
            return
    found = combinations(engine, columns, most)
    if found > _SURELY * most:
        refuse_many(engine, columns, most, found)


def combinations(
    engine: Engine, columns: Sequence[Column], most: int, first: int | None = None
) -> int:
    """Estimate the combinations of values, in the first rows if so asked; exact if few."""
    part = _part_of(most)
    table = engine.table if first is None else engine.head(first)
    query = queries.groups(columns, table, engine.dialect, part)
    return part * int(engine.fetch(query)[0][0])


def refuse_many(
    engine: Engine, columns: Sequence[Column], most: int, found: int, first: int | None = None
) -> NoReturn:
    """Refuse columns with too many combinations, and say which have the most values."""
    query = queries.symbols_counted(columns, engine.head(_SHOWN), engine.dialect)
    rows, *sizes = map(int, engine.fetch(query)[0])
    ranked = sorted(zip(sizes, (c.name for c in columns), strict=True), reverse=True)
    shown = ", ".join(f"{name!r} has {size:,}" for size, name in ranked[:3])
    shown += f" in the first {rows:,} rows" if rows == _SHOWN else ""
    number = f"{found:,}"
    if _part_of(most) > 1:  # two digits of an estimate, where they are beyond the limit
        rounded = float(f"{found:.2g}")
        number = f"about {rounded:,.0f}" if rounded > most else f"more than {most:,}"
    among = "" if first is None else f" in the first {first:,} rows"
    raise InvalidInput(
        f"columns {', '.join(repr(c.name) for c in columns)} must have at most {most:,} "
        f"combinations of values; they have {number}{among} ({shown}). Leave out the "
        "columns with the most values, or give numbers and dates wider bins.",
        advice="cells",
    )


def _part_of(most: int) -> int:
    """Return one in how many combinations an estimate counts; 1 where it counts them all."""
    return int(1 << (most // (2 * _SAMPLED)).bit_length())
