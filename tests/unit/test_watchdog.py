"""The watchdog: low-risk symbols as they are, high-risk ones randomised together."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

INF = math.inf
#: a and b are high-risk at 0.2 and allowed when merged; c is low-risk.
MERGES = ll.Joint.from_counts([[1, 3, 4], [3, 2, 4]], x_labels="abc")
#: a alone is high-risk at 0.5, and nothing else is there to make it allowed.
ALONE = ll.Joint.from_counts([[1, 10, 10], [9, 10, 10]], x_labels="abc")
CRITERIA = [
    ll.LIP(1.0), ll.ALIP(1.0, INF), ll.ALIP(INF, 0.6), ll.MaxLift(0.6), ll.LDP(1.5),
    ll.L1Lift(0.5, 0.5), ll.Chi2Lift(0.6, 0.6), ll.AlphaLift(2, 0.4, 0.3),
    ll.AlphaLift(INF, 1.0, 1.0),
]  # fmt: skip


def test_high_risk_symbols_become_one_and_low_risk_ones_stay():
    release = ll.watchdog(MERGES, ll.ALIP(0.2, 0.2))
    assert release.partition == ll.Partition([["a", "b"], ["c"]])
    assert release.channel.y_labels == (("a", "b"), "c")
    assert release.channel.denominator == 1
    assert release.audit.is_satisfied
    assert release.mechanism == "watchdog"
    assert release.certificate is None


def test_unrepaired_the_violating_set_is_released_and_the_audit_says_so():
    criterion = ll.LIP(0.5)
    assert ll.high_risk(ALONE, criterion) == ("a",)
    literal = ll.watchdog(ALONE, criterion, repair=False)
    assert literal.partition == ll.Partition(["a", "b", "c"])
    assert not literal.audit.is_satisfied
    assert literal.audit.violations == ("a",)
    repaired = ll.watchdog(ALONE, criterion)
    assert repaired.audit.is_satisfied
    assert repaired.partition == ll.Partition([["a", "b"], ["c"]])  # ties go to the lower number


def test_unrepaired_outputs_are_all_marked():
    literal = ll.watchdog(ALONE, ll.LIP(0.5), outputs=3, repair=False)
    assert not literal.audit.is_satisfied
    assert len(literal.audit.violations) == 3
    assert ll.watchdog(ALONE, ll.LIP(0.5), outputs=3).audit.is_satisfied


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_repaired_is_always_satisfied(criterion):
    broken = 0
    for seed in range(20):
        joint = ll.Joint.random(3, 6, seed)
        assert ll.watchdog(joint, criterion).audit.is_satisfied
        literal = ll.watchdog(joint, criterion, repair=False)
        broken += not literal.audit.is_satisfied
        high = set(ll.high_risk(joint, criterion))
        if high:
            assert high in [set(block) for block in literal.partition]
    assert broken > 0


@pytest.mark.parametrize("make", [ll.LIP, ll.LDP, ll.MaxLift, lambda b: ll.AlphaLift(2, b, b)])
def test_budget_zero_merges_all_and_budget_inf_nothing(make):
    joint = ll.Joint.random(3, 6, seed=0)
    merged = ll.watchdog(joint, make(0))
    assert merged.audit.is_satisfied
    assert len(merged.partition) == 1
    assert merged.audit.nmi == 0
    assert len(ll.watchdog(joint, make(INF), outputs=3).partition) == 6
    assert ll.watchdog(joint, make(INF)).audit.nmi == 1


@pytest.mark.parametrize("outputs", [2, 3, np.int64(5), [1, 3], (0.1, 0.2, 0.7), np.array([1, 1])])
def test_every_randomisation_has_the_lifts_and_the_information_of_the_merger(outputs):
    criterion = ll.ALIP(0.2, 0.2)
    merged = ll.watchdog(MERGES, criterion)
    release = ll.watchdog(MERGES, criterion, outputs=outputs)
    count = int(outputs) if np.ndim(outputs) == 0 else len(outputs)
    assert release.channel.n_y == count + 1
    assert release.partition is None
    assert release.audit.is_satisfied
    assert release.audit.lift[:, :count] == pytest.approx(
        np.repeat(merged.audit.lift[:, :1], count, axis=1), rel=1e-12
    )
    assert release.audit.mutual_information == pytest.approx(
        merged.audit.mutual_information, rel=1e-12
    )
    weights = release.channel.weights
    assert (weights[0] == weights[1]).all()
    assert (weights[2, :count] == 0).all()


def test_given_weights_are_kept_to_the_last_bit():
    release = ll.watchdog(MERGES, ll.ALIP(0.2, 0.2), outputs=[1, 2, 5])
    share = 2**48 // 8
    assert release.channel.weights[0].tolist() == [share, 2 * share, 5 * share, 0]
    third = ll.watchdog(MERGES, ll.ALIP(0.2, 0.2), outputs=3).channel.weights[0]
    assert third.sum() == 2**48
    assert np.ptp(third[:3]) == 1
    assert release.channel.y_labels[0] == ("a", "b", "output 0")


def test_one_weight_is_one_output():
    release = ll.watchdog(MERGES, ll.ALIP(0.2, 0.2), outputs=[0.3])
    assert release.channel.denominator == 1
    assert release.partition == ll.Partition([["a", "b"], ["c"]])


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (0, "outputs must be at least 1 .*got 0"),
        (-1, "outputs must be at least 1 .*got -1"),
        (2**20 + 1, "outputs must be at least 1 .*got 1048577"),
        (True, "weights of outputs must be positive numbers"),
        (1.5, "weights of outputs must be positive numbers"),
        (None, "outputs"),
        ("three", "outputs must be a number or a list of weights"),
        ([], "weights of outputs must be positive numbers"),
        ([1, 0], "weights of outputs must be positive numbers"),
        ([1, -1], "weights of outputs must be positive numbers"),
        ([1, math.nan], "weights of outputs must be positive numbers"),
        ([1, INF], "weights of outputs must be positive numbers"),
        ([[1, 2]], "weights of outputs must be positive numbers"),
        ([[1], [1, 2]], "outputs must be a number or a list of weights"),
        (["a", "b"], "outputs must be a number or a list of weights"),
        ([1, 1e-30], r"at least 2\*\*-48 of their sum; weight 1 is not"),
        ([1, 10**400], "outputs"),
    ],
)
def test_bad_outputs_are_refused(outputs, message):
    for criterion in (ll.ALIP(0.2, 0.2), ll.LIP(INF)):
        with pytest.raises(InvalidInput, match=message):
            ll.watchdog(MERGES, criterion, outputs=outputs)


def test_outputs_are_numbered_when_a_symbol_is_called_like_one():
    labels = ["a", "b", ("a", "b", "output 0")]
    joint = ll.Joint.from_counts(MERGES.counts, x_labels=labels)
    release = ll.watchdog(joint, ll.ALIP(0.2, 0.2), outputs=2)
    assert release.channel.y_labels == (0, 1, 2)


@pytest.mark.parametrize("criterion", [ll.L1Lift(400, INF), ll.Chi2Lift(400, INF)], ids=str)
def test_tiny_lifts_beyond_a_huge_budget_are_repaired(criterion):
    joint = ll.Joint([[1e-200, 0.5], [0.25, 0.25]])
    assert ll.high_risk(joint, criterion) == (0,)
    assert ll.watchdog(joint, criterion).audit.is_satisfied


def test_one_symbol_is_released_at_every_budget():
    joint = ll.Joint.from_counts([[1], [3]])
    release = ll.watchdog(joint, ll.LIP(0), outputs=4)
    assert release.audit.is_satisfied
    assert release.audit.nmi == 1
