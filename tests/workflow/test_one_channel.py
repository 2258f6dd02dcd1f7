"""A release file says what was published: the same channel wherever it is read."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowlift as ll
from lowlift.encodings import described, encode, published
from lowlift.workflow import (
    Asked,
    Options,
    apply,
    audit_releases,
    design,
    report_of,
    sanitize,
    verify,
)
from people import column_of, rows_of, write_csv, write_people

ASKED, BOUND = Asked(("disease",), ("ward",)), ll.LIP(0.3)
MECHANISMS = {"codes": "random-response", "groups": "subset-merging", "values": "random-response"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


def saved(path):
    return json.loads(path.read_text("utf-8"))


def is_same(channel, other):
    """The very integer weights, output by output."""
    atoms = [[c.atom(y) for y in range(c.n_y)] for c in (channel, other)]
    return channel.denominator == other.denominator and atoms[0] == atoms[1]


def as_version_1(made, path):
    """Write the file as it was written before: the channel before its encoding."""
    release = ll.random_response(made.release.joint, made.release.criterion, time_limit=5)
    release.with_table(made.spec.to_dict()).to_json(path)
    text = saved(path) | {"version": 1}
    path.write_text(json.dumps(text))
    return release


@pytest.mark.parametrize("encoding", ["codes", "groups", "values"])
def test_every_reader_speaks_of_the_channel_that_was_published(people, tmp_path, encoding):
    made = sanitize(
        people,
        ASKED,
        BOUND,
        str(tmp_path / "safe.csv"),
        mechanism=MECHANISMS[encoding],
        encoding=encoding,
        time_limit=5,
    )
    file, receipt = tmp_path / "safe.release.json", saved(tmp_path / "safe.receipt.json")
    loaded = ll.Release.from_json(file)
    assert is_same(loaded.channel, made.design.encoded.channel)
    assert loaded.fingerprint == receipt["release"] == made.design.encoded.release.fingerprint
    assert loaded.audit.nmi == receipt["nmi"] == described(loaded).nmi
    assert report_of(loaded, points=()).encoded.nmi == receipt["nmi"]
    assert published(loaded).channel is loaded.channel
    # What `sample` draws is what the table has.
    texts = dict(zip(loaded.channel.y_labels, published(loaded).texts, strict=True))
    written = set(column_of(tmp_path / "safe.csv", "code" if encoding == "codes" else "ward"))
    drawn = {texts[y] for y in loaded.sample(loaded.joint.x_labels * 200, seed=1)}
    assert drawn == written
    # A second use of the file is the same channel, not an encoding of it.
    again = apply(people, loaded, str(tmp_path / "again.csv"))
    assert (again.release, again.nmi) == (receipt["release"], receipt["nmi"])
    assert verify(str(file), against=people, published=str(tmp_path / "again.csv")).is_ok


def test_values_keep_the_certificate_with_its_own_gap(people, tmp_path):
    asked = {"mechanism": "random-response", "time_limit": 5}
    codes = design(people, ASKED, BOUND, encoding="codes", **asked).release
    values = design(people, ASKED, BOUND, encoding="values", **asked).release
    assert values.certificate.upper_bound == codes.certificate.upper_bound >= values.audit.nmi
    assert values.certificate.gap == values.certificate.upper_bound - values.audit.nmi > 0.01
    assert not values.certificate.is_optimal
    values.to_json(tmp_path / "r.json")
    assert ll.Release.from_json(tmp_path / "r.json").certificate == values.certificate


def test_a_file_of_version_1_is_read_as_what_was_published(people, tmp_path):
    made = design(
        people, ASKED, BOUND, mechanism="random-response", encoding="values", time_limit=5
    )
    file = tmp_path / "old.json"
    before = as_version_1(made, file)
    old = ll.Release.from_json(file)
    assert is_same(old.channel, before.channel)
    with pytest.raises(ll.InvalidInput, match="must be encoded before it is drawn from"):
        old.sample(old.joint.x_labels)
    assert is_same(published(old).channel, encode(before, "values").channel)
    assert described(old).nmi == report_of(old, points=()).encoded.nmi < before.audit.nmi
    receipt = apply(people, old, str(tmp_path / "safe.csv"))
    assert receipt.nmi == published(old).nmi
    assert verify(str(file), against=people, published=str(tmp_path / "safe.csv")).is_ok
    # Saved again, it is still what it was.
    old.to_json(tmp_path / "copy.json")
    assert saved(tmp_path / "copy.json")["version"] == 1
    made.release.to_json(tmp_path / "new.json")
    assert saved(tmp_path / "new.json")["version"] == 2
    _, together = audit_releases([str(file), str(tmp_path / "new.json")])
    _, twice = audit_releases([str(tmp_path / "new.json")] * 2)
    assert together.nmi == pytest.approx(twice.nmi)


def test_other_files_of_version_1_are_read_as_before(people, tmp_path):
    made = design(people, ASKED, BOUND, mechanism="subset-merging", encoding="groups")
    made.release.to_json(tmp_path / "r.json")
    (tmp_path / "r.json").write_text(json.dumps(saved(tmp_path / "r.json") | {"version": 1}))
    old = ll.Release.from_json(tmp_path / "r.json")
    assert old.is_encoded
    assert old.fingerprint == made.release.fingerprint
    assert len(old.sample(old.joint.x_labels)) == old.joint.n_x


def test_a_channel_that_is_not_of_values_is_refused(people, tmp_path):
    made = design(people, ASKED, BOUND, mechanism="random-response", encoding="codes", time_limit=5)
    wrong = made.release.with_table(made.spec.to_dict() | {"encoding": "values"})
    with pytest.raises(ll.InvalidInput, match="values of X"):
        apply(people, wrong, str(tmp_path / "safe.csv"))
    with pytest.raises(ll.InvalidInput, match="say its encoding"):
        published(made.release.with_table(None))


@settings(max_examples=12)
@given(
    counts=st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=2, max_size=3),
    epsilon=st.sampled_from([0.0, 0.2, 0.7, 2.0]),
    encoding=st.sampled_from(["codes", "groups", "values"]),
)
def test_file_and_table_have_one_channel(tmp_path_factory, counts, epsilon, encoding):
    """For any counts: merged values fix the counts of the table, so the channel shows in it."""
    if min(sum(row) for row in counts) == 0 or min(map(sum, zip(*counts, strict=True))) == 0:
        counts = [[n + 1 for n in row] for row in counts]
    folder = tmp_path_factory.mktemp("any")
    labels = [f"s{k}" for k in range(len(counts))]
    table = write_csv(folder / "t.csv", ("s", "x"), rows_of(counts, labels, ("u", "v", "w")))
    sanitize(
        table,
        Asked(("s",), ("x",)),
        ll.LIP(epsilon),
        str(folder / "safe.csv"),
        Options(seed=1),
        mechanism="subset-merging",
        encoding=encoding,
    )
    release = ll.Release.from_json(folder / "safe.release.json")
    receipt = saved(folder / "safe.receipt.json")
    assert (release.fingerprint, release.audit.nmi) == (receipt["release"], receipt["nmi"])
    encoded = published(release)
    rows = Counter(column_of(folder / "safe.csv", "code" if encoding == "codes" else "x"))
    totals = np.sum(counts, axis=0)
    expected = encoded.channel.p_y_given_x.T @ totals
    for y, text in enumerate(encoded.texts):
        if encoding != "values":  # nothing is drawn
            assert rows[text] == round(expected[y])
    assert sum(rows.values()) == totals.sum()
    assert set(rows) <= set(encoded.texts)
