"""The bound for every prior: against priors one by one in fractions, and an LP solver."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import lowlift as ll
import oracles.rational as rational
from lowlift.criteria import from_dict, to_dict
from lowlift.errors import InvalidInput
from strategies import counts, made, releases

SHARES = st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.25])
SIDES = st.sampled_from([0.0, 0.2, 0.5, 1.0, math.inf])


def prior_of(parts, at_least):
    """Return the prior that gives each value the least, and the rest in these parts."""
    least, total = Fraction(repr(at_least)), sum(parts)
    return [least + (1 - len(parts) * least) * Fraction(part, total) for part in parts]


def keeps(criterion, prior, l_s):
    """Decide the bound for one reader, from the definition."""
    return all(
        rational.at_most_exp(v, criterion.upper)
        and (
            math.isinf(criterion.lower) or (v > 0 and rational.at_most_exp(1 / v, criterion.lower))
        )
        for v in rational.lifts_under(prior, l_s)
    )


@given(releases(), SHARES, SIDES, SIDES, st.data())
def test_what_is_allowed_holds_for_each_prior_and_what_is_not_fails_for_one(
    release, at_least, lower, upper, data
):
    joint, channel = made(release)
    criterion = ll.EveryPrior(at_least, lower, upper)
    audit = ll.audit(joint, channel, criterion)
    parts = st.lists(st.integers(0, 9), min_size=joint.n_s, max_size=joint.n_s).filter(any)
    others = [prior_of(data.draw(parts), at_least) for _ in range(4)]
    own = rational.prior(release[0])
    for y, l_s in enumerate(rational.lifts(*release)):
        corners = rational.corners(joint.n_s, at_least)
        if y in audit.violations:
            assert not all(keeps(criterion, q, l_s) for q in (own, *corners))
        else:
            assert all(keeps(criterion, q, l_s) for q in (own, *corners, *others))


@given(releases(), st.sampled_from([0.0, 0.1, 0.3, 1.0, math.inf]))
def test_with_no_least_share_it_is_local_differential_privacy(release, epsilon):
    joint, channel = made(release)
    found = [
        ll.audit(joint, channel, criterion).is_satisfied
        for criterion in (
            ll.LDP(epsilon),
            ll.EveryPrior(0, epsilon, epsilon),
            ll.EveryPrior(0, math.inf, epsilon),
            ll.EveryPrior(0, epsilon, math.inf),
        )
    ]
    assert len(set(found)) == 1


@given(counts(n_s=(2, 2), n_x=(2, 4)), SIDES, SIDES)
def test_at_the_largest_share_the_readers_are_the_table_and_the_even_prior(table, lower, upper):
    joint = ll.Joint.from_counts(table)
    criterion = ll.EveryPrior(0.5, lower, upper)
    audit = ll.audit(joint, ll.Channel.identity(joint), criterion)
    own, even = rational.prior(table), [Fraction(1, 2)] * 2
    identity = np.eye(joint.n_x, dtype=int).tolist()
    for y, l_s in enumerate(rational.lifts(table, identity)):
        expected = keeps(criterion, own, l_s) and keeps(criterion, even, l_s)
        assert (y not in audit.violations) is expected


@pytest.mark.parametrize("at_least", [0.0, 0.05, 0.2, 0.25])
def test_the_worst_means_are_those_of_a_linear_program(at_least):
    rng = np.random.default_rng(7)
    criterion = ll.EveryPrior(at_least, 1, 1)
    for _ in range(20):
        p_s = rng.dirichlet(np.full(4, 9.0))
        lift = rng.dirichlet(np.ones(4)) / p_s
        least, most = (float(end[0]) for end in criterion.means(lift[:, None]))
        ends = [
            sign * linprog(sign * lift, A_eq=np.ones((1, 4)), b_eq=[1], bounds=(at_least, 1)).fun
            for sign in (1, -1)
        ]
        assert least == pytest.approx(min(1, ends[0]), abs=1e-9)
        assert most == pytest.approx(max(1, ends[1]), abs=1e-9)


@given(releases(), st.sampled_from([0.1, 0.4, 1.0]))
def test_fewer_readers_are_never_harder(release, epsilon):
    joint, channel = made(release)
    held = [
        ll.audit(joint, channel, ll.EveryPrior(c, epsilon, epsilon)).is_satisfied
        for c in (0.0, 0.05, 0.2, 0.25)
    ]
    assert held == sorted(held)
    assert ll.audit(joint, channel, ll.ALIP(epsilon, epsilon)).is_satisfied >= held[-1]


@given(releases(), SHARES, st.data())
def test_outputs_that_are_joined_keep_it(release, at_least, data):
    joint, channel = made(release)
    criterion = ll.EveryPrior(at_least, 0.5, 0.4)
    assume(ll.audit(joint, channel, criterion).is_satisfied)
    block = data.draw(st.lists(st.integers(0, 1), min_size=channel.n_y, max_size=channel.n_y))
    joined = np.zeros((joint.n_x, 2), dtype=int)
    for y, at in enumerate(block):
        joined[:, at] += np.asarray(release[1])[:, y]
    assert ll.audit(joint, ll.Channel(joined[:, joined.sum(axis=0) > 0]), criterion).is_satisfied


def test_the_optimum_lies_between_ldp_and_lip():
    joint = ll.Joint.random(3, 9, seed=4)
    assert joint.p_s.min() > 0.2
    bounds = [ll.LDP(0.4), *(ll.EveryPrior(c, 0.4, 0.4) for c in (0.0, 0.1, 0.2)), ll.LIP(0.4)]
    releases = [ll.random_response(joint, bound) for bound in bounds]
    kept = [release.audit.nmi for release in releases]
    assert kept[0] == pytest.approx(kept[1], abs=2e-6)
    assert all(a <= b + 2e-6 for a, b in itertools.pairwise(kept))
    for bound, release in zip(bounds, releases, strict=True):
        assert release.audit.is_satisfied
        assert release.certificate.is_optimal
        assert ll.verify_certificate(joint, bound, release.certificate)


@pytest.mark.parametrize("make", [ll.least_distortion, ll.subset_merging, ll.optimal_merging])
def test_every_mechanism_keeps_it(make):
    joint = ll.Joint.random(4, 10, seed=1)
    for criterion in (ll.EveryPrior(0.1, 0.5, 0.4), ll.EveryPrior(0.1, math.inf, 0.3)):
        release = make(joint, criterion)
        assert release.audit.is_satisfied
        if make is ll.least_distortion:
            assert release.certificate.gap < 1e-6
            assert ll.verify_certificate(joint, criterion, release.certificate)


def test_a_forged_bound_is_refused():
    joint, criterion = ll.Joint.random(3, 9, seed=4), ll.EveryPrior(0.1, 0.4, 0.4)
    certificate = ll.random_response(joint, criterion).certificate
    tighter = ll.random_response(joint, ll.EveryPrior(0.1, 0.3, 0.3)).certificate
    assert ll.verify_certificate(joint, criterion, certificate)
    assert not ll.verify_certificate(joint, criterion, tighter)


def test_for_the_population_it_allows_what_ldp_allows():
    joint = ll.Joint.from_counts([[4000, 6000], [6000, 4000]])
    channel = ll.Channel.identity(joint)
    for epsilon in (0.4, 0.9):
        found = [
            ll.audit(joint, channel, ll.Population(bound)).is_satisfied
            for bound in (ll.LDP(epsilon), ll.EveryPrior(0.1, epsilon, 9))
        ]
        assert found[0] is found[1]


def test_more_than_an_even_share_is_refused():
    joint = ll.Joint.random(4, 5, seed=0)
    with pytest.raises(InvalidInput, match=r"at_least must be at most 1/4.*got 0.3"):
        ll.audit(joint, ll.Channel.identity(joint), ll.EveryPrior(0.3, 1, 1))


def test_it_is_written_and_read():
    criterion = ll.EveryPrior(0.05, math.inf, 0.5)
    assert from_dict(to_dict(criterion)) == criterion
    assert to_dict(criterion) == {
        "name": "EveryPrior",
        "at_least": 0.05,
        "lower": "inf",
        "upper": 0.5,
    }
