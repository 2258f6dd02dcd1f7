"""How many rows a bound for the population needs to keep so much."""

import numpy as np
import pytest

import lowlift as ll
from lowlift._mechanisms.rows_needed import _scaled
from lowlift.errors import InvalidInput

JOINT = ll.Joint.from_counts([[300, 100, 50], [100, 250, 60]])


def kept(joint: ll.Joint, rows: int) -> float:
    scaled = ll.Joint.from_counts(_scaled(joint.counts, rows))
    return ll.random_response(scaled, ll.Population(ll.LIP(0.5)), gap=1e-4).audit.nmi


def test_so_many_rows_keep_it_and_fewer_do_not():
    for keep in (0.3, 0.75):
        found = ll.rows_needed(JOINT, ll.LIP(0.5), keep)
        assert found.is_settled
        assert found.too_few < found.rows <= 1.02 * found.too_few + 1
        assert keep <= found.nmi <= found.most
        assert kept(JOINT, found.rows) >= keep
        assert kept(JOINT, found.too_few) < keep + 1e-3
    assert found.table_rows == JOINT.counts.sum()
    assert found.rows > found.table_rows


def test_more_is_asked_than_any_table_keeps():
    most = ll.random_response(JOINT, ll.LIP(0.5)).certificate.upper_bound
    found = ll.rows_needed(JOINT, ll.LIP(0.5), most + 1e-3)
    assert (found.rows, found.nmi, found.is_settled) == (None, None, True)
    assert found.most < most + 1e-3


def test_a_belief_below_what_shares_may_be_needs_rows():
    half = ll.Joint.from_counts([[30, 20, 10], [20, 30, 10]])
    found = ll.rows_needed(half, ll.AtMost({0: 0.6}), 0.2)
    assert found.rows is not None
    assert found.too_few >= 60  # there P(s) may be above 0.6
    with pytest.raises(ll.Infeasible):
        ll.random_response(half, ll.Population(ll.AtMost({0: 0.6}).on(half)))


def test_a_stricter_confidence_needs_more_rows():
    loose, strict = (
        ll.rows_needed(JOINT, ll.LIP(0.5), 0.6, confidence=level).rows for level in (0.8, 0.999)
    )
    assert loose < strict
    same = ll.rows_needed(JOINT, ll.Population(ll.LIP(0.5), 0.8), 0.6).rows
    assert same == loose


def test_a_criterion_that_is_not_convex_for_a_table():
    found = ll.rows_needed(JOINT, ll.L1Lift(0.6, 0.5), 0.4)
    assert found.rows is not None
    assert (found.most, found.nmi >= 0.4) == (1.0, True)


def test_a_search_without_time_says_so():
    found = ll.rows_needed(JOINT, ll.LIP(0.5), 0.75, time_limit=0.0)
    assert not found.is_settled


def test_scaled_counts_have_the_shares_and_the_sum():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 40, (3, 7))
    for rows in (11, 1000, 123_456_789_012):
        scaled = _scaled(counts, rows)
        assert scaled.sum() == rows
        np.testing.assert_allclose(scaled / rows, counts / counts.sum(), atol=1 / rows)


@pytest.mark.parametrize("keep", [0, 1, -0.1, 80, "0.8", True, None, float("nan")])
def test_what_to_keep_lies_between_0_and_1(keep):
    with pytest.raises(InvalidInput, match="keep must lie between 0 and 1"):
        ll.rows_needed(JOINT, ll.LIP(0.5), keep)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match=r"made of probabilities\. Use Joint\.from_counts"):
        ll.rows_needed(ll.Joint(JOINT.p_sx), ll.LIP(0.5), 0.5)
    with pytest.raises(InvalidInput, match="confidence must lie between 0 and 1"):
        ll.rows_needed(JOINT, ll.LIP(0.5), 0.5, confidence=1.0)
    with pytest.raises(InvalidInput, match="criterion must be a BuiltIn; got float"):
        ll.rows_needed(JOINT, 0.5, 0.5)
    with pytest.raises(InvalidInput, match=r"up to 3,000 cells of S by X; got 4,000"):
        ll.rows_needed(ll.Joint.from_counts(np.ones((2, 2000), int)), ll.LIP(0.5), 0.5)
