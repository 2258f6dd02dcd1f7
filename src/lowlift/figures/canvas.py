"""A drawing area in inches, for pictures made of boxes, lines, text and pixels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift.figures.axes import TEXT
from lowlift.figures.svg import new_figure, writable


class Canvas:
    """One matplotlib figure with one pair of axes over all of it, in inches from the lower left."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = new_figure(width, height)
        self.figure.set_layout_engine("none")
        self._axes: Any = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set(xlim=(0, width), ylim=(0, height))

    def text(self, x: float, y: float, words: str, size: float, **options: Any) -> None:
        """Write a word; `options` are those of matplotlib's text."""
        self._axes.text(
            x, y, writable(words), **{"va": "center_baseline", "fontsize": size, **TEXT, **options}
        )

    def picture(
        self, pixels: npt.NDArray[np.uint8], box: tuple[float, float, float, float]
    ) -> None:
        """Draw pixels (rows, columns, 3) into a box: left, right, bottom, top."""
        self._axes.imshow(
            pixels, extent=box, aspect="auto", interpolation="none", clip_on=False, zorder=1
        )
        # Which imshow has moved.
        self._axes.set(xlim=(0, self.width), ylim=(0, self.height))

    def boxes(self, boxes: Sequence[tuple[float, float, float, float]], colour: Any) -> None:
        """Fill boxes (left, right, bottom, top) as one path."""
        from matplotlib.path import Path

        corners = [
            corner
            for a, b, low, high in boxes
            for corner in ((a, low), (b, low), (b, high), (a, high), (a, low))
        ]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(boxes)
        self._add(corners, codes, facecolor=colour, linewidth=0)

    def lines(
        self, lines: Sequence[tuple[float, float, float, float]], colour: str, width: float
    ) -> None:
        """Draw lines (from x, y to x, y) as one path."""
        from matplotlib.path import Path

        ends = [end for a, b, c, d in lines for end in ((a, b), (c, d))]
        codes = [Path.MOVETO, Path.LINETO] * len(lines)
        self._add(ends, codes, fill=False, edgecolor=colour, linewidth=width, capstyle="projecting")

    def _add(self, corners: Sequence[Any], codes: Sequence[Any], **style: Any) -> None:
        if not corners:
            return
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        # Not as a patch: limits that nobody needs would be found corner by corner.
        self._axes.add_artist(PathPatch(Path(corners, codes), clip_on=False, zorder=2, **style))
