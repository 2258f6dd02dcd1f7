"""The same table from frames, relations, CSV files and database files."""

import gzip
import hashlib
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowlift import InvalidInput
from lowlift.tables import Each, Width, open_table, read_joint
from people import write_parquet

WARDS = ["a", "b", None, "", "a"]
AGES = [1, 2, 11, None, 2]
SICK = [True, False, None, True, True]
X_LABELS = (("", None), ("a", "[0, 10)"), ("b", "[0, 10)"), (None, "[10, 20)"))


def check(source, engine=None):
    joint = read_joint(source, "sick", ["ward", "age"], bins={"age": Width(10)}, engine=engine)
    assert joint.labels == ((False, True, None), X_LABELS)
    assert joint.counts.tolist() == [[0, 0, 1, 0], [1, 2, 0, 0], [0, 0, 0, 1]]


ARROW = pa.table({"ward": WARDS, "age": AGES, "sick": SICK})


@pytest.mark.parametrize(
    "frame",
    [
        ARROW,
        ARROW.to_batches()[0],
        ARROW.to_pandas(),
        ARROW.to_pandas(types_mapper=pd.ArrowDtype),
        ARROW.to_pandas().astype({"age": "Int64", "sick": "boolean"}),
        pl.from_arrow(ARROW),
        pl.from_arrow(ARROW).with_columns(pl.col("ward").cast(pl.Categorical)),
    ],
    ids=["arrow", "batch", "pandas", "pandas-arrow", "pandas-nullable", "polars", "categorical"],
)  # fmt: skip
def test_frames(frame):
    check(frame)


def test_relations():
    with duckdb.connect() as connection:
        connection.register("frame", ARROW)
        check(connection.sql("SELECT * FROM frame"))


def test_spark_frames(spark):
    rows = list(zip(WARDS, AGES, SICK, strict=True))
    frame = spark.createDataFrame(rows, "ward string, age int, sick boolean")
    check(frame)
    check(frame, "spark")
    frame.createOrReplaceTempView("people_of_today")
    check("people_of_today", "spark")
    spark.catalog.dropTempView("people_of_today")
    assert not [table for table in spark.catalog.listTables() if "lowlift" in table.name]
    with pytest.raises(InvalidInput, match="upper and lower case"):
        open_table(spark.sql("SELECT 1 AS a, 2 AS A"))


def test_frames_that_can_be_read_only_once_are_refused():
    for frame in (pl.LazyFrame({"a": [1]}), ARROW.to_reader()):
        with pytest.raises(InvalidInput, match="Collect it first"):
            open_table(frame)
    for other in (pd.Series([1]), pa.array([1]), duckdb.connect()):
        with pytest.raises(InvalidInput, match="frame; got"):
            open_table(other)


def test_datasets(tmp_path):
    import pyarrow.dataset
    import pyarrow.parquet

    pyarrow.parquet.write_table(ARROW, tmp_path / "a.parquet")
    check(pyarrow.dataset.dataset(tmp_path / "a.parquet"))


def test_database_files(tmp_path):
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", ARROW)
        connection.execute('CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."it\'s" AS SELECT * FROM frame')
        connection.execute('CREATE VIEW v AS SELECT * FROM "a.b"."it\'s"')
        connection.execute("CREATE TYPE e AS ENUM ('a', 'b', ''); CREATE TABLE t AS SELECT "
                           "ward::e AS ward, age, sick FROM frame")  # fmt: skip
    check(f'{path}?table="a.b".it\'s')
    check(f"{path}?table=v")
    check(f"{path}?table=t")
    with pytest.raises(InvalidInput, match="must exist in its database"):
        open_table(f"{path}?table=nope")
    (tmp_path / "no.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(InvalidInput, match=r"no\.duckdb"):
        open_table(f"{tmp_path / 'no.duckdb'}?table=t")


def test_texts_that_differ_only_by_case_are_different(tmp_path):
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('a'), ('A'), ('ä')")
    with open_table(f"{path}?table=t") as table:
        assert table.count([table.column("a")]).symbols == [("A",), ("a",), ("ä",)]


CSV = 'ward,age,sick\na,1,true\nb,2,false\n,11,\n"",,true\na,2,true\n'


def test_csv_files(tmp_path):
    (tmp_path / "one.csv").write_text(CSV)
    check(tmp_path / "one.csv")
    (tmp_path / "semi.csv").write_text(CSV.replace(",", ";"))
    check(tmp_path / "semi.csv")
    (tmp_path / "tab.tsv").write_text(CSV.replace(",", "\t"))
    check(tmp_path / "tab.tsv")
    (tmp_path / "windows.csv").write_bytes(CSV.replace("\n", "\r\n").encode())
    check(tmp_path / "windows.csv")
    with gzip.open(tmp_path / "packed.csv.gz", "wt") as file:
        file.write(CSV)
    check(tmp_path / "packed.csv.gz")
    lines = CSV.splitlines(keepends=True)
    (tmp_path / "part1.csv").write_text("".join(lines[:3]))
    (tmp_path / "part2.csv").write_text("".join([lines[0], *lines[3:]]))
    check(tmp_path / "part*.csv")
    odd = tmp_path / "o'd[d]*?\".csv"
    odd.write_text(CSV)
    check(odd)


def test_csv_files_on_spark(spark, tmp_path):
    (tmp_path / "one.csv").write_text(CSV)
    check(tmp_path / "one.csv", "spark")
    (tmp_path / "zip.csv").write_text("zip,n\n007,1\n10,2\n08,\n")
    with open_table(tmp_path / "zip.csv", "spark") as table:
        assert dict(table.kinds) == {"zip": "text", "n": "integer"}
        assert table.count([table.column("zip")]).symbols == [("007",), ("08",), ("10",)]
        assert table.sha256() == hashlib.sha256((tmp_path / "zip.csv").read_bytes()).hexdigest()
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,SECRET123,5\n")
    with pytest.raises(InvalidInput, match="well-formed") as caught:
        read_joint(tmp_path / "bad.csv", "a", "b", engine="spark", bins={"a": Each(), "b": Each()})
    assert "SECRET" not in str(caught.value)


def test_csv_values_stay_as_they_are(tmp_path):
    path = tmp_path / "values.csv"
    path.write_text(
        'zip,flag,truth,text,"a ""b""",date\n'
        '007,yes,True,"x,\ny",1,2020-01-02\n'
        '08,no,false,"say ""hi""",2,2020-02-03\n'
    )
    with open_table(path) as table:
        assert dict(table.kinds) == {
            "zip": "text",
            "flag": "text",
            "truth": "boolean",
            "text": "text",
            'a "b"': "integer",
            "date": "date",
        }
        assert table.count([table.column("zip")]).symbols == [("007",), ("08",)]
        assert table.count([table.column("flag")]).symbols == [("no",), ("yes",)]
        assert table.count([table.column("text")]).symbols == [('say "hi"',), ("x,\ny",)]
        assert table.count([table.column("date")]).symbols == [("2020-01-02",), ("2020-02-03",)]


def test_a_type_that_changes_late_is_text(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("n\n" + "".join(f"{k}\n" for k in range(60_000)) + "x\n")
    with open_table(path) as table:
        assert table.kinds["n"] == "text"
        assert table.rows == 60_001


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a,b\n1,2\n3,4,SECRET123\n5,6\n", "line 3"),
        (b"a,b\n1,2\n3\n5,6\n", "line 3"),
        (b'a,b\n1,2\n"SECRET123,2\n', "line"),
        ("a,b\nSECRET123ä,1\n".encode("latin-1"), "UTF-8"),
        (b"", "must have a header and rows"),
        (b"a,b\n", "must have rows"),
        (b"\x00\xff\xfe\x12SECRET123", "bad.csv"),
    ],
)
def test_broken_csv_files_are_refused_without_their_data(tmp_path, content, reason):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=reason) as caught:
        read_joint(path, "a", "b", bins={"a": Each(), "b": Each()})
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_broken_parquet_files_are_refused(tmp_path):
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"PAR1SECRET123PAR1" * 10)
    with pytest.raises(InvalidInput, match=r"bad\.parquet") as caught:
        open_table(path)
    assert "SECRET" not in str(caught.value)


def test_files_are_hashed_in_sorted_order(tmp_path, files):
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text(f"x\n{name}\n")
    expected = hashlib.sha256(b"x\na.csv\nx\nb.csv\n").hexdigest()
    with open_table(tmp_path / "*.csv") as table:
        assert table.sha256() == expected
        assert table.description == "*.csv"
    with open_table(ARROW) as table:
        assert table.sha256() is None


def test_database_tables_have_no_hash(postgres):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE hashless AS SELECT 1 AS a")
    with open_table(f"{postgres}&table=hashless") as table:
        assert table.sha256() is None
        assert table.description == "postgresql:///postgres?table=hashless"
    with pytest.raises(InvalidInput, match="must exist"):
        open_table(f"{postgres}&table=nope")
    with pytest.raises(InvalidInput, match="reachable"):
        open_table("postgresql://lowlift@/postgres?host=/nowhere&table=t")


def test_postgres_types(postgres):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('happy', 'sad'); CREATE DOMAIN yr AS int")
        connection.execute(
            "CREATE TABLE typed AS SELECT 'happy'::mood AS m, 'ab '::char(4) AS c, "
            "3::smallint AS i, 1.5::numeric AS n, 7::yr AS y, now() AS t, "
            "'infinity'::date AS d, '{1}'::int[] AS a"
        )
    with open_table(f"{postgres}&table=typed") as table:
        assert dict(table.kinds) == {
            "m": "text", "c": "text", "i": "integer", "n": "real", "y": "integer", "t": "other",
            "d": "date", "a": "other",
        }  # fmt: skip
        columns = [
            table.column("m"),
            table.column("c"),
            table.column("y", Each()),
            table.column("d"),
        ]
        assert table.count(columns).symbols == [("happy", "ab", 7, "infinity")]


def repeated(kind, folder):
    """Return a table that has column "age" twice, in one of the ways that a table can."""
    two = pa.table([[1], [2], ["x"]], names=["age", "age", "sex"])
    path = str(folder / f"t.{kind}")
    if kind == "parquet":
        pq.write_table(two, path)
    elif kind == "csv":
        Path(path).write_text('"age",sex,age\n1,x,2\n')
    elif kind == "tsv":
        Path(path).write_text("age\tsex\tAge\n1\tx\t2\n")
    elif kind == "csv.gz":
        Path(path).write_bytes(gzip.compress(b"sex;age;age\nx;1;2\n"))
    else:
        return {"pandas": two.to_pandas, "pyarrow": lambda: two}[kind]()
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz", "pandas", "pyarrow"])
def test_column_names_must_differ(tmp_path, kind):
    with pytest.raises(InvalidInput, match=r"different names.*'age'"):
        open_table(repeated(kind, tmp_path))


def test_relative_paths_on_spark_start_from_here(spark, tmp_path, monkeypatch):
    """Not from where Java was started; and the folder's own name is no pattern."""
    del spark  # the session that is used
    here = tmp_path / "a[b] {c}"
    here.mkdir()
    monkeypatch.chdir(here)
    for k in range(2):
        write_parquet(here / f"t{k}.parquet", {"x": ["a"]})
    (tmp_path / "t.csv").write_text("x\na\n")
    for path in ("t0.parquet", "./t0.parquet", "../a?b*/t0.parquet"):
        with open_table(path, "spark") as table:
            assert table.rows == 1
            assert len(table.sha256()) == 64
    with open_table("t*.parquet", "spark") as table:
        assert table.rows == 2
        (here / "t1.parquet").unlink()
        with pytest.raises(InvalidInput, match="must not change"):
            table._engine.check_unchanged()
    monkeypatch.chdir(tmp_path)
    with open_table("t.csv", "spark") as table:
        assert table.rows == 1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_column_names_must_differ_in_spark_too(spark, tmp_path, kind):
    del spark  # the session that is used
    reason = r"different names.*'age'" if kind == "csv" else "could not be read"
    with pytest.raises(InvalidInput, match=reason):
        open_table(repeated(kind, tmp_path), "spark")


def test_names_inside_structures_are_no_columns(tmp_path):
    inner = pa.array([{"age": 1, "more": [{"age": 2}]}])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": inner, "age": [1], "b": inner, "sex": ["x"]}), path)
    with open_table(path) as table:
        assert list(table.kinds) == ["a", "age", "b", "sex"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("wart", r"Did you mean 'ward'\?$"), ("xyz", r"The first are 'ward', 'age', 'sick'\.$")],
)
def test_an_unknown_column_is_told_with_those_that_there_are(name, told):
    frame = pd.DataFrame({"ward": WARDS, "age": AGES, "sick": SICK})
    with (
        open_table(frame) as table,
        pytest.raises(InvalidInput, match=rf"one of the table's 3; got '{name}'. {told}"),
    ):
        table.check_name(name)
