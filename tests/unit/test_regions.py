"""Half-spaces and cuts hold on the whole region, and cut off what is outside."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

INF = math.inf
CONVEX = [
    ll.LIP(0.3), ll.ALIP(0.5, 0.2), ll.ALIP(0.5, INF), ll.ALIP(INF, 0.2), ll.MaxLift(0.3),
    ll.LDP(0.6), ll.L1Lift(INF, 0.2), ll.Chi2Lift(INF, 0.2), ll.AlphaLift(1, 0.1, 0.2),
    ll.AlphaLift(2, 0.2, 0.1), ll.AlphaLift(2.5, INF, 0.2), ll.AlphaLift(50, 0.3, INF),
    ll.AlphaLift(1000, 0.3, 0.2), ll.AlphaLift(INF, 0.3, 0.2), ll.BetaLikeness(0.3),
    ll.DeltaDisclosure(0.3), ll.DeltaDisclosure(0.5, "bits"), ll.TCloseness(0.1),
    ll.EveryPrior(0.1, 0.5, 0.4), ll.EveryPrior(0.25, INF, 0.4), ll.EveryPrior(0.0, 0.5, INF),
]  # fmt: skip


def sides(criterion, seed, n_s=4, count=300):
    """Return random lift vectors that are allowed, ones that are not, and P(s)."""
    rng = np.random.default_rng(seed)
    p_s = rng.dirichlet(np.full(n_s, 3.0))
    posterior = rng.dirichlet(np.ones(n_s), count)
    lift = (p_s + rng.random((count, 1)) ** 3 * (posterior - p_s)) / p_s
    low, high = criterion.leakage(lift.T, p_s)
    inside = (low <= criterion.lower - 1e-9) & (high <= criterion.upper - 1e-9)
    outside = (low > criterion.lower + 1e-9) | (high > criterion.upper + 1e-9)
    return lift[inside], lift[outside], p_s


def violated(spaces, lift):
    return spaces.normals @ lift > spaces.offsets


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_allowed_lifts_satisfy_every_half_space_and_cut(criterion):
    for seed in range(3):
        inside, outside, p_s = sides(criterion, seed)
        assert len(inside) > 10
        assert len(outside) > 10
        cuts = [criterion.cut(lift, p_s) for lift in outside[:40]]
        for spaces in [criterion.half_spaces(p_s), *cuts]:
            excess = inside @ spaces.normals.T - spaces.offsets
            assert (excess <= 1e-10 * (1 + np.abs(spaces.offsets))).all()


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_half_spaces_and_cut_exclude_what_is_not_allowed(criterion):
    for seed in range(3):
        _, outside, p_s = sides(criterion, seed)
        box = criterion.half_spaces(p_s)
        for lift in outside:
            cut = criterion.cut(lift, p_s)
            assert violated(box, lift).any() or violated(cut, lift).any()


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_cut_alone_excludes_what_is_not_allowed(criterion):
    # The protocol: "half-spaces that hold on the region, at least one of which it violates".
    _, outside, p_s = sides(criterion, 0)
    for lift in outside:
        assert violated(criterion.cut(lift, p_s), lift).any()


@pytest.mark.parametrize("criterion", [c for c in CONVEX if c.lower < INF], ids=str)
def test_cut_excludes_a_zero_lift(criterion):
    p_s, lift = np.array([0.25, 0.75]), np.array([0.0, 4 / 3])
    assert violated(criterion.cut(lift, p_s), lift).any()


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_cut_of_an_allowed_lift_excludes_nothing_of_it(criterion):
    inside, _, p_s = sides(criterion, 1)
    for lift in [np.ones(len(p_s)), *inside[:20]]:
        assert not violated(criterion.cut(lift, p_s), lift).any()
        assert not violated(criterion.half_spaces(p_s), lift).any()


@pytest.mark.parametrize("criterion", [ll.L1Lift(0.3, 0.2), ll.Chi2Lift(0.3, INF)], ids=str)
def test_regions_that_are_not_convex_say_so(criterion):
    assert not criterion.is_convex
    for ask in (criterion.half_spaces, lambda p_s: criterion.cut(np.ones(2), p_s)):
        with pytest.raises(InvalidInput, match=r"is not convex.*Use lower=math\.inf"):
            ask(np.array([0.5, 0.5]))


@pytest.mark.parametrize(
    ("criterion", "p_s", "lifts"),
    [
        # The examples of the docstrings: allowed outputs whose mixture is not allowed.
        (ll.L1Lift, (0.166, 0.622, 0.212), ((0.952, 0.678, 1.984), (2.282, 0.66, 0.992))),
        (
            ll.Chi2Lift,
            (0.8017, 0.1353, 0.0629),
            ((0.7129, 1.2418, 4.1396), (0.7198, 2.6166, 1.0931)),
        ),
    ],
)
def test_lower_sides_that_are_not_convex_are_indeed_not(criterion, p_s, lifts):
    one, two = np.array(lifts)
    columns = np.stack([one, two, 0.5 * one + 0.5 * two], axis=1)
    low = criterion(1, 1).leakage(columns, np.array(p_s))[0]
    assert low[2] > max(low[0], low[1])


@pytest.mark.parametrize("make", [ll.LIP, ll.LDP, ll.MaxLift, lambda b: ll.AlphaLift(2, b, b)])
@pytest.mark.parametrize("budget", [0.0, 1.0, 690.0, 709.0, 1e4, INF])
def test_half_spaces_are_finite_at_every_budget(make, budget):
    spaces = make(budget).half_spaces(np.array([0.1, 0.9]))
    assert np.isfinite(spaces.normals).all()
    assert np.isfinite(spaces.offsets).all()
    assert not violated(spaces, np.ones(2)).any()


@pytest.mark.parametrize(
    ("criterion", "p_s"),
    [
        (ll.AlphaLift(1, 1.0, INF), [1e-6, 1 - 1e-6]),
        (ll.Chi2Lift(INF, INF), [1.0]),
        (ll.L1Lift(INF, INF), [1.0]),
        (ll.AlphaLift(INF, INF, INF), [1.0]),
    ],
    ids=str,
)
def test_half_spaces_at_rare_s_do_not_warn(criterion, p_s):
    spaces = criterion.half_spaces(np.array(p_s))
    assert np.isfinite(spaces.offsets).all()
    assert not violated(spaces, np.ones(len(p_s))).any()
