"""Columns of a channel that keep a bound for every population in a confidence region, exactly.

A column w of a channel, ``w_x = P(y|x)``, is allowed by a row (upper U, lower -V, gain k) when
``sum_x w_x psi_x <= 0`` for all psi with ``-V <= psi <= U`` and ``sum_x psi_x <= -k``. By duality
that is one question about one number t::

    is there a t >= 0 with  sum_x max(U_x (w_x - t), V_x (t - w_x)) <= t k ?

The left side less the right is convex and piecewise linear in t, with its corners at the w_x.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowlift._arrays import Floats

#: The rows are whole numbers over 2**BITS.
BITS = 64


@dataclass(frozen=True, eq=False)
class Row:
    """One inequality: the ends of psi_x and what their sum is at most, times 2**BITS."""

    upper: list[int]
    #: How far psi_x can be below 0: its lower ends with the sign turned.
    lower: list[int]
    gain: int

    @cached_property
    def total(self) -> int:
        """The sum of `lower` over all symbols."""
        return sum(self.lower)

    def allows(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Decide a column from its positive weights: pairs (weight, symbol) in ascending order."""
        upper, lower = self.upper, self.lower
        above = [upper[x] for _, x in pairs]
        # For t between two corners: sums over the symbols with w <= t, and over those above.
        below_v, below_vw = self.total - sum(lower[x] for _, x in pairs), 0
        above_u, above_uw = sum(above), sum(w * u for (w, _), u in zip(pairs, above, strict=True))
        if above_uw <= 0:
            return True
        for t, x in pairs:
            slope = below_v - above_u - self.gain
            if slope >= 0:  # convex: no larger t does better
                return False
            if t * slope - below_vw + above_uw <= 0:
                return True
            above_u, above_uw = above_u - upper[x], above_uw - t * upper[x]
            below_v, below_vw = below_v + lower[x], below_vw + t * lower[x]
        return False


@dataclass(frozen=True, eq=False)
class Region:
    """The rows of a criterion for one table of counts; `lowlift._population.rows` makes them."""

    rows: tuple[Row, ...]
    n_x: int

    def allows(self, members: Sequence[int], weights: Sequence[int]) -> bool:
        """Decide whether a column keeps the bound for every population of the region, exactly.

        Parameters
        ----------
        members, weights
            The symbols with positive weights, and those weights, whole numbers up to one factor.
        """
        pairs = sorted(zip(weights, members, strict=True))
        return all(row.allows(pairs) for row in self.rows)

    @cached_property
    def floats(self) -> tuple[Floats, Floats, Floats]:
        """The rows as floats: upper and lower (f, |X|), gains (f,)."""
        unit = 2.0**-BITS
        upper = np.array([row.upper for row in self.rows], np.float64).reshape(-1, self.n_x)
        lower = np.array([row.lower for row in self.rows], np.float64).reshape(-1, self.n_x)
        return upper * unit, lower * unit, np.array([row.gain * unit for row in self.rows])
