"""Prove ``H(v) - pi . v >= cut`` on a polytope of posteriors v: kernels, jobs and threads.

`certificates` says what follows from it.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lowlift.deadline import Deadline
from lowlift.kernels.compilation import prepare
from lowlift.polytope import Polytope

__all__ = [
    "Proof",
    "coordinate_bounds",
    "cores",
    "in_order",
    "programs_at_once",
    "prove_floor",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")

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
#: Nodes per job that such a proof may take before threads take over, and jobs between questions.
_SHORT, _FEW = 2000, 8
#: Seconds between two questions whether to stop.
_ASK = 0.2
#: More than the rounding of a logarithm and a sum of two.
_ROUNDING = 1e-12


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

    Parameters
    ----------
    polytope
        Where v lies.
    pi
        Any duals, (|X|,).
    cut
        What to prove: below 0.
    upper
        Proven upper bounds of the coordinates of v, (|X|,).
    jobs
        Threads; the result does not depend on them.
    most_nodes
        Per part of the search.
    is_over
        Asked a few times a second; True ends the search early, with a true but weaker bound.
    keep_below
        Of the points met, the lowest are returned where they are below this value.

    Guarantee
        The floor is a true lower bound, for any pi and whatever stopped the search.
    """
    prepare("search")
    from lowlift.kernels import bounding, lp

    # Without a search: -log v >= -log u, so the value is at least the least -log u - pi.
    least = float((-np.log(upper) - pi).min()) - _ROUNDING
    if least >= cut:
        return Proof(cut, 0, np.zeros((0, polytope.n_x)), np.zeros(0))
    box_hi = polytope.outer_hi.copy()
    box_hi[: polytope.n_x] = upper
    stop = np.zeros(1, np.int64)
    # Jobs go on from the basis of the whole polytope.
    (r, n), (first, second, third) = polytope.rows.shape, polytope.start
    start = first.copy(), second.copy(), third.copy()
    cost = np.zeros(n)
    cost[: polytope.n_x] = -np.log(upper) - pi
    lp.minimise(
        polytope.rows, polytope.largest, *start, cost, polytope.outer_lo, box_hi, math.inf,
        _PIVOTS, np.empty(n + r), np.empty(n), np.empty(r),
    )  # fmt: skip

    def run(which: _Jobs, most_nodes: int, keep: int) -> tuple[Floats, Ints, Floats, Floats]:
        size = len(which.keys)
        bounds, nodes = np.full(size, -math.inf), np.zeros(size, np.int64)
        points, values = np.zeros((keep, polytope.n_x)), np.full(keep, keep_below)
        if not stop[0]:
            bounding.prove(
                lp.minimise, polytope.rows, polytope.largest, polytope.outer_lo, box_hi, pi,
                cut, *which, most_nodes, _PIVOTS, *start, stop, bounds, nodes, points,
                values,
            )  # fmt: skip
        kept = values < keep_below
        return bounds, nodes, points[kept], values[kept]

    def is_proven(diffuse: _Jobs) -> bool:
        return bool(run(diffuse, 1, 1)[0][0] >= cut)

    every = _first_jobs(upper, is_proven)
    is_small = polytope.n_x <= _SMALL and len(polytope.rows) <= 2 * _SMALL
    found = []
    if is_small:
        for part in every.parts(_FEW):
            stop[0] |= is_over is not None and is_over()
            found.append(run(part, min(most_nodes, _SHORT), _POINTS))
    if not is_small or (
        max(nodes.max() for _, nodes, *_ in found) >= _SHORT and most_nodes > _SHORT and not stop[0]
    ):
        size = min(max(len(every.keys) // _PARTS, 1), _CHUNK)
        keep = max(_POINTS * size // _CHUNK, _FEW)
        work = [partial(run, part, most_nodes, keep) for part in every.parts(size)]
        found = _in_threads(work, jobs, stop, is_over)
    bounds, nodes, points, values = (np.concatenate(some) for some in zip(*found, strict=True))
    return Proof(max(least, float(bounds.min())), int(nodes.sum()), points, values)


def _in_threads(
    work: Sequence[Callable[[], R]],
    jobs: int,
    stop: Ints,
    is_over: Callable[[], bool] | None,
) -> list[R]:
    """Do the work in threads (the kernel holds no lock), asking now and then whether to stop."""
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(one) for one in work]
            while wait(futures, timeout=_ASK).not_done:
                if is_over is not None and is_over():
                    stop[0] = 1
                    break
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            raise


class _Jobs(NamedTuple):
    """Jobs as `bounding.prove` takes them."""

    keys: Ints
    lows: Floats
    highs: Floats

    def parts(self, size: int) -> "list[_Jobs]":
        """Return the jobs in pieces of a size."""
        which = (slice(k, k + size) for k in range(0, len(self.keys), size))
        return [_Jobs(self.keys[w], self.lows[w], self.highs[w]) for w in which]


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
    prepare("search")
    from lowlift.kernels import lp

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
    return np.concatenate(in_order(part, np.split(symbols, range(step, len(symbols), step)), jobs))


def programs_at_once(polytope: Polytope) -> int:
    """Return how many linear programs one thread solves before it asks for the time."""
    rows, columns = polytope.rows.shape
    return max(1, min(_STEP, _ENTRIES // (rows * (rows + columns))))


@cache
def cores() -> int:
    """Return the number of cores."""
    return os.cpu_count() or 1


def in_order(work: Callable[[T], R], items: Sequence[T], jobs: int) -> list[R]:
    """Return the results in the order of the items, from threads when there are jobs for them."""
    if jobs < 2 or len(items) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(jobs, len(items))) as pool:
        return list(pool.map(work, items))
