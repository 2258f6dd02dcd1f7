"""Line charts: curves with bands over printed points, as SVG for pages and as files."""

import io
import math
import re
import textwrap
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.errors import InvalidInput, MissingExtra
from lowlift.figures.palette import BAND, COLOURS, DASHES, GRID, INK, line_arguments, mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["Curve", "LegendEntry", "Panel", "figure_files", "legend", "panel_svg"]

Floats: TypeAlias = npt.NDArray[np.float64]
#: Per label and style: the number of its dash or shape.
_Looks: TypeAlias = Mapping[tuple[str, str], int]
#: Per label of the legend: what it stands for.
_Entries: TypeAlias = Mapping[str, Sequence[tuple["Curve", int]]]

#: The styles, and how far in front each is drawn.
_DEPTH: Mapping[str, float] = {"bars": 2.0, "line": 2.2, "tick": 2.4, "marker": 2.6, "points": 2.8}
_MARGIN = 0.04
_TEXT: dict[str, Any] = {"color": INK, "family": "sans-serif", "weight": "normal"}
_TEXT |= {"usetex": False, "parse_math": False}
_TICKS: dict[str, Any] = {"colors": INK, "labelsize": 9, "labelfontfamily": "sans-serif"}
_TICKS |= {"direction": "out", "length": 3, "width": 0.8, "pad": 3, "top": False, "right": False}
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "numpoints": 1, "handlelength": 3.4}
_LEGEND |= {"handletextpad": 0.6, "columnspacing": 1.8, "labelspacing": 0.4, "handleheight": 0.7}
_LEGEND |= {"borderaxespad": 0.2, "borderpad": 0.2}
_CHEVRON: dict[str, Any] = {"markersize": 6, "markeredgewidth": 1.2, "markerfacecolor": "none"}
_CHEVRON |= {"color": INK, "linestyle": "none", "clip_on": False, "zorder": 3.0}
#: Data move neither the limits, which are set once from all curves, nor the axes in the figure.
_FIXED: dict[str, Any] = {"scalex": False, "scaley": False, "in_layout": False}
#: Width and height of a panel of a whole figure, in inches.
_CELL = (4.2, 3.2)
_DPI = 150
#: matplotlib's settings are shared by all threads.
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class Curve:
    """One series of a panel; values that are not finite are not drawn.

    Parameters
    ----------
    label
        Its name in the legend. Curves with one label share a legend entry.
    x, y
        Shape (n,); n may be 0, for an entry of the legend alone.
    style
        "line"; "points" (hollow circles: what the paper prints); "marker" (filled shapes); "tick"
        (short horizontal bars: proven bounds); "bars" (the outline of a histogram, x the centres).
    colour
        Index into `COLOURS`; also the preferred dash or shape.
    low, high
        The band, both or neither.
    in_legend
        Whether `label` is in the legend.
    """

    label: str
    x: Floats
    y: Floats
    style: str = "line"
    colour: int = 0
    low: Floats | None = None
    high: Floats | None = None
    in_legend: bool = True

    def __post_init__(self) -> None:
        if self.style not in _DEPTH:
            raise InvalidInput(f"style must be one of {', '.join(_DEPTH)}; got {self.style!r}.")
        if not 0 <= self.colour < len(COLOURS):
            raise InvalidInput(f"colour must be 0 to {len(COLOURS) - 1}; got {self.colour}.")
        if (self.low is None) != (self.high is None):
            raise InvalidInput(f"low and high of {self.label!r} must be given together.")
        for name in ("x", "y", "low", "high"):
            value = getattr(self, name)
            if value is None:
                continue
            array = np.array(value, dtype=np.float64)
            if array.ndim != 1 or array.shape != np.shape(self.x):
                raise InvalidInput(
                    f"x, y, low and high of {self.label!r} must be one-dimensional and of one "
                    f"length; x has shape {np.shape(self.x)}, {name} has shape {array.shape}."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    Without `y_limits` the axis holds all data. With them, a value beyond is shown by a chevron at
    the edge; so is, on a logarithmic axis, a value that is not positive.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    y_scale: str = "linear"
    y_limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.y_scale not in {"linear", "log"}:
            raise InvalidInput(f"y_scale must be linear or log; got {self.y_scale!r}.")
        if self.y_limits is not None:
            low, high = self.y_limits
            floor = 0.0 if self.y_scale == "log" else -math.inf
            if not floor < low < high < math.inf:
                raise InvalidInput(
                    f"y_limits must be finite, increasing and, on a log scale, positive; "
                    f"got {self.y_limits}."
                )


class LegendEntry(NamedTuple):
    """A label and its swatch, an inline SVG of 34 by 12 pixels."""

    label: str
    svg: str


def panel_svg(panel: Panel, *, width: float = 4.6, height: float = 3.4, salt: str = "") -> str:
    """Return a panel without legend as an ``<svg>`` element to put into HTML.

    It has a viewBox and no size, so that the page sets its width. Nothing in it acts on the page:
    no style element, and ids only where they are referred to.

    Parameters
    ----------
    panel
        What to draw.
    width, height
        In inches; text has 9 to 10.5 points at this size.
    salt
        Makes the ids differ from those of the same panel elsewhere on the page.

    Raises
    ------
    MissingExtra
        Without matplotlib.
    """
    figure = _figure(width, height)
    _draw(figure.add_subplot(), panel, width, height)
    root = _svg_of(figure, panel.title, f"{salt}/{panel.title}")
    del root.attrib["width"], root.attrib["height"]
    return ET.tostring(root, encoding="unicode")


def figure_files(panels: Sequence[Panel], title: str) -> tuple[str, bytes]:
    """Return a whole figure as the text of an SVG file and the bytes of a PNG (150 dpi).

    Panels stand in rows of three, four of them two by two, with one legend below.

    Raises
    ------
    InvalidInput
        Without panels.
    MissingExtra
        Without matplotlib.
    """
    if not panels:
        raise InvalidInput("panels must not be empty.")
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    width, height = columns * _CELL[0], rows * _CELL[1]
    figure = _figure(width, height)
    for k, panel in enumerate(panels):
        _draw(figure.add_subplot(rows, columns, k + 1), panel, *_CELL)
    heading = _wrapped(title, width, 12)
    figure.suptitle(heading, fontsize=12, **_TEXT)
    below = _add_legend(figure, _entries(panels))
    above = 0.25 * (1 + heading.count("\n"))
    figure.set_size_inches(max(width, below[0]), height + above + below[1])
    text = ET.tostring(_svg_of(figure, title, title), encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', _png_of(figure)


def legend(panels: Sequence[Panel]) -> list[LegendEntry]:
    """Return the labels of all panels, each once and in order, with what they look like.

    Examples
    --------
    >>> line = Curve("LDP", np.array([1.0, 2.0]), np.array([0.3, 0.5]))
    >>> [entry.label for entry in legend([Panel("NMI", "ε", "NMI", (line, line))])]
    ['LDP']
    """
    return [LegendEntry(label, _swatch(marks)) for label, marks in _entries(panels).items()]


# ---------------------------------------------------------------------------------- who looks how


def _looks(panel: Panel) -> _Looks:
    """Give every label its own dash or shape.

    The first label of a colour has that of the colour's number, whatever else is in the panel, so
    that it looks the same in every panel; further labels of that colour take free ones, last first.
    Histograms take them in order: their outlines are best left solid.
    """
    keys = dict.fromkeys((curve.style, curve.label, curve.colour) for curve in panel.curves)
    found: dict[tuple[str, str], int] = {}
    for style in _DEPTH:
        colours = {label: colour for kind, label, colour in keys if kind == style}
        if style == "bars":
            colours = {label: k % len(DASHES) for k, label in enumerate(colours)}
        first = {colour: label for label, colour in reversed(colours.items())}
        free = [k for k in range(len(DASHES)) if k not in first]
        for label, colour in colours.items():
            is_first = first[colour] == label or not free
            found[label, style] = colour if is_first else free.pop()
    return found


def _entries(panels: Sequence[Panel]) -> _Entries:
    """Return, per label of the legend, one curve of each style that it has, back to front."""
    found: dict[str, dict[str, tuple[Curve, int]]] = {}
    for panel in panels:
        looks = _looks(panel)
        for curve in panel.curves:
            if curve.in_legend:
                styles = found.setdefault(curve.label, {})
                styles.setdefault(curve.style, (curve, looks[curve.label, curve.style]))
    return {
        label: [styles[style] for style in _DEPTH if style in styles]
        for label, styles in found.items()
    }


# ------------------------------------------------------------------------------------------ axes


def _figure(width: float, height: float) -> "Figure":
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[paper]' to draw charts (matplotlib).") from error
    engine = ConstrainedLayoutEngine(h_pad=0.06, w_pad=0.06, hspace=0.03, wspace=0.05)
    return Figure((width, height), dpi=_DPI, facecolor="white", layout=engine)


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
    axes.set_title(title, fontsize=10.5, loc="center", pad=6, **_TEXT)
    axes.set_xlabel(_wrapped(panel.x_label, width, 10), fontsize=10, labelpad=3, **_TEXT)
    axes.set_ylabel(_wrapped(panel.y_label, height, 10), fontsize=10, labelpad=3, **_TEXT)
    if panel.y_scale == "log":
        axes.set_yscale("log", nonpositive="mask")
    limits = panel.y_limits or _range(panel.curves, panel.y_scale == "log")
    axes.set(xlim=_padded(_x_values(panel.curves)), ylim=limits)
    _set_ticks(axes.xaxis, limits, is_log=False)
    _set_ticks(axes.yaxis, limits, is_log=panel.y_scale == "log")
    looks = _looks(panel)
    for curve in panel.curves:
        _draw_curve(axes, curve, looks[curve.label, curve.style], limits)


def _draw_curve(axes: "Axes", curve: Curve, look: int, limits: tuple[float, float]) -> None:
    low, high = limits
    keep = np.isfinite(curve.x) & np.isfinite(curve.y)
    colour = COLOURS[curve.colour]
    style = line_arguments(curve.style, curve.colour, look) | {"zorder": _DEPTH[curve.style]}
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
        heights, edges = _steps(curve.x[keep], curve.y[keep])
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


def _alone(keep: npt.NDArray[np.bool_]) -> list[int]:
    """Return the values between two gaps, which a line would not show."""
    padded = np.concatenate([[False], keep, [False]])
    return np.flatnonzero(keep & ~padded[:-2] & ~padded[2:]).tolist()


def _steps(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return bars in order, and their edges half-way between the centres."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    half = np.diff(x) / 2
    if not len(half):
        return y, np.concatenate([x - 0.5, x + 0.5])
    return y, np.concatenate([[x[0] - half[0]], x[:-1] + half, [x[-1] + half[-1]]])


# ---------------------------------------------------------------------------------------- limits


def _x_values(curves: Iterable[Curve]) -> Floats:
    found = [np.empty(0)]
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        found.append(curve.x[keep])
        if curve.style == "bars":
            found.append(_steps(curve.x[keep], curve.y[keep])[1])
    return np.concatenate(found)


def _range(curves: Iterable[Curve], is_log: bool) -> tuple[float, float]:
    """Return limits that hold every value and band that can be drawn."""
    found = [np.empty(0)]
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        ends = [end[keep] for end in (curve.y, curve.low, curve.high) if end is not None]
        found += ends
        if curve.style == "bars" and not is_log:
            found.append(np.zeros(1))
    values = np.concatenate(found)
    values = values[np.isfinite(values)]
    if not is_log:
        return _padded(values)
    low, high = _padded(np.log10(values[values > 0]))
    return 10.0**low, 10.0**high


def _padded(values: Floats) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    pad = _MARGIN * (high - low) if high - low > 1e-9 * size else (_MARGIN * size or 0.5)
    return low - pad, high + pad


def _set_ticks(axis: "Axis", limits: tuple[float, float], *, is_log: bool) -> None:
    from matplotlib import ticker

    axis.set_minor_locator(ticker.NullLocator())
    axis.get_offset_text().set(fontsize=9, **_TEXT)
    ticks = _log_ticks(*limits) if is_log else []
    if len(ticks) < 3:
        axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(
            ticker.ScalarFormatter(useOffset=False, useMathText=False, usetex=False)
        )
        return
    is_plain = ticks[0] >= 1e-3 and ticks[-1] < 1e5
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:g}" if is_plain else _power(value))
    )


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between the limits, and 2 and 5 times them where those are few."""
    span = math.log10(high) - math.log10(low)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    stride = max(1, math.ceil(span / 7))
    # Three decades hold three powers, one decade three of 1, 2 and 5.
    steps = (1, 2, 5) if span < 3 else (1,)
    ticks = [float(f"{step}e{power}") for power in powers if power % stride == 0 for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def _power(value: float) -> str:
    """Write a number as a power of ten, without TeX.

    Examples
    --------
    >>> _power(2e-5), _power(0.001)
    ('2×10⁻⁵', '10⁻³')
    """
    digit, power = f"{value:.0e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digit == "1" else f"{digit}×10{raised}"


def _wrapped(text: str, inches: float, size: float) -> str:
    """Break text into lines that fit; letters are 0.6 as wide as high, or less."""
    return textwrap.fill(text, max(8, int(inches * 72 / (0.6 * size))))


# --------------------------------------------------------------------------------------- legends


def _add_legend(figure: "Figure", entries: _Entries) -> tuple[float, float]:
    """Add a legend below the panels, as many columns as fit; return its size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not entries:
        return 0.0, 0.0
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    room = figure.get_figwidth() - 0.2
    columns = len(entries)
    while True:
        made = _legend_with(figure, entries, columns)
        box = made.get_window_extent(renderer)
        if columns == 1 or box.width / figure.dpi <= room:
            return box.width / figure.dpi + 0.2, box.height / figure.dpi
        made.remove()
        # As few columns as need no more rows than these.
        rows = -(-len(entries) // (columns - 1))
        columns = -(-len(entries) // rows)


def _legend_with(figure: "Figure", entries: _Entries, columns: int) -> "Legend":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for marks in entries.values():
        parts: list[Any] = []
        for curve, look in marks:
            if curve.low is not None:
                parts.append(Patch(color=COLOURS[curve.colour], alpha=BAND, linewidth=0))
            parts.append(Line2D([], [], **line_arguments(curve.style, curve.colour, look)))
        handles.append(tuple(parts))
    # Names are set afterwards: matplotlib would drop those that begin with "_".
    names = [str(k) for k in range(len(handles))]
    made: Legend = figure.legend(
        handles, names, loc="outside lower center", ncols=columns, **_LEGEND
    )
    for text, label in zip(made.get_texts(), entries, strict=True):
        text.set(text=label, **_TEXT)
    return made


def _swatch(marks: Sequence[tuple[Curve, int]]) -> str:
    parts = []
    for curve, look in marks:
        if curve.low is not None:
            fill = f'fill="{COLOURS[curve.colour]}" fill-opacity="{BAND}"'
            parts.append(f'<path d="M0 1h34v10h-34z" {fill}/>')
        parts.append(mark(curve.style, curve.colour, look))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 34 12" width="34" height="12" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


# ----------------------------------------------------------------------------------------- output


def _png_of(figure: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    with _LOCK:
        canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def _svg_of(figure: "Figure", title: str, salt: str) -> ET.Element:
    """Return the figure as SVG without namespaces, metadata, style sheet and idle ids."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": salt, "svg.id": None}
    with _LOCK, rc_context(settings):
        canvas.print_svg(buffer, metadata=nothing)
    figure.dpi = _DPI  # which the canvas has changed
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", buffer.getvalue(), count=2)
    drawn = ET.fromstring(text.replace("xlink:href", "href"))  # noqa: S314 (written above)
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    root.attrib |= {"aria-label": title} | drawn.attrib
    # What matplotlib's style sheet says, which would also hold for the page around.
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    root.set("font-family", "sans-serif")
    root.attrib.pop("version", None)
    ET.SubElement(root, "title").text = title
    root.extend(child for child in drawn if child.find("style") is None)
    used = set(re.findall(r'(?:href="|url\()#(\w+)', text))
    for element in root.iter():
        _tidy(element, used)
    return root


def _tidy(element: ET.Element, used: set[str]) -> None:
    """Drop idle ids and blanks, round numbers, and turn inline styles into attributes.

    Inline styles may be forbidden by the page's content security policy.
    """
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() not in {"", "font-family"}:
            element.set(name.strip(), value.strip())
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    for name in {"d", "x", "y", "width", "height", "transform"} & element.attrib.keys():
        value = " ".join(element.attrib[name].split())
        element.set(name, re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}", value))
    if element.tag not in {"text", "title"}:
        element.text = None
    element.tail = None
