"""Figures 3, 5 and 6 of the paper: means over random joints against the printed points."""

import numpy as np
import pytest

import lowlift as ll
from lowlift.paper.points import printed

pytestmark = pytest.mark.second_lane
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


def at(curve, epsilons):
    """The printed values at these epsilons; the paper does not print all of them."""
    return {e: curve[e] for e in epsilons if e in curve}


@pytest.fixture(scope="module")
def joints():
    rng = np.random.default_rng(5)
    return [ll.Joint.random(5, 17, seed=rng) for _ in range(100)]


@pytest.mark.parametrize("lam", [0.35, 0.5, 0.65])
def test_figure_3_aorr(lam, joints):
    sweep = ll.tradeoff(joints, ll.random_response, [ll.ALIP.split(e, lam) for e in EPSILONS])
    assert sweep["is_satisfied"].all()
    mean = dict(zip(EPSILONS, sweep.mean("nmi"), strict=True))
    curves = [printed(3, f"aorr-{lam}", "nmi")]
    if lam == 0.65:
        curves.append(printed(5, "aorr", "nmi"))
    for curve in curves:
        points = at(curve, EPSILONS)
        assert len(points) >= 5
        for epsilon, value in points.items():
            assert mean[epsilon] == pytest.approx(value, abs=0.015)


def test_figure_5_srr_within_what_can_be_right(joints):
    """From eps = 2.5 on the printed SRR lies above the optimum, which cannot be."""
    epsilons = (0.25, 0.5, 1.0, 1.5, 2.0, 3.5)
    criteria = [ll.ALIP.split(e, 0.65) for e in epsilons]
    subset = ll.tradeoff(joints, ll.subset_random_response, criteria)
    best = ll.tradeoff(joints, ll.random_response, criteria)
    assert subset["is_satisfied"].all()
    assert (subset["nmi"] <= best["nmi"] + 1e-6).all()
    mean = dict(zip(epsilons, subset.mean("nmi"), strict=True))
    points = at(printed(5, "srr", "nmi"), epsilons[:5])
    assert len(points) >= 4
    for epsilon, value in points.items():
        assert mean[epsilon] == pytest.approx(value, abs=0.03)


def test_figure_6_at_200_x_15():
    joints = [ll.Joint.random(15, 200, seed=k) for k in range(10)]
    for epsilon in (1.0, 2.0, 4.0, 8.0):
        criterion = ll.ALIP.split(epsilon, 0.5)
        subset = ll.tradeoff(joints, ll.subset_random_response, criterion)
        points = at(printed(6, "srr", "nmi"), [epsilon])
        for value in points.values():
            assert subset.mean("nmi")[0] == pytest.approx(value, abs=0.01)
        merged = ll.tradeoff(joints, ll.subset_merging, criterion)
        for value in at(printed(6, "subset-merging", "nmi"), [epsilon]).values():
            assert merged.mean("nmi")[0] == pytest.approx(value, abs=0.02)
        assert (merged["nmi"] <= subset["nmi"]).all()


def test_the_random_response_beats_the_printed_srr_at_200_x_15():
    joint = ll.Joint.random(15, 200, seed=0)
    for epsilon, srr in ((2.0, 0.9126), (4.0, 0.9774)):
        release = ll.random_response(joint, ll.ALIP.split(epsilon, 0.5), gap=1e-4)
        assert release.certificate.gap <= 1e-4
        assert release.audit.nmi > srr
