"""Propositions 5 and 6: what bounds on the lift say of lift-inverse measures, and back.

With u the largest and d the smallest lift, 1/l lies in [1/u, 1/d]. Its mean is not 1, so items
5(1) and 5(2) have no bound of the form of 3(1) and 3(2); they are tested with the largest
deviation of 1/l from 1, with the chord of it over [d, u] where that chord lies above it (it is
then attained), and as printed where 1 - 1/u <= 1/d - 1.
"""

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from mpmath import mp

import lowlift as ll
from lowlift import measures
from oracles import rational
from oracles.rational import extremes, tight_budgets
from strategies import made, positive_counts, releases

INF = math.inf

#: What float sums of a few terms may be off by; everything else here is exact.
RELATIVE, ABSOLUTE = 1e-12, 1e-14


def at_most(value, bound):
    return value <= bound * (1 + RELATIVE) + ABSOLUTE


def positive_releases():
    """Return releases whose lifts are positive; a zero makes every statement here empty."""
    return releases(positive_counts())


def satisfied(joint, channel, criterion):
    return ll.audit(joint, channel, criterion).is_satisfied


def chord(at_d, at_u, d, u):
    """Return the height at 1 of the chord between (d, at_d) and (u, at_u)."""
    return ((u - 1) * at_d + (1 - d) * at_u) / (u - d)


@given(positive_releases())
def test_prop_5_1_l1_lift_inverse_corrected(release):
    joint, channel = made(release)
    d, u = extremes(release)
    bound = max(1 / d - 1, 1 - 1 / u)
    assert at_most(measures.l1_lift_inverse(joint, channel).max(), float(bound))
    assert satisfied(joint, channel, ll.L1Lift(rational.log_up(1 + bound), INF))


@given(positive_releases())
def test_prop_5_1_l1_lift_inverse_by_the_chord(release):
    joint, channel = made(release)
    d, u = extremes(release)
    at_d, at_u = 1 / d - 1, 1 - 1 / u
    assume(d < u and (at_u - at_d) / (u - d) <= 1 / u**2)
    bound = chord(at_d, at_u, d, u)
    assert satisfied(joint, channel, ll.L1Lift(rational.log_up(1 + bound), INF))


@given(positive_releases())
def test_prop_5_2_chi2_lift_inverse_corrected(release):
    joint, channel = made(release)
    d, u = extremes(release)
    bound = max(1 / d - 1, 1 - 1 / u)
    assert at_most(measures.chi2_lift_inverse(joint, channel).max(), float(bound) ** 2)
    assert satisfied(joint, channel, ll.Chi2Lift(rational.log_up(1 + bound), INF))


@given(positive_releases())
def test_prop_5_2_chi2_lift_inverse_by_the_chord(release):
    joint, channel = made(release)
    d, u = extremes(release)
    at_d, at_u = (1 / d - 1) ** 2, (1 - 1 / u) ** 2
    assume(d < u and (at_u - at_d) / (u - d) <= 2 * (u - 1) / u**3)
    bound = chord(at_d, at_u, d, u)
    assert satisfied(joint, channel, ll.Chi2Lift(rational.log1p_root_up(bound), INF))


@given(positive_releases())
def test_prop_5_1_and_5_2_as_printed_where_they_hold(release):
    joint, channel = made(release)
    d, u = extremes(release)
    assume(1 - 1 / u <= 1 / d - 1)
    lower = rational.log_up(1 / d)
    assert satisfied(joint, channel, ll.L1Lift(lower, INF))
    assert satisfied(joint, channel, ll.Chi2Lift(lower, INF))


@given(positive_releases())
def test_prop_5_1_and_5_2_as_printed_for_lip(release):
    joint, channel = made(release)
    epsilon = max(tight_budgets(release))
    assert satisfied(joint, channel, ll.L1Lift(epsilon, epsilon))
    assert satisfied(joint, channel, ll.Chi2Lift(epsilon, epsilon))


@given(positive_releases())
def test_prop_5_3_alpha_lift_inverse(release):
    joint, channel = made(release)
    lower, _ = tight_budgets(release)
    for alpha in (1.0, 1.5, 2.0, 2.7, 10.0, INF):
        assert satisfied(joint, channel, ll.AlphaLift(alpha, lower, INF))
    assert at_most(measures.alpha_lift_inverse(joint, channel, 1000).max(), math.exp(lower))


def smallest_lifts(release):
    """Return the P(s) of every s that attains the smallest lift."""
    found, p_s = rational.lifts(*release), rational.prior(release[0])
    d = min(map(min, found))
    return {p for l_s in found for v, p in zip(l_s, p_s, strict=True) if v == d}


def inverses(release):
    return [rational.inverse(l_s) for l_s in rational.lifts(*release)]


@given(positive_releases())
def test_prop_6_1_l1_lift_inverse_bounds_min_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    epsilon = max(rational.l1(values, p_s) for values in inverses(release))
    np.testing.assert_allclose(
        measures.l1_lift_inverse(joint, channel).max(), float(epsilon), rtol=1e-11, atol=1e-14
    )
    for p in smallest_lifts(release):
        least = p / (epsilon + p)
        assert satisfied(joint, channel, ll.ALIP(rational.log_up(1 / least), INF))


@given(positive_releases())
def test_prop_6_2_chi2_lift_inverse_bounds_min_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    epsilon = max(rational.chi2(values, p_s) for values in inverses(release))
    np.testing.assert_allclose(
        measures.chi2_lift_inverse(joint, channel).max(), float(epsilon), rtol=1e-11, atol=1e-14
    )
    for p in smallest_lifts(release):  # 1 / least = 1 + sqrt(epsilon / p)
        assert satisfied(joint, channel, ll.ALIP(rational.log1p_root_up(epsilon / p), INF))


@given(positive_releases())
def test_prop_6_3_alpha_lift_inverse_bounds_min_lift(release):
    joint, channel = made(release)
    p_s = rational.prior(release[0])
    mp.dps = 60
    for alpha in (2, 3, 10):
        power = max(rational.power_mean(values, p_s, alpha) for values in inverses(release))
        np.testing.assert_allclose(
            measures.alpha_lift_inverse(joint, channel, alpha).max() ** alpha,
            float(power),
            rtol=1e-11,
        )
        for p in smallest_lifts(release):
            ratio = power / p  # 1 / least is its root of order alpha: 10**-40 covers its rounding
            root = (mp.mpf(ratio.numerator) / ratio.denominator) ** (mp.mpf(1) / alpha)
            bound = max(Fraction(int(root * 10**40) + 1, 10**40), Fraction(1))
            assert satisfied(joint, channel, ll.ALIP(rational.log_up(bound), INF))


def test_a_zero_lift_makes_every_lift_inverse_measure_infinite():
    joint = ll.Joint.from_counts([[0, 2], [3, 1]])
    channel = ll.Channel.identity(joint)
    for values in (
        measures.l1_lift_inverse(joint, channel),
        measures.chi2_lift_inverse(joint, channel),
        measures.alpha_lift_inverse(joint, channel, 2),
    ):
        assert values[0] == INF
        assert math.isfinite(values[1])
