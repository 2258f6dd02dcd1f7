"""A codebook holds what may be published, nothing of S, and is refused when it was changed."""

import copy
import json
import math
import os
import re
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import lowlift as ll
from lowlift._guarantees import guarantee_of
from lowlift.codebook import Codebook
from lowlift.encodings import encode
from lowlift.errors import InvalidInput

INF = math.inf
COUNTS = ll.Joint.from_counts(
    [[1, 2, 40, 7], [2, 1, 43, 9]], ["secret-ill", "secret-well"], ["a", "b", "c", ("d", None, 3)]
)
COLUMNS = [{"name": "city", "type": "text"}, {"name": "age", "edges": [0, 18, 65]}]
MERGED = ll.Release.of(
    COUNTS, ll.Channel.from_blocks(COUNTS, [[1, 0], [2], [3]]), ll.ALIP(0.3, 0.3)
)
NOISY = ll.Release.of(
    COUNTS, ll.Channel([[3, 1], [1, 3], [0, 4], [2, 2]], COUNTS.x_labels), ll.LIP(1.0)
)
FLOATS = ll.Release.of(
    ll.Joint.random(3, 4, seed=0), ll.Channel([[3, 1], [1, 3], [0, 4], [2, 2]]), ll.LIP(1.0)
)
BOOKS = {
    f"{name} {kind} {step}": (release, name, step)
    for kind, release in (("merged", MERGED), ("noisy", NOISY), ("floats", FLOATS))
    for name in ("codes", "groups", "values")
    for step in (None, 0.01, 0.3)
    if kind == "merged" or name != "groups"
}

of_every_kind = pytest.mark.parametrize("kind", BOOKS)


def book_of(kind):
    release, name, step = BOOKS[kind]
    return Codebook.of(encode(release, name), COLUMNS, round_to=step)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codebook.json"


@of_every_kind
def test_a_codebook_is_read_as_it_was_written(kind, path):
    book = book_of(kind)
    book.to_json(path)
    again = Codebook.from_json(path)
    for field in ("encoding", "criterion", "guarantee", "x_labels", "labels", "texts", "members",
                  "p_x_given_y", "p_y_given_x", "round_to", "columns"):  # fmt: skip
        assert getattr(again, field) == getattr(book, field), field
    assert (again.channel is None) == (book.channel is None)
    if book.channel is not None:
        assert again.channel.weights.tolist() == book.channel.weights.tolist()
        assert again.channel.x_labels == book.x_labels
    assert again.warnings == ()
    assert repr(again) == repr(book)


@of_every_kind
def test_the_probabilities_are_those_of_the_release(kind):
    release, name, _ = BOOKS[kind]
    book = book_of(kind)
    encoded = encode(release, name)
    n_x = [sum(column) for column in zip(*release.joint.counts.tolist(), strict=True)]
    for y in range(encoded.channel.n_y):
        members, weights = encoded.channel.atom(y)
        assert list(book.members[y]) == members
        masses = [n_x[x] * w for x, w in zip(members, weights, strict=True)]
        shares = [Fraction(mass, sum(masses)) for mass in masses]
        given_x = [Fraction(w, encoded.channel.denominator) for w in weights]
        hidden = book.round_to is not None and name == "values"
        for found, truth, rounded in (
            (book.p_x_given_y[y], shares, book.round_to is not None),
            (book.p_y_given_x[y], given_x, hidden),
        ):
            assert_holds(found, truth, book.round_to if rounded else None)


def assert_holds(found, truth, step):
    for (low, high), value in zip(found, truth, strict=True):
        if step is None:
            assert low == high == float(value)
            continue
        # As the decimals that stand in the file.
        start, end, width = (Fraction(repr(number)) for number in (low, high, step))
        assert start <= value <= end
        assert start % width == 0
        assert end == min(1, start + width)


@of_every_kind
def test_nothing_of_s_is_in_the_file(kind, path):
    book_of(kind).to_json(path)
    text = path.read_text()
    assert "secret" not in text
    for word in ("p_sx", "p_s", "counts", "s_labels", "joint", "rows"):
        assert f'"{word}"' not in text
    saved = json.loads(text)
    assert saved["format"] == "lowlift-codebook"
    assert not re.findall(r"[ \[](?:40|43|83|16|105)[,\]]", json.dumps(saved["outputs"]))


def test_no_exact_value_is_in_a_rounded_file(path):
    """Not even where P(x|y) is a multiple of the step: 1/2 is given as an interval, too."""
    Codebook.of(encode(MERGED, "values"), round_to=0.1).to_json(path)
    saved = json.loads(path.read_text())
    assert saved["denominator"] is None
    first = saved["outputs"][0]
    assert first["p_x_given_y"] == [[0.5, 0.6], [0.5, 0.6]]
    assert first["p_y_given_x"] == [[0.5, 0.6], [0.5, 0.6]]
    assert "weights" not in first
    assert saved["outputs"][2]["p_x_given_y"] == [[0.9, 1.0]]


def test_the_outputs_have_code_label_and_text(path):
    for name, labels in (
        ("codes", [0, 1, 2]),
        ("groups", [["a", "b"], ["c"], [["d", None, 3]]]),
        ("values", ["a", "b", "c", ["d", None, 3]]),
    ):
        Codebook.of(encode(MERGED, name)).to_json(path)
        outputs = json.loads(path.read_text())["outputs"]
        assert [output["label"] for output in outputs] == labels
        assert [output["code"] for output in outputs] == list(range(len(labels)))
    assert [output["text"] for output in outputs] == ["a", "b", "c", "(d, null, 3)"]


def test_own_labels_of_outputs_are_not_published(path):
    """Whoever made the channel may have called an output after a sensitive value."""
    channel = ll.Channel(NOISY.channel.weights, COUNTS.x_labels, ["secret-ill", "rest"])
    release = ll.Release.of(COUNTS, channel, ll.LIP(1.0))
    for name in ("codes", "values"):
        Codebook.of(encode(release, name)).to_json(path)
        assert "secret" not in path.read_text()


def test_it_warns_where_counts_are_exposed():
    for name in ("codes", "groups", "values"):
        (warning,) = Codebook.of(encode(MERGED, name)).warnings
        assert "exact numbers reveal that 2 values occur fewer than 5 times" in warning
        assert "Round them to multiples of 0.5 (--round-to 0.5; in Python" in warning
    # 3 of 6 rows are [.5, .51] of 6: no other whole number fits.
    (warning,) = Codebook.of(encode(MERGED, "groups"), round_to=0.01).warnings
    assert "intervals of width 0.01 still reveal how often 2 values occur: fewer" in warning
    assert "Round them to multiples of 0.5 (" in warning
    assert Codebook.of(encode(MERGED, "groups"), round_to=0.5).warnings == ()
    fitted, warning = Codebook.of(encode(NOISY, "codes"), round_to=0.5).warnings
    assert "made from how the protected values go" in fitted
    assert "chances of drawing are exact" in warning
    _, warning = Codebook.of(encode(NOISY, "values")).warnings
    assert "exact numbers reveal that 2 values occur fewer than 5 times" in warning


def test_it_does_not_warn_where_nothing_is_rare_or_nothing_was_counted():
    joint = ll.Joint.from_counts(COUNTS.counts * 5)
    release = ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(2.0))
    assert Codebook.of(encode(release, "groups")).warnings == ()
    (fitted,) = Codebook.of(encode(FLOATS, "codes")).warnings
    assert "made from how the protected values go" in fitted


def test_drawing_within_merged_blocks_tells_nothing_of_s():
    joint = ll.Joint.from_counts(COUNTS.counts * 5)
    release = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[1, 0], [2, 3]]), ll.LIP(2.0))
    for name in ("codes", "groups", "values"):
        assert Codebook.of(encode(release, name)).warnings == ()


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        (ll.ALIP(0.5, 1.0), "more than 2.719 times or less than 0.6065 times as likely as it was"),
        (ll.LIP(0.5), "more than 1.649 times or less than 0.6065 times as likely"),
        (ll.LIP(0), "No published value changes how likely any sensitive value is."),
        (ll.ALIP(INF, 1), "more than 2.719 times as likely as it was before. How much less is not"),
        (
            ll.ALIP(1, INF),
            "less than 0.3678 times as likely as it was before. How much more is not",
        ),
        (ll.MaxLift(0.3), "more than 1.35 times as likely"),
        (ll.LDP(1.0), "more than 2.719 times as likely under one sensitive value as under another"),
        (ll.L1Lift(INF, 0.2), "the sum over s of |P(s|y) - P(s)| is at most 0.2215. Here"),
        (ll.L1Lift(0.1, 0.2), "and the mean over s of |P(s)/P(s|y) - 1| is at most 0.1052."),
        (ll.Chi2Lift(0.1, INF), "the root mean square over s of P(s)/P(s|y) - 1 is at most 0.1052"),
        (ll.AlphaLift(2, 0.1, 0.2), "order 2 over s of P(s|y)/P(s) is at most 1.222 and"),
        (ll.AlphaLift(INF, 0.1, 0.2), "more than 1.222 times or less than 0.9048 times"),
        (ll.L1Lift(INF, 0), "is at most 0."),
        (ll.LIP(INF), "Nothing is bounded."),
        (ll.LDP(INF), "Nothing is bounded."),
        (ll.LIP(1000), "more than e**1000 times or less than e**-1000 times"),
    ],
    ids=str,
)
def test_the_guarantee_in_words(criterion, words):
    text = guarantee_of(criterion)
    assert words in text
    assert "sees what was published of one record" in text


@pytest.mark.parametrize("budget", [1e-9, 0.1, 0.3, 1, 3.7, 40])
def test_numbers_in_the_guarantee_are_rounded_to_the_safe_side(budget):
    more, less = re.findall(r"([0-9.]+) times", guarantee_of(ll.LIP(budget)))
    assert float(more) > math.exp(budget)
    assert float(less) < math.exp(-budget)
    assert float(more) == pytest.approx(math.exp(budget), rel=1e-3)
    assert float(less) == pytest.approx(math.exp(-budget), rel=1e-3)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o027])
def test_the_umask_says_who_may_read_it(path, mask):
    before = os.umask(mask)
    try:
        book_of("groups merged None").to_json(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_it_is_written_in_full_or_not_at_all(path, monkeypatch):
    book = book_of("groups merged None")
    book.to_json(path)
    before = path.read_text()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        book_of("codes noisy None").to_json(path)
    assert path.read_text() == before
    assert [p.name for p in path.parent.iterdir()] == ["codebook.json"]


def refused(path, text, message="codebook.json"):
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        Codebook.from_json(path)
    assert "codebook.json" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no codebook, or is truncated: it is not JSON"),
        ("{", "it is not JSON"),
        ("[1, 2]", "is no codebook"),
        ("null", "is no codebook"),
        ("{}", "is no codebook"),
        ('{"format": "lowlift-release", "version": 1}', "is no codebook"),
        ('{"format": "lowlift-codebook"}', "version 1; it is of version None"),
        ('{"format": "lowlift-codebook", "version": true}', "version 1; it is of version True"),
        ('{"format": "lowlift-codebook", "version": 2}', "version 1; it is of version 2"),
        ('{"format": "lowlift-codebook", "version": 1}', "is damaged"),
        ("[" * 100_000, "it is not JSON"),
        ("9" * 10_000, "it is not JSON"),
    ],
)
def test_what_is_no_codebook_is_refused(path, text, message):
    refused(path, text, message)


def test_what_cannot_be_read_is_refused(path, tmp_path):
    with pytest.raises(InvalidInput, match=r"codebook.json cannot be read: No such file"):
        Codebook.from_json(path)
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        Codebook.from_json(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        Codebook.from_json("nul\0byte")
    path.write_bytes(b"\xff\xfe\x00{}")
    with pytest.raises(InvalidInput, match="it is not text"):
        Codebook.from_json(path)


@pytest.mark.parametrize("kind", ["groups merged None", "codes noisy 0.01", "values merged 0.3"])
def test_a_truncated_file_is_refused_wherever_it_ends(path, kind):
    book_of(kind).to_json(path)
    text = path.read_text()
    for size in range(0, len(text.rstrip()), 23):
        refused(path, text[:size])


def places(value, prefix=()):
    """Yield the path of every part of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*prefix, key)
        if isinstance(part, dict | list):
            yield from places(part, (*prefix, key))


FREE = {("label",), ("text",), ("p_x_given_y",), ("p_y_given_x",)}
JUNK = [None, -1, 1, 0.5, 10**400, "x", True, [], {}, [[0.25, 0.75]]]


@pytest.mark.parametrize(
    "kind",
    ["codes noisy None", "groups merged 0.01", "values merged 0.3"],
)
def test_whatever_is_changed_there_is_one_kind_of_error(path, kind):
    book_of(kind).to_json(path)
    saved = json.loads(path.read_text())
    del saved["columns"][0]["type"]
    for place in places(saved):
        for junk in JUNK:
            changed = copy.deepcopy(saved)
            part = changed
            for key in place[:-1]:
                part = part[key]
            part[place[-1]] = junk
            path.write_text(json.dumps(changed))
            try:
                Codebook.from_json(path)
            except InvalidInput:
                continue
            # What can be another and still fit is nothing that the guarantee rests on.
            free = place[0] in {"columns", "x_labels"} or place[2:3] in FREE
            assert free or junk == _at(saved, place), place


def _at(saved, place):
    for key in place:
        saved = saved[key]
    return saved


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["criterion", "upper"], 0.2, "the guarantee is not the one of the criterion"),
        (["guarantee"], "Nothing can happen.", "the guarantee is not the one of the criterion"),
        (["outputs", 0, "p_x_given_y", 0], 0.9, r"P\(x\|y\) must sum to 1"),
        (["outputs", 0, "p_x_given_y", 0], 1.5, "must be at most 1"),
        (["outputs", 0, "weights", 0], 2, "as many positive whole weights"),
        (["outputs", 0, "weights", 0], 0, "damaged"),
        (["outputs", 0, "members", 0], 7, "numbers of symbols of X"),
        (["outputs", 0, "members", 0], 0, "must differ"),
        (["outputs", 0, "code"], 1, "output 0 must have its code"),
        (["outputs", 0, "label"], ["a", "c"], "not those of groups"),
        (["outputs", 0, "text"], "c", "different texts"),
        (["encoding"], "codes", "not those of codes"),
        (["encoding"], "words", "encoding must be 'codes' or"),
        (["denominator"], 3, "power of two"),
        (["denominator"], 1.0, "whole number"),
        (["x_labels", 0], "c", "must differ"),
        (["round_to"], 0.9, "round_to must be at most 0.5"),
        (["extra"], 1, "no keys but those that lowlift writes"),
        (["columns"], [1], r"columns\[0\] must be a mapping"),
    ],
)
def test_parts_that_do_not_fit_are_named(path, keys, value, message):
    book_of("groups merged None").to_json(path)
    saved = json.loads(path.read_text())
    place = saved
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    refused(path, json.dumps(saved), message)


def test_an_interval_that_is_not_one_step_is_refused(path):
    book_of("groups merged 0.01").to_json(path)
    for interval in ([0.5, 0.5], [0.5, 0.52], [0.495, 0.505], [0.51, 0.5], [0.5], 0.5):
        saved = json.loads(path.read_text())
        saved["outputs"][0]["p_x_given_y"][0] = interval
        other = path.with_name("codebook.json.changed")
        other.write_text(json.dumps(saved))
        with pytest.raises(InvalidInput, match="damaged"):
            Codebook.from_json(other)


class Mine:
    lower, upper = INF, 9.0

    def leakage(self, lift_sy, p_s):
        return p_s @ lift_sy, p_s @ lift_sy

    risk = leakage


def test_bad_input_is_refused():
    encoded = encode(MERGED, "groups")
    for step in (0, -0.1, 0.6, 1, "0.1", True, math.nan, 1e-9):
        with pytest.raises(InvalidInput, match=r"round_to must lie between 1e-6 and 0\.5"):
            Codebook.of(encoded, round_to=step)
    for columns in (5, [1], "x", {"name": "x"}, [{"x": math.nan}], [{"x": object()}]):
        with pytest.raises(InvalidInput, match="columns must"):
            Codebook.of(encoded, columns)
    with pytest.raises(InvalidInput, match="encoded must come from encode; got Release"):
        Codebook.of(MERGED)
    mine = ll.Release.of(COUNTS, MERGED.channel, Mine())
    with pytest.raises(InvalidInput, match="only built-in criteria can be saved"):
        Codebook.of(encode(mine, "groups"))


def test_a_codebook_with_the_longer_numbers_of_earlier_versions_is_read(path):
    release = ll.Release.of(
        COUNTS, ll.Channel.from_blocks(COUNTS, [[0, 1, 2, 3]]), ll.LIP.at_most(2)
    )
    Codebook.of(encode(release, "codes")).to_json(path)
    saved = json.loads(path.read_text())
    assert "more than 2 times or less than 0.5 times" in saved["guarantee"]
    older = saved["guarantee"].replace("than 2 times", "than 2.001 times")
    older = older.replace("than 0.5 times", "than 0.4999 times")
    path.write_text(json.dumps({**saved, "guarantee": older}))
    assert Codebook.from_json(path).guarantee == saved["guarantee"]
    path.write_text(json.dumps({**saved, "guarantee": older.replace("2.001", "1.999")}))
    with pytest.raises(InvalidInput, match="the guarantee is not the one"):
        Codebook.from_json(path)


def test_a_codebook_of_rows_whose_guarantee_was_changed_is_refused(path):
    release = ll.Release.of(
        COUNTS, ll.Channel.from_blocks(COUNTS, [[0, 1, 2, 3]]), ll.LIP.at_most(2)
    )
    Codebook.of_rows(replace(encode(release, "codes"), name="rows"), COLUMNS).to_json(path)
    saved = json.loads(path.read_text())
    assert Codebook.from_json(path).guarantee == saved["guarantee"]
    path.write_text(json.dumps({**saved, "guarantee": "Nothing can happen."}))
    with pytest.raises(InvalidInput, match="the guarantee is not the one"):
        Codebook.from_json(path)
