"""Subset merging: Algorithm 1, its guarantee, and its two growers."""

import importlib
import math

import numpy as np
import pytest

import lowlift as ll
from lowlift._solver import growing
from lowlift._solver.growing import CompiledGrower, Grower, grower_for

INF = math.inf
BUILT_IN = [
    ll.LIP(0.4), ll.ALIP(0.5, 0.3), ll.ALIP(0.5, INF), ll.ALIP(INF, 0.3), ll.MaxLift(0.3),
    ll.LDP(0.8), ll.L1Lift(0.3, 0.25), ll.L1Lift(0.3, INF), ll.L1Lift(INF, 0.25),
    ll.Chi2Lift(0.4, 0.3), ll.Chi2Lift(0.4, INF), ll.Chi2Lift(INF, 0.3), ll.AlphaLift(1, 0.2, 0.2),
    ll.AlphaLift(2, 0.2, 0.2), ll.AlphaLift(2, 0.2, INF), ll.AlphaLift(2, INF, 0.2),
    ll.AlphaLift(100.5, 0.5, 0.3), ll.AlphaLift(INF, 0.5, 0.3), ll.AlphaLift(INF, 0.5, INF),
    ll.AlphaLift(INF, INF, 0.3),
]  # fmt: skip


class Plain:
    """A built-in criterion as a user would bring it: the compiled path does not know it."""

    def __init__(self, criterion):
        self.lower, self.upper = criterion.lower, criterion.upper
        self.leakage, self.risk = criterion.leakage, criterion.risk
        self.verdict = criterion.verdict


def test_each_kind_has_its_grower():
    joint = ll.Joint.random(3, 5, seed=0)
    assert type(grower_for(joint, Plain(ll.LIP(1)))) is Grower
    assert type(grower_for(joint, ll.LIP(1))) is CompiledGrower


@pytest.mark.parametrize("criterion", BUILT_IN, ids=str)
def test_compiled_and_plain_growers_find_the_same_partition(criterion):
    merged = 0
    for seed in range(30):
        joint = ll.Joint.random(4, 12, seed)
        compiled = ll.subset_merging(joint, criterion)
        assert compiled.partition == ll.subset_merging(joint, Plain(criterion)).partition, seed
        assert compiled.audit.is_satisfied
        merged += 1 < len(compiled.partition) < 12
    assert merged > 0


def with_zeros(seed):
    rng = np.random.default_rng(seed)
    p_sx = rng.random((4, 12))
    p_sx[rng.random((4, 12)) < 0.15] = 0
    p_sx[rng.integers(0, 4, 12), np.arange(12)] += 0.5
    return ll.Joint(p_sx / p_sx.sum())


@pytest.mark.parametrize("criterion", BUILT_IN, ids=str)
def test_compiled_and_plain_growers_order_zero_cells_alike(criterion):
    for seed in range(40):
        joint = with_zeros(seed)
        compiled, plain = (ll.subset_merging(joint, c) for c in (criterion, Plain(criterion)))
        assert compiled.partition == plain.partition, seed


@pytest.mark.parametrize("criterion", BUILT_IN, ids=str)
def test_growers_agree_on_zero_cells_and_repeated_columns(criterion):
    rng = np.random.default_rng(0)
    for _ in range(15):
        counts = rng.integers(0, 4, (3, 8))
        counts[:, rng.integers(0, 8, 3)] = counts[:, :1]
        counts[rng.integers(0, 3, 8), np.arange(8)] += 1  # no column is empty
        counts[np.arange(3), np.arange(3)] += 1  # nor any row
        joint = ll.Joint.from_counts(counts)
        compiled = ll.subset_merging(joint, criterion)
        plain = ll.subset_merging(joint, Plain(criterion))
        assert compiled.audit.is_satisfied
        assert plain.audit.is_satisfied
        assert ll.audit(joint, plain.channel, criterion).is_satisfied


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "criterion",
    [
        ll.LIP(0), ll.ALIP(0, INF), ll.ALIP(INF, 0), ll.MaxLift(0), ll.LDP(0), ll.L1Lift(0, 0),
        ll.L1Lift(INF, 0), ll.Chi2Lift(0, 0), ll.Chi2Lift(0, INF), ll.AlphaLift(2, 0, 0),
        ll.AlphaLift(1, 0, 0), ll.AlphaLift(1000, 0, 0), ll.AlphaLift(INF, 0, 0),
    ],
    ids=str,
)  # fmt: skip
def test_budget_zero_merges_only_what_balances_exactly(criterion, plain):
    joint = ll.Joint.from_counts([[1, 3, 2], [3, 1, 2]], x_labels="abc")
    release = ll.subset_merging(joint, Plain(criterion) if plain else criterion)
    assert release.partition == ll.Partition([["a", "b"], ["c"]])
    assert release.audit.is_satisfied
    assert release.audit.lift.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("make", [ll.LIP, ll.LDP, ll.MaxLift, lambda b: ll.Chi2Lift(b, b)])
def test_budget_zero_finds_balanced_pairs_that_floats_cannot_decide(make):
    rng = np.random.default_rng(1)
    # Primes, so that no other block balances: p and q in one order, then in the other.
    pairs = np.array([[2, 101], [3, 211], [5, 307], [7, 401], [11, 503]])
    counts = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = rng.permutation(10)
    joint = ll.Joint.from_counts(counts[:, order])
    release = ll.subset_merging(joint, make(0))
    assert release.audit.is_satisfied
    assert {frozenset(order[list(block)] % 5) for block in release.partition} == {
        frozenset([k]) for k in range(5)
    }


def test_budget_zero_of_generic_floats_merges_all():
    joint = ll.Joint.random(3, 7, seed=0)
    built_in = (ll.LIP(0), ll.LDP(0), ll.L1Lift(0, 0), ll.AlphaLift(3, 0, 0))
    for criterion in (*built_in, Plain(ll.LIP(0))):
        release = ll.subset_merging(joint, criterion)
        assert len(release.partition) == 1
        assert release.audit.is_satisfied
        assert release.audit.nmi == 0


def test_budget_inf_merges_nothing():
    joint = ll.Joint.from_counts([[0, 3, 2], [3, 0, 2]])
    for criterion in (ll.LIP(INF), ll.LDP(INF), ll.L1Lift(INF, INF), ll.AlphaLift(2, INF, INF)):
        release = ll.subset_merging(joint, criterion)
        assert release.partition == ll.Partition([[0], [1], [2]])
        assert release.audit.nmi == 1


def test_the_last_block_joins_other_blocks_then_low_risk_symbols():
    # d alone is high-risk: no other high-risk symbol, so it takes in a low-risk one.
    joint = ll.Joint.from_counts([[10, 11, 10, 1], [10, 10, 11, 9]], x_labels="abcd")
    assert ll.high_risk(joint, ll.LIP(0.5)) == ("d",)
    release = ll.subset_merging(joint, ll.LIP(0.5))
    assert release.audit.is_satisfied
    assert ("b", "d") in release.partition.blocks
    assert len(release.partition) == 3


def test_labels_and_fields_of_the_release():
    joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels=[("t", 1), None, "c"])
    release = ll.subset_merging(joint, ll.LIP(0.5))
    assert release.partition.blocks == ((("t", 1), None), ("c",))
    assert release.channel.y_labels == ((("t", 1), None), "c")
    assert release.mechanism == "subset_merging"
    assert release.certificate is None
    assert release.joint is joint


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("budget", [0, 0.2, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_progress_counts_the_high_risk_symbols(seed, budget, plain):
    joint, criterion, calls = ll.Joint.random(3, 9, seed), ll.LIP(budget), []
    high = len(ll.high_risk(joint, criterion))
    asked = Plain(criterion) if plain else criterion
    ll.subset_merging(joint, asked, progress=lambda *call: calls.append(call))
    done = [placed for placed, _ in calls]
    assert {total for _, total in calls} == {high}
    assert done == sorted(done)
    assert done[-1] == high


def test_progress_is_not_called_without_high_risk_symbols():
    calls = []
    joint = ll.Joint.random(3, 5, seed=0)
    ll.subset_merging(joint, ll.LIP(INF), progress=lambda *call: calls.append(call))
    assert calls == []


@pytest.mark.parametrize("criterion", [*BUILT_IN[::3], ll.LIP(0), ll.LIP(0.02)], ids=str)
def test_pauses_do_not_change_the_partition(monkeypatch, criterion):
    joints = [ll.Joint.random(3, 12, seed) for seed in range(5)]
    before = [ll.subset_merging(joint, criterion).partition for joint in joints]
    monkeypatch.setattr(growing, "_PATIENCE", 0)
    calls = []
    for joint, partition in zip(joints, before, strict=True):
        after = ll.subset_merging(joint, criterion, progress=lambda *call: calls.append(call))
        assert after.partition == partition
    assert calls


@pytest.mark.parametrize("criterion", [ll.L1Lift(400, INF), ll.Chi2Lift(400, INF)], ids=str)
@pytest.mark.parametrize("tiny", [1e-160, 1e-200, 1e-279, 1e-290])
def test_tiny_lifts_beyond_a_huge_budget_are_merged(criterion, tiny):
    joint = ll.Joint([[tiny, 0.5], [0.25, 0.25]])
    release = ll.subset_merging(joint, criterion)
    assert release.audit.is_satisfied
    assert len(release.partition) == (1 if ll.high_risk(joint, criterion) else 2)


@pytest.mark.parametrize("criterion", BUILT_IN, ids=str)
@pytest.mark.parametrize("tiny", [1e-100, 1e-250])
def test_tiny_cells_are_merged_or_allowed(criterion, tiny):
    joint = ll.Joint([[tiny, 0.25, 0.25], [0.125, tiny, 0.125], [0.125, 0.0625, 0.0625]])
    release = ll.subset_merging(joint, criterion)
    assert release.audit.is_satisfied


def test_merging_needs_no_numba_for_a_criterion_of_ones_own(monkeypatch):
    kernels = importlib.import_module("lowlift._kernels.merging")
    monkeypatch.setattr(kernels, "cover", None)
    joint = ll.Joint.random(3, 6, seed=0)
    assert ll.subset_merging(joint, Plain(ll.LIP(0.3))).audit.is_satisfied
