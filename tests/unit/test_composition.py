"""Several releases together are judged as the one joint release they are, exactly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift import composition
from lowlift.composition import audit_together
from lowlift.errors import InvalidInput
from oracles import rational
from strategies import criteria, joint_of, made, releases, tables, tiny_probabilities, weights

JOINT = ll.Joint.from_counts([[1, 2, 3, 4], [4, 3, 2, 1]])
FIRST = ll.Channel([[1, 3], [0, 4], [3, 1], [0, 4]])
SECOND = ll.Channel([[1, 1], [0, 2], [0, 2], [1, 1]])


def together(channels):
    """Return the joint channel, where its denominator allows one."""
    table = np.ones((channels[0].n_x, 1), dtype=object)
    for channel in channels:
        table = np.einsum("xa,xb->xab", table, channel.weights.astype(object)).reshape(
            len(table), -1
        )
    return [[row[y] for y in np.flatnonzero(table.any(axis=0))] for row in table.tolist()]


def test_two_releases_of_lift_one_reveal_the_first_symbol():
    for channel in (FIRST, SECOND):
        alone = audit_together(JOINT, [channel], ll.LIP(0))
        assert alone.is_satisfied
        assert alone.violations == 0
    both = audit_together(JOINT, [FIRST, SECOND], ll.LIP(0))
    assert not both.is_satisfied
    assert both.n_outputs == 4
    assert both.violations == 4
    assert both.lift[:, 0] == pytest.approx([0.4, 1.6], abs=1e-15)
    assert both.min_lift_leakage == pytest.approx(math.log(2.5), abs=1e-15)
    assert both.max_lift_leakage == pytest.approx(math.log(1.6), abs=1e-15)
    assert both.leakage == (both.min_lift_leakage, both.max_lift_leakage)
    assert not audit_together(JOINT, [FIRST, SECOND], ll.LIP(0.9)).is_satisfied
    assert audit_together(JOINT, [FIRST, SECOND], ll.LIP(0.92)).is_satisfied
    assert "VIOLATED by 4 output(s) by 2 release(s) together" in str(both)
    assert repr(both).startswith("<Together 2 channels VIOLATED")


@given(releases(), criteria())
def test_of_one_channel_it_is_the_audit(release, criterion):
    joint, channel = made(release)
    alone, audit = audit_together(joint, [channel], criterion), ll.audit(joint, channel, criterion)
    assert alone.allowed.tolist() == audit.allowed.tolist()
    assert alone.is_satisfied is audit.is_satisfied
    assert alone.is_certified is audit.is_certified
    np.testing.assert_allclose(alone.lift, audit.lift, rtol=1e-12)
    np.testing.assert_allclose(alone.p_y, audit.p_y, rtol=1e-12)
    assert alone.nmi == pytest.approx(audit.nmi, abs=1e-9)
    for name in ("min_lift_leakage", "max_lift_leakage"):
        assert getattr(alone, name) == pytest.approx(getattr(audit, name), abs=1e-9)


@st.composite
def several(draw):
    table = draw(tables(n_x=(1, 4)))
    sizes = draw(st.integers(2, 3))
    return table, [draw(weights(len(table[0]), n_y=(1, 3))) for _ in range(sizes)]


@given(several(), criteria())
def test_the_verdict_is_the_rational_one(case, criterion):
    table, rows = case
    channels = [ll.Channel(w) for w in rows]
    found = audit_together(joint_of(table), channels, criterion)
    p_s = rational.prior(table)
    columns = rational.columns(table, together(channels))
    truths = [rational.is_allowed(criterion, column, p_s) for column in columns]
    assert found.n_outputs == len(truths)
    assert sorted(found.allowed.tolist()) == sorted(truths)
    assert found.is_satisfied is all(truths)
    mass = sum(map(sum, columns))
    p_y = sorted(float(sum(column) / mass) for column in columns)
    np.testing.assert_allclose(sorted(found.p_y), p_y, rtol=1e-9)


@given(several())
def test_more_releases_keep_no_less(case):
    table, rows = case
    joint, channels = joint_of(table), [ll.Channel(w) for w in rows]
    kept = [
        audit_together(joint, channels[:k], ll.LIP(1)).mutual_information
        for k in range(1, len(channels) + 1)
    ]
    assert kept == sorted(kept) or np.diff(kept).min() >= -1e-12
    assert kept[-1] <= joint.entropy_x + 1e-9


def test_the_joint_channel_where_there_is_one_has_the_same_audit():
    joint = ll.Joint.random(3, 4, seed=0)
    channels = [FIRST, SECOND, ll.Channel([[5, 3], [6, 2], [0, 8], [1, 7]])]
    for criterion in (ll.LIP(0.5), ll.LDP(2.0), ll.AlphaLift(2, 0.2, 0.2)):
        found = audit_together(joint, channels, criterion)
        audit = ll.audit(joint, ll.Channel(together(channels)), criterion)
        assert found.violations == len(audit.violations)
        assert found.nmi == pytest.approx(audit.nmi, abs=1e-12)
        assert found.leakage == pytest.approx(audit.leakage, abs=1e-12)


def test_denominators_beyond_any_channel_are_exact():
    """2**144: one unit more or less of one weight decides at a budget of 0."""
    size = 1 << 48
    even = ll.Channel([[size // 2, size // 2]] * 4)
    uneven = ll.Channel([[size // 2 + 1, size // 2 - 1], *([[size // 2, size // 2]] * 3)])
    assert audit_together(JOINT, [even] * 3, ll.LIP(0)).is_satisfied
    found = audit_together(JOINT, [even, uneven, even], ll.LIP(0))
    assert not found.is_satisfied
    assert found.violations == found.n_outputs == 8
    assert found.max_lift_leakage < 1e-13


def test_weights_too_small_for_floats_are_exact():
    """P(s, y...) down to 1e-200 times 2**-288: products of floats would leave their range."""
    size = 1 << 48
    joint = ll.Joint([[0.5, 1e-200], [0.25, 0.25]])
    rare = ll.Channel([[1, size - 1], [2, size - 2]])
    found = audit_together(joint, [rare] * 6, ll.LIP(0.9))
    assert found.n_outputs == 64
    assert found.p_y.sum() == pytest.approx(1, abs=1e-12)
    # All six rare at once: weights 1 : 64, so that the second s has 1/4 + 16 of 16.75.
    assert found.lift[:, 0] == pytest.approx([0.5 / 16.75 / 0.5, 16.25 / 16.75 / 0.5], rel=1e-12)
    assert not found.allowed[0]
    assert 0 < found.nmi < 1


@given(tiny_probabilities(), st.data(), criteria())
def test_the_verdict_is_the_rational_one_for_tiny_cells(table, data, criterion):
    channels = [ll.Channel(data.draw(weights(len(table[0]), n_y=(1, 3)))) for _ in range(2)]
    found = audit_together(joint_of(table), channels, criterion)
    p_s = rational.prior(table)
    columns = rational.columns(table, together(channels))
    truths = [rational.is_allowed(criterion, column, p_s) for column in columns]
    assert sorted(found.allowed.tolist()) == sorted(truths)


def test_an_output_that_cannot_occur_is_none():
    found = audit_together(JOINT, [ll.Channel([[1, 0], [1, 0], [0, 1], [0, 1]])] * 2, ll.LIP(1))
    assert found.n_outputs == 2
    assert found.p_y.sum() == pytest.approx(1, abs=1e-15)


def test_a_criterion_of_floats_is_not_certified():
    class Mine:
        lower, upper = math.inf, 0.1

        def leakage(self, lift_sy, p_s):
            return np.zeros(lift_sy.shape[1]), np.log(lift_sy.max(axis=0))

        def risk(self, lift_sy, p_s):
            return np.log(lift_sy.max(axis=0))

    found = audit_together(JOINT, [FIRST, SECOND], Mine())
    assert not found.is_certified
    assert not found.is_satisfied
    assert "not certified" in str(found)


def test_many_joint_outputs_are_judged():
    joint = ll.Joint.random(3, 50, seed=0)
    response = ll.Channel.from_probabilities(np.full((50, 50), 0.01) + 0.5 * np.eye(50))
    found = audit_together(joint, [response] * 2, ll.LIP(0.9))
    assert found.n_outputs == 2500
    assert 0 < found.violations < 2500
    assert found.nmi > ll.audit(joint, response, ll.LIP(0.9)).nmi


def test_too_many_are_refused_with_their_number(monkeypatch):
    joint = ll.Joint.random(3, 50, seed=0)
    response = ll.Channel.from_probabilities(np.full((50, 50), 0.01) + 0.5 * np.eye(50))
    with pytest.raises(InvalidInput, match=r"at most 5000000 pairs.* have 6250000\. Audit"):
        audit_together(joint, [response] * 3, ll.LIP(1))
    monkeypatch.setattr(composition, "MOST_OUTPUTS", 2000)
    with pytest.raises(InvalidInput, match=r"at most 2000 joint outputs.* have 2500 or more"):
        audit_together(joint, [response] * 2, ll.LIP(1))


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="joint must be a Joint; got list"):
        audit_together([[1]], [FIRST], ll.LIP(1))
    for channels in ([], FIRST):
        with pytest.raises(InvalidInput, match="a list of one channel or more"):
            audit_together(JOINT, channels, ll.LIP(1))
    with pytest.raises(InvalidInput, match="must hold channels; got list"):
        audit_together(JOINT, [FIRST, [[1]]], ll.LIP(1))
    with pytest.raises(InvalidInput, match="same X"):
        audit_together(JOINT, [FIRST, ll.Channel([[1]])], ll.LIP(1))
    with pytest.raises(InvalidInput, match="criterion must be"):
        audit_together(JOINT, [FIRST], 0.5)
