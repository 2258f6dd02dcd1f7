"""From a table to the joint distribution of its columns S and X."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lowlift._joint import Joint
from lowlift._logs import logged
from lowlift.errors import InvalidInput
from lowlift.tables.bins import Bins, as_bins_by_name
from lowlift.tables.classes import with_classes
from lowlift.tables.schema import Schema, column_names
from lowlift.tables.table import open_table


@logged("count", lambda joint: f"|S| = {joint.n_s:,}, |X| = {joint.n_x:,}")
def read_joint(
    source: Any,
    sensitive: Schema | str | Sequence[str],
    released: str | Sequence[str] | None = None,
    *,
    bins: Mapping[str, Bins | str | Sequence[float]] | None = None,
    missing: str = "value",
    engine: str | None = None,
) -> Joint:
    """Count a table's columns S and X into their joint distribution, exactly.

    Parameters
    ----------
    source, engine
        As for `open_table`.
    sensitive, released
        The columns of S and of X; several columns are one symbol, a tuple. Or a `Schema` alone.
    bins, missing
        As for `Schema`. A column of numbers in S needs no bins if it has at most 20 values.

    Raises
    ------
    InvalidInput
        For a table or columns that cannot be counted; no value of the table is in the message.

    Guarantee
        The same rows give the same joint, labels in the same order, from every source. The joint
        knows its columns (`Joint.schema`), so that a release of it can be applied to a table.

    Cost
        One GROUP BY in the engine; only the counts leave it. Files are hashed.

    Examples
    --------
    >>> import duckdb
    >>> people = duckdb.sql("select i % 3 as ward, i % 2 as ill from range(12) t(i)")
    >>> schema = Schema("ill", "ward", bins={"ill": "each", "ward": "each"})
    >>> read_joint(people, schema)
    <Joint |S|=2 |X|=3>
    """
    if isinstance(sensitive, Schema):
        if released is not None or bins is not None or missing != "value":
            raise InvalidInput("give a schema, or the columns with bins and missing, not both.")
        schema = sensitive
    else:
        if released is None:
            raise InvalidInput("released must be the name of a column or a list of names; none is.")
        schema = Schema(
            tuple(column_names(sensitive, "sensitive")),
            tuple(column_names(released, "released")),
            as_bins_by_name(bins),
            missing,
            encoding="codes",
        )
    with open_table(source, engine) as table:
        schema = with_classes(table, schema)
        columns = [table.column(name, schema.bins.get(name)) for name in schema.names]
        counts = table.count(columns, missing=schema.missing)
        size = len(schema.sensitive)
        found = table.found(schema, columns[:size], columns[size:], counts.rows)
        found = replace(found, encoding=found.encoding or "values")
        return counts.joint(size).with_table(found)
