"""The least distortion under a bound for the population: a linear program, rounded, audited."""

import math

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._deadline import Deadline
from lowlift._distortion.program import Plan
from lowlift._joint import Joint
from lowlift._mechanisms.distortion_search import Search
from lowlift._population.rows import population_region
from lowlift._release import Release
from lowlift.criteria import Population

#: A pair with less than this part of a symbol carries no mass.
_NONE = 1e-9
#: The status by which SciPy says that a program has no solution.
_INFEASIBLE = 2


class PopulationSearch(Search):
    """The search for a bound for the population.

    A column is ``w + t`` with w, t >= 0, and ``sum_x U_x w_x <= k t`` for each row of the region:
    what `region.Row` decides, with t at most the least entry. What is proven is the bound of the
    criterion for the table: a channel that satisfies the one for the population satisfies it too,
    as the table itself is one of the populations of the region.
    """

    def __init__(
        self,
        joint: Joint,
        criterion: Population,
        distance: Floats,
        keep_law: bool,
        gap: float,
        deadline: Deadline,
    ) -> None:
        super().__init__(joint, criterion.criterion, distance, keep_law, gap, deadline)
        self.population = criterion
        upper, _, gain = population_region(joint, criterion).floats
        self.upper, self.gain = upper, gain
        self.has_bound = False

    def _plan(self, shrink: float) -> Plan | None:
        """Solve the program on the region shrunk by a share; the first time, bound it too."""
        if not self.has_bound:
            self.has_bound = True
            super()._plan(shrink)
        solved = self._solved(shrink)
        if solved is None:
            return None
        rows, columns, masses = solved
        value = float(masses @ self.distance[rows, columns])
        broken = 0.0 if len(masses) else math.inf
        return Plan(rows, columns, masses, self.best, value, self.bound, broken)

    def _solved(self, shrink: float) -> tuple[Ints, Ints, Floats] | None:
        """Return pairs (x, y) and their masses, none where there is no channel; None: no time."""
        from scipy import sparse
        from scipy.optimize import linprog

        p, m = self.joint.p_x, self.joint.n_x
        eye, ones = sparse.identity(m), np.ones((1, m))
        # Variables: w by x and y, then t by y.
        allowed = np.isfinite(self.distance)
        most = np.r_[np.where(allowed.ravel(), 1.0, 0.0), allowed.all(axis=0)]
        distance = np.where(allowed, self.distance, 0.0)
        cost = np.r_[(p[:, None] * distance).ravel(), p @ distance]
        over = sparse.hstack(
            [sparse.kron(self.upper, eye), sparse.kron(-(1 - shrink) * self.gain[:, None], eye)]
        )
        equal = [sparse.hstack([sparse.kron(eye, ones), np.ones((m, m))])]
        right = [np.ones(m)]
        if self.keep_law:
            equal.append(sparse.hstack([sparse.kron(p[None], eye), eye]))
            right.append(p)
        left = max(self.deadline.left, 1.0)
        found = linprog(
            cost, A_ub=over.tocsr(), b_ub=np.zeros(over.shape[0]),
            A_eq=sparse.vstack(equal).tocsr(), b_eq=np.concatenate(right),
            bounds=np.column_stack([np.zeros(len(most)), most]),
            method="highs-ipm" if m > 60 else "highs",
            options={"time_limit": left} if np.isfinite(left) else {},
        )  # fmt: skip
        if found.status == _INFEASIBLE:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        if found.x is None or found.status != 0:
            return None
        shares = np.maximum(found.x[: m * m].reshape(m, m) + found.x[m * m :], 0.0) * allowed
        rows, columns = np.nonzero(shares > _NONE)
        return rows, columns, (p[:, None] * shares)[rows, columns]

    def _rounded(self, rows: Ints, columns: Ints, masses: Floats) -> Release:
        """Return the release of a plan as integer weights, audited for the population."""
        return self._audited(super()._rounded(rows, columns, masses))

    def _mixed(self, plan: Plan | None) -> Release:
        """Return the plan mixed with the release that ignores x."""
        return self._audited(super()._mixed(plan))

    def _audited(self, release: Release) -> Release:
        return Release.of(
            self.joint, release.channel, self.population, mechanism="least_distortion"
        )
