"""Column generation for the random response: better atoms and tighter bounds until they meet."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.audit import risky_symbols
from lowlift.certificates import (
    STEP,
    Proof,
    State,
    coordinate_bounds,
    in_order,
    nmi_bound,
    prove_floor,
)
from lowlift.errors import SolverFailed
from lowlift.kernels import lp, pricing
from lowlift.kernels.compilation import prepare
from lowlift.mechanisms.master import Atom, Master, Mixture, mix
from lowlift.polytope import MARGIN, Polytope

__all__ = ["Outcome", "optimise", "split_support"]

Floats: TypeAlias = npt.NDArray[np.float64]

_TOLERANCE = 1e-8
#: Linear programs per start, and pivots in each, at the most.
_STEPS, _PIVOTS = 10, 500
#: After a proof of so few nodes, the goal itself is tried next.
_QUICK = 100_000
#: Tangents that proofs rest on are kept up to this many rows: one dropped may be met again.
_MANY_ROWS = 400
#: What a proven floor is lowered by, so that another machine's rounding proves it too.
_ROOM = 1e-10
#: An atom is halved at most 5 times over; of larger ones this many extreme atoms are peeled off.
_MOST_HALVINGS, _MOST_PEELED = 5, 48
#: A share this small counts as none.
_NOTHING = 1e-12
#: Up to this many symbols, pairs alone are tried first.
_SMALL = 24


class Outcome(NamedTuple):
    """The mixture found, and the bound with its proof."""

    atoms: Mixture
    upper_bound: float
    duals: Floats
    floor: float
    nodes: int
    tangents: tuple[tuple[float, ...], ...]


def optimise(
    polytope: Polytope,
    blocks: Sequence[Sequence[int]],
    gap: float,
    time_limit: float,
    jobs: int,
    progress: Callable[[State], object] | None = None,
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
    time_limit, jobs, progress
        As for `random_response`.
    """
    return _Search(polytope, blocks, gap, time_limit, jobs, progress).run()


class _Search:
    def __init__(
        self,
        polytope: Polytope,
        blocks: Sequence[Sequence[int]],
        gap: float,
        time_limit: float,
        jobs: int,
        progress: Callable[[State], object] | None,
    ) -> None:
        prepare("search")
        self.start, self.time_limit = time.monotonic(), time_limit
        self.polytope, self.gap, self.jobs, self.progress = polytope, gap, jobs, progress
        self.entropy = float(-(polytope.p_x * np.log(polytope.p_x)).sum())
        self.upper = coordinate_bounds(polytope, jobs)
        # pi = -log u needs no search: H(v) + sum v log u >= 0 because v <= u.
        self.duals, self.floor = -np.log(self.upper), -1e-11
        #: Where tangents were taken that the bound, and the bounds of coordinates, rest on.
        self.tangents: tuple[tuple[float, ...], ...] = ()
        self.upper_tangents: tuple[tuple[float, ...], ...] = ()
        self.bound = min(1.0, nmi_bound(polytope, self.duals, self.floor))
        self.nodes = 0
        self.is_stopped = self.is_proving = False
        #: A round of pricing goes on while it gains this; tangents could go on for ever.
        self.worthwhile = -1.0 if polytope.is_box else 0.05 * gap * self.entropy
        self.blocks = blocks
        if polytope.is_box:
            first, second, share, count = pricing.pairs(polytope.rows, *polytope.inner)
            share = share[:count]
            self.pairs = first[:count], second[:count], share
            self.pair_cost = -(share * np.log(share) + (1 - share) * np.log(1 - share))

    # ---- what is where

    @property
    def nmi(self) -> float:
        if self.master.artificial > 1e-10:
            return 0.0
        return 1 - self.master.cost / self.entropy

    @property
    def left(self) -> float:
        return self.time_limit - (time.monotonic() - self.start)

    def _tell(self) -> None:
        if self.left <= 0:
            self.is_stopped = True
        if self.progress is not None:
            seconds = time.monotonic() - self.start
            state = State(len(self.master.atoms), self.nmi, self.bound, seconds)
            self.is_stopped |= self.progress(state) is False

    # ---- columns

    def _by_pairs(self) -> Outcome | None:
        """Return the best mixture of symbols and pairs, if it proves good enough at once."""
        polytope, n = self.polytope, self.polytope.n_x
        first, second, share = self.pairs
        alone = (~risky_symbols(polytope.joint, polytope.criterion)[polytope.members]).nonzero()[0]
        count = len(alone)
        atoms = np.zeros((n, count + len(share)))
        atoms[alone, np.arange(count)] = 1.0
        columns = np.arange(count, atoms.shape[1])
        atoms[first, columns], atoms[second, columns] = share, 1 - share
        if not atoms.shape[1] or not atoms.any(axis=1).all():
            return None
        is_solved, beta, pi = mix(atoms, polytope.p_x)
        if not is_solved:
            return None
        target = 0.9 * self.gap * self.entropy
        proof = prove_floor(
            polytope, pi, -target, self.upper, most_nodes=2000, is_over=lambda: self.left <= 0
        )
        floor = proof.floor - _ROOM
        bound = nmi_bound(polytope, pi, floor)
        if bound - (1 - float(beta[count:] @ self.pair_cost) / self.entropy) > self.gap:
            return None
        mixture: Mixture = []
        for k in beta.nonzero()[0].tolist():
            one = k - count
            members = alone[k : k + 1] if one < 0 else np.array([first[one], second[one]])
            mixture.append((float(beta[k]), (members, atoms[members, k])))
        return Outcome(mixture, bound, pi, floor, proof.nodes, ())

    def _first_columns(self) -> None:
        """Singletons and blocks that are allowed, pairs, and a vertex near each symbol."""
        polytope, n = self.polytope, self.polytope.n_x
        for block in self.blocks:
            members = np.array(block)
            shares = polytope.p_x[members] / polytope.p_x[members].sum()
            self.master.add_atoms(split_support(polytope.lift, members, shares))
        # A symbol alone has the same lift whatever its weight: it needs no margin.
        allowed = ~risky_symbols(polytope.joint, polytope.criterion)[polytope.members]
        self.master.add_atoms([(np.array([x]), np.ones(1)) for x in np.flatnonzero(allowed)])
        if polytope.is_box:
            first, second, _ = self.pairs
            self._add_pairs(_best_per_symbol(first, second, self.pair_cost, n, 6))
        noise = np.random.default_rng(0).normal(size=n)
        for size in (1e-4, 0.2):
            self._linearise(size * noise - np.log(self.upper), _near_corners(n), keep_all=True)
        self.master.solve()

    def _add_pairs(self, which: npt.NDArray[np.int64]) -> int:
        first, second, share = (part[which] for part in self.pairs)
        members = np.stack([first, second], axis=1)
        shares = np.stack([share, 1 - share], axis=1)
        return self.master.add_atoms(list(zip(members, shares, strict=True)))

    def _price_pairs(self) -> int:
        if not self.polytope.is_box:
            return 0
        first, second, share = self.pairs
        pi = self.master.pi
        net = self.pair_cost - share * pi[first] - (1 - share) * pi[second]
        good = np.flatnonzero(net < -1e-9)
        if not good.size:
            return 0
        best = _best_per_symbol(first[good], second[good], net[good], self.polytope.n_x, 4)
        return self._add_pairs(good[best])

    def _linearise(self, pi: Floats, starts: Floats, *, keep_all: bool = False) -> int:
        """Add what successive linearisation finds; return the number of new atoms and cuts."""
        if not len(starts):
            return 0
        polytope = self.polytope

        def part(some: Floats) -> tuple[Floats, Floats]:
            if self.left <= 0:
                return some[:0], np.zeros(0)
            return pricing.linearise(
                lp.minimise, polytope.rows, polytope.largest, polytope.inner_lo,
                polytope.inner_hi, pi, some, *polytope.start, _STEPS, _PIVOTS,
            )  # fmt: skip

        parts = np.split(starts, range(STEP, len(starts), STEP))
        found = in_order(part, parts, self.jobs)
        points = np.concatenate([some for some, _ in found])
        values = np.concatenate([some for _, some in found])
        if not self.is_proving:  # there, a tangent dropped would be met again
            polytope.drop_idle(points[np.isfinite(values)])
        good = np.isfinite(values) if keep_all else values < -_TOLERANCE
        return self._admit(points[good])

    def _admit(self, points: Floats) -> int:
        """Add points that the criterion allows; cut off, or pull back, those that it does not."""
        if not len(points):
            return 0
        if self.polytope.is_box:
            return self.master.add(points)
        outside = _excess(self.polytope, points) > 0
        new = self.master.add(points[~outside]) if (~outside).any() else 0
        if outside.any():
            beyond = points[outside]
            shares = _shares_inside(self.polytope, beyond)
            lifts = self.polytope.lifts(beyond)
            near = lifts
            if not self.polytope.is_polyhedral:
                new += self.master.add(_toward(self.polytope, beyond, shares))
                # Tangents just outside the boundary are the deepest.
                edge = _shares_inside(self.polytope, beyond, is_exact=True)
                near = self.polytope.lifts(_toward(self.polytope, beyond, edge + 1e-6 * (1 - edge)))
            chosen = _spread(near, np.argsort(shares), 40)
            new += self.polytope.cut(near[:, chosen], lifts[:, chosen])
        return new

    def _price_triples(self) -> int:
        """Add the best vertices of support 3, by symbol."""
        polytope, n = self.polytope, self.polytope.n_x

        def part(offset: int) -> Floats:
            members, shares = np.zeros((n, 3), np.int64), np.zeros((n, 3))
            values = np.zeros(n)
            for first in range(offset, n, parts):
                pricing.triples(
                    polytope.rows, *polytope.inner, self.master.pi, first, 1e-7,
                    members, shares, values,
                )  # fmt: skip
            points = np.zeros((int((values < 0).sum()), n))
            np.put_along_axis(points, members[values < 0], shares[values < 0], axis=1)
            return points

        parts = 8
        found = np.concatenate(in_order(part, range(parts), self.jobs))
        return self.master.add(found) + self._linearise(self.master.pi, found) if len(found) else 0

    def _converge(self, rounds: int) -> None:
        """Price pairs to the end, then by successive linearisation, until neither finds any."""
        for _ in range(rounds):
            while self._price_pairs():
                self.master.solve()
            starts = np.concatenate([_near_corners(self.polytope.n_x), self.master.used_points()])
            if not self._linearise(self.master.pi, starts):
                break
            before = self.master.cost
            self.master.solve()
            self._tell()
            if self.is_stopped or before - self.master.cost < self.worthwhile:
                break

    # ---- the whole

    def run(self) -> Outcome:
        """Improve atoms and bound in turn until they are close enough or time is up."""
        if self.polytope.is_box and self.polytope.n_x <= _SMALL:
            found = self._by_pairs()
            if found is not None:
                return found
        self.master = Master(self.polytope.p_x)
        # Whatever the solver can no longer do, the last mixture and the last bound are true.
        with suppress(SolverFailed):
            self._improve()
        return Outcome(
            self.master.used(), self.bound, self.duals, self.floor, self.nodes, self.tangents
        )

    def _improve(self) -> None:
        self._first_columns()
        while True:
            self._converge(30)
            if self.master.artificial < 1e-10 or self.master.price > 1e3 or self.is_stopped:
                break
            self.master.raise_price()
            self.master.solve()
        self.master.close_artificial()
        self.master.solve()
        self._converge(30)
        if self.polytope.is_box and 20 < self.polytope.n_x <= 400 and len(self.polytope.lift) > 2:
            for _ in range(20):
                before = self.master.cost
                if self.is_stopped or not self._price_triples():
                    break
                self.master.solve()
                self._converge(3)
                if before - self.master.cost < 1e-5 * self.entropy:
                    break
        self._close_gap()

    def _close_gap(self) -> None:
        """Prove ever smaller targets at the master's duals; what the proofs find improves it."""
        self.is_proving = True
        goal = 0.9 * self.gap * self.entropy
        target = max(goal, 0.05 * self.master.cost)
        most_nodes, stalls = 2_000_000, 0
        while self.bound - self.nmi > self.gap and stalls < 8 and most_nodes < 10**9:
            proof = self._prove(target, most_nodes)
            self._tell()
            if self.is_stopped:
                return
            new = self._learn(proof)
            lowest = -float(proof.values.min(initial=0.0))
            if proof.floor >= -target:
                if not new and (target <= goal or stalls):
                    return
                is_quick = self.polytope.is_box and proof.nodes < _QUICK
                target = goal if is_quick else max(goal, target / 4)
            elif lowest > target and not (new and self.polytope.is_polyhedral):
                # Points below the cut that no atom may be: prove what holds down to them.
                target, stalls = 1.05 * lowest, stalls + (not new)
            elif not new:
                most_nodes *= 8

    def _learn(self, proof: Proof) -> int:
        """Make atoms and tangents of the points that a proof met; return how many were new."""
        rows = len(self.polytope.rows)
        points = proof.points[np.argsort(proof.values)[:500]]
        new = self._linearise(self.master.pi, proof.points)
        if self.polytope.is_box:
            new += self._admit(self._inside(points))
        else:
            if not self.polytope.is_polyhedral and rows > _MANY_ROWS:
                self.polytope.drop_idle(proof.points, patience=8)
            new += self._admit(points)
        if new:
            self.master.solve()
            self._converge(4)
        if len(self.polytope.rows) > rows and self.left > 0:
            tighter = coordinate_bounds(self.polytope, self.jobs)
            self.upper = np.minimum(self.upper, tighter)
            self.upper_tangents = tuple(
                dict.fromkeys([*self.upper_tangents, *self.polytope.tangents])
            )
        return new

    def _prove(self, target: float, most_nodes: int) -> Proof:
        """Bound what the duals leave below zero, and keep the better upper bound."""
        pi = self.master.pi

        def is_over() -> bool:
            self._tell()
            return self.is_stopped

        proof = prove_floor(
            self.polytope, pi, -target, self.upper,
            jobs=self.jobs, most_nodes=most_nodes, is_over=is_over,
        )  # fmt: skip
        self.nodes += proof.nodes
        floor = proof.floor - _ROOM
        bound = nmi_bound(self.polytope, pi, floor)
        if bound < self.bound:
            self.bound, self.duals, self.floor = bound, pi, floor
            self.tangents = tuple(dict.fromkeys([*self.polytope.tangents, *self.upper_tangents]))
        return proof

    def _inside(self, points: Floats) -> Floats:
        """Return the points of the outer polytope that lie in the inner one."""
        lo, hi = self.polytope.inner
        rows = self.polytope.rows @ points.T
        inside = ((rows >= lo[:, None] - 1e-12) & (rows <= hi[:, None] + 1e-12)).all(axis=0)
        return np.asarray(points[inside])


def split_support(lift: Floats, members: npt.NDArray[np.int64], shares: Floats) -> list[Atom]:
    """Return atoms of the same lift, most with independent columns, that mix to this one.

    Along a direction that keeps the lift, both ends are reached where a share becomes 0; entropy
    is concave, so they are together no worse. Ends at supports of at most rank P(s|x), but for one
    atom that is left over of a large block.
    """
    if len(members) == 1:
        return [(members, shares)]
    _, sizes, directions = np.linalg.svd(lift[:, members])
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    if rank == len(members):
        return [(members, shares)]
    if len(members) - rank > _MOST_HALVINGS:
        return _peeled(lift, members, shares)
    direction = directions[-1]
    out = []
    for sign in (1.0, -1.0):
        moved = _moved(shares, sign * direction)
        if moved is None:
            return [(members, shares)]
        kept = moved > _NOTHING
        out += split_support(lift, members[kept], moved[kept] / moved[kept].sum())
    return out


def _moved(shares: Floats, direction: Floats) -> Floats | None:
    """Return the shares moved along the direction until one is 0; None when none falls."""
    falls = direction < -_NOTHING
    if not falls.any():
        return None
    return np.asarray(shares + (shares[falls] / -direction[falls]).min() * direction)


def _peeled(lift: Floats, members: npt.NDArray[np.int64], shares: Floats) -> list[Atom]:
    """Take extreme atoms off, as much of each as there is, and return them and what is left.

    Halving would give two to the number of symbols.
    """
    out: list[Atom] = []
    for _ in range(_MOST_PEELED):
        if len(members) <= len(lift):
            break
        end = _extreme(lift[:, members], shares)
        used = end > 0
        out.append((members[used], end[used]))
        rest = shares - (shares[used] / end[used]).min() * end
        kept = rest > _NOTHING
        if not kept.any():
            return out
        members, shares = members[kept], rest[kept] / rest[kept].sum()
    return [*out, (members, shares)]


def _extreme(columns: Floats, shares: Floats) -> Floats:
    """Return shares of the same lift on at most |S| of the columns (Caratheodory's reduction)."""
    end, n_s = shares.copy(), len(columns)
    while True:
        used = np.flatnonzero(end > _NOTHING)
        if len(used) <= n_s:
            break
        some = used[: n_s + 1]
        direction = np.linalg.svd(columns[:, some])[2][-1]
        moved = _moved(end[some], direction if direction.min() < -_NOTHING else -direction)
        if moved is None:
            break
        moved[moved <= _NOTHING] = 0.0
        end[some] = moved
    end[end <= _NOTHING] = 0.0
    return np.asarray(end / end.sum())


def _near_corners(n: int) -> Floats:
    points = np.full((n, n), 0.02 / n)
    np.fill_diagonal(points, 1.0)
    return points


def _best_per_symbol(
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    cost: Floats,
    n: int,
    count: int,
) -> npt.NDArray[np.int64]:
    """Return the numbers of the `count` cheapest pairs of each symbol, as first and as second."""
    best = []
    for symbol in (first, second):
        order = np.lexsort((cost, symbol))
        sorted_symbol = symbol[order]
        starts = np.searchsorted(sorted_symbol, np.arange(n))
        rank = np.arange(len(order)) - starts[sorted_symbol]
        best.append(order[rank < count])
    return np.unique(np.concatenate(best))


def _spread(points: Floats, order: npt.NDArray[np.int64], most: int) -> list[int]:
    """Return the first points (|S|, k) in an order that differ by a few percent of lift - 1."""
    chosen = list[int]()
    for k in order.tolist():
        scale = 0.03 * np.abs(points[:, k] - 1).max()
        if all(np.abs(points[:, k] - points[:, other]).max() > scale for other in chosen):
            chosen.append(k)
            if len(chosen) == most:
                break
    return chosen


def _excess(polytope: Polytope, points: Floats, hair: float = MARGIN / 2) -> Floats:
    """Return how far the leakage of each posterior is beyond its budget, less a hair."""
    criterion = polytope.criterion
    lower, upper = criterion.leakage(np.maximum(polytope.lifts(points), 0.0), polytope.joint.p_s)
    out = np.full(len(points), -math.inf)
    for leakage, side in ((lower, criterion.lower), (upper, criterion.upper)):
        if not math.isinf(side):
            out = np.maximum(out, leakage - side + min(hair, 2e-4 * side))
    return out


def _shares_inside(polytope: Polytope, points: Floats, *, is_exact: bool = False) -> Floats:
    """Return how far from P_X (lift 1) toward each point the criterion allows to go, in [0, 1].

    Unless exact, far enough inside that entries too small to be kept may be dropped.
    """
    low, high = np.zeros(len(points)), np.ones(len(points))
    for _ in range(50):
        middle = (low + high) / 2
        between = _toward(polytope, points, middle)
        inside = _excess(polytope, between, 0.0 if is_exact else 1e-7) <= 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def _toward(polytope: Polytope, points: Floats, share: Floats) -> Floats:
    return np.asarray(polytope.p_x + share[:, None] * (points - polytope.p_x))
