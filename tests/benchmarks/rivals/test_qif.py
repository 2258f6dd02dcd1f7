"""Maximal leakage, LDP, Bayes vulnerability and I(S;Y) against qif, which works on P(y|s)."""

import math

import numpy as np
import pytest
import qif
from hypothesis import given, settings

import lowlift as ll
from lowlift import measures
from strategies import made, positive_counts, releases

#: Both sides are float sums.
ABSOLUTE = 1e-9


def channel_of_s(joint, channel):
    """Return P(y|s), one row per s, whose rows sum to 1 as closely as floats can."""
    p_sy = joint.p_sx @ channel.p_y_given_x
    return np.ascontiguousarray(p_sy / p_sy.sum(axis=1, keepdims=True))


@settings(max_examples=40)
@given(releases())
def test_maximal_leakage_is_the_log_of_the_multiplicative_capacity(release):
    joint, channel = made(release)
    capacity = qif.measure.bayes_vuln.mult_capacity(channel_of_s(joint, channel))
    found = measures.maximal_leakage(joint, channel)
    assert found == pytest.approx(math.log(capacity), abs=ABSOLUTE)


@settings(max_examples=40)
@given(releases(positive_counts()))
def test_ldp_is_the_smallest_epsilon_of_the_discrete_metric(release):
    joint, channel = made(release)
    epsilon = qif.measure.d_privacy.smallest_epsilon(
        channel_of_s(joint, channel), lambda _i, _j: 1.0
    )
    found = measures.local_differential_privacy(joint, channel).epsilon
    assert found == pytest.approx(epsilon, abs=ABSOLUTE)
    assert ll.audit(joint, channel, ll.LDP(epsilon + ABSOLUTE)).is_satisfied
    if epsilon > ABSOLUTE:
        assert not ll.audit(joint, channel, ll.LDP(epsilon - ABSOLUTE)).is_satisfied


@settings(max_examples=40)
@given(releases())
def test_bayes_vulnerability_is_the_posterior_one(release):
    joint, channel = made(release)
    expected = qif.measure.bayes_vuln.posterior(joint.p_s, channel_of_s(joint, channel))
    assert measures.bayes_vulnerability(joint, channel) == pytest.approx(expected, abs=ABSOLUTE)


@settings(max_examples=40)
@given(releases())
def test_information_about_s_is_the_additive_shannon_leakage(release):
    joint, channel = made(release)
    bits = qif.measure.shannon.add_leakage(joint.p_s, channel_of_s(joint, channel))
    found = measures.mutual_information(joint, channel, of="s")
    assert found == pytest.approx(bits * math.log(2), abs=ABSOLUTE)


@settings(max_examples=40)
@given(releases())
def test_arimoto_of_order_inf_is_the_min_entropy_leakage(release):
    joint, channel = made(release)
    bits = qif.measure.bayes_vuln.min_entropy_leakage(joint.p_s, channel_of_s(joint, channel))
    found = measures.arimoto_information(joint, channel, math.inf)
    assert found == pytest.approx(bits * math.log(2), abs=ABSOLUTE)
