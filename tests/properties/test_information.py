"""What holds for every channel: data processing, post-processing, order in alpha."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift import measures
from strategies import joint_of, made, releases, tables, weights

INF = math.inf
ALPHAS = (1.0, 1.1, 1.5, 2.0, 3.0, 10.0, 100.0, 1000.0, INF)

#: What float sums of a few terms may be off by.
RELATIVE, ABSOLUTE = 1e-11, 1e-12


@st.composite
def processed(draw):
    """A joint, a channel to Y, and the channel to a Z made of Y."""
    table = draw(tables())
    first = draw(weights(len(table[0])).filter(lambda rows: sum(rows[0]) <= 1024))
    second = draw(weights(len(first[0]), (1, 3)).filter(lambda rows: sum(rows[0]) <= 1 << 30))
    then = np.array(first) @ np.array(second)
    return joint_of(table), ll.Channel(first), ll.Channel(then)


@given(processed())
def test_processing_y_never_raises_information_about_x(case):
    joint, before, after = case
    kept = [measures.mutual_information(joint, channel) for channel in (before, after)]
    assert kept[1] <= kept[0] + ABSOLUTE
    assert kept[0] <= measures.entropy(joint.p_x) + ABSOLUTE


@given(processed())
def test_processing_y_never_raises_information_about_s(case):
    joint, before, after = case
    for measure in (
        lambda channel: measures.mutual_information(joint, channel, of="s"),
        lambda channel: measures.sibson_information(joint, channel, 2),
        lambda channel: measures.arimoto_information(joint, channel, 3),
        lambda channel: measures.maximal_leakage(joint, channel),
        lambda channel: measures.bayes_vulnerability(joint, channel),
        lambda channel: measures.total_variation(joint, channel),
        lambda channel: measures.chi2_divergence(joint, channel),
    ):
        assert measure(after) <= measure(before) * (1 + RELATIVE) + ABSOLUTE


@given(releases())
def test_s_to_y_is_processed_by_x(release):
    """Data processing along S - X - Y."""
    joint, channel = made(release)
    of_s, of_x = (measures.mutual_information(joint, channel, of=of) for of in "sx")
    identity = ll.Channel.identity(joint)
    assert of_s <= of_x + ABSOLUTE
    assert of_s <= measures.mutual_information(joint, identity, of="s") + ABSOLUTE


def convex_criteria():
    """Return, per convex notion, what makes it of two budgets."""
    return (
        ll.ALIP,
        lambda _, upper: ll.MaxLift(upper),
        lambda _, upper: ll.LDP(upper),
        lambda _, upper: ll.L1Lift(INF, upper),
        lambda _, upper: ll.Chi2Lift(INF, upper),
        lambda lower, upper: ll.AlphaLift(1.5, lower, upper),
        lambda lower, upper: ll.AlphaLift(2, lower, upper),
        lambda lower, upper: ll.AlphaLift(INF, lower, upper),
    )


def just_enough(leakage):
    """Return a budget above a measured leakage by no more than its rounding."""
    return leakage * (1 + 1e-12) + 1e-14


@given(processed())
def test_post_processing_keeps_every_convex_criterion(case):
    joint, before, after = case
    for make in convex_criteria():
        leakage = ll.audit(joint, before, make(1.0, 1.0)).leakage
        criterion = make(just_enough(leakage.lower), just_enough(leakage.upper))
        assert criterion.is_convex
        assert ll.audit(joint, before, criterion).is_satisfied
        assert ll.audit(joint, after, criterion).is_satisfied


@given(releases(), st.data())
def test_merging_two_outputs_never_raises_a_convex_leakage(release, data):
    joint, channel = made(release)
    a = data.draw(st.integers(0, channel.n_y - 1))
    b = data.draw(st.integers(0, channel.n_y - 1))
    rows = np.array(release[1])
    merged = np.delete(rows, b, axis=1) if a != b else rows
    if a != b:
        merged[:, a - (a > b)] += rows[:, b]
    for make in convex_criteria():
        apart, together = (
            ll.audit(joint, c, make(1.0, 1.0)).leakage for c in (channel, ll.Channel(merged))
        )
        assert together.lower <= just_enough(apart.lower)
        assert together.upper <= just_enough(apart.upper)


@given(releases())
def test_sibson_information_increases_in_alpha(release):
    joint, channel = made(release)
    values = [measures.sibson_information(joint, channel, alpha) for alpha in ALPHAS]
    assert values[0] == measures.mutual_information(joint, channel, of="s")
    assert values[-1] == measures.maximal_leakage(joint, channel)
    assert all(b >= a - ABSOLUTE for a, b in pairwise(values))


@given(releases())
def test_alpha_lift_increases_in_alpha(release):
    joint, channel = made(release)
    values = np.array([measures.alpha_lift(joint, channel, alpha) for alpha in ALPHAS])
    np.testing.assert_allclose(values[0], 1.0, rtol=RELATIVE)
    np.testing.assert_allclose(values[-1], measures.max_lift(joint, channel), rtol=RELATIVE)
    assert (values[1:] >= values[:-1] * (1 - RELATIVE)).all()


@given(releases())
def test_alpha_lift_inverse_increases_in_alpha(release):
    joint, channel = made(release)
    values = np.array([measures.alpha_lift_inverse(joint, channel, alpha) for alpha in ALPHAS])
    least = measures.min_lift(joint, channel)
    positive = least > 0
    assert np.isinf(values[:, ~positive]).all()
    np.testing.assert_allclose(values[-1, positive], 1 / least[positive], rtol=RELATIVE)
    assert (values[1:, positive] >= values[:-1, positive] * (1 - RELATIVE)).all()


@given(releases())
def test_gamma_is_max_lift_over_min_lift(release):
    joint, channel = made(release)
    found = measures.local_differential_privacy(joint, channel)
    high, low = measures.max_lift(joint, channel), measures.min_lift(joint, channel)
    p_y_given_s = joint.p_sx @ channel.p_y_given_x / joint.p_s[:, None]
    kept = low > 0
    assert (np.isinf(found.gamma) == ~kept).all()
    np.testing.assert_allclose(found.gamma[kept], high[kept] / low[kept], rtol=RELATIVE)
    ratio = p_y_given_s.max(axis=0)[kept] / p_y_given_s.min(axis=0)[kept]
    np.testing.assert_allclose(found.gamma[kept], ratio, rtol=RELATIVE)
    assert found.maximum == found.gamma.max()


@given(releases())
def test_lifts_average_to_one(release):
    joint, channel = made(release)
    lift = measures.lift(joint, channel)
    np.testing.assert_allclose(joint.p_s @ lift, 1.0, rtol=RELATIVE)
    p_y = joint.p_x @ channel.p_y_given_x
    np.testing.assert_allclose(lift @ p_y, 1.0, rtol=RELATIVE)
