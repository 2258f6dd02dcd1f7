"""SVGs and page parts, drawn once, used by paper, report and web.

`charts` draws curves with bands, printed points and markers, `heatmaps` log-lifts, `bars` shares;
`palette` has the colours, dashes and shapes. matplotlib is loaded when the first chart is drawn.
"""

from lowlift.figures.bars import bar_chart_svg
from lowlift.figures.charts import figure_files, panel_svg
from lowlift.figures.heatmaps import colour_limit, heat_map_svg
from lowlift.figures.legends import LegendEntry, legend
from lowlift.figures.palette import COLOURS
from lowlift.figures.panels import Curve, Panel
from lowlift.figures.pictures import Picture

__all__ = [
    "COLOURS",
    "Curve",
    "LegendEntry",
    "Panel",
    "Picture",
    "bar_chart_svg",
    "colour_limit",
    "figure_files",
    "heat_map_svg",
    "legend",
    "panel_svg",
]
