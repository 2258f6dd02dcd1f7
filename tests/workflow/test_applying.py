"""Publishing: what is written and what is not, draws, drift, kept columns, receipts, files."""

import datetime as dt
import json
import platform
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy import stats

import lowlift as ll
from lowlift._receipts import receipt_path
from lowlift.tables import AliasTable, Each, Width, alias_draw, open_table, uniform_of
from lowlift.tables.engines.duckdb import DuckDB
from lowlift.workflow import Asked, Options, Spec, apply, design, read_key, sanitize, verify
from lowlift.workflow.keys import new_key, subkey_of
from people import (
    COUNTS,
    DISEASES,
    NAMES,
    ROWS,
    WARDS,
    column_of,
    counted,
    names,
    read_csv,
    rows_of,
    sha256,
    write_csv,
    write_parquet,
    write_people,
)

ASKED = Asked(("disease",), ("ward",))
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture(scope="module")
def merged(people):
    return design(people, ASKED, ll.LIP(0.4), mechanism="subset-merging")


@pytest.fixture(scope="module")
def mixed(people):
    return design(people, ASKED, ll.LIP(0.3), mechanism="random-response", time_limit=5)


@pytest.fixture(scope="module")
def identity(people):
    """Publishes the ward as it is: nothing is drawn."""
    made = design(people, ASKED, ll.LIP(5.0), mechanism="subset-merging")
    assert made.release.audit.nmi == 1.0
    return made


def saved(path):
    return json.loads(path.read_text("utf-8"))


# --- what is published -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "columns"), [("codes", ["code"]), ("groups", ["ward"]), ("values", ["ward"])]
)
@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet", "safe.duckdb?table=t"])
def test_only_y_is_published(people, tmp_path, encoding, columns, target):
    made = design(people, ASKED, ll.LIP(0.4), mechanism="subset-merging", encoding=encoding)
    receipt = apply(people, made.release, str(tmp_path / target))
    file = target.partition("?")[0]
    assert names(tmp_path) == sorted([file, "safe.receipt.json"])
    with open_table(str(tmp_path / target)) as table:
        assert list(table.kinds) == columns
        assert list(table.kinds.values()) == ["integer" if encoding == "codes" else "text"]
        assert table.rows == receipt.rows_in == receipt.rows_out == ROWS
    for word in (*DISEASES, "p17", "2020"):
        assert word.encode() not in (tmp_path / file).read_bytes()


def test_what_merges_has_the_sums_of_the_counts(people, merged, tmp_path):
    apply(people, merged.release, str(tmp_path / "safe.csv"))
    sums = dict(zip(WARDS, np.sum(COUNTS, axis=0).tolist(), strict=True))
    expected = {
        text: sum(sums[ward] for ward in label)
        for text, label in zip(merged.encoded.texts, merged.encoded.labels, strict=True)
    }
    assert counted(tmp_path / "safe.csv", "ward") == expected


def z_of_order(values):
    """Standard deviations by which the mean position of the first half's values is off."""
    is_first = np.array(values) == min(values)
    n, k = len(values), int(is_first.sum())
    mean = np.flatnonzero(is_first).mean() - (n - 1) / 2
    return mean / np.sqrt((n + 1) * (n - k) / (12 * k))


def test_the_order_of_rows_carries_nothing(tmp_path):
    """A file sorted by S, whose X is published as it is: position would tell S."""
    rows = rows_of([[300, 200], [200, 300]], ("a", "b"), ("u", "v"))
    rows = [(s, x, "k") for s, x in sorted(rows)]
    table = write_csv(tmp_path / "t.csv", ("s", "x", "k"), rows)
    made = design(table, Asked(("s",), ("x",)), ll.LIP(1.0))
    orders = {}
    for name, options in (
        ("fresh", Options()),
        ("again", Options()),
        ("kept", Options(keep=("k",))),
        ("order", Options(keep_order=True)),
        ("both", Options(keep=("k",), keep_order=True)),
    ):
        receipt = apply(table, made.release, str(tmp_path / f"{name}.csv"), options)
        assert ("the order of the rows" in receipt.outside_the_guarantee) is options.keep_order
        orders[name] = column_of(tmp_path / f"{name}.csv", "x")
        assert Counter(orders[name]) == {"u": 500, "v": 500}
    assert orders["order"] == orders["both"] == [x for _, x, _ in rows]
    # u comes early in the file: with the order kept it shows (this test can fail).
    assert abs(z_of_order(orders["order"])) > 3
    for name in ("fresh", "again", "kept"):
        assert abs(z_of_order(orders[name])) < 5.5
        # Neighbours in the file come in long runs; in random order there are some 500.
        runs = 1 + sum(a != b for a, b in zip(orders[name], orders[name][1:], strict=False))
        assert 400 < runs < 600
    assert orders["fresh"] != orders["again"]


DAYS = (dt.date(2020, 2, 29), dt.date(1969, 12, 31), None)


def test_values_have_the_original_schema_and_types(tmp_path):
    size = 1200
    columns = {
        "s": [("a", "b")[k % 2] for k in range(size)],
        "number": [(3, -7, None)[k % 3] for k in range(size)],
        "flag": [(True, False, None)[k // 2 % 3] for k in range(size)],
        "day": [DAYS[k // 4 % 3] for k in range(size)],
        "text": [("it's", 'a "b", c', "", None)[k // 3 % 4] for k in range(size)],
        "age": [k % 60 for k in range(size)],
    }
    table = write_parquet(tmp_path / "t.parquet", columns)
    released = ("number", "flag", "day", "text", "age")
    bins = {"number": Each(), "age": Width(30)}
    for target in ("safe.parquet", "safe.duckdb?table=t"):
        made = sanitize(
            table,
            Asked(("s",), released, bins),
            ll.LIP(0.05),
            str(tmp_path / target),
            Options(force=True),
            mechanism="subset-merging",
            encoding="values",
        )
        assert made.verification.is_ok
        with open_table(str(tmp_path / target)) as written:
            assert dict(written.kinds) == {
                "number": "integer",
                "flag": "boolean",
                "day": "date",
                "text": "text",
                "age": "text",
            }
    original = pq.read_table(table).to_pydict()
    written = pq.read_table(tmp_path / "safe.parquet").to_pydict()
    assert list(written) == list(released)
    for name in ("number", "flag", "day", "text"):
        assert set(written[name]) == set(original[name])
        assert {type(value) for value in written[name]} == {type(v) for v in original[name]}
    assert set(written["age"]) == {"[0, 30)", "[30, 60)"}
    # Whole records are drawn: no combination appears that the table does not have.
    assert set(zip(*(written[n] for n in released[:4]), strict=True)) <= set(
        zip(*(original[n] for n in released[:4]), strict=True)
    )


def test_values_keep_the_width_of_whole_numbers(tmp_path):
    """The original schema: an int32 column stays one."""
    columns = {"s": ["a", "b"] * 50, "x": pa.array([1, 2] * 50, pa.int32())}
    table = write_parquet(tmp_path / "t.parquet", columns)
    made = design(table, Asked(("s",), ("x",), {"x": Each()}), ll.LIP(0.0), encoding="values")
    apply(table, made.release, str(tmp_path / "safe.parquet"))
    assert pq.read_schema(tmp_path / "safe.parquet").field("x").type == pa.int32()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_in_memory_are_tables_too(people, merged, tmp_path, library):
    frame = pa.csv.read_csv(people)
    if library == "pandas":
        frame = frame.to_pandas()
    elif library == "polars":
        frame = pl.from_arrow(frame)
    made = sanitize(
        frame, ASKED, ll.LIP(0.4), str(tmp_path / "safe.csv"), mechanism="subset-merging"
    )
    assert made.verification.is_ok
    assert made.receipt.source_sha256 is None
    assert made.design.release.fingerprint == merged.release.fingerprint
    assert counted(tmp_path / "safe.csv", "ward").total() == ROWS


# --- draws -----------------------------------------------------------------------------------


def chi_square(observed, expected):
    observed, expected = np.array(observed, float), np.array(expected, float)
    assert (expected >= 5).all()
    if len(expected) == 1:  # one output, and nothing is drawn
        return float(observed[0] == expected[0])
    statistic = ((observed - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(expected) - 1)


@pytest.mark.parametrize("ward", WARDS)
def test_fresh_draws_follow_the_audited_weights(mixed, tmp_path, ward):
    """A table of one ward, without S: its outputs have the law of one row of the channel."""
    size = 40_000
    table = write_csv(tmp_path / "t.csv", ("ward",), [(ward,)] * size)
    options = Options(accept_unchecked=True)
    receipt = apply(table, mixed.release, str(tmp_path / "safe.csv"), options)
    assert not receipt.checked_on_this_table
    law = mixed.encoded.release.channel.p_y_given_x[WARDS.index(ward)]
    found = counted(tmp_path / "safe.csv", "code")
    assert set(found) == {str(y) for y in np.flatnonzero(law)}
    used = np.flatnonzero(law * size >= 5)
    assert len(used) == (law > 0).sum()
    assert chi_square([found[str(y)] for y in used], law[used] * size) > 1e-6


def test_rows_drawn_one_by_one_follow_the_audited_weights(people, mixed, tmp_path):
    """With a copy of the ward kept, every row shows what was drawn for it."""
    rows = [(s, x, x) for s, x in rows_of(COUNTS, DISEASES, WARDS)] * 4
    table = write_csv(tmp_path / "t.csv", ("disease", "ward", "copy"), rows)
    options = Options(keep=("copy",), accept_uncovered=True)
    apply(table, mixed.release, str(tmp_path / "safe.csv"), options)
    head, drawn = read_csv(tmp_path / "safe.csv")
    assert head == ["code", "copy"]
    found = Counter(drawn)
    for x, ward in enumerate(WARDS):
        law = mixed.encoded.release.channel.p_y_given_x[x]
        amounts = [found[str(y), ward] for y in range(len(law))]
        size = 4 * sum(row[x] for row in COUNTS)
        assert sum(amounts) == size
        assert all(amount == 0 for amount, p in zip(amounts, law, strict=True) if p == 0)
        used = law * size >= 5
        assert chi_square(np.array(amounts)[used], law[used] * size) > 1e-6


def test_fresh_draws_differ_and_seeds_repeat(people, mixed, tmp_path):
    def run(name, **options):
        receipt = apply(people, mixed.release, str(tmp_path / name), Options(**options))
        return receipt, column_of(tmp_path / name, "code")

    receipt, fresh = run("a.csv")
    assert receipt.draws == "fresh"
    assert receipt.outside_the_guarantee == ()
    assert fresh != run("b.csv")[1]
    receipt, seeded = run("c.csv", seed=7)
    assert "not for publication" in receipt.draws
    assert "not for publication" in (tmp_path / "c.receipt.json").read_text()
    assert any("seed" in item for item in receipt.outside_the_guarantee)
    assert seeded == run("d.csv", seed=7)[1]
    assert Counter(seeded) != Counter(run("e.csv", seed=8)[1])


def test_keyed_draws_repeat(people, mixed, tmp_path):
    def run(name, key):
        receipt = apply(people, mixed.release, str(tmp_path / name), Options(id="pid", key=key))
        assert receipt.draws == "keyed"
        assert key.hex() not in (tmp_path / name.replace(".csv", ".receipt.json")).read_text()
        return counted(tmp_path / name, "code")

    first = run("a.csv", KEY)
    assert run("b.csv", KEY) == first
    assert run("c.csv", OTHER_KEY) != first
    # The multiset repeats, not its order.
    assert column_of(tmp_path / "a.csv", "code") != column_of(tmp_path / "b.csv", "code")


def test_keyed_draws_are_the_digest_of_each_id(people, mixed, tmp_path):
    """Row for row, by an oracle in Python; other rows or orders of the table change nothing."""
    options = Options(keep=("pid",), accept_uncovered=True, id="pid", key=KEY)
    apply(people, mixed.release, str(tmp_path / "a.csv"), options)
    drawn = {pid: int(code) for code, pid in read_csv(tmp_path / "a.csv")[1]}
    table = AliasTable.from_channel(mixed.encoded.release.channel)
    subkey = subkey_of(KEY, json.dumps([mixed.encoded.release.fingerprint, "ward"]))
    _, rows = read_csv(people)
    for pid, _, ward, _ in rows[::37]:
        assert drawn[pid] == alias_draw(table, WARDS.index(ward), uniform_of(subkey, pid))
    half = write_csv(tmp_path / "half.csv", ("ward", "pid"), [(r[2], r[0]) for r in rows[::-2]])
    options = Options(
        keep=("pid",), accept_uncovered=True, accept_unchecked=True, id="pid", key=KEY
    )
    apply(half, mixed.release, str(tmp_path / "b.csv"), options)
    again = {pid: int(code) for code, pid in read_csv(tmp_path / "b.csv")[1]}
    assert len(again) == len(rows[::-2])
    assert all(drawn[pid] == code for pid, code in again.items())


@pytest.mark.parametrize(
    ("ids", "word"),
    [
        (["i1", "i2", None, None], "2 missing"),
        (["i1", "i2", "i2", "i2"], "2 repeated"),
        ([1, 2, 3, 3], "1 repeated"),
        ([1.5, 2.5, 3.5, 4.5], "real"),
    ],
)
def test_ids_that_are_missing_or_repeated_are_refused(tmp_path, ids, word):
    columns = {"id": ids, "s": ["a", "b"] * 2, "x": ["u", "v", "v", "u"]}
    table = write_parquet(tmp_path / "t.parquet", columns)
    made = design(table, Asked(("s",), ("x",)), ll.LIP(0.0))
    with pytest.raises(ll.InvalidInput, match=word):
        apply(table, made.release, str(tmp_path / "safe.csv"), Options(id="id", key=KEY))
    assert names(tmp_path) == ["t.parquet"]


@pytest.mark.parametrize(
    "options",
    [
        {"id": "pid"},
        {"key": KEY},
        {"id": "pid", "key": KEY, "seed": 1},
        {"id": "pid", "key": b"short"},
        {"unseen": "ignore"},
        {"seed": -1},
        {"id": "nobody", "key": KEY},
    ],
)
def test_options_that_do_not_fit(people, mixed, tmp_path, options):
    with pytest.raises(ll.InvalidInput):
        apply(people, mixed.release, str(tmp_path / "safe.csv"), Options(**options))
    assert names(tmp_path) == []


def test_a_key_file_is_the_key(tmp_path):
    assert len(read_key(new_key(tmp_path / "k"))) == 32


# --- drift -----------------------------------------------------------------------------------


def test_a_table_on_which_the_bound_fails_is_not_published(mixed, tmp_path):
    """The same values, but each disease now has a ward of its own."""
    table = write_people(tmp_path / "t.csv", [[90, 3, 3, 3], [3, 90, 3, 3], [3, 3, 90, 90]])
    with pytest.raises(ll.BoundViolated, match=r"Nothing was written.*Design"):
        apply(table, mixed.release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["t.csv"]


def test_another_table_on_which_the_bound_holds_is_published(identity, tmp_path):
    table = write_people(tmp_path / "t.csv", [[9, 8, 7, 6], [5, 6, 7, 8], [9, 9, 1, 1]])
    receipt = apply(table, identity.release, str(tmp_path / "safe.csv"))
    assert receipt.checked_on_this_table
    assert receipt.rows_out == 76
    assert counted(tmp_path / "safe.csv", "ward") == dict(zip(WARDS, (23, 23, 15, 15), strict=True))


def test_drift_is_found_for_each_sensitive_column_too(tmp_path):
    """On the second table the pair (a, b) holds under L1, column a alone does not."""
    pairs = (("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1"))

    def table(name, counts):
        rows = [(*s, x) for s, x in rows_of(counts, pairs, ("u", "v"))]
        return write_csv(tmp_path / name, ("a", "b", "x"), rows)

    flat = table("flat.csv", [[10, 10]] * 4)
    steep = table("steep.csv", [[2, 11], [2, 15], [9, 17], [11, 3]])
    asked, bound = Asked(("a", "b"), ("x",)), ll.L1Lift(0.605, 9.0)
    made = design(flat, asked, bound)
    assert made.is_satisfied
    with pytest.raises(ll.BoundViolated):
        apply(steep, made.release, str(tmp_path / "safe.csv"))
    # Nor may a release be applied that fails for a column of its own table.
    failed = design(steep, asked, bound)
    assert not failed.is_satisfied
    with pytest.raises(ll.BoundViolated):
        apply(steep, failed.release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["flat.csv", "steep.csv"]


def test_drift_is_found_for_the_sensitive_columns_that_are_there(tmp_path):
    """Of two only one is in the table, and there it is what would be published."""
    rows = [(f"a{k % 2}", f"b{k // 2 % 2}", f"x{k // 4 % 2}") for k in range(80)]
    table = write_csv(tmp_path / "t.csv", ("a", "b", "x"), rows)
    made = design(table, Asked(("a", "b"), ("x",)), ll.LIP(0.1))
    later = write_csv(
        tmp_path / "u.csv", ("a", "x"), [(f"a{k % 2}", f"x{k % 2}") for k in range(80)]
    )
    with pytest.raises(ll.BoundViolated):
        apply(later, made.release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["t.csv", "u.csv"]


@pytest.mark.parametrize("sensitive", [(), ("a",)], ids=["none", "some"])
@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet"])
def test_a_table_without_s_is_published_only_on_request(tmp_path, sensitive, target):
    """X, which told nothing of S at design, may be S here, under another name."""
    rows = [(f"a{k % 2}", f"b{k // 2 % 2}", f"x{k // 4 % 2}") for k in range(80)]
    table = write_csv(tmp_path / "t.csv", ("a", "b", "x"), rows)
    made = design(table, Asked(("a", "b"), ("x",)), ll.LIP(0.1))
    made.release.to_json(tmp_path / "release.json")
    renamed = [(row[0], f"b{row[2][1]}", row[2]) for row in rows]  # b is now a function of x
    there = {"a": 0, "x": 2}
    kept = [name for name in ("a", "x") if name in (*sensitive, "x")]
    later = write_csv(
        tmp_path / "u.csv",
        (*kept, "renamed b"),
        [(*(row[there[name]] for name in kept), row[1]) for row in renamed],
    )
    safe = str(tmp_path / target)
    with pytest.raises(ll.BoundViolated, match="'b' of the release is not") as found:
        apply(later, made.release, safe)
    assert "accept_unchecked=True" in str(found.value)
    assert names(tmp_path) == ["release.json", "t.csv", "u.csv"]
    receipt = apply(later, made.release, safe, Options(accept_unchecked=True))
    assert not receipt.checked_on_this_table
    assert any("S is not in it" in item for item in receipt.outside_the_guarantee)
    release = str(tmp_path / "release.json")
    name = "check of the bound on the table that was published"
    checked = verify(release, published=safe)
    assert not checked.is_ok
    assert [check.name for check in checked.checks if not check.is_ok] == [name]
    accepted = verify(release, published=safe, accept_unchecked=True)
    assert accepted.is_ok
    assert [item.startswith(name) for item in accepted.exceptions] == [True]
    assert verify(release, accept_unchecked=True).exceptions == ()


def test_values_unseen_at_design(people, merged, tmp_path):
    rows = [(f"p{k}", s, x, "2020") for k, (s, x) in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
    rows += [("q1", "cholera", "SECRET1", ""), ("q2", "cholera", "SECRET2", "")] * 2
    table = write_csv(tmp_path / "t.csv", NAMES, rows)
    with pytest.raises(ll.InvalidInput, match="4 rows have 2 unseen values") as found:
        apply(table, merged.release, str(tmp_path / "safe.csv"))
    assert "SECRET" not in str(found.value)
    assert names(tmp_path) == ["t.csv"]
    options = Options(unseen="suppress")
    receipt = apply(table, merged.release, str(tmp_path / "safe.csv"), options)
    assert (receipt.rows_in, receipt.rows_out, receipt.unseen) == (ROWS + 4, ROWS, 4)
    assert len(column_of(tmp_path / "safe.csv", "ward")) == ROWS


@pytest.mark.parametrize("keep", [(), ("year",)])
@pytest.mark.parametrize("is_keyed", [False, True])
def test_suppressed_rows_leave_in_every_kind_of_draw(mixed, tmp_path, keep, is_keyed):
    rows = [(f"p{k}", s, x, "2020") for k, (s, x) in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
    rows.append(("q", "cholera", "elsewhere", "2020"))
    table = write_csv(tmp_path / "t.csv", NAMES, rows)
    keyed = {"id": "pid", "key": KEY} if is_keyed else {}
    receipt = apply(
        table,
        mixed.release,
        str(tmp_path / "safe.csv"),
        Options(keep=keep, unseen="suppress", **keyed),
    )
    assert (receipt.rows_out, receipt.unseen) == (ROWS, 1)
    assert len(read_csv(tmp_path / "safe.csv")[1]) == ROWS


@pytest.mark.parametrize("column", ["s", "x"])
def test_a_column_of_another_kind_than_at_design_is_refused_without_its_values(tmp_path, column):
    numbers = [("a", 1, 5), ("b", 2, 6)] * 30
    table = write_csv(tmp_path / "t.csv", ("t", "x", "s"), numbers)
    made = design(table, Asked(("s",), ("x",), {"x": Each(), "s": Each()}), ll.LIP(0.1))
    texts = [("a", "SECRET123" if column == "x" else 1, "SECRET123" if column == "s" else 5)] * 9
    other = write_csv(tmp_path / "u.csv", ("t", "x", "s"), texts)
    with pytest.raises(ll.InvalidInput, match=r"integer.*text") as found:
        apply(other, made.release, str(tmp_path / "safe.csv"))
    assert "SECRET" not in str(found.value)
    made.release.to_json(tmp_path / "release.json")
    with pytest.raises(ll.InvalidInput) as found:
        verify(str(tmp_path / "release.json"), against=other)
    assert "SECRET" not in str(found.value)


# --- missing values --------------------------------------------------------------------------


def gaps(path, *extra):
    rows = [("a", "u"), ("b", "v"), ("a", "v"), ("b", "u")] * 15
    return write_csv(path, ("s", "x"), [*rows, *extra])


def test_dropped_rows_are_not_published_and_counted(tmp_path):
    table = gaps(tmp_path / "t.csv", ("a", ""), ("b", ""), ("", ""))
    made = design(table, Asked(("s",), ("x",), missing="drop"), ll.LIP(0.1))
    receipt = apply(table, made.release, str(tmp_path / "safe.csv"))
    assert (receipt.rows_in, receipt.rows_out, receipt.dropped) == (63, 60, 3)
    assert counted(tmp_path / "safe.csv", "x") == {"u": 30, "v": 30}


def test_rows_without_s_are_never_published_unaudited(tmp_path):
    """Dropped at design, they would be published: X is there."""
    table = gaps(tmp_path / "t.csv", ("", "u"), ("", "u"))
    made = design(table, Asked(("s",), ("x",), missing="drop"), ll.LIP(0.1))
    with pytest.raises(ll.InvalidInput, match="2 rows have no value of S"):
        apply(table, made.release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["t.csv"]


def test_a_missing_value_is_published_as_missing(tmp_path):
    table = gaps(tmp_path / "t.csv", *[("a", ""), ("b", "")] * 10)
    for target in ("safe.csv", "safe.parquet"):
        made = sanitize(
            table,
            Asked(("s",), ("x",)),
            ll.LIP(0.1),
            str(tmp_path / target),
            Options(force=True),
            encoding="values",
        )
        assert made.verification.is_ok
        assert made.receipt.rows_out == 80
    found = Counter(pq.read_table(tmp_path / "safe.parquet").to_pydict()["x"])
    assert found == {"u": 30, "v": 30, None: 20}


def test_a_missing_value_that_is_an_error_stops_apply(tmp_path):
    whole = gaps(tmp_path / "t.csv")
    made = design(whole, Asked(("s",), ("x",), missing="error"), ll.LIP(0.1))
    for row in (("a", ""), ("", "u")):
        table = gaps(tmp_path / "u.csv", row)
        with pytest.raises(ll.InvalidInput, match="1 row"):
            apply(table, made.release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["t.csv", "u.csv"]


# --- kept columns ----------------------------------------------------------------------------


class Row(NamedTuple):
    s: str
    x: str
    k: int


def keeping(tmp_path, extra, missing="value"):
    """A table on which X is independent of S, with one more column by S and X."""
    rows = [Row(s, x, k) for k in range(50) for s in ("a", "b") for x in ("u", "v")]
    rows = [(r.s, r.x, extra(r) if callable(extra) else extra) for r in rows]
    table = write_csv(tmp_path / "t.csv", ("s", "x", "k"), rows)
    made = design(table, Asked(("s",), ("x",), missing=missing), ll.LIP(0.1))
    assert made.release.audit.nmi == 1.0
    return table, made.release


def test_a_kept_column_that_says_nothing_is_published(tmp_path):
    table, release = keeping(tmp_path, lambda r: ("k", "l")[r.k % 2])
    receipt = apply(table, release, str(tmp_path / "safe.csv"), Options(keep=("k",)))
    assert (receipt.kept, receipt.outside_the_guarantee) == (("k",), ())
    head, rows = read_csv(tmp_path / "safe.csv")
    assert head == ["x", "k"]
    assert Counter(rows) == {(x, k): 50 for x in "uv" for k in "kl"}


@pytest.mark.parametrize(
    "extra",
    [
        lambda r: r.s,
        lambda r: "k" if r.s == "a" else "",
        lambda r: "" if r.s == "a" else "k",
        lambda r: "k" if (r.s == "a") == (r.x == "u") else "l",
        lambda r: 1 if r.s == "a" else 2,
        lambda r: "2020-01-01" if r.s == "a" else "2020-01-02",
        lambda r: f"id-{r.s}-{r.x}-{r.k}",
        lambda r: 0.5 if r.s == "a" else 1.5,
    ],
    ids=["s", "missing-b", "missing-a", "xor", "number", "date", "unique", "real"],
)
def test_kept_columns_are_audited_together_with_y(tmp_path, extra):
    """A missing value of a kept column is published, so it counts, whatever is done with X's."""
    table, release = keeping(tmp_path, extra, "drop")
    with pytest.raises(ll.BoundViolated, match="Nothing was written"):
        apply(table, release, str(tmp_path / "safe.csv"), Options(keep=("k",)))
    assert names(tmp_path) == ["t.csv"]


def test_what_is_accepted_uncovered_is_recorded(tmp_path):
    table, release = keeping(tmp_path, lambda r: r.s)
    options = Options(keep=("k",), accept_uncovered=True)
    receipt = apply(table, release, str(tmp_path / "safe.csv"), options)
    (outside,) = receipt.outside_the_guarantee
    assert "kept" in outside
    assert "4 of 4" in outside
    assert saved(tmp_path / "safe.receipt.json")["outside_the_guarantee"] == [outside]
    # Together is only for this: alone it lets no false release through.
    bad = write_csv(tmp_path / "u.csv", ("s", "x", "k"), [("a", "u", "k"), ("b", "v", "k")] * 9)
    with pytest.raises(ll.BoundViolated):
        apply(bad, release, str(tmp_path / "other.csv"), options)
    assert not (tmp_path / "other.csv").exists()


def test_kept_columns_without_s_cannot_be_told(tmp_path):
    _, release = keeping(tmp_path, "k")
    table = write_csv(tmp_path / "u.csv", ("x", "k"), [("u", "k"), ("v", "l")] * 9)
    for options in (Options(keep=("k",), accept_uncovered=True), Options(accept_unchecked=True)):
        with pytest.raises(ll.BoundViolated, match=r"cannot be (checked|told)"):
            apply(table, release, str(tmp_path / "safe.csv"), replace(options, keep=("k",)))
    options = Options(keep=("k",), accept_uncovered=True, accept_unchecked=True)
    assert (
        len(apply(table, release, str(tmp_path / "safe.csv"), options).outside_the_guarantee) == 2
    )


@pytest.mark.parametrize("keep", [("s",), ("x",), ("nothing",), ("k", "k"), ("K",)])
def test_columns_that_cannot_be_kept(tmp_path, keep):
    table, release = keeping(tmp_path, "k")
    with pytest.raises(ll.InvalidInput):
        apply(table, release, str(tmp_path / "safe.csv"), Options(keep=keep))
    assert names(tmp_path) == ["t.csv"]


# --- releases that must not be used ----------------------------------------------------------


@pytest.mark.parametrize("encoding", ["codes", "groups", "values"])
def test_a_release_whose_audit_is_false_is_refused(tmp_path, encoding):
    """One ward is risky, and has no other to be merged with: the watchdog alone fails."""
    counts = [[100, 100, 100, 30], [100, 100, 100, 10], [100, 100, 100, 60]]
    table = write_people(tmp_path / "t.csv", counts)
    joint = ll.Joint.from_counts(counts, DISEASES, WARDS)
    bad = ll.watchdog(joint, ll.LIP(0.3), repair=False)
    assert not bad.audit.is_satisfied
    columns = design(table, ASKED, ll.LIP(0.3)).spec.to_dict()
    bad = bad.with_table(columns | {"encoding": encoding})
    bad.to_json(tmp_path / "release.json")
    unaudited = write_csv(tmp_path / "u.csv", ("ward",), [("east",)] * 9)
    for release in (bad, ll.Release.from_json(tmp_path / "release.json")):
        for source in (table, unaudited):
            with pytest.raises(ll.BoundViolated, match="does not satisfy"):
                apply(source, release, str(tmp_path / "safe.csv"))
    assert names(tmp_path) == ["release.json", "t.csv", "u.csv"]


def test_a_release_that_is_of_no_table_is_refused(people, merged, tmp_path):
    with pytest.raises(ll.InvalidInput, match="not designed on a table"):
        apply(people, merged.release.with_table(None), str(tmp_path / "safe.csv"))


def tampered(release):
    release["channel"]["atoms"][0], release["channel"]["atoms"][1] = (
        release["channel"]["atoms"][1],
        release["channel"]["atoms"][0],
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r["joint"]["counts"][0].__setitem__(0, 1),
        lambda r: r["joint"]["counts"][0].__setitem__(0, 1372),
        lambda r: r["audit"].update(is_satisfied=False),
        lambda r: r["audit"].update(nmi=0.5),
        lambda r: r["channel"].update(denominator=2),
        lambda r: r["channel"]["atoms"].pop(),
        lambda r: r.update(version=3),
        lambda r: r.update(format="other"),
        lambda r: r.pop("channel"),
        lambda r: r["criterion"].update(epsilon=-1),
    ],
)
def test_a_tampered_release_is_refused(merged, tmp_path, change):
    path = tmp_path / "release.json"
    merged.release.to_json(path)
    release = saved(path)
    change(release)
    path.write_text(json.dumps(release))
    with pytest.raises(ll.InvalidInput, match=r"release\.json"):
        ll.Release.from_json(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.pop("released"),
        lambda t: t.update(released=[]),
        lambda t: t.update(missing="skip"),
        lambda t: t.update(encoding="text"),
        lambda t: t.update(sensitive="disease"),
        lambda t: t["released"][0].update(kind="real"),
        lambda t: t["released"][0].update(name="year"),
        lambda t: t.update(rows="many"),
    ],
)
def test_columns_of_a_release_that_do_not_fit_are_refused(people, merged, tmp_path, change):
    table = json.loads(json.dumps(merged.release.table))
    change(table)
    with pytest.raises(ll.InvalidInput):
        apply(people, merged.release.with_table(table), str(tmp_path / "safe.csv"))
    assert names(tmp_path) == []


# --- receipts and files ----------------------------------------------------------------------


def test_a_receipt_says_what_was_done(people, mixed, tmp_path):
    receipt = apply(people, mixed.release, str(tmp_path / "safe.parquet"))
    path = tmp_path / "safe.receipt.json"
    assert path.stat().st_mode & 0o777 == 0o600
    found = saved(path)
    assert found["format"] == "lowlift-receipt"
    assert found["source_sha256"] == sha256(people)
    assert found["output_sha256"] == sha256(tmp_path / "safe.parquet")
    assert found["release"] == mixed.encoded.release.fingerprint
    assert (found["source"], found["output"]) == ("people.csv", "safe.parquet")
    assert (found["rows_in"], found["rows_out"]) == (ROWS, ROWS)
    assert (found["dropped"], found["unseen"], found["draws"]) == (0, 0, "fresh")
    assert (found["lowlift"], found["python"]) == (ll.__version__, platform.python_version())
    assert found["nmi"] == receipt.nmi == mixed.encoded.nmi
    assert found["share_changed"] == mixed.encoded.share_changed
    assert found["encoding"] == "codes"
    text = path.read_text()
    for word in (*DISEASES, *WARDS, str(tmp_path)):
        assert word not in text


@pytest.mark.parametrize(
    ("target", "receipt"),
    [
        ("safe.csv", "safe.receipt.json"),
        ("here/safe.parquet", "here/safe.receipt.json"),
        ("safe.duckdb?table=t", "safe.receipt.json"),
        ("postgresql://me@host/db?table=hr.t", "hr.t.receipt.json"),
        ("table:a/b", "a_b.receipt.json"),
    ],
)
def test_where_a_receipt_goes(target, receipt):
    assert receipt_path(target).as_posix() == receipt


def test_an_existing_output_or_receipt_needs_force(people, merged, tmp_path):
    target = str(tmp_path / "safe.csv")
    for name in ("safe.csv", "safe.receipt.json"):
        (tmp_path / name).write_text("precious")
        with pytest.raises(ll.InvalidInput, match="exist"):
            apply(people, merged.release, target)
        assert names(tmp_path) == [name]
        assert (tmp_path / name).read_text() == "precious"
        (tmp_path / name).unlink()
    apply(people, merged.release, target)
    before = sha256(target)
    with pytest.raises(ll.InvalidInput, match="exist"):
        apply(people, merged.release, target)
    assert sha256(target) == before
    receipt = apply(people, merged.release, target, Options(force=True))
    assert sha256(target) == receipt.output_sha256 != before


@pytest.mark.parametrize("exists", ["release", "codebook", "receipt", "output"])
def test_sanitize_writes_all_or_nothing(people, tmp_path, exists):
    files = {
        "release": "safe.release.json",
        "codebook": "safe.codebook.json",
        "receipt": "safe.receipt.json",
        "output": "safe.csv",
    }
    (tmp_path / files[exists]).write_text("precious")
    arguments = people, ASKED, ll.LIP(0.4), str(tmp_path / "safe.csv")
    with pytest.raises(ll.InvalidInput, match="exist"):
        sanitize(*arguments, mechanism="subset-merging")
    assert names(tmp_path) == [files[exists]]
    assert (tmp_path / files[exists]).read_text() == "precious"
    made = sanitize(*arguments, Options(force=True), mechanism="subset-merging")
    assert made.verification.is_ok
    assert names(tmp_path) == sorted(files.values())
    assert "precious" not in (tmp_path / files[exists]).read_text()


def test_sanitize_writes_nothing_when_the_bound_cannot_hold(tmp_path):
    """For a column alone, or with what is kept."""
    pairs = (("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1"))
    rows = [(*s, x) for s, x in rows_of([[2, 11], [2, 15], [9, 17], [11, 3]], pairs, ("u", "v"))]
    table = write_csv(tmp_path / "t.csv", ("a", "b", "x"), rows)
    target = str(tmp_path / "safe.csv")
    with pytest.raises(ll.BoundViolated):
        sanitize(table, Asked(("a", "b"), ("x",)), ll.L1Lift(0.605, 9.0), target)
    with pytest.raises(ll.BoundViolated):
        sanitize(table, Asked(("a",), ("x",)), ll.LIP(0.3), target, Options(keep=("b",)))
    assert names(tmp_path) == ["t.csv"]


@pytest.mark.parametrize(
    "target",
    [
        *("missing/safe.csv", "/sys/safe.csv", "safe.json", "safe", "http://host/safe.csv"),
        *("s3://bucket/safe.parquet", "safe.duckdb", "table:safe", ".", ""),
    ],
)
def test_outputs_that_cannot_be_written(people, merged, tmp_path, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ll.InvalidInput):
        apply(people, merged.release, target)
    with pytest.raises(ll.InvalidInput):
        sanitize(people, ASKED, ll.LIP(0.4), target, mechanism="subset-merging")
    assert names(tmp_path) == []


def test_the_input_is_never_overwritten(tmp_path, merged):
    table = write_people(tmp_path / "people.csv")
    before = sha256(table)
    with pytest.raises(ll.InvalidInput, match="input"):
        apply(table, merged.release, table, Options(force=True))
    (tmp_path / "link.csv").symlink_to(table)
    with pytest.raises(ll.InvalidInput, match="input"):
        apply(table, merged.release, str(tmp_path / "link.csv"), Options(force=True))
    assert sha256(table) == before


def test_an_output_appears_whole(people, merged, tmp_path):
    """Until the last step there is nothing under its name; when that fails there never is."""
    seen = []

    def stop(done, total):
        seen.append((done, total, (tmp_path / "safe.csv").exists()))
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(people, merged.release, str(tmp_path / "safe.csv"), progress=stop)
    assert seen
    assert not any(exists for *_, exists in seen)
    assert seen[-1][0] == seen[-1][1]
    assert names(tmp_path) == []


# --- no data value in an error ---------------------------------------------------------------

SECRET = "SECRET123"


def secret_cases(tmp_path):
    """Calls that must fail on a table whose S, X and ids hold the secret."""
    rows = [(f"{SECRET}-{k}", f"{SECRET}-s{k % 2}", f"{SECRET}-x{k % 2}", k) for k in range(40)]
    table = write_csv(tmp_path / "t.csv", ("id", "s", "x", "n"), rows)
    gappy = [*rows, (f"{SECRET}-0", "", f"{SECRET}-x0", 1), ("", f"{SECRET}-s0", "", 1)]
    gappy = write_csv(tmp_path / "gaps.csv", ("id", "s", "x", "n"), gappy)
    # Independent on purpose, so that it can be applied to others.
    flat = [(f"{SECRET}-s{a}", f"{SECRET}-x{b}") for a in (0, 1) for b in (0, 1)] * 10
    flat = write_csv(tmp_path / "flat.csv", ("s", "x"), flat)
    release = design(flat, Asked(("s",), ("x",)), ll.LIP(0.1)).release
    mixed = [(f"{SECRET}-s{a}", 1) for a in (0, 1)] * 40 + [(f"{SECRET}-s0", SECRET)]
    mixed = write_csv(tmp_path / "mixed.csv", ("s", "x"), mixed)
    broken = tmp_path / "broken.csv"
    broken.write_text(f's,x\n{SECRET},a\n"{SECRET},b\n{SECRET},c,d,e\n' + f"{SECRET},a\n" * 50)
    bad_bytes = tmp_path / "bytes.csv"
    bad_bytes.write_bytes(f"s,x\n{SECRET},a\n".encode() * 20 + SECRET.encode() + b",\xff\xfe\n")
    both = Asked(("s",), ("x",))
    target = str(tmp_path / "safe.csv")
    keyed = Options(id="id", key=KEY)
    return [
        lambda: apply(table, release, target),
        lambda: apply(gappy, release, target),
        lambda: apply(gappy, release, target, keyed),
        lambda: apply(table, release, target, Options(keep=("id",))),
        lambda: apply(table, release, target, Options(keep=("n",))),
        lambda: apply(flat, release, target, Options(keep=("s",))),
        lambda: apply(mixed, release, target),
        lambda: sanitize(table, both, ll.LIP(0.1), target, Options(keep=("id",))),
        lambda: sanitize(gappy, both, ll.LIP(0.1), target, keyed),
        lambda: design(gappy, Asked(("s",), ("x",), missing="error"), ll.LIP(0.1)),
        lambda: design(table, Asked(("s",), ("n",)), ll.LIP(0.1), encoding="codes"),
        lambda: design(table, Asked(("s",), ("x",), {"x": Each()}), ll.LIP(0.1)),
        lambda: design(table, Asked(("s",), ("x", "id")), ll.LIP(0.1), encoding="text"),
        lambda: design(mixed, Asked(("s",), ("x",), {"x": Each()}), ll.LIP(0.1)),
        lambda: design(str(broken), both, ll.LIP(0.1)),
        lambda: design(str(bad_bytes), both, ll.LIP(0.1)),
        lambda: apply(str(broken), release, target),
        lambda: apply(str(bad_bytes), release, target),
    ]


def test_no_data_value_is_in_an_error(tmp_path):
    for number, case in enumerate(secret_cases(tmp_path)):
        with pytest.raises(ll.LowliftError) as found:
            case()
        error = found.value
        while error is not None:  # nor anywhere in the chain, which a traceback would show
            assert SECRET not in str(error), number
            error = error.__cause__ or error.__context__
        assert not (tmp_path / "safe.csv").exists(), number
        assert not (tmp_path / "safe.receipt.json").exists(), number


def test_a_spec_survives_its_file(merged):
    assert Spec.from_dict(json.loads(json.dumps(merged.spec.to_dict()))) == merged.spec


def test_the_input_stays_locked_until_its_rows_are_drawn(tmp_path, monkeypatch):
    """No other process may change a database between the audit and the draw."""
    database = tmp_path / "people.duckdb"
    with duckdb.connect(str(database)) as connection:
        rows = rows_of(COUNTS, DISEASES, WARDS)
        connection.execute("CREATE TABLE people (disease TEXT, ward TEXT, k INTEGER)")
        connection.executemany("INSERT INTO people VALUES (?, ?, 1)", rows)
    made = design(f"{database}?table=people", ASKED, ll.LIP(0.4), mechanism="subset-merging")
    steps = []
    for name in ("detach", "spool", "fetch"):
        real = getattr(DuckDB, name)
        monkeypatch.setattr(
            DuckDB,
            name,
            lambda self, *given, real=real, name=name: (steps.append(name), real(self, *given))[1],
        )
    options = Options(keep=("k",))
    apply(f"{database}?table=people", made.release, f"{database}?table=safe", options)
    assert steps.index("detach") > steps.index("spool") > steps.index("fetch")
