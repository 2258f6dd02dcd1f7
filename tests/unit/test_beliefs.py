"""Budgets in words: factors are never loosened, beliefs are judged exactly, on every mechanism."""

import json
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import lowlift as ll
from json_schema import faults
from lowlift import schemas
from lowlift.criteria import AtMost, from_dict, to_dict
from lowlift.criteria.beliefs import largest_budget
from lowlift.errors import InvalidInput
from lowlift.sampling import lift_intervals

MECHANISMS = [
    ll.watchdog,
    ll.subset_merging,
    ll.optimal_merging,
    ll.random_response,
    ll.subset_random_response,
    ll.least_distortion,
]


@pytest.mark.parametrize(
    "factor", [2, 1.5, 1.65, 3, 1.0000001, 1e6, 10, Fraction(7, 3), 2.718281828459045, 1 + 2**-52]
)
def test_the_budget_of_a_factor_is_the_largest_that_is_not_looser(factor):
    budget = largest_budget(factor)
    exact = Fraction(repr(factor)) if isinstance(factor, float) else Fraction(factor)
    with mpmath.workdps(60):
        wanted = mpmath.mpf(exact.numerator) / exact.denominator
        assert mpmath.exp(mpmath.mpf(budget)) <= wanted
        assert mpmath.exp(mpmath.mpf(math.nextafter(budget, math.inf))) > wanted
    assert ll.LIP.at_most(factor) == ll.LIP(budget)


def test_the_ends_of_factors():
    assert ll.LIP.at_most(1) == ll.LIP(0)
    assert ll.LIP.at_most(math.inf) == ll.LIP(math.inf)
    for wrong in (0.5, -1, 0, math.nan, "2", None, True, [2]):
        with pytest.raises(InvalidInput, match="factor must be 1 or more"):
            ll.LIP.at_most(wrong)


def judged(joint, channel, beliefs, factor=None):
    """Judge a channel by the definition, in fractions; a factor by its enclosure's safe side."""
    total = sum(map(int, joint.prior))
    for y in range(channel.n_y):
        masses = [int(mass) for mass in channel.exact_masses(joint, y)]
        for s, mass in enumerate(masses):
            posterior = Fraction(mass, sum(masses))
            if joint.s_labels[s] in beliefs and posterior > Fraction(
                repr(beliefs[joint.s_labels[s]])
            ):
                return False
            lift = posterior / Fraction(int(joint.prior[s]), total)
            # e to a float is no fraction: it is a little below the factor, which is not met.
            if factor is not None and not Fraction(1) / factor < lift < factor:
                return False
    return True


def random_case(seed):
    draw = random.Random(seed)
    n_s, n_x = draw.choice([2, 3, 4]), draw.choice([2, 5, 8])
    counts = [[draw.randint(0, 9) for _ in range(n_x)] for _ in range(n_s)]
    for s in range(n_s):
        counts[s][s % n_x] += 1
    for x in range(n_x):
        counts[x % n_s][x] += 1
    joint = ll.Joint.from_counts(counts, [f"s{k}" for k in range(n_s)])
    total = sum(map(sum, counts))
    beliefs = {}
    for s in draw.sample(range(n_s), draw.randint(1, n_s - 1)):
        share = Fraction(sum(counts[s]), total)
        beliefs[f"s{s}"] = float(share + (1 - share) * Fraction(draw.randint(1, 9), 12))
    factor = draw.choice([math.inf, 1.5, 2.0])
    return joint, beliefs, factor, draw


@pytest.mark.parametrize("seed", range(40))
def test_the_audit_is_the_definition_in_fractions(seed):
    joint, beliefs, factor, draw = random_case(seed)
    weights = np.array([[draw.choice([0, 0, 1, 3]) for _ in range(3)] for _ in range(joint.n_x)])
    weights[:, 0] += 4 - weights.sum(axis=1) % 4
    weights[:, 0] += 16 - weights.sum(axis=1)
    channel = ll.Channel(weights[:, weights.any(axis=0)].tolist())
    criterion = AtMost(beliefs, factor)
    for found in (channel, ll.Channel.identity(joint)):
        verdict = ll.audit(joint, found, criterion)
        limit = None if math.isinf(factor) else Fraction(factor)
        assert verdict.is_satisfied == judged(joint, found, beliefs, limit)
        assert verdict.is_certified


def test_a_belief_that_is_met_exactly_is_allowed_and_one_below_is_not():
    joint = ll.Joint.from_counts([[9, 3], [1, 7]], ["no", "yes"])
    channel = ll.Channel.identity(joint)
    assert ll.audit(joint, channel, AtMost({"yes": 0.7})).is_satisfied
    assert ll.audit(joint, channel, AtMost({"yes": Fraction(7, 10)})).is_satisfied
    below = math.nextafter(0.7, 0)
    assert not ll.audit(joint, channel, AtMost({"yes": below})).is_satisfied
    thirds = ll.Joint.from_counts([[2, 1], [1, 2]], ["no", "yes"])
    identity = ll.Channel.identity(thirds)
    # The float nearest 2/3 is written with a last digit that is too high or too low: never looser.
    assert not ll.audit(thirds, identity, AtMost({"yes": Fraction(2, 3)})).is_satisfied
    assert not ll.audit(thirds, identity, AtMost({"yes": 2 / 3})).is_satisfied


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)
@pytest.mark.parametrize("seed", range(6))
def test_every_mechanism_keeps_the_beliefs(mechanism, seed):
    joint, beliefs, factor, _ = random_case(seed + 100)
    criterion = AtMost(beliefs, factor).on(joint)
    release = mechanism(joint, criterion)
    limit = None if math.isinf(factor) else Fraction(factor)
    assert release.audit.is_satisfied
    assert judged(joint, release.channel, beliefs, limit)
    if release.certificate is not None and release.certificate.scope == "mechanisms":
        assert ll.verify_certificate(joint, criterion, release.certificate)


@pytest.mark.parametrize("n_s", [2, 3])
def test_beliefs_of_all_values_in_one_proportion_are_a_bound_on_the_largest_lift(n_s):
    joint = ll.Joint.random(n_s, 7, seed=5)
    beliefs = {s: float(1.4 * p) for s, p in zip(joint.s_labels, joint.p_s, strict=True)}
    one = ll.random_response(joint, AtMost(beliefs).on(joint))
    other = ll.random_response(joint, ll.MaxLift(math.log(1.4)))
    assert one.audit.nmi == pytest.approx(other.audit.nmi, abs=2e-6)
    assert one.certificate.upper_bound == pytest.approx(other.certificate.upper_bound, abs=2e-6)
    merged = ll.optimal_merging(joint, AtMost(beliefs).on(joint))
    assert merged.audit.nmi == pytest.approx(
        ll.optimal_merging(joint, ll.MaxLift(math.log(1.4))).audit.nmi, abs=1e-9
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_share_of_the_budgets_is_a_power_of_the_bound(seed):
    joint, beliefs, _, draw = random_case(seed + 50)
    share = draw.choice([0.3, 0.5, 0.9])
    criterion = AtMost(beliefs).on(joint).scaled(share)
    prior = [int(p) for p in joint.prior]
    posterior = [draw.randint(0, 50) for _ in prior]
    posterior[0] += 1
    with mpmath.workdps(60):
        allowed = all(
            mpmath.mpf(n) * sum(prior) / (sum(posterior) * p)
            <= (mpmath.mpf(repr(beliefs[label])) * sum(prior) / p) ** mpmath.mpf(share)
            for n, p, label in zip(posterior, prior, joint.s_labels, strict=True)
            if label in beliefs
        )
    assert criterion.verdict(posterior, prior) == allowed
    lift = np.array(posterior) / sum(posterior) * sum(prior) / np.array(prior)
    within, beyond = criterion.screen(lift[:, None], joint.p_s, joint.lift_error)
    assert not (within[0] and not allowed)
    assert not (beyond[0] and allowed)
    _, upper = criterion.leakage(lift[:, None], joint.p_s)
    assert (upper[0] <= share) == allowed
    normals, offsets = criterion.half_spaces(joint.p_s)
    assert bool((normals @ lift <= offsets).all()) == allowed
    assert (len(criterion.cut(lift, joint.p_s).offsets) == 0) == allowed


def test_what_does_not_fit_the_joint_is_refused_with_the_fix():
    joint = ll.Joint.from_counts([[3, 1], [1, 3]], ["no", "secret"])
    with pytest.raises(InvalidInput, match="one of the 2 of S") as caught:
        AtMost({"maybe": 0.9}).on(joint)
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidInput, match=r"at least the value's share.*Raise it") as caught:
        AtMost({"secret": 0.49}).on(joint)
    assert "secret" not in str(caught.value)
    AtMost({"secret": 0.5}).on(joint)
    with pytest.raises(InvalidInput, match=r"criterion\.on\(joint\)"):
        ll.random_response(joint, AtMost({"secret": 0.6}))
    with pytest.raises(InvalidInput, match="one of the 2 of S"):
        ll.audit(joint, ll.Channel.identity(joint), AtMost({"typo": 0.9}))
    for wrong in ({}, {"a": 0}, {"a": 1.1}, {"a": "x"}, {"a": math.nan}, 3, "ab", None):
        with pytest.raises(InvalidInput):
            AtMost(wrong)


def test_labels_that_are_no_texts_are_found_by_what_people_write():
    joint = ll.Joint.from_counts([[3, 1], [1, 3], [1, 1]], [True, False, None])
    for name in ("true", True):
        assert AtMost({name: 0.8}).on(joint).beliefs == ((True, 0.8),)
    assert AtMost({"(missing)": 0.8}).on(joint).beliefs == ((None, 0.8),)
    numbers = ll.Joint.from_counts([[3, 1], [1, 3]], [0, 1])
    assert AtMost({"1": 0.8}).on(numbers).beliefs == ((1, 0.8),)


def test_another_table_is_judged_by_its_own_labels():
    joint = ll.Joint.from_counts([[3, 1], [1, 3]], ["no", "yes"])
    criterion = AtMost({"yes": 0.8}).on(joint)
    turned = ll.Joint.from_counts([[1, 9], [9, 1]], ["yes", "no"])
    channel = ll.Channel.identity(turned)
    assert not ll.audit(turned, channel, criterion).is_satisfied
    assert not ll.audit(turned, channel, AtMost({"yes": 0.8})).is_satisfied
    # More of them than the belief allows: not an error, a verdict.
    many = ll.Joint.from_counts([[1, 1], [9, 9]], ["no", "yes"])
    assert not ll.audit(many, ll.Channel.identity(many), criterion).is_satisfied
    other = ll.Joint.from_counts([[1, 9], [9, 1]], ["no", "never"])
    assert ll.audit(other, ll.Channel.identity(other), criterion).is_satisfied


def test_files_keep_the_criterion(tmp_path):
    joint = ll.Joint.from_counts([[30, 10], [10, 30]], ["no", "yes"], ["a", "b"])
    criterion = AtMost({"yes": 0.6}, 2)
    assert from_dict(to_dict(criterion)) == criterion
    assert to_dict(AtMost({"yes": 0.6})) == {
        "name": "AtMost",
        "beliefs": [{"value": "yes", "at_most": 0.6}],
        "factor": "inf",
        "share": 1.0,
    }
    assert from_dict(to_dict(criterion.scaled(0.5))) == criterion.scaled(0.5)
    release = ll.random_response(joint, criterion.on(joint))
    path = tmp_path / "release.json"
    release.to_json(path)

    assert list(faults(json.loads(path.read_text()), schemas.load("release"))) == []
    loaded = ll.Release.from_json(path)
    assert loaded.criterion == criterion
    assert loaded.audit.is_satisfied
    assert loaded.fingerprint == release.fingerprint


def test_a_sample_supports_a_belief_only_with_room():
    joint = ll.Joint.from_counts([[600, 400], [400, 600]], ["no", "yes"])
    intervals = lift_intervals(joint, ll.Channel.identity(joint))
    assert intervals.supports(AtMost({"yes": 0.8}).on(joint))
    assert not intervals.supports(AtMost({"yes": 0.61}).on(joint))


def test_the_promise_is_said_in_words():
    from lowlift._guarantees import guarantee_of, promise_of

    criterion = AtMost({">50K": 0.5}, 2)
    assert promise_of(criterion) == (
        "after seeing a published value, '>50K' is at most 50% likely and no sensitive value is "
        "more than 2 times as likely as it was, nor less than half as likely"
    )
    # Never more than is promised: 1/1.7 is 0.588235.
    assert promise_of(AtMost({">50K": 0.5}, 1.7)).endswith("nor less than 0.588 times as likely")
    # Codebooks hold this text.
    assert guarantee_of(criterion).startswith(
        "After seeing a published value, '>50K' is at most 50% likely and no sensitive value is "
        "more than 2 or less than 1/2 times as likely as it was."
    )
