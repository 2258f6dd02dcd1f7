"""Heat maps of log-lifts: S by X or S by Y, colours around 0, what breaks a bound outlined."""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Floats
from lowlift._rounding import at_least, at_most, ceiling
from lowlift._wording import told_apart
from lowlift.errors import InvalidInput
from lowlift.figures.canvas import Canvas
from lowlift.figures.palette import ALARM, DIVERGING, GRID, INK, ZERO
from lowlift.figures.svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.colors import ListedColormap


#: From this many columns on, cells are the pixels of one picture.
_RASTER = 51
#: A number is written into each cell up to this many columns and rows.
_WRITTEN = (16, 14)
#: Inches: a letter, the colour bar, the room for it and its words, a line of its words.
_LETTER, _BAR_WIDTH, _BAR_ROOM, _LINE = 0.074, 0.14, 1.5, 0.145
_STEPS = 65
#: The colours end at this many budgets, or at a factor of 3 if that is more.
_BUDGETS, _LEAST = 3.0, math.log(3)
#: More than the rounding of a lift, as a part of it: 2 is not written 2.01.
_SLACK = 1e-9
#: Factors to write on the colour bar.
_FACTORS = (1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 1e5, 1e8)


def colour_limit(log_lifts: Iterable[Floats], lower: float, upper: float) -> float:
    """Return where the colours of several heat maps end, in nats: three budgets, or before that.

    Examples
    --------
    >>> colour_limit([np.array([[-np.inf, 0.25]])], 0.5, math.inf)
    0.6
    >>> colour_limit([np.array([[-9.0, 2.0]])], 0.5, 1.0)
    3.0
    """
    budgets = [side for side in (lower, upper) if side < math.inf]
    sizes = [float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in log_lifts]
    found = [0.1, *(1.2 * side for side in budgets), *sizes]
    return min(max(found), max([_LEAST, *(_BUDGETS * side for side in budgets)]))


def heat_map_svg(
    log_lift: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    lower: float = math.inf,
    upper: float = math.inf,
    limit: float | None = None,
    refused: Bools | None = None,
    x_label: str = "",
    width: float = 7.6,
    salt: str = "",
) -> str:
    """Return log-lifts as an ``<svg>`` element to put into HTML: blue is less, orange more likely.

    Up to 50 columns cells are shapes, beyond that one picture inside. A zero lift (-inf) is black
    with a 0. The colour bar has the budgets; cells beyond them are outlined when `refused` says
    that their column breaks the bound: the exact verdict decides, not the floats that are drawn.

    `log_lift` has shape (|S|, |Y|), in nats, and labels for `rows` and `columns`; `lower` and
    `upper` are budgets in nats, inf for none; colours end at `limit` (see `colour_limit`). For
    `title` and `salt` see `inline_svg`. It takes about 40 ms for 200 columns by 15 rows.
    """
    values = np.asarray(log_lift, np.float64)
    if values.shape != (len(rows), len(columns)) or not values.size:
        raise InvalidInput(
            f"log_lift must have a row per row label and a column per column label; got shape "
            f"{values.shape} for {len(rows)} and {len(columns)} labels."
        )
    end = colour_limit([values], lower, upper) if limit is None else limit
    broken = np.zeros(len(columns), bool) if refused is None else np.asarray(refused, bool)
    drawn = _Map(values, rows, columns, broken, width, x_label)
    drawn.draw_cells(end)
    drawn.draw_outline(((values > upper) | (values < -lower)) & broken)
    drawn.draw_names(x_label)
    drawn.draw_lifts(end)
    drawn.draw_bar(end, (lower, upper))
    return inline_svg(drawn.canvas.figure, title, salt)


class _Map:
    """Where everything is, in inches, and how it is drawn."""

    def __init__(
        self,
        values: Floats,
        rows: Sequence[str],
        columns: Sequence[str],
        broken: Bools,
        width: float,
        x_label: str,
    ) -> None:
        self.values, self.broken = values, broken
        self.n_s, self.n_y = len(values), len(broken)
        self.is_raster = self.n_y >= _RASTER
        self.rows = told_apart(rows, 22)
        self.columns = told_apart(columns, 26)
        # As if a column broke the bound: maps before and after stand in line.
        self.left = min(1.75, 0.16 + _LETTER * max(map(len, [*self.rows, "breaks it"])))
        self.cell = (width - self.left - _BAR_ROOM) / self.n_y
        self.tall = self._row_height()
        longest = max(map(len, self.columns))
        self.is_turned = not self.is_raster and longest * _LETTER + 0.06 > self.cell
        self.below = 0.1 + 0.068 * longest if self.is_turned else 0.22
        above = 0.24 if broken.any() else 0.06
        height = above + self.tall * self.n_s + self.below + (0.22 if x_label else 0.04)
        self.canvas = Canvas(width, max(height, 1.9))
        self.top = self.canvas.height - above
        self.bottom = self.top - self.tall * self.n_s

    def _row_height(self) -> float:
        if self.n_s <= 4:
            return max(0.3, min(0.42, self.cell))
        return 0.28 if self.n_s <= 12 else max(0.13, 3.4 / self.n_s)

    def _x(self, y: float) -> float:
        return self.left + self.cell * y

    def _y(self, s: float) -> float:
        return self.top - self.tall * s

    def draw_cells(self, end: float) -> None:
        """Draw one picture, or one shape per colour."""
        colours = _painted(self.values, end)
        box = self.left, self._x(self.n_y), self.bottom, self.top
        if self.is_raster:
            self.canvas.picture(colours, box)
            return
        shades, which = np.unique(colours.reshape(-1, 3), axis=0, return_inverse=True)
        s, y = (part.ravel() for part in np.indices(self.values.shape))
        gap = 0.008 if self.n_y <= 30 else 0.004
        for k, shade in enumerate(shades):
            cells = np.flatnonzero(which.ravel() == k)
            boxes = [
                (self._x(b) + gap, self._x(b + 1) - gap, self._y(a + 1) + gap, self._y(a) - gap)
                for a, b in zip(s[cells].tolist(), y[cells].tolist(), strict=True)
            ]
            self.canvas.boxes(boxes, tuple(shade / 255))

    def draw_outline(self, inside: Bools) -> None:
        """Draw the border of a region of cells as one path, and mark refused columns above."""
        padded = np.pad(inside, 1)
        lines: list[tuple[float, float, float, float]] = []
        for place, line in enumerate((padded[1:] != padded[:-1])[:, 1:-1]):
            lines += [
                (self._x(a), self._y(place), self._x(b), self._y(place)) for a, b in _runs(line)
            ]
        for place, line in enumerate((padded[:, 1:] != padded[:, :-1])[1:-1].T):
            lines += [
                (self._x(place), self._y(a), self._x(place), self._y(b)) for a, b in _runs(line)
            ]
        self.canvas.lines(lines, ZERO, 1.4 if self.n_y <= 100 else 0.7)
        if not self.broken.any():
            return
        gap = 0.0 if self.is_raster else 0.12 * self.cell
        runs = (
            _runs(self.broken)
            if self.is_raster
            else [(y, y + 1) for y in np.flatnonzero(self.broken).tolist()]
        )
        low = self.top + 0.05
        boxes = [(self._x(a) + gap, self._x(b) - gap, low, low + 0.08) for a, b in runs]
        self.canvas.boxes(boxes, ALARM)
        self.canvas.text(self.left - 0.06, low + 0.04, "breaks it", 8, ha="right", color=ALARM)

    def draw_names(self, x_label: str) -> None:
        """Write the labels of rows and columns; of a picture, the columns' numbers."""
        step = max(1, math.ceil(self.n_s / 40))
        size = 9 if self.n_s <= 25 else 7
        for s in range(0, self.n_s, step):
            self.canvas.text(self.left - 0.06, self._y(s + 0.5), self.rows[s], size, ha="right")
        low = self.bottom - 0.06
        if self.is_raster:
            step = next(k for k in (10, 20, 50, 100, 500, 1000, 10**9) if self.n_y / k <= 12)
            for y in (0, *range(step - 1, self.n_y, step)):
                self.canvas.text(self._x(y + 0.5), low, f"{y + 1:,}", 8.5, ha="center", va="top")
        elif self.is_turned:
            small = 8.5 if self.n_y <= 30 else 7
            place: dict[str, Any] = {"ha": "right", "rotation": 90, "rotation_mode": "anchor"}
            for y, name in enumerate(self.columns):
                self.canvas.text(self._x(y + 0.5), low, name, small, **place)
        else:
            for y, name in enumerate(self.columns):
                self.canvas.text(self._x(y + 0.5), low, name, 8.5, ha="center", va="top")
        if x_label:
            self.canvas.text(self.left, self.bottom - self.below - 0.14, x_label, 9, va="baseline")

    def draw_lifts(self, end: float) -> None:
        """Write the lift into each cell where there is room, the zeros up to 50 columns."""
        if self.n_y <= _WRITTEN[0] and self.n_s <= _WRITTEN[1]:
            for (s, y), value in np.ndenumerate(self.values):
                is_dark = value < -0.4 * end or value > 0.6 * end
                paint = "#ffffff" if is_dark else "#1b1b1f"
                place = self._x(y + 0.5), self._y(s + 0.5)
                self.canvas.text(*place, _lift(value), 8.5, ha="center", color=paint)
        elif not self.is_raster:
            for s, y in np.argwhere(np.isneginf(self.values)).tolist():
                place = self._x(y + 0.5), self._y(s + 0.5)
                self.canvas.text(*place, "0", 7, ha="center", color="#ffffff")

    def draw_bar(self, end: float, budgets: tuple[float, float]) -> None:
        """Draw the colour bar: factors beside it, the budgets as lines with their words."""
        canvas = self.canvas
        has_zeros = bool(np.isneginf(self.values).any())
        left, top = canvas.width - _BAR_ROOM + 0.16, canvas.height - 0.12
        tall = min(canvas.height - (0.42 if has_zeros else 0.22), 2.4)
        right, low = left + _BAR_WIDTH, top - tall

        def at(value: float) -> float:
            return top - tall * (1 - value / end) / 2

        scale = np.linspace(end, -end, _STEPS)[:, None]
        canvas.picture(_painted(scale, end), (left, right, low, top))
        marks = [
            (value, f"×{rounded(value)} {word}", True)
            for value, rounded, word in (
                (budgets[1], at_most, "at most"),
                (-budgets[0], at_least, "at least"),
            )
            if abs(value) <= end
        ]
        for value, _, _ in marks:
            canvas.lines([(left - 0.05, at(value), right + 0.05, at(value))], ZERO, 1.6)
        ticks = [0.0, *(sign * math.log(factor) for factor in _FACTORS for sign in (1, -1))]
        for value in ticks:
            if abs(value) <= end and all(abs(at(value) - at(m[0])) > _LINE for m in marks):
                canvas.lines([(right, at(value), right + 0.04, at(value))], INK, 0.6)
                marks.append((value, f"×{math.exp(value):.3g}", False))
        heights = _apart([at(value) for value, _, _ in marks])
        for (_, word, is_budget), height in zip(marks, heights, strict=True):
            weight = "bold" if is_budget else "normal"
            canvas.text(right + 0.08, height, word, 8, weight=weight)
        canvas.lines([(a, low, a, top) for a in (left, right)], GRID, 0.5)
        if has_zeros:
            canvas.boxes([(left, right, low - 0.25, low - 0.11)], ZERO)
            canvas.text(right + 0.08, low - 0.18, "0: ruled out", 8)


@cache
def _colour_map() -> "ListedColormap":
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    smooth = LinearSegmentedColormap.from_list("lift", DIVERGING, N=_STEPS)
    return ListedColormap(smooth(np.linspace(0, 1, _STEPS)))


def _painted(values: Floats, end: float) -> npt.NDArray[np.uint8]:
    """Return the colour of each cell, (|S|, |Y|, 3)."""
    places = (np.clip(values, -end, end) / end + 1) / 2
    colours = np.array(_colour_map()(places, bytes=True))[..., :3]
    colours[np.isneginf(values)] = tuple(bytes.fromhex(ZERO[1:]))
    return colours


def _runs(line: Bools) -> list[tuple[int, int]]:
    """Return the first and the end of each run of true values."""
    steps = np.diff(np.concatenate([[0], line.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _apart(heights: Sequence[float]) -> list[float]:
    """Return the heights with the first two moved apart where their words would overlap."""
    found = list(heights)
    if len(found) > 1 and 0 <= found[0] - found[1] < _LINE:
        middle = (found[0] + found[1]) / 2
        found[:2] = [middle + _LINE / 2, middle - _LINE / 2]
    return found


def _lift(value: float) -> str:
    """Write e**value in a few letters, away from 1 as tables do; what is not 0 is not written as 0.

    Examples
    --------
    >>> _lift(-math.inf), _lift(-9.0), _lift(0.1), _lift(5.0)
    ('0', '<.01', '1.11', '149')
    >>> _lift(math.log(2.0)), _lift(math.log(2.691)), _lift(math.log(0.509)), _lift(math.log(9.999))
    ('2.00', '2.70', '0.50', '10')
    """
    lift = math.exp(min(value, 700.0))
    if 0 < lift < 0.01:
        return "<.01"
    if lift < 1:
        return "0" if lift == 0 else f"{math.floor(100 * lift * (1 + _SLACK)) / 100:.2f}"
    hundredths = math.ceil(100 * lift * (1 - _SLACK))
    return f"{hundredths / 100:.2f}" if hundredths < 1000 else ceiling(lift * (1 - _SLACK))
