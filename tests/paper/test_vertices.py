"""The vertices of ALIP's polytope, against qhull, and how their number grows."""

import math

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial import HalfspaceIntersection

import lowlift as ll
from lowlift.paper.vertices import SIZES, VertexCount, growth_exponent, vertex_counts, vertices_of


def by_qhull(joint, low, high):
    """List the vertices with qhull in the null space of sum(v) = 1, around v = P_X."""
    basis = null_space(np.ones((1, joint.n_x)))
    a = np.vstack([-np.eye(joint.n_x), joint.lift, -joint.lift])
    b = np.concatenate([np.zeros(joint.n_x), np.repeat([high, -low], joint.n_s)])
    spaces = np.hstack([a @ basis, (a @ joint.p_x - b)[:, None]])
    found = HalfspaceIntersection(spaces, np.zeros(joint.n_x - 1)).intersections
    return in_order(joint.p_x + found @ basis.T)


def in_order(vertices):
    rounded = np.unique(vertices.round(9) + 0.0, axis=0)
    return rounded[np.lexsort(rounded.T)]


SHAPES = [(2, 3), (2, 6), (3, 5), (3, 9), (4, 7), (5, 6), (5, 9), (6, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("budgets", [(0.1, 0.1), (0.3, 0.2), (0.5, 1.0)])
def test_vertices_are_those_of_qhull(shape, budgets):
    low, high = math.exp(-budgets[0]), math.exp(budgets[1])
    for seed in range(3):
        joint = ll.Joint.random(*shape, seed=seed)
        vertices = vertices_of(joint.lift, low, high)
        expected = by_qhull(joint, low, high)
        assert len(vertices) == len(expected)
        np.testing.assert_allclose(in_order(vertices), expected, atol=2e-9)


@pytest.mark.parametrize("epsilon", [0.25, 2.0])
def test_the_count_is_qhulls_at_5_x_12(epsilon):
    count = vertex_counts(5, (12,), epsilon, seed=4)[0]
    joint = ll.Joint.random(5, 12, seed=4)
    assert count.vertices == len(by_qhull(joint, math.exp(-epsilon / 2), math.exp(epsilon / 2)))


def test_a_vertex_has_one_tight_lift_less_than_symbols():
    joint = ll.Joint.random(4, 10, seed=1)
    low, high = math.exp(-0.2), math.exp(0.3)
    vertices = vertices_of(joint.lift, low, high)
    lifts = joint.lift @ vertices.T
    assert (vertices >= 0).all()
    np.testing.assert_allclose(vertices.sum(axis=1), 1, atol=1e-12)
    assert lifts.min() >= low - 1e-12
    assert lifts.max() <= high + 1e-12
    support = (vertices > 0).sum(axis=1)
    assert support.max() == joint.n_s
    tight = (np.abs(lifts - low) < 1e-12) | (np.abs(lifts - high) < 1e-12)
    np.testing.assert_array_equal(tight.sum(axis=0), support - 1)


def test_repeated_columns_have_vertices_of_their_own():
    lift = np.array([[0.5, 0.5, 1.5], [1.5, 1.5, 0.5]])
    found = in_order(vertices_of(lift, 0.75, 1.25))
    expected = [[0.75, 0, 0.25], [0.25, 0, 0.75], [0, 0.75, 0.25], [0, 0.25, 0.75]]
    np.testing.assert_allclose(found, in_order(np.array(expected)), atol=1e-9)


def test_a_block_that_no_posterior_satisfies_has_none():
    lift = np.array([[0.2, 0.3], [1.8, 1.7]])
    assert vertices_of(lift, 0.75, 1.25).shape == (0, 2)


def test_the_bound_of_the_support_lemma():
    count = vertex_counts(5, (17,), 0.25)[0]
    assert count.support_bound == 714_017
    assert count.exponential == 2**17
    assert 12_000 <= count.vertices <= 19_000
    assert 100 < vertex_counts(5, (17,), 2.0)[0].vertices < 1000


@pytest.mark.parametrize("n_s", SIZES)
def test_growth_is_polynomial_of_degree_s(n_s):
    counts = vertex_counts(n_s, SIZES[n_s], 0.5)
    assert [count.n_x for count in counts] == list(SIZES[n_s])
    assert all(0 < count.vertices <= count.support_bound for count in counts)
    assert n_s - 1 < growth_exponent(counts) < n_s + 0.25
    if n_s == 3:
        assert counts[-1].vertices < 1e-18 * counts[-1].exponential
    # Were it exponential, as the paper says, the slope would grow with |X| without bound.
    doubled = [VertexCount(n_s, c.n_x, c.exponential, 0, 0.0) for c in counts]
    assert growth_exponent(doubled) > 1.25 * growth_exponent(counts)
    assert growth_exponent(doubled[-2:]) > 2 * growth_exponent(counts[-2:])


def test_the_same_seed_gives_the_same_counts():
    first, again, other = (
        [count.vertices for count in vertex_counts(3, (8, 16), 0.5, seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_bad_arguments_are_refused():
    with pytest.raises(ll.InvalidInput, match="above 0 and finite"):
        vertex_counts(3, (5,), 0.0)
    with pytest.raises(ll.InvalidInput, match="above 0 and finite"):
        vertex_counts(3, (5,), 1.0, lam=1.0)
    with pytest.raises(ll.InvalidInput, match="two sizes"):
        growth_exponent(vertex_counts(3, (5, 5)))
