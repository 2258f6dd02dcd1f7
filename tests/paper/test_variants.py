"""The readings of the print that the figures cannot have been made with."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.paper import variants
from lowlift.paper.experiments import Notion
from oracles import rational
from oracles.test_algorithm_1 import algorithm_1

# P_S is (1/2, 1/2) in all of these, so lifts are (1 - t, 1 + t) with t read off the counts.
#: Lifts 1/2 or 3/2 for a to d, which cancel two by two; e says nothing.
PAIRS = ll.Joint.from_counts([[1, 1, 3, 3, 8], [3, 3, 1, 1, 8]], x_labels="abcde")
#: c has no partner: with a and b it has lifts 5/6 and 7/6, and with d as well 1.
ODD = ll.Joint.from_counts([[1, 3, 1, 101], [3, 1, 3, 99]], x_labels="abcd")
TIGHT = ll.ALIP(0.1, 0.1)
BUDGETS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)


def blocks(release):
    return [list(block) for block in release.partition]


def random_cases(count=40, n_x=12):
    for seed in range(count):
        for epsilon in BUDGETS:
            yield ll.Joint.random(4, n_x, seed), ll.ALIP.split(epsilon, 0.5)


def is_allowed_whole(joint, criterion):
    high = list(ll.high_risk(joint, criterion))
    table = joint.masses.tolist()
    return bool(high) and rational.is_allowed(
        criterion, rational.block_column(table, high), rational.prior(table)
    )


def test_the_literal_loop_merges_completely_what_is_allowed_whole():
    assert blocks(variants.literal_loop(PAIRS, TIGHT)) == [["a", "b", "c", "d"], ["e"]]
    assert blocks(ll.subset_merging(PAIRS, TIGHT)) == [["a", "c"], ["b", "d"], ["e"]]


def test_the_literal_loop_runs_while_what_is_left_is_not_allowed():
    # a and b are a block; c alone violates, joins them, and takes in d.
    assert blocks(variants.literal_loop(ODD, TIGHT)) == [["a", "b", "c", "d"]]
    # With room for 5/6 and 7/6 all three are allowed at the start.
    assert blocks(variants.literal_loop(ODD, ll.ALIP(0.2, 0.2))) == [["a", "b", "c"], ["d"]]


def test_the_literal_loop_is_complete_merging_or_subset_merging():
    """ALIP is convex: a set that is not allowed whole is not, either, once a block is taken out."""
    whole = apart = 0
    for joint, criterion in random_cases():
        found, merged = variants.literal_loop(joint, criterion), ll.subset_merging(joint, criterion)
        assert found.audit.is_satisfied
        if is_allowed_whole(joint, criterion):
            assert found.partition == ll.watchdog(joint, criterion, repair=False).partition
            whole += 1
            apart += found.partition != merged.partition
        else:
            assert found.partition == merged.partition
    assert 30 < whole < 40 * len(BUDGETS) - 30
    assert apart > 30


def test_a_budget_that_all_symbols_keep_merges_none():
    for reading in (
        variants.literal_loop,
        variants.unrepaired_merging,
        variants.printed_risk,
        variants.printed_lip_risk,
    ):
        release = reading(PAIRS, ll.ALIP(1.0, 1.0))
        assert blocks(release) == [["a"], ["b"], ["c"], ["d"], ["e"]]
        assert release.audit.nmi == 1


def test_unrepaired_merging_leaves_the_last_block_as_it_is():
    release = variants.unrepaired_merging(ODD, TIGHT)
    assert blocks(release) == [["a", "b"], ["c"], ["d"]]
    assert not release.audit.is_satisfied
    assert release.audit.min_lift_leakage == pytest.approx(math.log(2), abs=1e-15)
    assert blocks(ll.subset_merging(ODD, TIGHT)) == [["a", "b", "c", "d"]]


@pytest.mark.parametrize(
    "notion",
    [Notion("alip"), Notion("chi2"), Notion("alpha", alpha=10.0)],
    ids=["ALIP", "Chi2Lift", "AlphaLift"],
)
def test_unrepaired_merging_is_subset_merging_exactly_where_it_keeps_the_bound(notion):
    kept = violated = 0
    for seed in range(40):
        joint = ll.Joint.random(4, 12, seed)
        for epsilon in BUDGETS:
            criterion = notion(epsilon)
            found = variants.unrepaired_merging(joint, criterion)
            merged = ll.subset_merging(joint, criterion)
            assert (found.partition == merged.partition) is found.audit.is_satisfied
            kept += found.audit.is_satisfied
            violated += not found.audit.is_satisfied
    assert kept > 20
    assert violated > 20


def test_the_printed_risk_cannot_tell_lifts_about_1_apart():
    # (1 - t) + (1 + t) = 2 for every block: ties, so that a takes in b, c and d in this order.
    assert blocks(variants.printed_risk(PAIRS, TIGHT)) == [["a", "b", "c", "d"], ["e"]]


def sum_of_lifts(l_s, _):
    return max(l_s) + min(l_s)


def larger_side(l_s, _):
    return max(math.log(max(l_s)), -math.log(min(l_s)))


@pytest.mark.parametrize(
    ("reading", "omega"),
    [(variants.printed_risk, sum_of_lifts), (variants.printed_lip_risk, larger_side)],
    ids=["sum", "max"],
)
def test_a_printed_risk_is_algorithm_1_with_that_order(reading, omega):
    differs = 0
    for joint, criterion in random_cases(count=12, n_x=8):
        release = reading(joint, criterion)
        found = {frozenset(block) for block in release.partition}
        assert found == algorithm_1(joint.masses.tolist(), criterion, omega)
        assert release.audit.is_satisfied
        assert release.criterion == criterion
        differs += release.partition != ll.subset_merging(joint, criterion).partition
    assert differs > 5


def test_the_printed_risk_keeps_less_on_average():
    joints = [ll.Joint.random(5, 17, seed) for seed in range(60)]
    criteria = [ll.ALIP.split(epsilon, 0.5) for epsilon in (1.0, 2.0)]
    ours, printed, largest = (
        ll.tradeoff(joints, mechanism, criteria).mean("nmi")
        for mechanism in (ll.subset_merging, variants.printed_risk, variants.printed_lip_risk)
    )
    assert (ours > printed + 0.02).all()
    assert (ours > largest).all()


@pytest.mark.parametrize("reading", [variants.printed_risk, variants.printed_lip_risk])
def test_zero_cells_are_the_highest_risk_there_is(reading):
    joint = ll.Joint.from_counts([[0, 4, 2, 2], [4, 0, 2, 2]], x_labels="abcd")
    assert blocks(reading(joint, ll.ALIP(0.5, 0.5))) == [["a", "b"], ["c"], ["d"]]


def test_printed_risks_are_for_alip():
    for reading in (variants.printed_risk, variants.printed_lip_risk):
        with pytest.raises(ll.InvalidInput, match="must be an ALIP"):
            reading(PAIRS, ll.LDP(1.0))


# The test of LDP: Gamma > eps, where e**eps is meant.


def test_the_literal_test_by_hand():
    # Gamma is 3 for a to d and 1 for e: a budget of 2 makes them high-risk, one of 3.5 does not.
    assert blocks(variants.literal_test(PAIRS, ll.LDP(2.0))) == [["a", "b", "c", "d"], ["e"]]
    assert len(variants.literal_test(PAIRS, ll.LDP(3.5)).partition) == 5
    # Were it e**eps, log 3 = 1.0986 would do.
    assert len(ll.watchdog(PAIRS, ll.LDP(1.1)).partition) == 5
    assert blocks(variants.literal_test(PAIRS, ll.LDP(1.1))) == [["a", "b", "c", "d"], ["e"]]


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.999, 1.0])
def test_the_literal_test_merges_everything_up_to_1(epsilon):
    for seed in range(10):
        release = variants.literal_test(ll.Joint.random(5, 17, seed), ll.LDP(epsilon))
        assert len(release.partition) == 1
        assert release.audit.nmi == 0


def test_below_1_even_a_symbol_that_says_nothing_is_high_risk():
    # Gamma = 1 for e, and 1 > 1/2.
    assert blocks(variants.literal_test(PAIRS, ll.LDP(0.5))) == [["a", "b", "c", "d", "e"]]
    assert blocks(variants.literal_test(PAIRS, ll.LDP(1.0))) == [["a", "b", "c", "d"], ["e"]]


def test_the_literal_test_on_random_joints():
    for seed in range(30):
        joint = ll.Joint.random(5, 17, seed)
        gamma = joint.lift.max(axis=0) / joint.lift.min(axis=0)
        for epsilon in (1.5, 3.0, 6.0):
            found = variants.literal_test(joint, ll.LDP(epsilon)).partition
            high = np.flatnonzero(gamma > epsilon).tolist()
            alone = [[x] for x in np.flatnonzero(gamma <= epsilon).tolist()]
            assert sorted(map(list, found)) == sorted([*([high] if high else []), *alone])


def test_the_literal_test_is_judged_by_the_bound_that_was_asked_for():
    joint = ll.Joint.random(5, 17, seed=0)
    for epsilon in (0.5, 2.0, 8.0):
        release = variants.literal_test(joint, ll.LDP(epsilon))
        assert release.criterion == ll.LDP(epsilon)
        assert release.audit.is_satisfied


def test_the_literal_test_is_for_ldp():
    with pytest.raises(ll.InvalidInput, match="must be an LDP"):
        variants.literal_test(PAIRS, TIGHT)
