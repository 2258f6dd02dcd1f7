"""The table that draws, as few values: most slots of a symbol are alike where it has few outputs.

A table of m symbols has m slots or more for each of them, of which a sparse channel uses few. So
the statement lists, per symbol, the slot that most are, and those that differ; the engine makes the
table of both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from lowlift.tables.queries import named

#: Tables with fewer rows are listed as they are.
_FEW = 200


def listed_slots(symbol: str, columns: Mapping[str, Sequence[int]]) -> exp.Select:
    """Return the table of slots: `symbol`, "slot", and what each slot draws.

    Parameters
    ----------
    symbol
        The name of the column that numbers symbols.
    columns
        All columns by name, that of the symbols and "slot" among them, as lists.
    """
    names = list(columns)
    rows = list(zip(*columns.values(), strict=True))
    at, place = names.index(symbol), names.index("slot")
    rest = [k for k in range(len(names)) if k not in {at, place}]
    usual: dict[int, Counter[tuple[int, ...]]] = {}
    for row in rows:
        usual.setdefault(row[at], Counter())[tuple(row[k] for k in rest)] += 1
    common = {x: found.most_common(1)[0][0] for x, found in usual.items()}
    odd = [row for row in rows if tuple(row[k] for k in rest) != common[row[at]]]
    numbers = sorted({row[place] for row in rows})
    is_full = len({(row[at], row[place]) for row in rows}) == len(rows) == len(usual) * len(numbers)
    short = len(odd) + len(common) + len(numbers)
    if not (is_full and odd and len(rows) > _FEW and 2 * short < len(rows)):
        return values_of(names, rows)
    others = [names[k] for k in rest]
    chosen = {
        symbol: named(symbol, "d"),
        "slot": named("slot", "n"),
        **{
            name: exp.Coalesce(this=named(name, "e"), expressions=[named(name, "d")])
            for name in others
        },
    }
    same = exp.and_(
        named(symbol, "e").eq(named(symbol, "d")), named("slot", "e").eq(named("slot", "n"))
    )
    return (
        exp.select(*(chosen[name].as_(name, quoted=True) for name in names))
        .from_(values_of([symbol, *others], [(x, *row) for x, row in common.items()]).subquery("d"))
        .join(values_of(["slot"], [(k,) for k in numbers]).subquery("n"), join_type="cross")
        .join(values_of(names, odd).subquery("e"), on=same, join_type="left")
    )


def values_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> exp.Select:
    """Return a list of values as a table."""
    listed = exp.values([tuple(row) for row in rows], alias="listed", columns=names)
    return exp.select(*map(named, names)).from_(listed)
