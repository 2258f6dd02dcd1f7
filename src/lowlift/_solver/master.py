"""The linear program that mixes atoms: ``min sum beta H(v)``, ``sum beta v = P_X``, by HiGHS.

Each row is divided by p(x), so that the solver's tolerances are relative to it: a rare symbol
counts as much as a common one.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints
from lowlift._solver.classes import Atom, Mixture
from lowlift._solver.highs import linear_program
from lowlift.errors import SolverFailed

#: A share this small, and a part of P(x) this small, count as none.
NONE = 1e-11
#: How far from P(x), relative to it, a mixture may be.
_RESIDUAL = 1e-10


class Rows:
    """A linear program of HiGHS with a row for each symbol, and columns that are added.

    Each row is divided by p(x).
    """

    def __init__(self, p_x: Floats) -> None:
        n = len(p_x)
        self.n, self.p_x = n, p_x
        none, ones, places = np.zeros(0), np.ones(n), np.zeros(0, np.int64)
        entries = np.zeros(1, np.int64), places, none
        self.solver = linear_program(entries, none, (none, none), (ones, ones), threads=1)
        self.beta, self.pi, self.cost = np.zeros(0), np.zeros(n), np.inf

    def add_columns(self, costs: Floats, starts: Ints, index: Ints, shares: Floats) -> None:
        """Add columns: where each starts in `index`, the numbers of its symbols, and `shares`."""
        zeros, infinite = np.zeros(len(costs)), np.full(len(costs), math.inf)
        self.solver.addCols(
            len(costs), costs, zeros, infinite, len(index),
            starts.astype(np.int32), index.astype(np.int32), shares / self.p_x[index],
        )  # fmt: skip

    def solve(self, seconds: float = math.inf) -> bool:
        """Solve; set beta, pi and the cost, H(X|Y) in nats. Tell whether there was time for it.

        Without, they stay as they were.
        """
        # The solver counts the time of all its runs.
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(seconds, 0.0))
        self.solver.run()
        if self.solver.getModelStatus().name not in {"kOptimal", "kTimeLimit"}:
            self.solver.clearSolver()  # once more, not from the last basis
            self.solver.run()
        status = self.solver.getModelStatus().name
        if status == "kTimeLimit":
            return False
        if status != "kOptimal":
            raise SolverFailed("the linear program that mixes atoms was not solved.")
        solution = self.solver.getSolution()
        self.beta, self.pi = np.array(solution.col_value), np.array(solution.row_dual) / self.p_x
        self.cost = float(self.solver.getInfo().objective_function_value)
        return True


class Master(Rows):
    """Atoms so far, their best mixture, and its duals.

    The first |X| columns are artificial: each symbol alone at a high price. They keep the program
    feasible and the duals bounded until the atoms suffice, and are then closed.
    """

    def __init__(self, p_x: Floats) -> None:
        super().__init__(p_x)
        self.price = 4.0
        self.atoms: list[Atom] = []
        self._seen: set[tuple[bytes, bytes]] = set()
        self._add([(np.array([x]), np.ones(1)) for x in range(self.n)], np.full(self.n, self.price))
        self.beta = np.zeros(self.n)

    def _add(self, atoms: Sequence[Atom], costs: Floats) -> None:
        starts = np.zeros(len(atoms), np.int64)
        np.cumsum([len(members) for members, _ in atoms[:-1]], out=starts[1:])
        index = np.concatenate([members for members, _ in atoms])
        self.add_columns(costs, starts, index, np.concatenate([shares for _, shares in atoms]))
        self.atoms += atoms

    def add(self, points: npt.ArrayLike) -> int:
        """Add posteriors (k, |X|) that are not there yet; return how many were new."""
        return self.add_atoms([atom_of(v) for v in np.atleast_2d(points)])

    def add_atoms(self, atoms: Sequence[Atom]) -> int:
        """Add sparse posteriors that are not there yet; return how many were new."""
        new = []
        for members, shares in atoms:
            # Seven digits of each share, however small it is.
            key = members.tobytes(), shares.astype(np.float32).tobytes()
            if key not in self._seen:
                self._seen.add(key)
                new.append((members, shares))
        if new:
            costs = np.array([-(shares * np.log(shares)).sum() for _, shares in new])
            self._add(new, costs)
        return len(new)

    @property
    def artificial(self) -> float:
        """The largest part of a P(x) that is on its artificial column."""
        return float((self.beta[: self.n] / self.p_x).max())

    def raise_price(self) -> None:
        """Double the price of the artificial columns."""
        self.price *= 2
        columns = np.arange(self.n, dtype=np.int32)
        self.solver.changeColsCost(self.n, columns, np.full(self.n, self.price))

    def close_artificial(self) -> None:
        """Fix the artificial columns at 0."""
        columns, zeros = np.arange(self.n, dtype=np.int32), np.zeros(self.n)
        self.solver.changeColsBounds(self.n, columns, zeros, zeros)

    def used(self) -> Mixture:
        """Return the atoms that carry mass, each with it."""
        out: Mixture = []
        for k in np.flatnonzero(self.beta > 0).tolist():
            members, shares = self.atoms[k]
            if k >= self.n and (self.beta[k] * shares / self.p_x[members]).max() > NONE:
                out.append((float(self.beta[k]), (members, shares)))
        return out


def atom_of(v: Floats) -> Atom:
    """Return a posterior (|X|,) without the shares that count as none."""
    members = np.flatnonzero(v > NONE)
    return members, v[members] / v[members].sum()


def mix(atoms: Floats, p_x: Floats) -> tuple[bool, Floats, Floats, Floats]:
    """Solve ``min sum beta H(v)`` with ``sum beta v = p_x`` for a few atoms: the columns, (|X|, k).

    Returns whether it was solved, the entropies (k,), beta (k,), and the duals (|X|,).
    """
    from lowlift._kernels import lp

    n, k = atoms.shape
    cost = -(atoms * np.log(np.where(atoms > 0, atoms, 1.0))).sum(axis=0)
    rows = np.ascontiguousarray(atoms / p_x[:, None])
    lo, hi = np.zeros(k + n), np.ones(k + n)
    lo[k:] = 1.0
    x, net, y = np.zeros(k + n), np.zeros(k), np.zeros(n)
    status, *_ = lp.minimise(
        rows, rows.max(axis=1), *lp.fresh_tableau(rows), cost, lo, hi, math.inf, 2000, x, net, y
    )
    beta = np.where(x[:k] * rows.max(axis=0) > NONE, x[:k], 0.0)
    is_solved = status == lp.OPTIMAL and bool((np.abs(rows @ beta - 1) <= _RESIDUAL).all())
    return is_solved, cost, beta, y / p_x
