"""``{picture} module.function``: the SVG that a function of docs/_pictures returns, in the page."""
# ruff: noqa: INP001

import importlib
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Picture(SphinxDirective):
    """Draw at build time; what the function raises ends the build."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        """Return a figure with its caption."""
        name, function = self.arguments[0].rsplit(".", 1)
        module = importlib.import_module(f"_pictures.{name}")
        self.env.note_dependency(str(module.__file__))
        figure = nodes.figure(classes=["picture", *self.options.get("class", [])])
        figure += nodes.raw("", getattr(module, function)(), format="html")
        if self.content:
            caption = nodes.caption()
            inline, messages = self.state.inline_text(" ".join(self.content), self.lineno)
            caption += inline
            figure += [caption, *messages]
        self.set_source_info(figure)
        return [figure]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
