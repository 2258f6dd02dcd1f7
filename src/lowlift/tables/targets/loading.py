"""What DuckDB writes to files, databases and frames: output numbers become published columns."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables.background import started
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DUCKDB, Expression, call, number, table_named
from lowlift.tables.draws import Progress, shuffled_codes
from lowlift.tables.engines import Engine, Spool
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import read_parquet, with_types
from lowlift.tables.outputs import Output
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan, by_output
from lowlift.tables.targets import KeyedRows

_ROWS, _OUTPUTS = table_named("rows"), table_named("outputs")
#: Each part of a Parquet file lists the names of an ENUM, so that more of them make it larger.
_MOST_NAMES = 1000
#: Whole numbers of so many bytes.
_TYPES = {1: "utinyint", 2: "usmallint", 4: "uinteger"}


class Writer(KeyedRows):
    """A target that DuckDB writes: the rows come to a sandbox, which stores them (see `Target`)."""

    output: Output
    engine: Engine
    sandbox: Sandbox | None = None
    #: The rows of each output, once they are loaded.
    drawn: Sequence[int]

    def _open(self, paths: Sequence[Path]) -> Sandbox:
        """Return `self.sandbox`, opened with access to these files."""
        raise NotImplementedError

    def _store(self, sandbox: Sandbox) -> None:
        """Write what is loaded."""
        raise NotImplementedError

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order."""
        codes = started(lambda: shuffled_codes(counts, seed), "lowlift shuffle")
        sandbox = self._open([])
        self._load_codes(sandbox, codes.result())
        self.drawn = counts
        self._store(sandbox)
        progress(sum(counts), sum(counts))

    def _load_codes(self, sandbox: Sandbox, codes: npt.NDArray[Any]) -> None:
        """Let the sandbox read the output of each row."""
        sandbox.register("rows", {"y": codes})

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""
        spool = self.engine.spool(plan)
        try:
            sandbox = self._open([spool.path])
            self.drawn = load_spool(sandbox, spool, self.output)
            self._store(sandbox)
        finally:
            spool.path.unlink()
        return self.drawn

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:
        """Write the columns of the rows that were drawn, in this order."""
        spool = self.engine.rows_at(cells, keys, ids)
        try:
            sandbox = self._open([spool.path])
            load_rows(sandbox, spool)
            self.drawn = ()
            self._store(sandbox)
        finally:
            spool.path.unlink()

    def _close(self) -> None:
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None


def load_rows(sandbox: Sandbox, spool: Spool) -> None:
    """Let the sandbox read the rows of a spool."""
    scan = read_parquet([sandbox.link(spool.path, "spool.parquet")])
    query = DUCKDB.sql(exp.select(with_types(spool.types)).from_(scan))
    sandbox.run(f"CREATE TEMP VIEW {DUCKDB.sql(_ROWS)} AS {query}")


def load_spool(sandbox: Sandbox, spool: Spool, output: Output) -> list[int]:
    """Let the sandbox read the rows of a spool; return how many each output has."""
    load_rows(sandbox, spool)
    counts = [0] * len(output.columns[0].texts)
    for y, rows in sandbox.run(by_output(exp.select(named("y")).from_(_ROWS))):
        counts[y] = int(rows)
    return counts


def published(
    sandbox: Sandbox,
    output: Output,
    drawn: Sequence[int] | None = None,
    *,
    is_ordered: bool = True,
) -> exp.Select:
    """Return the query of the published columns, in the order of the loaded rows.

    The outputs' values are one row of lists and each row looks its own up: unlike a join, that
    never changes the order. Where the order is free a join is used, which is faster. Given the rows
    of each output, texts are an ENUM of those drawn: DuckDB writes it to a file as texts, and
    several times as fast.
    """
    if output.cells is not None:
        return loaded(output, "k")
    lists: list[Expression] = []
    values = {}
    for k, column in enumerate(output.columns):
        texts = exp.cast(exp.Placeholder(this=f"v{k}"), "varchar[]")
        shown = [t if drawn is None or drawn[y] else None for y, t in enumerate(column.texts)]
        kind = _enum_of(shown) if drawn is not None and column.kind == "text" else None
        kind = kind or column.width or DUCKDB.types[column.kind]
        # Not exp.cast, which takes all lists for the same type and drops the second cast.
        lists.append(exp.Cast(this=texts, to=exp.DataType.build(f"{kind}[]", dialect="duckdb")))
        values[f"v{k}"] = shown
    if not is_ordered:
        # As `shuffled_codes` has them: no row is cast for the join.
        kind = _TYPES[np.min_scalar_type(len(shown)).itemsize]
        numbers = call("unnest", call("range", number(len(shown))))
        lists = [call("unnest", one) for one in lists]
        lists.append(exp.cast(numbers, kind, dialect="duckdb"))
    looked_up = exp.select(*(one.as_(f"v{k}") for k, one in enumerate(lists)))
    sandbox.run(f"CREATE TEMP TABLE {DUCKDB.sql(_OUTPUTS)} AS {DUCKDB.sql(looked_up)}", values)
    y = exp.cast(named("y", "r"), "bigint")
    released = [
        named(f"v{k}", "o") if not is_ordered else call("list_extract", named(f"v{k}", "o"), y + 1)
        for k in range(len(output.columns))
    ]
    released += [named(f"k{k}", "r") for k in range(len(output.keep))]
    names = zip(released, output.names, strict=True)
    query = exp.select(*(one.as_(name, quoted=True) for one, name in names))
    query = query.from_(exp.alias_(_ROWS.copy(), "r", table=True))
    outputs = exp.alias_(_OUTPUTS.copy(), "o", table=True)
    if is_ordered:
        return query.join(outputs, join_type="cross")
    number_of = named(f"v{len(output.columns)}", "o")
    return query.join(outputs, on=named("y", "r").eq(number_of), join_type="left")


def loaded(output: Output, letter: str) -> exp.Select:
    """Return the query of loaded rows that have the published columns: as k0, k1, ... say."""
    columns = enumerate(output.names)
    return exp.select(
        *(named(f"{letter}{k}", "r").as_(name, quoted=True) for k, name in columns)
    ).from_(exp.alias_(_ROWS.copy(), "r", table=True))


def _enum_of(texts: Sequence[str | None]) -> str | None:
    """Return the ENUM of these texts; None where they are too many, or one cannot be a name."""
    names = dict.fromkeys(text for text in texts if text is not None)
    if not 0 < len(names) <= _MOST_NAMES or any("\0" in name for name in names):
        return None
    return enum(names)


def enum(names: Iterable[str]) -> str:
    """Return DuckDB's type of these names."""
    return f"ENUM({', '.join(DUCKDB.sql(exp.Literal.string(name)) for name in names)})"
