"""A file that is no release, or was changed, is refused with one kind of error."""

import json
import pickle

import pytest

import lowlift as ll
from lowlift.errors import InvalidInput
from lowlift.tables import Calendar, Column, Origin, Width

COUNTS = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], ["p", "q"], ["a", "b", "c"])
MERGED = ll.Release.of(
    COUNTS,
    ll.Channel.from_blocks(COUNTS, [[0, 1], [2]]),
    ll.ALIP(0.5, 0.5),
    partition=ll.Partition([["a", "b"], ["c"]]),
    certificate=ll.Certificate("partitions", 0.75, is_optimal=True),
    mechanism="test",
)
NOISY = ll.Release.of(
    ll.Joint.random(3, 3, seed=1), ll.Channel([[3, 5, 0], [3, 5, 0], [0, 0, 8]]), ll.LIP(2.0)
)
KEYS = ["format", "version", "mechanism", "criterion", "audit", "certificate", "partition",
        "channel", "joint", "table"]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "release.json"


def text_of(release, path):
    release.to_json(path)
    return path.read_text()


def refused(path, text, message="release.json"):
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        ll.Release.from_json(path)
    assert "release.json" in str(caught.value)


def tampered(release, path, keys, value, message="release.json"):
    """Change one place of the file and expect it to be refused."""
    saved = json.loads(text_of(release, path))
    place = saved
    for key in keys[:-1]:
        place = place[key]
    assert place[keys[-1]] != value or type(place[keys[-1]]) is not type(value)
    place[keys[-1]] = value
    refused(path, json.dumps(saved), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no release, or is truncated: it is not JSON"),
        ("hello", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[1, 2]", "is no release"),
        ("1", "is no release"),
        ("null", "is no release"),
        ("{}", "is no release"),
        ('{"format": "other", "version": 1}', "is no release"),
        ('{"format": "lowlift-release"}', "version 1 or 2; it is of version None"),
        ('{"format": "lowlift-release", "version": 1}', "is damaged"),
        ("[" * 100_000, "it is not JSON"),
        ("9" * 10_000, "it is not JSON"),
    ],
)
def test_what_is_no_release_is_refused(path, text, message):
    refused(path, text, message)


def test_what_is_no_text_is_refused(path):
    path.write_bytes(b"\xff\xfe\x00{}")
    with pytest.raises(InvalidInput, match=r"release.json is no release: it is not text"):
        ll.Release.from_json(path)


def test_what_cannot_be_read_is_refused(path, tmp_path):
    with pytest.raises(InvalidInput, match=r"release.json cannot be read: No such file"):
        ll.Release.from_json(path)
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        ll.Release.from_json(tmp_path)


@pytest.mark.parametrize("release", [MERGED, NOISY])
def test_a_truncated_file_is_refused_wherever_it_ends(path, release):
    text = text_of(release, path)
    end = len(text.rstrip()) - 1
    for size in [*range(0, end, 7), *range(end - 20, end + 1)]:
        refused(path, text[:size])


@pytest.mark.parametrize("version", [0, 3, "1", None, 1.5, [1]])
def test_other_versions_are_refused(path, version):
    tampered(MERGED, path, ["version"], version, "version 1 or 2; it is of version")


@pytest.mark.parametrize("word", ["other", None, 1, "lowlift-releases"])
def test_other_formats_are_refused(path, word):
    tampered(MERGED, path, ["format"], word, "is no release")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("key", ["nmi", "lower"])
def test_numbers_that_json_does_not_have_are_refused(path, word, key):
    lines = text_of(MERGED, path).split("\n")
    changed = [f' "{key}": {word},' if f'"{key}":' in line else line for line in lines]
    assert changed != lines
    refused(path, "\n".join(changed), "it is not JSON")


@pytest.mark.parametrize("release", [MERGED, NOISY])
@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_refused(path, release, key):
    saved = json.loads(text_of(release, path))
    assert [name for name in saved if name != "confidential"] == KEYS
    del saved[key]
    refused(path, json.dumps(saved))


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [[1]], True, {"a": 1}, [None]])
@pytest.mark.parametrize("key", ["criterion", "audit", "channel", "joint"])
def test_a_part_of_another_kind_is_refused(path, key, value):
    tampered(MERGED, path, [key], value)


@pytest.mark.parametrize("value", [5, "x", [1], {"scope": "x"}, {"a": 1}, 0, "", [], False])
def test_a_certificate_of_another_kind_is_refused(path, value):
    tampered(MERGED, path, ["certificate"], value)


@pytest.mark.parametrize("release", [MERGED, NOISY])
@pytest.mark.parametrize(
    "field", ["is_satisfied", "nmi", "mutual_information", "min_lift_leakage", "max_lift_leakage"]
)
def test_a_changed_audit_is_refused(path, release, field):
    is_verdict = field == "is_satisfied"
    for value in [False] if is_verdict else [0.123, "inf"]:
        tampered(release, path, ["audit", field], value, "disagrees with the one recomputed")
    for value in [None, "true", 1] if is_verdict else [None, "0.5", []]:
        tampered(release, path, ["audit", field], value, f"audit.{field} must be")
    saved = json.loads(text_of(release, path))
    del saved["audit"][field]
    refused(path, json.dumps(saved), f"audit must have '{field}'")
    if field != "is_satisfied":
        more = json.loads(text_of(release, path))["audit"][field] + 1e-6
        tampered(release, path, ["audit", field], more, "disagrees")


def test_an_audit_that_lies_about_a_violation_is_refused(path):
    release = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.LIP(0.1))
    tampered(release, path, ["audit", "is_satisfied"], True, "disagrees")


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("value", [-1, None, "x", "-inf", "0.5", [], {}, True])
def test_a_budget_that_is_none_is_refused(path, side, value):
    tampered(MERGED, path, ["criterion", side], value, "damaged")


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("value", [0.3, 0.01, 0])
def test_a_budget_that_the_channel_breaks_is_refused(path, side, value):
    # A budget that changes no verdict makes another true release: nothing disagrees then.
    release = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.ALIP(0.7, 0.7))
    assert release.audit.is_satisfied
    tampered(release, path, ["criterion", side], value, "disagrees")


@pytest.mark.parametrize("name", ["LIP", "DP", None, 5, "MaxLift"])
def test_another_criterion_is_refused(path, name):
    tampered(MERGED, path, ["criterion", "name"], name, "damaged")


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["channel", "atoms", 0, 1, 0], 2),
        (["channel", "atoms", 0, 1, 0], 0),
        (["channel", "atoms", 0, 1, 0], -1),
        (["channel", "atoms", 0, 1, 0], 1.5),
        (["channel", "atoms", 0, 1, 0], 2**70),
        (["channel", "atoms", 0, 1, 0], None),
        (["channel", "atoms", 0, 1, 0], "1"),
        (["channel", "atoms", 0, 0, 0], 1),
        (["channel", "atoms", 0, 0, 0], 2),
        (["channel", "atoms", 0, 0, 0], 0.5),
        (["channel", "atoms", 0, 0, 0], 3),
        (["channel", "atoms", 0, 0, 0], -1),
        (["channel", "atoms", 0, 0], [0]),
        (["channel", "atoms", 0, 1], [1, 1, 1]),
        (["channel", "atoms", 0, 0], []),
        (["channel", "atoms", 0], []),
        (["channel", "atoms", 0], None),
        (["channel", "atoms"], []),
        (["channel", "atoms"], None),
        (["channel", "denominator"], 2),
        (["channel", "denominator"], 0),
        (["channel", "denominator"], 1.5),
        (["channel", "denominator"], "one"),
        (["channel", "denominator"], 2**60),
        (["channel", "y_labels"], ["a"]),
        (["channel", "y_labels"], ["a", "a"]),
        (["channel", "y_labels"], 5),
        (["channel", "y_labels"], [{}, "c"]),
    ],
)
def test_a_changed_channel_is_refused(path, keys, value):
    tampered(MERGED, path, keys, value)


def test_a_channel_without_outputs_is_refused(path):
    saved = json.loads(text_of(MERGED, path))
    saved["channel"] = {"denominator": 0, "y_labels": [], "atoms": []}
    refused(path, json.dumps(saved), "damaged")


def test_changed_noisy_weights_are_refused(path):
    saved = json.loads(text_of(NOISY, path))
    noisy = [k for k, atom in enumerate(saved["channel"]["atoms"]) if len(atom[0]) > 1]
    first, second = noisy[:2]
    tampered(NOISY, path, ["channel", "atoms", first, 1, 0], 1)
    one, two = (saved["channel"]["atoms"][k][1] for k in (first, second))
    one[0], two[0] = one[0] + 1, two[0] - 1  # the row still sums to the denominator
    refused(path, json.dumps(saved), "disagrees")


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["joint", "s_labels"], ["p"]),
        (["joint", "s_labels"], ["p", "p"]),
        (["joint", "x_labels"], ["a", "b"]),
        (["joint", "x_labels"], ["a", "b", "c", "d"]),
        (["joint", "x_labels"], ["a", "b", "z"]),
        (["joint", "x_labels"], ["a", "b", {"c": 1}]),
        (["joint", "x_labels"], 5),
        (["joint", "counts"], [[1, 3], [3, 1]]),
        (["joint", "counts"], [[1, 3, 4], [3, 1]]),
        (["joint", "counts"], [[1, 3, 4], [3, 1, -4]]),
        (["joint", "counts"], [[1, 3, 4], [3, 1, 5]]),
        (["joint", "counts"], [[1, 3, 0], [3, 1, 0]]),
        (["joint", "counts"], [[1, 3, 4], [3, 1, 4.5]]),
        (["joint", "counts"], [[1, 3, 4], [3, 1, "4"]]),
        (["joint", "counts"], "x"),
        (["joint", "counts"], None),
        (["joint", "counts"], {}),
    ],
)
def test_a_changed_joint_is_refused(path, keys, value):
    tampered(MERGED, path, keys, value)


@pytest.mark.parametrize("depth", [300, 600, 900])
@pytest.mark.parametrize("key", ["x_labels", "s_labels"])
def test_labels_nested_without_end_are_refused(path, depth, key):
    label = "[" * depth + "1" + "]" * depth
    saved = json.loads(text_of(NOISY, path))
    size = len(saved["joint"][key])
    saved["joint"][key] = ["HERE", *range(size)]
    refused(path, json.dumps(saved).replace('"HERE"', label))


@pytest.mark.parametrize(
    "value",
    [
        [["a"], ["b"], ["c"]],
        [["a", "c"], ["b"]],
        [["a", "b"]],
        [["a", "b"], ["c"], ["d"]],
        [["a", "b"], ["b", "c"]],
        [["a", "b"], ["c"], []],
        [["a", "z"], ["c"]],
        [["a", "b"], [{}]],
        [5],
        5,
        "x",
        {},
        [],
    ],
)
def test_a_changed_partition_is_refused(path, value):
    tampered(MERGED, path, ["partition"], value, "damaged")


def test_the_table_s_columns_are_kept(path):
    column = {"name": "ä ö", "kind": "text", "bins": None}
    table = {
        "sensitive": [column],
        "released": [column | {"name": "x"}],
        "missing": "value",
        "source": "people.csv",
        "rows": 7,
        "sha256": None,
        "encoding": "codes",
        "from_data": [],
    }
    release = MERGED.with_table(table)
    release.to_json(path)
    assert ll.Release.from_json(path).table == table
    assert "confidential" in json.loads(path.read_text())
    assert ll.Release.from_json(path).fingerprint == MERGED.fingerprint


ORIGIN = Origin(
    sensitive=(Column("ill", "boolean"),),
    released=(Column("age", "integer", Width(10)), Column("day", "date", Calendar("month"))),
    missing="drop",
    source="people.csv",
    rows=7,
    sha256="0" * 64,
    encoding="codes",
    from_data=("age",),
    escape_formulas=True,
)


def test_a_joint_its_release_and_the_file_carry_one_typed_record(path):
    joint = COUNTS.with_table(ORIGIN)
    release = ll.Release.of(joint, MERGED.channel, ll.ALIP(0.5, 0.5))
    assert release.origin is joint.origin is joint.table is ORIGIN
    assert release.table == ORIGIN.to_dict()
    assert release.schema == joint.schema == ORIGIN.schema
    release.to_json(path)
    read = ll.Release.from_json(path)
    assert read.origin == read.joint.origin == ORIGIN
    assert pickle.loads(pickle.dumps(read)).origin == ORIGIN


def test_the_record_is_given_typed_or_as_plain_data():
    assert MERGED.with_table(ORIGIN.to_dict()).origin == ORIGIN
    assert MERGED.with_table(ORIGIN).with_table(None).origin is None
    for wrong in ({"encoding": "values"}, ORIGIN.to_dict() | {"rows": "7"}, {}):
        with pytest.raises(InvalidInput, match="table's columns in the release are damaged: "):
            MERGED.with_table(wrong)


@pytest.mark.parametrize("value", [5, "x", [1], True])
def test_a_table_of_another_kind_is_refused(path, value):
    tampered(MERGED, path, ["table"], value)


def test_the_fingerprint_changes_with_the_channel_and_the_labels():
    joint = ll.Joint.from_counts([[1, 3], [3, 1]], x_labels=["a", "b"])
    channels = [ll.Channel([[3, 5], [5, 3]]), ll.Channel([[5, 3], [3, 5]])]
    prints = [ll.Release.of(joint, channel, ll.LIP(2.0)).fingerprint for channel in channels]
    other = ll.Joint.from_counts([[1, 3], [3, 1]], x_labels=["a", "c"])
    prints.append(ll.Release.of(other, channels[0], ll.LIP(2.0)).fingerprint)
    assert len(set(prints)) == 3
    assert all(len(text) == 64 for text in prints)
    assert ll.Release.of(joint, channels[0], ll.LIP(9.0)).fingerprint == prints[0]
