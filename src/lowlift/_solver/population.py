"""The posteriors of X that keep a bound for every population of a confidence region.

A posterior v stands for the column ``w = v / P(x)`` of a channel, up to its mass. A row of the
region is a set of linear inequalities ``sum_x psi_x w_x <= 0``: those that points outside violate
become rows of the linear programs, as tangents of a convex criterion do. So the coordinates of this
polytope are w. At its centre is the column that is divided among atoms: that of ones, which tells
nothing, or the column of an output that is refined.
"""

from collections.abc import Sequence

import numpy as np

from lowlift._arrays import Floats
from lowlift._joint import Joint
from lowlift._population.rows import population_region
from lowlift._solver.highs import linear_program
from lowlift._solver.polytope import Polytope
from lowlift.criteria import HalfSpaces, Population

#: Where the least gain of a row is below this, hardly any column but the constant is allowed.
LEAST_GAIN = 1e-6
#: How far inside atoms stay, as a part of the gain: room for rounding to whole numbers.
_INSIDE = 1e-7
#: Linear programs per start, at the most and at least.
_STEPS, _LEAST_STEPS = 10, 2
#: Points from which a round of pricing goes on on the region itself.
_MOST_PROGRAMS = 12


class PopulationPolytope(Polytope):
    """The posteriors that a bound for the population allows, between two polytopes.

    Parameters
    ----------
    joint, criterion
        The counted rows, and the bound for their population.
    column
        The symbols that an allowed output has, and their weights: atoms divide it. By default that
        of all symbols with one weight.
    """

    def __init__(
        self,
        joint: Joint,
        criterion: Population,
        column: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        self.joint, self.criterion = joint, criterion
        members, weights = column or (range(joint.n_x), [1] * joint.n_x)
        self.members, self.n_x = np.array(members), len(members)
        masses = joint.p_x[self.members] * (np.array(weights, np.float64) / max(weights))
        self.p_x = joint.p_x if column is None else masses / masses.sum()
        self.lift = np.diag(1 / joint.p_x[self.members])
        upper, lower, gain = population_region(joint, criterion).floats
        upper, lower = upper / gain[:, None], lower / gain[:, None]
        #: The ends of psi, divided by the gain, and what their sum is at most, with the sign turned
        #: (1 where no symbol is left out): those of symbols that are left out are as low as can be.
        self.psi = -lower[:, self.members], upper[:, self.members]
        self.room = 1 - np.delete(lower, self.members, axis=1).sum(axis=1)
        self.rows, self.boxes = np.ones((1, self.n_x)), np.ones((4, 1))
        self.tangents: list[tuple[float, ...]] = []
        self.idle, self.normals = np.zeros(0, np.int64), np.zeros((0, self.n_x + 1))
        self.is_whole = column is None
        self._settle()
        self.cut(self.lift)

    @property
    def centre(self) -> Floats:
        """The column that atoms divide, with a mass of 1."""
        return np.asarray(self.p_x * self.lift.diagonal())

    @property
    def slack(self) -> float:
        """How far inside the region the centre is, in gains: 1 for the constant column."""
        return -float(self.excess(self.centre[:, None], 0.0)[0])

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
        the sum of psi leaves.
        """
        low, high = self.psi[0][row], self.psi[1][row]
        ties = np.abs(column - at) <= 1e-12 * at
        psi = np.where((column > at) & ~ties, high, low)
        left, room = -self.room[row] - psi.sum(), np.where(ties, high - low, 0.0)
        if left > 0 and room.sum() > 0:
            psi = psi + np.minimum(1.0, left / room.sum()) * room
        # Any psi between the ends with a sum of at most that is valid: whatever the rounding, go
        # toward the lower ends until it is.
        beyond, reach = psi.sum() + self.room[row], (psi - low).sum()
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
            found = below + above - t * self.room[row]
            best = found.argmin(axis=1)
            each = np.arange(len(columns))
            values[row], at[row] = found[each, best], t[each, best]
            none = (t * u).sum(axis=1)  # at t = 0
            values[row], at[row] = (
                np.minimum(values[row], none),
                np.where(none < values[row], 0.0, at[row]),
            )
        return values, at

    def descended(self, pi: Floats, starts: Floats) -> tuple[Floats, Floats]:
        """Return points that successive linearisation finds, first on the rows so far.

        From the best of those that the region does not allow, it goes on on the region itself.
        """
        first, first_values = super().descended(pi, starts)
        outside = np.flatnonzero(np.isfinite(first_values))
        outside = outside[self.excess(self.lifts(first[outside])) > 0]
        outside = outside[np.argsort(first_values[outside])][:_MOST_PROGRAMS]
        points, values = np.zeros((len(outside), self.n_x)), np.full(len(outside), np.inf)
        if not len(outside):
            return first, first_values
        program = _Program(self)
        for k, start in enumerate(first[outside]):
            v = start
            for step in range(_STEPS):
                found = program.minimise(-np.log(v + 0.01 * 0.3**step) - pi)
                if found is None:
                    break
                v, value = found, _value(found, pi)
                if value < values[k] - 1e-12:
                    points[k], values[k] = v, value
                elif step > _LEAST_STEPS:
                    break
        return np.concatenate([first, points]), np.concatenate([first_values, values])

    def excess(self, lifts: Floats, hair: float = _INSIDE) -> Floats:
        """Return how far each column (|X|, k) is beyond its worst row, in gains, plus a hair."""
        return np.asarray(self._values(lifts.T)[0].max(axis=0) + hair)

    def shares_inside(self, lifts: Floats, *, is_exact: bool = False) -> Floats:
        """Return how far from the centre toward each column is allowed, in [0, 1].

        Mixed with the constant column, a column has the mixed value: -1 for the constant.
        """
        if not self.is_whole:
            return super().shares_inside(lifts, is_exact=is_exact)
        beyond = np.maximum(self.excess(lifts, 0.0), 0.0)
        return np.asarray((1.0 if is_exact else 1 - 2 * _INSIDE) / (1 + beyond))


class _Program:
    """Linear programs over the posteriors of a region, by HiGHS: all rows, written out.

    Each row of the region has a t and, for each symbol, ``z >= max(u (w - t), v (t - w))``.
    """

    def __init__(self, polytope: PopulationPolytope) -> None:
        from scipy import sparse

        (low, high), scale, n = polytope.psi, polytope.lift.diagonal(), polytope.n_x
        size = len(low)
        blocks = [[sparse.csr_matrix(np.ones((1, n))), None, None]]
        # Columns: v by symbol, t by row, z by row and symbol.
        for ends in (high, low):
            over_v = sparse.vstack([sparse.diags(-row * scale) for row in ends])
            over_t = sparse.block_diag([row[:, None] for row in ends])
            blocks.append([over_v, over_t, sparse.identity(size * n)])
        blocks.append(
            [sparse.csr_matrix((size, n)), -sparse.diags(polytope.room),
             sparse.kron(sparse.identity(size), np.ones((1, n)))]
        )  # fmt: skip
        matrix = sparse.bmat(blocks, format="csc")
        least = np.r_[np.zeros(n + size), np.full(size * n, -np.inf)]
        most = np.full(len(least), np.inf)
        low_rows = np.r_[1.0, np.zeros(2 * size * n), np.full(size, -np.inf)]
        high_rows = np.r_[1.0, np.full(2 * size * n, np.inf), np.full(size, -3 * _INSIDE)]
        self.solver = linear_program(
            (matrix.indptr, matrix.indices, matrix.data),
            np.zeros(len(least)),
            (least, most),
            (low_rows, high_rows),
            threads=1,
            primal_feasibility_tolerance=1e-9,
        )
        self.n = n
        self.columns = np.arange(n, dtype=np.int32)

    def minimise(self, cost: Floats) -> Floats | None:
        """Return the best posterior for costs of the symbols; None where there is none."""
        self.solver.changeColsCost(self.n, self.columns, cost)
        self.solver.run()
        if self.solver.getModelStatus().name != "kOptimal":
            return None
        v = np.maximum(np.array(self.solver.getSolution().col_value)[: self.n], 0.0)
        return np.asarray(v / v.sum())


def _value(v: Floats, pi: Floats) -> float:
    """Return ``H(v) - pi . v``."""
    return float(-(v * np.log(np.where(v > 0, v, 1.0))).sum() - v @ pi)


def _sums_after(values: Floats) -> Floats:
    """Return for each entry of a row the sum of those after it."""
    return np.asarray(values.sum(axis=1, keepdims=True) - np.cumsum(values, axis=1))
