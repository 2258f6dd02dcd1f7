"""Column generation for the random response: better atoms and tighter bounds until they meet."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.audit import risky_symbols
from lowlift.certificates import State, entropy_of, nmi_bound
from lowlift.classes import Atom, Mixture
from lowlift.deadline import Deadline
from lowlift.errors import SolverFailed
from lowlift.kernels import lp, pricing
from lowlift.kernels.compilation import prepare
from lowlift.mechanisms.boundary import excess, shares_inside, spread, toward
from lowlift.mechanisms.master import NONE, Master, Outcome, atom_of, mix
from lowlift.mechanisms.starts import Starts, ranges
from lowlift.mechanisms.support import split_support
from lowlift.polytope import Polytope
from lowlift.proving import Proof, coordinate_bounds, programs_at_once, prove_floor
from lowlift.threads import in_order

__all__ = ["optimise", "split_support"]

Floats: TypeAlias = npt.NDArray[np.float64]

_TOLERANCE = 1e-8
#: Linear programs per start, and pivots in each, at the most.
_STEPS, _PIVOTS = 10, 500
#: By how much the next target is smaller where proofs are short and do not become longer.
_LEAP = 256
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
_MOST_ROUNDS, _MOST_DIRECT = 30, 2000
#: Up to this many symbols all pairs are listed: 2000 have 4 million, 100 MB.
_MOST_IN_PAIRS = 2000
#: Entries of the points that one round of pricing holds at a time.
_MOST_ENTRIES = 1 << 22


def optimise(
    polytope: Polytope,
    blocks: Sequence[Sequence[int]],
    gap: float,
    deadline: Deadline,
    jobs: int,
    progress: Callable[[State], object] | None = None,
    entropy: float | None = None,
) -> Outcome:
    """Return atoms of the polytope that mix to P_X, and a bound on what any could reach.

    Parameters
    ----------
    polytope
        Where atoms lie.
    blocks
        An allowed partition, as numbers of the polytope's symbols: the first feasible point.
    gap
        Stop when bound and NMI are this close.
    deadline
        When to stop; every loop asks it.
    jobs, progress
        As for `random_response`.
    entropy
        H(X) in nats where the symbols here are classes of X; `gap` and NMI are then of X.

    Guarantee
        The bound is true whatever stopped the search. There are no atoms when it had no time to
        find a mixture.
    """
    return _Search(polytope, blocks, gap, deadline, jobs, progress, entropy).run()


class _Search:
    def __init__(
        self,
        polytope: Polytope,
        blocks: Sequence[Sequence[int]],
        gap: float,
        deadline: Deadline,
        jobs: int,
        progress: Callable[[State], object] | None,
        entropy: float | None,
    ) -> None:
        prepare("search")
        self.deadline = deadline
        self.polytope, self.gap, self.jobs, self.progress = polytope, gap, jobs, progress
        self.entropy = entropy_of(polytope.p_x) if entropy is None else entropy
        self.upper = coordinate_bounds(polytope, jobs, deadline)
        # pi = -log u needs no search: H(v) + sum v log u >= 0 because v <= u.
        self.anchor = -np.log(self.upper)
        self.duals, self.floor = self.anchor, -1e-11
        #: Where tangents were taken that the bound, and the bounds of coordinates, rest on.
        self.tangents: tuple[tuple[float, ...], ...] = ()
        self.upper_tangents: tuple[tuple[float, ...], ...] = ()
        self.bound = min(1.0, nmi_bound(polytope.p_x, self.duals, self.floor, self.entropy))
        #: `stalls`: proofs that met points below their cut which gave nothing new.
        self.nodes = self.stalls = 0
        #: Vertices found before there is a master, (k, |X|).
        self.found = np.zeros((0, polytope.n_x))
        self.is_stopped = self.is_proving = False
        #: A round of pricing goes on while it gains this; tangents could go on for ever.
        self.worthwhile = -1.0 if polytope.is_box else 0.05 * gap * self.entropy
        self.blocks = blocks
        self.has_pairs = polytope.is_box and polytope.n_x <= _MOST_IN_PAIRS and not self._is_over()
        if self.has_pairs:
            first, second, share, count = pricing.pairs(polytope.rows, *polytope.inner)
            share = share[:count]
            self.pairs = first[:count], second[:count], share
            self.pair_cost = -(share * np.log(share) + (1 - share) * np.log(1 - share))

    # ---- what is where

    @property
    def nmi(self) -> float:
        if self.master.artificial > 1e-10 or math.isinf(self.master.cost):
            return 0.0
        return 1 - self.master.cost / self.entropy

    def _is_over(self) -> bool:
        self.is_stopped = self.is_stopped or self.deadline.is_over
        return self.is_stopped

    def _tell(self, columns: int | None = None, nmi: float = 0.0) -> bool:
        """Tell progress where the search stands (by default the master), and whether to stop."""
        if not self._is_over() and self.progress is not None:
            if columns is None:
                columns, nmi = len(self.master.atoms), self.nmi
            state = State(columns, nmi, self.bound, self.deadline.elapsed)
            self.is_stopped = self.progress(state) is False
        return self.is_stopped

    def _solve(self) -> bool:
        """Mix the atoms anew; without time for that the mixture stays, and the search stops."""
        if not self._is_over():
            self.is_stopped = not self.master.solve(self.deadline.left)
        return not self.is_stopped

    # ---- columns

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
                    found = self._below(pi, proof.points, _TOLERANCE)
            if self.bound - nmi <= self.gap or self._is_over():
                mixed = zip(beta[used].tolist(), map(atom_of, atoms[:, used].T), strict=True)
                return self._outcome(list(mixed))
            if not len(found):
                return None
            self.found = np.concatenate([self.found, found])
            atoms = np.concatenate([atoms, found.T], axis=1)
        return None

    def _singles_and_pairs(self) -> Floats:
        """Return all vertices of support 1 and 2 as columns, (|X|, k)."""
        first, second, share = self.pairs
        alone = self._allowed_alone()
        atoms = np.zeros((self.polytope.n_x, len(alone) + len(share)))
        atoms[alone, np.arange(len(alone))] = 1.0
        columns = np.arange(len(alone), atoms.shape[1])
        atoms[first, columns], atoms[second, columns] = share, 1 - share
        return atoms

    def _allowed_alone(self) -> npt.NDArray[np.int64]:
        """Return the symbols that may be released alone.

        They have the same lift whatever their weight, and need no margin.
        """
        polytope = self.polytope
        risky = risky_symbols(polytope.joint, polytope.criterion)[polytope.members]
        return np.flatnonzero(~risky)

    def _below(self, pi: Floats, starts: Floats, least: float) -> Floats:
        """Return vertices (k, |X|) with values below ``-least`` that linearisation finds."""
        polytope = self.polytope
        points, values = pricing.linearise(
            lp.minimise, polytope.rows, polytope.largest, polytope.inner_lo, polytope.inner_hi, pi,
            starts, *polytope.start, _STEPS, _PIVOTS,
        )  # fmt: skip
        # Two with the same value are mostly the same; if not, the next round finds the other.
        _, first = np.unique(values.round(12), return_index=True)
        points = points[first[values[first] < -least]]
        points[points <= NONE] = 0.0
        return np.asarray(points / points.sum(axis=1, keepdims=True))

    def _first_columns(self) -> None:
        """Singletons and blocks that are allowed, pairs, and a vertex near each symbol."""
        polytope, n = self.polytope, self.polytope.n_x
        atoms = list[Atom]()
        for block in self.blocks:
            if len(block) > 1:
                members = np.array(block)
                shares = polytope.p_x[members] / polytope.p_x[members].sum()
                atoms += split_support(polytope.lift, members, shares, self._is_over)
        atoms += [(np.array([x]), np.ones(1)) for x in self._allowed_alone()]
        if self._is_over():
            return
        self.master.add_atoms(atoms)
        self.master.add(self.found)
        if self.has_pairs:
            self._add_pairs(self._cheapest_pairs(self.pair_cost, math.inf, 6))
        noise = np.random.default_rng(0).normal(size=n)
        for size in (1e-4, 0.2):
            self._linearise(size * noise - np.log(self.upper), Starts(n), keep_all=True)
        self._solve()

    def _add_pairs(self, which: npt.NDArray[np.int64]) -> int:
        first, second, share = (part[which] for part in self.pairs)
        members = np.stack([first, second], axis=1)
        shares = np.stack([share, 1 - share], axis=1)
        return self.master.add_atoms(list(zip(members, shares, strict=True)))

    def _cheapest_pairs(self, cost: Floats, below: float, count: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the cheapest pairs of each symbol, as first and as second."""
        best = np.empty((2, self.polytope.n_x, count), np.int64)
        for symbol, numbers in zip(self.pairs[:2], best, strict=True):
            pricing.cheapest(symbol, cost, below, numbers)
        return np.unique(best[best >= 0])

    def _price_pairs(self) -> int:
        if not self.has_pairs or self._is_over():
            return 0
        first, second, share = self.pairs
        pi = self.master.pi
        net = self.pair_cost - share * pi[first] - (1 - share) * pi[second]
        return self._add_pairs(self._cheapest_pairs(net, -1e-9, 4))

    def _linearise(self, pi: Floats, starts: Starts, *, keep_all: bool = False) -> int:
        """Add what successive linearisation finds; return the number of new atoms and cuts."""
        polytope, new = self.polytope, 0

        def part(which: range) -> tuple[Floats, Floats]:
            if self._is_over():
                return np.zeros((0, polytope.n_x)), np.zeros(0)
            points, values = pricing.linearise(
                lp.minimise, polytope.rows, polytope.largest, polytope.inner_lo,
                polytope.inner_hi, pi, starts.points(which), *polytope.start, _STEPS, _PIVOTS,
            )  # fmt: skip
            return points, values

        step = programs_at_once(polytope)
        room = max(step, _MOST_ENTRIES // polytope.n_x // step * step)
        batches = ranges(range(len(starts)), room)
        for batch in batches:
            if self._is_over():
                break
            found = in_order(part, ranges(batch, step), self.jobs)
            points = np.concatenate([some for some, _ in found])
            values = np.concatenate([some for _, some in found])
            if self._is_over():
                break
            if not self.is_proving:  # there, a tangent dropped would be met again
                polytope.drop_idle(points[np.isfinite(values)], patience=3 * len(batches))
            good = np.isfinite(values) if keep_all else values < -_TOLERANCE
            new += self._admit(points[good])
        return new

    def _admit(self, points: Floats) -> int:
        """Add points that the criterion allows; cut off, or pull back, those that it does not."""
        if not len(points):
            return 0
        if self.polytope.is_box:
            return self.master.add(points)
        lifts = self.polytope.lifts(points)
        outside = excess(self.polytope, lifts) > 0
        new = self.master.add(points[~outside]) if (~outside).any() else 0
        if outside.any():
            beyond, lifts = points[outside], lifts[:, outside]
            shares = shares_inside(self.polytope, lifts)
            near = lifts
            if not self.polytope.is_polyhedral:
                p_x = self.polytope.p_x
                new += self.master.add(p_x + shares[:, None] * (beyond - p_x))
                # Tangents just outside the boundary are the deepest.
                edge = shares_inside(self.polytope, lifts, is_exact=True)
                near = toward(self.polytope, lifts, edge + 1e-6 * (1 - edge))
            chosen = spread(near, np.argsort(shares), 40)
            new += self.polytope.cut(near[:, chosen], lifts[:, chosen])
        return new

    def _price_triples(self) -> int:
        """Add the best vertices of support 3, by symbol."""
        polytope, n = self.polytope, self.polytope.n_x

        def part(offset: int) -> Floats:
            members, shares = np.zeros((n, 3), np.int64), np.zeros((n, 3))
            values = np.zeros(n)
            for first in range(offset, n, parts):
                if self._is_over():
                    break
                pricing.triples(
                    polytope.rows, *polytope.inner, self.master.pi, first, 1e-7,
                    members, shares, values,
                )  # fmt: skip
            points = np.zeros((int((values < 0).sum()), n))
            np.put_along_axis(points, members[values < 0], shares[values < 0], axis=1)
            return points

        parts = 8
        found = np.concatenate(in_order(part, range(parts), self.jobs))
        if not len(found):
            return 0
        return self.master.add(found) + self._linearise(self.master.pi, Starts(found=found))

    def _improve_by_triples(self) -> None:
        """Price triples while that pays, where there are not too many of them."""
        polytope = self.polytope
        if not (polytope.is_box and 20 < polytope.n_x <= 400 and len(polytope.lift) > 2):
            return
        for _ in range(20):
            before = self.master.cost
            if self._is_over() or not self._price_triples() or not self._solve():
                return
            self._converge(3)
            if before - self.master.cost < 1e-5 * self.entropy:
                return

    def _converge(self, rounds: int) -> None:
        """Price pairs to the end, then by successive linearisation, until neither finds any."""
        for _ in range(rounds):
            while self._price_pairs():
                if not self._solve():
                    return
            starts = Starts(self.polytope.n_x, self.master.used())
            if not self._linearise(self.master.pi, starts):
                break
            before = self.master.cost
            if not self._solve() or self._tell() or before - self.master.cost < self.worthwhile:
                break

    # ---- the whole

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
        most_nodes, steps = 2_000_000, _Steps(goal, self.polytope)
        while self.bound - self.nmi > self.gap and self.stalls < 8 and most_nodes < 10**9:
            if self._is_over():
                return
            pi, loss = self._duals_for(target)
            proof = self._prove(pi, loss - target, loss, most_nodes)
            if self._tell():
                return
            new = self._learn(proof)
            lowest = loss - float(proof.values.min(initial=0.0))
            if proof.floor >= loss - target:
                if not new and (target <= goal or self.stalls):
                    return
                target = steps.after(target, proof.nodes)
            elif lowest > target and not (new and self.polytope.is_polyhedral):
                # Points below the cut that no atom may be: prove what holds down to them.
                target, self.stalls = 1.05 * lowest, self.stalls + (not new)
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
        most = min(_MOST_STARTS, max(_FEW_STARTS, proof.nodes // 100))
        order = np.argsort(values)[:most]
        points, values = proof.points[order], values[order]
        new = self._linearise(self.master.pi, Starts(found=points))
        if self.polytope.is_box:
            new += self._admit(self._inside(points[values < -_TOLERANCE]))
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
            is_over=self._tell, keep_below=max(keep_below, -_TOLERANCE),
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
        self.short = max(15_000, 30 * polytope.n_x)
        self.target, self.nodes = math.inf, self.short / 3

    def after(self, target: float, nodes: int) -> float:
        """Return what to prove after a target that was proven with so many nodes."""
        growth, fall = nodes / self.nodes, self.target / target
        self.target, self.nodes = target, max(nodes, 1)
        if not self.is_box:  # tangents are found step by step
            return max(target / 4, self.goal)
        if growth < 3 and nodes < self.short:
            return target / _LEAP if target > _LEAP**2 * self.goal else self.goal
        power = math.log(growth) / math.log(fall) if 1 < fall < math.inf else 1.0
        step = 32.0 if power < 0.7 else 2.0 if power < 2 else 1.5
        return target / step if target > 1.5 * step * self.goal else self.goal


def _entropies(points: Floats) -> Floats:
    """Return the entropy of each posterior (k, |X|)."""
    return np.asarray(-(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1))
