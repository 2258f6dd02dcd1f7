"""Trade-offs as frames, and pictures that a notebook shows."""

import math
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import lowlift as ll

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def sweep():
    joints = [ll.Joint.random(3, 6, seed=k) for k in range(2)]
    criteria = [
        *(ll.ALIP.split(epsilon, lam) for lam in (0.25, 0.5) for epsilon in (0.5, 1.0, 2.0)),
        ll.LIP(0.5),
        ll.MaxLift(1.0),
        ll.AlphaLift(2.0, 0.5, 1.5),
    ]
    return ll.tradeoff(joints, ll.subset_merging, criteria)


def test_a_frame_has_a_row_per_release_and_the_budgets_as_numbers(sweep):
    frame = sweep.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    names = list(sweep.rows.dtype.names)
    assert list(frame.columns) == [*names[:2], "epsilon", "lambda", *names[2:]]
    assert len(frame) == len(sweep) == 18
    for name in set(names) - {"criterion"}:
        np.testing.assert_array_equal(frame[name], sweep[name])
    first = frame[frame.joint == 0].set_index("criterion")
    assert first.loc["ALIP(lower=0.25, upper=0.75)", ["epsilon", "lambda"]].tolist() == [1.0, 0.25]
    assert first.loc["AlphaLift(alpha=2.0, lower=0.5, upper=1.5)", "lambda"] == 0.25
    assert first.loc["LIP(epsilon=0.5)", "epsilon"] == 0.5
    assert math.isnan(first.loc["LIP(epsilon=0.5)", "lambda"])
    assert math.isnan(first.loc["MaxLift(upper=1.0)", "lambda"])


def test_a_frame_of_a_sweep_that_was_stopped(sweep):
    joints = [ll.Joint.random(3, 6, seed=k) for k in range(3)]
    stopped = ll.tradeoff(joints, ll.watchdog, [ll.LIP(0.5)], progress=lambda *_: False)
    assert len(stopped.to_pandas()) == 1
    empty = ll.Tradeoff(sweep.rows[:0], sweep.criteria).to_pandas()
    assert len(empty) == 0
    assert empty["epsilon"].dtype == np.float64


def test_a_frame_groups_by_budget(sweep):
    frame = sweep.to_pandas()
    means = frame[frame["lambda"] == 0.5].groupby("epsilon")["nmi"].mean()
    np.testing.assert_allclose(means[1.0], sweep.mean("nmi")[4])


def words_of(picture):
    root = ET.fromstring(picture.svg)
    assert root.tag.endswith("svg")
    return [text for text in root.itertext() if text.strip()]


def test_a_sweep_is_drawn_with_a_curve_per_notion_and_split(sweep):
    words = words_of(sweep.plot())
    for label in ("ALIP, split 0.25", "ALIP, split 0.5", "LIP", "MaxLift", "budget ε (nats)"):
        assert label in words
    assert "AlphaLift, alpha 2, split 0.25" in words
    assert "proven bound" not in words


def test_proven_bounds_are_drawn_where_there_are_some():
    joint = ll.Joint.random(2, 4, seed=1)
    sweep = ll.tradeoff(joint, ll.random_response, [ll.LIP(0.2), ll.LIP(0.4)])
    assert "proven bound" in words_of(sweep.plot())


def test_an_audit_is_drawn_as_a_heat_map_with_its_labels_escaped():
    joint = ll.Joint.from_counts([[3, 9], [9, 3]], s_labels=["ill", EVIL], x_labels=[EVIL, "b"])
    found = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0.2))
    picture = found.plot()
    assert "<script" not in picture._repr_html_()
    assert {"ill", "b"} <= set(words_of(picture))
    assert str(ll.LIP(0.2)) in picture.title


def test_a_release_is_drawn_by_its_audit():
    release = ll.subset_merging(ll.datasets.titanic(), ll.ALIP(0.5, 0.5))
    assert release.plot() == release.audit.plot()


def test_only_the_riskiest_of_many_outputs_are_drawn():
    joint = ll.Joint.random(50, 300, seed=2)
    picture = ll.audit(joint, ll.Channel.identity(joint), ll.LDP(0.5)).plot()
    assert "200 riskiest of 300" in picture.svg
    assert len(picture.svg) < 2_000_000


def test_a_picture_is_saved_as_svg(tmp_path, sweep):
    picture = sweep.plot()
    picture.save(tmp_path / "curve.svg")
    root = ET.parse(tmp_path / "curve.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert picture.svg in picture._repr_html_()


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [
        ("matplotlib", "sweep.plot()", "lowlift[report]"),
        ("matplotlib", "release.plot()", "lowlift[report]"),
        ("matplotlib", "release.audit.plot()", "lowlift[report]"),
        ("pandas", "sweep.to_pandas()", "lowlift[sklearn]"),
    ],
)
def test_without_the_package_the_error_says_what_to_install(package, call, extra):
    code = (
        "import sys, lowlift as ll\n"
        f"sys.modules[{package!r}] = None\n"
        "joint = ll.datasets.titanic()\n"
        "release = ll.watchdog(joint, ll.LIP(0.5))\n"
        "sweep = ll.tradeoff(joint, ll.watchdog, ll.LIP(0.5))\n"
        f"try:\n    {call}\n"
        f"except ll.MissingExtra as error:\n    assert {extra!r} in str(error), error\n"
        "else:\n    raise SystemExit(3)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
