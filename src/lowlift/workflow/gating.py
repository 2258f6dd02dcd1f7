"""Compare what was published with the table, columns and bins that a file asks for now."""

from collections.abc import Iterable
from typing import Any

from lowlift._receipts import Receipt
from lowlift.errors import InvalidInput
from lowlift.tables import Origin, Schema, Table, open_table
from lowlift.tables.classes import with_classes
from lowlift.tables.columns import Column, cells_in
from lowlift.workflow.rows import named_columns, needs_bins
from lowlift.workflow.standing import refuse_other_table


def refuse_other(
    source: Any,
    asked: Schema,
    origin: Origin,
    receipt: Receipt,
    *,
    identity: str | None = None,
    engine: str | None = None,
) -> None:
    """Refuse what was published of another table, or with other columns or bins.

    Parameters
    ----------
    source, engine
        The table. A table that has no digest is not compared here, as in `standing_of`.
    asked
        The columns as the file has them now.
    origin, receipt
        Of what was published.
    identity
        The column of ids that draws depend on, which is never published by default.

    Raises
    ------
    InvalidInput
        When the table, a column or its bins are others.
    """
    with open_table(source, engine) as table:
        refuse_other_table(table, receipt.source_sha256, receipt.output)
        other = _difference(table, with_classes(table, asked), origin, identity)
    if other:
        raise InvalidInput(
            f"{receipt.output} must be published by the columns and bins of the file; {other}. "
            "Publish it again, under another out."
        )


def refuse_unnamed(source: Any, asked: Schema, *, engine: str | None = None) -> None:
    """Refuse a table that leaves as it is and has columns that nobody named: they are not judged.

    Raises
    ------
    InvalidInput
        When it has a column that is neither sensitive nor released.
    """
    with open_table(source, engine) as table:
        other = [name for name in table.kinds if name not in asked.names]
    if other:
        raise InvalidInput(
            "a table that leaves as it is must have no columns but the sensitive and the released "
            f"ones, which alone are judged; it also has {_listed(other)}. Name them in released, "
            "or say others_stay = true if only the released columns leave."
        )


def _difference(table: Table, asked: Schema, origin: Origin, identity: str | None) -> str:
    """Return in which way a table was published otherwise than it is asked for; or ""."""
    if asked.missing != origin.missing:
        return f"missing values were read by {origin.missing!r}, not {asked.missing!r}"
    cells = origin.cells
    if asked.cells is not None and cells is None:
        return "the file asks for rows, and they are none"
    published = [name for column in origin.released for name in column.names]
    wanted = named_columns(table, asked, identity)
    if set(published) != set(wanted):
        return f"it has {_listed(published)}, and the file names {_listed(wanted)}"
    if cells is not None:
        binned = [name for name in cells_in(cells).columns if name in asked.bins]
        columns: tuple[Column, ...] = origin.sensitive
    else:
        binned, columns = [], origin.columns
    binned += [column.name for column in columns if not _is_same(table, column, asked)]
    return f"it has other bins of {_listed(binned)}" if binned else ""


def _is_same(table: Table, column: Column, asked: Schema) -> bool:
    """Tell whether a column is read as it is asked for now; quantiles are found again."""
    bins = asked.bins.get(column.name)
    if bins is None and needs_bins(table, column.name):
        return False
    return table.column(column.name, bins) == column


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
