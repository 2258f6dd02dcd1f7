"""Prove ``H(v) - pi . v >= cut`` on a polytope of posteriors v: kernels, jobs and threads.

`certificates` says what follows from it; `nmi_bound` is that as a number.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._deadline import Deadline
from lowlift._kernels.compilation import prepare
from lowlift._solver.intervals import Interval
from lowlift._solver.polytope import Polytope
from lowlift._threads import in_order, pieces, until_over

#: Where the largest coordinate of v lies, for the jobs that the proof starts with; and on from
#: there, where that is not enough.
_EDGES, _MORE_EDGES = (1.0, 1 / 2, 1 / 3, 1 / 4), (1 / 5, 1 / 6, 1 / 8)
#: Jobs that a thread takes at a time, at the most; and into how many parts jobs are cut at least.
_CHUNK, _PARTS = 24, 64
#: Linear programs that one thread solves before it asks for the time: at most so many, and at most
#: so many entries of tableaus.
_STEP, _ENTRIES = 50, 1_000_000
#: Points that so many jobs keep.
_POINTS = 400
#: Pivots per node of a proof.
_PIVOTS = 300
#: Up to this many symbols a proof is too short to be worth a thread, or a question.
_SMALL = 24
#: For such a proof, jobs between two questions and nodes of each: most jobs need a few; threads
#: take over those that need more than the last. A point this far below the cut ends it before.
_SHORT, _BELOW = ((1000, 50), (8, 2000)), 1e-9
#: Points that a piece of the jobs keeps at least.
_FEW = 8
#: More than the rounding of a logarithm and a sum of two.
_ROUNDING = 1e-12
_UNIT = 2.0**-53


class Proof(NamedTuple):
    """A proven lower bound of ``H(v) - pi . v``, what it took, and the lowest points met."""

    floor: float
    nodes: int
    points: Floats
    values: Floats


def prove_floor(
    polytope: Polytope,
    pi: Floats,
    cut: float,
    upper: Floats,
    *,
    jobs: int = 1,
    most_nodes: int = 2_000_000,
    is_over: Callable[[], bool] | None = None,
    keep_below: float = -1e-8,
) -> Proof:
    """Bound ``H(v) - pi . v`` from below over the outer polytope, stopping where `cut` is proven.

    The floor is a true lower bound for any duals `pi`, (|X|,), and whatever stopped the search.
    `cut` is below 0; `upper` are proven upper bounds of the coordinates of v, (|X|,). The result
    does not depend on the number of threads, `jobs`. `most_nodes` is for each part of the search;
    `is_over` is asked a few times a second, and True ends it early with a weaker bound. The lowest
    points met are returned where their values are below `keep_below`.
    """
    if polytope.is_line:
        floor = Interval(polytope).floor(pi, cut, jobs, is_over)
        return Proof(floor, 0, np.zeros((0, polytope.n_x)), np.zeros(0))
    prepare("search")
    # Without a search: -log v >= -log u, so the value is at least the least -log u - pi.
    least = float((-np.log(upper) - pi).min()) - _ROUNDING
    if least >= cut:
        return Proof(cut, 0, np.zeros((0, polytope.n_x)), np.zeros(0))
    work = _Work(polytope, pi, cut, upper, keep_below)
    left = np.arange(len(work.every.keys))
    if work.is_small:
        left = work.briefly(most_nodes, is_over)
    if len(left):
        work.at_length(left, most_nodes, jobs, is_over)
    lowest = max(least, float(work.bounds.min()))
    points, values = np.concatenate(work.points), np.concatenate(work.values)
    return Proof(lowest, int(work.nodes.sum()), points, values)


class _Work:
    """The jobs of a proof, and what is known of each so far."""

    def __init__(
        self, polytope: Polytope, pi: Floats, cut: float, upper: Floats, keep_below: float
    ) -> None:
        self.polytope, self.pi, self.cut, self.keep_below = polytope, pi, cut, keep_below
        self.box_hi = polytope.outer_hi.copy()
        self.box_hi[: polytope.n_x] = upper
        self.stop = np.zeros(1, np.int64)
        self.start = self._basis(-np.log(upper) - pi)
        self.is_small = polytope.n_x <= _SMALL and len(polytope.rows) <= 2 * _SMALL
        self.every = _first_jobs(upper, (lambda _: True) if self.is_small else self._is_proven)
        self.bounds = np.full(len(self.every.keys), -math.inf)
        self.nodes = np.zeros(len(self.every.keys), np.int64)
        self.points, self.values = list[Floats](), list[Floats]()

    def _basis(self, cost_x: Floats) -> tuple[Floats, Ints, Ints]:
        """Return the basis of the whole polytope at some costs, from which the jobs go on."""
        from lowlift._kernels import lp

        polytope, (r, n) = self.polytope, self.polytope.rows.shape
        first, second, third = polytope.start
        tableau, basis, place = first.copy(), second.copy(), third.copy()
        cost = np.zeros(n)
        cost[: polytope.n_x] = cost_x
        lp.minimise(
            polytope.rows, polytope.largest, tableau, basis, place, cost, polytope.outer_lo,
            self.box_hi, math.inf, _PIVOTS, np.empty(n + r), np.empty(n), np.empty(r),
        )  # fmt: skip
        return tableau, basis, place

    def _run(self, jobs: "_Jobs", most_nodes: int, keep: int) -> "_Result":
        from lowlift._kernels import branch_and_bound, lp

        polytope, size = self.polytope, len(jobs.keys)
        bounds, nodes = np.full(size, -math.inf), np.zeros(size, np.int64)
        points, values = np.zeros((keep, polytope.n_x)), np.full(keep, self.keep_below)
        if not self.stop[0]:
            branch_and_bound.prove(
                lp.minimise, polytope.rows, polytope.largest, polytope.outer_lo, self.box_hi,
                self.pi, self.cut, *jobs, most_nodes, _PIVOTS, *self.start, self.stop, bounds,
                nodes, points, values,
            )  # fmt: skip
        kept = values < self.keep_below
        return _Result(bounds, nodes, points[kept], values[kept])

    def _is_proven(self, diffuse: "_Jobs") -> bool:
        return bool(self._run(diffuse, 1, 1).bounds[0] >= self.cut)

    def _note(self, which: Ints, result: "_Result") -> None:
        self.bounds[which] = np.maximum(self.bounds[which], result.bounds)
        self.nodes[which] = np.maximum(self.nodes[which], result.nodes)
        self.points.append(result.points)
        self.values.append(result.values)

    def briefly(self, most_nodes: int, is_over: Callable[[], bool] | None) -> Ints:
        """Do the jobs with few nodes each; return those that need more."""
        left = np.arange(len(self.every.keys))
        for size, limit in _SHORT:
            for some in pieces(left, size):
                self.stop[0] |= is_over is not None and is_over()
                self._note(some, self._run(self.every.some(some), min(limit, most_nodes), _POINTS))
                self.stop[0] |= self.values[-1].min(initial=self.cut) < self.cut - _BELOW
            is_ended = self.stop[0] or most_nodes <= limit
            left = left[:0] if is_ended else left[self.nodes[left] >= limit]
        return left

    def at_length(
        self, left: Ints, most_nodes: int, jobs: int, is_over: Callable[[], bool] | None
    ) -> None:
        """Do these jobs in threads."""
        size = min(max(len(left) // _PARTS, 1), _CHUNK)
        keep, parts = max(_POINTS * size // _CHUNK, _FEW), pieces(left, size)

        def work(some: Ints) -> _Result:
            return self._run(self.every.some(some), most_nodes, keep)

        found = until_over(work, parts, jobs, self.stop, is_over)
        for some, result in zip(parts, found, strict=True):
            self._note(some, result)


class _Result(NamedTuple):
    """What was proven of some jobs, their nodes, and the lowest points met."""

    bounds: Floats
    nodes: Ints
    points: Floats
    values: Floats


class _Jobs(NamedTuple):
    """Jobs as `branch_and_bound.prove` takes them."""

    keys: Ints
    lows: Floats
    highs: Floats

    def some(self, which: Ints) -> "_Jobs":
        """Return the jobs of these numbers."""
        return _Jobs(self.keys[which], self.lows[which], self.highs[which])


def _first_jobs(upper: Floats, is_proven: Callable[[_Jobs], bool]) -> _Jobs:
    """Split by the largest coordinate and where it lies; together the jobs cover the simplex.

    "All are at most the last edge" is one job, which is split on where it is not proven at once.
    """
    edges = list(_EDGES)
    for edge in (*_MORE_EDGES, 0.0):
        diffuse = _Jobs(np.array([-1]), np.zeros(1), np.array(edges[-1:]))
        if edge == 0.0 or is_proven(diffuse):
            break
        edges.append(edge)
    parts = [np.flatnonzero(upper >= low) for low in edges[1:]]
    keys = np.concatenate([[-1], *parts])
    sizes = [1, *map(len, parts)]
    lows = np.repeat([0.0, *edges[1:]], sizes)
    highs = np.repeat([edges[-1], *edges[:-1]], sizes)
    highs[1:] = np.minimum(highs[1:], upper[keys[1:]])
    return _Jobs(keys, lows, highs)


def coordinate_bounds(
    polytope: Polytope, jobs: int = 1, deadline: Deadline | None = None
) -> Floats:
    """Return proven upper bounds of each coordinate over the outer polytope, (|X|,).

    Symbols that the deadline leaves no time for have the bound 1.
    """
    if polytope.is_line:
        return np.ones(polytope.n_x)  # a proof by pairs needs none
    prepare("search")
    from lowlift._kernels import lp

    r, n = polytope.rows.shape
    is_small = polytope.n_x <= _SMALL
    # All other costs are equal, and the simplex goes round and round among them: first with costs
    # that differ by a hair, then from there with the true ones.
    zeros, ties = np.zeros(n), 1e-7 * np.random.default_rng(0).random(n)

    def part(symbols: Ints) -> Floats:
        out = np.ones(len(symbols))
        if deadline is not None and deadline.is_over:
            return out
        first, second, third = polytope.start
        tableau, basis, place = first.copy(), second.copy(), third.copy()
        x, net, cost, y = np.empty(n + r), np.empty(n), np.zeros(n), np.empty(r)
        for k, symbol in enumerate(symbols.tolist()):
            for base in (ties, zeros)[is_small:]:
                cost[:] = base
                cost[symbol] = -1.0
                _, bound, _, _ = lp.minimise(
                    polytope.rows, polytope.largest, tableau, basis, place, cost,
                    polytope.outer_lo, polytope.outer_hi, math.inf, 500, x, net, y,
                )  # fmt: skip
            out[k] = min(1.0, -bound)
        return out

    symbols, step = np.arange(polytope.n_x), programs_at_once(polytope)
    if polytope.n_x <= step:
        return part(symbols)
    return np.concatenate(in_order(part, pieces(symbols, step), jobs))


def programs_at_once(polytope: Polytope) -> int:
    """Return how many linear programs one thread solves before it asks for the time."""
    rows, columns = polytope.rows.shape
    return max(1, min(_STEP, _ENTRIES // (rows * (rows + columns))))


def nmi_bound(p_x: Floats, pi: Floats, floor: float, entropy: float | None = None) -> float:
    """Return the bound on NMI, rounded up: by more than the division and another machine's logs.

    `entropy` is H(X) in nats, of what the symbols here are classes of; by default that of `p_x`.
    """
    whole = entropy_of(p_x) if entropy is None else entropy
    return information_bound(p_x, pi, floor, whole) / whole * (1 + 2.0**-44)


def information_bound(p_x: Floats, pi: Floats, floor: float, entropy: float | None = None) -> float:
    """Return H(X) - pi . P_X - floor in nats, rounded up."""
    whole = entropy_of(p_x) if entropy is None else entropy
    slack = 8 * (len(p_x) + 8) * _UNIT * (float(np.abs(pi) @ p_x) + whole + 1)
    return whole - math.fsum(pi * p_x) - floor + slack


def entropy_of(p_x: Floats) -> float:
    """Return H(X) in nats."""
    return -math.fsum(p_x * np.log(p_x))
