"""``{live}``: a block of Python that runs when the site is built, with what it prints.

The blocks of a page are one session. What a block raises ends the build. With ``:output-only:`` the
code is not shown.
"""
# ruff: noqa: INP001

import contextlib
import io
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Live(SphinxDirective):
    """Run, and show code and output."""

    has_content = True
    option_spec: ClassVar = {"output-only": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return two literal blocks."""
        sessions: dict[str, dict[str, Any]] = self.env.temp_data.setdefault("live_sessions", {})
        session = sessions.setdefault(self.env.docname, {"__name__": "live"})
        source, printed = "\n".join(self.content), io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, f"{self.env.docname}:{self.lineno}", "exec"), session)  # noqa: S102 (our own pages)
        out: list[nodes.Node] = []
        is_shown = "output-only" not in self.options
        if is_shown:
            out.append(nodes.literal_block(source, source, language="python"))
        text = printed.getvalue().rstrip()
        if text:
            out.append(
                nodes.literal_block(text, text, language="text", classes=["live-output"] * is_shown)
            )
        return out


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("live", Live)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
