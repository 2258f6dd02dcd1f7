"""Shapes and words of an SVG; colours are classes of docs/_static/site.css, light and dark."""

import html
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]


def picture(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """Return an ``<svg>`` element; the page sets its size, and scrolls what is too wide for it."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" font-family="inherit" '
        f'style="min-width:{width * 0.7:.0f}px;max-width:{width * 1.1:.0f}px">'
        f"<title>{html.escape(title)}</title>{''.join(parts)}</svg>"
    )


def words(
    place: Point,
    text: str,
    kind: str = "ink",
    anchor: str = "middle",
    size: float = 13,
    *,
    bold: bool = False,
) -> str:
    """Return a line of text whose base is at a place."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text class="{kind}" x="{place[0]:.1f}" y="{place[1]:.1f}" text-anchor="{anchor}" '
        f'font-size="{size:g}"{weight}>{html.escape(text)}</text>'
    )


def line(start: Point, end: Point, kind: str = "line", width: float = 1, dash: str = "") -> str:
    """Return a straight line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path class="{kind}" d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" '
        f'stroke-width="{width:g}"{dashes}/>'
    )


def polygon(
    corners: Sequence[Point], kind: str, width: float = 1, opacity: float = 1, dash: str = ""
) -> str:
    """Return a closed shape."""
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path class="{kind}" d="M{path}Z" stroke-width="{width:g}" fill-opacity="{opacity:g}" '
        f'stroke-linejoin="round"{dashes}/>'
    )


def box(corner: Point, size: Point, kind: str, opacity: float = 1) -> str:
    """Return a rectangle from its upper left corner."""
    return (
        f'<rect class="{kind}" x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{size[0]:.1f}" '
        f'height="{size[1]:.1f}" fill-opacity="{opacity:g}" stroke="none"/>'
    )


def dot(place: Point, radius: float, kind: str, width: float = 1.2, label: str = "") -> str:
    """Return a disc; its label is shown when the pointer rests on it."""
    inner = f"<title>{html.escape(label)}</title>" if label else ""
    return (
        f'<circle class="{kind}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius:.1f}" '
        f'stroke-width="{width:g}">{inner}</circle>'
    )


def cross(place: Point, size: float = 5, kind: str = "line", width: float = 2) -> str:
    """Return a plus sign."""
    x, y = place
    return line((x - size, y), (x + size, y), kind, width) + line(
        (x, y - size), (x, y + size), kind, width
    )
