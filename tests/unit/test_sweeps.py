"""A sweep has the rows of the single calls, whatever the number of threads."""

import csv
import functools
import math
import subprocess
import sys

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

INF = math.inf
JOINTS = [ll.Joint.random(3, 6, seed) for seed in range(5)]
CRITERIA = [ll.LIP(0.1), ll.ALIP(0.5, INF), ll.LIP(2.0)]
FIELDS = ("joint", "criterion", "is_satisfied", "outputs", "nmi", "mutual_information",
          "upper_bound", "min_lift_leakage", "max_lift_leakage", "seconds")  # fmt: skip


def without_time(sweep):
    """The rows without seconds; NaN, which equals nothing, as None."""
    return [tuple(None if value != value else value for value in row.item()[:-1]) for row in sweep]


LITERAL = functools.partial(ll.watchdog, repair=False)


@pytest.mark.parametrize("mechanism", [ll.subset_merging, LITERAL])
def test_rows_are_those_of_single_calls(mechanism):
    sweep = ll.tradeoff(JOINTS, mechanism, CRITERIA)
    assert sweep.rows.dtype.names == FIELDS
    expected = []
    for j, joint in enumerate(JOINTS):
        for c, criterion in enumerate(CRITERIA):
            release = mechanism(joint, criterion)
            audit = release.audit
            numbers = (audit.nmi, audit.mutual_information, None)
            numbers += (audit.min_lift_leakage, audit.max_lift_leakage)
            expected.append((j, c, audit.is_satisfied, release.channel.n_y, *numbers))
    assert without_time(sweep) == expected
    assert (sweep["seconds"] > 0).all()
    assert sweep.criteria == tuple(CRITERIA)


def test_certified_mechanisms_give_their_bound():
    sweep = ll.tradeoff(JOINTS[:2], ll.random_response, CRITERIA[:1])
    bounds = [ll.random_response(j, CRITERIA[0]).certificate.upper_bound for j in JOINTS[:2]]
    assert sweep["upper_bound"].tolist() == bounds
    assert (sweep["upper_bound"] >= sweep["nmi"]).all()


def test_one_joint_and_one_criterion_need_no_list():
    sweep = ll.tradeoff(JOINTS[0], ll.subset_merging, CRITERIA[0])
    assert without_time(sweep) == without_time(
        ll.tradeoff(JOINTS[:1], ll.subset_merging, CRITERIA[:1])
    )
    lazy = ll.tradeoff(iter(JOINTS), ll.subset_merging, iter(CRITERIA))
    assert len(lazy) == 15


def test_processes_give_the_same_rows_and_progress():
    calls = []
    once = ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA)
    twice = ll.tradeoff(
        JOINTS, ll.subset_merging, CRITERIA, jobs=2, progress=lambda *call: calls.append(call)
    )
    assert without_time(once) == without_time(twice)
    assert calls == [(3 * k, 15) for k in range(1, 6)]


def test_progress_counts_releases():
    calls = []
    ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA, progress=lambda *call: calls.append(call))
    assert calls == [(3 * k, 15) for k in range(1, 6)]


@pytest.mark.parametrize(("answer", "rows"), [(False, 6), (None, 15), (0, 15), (True, 15)])
def test_only_false_stops_and_keeps_the_joints_done(answer, rows):
    def progress(done, total):
        return answer if done >= 6 else None

    sweep = ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA, progress=progress)
    assert len(sweep) == rows
    assert set(sweep["joint"].tolist()) == set(range(rows // 3))


def test_false_stops_processes_too():
    sweep = ll.tradeoff(
        JOINTS, ll.subset_merging, CRITERIA, jobs=2, progress=lambda done, _: done < 6
    )
    whole = ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA)
    assert without_time(sweep) == without_time(whole)[:6]


def test_a_mechanism_that_fails_is_heard():
    def fail(joint, criterion):
        raise ll.Infeasible("nothing fits")

    with pytest.raises(ll.Infeasible, match="nothing fits"):
        ll.tradeoff(JOINTS, fail, CRITERIA)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], ll.subset_merging, CRITERIA), "must not be empty"),
        ((JOINTS, ll.subset_merging, []), "must not be empty"),
        ((JOINTS, ll.subset_merging, CRITERIA, 0), "jobs must be a whole number, 1 or more; got 0"),
        (
            (JOINTS, ll.subset_merging, CRITERIA, -2),
            "jobs must be a whole number, 1 or more; got -2",
        ),
        ((JOINTS, ll.subset_merging, CRITERIA, 1.5), "jobs must be"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        ll.tradeoff(*arguments)


def test_means_over_the_joints():
    sweep = ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA)
    table = sweep["nmi"].reshape(5, 3)
    assert sweep.mean("nmi") == pytest.approx(table.mean(axis=0), rel=1e-12)
    assert sweep.mean("is_satisfied").tolist() == [1, 1, 1]


def test_means_of_what_did_not_run_are_nan():
    sweep = ll.tradeoff(JOINTS[0], ll.subset_merging, CRITERIA)
    short = ll.Tradeoff(sweep.rows[:2], sweep.criteria)
    assert np.isnan(short.mean("nmi")).tolist() == [False, False, True]


def test_infinite_leakages_stay_infinite():
    joint = ll.Joint.from_counts([[0, 2], [3, 2]])
    sweep = ll.tradeoff(joint, ll.subset_merging, ll.MaxLift(2))
    assert sweep["min_lift_leakage"].tolist() == [INF]
    assert sweep.mean("min_lift_leakage").tolist() == [INF]


def test_csv_can_be_read_back(tmp_path):
    joint = ll.Joint.from_counts([[0, 2], [3, 2]])
    sweep = ll.tradeoff([*JOINTS, joint], ll.subset_merging, [*CRITERIA, ll.MaxLift(2)])
    path = tmp_path / "sweep.csv"
    sweep.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == FIELDS
    assert len(rows) == len(sweep)
    for row, record in zip(rows, sweep, strict=True):
        assert row["criterion"] == str(sweep.criteria[record["criterion"]])
        assert row["is_satisfied"] == str(bool(record["is_satisfied"]))
        assert int(row["joint"]) == record["joint"]
        assert float(row["nmi"]) == record["nmi"]
        assert float(row["min_lift_leakage"]) == record["min_lift_leakage"]


def test_words():
    sweep = ll.tradeoff(JOINTS, ll.subset_merging, CRITERIA)
    assert repr(sweep) == "<Tradeoff of 15 releases, 3 criteria>"
    assert len(sweep) == len(list(sweep)) == 15


def test_jobs_need_no_main_guard(tmp_path):
    """A script that is run as it is, with a mechanism that cannot be pickled."""
    script = tmp_path / "script.py"
    script.write_text(
        "import lowlift as ll\n"
        "joints = [ll.Joint.random(3, 6, seed=k) for k in range(4)]\n"
        "sweep = ll.tradeoff(joints, lambda j, c: ll.subset_merging(j, c), ll.LIP(0.5), jobs=2)\n"
        "print(len(sweep))\n"
    )
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "4\n", "")
