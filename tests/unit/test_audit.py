"""The verdict on any channel, exact, and the numbers beside it."""

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

INF = math.inf
JOINT = ll.Joint.from_counts([[1, 2], [3, 2]], s_labels=["sick", "well"], x_labels=["a", "b"])
ITSELF = ll.Channel.identity(JOINT)
ZERO = ll.Joint.from_counts([[0, 2], [3, 2]])


def test_the_numbers_by_hand():
    verdict = ll.audit(JOINT, ITSELF, ll.ALIP(0.4, 0.25))
    assert not verdict.is_satisfied
    assert verdict.is_certified
    assert verdict.allowed.tolist() == [False, False]
    assert verdict.p_y.tolist() == [0.5, 0.5]
    assert verdict.lift == pytest.approx(np.array([[2 / 3, 4 / 3], [6 / 5, 4 / 5]]), rel=1e-14)
    assert verdict.min_lift_leakage == pytest.approx(math.log(3 / 2), rel=1e-14)
    assert verdict.max_lift_leakage == pytest.approx(math.log(4 / 3), rel=1e-14)
    assert verdict.leakage.lower == pytest.approx(math.log(3 / 2), rel=1e-14)
    assert verdict.leakage.upper == pytest.approx(math.log(4 / 3), rel=1e-14)
    assert verdict.mutual_information == pytest.approx(math.log(2), rel=1e-14)
    assert verdict.nmi == 1
    assert verdict.violations == ("a", "b")


@pytest.mark.parametrize(
    ("criterion", "worst"),
    [
        (ll.ALIP(0.4, 0.25), ("sick", "b", "upper", 4 / 3, math.log(4 / 3))),
        (ll.ALIP(0.1, 0.25), ("sick", "a", "lower", 2 / 3, math.log(3 / 2))),
        (ll.ALIP(INF, 5), ("sick", "b", "upper", 4 / 3, math.log(4 / 3))),
        (ll.ALIP(5, INF), ("sick", "a", "lower", 2 / 3, math.log(3 / 2))),
        (ll.MaxLift(0.1), ("sick", "b", "upper", 4 / 3, math.log(4 / 3))),
        (ll.LDP(0.1), ("well", "a", "upper", 6 / 5, math.log(9 / 5))),
    ],
    ids=str,
)
def test_worst_is_where_the_least_room_is_left(criterion, worst):
    found = ll.audit(JOINT, ITSELF, criterion).worst
    assert (found.s, found.y, found.side) == worst[:3]
    assert found.lift == pytest.approx(worst[3], rel=1e-14)
    assert found.leakage == pytest.approx(worst[4], rel=1e-14)


def test_a_zero_cell_leaks_without_bound():
    verdict = ll.audit(ZERO, ll.Channel.identity(ZERO), ll.ALIP(100, 100))
    assert verdict.min_lift_leakage == INF
    assert verdict.leakage.lower == INF
    assert verdict.lift[0, 0] == 0
    assert not verdict.is_satisfied
    assert verdict.worst == (0, 0, "lower", 0.0, INF)
    assert ll.audit(ZERO, ll.Channel.identity(ZERO), ll.ALIP(INF, 100)).is_satisfied
    assert ll.audit(ZERO, ll.Channel.identity(ZERO), ll.MaxLift(0.6)).is_satisfied
    worst = ll.audit(ZERO, ll.Channel.identity(ZERO), ll.MaxLift(0.6)).worst
    assert (worst.s, worst.y, worst.side) == (0, 1, "upper")  # the side without budget is left out


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        (ll.Channel([[1, 0], [0, 1], [1, 0]]), "same X; got 3 and 2 symbols"),
        (ll.Channel([[1, 0], [0, 1]], x_labels="ba"), "at 0 the channel has 'b', the joint 'a'"),
        (np.eye(2), r"must be a Channel; got ndarray. Use Channel.from_probabilities"),
    ],
)
def test_a_channel_of_other_symbols_is_refused(channel, message):
    with pytest.raises(InvalidInput, match=message):
        ll.audit(JOINT, channel, ll.LIP(1))


def near(value):
    """Return the floats just below and above a real number (an mpmath one)."""
    below = float(value)
    while mpmath.mpf(below) > value:
        below = math.nextafter(below, 0)
    return below, math.nextafter(below, INF)


@pytest.mark.parametrize(
    ("make", "leakage"),
    [
        (lambda b: ll.ALIP(b, INF), lambda: mpmath.log(mpmath.mpf(3) / 2)),
        (lambda b: ll.ALIP(INF, b), lambda: mpmath.log(mpmath.mpf(4) / 3)),
        (ll.LIP, lambda: mpmath.log(mpmath.mpf(3) / 2)),
        (ll.MaxLift, lambda: mpmath.log(mpmath.mpf(4) / 3)),
        (ll.LDP, lambda: mpmath.log(mpmath.mpf(9) / 5)),
        (lambda b: ll.L1Lift(INF, b), lambda: mpmath.log(mpmath.mpf(5) / 4)),
        (lambda b: ll.L1Lift(b, INF), lambda: mpmath.log(mpmath.mpf(31) / 24)),
        (lambda b: ll.Chi2Lift(b, INF), lambda: mpmath.log(mpmath.mpf(4) / 3)),
        (lambda b: ll.Chi2Lift(INF, b), lambda: mpmath.log(1 + mpmath.sqrt(mpmath.mpf(1) / 15))),
        (lambda b: ll.AlphaLift(2, INF, b), lambda: mpmath.log(mpmath.mpf(16) / 15) / 2),
        (lambda b: ll.AlphaLift(2, b, INF), lambda: mpmath.log(mpmath.mpf(23) / 18) / 2),
        (lambda b: ll.AlphaLift(1, b, INF), lambda: mpmath.log(mpmath.mpf(13) / 12)),
        (lambda b: ll.AlphaLift(INF, INF, b), lambda: mpmath.log(mpmath.mpf(4) / 3)),
    ],
)
def test_the_verdict_changes_between_two_neighbouring_floats(make, leakage):
    with mpmath.workprec(300):
        below, above = near(leakage())
    assert not ll.audit(JOINT, ITSELF, make(below)).is_satisfied
    assert ll.audit(JOINT, ITSELF, make(above)).is_satisfied
    noisy = ll.Channel.from_probabilities(np.eye(2))  # the same law with 2**48 as denominator
    assert not ll.audit(JOINT, noisy, make(below)).is_satisfied
    assert ll.audit(JOINT, noisy, make(above)).is_satisfied


def test_rounding_of_a_channel_is_audited_and_not_overlooked():
    # Exactly balanced weights hold at budget 0; one unit of 2**48 more does not.
    joint = ll.Joint.from_counts([[1, 3], [3, 1]])
    half = 2**47
    assert ll.audit(joint, ll.Channel([[half, half], [half, half]]), ll.LIP(0)).is_satisfied
    off = ll.Channel([[half, half], [half + 1, half - 1]])
    assert not ll.audit(joint, off, ll.LIP(0)).is_satisfied
    assert ll.audit(joint, off, ll.LIP(1e-14)).is_satisfied


@pytest.mark.parametrize("tiny", [1e-290, 1e-299])
def test_the_smallest_cells_are_judged_exactly(tiny):
    joint = ll.Joint([[tiny, 0.5], [0.25, 0.25]])
    total = sum(map(Fraction, joint.masses.flat))
    p_x, p_s = Fraction(tiny) + Fraction(0.25), Fraction(tiny) + Fraction(0.5)
    lift = Fraction(tiny) * total / (p_x * p_s)
    with mpmath.workprec(2500):
        below, above = near(-mpmath.log(mpmath.mpf(lift.numerator) / lift.denominator))
    channel = ll.Channel.identity(joint)
    assert not ll.audit(joint, channel, ll.ALIP(below, INF)).is_satisfied
    assert ll.audit(joint, channel, ll.ALIP(above, INF)).is_satisfied


class Floats:
    """A criterion of one's own, without an exact verdict."""

    lower, upper = INF, 0.25

    def leakage(self, lift_sy, p_s):
        high = np.log(lift_sy.max(axis=0))
        return np.zeros_like(high), high

    def risk(self, lift_sy, p_s):
        return self.leakage(lift_sy, p_s)[1]


class Exact(Floats):
    """The same with one; what it returns must be True itself to count."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def verdict(self, posterior, prior):
        self.asked.append((posterior, prior))
        return self.answer


def test_criteria_of_floats_are_marked_as_such():
    verdict = ll.audit(JOINT, ITSELF, Floats())
    assert verdict.allowed.tolist() == [True, False]
    assert not verdict.is_certified
    assert "floats only, not certified" in str(verdict)
    assert ll.high_risk(JOINT, Floats()) == ("b",)


@pytest.mark.parametrize(("answer", "allowed"), [(True, True), (False, False)])
def test_exact_verdicts_of_ones_own_are_asked_with_whole_numbers(answer, allowed):
    criterion = Exact(answer)
    verdict = ll.audit(JOINT, ITSELF, criterion)
    assert verdict.is_satisfied is allowed
    assert verdict.is_certified
    assert [(list(a), list(b)) for a, b in criterion.asked] == [([1, 3], [3, 5]), ([2, 2], [3, 5])]


def test_high_risk_symbols():
    joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    assert ll.high_risk(joint, ll.MaxLift(0.1)) == ("a", "b")
    assert ll.high_risk(joint, ll.LIP(0)) == ("a", "b")
    assert ll.high_risk(joint, ll.LIP(INF)) == ()
    assert ll.high_risk(joint, ll.LIP(0.6)) == ("a", "b")
    assert ll.high_risk(joint, ll.LIP(0.7)) == ()


def test_words():
    verdict = ll.audit(JOINT, ITSELF, ll.LIP(0.3))
    assert repr(verdict) == "<Audit VIOLATED nmi=1.000000>"
    assert "LIP(epsilon=0.3): VIOLATED by 1 output(s)" in str(verdict)
    assert "satisfied" in str(ll.audit(JOINT, ITSELF, ll.LIP(1)))


def test_one_x_is_satisfied_at_budget_zero():
    joint = ll.Joint.from_counts([[1], [3]])
    verdict = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0))
    assert verdict.is_satisfied
    assert verdict.nmi == 1


@pytest.mark.parametrize(
    "copied", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy]
)
def test_an_audit_cannot_be_changed(copied):
    verdict = copied(ll.audit(JOINT, ITSELF, ll.LIP(0.3)))
    assert verdict.allowed.tolist() == [False, True]
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.allowed = np.array([True, True])
    for name in ("allowed", "lift", "p_y"):
        assert not getattr(verdict, name).flags.writeable, name


@pytest.mark.parametrize(
    "mechanism", [ll.watchdog, ll.subset_merging, ll.optimal_merging, ll.random_response]
)
def test_what_is_no_joint_or_no_criterion_is_refused(mechanism):
    joint = ll.Joint.random(2, 4, seed=0)
    with pytest.raises(ll.InvalidInput, match="joint must be a Joint; got ndarray"):
        mechanism(joint.p_sx, ll.LIP(0.1))
    with pytest.raises(
        ll.InvalidInput, match=r"criterion must be .* got float|half_spaces and cut"
    ):
        mechanism(joint, 0.5)
    channel = ll.Channel.identity(joint)
    with pytest.raises(ll.InvalidInput, match="joint must be a Joint"):
        ll.audit(joint.p_sx, channel, ll.LIP(0.1))
    with pytest.raises(ll.InvalidInput, match="criterion must be"):
        ll.audit(joint, channel, 0.5)
