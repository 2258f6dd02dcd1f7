"""From a draw to a written output: check, count, draw, write, read back, publish."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._wording import counted
from lowlift.errors import InvalidInput
from lowlift.tables.alias import key_text
from lowlift.tables.columns import Column
from lowlift.tables.counts import Counts
from lowlift.tables.donor_plans import DonorPlan, refuse_many
from lowlift.tables.draws import Draw, Progress, lookup_of_cells, one_time_key, rows_per_output
from lowlift.tables.engines import Engine, refuse_ids
from lowlift.tables.layouts import lookup
from lowlift.tables.outputs import Applied, Output
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import Frame, file_format
from lowlift.tables.staging import ReadBack, Staged, read_back, read_back_cells
from lowlift.tables.targets import Target, open_target

if TYPE_CHECKING:
    from lowlift.tables.table import Table

_ID_KINDS = frozenset({"integer", "text", "uuid"})


@contextmanager
def staged(
    table: "Table",
    engine: Engine,
    draw: Draw,
    output: Output,
    progress: Progress,
    counts: Counts | None = None,
) -> Iterator[Staged]:
    """Draw and write under a temporary name; see `Table.stage`."""
    _check(table, draw, output)
    if output.keep_order and not _can_keep_order(engine, output):
        raise InvalidInput(
            "an order can be kept only from files and frames that DuckDB reads, to a file or to a "
            "pandas, polars or Arrow frame; this is another case. Leave keep_order out."
        )
    target = open_target(output, engine)
    try:
        if counts is None:
            counts = table.count(draw.columns, missing=draw.missing)
        rows, unseen = _rows_per_symbol(draw, counts)
        if draw.id is not None and not (engine.checks_ids_drawn and _is_by_row(draw, output)):
            refuse_ids(*engine.ids(draw.id))
        if output.cells is None:
            written = _write(engine, draw, output, target, rows, progress)
        else:
            written = _write_donors(engine, draw, output, target, rows, progress)
        expected = counts.rows - unseen
        if sum(written) != expected or counts.rows + counts.dropped != table.rows:
            raise InvalidInput(
                f"a table must not change while it is read; {table.description} did: "
                f"{expected} rows were counted, {sum(written)} drawn. Nothing was published."
            )
        found = _read_back(target, output, written, draw)
        engine.check_unchanged()
        numbers = tuple(int(number) for number in written)
        applied = Applied(table.rows, expected, counts.dropped, unseen, found.sha256, numbers)
        yield Staged(applied, found, target)
    finally:
        target.discard()


def _can_keep_order(engine: Engine, output: Output) -> bool:
    if output.target is not None:
        return engine.has_order and file_format(output.target) is not None
    source = engine.source
    is_relation = isinstance(source, Frame) and source.library == "duckdb"
    return engine.has_order and not is_relation


def _read_back(target: Target, output: Output, written: Sequence[int], draw: Draw) -> ReadBack:
    """Read what was written, and refuse it unless it is exactly what was drawn."""
    from lowlift.tables.table import Table

    with target.written() as engine:
        if output.cells is not None:
            found = read_back_cells(Table(engine), output.cells, draw.outputs)
        else:
            found = read_back(Table(engine), output.columns)
    if output.cells is not None:
        _refuse_other(found, output, list(map(int, written)))
        return found
    same: dict[tuple[str | None, ...], int] = {}
    drawn = [0] * len(written)
    for y, texts in enumerate(zip(*(column.written for column in output.columns), strict=True)):
        drawn[same.setdefault(texts, y)] += int(written[y])
    _refuse_other(found, output, drawn)
    return found


def _refuse_other(found: ReadBack, output: Output, drawn: list[int]) -> None:
    """Refuse what was read back unless it is exactly what was drawn."""
    if found.unknown or list(found.counts) != drawn or found.names != output.names:
        raise InvalidInput(
            f"{output.description} must have the {sum(drawn)} rows that were drawn; read back: "
            f"{found.rows} rows, {found.unknown} of them no output. Nothing was published."
        )


def _check(table: "Table", draw: Draw, output: Output) -> None:
    draw.texts()
    for column in draw.columns:
        table.check_column(column)
    for name in output.keep:
        table.check_name(name)
    for made in output.columns:
        if len(made.texts) != draw.channel.n_y:
            raise InvalidInput(
                f"output column {made.name!r} must have a text for each of the "
                f"{draw.channel.n_y} outputs; it has {len(made.texts)}."
            )
    if draw.id is not None:
        table.check_name(draw.id)
        if table.kinds[draw.id] not in _ID_KINDS:
            raise InvalidInput(
                f"an id column must be integer, text or uuid; {draw.id!r} is "
                f"{table.kinds[draw.id]}. Cast it in a view."
            )


def _rows_per_symbol(draw: Draw, counts: Counts) -> tuple[list[int], int]:
    """Return how many rows each symbol of the channel has, and how many have an unseen one."""
    several = len(draw.columns) > 1
    places = {label: x for x, label in enumerate(draw.symbols)}
    rows, unseen, kinds = [0] * len(places), 0, 0
    for labels, number in zip(counts.symbols, counts.counts, strict=True):
        x = places.get(labels if several else labels[0])
        if x is None:
            unseen, kinds = unseen + number, kinds + 1
        else:
            rows[x] += number
    if unseen and draw.unseen == "error":
        raise InvalidInput(
            f"every value must have been seen at design; {counted(unseen, 'row has', 'rows have')} "
            f"{counted(kinds, 'unseen value')}. Design again on this table, or suppress such rows."
        )
    return rows, unseen


def _is_by_row(draw: Draw, output: Output) -> bool:
    """Tell whether the engine draws row by row; a function of x needs no draws, keyed or not."""
    is_random = draw.id is not None and (draw.channel.denominator > 1 or output.cells is not None)
    return bool(output.keep) or output.keep_order or is_random


def _write(
    engine: Engine,
    draw: Draw,
    output: Output,
    target: Target,
    rows: list[int],
    progress: Progress,
) -> list[int]:
    steps = 2 * sum(rows)
    progress(0, steps)
    if output.keep or output.keep_order:
        order = "kept" if output.keep_order else "shuffled"
        written = target.write_rows(_row_plan(draw, output.keep, order))
        progress(steps, steps)
        return list(written)
    if not _is_by_row(draw, output):
        drawn = rows_per_output(
            draw.channel, rows, draw.seed, lambda done: progress(done, steps)
        ).tolist()
    else:
        drawn = _keyed(engine, draw)
    half = sum(rows)
    progress(half, steps)
    target.write_counts(drawn, draw.seed, lambda done, _: progress(half + done, steps))
    return list(drawn)


def _write_donors(
    engine: Engine,
    draw: Draw,
    output: Output,
    target: Target,
    rows: list[int],
    progress: Progress,
) -> list[int]:
    """Draw a cell for each row, then a row of that cell; the row itself plays no further part.

    Or, for each column, another row of that cell. By a key both are functions of the row's id.
    """
    cells: Any = output.cells
    steps = 2 * sum(rows)
    if draw.id is not None:
        refuse_many(sum(rows))
        progress(0, steps)
        found = target.write_keyed(_donor_plan(draw, cells, draw.id, by_column=output.by_column))
        progress(steps, steps)
        return [found.get(cell, 0) for cell in draw.outputs]
    columns = len(output.names) if output.by_column else None
    drawn = rows_per_output(draw.channel, rows, draw.seed, lambda done: progress(done, steps))
    by_cell = dict(zip(draw.outputs, drawn.tolist(), strict=True))
    target.write_donors(cells, engine.donors(cells, by_cell, draw.seed, columns))
    progress(steps, steps)
    return list(drawn.tolist())


def _donor_plan(draw: Draw, cells: Column, identity: str, *, by_column: bool) -> DonorPlan:
    """Return how rows are drawn by a key; outputs and symbols are cells by their numbers."""
    alias, bits = lookup_of_cells(draw)
    key = key_text(draw.subkey or b"")
    return DonorPlan(cells, alias, bits, key, identity, by_column)


def _keyed(engine: Engine, draw: Draw) -> list[int]:
    """Return how many rows each output gets by the digests of their ids."""
    drawn = [0] * draw.channel.n_y
    for y, number in engine.tally(_row_plan(draw, (), None)):
        if y is not None:
            drawn[int(y)] += int(number)
    return drawn


def _row_plan(draw: Draw, keep: tuple[str, ...], order: str | None) -> RowPlan:
    """Return how each row is drawn."""
    null = secrets.token_hex(16)
    # A draw without an id is made by the row's number, which repeats nothing.
    symbols, columns, bits = lookup(draw.channel, draw.layout if draw.id is not None else None)
    texts = {
        f"c{k}": np.array([null if t is None else t for t in part], object)[symbols]
        for k, part in enumerate(zip(*draw.texts(), strict=True))
    }
    key = one_time_key(draw.seed) if draw.subkey is None else draw.subkey
    return RowPlan(
        columns=draw.columns,
        alias=texts | columns,
        bits=bits,
        key=key_text(key),
        null=null,
        id=draw.id,
        keep=keep,
        order=order,
        drop_missing=draw.missing == "drop",
        numbers=symbols,
    )
