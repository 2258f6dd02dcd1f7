"""The least and the largest P(x) for which every share of an output lies in its interval."""

from typing import Any

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._deadline import Deadline
from lowlift._solver.highs import linear_program
from lowlift.estimation.likelihood import AT_LEAST, RANK, sparse_or_dense

#: Taken off both ends of an interval for rounding, per unit of the multipliers' sum.
ROUNDING = 1e-12
#: Seconds per b**3 of an inverse.
_INVERSE = 1e-9


class Ends:
    """The ends of the intervals of p(x) over all p whose r(y) lie in a box.

    For any multipliers u, ``p(x) = (e_x - A' u) . p + u . r`` is at most the largest entry of
    ``e_x - A' u`` plus the largest ``u . r`` in the box, and at least the smallest of both. So
    every u proves an interval; the linear programs find the u that prove the narrowest.
    """

    def __init__(self, p_yx: Floats, low_y: Floats, high_y: Floats) -> None:
        self.p_yx, self.low_y, self.high_y = p_yx, low_y, high_y
        self.p_xy = sparse_or_dense(np.ascontiguousarray(p_yx.T))
        n = p_yx.shape[1]
        self.low, self.high = np.zeros(n), np.ones(n)
        self.is_consistent, self.skipped = True, 0

    def _prove(self, x: int, u: Floats) -> None:
        """Narrow the interval of p(x) to what the multipliers prove."""
        rest = -(self.p_xy @ u)
        rest[x] += 1.0
        at_low, at_high = u * self.low_y, u * self.high_y
        room = ROUNDING * (1.0 + float(np.abs(u).sum()))
        least = float(rest.min()) + float(np.minimum(at_low, at_high).sum()) - room
        most = float(rest.max()) + float(np.maximum(at_low, at_high).sum()) + room
        self.low[x], self.high[x] = max(self.low[x], least), min(self.high[x], most)

    def narrow(self, order: Ints, parts: list[tuple[Ints, Ints]], deadline: Deadline) -> None:
        """Solve both linear programs of each x, in this order, until time runs out."""
        solver = _solver(self.p_yx, self.low_y, self.high_y, deadline.left)
        solver.run()
        if solver.getModelStatus().name == "kInfeasible":
            self.is_consistent = False
            self.low[:] = self.high[:] = np.nan
            return
        solver.setOptionValue("simplex_strategy", 4)  # primal: the last point stays feasible
        before = deadline.earlier(_INVERSE * max(len(blocks) for _, blocks in parts) ** 3)
        left = np.array(
            [x for x in order.tolist() if before.is_over or not self._solve(solver, x)],
            np.int64,
        )
        self.skipped = len(left)
        if self.skipped:
            self._narrow_without_solver(left, parts, deadline)
        # Where both ends meet they may have passed each other by less than a rounding.
        np.minimum(self.low, self.high, out=self.low)

    def _solve(self, solver: Any, x: int) -> bool:
        """Narrow p(x) by its two linear programs; tell whether both were solved."""
        solved = True
        for sign in (1.0, -1.0):
            solver.changeColCost(x, sign)
            solver.run()
            solved &= solver.getModelStatus().name == "kOptimal"
            solution = solver.getSolution()
            if solution.dual_valid:
                self._prove(x, sign * np.array(solution.row_dual)[:-1])
        solver.changeColCost(x, 0.0)
        return solved

    def _narrow_without_solver(
        self, left: Ints, parts: list[tuple[Ints, Ints]], deadline: Deadline
    ) -> None:
        """Prove what the inverse of the channel proves: the bounds that forget that p >= 0."""
        for x in left.tolist():
            column = self.p_yx[:, x]
            used = column > 0
            most = float((self.high_y[used] / column[used]).min()) + ROUNDING  # A p(x) <= r
            self.high[x] = min(self.high[x], most)
        for outputs, blocks in parts:
            mine = np.isin(blocks, left)
            is_long = _INVERSE * len(blocks) ** 3 > max(deadline.left, AT_LEAST)
            if not mine.any() or is_long:
                continue
            inverse = _some_inverse(self.p_yx[np.ix_(outputs, blocks)])
            u = np.zeros(len(self.p_yx))
            for k in np.flatnonzero(mine).tolist():
                if deadline.left < -AT_LEAST:
                    return
                u[outputs] = inverse[k]
                self._prove(int(blocks[k]), u)


def _some_inverse(p_yx: Floats) -> Floats:
    """Return the inverse, or the pseudo-inverse where there is none (which takes ten times)."""
    if p_yx.shape[0] == p_yx.shape[1]:
        try:
            return np.asarray(np.linalg.inv(p_yx), np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.pinv(p_yx, rcond=RANK), np.float64)


def _solver(p_yx: Floats, low_y: Floats, high_y: Floats, time_limit: float) -> Any:
    """Return a solver that holds the p whose r(y) lie in the box."""
    n = p_yx.shape[1]
    rows = np.vstack([p_yx, np.ones(n)])
    column, row = np.nonzero(rows.T)
    return linear_program(
        (np.searchsorted(column, np.arange(n + 1)), row, rows[row, column]),
        np.zeros(n),
        (np.zeros(n), np.ones(n)),
        (np.append(low_y, 1.0), np.append(high_y, 1.0)),
        threads=1,
        solver="simplex",
        presolve="off",
        simplex_scale_strategy=0,  # scaled, it can go round in circles on dense channels
        simplex_iteration_limit=50 * sum(rows.shape),
        time_limit=float(time_limit),
    )
