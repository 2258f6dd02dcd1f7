"""A table before any column is chosen: its rows, and what each column's own counts tell."""

from dataclasses import dataclass
from typing import Any

from lowlift.tables import open_table
from lowlift.workflow.profiles import ColumnProfile
from lowlift.workflow.profiling import flagged


@dataclass(frozen=True)
class Overview:
    """The rows of a table and its columns, in the table's order."""

    rows: int
    columns: tuple[ColumnProfile, ...]

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column."""
        return {column.name: column.kind for column in self.columns}

    @property
    def publishable(self) -> tuple[str, ...]:
        """The columns to publish when none is named, S among them: all but identifiers."""
        return tuple(column.name for column in self.columns if not column.is_withheld)


def overview_of(source: Any, *, engine: str | None = None) -> Overview:
    """Return the rows of a table and what each column is, so that one can choose."""
    with open_table(source, engine) as table:
        return Overview(table.rows, flagged(table, ()))
