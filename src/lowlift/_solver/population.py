"""The posteriors of X that keep a bound for every population of a confidence region.

A posterior v stands for the column ``w = v / P(x)`` of a channel, up to its mass. A row of the
region is a set of linear inequalities ``sum_x psi_x w_x <= 0``: those that points outside violate
become rows of the linear programs, as tangents of a convex criterion do. So the coordinates of this
polytope are w, with the column of ones, which tells nothing, at its centre.
"""

import numpy as np

from lowlift._arrays import Floats
from lowlift._joint import Joint
from lowlift._population.rows import population_region
from lowlift._solver.polytope import Polytope
from lowlift.criteria import HalfSpaces, Population

#: Where the least gain of a row is below this, hardly any column but the constant is allowed.
LEAST_GAIN = 1e-6
#: How far inside atoms stay, as a part of the gain: room for rounding to whole numbers.
_INSIDE = 1e-7


class PopulationPolytope(Polytope):
    """The posteriors that a bound for the population allows, between two polytopes."""

    def __init__(self, joint: Joint, criterion: Population) -> None:
        self.joint, self.criterion = joint, criterion
        self.members, self.n_x, self.p_x = np.arange(joint.n_x), joint.n_x, joint.p_x
        self.lift = np.diag(1 / joint.p_x)
        upper, lower, gain = population_region(joint, criterion).floats
        #: The ends of psi, divided by the gain, so that the constant column has the value -1.
        self.psi = -lower / gain[:, None], upper / gain[:, None]
        self.rows, self.boxes = np.ones((1, self.n_x)), np.ones((4, 1))
        self.tangents: list[tuple[float, ...]] = []
        self.idle, self.normals = np.zeros(0, np.int64), np.zeros((0, self.n_x + 1))
        self._settle()
        self.cut(self.lift)

    @property
    def is_box(self) -> bool:
        """Whether the rows are boxes of lifts: they are not."""
        return False

    @property
    def is_polyhedral(self) -> bool:
        """Whether all half-spaces are listed: there are too many."""
        return False

    @property
    def is_line(self) -> bool:
        """Whether the posteriors are judged by one number: they are not."""
        return False

    def _spaces(self, point: Floats) -> HalfSpaces:
        """Return the inequality of each row of the region that a column violates."""
        values, at = self._values(point[None])
        broken = np.flatnonzero(values[:, 0] > 0)
        order = broken[np.argsort(-values[broken, 0])][:2]  # the others mostly follow
        found = [self._worst(point, row, float(at[row, 0])) for row in order.tolist()]
        normals = np.array(found).reshape(len(found), self.n_x)
        return HalfSpaces(normals, np.zeros(len(found)))

    def _worst(self, column: Floats, row: int, at: float) -> Floats:
        """Return the psi of a row that is worst for a column; `at` is the t that decides it.

        Symbols above t have the upper end of psi, those below the lower end; those at t share what
        the sum of psi, -1, leaves.
        """
        low, high = self.psi[0][row], self.psi[1][row]
        ties = np.abs(column - at) <= 1e-12 * at
        psi = np.where((column > at) & ~ties, high, low)
        left, room = -1.0 - psi.sum(), np.where(ties, high - low, 0.0)
        if left > 0 and room.sum() > 0:
            psi = psi + np.minimum(1.0, left / room.sum()) * room
        # Any psi between the ends with a sum of at most -1 is valid: whatever the rounding, go
        # toward the lower ends until it is.
        beyond, reach = psi.sum() + 1.0, (psi - low).sum()
        if beyond > -1e-15 and reach > 0:
            psi = low + (psi - low) * max(0.0, 1 - (beyond + 1e-13 * np.abs(psi).sum()) / reach)
        return np.asarray(psi)

    def _values(self, columns: Floats) -> tuple[Floats, Floats]:
        """Return per row and column, (f, k), the least left side over t, and that t."""
        order = np.argsort(columns, axis=1)
        t = np.take_along_axis(columns, order, axis=1)
        values, at = np.empty((2, len(self.psi[0]), len(columns)))
        for row, (low, high) in enumerate(zip(*self.psi, strict=True)):
            v, u = -low[order], high[order]
            # At t = w_j: sum over those below of (t - w) v, over those above of (w - t) u, less t.
            below = t * np.cumsum(v, axis=1) - np.cumsum(t * v, axis=1)
            above = _sums_after(t * u) - t * _sums_after(u)
            found = below + above - t
            best = found.argmin(axis=1)
            each = np.arange(len(columns))
            values[row], at[row] = found[each, best], t[each, best]
            none = (t * u).sum(axis=1)  # at t = 0
            values[row], at[row] = (
                np.minimum(values[row], none),
                np.where(none < values[row], 0.0, at[row]),
            )
        return values, at

    def excess(self, lifts: Floats, hair: float = _INSIDE) -> Floats:
        """Return how far each column (|X|, k) is beyond its worst row, in gains, plus a hair."""
        return np.asarray(self._values(lifts.T)[0].max(axis=0) + hair)

    def shares_inside(self, lifts: Floats, *, is_exact: bool = False) -> Floats:
        """Return how far from the constant column toward each column is allowed, in [0, 1].

        Mixed with the constant column, a column has the mixed value: -1 for the constant.
        """
        beyond = np.maximum(self.excess(lifts, 0.0), 0.0)
        return np.asarray((1.0 if is_exact else 1 - 2 * _INSIDE) / (1 + beyond))


def _sums_after(values: Floats) -> Floats:
    """Return for each entry of a row the sum of those after it."""
    return np.asarray(values.sum(axis=1, keepdims=True) - np.cumsum(values, axis=1))
