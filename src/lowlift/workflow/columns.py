"""Count the columns of a schema in a table, and what follows from the counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lowlift._arguments import check_instance
from lowlift._audit import Audit, audit
from lowlift._channel import Channel
from lowlift._joint import Joint, Label, unwarned
from lowlift._logs import logged
from lowlift.criteria import Criterion, Population
from lowlift.errors import InvalidInput
from lowlift.tables import Bins, Column, Counts, Origin, Schema, Table, open_table
from lowlift.tables.classes import with_classes

#: The name that the schema had before.
Asked = Schema

_MOST_COLUMNS = 2_000


@dataclass(frozen=True)
class Found:
    """A column of a table, before any is chosen: its kind, different values, missing ones."""

    name: str
    kind: str
    #: None for columns that cannot be counted.
    values: int | None
    missing: int | None


def columns_of(source: Any, *, engine: str | None = None) -> tuple[int, tuple[Found, ...]]:
    """Return the number of rows and what each column is, so that one can choose."""
    with open_table(source, engine) as table:
        if len(table.kinds) > _MOST_COLUMNS:
            raise InvalidInput(
                f"a table must have at most {_MOST_COLUMNS:,} columns to choose from; this one has "
                f"{len(table.kinds):,}. Use a part of it."
            )
        sizes = table.sizes()
        found = tuple(
            Found(name, kind, *sizes.get(name, (None, None))) for name, kind in table.kinds.items()
        )
        return table.rows, found


def count_table(source: Any, asked: Schema, *, engine: str | None = None) -> tuple[Joint, Origin]:
    """Open the table and count S by X in it; the joint carries the columns as they were found."""
    check_instance(asked, Schema, "schema")
    if asked.cells is not None:
        raise InvalidInput(
            "cells are for publishing rows (sanitize, design); columns as they are have none. "
            "Declare bins for numbers instead."
        )
    with open_table(source, engine) as table:
        joint = count(table, asked)[0]
        return joint, joint.origin


@logged(
    "count",
    lambda found: f"{found[1].rows:,} rows, |S| = {found[0].n_s:,}, |X| = {found[0].n_x:,}",
)
def count(table: Table, asked: Schema, cells: Column | None = None) -> tuple[Joint, Counts]:
    """Count S by X in the table: one query. The counts have missing values as values.

    `cells` are those that were learnt of the released columns, where rows are published.
    """
    asked = with_classes(table, asked)
    sensitive = _found(table, asked.sensitive, asked.bins)
    released = _found(table, asked.released, asked.bins) if cells is None else (cells,)
    every = table.count([*sensitive, *released])
    if all(part is None for symbol in every.symbols for part in symbol[: len(sensitive)]):
        names = ", ".join(repr(name) for name in asked.sensitive)
        raise InvalidInput(
            f"a sensitive column must have values; {names} has none in any row. Name another "
            "column, or look at how the table was read."
        )
    counts = every.after_missing(asked.missing)
    origin = table.found(asked, sensitive, released, counts.rows)
    return joint_of(counts, len(sensitive)).with_table(origin), every


def _found(table: Table, names: Sequence[str], bins: Mapping[str, Bins]) -> tuple[Column, ...]:
    return tuple(table.column(name, bins.get(name)) for name in names)


def joint_of(counts: Counts, n_sensitive: int) -> Joint:
    """Return the joint of the counts; one value of S only is nothing to warn of: lifts are 1."""
    if not counts.rows:
        raise InvalidInput("no rows are left to count: every one has a missing value.")
    with unwarned():
        return counts.joint(n_sensitive)


def quiet_joint(counts: Any, s_labels: Iterable[Any], x_labels: Iterable[Any]) -> Joint:
    """Return the joint of an array of counts; see `joint_of`."""
    with unwarned():
        return Joint.from_counts(counts, s_labels, x_labels)


def per_column(
    joint: Joint, channel: Channel, criterion: Criterion, sensitive: Sequence[Column]
) -> tuple[tuple[str, Audit], ...]:
    """Return the audit of each sensitive column alone, when there are several.

    For a convex criterion they follow from the joint's verdict; for others they need not. For the
    population they are left out: those with several values of S are convex.
    """
    if len(sensitive) == 1 or isinstance(criterion, Population):
        return ()
    return tuple(
        (column.name, audit(_marginal(joint, k), channel, criterion))
        for k, column in enumerate(sensitive)
    )


def _marginal(joint: Joint, place: int) -> Joint:
    """Return the counts of one sensitive column by X, from those of several."""
    sums: dict[Label, Any] = {}
    for row, label in zip(joint.counts, joint.s_labels, strict=True):
        name = label[place] if isinstance(label, tuple) else label
        sums[name] = row if name not in sums else sums[name] + row
    return quiet_joint(list(sums.values()), list(sums), joint.x_labels)
