"""A release samples what was audited, and survives pickles and files exactly."""

import copy
import dataclasses
import json
import math
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import BoundViolated, InvalidInput

INF = math.inf
COUNTS = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], ["p", "q"], ["alice", "bob", "carol"])
LABELS = [None, True, 7, ("a", (2, None)), "text", 2.5]
FLOATS = ll.Joint.random(3, 6, seed=4)
FLOATS = ll.Joint(FLOATS.masses, [False, "s", (1, 2)], LABELS)
HUGE = ll.Joint.from_counts([[2**200, 1, 5], [3, 2**200, 5]])


ZERO = ll.Joint.from_counts([[0, 2], [3, 2]])
NOISY = ll.Channel([[3, 1], [0, 4], [2, 2]], COUNTS.x_labels, [None, ("y", True)])
#: Made when a test asks, so that a mechanism that fails stops no other test.
RELEASES = {
    "merged": lambda: ll.subset_merging(COUNTS, ll.ALIP(0.5, INF)),
    "optimal": lambda: ll.optimal_merging(FLOATS, ll.ALIP(0.4, 0.3)),
    "weights": lambda: ll.watchdog(FLOATS, ll.LIP(0.4), outputs=[1.0, 2.0, 4.5]),
    "uniform": lambda: ll.watchdog(COUNTS, ll.MaxLift(0.1), outputs=3),
    "unrepaired": lambda: ll.watchdog(FLOATS, ll.AlphaLift(INF, 0.1, INF), repair=False),
    "huge": lambda: ll.optimal_merging(HUGE, ll.LDP(0.1)),
    "zero": lambda: ll.Release.of(ZERO, ll.Channel.identity(ZERO), ll.L1Lift(INF, 2)),
    "noisy": lambda: ll.Release.of(COUNTS, NOISY, ll.Chi2Lift(5, 5), mechanism="mine"),
}


def certified(release):
    return release.certificate and repr(dataclasses.asdict(release.certificate))


def assert_same(one, two):
    assert one.joint.is_counted is two.joint.is_counted
    assert one.joint.masses.tobytes() == two.joint.masses.tobytes()
    assert one.joint.p_sx.tobytes() == two.joint.p_sx.tobytes()
    assert one.joint.counts.tolist() == two.joint.counts.tolist()
    assert repr(one.joint.labels) == repr(two.joint.labels)
    assert (one.channel.weights == two.channel.weights).all()
    assert one.channel.denominator == two.channel.denominator
    assert repr(one.channel.y_labels) == repr(two.channel.y_labels)
    assert repr(one.channel.x_labels) == repr(two.channel.x_labels)
    assert one.criterion == two.criterion
    assert type(one.criterion) is type(two.criterion)
    assert one.partition == two.partition
    assert repr(one.partition) == repr(two.partition)
    assert certified(one) == certified(two)
    assert one.mechanism == two.mechanism
    for name in ("is_satisfied", "nmi", "mutual_information", "min_lift_leakage", "leakage"):
        assert getattr(one.audit, name) == getattr(two.audit, name)


@pytest.mark.parametrize("name", RELEASES)
def test_a_file_keeps_everything_exactly(name, tmp_path):
    release = RELEASES[name]()
    path = tmp_path / "release.json"
    release.to_json(path)
    text = path.read_text()
    assert "Infinity" not in text
    assert "NaN" not in text
    again = ll.Release.from_json(path)
    assert_same(release, again)
    again.to_json(str(path))
    assert path.read_text() == text


def test_infinite_budgets_and_leakages_are_words(tmp_path):
    release = ll.Release.of(ZERO, ll.Channel.identity(ZERO), ll.ALIP(INF, 1))
    release.to_json(tmp_path / "r.json")
    saved = json.loads((tmp_path / "r.json").read_text())
    assert saved["criterion"] == {"name": "ALIP", "lower": "inf", "upper": 1.0}
    assert saved["audit"]["min_lift_leakage"] == "inf"
    assert ll.Release.from_json(tmp_path / "r.json").audit.min_lift_leakage == INF


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_copies_are_equal_and_read_only(name, copied):
    release = RELEASES[name]()
    other = copied(release)
    assert_same(release, other)
    joint, channel = other.joint, other.channel
    for array in (joint.p_sx, joint.counts, channel.weights, channel.members):
        assert not array.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        other.audit = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        other.audit.criterion = None


def test_posterior_of_x_by_hand():
    noisy = ll.Channel([[3, 1], [0, 4], [2, 2]])
    release = ll.Release.of(COUNTS, noisy, ll.LIP(5))
    expected = np.array([[3 / 7, 1 / 9], [0, 4 / 9], [4 / 7, 4 / 9]])
    assert release.p_x_given_y == pytest.approx(expected, rel=1e-14)


def test_sample_maps_labels_to_outputs():
    release = ll.subset_merging(COUNTS, ll.ALIP(0.5, 0.5))
    merged = ("alice", "bob")
    assert release.sample(["carol", "bob", "alice"]) == ["carol", merged, merged]
    assert release.sample([]) == []
    assert release.sample_indices([2, 1, 0]).tolist() == [1, 0, 0]
    tuples = ll.Release.of(FLOATS, ll.Channel.identity(FLOATS), ll.LIP(INF))
    assert tuples.sample([("a", (2, None)), None, ["a", (2, None)]]) == [LABELS[3], None, LABELS[3]]


def test_sample_repeats_with_a_seed():
    release = ll.watchdog(COUNTS, ll.LIP(0.1), outputs=4)
    asked = ["alice", "bob", "carol"] * 50
    assert release.sample(asked, seed=1) == release.sample(asked, seed=1)
    assert release.sample(asked, seed=1) != release.sample(asked, seed=2)
    outputs = set(release.sample(asked, seed=1))
    assert outputs <= set(release.channel.y_labels)
    assert len(outputs) == 5


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["alice", "XSECRETX"], r"1 of 2 are not, the first at position 1"),
        (["XSECRETX", "bob", "XSECRETY"], r"2 of 3 are not, the first at position 0"),
        (["alice", ["XSECRETX", {}]], r"labels of X"),
        (["alice", {"XSECRETX"}], r"labels of X"),
        ([("alice", "XSECRETX")], r"1 of 1 are not, the first at position 0"),
    ],
)
def test_unknown_labels_are_refused_by_place_and_never_shown(labels, message):
    release = ll.subset_merging(COUNTS, ll.ALIP(0.5, 0.5))
    with pytest.raises(InvalidInput, match=message) as caught:
        release.sample(labels)
    assert "SECRET" not in str(caught.value)


def test_sample_indices_are_checked():
    release = ll.subset_merging(COUNTS, ll.ALIP(0.5, 0.5))
    with pytest.raises(InvalidInput, match=r"must lie in 0\.\.2; 1 of 2 do not.*position 1"):
        release.sample_indices([0, 3])


def test_an_unsatisfied_release_is_not_sampled_unless_told():
    release = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.LIP(0.1))
    for ask, asked in ((release.sample, ["bob"]), (release.sample_indices, [1])):
        with pytest.raises(BoundViolated, match=r"not satisfy LIP.*2 of 3 outputs break it"):
            ask(asked)
        assert len(ask(asked, allow_unsatisfied=True)) == 1


class Own:
    lower, upper = INF, 1.0

    def leakage(self, lift_sy, p_s):
        return np.zeros(lift_sy.shape[1]), np.zeros(lift_sy.shape[1])

    def risk(self, lift_sy, p_s):
        return np.zeros(lift_sy.shape[1])


def test_a_criterion_of_ones_own_is_not_saved(tmp_path):
    release = ll.subset_merging(COUNTS, Own())
    with pytest.raises(InvalidInput, match="only built-in criteria can be saved; got Own"):
        release.to_json(tmp_path / "r.json")
    assert list(tmp_path.iterdir()) == []


RELEASE = ll.Release.of(
    COUNTS, ll.Channel.from_blocks(COUNTS, [[0, 1], [2]]), ll.ALIP(0.5, 0.5), mechanism="test"
)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("existing", [False, True])
def test_files_are_for_their_owner_alone(tmp_path, mask, existing):
    path = tmp_path / "r.json"
    if existing:
        path.write_text("old")
        path.chmod(0o666)
    before = os.umask(mask)
    try:
        RELEASE.to_json(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    def fail(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.json"
    path.write_text("old")
    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
    with pytest.raises(OSError, match="No space left"):
        RELEASE.to_json(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_draft_left_by_a_crash_does_not_stop_the_next_write(tmp_path, monkeypatch):
    # Process numbers repeat, in containers at every start.
    path, left = tmp_path / "r.json", []
    monkeypatch.setattr(os, "fsync", lambda _: left.extend(tmp_path.iterdir()))
    RELEASE.to_json(path)
    left[0].write_text("half a rele")
    RELEASE.to_json(path)
    assert ll.Release.from_json(path).audit.is_satisfied


def test_the_draft_is_private_and_never_the_file_itself(tmp_path, monkeypatch):
    path, seen = tmp_path / "r.json", []

    def look(handle):
        seen.extend((p.name, stat.S_IMODE(p.stat().st_mode)) for p in tmp_path.iterdir())

    monkeypatch.setattr(os, "fsync", look)
    before = os.umask(0)
    try:
        RELEASE.to_json(path)
    finally:
        os.umask(before)
    # The file is on the disk before it has its name, and then its name is.
    (draft, mode), (name, _) = seen
    assert draft != name == "r.json"
    assert mode == 0o600


def test_words():
    assert repr(RELEASE).startswith("<Release |X|=3 |Y|=2 satisfied nmi=0.")
    unsatisfied = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.LIP(0.1))
    assert repr(unsatisfied) == "<Release |X|=3 |Y|=3 VIOLATED nmi=1.000000>"
