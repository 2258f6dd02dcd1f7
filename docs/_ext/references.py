"""Links for names in single backticks: from anywhere, to the one public thing that is so called.

A lower-case word that is no function of ours is an argument, and stays code.
"""
# ruff: noqa: INP001

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

KINDS = {"class", "exception", "function", "module", "data"}


def candidates(env: BuildEnvironment, target: str) -> list[tuple[str, Any]]:
    """Return the documented objects whose name ends so, shortest first."""
    found = []
    for name, entry in env.domains["py"].objects.items():
        if name.endswith(f".{target}") and (entry.objtype in KINDS or "." in target):
            found.append((name, entry))
    return sorted(found, key=lambda pair: (pair[1].aliased, len(pair[0])))


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.reference | None:
    """Return a link to the object, if there is one."""
    if node.get("refdomain") != "py":
        return None
    found = candidates(env, node["reftarget"].removeprefix("lowlift."))
    if not found:
        return None
    name, entry = found[0]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Look when Sphinx has found nothing."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
