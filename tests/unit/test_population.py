"""The region of populations: limits against exact tails, rows against brute force, the audit."""

import json
import math
import pickle
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, betaincc, ndtri

import lowlift as ll
from lowlift._population.limits import lower_limits, normal_tail, radius, upper_limits
from lowlift._population.region import Row
from lowlift._population.rows import Between, _box, population_region, region_of
from lowlift.criteria import from_dict, to_dict

LEVELS = (0.5, 0.05, 1e-3, 1e-6)
DRAWS = [(0, 1), (1, 1), (0, 7), (3, 7), (7, 7), (1, 1000), (999, 1000), (420, 1000)]
MANY = [(0, 10**6), (1, 10**6), (17, 10**6), (333_333, 10**6), (10**6 - 1, 10**6), (10**6, 10**6)]


def sum_from(hits: int, draws: int, p: float, step: int) -> mpmath.mpf:
    """Return P(at most so many successes) for step -1, P(at least) for 1, to 25 digits."""
    with mpmath.workdps(40):
        p = mpmath.mpf(p)
        if p in (0, 1):
            return mpmath.mpf(1 if hits == draws * p else 0)
        term = mpmath.exp(
            mpmath.loggamma(draws + 1) - mpmath.loggamma(hits + 1)
            - mpmath.loggamma(draws - hits + 1)
            + hits * mpmath.log(p) + (draws - hits) * mpmath.log(1 - p)
        )  # fmt: skip
        odds, total, k = p / (1 - p), mpmath.mpf(0), hits
        while 0 <= k <= draws and term > total * mpmath.mpf(10) ** -28:
            total += term
            term *= (draws - k) * odds / (k + 1) if step > 0 else k / odds / (draws - k + 1)
            k += step
        return total


def exact_tail(hits: int, draws: int, p: Fraction) -> Fraction:
    return sum(
        (math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(hits + 1)), Fraction(0)
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("hits", "draws"), DRAWS + MANY)
def test_limits_are_outside_the_exact_ones_and_close_to_them(hits, draws, level):
    high = float(upper_limits(np.array([float(hits)]), float(draws), level)[0])
    low = float(lower_limits(np.array([float(hits)]), float(draws), level)[0])
    assert (high == 1.0) if hits == draws else sum_from(hits, draws, high, -1) <= level
    assert (low == 0.0) if hits == 0 else sum_from(hits, draws, low, 1) <= level
    share = hits / draws
    if hits < draws:  # a little further in, the limit would be too narrow
        assert sum_from(hits, draws, high + 1e-3 * (share - high), -1) > 0.99 * level
    if hits > 0:
        assert sum_from(hits, draws, low + 1e-3 * (share - low), 1) > 0.99 * level


def test_limits_of_few_draws_hold_in_rationals():
    for draws in (1, 5, 12):
        hits = np.arange(draws + 1.0)
        for level in LEVELS:
            highs, lows = upper_limits(hits, draws, level), lower_limits(hits, draws, level)
            for k in range(draws):
                assert exact_tail(k, draws, Fraction(highs[k])) <= Fraction(level)
                assert 1 - exact_tail(k, draws, Fraction(lows[k + 1])) <= Fraction(level)


@pytest.mark.parametrize("draws", [12, 2201, 1_000_000])
def test_limits_at_many_levels_are_outside_the_exact_ones_and_near_those_found_alone(draws):
    levels = np.array([normal_tail(4.2 * math.sqrt((g + 1) / 60)) for g in range(60)])
    hits = np.array([0.0, 1.0, 4.0, draws // 100 + 1, draws - 1.0, draws])
    highs = upper_limits(hits, float(draws), levels[:, None])
    lows = lower_limits(hits, float(draws), levels[:, None])
    for g in range(0, 60, 8):
        level = float(levels[g])
        assert highs[g] == pytest.approx(upper_limits(hits, float(draws), level), rel=1e-4)
        assert lows[g] == pytest.approx(lower_limits(hits, float(draws), level), rel=1e-4)
        for k, high, low in zip(hits.astype(int).tolist(), highs[g], lows[g], strict=True):
            assert k == draws or sum_from(k, draws, high, -1) <= level
            assert k == 0 or sum_from(k, draws, low, 1) <= level


def test_limits_of_more_draws_than_the_library_takes_are_wider():
    few, many = 2.0**36, 2.0**37
    for k in (0.0, 1000.0):
        narrow = upper_limits(np.array([k / 2]), few, 1e-3)[0] * few
        assert upper_limits(np.array([k]), many, 1e-3)[0] * many > narrow
        assert lower_limits(np.array([k]), many, 1e-3)[0] == 0.0


def test_radius_leaves_the_error_outside():
    for error in (0.2, 0.05, 1e-3, 1e-9):
        size = radius(error)
        with mpmath.workdps(30):
            outside = mpmath.erfc(size / mpmath.sqrt(2)) / 2 + mpmath.exp(-(size**2) / 2) / 4
        assert error * (1 - 1e-6) < outside <= error


def decided_by_search(row: Row, weights: list[int]) -> bool:
    """Decide a row by trying every corner, and points between and beyond, in rationals."""
    corners = sorted({Fraction(0), *map(Fraction, weights)})
    tried = [*corners, *((a + b) / 2 for a, b in pairwise(corners)), 2 * corners[-1]]
    rows = list(zip(row.upper, row.lower, weights, strict=True))
    return any(
        sum(max(u * (w - t), v * (t - w)) for u, v, w in rows) <= t * row.gain for t in tried
    )


def test_a_row_is_decided_as_by_trying_every_t():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(3000):
        n = int(rng.integers(1, 6))
        low = rng.integers(-5, 10, n)
        row = Row((low + rng.integers(0, 8, n)).tolist(), (-low).tolist(), int(rng.integers(0, 12)))
        weights = rng.integers(0, 5, n)
        if not weights.any():
            continue
        pairs = sorted((int(w), x) for x, w in enumerate(weights) if w)
        # A sum of lower ends below the gain would make the left side fall for ever.
        if row.total < row.gain:
            continue
        expected = decided_by_search(row, weights.tolist())
        assert row.allows(pairs) is expected
        seen.add(expected)
    assert seen == {True, False}


STEPS = 14


def simplex(n: int) -> np.ndarray:
    return np.array([p for p in product(range(STEPS + 1), repeat=n) if sum(p) == STEPS])


def furthest(counts: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the largest radius of (a_x, b_x) in normal scores, per population: (k, |X|) twice.

    An independent reading of the region's definition.
    """
    out = np.zeros(len(a))
    for x in range(counts.shape[1]):
        (k, j), (n_a, n_b) = counts[:, x], counts.sum(axis=1)
        high_a, low_a = scores(k, n_a, a[:, x])
        high_b, low_b = scores(j, n_b, b[:, x])
        out = np.maximum(out, np.maximum(np.hypot(high_a, low_b), np.hypot(low_a, high_b)))
    return out


def scores(hits: int, draws: int, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positive normal scores of p being too high, and too low, for the hits."""
    values, which = np.unique(p, return_inverse=True)
    below = betaincc(hits + 1, draws - hits, values) if hits < draws else np.ones(len(values))
    above = betainc(hits, draws - hits + 1, values) if hits else np.ones(len(values))
    both = (np.maximum(-ndtri(np.clip(t, 1e-300, 1 - 1e-16)), 0.0)[which] for t in (below, above))
    return tuple(both)


def is_prior(counts: np.ndarray, error: float, pi: float) -> bool:
    n_a, n_b = counts.sum(axis=1)
    each = 0.1 * error / 2
    return betainc(n_a, n_b + 1, pi) >= each and betaincc(n_a + 1, n_b, pi) >= each


TABLES = [[[9, 4, 3], [5, 9, 8]], [[40, 25, 30], [60, 90, 80]], [[12, 0, 3], [20, 31, 2]]]
BOUNDS = [ll.LIP(0.5), ll.ALIP(1.2, 0.4), ll.MaxLift(0.4), ll.L1Lift(math.inf, 0.3),
          ll.Chi2Lift(math.inf, 0.4), ll.LDP(0.9)]  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=["few", "more", "zeros"])
def test_no_population_of_the_region_breaks_an_accepted_column(table):
    counts, error = np.array(table), 0.4  # a narrow region, so that columns are accepted
    points = simplex(3) / STEPS
    a, b = (part.reshape(-1, 3) for part in np.broadcast_arrays(points[:, None], points[None]))
    distance = furthest(counts, a, b)
    rng = np.random.default_rng(1)
    tried = [*product(range(4), repeat=3), *rng.integers(1, 200, (100, 3)).tolist()]
    compared = 0
    for bound in BOUNDS:
        is_ratio = isinstance(bound, ll.LDP)
        region = region_of(counts, bound, 1 - error)
        chosen = [w for w in tried if any(w) and region.allows(*_positive(w))]
        weights = np.array([w for w in chosen if len(set(w)) > 1], float).reshape(-1, 3)
        inside = distance <= radius((1.0 if is_ratio else 0.9) * error / 6)
        assert inside.any()
        given_s = np.stack([a[inside] @ weights.T, b[inside] @ weights.T]).reshape(2, -1)
        given_s = given_s[:, given_s.max(axis=0) > 0]
        for pi in np.linspace(0.05, 0.95, 37):
            if not (is_ratio or is_prior(counts, error, pi)):
                continue
            p_s = np.array([pi, 1 - pi])
            low, high = bound.leakage(given_s / (p_s @ given_s), p_s)
            assert low.max(initial=0.0) <= bound.lower + 1e-9
            assert high.max(initial=0.0) <= bound.upper + 1e-9
            compared += given_s.shape[1]
    assert compared > 1000 or table is not TABLES[1]  # the test is not empty


def _positive(weights):
    members = [x for x, w in enumerate(weights) if w]
    return members, [int(weights[x]) for x in members]


def test_the_region_misses_the_population_no_more_often_than_it_may():
    rng = np.random.default_rng(3)
    truth = np.maximum(rng.dirichlet(np.full(24, 0.4)).reshape(2, 12), 1e-4)
    truth /= truth.sum()
    (pi, _), (a, b) = truth.sum(axis=1), truth / truth.sum(axis=1, keepdims=True)
    missed = 0
    for counts in rng.multinomial(400, truth.ravel(), 300).reshape(-1, 2, 12):
        is_far = furthest(counts, a[None], b[None])[0] > radius(0.9 * 0.2 / 24)
        missed += is_far or not is_prior(counts, 0.2, pi)
    assert missed <= 0.2 * 300


def test_the_constant_column_and_a_single_value_of_s_are_always_allowed():
    for bound in (*BOUNDS, ll.LIP(0.0)):
        region = region_of(np.array([[3, 0, 1], [0, 2, 2]]), bound, 0.999)
        assert region.allows([0, 1, 2], [7, 7, 7])
    assert not region.allows([0, 1, 2], [7, 7, 8])  # nothing else is at budget 0
    assert region_of(np.array([[3, 1]]), ll.LIP(0.0), 0.95).allows([0], [1])


def test_a_symbol_without_rows_has_limits_like_any_other():
    region = region_of(np.array([[300, 500, 0], [500, 300, 0]]), ll.LIP(0.7), 0.95)
    assert not region.allows([2], [1])
    assert region.allows([0, 2], [1, 1])


def test_more_rows_or_less_confidence_allow_more():
    counts = np.array([[40, 60], [60, 40]])
    decided = [region_of(counts * k, ll.LIP(0.5), 0.95).allows([0], [1]) for k in (1, 2, 5, 50)]
    assert decided == sorted(decided)
    assert decided[-1]
    assert not decided[0]
    sure = [region_of(counts * 5, ll.LIP(0.4), c).allows([0], [1]) for c in (0.9999, 0.95, 0.2)]
    assert sure == sorted(sure)


def test_l1_bounds_every_set_of_values():
    rng = np.random.default_rng(5)
    truth = np.array([[4, 3, 2], [3, 3, 3], [2, 3, 4.0]]) / 27
    counts = rng.multinomial(5000, truth.ravel()).reshape(3, 3)
    region = region_of(counts, ll.L1Lift(math.inf, 0.3), 0.95)
    assert len(region.rows) == 2**3 - 2
    assert region.allows([0], [1])
    assert not region_of(counts, ll.L1Lift(math.inf, 0.15), 0.95).allows([0], [1])


MEANS = [ll.L1Lift(0.5, 0.4), ll.L1Lift(math.inf, 0.3), ll.Chi2Lift(math.inf, 0.4),
         ll.Chi2Lift(0.3, 0.4), ll.Chi2Lift(0.9, math.inf), ll.AlphaLift(2, 0.6, 0.3),
         ll.AlphaLift(1.25, math.inf, 0.2), ll.AlphaLift(1, 0.5, 0.3),
         ll.AlphaLift(30, 0.4, 0.4)]  # fmt: skip


@pytest.mark.parametrize("bound", MEANS, ids=str)
def test_lifts_in_the_box_of_a_bound_on_a_mean_keep_it(bound):
    """With P(s) anywhere in its interval and lifts of mean 1 anywhere in the box, exactly."""
    rng = np.random.default_rng(2)
    at_edges = 0
    for n_s in (2, 3, 7):
        for _ in range(150):
            prior = rng.integers(1, 40, n_s)
            total = int(prior.sum())
            ends = [
                Between(Fraction(int(p), total) * f, min(Fraction(1), Fraction(int(p), total) / f))
                for p, f in zip(prior, [Fraction(int(k), 10) for k in rng.integers(6, 11, n_s)])  # noqa: B905 (as many)
            ]
            boxes = [_box(bound, n_s, end) for end in ends]
            low = np.array([0.0 if b[0] is None else max(0.0, float(b[0].high)) for b in boxes])
            high = np.array([1e3 if b[1] is None else float(b[1].low) for b in boxes])
            p_s = prior / total
            # A vertex of the box cut by "mean 1": all at an end but one.
            free, lift = int(rng.integers(n_s)), np.where(rng.random(n_s) < 0.5, low, high)
            rest = 1 - (p_s @ lift - p_s[free] * lift[free])
            lift[free] = rest / p_s[free]
            if not low[free] <= lift[free] <= high[free]:
                continue
            at_edges += 1
            sides = bound.leakage(lift[:, None], p_s)
            assert sides[0][0] <= bound.lower + 1e-9
            assert sides[1][0] <= bound.upper + 1e-9
    assert at_edges > 10


@pytest.mark.parametrize("bound", MEANS, ids=str)
def test_a_bound_on_a_mean_over_many_values_holds_in_the_population(bound):
    n_s, kept = (7 if bound == MEANS[1] else 3), []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet(np.full(4 * n_s, 3.0)).reshape(n_s, 4)
        joint = ll.Joint.from_counts(rng.multinomial(6000, truth.ravel()).reshape(n_s, 4))
        made = ll.random_response(joint, ll.Population(bound), gap=0.2, time_limit=2)
        assert made.audit.is_satisfied
        assert ll.audit(ll.Joint(truth), made.channel, bound).is_satisfied
        kept.append(made.audit.nmi)
    assert np.mean(kept) > 0.15


def test_a_share_of_beliefs_is_refused_in_a_sentence():
    joint = ll.Joint.from_counts([[1, 2], [2, 1], [3, 3]])
    bound = ll.AtMost({0: 0.5}, 2, share=0.5).on(joint)
    with pytest.raises(ll.InvalidInput, match="is not known for a share of its budgets"):
        ll.audit(joint, ll.Channel.identity(joint), ll.Population(bound))


# ---- the criterion


def test_the_audit_is_of_the_population():
    joint = ll.datasets.titanic()
    plain = ll.random_response(joint, ll.LIP(0.5))
    verdict = ll.audit(joint, plain.channel, ll.Population(ll.LIP(0.5)))
    assert not verdict.is_satisfied  # the optimum for the table lies on the bound
    assert verdict.is_certified
    assert verdict.violations
    constant = ll.Channel.from_blocks(joint, [list(range(joint.n_x))])
    assert ll.audit(joint, constant, ll.Population(ll.LIP(0.5))).is_satisfied


def test_beliefs_hold_for_the_population_or_are_refused():
    joint = ll.Joint.from_counts([[400, 600], [600, 400]], ["ill", "well"], ["a", "b"])
    channel = ll.Channel.identity(joint)
    decided = [
        ll.audit(joint, channel, ll.Population(ll.AtMost({"ill": belief}))).is_satisfied
        for belief in (0.61, 0.7)
    ]
    assert decided == [False, True]
    with pytest.raises(ll.Infeasible, match="P\\(s\\) may be"):
        ll.audit(joint, channel, ll.Population(ll.AtMost({"ill": 0.5})))


def test_probabilities_are_refused():
    joint = ll.Joint.random(2, 3, seed=0)
    for run in (
        lambda: ll.audit(joint, ll.Channel.identity(joint), ll.Population(ll.LIP(0.5))),
        lambda: ll.subset_merging(joint, ll.Population(ll.LIP(0.5))),
        lambda: ll.random_response(joint, ll.Population(ll.LIP(0.5))),
        lambda: ll.high_risk(joint, ll.Population(ll.LIP(0.5))),
    ):
        with pytest.raises(ll.InvalidInput, match="needs counted rows"):
            run()


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -1, math.nan, "0.95", True, None])
def test_a_confidence_outside_0_and_1_is_refused(confidence):
    with pytest.raises(ll.InvalidInput, match="confidence must lie between 0 and 1"):
        ll.Population(ll.LIP(0.5), confidence)


@pytest.mark.parametrize("bound", [None, 0.5, ll.LIP, ll.Population(ll.LIP(0.5))])
def test_what_is_no_plain_criterion_is_refused(bound):
    with pytest.raises(ll.InvalidInput, match="Population must be given one of lowlift's"):
        ll.Population(bound)


def test_lifts_alone_decide_nothing():
    criterion = ll.Population(ll.LIP(0.5))
    for run in (
        lambda: criterion.verdict([1, 1], [1, 1]),
        lambda: criterion.half_spaces(np.array([0.5, 0.5])),
        lambda: criterion.cut(np.ones(2), np.array([0.5, 0.5])),
        lambda: criterion.screen(np.ones((2, 1)), np.array([0.5, 0.5]), 1e-12),
    ):
        with pytest.raises(ll.InvalidInput, match="must be judged on the counts and the channel"):
            run()


def test_the_criterion_is_saved_with_its_confidence():
    criterion = ll.Population(ll.ALIP(0.5, math.inf), 0.9)
    assert from_dict(json.loads(json.dumps(to_dict(criterion)))) == criterion
    assert pickle.loads(pickle.dumps(criterion)) == criterion
    assert criterion.scaled(2.0) == ll.Population(ll.ALIP(1.0, math.inf), 0.9)
    assert criterion.shifted(0.1).criterion.lower == pytest.approx(0.6)
    assert hash(criterion) == hash(ll.Population(ll.ALIP(0.5, math.inf), 0.9))


def test_a_release_for_the_population_is_saved_and_decided_anew(tmp_path):
    joint = ll.datasets.titanic()
    criterion = ll.Population(ll.LIP(1.0), 0.9)
    release = ll.subset_merging(joint, criterion)
    assert release.audit.is_satisfied
    release.to_json(tmp_path / "release.json")
    again = ll.Release.from_json(tmp_path / "release.json")
    assert again.criterion == criterion
    assert again.audit.is_satisfied
    changed = json.loads((tmp_path / "release.json").read_text())
    changed["criterion"]["confidence"] = 1 - 1e-12
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    with pytest.raises(ll.InvalidInput, match="disagrees"):
        ll.Release.from_json(tmp_path / "changed.json")
    for confidence in (1, 0, "0.9"):
        changed["criterion"]["confidence"] = confidence
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        with pytest.raises(ll.InvalidInput):
            ll.Release.from_json(tmp_path / "changed.json")


def test_the_region_of_a_joint_is_made_once():
    joint = ll.datasets.titanic()
    criterion = ll.Population(ll.LIP(0.5))
    assert population_region(joint, criterion) is population_region(joint, criterion)


def test_several_releases_are_audited_together_for_the_population():
    from lowlift.composition import audit_together

    joint = ll.datasets.titanic()
    criterion = ll.Population(ll.LIP(0.6))
    release = ll.subset_merging(joint, criterion)
    both = audit_together(joint, [release.channel, release.channel], criterion)
    assert both.is_satisfied  # the same blocks twice say no more than once
    other = ll.Channel.identity(joint)
    assert not audit_together(joint, [release.channel, other], criterion).is_satisfied


def test_normal_tail_is_that_of_the_normal_distribution():
    assert normal_tail(1.959963984540054) == pytest.approx(0.025, rel=1e-12)
