"""`comparison.json`: the deviations, verdicts and findings of a run, for programs."""

import csv
import json
import math
import platform

import numpy as np
import pytest

import lowlift as ll
from lowlift.paper import EXPERIMENTS, printed, reproduce
from lowlift.paper.propositions import try_propositions
from lowlift.paper.runs import Size
from lowlift.paper.vertices import SIZES, vertex_counts

FIGURES = [1, 2, 5, 8]
#: Its figures are made once, in one process of the tests.
pytestmark = pytest.mark.xdist_group("counterexamples")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("parent") / "result"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Size, "seconds_of", lambda *_: 0.5)
        return reproduce(out, FIGURES, joints=2, quick=True, jobs=1).parent


def refused(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture(scope="module")
def found(folder):
    text = (folder / "comparison.json").read_text("utf-8")
    return json.loads(text, parse_constant=refused)


def test_it_says_how_it_was_made(found):
    assert (found["lowlift"], found["python"]) == (ll.__version__, platform.python_version())
    assert found["numpy"] == np.__version__
    assert (found["seed"], found["joints"], found["quick"]) == (9, 2, True)
    assert found["figures"] == FIGURES


def test_every_series_and_panel_is_there(found):
    expected = {
        (number, curve.name, quantity)
        for number, experiment in EXPERIMENTS.items()
        if number in FIGURES
        for curve in experiment.curves
        for quantity in experiment.quantities
        if printed(number, curve.name, quantity)
    }
    keys = [(item["figure"], item["series"], item["panel"]) for item in found["comparisons"]]
    assert len(keys) == len(expected)
    assert set(keys) == expected


def test_verdicts_follow_from_the_points(found):
    verdicts = set()
    for item in found["comparisons"]:
        deviations = np.abs(np.array(item["ours"]) - item["paper"])
        assert item["largest"] == deviations.max()
        assert item["mean"] == pytest.approx(deviations.mean(), rel=1e-12)
        points = printed(item["figure"], item["series"], item["panel"])
        assert item["paper"] == [points[e] for e in item["epsilons"]]
        assert item["joints"] == 2
        verdicts.add(item["verdict"])
        if item["panel"] == "seconds":
            assert item["verdict"] == "other machine"
            assert item["tolerance"] == [None, None]
            continue
        assert item["tolerance"] == [min(item["allowed"]), max(item["allowed"])]
        is_off = bool((deviations > item["allowed"]).any())
        assert item["verdict"] == ("differs" if is_off else "agrees")
        assert bool(item["where"]) == bool(item["reason"]) == is_off
    assert verdicts == {"agrees", "differs", "other machine"}


def test_means_are_those_of_the_csv(found, folder):
    with (folder / "figure-5.csv").open(newline="", encoding="utf-8") as file:
        rows = {
            (row["series"], row["quantity"], float(row["epsilon"])): float(row["ours"])
            for row in csv.DictReader(file)
        }
    for item in found["comparisons"]:
        if item["figure"] == 5:
            for epsilon, ours in zip(item["epsilons"], item["ours"], strict=True):
                assert ours == rows[item["series"], item["panel"], epsilon]


def test_readings_come_in_pairs(found):
    for number in (2, 8):
        rows = [row for row in found["readings"] if row["figure"] == number]
        asked = {(r.beside, r.mechanism) for r in EXPERIMENTS[number].readings}
        assert {(row["series"], row["reading"]) for row in rows if not row["is_used"]} == asked
        used = {row["series"] for row in rows if row["is_used"]}
        assert used == {series for series, _ in asked}
        assert all(0 <= row["kept"] <= 1 for row in rows)
    kept = {row["reading"]: row["kept"] for row in rows}
    assert kept["subset merging"] == 1 > kept["subset merging, unrepaired"]


def test_impossible_points_exceed_what_is_allowed(found):
    assert {row["figure"] for row in found["impossible"]} == {8}
    for row in found["impossible"]:
        points = printed(row["figure"], row["series"], row["quantity"])
        assert points[row["worst"]] == row["value"] > row["allowed"]
        assert row["worst"] in row["epsilons"]
        assert set(row["epsilons"]) <= set(points)
        assert len(points) == row["points"]


def test_propositions_and_vertices_are_those_of_the_package(found):
    claims = try_propositions(500, 9)
    assert [row["violations"] for row in found["propositions"]] == [c.violations for c in claims]
    examples = [row["counter_example"] for row in found["propositions"]]
    assert examples == [c.counter_example for c in claims]
    for row in found["vertices"]:
        counts = vertex_counts(row["n_s"], SIZES[row["n_s"]][:4], seed=9)
        assert row["vertices"] == {str(count.n_x): count.vertices for count in counts}
        assert math.isfinite(row["exponent"])


def test_releases_are_counted(found):
    assert found["releases"]["1"] == {"count": 0, "seconds": 0}
    assert found["releases"]["2"]["count"] == 2 * (4 * 9 + 2 * 8)
    assert found["releases"]["5"]["seconds"] > 0
