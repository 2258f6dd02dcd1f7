"""Publishing is one transaction: table, release, codebook and receipt, verified, or nothing."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest

import lowlift as ll
from lowlift._files import Draft
from lowlift._temporary import temporary_table
from lowlift.tables import Staged
from lowlift.workflow import Asked, Options, sanitize, sanitizing, verify
from needs import SHORT_JOBS
from people import COUNTS, DISEASES, WARDS, rows_of, write_csv, write_parquet

ASKED, BOUND = Asked(("disease",), ("ward",)), ll.LIP(0.4)
NAMES = ("safe.codebook.json", "safe.receipt.json", "safe.release.json")
#: Where a run fails: instead of the step, or right after it.
STEPS = (
    *("verify", "release", "codebook", "table", "receipt"),
    *("after release", "after codebook", "after table", "after receipt"),
)


class FilePlace:
    """A CSV that DuckDB reads and writes."""

    engine = None
    #: Whether a table that was replaced can be put back after the new one was visible.
    restores = True
    steps = STEPS

    def __init__(self, folder):
        self.folder = folder
        rows = [(s, x, k) for k, (s, x) in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
        self.source = write_csv(folder / "people.csv", ("disease", "ward", "pid"), rows)
        self.target = "safe.csv"

    def exists(self):
        return Path("safe.csv").exists()

    def leftovers(self):
        known = {"people.csv", "safe.csv", *NAMES}
        return sorted({path.name for path in self.folder.iterdir()} - known)

    def published(self):
        return self.target


class NewDatabasePlace(FilePlace):
    restores = False

    def __init__(self, folder):
        super().__init__(folder)
        self.target = "safe.duckdb?table=t"

    def tables(self):
        if not Path("safe.duckdb").exists():
            return []
        with duckdb.connect("safe.duckdb", read_only=True) as connection:
            return [row[0] for row in connection.execute("SHOW TABLES").fetchall()]

    def exists(self):
        return "t" in self.tables()

    def leftovers(self):
        others = [name for name in self.tables() if name not in {"t", "kept"}]
        return others + [name for name in super().leftovers() if name != "safe.duckdb"]


class DatabasePlace(NewDatabasePlace):
    """A new table in a database that has others."""

    def __init__(self, folder):
        super().__init__(folder)
        with duckdb.connect(str(folder / "safe.duckdb")) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 1 AS n")


class PostgresPlace(FilePlace):
    """A table beside the input, in one database."""

    restores = False

    def __init__(self, folder, server):
        super().__init__(folder)
        import psycopg

        self.connection = psycopg.connect(server, autocommit=True)
        self.connection.execute("DROP TABLE IF EXISTS given, safe")
        self.connection.execute("CREATE TABLE given (disease text, ward text, pid int)")
        with self.connection.cursor().copy("COPY given FROM STDIN") as copy:
            for k, row in enumerate(rows_of(COUNTS, DISEASES, WARDS)):
                copy.write_row((*row, k))
        self.source, self.target = f"{server}&table=given", f"{server}&table=safe"
        self.before = self.tables()  # of other tests too, which share the server

    def tables(self):
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        return {row[0] for row in self.connection.execute(query).fetchall()}

    def exists(self):
        return "safe" in self.tables()

    def leftovers(self):
        return super().leftovers() + sorted(self.tables() - self.before - {"safe"})


class SparkFolderPlace(FilePlace):
    """The files beside it are written as elsewhere: only steps of the table differ."""

    engine = "spark"
    steps = ("table", "after receipt")

    def __init__(self, folder):
        super().__init__(folder)
        disease, ward = zip(*rows_of(COUNTS, DISEASES, WARDS), strict=True)
        self.source = write_parquet(folder / "people.parquet", {"disease": disease, "ward": ward})
        (folder / "people.csv").unlink()
        self.target = str(folder / "safe.parquet")

    def exists(self):
        return Path("safe.parquet").exists()

    def leftovers(self):
        own = {"safe.parquet", "people.parquet"}
        return [name for name in super().leftovers() if name not in own]


class SparkTablePlace(SparkFolderPlace):
    def __init__(self, folder, session):
        super().__init__(folder)
        self.session, self.target = session, "table:safe"
        session.sql("DROP TABLE IF EXISTS safe")

    def exists(self):
        return self.session.catalog.tableExists("safe")

    def leftovers(self):
        names = [table.name for table in self.session.catalog.listTables() if not table.isTemporary]
        return super().leftovers() + [name for name in names if name != "safe"]


PLACES = (
    *("file", "new database", "database", "postgres", "spark table"),
    pytest.param("spark folder", marks=pytest.mark.second_lane),
)


@pytest.fixture(params=PLACES)
def place(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.param == "postgres":
        made = PostgresPlace(tmp_path, request.getfixturevalue("postgres"))
        yield made
        made.connection.close()
        return
    session = request.getfixturevalue("spark") if request.param.startswith("spark") else None
    if request.param == "spark table":
        yield SparkTablePlace(tmp_path, session)
        session.sql("DROP TABLE IF EXISTS safe")
        return
    kinds = {
        "file": FilePlace,
        "new database": NewDatabasePlace,
        "database": DatabasePlace,
        "spark folder": SparkFolderPlace,
    }
    yield kinds[request.param](tmp_path)


def run(place, **options):
    return sanitize(
        place.source,
        ASKED,
        BOUND,
        place.target,
        Options(**options),
        mechanism="subset-merging",
        encoding="groups",
        engine=place.engine,
    )


def files_there():
    return [name for name in NAMES if Path(name).exists()]


def assert_published(place):
    assert files_there() == list(NAMES)
    assert place.exists()
    found = verify("safe.release.json", published=place.target, engine=place.engine)
    assert found.is_ok, found


def assert_nothing(place):
    assert files_there() == []
    assert not place.exists()


class Fault(Exception):
    """A fault of the machine."""


def failing(monkeypatch, step, error):
    """Let a step fail, before or after it is done."""
    is_after, word = step.startswith("after "), step.removeprefix("after ")

    def around(real, is_meant):
        def call(self, *arguments, **options):
            if not is_meant(self):
                return real(self, *arguments, **options)
            if is_after:
                real(self, *arguments, **options)
            raise error

        return call

    if word == "verify":

        def verify_written(*_, **__):
            raise error

        monkeypatch.setattr(sanitizing, "verify_written", verify_written)
    elif word == "table":
        monkeypatch.setattr(Staged, "commit", around(Staged.commit, lambda _: True))
    else:
        name = f"safe.{word}.json"
        meant = around(Draft.publish, lambda draft: draft.path.name == name)
        monkeypatch.setattr(Draft, "publish", meant)


@pytest.mark.parametrize("error", [Fault, KeyboardInterrupt])
def test_a_step_that_fails_leaves_nothing(place, error):
    # What Spark does is the same for both.
    is_spark = place.engine == "spark"
    for step in place.steps if error is Fault or not is_spark else ("after table",):
        with pytest.MonkeyPatch.context() as patch:
            failing(patch, step, error)
            with pytest.raises(error):
                run(place)
        assert_nothing(place)
        assert place.leftovers() == [], step
    run(place)
    assert_published(place)
    assert place.leftovers() == []


def test_a_step_that_fails_leaves_what_was_replaced(place):
    """Or, where a database cannot bring a table back, nothing: never a table beside old files."""
    run(place)
    for step in place.steps:
        before = [Path(name).read_bytes() for name in NAMES]
        with pytest.MonkeyPatch.context() as patch:
            failing(patch, step, Fault)
            with pytest.raises(Fault):
                run(place, force=True)
        assert place.leftovers() == [], step
        if not place.restores and step in {"after table", "receipt", "after receipt"}:
            assert_nothing(place)
            run(place)
            continue
        assert [Path(name).read_bytes() for name in NAMES] == before, step
        assert_published(place)
    run(place, force=True)
    assert_published(place)


def test_what_fails_its_verification_is_not_published(place, monkeypatch):
    """A writer that loses a row, or writes another value, is found from what it wrote."""
    from lowlift.tables import application

    real = application._write

    def counted_once_more(*arguments):
        written = real(*arguments)
        return [written[0] - 1, written[1] + 1, *written[2:]]

    monkeypatch.setattr(application, "_write", counted_once_more)
    with pytest.raises(ll.InvalidInput, match="read back"):
        run(place)
    assert_nothing(place)
    assert place.leftovers() == []


SCRIPT = """
    import sys, time
    import lowlift as ll
    from lowlift._files import Draft
    from lowlift.tables import Staged
    from lowlift.workflow import Asked, Options, sanitize, sanitizing

    source, target, step = sys.argv[1:]
    is_after, word = step.startswith("after "), step.removeprefix("after ")

    def stopping(real, is_meant):
        def call(self, *arguments, **options):
            if not is_meant(self):
                return real(self, *arguments, **options)
            if is_after:
                real(self, *arguments, **options)
            print("ready", flush=True)
            time.sleep(600)
        return call

    if word == "verify":
        sanitizing.verify_written = stopping(None, lambda _: True)
    elif word == "table":
        Staged.commit = stopping(Staged.commit, lambda _: True)
    else:
        name = f"safe.{word}.json"
        Draft.publish = stopping(Draft.publish, lambda draft: draft.path.name == name)
    sanitize(source, Asked(("disease",), ("ward",)), ll.LIP(0.4), target, Options(force=True),
             mechanism="subset-merging", encoding="groups")
"""


def killed(place, step):
    Path("script.py").write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, "script.py", place.source, place.target, step]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
        finally:
            os.kill(process.pid, signal.SIGKILL)
    Path("script.py").unlink()


@pytest.mark.parametrize(
    "place",
    ["file", *(pytest.param(p, marks=pytest.mark.second_lane) for p in ("database", "postgres"))],
    indirect=True,
)
def test_a_killed_run_is_complete_or_recognised(place):
    """With force on a published table: never a new table that passes for published."""
    run(place)
    old = Path("safe.receipt.json").read_bytes()
    for step in ("verify", "release", "table", "after table", "after receipt"):
        killed(place, step)
        if Path("safe.receipt.json").exists():
            assert (Path("safe.receipt.json").read_bytes() == old) is (step == "verify")
            assert_published(place)
        else:
            assert step in {"release", "table", "after table"}
            if Path("safe.release.json").exists() and place.exists():
                found = verify("safe.release.json", published=place.target)
                assert not found.is_ok
                words = {check.name: check.detail for check in found.checks if not check.is_ok}
                assert "not published" in words["receipt"]
            with pytest.raises(ll.InvalidInput, match="exist"):
                run(place)
        run(place, force=True)
        assert_published(place)
        old = Path("safe.receipt.json").read_bytes()


# --- Spark: what is written is verified in the same session ------------------------------------


@pytest.mark.parametrize("target", ["table:safe", "safe.parquet", "safe.csv"])
def test_a_spark_frame_is_published_and_verified(spark, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    spark.sql("DROP TABLE IF EXISTS safe")
    target = target.replace("safe.", f"{tmp_path}/safe.")
    frame = spark.createDataFrame(rows_of(COUNTS, DISEASES, WARDS), "disease string, ward string")
    made = sanitize(frame, ASKED, BOUND, target, mechanism="subset-merging")
    assert made.verification.is_ok
    found = verify("safe.release.json", against=frame, published=None)
    assert found.is_ok
    assert verify("safe.release.json", published=target, engine="spark").is_ok
    assert files_there() == list(NAMES)
    saved = json.loads(Path("safe.receipt.json").read_text())
    assert saved["rows_out"] == sum(map(sum, COUNTS))
    spark.sql("DROP TABLE IF EXISTS safe")


def warehouse(spark):
    return Path(urlsplit(spark.catalog.getDatabase("default").locationUri).path)


def abandoned(name):
    """Return a temporary table's name as if a process with this number had died since."""
    return re.sub(rf"_{os.getpid()}_\d+_", f"_{os.getpid()}_1_", name)


def test_catalog_tables_of_dead_processes_are_dropped_by_the_next_run(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("safe", "other.safe"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql("CREATE SCHEMA IF NOT EXISTS other")
    home = warehouse(spark)
    live, dead, old = temporary_table(), abandoned(temporary_table()), f"lowlift_old_{16 * 'a'}"
    for name in (live, dead, old, f"other.{dead}"):
        spark.range(3).write.saveAsTable(name)
    forgotten = home / abandoned(temporary_table())
    forgotten.mkdir()
    frame = spark.createDataFrame(rows_of(COUNTS, DISEASES, WARDS), "disease string, ward string")
    sanitize(frame, ASKED, BOUND, "table:safe", mechanism="subset-merging")
    left = {row.tableName for row in spark.sql("SHOW TABLES IN default").collect()}
    assert {live, old, "safe"} <= left
    assert dead not in left
    assert not forgotten.exists()
    assert spark.catalog.tableExists(f"other.{dead}")
    sanitize(frame, ASKED, BOUND, "table:other.safe", mechanism="subset-merging")
    assert not spark.catalog.tableExists(f"other.{dead}")
    for name in (live, old, "safe", "other.safe"):
        spark.sql(f"DROP TABLE {name}")


def test_a_table_that_only_the_warehouse_knows_is_not_overwritten(spark, tmp_path, monkeypatch):
    """A catalog in memory forgets its tables; a second run finds their files."""
    monkeypatch.chdir(tmp_path)
    (warehouse(spark) / "forgotten").mkdir()
    (warehouse(spark) / "forgotten" / "part-0.parquet").write_text("old")
    frame = spark.createDataFrame(rows_of(COUNTS, DISEASES, WARDS), "disease string, ward string")
    for force in (False, True):
        with pytest.raises(ll.InvalidInput, match="that the catalog does not know"):
            sanitize(frame, ASKED, BOUND, "table:forgotten", Options(force=force))
        assert files_there() == []
        assert [path.name for path in (warehouse(spark) / "forgotten").iterdir()] == [
            "part-0.parquet"
        ]
    assert not list(warehouse(spark).glob("lowlift_*"))
    shutil.rmtree(warehouse(spark) / "forgotten")


@pytest.mark.second_lane  # starts a Spark of its own
@pytest.mark.parametrize("target", ["safe.parquet", "table:safe"])
def test_what_a_killed_spark_run_left_is_removed_by_the_next(spark, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    home, pattern = warehouse(spark), "lowlift_*"
    if target == "safe.parquet":
        home, pattern, target = tmp_path, ".safe.parquet.*.part", str(tmp_path / target)
    spark.sql("DROP TABLE IF EXISTS safe")
    source = str(tmp_path / "t.csv")
    Path(source).write_text(
        "disease,ward\n" + "".join(f"{s},{x}\n" for s, x in rows_of(COUNTS, DISEASES, WARDS))
    )
    script = textwrap.dedent(SCRIPT).replace(
        "Options(force=True),", 'Options(force=True), engine="spark",'
    )
    Path("script.py").write_text(script)
    command = [sys.executable, "script.py", source, target, "verify"]
    settings = f"--conf spark.sql.warehouse.dir={warehouse(spark)} pyspark-shell"
    environment = os.environ | SHORT_JOBS | {"PYSPARK_SUBMIT_ARGS": settings}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout.readline() == "ready\n"
        finally:
            os.kill(process.pid, signal.SIGKILL)
    assert not Path(target).exists()
    assert len(list(home.glob(pattern))) == 1
    made = sanitize(source, ASKED, BOUND, target, mechanism="subset-merging", engine="spark")
    assert made.verification.is_ok
    assert not list(home.glob(pattern))
    spark.sql("DROP TABLE IF EXISTS safe")


@pytest.mark.second_lane  # starts a Spark of its own
def test_the_documented_spark_command(tmp_path):
    """In a process of its own, with a Spark of its own, whose temporary files nobody else reads."""
    ll.datasets.write_titanic(tmp_path / "titanic.csv")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o755)
    words = (
        "sanitize titanic.csv --engine spark -s survived -x class -x sex "
        "--criterion ldp --epsilon 1 --mechanism subset-merging -o table:t"
    )
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_DIRS"}
    seen, modes = set(), set()
    with subprocess.Popen(
        [sys.executable, "-c", "from lowlift._cli import main; main()", *words.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | SHORT_JOBS | {"TMPDIR": str(scratch)},
    ) as running:
        deadline = time.monotonic() + 240
        while running.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):  # it is removed while we look
                modes |= {oct(path.stat().st_mode & 0o777) for path in scratch.iterdir()}
                seen |= {path.name.partition("-")[0] for path in scratch.glob("*/*")}
            time.sleep(0.02)
        running.kill()  # if it has not ended
        out, err = running.communicate()
    assert running.returncode == 0, err
    assert "Verified." in out
    assert {"t.release.json", "t.codebook.json", "t.receipt.json"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert list((tmp_path / "spark-warehouse" / "t").glob("*.parquet"))
    assert modes == {"0o700"}
    assert "blockmgr" in seen
    assert list(scratch.iterdir()) == []
