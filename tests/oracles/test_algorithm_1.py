"""Subset merging against a literal port of Algorithm 1, corrected as docs/paper.md says.

The lifts are Fractions and the verdicts exact; joints are generic, so that no two risks tie.
"""

import math

import numpy as np
import pytest

import lowlift as ll
from oracles import rational

INF = math.inf


def positive(l_s):
    """Return how many lifts are 0, and the others: zeros are counted, then left out (`risk`)."""
    kept = [v for v in l_s if v > 0]
    return len(l_s) - len(kept), kept


def log_ratio(l_s, _):
    """log Lambda - log Psi: the order that reproduces the paper's curves (docs/paper.md)."""
    zeros, kept = positive(l_s)
    return zeros, math.log(max(kept) / min(kept))


def max_lift(l_s, _):
    return max(l_s)


def inverse_min_lift(l_s, _):
    zeros, kept = positive(l_s)
    return zeros, 1 / min(kept)


def summed(measure, sides="both"):
    """Return the order by measure(l) + measure(1/l), or by one of them."""

    def risk(l_s, p_s):
        above = measure(l_s, p_s)
        if sides == "above":
            return above
        kept = [(1 / v, p) for v, p in zip(l_s, p_s, strict=True) if v > 0]
        below = measure(*zip(*kept, strict=True))
        return len(l_s) - len(kept), below + (above if sides == "both" else 0)

    return risk


def alpha_mean(alpha):
    def mean(values, p_s):
        terms = (float(p) * float(v) ** alpha for v, p in zip(values, p_s, strict=True))
        return math.fsum(terms) ** (1 / alpha)

    return mean


def algorithm_1(table, criterion, omega):
    """Return the blocks of Algorithm 1 as a set of sets, symbols that stay alone included."""
    p_s = rational.prior(table)

    def violates(block):
        return not rational.is_allowed(criterion, rational.block_column(table, block), p_s)

    def risk(block):
        return omega(rational.lift(rational.block_column(table, block), p_s), p_s)

    symbols = range(len(table[0]))
    high = [x for x in symbols if violates([x])]
    low = [x for x in symbols if x not in high]
    queue, groups = list(high), []
    while queue:  # line 4, without the test of X_Q
        block = [max(queue, key=lambda x: risk([x]))]
        queue.remove(block[0])
        while violates(block) and queue:
            best = min(queue, key=lambda x: risk([*block, x]))
            block.append(best)
            queue.remove(best)
        groups.append(block)
    while len(groups) > 1 and violates(groups[-1]):  # lines 12 to 15
        last = groups.pop()
        nearest = min(range(len(groups)), key=lambda i: risk(last + groups[i]))
        groups.append(last + groups.pop(nearest))
    while groups and violates(groups[-1]):  # the repair: take in low-risk symbols
        best = min(low, key=lambda x: risk([*groups[-1], x]))
        groups[-1].append(best)
        low.remove(best)
    return {frozenset(block) for block in groups} | {frozenset([x]) for x in low}


CASES = {
    "LIP": (ll.LIP, log_ratio),
    "ALIP": (lambda e: ll.ALIP.split(2 * e, 0.65), log_ratio),
    "LDP": (ll.LDP, log_ratio),
    "MaxLift": (ll.MaxLift, max_lift),
    "ALIP above": (lambda e: ll.ALIP(INF, e), max_lift),
    "ALIP below": (lambda e: ll.ALIP(e, INF), inverse_min_lift),
    "AlphaLift inf": (lambda e: ll.AlphaLift(INF, e, e), log_ratio),
    "L1Lift": (lambda e: ll.L1Lift(e, e), summed(rational.l1)),
    "L1Lift above": (lambda e: ll.L1Lift(INF, e / 2), summed(rational.l1, "above")),
    "L1Lift below": (lambda e: ll.L1Lift(e, INF), summed(rational.l1, "below")),
    "Chi2Lift": (lambda e: ll.Chi2Lift(e, e), summed(rational.chi2)),
    "Chi2Lift above": (lambda e: ll.Chi2Lift(INF, e / 2), summed(rational.chi2, "above")),
    "Chi2Lift below": (lambda e: ll.Chi2Lift(e, INF), summed(rational.chi2, "below")),
    "AlphaLift 2": (lambda e: ll.AlphaLift(2, e, e), summed(alpha_mean(2))),
    "AlphaLift 2 above": (lambda e: ll.AlphaLift(2, INF, e / 2), summed(alpha_mean(2), "above")),
    "AlphaLift 10": (lambda e: ll.AlphaLift(10, e, e), summed(alpha_mean(10))),
    "AlphaLift 1.5": (lambda e: ll.AlphaLift(1.5, e, e), summed(alpha_mean(1.5))),
    "AlphaLift 1.5 below": (lambda e: ll.AlphaLift(1.5, e, INF), summed(alpha_mean(1.5), "below")),
}


def table_with_zeros(seed):
    """Return generic counts, 3 x 8, with one zero cell in about half of the symbols."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 10**6, (3, 8))
    with_zero = np.flatnonzero(rng.random(8) < 0.5)
    table[rng.integers(0, 3, len(with_zero)), with_zero] = 0
    return table.tolist()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("budget", [0.0, 0.05, 0.2, 0.5, 1.0, 2.0])
def test_subset_merging_is_algorithm_1(name, budget):
    make, omega = CASES[name]
    criterion = make(budget)
    for seed in range(6):
        joint = ll.Joint.random(3, 8, seed=seed)
        expected = algorithm_1(joint.masses.tolist(), criterion, omega)
        found = {frozenset(block) for block in ll.subset_merging(joint, criterion).partition}
        assert found == expected


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("budget", [0.1, 0.5, 2.0])
def test_subset_merging_is_algorithm_1_with_zero_cells(name, budget):
    make, omega = CASES[name]
    criterion = make(budget)
    for seed in range(4):
        table = table_with_zeros(seed)
        found = ll.subset_merging(ll.Joint.from_counts(table), criterion).partition
        assert {frozenset(block) for block in found} == algorithm_1(table, criterion, omega)


@pytest.mark.parametrize("name", CASES)
def test_risk_orders_symbols_as_algorithm_1_does(name):
    """Zero cells included: `risk` counts them first and leaves them out of the lower measure."""
    make, omega = CASES[name]
    for seed in range(20):
        table = table_with_zeros(seed)
        joint, p_s = ll.Joint.from_counts(table), rational.prior(table)
        found = make(0.5).risk(joint.lift, joint.p_s)
        lifts = [rational.lift(rational.block_column(table, [x]), p_s) for x in range(8)]
        expected = sorted(range(8), key=lambda x, lifts=lifts, p_s=p_s: omega(lifts[x], p_s))
        assert np.argsort(found).tolist() == expected


@pytest.mark.parametrize("name", CASES)
def test_the_repaired_watchdog_takes_in_low_risk_symbols_by_risk(name):
    make, omega = CASES[name]
    repaired = 0
    for seed in range(12):
        joint = ll.Joint.random(3, 8, seed=seed)
        for budget in (0.2, 0.7, 1.5):
            criterion = make(budget)
            table, high = joint.masses.tolist(), list(ll.high_risk(joint, criterion))
            p_s = rational.prior(table)
            low, block = [x for x in range(8) if x not in high], list(high)

            def column(symbols, table=table):
                return rational.block_column(table, symbols)

            while block and not rational.is_allowed(criterion, column(block), p_s):
                risks = {x: omega(rational.lift(column([*block, x]), p_s), p_s) for x in low}
                block.append(min(low, key=risks.get))
                low.remove(block[-1])
            repaired += len(block) > len(high)
            found = {frozenset(b) for b in ll.watchdog(joint, criterion).partition}
            assert found == {frozenset(b) for b in ([block] if block else [])} | {
                frozenset([x]) for x in low
            }
    assert repaired
