"""How a table is read: what each column is for, and its bins or the cells it takes part in."""

from collections import Counter
from typing import TYPE_CHECKING

from lowlift._wording import counted
from lowlift.encodings.rows import RowChanges
from lowlift.figures.page import Table
from lowlift.tables import Column
from lowlift.tables.bins import bins_text
from lowlift.tables.columns import cells_in

if TYPE_CHECKING:
    from lowlift.report.report import Report

_COLUMNS = 60


def columns_read(report: "Report") -> Table | None:
    """Return the columns: their use, kind and bins; None for joints that were given as arrays."""
    origin = report.origin
    if origin is None:
        return None
    is_cells = origin.cells is not None
    rows = [(one.name, "protected", one.kind, _bins(one, is_cells)) for one in origin.sensitive]
    if origin.cells is None:
        rows += [(one.name, "published", one.kind, _bins(one)) for one in origin.released]
    else:
        cells = cells_in(origin.cells)
        uses = Counter(cells.tree.columns[split.column] for split in cells.tree.splits)
        for name, kind in cells.columns.items():
            how = counted(uses[name], "condition") if uses[name] else "in no condition"
            rows.append((name, "published", kind, how))
    rows += [(name, "left out", "", why) for name, why in report.left_out]
    head = ("column", "use", "kind", "bins" if origin.cells is None else "part in the cells")
    hidden = max(0, len(rows) - _COLUMNS)
    return Table(_caption(report), head, tuple(rows[:_COLUMNS]), (), hidden)


def _bins(column: Column, is_cells: bool = False) -> str:
    """Return the bins of a column; a protected one has no part in cells."""
    if is_cells:
        return "none" if column.bins is None else f"none; bins: {bins_text(column.bins)}"
    return "values as they are" if column.bins is None else bins_text(column.bins)


def _caption(report: "Report") -> str:
    if report.encoded is None or not report.is_rows:
        joint = report.raw.joint
        values = (
            f"{counted(joint.n_s, 'protected value')}, {counted(joint.n_x, report.unit)} to publish"
        )
        return f"The columns, and how their values are told apart: {values}."
    found = RowChanges.of(report.encoded.release)
    parts = f", split into {found.parts:,} parts," if found.parts > found.cells else ""
    return (
        f"The columns, and how often the conditions of the {counted(found.cells, 'cell')}{parts} "
        "ask for them. Cells are learnt without the protected columns. A row is replaced by a row "
        "of its own or of another cell; within that cell by chance."
    )
