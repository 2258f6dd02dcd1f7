"""What an engine may reach, what SQL may hold, and what errors may tell."""

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pytest

from lowlift import Channel, InvalidInput
from lowlift.tables import (
    Column,
    Draw,
    Each,
    Edges,
    Output,
    OutputColumn,
    Width,
    open_table,
    queries,
)
from lowlift.tables.alias import key_text
from lowlift.tables.dialects import DUCKDB, POSTGRES, SPARK
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.row_plans import RowPlan, in_order
from needs import SHORT_JOBS, without

SUBKEY = bytes(range(32))


@pytest.fixture
def sandbox(tmp_path):
    (tmp_path / "given.csv").write_text("a\n1\n")
    (tmp_path / "other.csv").write_text("a\nSECRET123\n")
    made = Sandbox([tmp_path / "given.csv"], "given.csv")
    yield made
    made.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{folder}/other.csv')",
        "SELECT * FROM '{folder}/other.csv'",
        "SELECT * FROM read_text('{folder}/other.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_csv('{private}/../other.csv')",
        "SELECT * FROM read_csv('{private}/sneaky.csv')",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "ATTACH '{folder}/x.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM 'https://example.org/a.parquet'",
        "SELECT * FROM read_parquet('s3://bucket/a.parquet')",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{folder}/other.csv']",
        "SET memory_limit = '9GB'",
        "SET autoload_known_extensions = true",
        "CREATE PERSISTENT SECRET s (TYPE s3)",
        "SELECT * FROM variable_of_the_caller",
    ],
)
def test_duckdb_reaches_nothing_but_the_given_files(sandbox, tmp_path, statement):
    variable_of_the_caller = duckdb.sql("SELECT 1")
    (sandbox.folder / "sneaky.csv").symlink_to(tmp_path / "other.csv")
    with pytest.raises(InvalidInput) as caught:
        sandbox.run(statement.format(folder=tmp_path, private=sandbox.folder))
    assert "SECRET" not in str(caught.value)
    assert not (tmp_path / "written.csv").exists()
    assert variable_of_the_caller is not None
    link = sandbox.link(tmp_path / "given.csv", "in.csv")
    assert sandbox.run(f"SELECT * FROM read_csv('{link}')") == [(1,)]


def test_settings_of_every_connection(files, monkeypatch):
    settings = {
        "enable_external_access": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "lock_configuration": True,
        "python_enable_replacements": False,
        "memory_limit": "953.6 MiB",
    }
    source = files.put({"a": ("text", ["x"])})
    with open_table(source) as table:
        found = {
            name: table._engine.sandbox.run(f"SELECT current_setting('{name}')")[0][0]
            for name in settings
        }
        assert found == settings
    monkeypatch.setenv("LOWLIFT_MEMORY", "2GB")
    with open_table(source) as table:
        assert table._engine.sandbox.run("SELECT current_setting('memory_limit')") == [("1.8 GiB",)]
    monkeypatch.setenv("LOWLIFT_MEMORY", "lots")
    with pytest.raises(InvalidInput, match="LOWLIFT_MEMORY"):
        open_table(source)


def test_a_view_cannot_reach_other_files(tmp_path):
    (tmp_path / "other.csv").write_text("a\nSECRET123\n")
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with pytest.raises(InvalidInput, match="must not reach for other files"):
        open_table(f"{path}?table=v")


def test_a_file_name_is_no_sql(tmp_path):
    (tmp_path / "other.csv").write_text("a\nSECRET123\n")
    name = "x'), (SELECT * FROM read_csv('other.csv')) -- .csv"
    (tmp_path / name).write_text("a\nmine\n")
    with open_table(tmp_path / name) as table:
        assert table.count([table.column("a")]).symbols == [("mine",)]


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=lambda dialect: dialect.name)
def test_sql_has_quoted_names_and_bound_values(dialect):
    name = 'x"`; drop table t; --'
    mark = "`" if dialect is SPARK else '"'
    quoted = mark + name.replace(mark, 2 * mark) + mark
    table = queries.named(name)
    columns = [
        Column(name, "text"),
        Column("n", "integer", Width(10)),
        Column("r", "real", Edges((0.1,))),
    ]
    plan = RowPlan(tuple(columns), {}, (4, 48), "key", "null", name, (name,), "shuffled")
    texts = [
        dialect.sql(plan.symbols(table, dialect)),
        dialect.sql(queries.count(columns, table, dialect, 10)),
    ]
    if dialect is not POSTGRES:  # which draws nothing
        query = plan.query(table, table, dialect, queries.bound("key"))
        texts.append(dialect.sql(in_order(query, 1)))
        assert texts[-1].count({"duckdb": "$key", "spark": ":key"}[dialect.name]) == 1
    for text in texts:
        assert text.count(quoted) == text.count("drop table") > 0


def shapes_of(secret):
    """Return a secret as a log or plan could show it."""
    digits = key_text(secret)
    plain = base64.b64encode(secret).decode().rstrip("=")
    return [
        digits,
        digits.upper(),
        plain[:24],
        base64.b64encode(digits.encode()).decode()[:48],
        digits.encode().hex(),
        secret.decode("latin-1"),
        "".join(f"\\x{octet:02x}" for octet in secret[:8]),
        "".join(f"\\{octet:03o}" for octet in secret[:8]),
    ]


#: No byte of it is a digit or a letter that a log has anyway.
SECRET = bytes(range(0xC0, 0xE0))


@pytest.mark.parametrize("is_keyed", [True, False], ids=["keyed", "fresh"])
def test_no_key_reaches_the_log_of_postgres(postgres, monkeypatch, tmp_path, is_keyed):
    import psycopg

    monkeypatch.setattr("lowlift.tables.application.one_time_key", lambda _: SECRET)
    name = f"secretive_{is_keyed}".lower()
    logged = (
        "-clog_statement=all -clog_min_duration_statement=0 -clog_parameter_max_length=-1 "
        "-clog_parameter_max_length_on_error=-1 -clog_duration=on -clog_statement_stats=on"
    )
    monkeypatch.setenv("PGOPTIONS", logged)
    seen = set()
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} AS SELECT 'a' x, n FROM generate_series(1, 99) n")

        def look(*_):
            rows = connection.execute("SELECT * FROM pg_stat_activity")
            seen.update(str(row) for row in rows)

        with open_table(f"{postgres}&table={name}") as table:
            keyed = {"id": "n", "subkey": SECRET} if is_keyed else {}
            draw = Draw((table.column("x"),), Channel([[1, 1]]), ("a",), **keyed)
            column = OutputColumn("y", "text", ("u", "v"))
            for keep in ((), ("n",)):
                for target in (
                    f"{postgres}&table={name}_{len(keep)}",
                    f"{tmp_path}/{len(keep)}.csv",
                ):
                    table.apply(draw, Output(target, (column,), keep=keep), progress=look)
    log = (Path(unquote(postgres.partition("host=")[2])) / "log").read_text("latin-1")
    assert f'FROM "public"."{name}"' in log  # statements are logged
    assert "application_name" in log or seen
    for shape in shapes_of(SECRET):
        assert shape not in log
        assert not any(shape in row for row in seen)


@pytest.mark.parametrize("is_keyed", [True, False], ids=["keyed", "fresh"])
def test_no_key_reaches_a_log_a_plan_or_an_error_of_duckdb(files, monkeypatch, tmp_path, is_keyed):
    """Every statement is logged, each draw is explained, and then fails."""
    monkeypatch.setattr("lowlift.tables.application.one_time_key", lambda _: SECRET)
    real_connect, real_run = duckdb.connect, Sandbox.run
    connections, seen = [], []

    def connect(*given, **settings):
        connection = real_connect(*given, **settings)
        connection.execute("CALL enable_logging(level = 'trace')")
        connection.execute(f"SET log_query_path = '{tmp_path}/queries-{len(connections)}.log'")
        connections.append(connection)
        return connection

    def run(self, query, values=None):
        found = real_run(self, query, values)
        text = query if isinstance(query, str) else DUCKDB.sql(query)
        if values and "sha256" in text.lower():
            plans = self.connection.execute(
                f"EXPLAIN (FORMAT json) {text}", dict(values)
            ).fetchall()
            logged = self.connection.execute("SELECT type, message FROM duckdb_logs").fetchall()
            seen.extend((str(plans), str(logged)))
            # DuckDB's message of this error is the text that would have been hashed.
            with pytest.raises(InvalidInput) as caught:
                real_run(self, re.sub("sha256", "error", text, flags=re.IGNORECASE), values)
            seen.append(f"{caught.value} {caught.value.__cause__} {caught.value.__context__}")
        return found

    source = files.put({"x": ("text", ["a"] * 99), "n": ("integer", range(99))})
    monkeypatch.setattr(duckdb, "connect", connect)
    monkeypatch.setattr(Sandbox, "run", run)
    with open_table(source) as table:
        keyed = {"id": "n", "subkey": SECRET} if is_keyed else {}
        draw = Draw((table.column("x"),), Channel([[1, 1]]), ("a",), **keyed)
        column = OutputColumn("y", "text", ("u", "v"))
        for keep in ((), ("n",)):
            output = Output(f"{tmp_path}/{len(keep)}.csv", (column,), keep=keep)
            table.apply(draw, output)
    logs = [path.read_text() for path in tmp_path.glob("queries-*.log")]
    assert any("sha256" in text.lower() for text in logs)
    assert len(seen) == (6 if is_keyed else 3)
    for text in (*logs, *seen):
        for shape in shapes_of(SECRET):
            assert shape not in text


class Stopped(BaseException):
    """What a handler of SIGTERM raises."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_signal_stops_a_query_with_the_exception_of_its_handler(sandbox, number):
    def stop(*_):
        raise Stopped

    before = signal.signal(number, stop)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), number))
    try:
        timer.start()
        with pytest.raises(Stopped):
            # Hours, were it not stopped.
            sandbox.run("SELECT count(*) FROM range(1000000000000) t(n) WHERE hash(n) = 1")
    finally:
        timer.join()
        signal.signal(number, before)
    assert sandbox.run("SELECT 1") == [(1,)]


#: A signal's exception while the folder is made; a child that ends before its parent.
FOLDERS = {
    "stopped": """
import fcntl, os, tempfile
from lowlift.tables.engines.private import PrivateFolder
def stop(*_):
    assert len(os.listdir(tempfile.gettempdir())) == 1
    raise KeyboardInterrupt
fcntl.flock = stop
try:
    PrivateFolder()
except KeyboardInterrupt:
    print("stopped")
""",
    "forked": """
import os, sys
from lowlift.tables.engines.private import PrivateFolder
folder = PrivateFolder()
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
print("kept" if folder.path.is_dir() else "lost")
""",
}


@pytest.mark.parametrize(("case", "said"), [("stopped", "stopped"), ("forked", "kept")])
def test_a_private_folder_ends_with_its_process_whatever_stops_it(tmp_path, case, said):
    done = subprocess.run(
        [sys.executable, "-c", FOLDERS[case]],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.stdout == f"{said}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.second_lane  # starts a Spark of its own
def test_a_spark_of_its_own_is_private_and_logs_no_key(tmp_path):
    """A process of its own: Java keeps the folder of its first session.

    The folder for temporary files is given here; test_the_documented_spark_command has the default.
    A session's event log is opened when it starts: the last session is the user's, with a log.
    """
    if shutil.which("java") is None:
        without("Java is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    place = tmp_path / "temporary"
    place.mkdir()
    place.chmod(0o755)
    (tmp_path / "log").mkdir()
    (tmp_path / "t.csv").write_text("x,n\n" + "".join(f"a,{n}\n" for n in range(99)))
    script = f"""
from pathlib import Path
from lowlift import Channel
from lowlift.tables import Draw, Output, OutputColumn, open_table
for time in range(2):
    with open_table("{tmp_path}/t.csv", "spark") as table:
        table.count([table.column("x")])
        found = [path for path in Path("{place}").rglob("blockmgr-*")]
        print(len(found), *(oct(path.stat().st_mode & 0o777) for path in Path("{place}").iterdir()))
import os, sys
from pyspark.sql import SparkSession
os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[1]")
settings = {{"spark.eventLog.enabled": "true", "spark.eventLog.dir": "file:{tmp_path}/log",
    "spark.eventLog.logStageExecutorMetrics": "true", "spark.ui.enabled": "false",
    "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
    "spark.sql.debug.maxToStringFields": "10000", "spark.sql.maxPlanStringLength": "1000000",
    "spark.sql.shuffle.partitions": "1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1"}}
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
with open_table(session.read.csv("{tmp_path}/t.csv", header=True)) as table:
    draw = Draw((table.column("x"),), Channel([[1, 1]]), ("a",), id="n", subkey={SECRET!r})
    column = OutputColumn("y", "text", ("u", "v"))
    for keep in ((), ("n",)):
        table.apply(draw, Output(f"{tmp_path}/{{len(keep)}}.parquet", (column,), keep=keep))
session.stop()
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        timeout=300,
        text=True,
        env=os.environ | SHORT_JOBS | {"SPARK_LOCAL_DIRS": str(place)},
    )
    for line in done.stdout.splitlines():
        managers, *modes = line.split()
        assert int(managers) >= 1
        assert set(modes) == {"0o700"}
    assert len(done.stdout.splitlines()) == 2
    assert list(place.iterdir()) == []
    (log,) = (tmp_path / "log").iterdir()
    text = log.read_text("latin-1")
    assert "sha2(" in text  # the plan of the draw is in the log
    for shape in shapes_of(SECRET):
        assert shape not in text


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_no_value_is_in_any_error(store, kind):
    secret = "SECRET123" if kind == "text" else 987654321
    other = "SECRET456" if kind == "text" else 987654322
    bins = None if kind == "text" else Each()
    source = store.put(
        {"x": (kind, [secret, secret, other, None]), "i": (kind, [secret, secret, other, None])}
    )
    messages = []

    def refused(call, *args, **options):
        with pytest.raises(InvalidInput) as caught:
            call(*args, **options)
        messages.append(str(caught.value))

    with open_table(source, store.engine) as table:
        column = table.column("x", bins)
        refused(table.column, "xx")
        refused(table.count, [column], most=1)
        refused(table.count, [column], missing="error")
        made = OutputColumn("y", "text", ("u",))
        symbol = "other" if kind == "text" else 1
        for keep in ((), ("i",)):
            output = Output(store.target(), (made,), keep=keep)
            refused(table.apply, Draw((column,), Channel([[1]]), (symbol,)), output)
            keyed = {"id": "i", "subkey": SUBKEY, "unseen": "suppress"}
            refused(table.apply, Draw((column,), Channel([[1]]), (symbol,), **keyed), output)
    assert len(messages) == 7
    for message in messages:
        assert "\n" not in message
        for part in ("SECRET", "987654", SUBKEY.hex()[:8]):
            assert part not in message


def test_a_wrong_type_late_in_a_large_file_tells_the_line_only(tmp_path):
    path = tmp_path / "late.csv"
    with path.open("w") as file:
        file.write("n,x\n")
        file.writelines(f"{k},a\n" for k in range(1_100_000))
        file.write("SECRET123,a\n")
    with open_table(path) as table:
        assert table.kinds["n"] == "integer"
        with pytest.raises(InvalidInput, match="column 'n'; line 1100002 is no BIGINT") as caught:
            table.count([table.column("n", Width(10))])
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_too_little_memory_is_an_error_not_a_crash(files, monkeypatch):
    source = files.put({"n": ("integer", range(1_000_000))})
    monkeypatch.setenv("LOWLIFT_MEMORY", "20MB")
    with pytest.raises(InvalidInput, match=r"memory|combinations"), open_table(source) as table:
        table.count([table.column("n", Each())], most=100_000)


def test_importing_tables_loads_no_engine():
    script = "import sys, lowlift.tables; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert not loaded & {"duckdb", "sqlglot", "psycopg", "pyspark", "pandas", "polars", "pyarrow"}


@pytest.mark.parametrize(("module", "source", "engine", "extra"), [
    ("psycopg", "postgresql://h/db?table=t", None, "postgres"),
    ("pyspark", "t", "spark", "spark"),
])  # fmt: skip
def test_a_missing_package_has_its_pip_line(module, source, engine, extra):
    script = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from lowlift import MissingExtra; from lowlift.tables import open_table\n"
        f"try: open_table({source!r}, {engine!r})\n"
        "except MissingExtra as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert f"pip install 'lowlift[{extra}]'" in run.stdout, run.stderr
