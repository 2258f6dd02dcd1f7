"""How series look: colours the colour-blind can tell apart; dashes and shapes for print in grey."""

import math
from typing import Any, TypeAlias

#: Corners, y upwards; the first is repeated at the end.
Polygon: TypeAlias = tuple[tuple[float, float], ...]

#: The eight colours of Okabe and Ito (2008), darkest first; the last is for areas, not for lines.
COLOURS: tuple[str, ...] = (
    "#000000",  # black
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#009e73",  # bluish green
    "#cc79a7",  # reddish purple
    "#56b4e9",  # sky blue
    "#e69f00",  # orange
    "#f0e442",  # yellow
)
#: From less likely (blue) over nothing learnt (white) to more likely (vermilion), evenly spaced.
DIVERGING: tuple[str, ...] = (
    "#0b3c6d",
    "#0072b2",
    "#6fb1d8",
    "#c9e1f0",
    "#fbfbfb",
    "#fbd9bf",
    "#f2a06a",
    "#d55e00",
    "#7d2e00",
)
#: A sensitive value that is ruled out; and what breaks a bound.
ZERO, ALARM = "#16161a", "#9a2f00"
INK = "#333333"
GRID = "#e4e4e4"
#: The opacity of a band.
BAND = 0.18
_LINE, _STEP, _EDGE = 1.6, 1.2, 0.9

#: Lengths on and off, in line widths; empty for a solid line.
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5.0, 1.6),
    (1.4, 1.4),
    (6.0, 1.6, 1.4, 1.6),
    (2.8, 1.4),
    (1.4, 3.2),
    (6.0, 1.4, 1.4, 1.4, 1.4, 1.4),
    (9.0, 2.4),
)


def _ring(corners: int, size: float = 1.0, inner: float = 0.0, turn: float = 0.0) -> Polygon:
    """Return a regular polygon of radius `size`, or with `inner` radius a star.

    The first corner points up when `turn` (degrees) is 0.
    """
    radii = (size, size * inner) if inner else (size,)
    count = corners * len(radii)
    angles = [math.radians(90 + turn) + math.tau * k / count for k in range(count)]
    sides = [radii[k % len(radii)] for k in range(count)]
    ring = [
        (round(side * math.cos(a), 4), round(side * math.sin(a), 4))
        for side, a in zip(sides, angles, strict=True)
    ]
    return (*ring, ring[0])


#: Filled markers, of about one weight; the circle is kept for printed points.
SHAPES: tuple[Polygon, ...] = (
    _ring(4),
    _ring(4, 1.1, turn=45),
    _ring(3, 1.1),
    _ring(3, 1.1, turn=180),
    _ring(5, 1.25, inner=0.42),
    _ring(4, 1.3, inner=0.36, turn=45),
    _ring(3, 1.1, turn=90),
    _ring(4, 1.3, inner=0.36),
)


def line_arguments(style: str, colour: int, look: int) -> dict[str, Any]:
    """Return the arguments of matplotlib's Line2D for a style of `panels.Curve`.

    `look` is an index into `DASHES`, or for a marker into `SHAPES`.
    """
    paint = COLOURS[colour]
    if style in {"line", "bars"}:
        dash: Any = (0, DASHES[look]) if DASHES[look] else "solid"
        width = _LINE if style == "line" else _STEP
        ends = {"dash_capstyle": "butt", "solid_capstyle": "butt", "marker": ""}
        return {"color": paint, "linewidth": width, "linestyle": dash} | ends
    edge: dict[str, Any] = {"color": paint, "linestyle": "none", "markeredgecolor": paint}
    if style == "points":
        edge |= {"markerfacecolor": "none", "markeredgewidth": _EDGE}
        return edge | {"marker": "o", "markersize": 4}
    if style == "tick":
        return edge | {"marker": ((-1, 0), (1, 0)), "markersize": 9, "markeredgewidth": _LINE}
    edge |= {"markeredgecolor": "white", "markeredgewidth": 0.5}
    # matplotlib scales a shape by its largest coordinate.
    size = 7 * max(abs(value) for corner in SHAPES[look] for value in corner)
    return edge | {"marker": SHAPES[look], "markersize": size, "markerfacecolor": paint}


def mark(style: str, colour: int, look: int) -> str:
    """Return a line or a marker as an SVG element in the middle of 34 by 12 pixels."""
    paint = COLOURS[colour]
    if style == "marker":
        corners = " ".join(f"{17 + 4.2 * x:.2f},{6 - 4.2 * y:.2f}" for x, y in SHAPES[look][:-1])
        return f'<polygon points="{corners}" fill="{paint}"/>'
    stroke = f'fill="none" stroke="{paint}"'
    if style == "points":
        return f'<circle cx="17" cy="6" r="2.8" {stroke} stroke-width="1.2"/>'
    if style == "tick":
        return f'<path d="M11 6h12" {stroke} stroke-width="2"/>'
    path, width = ("M1 6h32", _LINE) if style == "line" else ("M4 12v-6h9v-5h9v7h8v4", _STEP)
    dash = " ".join(f"{length * width:.4g}" for length in DASHES[look])
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{path}" {stroke} stroke-width="{width}"{dashes}/>'
