"""What a chart shows: the curves of a panel, checked once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Floats
from lowlift.errors import InvalidInput
from lowlift.figures.palette import COLOURS

#: The styles, and how far in front each is drawn.
DEPTH: Mapping[str, float] = {"bars": 2.0, "line": 2.2, "tick": 2.4, "marker": 2.6, "points": 2.8}


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
        if self.style not in DEPTH:
            raise InvalidInput(f"style must be one of {', '.join(DEPTH)}; got {self.style!r}.")
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
    x_scale: str = "linear"

    def __post_init__(self) -> None:
        for name in ("y_scale", "x_scale"):
            if getattr(self, name) not in {"linear", "log"}:
                raise InvalidInput(f"{name} must be linear or log; got {getattr(self, name)!r}.")
        if self.x_scale == "log" and any((curve.x <= 0).any() for curve in self.curves):
            raise InvalidInput("x must be positive on a log scale.")
        if self.y_limits is not None:
            low, high = self.y_limits
            floor = 0.0 if self.y_scale == "log" else -math.inf
            if not floor < low < high < math.inf:
                raise InvalidInput(
                    f"y_limits must be finite, increasing and, on a log scale, positive; "
                    f"got {self.y_limits}."
                )
