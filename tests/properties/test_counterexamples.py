"""Where the printed propositions, convexity and composition fail: each with its numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

import lowlift as ll
from lowlift import measures
from oracles.rational import log1p_root_up, log_up

INF = math.inf


def satisfied(joint, channel, criterion):
    return ll.audit(joint, channel, criterion).is_satisfied


def identity(counts):
    joint = ll.Joint.from_counts(counts)
    return joint, ll.Channel.identity(joint)


@pytest.fixture
def asymmetric():
    """P_S = (.2, .8); the first symbol has the lifts (.2, 1.2), the second (1.2, .95)."""
    return identity([[8, 192], [192, 608]])


@pytest.fixture
def cyclic():
    """P_S uniform; each symbol has one lift of 3/13 and two of 18/13."""
    return identity([[1, 6, 6], [6, 1, 6], [6, 6, 1]])


def test_prop_3_1_as_printed_fails(asymmetric):
    upper = log_up(Fraction(6, 5))
    assert satisfied(*asymmetric, ll.ALIP(log_up(5), upper))
    assert measures.l1_lift(*asymmetric)[0] == pytest.approx(0.32, abs=1e-14)
    assert not satisfied(*asymmetric, ll.L1Lift(INF, upper))


def test_prop_3_2_as_printed_fails(asymmetric):
    upper = log_up(Fraction(6, 5))
    assert measures.chi2_lift(*asymmetric)[0] == pytest.approx(0.16, abs=1e-14)
    assert (math.exp(upper) - 1) ** 2 == pytest.approx(0.04, abs=1e-14)
    assert not satisfied(*asymmetric, ll.Chi2Lift(INF, upper))


def test_prop_3_1_and_3_2_corrected_are_attained(asymmetric):
    """u = 1.2, d = .2: the l1-lift is 2(u-1)(1-d)/(u-d), the chi2-lift (u-1)(1-d), exactly."""
    l1, chi2 = Fraction(8, 25), Fraction(4, 25)
    assert satisfied(*asymmetric, ll.L1Lift(INF, log_up(1 + l1)))
    assert not satisfied(*asymmetric, ll.L1Lift(INF, math.nextafter(log_up(1 + l1), 0)))
    assert satisfied(*asymmetric, ll.Chi2Lift(INF, log1p_root_up(chi2)))
    assert not satisfied(*asymmetric, ll.Chi2Lift(INF, log1p_root_up(chi2) - 1e-15))


def test_prop_1_2_as_printed_fails(cyclic):
    """u - 1 = 5/13 and 1 - d = 10/13: T and the chi2-divergence attain the corrected bounds."""
    assert satisfied(*cyclic, ll.ALIP(log_up(Fraction(13, 3)), log_up(Fraction(18, 13))))
    assert measures.total_variation(*cyclic) == pytest.approx(10 / 39, abs=1e-15)
    assert measures.total_variation(*cyclic) > 5 / 26
    assert measures.chi2_divergence(*cyclic) == pytest.approx(50 / 169, abs=1e-15)
    assert measures.chi2_divergence(*cyclic) > (5 / 13) ** 2


def test_prop_5_1_and_5_2_as_printed_fail():
    """P_S = (.9, .1), lifts (.9, 1.9): 1/d - 1 = 1/9, while the l1-lift-inverse is .147."""
    release = identity([[81, 819], [19, 81]])
    lower = log_up(Fraction(10, 9))
    assert satisfied(*release, ll.ALIP(lower, log_up(Fraction(19, 10))))
    assert measures.l1_lift_inverse(*release)[0] == pytest.approx(0.1 + 0.9 / 19, abs=1e-14)
    assert not satisfied(*release, ll.L1Lift(lower, INF))
    assert not satisfied(*release, ll.Chi2Lift(lower, INF))


def test_the_bounds_of_3_1_and_3_2_do_not_carry_over_to_the_inverse():
    """P_S = (.5, .5), lifts (.5, 1.5): with u' = 1/d and d' = 1/u they would be 1/2 and 1/3."""
    release = identity([[1, 3], [3, 1]])
    assert measures.l1_lift_inverse(*release) == pytest.approx([2 / 3, 2 / 3], abs=1e-15)
    assert measures.chi2_lift_inverse(*release) == pytest.approx([5 / 9, 5 / 9], abs=1e-15)
    assert not satisfied(*release, ll.L1Lift(log_up(Fraction(3, 2)), INF))
    assert not satisfied(*release, ll.Chi2Lift(log1p_root_up(Fraction(1, 3)), INF))


def two_outputs_and_the_rest(p_s, lifts, shares):
    """Return a joint with P_S and two symbols of (nearly) these lifts, as counts of a billion."""
    prior = np.array(p_s)
    columns = [
        np.rint(1e8 * share * prior * np.array(l_s))
        for l_s, share in zip(lifts, shares, strict=True)
    ]
    rest = np.rint(1e9 * prior) - sum(columns)
    joint = ll.Joint.from_counts(np.stack([*columns, rest], axis=1))
    apart = ll.Channel.identity(joint)
    merged = ll.Channel.from_partition(joint, ll.Partition([[0, 1], [2]]))
    return joint, apart, merged


def test_l1_lift_inverse_is_not_convex():
    joint, apart, merged = two_outputs_and_the_rest(
        (0.166, 0.622, 0.212), ((0.952, 0.678, 1.984), (2.282, 0.66, 0.992)), (0.52, 0.48)
    )
    values = measures.l1_lift_inverse(joint, apart)
    # The printed lifts have three digits.
    assert values[:2] == pytest.approx([0.409, 0.415], abs=1e-3)
    assert measures.l1_lift_inverse(joint, merged)[0] == pytest.approx(0.440, abs=1e-3)
    criterion = ll.L1Lift(math.log(1.43), INF)
    assert not criterion.is_convex
    assert satisfied(joint, apart, criterion)
    assert not satisfied(joint, merged, criterion)


def test_chi2_lift_inverse_is_not_convex():
    joint, apart, merged = two_outputs_and_the_rest(
        (0.8017, 0.1353, 0.0629), ((0.7129, 1.2418, 4.1396), (0.7198, 2.6166, 1.0931)), (0.5, 0.5)
    )
    values = measures.chi2_lift_inverse(joint, apart)
    # The printed lifts have four digits.
    assert values[:2] == pytest.approx([0.1714, 0.1736], abs=2e-4)
    assert measures.chi2_lift_inverse(joint, merged)[0] == pytest.approx(0.1811, abs=2e-4)
    criterion = ll.Chi2Lift(math.log1p(math.sqrt(0.177)), INF)
    assert not criterion.is_convex
    assert satisfied(joint, apart, criterion)
    assert not satisfied(joint, merged, criterion)


def test_budgets_do_not_add_under_composition():
    """P(s=1|x) = (.2, .4, .6, .8): two releases of lift 1 that together reveal x1."""
    joint = ll.Joint.from_counts([[1, 2, 3, 4], [4, 3, 2, 1]])
    first = ll.Channel([[1, 3], [0, 4], [3, 1], [0, 4]])  # {x1: 1/4, x3: 3/4}, and the rest
    second = ll.Channel([[1, 1], [0, 2], [0, 2], [1, 1]])  # {x1: 1/2, x4: 1/2}, and the rest
    for channel in (first, second):
        assert satisfied(joint, channel, ll.LIP(0))
    both = np.einsum("xa,xb->xab", first.weights, second.weights).reshape(4, 4)
    together = ll.Release.of(joint, ll.Channel(both), ll.LIP(0.9))
    assert not together.audit.is_satisfied
    assert together.p_x_given_y[:, 0].tolist() == [1, 0, 0, 0]
    assert together.audit.lift[:, 0] == pytest.approx([0.4, 1.6], abs=1e-15)
    assert together.audit.min_lift_leakage == pytest.approx(math.log(2.5), abs=1e-15)


def test_prop_2_is_not_strict_for_one_high_risk_symbol():
    """Publishing a single symbol or randomising it alone is the same."""
    joint = ll.Joint.from_counts([[1, 10, 10], [2, 10, 10]])
    criteria = ll.ALIP.split(0.5, 0.5), ll.LDP(1.0)
    assert [ll.high_risk(joint, criterion) for criterion in criteria] == [(0,), ()]
    alip, ldp = (ll.watchdog(joint, criterion, repair=False) for criterion in criteria)
    assert alip.audit.mutual_information == ldp.audit.mutual_information


def test_prop_2_fails_for_the_repaired_watchdog():
    """LDP has the smaller high-risk set, but it is one symbol and takes a worse one in."""
    joint = ll.Joint.from_counts([[5, 4, 2, 1], [4, 6, 1, 4]])
    criteria = ll.ALIP.split(1.0, 0.5), ll.LDP(1.0)
    assert [ll.high_risk(joint, criterion) for criterion in criteria] == [(2, 3), (3,)]
    for repair, ldp_is_better in ((False, True), (True, False)):
        alip, ldp = (ll.watchdog(joint, criterion, repair=repair) for criterion in criteria)
        assert (ldp.audit.nmi > alip.audit.nmi) is ldp_is_better
