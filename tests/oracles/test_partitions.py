"""Rational brute force over every partition of up to 7 symbols: what merging can reach at best."""

import math

import pytest
from hypothesis import given

import lowlift as ll
from oracles import rational
from strategies import criteria, joint_of, tables

INF = math.inf

#: What a float sum of at most 7 terms may be off by, over H(X).
ABSOLUTE = 1e-12

NOTIONS = {
    "LIP": ll.LIP,
    "ALIP": lambda e: ll.ALIP.split(2 * e, 0.65),
    "ALIP below": lambda e: ll.ALIP(e, INF),
    "MaxLift": ll.MaxLift,
    "LDP": lambda e: ll.LDP(2 * e),
    "L1Lift": lambda e: ll.L1Lift(e, e),
    "L1Lift above": lambda e: ll.L1Lift(INF, e / 2),
    "Chi2Lift": lambda e: ll.Chi2Lift(e, e),
    "Chi2Lift below": lambda e: ll.Chi2Lift(e, INF),
    "AlphaLift 2": lambda e: ll.AlphaLift(2, e, e / 2),
    "AlphaLift 1.5": lambda e: ll.AlphaLift(1.5, e, e / 2),
    "AlphaLift inf": lambda e: ll.AlphaLift(INF, e, e),
}


def all_partitions(symbols):
    """Yield every partition of a list as lists of blocks."""
    if not symbols:
        yield []
        return
    first, *rest = symbols
    for blocks in all_partitions(rest):
        yield [[first], *blocks]
        for k, block in enumerate(blocks):
            yield [*blocks[:k], [first, *block], *blocks[k + 1 :]]


def best_nmi(table, criterion):
    """Return the largest H(Y) / H(X) of the partitions whose every block is allowed."""
    n, p_s = len(table[0]), rational.prior(table)
    total = sum(rational.block_column(table, range(n)))
    gain, verdict = {}, {}

    def allowed(block):
        key = frozenset(block)
        if key not in verdict:
            column = rational.block_column(table, block)
            p = sum(column) / total
            verdict[key] = rational.is_allowed(criterion, column, p_s)
            gain[key] = -float(p) * math.log(p)
        return verdict[key]

    values = (
        math.fsum(gain[frozenset(block)] for block in blocks)
        for blocks in all_partitions(list(range(n)))
        if all(map(allowed, blocks))
    )
    best = max(values)
    p_x = [float(sum(rational.block_column(table, [x])) / total) for x in range(n)]
    entropy = -math.fsum(p * math.log(p) for p in p_x)
    return best / entropy if entropy else 1.0


def assert_best(table, criterion):
    joint = joint_of(table)
    best = best_nmi(table, criterion)
    release = ll.optimal_merging(joint, criterion)
    assert release.audit.nmi == pytest.approx(best, abs=ABSOLUTE)
    assert release.certificate.is_optimal
    assert release.certificate.upper_bound >= best - ABSOLUTE
    for mechanism in (ll.subset_merging, ll.watchdog):
        greedy = mechanism(joint, criterion)
        assert greedy.audit.is_satisfied
        assert greedy.audit.nmi <= best + ABSOLUTE


def test_there_are_877_partitions_of_seven_symbols():
    found = [frozenset(map(frozenset, blocks)) for blocks in all_partitions(list(range(7)))]
    assert len(found) == len(set(found)) == 877


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("budget", [0.0, 0.1, 0.4, 1.0])
def test_optimal_merging_is_the_best_of_877_partitions(notion, budget):
    criterion = NOTIONS[notion](budget)
    for seed in (1, 2):
        assert_best(ll.Joint.random(3, 7, seed=seed).masses.tolist(), criterion)
    assert_best([[0, 3, 2, 1, 7, 2, 4], [5, 1, 0, 1, 7, 2, 1], [2, 2, 3, 1, 8, 2, 0]], criterion)


@given(tables(n_x=(1, 5)), criteria())
def test_optimal_merging_is_the_best_partition_of_any_table(table, criterion):
    assert_best(table, criterion)
