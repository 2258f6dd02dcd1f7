"""The dual simplex against exact rationals: its bound is never above the true optimum.

Bounds are compared as Fractions, without a tolerance: above by 1e-18 is a failure.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kernels.polytopes import Program, dual_value, fractions, least_cost, net_costs
from lowlift._kernels import lp

INF = math.inf
#: Coarse numbers, so that ties are many and what is infeasible is so by far.
COARSE = st.integers(-6, 6).map(lambda k: k / 4)
#: Sizes from 1e-9 to 1e6 beside each other, and digits that do not end.
WILD = st.builds(
    lambda digits, power: (digits / 997) * 10.0**power,
    st.integers(-997, 997),
    st.integers(-9, 6),
)


@st.composite
def programs(draw, numbers):
    """A program of at most 3 variables and 3 rows; where it has a point, mostly one well inside."""
    n, r = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rows = np.array(draw(st.lists(numbers, min_size=n * r, max_size=n * r))).reshape(r, n)
    width = st.integers(0, 4).map(lambda k: k / 4)
    lo_v = np.array(draw(st.lists(width, min_size=n, max_size=n)))
    hi_v = lo_v + draw(st.lists(width, min_size=n, max_size=n))
    middle = rows @ (lo_v + hi_v) / 2
    shift = np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -3.0]), min_size=r, max_size=r)))
    size = 1 + np.abs(rows).max(axis=1)
    rooms = np.array(draw(st.lists(width, min_size=2 * r, max_size=2 * r))).reshape(2, r) * size
    lo = np.concatenate([lo_v, middle + shift * size - rooms[0]])
    hi = np.concatenate([hi_v, middle + shift * size + rooms[1]])
    return rows, lo, hi


def check(program, cost, cutoff, optimum):
    """What holds of every answer, whatever its status; an optimum of None is no point."""
    rows, lo, hi = program.rows, program.lo, program.hi
    if math.isfinite(program.bound):
        assert Fraction(program.bound) <= dual_value(rows, lo, hi, cost, program.y)
        exact = net_costs(rows, cost, fractions(program.y))
        for net, true in zip(fractions(program.net), exact, strict=True):
            assert abs(net - true) <= Fraction(program.error)
        assert optimum is None or Fraction(program.bound) <= optimum
    else:
        assert program.bound == -INF
    if program.status == lp.BEYOND:
        assert program.bound > cutoff
        assert optimum is None or optimum > Fraction(cutoff)


@settings(max_examples=150, deadline=None)
@given(programs(COARSE), st.data())
def test_coarse_programs_are_solved(program, data):
    """With the true optimum at hand: solved to 1e-9, and infeasible ones recognised."""
    rows, lo, hi = program
    here = Program(rows, lo, hi)
    n = rows.shape[1]
    for _ in range(3):  # each goes on from the tableau of the one before
        cost = np.array(data.draw(st.lists(COARSE, min_size=n, max_size=n)))
        optimum = least_cost(rows, lo, hi, cost)
        status = here.minimise(cost)
        check(here, cost, INF, optimum)
        if optimum is None:
            assert status == lp.STUCK
            assert here.minimise(cost, cutoff=10.0) == lp.BEYOND
            check(here, cost, 10.0, optimum)
            continue
        assert status == lp.OPTIMAL
        np.testing.assert_allclose(here.x[n:], rows @ here.x[:n], atol=1e-9, rtol=0)
        assert here.bound == pytest.approx(float(optimum), abs=1e-9)
        assert cost @ here.x[:n] == pytest.approx(float(optimum), abs=1e-9)
        assert (here.x >= lo - 1e-9).all()
        assert (here.x <= hi + 1e-9).all()
        for off in (1e-12, 1e-9, 1e-6, 1e-3, 1.0):
            above, below = float(optimum) + off, float(optimum) - off
            assert here.minimise(cost, cutoff=above) == lp.OPTIMAL
            check(here, cost, above, optimum)
            status = here.minimise(cost, cutoff=below)
            check(here, cost, below, optimum)
            assert status == lp.BEYOND or off < 1e-8


@settings(max_examples=150, deadline=None)
@given(programs(WILD), st.data())
def test_no_bound_is_too_high_where_rows_are_badly_scaled(program, data):
    rows, lo, hi = program
    here = Program(rows, lo, hi)
    n = rows.shape[1]
    for _ in range(3):
        cost = np.array(data.draw(st.lists(WILD, min_size=n, max_size=n)))
        optimum = least_cost(rows, lo, hi, cost)
        nearby = 0.0 if optimum is None else float(optimum)
        for cutoff in (INF, nearby + 1e-12, nearby - 1e-12, nearby * (1 - 1e-9)):
            here.minimise(cost, cutoff=cutoff, pivots=data.draw(st.sampled_from([0, 1, 500])))
            check(here, cost, cutoff, optimum)


@pytest.mark.parametrize("seed", range(12))
def test_larger_programs_agree_with_highs(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(20, 60)), int(rng.integers(3, 12))
    rows = rng.normal(size=(r, n)) * 10.0 ** rng.integers(-2, 3, (r, 1))
    inside = rng.random(n)
    width = np.abs(rows).sum(axis=1) * rng.random((2, r)) * 0.1
    lo = np.concatenate([np.zeros(n), rows @ inside - width[0]])
    hi = np.concatenate([np.ones(n), rows @ inside + width[1]])
    here = Program(rows, lo, hi)
    for _ in range(5):
        cost = rng.normal(size=n)
        assert here.minimise(cost) == lp.OPTIMAL
        both, ends = np.vstack([rows, -rows]), np.concatenate([hi[n:], -lo[n:]])
        other = linprog(cost, A_ub=both, b_ub=ends, bounds=(0, 1), method="highs")
        assert here.bound == pytest.approx(other.fun, abs=1e-7)
        assert Fraction(here.bound) <= dual_value(rows, lo, hi, cost, here.y)
        cutoff = other.fun - 1e-4
        assert here.minimise(cost, cutoff=cutoff) == lp.BEYOND
        assert Fraction(cutoff) < dual_value(rows, lo, hi, cost, here.y)
        assert here.minimise(cost, cutoff=other.fun + 1e-4) == lp.OPTIMAL


@pytest.mark.parametrize("seed", range(6))
def test_ties_of_every_kind_end(seed):
    """Equal columns, equal and opposite rows, boxes without width, costs of 0."""
    rng = np.random.default_rng(seed)
    some = rng.integers(-2, 3, (3, 3)).astype(float)
    rows = np.vstack([some, some[:1], -some[1:2], np.zeros((1, 3))])
    rows = np.ascontiguousarray(np.hstack([rows, rows[:, :1]]))
    inside = rng.integers(0, 3, 4) / 2
    lo = np.concatenate([np.zeros(4), rows @ inside])
    hi = np.concatenate([np.ones(4), rows @ inside])
    for cost in (np.zeros(4), np.ones(4), np.array([1.0, -1, 0, 1]), rows[0]):
        here = Program(rows, lo, hi)
        here.minimise(cost)
        optimum = least_cost(rows, lo, hi, cost)
        check(here, cost, INF, optimum)
        assert here.status == (lp.STUCK if optimum is None else lp.OPTIMAL)
        assert here.pivots < 50


@pytest.mark.parametrize("seed", range(30))
def test_a_tableau_of_rubbish_gives_a_true_bound(seed):
    """Multipliers are all that is read off a tableau, and any of them give a bound."""
    rng = np.random.default_rng(seed)
    rows, cost = rng.normal(size=(2, 3)), rng.normal(size=3)
    inside = rng.random(3)
    lo = np.concatenate([np.zeros(3), rows @ inside - rng.random(2)])
    hi = np.concatenate([np.ones(3), rows @ inside + rng.random(2)])
    optimum = least_cost(rows, lo, hi, cost)
    here = Program(rows, lo, hi)
    for size in (1.0, 1e200, 1e307, math.inf, math.nan):
        for cutoff in (INF, float(optimum) + 1e-9, float(optimum) - 1e-9):
            here.start = lp.fresh_tableau(rows)
            here.minimise(cost)
            here.minimise(-cost)  # so that some of v are basic
            here.start[0][:] = rng.normal(size=(2, 5)) * size
            here.minimise(cost, cutoff=cutoff, pivots=20)
            assert not math.isnan(here.bound)
            assert here.bound == -INF or Fraction(here.bound) <= optimum


def test_the_pivots_are_counted_and_limited():
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    lo, hi = np.array([0.0, 0, 0, 1, 2.5]), np.array([1.0, 1, 1, 1, 2.5])
    here, cost = Program(rows, lo, hi), np.array([3.0, 1.0, 2.0])
    assert here.minimise(cost, pivots=0) == lp.LIMIT
    assert here.pivots == 0
    assert here.minimise(cost, pivots=1) == lp.LIMIT
    assert here.minimise(cost) == lp.OPTIMAL
    assert here.bound == pytest.approx(1.5, abs=1e-12)
    np.testing.assert_allclose(here.x[:3], [0, 0.5, 0.5], atol=1e-12)
    assert here.minimise(cost) == lp.OPTIMAL
    assert here.pivots == 0
