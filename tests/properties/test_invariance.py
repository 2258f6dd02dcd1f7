"""What must not matter: the order of symbols, the size of counts, counts or floats."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from strategies import counts, criteria, joint_of, made, releases, without_empty_symbols

#: What float sums in another order may be off by.
RELATIVE, ABSOLUTE = 1e-12, 1e-13

budget = st.one_of(st.sampled_from([0.0, 0.5, math.inf]), st.floats(0, 2))


def assert_same_numbers(first, second):
    for name in ("mutual_information", "min_lift_leakage", "max_lift_leakage"):
        found, expected = (getattr(audit, name) for audit in (first, second))
        assert found == pytest.approx(expected, rel=RELATIVE, abs=ABSOLUTE)
    assert tuple(first.leakage) == pytest.approx(tuple(second.leakage), rel=RELATIVE, abs=ABSOLUTE)
    # NMI divides by H(X): what the information is off by counts the more, the smaller that is.
    rounding = ABSOLUTE / max(first.joint.entropy_x, ABSOLUTE)
    assert first.nmi == pytest.approx(second.nmi, abs=rounding)


def optimum(joint, criterion):
    return ll.optimal_merging(joint, criterion).audit.mutual_information


@given(releases(), criteria(budget), st.randoms())
def test_permuting_s_permutes_the_audit(release, criterion, rng):
    table, weights = release
    order = rng.sample(range(len(table)), len(table))
    before = ll.audit(*made(release), criterion)
    after = ll.audit(*made(([table[s] for s in order], weights)), criterion)
    assert after.allowed.tolist() == before.allowed.tolist()
    np.testing.assert_allclose(after.lift, before.lift[order], rtol=RELATIVE)
    assert_same_numbers(after, before)


@given(releases(), criteria(budget), st.randoms())
def test_permuting_x_leaves_the_audit(release, criterion, rng):
    table, weights = release
    order = rng.sample(range(len(weights)), len(weights))
    moved = [[row[x] for x in order] for row in table], [weights[x] for x in order]
    before, after = (ll.audit(*made(r), criterion) for r in (release, moved))
    assert after.allowed.tolist() == before.allowed.tolist()
    np.testing.assert_allclose(after.lift, before.lift, rtol=RELATIVE)
    assert_same_numbers(after, before)


@given(releases(), criteria(budget), st.randoms())
def test_permuting_y_permutes_the_audit(release, criterion, rng):
    table, weights = release
    order = rng.sample(range(len(weights[0])), len(weights[0]))
    before = ll.audit(*made(release), criterion)
    after = ll.audit(*made((table, [[row[y] for y in order] for row in weights])), criterion)
    assert after.allowed.tolist() == before.allowed[order].tolist()
    np.testing.assert_allclose(after.lift, before.lift[:, order], rtol=RELATIVE)
    assert_same_numbers(after, before)


@given(counts(n_x=(2, 5)), criteria(budget), st.randoms())
def test_permuting_s_and_x_leaves_the_optimum(table, criterion, rng):
    rows = rng.sample(table, len(table))
    order = rng.sample(range(len(table[0])), len(table[0]))
    moved = [[row[x] for x in order] for row in rows]
    assert optimum(joint_of(moved), criterion) == pytest.approx(
        optimum(joint_of(table), criterion), abs=ABSOLUTE
    )


scale = st.one_of(st.integers(2, 1000), st.sampled_from([2**53 + 1, 10**40]))


@given(releases(counts()), criteria(budget), scale)
def test_scaling_counts_leaves_the_audit(release, criterion, factor):
    table, weights = release
    scaled = [[n * factor for n in row] for row in table], weights
    before, after = (ll.audit(*made(r), criterion) for r in (release, scaled))
    assert after.allowed.tolist() == before.allowed.tolist()
    np.testing.assert_allclose(after.lift, before.lift, rtol=RELATIVE)
    assert_same_numbers(after, before)


@given(counts(), criteria(budget), scale)
def test_scaling_counts_leaves_the_optimum(table, criterion, factor):
    scaled = joint_of([[n * factor for n in row] for row in table])
    assert optimum(scaled, criterion) == pytest.approx(
        optimum(joint_of(table), criterion), abs=ABSOLUTE
    )


@given(st.integers(0, 10**6), criteria(st.floats(0.05, 2)), st.sampled_from([3, 7, 10**40]))
def test_scaling_counts_leaves_the_greedy_blocks(seed, criterion, factor):
    """On generic counts, where no two risks tie."""
    table = np.random.default_rng(seed).integers(1, 10**6, (3, 6)).tolist()
    scaled = [[n * factor for n in row] for row in table]
    for mechanism in (ll.watchdog, ll.subset_merging):
        found = [mechanism(joint_of(t), criterion).partition for t in (table, scaled)]
        assert found[0] == found[1]


@given(
    st.lists(
        st.lists(st.integers(0, 2**70), min_size=2, max_size=3), min_size=2, max_size=2
    ).filter(lambda rows: len(rows[0]) == len(rows[1]))
)
def test_counts_of_any_size_are_kept_as_they_are(table):
    table = without_empty_symbols(table)
    joint = ll.Joint.from_counts(table)
    assert joint.counts.tolist() == table
    assert joint.prior == tuple(map(sum, table))


def test_counts_on_either_side_of_the_largest_integer_are_kept():
    """NumPy makes floats of a list that holds numbers both below and above 2**63."""
    table = [[2**60 + 1, 2**63 + 1], [3, 2**60 + 3]]
    assert ll.Joint.from_counts(table).counts.tolist() == table


@st.composite
def dyadic(draw):
    """Counts that sum to a power of two, so that their probabilities are floats exactly."""
    table = draw(counts(cells=st.integers(0, 1000)))
    total = sum(map(sum, table))
    table[0][0] += (1 << total.bit_length()) - total
    return table


def as_floats(table):
    total = sum(map(sum, table))
    return [[n / total for n in row] for row in table]


@given(releases(dyadic()), criteria(budget))
def test_counts_and_floats_of_the_same_numbers_agree(release, criterion):
    table, weights = release
    floats = as_floats(table), weights
    before, after = (ll.audit(*made(r), criterion) for r in (release, floats))
    assert after.allowed.tolist() == before.allowed.tolist()
    assert after.lift.tolist() == before.lift.tolist()
    assert_same_numbers(after, before)


@given(dyadic(), criteria(budget))
def test_counts_and_floats_of_the_same_numbers_release_the_same(table, criterion):
    for mechanism in (ll.watchdog, ll.subset_merging, ll.optimal_merging):
        found = [mechanism(joint_of(t), criterion).partition for t in (table, as_floats(table))]
        assert found[0] == found[1]


@given(releases(), st.floats(0, 3))
def test_lip_is_alip_with_equal_budgets(release, epsilon):
    joint, channel = made(release)
    lip, alip = (ll.audit(joint, channel, c) for c in (ll.LIP(epsilon), ll.ALIP(epsilon, epsilon)))
    assert lip.allowed.tolist() == alip.allowed.tolist()
    assert lip.leakage == alip.leakage
    for mechanism in (ll.watchdog, ll.subset_merging, ll.optimal_merging):
        found = [mechanism(joint, audit.criterion).partition for audit in (lip, alip)]
        assert found[0] == found[1]


@given(releases(), budget, budget)
def test_alpha_lift_of_order_inf_is_alip(release, lower, upper):
    joint, channel = made(release)
    alpha, alip = (
        ll.audit(joint, channel, c)
        for c in (ll.AlphaLift(math.inf, lower, upper), ll.ALIP(lower, upper))
    )
    assert alpha.allowed.tolist() == alip.allowed.tolist()
    assert alpha.leakage == pytest.approx(alip.leakage, rel=RELATIVE, abs=ABSOLUTE)
