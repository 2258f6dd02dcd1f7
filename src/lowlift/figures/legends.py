"""Legends: the look of each label, in the legend of a figure and as swatches for pages."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lowlift.figures.axes import TEXT
from lowlift.figures.palette import BAND, COLOURS, DASHES, line_arguments, mark
from lowlift.figures.panels import DEPTH, Curve, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

#: Per label and style: the number of its dash or shape.
_Looks: TypeAlias = Mapping[tuple[str, str], int]
#: Per label of the legend: what it stands for.
_Entries: TypeAlias = Mapping[str, Sequence[tuple[Curve, int]]]
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 9, "numpoints": 1, "handlelength": 3.4}
_LEGEND |= {"handletextpad": 0.6, "columnspacing": 1.8, "labelspacing": 0.4, "handleheight": 0.7}
_LEGEND |= {"borderaxespad": 0.2, "borderpad": 0.2}


class LegendEntry(NamedTuple):
    """A label and its swatch, an inline SVG of 34 by 12 pixels."""

    label: str
    svg: str


def legend(panels: Sequence[Panel]) -> list[LegendEntry]:
    """Return the labels of all panels, each once and in order, with what they look like.

    Examples
    --------
    >>> import numpy as np
    >>> line = Curve("LDP", np.array([1.0, 2.0]), np.array([0.3, 0.5]))
    >>> [entry.label for entry in legend([Panel("NMI", "ε", "NMI", (line, line))])]
    ['LDP']
    """
    return [LegendEntry(label, _swatch(marks)) for label, marks in entries_of(panels).items()]


def looks_of(panel: Panel) -> _Looks:
    """Give every label its own dash or shape.

    The first label of a colour has that of the colour's number, whatever else is in the panel, so
    that it looks the same in every panel; further labels of that colour take free ones, last first.
    Histograms take them in order: their outlines are best left solid.
    """
    keys = dict.fromkeys((curve.style, curve.label, curve.colour) for curve in panel.curves)
    found: dict[tuple[str, str], int] = {}
    for style in DEPTH:
        colours = {label: colour for kind, label, colour in keys if kind == style}
        if style == "bars":
            colours = {label: k % len(DASHES) for k, label in enumerate(colours)}
        first = {colour: label for label, colour in reversed(colours.items())}
        free = [k for k in range(len(DASHES)) if k not in first]
        for label, colour in colours.items():
            is_first = first[colour] == label or not free
            found[label, style] = colour if is_first else free.pop()
    return found


def entries_of(panels: Sequence[Panel]) -> _Entries:
    """Return, per label of the legend, one curve of each style that it has, back to front."""
    found: dict[str, dict[str, tuple[Curve, int]]] = {}
    for panel in panels:
        looks = looks_of(panel)
        for curve in panel.curves:
            if curve.in_legend:
                styles = found.setdefault(curve.label, {})
                styles.setdefault(curve.style, (curve, looks[curve.label, curve.style]))
    return {
        label: [styles[style] for style in DEPTH if style in styles]
        for label, styles in found.items()
    }


def add_legend(figure: "Figure", entries: _Entries) -> tuple[float, float]:
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
        text.set(text=label, **TEXT)
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
