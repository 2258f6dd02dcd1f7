"""Propositions 1, 3 and 4: what bounds on the lift say of averages and of lift-based measures.

Budgets are the tightest floats that the audit accepts, so that nothing but the theorem decides.
With u the largest and d the smallest lift, items 1(2), 3(1) and 3(2) are tested in the form that
holds (docs/paper.md), and as printed where 1 - d <= u - 1.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from mpmath import mp

import lowlift as ll
from lowlift import measures
from oracles import rational
from oracles.rational import extremes, tight_budgets
from strategies import made, positive_counts, releases

INF = math.inf
ALPHAS = (1.5, 2.0, 10.0, 100.0)

#: What float sums of a few terms may be off by; everything else here is exact.
RELATIVE, ABSOLUTE = 1e-12, 1e-14


def at_most(value, bound):
    return value <= bound * (1 + RELATIVE) + ABSOLUTE


def slope(u, d):
    """Return (u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
    return (u - 1) * (1 - d) / (u - d) if u > d else Fraction(0)


def satisfied(joint, channel, criterion):
    return ll.audit(joint, channel, criterion).is_satisfied


@given(releases())
def test_tight_budgets_are_what_the_audit_measures(release):
    joint, channel = made(release)
    lower, upper = tight_budgets(release)
    audit = ll.audit(joint, channel, ll.ALIP(lower, upper))
    assert audit.is_satisfied
    assert audit.min_lift_leakage == pytest.approx(lower, rel=RELATIVE, abs=ABSOLUTE)
    assert audit.max_lift_leakage == pytest.approx(upper, rel=RELATIVE, abs=ABSOLUTE)
    if upper > 0:
        assert not satisfied(joint, channel, ll.ALIP(INF, math.nextafter(upper, 0)))


@given(releases())
def test_prop_1_1_mutual_information(release):
    joint, channel = made(release)
    _, upper = tight_budgets(release)
    assert at_most(measures.mutual_information(joint, channel, of="s"), upper)


@given(releases())
def test_prop_1_2_total_variation_corrected(release):
    d, u = extremes(release)
    assert at_most(measures.total_variation(*made(release)), float(slope(u, d)))


@given(releases())
def test_prop_1_2_chi2_divergence_corrected(release):
    d, u = extremes(release)
    assert at_most(measures.chi2_divergence(*made(release)), float((u - 1) * (1 - d)))


@given(releases())
def test_prop_1_2_as_printed_where_it_holds(release):
    d, u = extremes(release)
    assume(1 - d <= u - 1)
    assert at_most(measures.total_variation(*made(release)), float(u - 1) / 2)
    assert at_most(measures.chi2_divergence(*made(release)), float((u - 1) ** 2))


@given(releases())
def test_prop_1_3_sibson_information(release):
    joint, channel = made(release)
    _, upper = tight_budgets(release)
    for alpha in ALPHAS:
        bound = alpha / (alpha - 1) * upper
        assert at_most(measures.sibson_information(joint, channel, alpha), bound)
    assert at_most(measures.sibson_information(joint, channel, INF), upper)


@given(releases())
def test_prop_1_3_arimoto_information(release):
    joint, channel = made(release)
    _, upper = tight_budgets(release)
    for alpha in ALPHAS:
        bound = alpha / (alpha - 1) * upper
        assert at_most(measures.arimoto_information(joint, channel, alpha), bound)
    assert at_most(measures.arimoto_information(joint, channel, INF), upper)


@given(releases())
def test_prop_1_4_local_differential_privacy(release):
    joint, channel = made(release)
    lower, upper = tight_budgets(release)
    assert satisfied(joint, channel, ll.LDP(rational.sum_up(lower, upper)))


@given(releases())
def test_prop_3_1_l1_lift_corrected(release):
    joint, channel = made(release)
    d, u = extremes(release)
    bound = 2 * slope(u, d)
    assert at_most(measures.l1_lift(joint, channel).max(), float(bound))
    assert satisfied(joint, channel, ll.L1Lift(INF, rational.log_up(1 + bound)))


@given(releases())
def test_prop_3_2_chi2_lift_corrected(release):
    joint, channel = made(release)
    d, u = extremes(release)
    bound = (u - 1) * (1 - d)
    assert at_most(measures.chi2_lift(joint, channel).max(), float(bound))
    assert satisfied(joint, channel, ll.Chi2Lift(INF, rational.log1p_root_up(bound)))


@given(releases())
def test_prop_3_1_and_3_2_as_printed_where_they_hold(release):
    joint, channel = made(release)
    d, u = extremes(release)
    assume(1 - d <= u - 1)
    upper = rational.log_up(u)
    assert satisfied(joint, channel, ll.L1Lift(INF, upper))
    assert satisfied(joint, channel, ll.Chi2Lift(INF, upper))


@given(releases(positive_counts()))
def test_prop_3_1_and_3_2_as_printed_for_lip(release):
    joint, channel = made(release)
    epsilon = max(tight_budgets(release))
    assert satisfied(joint, channel, ll.LIP(epsilon))
    assert satisfied(joint, channel, ll.L1Lift(INF, epsilon))
    assert satisfied(joint, channel, ll.Chi2Lift(INF, epsilon))


@given(releases(positive_counts()))
def test_prop_3_1_and_3_2_as_printed_for_a_lower_budget_up_to_the_upper(release):
    joint, channel = made(release)
    lower, upper = tight_budgets(release)
    upper = max(lower, upper)
    assert satisfied(joint, channel, ll.L1Lift(INF, upper))
    assert satisfied(joint, channel, ll.Chi2Lift(INF, upper))


@given(releases())
def test_prop_3_3_alpha_lift(release):
    joint, channel = made(release)
    _, upper = tight_budgets(release)
    for alpha in (1.0, 1.5, 2.0, 2.7, 10.0, INF):
        assert satisfied(joint, channel, ll.AlphaLift(alpha, INF, upper))
    assert at_most(measures.alpha_lift(joint, channel, 1000).max(), math.exp(upper))


def largest_lifts(release):
    """Return the largest lift and the P(s) of every s that attains it."""
    found, p_s = rational.lifts(*release), rational.prior(release[0])
    u = max(map(max, found))
    return u, {p for l_s in found for v, p in zip(l_s, p_s, strict=True) if v == u}


@given(releases())
def test_prop_4_1_l1_lift_bounds_max_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    epsilon = max(rational.l1(l_s, p_s) for l_s in rational.lifts(*release))
    np.testing.assert_allclose(
        measures.l1_lift(joint, channel).max(), float(epsilon), rtol=RELATIVE, atol=ABSOLUTE
    )
    for p in largest_lifts(release)[1]:
        assert satisfied(joint, channel, ll.MaxLift(rational.log_up(epsilon / p + 1)))


@given(releases())
def test_prop_4_2_chi2_lift_bounds_max_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    epsilon = max(rational.chi2(l_s, p_s) for l_s in rational.lifts(*release))
    np.testing.assert_allclose(
        measures.chi2_lift(joint, channel).max(), float(epsilon), rtol=RELATIVE, atol=ABSOLUTE
    )
    for p in largest_lifts(release)[1]:
        assert satisfied(joint, channel, ll.MaxLift(rational.log1p_root_up(epsilon / p)))


@given(releases())
def test_prop_4_3_alpha_lift_bounds_max_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    mp.dps = 60
    for alpha in (2, 3, 10):
        power = max(rational.power_mean(l_s, p_s, alpha) for l_s in rational.lifts(*release))
        np.testing.assert_allclose(
            measures.alpha_lift(joint, channel, alpha).max() ** alpha, float(power), rtol=1e-11
        )
        for p in largest_lifts(release)[1]:
            ratio = power / p  # the bound is its root of order alpha: 10**-50 covers its rounding
            root = (mp.mpf(ratio.numerator) / ratio.denominator) ** (mp.mpf(1) / alpha)
            bound = Fraction(int(root * 10**50) + 1, 10**50)
            assert satisfied(joint, channel, ll.MaxLift(rational.log_up(max(bound, Fraction(1)))))
