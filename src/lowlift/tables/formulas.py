"""Texts that a spreadsheet would run as formulas."""

from collections.abc import Sequence
from dataclasses import replace

from lowlift.tables.outputs import OutputColumn
from lowlift.tables.sources import file_format

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
    if "://" in target or file_format(target) != "csv":
        return ()
    texts = [text for column in columns if column.kind == "text" for text in column.texts]
    found = sum(bool(text) and str(text).startswith(_FORMULA) for text in texts)
    if not found:
        return ()
    told = (
        f"{found:,} published value{'s begin' if found > 1 else ' begins'} with =, +, -, @ or a "
        "tab, which a spreadsheet may run as a formula. Escape them (escape_formulas, "
        "--escape-formulas), or open the file with something else."
    )
    return (told,)
