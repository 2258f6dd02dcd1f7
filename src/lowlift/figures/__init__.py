"""SVGs and page parts, drawn once, used by paper, report and web.

`charts` draws curves with bands, printed points and markers; `palette` has the colours, dashes and
shapes. matplotlib is loaded when the first chart is drawn.
"""

from lowlift.figures.charts import figure_files, panel_svg
from lowlift.figures.legends import LegendEntry, legend
from lowlift.figures.palette import COLOURS
from lowlift.figures.panels import Curve, Panel

__all__ = ["COLOURS", "Curve", "LegendEntry", "Panel", "figure_files", "legend", "panel_svg"]
