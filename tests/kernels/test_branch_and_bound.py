"""Branch and bound against brute force: entropy is concave, so the least value is at a vertex.

Vertices are exact, their values have 60 digits, and a bound above the least value by anything at
all is a failure.
"""

import math
from fractions import Fraction
from functools import cache

import mpmath
import numba
import numpy as np
import pytest

from kernels.polytopes import Program, random_posteriors, value, vertices
from lowlift._kernels import branch_and_bound, lp, underestimates

#: From less than the rounding of a value, so that no point looks as if it were below the cut.
OFF = (1e-16, 3e-16, 1e-15, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-7, 1e-5, 1e-3, 0.05, 0.5)


def jobs(n):
    """Parts that cover the simplex: the largest share is below 1/4, or k has it."""
    keys = np.concatenate([[branch_and_bound.DIFFUSE], *[np.arange(n)] * 3])
    edges = [1 / 4, 1 / 3, 1 / 2, 1.0]
    lows = np.concatenate([[0.0], *(np.full(n, low) for low in edges[:3])])
    highs = np.concatenate([[edges[0]], *(np.full(n, high) for high in edges[1:])])
    return keys, lows, highs


def proven(program, pi, cut, most_nodes=20_000, stop=0, parts=None):
    """Return the bounds of the jobs, their nodes, and the points found with their values."""
    keys, lows, highs = jobs(len(pi)) if parts is None else parts
    bounds, nodes = np.full(len(keys), -math.inf), np.zeros(len(keys), np.int64)
    points, values = np.zeros((30, len(pi))), np.full(30, -1e-8)
    branch_and_bound.prove(
        lp.minimise, program.rows, program.largest, program.lo, program.hi, pi, cut, keys, lows,
        highs, most_nodes, 300, *program.start, np.array([stop]), bounds, nodes, points, values,
    )  # fmt: skip
    return bounds, nodes, points, values


@cache
def case(seed):
    """A polytope of 3 to 5 posteriors, duals of some size, and its least value with the vertex."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    slack = 10.0 ** -rng.uniform(0, 3)
    below, above = [(0.0, 1.0), (0.0, 1.0), (0.0, 0.0), (0.9, 0.0)][seed % 4]
    program = Program(*random_posteriors(rng, n, r, slack=slack, below=below, above=above))
    pi = 10.0 ** rng.uniform(-2, 1.5) * rng.normal(size=n)
    corners = vertices(program.rows, program.lo, program.hi)
    return program, pi, corners, min(value(v, pi) for v in corners)


SEEDS = range(150)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_false_is_not_proven_and_what_is_true_is(seed):
    program, pi, _, least = case(seed)
    for off in OFF:
        # A cut in floats above the least value by hardly less than `off`.
        bounds, *_ = proven(program, pi, float(least + off))
        assert mpmath.mpf(float(bounds.min())) <= least
    size = 1 + np.abs(pi).max()
    bounds, nodes, _, _ = proven(program, pi, float(least) - 1e-8 * size)
    assert bounds.min() == float(least) - 1e-8 * size
    assert nodes.max() < 20_000


@pytest.mark.parametrize("seed", SEEDS[:15])
def test_each_part_has_a_bound_of_its_own(seed):
    """Of the vertices that lie in a part, none is below the part's bound."""
    program, pi, corners, least = case(seed)
    keys, lows, highs = jobs(len(pi))
    bounds, *_ = proven(program, pi, float(least) + 0.5)
    for key, low, high, bound in zip(keys, lows, highs, bounds, strict=True):
        for v in corners:
            is_here = max(v) <= high
            if key >= 0:
                is_here = v[key] == max(v) and low <= v[key] <= high
            assert not is_here or mpmath.mpf(float(bound)) <= value(v, pi)


@pytest.mark.parametrize("seed", SEEDS[:15])
@pytest.mark.parametrize("most_nodes", [0, 1, 2, 5, 40])
def test_a_search_cut_short_has_a_true_bound(seed, most_nodes):
    program, pi, _, least = case(seed)
    for off in (-1e-9, 1e-9, 0.1):
        bounds, nodes, _, _ = proven(program, pi, float(least) + off, most_nodes=most_nodes)
        assert mpmath.mpf(float(bounds.min())) <= least
        # A node's tightening may take a few rounds more.
        assert nodes.max() <= most_nodes + 4
    bounds, nodes, _, _ = proven(program, pi, float(least) - 1.0, stop=1)
    assert (bounds == -math.inf).all()
    assert not nodes.any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_points_found_are_of_the_polytope_and_have_their_values(seed):
    program, pi, _, least = case(seed)
    least = float(least)
    _, _, points, values = proven(program, pi, least + 0.3)
    found = values < -1e-8
    assert (np.diff(values[found]) > 0).all()
    for v, reached in zip(points[found], values[found], strict=True):
        inside = np.concatenate([v, program.rows @ v])
        assert (inside >= program.lo - 1e-8).all()
        assert (inside <= program.hi + 1e-8).all()
        kept = v[v > 0]
        assert reached == pytest.approx(-(kept * np.log(kept)).sum() - pi @ v, abs=1e-9)
        # The polytope's points below 1e-8 of it, by the steepness of the entropy there.
        assert reached >= least - 1e-6 * (1 + np.abs(pi).max())


def test_the_least_point_is_met_where_it_is_below_the_cut():
    for seed in SEEDS[:24]:
        program, pi, _, least = case(seed)
        pi = pi + (float(least) + 1.0)  # so that it is -1
        _, _, _, values = proven(program, pi, -1.0 + 1e-6)
        assert values.min() == pytest.approx(-1.0, abs=1e-6)


def test_an_empty_polytope_is_below_nothing():
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    lo, hi = np.array([0.0, 0, 0, 1, 4]), np.array([1.0, 1, 1, 1, 5])
    assert not vertices(rows, lo, hi)
    bounds, *_ = proven(Program(rows, lo, hi), np.zeros(3), 5.0)
    assert (bounds == 5.0).all()


def test_known_by_hand():
    """All of the simplex: the least of H(v) - pi . v is at a corner, -max pi."""
    n = 4
    rows, lo, hi = np.ones((1, n)), np.zeros(n + 1), np.ones(n + 1)
    lo[n] = 1.0
    pi = np.array([0.3, -1.0, 0.7, 0.2])
    bounds, *_ = proven(Program(rows, lo, hi), pi, -0.7 - 1e-9)
    assert bounds.min() == -0.7 - 1e-9
    bounds, *_ = proven(Program(rows, lo, hi), pi, -0.7 + 1e-12)
    assert bounds.min() <= -0.7
    # Among shares of at most 1/4 there is one point.
    parts = [part[:1] for part in jobs(n)]
    bounds, *_ = proven(Program(rows, lo, hi), np.zeros(n), math.log(4) - 1e-6, parts=parts)
    assert bounds[0] == math.log(4) - 1e-6
    bounds, *_ = proven(Program(rows, lo, hi), np.zeros(n), math.log(4) + 1e-9, parts=parts)
    assert bounds[0] <= math.log(4)


@pytest.mark.parametrize("q", [2, 3, 4])
def test_intervals_across_one_over_a_whole_number(q):
    """No share is above 1/q: the least entropy is log q, in the midst of a part of the search.

    The least entropy of a distribution with a given largest share is not concave there.
    """
    n = 6
    rows, lo, hi = np.vstack([np.ones(n), np.eye(n)]), np.zeros(2 * n + 1), np.ones(2 * n + 1)
    lo[n], hi[n + 1 :] = 1.0, 1 / q
    program, pi = Program(rows, lo, hi), np.zeros(n)
    share = Fraction(1 / q)  # what is left over of 1 is another's
    least = value([share] * q + [1 - q * share], np.zeros(q + 1))
    assert float(least) == pytest.approx(math.log(q), abs=1e-12)
    edge = 1 / (q + 1.5)
    parts = (
        np.array([branch_and_bound.DIFFUSE, *range(n)]),
        np.array([0.0, *[edge] * n]),
        np.array([edge, *[min(1.0, 1.9 / q)] * n]),
    )
    for off in (1e-12, 1e-6, 1e-2, 0.1, 0.3):
        bounds, *_ = proven(program, pi, float(least + off), parts=parts)
        assert mpmath.mpf(float(bounds.min())) <= least
    bounds, *_ = proven(program, pi, float(least) - 1e-9, parts=parts)
    assert bounds.min() == float(least) - 1e-9


@numba.njit
def better_for(x, low, high):
    """Return the underestimate that `better` takes for one open level, at zero duals."""
    n = x.size
    node = underestimates.Node(
        np.zeros(1, np.int64), np.array([low]), np.array([high]), np.zeros(n, np.bool_)
    )
    linear = underestimates.Linear(np.zeros(n), np.zeros(n), np.ones(n), np.zeros(1), np.zeros(1))
    return underestimates.better(1, node, linear, 0.0, x, np.zeros(n), 1.0)


@pytest.mark.parametrize("pieces", [2, 3, 7])
@pytest.mark.parametrize("up", [1.0, underestimates.UP, underestimates.UP**3])
def test_a_share_that_is_rounded_up_has_the_least_entropy(pieces, up):
    """Shares are rounded up on the way down the tree; 1/q and a bit is still 1/q."""
    x = np.full(pieces + 1, 1 / (pieces + 1))
    assert better_for(x, 1 / (pieces + 1), 1 / pieces * up) == underestimates.JOINTLY
    assert better_for(x, 1 / (pieces + 1), 1 / pieces * 1.01) != underestimates.JOINTLY
    assert better_for(x, 1 / (pieces + 1.01), 1 / pieces * up) != underestimates.JOINTLY
