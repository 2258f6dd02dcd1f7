"""``.. everything-else:: module``: the public names of a module that no page lists."""
# ruff: noqa: INP001

import contextlib
import functools
import importlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LISTED = re.compile(r"^\.\. auto\w+:: (\S+)", re.MULTILINE)


def found(name: str) -> object:
    """Return the object that a dotted name means."""
    parts = name.split(".")
    for cut in range(1, len(parts) + 1):
        with contextlib.suppress(AttributeError):
            return functools.reduce(
                getattr, parts[cut:], importlib.import_module(".".join(parts[:cut]))
            )
    raise ModuleNotFoundError(name)


class EverythingElse(SphinxDirective):
    """List what is public and not listed, so that no name is forgotten."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        pages = (Path(self.env.srcdir) / "reference").glob("*.rst")
        listed = [name for page in pages for name in LISTED.findall(page.read_text("utf-8"))]
        known = {id(found(name)) for name in listed}
        module = importlib.import_module(self.arguments[0])
        lines: list[str] = []
        for name in module.__all__:
            value = getattr(module, name)
            if id(value) in known or inspect.ismodule(value):
                continue
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            option = {"class": "   :members:", "data": "   :no-value:"}.get(kind, "")
            lines += [f".. auto{kind}:: {module.__name__}.{name}", option, ""]
        return self.parse_text_to_nodes(StringList(lines, self.get_source_info()[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("everything-else", EverythingElse)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
