"""Classes of numbers in S, where a column has few values and no bins are declared."""

from dataclasses import replace
from typing import TYPE_CHECKING

from lowlift.tables.bins import Bins, Each, Edges, Width
from lowlift.tables.columns import NUMERIC

if TYPE_CHECKING:
    from lowlift._joint import Joint
    from lowlift.tables.schema import Schema
    from lowlift.tables.table import Table

#: A column of S with more values must have declared bins.
MOST_CLASSES = 20


def with_classes(table: "Table", schema: "Schema") -> "Schema":
    """Return a schema in which each value of a numeric column of S is a class, if there are few.

    Cost
        One query for each such column without bins, which stops at the 21st value.
    """
    found: dict[str, Bins] = {}
    for name in schema.sensitive:
        kind = table.kinds.get(name)
        if name in schema.bins or kind not in NUMERIC:
            continue
        values = table.profiling().values(name, MOST_CLASSES + 1)
        if len(values) <= MOST_CLASSES:
            found[name] = Each() if kind == "integer" else _between(values)
    return replace(schema, bins={**schema.bins, **found}) if found else schema


def notes_on_sensitive(schema: "Schema", joint: "Joint") -> tuple[str, ...]:
    """Return which columns of S had no declared bins, and that S has one value, if so."""
    columns = joint.origin.sensitive
    names = [c.name for c in columns if c.kind in NUMERIC and c.name not in schema.bins]
    notes = [
        f"{name!r} holds numbers and has few values: each of them is a class of S. Declare bins "
        "to protect wider classes."
        for name in names
    ]
    if joint.n_s == 1:
        notes.append("S has one value only, so that nothing can be learnt of it.")
    return tuple(notes)


def _between(values: list[float]) -> Bins:
    """Return bins of which each holds one of these real numbers."""
    if all(float(value).is_integer() for value in values):
        return Width(1)
    numbers = sorted(float(value) for value in values)
    return Edges(tuple(numbers[1:] or numbers))
