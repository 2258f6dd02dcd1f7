"""Rows on their way into DuckDB: output numbers become the published columns."""

from typing import Any

import numpy.typing as npt
from sqlglot import exp

from lowlift.tables.dialects import DUCKDB, call, number
from lowlift.tables.engines import Spool
from lowlift.tables.engines.duckdb import read_parquet
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.outputs import Output
from lowlift.tables.queries import by_output, named

__all__ = ["load_codes", "load_spool", "published"]

_ROWS = exp.Table(this=exp.to_identifier("rows", quoted=True))
_OUTPUTS = exp.Table(this=exp.to_identifier("outputs", quoted=True))


def load_codes(sandbox: Sandbox, codes: npt.NDArray[Any]) -> None:
    """Let the sandbox read output numbers from memory, without a copy."""
    sandbox.register("rows", {"y": codes})


def load_spool(sandbox: Sandbox, spool: Spool, output: Output) -> list[int]:
    """Let the sandbox read the rows of a spool; return how many each output has."""
    scan = read_parquet([sandbox.link(spool.path, "spool.parquet")])
    query = DUCKDB.sql(exp.select("*").from_(scan))
    sandbox.run(f"CREATE TEMP VIEW {DUCKDB.sql(_ROWS)} AS {query}")
    counts = [0] * len(output.columns[0].texts)
    for y, rows in sandbox.run(by_output(exp.select(named("y")).from_(_ROWS))):
        counts[y] = int(rows)
    return counts


def published(sandbox: Sandbox, output: Output) -> exp.Select:
    """Return the query of the published columns, in the order of the loaded rows.

    The outputs' values are one row of lists and each row looks its own up: unlike a join, that
    never changes the order.
    """
    lists, values = [], {}
    for k, column in enumerate(output.columns):
        texts = exp.cast(exp.Placeholder(this=f"v{k}"), "varchar[]")
        name = column.width or DUCKDB.types[column.kind]
        kind = exp.DataType.build(f"{name}[]", dialect="duckdb")
        # Not exp.cast, which takes all lists for the same type and drops the second cast.
        lists.append(exp.Cast(this=texts, to=kind).as_(f"v{k}"))
        values[f"v{k}"] = list(column.texts)
    query = DUCKDB.sql(exp.select(*lists))
    sandbox.run(f"CREATE TEMP TABLE {DUCKDB.sql(_OUTPUTS)} AS {query}", values)
    place = exp.cast(named("y", "r"), "bigint") + number(1)
    shown = [
        call("list_extract", named(f"v{k}", "o"), place.copy()).as_(_quoted(column.name))
        for k, column in enumerate(output.columns)
    ]
    kept = [named(f"k{k}", "r").as_(_quoted(name)) for k, name in enumerate(output.keep)]
    return (
        exp.select(*shown, *kept)
        .from_(exp.alias_(_ROWS.copy(), "r", table=True))
        .join(exp.alias_(_OUTPUTS.copy(), "o", table=True), join_type="cross")
    )


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)
