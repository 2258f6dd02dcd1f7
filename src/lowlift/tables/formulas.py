"""Texts that a spreadsheet would run as formulas."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lowlift._wording import counted
from lowlift.tables.outputs import OutputColumn
from lowlift.tables.sources import file_format

if TYPE_CHECKING:
    from lowlift.tables.table import Table

#: How a formula can begin, by OWASP's list on CSV injection.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def escaped(column: OutputColumn) -> OutputColumn:
    """Return the column with an apostrophe before each text that a spreadsheet would run.

    A text that begins with an apostrophe gets another, so that no two texts become one.

    Examples
    --------
    >>> escaped(OutputColumn("x", "text", ("=1+1", "'=1+1", "a", None))).texts
    ("'=1+1", "''=1+1", 'a', None)
    """
    if column.kind != "text":
        return column
    marked = (*_FORMULA, "'")
    texts = (f"'{text}" if text and text.startswith(marked) else text for text in column.texts)
    return replace(column, texts=tuple(texts))


def formula_warnings(columns: Sequence[OutputColumn], target: str) -> tuple[str, ...]:
    """Return a warning for a CSV with texts that a spreadsheet would run."""
    if not _is_csv(target):
        return ()
    texts = [text for column in columns if column.kind == "text" for text in column.texts]
    found = sum(bool(text) and str(text).startswith(_FORMULA) for text in texts)
    advice = "Escape them (escape_formulas, --escape-formulas)"
    return _told(found, "published value", advice)


def row_warnings(table: "Table", names: Sequence[str], target: str) -> tuple[str, ...]:
    """Return a warning for a CSV of rows with texts that a spreadsheet would run.

    Cost
        One pass of the engine over the columns of texts.
    """
    texts = [name for name in names if table.kinds.get(name) == "text"]
    if not _is_csv(target) or not texts:
        return ()
    found = table.profiling().beginning(texts, _FORMULA)
    advice = "Write Parquet, replace them in the table"
    return _told(found, "value of the rows to publish", advice, "values of the rows to publish")


def _is_csv(target: str) -> bool:
    return "://" not in target and file_format(target) == "csv"


def _told(found: int, one: str, advice: str, more: str = "") -> tuple[str, ...]:
    if not found:
        return ()
    told = (
        f"{counted(found, one, more)} begin{'s' if found == 1 else ''} with =, +, -, @ or a tab, "
        f"which a spreadsheet may run as a formula. {advice}, or open the file with something else."
    )
    return (told,)
