"""Attacks on the certified random response: forged certificates, odd joints, hasty limits."""

import dataclasses
import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

import lowlift as ll
from lowlift._kernels.compilation import prepare
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import coordinate_bounds, information_bound, prove_floor
from lowlift.criteria import HalfSpaces

JOINT = ll.Joint.random(3, 6, seed=0)


class SignPatterns:
    """l1-lift whose half_spaces are its sign patterns: the protocol allows any half-spaces."""

    lower, upper = math.inf, 0.3
    known = ll.L1Lift(math.inf, 0.3)

    def leakage(self, lift_sy, p_s):
        return self.known.leakage(lift_sy, p_s)

    def risk(self, lift_sy, p_s):
        return self.known.risk(lift_sy, p_s)

    def verdict(self, posterior, prior):
        return self.known.verdict(posterior, prior)

    def half_spaces(self, p_s):
        normals = np.array(list(itertools.product((-1.0, 1.0), repeat=len(p_s)))) * p_s
        return HalfSpaces(normals, math.expm1(self.upper) + normals.sum(axis=1))

    def cut(self, lift_s, p_s):
        normals, offsets = self.half_spaces(p_s)
        out = normals @ lift_s > offsets
        return HalfSpaces(normals[out], offsets[out])


def test_bound_holds_for_a_criterion_with_slanted_half_spaces():
    reached = ll.random_response(JOINT, SignPatterns.known).audit.nmi
    bound = ll.random_response(JOINT, SignPatterns(), time_limit=5).certificate.upper_bound
    assert bound >= reached - 1e-9


def forged(criterion, points):
    """A certificate that claims half of the true bound, with tangents of the forger's choice."""
    true = ll.random_response(JOINT, criterion).certificate
    claim, duals = 0.5 * true.upper_bound, np.zeros(JOINT.n_x)
    floor = information_bound(JOINT.p_x, duals, 0.0) - claim * JOINT.entropy_x
    return dataclasses.replace(
        true,
        upper_bound=claim,
        duals=tuple(duals.tolist()),
        floor=floor + 1e-13,
        tangents=tuple(map(tuple, points.tolist())),
    )


@pytest.mark.parametrize("size", [1e100, 1e200])
@pytest.mark.parametrize("criterion", [ll.AlphaLift(2, math.inf, 0.3)])
def test_tangents_far_away_prove_nothing(criterion, size):
    rng = np.random.default_rng(0)
    for _ in range(2):
        points = rng.random((20, 3))
        points[np.arange(20), rng.integers(3, size=20)] *= size
        try:
            accepted = ll.verify_certificate(JOINT, criterion, forged(criterion, points))
        except ll.InvalidInput:
            accepted = False
        assert not accepted


@pytest.mark.parametrize("alpha", [2.0, 1e5, 1e9, 1e12, 1e15])
def test_no_tangent_makes_a_bound_believed_that_a_mechanism_beats(alpha):
    """The box of lifts lies inside alpha-lift's region; a smaller box's bound is a lie about it."""
    criterion, joint = ll.AlphaLift(alpha, math.inf, 0.4), ll.Joint.random(3, 6, seed=2)
    kept = ll.random_response(joint, ll.MaxLift(0.4)).audit.nmi
    rng, lift = np.random.default_rng(0), joint.lift
    points = rng.uniform(lift.min(axis=1), np.minimum(lift.max(axis=1), 1.4), (300, 3))
    beyond = rng.choice([1e-12, 1e-10, 1e-8, 1e-5], 300)
    points[np.arange(300), np.arange(300) % 3] = math.exp(0.4) * (1 + beyond * rng.random(300))
    points = points[(points <= lift.max(axis=1)).all(axis=1)]
    assert len(points) > 100
    for tighter in (1e-4, 1e-5, 1e-6, 1e-7):
        claim = ll.random_response(joint, ll.MaxLift(0.4 - tighter), gap=1e-9).certificate
        assert claim.upper_bound < kept
        lie = dataclasses.replace(claim, tangents=tuple(map(tuple, points.tolist())))
        assert not ll.verify_certificate(joint, criterion, lie)


def power_mean(values, weights, power):
    """The weighted power mean of Decimals, to 60 digits."""
    logs = [value.ln() * power for value in values]
    top = max(logs)
    total = sum(w * (log - top).exp() for w, log in zip(weights, logs, strict=True))
    return ((total.ln() + top) / power).exp()


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 3.0, 50.0, 1e4, 1e7, 1e8, 1e10, 1e12, 1e15])
@pytest.mark.parametrize("seed", range(3))
def test_tangent_half_spaces_hold_the_region(alpha, seed):
    """Points scaled onto the region's boundary to 60 digits lie in every half-space used."""
    rng = np.random.default_rng(seed)
    joint = ll.Joint.random(4, 9, seed=seed)
    criterion = ll.AlphaLift(alpha, 0.2, 0.3)
    polytope = Polytope(joint, criterion)
    first = len(polytope.rows)
    size = rng.choice([1e-12, 1e-9, 1e-6, 1e-3, 1.0], (60, 4))
    near = 1 + rng.choice([-0.15, 0.3], (60, 4)) * (1 + size * rng.random((60, 4)))
    points = np.concatenate([near, rng.uniform(0.3, 2.5, (60, 4))])
    polytope.cut(points.T)
    reach = np.abs(polytope.normals[:, :-1]) @ polytope.lift.max(axis=1)
    most = polytope.outer[1][first:]
    assert len(most) > 5
    with localcontext() as context:
        context.prec = 60
        weights = [Decimal(p) for p in joint.p_s.tolist()]
        order = Decimal(alpha)
        for normal, offset, far in zip(polytope.normals[:, :-1], most, reach, strict=True):
            g = [Decimal(value) for value in normal.tolist()]
            starts = [[Decimal(value) for value in rng.uniform(0.5, 2, 4).tolist()] for _ in "ab"]
            sign = 1 if max(g) > 0 else -1
            # Where the half-space is tight: l proportional to (g / p) ** (sign / (alpha - sign)).
            if all(value != 0 for value in g) and order != sign:
                ratio = [abs(v) / w for v, w in zip(g, weights, strict=True)]
                power = 1 / (order - 1) if sign > 0 else -1 / (order + 1)
                starts.append([(value.ln() * power).exp() for value in ratio])
            for start in starts:
                if sign > 0:
                    scale = Decimal(criterion.upper).exp() / power_mean(start, weights, order)
                else:
                    inverse = [1 / value for value in start]
                    scale = power_mean(inverse, weights, order) / Decimal(criterion.lower).exp()
                held = sum(v * scale * value for v, value in zip(g, start, strict=True))
                assert held <= Decimal(float(offset)) + Decimal("1e-13") * Decimal(float(far))


@pytest.mark.parametrize("field", ["upper_bound", "floor", "duals"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_certificate_with_what_is_no_number_is_refused(field, value):
    true = ll.random_response(JOINT, ll.LIP(0.3)).certificate
    new = (value, *true.duals[1:]) if field == "duals" else value
    for bound in (true.upper_bound, 1.0):
        lie = dataclasses.replace(true, **{"upper_bound": bound, field: new})
        with pytest.raises(ll.InvalidInput, match="finite"):
            ll.verify_certificate(JOINT, ll.LIP(0.3), lie)


@pytest.mark.parametrize("size", [1e150, 1e305])
def test_duals_that_overflow_prove_nothing(size):
    true = ll.random_response(JOINT, ll.LIP(0.3)).certificate
    for sign in (1, -1):
        duals = np.full(JOINT.n_x, sign * size)
        duals[::2] *= -1
        lie = dataclasses.replace(
            true, upper_bound=0.5 * true.upper_bound, duals=tuple(duals.tolist()), floor=0.0
        )
        with np.errstate(over="ignore", invalid="ignore"):
            assert not ll.verify_certificate(JOINT, ll.LIP(0.3), lie)


@pytest.mark.parametrize(
    ("counts", "criterion"),
    [
        ([[3, 7, 6, 6], [5, 6, 8, 2], [6, 4, 1, 6]], ll.LIP(0.05)),
        ([[2, 0], [3, 1], [3, 0]], ll.LDP(0.01)),
        ([[3, 7, 5], [1, 4, 1]], ll.LDP(1e-4)),
        ([[1, 4, 7], [8, 2, 3]], ll.LDP(1e-6)),
    ],
)
def test_gap_closes_on_small_tables(counts, criterion):
    joint = ll.Joint.from_counts(counts)
    release = ll.random_response(joint, criterion, time_limit=5)
    assert release.certificate.gap <= 1e-6
    assert ll.verify_certificate(joint, criterion, release.certificate)


@pytest.mark.parametrize(
    "counts", [[[2, 3, 0, 0], [0, 1, 3, 1], [2, 1, 2, 2]], [[1, 0, 2], [0, 0, 2], [2, 3, 3]]]
)
def test_certificates_with_tangents_verify(counts):
    joint, criterion = ll.Joint.from_counts(counts), ll.Chi2Lift(math.inf, 0.3)
    release = ll.random_response(joint, criterion, time_limit=5)
    assert ll.verify_certificate(joint, criterion, release.certificate)


def test_a_long_proof_of_few_symbols_asks_whether_to_stop():
    """Between proofs it would be asked two or three times; within them, five times a second."""
    joint, states = ll.Joint.random(20, 24, seed=0), []
    release = ll.random_response(joint, ll.LIP(0.02), time_limit=2, progress=states.append)
    assert len(states) >= 6
    assert release.audit.is_satisfied
    assert release.certificate.upper_bound >= release.audit.nmi


def test_large_budgets_and_zero_cells():
    joint = ll.Joint.from_counts([[2, 1, 3, 3, 1], [1, 0, 1, 1, 1]])
    for criterion in (ll.AlphaLift(2, 800, 800), ll.LIP(800)):
        assert ll.random_response(joint, criterion).certificate.gap <= 1e-6


def test_jobs_that_make_no_sense_are_refused():
    with pytest.raises(ll.InvalidInput):
        ll.random_response(ll.Joint.random(5, 30, seed=0), ll.LIP(0.3), jobs=-1)


@pytest.mark.parametrize("seed", range(12))
def test_floor_is_true_for_any_duals_and_any_stop(seed):
    rng = np.random.default_rng(seed)
    joint = ll.Joint.from_counts(rng.integers(1, 9, (3, 5)))
    criterion = (ll.LIP(0.2), ll.MaxLift(0.2), ll.ALIP(0.3, 0.1))[seed % 3]
    polytope = Polytope(joint, criterion)
    upper = coordinate_bounds(polytope)
    rows, (lo, hi) = polytope.rows, polytope.outer
    vertices = [joint.p_x]
    walls = [(np.eye(5)[x], 0.0) for x in range(5)]
    walls += [(rows[i], side[i]) for i in range(1, len(rows)) for side in (lo, hi)]
    for chosen in itertools.combinations(walls, 4):
        matrix = np.array([rows[0], *(row for row, _ in chosen)])
        if abs(np.linalg.det(matrix)) > 1e-9:
            v = np.linalg.solve(matrix, [1.0, *(offset for _, offset in chosen)])
            lifts = rows @ v
            if v.min() >= -1e-12 and ((lifts <= hi + 1e-11) & (lifts >= lo - 1e-11)).all():
                vertices.append(v.clip(0))
    points = np.array(vertices)
    entropy = -(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1)
    assert (points <= upper + 1e-10).all()
    for scale, most in itertools.product((0.0, 1.0, 3.0, 50.0), (1, 30, 3000)):
        pi = scale * rng.normal(size=5)
        least = float((entropy - points @ pi).min())
        for cut in (least + 0.1, least + 1e-6, least - 1e-6):
            floor = prove_floor(polytope, pi, cut, upper, most_nodes=most).floor
            assert floor <= least + 1e-9 * (1 + scale)


@pytest.mark.parametrize(
    ("p_sx", "criterion"),
    [
        (
            [
                [3.7233307094273916e-11, 0.5041406006266326],
                [2.0760102039024205e-11, 0.16565161847287918],
                [1.209153440049499e-11, 0.06486586276507307],
                [1.0372713983078832e-12, 0.265341918064293],
            ],
            ll.MaxLift(0.009001874700467948),
        ),
        (
            [
                [4.0678668771351145e-11, 0.014406754988570867],
                [7.43102342050345e-13, 0.9855932449700074],
            ],
            ll.LDP(0.0005724875175764281),
        ),
    ],
)
def test_bound_on_partitions_holds_where_entropies_are_tiny(p_sx, criterion):
    joint = ll.Joint(p_sx)
    reached = ll.subset_merging(joint, criterion).audit.nmi
    assert ll.optimal_merging(joint, criterion).certificate.upper_bound >= reached


@pytest.mark.parametrize("seed", range(8))
def test_a_tableau_with_what_is_no_number_proves_nothing_false(seed):
    rng = np.random.default_rng(seed)
    joint, pi = ll.Joint.random(3, 5, seed=seed), rng.normal(size=5)
    prepare("search")
    from lowlift._kernels import branch_and_bound, lp

    polytope = Polytope(joint, ll.LIP(0.3))
    v = joint.p_x
    least = float(-(v * np.log(v)).sum() - v @ pi)
    pi += least + 1.0  # one allowed point has the value -1
    keys, lows, highs = np.array([-1, *range(5)]), np.r_[0.0, np.full(5, 0.25)], np.ones(6)
    highs[0] = 0.25
    for _ in range(20):
        tableau, basis, place = (part.copy() for part in polytope.start)
        cost, x, net, y = rng.normal(size=5), np.empty(9), np.empty(5), np.empty(4)
        lp.minimise(
            polytope.rows, polytope.largest, tableau, basis, place, cost, polytope.inner_lo,
            polytope.inner_hi, math.inf, 500, x, net, y,
        )  # fmt: skip
        for value in rng.choice([math.nan, math.inf, -math.inf, 1e300], 2):
            tableau[rng.integers(4), rng.integers(9)] = value
        bounds, nodes = np.full(6, -math.inf), np.zeros(6, np.int64)
        points, values = np.zeros((50, 5)), np.full(50, -1e-8)
        branch_and_bound.prove(
            lp.minimise, polytope.rows, polytope.largest, polytope.outer_lo, polytope.outer_hi, pi,
            -0.999, keys, lows, highs, 1000, 300, tableau, basis, place, np.zeros(1, np.int64),
            bounds, nodes, points, values,
        )  # fmt: skip
        assert bounds.min() <= -1 + 1e-9
        assert not np.isnan(points).any()
