"""Bad input is refused by the same rule, in the same words, in every runtime."""

from datetime import UTC, date, datetime
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from exports.releases import release_of
from exports.runtimes import KEY, here, tagged
from lowlift._exports import TARGETS
from lowlift.records import OneRecord
from lowlift.tables import Calendar, Column, Each, Edges, Origin, Width
from lowlift.workflow import Asked, design

OCTETS = tagged("octets", KEY.hex())
DAY = date(2024, 2, 29)
KINDS = {
    "text": (Column("x", "text"), "a"),
    "integer": (Column("x", "integer", Width(10)), 41),
    "each": (Column("x", "integer", Each()), 41),
    "real": (Column("x", "real", Edges((0.5,))), 0.25),
    "boolean": (Column("x", "boolean"), True),
    "date": (Column("x", "date"), DAY),
    "timestamp": (
        Column("x", "timestamp", Calendar("month")),
        datetime.fromisoformat("2024-02-29 01:02"),
    ),
    "uuid": (Column("x", "uuid"), UUID(int=10)),
}
#: JSON's values, and what its readers make of odd ones; each given to a column of each kind.
VALUES = [
    None, True, False, 0, 1, 41, 41.0, 41.5, -0.0, 1e300, "", "a", "41", "true", "2024-02-29",
    "2024-02-30", "2024-2-9", "0000-01-01", "20240229", "2024-02-29\n", "٢٠٢٤-٠٢-٢٩",
    "1800-02-29", "2000-02-29", "2024-02-29T23:59", "2024-02-29 23:59:59.5", "2024-02-29T24:00",
    "2024-02-29T23:59:59Z",
    "2024-02-29T23:59:59.1234567", "00000000-0000-0000-0000-00000000000A",
    "0000000000000000000000000000000A", "{00000000-0000-0000-0000-00000000000A}", [], [41], {},
    {"x": 1}, tagged("number", "NaN"), tagged("number", "Infinity"), tagged("bigint", str(2**53)),
    tagged("bigint", str(2**128)), tagged("bigint", str(-(2**127) - 1)),
    tagged("bigint", str(10**400)), tagged("bigint", "41"), "\ud800", "\ud83d\ude00",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["value", "error"])
def test_every_value_has_the_same_result_for_every_kind(node, python, tmp_path, kind, missing):
    column, value = KINDS[kind]
    rows = [(value,), (None,)] if missing == "value" else [(value,)]
    release = release_of([column], rows, missing, encoding="codes", bits=3)
    calls = [[{"x": given}, {"id": 1, "key": OCTETS}] for given in VALUES]
    wanted = here(release, calls)
    assert node.run(release, calls, tmp_path) == wanted
    assert python.run(release, calls, tmp_path) == wanted
    said = [result["text"] for result in wanted if "$" in result]
    drawn = [result for result in wanted if "$" not in result]
    assert said
    assert drawn
    for text in said:
        assert not any(value in text for value in ("41", "2024-02-30", "0000-01", "Z;"))


@pytest.mark.parametrize("missing", ["value", "drop", "error"])
def test_a_missing_value_is_in_a_record_what_it_is_in_a_table(node, python, tmp_path, missing):
    rows = [("a",), ("b",), (None,)] if missing == "value" else [("a",), ("b",)]
    release = release_of([Column("x", "text")], rows, missing, encoding="values", bits=3)
    given = ["a", None, "b", float("nan")]
    calls = [
        [{"x": tagged("number", "NaN") if value != value else value}, {"id": k, "key": OCTETS}]
        for k, value in enumerate(given)
    ]
    found = here(release, calls)
    assert node.run(release, calls, tmp_path) == found
    assert python.run(release, calls, tmp_path) == found
    table = pd.DataFrame({"id": range(4), "x": ["a", None, "b", None]})
    options = {"id": "id", "key": KEY, "accept_unchecked": True, "keep": ["id"]}
    if missing == "error":
        with pytest.raises(ll.InvalidInput, match="missing in 'x'; 2 rows lack one"):
            release.apply(table, **options, accept_uncovered=True)
        assert ["here it is missing" in str(one) for one in found] == [False, True] * 2
        return
    published = release.apply(table, **options, accept_uncovered=True)
    texts = published["x"].astype(object).where(published["x"].notna(), None)
    in_table = dict(zip(published["id"].tolist(), texts, strict=True))
    assert in_table == {k: one["x"] for k, one in enumerate(found) if one is not None}
    assert [one is None for one in found] == [False, missing == "drop"] * 2


RECORDS = [
    [{}, {}],
    [{"Age": 3}, {}],
    [{"age": 3, "region": "n", "diagnosis of Ann": 1, "b": None}, {}],
    [[41], {}],
    [None, {}],
    ["age", {}],
    [7, {}],
    [True, {}],
    [{"age": None, "region": "n"}, {}],
    [{"age": 4711, "region": "n"}, {}],
    [{"age": 4711, "region": "n"}, {"unseen": "suppress"}],
    [{"age": 5, "region": "n"}, {"unseen": "ignore"}],
    [{"age": 5, "region": "n"}, {"unseen": 7}],
    [{"age": 5, "region": "n"}, {"unseen": None}],
    [{"age": 5, "region": "n"}, {"id": 7}],
    [{"age": 5, "region": "n"}, {"key": OCTETS}],
    *(
        [{"age": 5, "region": "n"}, {"id": 7, "key": key}]
        for key in (tagged("octets", "00" * 31), tagged("octets", ""), "k" * 32, [0] * 32, 7, {})
    ),
    *(
        [{"age": 5, "region": "n"}, {"id": one, "key": OCTETS}]
        for one in (7.0, 7.5, True, "\ud800", "\udc00x", [7], {"a": 1}, "", tagged("number", "NaN"),
                    tagged("bigint", str(2**4096)), tagged("bigint", str(2**4096 - 1)), 2.0**53)
    ),
]  # fmt: skip


def test_records_ids_and_keys_are_refused_in_the_same_words(node, python, tmp_path):
    columns = [Column("age", "integer", Width(10)), Column("region", "text")]
    rows = [(5, "n"), (15, "n"), (5, "s")]
    release = release_of(columns, rows, "error", encoding="values", bits=20)
    wanted = here(release, RECORDS)
    assert node.run(release, RECORDS, tmp_path) == wanted
    assert python.run(release, RECORDS, tmp_path) == wanted
    errors = [result["text"] for result in wanted if result and "$" in result]
    assert len(errors) >= 24
    assert not any("Ann" in text or "4711" in text for text in errors)
    assert any("a key must be 32 bytes; got 31. Make one with" in text for text in errors)


def test_what_only_javascript_has_is_refused(node, tmp_path):
    column = Column("x", "date")
    release = release_of([column], [(DAY,)], encoding="values", bits=0)
    calls = [
        [{"x": tagged("date", "2024-02-29")}, {}],  # which day it is depends on the time zone
        [{"x": tagged("undefined", "")}, {}],
        [tagged("undefined", ""), {}],
        [tagged("date", "2024-02-29"), {}],
        [{"x": "2024-02-29"}, {"ID": 7, "Key": OCTETS}],  # else it would be drawn anew
        *([{"x": "2024-02-29"}, wrong] for wrong in (7, "p7", True, [], None)),
    ]
    found = [result["text"] for result in node.run(release, calls, tmp_path)]
    assert "must be a date without a time (as text: 2024-03-05)" in found[0]
    assert "got Date." in found[0]
    assert "it lacks 'x'" in found[1]
    assert "got nothing" in found[2]
    assert "got Date" in found[3]
    assert set(found[4:]) == {"options must be id, key and unseen; got others."}


def test_a_date_of_python_is_refused_where_it_is_not_plain(python, tmp_path):
    release = release_of(
        [KINDS["timestamp"][0]], [(datetime.fromisoformat("2024-02-01"),)], encoding="codes"
    )
    with pytest.raises(ll.InvalidInput, match=r"time zone.*got datetime"):
        OneRecord(release).draw({"x": datetime(2024, 2, 1, tzinfo=UTC)})


@pytest.mark.parametrize("target", TARGETS)
def test_a_release_that_an_export_cannot_carry_is_refused_by_every_target(target):
    frame = pd.DataFrame({"age": np.arange(400) % 50, "ill": np.arange(400) % 7 < 2})
    rows = design(frame, Asked(("ill",), ("age",), cells=4), ll.LIP(2.0)).release
    options = {"table": "t"} if target == "sql" else {}
    # A statement has a table, whose rows it can publish by a key; it is refused without ids.
    said = "a key and a column of ids" if target == "sql" else "of other records of its table.*Use"
    with pytest.raises(ll.InvalidInput, match=said):
        ll.export(rows, target, **options)
    with pytest.raises(ll.InvalidInput, match=r"of other records of its table.*Use apply"):
        OneRecord(rows)
    release = release_of([Column("x", "text")], [("a",), ("b",)], encoding="codes")
    with pytest.raises(ll.InvalidInput, match="not designed on a table"):
        ll.export(release.with_table(None), target, **options)
    broken = ll.Release.of(release.joint, ll.Channel.identity(release.joint), ll.LIP(1e-9))
    with pytest.raises(ll.BoundViolated, match="does not satisfy"):
        ll.export(broken.with_table(release.origin), target, **options)
    with pytest.raises(ll.InvalidInput, match="must be a Release; got str"):
        ll.export("release.json", target, **options)
    if target != "sql":
        with pytest.raises(
            ll.InvalidInput, match=f"export to {target} takes no options; got table"
        ):
            ll.export(release, target, table="t")


@pytest.mark.parametrize("name", ["lowlift_rows", "LOWLIFT_key", "lowlift_anything"])
def test_a_table_without_a_schema_is_not_named_as_a_part_of_the_statement(name):
    """The engine would read that part instead of the table."""
    release = release_of([Column("x", "text")], [("a",), ("b",)], encoding="codes")
    for options in ({"table": name}, {"table": "t", "key_table": name}):
        with pytest.raises(ll.InvalidInput, match="with its schema"):
            ll.export(release, "sql", id="id", **options)
        qualified = {key: f"main.{value}" for key, value in options.items()}
        (text,) = ll.export(release, "sql", id="id", **qualified).files.values()
        assert f'"main"."{name}"' in text
    asked = {"table": name, "dbt": True, "accept_unchecked": True}
    assert ll.export(release, "sql", id="id", **asked).files


def test_too_many_outputs_are_drawn_fresh_and_refused_by_key(node, python, tmp_path):
    size = 8192
    joint = ll.Joint.from_counts([[1], [2]], ["p", "q"], ["a"])
    channel = ll.Channel.from_atoms(joint, [([0], [1])] * size, size)
    origin = Origin((Column("s", "text"),), (Column("x", "text"),), "value", "t", 3, None, "codes")
    release = ll.Release.of(joint, channel, ll.LIP(0.1)).with_table(origin)
    keyed = [[{"x": "a"}, {"id": 1, "key": OCTETS}]]
    wanted = here(release, keyed)
    assert "at most 4096 outputs" in wanted[0]["text"]
    for runtime in (node, python):
        assert runtime.run(release, keyed, tmp_path) == wanted
        codes = {one["code"] for one in runtime.ask(calls=[[{"x": "a"}, {}]] * 50)}
        assert len(codes) > 40
