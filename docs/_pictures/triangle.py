"""The triangle of beliefs about three sensitive values, and what a criterion allows in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from _pictures.drawing import Point, cross, line, polygon, words
from lowlift.criteria import Criterion

Floats = npt.NDArray[np.float64]
#: Rays from the prior on which the boundary is sought.
RAYS = 2880
_HALVINGS = 60


def boundary(criterion: Criterion, p_s: Floats) -> Floats:
    """Return beliefs (n, 3) around the region, the farthest allowed one on each ray from the prior.

    Every region of the paper is seen whole from the prior: along a ray each lift moves away from 1,
    and every leakage grows with it. The criterion's own `leakage` says what is allowed.
    """
    angles = np.linspace(0, math.tau, RAYS, endpoint=False)
    u, v = np.array([1, -1, 0]) / math.sqrt(2), np.array([1, 1, -2]) / math.sqrt(6)
    rays = np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(rays < 0, -p_s / rays, np.inf).min(axis=1)
    low, high = np.zeros(RAYS), inside
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        ok = is_allowed(criterion, p_s + middle[:, None] * rays, p_s)
        low, high = np.where(ok, middle, low), np.where(ok, high, middle)
    whole = is_allowed(criterion, np.maximum(p_s + inside[:, None] * rays, 0), p_s)
    return p_s + np.where(whole, inside, low)[:, None] * rays


def is_allowed(criterion: Criterion, beliefs: Floats, p_s: Floats) -> npt.NDArray[np.bool_]:
    """Tell per belief whether its lifts are in the criterion's budgets."""
    lower, upper = criterion.leakage(np.maximum(beliefs, 0).T / p_s[:, None], p_s)
    return (lower <= criterion.lower) & (upper <= criterion.upper)


def without_idle(corners: Sequence[Point], tolerance: float = 0.04) -> list[Point]:
    """Return a polygon without the corners that its straight sides do not need."""
    kept = [corners[0]]
    start, places = 0, np.array(corners)  # once: a side may pass a thousand corners
    for end in range(2, len(corners) + 1):
        a, b = places[start], places[end % len(corners)]
        between = places[start + 1 : end] - a
        along = (b - a) / (np.hypot(*(b - a)) or 1)
        if np.abs(between[:, 0] * along[1] - between[:, 1] * along[0]).max() > tolerance:
            start = end - 1
            kept.append(corners[start])
    return kept


@dataclass(frozen=True)
class Triangle:
    """Where a triangle stands on the picture: the middle of its base, and the length of a side."""

    x: float
    y: float
    side: float
    names: tuple[str, str, str]

    @property
    def corners(self) -> Floats:
        """The places where one value is certain: left, top, right."""
        half, height = self.side / 2, self.side * math.sqrt(3) / 2
        return np.array(
            [[self.x - half, self.y], [self.x, self.y - height], [self.x + half, self.y]]
        )

    def place(self, belief: npt.ArrayLike) -> Point:
        """Return where a belief (3,) stands."""
        x, y = np.asarray(belief, dtype=np.float64) @ self.corners
        return float(x), float(y)

    def frame(self, size: float = 13) -> str:
        """Return the sides and the names of the corners."""
        left, top, right = ((float(a), float(b)) for a, b in self.corners)
        gap = size * 1.25
        return (
            polygon([left, top, right], "line", 1.2)
            + words((left[0] - size, left[1] + gap), self.names[0], size=size, anchor="start")
            + words((top[0], top[1] - gap * 0.5), self.names[1], size=size)
            + words((right[0] + size, right[1] + gap), self.names[2], size=size, anchor="end")
        )

    def region(
        self,
        criterion: Criterion,
        p_s: Floats,
        opacity: float = 0.2,
        kind: str = "region",
        dash: str = "",
    ) -> str:
        """Return what the criterion allows, shaded."""
        corners = [self.place(belief) for belief in boundary(criterion, p_s)]
        return polygon(without_idle(corners), kind, 1.2, opacity, dash)

    def prior(self, p_s: Floats) -> str:
        """Return the mark of the prior."""
        return cross(self.place(p_s), 4.5)

    def grid(
        self, s: int, value: float, kind: str = "faint", width: float = 1, dash: str = "3 3"
    ) -> str:
        """Return the line of beliefs with P(s) = value."""
        ends = []
        for other in {0, 1, 2} - {s}:
            belief = np.zeros(3)
            belief[s], belief[other] = value, 1 - value
            ends.append(self.place(belief))
        return line(ends[0], ends[1], kind, width, dash)
