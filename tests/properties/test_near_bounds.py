"""Lifts that miss e**budget by one part in 1e17, 1e30 or 1e60: the audit is right on either side.

The joint has |S| = 2, P(s0) = 1/5, and an output of lifts t and (5 - t) / 4. The t at which the
criterion's bound is met is found to 120 digits and cut to 17, 30 or 60; the cut value and the next
one lie on either side of the bound, far below what floats can tell.
"""

import math
from fractions import Fraction

import pytest
from mpmath import mp

import lowlift as ll
from oracles import rational

INF = math.inf
PRIOR = (Fraction(1, 5), Fraction(4, 5))

by_digits = pytest.mark.parametrize("digits", [17, 30, 60])


def other_lift(t):
    return (5 - t) / 4


def l1(a, b):
    return (abs(a - 1) + 4 * abs(b - 1)) / 5


def chi2(a, b):
    return ((a - 1) ** 2 + 4 * (b - 1) ** 2) / 5


def power(alpha):
    return lambda a, b: ((a**alpha + 4 * b**alpha) / 5) ** (1 / mp.mpf(alpha))


def first(a, _):
    return a


#: Criterion, whether t lies above 1, what is bounded (of the lifts, or of their inverses), by what.
CASES = [
    (ll.MaxLift(0.5), True, False, first, mp.exp),
    (ll.ALIP(INF, 1e-9), True, False, first, mp.exp),
    (ll.ALIP(INF, 1.5), True, False, first, mp.exp),
    (ll.ALIP(0.5, INF), False, True, first, mp.exp),
    (ll.ALIP(30.0, INF), False, True, first, mp.exp),
    (ll.LIP(0.25), False, True, first, mp.exp),
    (ll.LDP(0.5), True, False, lambda a, b: a / b, mp.exp),
    (ll.LDP(8.0), False, False, lambda a, b: b / a, mp.exp),
    (ll.L1Lift(INF, 0.5), True, False, l1, mp.expm1),
    (ll.L1Lift(0.5, INF), False, True, l1, mp.expm1),
    (ll.Chi2Lift(INF, 0.5), True, False, chi2, lambda e: mp.expm1(e) ** 2),
    (ll.Chi2Lift(0.5, INF), False, True, chi2, lambda e: mp.expm1(e) ** 2),
    (ll.AlphaLift(2, INF, 0.3), True, False, power(2), mp.exp),
    (ll.AlphaLift(2, 0.3, INF), False, True, power(2), mp.exp),
    (ll.AlphaLift(1, 0.3, INF), False, True, power(1), mp.exp),
    (ll.AlphaLift(1.5, INF, 0.3), True, False, power(1.5), mp.exp),
    (ll.AlphaLift(2.7, 0.3, INF), False, True, power(2.7), mp.exp),
    (ll.AlphaLift(100.5, INF, 0.5), True, False, power(100.5), mp.exp),
    (ll.AlphaLift(INF, INF, 0.5), True, False, first, mp.exp),
]

by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[0]))


def critical_lift(case):
    """Return the t at which the output stands exactly at its bound, to 120 digits, by bisection."""
    criterion, above, inverse, measure, bound_of = case
    side = criterion.lower if inverse else criterion.upper
    mp.dps = 120
    bound = bound_of(mp.mpf(side))

    def exceeds(t):
        a, b = t, other_lift(t)
        if inverse:
            a, b = 1 / a, 1 / b
        return measure(a, b) > bound

    inside, outside = mp.mpf(1), mp.mpf("4.99") if above else mp.mpf("1e-30")
    assert exceeds(outside)
    for _ in range(400):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if exceeds(middle) else (middle, outside)
    return inside


def table_of(t):
    """Return counts with P(s0) = 1/5 whose first symbol, a tenth of the mass, has lift t at s0."""
    inside = [PRIOR[0] * t / 10, PRIOR[1] * other_lift(t) / 10]
    rest = [p - n for p, n in zip(PRIOR, inside, strict=True)]
    scale = math.lcm(*(v.denominator for v in (*inside, *rest)))
    return [[int(n * scale), int(r * scale)] for n, r in zip(inside, rest, strict=True)]


def either_side(case, digits):
    """Return the tables just inside and just outside the bound."""
    t = critical_lift(case)
    # Relative digits: a lift of 1e-13 needs more of them.
    scale = 10 ** (digits + max(0, -int(mp.floor(mp.log10(t)))))
    cut = int(mp.floor(t * scale))
    below, beyond = (table_of(Fraction(n, scale)) for n in (cut, cut + 1))
    return (below, beyond) if case[1] else (beyond, below)


@by_case
@by_digits
def test_the_audit_is_right_on_either_side(case, digits):
    criterion = case[0]
    for table, expected in zip(either_side(case, digits), (True, False), strict=True):
        joint = ll.Joint.from_counts(table)
        column = [row[0] for row in table]
        assert rational.is_allowed(criterion, column, rational.prior(table)) is expected
        audit = ll.audit(joint, ll.Channel.identity(joint), criterion)
        assert bool(audit.allowed[0]) is expected
        assert (0 in ll.high_risk(joint, criterion)) is not expected
        side = 0 if case[2] else 1
        leakage = criterion.leakage(audit.lift[:, :1], joint.p_s)[side]
        budget = (criterion.lower, criterion.upper)[side]
        assert leakage == pytest.approx(budget, rel=1e-12, abs=1e-14)


@by_case
@by_digits
@pytest.mark.parametrize("mechanism", [ll.watchdog, ll.subset_merging, ll.optimal_merging])
def test_mechanisms_merge_only_on_the_wrong_side(mechanism, case, digits):
    criterion = case[0]
    within, beyond = either_side(case, digits)
    for table in (within, beyond):
        p_s = rational.prior(table)
        alone = [
            rational.is_allowed(criterion, rational.block_column(table, [x]), p_s) for x in range(2)
        ]
        release = mechanism(ll.Joint.from_counts(table), criterion)
        assert release.audit.is_satisfied
        assert release.channel.n_y == (2 if all(alone) else 1)
    assert not all(alone)


@pytest.mark.parametrize("epsilon", [0.5, 1e-12, 3.0])
def test_a_float_joint_one_unit_off_the_bound(epsilon):
    """The floats next to a lift of e**epsilon: what the joint holds decides, not what rounds."""
    joint_mass = 0.125 / math.exp(epsilon)
    for steps in range(-4, 5):
        first_cell = (0.125 + steps * 2.0**-55) * 0.25
        table = [[first_cell, joint_mass], [0.25 - first_cell, 0.75 - joint_mass]]
        joint, p_s = ll.Joint(table), rational.prior(table)
        for criterion in (ll.LIP(epsilon), ll.MaxLift(epsilon), ll.L1Lift(INF, epsilon)):
            columns = [rational.block_column(table, [x]) for x in range(2)]
            expected = [rational.is_allowed(criterion, column, p_s) for column in columns]
            audit = ll.audit(joint, ll.Channel.identity(joint), criterion)
            assert audit.allowed.tolist() == expected
