"""The posteriors that a convex criterion allows where S has two values: an interval of lifts.

The lift of one value of s then tells the lift of the other, and a convex region is an interval of
it. Posteriors v with a lift in the interval are mixtures of symbols inside and of pairs of symbols
on either side of an end, whose lift is that end. Entropy is concave, so ``H(v) - pi . v`` is least
at one of them, and looking at all is a proof.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.compilation import prepare
from lowlift._solver.polytope import Polytope
from lowlift._threads import in_order, pieces, until_over

#: Symbols of one side that a thread takes at a time.
_STRETCH = 1024
#: Entries of a table of pairs that a thread computes between two questions for the time.
_ENTRIES = 4_000_000
#: More than a few roundings, relative.
_ROUNDING = 2.0**-48


class Sides(NamedTuple):
    """The symbols on either side of an end, nearest first, and their distances to it."""

    below: Ints
    g: Floats
    above: Ints
    k: Floats


def sides_of(line: Floats, end: float) -> Sides:
    """Return what lies on either side of an end of an interval."""
    order = np.argsort(line, kind="stable")
    placed = line[order]
    below = order[: np.searchsorted(placed, end, "left")][::-1]
    above = order[np.searchsorted(placed, end, "right") :]
    return Sides(below, end - line[below], above, line[above] - end)


class Interval:
    """One coordinate of the symbols of a polytope, and the interval of it that is allowed."""

    def __init__(self, polytope: Polytope) -> None:
        number = int(np.argmax(np.ptp(polytope.lift, axis=1)))
        #: The lift of the value of s whose lifts differ most, (|X|,).
        self.line = polytope.lift[number]
        #: The ends of an interval that holds the lift of every allowed posterior.
        self.ends = _ends(polytope.rows, self.line, *polytope.outer)

    def floor(
        self, pi: Floats, cut: float, jobs: int = 1, is_over: Callable[[], bool] | None = None
    ) -> float:
        """Return a lower bound of ``H(v) - pi . v`` over the outer polytope: `cut` if that is one.

        Without the time to look at all pairs it is that of ``-pi . v``.
        """
        prepare("pairs")
        from lowlift._kernels import intervals

        low, high = self.ends
        alone = (self.line >= low) & (self.line <= high)
        least = min(cut, float((-pi[alone]).min(initial=cut)))
        stop = np.zeros(1, np.int64)
        for end in self.ends:
            sides = sides_of(self.line, end)
            pairs = sides.g, pi[sides.below], sides.k, pi[sides.above]
            if len(sides.g) * len(sides.k) <= _ENTRIES:
                found = [intervals.least_value(*pairs, 0, len(sides.g), cut, stop)]
            else:
                stretches = pieces(range(len(sides.g)), _STRETCH)
                parts = [(*pairs, some.start, some.stop, cut, stop) for some in stretches]
                found = until_over(
                    lambda part: intervals.least_value(*part), parts, jobs, stop, is_over
                )
            least = min([least, *found])
        return least if least > -math.inf else -float(pi.max()) - _ROUNDING


def largest_duals(
    ends: tuple[float, float],
    line: Floats,
    others: Floats,
    pi: Floats,
    jobs: int = 1,
    is_over: Callable[[], bool] = lambda: False,
) -> Floats | None:
    """Return the largest duals of points of a line that no pair with one of the others refutes.

    `pi` are the duals of the others. Points between the ends have at most 0. None without the time.
    """
    prepare("pairs")
    from lowlift._kernels import intervals

    out = np.where((line >= ends[0]) & (line <= ends[1]), 0.0, math.inf)
    for end in ends:
        mine, theirs = sides_of(line, end), sides_of(others, end)
        for numbers, g, partners, k in (
            (mine.below, mine.g, theirs.above, theirs.k),
            (mine.above, mine.k, theirs.below, theirs.g),
        ):
            step = max(1, _ENTRIES // max(1, len(partners)))
            rho, found = pi[partners], out[numbers]
            parts = [
                (g[first : first + step], k, rho, found[first : first + step])
                for first in range(0, len(g), step)
            ]
            in_order(lambda part: is_over() or intervals.largest_duals(*part), parts, jobs)
            out[numbers] = found
    return None if is_over() or not np.isfinite(out).all() else out


def partners(
    g: Floats,
    pi: Floats,
    k: Floats,
    rho: Floats,
    below: float,
    count: int,
    jobs: int = 1,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[Ints, Ints]:
    """Return the pairs of least ``H(v) - pi . v``, at most so many for each g: their numbers.

    `pi` are the duals at the distances g on one side of an end, `rho` those at k on the other.
    Values of `below` or more do not count. Without the time, some are missing.
    """
    prepare("pairs")
    from lowlift._kernels import intervals

    best, step = np.full((len(g), count), -1), max(1, _ENTRIES // max(1, len(k)))
    parts = [slice(first, first + step) for first in range(0, len(g), step)]

    def work(some: slice) -> None:
        if not is_over():
            intervals.cheapest_partners(g[some], pi[some], k, rho, below, best[some])

    in_order(work, parts, jobs)
    rows, places = np.nonzero(best >= 0)
    return rows, best[rows, places]


def _ends(rows: Floats, line: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return an interval of a line that holds what boxes of rows leave.

    Each row is a straight function of the line, up to rounding: its largest distance from one
    through two symbols is allowed for.
    """
    first, last = int(np.argmin(line)), int(np.argmax(line))
    least, most = -math.inf, math.inf
    if line[first] == line[last]:
        return least, most  # one lift for all, which P_X has too
    for row, lo, hi in zip(rows, low, high, strict=True):
        slope = (row[last] - row[first]) / (line[last] - line[first])
        start = row[first] - slope * line[first]
        size = float(np.abs(row).max() + np.abs(start) + np.abs(slope) * line[last])
        off = float(np.abs(row - start - slope * line).max()) + _ROUNDING * size
        if abs(slope) * (line[last] - line[first]) <= 4 * off:
            continue  # the sum of v, or a row as flat
        ends = [(lo - off - start) / slope, (hi + off - start) / slope]
        least, most = max(least, min(ends)), min(most, max(ends))
    room = _ROUNDING * (abs(line[first]) + abs(line[last]) + 1)
    return float(least - room), float(most + room)
