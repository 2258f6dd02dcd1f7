"""Attacks on the certified random response: forged certificates, odd joints, hasty limits."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.certificates import coordinate_bounds, information_bound, prove_floor
from lowlift.criteria import HalfSpaces
from lowlift.polytope import Polytope

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
    floor = information_bound(Polytope(JOINT, criterion), duals, 0.0) - claim * JOINT.entropy_x
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


def test_a_bound_that_is_no_number_is_refused():
    true = ll.random_response(JOINT, ll.LIP(0.3)).certificate
    try:
        accepted = ll.verify_certificate(
            JOINT, ll.LIP(0.3), dataclasses.replace(true, upper_bound=math.nan)
        )
    except ll.InvalidInput:
        accepted = False
    assert not accepted


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
