"""One record is drawn as the table path draws it: the same symbols, the same keyed draws."""

import math
import sys
import uuid
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lowlift as ll
from lowlift.records import OneRecord
from lowlift.tables import Calendar, Column, DateEdges, Days, Each, Edges, Width, open_table
from lowlift.tables.values import symbol_reader
from lowlift.workflow import Asked, Options, apply
from lowlift.workflow.columns import count

KEY = bytes(range(32))
ROWS = 400
DAY = date(2023, 12, 25)
#: Kind and bins of each column of X.
COLUMNS = {
    "text": ("text", None),
    "each": ("integer", "each"),
    "edges": ("integer", [-10, 0, 7]),
    "width": ("integer", "width:10"),
    "uneven edges": ("integer", [-2.5, 0.5, 8]),
    "uneven width": ("integer", "width:2.5"),
    "real edges": ("real", [-0.3, 0, 0.1, 5]),
    "real width": ("real", "width:0.1"),
    "decimal": ("decimal", "width:0.25"),
    "boolean": ("boolean", None),
    "date": ("date", None),
    "day": ("date", "day"),
    "month": ("date", "month"),
    "week": ("date", "width:7"),
    "periods": ("date", ["2024-01-01", "2024-01-05"]),
    "quarter": ("timestamp", "quarter"),
    "minutes": ("timestamp", "day"),
    "uuid": ("uuid", None),
}
#: Numbers at, just below and just above the edges, far away, and none.
REALS = [
    *(edge for at in (-0.3, 0.0, 0.1, 0.3, 5.0) for edge in
      (at, math.nextafter(at, -9), math.nextafter(at, 9))),
    -0.0, 1e300, -1e300, math.inf, -math.inf, math.nan, 9.1e14, 1e-310,
    sys.float_info.max, -sys.float_info.max,
]  # fmt: skip
VALUES = {
    "text": ["a", "A", "ä", "a\u0308", "", " a", "null", 'it\'s "quoted"', "\t", "=1", "日本"],
    "integer": [*range(-26, 27), 2**53 + 1, -(2**63), 2**63 - 1],
    "real": REALS,
    "decimal": [-1.25, -0.01, 0.0, 0.24, 0.25, 0.26, 3.14, 99999.99],
    "boolean": [True, False],
    "date": [*(DAY + timedelta(k) for k in range(30)), date.min, date.max],
    "timestamp": [
        *(datetime.fromisoformat("2023-12-25") + timedelta(hours=11 * k) for k in range(40)),
        datetime.fromisoformat("2023-12-31 23:59:59.999999"),
        datetime.fromisoformat("1582-10-14 12:00"),
    ],
    "uuid": [uuid.UUID(int=k * 0x9E3779B97F4A7C15F39CC0605CED) for k in range(9)],
}
SENSITIVE = "it's S"


def bins_of(name):
    kind, bins = COLUMNS[name]
    if isinstance(bins, list) and isinstance(bins[0], str):
        return kind, DateEdges(tuple(bins))
    return kind, bins


def some(values, rng, missing=0.1):
    return [None if u < missing else values[int(u * 1e6) % len(values)] for u in rng.random(ROWS)]


def table_of(seed):
    rng = np.random.default_rng(seed)
    return {
        "id": ("integer", [3 * k - 500 for k in range(ROWS)]),
        SENSITIVE: ("text", some(["p", "q", "r"], rng, 0.0)),
        **{name: (kind, some(VALUES[kind], rng)) for name, (kind, _) in COLUMNS.items()},
    }


def released_from(source, engine, channel_of, encoding, bins):
    asked = Asked((SENSITIVE,), tuple(COLUMNS), bins)
    with open_table(source, engine) as table:
        joint, _ = count(table, asked)
    release = ll.Release.of(joint, channel_of(joint), ll.MaxLift(700.0))
    return release.with_table(replace(joint.origin, encoding=encoding)), joint.origin


def mixing(joint):
    rng = np.random.default_rng(joint.n_x)
    weights = rng.random((joint.n_x, 7)) * (rng.random((joint.n_x, 7)) < 0.7)
    weights[:, 0] += 0.05
    return ll.Channel.from_probabilities(weights / weights.sum(axis=1, keepdims=True))


def neighbours(joint):
    """Each symbol stays with probability 3/4, and becomes the next one otherwise."""
    atoms = [([(x - 1) % joint.n_x, x], [1, 3]) for x in range(joint.n_x)]
    atoms = [tuple(map(list, zip(*sorted(zip(*atom, strict=True)), strict=True))) for atom in atoms]
    return ll.Channel.from_atoms(joint, atoms, 4, joint.x_labels)


def records_of(table, spec):
    """The rows as records; an engine without UUIDs has texts."""
    columns = {column.name: column.kind for column in spec.released}
    ids = table["id"][1]
    for k, name in enumerate(ids):
        record = {column: table[column][1][k] for column in columns}
        if columns["uuid"] == "text" and record["uuid"] is not None:
            record["uuid"] = str(record["uuid"])
        yield name, record


@pytest.mark.parametrize("seed", [1, 2])
def test_keyed_records_are_drawn_as_every_engine_draws_the_rows(store, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the receipt of a database's table goes here
    table = table_of(seed)
    source = store.put(table)
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    release, spec = released_from(source, store.engine, mixing, "codes", bins)
    target = store.target()
    options = Options(keep=("id",), id="id", key=KEY, accept_uncovered=True)
    apply(source, release, target, options, engine=store.engine)
    written = {name: code for code, name in store.read(target)}
    one = OneRecord(release)
    drawn = {name: one.draw(record, id=name, key=KEY) for name, record in records_of(table, spec)}
    assert drawn == {name: {"code": code} for name, code in written.items()}
    assert len(set(written.values())) == release.channel.n_y
    other = [one.draw(r, id=name, key=KEY[::-1]) for name, r in records_of(table, spec)]
    assert other != list(drawn.values())


def test_published_values_have_the_types_that_the_table_has(files):
    table = table_of(3)
    source = files.put(table)
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    release, spec = released_from(source, None, neighbours, "values", bins)
    target = files.target()
    options = Options(keep=("id",), id="id", key=KEY, accept_uncovered=True)
    apply(source, release, target, options)
    one = OneRecord(release)
    drawn = {name: one.draw(record, id=name, key=KEY) for name, record in records_of(table, spec)}
    names = list(COLUMNS)
    assert {row[-1]: dict(zip(names, row[:-1], strict=True)) for row in files.read(target)} == drawn
    kinds = {type(value) for record in drawn.values() for value in record.values()}
    assert kinds == {str, int, bool, date, uuid.UUID, type(None)}


NUMBERS = st.one_of(
    st.integers(-50, 50),
    st.sampled_from([0.1, 0.25, 0.3, 2.5, 1e-3, 1e6, -7.25]),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
)
NUMERIC_BINS = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=5, unique=True).map(lambda e: Edges(tuple(sorted(e)))),
    NUMBERS.filter(lambda w: w > 1e-4).map(Width),
)
DATE_BINS = st.one_of(
    st.sampled_from(["day", "month", "quarter", "year"]).map(Calendar),
    st.integers(1, 4000).map(Days),
    st.lists(st.dates(), min_size=1, max_size=5, unique=True).map(
        lambda e: DateEdges(tuple(sorted(e)))
    ),
)
WHOLE = st.one_of(st.integers(-200, 200), st.integers(-(2**63), 2**63 - 1))
REAL = st.one_of(st.floats(), st.integers(-300, 300).map(lambda k: k / 20), st.sampled_from(REALS))
TIMES = st.datetimes()
BINNED = st.one_of(
    st.tuples(st.just("integer"), st.one_of(NUMERIC_BINS, st.just(Each())), st.just(WHOLE)),
    st.tuples(st.just("real"), NUMERIC_BINS, st.just(REAL)),
    st.tuples(st.just("date"), st.one_of(DATE_BINS, st.none()), st.just(st.dates())),
    st.tuples(st.just("timestamp"), DATE_BINS, st.just(TIMES)),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data(), made=BINNED)
def test_values_become_the_symbols_that_duckdb_makes(files, data, made):
    kind, bins, values = made
    rows = data.draw(st.lists(st.one_of(values, st.none()), min_size=1, max_size=40))
    source = files.put({"row": ("integer", range(len(rows))), "x": (kind, rows)})
    with open_table(source) as table:
        column = Column("x", table.kinds["x"], bins)
        found = table.count([Column("row", "integer", Each()), column])
    read = symbol_reader(column)
    assert [symbol[1] for symbol in found.symbols] == [
        column.label_of(read(value)) for value in rows
    ]


def test_rows_of_a_pandas_frame_are_read_as_duckdb_reads_the_frame():
    """NaN, NaT and NA are missing; NumPy's and pandas' scalars are values."""
    frame = pd.DataFrame(
        {
            "text": ["a", None, np.nan, "b"],
            "whole": pd.array([1, None, -25, 2**40], "Int64"),
            "small": np.array([-128, 0, 9, 10], np.int8),
            "real": [0.1, np.nan, -0.0, np.inf],
            "single": np.array([0.1, 0.3, np.nan, 1e30], np.float32),
            "decimal": [Decimal("0.30"), None, Decimal("-0.10"), Decimal("7.00")],
            "flag": pd.array([True, None, False, True], "boolean"),
            "time": np.array(
                ["2024-03-31T23:59:59.9999995", "NaT", "1969-12-31T23:59:59.9999995", "2024"],
                "datetime64[ns]",
            ),
            "day": [date(2024, 2, 29), None, date(1, 1, 1), date(9999, 12, 31)],
        }
    )
    bins = {"whole": Width(10), "small": Edges((-1, 10)), "real": Width(0.1), "single": Width(0.1),
            "decimal": Width(0.1), "time": Calendar("day"), "day": Days(7)}  # fmt: skip
    with open_table(frame.assign(row=range(4))) as table:
        columns = [table.column(name, bins.get(name)) for name in frame]
        found = table.count([table.column("row", Each()), *columns])
    readers = [(column, symbol_reader(column)) for column in columns]
    # Both are ways to take a row from a frame; their scalars are pandas' and NumPy's.
    for row in range(4):
        for record in (frame.to_dict("records")[row], {n: frame[n].iloc[row] for n in frame}):
            labels = [column.label_of(read(record[column.name])) for column, read in readers]
            assert tuple(labels) == found.symbols[row][1:]
    (time,) = (read for column, read in readers if column.name == "time")
    for value, expected in zip(frame["time"].to_numpy(), found.symbols, strict=True):
        assert Column("time", "timestamp", Calendar("day")).label_of(time(value)) == expected[-2]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_drawn_at_once_is_its_records_drawn_one_by_one(library):
    rows = [
        {"id": f"p{k}", "age": k % 90, "region": "news"[k % 4], "ill": k % 7 < 3}
        for k in range(360)
    ]
    frame = pa.Table.from_pylist(rows)
    frame = {"pandas": frame.to_pandas, "polars": lambda: pl.from_arrow(frame)}.get(
        library, lambda: frame
    )()
    schema = ll.Schema("ill", ["age", "region"], {"age": "width:15"})
    joint = ll.read_joint(frame, schema)
    release = ll.Release.of(joint, neighbours(joint), ll.LIP(5.0))
    safe = release.apply(frame, id="id", key=KEY, keep=["id"], accept_uncovered=True)
    safe = safe.to_pylist() if library == "pyarrow" else pl.DataFrame(safe).to_dicts()
    one = OneRecord(release)
    assert {record.pop("id"): record for record in safe} == {
        row["id"]: one.draw({"age": row["age"], "region": row["region"]}, id=row["id"], key=KEY)
        for row in rows
    }
    assert {record["age"] for record in safe} == {f"[{k}, {k + 15})" for k in range(0, 90, 15)}
