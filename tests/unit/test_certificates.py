"""Certificates: true for any duals, checked anew from what they hold."""

import dataclasses
import json
import math

import numpy as np
import pytest

import lowlift as ll
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import coordinate_bounds, information_bound, prove_floor

JOINT, CRITERION = ll.Joint.random(4, 12, seed=7), ll.LIP(0.25)


@pytest.fixture(scope="module")
def release():
    return ll.random_response(JOINT, CRITERION)


def bound_of(joint, criterion, pi, target=1e-3):
    polytope = Polytope(joint, criterion)
    proof = prove_floor(polytope, pi, -target, coordinate_bounds(polytope))
    return information_bound(polytope.p_x, pi, proof.floor) / joint.entropy_x, proof


def test_wrong_duals_give_a_weaker_bound_that_is_still_true(release):
    rng = np.random.default_rng(0)
    optimum, pi = release.audit.nmi, np.array(release.certificate.duals)
    best, _ = bound_of(JOINT, CRITERION, pi, 1e-6)
    assert best == pytest.approx(optimum, abs=2e-6)
    for size in (1e-4, 1e-2, 0.3, 3.0, 100.0):
        for _ in range(5):
            wrong, _ = bound_of(JOINT, CRITERION, pi + size * rng.normal(size=JOINT.n_x))
            assert wrong >= optimum - 1e-9
            assert wrong >= best - 1e-9
    for pi_any in (np.zeros(12), np.full(12, -50.0), 1e6 * rng.normal(size=12)):
        assert bound_of(JOINT, CRITERION, pi_any)[0] >= optimum - 1e-9


def test_the_floor_is_below_every_vertex_value():
    """H(v) - pi . v at random points of the polytope is never below the proven floor."""
    rng = np.random.default_rng(1)
    polytope = Polytope(JOINT, CRITERION)
    for _ in range(20):
        pi = rng.normal(size=JOINT.n_x)
        proof = prove_floor(polytope, pi, -1e-4, coordinate_bounds(polytope))
        points = rng.dirichlet(np.full(JOINT.n_x, 0.3), 2000)
        # Pull each into the polytope, toward P_X.
        for share in (1.0, 0.5, 0.2):
            inner = JOINT.p_x + share * (points - JOINT.p_x)
            lift = JOINT.lift @ inner.T
            inside = (lift >= math.exp(-0.25)).all(axis=0) & (lift <= math.exp(0.25)).all(axis=0)
            v = inner[inside]
            values = -(v * np.log(np.where(v > 0, v, 1.0))).sum(axis=1) - v @ pi
            assert (values >= proof.floor - 1e-12).all()


def test_a_search_ended_early_still_has_a_true_bound(release):
    polytope, pi = Polytope(JOINT, CRITERION), np.array(release.certificate.duals)
    upper = coordinate_bounds(polytope)
    few = prove_floor(polytope, pi, -1e-7, upper, most_nodes=3)
    many = prove_floor(polytope, pi, -1e-7, upper)
    assert few.floor <= many.floor
    bound = information_bound(polytope.p_x, pi, few.floor) / JOINT.entropy_x
    assert bound >= release.audit.nmi


def test_coordinate_bounds_hold_and_are_reached():
    from scipy.optimize import linprog

    polytope = Polytope(JOINT, CRITERION)
    upper = coordinate_bounds(polytope)
    a = np.vstack([JOINT.lift, -JOINT.lift])
    b = np.r_[np.full(4, math.exp(0.25)), np.full(4, -math.exp(-0.25))]
    for x in range(JOINT.n_x):
        found = linprog(-np.eye(12)[x], A_ub=a, b_ub=b, A_eq=np.ones((1, 12)), b_eq=[1])
        assert -found.fun <= upper[x] + 1e-12
        assert upper[x] == pytest.approx(-found.fun, abs=1e-9)


def test_verify_accepts_the_certificate_and_its_file(release, tmp_path):
    certificate = release.certificate
    assert ll.verify_certificate(JOINT, CRITERION, certificate)
    certificate.to_json(tmp_path / "bound.json")
    again = ll.Certificate.from_json(tmp_path / "bound.json")
    assert again == certificate
    assert ll.verify_certificate(JOINT, CRITERION, again)
    release.to_json(tmp_path / "release.json")
    assert ll.Release.from_json(tmp_path / "release.json").certificate == certificate


def test_verify_refuses_a_bound_that_its_duals_do_not_prove(release):
    good = release.certificate
    lower = dataclasses.replace(good, upper_bound=good.upper_bound - 1e-5)
    assert not ll.verify_certificate(JOINT, CRITERION, lower)
    # The same claim with a floor that would prove it, but does not hold.
    shift = 1e-5 * JOINT.entropy_x
    forged = dataclasses.replace(lower, floor=good.floor + shift)
    assert not ll.verify_certificate(JOINT, CRITERION, forged)
    other = dataclasses.replace(good, duals=tuple(np.array(good.duals) * 0.9))
    assert not ll.verify_certificate(JOINT, CRITERION, other)
    assert not ll.verify_certificate(JOINT, ll.LIP(0.3), good)


def test_a_trivial_bound_needs_no_proof():
    assert ll.verify_certificate(JOINT, CRITERION, ll.Certificate("mechanisms", 1.0, False))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scope": "partitions"}, 'scope "mechanisms"'),
        ({"scope": "distortion"}, 'scope "mechanisms"'),  # of the wrong class
        ({"duals": (1.0,)}, "12 duals; got 1"),
        ({"duals": (math.nan,) * 12}, "finite numbers"),
        ({"tangents": ((1.0,),)}, "lift vectors"),
    ],
)
def test_a_certificate_that_does_not_fit_is_refused(release, change, message):
    with pytest.raises(ll.InvalidInput, match=message):
        ll.verify_certificate(JOINT, CRITERION, dataclasses.replace(release.certificate, **change))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scope": "mechanisms"}', "nonsense"])
def test_a_file_that_is_no_certificate_is_refused(text, tmp_path):
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    with pytest.raises(ll.InvalidInput, match="no certificate"):
        ll.Certificate.from_json(tmp_path / "c.json")
    with pytest.raises(ll.InvalidInput, match="cannot be read"):
        ll.Certificate.from_json(tmp_path / "missing.json")


def test_the_file_is_plain_json(release, tmp_path):
    release.certificate.to_json(tmp_path / "c.json")
    saved = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert (saved.pop("format"), saved.pop("version")) == ("lowlift-certificate", 1)
    assert set(saved) == {f.name for f in dataclasses.fields(ll.Certificate)}
