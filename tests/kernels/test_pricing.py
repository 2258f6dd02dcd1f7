"""Pairs, triples, the cheapest of each symbol, and successive linearisation against enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.polytopes import (
    Program,
    fractions,
    is_inside,
    random_posteriors,
    solved,
    value,
    vertices,
)
from lowlift._kernels import lp, pricing


def boxes(seed):
    """Lifts with their boxes, some of them so coarse that rows tie: rows, row_lo, row_hi."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    rows, lo, hi = random_posteriors(rng, n, r)
    if seed % 2:
        rows[1:] = rng.integers(0, 5, (r, n)) / 2
        lo[n + 1 :], hi[n + 1 :] = rng.integers(0, 3, r) / 4 + 0.25, rng.integers(0, 3, r) / 2 + 1
    return rows, lo[n:], hi[n:]


def exact_pairs(rows, row_lo, row_hi):
    """Return (x, z, t) of every vertex with t at x and 1 - t at z, both positive."""
    lift, low, high = [fractions(row) for row in rows[1:]], fractions(row_lo), fractions(row_hi)
    found = set()
    for x, z in itertools.combinations(range(rows.shape[1]), 2):
        least, most = Fraction(0), Fraction(1)
        for row, a, b in zip(lift, low[1:], high[1:], strict=True):
            slope = row[x] - row[z]
            if slope:
                ends = sorted([(a - row[z]) / slope, (b - row[z]) / slope])
                least, most = max(least, ends[0]), min(most, ends[1])
            elif not a <= row[z] <= b:
                most = Fraction(-1)
        if least <= most:
            found |= {(x, z, t) for t in (least, most) if 0 < t < 1}
    return found


@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_all_vertices_of_support_two(seed):
    rows, row_lo, row_hi = boxes(seed)
    expected = sorted(exact_pairs(rows, row_lo, row_hi))
    first, second, share, count = pricing.pairs(rows, row_lo, row_hi)
    found = sorted(zip(first[:count].tolist(), second[:count].tolist(), share[:count], strict=True))
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    assert [pair[2] for pair in found] == pytest.approx([float(t) for *_, t in expected], abs=1e-12)


def test_pairs_are_there_at_all():
    assert sum(len(exact_pairs(*boxes(seed))) for seed in range(40)) > 100


def exact_triples(rows, row_lo, row_hi):
    """Return ((a, b, c), weights) of every vertex of support three."""
    lift, low, high = [fractions(row) for row in rows[1:]], fractions(row_lo), fractions(row_hi)
    sides = [(i, end) for i in range(len(lift)) for end in {low[i + 1], high[i + 1]}]
    for members in itertools.combinations(range(rows.shape[1]), 3):
        found = set()
        for chosen in itertools.combinations(sides, 2):
            matrix = [[Fraction(1)] * 3, *([lift[i][x] for x in members] for i, _ in chosen)]
            v = solved(matrix, [Fraction(1), *(end for _, end in chosen)])
            walls = [[row[x] for x in members] for row in lift]
            if v is not None and min(v) > 0 and is_inside(walls, low[1:], high[1:], v):
                found.add(tuple(v))
        yield from ((members, v) for v in found)


@pytest.mark.parametrize("seed", range(30))
def test_triples_keep_the_best_vertex_of_each_symbol(seed):
    rows, row_lo, row_hi = boxes(seed)
    n = rows.shape[1]
    pi = np.random.default_rng(seed).normal(size=n) + 1.5
    least = [0.0] * n
    for members, v in exact_triples(rows, row_lo, row_hi):
        reached = float(value(v, pi[list(members)]))
        for x in members:
            least[x] = min(least[x], reached if reached < -1e-7 else 0.0)
    members, shares, values = np.zeros((n, 3), np.int64), np.zeros((n, 3)), np.zeros(n)
    for first in range(n):
        pricing.triples(rows, row_lo, row_hi, pi, first, 1e-7, members, shares, values)
    assert values.tolist() == pytest.approx(least, abs=1e-9)
    for x in np.flatnonzero(values < 0).tolist():
        v, some = shares[x], members[x]
        assert x in some
        assert v.sum() == pytest.approx(1, abs=1e-12)
        assert values[x] == pytest.approx(-(v * (np.log(v) + pi[some])).sum(), abs=1e-12)
        lifts = rows[:, some] @ v
        assert (lifts >= row_lo - 1e-9).all()
        assert (lifts <= row_hi + 1e-9).all()


def test_triples_are_there_at_all():
    assert sum(1 for seed in range(30) for _ in exact_triples(*boxes(seed))) > 100


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5).map(float)), max_size=25),
    st.integers(1, 4),
    st.sampled_from([-2.0, 0.5, 100.0, math.inf]),
)
def test_cheapest_is_what_sorting_gives(items, size, below):
    symbol = np.array([x for x, _ in items], np.int64)
    cost = np.array([c for _, c in items])
    best = np.full((4, size), 99)
    pricing.cheapest(symbol, cost, below, best)
    for x in range(4):
        ranked = sorted((c, k) for k, (z, c) in enumerate(items) if z == x and c < below)
        expected = [k for _, k in ranked][:size]
        assert best[x].tolist() == expected + [-1] * (size - len(expected))


def test_cheapest_passes_over_what_is_no_number():
    best = np.zeros((1, 3), np.int64)
    pricing.cheapest(np.zeros(3, np.int64), np.array([math.nan, 2.0, math.nan]), math.inf, best)
    assert best.tolist() == [[1, -1, -1]]


@pytest.mark.parametrize("seed", range(25))
def test_linearise_finds_vertices_and_goes_down(seed):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    program = Program(*random_posteriors(rng, n, r))
    pi = 2 * rng.normal(size=n)
    corners = vertices(program.rows, program.lo, program.hi)
    known = np.array([[float(x) for x in v] for v in corners])
    reached = np.array([float(value(v, pi)) for v in corners])
    starts = np.ascontiguousarray(np.vstack([known, 0.9 * np.eye(n) + 0.1 / n]))
    before = [part.copy() for part in program.start]
    points, values = pricing.linearise(
        lp.minimise, program.rows, program.largest, program.lo, program.hi, pi, starts,
        *program.start, 10, 500,
    )  # fmt: skip
    for part, was in zip(program.start, before, strict=True):
        np.testing.assert_array_equal(part, was)
    for v, found in zip(points, values, strict=True):
        nearest = np.abs(known - v).max(axis=1).argmin()
        np.testing.assert_allclose(v, known[nearest], atol=1e-9)
        assert found == pytest.approx(reached[nearest], abs=1e-7)
    # From a vertex it goes down, but for the smoothing of the logarithm.
    assert (values[: len(known)] <= reached + 0.01).all()
    assert values.min() == pytest.approx(reached.min(), abs=1e-7)


def test_linearise_is_no_worse_than_its_first_step():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        program = Program(*random_posteriors(rng, 8, 3))
        pi, starts = rng.normal(size=8), rng.dirichlet(np.full(8, 0.5), 30)
        first = []
        for start in starts:
            program.minimise(-np.log(start + 1e-4) - pi)
            v = np.maximum(program.x[:8], 0.0)
            first.append(-(v * np.log(np.where(v > 0, v, 1.0))).sum() - pi @ v)
        fresh = Program(program.rows, program.lo, program.hi)
        for steps in (1, 2, 5, 10):
            points, values = pricing.linearise(
                lp.minimise, fresh.rows, fresh.largest, fresh.lo, fresh.hi, pi, starts,
                *fresh.start, steps, 500,
            )  # fmt: skip
            assert (values <= np.array(first) + 1e-9).all()
            shares = np.where(points > 0, points, 1.0)
            entropy = -(points * np.log(shares)).sum(axis=1)
            np.testing.assert_allclose(values, entropy - points @ pi, atol=1e-9)


def test_linearise_says_where_there_is_no_point():
    rows = np.array([[1.0, 1.0], [1.0, 2.0]])
    program = Program(rows, np.array([0.0, 0, 1, 3]), np.array([1.0, 1, 1, 4]))
    _, values = pricing.linearise(
        lp.minimise, rows, program.largest, program.lo, program.hi, np.zeros(2), np.eye(2),
        *program.start, 10, 500,
    )  # fmt: skip
    assert (values == math.inf).all()
