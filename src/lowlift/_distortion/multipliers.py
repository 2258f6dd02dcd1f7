"""Multipliers of the program of least distortion, from its dual smoothed by entropy."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._arrays import Floats
from lowlift._deadline import Deadline
from lowlift._distortion.region import Region
from lowlift._threads import cores

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: The entropy's weight in largest distances, and how many rounds are spent at it.
_STAGES = ((0.05, 12), (0.02, 12), (0.008, 15), (0.003, 15), (0.001, 15))
#: Columns that are worked on together: their part of a matrix stays in the cache.
_BLOCK = 64


def smoothed(
    p: Floats, values: Floats, region: Region, distance: Floats, deadline: Deadline
) -> Iterator[tuple[Floats, Floats]]:
    """Yield multipliers (b, g) after each stage of less entropy.

    Each round scales the columns of ``exp((a_c - D + sum_k g_kd u_k(c)) / eta)`` to p_d, moves g by
    a Newton step per column (clipped: without that it diverges), and scales the rows to p_c.
    """
    from concurrent.futures import ThreadPoolExecutor

    ascent = _Ascent(p, values, region, distance)
    with ThreadPoolExecutor(cores()) as threads:
        for eta, rounds in _STAGES:
            for _ in range(rounds):
                if deadline.is_over:
                    return
                ascent.step(eta * ascent.scale, threads)
            yield ascent.law.astype(np.float64), ascent.lifts.astype(np.float64)


class _Ascent:
    def __init__(self, p: Floats, values: Floats, region: Region, distance: Floats) -> None:
        f = np.float32
        finite = np.isfinite(distance)
        self.scale = float(distance[finite].max()) or 1.0
        # Columns are contiguous: a block of them is worked on alone.
        self.distance = np.where(finite, distance, 1e4 * self.scale).T.astype(f)
        self.p, self.log_p = p.astype(f), np.log(p).astype(f)
        self.values = values.astype(f)
        self.squares = self.values**2
        self.low, self.high = region.low.astype(f)[:, None], region.high.astype(f)[:, None]
        self.largest = np.maximum(np.abs(self.values).max(axis=1, initial=0), f(1e-6))[:, None]
        m = len(p)
        self.sources, self.law = np.zeros(m, f), np.zeros(m, f)
        self.lifts = np.zeros((len(self.values), m), f)
        self.damping = 1.0 if len(self.values) == 1 else 0.7

    def step(self, eta: float, threads: "ThreadPoolExecutor") -> None:
        """Move all multipliers once."""
        m = len(self.p)
        blocks = [slice(at, min(at + _BLOCK, m)) for at in range(0, m, _BLOCK)]
        sums = np.sum(list(threads.map(lambda block: self._columns(block, eta), blocks)), axis=0)
        move = self.log_p - np.log(np.maximum(sums, np.float32(1e-37)))
        self.sources += np.float32(eta) * np.clip(move, -30, 30)

    def _plan(self, block: slice, eta: float) -> tuple[Any, Any, Any]:
        plan = self.lifts[:, block].T @ self.values
        plan += self.sources
        plan -= self.distance[block]
        plan *= np.float32(1 / eta)
        high = plan.max(axis=1)
        plan -= high[:, None]
        np.exp(plan, out=plan)
        return plan, plan.sum(axis=1), high

    def _columns(self, block: slice, eta: float) -> Floats:
        """Move the multipliers of some columns; return what they add to the sums of the rows."""
        if len(self.values):
            plan, total, _ = self._plan(block, eta)
            mean = (self.values @ plan.T) / total
            spread = (self.squares @ plan.T) / total - mean**2 + np.float32(1e-6)
            lifts = self.lifts[:, block]
            inside = np.clip(mean, self.low, self.high)
            goal = np.where(lifts > 0, self.low, np.where(lifts < 0, self.high, inside))
            most = 3 * np.float32(eta) / self.largest
            moved = lifts + np.clip(
                np.float32(self.damping * eta) * (goal - mean) / spread, -most, most
            )
            self.lifts[:, block] = np.where(moved * lifts < 0, 0, moved)
        plan, total, high = self._plan(block, eta)
        share = self.p[block] / total
        self.law[block] = np.float32(eta) * (np.log(share) - high)
        return np.asarray(share @ plan)
