"""Where a table is, and what is refused without being opened."""

import os
import socket

import pytest

from lowlift import InvalidInput
from lowlift.tables import open_table
from lowlift.tables.sources import (
    DatabaseFile,
    Files,
    PostgresTable,
    SparkTable,
    parse_postgres,
    parse_source,
    split_name,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a1.csv", "a2.csv", "b.parquet", "c.duckdb", "d.txt", "odd[1]*?.csv"):
        (tmp_path / name).write_text("x\n1\n")
    (tmp_path / "sub.csv").mkdir()
    return tmp_path


def test_files_are_found(folder):
    (folder / "no10:30.csv").write_text("x\n1\n")
    assert parse_source("no10:30.csv").description == "no10:30.csv"
    path = folder / "a1.csv"
    assert parse_source(path) == Files((path,), "csv", "a1.csv")
    assert parse_source(folder / "b.parquet").format == "parquet"
    assert [path.name for path in parse_source("a*.csv").paths] == ["a1.csv", "a2.csv"]
    assert [path.name for path in parse_source("odd[1]*?.csv").paths] == ["odd[1]*?.csv"]
    assert parse_source(str(folder / "a1.csv")).description == "a1.csv"
    found = parse_source("c.duckdb?table=hr.people")
    assert isinstance(found, DatabaseFile)
    assert found.name == ("hr", "people")
    assert found.description == "c.duckdb?table=hr.people"


def test_a_file_without_a_byte_is_refused(folder):
    (folder / "empty.csv").touch()
    with pytest.raises(InvalidInput, match="is empty"):
        parse_source("empty.csv")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("nope.csv", "must exist"),
        ("nope*.csv", "matches none"),
        ("sub.csv", "is a folder"),
        ("d.txt", "must be .csv"),
        ("*.*", "folder"),
        ("a1.csv.zip", "must exist"),
        ("c.duckdb", "table=NAME"),
        ("c.duckdb?table=", "must be written"),
        ("c.duckdb?table=a.b.c", "must be written"),
        ('c.duckdb?table="a', "must be written"),
        ("none.duckdb?table=t", "must exist"),
        ("a\0.csv", "must"),
        (3, "must be a path"),
        ([1], "must be a path"),
        ("http://example.org/a.csv", "'http:'"),
        ("https://example.org/a.parquet", "'https:'"),
        ("s3://bucket/a.parquet", "'s3:'"),
        ("gs://bucket/a.parquet", "'gs:'"),
        ("azure://c/a.parquet", "'azure:'"),
        ("abfss://c/a.parquet", "'abfss:'"),
        ("hf://datasets/a.parquet", "'hf:'"),
        ("md:mine?table=t", "'md:'"),
        ("file:///etc/passwd", "'file:'"),
    ],
)
def test_what_is_no_table_is_refused(folder, source, reason):
    with pytest.raises(InvalidInput, match=reason):
        open_table(source)


def test_a_file_that_may_not_be_read_is_refused(folder):
    (folder / "a1.csv").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:  # root reads everything
        os.seteuid(65534)
    try:
        with pytest.raises(InvalidInput, match="readable"):
            open_table(str(folder / "a1.csv"))
    finally:
        if is_root:
            os.seteuid(0)


def test_engines_must_fit_the_source(folder):
    with pytest.raises(InvalidInput, match="'postgres' cannot read"):
        parse_source("a1.csv", "postgres")
    with pytest.raises(InvalidInput, match="must be duckdb"):
        parse_source("a1.csv", "oracle")
    assert parse_source("a1.csv", "duckdb").format == "csv"
    assert parse_source("hr.people", "spark") == SparkTable("hr.people", "table", "hr.people")
    assert parse_source("hdfs://x/y.parquet", "spark").format == "parquet"
    with pytest.raises(InvalidInput, match="'s3a:'"):
        parse_source("s3a://b/y.parquet", "spark")
    with pytest.raises(InvalidInput, match="must end in"):
        parse_source("data/y", "spark")


def test_names_may_be_quoted():
    assert split_name("t") == ("t",)
    assert split_name("hr.t") == ("hr", "t")
    assert split_name('"a.b"') == ("a.b",)
    assert split_name('"say ""hi"""."x.y"') == ('say "hi"', "x.y")
    assert split_name("it's; drop") == ("it's; drop",)


def test_addresses_are_parsed():
    found = parse_postgres("postgresql://ann@db.org:5433/hr?table=s.t&sslmode=require")
    assert found == PostgresTable(
        "postgresql://ann@db.org:5433/hr?sslmode=require", ("s", "t"),
        "postgresql://db.org:5433/hr?table=s.t",
    )  # fmt: skip
    assert parse_postgres("postgres:///hr?table=%22a.b%22").name == ("a.b",)
    assert parse_postgres("postgres:///hr?table=t").address == "postgresql:///hr"
    assert "ann" not in found.description


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:SECRET123@db/hr?table=t",
        "postgresql://ann:SECRET123@db/hr",
        "postgresql://ann:@db/hr?table=t",
        "postgresql://ann@db/hr?table=t&password=SECRET123",
        "postgresql://ann@db/hr?table=t&sslpassword=SECRET123",
        "postgresql://ann:SECRET123/x@db/hr?table=t",
        "postgresql://ann:SECRET123#x@db/hr?table=t",
        "postgresql://[ann:SECRET123@db/hr?table=t",
        "host=db dbname=hr password=SECRET123",
        "POSTGRESQL://ann:SECRET123@db/hr?table=t",
    ],
)
def test_a_password_is_refused_and_not_repeated(address):
    with pytest.raises(InvalidInput) as caught:
        open_table(address)
    assert "SECRET123" not in str(caught.value)
    assert "ann" not in str(caught.value).replace("cannot", "")


@pytest.mark.parametrize(
    "address",
    ["postgresql://db/hr", "postgresql://db/hr?table=a&table=b", "postgresql://db/hr?table=a#b"],
)
def test_an_address_must_name_one_table(address):
    with pytest.raises(InvalidInput, match="one table"):
        parse_source(address)


@pytest.mark.parametrize("engine", [None, "spark"])
def test_what_can_be_read_once_only_is_refused_at_once(folder, engine):
    os.mkfifo(folder / "pipe.csv")  # opening it would wait for a writer
    (folder / "device.csv").symlink_to("/dev/zero")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "sub" / "a.parquet")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket.csv")
        names = ["pipe.csv", "device.csv", "socket.csv", "/dev/stdin"]
        if engine is None:
            names += ["sub/*.parquet", "pipe.csv?table=t", "/dev/fd/0"]
        for name in names:
            with pytest.raises(InvalidInput, match=r"regular file.*Copy it to a file first"):
                parse_source(name, engine)


def test_a_table_of_spark_may_have_a_longer_name_than_a_file():
    assert parse_source("t" * 300, "spark").format == "table"
