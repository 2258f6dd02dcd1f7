"""Rows drawn inside cells where the table lives: PostgreSQL and Spark; and columns drawn alone."""

import datetime as dt
import uuid
from collections import Counter
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
from scipy import stats

import lowlift as ll
from lowlift._cells.learning import learn_cells
from lowlift._cells.tree import Split, Tree
from lowlift.tables import open_table, row_keys
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column
from lowlift.tables.draws import donors, places
from lowlift.tables.sources import parse_postgres

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Receipts of database tables are written to the working folder."""
    monkeypatch.chdir(tmp_path)


START = dt.datetime.fromisoformat("2024-01-01")


def columns(rows=600, seed=0):
    """A table of every kind as {name: (kind, values)}, with missing values; S is "ill"."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    ill = rng.random(rows) < 0.1 + 0.5 * (age > 50)
    made = {
        "age": ("integer", age.tolist()),
        "pay": ("decimal", [Decimal(int(v)) / 100 for v in rng.integers(100, 90000, rows)]),
        "job": ("text", rng.choice(["nurse", "a, b", 'a "b"', "", "é\n"], rows).tolist()),
        "day": ("date", [START.date() + dt.timedelta(int(d)) for d in rng.integers(0, 900, rows)]),
        "at": (
            "timestamp",
            [START + dt.timedelta(microseconds=int(m)) for m in rng.integers(0, 10**13, rows)],
        ),
        "member": ("boolean", (rng.random(rows) < 0.4).tolist()),
        "team": ("uuid", [uuid.UUID(int=int(k)) for k in rng.integers(0, 4, rows)]),
    }
    for _, values in made.values():
        for row in np.flatnonzero(rng.random(rows) < 0.08):
            values[row] = None
    return made | {"ill": ("boolean", ill.tolist())}


RELEASED = ["age", "pay", "job", "day", "at", "member", "team"]
ASKED = {"sensitive": "ill", "released": RELEASED, "cells": 10, "criterion": ll.LIP(0.3)}
ENCODINGS = ["rows", "columns"]


def test_a_server_that_reads_backslashes_as_escapes_has_the_same_cells(stores, monkeypatch):
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off")
    listed = ("\\' OR true --", "\\", "\\n")
    source = stores("postgres").put({"job": ("text", [*listed, "\n", "'", ""] * 5)})
    tree = Tree(("job",), (Split(0, -1, -2, values=listed),))
    with open_table(source) as table:
        counts = table.count([Column("cell", "cells", CellBins(tree, ("text",)))])
    assert dict(zip(counts.symbols, counts.counts, strict=True)) == {(0,): 15, (1,): 15}


def every(made):
    return list(zip(*(made[name][1] for name in RELEASED), strict=True))


def check_values(rows, made, encoding):
    """Check that published rows are those of the table, or have its values in each column."""
    given = every(made)
    assert len(rows) == len(given)
    if encoding == "rows":
        assert set(rows) <= set(given)
    else:
        assert len(set(rows) - set(given)) > len(rows) // 4
        for published, values in zip(
            zip(*rows, strict=True), zip(*given, strict=True), strict=True
        ):
            assert set(published) <= set(values)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_stay_in_postgres_with_their_types(stores, encoding):
    store, made = stores("postgres"), columns()
    source, target = store.put(made), store.target()
    safe = ll.sanitize(source, **ASKED, encoding=encoding, target=target)
    assert safe.verification.is_ok
    assert safe.receipt.encoding == safe.codebook.encoding == encoding
    check_values(store.read(target), made, encoding)
    assert types_in_postgres(store, target) == types_in_postgres(store, source)
    found = ll.verify(str(safe.files["release"]), against=source, published=target)
    assert found.is_ok


def types_in_postgres(store, place):
    query = """
        SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
        JOIN pg_class c ON c.oid = attrelid WHERE relname = %s AND attnum > 0
    """
    with psycopg.connect(store.server) as connection:
        found = dict(connection.execute(query, [parse_postgres(place).name[-1]]).fetchall())
    return {name: found[name] for name in RELEASED}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_of_postgres_go_to_a_file(stores, tmp_path, encoding, suffix):
    store, made = stores("postgres"), columns()
    source, target = store.put(made), str(tmp_path / f"safe{suffix}")
    safe = ll.sanitize(source, **ASKED, encoding=encoding, target=target)
    assert ll.verify(str(safe.files["release"]), against=source, published=target).is_ok
    if suffix == ".parquet":
        with duckdb.connect() as connection:
            found = connection.sql(f"SELECT * FROM '{target}'")
            types = dict(zip(found.columns, map(str, found.types), strict=True))
            check_values(found.fetchall(), made, encoding)
        assert types["pay"] == "DECIMAL(10,2)"
        assert (types["at"], types["team"]) == ("TIMESTAMP", "UUID")


def test_rows_of_a_view_of_postgres_become_a_frame(stores):
    store, made = stores("postgres"), columns()
    source = store.put(made, name="seen")
    with psycopg.connect(store.server) as connection:
        connection.execute("CREATE VIEW view_of_seen AS SELECT * FROM seen")
    safe = ll.sanitize(source.replace("table=%22seen%22", "table=view_of_seen"), **ASKED)
    assert isinstance(safe.table, pd.DataFrame)
    assert list(safe.table.columns) == RELEASED
    assert len(safe.table) == 600


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_of_a_file_go_to_postgres(stores, encoding):
    store, made = stores("postgres"), columns()
    source, target = stores("duckdb").put(made), store.target()
    safe = ll.sanitize(source, **ASKED, encoding=encoding, target=target)
    assert safe.verification.is_ok
    check_values(store.read(target), made, encoding)
    types = types_in_postgres(store, target)
    assert types["pay"] == "numeric(10,2)"
    assert types["at"] == "timestamp without time zone"
    assert types["team"] == "uuid"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_of_a_spark_frame_are_a_spark_frame(stores, spark, encoding):
    made = columns()
    given = spark.read.parquet(stores("spark").put(made))
    given = given.withColumn("at", given["at"].cast("timestamp_ntz"))
    safe = ll.sanitize(given, **ASKED, encoding=encoding)
    assert dict(safe.table.dtypes) == {n: t for n, t in given.dtypes if n in RELEASED}
    made["team"] = ("text", [None if v is None else str(v) for v in made["team"][1]])
    check_values([tuple(row) for row in safe.table.collect()], made, encoding)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_of_spark_go_to_a_folder(stores, spark, tmp_path, suffix):
    made = columns()
    source, target = stores("spark").put(made), str(tmp_path / f"safe{suffix}")
    safe = ll.sanitize(source, **ASKED, target=target, engine="spark")
    found = ll.verify(str(safe.files["release"]), against=source, published=target, engine="spark")
    assert found.is_ok, found
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT * FROM '{target}/*{suffix}'").fetchall()
    assert len(rows) == 600
    if suffix == ".parquet":
        made["team"] = ("text", [None if v is None else str(v) for v in made["team"][1]])
        check_values(rows, made, "rows")


def test_rows_of_spark_go_to_no_database(stores, spark, tmp_path):
    source = stores("spark").put(columns(60))
    for target in (f"{tmp_path / 'safe.duckdb'}?table=safe", stores("postgres").target()):
        with pytest.raises(ll.InvalidInput, match=r"must stay in Spark; .* load that into the"):
            ll.sanitize(source, **ASKED, target=target, engine="spark")
    assert not (tmp_path / "safe.duckdb").exists()


@pytest.mark.parametrize("name", ["postgres", "spark"])
def test_donors_are_uniform_in_each_engine(stores, name):
    """Each row of a cell is drawn as often as any other, whatever the numbers in the engine are."""
    store = stores(name)
    values = list(range(40))
    source = store.put({"v": ("integer", values), "s": ("boolean", [k % 2 == 0 for k in values])})
    tree = Tree.from_dict(
        {"columns": ["v"], "splits": [{"column": 0, "left": -1, "right": -2, "most": 9}]}
    )
    cells = Column("cell", "cells", CellBins(tree, ("integer",)))
    with open_table(source, store.engine) as table:
        table.hold(["v"])
        engine = table._engine
        keys = engine.donors(cells, {0: 3000, 1: 6000}, None, None)
        rows = engine.fetch(row_keys.keyed(cells, engine.table, engine.dialect))
    value = dict(rows)
    assert sorted(value.values()) == values
    drawn = Counter(value[key] for key in keys.tolist())
    inside = [[drawn[v] for v in values[:10]], [drawn[v] for v in values[10:]]]
    assert list(map(sum, inside)) == [3000, 6000]
    for part in inside:
        assert stats.chisquare(part).pvalue > 1e-6


def test_places_of_columns_are_independent():
    wanted, place = places({0: 3, 1: 2}, {0: 9000, 1: 500}, 1, 2)
    pairs = place[wanted == 0]
    table = np.zeros((3, 3))
    np.add.at(table, tuple(pairs.T), 1)
    assert stats.chisquare(table.ravel()).pvalue > 1e-6
    assert (place[wanted == 1] < 2).all()
    rows = donors(np.array([0, 1, 0, 1, 0]), {0: 50, 1: 50}, 1, 3)
    cells = np.array([0, 1, 0, 1, 0])[rows]
    assert (cells == cells[:, :1]).all()
    assert np.bincount(cells[:, 0]).tolist() == [50, 50]


@pytest.mark.parametrize("library", ["pandas", "duckdb", "arrow", "polars"])
def test_columns_are_drawn_alone_from_frames(stores, library):
    made = columns(1500)
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM '{stores('duckdb').put(made)}'")
        convert = {"pandas": "df", "arrow": "to_arrow_table", "polars": "pl"}
        given = getattr(relation, convert[library])() if library in convert else relation
        safe = ll.sanitize(given, **ASKED, encoding="columns")
        count = len(safe.table)
        pairs = connection.execute if library == "duckdb" else None
    assert count == 1500
    assert pairs is None or list(safe.table.columns) == RELEASED
    release = safe.release
    assert release.origin.encoding == "columns"
    assert release.origin.schema.encoding == "columns"
    again = release.apply(given) if library != "duckdb" else safe.table
    assert len(again) == 1500


def test_a_release_of_columns_is_read_again(tmp_path, stores):
    source, target = stores("duckdb").put(columns()), str(tmp_path / "safe.parquet")
    schema = ll.Schema("ill", RELEASED, cells=10, encoding="columns")
    safe = ll.sanitize(source, schema=schema, criterion=ll.LIP(0.3), target=target)
    assert ll.Schema.from_dict(schema.to_dict()) == schema
    release = ll.Release.from_json(safe.files["release"])
    assert release.origin.encoding == "columns"
    book = type(safe.codebook).from_json(safe.files["codebook"])
    assert book.encoding == "columns"
    assert ll.verify(str(safe.files["release"]), against=source, published=target).is_ok


def test_the_cells_of_a_large_tree_are_those_of_its_conditions(tmp_path):
    """A tree of many conditions is cut into queries; names of columns may be any."""
    rng = np.random.default_rng(0)
    given = {
        "c": rng.integers(0, 60, 20_000).astype(np.float64),
        "r": rng.choice(np.array([*"abcdefghijkl", None], object), 20_000),
        "row": rng.normal(size=20_000),
    }
    frame = pd.DataFrame(given).astype({"c": int}).assign(s=given["c"] > 30)
    tree = learn_cells(given, 700, min_rows=5).tree
    assert tree.size == 700
    cells = Column("cell", "cells", CellBins(tree, ("integer", "text", "real")))
    with open_table(frame) as table:
        table.hold(frame.columns)
        counted = table.count([Column("s", "boolean"), cells])
    numbers = tree.assign(list(given.values())).tolist()
    expected = Counter(zip(frame["s"].tolist(), numbers, strict=True))
    assert dict(zip(counted.symbols, counted.counts, strict=True)) == expected


@pytest.mark.parametrize("target", ["safe.parquet", "safe.duckdb?table=safe"])
def test_parts_that_fail_on_all_rows_are_joined_and_the_others_stay(
    files, tmp_path, monkeypatch, target
):
    """Parts are found in a sample: before, one that failed on all rows cost all the others."""
    monkeypatch.setattr("lowlift.tables.cells.MOST_ROWS", 1500)
    source = files.put(columns(12_000))
    safe = ll.sanitize(source, **ASKED, target=str(tmp_path / target))
    proof, joint = safe.release.certificate, safe.release.joint
    assert len(proof.bins) == joint.n_x > len(set(proof.bins))
    assert safe.audit.is_satisfied
    assert safe.verification.is_ok


def test_joined_cells_hold_the_rows_of_those_they_replace():
    rng = np.random.default_rng(1)
    given = {"a": rng.normal(size=2000), "b": rng.normal(size=2000)}
    tree = learn_cells(given, 40, min_rows=5).tree
    smaller, to = tree.joined([3, 17])
    values = list(given.values())
    assert (smaller.assign(values) == to[tree.assign(values)]).all()
    assert smaller.size == len(set(to.tolist())) < 40
    assert Tree.from_dict(smaller.to_dict()) == smaller


def test_whole_numbers_of_128_bits_keep_their_digits(tmp_path):
    first = 1234567890123456789012345
    with duckdb.connect(str(tmp_path / "h.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT i % 7 + {first}::HUGEINT AS v, i % 2 = 0 AS s "
            "FROM range(300) r(i)"
        )
    source, target = str(tmp_path / "h.duckdb?table=t"), tmp_path / "safe.csv"
    ll.sanitize(
        source, sensitive="s", released="v", cells=3, criterion=ll.LIP(0.3), target=str(target)
    )
    published = set(map(int, target.read_text().split()[1:]))
    assert published <= {first + k for k in range(7)}


def test_texts_that_begin_as_a_formula_are_counted_on_every_engine(store):
    given = {
        "a": ("text", ["=1", "+1", "x=1", None, "\t2", ""]),
        "b": ("text", ["@", "-1", "'=1", "'", "\\", "é"]),
    }
    with open_table(store.put(given), store.engine) as table:
        assert table.profiling().beginning(["a", "b"], ("=", "+", "-", "@", "\t", "\r", "\n")) == 5


def test_a_random_sample_is_drawn_without_regard_to_values(store):
    """Rows that are alike are drawn one by one, and other rows each time."""
    values = ["a"] * 400 + ["b"] * 600
    source = store.put({"job": ("text", values), "k": ("integer", list(range(1000)))})
    with open_table(source, store.engine) as table:
        draws = [table.sample(["job", "k"], [], 200, is_random=True) for _ in range(2)]
        assert table.sample(["k"], [], 200) == table.sample(["k"], [], 200)
    for rows in draws:
        assert len({k for _, k in rows}) == 200
        assert 40 < sum(job == "a" for job, _ in rows) < 120
    assert {k for _, k in draws[0]} != {k for _, k in draws[1]}
