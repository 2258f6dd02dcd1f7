r"""How many vertices the polytope of the optimal random response has, by |X|.

The posteriors that ALIP allows are ``{v in simplex : e**-lower <= (A v) / P_S <= e**upper}``, with
``A = P(s|x)``. A vertex has support of size k at most |S|, and k - 1 lifts that stand at a bound.
So all are found by solving one k x k system for each support, k - 1 values of S and their bounds:
at most ``sum_k C(|X|, k) C(|S|, k - 1) 2**(k - 1)`` of them, a polynomial in |X|.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from types import MappingProxyType

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._joint import Joint
from lowlift.criteria import ALIP
from lowlift.errors import InvalidInput

#: Per |S|, the |X| that are counted in a second or so.
SIZES = MappingProxyType({3: (5, 10, 20, 40, 80), 5: (5, 8, 11, 14, 17, 20, 24)})
#: Systems solved at a time, to bound the memory.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class VertexCount:
    """The vertices of one random joint's polytope, and the bound of the support lemma."""

    n_s: int
    n_x: int
    vertices: int
    support_bound: int
    seconds: float

    @property
    def exponential(self) -> int:
        """2**|X|, what growth exponential in |X| would be measured by."""
        return 1 << self.n_x


def vertex_counts(
    n_s: int = 3,
    n_xs: Sequence[int] = SIZES[3],
    epsilon: float = 0.5,
    seed: int = 0,
    lam: float = 0.5,
) -> list[VertexCount]:
    """Count the vertices of ALIP's polytope for one random joint of |S| and each |X|.

    The budgets are ``lam * epsilon`` and ``(1 - lam) * epsilon``. One small linear system is solved
    per candidate of the bound.

    Examples
    --------
    >>> [count.vertices <= count.support_bound for count in vertex_counts(3, (5, 10))]
    [True, True]
    """
    budgets = ALIP.split(epsilon, lam)
    if not (0 < budgets.lower < math.inf and 0 < budgets.upper < math.inf):
        raise InvalidInput(f"both budgets must be above 0 and finite; got {budgets}.")
    low, high = math.exp(-budgets.lower), math.exp(budgets.upper)
    rng, found = np.random.default_rng(seed), list[VertexCount]()
    for n_x in n_xs:
        joint = Joint.random(n_s, n_x, rng)
        start = time.perf_counter()
        count = sum(len(weights) for _, weights in _by_support(joint.lift, low, high))
        seconds = time.perf_counter() - start
        found.append(VertexCount(n_s, n_x, count, _support_bound(n_s, n_x), seconds))
    return found


def growth_exponent(counts: Sequence[VertexCount]) -> float:
    """Return the slope of log vertices over log |X|: the degree of the polynomial they follow.

    Examples
    --------
    >>> counts = [VertexCount(3, n, n**2, n**3, 0.0) for n in (5, 10, 20)]
    >>> round(growth_exponent(counts), 9)
    2.0
    """
    seen = [(count.n_x, count.vertices) for count in counts if count.vertices]
    if len({n_x for n_x, _ in seen}) < 2:
        raise InvalidInput("counts must be of at least two sizes of X.")
    n_x, vertices = np.log(np.array(seen, dtype=np.float64)).T
    return float(np.polyfit(n_x, vertices, 1)[0])


def vertices_of(lift: Floats, low: float, high: float) -> Floats:
    """Return the vertices of ``{v in simplex : low <= lift @ v <= high}``, one a row.

    `lift` is P(s|x) / P(s), (|S|, |X|), with columns in general position, as those of random joints
    are: a vertex with more than its share of tight bounds may be missed. The bounds are around 1.

    Examples
    --------
    >>> lift = np.array([[0.5, 1.5], [1.5, 0.5]])
    >>> vertices_of(lift, 0.75, 1.25)
    array([[0.25, 0.75],
           [0.75, 0.25]])
    """
    found = [np.zeros((0, lift.shape[1]))]
    for support, weights in _by_support(lift, low, high):
        vertices = np.zeros((len(weights), lift.shape[1]))
        np.put_along_axis(vertices, support, weights, axis=1)
        found.append(vertices)
    return np.concatenate(found)


def _support_bound(n_s: int, n_x: int) -> int:
    sizes = range(1, n_s + 1)
    return sum(math.comb(n_x, k) * math.comb(n_s, k - 1) * 2 ** (k - 1) for k in sizes)


def _by_support(lift: Floats, low: float, high: float) -> Iterator[tuple[Ints, Floats]]:
    """Yield supports (c, k) and the positive weights (c, k) of their vertices."""
    n_s, n_x = lift.shape
    for k in range(1, min(n_s, n_x) + 1):
        listed = np.fromiter(combinations(range(n_x), k), np.dtype((np.int64, k)))
        supports = listed.astype(np.int64)
        for start in range(0, len(supports), _CHUNK):
            support = supports[start : start + _CHUNK]
            for tight in combinations(range(n_s), k - 1):
                yield from _at_bounds(lift, support, list(tight), (low, high))


def _at_bounds(
    lift: Floats, support: Ints, tight: list[int], bounds: tuple[float, float]
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the vertices with these supports whose lifts of `tight` stand at a bound."""
    columns = lift[:, support].transpose(1, 0, 2)  # (c, |S|, k)
    systems = np.concatenate([columns[:, tight], np.ones((len(support), 1, support.shape[1]))], 1)
    # Without a unique solution there is no vertex.
    regular = np.linalg.det(systems) != 0
    columns, systems, support = columns[regular], systems[regular], support[regular]
    right = np.array([[*choice, 1.0] for choice in product(bounds, repeat=len(tight))]).T
    weights = np.linalg.solve(systems, right)  # (c, k, choices)
    free = [s for s in range(len(lift)) if s not in tight]
    lifts = columns[:, free] @ weights
    inside = (weights > 0).all(axis=1) & ((lifts > bounds[0]) & (lifts < bounds[1])).all(axis=1)
    place, choice = np.nonzero(inside)
    yield support[place], weights[place, :, choice]
