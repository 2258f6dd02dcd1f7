"""Figures 2 and 4 of the paper: means over 1000 random joints against the printed points."""

import csv
import functools
from pathlib import Path

import numpy as np
import pytest

import lowlift as ll

MECHANISMS = {"2": functools.partial(ll.watchdog, repair=False), "4": ll.subset_merging}
# Noise at 1000 joints is about .01 in NMI, .02 in max-lift, up to .11 in min-lift leakage.
TOLERANCES = {"nmi": 0.015, "max_lift_leakage": 0.03, "min_lift_leakage": 0.15}


def printed(figure, series):
    curves = {}
    with (Path(__file__).parent / "figures.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["figure"], row["series"]) == (figure, series):
                point = float(row["epsilon"]), float(row["value"])
                curves.setdefault(row["quantity"], []).append(point)
    return {quantity: np.array(points).T for quantity, points in curves.items()}


def criterion(series, epsilon):
    return ll.LDP(epsilon) if series == "ldp" else ll.ALIP.split(epsilon, float(series[5:]))


@pytest.fixture(scope="module")
def joints():
    rng = np.random.default_rng(2023)
    return [ll.Joint.random(5, 17, seed=rng) for _ in range(1000)]


@pytest.mark.parametrize("series", ["ldp", "alip-0.35", "alip-0.5", "alip-0.65"])
@pytest.mark.parametrize("figure", ["2", "4"])
def test_means_agree_with_the_printed_curves(figure, series, joints):
    curves = printed(figure, series)
    epsilons = curves["nmi"][0]
    assert len(epsilons) == 32
    sweep = ll.tradeoff(joints, MECHANISMS[figure], [criterion(series, e) for e in epsilons])
    if figure == "4":
        assert sweep["is_satisfied"].all()
    for quantity, tolerance in TOLERANCES.items():
        np.testing.assert_array_equal(curves[quantity][0], epsilons)
        deviation = np.abs(sweep.mean(quantity) - curves[quantity][1])
        assert deviation.max() < tolerance, (quantity, deviation.round(4))


def test_the_unrepaired_watchdog_violates_as_the_paper_does(joints):
    sweep = ll.tradeoff(joints[:50], MECHANISMS["2"], [ll.ALIP.split(6.0, 0.5)])
    assert not sweep["is_satisfied"].all()
