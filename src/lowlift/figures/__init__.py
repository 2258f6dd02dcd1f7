"""SVGs and page parts, drawn once, used by paper, report and web.

`charts` draws curves with bands, printed points and markers; `palette` has the colours, dashes and
shapes. matplotlib is loaded when the first chart is drawn.
"""

from lowlift.figures.charts import Curve, LegendEntry, Panel, figure_files, legend, panel_svg
from lowlift.figures.palette import COLOURS

__all__ = ["COLOURS", "Curve", "LegendEntry", "Panel", "figure_files", "legend", "panel_svg"]
