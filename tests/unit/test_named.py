"""Notions by the names of other fields: exact at their bounds, and translated to nats."""

import math
from fractions import Fraction

import numpy as np
import pytest

import lowlift as ll
from lowlift._guarantees import closeness, ends_of, guarantee_of, is_empty, promise_of
from lowlift.criteria import from_dict, to_dict
from lowlift.criteria.protocol import epsilon_of
from lowlift.errors import InvalidInput
from lowlift.report.beliefs import beliefs_of

INF = math.inf
NAMED = [
    ll.BetaLikeness(0.3),
    ll.DeltaDisclosure(0.5),
    ll.DeltaDisclosure(0.5, "bits"),
    ll.TCloseness(0.1),
]


def lifted(numerator, denominator, scale=1):
    """Return an output and a prior where the first value has this lift, others a smaller one."""
    return [numerator * scale, (2 * denominator - numerator) * scale], [1, 1]


@pytest.mark.parametrize("beta", [0.1, 0.2, 0.25, 0.3, 0.7, 0.999])
def test_beta_likeness_holds_at_its_bound_and_not_above(beta):
    exact = 1 + Fraction(repr(beta))
    n, d = exact.numerator, exact.denominator
    assert ll.BetaLikeness(beta).verdict(*lifted(n, d))
    assert not ll.BetaLikeness(beta).verdict(*lifted(n * 10**40 + 1, d * 10**40))
    # The budget in nats is a float below the logarithm, so that it refuses the bound itself.
    assert not ll.BetaLikeness(beta).in_nats.verdict(*lifted(n, d))
    joint = ll.Joint.from_counts([[n, 2 * d - n], [2 * d - n, n]])
    assert ll.audit(joint, ll.Channel.identity(joint), ll.BetaLikeness(beta)).is_satisfied


@pytest.mark.parametrize("t", [0.1, 0.2, 0.3, 0.45])
def test_t_closeness_holds_at_its_bound_and_not_above(t):
    exact = Fraction(repr(t))  # P(s) = 1/2 moves by t
    n, d = (1 + 2 * exact).numerator, (1 + 2 * exact).denominator
    assert ll.TCloseness(t).verdict(*lifted(n, d))
    assert not ll.TCloseness(t).verdict(*lifted(n * 10**40 + 1, d * 10**40))
    assert not ll.TCloseness(t).in_nats.verdict(*lifted(n, d))


def test_delta_disclosure_is_strict():
    one = ll.DeltaDisclosure(1, "bits")
    assert not one.verdict([2, 1], [1, 2])  # a lift of 2
    assert not one.verdict([1, 3], [1, 1])  # a lift of 1/2
    assert one.verdict([2 * 10**40 - 1, 10**40 + 1], [10**40, 2 * 10**40])
    assert not ll.DeltaDisclosure(0.5, "bits").verdict([14143, 85857], [1, 9])  # root 2
    assert ll.DeltaDisclosure(0.5, "bits").verdict([14142, 85858], [1, 9])
    assert not ll.DeltaDisclosure(5.0).verdict([0, 1], [1, 1])  # ruled out
    with pytest.raises(InvalidInput, match=r"delta must be above 0.*LIP\(0\)"):
        ll.DeltaDisclosure(0)


@pytest.mark.parametrize("bits", [1e-300, 0.1, 1, 7, 333.25, 1e6, 1e300])
def test_bits_are_rounded_down_to_nats_and_any_size_ends(bits):
    criterion = ll.DeltaDisclosure(bits, "bits")
    assert criterion.upper == pytest.approx(bits * math.log(2), rel=1e-15)
    assert criterion.verdict([1, 1], [1, 1])
    assert criterion.verdict([10**300, 1], [1, 10**300]) is (bits > 1000)


@pytest.mark.parametrize("criterion", NAMED, ids=str)
def test_the_translation_is_the_same_region_but_for_its_edge(criterion):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        prior = rng.integers(50, 100, 3).tolist()
        posterior = (rng.integers(1, 30, 3) + 60 * rng.integers(0, 2)).tolist()
        verdict = criterion.verdict(posterior, prior)
        assert criterion.in_nats.verdict(posterior, prior) is verdict
        seen.add(verdict)
    assert seen == {True, False}
    assert (criterion.lower, criterion.upper) == (
        criterion.in_nats.lower,
        criterion.in_nats.upper,
    )


@pytest.mark.parametrize("criterion", NAMED, ids=str)
def test_budgets_move_in_nats(criterion):
    assert criterion.scaled(1) is criterion
    assert criterion.shifted(0) is criterion
    assert criterion.scaled(0.5) == criterion.in_nats.scaled(0.5)
    assert criterion.scaled(0).upper == 0
    assert criterion.shifted(-9).upper == 0
    assert criterion.shifted(0.1) == criterion.in_nats.shifted(0.1)
    assert epsilon_of(criterion) == epsilon_of(criterion.in_nats)


def test_translations_by_hand():
    assert ll.BetaLikeness(1).in_nats == ll.MaxLift(math.log(2))
    assert ll.TCloseness(0.5).in_nats == ll.L1Lift(INF, math.log(2))
    assert ll.DeltaDisclosure(0.7).in_nats == ll.LIP(0.7)
    assert ll.DeltaDisclosure(2, "bits").in_nats == ll.LIP(2 * math.log(2))
    assert ll.PML(0.3) == ll.MaxLift(0.3)
    assert str(ll.PML(0.3)) == "MaxLift(upper=0.3)"
    assert ll.LDP.at_most(Fraction(5, 4)) == ll.LDP.at_most(1.25)
    assert math.exp(ll.LDP.at_most(1.25).epsilon) == pytest.approx(1.25, abs=1e-15)


@pytest.mark.parametrize("bad", [-0.1, True, "1", None, math.nan, 1j])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ll.BetaLikeness, "beta"),
        (ll.DeltaDisclosure, "delta"),
        (ll.TCloseness, "t"),
        (lambda c: ll.EveryPrior(c, 1, 1), "at_least"),
        (lambda b: ll.EveryPrior(0.1, b, 1), "lower"),
        (lambda b: ll.EveryPrior(0.1, 1, b), "upper"),
    ],
)
def test_wrong_numbers_are_refused_by_name(make, name, bad):
    with pytest.raises(InvalidInput, match=f"{name} must be"):
        make(bad)


@pytest.mark.parametrize("make", [ll.TCloseness, lambda c: ll.EveryPrior(c, 1, 1)])
@pytest.mark.parametrize("bad", [1.1, INF])
def test_probabilities_are_at_most_one(make, bad):
    with pytest.raises(InvalidInput, match="must be"):
        make(bad)


def test_a_unit_is_one_of_two():
    with pytest.raises(InvalidInput, match="unit must be one of"):
        ll.DeltaDisclosure(1, "bans")


def test_fractions_are_rounded_down():
    assert Fraction(repr(ll.BetaLikeness(Fraction(1, 3)).beta)) <= Fraction(1, 3)
    assert Fraction(repr(ll.TCloseness(Fraction(2, 3)).t)) <= Fraction(2, 3)
    assert ll.EveryPrior(Fraction(1, 3), 1, 1).at_least == pytest.approx(1 / 3)
    assert ll.BetaLikeness(1e-300).upper <= 1e-300  # and it ends
    assert ll.BetaLikeness(INF).upper == INF


def test_the_class_instead_of_an_instance_is_refused_with_what_to_write():
    joint = ll.datasets.titanic()
    for kind, advice in (
        (ll.DeltaDisclosure, r"DeltaDisclosure\(0.5\)"),
        (ll.EveryPrior, r"EveryPrior\(0.01, 0.5, 0.5\)"),
    ):
        with pytest.raises(InvalidInput, match=advice):
            ll.audit(joint, ll.Channel.identity(joint), kind)


def test_enhanced_beta_likeness_bounds_each_value_by_its_own_share():
    joint = ll.Joint.from_counts([[1, 9], [40, 50]], ["rare", "common"], ["a", "b"])
    found = dict(ll.BetaLikeness.enhanced(2, joint).parameters()["beliefs"])
    # -log 0.1 = 2.3 is above beta = 2, -log 0.9 = 0.105 is below.
    assert Fraction(repr(found["rare"])) == Fraction(3, 10)
    assert found["common"] == pytest.approx(0.9 * (1 - math.log(0.9)), abs=1e-15)
    assert found["common"] < 1
    for s, share in enumerate((Fraction(1, 10), Fraction(9, 10))):
        assert list(found.values())[s] >= share
    release = ll.random_response(joint, ll.BetaLikeness.enhanced(2, joint))
    assert release.audit.is_satisfied


def test_words_say_the_bound_as_it_was_written():
    assert promise_of(ll.BetaLikeness(1)) == (
        "seeing a published value makes no sensitive value more than 2 times as likely as it was"
    )
    assert promise_of(ll.TCloseness(0.2)) == (
        "seeing a published value moves at most 20% of the belief in some sensitive values to "
        "others"
    )
    assert "|P(s|y) - P(s)| is at most 0.2." in guarantee_of(ll.TCloseness(0.2))
    assert "more than 1.65 times or less than 0.606 times" in promise_of(ll.DeltaDisclosure(0.5))
    every = ll.EveryPrior.at_most(2, at_least=0.05)
    assert promise_of(every).endswith(
        "for readers who gave each sensitive value a chance of at least 5% before, and for those "
        "who knew how they are distributed"
    )
    assert "any belief before" in promise_of(ll.EveryPrior.at_most(2, at_least=0))
    assert "for each sensitive value in the table" in guarantee_of(every)
    assert ends_of(every) == ends_of(ll.LIP.at_most(2))
    assert (closeness(ll.TCloseness(0.2)), is_empty(ll.TCloseness(1))) == (0.2, True)
    assert not is_empty(ll.TCloseness(0.99))


def test_the_largest_belief_is_exact():
    joint = ll.Joint.from_counts([[3, 1], [1, 3]], ["ill", "well"], ["a", "b"])
    found = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.BetaLikeness(0.5)))
    assert found[0].limit == found[0].most == Fraction(3, 4)


@pytest.mark.parametrize("criterion", NAMED, ids=str)
def test_a_release_keeps_its_criterion_in_its_file(criterion, tmp_path):
    release = ll.random_response(ll.datasets.titanic(), criterion)
    release.to_json(tmp_path / "release.json")
    again = ll.Release.from_json(tmp_path / "release.json")
    assert again.criterion == criterion
    assert again.audit.is_satisfied
    assert from_dict(to_dict(criterion)) == criterion


@pytest.mark.parametrize("n_s", [3, 4, 6])
def test_least_distortion_under_t_closeness_is_optimal(n_s):
    # The l1 distance of four values or more has half-spaces that no pair of values shows.
    joint = ll.Joint.random(n_s, 14, seed=n_s)
    release = ll.least_distortion(joint, ll.TCloseness(0.1))
    assert release.audit.is_satisfied
    assert release.certificate.gap < 1e-5
    assert ll.verify_certificate(joint, ll.TCloseness(0.1), release.certificate)
