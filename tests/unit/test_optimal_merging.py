"""Optimal merging: never below subset merging, proven up to 18 symbols, allowed always."""

import importlib
import math

import numpy as np
import pytest

import lowlift as ll

INF = math.inf
MODULE = importlib.import_module("lowlift._mechanisms.optimal_merging")
CRITERIA = [
    ll.LIP(0.3), ll.ALIP(0.6, 0.2), ll.ALIP(0.5, INF), ll.MaxLift(0.3), ll.LDP(0.6),
    ll.L1Lift(0.2, 0.2), ll.Chi2Lift(0.3, 0.3), ll.AlphaLift(2, 0.2, 0.2),
    ll.AlphaLift(INF, 0.5, 0.2),
]  # fmt: skip


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for k in range(len(smaller)):
            yield [*smaller[:k], [first, *smaller[k]], *smaller[k + 1 :]]


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_no_allowed_partition_keeps_more(criterion):
    for seed in range(3):
        joint = ll.Joint.random(3, 6, seed)
        release = ll.optimal_merging(joint, criterion)
        assert release.audit.is_satisfied
        found = (
            ll.audit(joint, ll.Channel.from_blocks(joint, blocks), criterion)
            for blocks in partitions(list(range(6)))
        )
        best = max(audit.nmi for audit in found if audit.is_satisfied)
        assert release.audit.nmi == pytest.approx(best, abs=1e-12)
        assert release.certificate.upper_bound >= best


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_never_below_subset_merging(criterion):
    better = 0
    for seed in range(10):
        joint = ll.Joint.random(4, 9, seed)
        optimal, greedy = ll.optimal_merging(joint, criterion), ll.subset_merging(joint, criterion)
        assert optimal.audit.is_satisfied
        assert optimal.audit.nmi >= greedy.audit.nmi
        better += optimal.audit.nmi > greedy.audit.nmi + 1e-9
    assert better > 0


def test_fields_of_a_proven_release():
    joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    release = ll.optimal_merging(joint, ll.LIP(0.5))
    assert release.partition == ll.Partition([["a", "b"], ["c"]])
    assert release.mechanism == "optimal_merging"
    certificate = release.certificate
    assert certificate.scope == "partitions"
    assert certificate.is_optimal is True
    assert release.audit.nmi <= certificate.upper_bound <= release.audit.nmi + 1e-9


def test_low_risk_symbols_may_join_blocks():
    # a is high-risk; alone with c (low-risk) it is allowed, and b stays free.
    joint = ll.Joint.from_counts([[1, 10, 3], [2, 10, 2]], x_labels="abc")
    criterion = ll.LIP(0.2)
    assert "b" not in ll.high_risk(joint, criterion)
    assert ll.optimal_merging(joint, criterion).audit.is_satisfied


@pytest.mark.parametrize("make", [ll.LIP, ll.LDP, ll.MaxLift, lambda b: ll.Chi2Lift(b, b)])
def test_budget_zero_and_inf(make):
    joint = ll.Joint.random(3, 7, seed=0)
    merged = ll.optimal_merging(joint, make(0))
    assert merged.audit.is_satisfied
    assert len(merged.partition) == 1
    assert merged.certificate.is_optimal
    assert merged.certificate.upper_bound <= 1e-9
    free = ll.optimal_merging(joint, make(INF))
    assert free.audit.nmi == 1
    assert free.certificate.is_optimal
    assert free.certificate.upper_bound == 1


def test_budget_zero_finds_exact_balance():
    joint = ll.Joint.from_counts([[1, 3, 2, 5, 11], [3, 1, 2, 11, 5]], x_labels="abcde")
    release = ll.optimal_merging(joint, ll.LIP(0))
    assert release.partition == ll.Partition([["a", "b"], ["c"], ["d", "e"]])
    assert release.audit.is_satisfied


def test_zero_cells_and_repeated_columns():
    joint = ll.Joint.from_counts([[0, 0, 3, 3, 1], [2, 2, 0, 0, 1], [1, 1, 1, 1, 1]])
    release = ll.optimal_merging(joint, ll.LIP(0.5))
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.subset_merging(joint, ll.LIP(0.5)).audit.nmi


@pytest.mark.parametrize("limit", [0.0, 0.1])
@pytest.mark.parametrize("criterion", [ll.LIP(0.4), ll.MaxLift(0.3), ll.L1Lift(0.3, 0.3)], ids=str)
def test_beyond_18_symbols_it_improves_and_claims_no_proof(criterion, limit):
    joint = ll.Joint.random(3, 24, seed=1)
    greedy = ll.subset_merging(joint, criterion)
    release = ll.optimal_merging(joint, criterion, time_limit=limit)
    assert release.audit.is_satisfied
    assert release.audit.nmi >= greedy.audit.nmi
    assert release.certificate.is_optimal is False
    assert release.audit.nmi <= release.certificate.upper_bound <= 1


def test_beyond_18_symbols_the_search_finds_more_than_subset_merging():
    # The limit is out of reach: the search ends by itself long before.
    joint = ll.Joint.random(3, 24, seed=1)
    release = ll.optimal_merging(joint, ll.LIP(0.4), time_limit=600.0)
    assert release.audit.is_satisfied
    assert release.audit.nmi > ll.subset_merging(joint, ll.LIP(0.4)).audit.nmi + 0.001


def test_beyond_18_symbols_without_high_risk_it_is_proven():
    joint = ll.Joint.random(3, 20, seed=0)
    release = ll.optimal_merging(joint, ll.LIP(INF))
    assert release.certificate.is_optimal
    assert release.audit.nmi == 1


def test_beyond_18_symbols_at_budget_zero():
    joint = ll.Joint.random(3, 20, seed=0)
    release = ll.optimal_merging(joint, ll.LIP(0), time_limit=0.2)
    assert release.audit.is_satisfied
    assert release.audit.nmi == 0


def test_the_search_survives_a_symbol_too_rare_to_lose_anything():
    # The merger of the rare symbol loses less than floats can show.
    big = 10**21
    joint = ll.Joint.from_counts([[big] * 20 + [100], [big] * 20 + [0]])
    release = ll.optimal_merging(joint, ll.LIP(0.5), time_limit=0.2)
    assert release.audit.is_satisfied
    assert len(release.partition) == 20


def test_more_blocks_than_one_neighbourhood_holds():
    rng = np.random.default_rng(0)
    counts = np.concatenate([rng.integers(1, 9, (2, 10)), [[40] * 12, [41] * 12]], axis=1)
    joint = ll.Joint.from_counts(counts)
    criterion = ll.LIP(0.05)
    release = ll.optimal_merging(joint, criterion, time_limit=0.3)
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.subset_merging(joint, criterion).audit.nmi


@pytest.mark.parametrize("limit", [1, 3])
def test_both_ways_agree_where_both_can_run(monkeypatch, limit):
    joint = ll.Joint.random(3, 8, seed=5)
    best = ll.optimal_merging(joint, ll.LIP(0.3))
    monkeypatch.setattr(MODULE, "PROVEN_SYMBOLS", limit)
    searched = ll.optimal_merging(joint, ll.LIP(0.3), time_limit=600.0)
    assert searched.certificate.is_optimal is False
    assert searched.audit.nmi == pytest.approx(best.audit.nmi, abs=1e-12)
    assert searched.certificate.upper_bound >= best.audit.nmi


class Floats:
    """Bounds the largest lift in floats, and nothing else is known of it."""

    lower, upper = INF, 0.3

    def leakage(self, lift_sy, p_s):
        high = np.log(lift_sy.max(axis=0))
        return np.zeros_like(high), high

    def risk(self, lift_sy, p_s):
        return self.leakage(lift_sy, p_s)[1]


def test_a_criterion_of_ones_own():
    joint = ll.Joint.random(3, 8, seed=2)
    release = ll.optimal_merging(joint, Floats())
    assert release.partition == ll.optimal_merging(joint, ll.MaxLift(0.3)).partition
    assert not release.audit.is_certified


def test_one_symbol():
    joint = ll.Joint.from_counts([[1], [3]])
    release = ll.optimal_merging(joint, ll.LIP(0))
    assert release.audit.nmi == 1
    assert release.certificate.upper_bound == 1
