"""Rows drawn by digests of their ids and counted here: DuckDB sends ids and symbols.

The digests that DuckDB computes take several times as long. What is drawn is the same.
"""

import secrets
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lowlift._arrays import Ints
from lowlift._threads import cores
from lowlift.tables import queries
from lowlift.tables.dialects import DUCKDB, Expression, table_named
from lowlift.tables.engines import Rows
from lowlift.tables.engines.arrow_stream import Batches, StreamEnded, batches
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.spooling import drawing
from lowlift.tables.row_plans import RowPlan, by_output

#: From this many rows: for fewer, DuckDB's own digests take less than a kernel may take to compile.
FEWEST = 2_000_000
#: The formats of texts, and the kinds of their offsets.
_OFFSETS: dict[bytes, type] = {b"u": np.int32, b"U": np.int64}


def tallied(sandbox: Sandbox, table: Expression, plan: RowPlan) -> Rows:
    """Draw the rows of a stored table and count each output; None for rows that must leave."""
    if plan.numbers is not None and plan.id is not None:
        rows = sandbox.run(queries.rows(table))[0][0]
        found = _by_kernel(sandbox, table, plan, plan.numbers) if rows >= FEWEST else None
        if found is not None:
            return found
    with drawing(sandbox, table, plan) as (query, values):
        return sandbox.run(by_output(query), values)


def _by_kernel(sandbox: Sandbox, table: Expression, plan: RowPlan, numbers: Ints) -> Rows | None:
    """Count the outputs; None where the stream fails, so that DuckDB says why."""
    from lowlift._kernels.compilation import prepare

    prepare("digests")
    pieces = _Pieces(plan, numbers)
    name = f"symbols_{secrets.token_hex(8)}"
    sandbox.register(name, pieces.symbols)
    try:
        query = plan.numbered(table, table_named(name), DUCKDB)
        return sandbox.answer(query, lambda answer: _counted(answer, pieces), {"null": plan.null})
    except StreamEnded:
        return None
    finally:
        sandbox.connection.unregister(name)


class _Pieces:
    """The alias table or the layout of a plan, as the kernel reads it."""

    def __init__(self, plan: RowPlan, numbers: Ints) -> None:
        alias, (slot_bits, place_bits) = plan.alias, plan.bits
        self.bits = slot_bits, place_bits
        self.key = np.frombuffer(plan.key.encode(), ">u4").astype(np.uint32)
        self.n_y = 1 + int(max(alias[name].max() for name in ("first", "other") if name in alias))
        places = (numbers << slot_bits) | alias["slot"]
        if "low" in alias:
            self.ends, self.outputs = alias["high"].copy(), alias["first"].copy()
        else:
            whole = np.full(len(places), 1 << place_bits)
            self.ends = np.column_stack([alias["threshold"], whole]).ravel()
            self.outputs = np.column_stack([alias["first"], alias["other"]]).ravel()
            places = np.repeat(places, 2)
        # Rows are sorted by symbol and slot, and every slot of every symbol has one.
        self.begins = np.flatnonzero(np.diff(places, prepend=-1))
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        texts = {name: alias[name][firsts] for name in plan.places}
        self.symbols = {**texts, "x": np.arange(len(firsts), dtype=np.int32)}


def _counted(relation: object, pieces: _Pieces) -> Rows | None:
    """Count the outputs of all batches, in as many threads as there are cores."""
    with batches(relation) as found:
        if len(found.formats) != 2 or found.formats[0] != b"i" or found.formats[1] not in _OFFSETS:
            return None
        with ThreadPoolExecutor(cores()) as pool:
            parts = list(pool.map(lambda _: _count(found, pieces), range(cores())))
    counts = np.sum(parts, axis=0).tolist()
    return [*enumerate(counts[:-1]), (None, counts[-1])]


def _count(found: Batches, pieces: _Pieces) -> Ints:
    """Take batches until there are no more; return the rows of each output, last of none."""
    from lowlift._kernels.digests import tally, uniform_numbers

    counts, kind = np.zeros(pieces.n_y + 1, np.int64), _OFFSETS[found.formats[1]]
    for batch in found:
        uniform = np.empty(batch.rows, np.int64)
        uniform_numbers(pieces.key, *batch.texts(1, kind), uniform)
        given = pieces.begins, pieces.ends, pieces.outputs, *pieces.bits
        tally(uniform, batch.numbers(0), *given, counts)
    return counts
