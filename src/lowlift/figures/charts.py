"""Line charts: curves with bands over printed points, as SVG for pages and as files."""

import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift.errors import InvalidInput
from lowlift.figures.axes import TEXT, bars_and_edges, set_ticks, x_limits, y_limits
from lowlift.figures.legends import add_legend, entries_of, looks_of
from lowlift.figures.palette import BAND, COLOURS, GRID, INK, line_arguments
from lowlift.figures.panels import DEPTH, Curve, Panel
from lowlift.figures.svg import inline_svg, new_figure, png_of, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TICKS: dict[str, Any] = {"colors": INK, "labelsize": 9, "labelfontfamily": "sans-serif"}
_TICKS |= {"direction": "out", "length": 3, "width": 0.8, "pad": 3, "top": False, "right": False}
_CHEVRON: dict[str, Any] = {"markersize": 6, "markeredgewidth": 1.2, "markerfacecolor": "none"}
_CHEVRON |= {"color": INK, "linestyle": "none", "clip_on": False, "zorder": 3.0}
#: Data move neither the limits, which are set once from all curves, nor the axes in the figure.
_FIXED: dict[str, Any] = {"scalex": False, "scaley": False, "in_layout": False}
#: Width and height of a panel of a whole figure, in inches.
_CELL = (4.2, 3.2)


def panel_svg(panel: Panel, *, width: float = 4.6, height: float = 3.4, salt: str = "") -> str:
    """Return a panel without legend as an ``<svg>`` element to put into HTML; see `inline_svg`."""
    figure = _figure(width, height)
    _draw(figure.add_subplot(), panel, width, height)
    return inline_svg(figure, panel.title, salt)


def figure_files(panels: Sequence[Panel], title: str) -> tuple[str, bytes]:
    """Return a whole figure as the text of an SVG file and the bytes of a PNG (150 dpi).

    Panels stand in rows of three, four of them two by two, with one legend below.
    """
    figure = _whole(panels, title)
    text = ET.tostring(svg_of(figure, title, title), encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', png_of(figure)


def figure_svg(panels: Sequence[Panel], title: str) -> str:
    """Return a whole figure as an ``<svg>`` element that is as wide as the page lets it be."""
    return inline_svg(_whole(panels, title), title, title)


def _whole(panels: Sequence[Panel], title: str) -> "Figure":
    """Return the panels with one title and one legend."""
    if not panels:
        raise InvalidInput("panels must not be empty.")
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    width, height = columns * _CELL[0], rows * _CELL[1]
    figure = _figure(width, height)
    for k, panel in enumerate(panels):
        _draw(figure.add_subplot(rows, columns, k + 1), panel, *_CELL)
    heading = _wrapped(title, width, 12)
    figure.suptitle(heading, fontsize=12, **TEXT)
    below = add_legend(figure, entries_of(panels))
    above = 0.25 * (1 + heading.count("\n"))
    figure.set_size_inches(max(width, below[0]), height + above + below[1])
    return figure


def _figure(width: float, height: float) -> "Figure":
    figure = new_figure(width, height)
    figure.set_layout_engine("constrained", h_pad=0.06, w_pad=0.06, hspace=0.03, wspace=0.05)
    return figure


def _draw(axes: "Axes", panel: Panel, width: float, height: float) -> None:
    axes.set_facecolor("white")
    axes.set_axisbelow(True)
    axes.grid(
        visible=True, color=GRID, linewidth=0.6, linestyle="solid", solid_capstyle="butt", alpha=1
    )
    for side, spine in axes.spines.items():
        spine.set(visible=side in {"left", "bottom"}, color=INK, linewidth=0.8)
    axes.tick_params(**_TICKS)
    title = _wrapped(panel.title, width, 10.5)
    axes.set_title(title, fontsize=10.5, loc="center", pad=6, **TEXT)
    axes.set_xlabel(_wrapped(panel.x_label, width, 10), fontsize=10, labelpad=3, **TEXT)
    axes.set_ylabel(_wrapped(panel.y_label, height, 10), fontsize=10, labelpad=3, **TEXT)
    if panel.y_scale == "log":
        axes.set_yscale("log", nonpositive="mask")
    if panel.x_scale == "log":
        axes.set_xscale("log")
    limits = panel.y_limits or y_limits(panel.curves, panel.y_scale == "log")
    across = x_limits(panel.curves, panel.x_scale == "log")
    axes.set(xlim=across, ylim=limits)
    set_ticks(axes.xaxis, across, is_log=panel.x_scale == "log")
    set_ticks(axes.yaxis, limits, is_log=panel.y_scale == "log")
    looks = looks_of(panel)
    for curve in panel.curves:
        _draw_curve(axes, curve, looks[curve.label, curve.style], limits)


def _draw_curve(axes: "Axes", curve: Curve, look: int, limits: tuple[float, float]) -> None:
    low, high = limits
    keep = np.isfinite(curve.x) & np.isfinite(curve.y)
    colour = COLOURS[curve.colour]
    style = line_arguments(curve.style, curve.colour, look) | {"zorder": DEPTH[curve.style]}
    if curve.low is not None and curve.high is not None:
        shown = keep & np.isfinite(curve.low) & np.isfinite(curve.high)
        # Beyond the axes nothing is seen; on a logarithmic one, zero would break the area.
        ends = np.clip(curve.low, low, high), np.clip(curve.high, low, high)
        axes.fill_between(
            curve.x, *ends, where=shown, color=colour, alpha=BAND, linewidth=0, zorder=1.5
        )
    if curve.style == "bars":
        for name in ("marker", "dash_capstyle", "solid_capstyle"):
            del style[name]
        base = max(low, 0.0) if axes.get_yscale() == "linear" else low
        heights, edges = bars_and_edges(curve.x[keep], curve.y[keep])
        if len(heights):
            axes.stairs(heights, edges, baseline=base, fill=False, joinstyle="miter", **style)
    elif curve.style == "line":
        seen = keep & (curve.y > 0) if axes.get_yscale() == "log" else keep
        alone = _alone(seen)
        if alone:
            style |= {"marker": "o", "markersize": 3, "markevery": alone}
            style |= {"markeredgecolor": colour, "markerfacecolor": colour, "markeredgewidth": 0}
        y = np.where(seen, curve.y, np.nan)
        axes.plot(curve.x, y, **_FIXED, **style)
    else:
        inside = keep & (curve.y >= low) & (curve.y <= high)
        axes.plot(curve.x[inside], curve.y[inside], clip_on=False, **_FIXED, **style)
    _draw_outside(axes, curve.x[keep], curve.y[keep], limits, colour)


def _draw_outside(
    axes: "Axes", x: Floats, y: Floats, limits: tuple[float, float], colour: str
) -> None:
    """Show by chevrons at the edge that values lie beyond it."""
    for outside, place, tip in ((y < limits[0], 0.015, -1), (y > limits[1], 0.985, 1)):
        if outside.any():
            axes.plot(
                x[outside],
                np.full(int(outside.sum()), place),
                transform=axes.get_xaxis_transform(),
                marker=[(-1, -tip * 0.4), (0, tip * 0.4), (1, -tip * 0.4)],
                markeredgecolor=colour,
                **_CHEVRON,
                **_FIXED,
            )


def _alone(keep: Bools) -> list[int]:
    """Return the values between two gaps, which a line would not show."""
    padded = np.concatenate([[False], keep, [False]])
    return np.flatnonzero(keep & ~padded[:-2] & ~padded[2:]).tolist()


def _wrapped(text: str, inches: float, size: float) -> str:
    """Break text into lines that fit; letters are 0.6 as wide as high, or less."""
    return textwrap.fill(text, max(8, int(inches * 72 / (0.6 * size))))
