"""What the analyst gets of a published table: compared with its source, rows by simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift._cells.utility import Utility, compare, with_changes
from lowlift._channel import Channel
from lowlift._draw import draw
from lowlift._release import Release
from lowlift.errors import InvalidInput
from lowlift.tables import Column, Origin, Table, open_table
from lowlift.tables.cells import MOST_ROWS, ORDERED, as_values
from lowlift.workflow.attack import attacks, task_score

#: Pairs of a row and its published row that are drawn, at least: shares are then good to 0.005.
_PAIRS = 50_000


def compare_tables(
    source: Any,
    published: Any,
    columns: Sequence[str] | None = None,
    *,
    release: Release | None = None,
    attack: bool = False,
    task: str | None = None,
    engine: str | None = None,
) -> Utility:
    """Compare a published table with its source; see `lowlift.compare`.

    Raises
    ------
    InvalidInput
        For columns that a table does not have, or a release that was designed on another table.
    MissingExtra
        When scores are asked for and scikit-learn is not installed.

    Cost
        At most 100,000 rows of each table are read.
    """
    origin = None if release is None else release.origin
    cells = None if origin is None else origin.cells
    if cells is None and (release is not None or attack or task is not None):
        raise InvalidInput(
            "what becomes of a row, an attack and a task are told by a release that publishes "
            "rows from cells; none is given. Give the release, or leave them out."
        )
    with open_table(source, engine) as table:
        with open_table(published, "spark" if engine == "spark" else None, is_text=True) as other:
            names = _names(table, other, columns)
            after = _columns(other.sample(names, (), MOST_ROWS), names)
            is_sample = max(table.rows, other.rows) > MOST_ROWS
            types = [
                [(t.kinds[name], t.widths.get(name)) for name in names] for t in (table, other)
            ]
        symbols = [] if origin is None or cells is None else _symbols(origin, cells, table)
        rows = table.sample(names, symbols, MOST_ROWS)
        kinds = {name: table.kinds[name] for name in names}
    before = _columns(rows, [*names, *map(str, range(len(symbols)))])
    values = {name: _both(before[name], after[name], kinds[name]) for name in names}
    ours, theirs = ({name: pair[k] for name, pair in values.items()} for k in (0, 1))
    # Rows are chosen by a hash of their values, which equal rows share if their types are equal.
    are_samples = is_sample and types[0] != types[1]
    found = replace(compare(ours, theirs, are_samples=are_samples), is_sample=is_sample)
    if cells is None or release is None:
        return found
    x = _numbers_of(before["0"], release.joint.x_labels)
    repeated = np.tile(np.arange(len(x)), max(1, -(-_PAIRS // len(x))))
    found = with_changes(found, ours, *published_for(release.channel, x, repeated))
    scores: list[Any] = []
    if attack:
        sensitive = list(zip(*(before[str(k)] for k in range(1, len(symbols))), strict=True))
        here, donors = published_for(release.channel, x, np.arange(len(x)), seed=1)
        scores += attacks(ours, sensitive, here, donors)
    if task is not None:
        if task not in ours or len(ours) < 2:
            raise InvalidInput(f"task must be one of two or more columns compared; got {task!r}.")
        scores += task_score(
            ours,
            task,
            lambda train: published_for(release.channel, x[train], np.arange(len(train))),
        )
    return replace(found, scores=tuple(scores))


def published_for(channel: Channel, x: Ints, rows: Ints, seed: int = 0) -> tuple[Ints, Ints]:
    """Draw a published row for rows of a table, as publishing does.

    Parameters
    ----------
    channel
        From cells to cells.
    x
        The number of the cell of each row of the table, as a symbol of X.
    rows
        Numbers of rows to draw for; a row may occur several times.

    Returns
    -------
    The rows, and for each the row that is published. Rows for which a cell was drawn that no row of
    the table is in are left out; there are none in the table that the release was designed on.
    """
    target = np.array([channel.x_labels.index(label) for label in channel.y_labels])
    cells = target[draw(channel, x[rows], seed)]
    there = np.bincount(x, minlength=channel.n_x)[cells] > 0
    return rows[there], row_within(x, cells[there], np.random.default_rng([seed, 1]))


def row_within(x: Ints, cells: Ints, rng: np.random.Generator) -> Ints:
    """Return for each of these cells a row that is in it; `x` has the cell of each row."""
    order, sizes = np.argsort(x, kind="stable"), np.bincount(x)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(order[starts[cells] + rng.integers(0, sizes[cells])])


def _symbols(origin: Origin, cells: Column, table: Table) -> list[Column]:
    """Return the cells and S as columns to read, of the very table that they are of."""
    table.check_columns([cells, *origin.sensitive])
    known = origin.sha256
    if known is not None and table.sha256() not in {None, known}:
        raise InvalidInput(
            "the source must be the table that the release was designed on; its digest is another. "
            "Name that table, or leave the release out."
        )
    return [cells, *origin.sensitive]


def _names(table: Table, other: Table, columns: Sequence[str] | None) -> list[str]:
    """Return the columns to compare: those named, or those of the published table."""
    asked = list(dict.fromkeys([columns] if isinstance(columns, str) else columns or other.kinds))
    for name in asked:
        table.check_name(name)
        other.check_name(name)
        if table.kinds[name] == "other":
            raise InvalidInput(f"column {name!r} has a type that cannot be compared. Leave it out.")
    return asked


def _columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _both(
    before: Sequence[Any], after: Sequence[Any], kind: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return both columns as numbers or as categories; texts of a CSV are read by the kind."""
    try:
        return as_values(before, kind), as_values([_read(v, kind) for v in after], kind)
    except (TypeError, ValueError):  # such as groups of ages where ages were
        found = [
            np.array([None if v is None else str(v) for v in x], object) for x in (before, after)
        ]
        return found[0], found[1]


def _read(value: Any, kind: str) -> Any:
    if not isinstance(value, str):
        return value
    if kind == "boolean":
        if value not in {"true", "false"}:
            raise ValueError
        return value == "true"
    if kind == "date":
        return date.fromisoformat(value)
    if kind == "timestamp":
        return datetime.fromisoformat(value)
    return float(value) if kind in ORDERED else value


def _numbers_of(texts: Sequence[str], labels: Sequence[Any]) -> Ints:
    number = {str(label): x for x, label in enumerate(labels)}
    found = np.array([number.get(text, -1) for text in texts], np.int64)
    if (found < 0).any():
        raise InvalidInput(
            "the source must be the table that the release was designed on; "
            f"{(found < 0).sum():,} rows are in cells that had none."
        )
    return found
