"""Real engines for the tests: DuckDB in process, a throw-away PostgreSQL, a local Spark."""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pytest

from needs import SHORT_JOBS, without

BINARIES = ["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"]
#: SQL types by engine; a table is given as texts, which the engine casts.
TYPES = {
    "text": ("VARCHAR", "text"),
    "integer": ("BIGINT", "bigint"),
    "real": ("DOUBLE", "double precision"),
    "decimal": ("DECIMAL(10, 2)", "numeric(10, 2)"),
    "boolean": ("BOOLEAN", "boolean"),
    "date": ("DATE", "date"),
    "uuid": ("UUID", "uuid"),
    "timestamp": ("TIMESTAMP", "timestamp"),
}


def quoted(name, mark='"'):
    return mark + name.replace(mark, 2 * mark) + mark


def texts(values):
    return [None if value is None else str(value) for value in values]


class DuckDBStore:
    """Parquet files."""

    name = "duckdb"
    engine = None

    def __init__(self, folder):
        self.folder = folder
        self.made = 0

    def place(self, suffix):
        self.made += 1
        return str(self.folder / f"{self.name}{self.made}{suffix}")

    def put(self, columns, uuid="UUID"):
        """Write a table of {name: (kind, values)}; return what open_table takes."""
        path = self.place(".parquet")
        frame = pa.table(
            {f"c{k}": pa.array(texts(v), pa.string()) for k, (_, v) in enumerate(columns.values())}
        )
        casts = ", ".join(
            f"c{k}::{uuid if kind == 'uuid' else TYPES[kind][0]} AS {quoted(name)}"
            for k, (name, (kind, _)) in enumerate(columns.items())
        )
        with duckdb.connect() as connection:
            connection.register("frame", frame)
            connection.execute(f"COPY (SELECT {casts} FROM frame) TO '{path}' (FORMAT parquet)")
        return path

    def target(self):
        return self.place(".parquet")

    def read(self, target):
        """Return the rows of a written target as tuples."""
        with duckdb.connect() as connection:
            return connection.execute("SELECT * FROM read_parquet($1)", [target]).fetchall()

    def exists(self, target):
        return Path(target).exists()


class SparkStore(DuckDBStore):
    """Parquet files that Spark reads, folders that it writes."""

    name = "spark"
    engine = "spark"

    def put(self, columns, uuid="VARCHAR"):
        return super().put(columns, uuid)

    def read(self, target):
        return super().read(f"{target}/*.parquet")


class PostgresStore:
    """Tables in a database."""

    name = "postgres"
    engine = "postgres"

    def __init__(self, server):
        self.server = server

    def target(self):
        return f"{self.server}&table={quote(f'made {secrets.token_hex(4)}')}"

    def put(self, columns, name=None):
        import psycopg

        table = quoted(name or f"given {secrets.token_hex(4)}")
        types = ", ".join(f"{quoted(n)} {TYPES[kind][1]}" for n, (kind, _) in columns.items())
        with psycopg.connect(self.server) as connection:
            connection.execute(f"CREATE TABLE {table} ({types})")
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in zip(*(texts(values) for _, values in columns.values()), strict=True):
                    copy.write_row(row)
        return f"{self.server}&table={quote(table)}"

    def read(self, target):
        import psycopg

        from lowlift.tables.sources import parse_postgres

        table = quoted(parse_postgres(target).name[-1])
        with psycopg.connect(self.server) as connection:
            return connection.execute(f"SELECT * FROM {table}").fetchall()

    def exists(self, target):
        import psycopg

        from lowlift.tables.sources import parse_postgres

        query = "SELECT 1 FROM pg_class WHERE relname = %s"
        with psycopg.connect(self.server) as connection:
            name = parse_postgres(target).name[-1]
            return bool(connection.execute(query, [name]).fetchall())


def binaries():
    for pattern in BINARIES:
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True):
            if (folder / "initdb").exists():
                return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a cluster that only these tests use, on a socket in a private folder."""
    found = binaries()
    if found is None:
        without("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    if importlib.util.find_spec("psycopg") is None:
        without("psycopg is not installed (pip install 'lowlift[postgres]')")
    folder = Path(tempfile.mkdtemp(prefix="lowlift-pg-", dir="/tmp"))
    # The server ends with the tests, even when they are killed.
    user = ["setpriv", "--pdeathsig", "INT"]
    if os.geteuid() == 0:  # the server refuses to run as root
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        user += ["--reuid", str(owner.pw_uid), "--regid", str(owner.pw_gid), "--clear-groups"]
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": folder,
        "fsync": "off",
        "full_page_writes": "off",
        "shared_buffers": "64MB",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    trust = ["-A", "trust", "-U", "lowlift", "-E", "UTF8", "--no-locale", "--no-sync"]
    with (folder / "log").open("wb") as log:
        quiet = {"stdout": log, "stderr": log, "cwd": folder}
        data = ["-D", folder / "data"]
        subprocess.run([*user, found / "initdb", *data, *trust], check=True, **quiet)
        server = subprocess.Popen([*user, found / "postgres", *data, *options], **quiet)
    try:
        ready = [found / "pg_isready", "-q", "-h", folder, "-U", "lowlift"]
        for _ in range(300):
            if subprocess.run(ready, check=False).returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql://lowlift@/postgres?host={quote(str(folder), safe='')}"
    finally:
        server.send_signal(signal.SIGQUIT)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A local Spark session of two threads."""
    if shutil.which("java") is None:
        without("Java is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        without("PySpark is not installed (pip install 'lowlift[spark]')")
    folder = tmp_path_factory.mktemp("warehouse")
    builder = SparkSession.builder.master("local[2]").appName("lowlift tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder),
        "spark.local.dir": str(folder),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": SHORT_JOBS["JAVA_TOOL_OPTIONS"],
    }.items():
        builder = builder.config(key, value)
    # Python's workers must run this Python; "python3" may be another.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def stores(request, tmp_path):
    """Engines by name, for tests from one to another."""

    def opened(name):
        if name == "duckdb":
            return DuckDBStore(tmp_path)
        if name == "postgres":
            return PostgresStore(request.getfixturevalue("postgres"))
        request.getfixturevalue("spark")
        return SparkStore(tmp_path)

    return opened


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def store(request, stores):
    """An engine to put a table into, and to read what was written."""
    return stores(request.param)


@pytest.fixture
def files(tmp_path):
    """Parquet files, for what does not depend on the engine."""
    return DuckDBStore(tmp_path)


def pytest_collection_modifyitems(items):
    """Run what needs Spark in one worker, which starts it once.

    PySpark leaves the loopback sockets of its answers to the garbage collector.
    """
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "spark" in item.fixturenames or any(
            "spark" in str(part) for part in parameters.values()
        ):
            item.add_marker(pytest.mark.xdist_group("spark"))
        for kind in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            item.add_marker(
                pytest.mark.filterwarnings(rf"ignore:(?s).*<socket\.socket.*127\.0\.0\.1:{kind}")
            )
