"""The printed points, and the verdict on means beside them."""

import csv
import math
from collections import Counter
from importlib import resources

import numpy as np
import pytest
from scipy import stats

import lowlift as ll
from lowlift.paper import comparison
from lowlift.paper.comparison import Comparison, compare, explanation
from lowlift.paper.experiments import EXPERIMENTS, QUANTITIES, Notion, Series
from lowlift.paper.points import histogram, printed
from lowlift.paper.runs import Sweep

# The printed points.


@pytest.fixture(scope="module")
def rows():
    with (resources.files("lowlift.paper") / "data" / "figures.csv").open(encoding="utf-8") as file:
        return [
            (int(row["figure"]), row["series"], row["quantity"], row["epsilon"], row["value"])
            for row in csv.DictReader(file)
        ]


def test_every_row_is_a_printed_point(rows):
    assert len({row[:4] for row in rows}) == len(rows) == 2435
    for *key, epsilon, value in rows:
        assert printed(*key)[float(epsilon)] == float(value)


def test_every_printed_point_is_on_a_curve_that_is_run(rows):
    """At a budget, too, at which it is run: no point is left out of a comparison."""
    for figure, series, quantity, epsilon, _ in rows:
        experiment = EXPERIMENTS[figure]
        assert series in {curve.name for curve in experiment.curves}
        assert quantity in experiment.quantities
        assert float(epsilon) in experiment.epsilons


def test_every_curve_has_its_printed_points(rows):
    """Hidden under another curve, some are missing: 32 budgets each, but for these."""
    fewer = {
        (5, "aorr", "nmi"): 21, (5, "srr", "nmi"): 17, (5, "subset-merging", "nmi"): 30,
        (6, "srr", "nmi"): 28, (6, "srr", "min_lift_leakage"): 29,
        (6, "srr", "max_lift_leakage"): 21, (6, "subset-merging", "nmi"): 25,
        (6, "subset-merging", "min_lift_leakage"): 29,
        (6, "subset-merging", "max_lift_leakage"): 27,
        (6, "srr", "seconds"): 0, (6, "subset-merging", "seconds"): 0,
    }  # fmt: skip
    for figure, experiment in EXPERIMENTS.items():
        for curve in experiment.curves:
            for quantity in experiment.quantities:
                key = figure, curve.name, quantity
                assert len(printed(*key)) == fewer.get(key, 32), key
    counts = Counter(row[:3] for row in rows)
    assert sum(counts.values()) == sum(len(printed(*key)) for key in counts)


def test_printed_numbers_are_what_they_are_called(rows):
    for *_, quantity, _, value in rows:
        assert math.isfinite(float(value))
        assert float(value) > (0 if quantity == "seconds" else -1e-9)
        assert quantity != "nmi" or float(value) <= 1 + 1e-9


def test_what_is_not_printed_is_empty():
    assert dict(printed(2, "aorr", "nmi")) == {}
    assert dict(printed(9, "alip-0.5", "nmi")) == {}
    with pytest.raises(TypeError):
        printed(4, "alip-0.5", "nmi")[0.25] = 0.0


def test_series_have_names_of_their_own_and_stand_beside_a_curve():
    for experiment in EXPERIMENTS.values():
        every = (*experiment.curves, *experiment.markers, *experiment.readings)
        assert len({series.name for series in every}) == len(every)
        names = {curve.name for curve in experiment.curves}
        assert all(s.beside in names for s in (*experiment.markers, *experiment.readings))
        assert set(experiment.marker_epsilons) <= set(experiment.epsilons)


def test_the_histogram_is_a_distribution_on_even_bins():
    centres, probabilities = histogram()
    assert probabilities.min() >= 0
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(np.diff(centres), centres[1] - centres[0], rtol=1e-6)
    # 18,000 values a side: each probability is a whole number of them.
    np.testing.assert_allclose(probabilities * 36_000, np.rint(probabilities * 36_000), atol=1e-6)


def test_notions_split_the_budget():
    assert Notion("ldp")(1.5) == ll.LDP(1.5)
    assert Notion("alip", 0.25)(2.0) == ll.ALIP(0.5, 1.5)
    assert Notion("alpha", 0.5, 10.0)(2.0) == ll.AlphaLift(10.0, 1.0, 1.0)
    assert Notion("chi2", 0.25, is_one_sided=True)(2.0) == ll.Chi2Lift(math.inf, 1.5)


# The verdict.


def curve_of(figure, name):
    return next(curve for curve in EXPERIMENTS[figure].curves if curve.name == name)


def sweep_at(figure, name, quantity, offset, joints=None, spread=0.0, epsilons=None):
    """Return made-up joints whose means are the printed points plus an offset."""
    points = printed(figure, name, quantity)
    epsilons = np.array(epsilons or list(points))
    means = np.array([points.get(e, 0.5) for e in epsilons.tolist()]) + offset
    joints = joints or EXPERIMENTS[figure].joints
    signs = np.where(np.arange(joints) % 2, 1.0, -1.0)[:, None] * (joints > 1)
    values = dict.fromkeys(("nmi", *QUANTITIES), means + spread * signs)
    return Sweep(curve_of(figure, name), epsilons, values)


def verdict(figure, name, quantity, offset, **options):
    sweep = sweep_at(figure, name, quantity, offset, **options)
    return compare(EXPERIMENTS[figure], sweep, quantity).verdict


FIXED = [
    (2, "ldp", "nmi", 0.015),
    (2, "alip-0.35", "max_lift_leakage", 0.03),
    (2, "alip-0.65", "min_lift_leakage", 0.15),
    (3, "aorr-0.35", "nmi", 0.015),
    (4, "alip-0.5", "nmi", 0.015),
    (5, "aorr", "nmi", 0.015),
    (5, "srr", "nmi", 0.03),
    (5, "subset-merging", "nmi", 0.015),
    (6, "srr", "nmi", 0.01),
    (6, "subset-merging", "nmi", 0.02),
    (7, "alip-0.5", "nmi", 0.025),
    (7, "l1-0.65", "nmi", 0.025),
    (7, "chi2-0.5", "nmi", 0.025),
    (7, "l1-0.5", "max_lift_leakage", 0.03),
    (8, "alip-0.5", "nmi", 0.015),
    (8, "alpha-2", "nmi", 0.015),
    (8, "alpha-100", "min_lift_leakage", 0.15),
]


@pytest.mark.parametrize(("figure", "name", "quantity", "tolerance"), FIXED)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_stated_tolerance_decides_at_the_papers_number_of_joints(
    figure, name, quantity, tolerance, sign
):
    # A spread between joints makes no difference: the tolerance is fixed.
    for spread in (0.0, 0.3):
        inside, beyond = sign * (tolerance - 1e-9), sign * (tolerance + 1e-9)
        assert verdict(figure, name, quantity, inside, spread=spread) == "agrees"
        assert verdict(figure, name, quantity, beyond, spread=spread) == "differs"


def made_up(deviation, allowed, quantity="nmi", notes=None):
    size = len(deviation)
    theirs = np.full(size, 0.5)
    return Comparison(
        curve_of(4, "alip-0.5"),
        quantity,
        np.arange(1.0, size + 1),
        theirs + deviation,
        theirs,
        np.full(size, allowed),
        notes or ("",) * size,
    )


def test_a_deviation_of_exactly_what_is_allowed_agrees():
    assert made_up([0.125, -0.125], 0.125).verdict == "agrees"
    item = made_up([0.125, 0.125 + 2**-50, -0.25], 0.125)
    assert item.verdict == "differs"
    assert item.is_off.tolist() == [False, True, True]
    assert item.where == "2 points, ε=2–3"
    assert item.largest == 0.25
    assert item.mean == pytest.approx(0.5 / 3, rel=1e-12)
    assert made_up([0.0, 0.25], 0.125).where == "ε=2"
    assert made_up([0.0, 0.0], 0.125).where == ""


def test_one_point_that_is_off_is_enough():
    sweep = sweep_at(4, "alip-0.65", "nmi", 0.0)
    sweep.values["nmi"][:, 7] += 0.02
    item = compare(EXPERIMENTS[4], sweep, "nmi")
    assert (item.verdict, item.where) == ("differs", "ε=2")
    assert item.reason == "No reading that we know explains it."


def as_rare_as_4(joints):
    """Student's t has heavier tails than the normal."""
    return stats.t.ppf(stats.norm.cdf(4), joints - 1)


@pytest.mark.parametrize("quantity", ["min_lift_leakage", "max_lift_leakage"])
@pytest.mark.parametrize(("figure", "name"), [(3, "aorr-0.5"), (5, "aorr")])
def test_leakages_at_100_joints_are_judged_by_4_standard_errors(figure, name, quantity):
    spread = 1.5
    deviation = spread * math.sqrt(100 / 99)  # of 50 joints above and 50 below
    edge = as_rare_as_4(100) * deviation * math.sqrt(1 / 100 + 1 / 100)
    assert 4 < as_rare_as_4(100) < 4.2
    assert verdict(figure, name, quantity, edge - 1e-9, spread=spread) == "agrees"
    assert verdict(figure, name, quantity, edge + 1e-9, spread=spread) == "differs"


def test_no_spread_at_100_joints_leaves_the_resolution_of_the_print():
    # At eps = .25 every joint uses both budgets up; those of X itself lie far beyond.
    options = {"epsilons": [0.25]}
    for quantity in ("min_lift_leakage", "max_lift_leakage"):
        assert verdict(3, "aorr-0.5", quantity, 0.005 - 1e-9, **options) == "agrees"
        assert verdict(3, "aorr-0.5", quantity, 0.005 + 1e-9, **options) == "differs"


def test_a_sample_without_spread_is_given_that_of_x_cut_at_the_budget():
    sweep = sweep_at(3, "aorr-0.5", "min_lift_leakage", 0.0, epsilons=[5.0])
    allowed = compare(EXPERIMENTS[3], sweep, "min_lift_leakage").allowed
    own = [-math.log(ll.Joint.random(5, 17, seed).lift.min()) for seed in range(1500)]
    expected = as_rare_as_4(100) * np.minimum(own, 2.5).std() * math.sqrt(2 / 100)
    assert allowed == pytest.approx([expected], rel=0.2)
    assert expected > 0.03


def test_fewer_joints_are_allowed_more_but_never_less_than_the_tolerance():
    figure, name = 4, "alip-0.65"
    assert verdict(figure, name, "nmi", 0.015 - 1e-9, joints=10) == "agrees"
    assert verdict(figure, name, "nmi", 0.015 + 1e-9, joints=10) == "differs"
    # Fewer than 10 joints count as 10 for Student's t.
    for joints in (20, 10, 4):
        deviation = 0.2 * math.sqrt(joints / (joints - 1))
        edge = as_rare_as_4(max(10, joints)) * deviation * math.sqrt(1 / joints + 1 / 1000)
        assert edge > 0.2
        options = {"joints": joints, "spread": 0.2}
        assert verdict(figure, name, "nmi", edge - 1e-9, **options) == "agrees"
        assert verdict(figure, name, "nmi", edge + 1e-9, **options) == "differs"


def test_one_joint_has_no_spread_and_still_a_verdict():
    assert verdict(4, "alip-0.5", "nmi", 0.0, joints=1) == "agrees"
    assert verdict(4, "alip-0.5", "nmi", 0.2, joints=1) == "differs"
    sweep = sweep_at(4, "ldp", "max_lift_leakage", 0.0, joints=1)
    assert np.isnan(sweep.spread("max_lift_leakage")).all()
    assert np.isfinite(compare(EXPERIMENTS[4], sweep, "max_lift_leakage").allowed).all()


def test_only_budgets_of_both_are_compared():
    sweep = sweep_at(5, "srr", "nmi", 0.0, epsilons=[0.1, 0.25, 99.0])
    item = compare(EXPERIMENTS[5], sweep, "nmi")
    assert item.epsilons.tolist() == [0.25]
    assert item.theirs.tolist() == [printed(5, "srr", "nmi")[0.25]]
    assert len(item.allowed) == len(item.notes) == 1


def test_what_the_paper_does_not_print_has_no_verdict():
    sweep = sweep_at(6, "srr", "seconds", 1.0, epsilons=[1.0, 2.0])
    item = compare(EXPERIMENTS[6], sweep, "seconds")
    assert item.verdict == "not printed"
    assert math.isnan(item.largest)
    assert math.isnan(item.mean)
    assert (item.where, item.reason) == ("", "")
    other = Series("best", "", "", Notion("alip"))
    marker = Sweep(other, sweep.epsilons, sweep.values)
    assert compare(EXPERIMENTS[4], marker, "nmi").verdict == "not printed"


def test_seconds_are_of_another_machine():
    points = printed(5, "aorr", "seconds")
    sweep = sweep_at(5, "aorr", "seconds", 0.0)
    sweep.values["seconds"][:] = np.array(list(points.values())) / 250
    item = compare(EXPERIMENTS[5], sweep, "seconds")
    assert item.verdict == "other machine"
    assert not item.is_off.any()
    assert item.reason.startswith("The printed seconds, from another machine, are 2.5e+02 times")


# What is known about printed points.

SRR, CHI2, MERGING, ALPHA = (
    getattr(comparison, name) for name in ("_SRR", "_CHI2", "_MERGING", "_ALPHA")
)


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ((5, "srr", "nmi", 2.25), ""),
        ((5, "srr", "nmi", 2.5), SRR),
        ((5, "srr", "min_lift_leakage", 8.0), SRR),
        ((5, "srr", "seconds", 8.0), ""),
        ((6, "srr", "nmi", 8.0), ""),
        ((7, "chi2-0.5", "nmi", 1.0), CHI2),
        ((7, "chi2-0.65", "max_lift_leakage", 0.25), CHI2),
        ((7, "chi2-0.65", "nmi", 1.25), ""),
        ((7, "l1-0.5", "nmi", 0.25), ""),
        ((4, "alip-0.5", "min_lift_leakage", 3.5), MERGING),
        ((4, "alip-0.5", "min_lift_leakage", 3.25), ""),
        ((4, "alip-0.5", "max_lift_leakage", 8.0), ""),
        ((5, "subset-merging", "min_lift_leakage", 4.0), MERGING),
        ((2, "alip-0.5", "min_lift_leakage", 8.0), ""),
        ((8, "alpha-10", "nmi", 8.0), ALPHA),
        ((8, "alpha-2", "min_lift_leakage", 0.25), ALPHA),
        ((8, "alip-0.5", "nmi", 1.0), ""),
    ],
)
def test_known_reasons(point, reason):
    assert explanation(*point) == reason


def test_reasons_are_those_of_the_points_that_are_off():
    sweep = sweep_at(5, "srr", "nmi", 0.0)
    high = sweep.epsilons >= 2.5
    assert 0 < high.sum() < len(high)
    sweep.values["nmi"][:, high] += 0.1
    item = compare(EXPERIMENTS[5], sweep, "nmi")
    assert item.reason == SRR
    sweep.values["nmi"][:, ~high] += 0.1
    item = compare(EXPERIMENTS[5], sweep, "nmi")
    assert item.reason == f"No reading that we know explains it. {SRR}"
    assert compare(EXPERIMENTS[5], sweep_at(5, "srr", "nmi", 0.0), "nmi").reason == ""
