"""How far P(y|T) / P(y|not T) can be from 1 in a region of populations, for every output at once.

For a factor rho, ``P(y|T) <= rho P(y|not T)`` is a row of `region` with ``psi = a_x - rho b_x``.
The ends of psi are convex in rho, so between two factors they are at most their chords.
"""

import math
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Bools, Floats, Ints
from lowlift._channel import Channel
from lowlift._population.rows import Discs

#: Logarithms of the factors between which chords are taken; beyond the last nothing is bounded.
_LARGEST, _SPACING = 6.0, 0.125
#: Entries of the ends at all factors, at the most: with more symbols there are fewer factors.
_MOST_ENTRIES = 1 << 22
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Entries:
    """The positive weights of a channel by output, ascending, each divided by the largest."""

    members: Ints
    outputs: Ints
    weights: Floats
    #: Where each output starts, (|Y|,).
    starts: Ints

    @classmethod
    def of(cls, channel: Channel) -> "Entries":
        """Return the weights of a channel."""
        outputs, weights = channel.entry_outputs, channel.member_weights.astype(np.float64)
        largest = np.maximum.reduceat(weights, channel.offsets[:-1])
        weights = weights / largest[outputs]
        order = np.lexsort((weights, outputs))
        return cls(channel.members[order], outputs, weights[order], channel.offsets[:-1])

    def sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return per entry the sum over its output up to it, and over the whole output."""
        running = np.cumsum(values)
        before = (running - values)[self.starts]
        totals = np.add.reduceat(values, self.starts)
        return running - before[self.outputs], totals[self.outputs]


def largest_ratios(discs: Discs, entries: Entries) -> Floats:
    """Return per output a bound on P(y|T) / P(y|not T) over all (a, b) of the discs; inf for none.

    Cost
        O(factors times steps times |X|), and 30 times the channel's positive weights.
    """
    n_x, members = discs.a_low.shape[1], discs.of[entries.members]
    count = max(16, min(round(2 * _LARGEST / _SPACING), _MOST_ENTRIES // n_x)) + 1
    logs = np.linspace(-_LARGEST, _LARGEST, count)
    factors = np.exp(logs)
    upper, lower = np.empty((2, count, n_x))
    for k, factor in enumerate(factors.tolist()):
        upper[k] = (discs.a_high - factor * discs.b_low[::-1]).max(axis=0)
        lower[k] = (factor * discs.b_high - discs.a_low[::-1]).max(axis=0)
    totals = lower @ np.bincount(discs.of, minlength=n_x)

    def is_bounded(tried: Floats) -> Bools:
        """Tell per output whether the ratio is at most e**tried."""
        factor = np.exp(tried)
        cell = np.minimum(np.searchsorted(factors, factor, side="right") - 1, count - 2)
        part = (factor - factors[cell]) / (factors[cell + 1] - factors[cell])
        e_cell, e_part = cell[entries.outputs], part[entries.outputs]
        u, v = (
            ends[e_cell, members] * (1 - e_part) + ends[e_cell + 1, members] * e_part
            for ends in (upper, lower)
        )
        total = (totals[cell] * (1 - part) + totals[cell + 1] * part)[entries.outputs]
        t = entries.weights
        (v_to, v_all), (vt_to, _) = entries.sums(v), entries.sums(v * t)
        (u_to, u_all), (ut_to, ut_all) = entries.sums(u), entries.sums(u * t)
        gain = (factor - 1)[entries.outputs]
        left = t * (total - v_all + v_to) - vt_to + (ut_all - ut_to) - t * (u_all - u_to) - t * gain
        least = np.minimum(np.minimum.reduceat(left, entries.starts), ut_all[entries.starts])
        return np.asarray(least <= 0)

    low = np.full(len(entries.starts), -_LARGEST)
    high = np.full(len(entries.starts), _LARGEST)
    is_infinite = ~is_bounded(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = is_bounded(middle)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(is_infinite, math.inf, np.exp(high))
