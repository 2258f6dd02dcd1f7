"""Targets of every kind are written whole or not at all, and only where they may be."""

import csv
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowlift import Channel, InvalidInput
from lowlift.tables import Draw, Each, Output, OutputColumn, open_table

SUBKEY = bytes(range(32))
SYMBOLS = ("a", "b", None)
CHANNEL = Channel([[3, 1, 0], [0, 2, 2], [4, 0, 0]])
WARD = OutputColumn("ward", "text", ('x, "y"\n\'', "", None))
FLAG = OutputColumn('"; drop table t; --', "boolean", ("true", "false", "true"))
ROWS = 900


def columns(rows=ROWS):
    rng = np.random.default_rng(0)
    names = ["a", "b", None]
    return {
        "x": ("text", [names[k] for k in rng.integers(0, 3, rows)]),
        "n": ("integer", range(rows)),
        "it's": ("text", [f'{k}, "\n' if k % 3 else ("" if k % 2 else None) for k in range(rows)]),
        "price": ("decimal", [f"{k}.25" for k in range(rows)]),
    }


def draw_of(table, **options):
    return Draw((table.column("x"),), CHANNEL, SYMBOLS, **options)


@pytest.mark.parametrize("keep", [(), ("n", "it's", "price")], ids=["counts", "rows"])
def test_every_engine_writes_files(store, tmp_path, keep):
    given = columns()
    output = (WARD, FLAG)
    with open_table(store.put(given), store.engine) as table:
        for suffix in (".parquet", ".csv", ".tsv", ".csv.gz"):
            if store.name == "spark" and suffix in {".tsv", ".csv.gz"}:
                continue
            target = tmp_path / f"safe{suffix}"
            applied = table.apply(draw_of(table), Output(str(target), output, keep=keep))
            assert applied.rows_in == applied.rows_out == ROWS
            rows = read(target)
            assert len(rows) == ROWS
            names = ["ward", '"; drop table t; --', *keep]
            texts = list(zip(WARD.texts, FLAG.texts, strict=True))
            found = [sum(row[:2] == text for row in rows) for text in texts]
            assert found == list(applied.counts), names
            if keep:
                kept = {row[2]: row[3:] for row in rows}
                assert kept == {
                    str(n): (text, price)
                    for n, text, price in zip(*(given[name][1] for name in keep), strict=True)
                }
            if target.is_file():
                assert applied.sha256 == hashlib.sha256(target.read_bytes()).hexdigest()
                mask = os.umask(0)
                os.umask(mask)
                assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
            else:
                parts = sorted(target.glob("part-*"))
                whole = b"".join(part.read_bytes() for part in parts)
                assert applied.sha256 == hashlib.sha256(whole).hexdigest()
            assert not [p for p in tmp_path.iterdir() if p.name.endswith((".part", ".old"))]


def read(target):
    """Return the rows of a file or folder as texts."""
    if target.suffix == ".parquet":
        table = pq.read_table(target)
        assert table.schema.field(1).type == pa.bool_()
        plain = [pa.compute.cast(column, pa.string()).to_pylist() for column in table.columns]
        return list(zip(*plain, strict=True))
    paths = sorted(target.glob("part-*")) if target.is_dir() else [target]
    mark = "\t" if target.suffix == ".tsv" else ","
    with duckdb.connect() as connection:
        return connection.execute(
            "SELECT * FROM read_csv($1, header = true, all_varchar = true, delim = $2, "
            "quote = '\"', escape = '\"', allow_quoted_nulls = false)",
            [[str(path) for path in paths], mark],
        ).fetchall()


def test_a_csv_is_read_the_same_by_python(files, tmp_path):
    with open_table(files.put(columns())) as table:
        target = tmp_path / "safe.csv"
        table.apply(draw_of(table), Output(str(target), (WARD, FLAG)))
    with target.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["ward", '"; drop table t; --']
    assert {tuple(row) for row in rows} == {(WARD.texts[0], "true"), ("", "false"), ("", "true")}


@pytest.mark.parametrize("keep", [(), ("n", "it's")], ids=["counts", "rows"])
def test_files_and_servers_write_database_tables(store, postgres, tmp_path, keep):
    given = columns()
    address = f"{postgres}&table=made_{store.name}_{len(keep)}"
    with open_table(store.put(given), store.engine) as table:
        for target in (
            f"{tmp_path / 'new.duckdb'}?table=t",
            f'{tmp_path / "new.duckdb"}?table="a.b"',
            address,
        ):
            output = Output(target, (WARD,), keep=keep)
            if store.name == "spark" and keep:
                with pytest.raises(InvalidInput, match="Spark writes kept columns"):
                    table.apply(draw_of(table), output)
                continue
            applied = table.apply(draw_of(table), output)
            assert applied.sha256 is None
            rows = rows_of(target)
            assert [sum(row[0] == text for row in rows) for text in WARD.texts] == list(
                applied.counts
            )
            if keep:
                assert {row[1]: row[2] for row in rows} == dict(
                    zip(*(given[k][1] for k in keep), strict=True)
                )
            with pytest.raises(InvalidInput, match="must not exist"):
                table.apply(draw_of(table), output)
            again = Output(target, (WARD,), force=True)
            assert table.apply(draw_of(table), again).rows_out == len(rows_of(target)) == ROWS
    assert not list(tmp_path.glob("*.part*"))


def rows_of(target):
    if target.startswith("postgresql"):
        import psycopg

        address, _, name = target.partition("&table=")
        with psycopg.connect(address) as connection:
            return connection.execute(f"SELECT * FROM {name}").fetchall()
    path, _, name = target.partition("?table=")
    with tempfile.TemporaryDirectory() as folder:
        # A copy: DuckDB 1.4 does not open a file twice in a process, and the input may be open.
        copy = shutil.copy(path, folder)
        with duckdb.connect(copy, read_only=True) as connection:
            return connection.execute(f"SELECT * FROM {name}").fetchall()


def test_a_table_beside_the_input_in_its_database(tmp_path, files):
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{files.put(columns())}'")
    with open_table(f"{path}?table=people") as table:
        for keep in ((), ("n",)):
            table.apply(
                draw_of(table), Output(f"{path}?table=safe", (WARD,), keep=keep, force=True)
            )
            assert len(rows_of(f"{path}?table=safe")[0]) == 1 + len(keep)
            assert table.count([table.column("x")]).rows == ROWS
        for name in ("people", "PEOPLE"):
            with pytest.raises(InvalidInput, match="must not be the input"):
                table.apply(draw_of(table), Output(f"{path}?table={name}", (WARD,), force=True))
        with pytest.raises(InvalidInput):
            table.apply(draw_of(table), Output(f"{path}?table=none.safe", (WARD,)))
        assert table.count([table.column("x")]).rows == ROWS


def test_spark_tables(spark, tmp_path, files):
    source = files.put(columns())
    with open_table(source, "spark") as table:
        for keep in ((), ("n",)):
            output = Output("table:`safe`".replace("`", '"'), (WARD, FLAG), keep=keep, force=True)
            applied = table.apply(draw_of(table), output)
            rows = spark.table("safe").collect()
            assert [sum(row[0] == text for row in rows) for text in WARD.texts] == list(
                applied.counts
            )
        with pytest.raises(InvalidInput, match="must not exist"):
            table.apply(draw_of(table), Output("table:safe", (WARD,)))
        for target in (
            "safe.txt",
            "s3://bucket/safe.parquet",
            str(tmp_path / "no" / "safe.parquet"),
        ):
            with pytest.raises(InvalidInput):
                table.apply(draw_of(table), Output(target, (WARD,)))
        with pytest.raises(InvalidInput, match="must not be the input"):
            table.apply(draw_of(table), Output(source, (WARD,), force=True))
    with open_table("safe", "spark") as table:
        draw = Draw((table.column("ward"),), CHANNEL, WARD.texts)
        with pytest.raises(InvalidInput, match="must not be the input"):
            table.apply(draw, Output("table:safe", (WARD,), force=True))
    assert [table.name for table in spark.catalog.listTables()] == ["safe"]
    spark.sql("DROP TABLE safe")


def test_an_existing_output_stays_unless_forced(store):
    with open_table(store.put(columns()), store.engine) as table:
        target = store.target()
        table.apply(draw_of(table), Output(target, (WARD,)))
        before = store.read(target)
        with pytest.raises(InvalidInput, match="must not exist"):
            table.apply(draw_of(table), Output(target, (FLAG,)))
        assert store.read(target) == before
        table.apply(draw_of(table), Output(target, (FLAG,), force=True))
        assert {row[0] for row in store.read(target)} == {True, False}


def test_an_output_must_not_be_the_input(store):
    source = store.put(columns())
    with open_table(source, store.engine) as table, pytest.raises(InvalidInput, match="the input"):
        table.apply(draw_of(table), Output(source, (WARD,), force=True))


def test_links_to_the_input_are_the_input(files, tmp_path):
    source = files.put(columns())
    (tmp_path / "link.parquet").symlink_to(source)
    with open_table(source) as table, pytest.raises(InvalidInput, match="the input"):
        table.apply(draw_of(table), Output(str(tmp_path / "link.parquet"), (WARD,), force=True))


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("safe.txt", "must end in"),
        ("safe", "must end in"),
        ("none/safe.parquet", "folder must exist"),
        ("dir.parquet", "is a folder"),
        ("table:safe", "Only Spark"),
        ("https://example.org/safe.parquet", "Only Spark"),
        ("x.duckdb", "table=NAME"),
        ("postgresql://u:SECRET123@h/db?table=t", "password"),
    ],
)
def test_other_targets_are_refused(files, tmp_path, monkeypatch, target, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.parquet").mkdir()
    with (
        open_table(files.put(columns())) as table,
        pytest.raises(InvalidInput, match=reason) as caught,
    ):
        table.apply(draw_of(table), Output(target, (WARD,)))
    assert "SECRET" not in str(caught.value)


def test_outputs_are_checked(files):
    with pytest.raises(InvalidInput, match="at least one"):
        Output("a.csv", ())
    with pytest.raises(InvalidInput, match="'ward' comes twice"):
        Output("a.csv", (WARD, WARD))
    with pytest.raises(InvalidInput, match="'WARD' comes twice"):
        Output("a.csv", (WARD,), keep=("WARD",))
    with pytest.raises(InvalidInput, match="must have a name"):
        OutputColumn("", "text", ())
    for kind, text in (
        ("real", "1"),
        ("integer", "x"),
        ("integer", str(1 << 63)),
        ("boolean", "yes"),
        ("uuid", "x"),
    ):
        with pytest.raises(InvalidInput, match="'c'"):
            OutputColumn("c", kind, (text,))
    with open_table(files.put(columns())) as table:
        with pytest.raises(InvalidInput, match="each of the 3 outputs; it has 1"):
            table.apply(draw_of(table), Output("a.csv", (OutputColumn("c", "text", ("x",)),)))
        with pytest.raises(InvalidInput, match="'n'"):
            table.apply(draw_of(table), Output("a.csv", (WARD,), keep=("nn",)))


def test_an_impossible_date_leaves_nothing(store):
    made = OutputColumn("c", "date", ("2020-01-01", "SECRET123", None))
    with open_table(store.put(columns()), store.engine) as table:
        for keep in ((), ("n",)):
            target = store.target()
            with pytest.raises(InvalidInput) as caught:
                table.apply(draw_of(table), Output(target, (made,), keep=keep))
            assert "SECRET" not in str(caught.value)
            assert not store.exists(target)


def test_order_is_kept_on_request(files, tmp_path):
    given = columns()
    symbols = [SYMBOLS.index(x) for x in given["x"][1]]
    same = Channel(np.eye(3, dtype=int))
    frame = pa.table({"x": given["x"][1], "n": list(range(ROWS))})
    (tmp_path / "given.csv").write_text(
        "x,n\n" + "".join(f"{x or ''},{n}\n" for n, x in enumerate(given["x"][1]))
    )
    codes = OutputColumn("y", "integer", ("0", "1", "2"))
    for source in (files.put(given), frame, tmp_path / "given.csv"):
        with open_table(source) as table:
            for keyed in ({}, {"id": "n", "subkey": SUBKEY}):
                for keep in ((), ("n",)):
                    target = files.target()
                    draw = Draw((table.column("x"),), same, SYMBOLS, **keyed)
                    table.apply(draw, Output(target, (codes,), keep=keep, keep_order=True))
                    rows = files.read(target)
                    assert [row[0] for row in rows] == symbols
                    assert [row[1] for row in rows if keep] == list(range(ROWS))[: ROWS * len(keep)]
            with pytest.raises(InvalidInput, match="an order can be kept only"):
                table.apply(
                    draw, Output(f"{tmp_path / 'x.duckdb'}?table=t", (codes,), keep_order=True)
                )


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("2020-02-13T10:00:00", "2020-02-14T10:00:00", "timestamp"),
        # What DuckDB's cast does not read as its sniffer does cannot have bins.
        ("13/02/2020 10:00:00", "14/02/2020 10:00:00", "other"),
        ("12-02-10 10:00:00", "13-02-10 10:00:00", "other"),
    ],
)
def test_times_in_a_csv_are_kept_as_they_are(tmp_path, first, second, kind):
    path, target = tmp_path / "given.csv", tmp_path / "safe.csv"
    path.write_text(f"t,x\n{first},a\n{second},a\n")
    with open_table(path) as table:
        assert dict(table.kinds) == {"t": kind, "x": "text"}
        draw = Draw((table.column("x"),), Channel([[1]]), ("a",))
        made = OutputColumn("y", "text", ("z",))
        table.apply(draw, Output(str(target), (made,), keep=("t",), keep_order=True))
    assert target.read_text() == f"y,t\nz,{first}\nz,{second}\n"


def test_a_long_order_is_kept(files):
    """Several row groups, read and written by several threads."""
    rows = 400_000
    xs = np.random.default_rng(0).integers(0, 2, rows)
    frame = pa.table({"x": np.array(["a", "b"], object)[xs], "n": np.arange(rows)})
    codes = OutputColumn("y", "integer", ("0", "1"))
    with open_table(frame) as table:
        target = files.target()
        draw = Draw((table.column("x"),), Channel([[1, 0], [0, 1]]), ("a", "b"))
        table.apply(draw, Output(target, (codes,), keep=("n",), keep_order=True))
    written = pq.read_table(target)
    assert (written["n"].to_numpy() == np.arange(rows)).all()
    assert (written["y"].to_numpy() == xs).all()


def test_order_cannot_be_kept_elsewhere(store):
    if store.name == "duckdb":
        return
    with open_table(store.put(columns()), store.engine) as table:
        output = Output(store.target(), (WARD,), keep_order=True)
        with pytest.raises(InvalidInput, match="an order can be kept only"):
            table.apply(draw_of(table), output)


def test_progress_ends_at_the_whole(store):
    seen = []
    with open_table(store.put(columns(30_000)), store.engine) as table:
        for options, keep in (({}, ()), ({"id": "n", "subkey": SUBKEY}, ()), ({}, ("n",))):
            seen.clear()
            output = Output(store.target(), (WARD,), keep=keep)
            draw = draw_of(table, **options)
            table.apply(draw, output, progress=lambda *step: seen.append(step))
            assert seen[0] == (0, 60_000)
            assert seen[-1] == (60_000, 60_000)
            assert seen == sorted(seen)


def test_a_table_that_changes_is_refused(files, tmp_path):
    path = tmp_path / "given.csv"
    path.write_text("x\n" + "a\n" * 100)
    channel = Channel([[1]])
    column = OutputColumn("y", "text", ("z",))
    with open_table(path) as table:
        draw = Draw((table.column("x"),), channel, ("a",))
        path.write_text("x\n" + "a\n" * 101)
        target = tmp_path / "safe.parquet"
        with pytest.raises(InvalidInput, match="must not change"):
            table.apply(draw, Output(str(target), (column,)))
        assert not target.exists()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["given.csv"]


def test_postgres_rows_are_those_that_were_counted(postgres):
    """What others commit meanwhile is not seen: one snapshot from opening to writing."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE moving AS SELECT 'a' AS x, n FROM generate_series(1, 50) n"
        )
        with open_table(f"{postgres}&table=moving") as table:
            draw = Draw((table.column("x"),), Channel([[1]]), ("a",))
            connection.execute(
                "INSERT INTO moving SELECT 'SECRET123', n FROM generate_series(1, 7) n"
            )
            column = OutputColumn("y", "text", ("z",))
            for keep, name in (((), "moved_a"), (("n",), "moved_b")):
                target = f"{postgres}&table={name}"
                assert table.apply(draw, Output(target, (column,), keep=keep)).rows_out == 50


SCRIPT = """
    import sys, time
    from lowlift import Channel
    from lowlift.tables import Draw, Output, OutputColumn, open_table

    def stop(*_, **__):
        print("ready", flush=True)
        time.sleep(60)

    source, target, moment = sys.argv[1:]
    if moment == "publishing":
        from lowlift.tables.targets import database, files
        files.place = database.place = stop
    with open_table(source) as table:
        draw = Draw((table.column("x"),), Channel([[1, 1]]), ("a",))
        column = OutputColumn("y", "text", ("u", "v"))
        keep = ("n",) if moment == "rows" else ()
        def progress(done, whole):
            if moment != "publishing" and done > whole / 2:
                stop()
        if moment == "rows":
            import lowlift.tables.targets.files as files
            files.FileTarget.written = stop
        table.apply(draw, Output(target, (column,), keep=keep, force=True), progress=progress)
"""


def killed(tmp_path, source, target, moment):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    run = [sys.executable, str(script), source, target, moment]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(20)


@pytest.mark.parametrize("moment", ["writing", "publishing", "rows"])
@pytest.mark.parametrize("exists", [False, True])
def test_a_killed_run_leaves_no_half_file(files, tmp_path, moment, exists):
    source = files.put({"x": ("text", ["a"] * 1000), "n": ("integer", range(1000))})
    target = tmp_path / "safe.parquet"
    if exists:
        target.write_text("what was there")
    killed(tmp_path, source, str(target), moment)
    assert target.exists() == exists
    assert not exists or target.read_text() == "what was there"
    left = list(tmp_path.glob(".safe.parquet.*.part"))
    assert len(left) == 1
    assert moment == "publishing" or stat.S_IMODE(left[0].stat().st_mode) == 0o600


def test_a_killed_run_leaves_no_half_table(files, tmp_path, postgres):
    source = files.put({"x": ("text", ["a"] * 200_000), "n": ("integer", range(200_000))})
    killed(tmp_path, source, f"{postgres}&table=half", "writing")
    with open_table(source) as table:
        draw = Draw((table.column("x"),), Channel([[1, 1]]), ("a",))
        column = OutputColumn("y", "text", ("u", "v"))
        assert table.apply(draw, Output(f"{postgres}&table=half", (column,))).rows_out == 200_000
    killed(tmp_path, source, f"{tmp_path / 'half.duckdb'}?table=t", "publishing")
    assert not (tmp_path / "half.duckdb").exists()


def test_temporary_folders_are_removed(files, tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    with open_table(files.put(columns())) as table:
        (folder,) = private.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        table.apply(draw_of(table), Output(files.target(), (WARD,), keep=("n",)))
        assert list(private.iterdir()) == [folder]
        assert not list(Path(folder).glob("spool*"))
    assert not list(private.iterdir())


def test_what_a_killed_run_left_in_private_is_removed(files, tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setenv("TMPDIR", str(private))
    source = files.put({"x": ("text", ["a"] * 1000), "n": ("integer", range(1000))})
    killed(tmp_path, source, str(tmp_path / "safe.parquet"), "rows")
    left = list(private.iterdir())
    assert left
    monkeypatch.setattr("tempfile.tempdir", str(private))
    (private / "lowlift-of-others").mkdir()
    with open_table(source), open_table(source):
        assert len(list(private.iterdir())) == 3  # the two in use are not abandoned
    assert [path.name for path in private.iterdir()] == ["lowlift-of-others"]


@pytest.fixture(params=["database", "relation"])
def huge(request, tmp_path):
    """Give a table whose numbers no double holds: what a sum of DuckDB is."""
    query = (
        f"SELECT 'a' AS x, 3::HUGEINT AS y, {10**37 + 1}::HUGEINT AS n, "
        f"{2**127 - 1}::HUGEINT AS most, {2**127}::UHUGEINT AS more"
    )
    if request.param == "relation":
        return duckdb.connect().sql(query)
    with duckdb.connect(str(tmp_path / "in.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS {query}")
    return f"{tmp_path / 'in.duckdb'}?table=t"


def test_kept_whole_numbers_of_128_bits_stay_exact(huge, postgres, tmp_path):
    made = OutputColumn("x", "text", ("a",))
    with open_table(huge) as table:
        draw = Draw((table.column("x"),), Channel([[1]]), ("a",))
        for keep in (("n",), ("n", "most", "more")):
            expected = ("a", 10**37 + 1, 2**127 - 1, 2**127)[: len(keep) + 1]
            for target in (
                str(tmp_path / f"safe{len(keep)}.csv"),
                f"{tmp_path / 'new.duckdb'}?table=t{len(keep)}",
                f"{postgres}&table=huge_{len(keep)}",
            ):
                table.apply(draw, Output(target, (made,), keep, force=True))
                found = read(Path(target)) if target.endswith(".csv") else rows_of(target)
                assert [str(value) for value in found[0]] == [str(value) for value in expected]
        table.apply(draw, Output(str(tmp_path / "safe.parquet"), (made,), ("n",)))
        with pytest.raises(InvalidInput, match="'most' must have at most 38 digits"):
            table.apply(draw, Output(str(tmp_path / "not.parquet"), (made,), ("n", "most")))
    found = pq.read_table(tmp_path / "safe.parquet")
    assert found.schema.field("n").type == pa.decimal128(38, 0)
    assert found.to_pylist() == [{"x": "a", "n": 10**37 + 1}]
    assert not list(tmp_path.glob("*not.parquet*"))


def test_a_released_column_of_128_bits_is_written_as_whole_numbers(huge, tmp_path):
    made = OutputColumn("y", "integer", ("3",), "HUGEINT")
    with open_table(huge) as table:
        draw = Draw((table.column("y", Each()),), Channel([[1]]), (3,))
        table.apply(draw, Output(str(tmp_path / "safe.parquet"), (made,)))
    assert pq.read_table(tmp_path / "safe.parquet").column("y").type == pa.int64()
