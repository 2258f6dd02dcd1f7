"""Sibson information and entropies against dit, which counts in bits."""

import math

import dit
import pytest
from dit.other import sibson_mutual_information_pmf
from hypothesis import given

import lowlift as ll
from lowlift import measures
from strategies import made, releases

#: Both sides are float sums.
ABSOLUTE = 1e-9

NATS = math.log(2)


def joint_pmf(joint, channel):
    """Return P(s, y) as an array of shape (|S|, |Y|), and as a distribution of dit."""
    p_sy = joint.p_sx @ channel.p_y_given_x
    p_sy /= p_sy.sum()
    outcomes = [(s, y) for s in range(joint.n_s) for y in range(channel.n_y)]
    return p_sy, dit.Distribution(outcomes, p_sy.ravel().tolist())


@given(releases())
def test_sibson_information(release):
    joint, channel = made(release)
    p_sy, _ = joint_pmf(joint, channel)
    for order in (1.5, 2.0, 10.0):
        expected = sibson_mutual_information_pmf(p_sy, order) * NATS
        found = measures.sibson_information(joint, channel, order)
        assert found == pytest.approx(expected, abs=ABSOLUTE)


def test_sibson_information_is_not_symmetric():
    """The axis matters: S is the one whose prior weighs the lifts, the first axis of dit."""
    joint = ll.Joint.from_counts([[1, 3], [4, 2]])
    channel = ll.Channel.identity(joint)
    found = measures.sibson_information(joint, channel, 2)
    right, wrong = (sibson_mutual_information_pmf(p, 2) * NATS for p in (joint.p_sx, joint.p_sx.T))
    assert found == pytest.approx(right, abs=1e-12)
    assert abs(found - wrong) > 1e-4


@given(releases())
def test_information_about_s(release):
    joint, channel = made(release)
    _, distribution = joint_pmf(joint, channel)
    expected = dit.shannon.mutual_information(distribution, [0], [1]) * NATS
    found = measures.mutual_information(joint, channel, of="s")
    assert found == pytest.approx(expected, abs=ABSOLUTE)


@given(releases())
def test_information_about_x(release):
    joint, channel = made(release)
    p_xy = joint.p_x[:, None] * channel.p_y_given_x
    outcomes = [(x, y) for x in range(joint.n_x) for y in range(channel.n_y)]
    distribution = dit.Distribution(outcomes, (p_xy / p_xy.sum()).ravel().tolist())
    expected = dit.shannon.mutual_information(distribution, [0], [1]) * NATS
    assert measures.mutual_information(joint, channel) == pytest.approx(expected, abs=ABSOLUTE)


@given(releases())
def test_entropies(release):
    joint, channel = made(release)
    p_sy, distribution = joint_pmf(joint, channel)
    for axis, p in ((0, p_sy.sum(axis=1)), (1, p_sy.sum(axis=0))):
        expected = dit.shannon.entropy(distribution, [axis]) * NATS
        assert measures.entropy(p) == pytest.approx(expected, abs=ABSOLUTE)
