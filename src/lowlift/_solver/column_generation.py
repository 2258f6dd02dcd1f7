"""Column generation for the random response: better atoms and tighter bounds until they meet."""

import math
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from lowlift._arrays import Floats
from lowlift._solver.classes import Mixture
from lowlift._solver.columns import TOLERANCE, Columns, Starts
from lowlift._solver.master import Master, atom_of, mix
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import Proof, coordinate_bounds, nmi_bound, prove_floor
from lowlift._solver.search import Limits, Outcome
from lowlift.errors import SolverFailed

#: A proof is short up to so many nodes for a symbol.
_NODES = 60
#: By how much the next target is smaller: after a short proof, or where the nodes grow by less than
#: this power; else at the most, and so that the nodes grow by no more than this, if they go on so.
_LEAP, _FLAT = 256.0, 0.3
_STEP, _GROWTH = 3.0, 8.0
#: Proofs that meet points which no atom may be, before the target gives way.
_MISSES = 8
#: The part of a target that is spent on duals at which the proof is shorter; and the part of H(X)
#: below which no target is.
_PULL, _EXACT = 0.75, 1e-4
#: Points of a proof that pricing starts from: one for so many nodes, within these limits.
_FEW_STARTS, _MOST_STARTS = 50, 500
#: Tangents that proofs rest on are kept up to this many rows: one dropped may be met again.
_MANY_ROWS = 400
#: What a proven floor is lowered by, so that another machine's rounding proves it too.
_ROOM = 1e-10
#: Up to this many symbols, a few rounds with all pairs at once are tried first.
_SMALL = 24
#: Rounds of that, and nodes of each part of a proof in it.
_MOST_ROUNDS, _MOST_DIRECT = 30, 400


def optimise(polytope: Polytope, blocks: Sequence[Sequence[int]], limits: Limits) -> Outcome:
    """Return atoms of the polytope that mix to P_X, and a bound on what any could reach.

    `blocks` are an allowed partition, as numbers of the polytope's symbols: the first feasible
    point.
    """
    return _Search(polytope, blocks, limits).run()


class _Search(Columns):
    def __init__(self, polytope: Polytope, blocks: Sequence[Sequence[int]], limits: Limits) -> None:
        super().__init__(polytope, blocks, limits)
        # pi = -log u needs no search: H(v) + sum v log u >= 0 because v <= u.
        self.anchor = -np.log(self.upper)
        self.duals, self.floor = self.anchor, -1e-11
        #: Where tangents were taken that the bound, and the bounds of coordinates, rest on.
        self.tangents: tuple[tuple[float, ...], ...] = ()
        self.upper_tangents: tuple[tuple[float, ...], ...] = ()
        self.bound = min(1.0, nmi_bound(self.polytope.p_x, self.duals, self.floor, self.entropy))
        #: `stalls`: proofs that met points below their cut which gave nothing new.
        self.nodes = self.stalls = 0

    def run(self) -> Outcome:
        """Improve atoms and bound in turn until they are close enough or time is up."""
        if self.has_pairs and self.polytope.n_x <= _SMALL:
            found = self._directly()
            if found is not None:
                return found
        if self._is_over():
            return self._outcome([])
        self.master = Master(self.polytope.p_x)
        # Whatever the solver can no longer do, the last mixture and the last bound are true.
        with suppress(SolverFailed):
            self._improve()
        return self._outcome(self.master.used() if self.nmi > 0 else [])

    def _directly(self) -> Outcome | None:
        """Return the best mixture of a few symbols, if some rounds with all pairs prove it.

        All columns are in the small linear program at once. Pairs suffice at most budgets, and the
        other vertices that it takes are few.
        """
        target, p_x, n = 0.9 * self.gap * self.entropy, self.polytope.p_x, self.polytope.n_x
        corners = Starts(n).points(range(n))
        # Where singles and pairs do not suffice, P_X itself keeps the program feasible.
        atoms = np.concatenate([self._singles_and_pairs(), p_x[:, None]], axis=1)
        for _ in range(_MOST_ROUNDS):
            is_solved, cost, beta, pi = mix(atoms, p_x)
            if not is_solved:
                return None
            nmi, used = 1 - float(beta @ cost) / self.entropy, beta.nonzero()[0]
            found = self._below(pi, np.concatenate([corners, atoms[:, used].T]), target / 4)
            if not len(found) and not self._is_over():
                proof = prove_floor(
                    self.polytope, pi, -target, self.upper,
                    most_nodes=_MOST_DIRECT, is_over=partial(self._tell, atoms.shape[1], nmi),
                )  # fmt: skip
                self._keep(proof, pi)
                if self.bound - nmi > self.gap:
                    found = self._below(pi, proof.points, TOLERANCE)
            if self.bound - nmi <= self.gap or self._is_over():
                mixed = zip(beta[used].tolist(), map(atom_of, atoms[:, used].T), strict=True)
                return self._outcome(list(mixed))
            if not len(found):
                return None
            self.found = np.concatenate([self.found, found])
            atoms = np.concatenate([atoms, found.T], axis=1)
        return None

    def _outcome(self, atoms: Mixture) -> Outcome:
        proof = self.bound, self.duals, self.floor, self.nodes, self.tangents
        return Outcome(atoms, *proof, self.is_stopped)

    def _improve(self) -> None:
        self._first_columns()
        while True:
            self._converge(30)
            if self.master.artificial < 1e-10 or self.master.price > 1e3 or self.is_stopped:
                break
            self.master.raise_price()
            self._solve()
        if not self._is_over():
            self.master.close_artificial()
            if self._solve():
                self._converge(30)
        self._improve_by_triples()
        self._close_gap()

    def _close_gap(self) -> None:
        """Prove ever smaller gaps; what the proofs find improves the mixture."""
        self.is_proving = True
        goal = 0.9 * self.gap * self.entropy
        target = max(goal, 0.5 * (self.bound - self.nmi) * self.entropy)
        most_nodes, misses, steps = 2_000_000, 0, _Steps(goal, self.polytope)
        while self.bound - self.nmi > self.gap and self.stalls < 8 and most_nodes < 10**9:
            if self._is_over():
                return
            if steps.nodes >= steps.short:
                self._improve_by_chance()
            pi, loss = self._duals_for(target)
            proof = self._prove(pi, loss - target, loss, most_nodes)
            if self._tell_master():
                return
            new = self._learn(proof)
            lowest = loss - float(proof.values.min(initial=0.0))
            if proof.floor >= loss - target:
                if not new and (target <= goal or self.stalls):
                    return
                target = steps.after(target, proof.nodes)
            elif lowest > target and not (new and self.polytope.is_polyhedral):
                # Points below the cut that no atom may be: prove what holds down to them, unless
                # the bound is better already: their tangents cut them off in any case.
                misses, open_ = misses + 1, (self.bound - self.nmi) * self.entropy
                if not new or misses % _MISSES == 0 or 1.05 * lowest < 0.5 * open_:
                    target = 1.05 * lowest
                self.stalls += not new
            elif not new:
                most_nodes *= 8

    def _duals_for(self, target: float) -> tuple[Floats, float]:
        """Return duals to prove the target at, and by how much their objective is below the best.

        Part of what is open is spent on duals on the way to those that need no search: at them the
        proof has fewer nodes, and the master's duals need not be final.
        """
        pi, open_ = self.master.pi, self.master.cost - float(self.anchor @ self.polytope.p_x)
        is_exact = self.stalls or not self.polytope.is_box or target < _EXACT * self.entropy
        if is_exact or open_ <= target:
            return pi, 0.0
        share = _PULL * target / open_
        return (1 - share) * pi + share * self.anchor, share * open_

    def _learn(self, proof: Proof) -> int:
        """Make atoms and tangents of the points that a proof met; return how many were new."""
        rows = len(self.polytope.rows)
        values = _entropies(proof.points) - proof.points @ self.master.pi
        most = _MOST_STARTS
        if self.polytope.is_box:
            most = min(most, max(_FEW_STARTS, proof.nodes // 100))
        order = np.argsort(values)[:most]
        points, values = proof.points[order], values[order]
        new = self._linearise(self.master.pi, Starts(found=points))
        if self.polytope.is_box:
            new += self._admit(self._inside(points[values < -TOLERANCE]))
        else:
            if not self.polytope.is_polyhedral and rows > _MANY_ROWS:
                self.polytope.drop_idle(proof.points, patience=8)
            new += self._admit(points)
        if new and self._solve():
            self._converge(4)
        if len(self.polytope.rows) > rows and not self._is_over():
            tighter = coordinate_bounds(self.polytope, self.jobs, self.deadline)
            self.upper = np.minimum(self.upper, tighter)
            self.upper_tangents = tuple(
                dict.fromkeys([*self.upper_tangents, *self.polytope.tangents])
            )
        return new

    def _prove(self, pi: Floats, cut: float, keep_below: float, most_nodes: int) -> Proof:
        """Bound what the duals leave below zero, and keep the better upper bound."""
        proof = prove_floor(
            self.polytope, pi, cut, self.upper, jobs=self.jobs, most_nodes=most_nodes,
            is_over=self._tell_master, keep_below=max(keep_below, -TOLERANCE),
        )  # fmt: skip
        self._keep(proof, pi)
        return proof

    def _keep(self, proof: Proof, pi: Floats) -> None:
        """Keep what was proven if it is the best bound so far."""
        self.nodes += proof.nodes
        floor = proof.floor - _ROOM
        bound = nmi_bound(self.polytope.p_x, pi, floor, self.entropy)
        if bound < self.bound:
            self.bound, self.duals, self.floor = bound, pi, floor
            self.tangents = tuple(dict.fromkeys([*self.polytope.tangents, *self.upper_tangents]))

    def _inside(self, points: Floats) -> Floats:
        """Return the points of the outer polytope that lie in the inner one."""
        lo, hi = self.polytope.inner
        rows = self.polytope.rows @ points.T
        inside = ((rows >= lo[:, None] - 1e-12) & (rows <= hi[:, None] + 1e-12)).all(axis=0)
        return np.asarray(points[inside])


class _Steps:
    """The targets of proofs, from large to small: each makes sure of a bound before a harder one.

    A proof takes more nodes the smaller its target is, up to some target; below, hardly more.
    """

    def __init__(self, goal: float, polytope: Polytope) -> None:
        self.goal, self.is_box = goal, polytope.is_box
        self.short = _NODES * polytope.n_x
        self.target, self.nodes = math.inf, 0

    def after(self, target: float, nodes: int) -> float:
        """Return what to prove after a target that was proven with so many nodes."""
        growth, fall = nodes / max(self.nodes, 1), self.target / target
        self.target, self.nodes = target, nodes
        if not self.is_box:  # tangents are found step by step
            return max(target / 4, self.goal)
        if nodes < self.short:
            return target / _LEAP if target > _LEAP**2 * self.goal else self.goal
        step = _STEP
        if 1 < fall < math.inf:
            power = math.log(max(growth, 1.0)) / math.log(fall)
            step = _LEAP if power < _FLAT else min(max(_GROWTH ** (1 / power), 1.5), _STEP)
        return target / step if target > 1.5 * step * self.goal else self.goal


def _entropies(points: Floats) -> Floats:
    """Return the entropy of each posterior (k, |X|)."""
    return np.asarray(-(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1))
