"""Rows that are drawn or looked up by DuckDB, written to a private file."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables import row_keys
from lowlift.tables.dialects import DUCKDB, Expression, table_named
from lowlift.tables.engines import Spool, Values
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import huge, types_of
from lowlift.tables.queries import bound, named
from lowlift.tables.row_plans import RowPlan, in_order


@contextmanager
def drawing(
    sandbox: Sandbox, table: Expression, plan: RowPlan
) -> Iterator[tuple[exp.Select, Values]]:
    """Lend the query that draws the rows of a plan in this process, and what to bind to it."""
    name = f"lookup_{secrets.token_hex(8)}"
    sandbox.register(name, dict(plan.alias))
    try:
        query = plan.query(table, table_named(name), DUCKDB, bound("key"))
        yield query, {"key": plan.key, "null": plan.null}
    finally:
        sandbox.connection.unregister(name)


def spool_rows(sandbox: Sandbox, table: Expression, plan: RowPlan, folder: Path) -> Spool:
    """Draw the rows of a plan and write them to a Parquet file in a private folder."""
    kept = exp.select(*map(named, plan.keep)).from_(table)
    found = types_of(sandbox, kept).values() if plan.keep else ()
    types = huge({f"k{k}": kind for k, kind in enumerate(found)})
    if types:
        texts = {name: f"text_{secrets.token_hex(8)}" for name in plan.keep}
        casts = (exp.cast(named(name), "text").as_(text) for name, text in texts.items())
        table = exp.select(exp.Star(), *casts).from_(table).subquery("exact")
        keep = (texts[n] if f"k{k}" in types else n for k, n in enumerate(plan.keep))
        plan = replace(plan, keep=tuple(keep))
    place = folder / f"spool-{secrets.token_hex(8)}.parquet"
    target = DUCKDB.sql(exp.Literal.string(str(place)))
    with drawing(sandbox, table, plan) as (query, values):
        rows = DUCKDB.sql(in_order(query, len(plan.keep)))
        sandbox.run(f"COPY ({rows}) TO {target} (FORMAT parquet)", values)
    return Spool(place, types)


def spool_keys(
    sandbox: Sandbox,
    table: Expression,
    key: str,
    names: Sequence[str],
    keys: Ints,
    folder: Path,
) -> Spool:
    """Write columns of the rows with these keys to a Parquet file in a private folder, in order.

    The keys are those of rows, (n,), or of a row for each column, (n, columns).
    """
    columns = exp.select(*map(named, names)).from_(table)
    types = types_of(sandbox, columns)
    exact = huge({f"k{k}": types[name] for k, name in enumerate(names)})
    shown = []
    for k, name in enumerate(names):
        value: Expression = named(name, f"t{k if keys.ndim > 1 else 0}")
        shown.append((exp.cast(value, "text") if f"k{k}" in exact else value).as_(f"k{k}"))
    drawn = f"donors_{secrets.token_hex(8)}"
    sandbox.register(drawn, keys_by_name(keys))
    place = folder / f"spool-{secrets.token_hex(8)}.parquet"
    target = DUCKDB.sql(exp.Literal.string(str(place)))
    by_column = keys.ndim > 1
    try:
        rows = row_keys.at_keys(shown, table, key, table_named(drawn), by_column=by_column)
        sandbox.run(f"COPY ({DUCKDB.sql(rows)}) TO {target} (FORMAT parquet)")
    finally:
        sandbox.connection.unregister(drawn)
    return Spool(place, exact)


def keys_by_name(keys: Ints) -> dict[str, Ints]:
    """Return drawn keys as the table that `at_keys` reads: r0, r1, ..., and their order, o."""
    parts = keys.reshape(len(keys), -1).T
    named_keys = {f"r{k}": np.ascontiguousarray(part) for k, part in enumerate(parts)}
    return {**named_keys, "o": np.arange(len(keys))}
