"""One record at collection time: typed output, the channel's law, refusals that show no value."""

import os
import pickle
import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from scipy import stats

import lowlift as ll
from lowlift._one_record import drawer
from lowlift.encodings import Encoded, encode
from lowlift.records import OneRecord
from lowlift.tables import Calendar, Column, Each, Edges, Origin, Width

KEY = bytes(range(32))
X = ("[0, 10)", "[10, 20)", "[20, 30)", None)


def spec_of(*released, missing="value", encoding="codes", sensitive=1, **more):
    names = [Column(f"s{k}", "text") for k in range(sensitive)]
    return Origin(tuple(names), released, missing, "people.csv", 8, None, encoding, **more)


AGE = Column("age", "integer", Width(10))


def release_of(channel=None, spec=None, x_labels=X, criterion=None):
    joint = ll.Joint.from_counts(
        np.arange(1, 2 * len(x_labels) + 1).reshape(2, -1), ["p", "q"], x_labels
    )
    made = channel(joint) if channel else mixing(joint)
    release = ll.Release.of(joint, made, criterion or ll.MaxLift(9.0))
    return release.with_table((spec or spec_of(AGE)).to_dict())


def mixing(joint):
    weights = np.array([[5, 1, 2], [1, 1, 6], [0, 8, 0], [3, 3, 2]])[: joint.n_x]
    return ll.Channel(weights)


def by_kind(column, values):
    """The release of one column whose symbols are those of these values, each its own output."""
    labels = tuple(dict.fromkeys(values))
    return release_of(ll.Channel.identity, spec_of(column, encoding="values"), labels)


@pytest.mark.parametrize(
    ("column", "labels", "value", "expected"),
    [
        (Column("x", "text"), ["a", "ä", ""], "ä", "ä"),
        (Column("x", "text"), ["a", "b"], np.str_("b"), "b"),
        (Column("x", "integer", Each()), [-3, 2**40], -3, -3),
        (Column("x", "integer", Each()), [-3, 2**40], np.int64(2**40), 2**40),
        (Column("x", "integer", Width(10)), ["[0, 10)", "[-10, 0)"], np.int8(-1), "[-10, 0)"),
        (Column("x", "integer", Edges((0, 18))), ["< 0", ">= 18"], 10**30, ">= 18"),
        (Column("x", "real", Width(0.1)), ["[0.2, 0.3)", "[0.3, 0.4)"], 0.3, "[0.3, 0.4)"),
        (Column("x", "real", Edges((0,))), ["< 0", ">= 0"], -0.0, ">= 0"),
        (Column("x", "real", Edges((0,))), ["< 0", ">= 0"], Decimal("-0.01"), "< 0"),
        (Column("x", "real", Edges((0,))), ["< 0", ">= 0"], np.float32(-1e-30), "< 0"),
        (Column("x", "real", Edges((0,))), ["< 0", ">= 0"], 3, ">= 0"),
        (Column("x", "real", Edges((0,))), ["< 0", None], np.nan, None),
        (Column("x", "real", Edges((0,))), ["< 0", None], Decimal("sNaN"), None),
        (Column("x", "boolean"), [True, False], False, False),
        (Column("x", "boolean"), [True, False], np.True_, True),
        (Column("x", "date"), ["2024-02-29", "0001-01-01"], date(1, 1, 1), date(1, 1, 1)),
        (Column("x", "date"), ["2024-02-29", "2024-03-01"], np.datetime64("2024-03-01"),
         date(2024, 3, 1)),
        (Column("x", "date"), ["2024-02-29", None], np.datetime64("NaT"), None),
        (Column("x", "timestamp", Calendar("month")), ["2024-02", "2024-03"],
         datetime.fromisoformat("2024-02-29 23:59:59"), "2024-02"),
        (Column("x", "timestamp", Calendar("day")), ["1969-12-31", "1970-01-01"],
         np.datetime64("1969-12-31T23:59:59.999999499"), "1969-12-31"),
        (Column("x", "uuid"), [str(UUID(int=1)), str(UUID(int=2))], UUID(int=2), UUID(int=2)),
        # what JSON has instead
        (Column("x", "integer", Each()), [-3, 2**40], -3.0, -3),
        (Column("x", "date"), ["2024-02-29", "2024-03-01"], "2024-02-29", date(2024, 2, 29)),
        (Column("x", "timestamp", Calendar("day")), ["2024-02-29", "2024-03-01"],
         "2024-02-29T23:59:59.999999", "2024-02-29"),
        (Column("x", "uuid"), [str(UUID(int=10)), str(UUID(int=2))], str(UUID(int=10)).upper(),
         UUID(int=10)),
    ],
)  # fmt: skip
def test_a_value_is_published_in_its_type(column, labels, value, expected):
    found = OneRecord(by_kind(column, labels)).draw({"x": value})
    assert found == {"x": expected}
    assert type(found["x"]) is type(expected)


@pytest.mark.parametrize(
    ("column", "value", "must"),
    [
        (Column("x", "text"), 7, "a text.*got a number"),
        (Column("x", "text"), b"secret", "a text.*got bytes"),
        (Column("x", "integer", Width(1)), 41.5, "whole number.*got another number"),
        (Column("x", "integer", Width(1)), True, "whole number.*got a boolean"),
        (Column("x", "integer", Width(1)), "41", "whole number.*got a text"),
        (Column("x", "integer", Edges((0,))), 1 << 130, "128 bits"),
        (Column("x", "real", Width(1)), False, "a number.*got a boolean"),
        (Column("x", "real", Width(1)), 10**400, "a number.*got another number"),
        (Column("x", "real", Width(1)), "1.5", "a number.*got a text"),
        (Column("x", "boolean"), 1, "a boolean.*got a number"),
        (
            Column("x", "date"),
            datetime.fromisoformat("2024-01-01"),
            "without a time.*got datetime",
        ),
        (Column("x", "date"), "2024-02-30", "a date.*got another text"),
        (Column("x", "date"), np.datetime64("20000-01-01"), "a date.*got datetime64"),
        (Column("x", "timestamp", Calendar("day")), date(2024, 1, 1), "a time.*got date"),
        (Column("x", "timestamp", Calendar("day")), datetime(2024, 1, 1, tzinfo=UTC), "time zone"),
        (Column("x", "uuid"), UUID(int=1).hex, "a UUID.*got another text"),
    ],
)
def test_a_value_of_another_kind_is_refused_without_it(column, value, must):
    labels = {"boolean": (True, False), "date": ("2024-01-01", "2024-01-02")}.get(column.kind)
    if labels is None and column.bins is None:
        labels = (str(UUID(int=1)), str(UUID(int=2)))
    if labels is None:
        labels = tuple(column.label_of(text) for text in ("1", "2"))
        labels = column.bins.labels[:2] if isinstance(column.bins, Edges) else labels
    one = OneRecord(by_kind(column, labels))
    with pytest.raises(ll.InvalidInput, match=must) as caught:
        one.draw({"x": value})
    assert "'x'" in str(caught.value)
    assert str(value) not in str(caught.value)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({}, r"lacks 'age'\. Use None"),
        ({"Age": 3}, "lacks 'age'"),
        ({"age": 3, "diagnosis of Ann": 1}, "1 more"),
        ([41], "got a list"),
        (None, "got nothing"),
    ],
)
def test_other_keys_than_the_released_columns_are_refused(record, says):
    with pytest.raises(ll.InvalidInput, match=says) as caught:
        OneRecord(release_of()).draw(record)
    assert "Ann" not in str(caught.value)


def test_a_missing_value_is_what_the_release_says():
    one = OneRecord(release_of())
    assert {one.draw({"age": None})["code"] for _ in range(200)} == {0, 1, 2}
    dropping, refusing = (
        OneRecord(release_of(spec=spec_of(AGE, missing=missing), x_labels=X[:3]))
        for missing in ("drop", "error")
    )
    for value in (None, float("nan")):
        assert dropping.draw({"age": value}) is None
        with pytest.raises(ll.InvalidInput, match=r"value in 'age'; here it is missing"):
            refusing.draw({"age": value}, unseen="suppress")


def test_a_value_that_the_design_did_not_have_is_refused_or_suppressed():
    one = OneRecord(release_of())
    with pytest.raises(ll.InvalidInput, match="seen at design") as caught:
        one.draw({"age": 4711})
    assert "4711" not in str(caught.value)
    assert one.draw({"age": 4711}, unseen="suppress") is None
    assert one.draw({"age": 29}, unseen="suppress") == {"code": 1}
    with pytest.raises(ll.InvalidInput, match="unseen must be one of"):
        one.draw({"age": 4711}, unseen="ignore")


def test_two_columns_are_one_symbol():
    spec = spec_of(AGE, Column("region", "text"), encoding="values", escape_formulas=True)
    labels = (("[0, 10)", "north"), ("[0, 10)", "=south"), ("[10, 20)", None))
    one = OneRecord(release_of(ll.Channel.identity, spec, labels))
    assert one.draw({"region": "=south", "age": 7}) == {"age": "[0, 10)", "region": "'=south"}
    assert one.draw({"region": None, "age": 10}) == {"age": "[10, 20)", "region": None}
    assert one.draw({"region": "north", "age": 10}, unseen="suppress") is None


def test_groups_are_written_as_in_the_table():
    def merged(joint):
        return ll.Channel.from_blocks(joint, [[0, 2], [1], [3]])

    release = release_of(merged, spec_of(AGE, encoding="groups"))
    found = [OneRecord(release).draw({"age": age})["age"] for age in (25, 12, None)]
    assert found == ["{[0, 10), [20, 30)}", "[10, 20)", "null"]


def test_fresh_draws_have_the_law_of_the_channel(monkeypatch):
    entropy = np.random.default_rng(14)
    monkeypatch.setattr(drawer.os, "urandom", entropy.bytes)
    release = release_of()
    one = OneRecord(release)
    for age, x in ((5, 0), (15, 1), (25, 2), (None, 3)):
        counts = Counter(one.draw({"age": age})["code"] for _ in range(4000))
        weights = release.channel.weights[x]
        assert set(counts) == {y for y in range(3) if weights[y]}
        seen = [counts[y] for y in range(3) if weights[y]]
        expected = 4000 * release.channel.p_y_given_x[x][weights > 0]
        assert len(seen) == 1 or stats.chisquare(seen, expected).pvalue > 1e-4


def test_fresh_draws_meet_the_weights_exactly(monkeypatch):
    """Every number below the denominator once: each output as often as its weight."""
    release = release_of()
    one, denominator = OneRecord(release), release.channel.denominator
    assert denominator == 8
    for age, x in ((5, 0), (15, 1), (None, 3)):
        words = [number.to_bytes(8) for number in range(denominator)]
        monkeypatch.setattr(drawer.os, "urandom", lambda _, left=words: left.pop())
        drawn = Counter(one.draw({"age": age})["code"] for _ in range(denominator))
        assert [drawn[y] for y in range(3)] == release.channel.weights[x].tolist()


def test_fresh_draws_take_the_operating_systems_entropy():
    assert drawer.os.urandom is os.urandom
    one = OneRecord(release_of())
    runs = [[one.draw({"age": 5})["code"] for _ in range(100)] for _ in range(2)]
    assert runs[0] != runs[1]  # equal with probability 2**-128 or less


def test_keyed_draws_repeat_and_depend_on_id_key_and_columns():
    one = OneRecord(release_of())
    again = OneRecord(encode(release_of(), "codes"))

    def drawn(maker, key=KEY, name="age"):
        return [maker.draw({name: 5}, id=k, key=key)["code"] for k in range(200)]

    assert drawn(one) == drawn(one) == drawn(again)
    other = OneRecord(release_of(spec=spec_of(Column("years", "integer", Width(10)))))
    assert (
        len({tuple(d) for d in (drawn(one), drawn(one, KEY[::-1]), drawn(other, KEY, "years"))})
        == 3
    )
    assert one.draw({"age": 5}, id=7, key=KEY) == one.draw({"age": 5}, id="7", key=KEY)
    identity = UUID(int=7)
    assert one.draw({"age": 5}, id=identity, key=KEY) == one.draw(
        {"age": 5}, id=str(identity), key=KEY
    )
    assert one.draw({"age": 5}, id=np.int64(7), key=KEY) == one.draw({"age": 5}, id=7, key=KEY)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"id": 7}, "both id and key"),
        ({"key": KEY}, "both id and key"),
        ({"id": 7, "key": KEY[:31]}, "32 bytes; got 31"),
        ({"id": 7, "key": "k" * 32}, "32 bytes; got a text.*lowlift key new"),
        ({"id": 7.5, "key": KEY}, "id must be.*got another number"),
        ({"id": 10**4000, "key": KEY}, "id must be.*got another number"),
        ({"id": True, "key": KEY}, "id must be.*got a boolean"),
        ({"id": "\ud800", "key": KEY}, "surrogate"),
    ],
)
def test_bad_ids_and_keys_are_refused(given, says):
    with pytest.raises(ll.InvalidInput, match=says):
        OneRecord(release_of()).draw({"age": 5}, **given)


def test_a_release_that_breaks_its_bound_draws_nothing():
    broken = release_of(ll.Channel.identity, criterion=ll.LIP(1e-6))
    for given in (broken, Encoded("codes", broken)):
        with pytest.raises(ll.BoundViolated, match="does not satisfy"):
            OneRecord(given)


def test_one_sensitive_column_that_breaks_the_bound_alone_is_refused():
    pairs = [("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1")]
    joint = ll.Joint.from_counts([[2, 11], [2, 15], [9, 17], [11, 3]], pairs, ["u", "v"])
    release = ll.Release.of(joint, ll.Channel.identity(joint), ll.L1Lift(0.605, 9.0))
    assert release.audit.is_satisfied  # the L1 bound below is not convex
    spec = spec_of(Column("w", "text"), sensitive=2)
    with pytest.raises(ll.BoundViolated, match="does not satisfy"):
        OneRecord(release.with_table(spec.to_dict()))


def test_a_release_of_no_table_is_refused():
    with pytest.raises(ll.InvalidInput, match="not designed on a table"):
        OneRecord(release_of().with_table(None))
    with pytest.raises(ll.InvalidInput, match="must be a Release; got str"):
        OneRecord("release.json")


def test_what_is_returned_can_be_changed():
    one = OneRecord(release_of())
    first = one.draw({"age": 25})
    first["code"] = "changed"
    assert one.draw({"age": 25}) == {"code": 1}


def test_it_can_be_sent_to_another_process():
    one = OneRecord(release_of())
    again = pickle.loads(pickle.dumps(one))
    assert [again.draw({"age": 5}, id=k, key=KEY) for k in range(50)] == [
        one.draw({"age": 5}, id=k, key=KEY) for k in range(50)
    ]


def test_loading_a_release_and_drawing_loads_no_solver_and_no_engine(tmp_path):
    release_of().to_json(tmp_path / "safe.release.json")
    script = (
        "import sys\n"
        "from lowlift import Release\n"
        "from lowlift.records import OneRecord\n"
        "one = OneRecord(Release.from_json(sys.argv[1]))\n"
        "one.draw({'age': 5}); one.draw({'age': 5}, id=7, key=bytes(32))\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "safe.release.json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.split())
    assert {"lowlift", "numpy"} <= loaded
    heavy = {"numba", "llvmlite", "highspy", "scipy", "duckdb", "sqlglot", "pandas", "pyarrow"}
    assert not loaded & heavy
