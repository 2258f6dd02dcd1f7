"""Figures 1, 2, 4, 7 and 8 of the paper: 1000 random joints against what is printed."""

import functools

import numpy as np
import pytest

import lowlift as ll
from lowlift.paper.density import densities
from lowlift.paper.experiments import EXPERIMENTS
from lowlift.paper.points import printed
from lowlift.paper.runs import Size, joint_of

MECHANISMS = {2: functools.partial(ll.watchdog, repair=False), 4: ll.subset_merging}
# Noise at 1000 joints is about .01 in NMI, .02 in max-lift, up to .11 in min-lift leakage.
TOLERANCES = {"nmi": 0.015, "max_lift_leakage": 0.03, "min_lift_leakage": 0.15}
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


def criterion(series, epsilon):
    return ll.LDP(epsilon) if series == "ldp" else ll.ALIP.split(epsilon, float(series[5:]))


@pytest.fixture(scope="module")
def joints():
    rng = np.random.default_rng(2023)
    return [ll.Joint.random(5, 17, seed=rng) for _ in range(1000)]


@pytest.mark.second_lane
@pytest.mark.parametrize("series", ["ldp", "alip-0.35", "alip-0.5", "alip-0.65"])
@pytest.mark.parametrize("figure", [2, 4])
def test_means_agree_with_the_printed_curves(figure, series, joints):
    epsilons = list(printed(figure, series, "nmi"))
    assert len(epsilons) == 32
    sweep = ll.tradeoff(joints, MECHANISMS[figure], [criterion(series, e) for e in epsilons])
    if figure == 4:
        assert sweep["is_satisfied"].all()
    for quantity, tolerance in TOLERANCES.items():
        points = printed(figure, series, quantity)
        assert list(points) == epsilons
        deviation = np.abs(sweep.mean(quantity) - list(points.values()))
        assert deviation.max() < tolerance, (quantity, deviation.round(4))


def test_the_unrepaired_watchdog_violates_as_the_paper_does():
    rng = np.random.default_rng(2023)
    joints = [ll.Joint.random(5, 17, seed=rng) for _ in range(50)]
    sweep = ll.tradeoff(joints, MECHANISMS[2], [ll.ALIP.split(6.0, 0.5)])
    assert not sweep["is_satisfied"].all()


@pytest.fixture(scope="module")
def pages_joints():
    """The joints of `lowlift paper` itself, by its default seed."""
    return [joint_of(EXPERIMENTS[7], Size().seed, number) for number in range(1000)]


@pytest.mark.second_lane
@pytest.mark.parametrize(
    ("figure", "series", "kind", "lam", "least", "tolerance"),
    [
        (7, "alip-0.5", ll.ALIP, 0.5, 0.25, 0.025),
        # At eps = .25 ours lies .025 above the printed point, with a standard error of .002: here
        # .0239, and beyond .025 for about half of all seeds. The next largest is .019.
        (7, "l1-0.5", ll.L1Lift, 0.5, 0.25, 0.025),
        (7, "l1-0.65", ll.L1Lift, 0.65, 0.25, 0.025),
        # Below eps = 1 the printed chi2 leaks more than Propositions 4 and 6 allow.
        (7, "chi2-0.5", ll.Chi2Lift, 0.5, 1.0, 0.025),
        (7, "chi2-0.65", ll.Chi2Lift, 0.65, 1.0, 0.025),
        (8, "alip-0.5", ll.ALIP, 0.5, 0.25, 0.015),
    ],
)
def test_other_notions(figure, series, kind, lam, least, tolerance, pages_joints):
    epsilons = [e for e in EPSILONS if e >= least]
    sweep = ll.tradeoff(pages_joints, ll.subset_merging, [kind.split(e, lam) for e in epsilons])
    assert sweep["is_satisfied"].all()
    points = printed(figure, series, "nmi")
    deviation = np.abs(sweep.mean("nmi") - [points[e] for e in epsilons])
    assert deviation.max() < tolerance, (series, deviation.round(4))


def test_figure_1_fits_another_generator_than_the_stated_one():
    uniform, normal = densities(1000, seed=2023)
    assert uniform.name.startswith("uniform entries, |X|=17")
    assert normal.name.startswith("|N(0,1)| entries, |X|=18")
    assert uniform.distance > 0.12
    assert normal.distance < 0.06
    for density in (uniform, normal):
        # Min-lifts spread much wider than max-lifts: what the figure is for.
        assert density.ours.sum() == pytest.approx(1, abs=1e-12)
        assert density.min_lift_range[0] < -2 * density.max_lift_range[1]
        assert density.min_lift_range[1] <= 0 <= density.max_lift_range[0]
