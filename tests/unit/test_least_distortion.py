"""Least distortion: the optimum against other solvers, its proof, the law, limits, bad input."""

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import lowlift as ll
from json_schema import faults
from lowlift import schemas
from lowlift._distortion.proof import Proof, proven_bound, rounded_outward
from lowlift._distortion.weights import Weights
from oracles import rational
from strategies import joint_of, positive_counts, tiny_probabilities

INF = math.inf
CONVEX = (
    ll.LIP(0.3),
    ll.ALIP(0.2, 0.6),
    ll.MaxLift(0.4),
    ll.LDP(0.5),
    ll.L1Lift(INF, 0.2),
    ll.Chi2Lift(INF, 0.2),
    ll.AlphaLift(2.0, 0.1, 0.1),
)
LINEAR = CONVEX[:4]


def distances(n, seed):
    return np.random.default_rng(seed).random((n, n))


def optimum(joint, criterion, distance, *, keep_law=True):
    """Return the least mean distance by SciPy, over all pairs at once."""
    m, p, lift = joint.n_x, joint.p_x, joint.lift
    low, high = math.exp(-criterion.lower), math.exp(criterion.upper)
    rows, ends = [], []
    for d in range(m):
        sides = [(lift[s] - high) for s in range(joint.n_s)]
        if criterion.lower < INF:
            sides += [low - lift[s] for s in range(joint.n_s)]
        if isinstance(criterion, ll.LDP):
            sides = [
                lift[s] - high * lift[t]
                for s in range(joint.n_s)
                for t in range(joint.n_s)
                if s != t
            ]
        for side in sides:
            row = np.zeros((m, m))
            row[:, d] = side
            rows.append(row.ravel())
            ends.append(0.0)
    equal = [np.kron(np.eye(m)[c], np.ones(m)) for c in range(m)]
    right = list(p)
    if keep_law:
        equal += [np.kron(np.ones(m), np.eye(m)[d]) for d in range(m)]
        right += list(p)
    found = linprog(
        distance.ravel(), np.array(rows), ends, np.array(equal), right, method="highs-ds"
    )
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("keep_law", [True, False])
@pytest.mark.parametrize("criterion", LINEAR, ids=str)
@pytest.mark.parametrize("n_s", [2, 3])
def test_it_finds_what_another_solver_finds(criterion, keep_law, n_s):
    joint, distance = ll.Joint.random(n_s, 9, seed=1), distances(9, 2)
    release = ll.least_distortion(joint, criterion, distance, keep_law=keep_law)
    expected = optimum(joint, criterion, distance, keep_law=keep_law)
    found = release.certificate
    assert found.distortion == pytest.approx(expected, rel=1e-6)
    assert found.lower_bound <= expected + 1e-9
    assert found.is_optimal
    assert ll.verify_certificate(joint, criterion, found, distance=distance)


@given(positive_counts(n_s=(2, 3), n_x=(2, 2)), st.floats(0.05, 1.5))
def test_two_symbols_move_as_little_as_the_bound_allows(table, epsilon):
    """With the law kept, one number tells the channel: how much of each symbol moves."""
    joint = joint_of(table)
    release = ll.least_distortion(joint, ll.LIP(epsilon), [[0, 1], [1, 0]])
    p_s = rational.prior(table)
    total = sum(map(sum, table))
    sizes = [Fraction(sum(row[x] for row in table), total) for x in range(2)]
    shares = [[Fraction(row[x], sum(r[x] for r in table)) for row in table] for x in range(2)]

    def is_allowed(moved):
        """Tell whether moving so much mass each way leaves all lifts within e**-+epsilon."""
        for x in range(2):
            stays, comes = sizes[x] - moved, moved
            column = [stays * a + comes * b for a, b in zip(shares[x], shares[1 - x], strict=True)]
            if not rational.is_allowed(ll.LIP(epsilon), column, p_s):
                return False
        return True

    low, high = Fraction(0), sizes[0] * sizes[1]  # moving all at random has lift 1
    if is_allowed(low):
        high = low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if is_allowed(middle) else (middle, high)
    assert release.certificate.distortion == pytest.approx(float(2 * high), abs=1e-7)
    assert release.certificate.lower_bound <= float(2 * high) + 1e-12


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
@given(st.one_of(positive_counts(n_s=(2, 3), n_x=(2, 5)), tiny_probabilities()), st.integers(0, 99))
def test_every_release_keeps_its_criterion(criterion, table, seed):
    joint = joint_of(table)
    distance = distances(joint.n_x, seed)
    release = ll.least_distortion(joint, criterion, distance)
    weights = release.channel.weights.tolist()
    p_s = rational.prior(table)
    for column in rational.columns(table, weights):
        assert rational.is_allowed(criterion, column, p_s)
    assert release.audit.is_satisfied
    assert release.certificate.lower_bound <= release.certificate.distortion + 1e-12
    assert ll.verify_certificate(joint, criterion, release.certificate, distance=distance)


@given(positive_counts(n_s=(2, 3), n_x=(2, 6)), st.integers(0, 99))
def test_the_law_is_kept_up_to_rounding(table, seed):
    joint = joint_of(table)
    release = ll.least_distortion(joint, ll.LIP(0.3), distances(joint.n_x, seed))
    sizes = [sum(row[x] for row in table) for x in range(joint.n_x)]
    weights = dict.fromkeys(joint.x_labels, 0)
    for y, label in enumerate(release.channel.y_labels):
        for x, weight in zip(*release.channel.atom(y), strict=True):
            weights[label] += sizes[x] * weight
    off = [abs(weights[x] - sizes[x] * release.channel.denominator) for x in joint.x_labels]
    whole = 2 * sum(sizes) * release.channel.denominator
    assert release.certificate.law_error == pytest.approx(sum(off) / whole)
    assert release.certificate.law_error < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_law_of_a_table_of_many_symbols_is_kept_exactly(seed):
    counts = np.random.default_rng(seed).integers(0, 40, (3, 60)) + 1
    release = ll.least_distortion(ll.Joint.from_counts(counts), ll.LIP(0.3), distances(60, seed))
    assert release.certificate.law_error == 0
    assert release.certificate.is_optimal


@pytest.mark.parametrize("keep_law", [True, False])
@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_no_multipliers_prove_more_than_the_optimum(criterion, keep_law):
    """A bound holds whatever the multipliers, so that a forged one cannot exceed the truth."""
    joint, distance = ll.Joint.random(3, 6, seed=4), distances(6, 5)
    release = ll.least_distortion(joint, criterion, distance, keep_law=keep_law)
    best = release.certificate
    tangents = np.array(best.tangents).reshape(-1, 3)
    half_spaces = rounded_outward(joint, criterion, tangents)
    rng = np.random.default_rng(0)
    nearest = -INF
    for trial in range(300):
        noise = 10.0 ** rng.uniform(-9, 1)
        law = np.array(best.duals) + noise * rng.normal(size=6)
        values = np.abs(np.array(best.multipliers) + noise * rng.normal(size=len(best.spaces)))
        spaces = np.array(best.spaces, np.int64)
        if trial % 3 == 0 and len(half_spaces[1]):
            spaces = rng.integers(0, len(half_spaces[1]), len(spaces))
        proof = Proof(law, spaces, np.array(best.outputs, np.int64), values)
        bound = proven_bound(joint, half_spaces, distance, proof, keep_law=keep_law)
        assert bound <= Fraction(best.distortion) + Fraction(1, 10**12)
        nearest = max(nearest, float(bound))
    assert nearest == pytest.approx(best.lower_bound, abs=1e-6)


def test_a_forged_certificate_is_not_verified():
    joint, criterion, distance = ll.Joint.random(3, 8, seed=3), ll.LIP(0.3), distances(8, 1)
    found = ll.least_distortion(joint, criterion, distance).certificate
    more = dataclasses.replace(found, lower_bound=found.lower_bound * (1 + 1e-6))
    assert not ll.verify_certificate(joint, criterion, more, distance=distance)
    other = dataclasses.replace(found, multipliers=tuple(2 * g for g in found.multipliers))
    assert not ll.verify_certificate(joint, criterion, other, distance=distance)
    assert not ll.verify_certificate(joint, ll.LIP(0.6), found, distance=distance)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"multipliers": ()}, "multipliers must fit"),
        ({"spaces": (99,) * 3, "outputs": (0,) * 3, "multipliers": (1.0,) * 3}, "must fit"),
        ({"spaces": (0,), "outputs": (0,), "multipliers": (-1.0,)}, "must fit"),
        ({"duals": (0.0,)}, "must fit"),
        ({"duals": (math.nan,) * 8}, "must fit"),
        ({"distances": "0" * 64}, "distance must be the one"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(change, said):
    joint, criterion, distance = ll.Joint.random(3, 8, seed=3), ll.LIP(0.3), distances(8, 1)
    found = ll.least_distortion(joint, criterion, distance).certificate
    with pytest.raises(ll.InvalidInput, match=said):
        ll.verify_certificate(
            joint, criterion, dataclasses.replace(found, **change), distance=distance
        )


def test_the_exact_bound_uses_powers_of_e_rounded_outward():
    joint = ll.Joint.random(3, 4, seed=0)
    normals, offsets = rounded_outward(joint, ll.LIP(0.5), np.zeros((0, 3)))
    for h in range(3):
        assert not rational.at_most_exp(Fraction(offsets[h], 1 << 40), 0.5)
        assert rational.at_most_exp(Fraction(1 << 40, -offsets[3 + h]), 0.5) is False
    assert normals[:3] == [[(s == t) << 40 for t in range(3)] for s in range(3)]


def test_columns_count_by_their_weights():
    labels = [(a, b) for a in "pqr" for b in "xyz"]
    joint = ll.Joint.from_counts(np.random.default_rng(0).integers(1, 9, (2, 9)), x_labels=labels)
    changed = {}
    for weights in ([1, 9], [9, 1]):
        release = ll.least_distortion(joint, ll.LIP(0.1), weights=weights)
        by_pair = [0.0, 0.0]
        for y, label in enumerate(release.channel.y_labels):
            for x, weight in zip(*release.channel.atom(y), strict=True):
                for k in range(2):
                    by_pair[k] += joint.p_x[x] * weight * (labels[x][k] != label[k])
        changed[weights[0]] = by_pair
    assert changed[9][0] < changed[1][0]
    assert changed[1][1] < changed[9][1]


def test_a_mapping_of_distances_is_averaged():
    joint = ll.Joint.random(2, 5, seed=0)
    one, other = distances(5, 0), distances(5, 1)
    release = ll.least_distortion(
        joint, ll.LIP(0.2), {"age": one, "job": other}, weights={"age": 3.0}
    )
    same = ll.least_distortion(joint, ll.LIP(0.2), (3 * one + other) / 4)
    assert release.certificate.distortion == pytest.approx(same.certificate.distortion, rel=1e-9)


def test_nothing_moves_further_than_the_limit():
    joint = ll.Joint.random(2, 8, seed=0)
    steps = np.abs(np.arange(8)[:, None] - np.arange(8)).astype(float)
    with pytest.raises(ll.Infeasible, match="nearest limit for which there is one is") as error:
        ll.least_distortion(joint, ll.LIP(0.05), steps, limit=1)
    nearest = float(str(error.value).rsplit(" ", 1)[1].rstrip("."))
    release = ll.least_distortion(joint, ll.LIP(0.05), steps, limit=nearest)
    assert release.audit.is_satisfied
    for y, label in enumerate(release.channel.y_labels):
        assert all(steps[x, label] <= nearest for x in release.channel.atom(y)[0])
    assert ll.verify_certificate(joint, ll.LIP(0.05), release.certificate, distance=steps)
    with pytest.raises(ll.Infeasible):
        ll.least_distortion(joint, ll.LIP(0.05), steps, limit=nearest - 1)


def test_symbols_may_be_kept_apart():
    joint = ll.Joint.random(2, 6, seed=0)
    apart = np.where(np.add.outer(np.arange(6), np.arange(6)) % 2, np.inf, 1 - np.eye(6))
    release = ll.least_distortion(joint, ll.LIP(0.6), apart)
    for y, label in enumerate(release.channel.y_labels):
        assert all((x + label) % 2 == 0 for x in release.channel.atom(y)[0])


@pytest.mark.parametrize("criterion", [ll.LIP(0.0), ll.LIP(1e-9), ll.LDP(0.0)])
def test_a_budget_of_nothing_publishes_the_law_alone(criterion):
    joint = ll.Joint.random(3, 6, seed=0)
    release = ll.least_distortion(joint, criterion, distances(6, 0))
    assert release.audit.is_satisfied
    assert release.audit.p_y == pytest.approx(joint.p_x)


def test_it_stops_in_time_and_says_so():
    joint = ll.Joint.random(3, 400, seed=0)
    release = ll.least_distortion(joint, ll.LIP(0.2), distances(400, 0), time_limit=0)
    assert release.audit.is_satisfied
    assert release.certificate.is_stopped
    assert release.certificate.lower_bound <= release.certificate.distortion


def test_a_file_keeps_the_certificate(tmp_path):
    joint, distance = ll.Joint.random(3, 8, seed=3), distances(8, 1)
    release = ll.least_distortion(joint, ll.Chi2Lift(INF, 0.2), distance, limit=0.9)
    release.to_json(tmp_path / "release.json")
    saved = json.loads((tmp_path / "release.json").read_text())
    assert list(faults(saved, schemas.load("release"))) == []
    again = ll.Release.from_json(tmp_path / "release.json")
    assert again.certificate == release.certificate
    assert ll.verify_certificate(again.joint, again.criterion, again.certificate, distance=distance)


def test_one_symbol_stays():
    joint = ll.Joint.from_counts([[1], [2]])
    release = ll.least_distortion(joint, ll.LIP(0.1))
    assert release.certificate.distortion == 0
    assert release.channel.n_y == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"distance": [[0.0]]}, r"shape \(4, 4\); got \(1, 1\)"),
        ({"distance": "far"}, "table of numbers"),
        ({"distance": -np.ones((4, 4))}, "0 to 1e9, or inf; got -1.0 at row 0, column 0"),
        ({"distance": np.full((4, 4), np.inf)}, "finite between a symbol and itself"),
        ({"distance": np.ones((4, 4)), "weights": [1]}, "mapping of columns"),
        ({"weights": [1, 2]}, "1 numbers"),
        ({"weights": [0]}, "not all be 0"),
        ({"weights": {"age": 1}}, "must name columns"),
        ({"limit": -1}, "limit must be a distance"),
        ({"limit": "far"}, "limit must be a distance"),
        ({"gap": 0}, "gap must be positive"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_bad_arguments_are_refused(options, said):
    with pytest.raises(ll.InvalidInput, match=said):
        ll.least_distortion(ll.Joint.random(2, 4, seed=0), ll.LIP(0.5), **options)


def test_a_criterion_that_is_not_convex_is_refused():
    with pytest.raises(ll.InvalidInput, match="convex"):
        ll.least_distortion(ll.Joint.random(2, 4, seed=0), ll.Chi2Lift(0.2, 0.2))


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=7),
    st.integers(0, 10**6),
)
def test_weights_are_mended_to_the_law_where_sizes_allow(sizes, seed):
    assume(any(math.gcd(a, b) == 1 for i, a in enumerate(sizes) for b in sizes[i + 1 :]))
    m = len(sizes)
    rng = np.random.default_rng(seed)
    p = np.array(sizes) / sum(sizes)
    masses = (1 - 1e-3) * np.diag(p) + 1e-3 * np.outer(p, p)
    masses *= 1 + 1e-7 * rng.normal(size=(m, m))
    rows, columns = np.divmod(np.arange(m * m), m)
    weights = Weights(sizes, rows, columns, masses.ravel(), np.ones((m, m), bool))
    assert weights.keep_law()
    outputs, members, entries = weights.entries()
    for d in range(m):
        here = outputs == d
        total = sum(sizes[c] * int(k) for c, k in zip(members[here], entries[here], strict=True))
        assert total == sizes[d] << 48
