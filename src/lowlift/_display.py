"""Results as a notebook shows them: one small HTML card that needs nothing else, or a frame."""

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lowlift.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

#: Outputs, symbols or rows that a card shows.
MOST = 8

_COLOURS = {"good": "#00694b", "bad": "#9a2f00", "plain": "#555555"}
_BOX = (
    "font:13px/1.5 system-ui,sans-serif;max-width:46em;padding:.6em .9em;"
    "border:1px solid rgba(128,128,128,.45);border-radius:6px"
)
_WORD = (
    "display:inline-block;white-space:nowrap;color:#fff;background:{};border-radius:4px;"
    "padding:0 .55em;margin-left:.6em"
)
_CELL = "padding:.1em .9em .1em 0;text-align:{};vertical-align:top;background:none;border:0"
_TABLE = "font:inherit;color:inherit;border-collapse:collapse;margin:.5em 0 0;border:0"


def card(
    title: str,
    *,
    word: str = "",
    tone: str = "plain",
    text: str = "",
    facts: Iterable[tuple[str, str]] = (),
    head: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    left_off: str = "",
) -> str:
    """Return facts and a table as HTML that needs no style sheet and no script; all is escaped.

    Parameters
    ----------
    title
        What is shown.
    word, tone
        The verdict, and its colour: "good", "bad" or "plain".
    text
        A sentence below the title.
    facts
        Names and values.
    head, rows
        A table; its first column is text, the others are numbers.
    left_off
        What the table does not show.

    Examples
    --------
    >>> "&lt;b&gt;" in card("<b>", facts=[("sizes", "2")])
    True
    """
    parts = [f'<strong style="font-size:1.1em">{_safe(title)}</strong>']
    if word:
        parts.append(f'<span style="{_WORD.format(_COLOURS[tone])}">{_safe(word)}</span>')
    if text:
        parts.append(f'<div style="margin-top:.3em">{_safe(text)}</div>')
    lines = "".join(_row(line, "td", ("left", "left")) for line in facts)
    if lines:
        parts.append(f'<table style="{_TABLE}">{lines}</table>')
    if head:
        sides = ("left", *("right" for _ in head[1:]))
        body = "".join(_row(cells, "td", sides) for cells in rows)
        parts.append(f'<table style="{_TABLE}">{_row(head, "th", sides)}{body}</table>')
    if left_off:
        parts.append(f'<div style="opacity:.75">{_safe(left_off)}</div>')
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _row(cells: Sequence[str], tag: str, sides: Sequence[str]) -> str:
    found = (
        f'<{tag} style="{_CELL.format(side)}">{_safe(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="background:none">{"".join(found)}</tr>'


def _safe(text: str) -> str:
    """Return text for HTML; halves of surrogate pairs, which UTF-8 cannot hold, are replaced."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def text_table(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Return rows of texts in columns of one width, those numbered in `left` from the left.

    Examples
    --------
    >>> text_table([("ward", "rows"), ("a", "12")])
    ['ward  rows', 'a       12']
    """
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def frame(content: Any, columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return `pandas.DataFrame(content, columns=columns)`.

    Raises
    ------
    MissingExtra
        Without pandas.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("pandas is needed: pip install 'lowlift[sklearn]'") from error
    return pd.DataFrame(content, columns=columns)
