"""What our docstrings write plainly, made into what napoleon and reStructuredText read.

Sections "Guarantee" and "Cost" have no line under them; ``|X|`` is the size of X.
"""
# ruff: noqa: INP001

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from sphinx.application import Sphinx

SECTIONS = {"Guarantee", "Cost"}
LITERAL = re.compile(r"(``.*?``)")
ARRAY = re.compile(
    r"~?numpy\.ndarray\[~?\w+\[~?[\w.]+, \.\.\.\], ~?numpy\.dtype\[~?(?:[\w.]*\.)?(\w+)\]\]"
)


def with_sections(lines: list[str]) -> list[str]:
    """Rewrite ``Guarantee`` over an indented block as a section of numpydoc."""
    out: list[str] = []
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        out.append(line)
        if line not in SECTIONS:
            continue
        out.append("-" * len(line))
        start = place
        while place < len(lines) and (not lines[place] or lines[place].startswith(" ")):
            place += 1
        out += [*textwrap.dedent("\n".join(lines[start:place])).splitlines(), ""]
    return out


def with_bars(lines: list[str]) -> list[str]:
    """Escape bars outside literals and examples."""
    out, literal, example = [], False, False
    for line in lines:
        if line and not line.startswith(" "):
            literal = False
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not (literal or example):
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            out.append("".join(parts))
        else:
            out.append(line)
        literal = literal or line.endswith("::")
    return out


#: Docstrings of attributes while napoleon runs: what stands before a colon is no type.
KEPT: dict[str, list[str]] = {}


def in_words(value: Any) -> str:
    """Return what a constant holds."""
    if isinstance(value, Mapping | tuple):
        return ", ".join(f"``{part}``" for part in value) + "."
    return f"``{value!r}``"


def rewrite(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, before napoleon."""
    del app, options
    lines[:] = with_bars(with_sections(lines))
    if what == "data" and inspect.getdoc(obj) == inspect.getdoc(type(obj)):
        lines[:] = [in_words(obj)]  # a constant has its type's docstring
    if what in {"attribute", "data", "property"}:
        KEPT[name] = lines[:]
        lines[:] = ["Kept."]


def restore(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Give attributes their docstring back, after napoleon."""
    del app, what, obj, options
    if name in KEPT:
        lines[:] = KEPT.pop(name)


def shorten(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    given: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Write an array's type as ``ndarray[float64]``."""
    del app, what, name, obj, options

    def short(text: str | None) -> str | None:
        return text and ARRAY.sub(r"ndarray[\1]", text).replace("<factory>", "...")

    return short(given), short(returned)


def setup(app: Sphinx) -> dict[str, bool]:
    """Run around napoleon."""
    app.connect("autodoc-process-docstring", rewrite, priority=100)
    app.connect("autodoc-process-docstring", restore, priority=900)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
