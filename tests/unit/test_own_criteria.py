"""What a user's criterion returns is checked: shapes, types, NaN; its input stays as it was."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.criteria import HalfSpaces
from lowlift.errors import InvalidInput

JOINT = ll.Joint.random(3, 8, seed=1)
ITSELF = ll.Channel.identity(JOINT)
ZEROS = np.zeros(8)


class Own:
    """A bound on the divergence of P(s|y) from P(s)."""

    lower, upper = math.inf, 0.05

    def leakage(self, lift_sy, p_s):
        logs = np.log(np.where(lift_sy > 0, lift_sy, 1.0))
        return np.zeros(lift_sy.shape[1]), p_s @ (lift_sy * logs)

    def risk(self, lift_sy, p_s):
        return self.leakage(lift_sy, p_s)[1]


def own(**methods):
    """Return a criterion some of whose methods return a given value."""
    given = {name: (lambda *_, value=value: value) for name, value in methods.items()}
    return type("Own", (Own,), given)()


@pytest.mark.parametrize(
    "value",
    [
        (np.zeros(3), np.zeros(3)),
        (0.0, 0.0),
        (np.zeros(1), np.zeros(1)),
        (np.zeros((8, 1)), np.zeros((8, 1))),
        (np.zeros((1, 8)), ZEROS),
        (np.array(0.0), ZEROS),
        (ZEROS, np.zeros(7)),
        np.zeros((2, 8)),
        ZEROS,
        (ZEROS,),
        (ZEROS, ZEROS, ZEROS),
        None,
        (None, None),
        ([0.0] * 8, [0.0] * 8),
        (ZEROS, np.full(8, math.nan)),
        (np.array([math.nan, *[0.0] * 7]), ZEROS),
        (ZEROS, np.full(8, -math.inf)),
        (ZEROS.astype(object), ZEROS),
        (ZEROS.astype(bool), ZEROS.astype(bool)),
        (ZEROS.astype(complex), ZEROS),
        (ZEROS.astype(str), ZEROS),
        (np.ma.masked_array(ZEROS, mask=True), ZEROS),
        (ZEROS, np.ma.masked_array(ZEROS, mask=[1] + [0] * 7)),
    ],
    ids=repr,
)
def test_leakage_is_checked(value):
    with pytest.raises(InvalidInput, match=r"Own\.leakage must return"):
        ll.audit(JOINT, ITSELF, own(leakage=value))
    with pytest.raises(InvalidInput, match=r"Own\.leakage must return"):
        ll.high_risk(JOINT, own(leakage=value))


def test_a_wrong_shape_names_the_method_and_the_shape():
    message = r"^Own\.leakage must return arrays of shape \(8,\); got shape \(3,\)\.$"
    with pytest.raises(InvalidInput, match=message):
        ll.audit(JOINT, ITSELF, own(leakage=(np.zeros(3), np.zeros(3))))


def test_leakage_of_a_certified_criterion_is_checked_when_it_is_shown():
    verdict = ll.audit(JOINT, ITSELF, own(leakage=(ZEROS[:3], ZEROS[:3]), verdict=True))
    assert verdict.is_satisfied
    with pytest.raises(InvalidInput, match=r"Own\.leakage must return"):
        verdict.leakage  # noqa: B018


@pytest.mark.parametrize("value", [1, 1.0, "yes", None, [True], np.array([True]), np.array(True)])
def test_verdicts_are_true_or_false(value):
    with pytest.raises(InvalidInput, match=r"Own\.verdict must return True or False; got"):
        ll.audit(JOINT, ITSELF, own(verdict=value))


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_booleans_are_verdicts(value):
    assert ll.audit(JOINT, ITSELF, own(verdict=value)).is_satisfied == bool(value)


@pytest.mark.parametrize("value", [0.0, np.zeros(3), np.full(8, math.nan), None, ZEROS > 0])
def test_risk_is_checked(value):
    with pytest.raises(InvalidInput, match=r"Own\.risk must return"):
        ll.subset_merging(JOINT, own(risk=value))


FACES = HalfSpaces(np.eye(3), np.full(3, 1.2))


@pytest.mark.parametrize(
    "value",
    [
        None,
        np.eye(3),
        HalfSpaces(np.eye(3), np.full(2, 1.2)),
        HalfSpaces(np.eye(4), np.full(4, 1.2)),
        HalfSpaces(np.eye(3)[0], np.full(3, 1.2)),
        HalfSpaces(np.eye(3), 1.2),
        HalfSpaces(np.eye(3), np.full(3, math.nan)),
        HalfSpaces(np.full((3, 3), math.inf), np.full(3, 1.2)),
        HalfSpaces(np.eye(3).tolist(), [1.2] * 3),
    ],
    ids=repr,
)
def test_half_spaces_and_cuts_are_checked(value):
    with pytest.raises(InvalidInput, match=r"Own\.half_spaces must return"):
        ll.random_response(JOINT, own(half_spaces=value, cut=FACES))
    with pytest.raises(InvalidInput, match=r"Own\.cut must return"):
        ll.random_response(JOINT, own(half_spaces=FACES, cut=value))


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize("value", [math.nan, -1.0, None, "1", True, np.zeros(8), 1j])
def test_budgets_are_numbers(name, value):
    criterion = own()
    setattr(criterion, name, value)
    with pytest.raises(InvalidInput, match=rf"Own\.{name} must be a number of nats"):
        ll.audit(JOINT, ITSELF, criterion)


def test_a_criterion_cannot_change_what_it_is_judged_on():
    class Greedy(Own):
        def leakage(self, lift_sy, p_s):
            lift_sy.setflags(write=True)
            p_s.setflags(write=True)
            lift_sy[:] = 1.0
            p_s[:] = 0.5
            return super().leakage(lift_sy, p_s)

    before, prior = JOINT.lift.copy(), JOINT.p_s.copy()
    verdict = ll.audit(JOINT, ITSELF, Greedy())
    assert np.array_equal(verdict.lift, before)
    assert np.array_equal(JOINT.lift, before)
    assert np.array_equal(JOINT.p_s, prior)


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        (ll.LIP, "LIP(0.5)"),
        (ll.ALIP, "ALIP(0.5, 0.5)"),
        (ll.AlphaLift, "AlphaLift(2, 0.5, 0.5)"),
        (Own, "Own(...)"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda kind: ll.audit(JOINT, ITSELF, kind),
        lambda kind: ll.high_risk(JOINT, kind),
        lambda kind: ll.subset_merging(JOINT, kind),
        lambda kind: ll.optimal_merging(JOINT, kind),
        lambda kind: ll.random_response(JOINT, kind),
        lambda kind: ll.subset_random_response(JOINT, kind),
        lambda kind: ll.watchdog(JOINT, kind),
        lambda kind: ll.tradeoff(JOINT, ll.subset_merging, kind),
    ],
)
def test_a_class_is_refused_with_what_to_write(call, kind, example):
    with pytest.raises(InvalidInput) as refused:
        call(kind)
    name = kind.__name__
    assert str(refused.value) == (
        f"criterion must be an instance; got the class {name}. Write {example}."
    )


def test_a_built_in_criterion_with_parts_of_ones_own_is_refused():
    """Its screen and the compiled kernels would never ask the verdict."""

    class Never(ll.LIP):
        def verdict(self, posterior, prior):
            return False

    class Mixin:
        def leakage(self, lift_sy, p_s):
            return ZEROS, ZEROS

    class Mixed(Mixin, ll.LIP):
        pass

    for criterion, part in ((Never(5.0), "verdict"), (Mixed(0.1), "leakage")):
        with pytest.raises(InvalidInput, match=part):
            ll.audit(JOINT, ITSELF, criterion)
        with pytest.raises(InvalidInput, match=part):
            ll.subset_merging(JOINT, criterion)


def test_a_built_in_criterion_under_another_name_is_itself():
    class Mine(ll.LIP):
        """Changes nothing."""

    assert ll.subset_merging(JOINT, Mine(0.3)).audit.is_satisfied
