"""False statements about ``H(v) - pi . v``, off by 1e-12 to 1e-3: none may be proven."""

import math

import numba
import numpy as np
import pytest

import lowlift as ll
from lowlift._kernels import lp, pricing, underestimates
from lowlift._kernels.compilation import prepare
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import coordinate_bounds, prove_floor

OFF = (1e-12, 1e-9, 1e-6, 1e-3)


def value_of(v, pi):
    return math.fsum(
        -t * (math.log(t) + p) for t, p in zip(v.tolist(), pi.tolist(), strict=True) if t > 0
    )


def lowest(polytope, pi, rng):
    """A point of the polytope with a value as small as local search finds."""
    starts = np.concatenate([np.eye(polytope.n_x), rng.dirichlet(np.ones(polytope.n_x), 6)])
    points, values = pricing.linearise(
        lp.minimise, polytope.rows, polytope.largest, polytope.inner_lo, polytope.inner_hi, pi,
        starts, *polytope.start, 10, 500,
    )  # fmt: skip
    best = points[values.argmin()] / points[values.argmin()].sum()
    rows, (lo, hi) = polytope.rows @ best, polytope.outer
    assert ((rows >= lo) & (rows <= hi))[1:].all()
    return best


@pytest.mark.second_lane
@pytest.mark.parametrize("seed", range(25))
def test_no_false_statement_is_proven(seed):
    """400 statements for each of 25 seeds: 10,000."""
    prepare("search")
    rng = np.random.default_rng(seed)
    for _ in range(20):
        n_s, n_x = rng.integers(2, 6), rng.integers(3, 9)
        joint = ll.Joint.from_counts(rng.integers(1, 30, (n_s, n_x)))
        criterion = (ll.LIP, ll.MaxLift)[rng.integers(2)](rng.choice([0.02, 0.1, 0.4]))
        polytope = Polytope(joint, criterion)
        upper = coordinate_bounds(polytope)
        for scale in (0.0, 0.3, 1.0, 4.0, -1.0):
            pi = scale * rng.normal(size=n_x)
            if scale < 0:  # between duals that need no search and those of an entropy
                share = rng.random()
                pi = -share * np.log(upper) - (1 - share) * np.log(joint.p_x)
            # The best point has a value just below 0, where the search prunes the most.
            pi += value_of(lowest(polytope, pi, rng), pi) + rng.choice([1e-3, 0.1])
            least = value_of(lowest(polytope, pi, rng), pi)
            for off in OFF:
                assert prove_floor(polytope, pi, least + off, upper).floor < least + off


@numba.njit
def underestimate(kind, pi, depth, keys, is_key, low, high, cap, rest_min, rest_max, least, most):
    n = pi.size
    node = underestimates.Node(keys, low, high, is_key)
    cost, empty = np.zeros(n), np.empty((4, n))
    linear = underestimates.Linear(cost, empty[0], empty[1], empty[2], empty[3])
    constant = underestimates.underestimate(
        kind, pi, depth, node, cap, rest_min, rest_max, least, most, linear
    )
    return constant, cost


@pytest.mark.second_lane
@pytest.mark.parametrize(
    "kind", [underestimates.CHAIN, underestimates.JOINTLY, underestimates.APART]
)
def test_underestimates_are_below_the_entropy(kind):
    """Nodes around a point: it may lie on the edge of an interval or a box, or well inside."""
    rng = np.random.default_rng(kind)
    checked = 0
    for _ in range(20_000):
        n = int(rng.integers(2, 9))
        v = rng.dirichlet(np.full(n, rng.choice([0.2, 1.0, 5.0])))
        if rng.random() < 0.2:  # shares of 1/q, where the least entropy has a kink
            v = np.repeat([1.0, 0.0], [1 + n // 2, n - 1 - n // 2]) / (1 + n // 2)
        pi = rng.normal(size=n)
        depth = int(rng.integers(0, np.count_nonzero(v)))
        keys = np.argsort(-v)[:depth].copy()
        is_key = np.isin(np.arange(n), keys)
        low, high, left = np.empty(n), np.empty(n), 1.0
        rest_min = rest_max = 1.0
        for i, k in enumerate(keys):
            share = min(v[k] / left, 1.0)
            width = rng.choice([0.0, 1e-11, 1e-6, 0.05, 0.5], 2)
            low[i], high[i] = max(share - width[0], 0.0), min(share + width[1], 1.0)
            if kind == underestimates.JOINTLY and i == depth - 1:
                pieces = math.floor(1 / share)
                low[i], high[i] = max(low[i], 1 / (pieces + 1)), min(high[i], 1 / pieces)
                if high[i] == 1 / pieces:
                    high[i] *= rng.choice([1.0, underestimates.UP, 1 + 9e-13])
            left = max(left - v[k], 0.0)
            rest_min, rest_max = rest_min * (1 - high[i]), rest_max * (1 - low[i])
        rest_min, rest_max = rest_min * (1 - 1e-14), rest_max * (1 + 1e-14)
        if left < 1e-9:
            continue
        rest = v[~is_key].max() / left
        cap = min(1.0, rest * rng.choice([1 + 1e-14, 1.1, 2.0]))
        width = rng.choice([0.0, 1e-11, 1e-6, 0.05, 0.5], (2, n))
        least, most = np.maximum(v - width[0], 0.0), np.minimum(v + width[1], 1.0)
        if kind == underestimates.JOINTLY and depth == 0:
            continue
        constant, cost = underestimate(
            kind, pi, depth, keys, is_key, low, high, cap, rest_min, rest_max, least, most
        )
        checked += 1
        assert constant + math.fsum(cost * v) <= value_of(v, pi) + 1e-13
    assert checked > 10_000
