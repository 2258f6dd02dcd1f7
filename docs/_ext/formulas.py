"""Formulas as inline SVG, drawn by matplotlib's mathtext: no script, no font, no picture file.

The ink is the text's colour, the size is in em, and the TeX source is the label for readers that do
not see.
"""
# ruff: noqa: INP001

import html
from typing import Any

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath, TextToPath
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

#: Units of one em: coordinates are then whole numbers.
EM = 1000
SCALE = 1.12
LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def outline(path: Path) -> str:
    """Return a path as the value of an SVG attribute d, y downwards."""
    parts = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            parts.append("Z")
            continue
        ends = [f"{x:.0f} {-y:.0f}" for x, y in points.reshape(-1, 2)]
        parts.append(LETTERS[code] + " ".join(ends))
    return "".join(parts)


def formula_svg(tex: str, scale: float = SCALE) -> str:
    """Return a formula as an ``<svg>`` element that stands on the line's base."""
    font = FontProperties(size=EM, math_fontfamily="stix")
    text = f"${' '.join(tex.split())}$"
    path = TextPath((0, 0), text, prop=font)
    width, height, depth = TextToPath().get_text_width_height_descent(text, font, ismath=True)
    # Strokes may reach a little beyond the box that the letters are set by.
    left, low = path.vertices.min(axis=0)
    right, high = path.vertices.max(axis=0)
    x0, x1 = min(0, left), max(width, right)
    y0, y1 = min(-depth, low), max(height - depth, high)
    style = (
        f"width:{scale * (x1 - x0) / EM:.3f}em;height:{scale * (y1 - y0) / EM:.3f}em;"
        f"vertical-align:{scale * y0 / EM:.3f}em"
    )
    box = f"{x0:.0f} {-y1:.0f} {x1 - x0:.0f} {y1 - y0:.0f}"
    return (
        f'<svg class="formula" role="img" aria-label="{html.escape(tex)}" viewBox="{box}" '
        f'style="{style}"><path d="{outline(path)}"/></svg>'
    )


def drawn(tex: str, scale: float = SCALE) -> str:
    """Return the formula; a formula that cannot be set ends the build."""
    try:
        return formula_svg(tex, scale)
    except ValueError as error:
        raise SphinxError(f"mathtext cannot set {tex!r}: {error}") from error


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Put the formula into the line."""
    translator.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Put each line of the formula on a line of its own."""
    lines = [line for line in node.astext().split(r"\\") if line.strip()]
    body = "".join(f"<div>{drawn(line, 1.2 * SCALE)}</div>" for line in lines)
    translator.body.append(f'<div class="formula-block">{body}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make it the site's way to show formulas."""
    app.add_html_math_renderer("formulas", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
