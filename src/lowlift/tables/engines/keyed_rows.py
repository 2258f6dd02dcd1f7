"""Rows drawn by a key in DuckDB: which row of the table is published for each."""

from collections.abc import Mapping

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables.dialects import DUCKDB, Expression, table_named
from lowlift.tables.donor_plans import DonorPlan, empty_cells, keys_of
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.queries import bound, named

_ALIAS, _DRAWN = "slots_of_cells", "drawn_cells"


def donors_by_key(
    sandbox: Sandbox, given: Expression, plan: DonorPlan
) -> tuple[dict[int, int], Ints]:
    """Return how many rows each cell gets, and the rows that are published, in their order.

    `given` has of each row its cell c, its id t and its number r. Rows whose cell the channel does
    not know get none.

    Raises
    ------
    InvalidInput
        When a cell is drawn that has no rows.
    """
    sandbox.register(_ALIAS, dict(plan.alias))
    table = table_named(_DRAWN, "main", "temp")
    name = DUCKDB.sql(table)
    try:
        drawn = plan.drawn(given, table_named(_ALIAS), DUCKDB, bound("key"), ("r",))
        sandbox.run(f"CREATE TEMP TABLE {name} AS {DUCKDB.sql(drawn)}", {"key": plan.key})
        rows = _arrays(
            sandbox,
            exp.select(named("c"), named("r")).from_(table).order_by(*map(named, ("c", "d", "t"))),
        )
        found = _arrays(
            sandbox,
            exp.select(*map(named, ("y", *plan.numbers)))
            .from_(table)
            .where(exp.Not(this=named("y").is_(exp.null())))
            .order_by(named("o")),
        )
    finally:
        sandbox.connection.unregister(_ALIAS)
        sandbox.run(f"DROP TABLE IF EXISTS {name}")
    counts = _counted(found["y"])
    empty_cells(counts, _counted(rows["c"]))
    numbers = found["v0"]
    if plan.by_column:
        numbers = np.column_stack([found[name] for name in plan.numbers])
    return counts, keys_of(numbers, found["y"], rows["c"], rows["r"])


def _arrays(sandbox: Sandbox, query: exp.Select) -> Mapping[str, Ints]:
    return sandbox.answer(query, lambda answer: answer.fetchnumpy())


def _counted(cells: Ints) -> dict[int, int]:
    found, sizes = np.unique(cells, return_counts=True)
    return dict(zip(found.tolist(), sizes.tolist(), strict=True))
