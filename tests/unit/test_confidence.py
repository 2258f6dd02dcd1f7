"""Intervals for the lifts of a population: they hold, they narrow, and zeros are seen."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lowlift as ll
from lowlift._population.limits import radius
from lowlift.confidence import LiftIntervals, clopper_pearson, lift_intervals, smallest_sample
from lowlift.errors import InvalidInput

INF = math.inf
JOINT = ll.Joint.from_counts([[40, 60, 30], [60, 40, 70], [25, 30, 45]], x_labels="abc")
POPULATION = np.array([[0.12, 0.08, 0.15], [0.05, 0.1, 0.1], [0.13, 0.17, 0.1]])
MERGED = ll.Channel([[1, 0], [1, 0], [0, 1]])
NOISY = ll.Channel([[3, 1, 4], [1, 3, 4], [0, 4, 4]])
CRITERIA = [
    ll.LIP(0.4),
    ll.ALIP(0.7, 0.4),
    ll.MaxLift(0.5),
    ll.LDP(0.8),
    ll.L1Lift(0.5, 0.3),
    ll.L1Lift(INF, 0.3),
    ll.Chi2Lift(0.5, 0.3),
    ll.AlphaLift(2, 0.3, 0.2),
    ll.AlphaLift(1, 0.3, 0.2),
    ll.AlphaLift(INF, 0.4, 0.4),
]


def identity(n_x):
    return ll.Channel(np.eye(n_x, dtype=int))


@given(st.integers(1, 3000), st.data(), st.sampled_from([0.3, 0.05, 1e-4, 1e-9]))
def test_clopper_pearson_is_the_quantile_of_the_beta_distribution(n, data, error):
    k = data.draw(st.integers(0, n))
    low, high = clopper_pearson(np.array([float(k)]), np.array([float(n)]), error)
    expected_low = 0.0 if k == 0 else stats.beta.ppf(error / 2, k, n - k + 1)
    expected_high = 1.0 if k == n else stats.beta.isf(error / 2, k + 1, n - k)
    assert low[0] == pytest.approx(expected_low, rel=1e-9)
    assert high[0] == pytest.approx(expected_high, rel=1e-9)
    assert low[0] <= k / n <= high[0]


@pytest.mark.parametrize("p", [0.001, 0.02, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_clopper_pearson_covers_every_probability(p, n):
    k = np.arange(n + 1.0)
    low, high = clopper_pearson(k, np.full(n + 1, float(n)), 0.05)
    covered = stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum()
    assert covered >= 0.95
    # The mirror: k of n and n - k of n have mirrored intervals.
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)


@pytest.mark.parametrize("bits", [36, 37, 44, 52, 60, 80, 120])
def test_clopper_pearson_is_wide_enough_for_very_many_draws(bits):
    """The normal quantile is nearly exact here; scipy's beta quantile is NaN or too narrow."""
    n = 2.0**bits
    share = np.concatenate([[0.0], np.logspace(-5, -0.01, 50), [1.0]])
    k = np.round(share * n)
    for error in (0.05, 1e-6):
        low, high = clopper_pearson(k, np.full(k.shape, n), error)
        half = stats.norm.isf(error / 2) * np.sqrt(share * (1 - share) / n)
        assert (low <= np.maximum(share - 0.99 * half, 0)).all()
        assert (high >= np.minimum(share + 0.99 * half, 1)).all()
        assert low[0] == 0
        assert high[-1] == 1
        assert (high - low <= 6 / np.sqrt(n) + 1e-14).all()


def test_the_ends_are_those_of_the_region():
    """For symbols alone: the largest and least a / b on a quarter disc of normal scores."""
    joint = ll.Joint.from_counts([[30, 20, 50], [40, 60, 20]])
    found = lift_intervals(joint, identity(3))
    size = radius(0.9 * 0.05 / 6)
    p_low, p_high = clopper_pearson(np.array([100.0]), np.array([220.0]), 0.1 * 0.05)
    angles = np.linspace(0, np.pi / 2, 400)
    for x, (k, j) in enumerate(joint.counts.T):
        a = stats.beta.isf(stats.norm.sf(size * np.cos(angles)), k + 1, 100 - k)
        b = stats.beta.ppf(stats.norm.sf(size * np.sin(angles)), j, 120 - j + 1)
        ratio = (a / b).max()
        best = max(ratio / (p * ratio + 1 - p) for p in (p_low[0], p_high[0]))
        assert best <= found.high[0, x] <= 1.03 * best
    assert found.n_rows == 220
    assert found.zero_cells == 0
    assert not found.is_mixed.any()
    assert not found.is_constant.any()
    assert "|S|=2 |Y|=3" in repr(found)


def test_outputs_say_whether_they_mix():
    found = lift_intervals(JOINT, NOISY)
    assert found.is_mixed.tolist() == [True, True, False]
    assert found.is_constant.tolist() == [False, False, True]
    assert found.low[:, 2].tolist() == found.high[:, 2].tolist() == [1, 1, 1]


def test_outputs_of_equal_weights_are_their_block():
    """A block with two outputs of other names tells nothing more."""
    split = ll.Channel([[1, 3, 0], [1, 3, 0], [0, 0, 4]])
    found, merged = lift_intervals(JOINT, split), lift_intervals(JOINT, MERGED)
    assert not found.is_mixed.any()
    np.testing.assert_array_equal(found.low, merged.low[:, [0, 0, 1]])
    np.testing.assert_array_equal(found.high, merged.high[:, [0, 0, 1]])


def test_a_constant_output_has_lift_one_in_every_population():
    found = lift_intervals(JOINT, ll.Channel([[1], [1], [1]]))
    assert found.low.tolist() == found.high.tolist() == [[1], [1], [1]]
    for criterion in (ll.LIP(0), ll.LDP(0), ll.L1Lift(0, 0), ll.AlphaLift(2, 0, 0)):
        assert found.supports(criterion) is True
    assert smallest_sample(JOINT, ll.Channel([[1], [1], [1]]), ll.LIP(0)) == 400


@pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")
def test_one_sensitive_value_has_lift_one():
    joint = ll.Joint.from_counts([[3, 4]])
    found = lift_intervals(joint, identity(2))
    assert found.low.tolist() == found.high.tolist() == [[1, 1]]
    assert found.supports(ll.LIP(0)) is True


def test_the_counted_lifts_are_inside():
    for channel in (MERGED, NOISY, identity(3)):
        found = lift_intervals(JOINT, channel)
        lift = ll.audit(JOINT, channel, ll.LIP(1)).lift
        assert (found.low <= lift + 1e-12).all()
        assert (lift <= found.high + 1e-12).all()


def draws(rng, rows, times):
    """Yield counts of samples that have every symbol."""
    for counts in rng.multinomial(rows, POPULATION.ravel(), times):
        table = counts.reshape(POPULATION.shape)
        if table.any(axis=0).all() and table.any(axis=1).all():
            yield table


@pytest.mark.parametrize("rows", [30, 300, 3000])
@pytest.mark.parametrize("channel", [MERGED, identity(3)], ids=["merged", "identity"])
def test_all_lifts_are_covered_at_once(channel, rows):
    """At least 95% of the samples, within three standard errors of 150 trials."""
    truth = ll.audit(ll.Joint(POPULATION), channel, ll.LIP(1)).lift
    covered = []
    for table in draws(np.random.default_rng(rows), rows, 150):
        found = lift_intervals(ll.Joint.from_counts(table), channel)
        covered.append(((found.low <= truth) & (truth <= found.high)).all())
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / len(covered))


@pytest.mark.parametrize("rows", [100, 1000])
def test_lifts_of_mixed_outputs_are_covered(rows):
    truth = ll.audit(ll.Joint(POPULATION), NOISY, ll.LIP(1)).lift
    covered = []
    for table in draws(np.random.default_rng(rows), rows, 100):
        found = lift_intervals(ll.Joint.from_counts(table), NOISY)
        covered.append(((found.low <= truth) & (truth <= found.high)).all())
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / len(covered))


def test_lifts_of_a_channel_fitted_to_the_same_rows_are_covered():
    """The channel is the optimum for the sample, whose small lifts are chosen by chance."""
    truth = ll.datasets.titanic().p_sx
    rng, covered = np.random.default_rng(2), []
    for counts in rng.multinomial(2201, truth.ravel(), 40).reshape(-1, *truth.shape):
        seen = counts.sum(axis=0) > 0
        joint = ll.Joint.from_counts(counts[:, seen])
        channel = ll.random_response(joint, ll.LIP(0.5)).channel
        population = ll.Joint(truth[:, seen] / truth[:, seen].sum())
        lift = ll.audit(population, channel, ll.LIP(1)).lift
        found = lift_intervals(joint, channel)
        covered.append(((found.low <= lift) & (lift <= found.high)).all())
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize("channel", [MERGED, NOISY, identity(3)])
def test_more_rows_of_the_same_shares_narrow_every_interval(channel):
    before = lift_intervals(JOINT, channel)
    for factor in (2, 10, 1000, 10**9):
        after = lift_intervals(ll.Joint.from_counts(JOINT.counts * factor), channel)
        uncertain = ~before.is_constant
        assert (after.low > before.low)[:, uncertain].all()
        assert (after.high < before.high)[:, uncertain].all()
        before = after
    lift = ll.audit(JOINT, channel, ll.LIP(1)).lift
    np.testing.assert_allclose(before.low, lift, rtol=1e-4)
    np.testing.assert_allclose(before.high, lift, rtol=1e-4)


def test_a_higher_level_widens_every_interval():
    narrow, wide = (lift_intervals(JOINT, NOISY, level) for level in (0.9, 0.99))
    assert (wide.low < narrow.low)[:, :2].all()
    assert (wide.high > narrow.high)[:, :2].all()
    assert (narrow.level, wide.level) == (0.9, 0.99)


def test_zero_cells_are_reported_and_have_the_lower_end_zero():
    joint = ll.Joint.from_counts([[0, 500, 500], [500, 500, 0]])
    found = lift_intervals(joint, identity(3))
    assert found.zero_cells == 2
    assert found.low[0, 0] == found.low[1, 2] == 0
    assert found.high[0, 0] > 0
    assert found.supports(ll.LIP(100.0)) is False
    assert found.leakage(ll.LIP(1.0)).lower == INF
    assert found.supports(ll.MaxLift(2.0)) is True
    assert "2 pair(s)" in found.note
    assert smallest_sample(joint, identity(3), ll.LIP(5.0)) is None
    merged = lift_intervals(joint, ll.Channel([[1, 0], [0, 1], [1, 0]]))
    assert merged.zero_cells == 2  # of the table, whatever is merged
    assert (merged.low > 0).all()


def test_a_table_too_small_does_not_support_what_the_audit_allows():
    criterion = ll.LIP(0.7)
    assert ll.audit(JOINT, MERGED, criterion).is_satisfied
    assert lift_intervals(JOINT, MERGED).supports(criterion) is False
    enough = smallest_sample(JOINT, MERGED, criterion)
    assert 400 < enough < 4000
    factor = math.ceil(enough / 400)
    assert lift_intervals(ll.Joint.from_counts(JOINT.counts * factor), MERGED).supports(criterion)
    assert smallest_sample(JOINT, MERGED, ll.LIP(2.0)) == 400


def test_no_sample_supports_a_bound_that_is_met_or_broken():
    assert smallest_sample(JOINT, MERGED, ll.LIP(0.01)) is None
    joint = ll.Joint.from_counts([[1, 1], [1, 1]])
    assert smallest_sample(joint, identity(2), ll.LIP(0)) is None


def box_points(found, rng, times):
    """Yield lifts and P(s) inside the intervals, corners among them."""
    shape = found.low.shape
    for _ in range(times):
        where = rng.choice([0.0, 1.0, rng.random()], shape)
        lift = found.low + where * (found.high - found.low)
        p_s = found.p_s_low + rng.random(shape[0]) * (found.p_s_high - found.p_s_low)
        total = p_s.sum()
        room = found.p_s_high - p_s if total < 1 else p_s - found.p_s_low
        p_s = p_s + (1 - total) * room / room.sum()
        yield lift, p_s


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("channel", [MERGED, NOISY], ids=["merged", "noisy"])
def test_no_lifts_in_the_intervals_leak_more_than_is_said(criterion, channel):
    found = lift_intervals(JOINT, channel)
    most = found.leakage(criterion)
    rng = np.random.default_rng(0)
    for lift, p_s in box_points(found, rng, 300):
        lower, upper = criterion.leakage(lift, p_s)
        assert lower.max() <= most.lower + 1e-9
        assert upper.max() <= most.upper + 1e-9
    assert found.supports(criterion) is (
        most.lower <= criterion.lower and most.upper <= criterion.upper
    )


def test_ldp_takes_the_largest_over_the_smallest_of_another():
    rng = np.random.default_rng(3)
    for _ in range(50):
        low = rng.integers(1, 5, (3, 2)) / 4
        high = low + rng.integers(0, 5, (3, 2)) / 4
        found = LiftIntervals(
            low, high, np.full(3, 0.3), np.full(3, 0.4), np.zeros(2, bool), np.zeros(2, bool),
            0.95, 1, 0,
        )  # fmt: skip
        expected = max(
            math.log(high[s, y] / low[t, y])
            for y in range(2)
            for s in range(3)
            for t in range(3)
            if s != t
        )
        assert found.leakage(ll.LDP(1.0)).upper == pytest.approx(max(0, expected), abs=1e-12)


class Mine:
    lower, upper = INF, 1.0

    def leakage(self, lift_sy, p_s):
        return np.zeros(lift_sy.shape[1]), np.log(lift_sy.max(axis=0))

    def risk(self, lift_sy, p_s):
        return np.log(lift_sy.max(axis=0))


def test_of_a_criterion_that_is_not_built_in_nothing_is_said():
    found = lift_intervals(JOINT, MERGED)
    assert found.supports(Mine()) is None
    with pytest.raises(InvalidInput, match="built-in criteria only; got Mine"):
        found.leakage(Mine())


def test_the_note_says_when_the_audit_is_exact():
    note = lift_intervals(JOINT, MERGED).note
    assert note.startswith("If the table is the whole population the audit is exact.")
    assert "confidence 0.95" in note
    assert "also for a channel that was chosen with the same rows" in note


def test_large_counts_and_many_symbols():
    huge = ll.Joint.from_counts([[2**70, 2**71], [2**71, 2**70]])
    found = lift_intervals(huge, identity(2))
    np.testing.assert_allclose(found.low, found.high, rtol=1e-5)
    rng = np.random.default_rng(0)
    wide = ll.Joint.from_counts(rng.integers(1, 50, (4, 3000)))
    assert lift_intervals(wide, identity(3000)).low.shape == (4, 3000)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match=r"made of probabilities\. Use Joint\.from_counts"):
        lift_intervals(ll.Joint(POPULATION), MERGED)
    with pytest.raises(InvalidInput, match="channel must be a Channel; got list"):
        lift_intervals(JOINT, [[1], [1], [1]])
    with pytest.raises(InvalidInput, match="same X"):
        lift_intervals(JOINT, identity(2))
    for level in (0, 1, -0.5, 95, "0.95", True, None, math.nan):
        with pytest.raises(InvalidInput, match="level must lie between 0 and 1"):
            lift_intervals(JOINT, MERGED, level)
        with pytest.raises(InvalidInput, match="level must lie between 0 and 1"):
            smallest_sample(JOINT, MERGED, ll.LIP(1), level)
    with pytest.raises(InvalidInput, match="built-in"):
        smallest_sample(JOINT, MERGED, Mine())
