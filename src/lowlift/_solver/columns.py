"""The atoms of a random response: which are there, how they mix, and how better ones are found."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._audit import risky_symbols
from lowlift._kernels import pricing
from lowlift._kernels.compilation import prepare
from lowlift._solver.classes import Atom
from lowlift._solver.master import NONE, Master
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import coordinate_bounds, programs_at_once
from lowlift._solver.search import Limits, Search
from lowlift._solver.support import split_support
from lowlift._threads import in_order, pieces

#: An atom whose value is above minus this does not improve the mixture.
TOLERANCE = 1e-8
#: Up to this many symbols all pairs are listed: 2000 have 4 million, 100 MB.
_MOST_IN_PAIRS = 2000
#: Entries of the points that one round of pricing holds at a time.
_MOST_ENTRIES = 1 << 22
#: Random starts of pricing for each symbol, and how sparse they are (Dirichlet's parameter).
_RANDOM_STARTS, _SPARSE = 10, 0.1


class Starts:
    """Points to start from, made when asked for: one near each corner, then atoms, then others."""

    def __init__(
        self,
        corners: int = 0,
        atoms: Sequence[tuple[float, Atom]] = (),
        found: Floats | None = None,
    ) -> None:
        self.corners, self.atoms = corners, atoms
        self.found = np.zeros((0, corners)) if found is None else found

    def __len__(self) -> int:
        return self.corners + len(self.atoms) + len(self.found)

    def points(self, which: range) -> Floats:
        """Return the points of these numbers, (k, |X|)."""
        if not (self.corners or self.atoms):
            return np.ascontiguousarray(self.found[which.start : which.stop])
        n = self.corners
        points = np.zeros((len(which), n))
        for row, k in zip(points, which, strict=True):
            if k < n:
                row[:] = 0.02 / n
                row[k] = 1.0
            else:
                members, shares = self.atoms[k - n][1]
                row[members] = shares
        return points


class Columns(Search):
    """Atoms of a polytope, their best mixture, and the ways to price better ones."""

    master: Master

    def __init__(self, polytope: Polytope, blocks: Sequence[Sequence[int]], limits: Limits) -> None:
        prepare("search")
        super().__init__(limits)
        self.polytope, self.blocks = polytope, blocks
        self.upper = coordinate_bounds(polytope, self.jobs, self.deadline)
        #: Vertices found before there is a master, (k, |X|).
        self.found = np.zeros((0, polytope.n_x))
        self.is_proving = False
        self.random = np.random.default_rng(0)
        #: A round of pricing goes on while it gains this; tangents could go on for ever.
        self.worthwhile = -1.0 if polytope.is_box else 0.05 * self.gap * self.entropy
        self.has_pairs = polytope.is_box and polytope.n_x <= _MOST_IN_PAIRS and not self._is_over()
        if self.has_pairs:
            first, second, share, count = pricing.pairs(polytope.rows, *polytope.inner)
            share = share[:count]
            self.pairs = first[:count], second[:count], share
            self.pair_cost = -(share * np.log(share) + (1 - share) * np.log(1 - share))

    # ---- what is where

    @property
    def nmi(self) -> float:
        """The NMI of the mixture; 0 while there is none."""
        if self.master.artificial > 1e-10 or math.isinf(self.master.cost):
            return 0.0
        return 1 - self.master.cost / self.entropy

    def _tell_master(self) -> bool:
        """Tell progress where the master stands, and whether to stop."""
        return self._tell(len(self.master.atoms), self.nmi)

    def _solve(self) -> bool:
        """Mix the atoms anew; without time for that the mixture stays, and the search stops."""
        if not self._is_over():
            self.is_stopped = not self.master.solve(self.deadline.left)
        return not self.is_stopped

    # ---- pricing

    def _singles_and_pairs(self) -> Floats:
        """Return all vertices of support 1 and 2 as columns, (|X|, k)."""
        first, second, share = self.pairs
        alone = self._allowed_alone()
        atoms = np.zeros((self.polytope.n_x, len(alone) + len(share)))
        atoms[alone, np.arange(len(alone))] = 1.0
        columns = np.arange(len(alone), atoms.shape[1])
        atoms[first, columns], atoms[second, columns] = share, 1 - share
        return atoms

    def _allowed_alone(self) -> Ints:
        """Return the symbols that may be released alone.

        They have the same lift whatever their weight, and need no margin.
        """
        polytope = self.polytope
        risky = risky_symbols(polytope.joint, polytope.criterion)[polytope.members]
        return np.flatnonzero(~risky)

    def _descended(self, pi: Floats, starts: Floats) -> tuple[Floats, Floats]:
        """Return the vertices that linearisation finds from these points, and their values."""
        return self.polytope.descended(pi, starts)

    def _below(self, pi: Floats, starts: Floats, least: float) -> Floats:
        """Return vertices (k, |X|) with values below ``-least`` that linearisation finds."""
        points, values = self._descended(pi, starts)
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

    def _add_pairs(self, which: Ints) -> int:
        first, second, share = (part[which] for part in self.pairs)
        members = np.stack([first, second], axis=1)
        shares = np.stack([share, 1 - share], axis=1)
        return self.master.add_atoms(list(zip(members, shares, strict=True)))

    def _cheapest_pairs(self, cost: Floats, below: float, count: int) -> Ints:
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
            return self._descended(pi, starts.points(which))

        step = programs_at_once(polytope)
        room = max(step, _MOST_ENTRIES // polytope.n_x // step * step)
        batches = pieces(range(len(starts)), room)
        for batch in batches:
            if self._is_over():
                break
            found = in_order(part, pieces(batch, step), self.jobs)
            points = np.concatenate([some for some, _ in found])
            values = np.concatenate([some for _, some in found])
            if self._is_over():
                break
            if not self.is_proving:  # there, a tangent dropped would be met again
                polytope.drop_idle(points[np.isfinite(values)], patience=3 * len(batches))
            good = np.isfinite(values) if keep_all else values < -TOLERANCE
            new += self._admit(points[good])
        return new

    def _admit(self, points: Floats) -> int:
        """Add points that the criterion allows; cut off, or pull back, those that it does not."""
        if not len(points):
            return 0
        if self.polytope.is_box:
            return self.master.add(points)
        lifts = self.polytope.lifts(points)
        outside = self.polytope.excess(lifts) > 0
        new = self.master.add(points[~outside]) if (~outside).any() else 0
        if outside.any():
            beyond, lifts = points[outside], lifts[:, outside]
            shares = self.polytope.shares_inside(lifts)
            near = lifts
            if not self.polytope.is_polyhedral:
                p_x = self.polytope.p_x
                new += self.master.add(p_x + shares[:, None] * (beyond - p_x))
                # Tangents just outside the boundary are the deepest.
                edge = self.polytope.shares_inside(lifts, is_exact=True)
                near = self.polytope.toward(lifts, edge + 1e-6 * (1 - edge))
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
        if polytope.is_box and 20 < polytope.n_x <= 400 and len(polytope.lift) > 2:
            self._improve_by(self._price_triples)

    def _improve_by_chance(self) -> None:
        """Price from random points while that pays: they lead to vertices that no atom is near."""
        n = self.polytope.n_x
        size = min(_RANDOM_STARTS * n, _MOST_ENTRIES // n)

        def price() -> int:
            starts = self.random.dirichlet(np.full(n, _SPARSE), size=size)
            return self._linearise(self.master.pi, Starts(found=starts))

        self._improve_by(price)

    def _improve_by(self, price: Callable[[], int]) -> None:
        """Price in one way, which returns how many atoms are new, while that pays."""
        for _ in range(20):
            before = self.master.cost
            if self._is_over() or not price() or not self._solve():
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
            if (
                not self._solve()
                or self._tell_master()
                or before - self.master.cost < self.worthwhile
            ):
                break


def _spread(points: Floats, order: Ints, most: int) -> list[int]:
    """Return the first points (|S|, k) in an order that differ by a few percent of lift - 1."""
    chosen = list[int]()
    scale = 0.03 * np.abs(points - 1).max(axis=0)
    for k in order.tolist():
        off = np.abs(points[:, chosen] - points[:, k : k + 1]).max(axis=0)
        if (off > scale[k]).all():
            chosen.append(k)
            if len(chosen) == most:
                break
    return chosen
