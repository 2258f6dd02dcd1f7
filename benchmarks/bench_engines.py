"""The table path: rows a second, against the engine's own GROUP BY and copy of the same rows."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import inputs
import pytest
from contest import Contender, Job

import lowlift as ll
from lowlift.tables import open_table
from lowlift.workflow import Asked, Options, apply, design

GROUP = "Tables in engines"
BOUND = ll.ALIP(0.05, 0.05)
ASKED = Asked(("s",), ("x",))
KEY = bytes(range(32))


def rate(rows: int) -> Callable[[Any], float]:
    return lambda _: float(rows)


def job_of(name: str, rows: int, engine: str) -> Job:
    data = f"{engine}, {rows:,} rows, |X| = 17, |S| = 5"
    # The server of PostgreSQL is no process of ours.
    return Job(GROUP, name, data, "rows", better="same", is_here=engine != "PostgreSQL")


@pytest.mark.sizes(tiny=[5000], quick=[2_000_000], full=[10_000_000])
def bench_count(contest: Any, folder: Path, size: int) -> None:
    source = folder / "in.parquet"
    inputs.write_rows(source, size)
    query = f"SELECT s, x, count(*) FROM '{source}' GROUP BY ALL"  # noqa: S608
    with open_table(str(source)) as table:
        columns = [table.column("s"), table.column("x")]
        ours = Contender("lowlift count", lambda: table.count(columns), rate(size))
        bare = Contender(
            "bare GROUP BY",
            lambda: duckdb.execute(query).fetchall(),
            rate(size),
            "no check of rows",
        )
        contest(job_of("count S by X", size, "DuckDB"), ours, [bare])


@pytest.mark.sizes(tiny=[5000], quick=[2_000_000], full=[10_000_000])
@pytest.mark.parametrize("kind", ["fresh", "keyed", "keyed by texts"])
def bench_apply(contest: Any, folder: Path, size: int, kind: str) -> None:
    source, target = folder / "in.parquet", folder / "safe.parquet"
    inputs.write_rows(source, size)
    if kind == "keyed by texts":
        given, source = source, folder / "texts.parquet"
        ids = "printf('%012x', id * 2654435761) AS id"
        duckdb.sql(f"COPY (SELECT s, x, {ids} FROM '{given}') TO '{source}' (FORMAT parquet)")  # noqa: S608
    release = design(str(source), ASKED, BOUND).release
    columns = "x" if kind == "fresh" else "x, id"
    options = Options(force=True) if kind == "fresh" else Options(force=True, id="id", key=KEY)
    query = (
        f"COPY (SELECT {columns} FROM '{source}') "  # noqa: S608
        f"TO '{folder}/copy.parquet' (FORMAT parquet)"
    )
    ours = Contender(
        f"lowlift apply, {kind} draws",
        partial(apply, str(source), release, str(target), options),
        rate(size),
        "Parquet to Parquet",
        lambda receipt: f"NMI {receipt.nmi:.4f}, {receipt.share_changed:.1%} of rows changed",
    )
    copy = Contender(f"plain copy of {columns}", lambda: duckdb.sql(query), rate(size))
    contest(job_of(f"publish, {kind} draws", size, "DuckDB"), ours, [copy], rounds=5)


def both_draws(
    contest: Any,
    engine: str,
    rows: int,
    copy: Callable[[], object],
    source: str,
    target: str,
    digests: Callable[[], object],
) -> None:
    """Publish by fresh and by keyed draws against the engine's copy of the column.

    `digests` takes a SHA-256 of each id, which any keyed draw begins with.
    """
    name = "spark" if engine == "Spark" else None
    release = design(source, ASKED, BOUND, engine=name).release

    def publish(options: Options) -> object:
        return apply(source, release, target, options, engine=name)

    ours = Contender(
        "lowlift apply, fresh draws", partial(publish, Options(force=True)), rate(rows)
    )
    others = [
        Contender(
            "lowlift apply, keyed draws",
            partial(publish, Options(force=True, id="id", key=KEY)),
            rate(rows),
        ),
        Contender("plain copy of x", copy, rate(rows)),
        Contender("SHA-256 of each id", digests, rate(rows), "by the engine, and nothing else"),
    ]
    contest(job_of("publish", rows, engine), ours, others, rounds=3)


@pytest.mark.engines
@pytest.mark.sizes(tiny=[], quick=[], full=[2_000_000])
def bench_postgres(contest: Any, folder: Path, size: int) -> None:
    url = os.environ.get("LOWLIFT_POSTGRES", "")
    if not url:
        pytest.skip("PostgreSQL: LOWLIFT_POSTGRES=postgresql://host/db is not set")
    import psycopg

    drop = "DROP TABLE IF EXISTS bench_in, bench_copy, bench_safe"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(drop)
        connection.execute(
            "CREATE TABLE bench_in AS SELECT i AS id, 'x' || (i % 17) AS x, "
            "'s' || ((i % 17 + i % 7) % 5) AS s FROM generate_series(1, 2000000) i"
        )

        def copy() -> None:
            connection.execute("DROP TABLE IF EXISTS bench_copy")
            connection.execute("CREATE TABLE bench_copy AS SELECT x FROM bench_in")

        names = (f"{url}?table=bench_in", f"{url}?table=bench_safe")
        message = "(%s || length(id::text) || ':' || id::text)::bytea"
        query = f"SELECT sum(get_byte(sha256({message}), 0)) FROM bench_in"  # noqa: S608

        def digests() -> None:
            connection.execute(query, [KEY.hex()])

        here = Path.cwd()
        try:
            # The receipt of a table without a folder is written where we stand.
            os.chdir(folder)
            both_draws(contest, "PostgreSQL", size, copy, *names, digests)
        finally:
            os.chdir(here)
            connection.execute(drop)


@pytest.mark.engines
@pytest.mark.sizes(tiny=[], quick=[], full=[2_000_000])
def bench_spark(contest: Any, folder: Path, size: int) -> None:
    from pyspark.sql import SparkSession

    source = folder / "in.parquet"
    inputs.write_rows(source, size)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    frame = session.read.parquet(str(source)).select("x")

    def copy() -> None:
        frame.write.mode("overwrite").parquet(str(folder / "copy"))

    ids = session.read.parquet(str(source)).selectExpr("cast(id AS string) AS t")
    text = f"concat('{KEY.hex()}', octet_length(t), ':', t)"

    def digests() -> None:
        ids.selectExpr(f"max(conv(substr(sha2({text}, 256), 1, 15), 16, 10))").collect()

    names = str(source), str(folder / "safe.parquet")
    both_draws(contest, "Spark", size, copy, *names, digests)
    session.stop()


LARGE = """
import resource, sys, lowlift as ll
from lowlift.workflow import Asked, apply, design
made = design(sys.argv[1], Asked(("s",), ("x",)), ll.ALIP(0.05, 0.05))
apply(sys.argv[1], made.release, sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.engines
@pytest.mark.sizes(tiny=[], quick=[], full=[100_000_000])
def bench_design_and_apply(contest: Any, folder: Path, size: int) -> None:
    source = folder / "in.parquet"
    inputs.write_rows(source, size)

    def run() -> str:
        target = folder / f"safe-{len(list(folder.iterdir()))}.parquet"
        command = [sys.executable, "-c", LARGE, str(source), str(target)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    ours = Contender(
        "lowlift design and apply",
        run,
        rate(size),
        "a process of its own, its start included",
        lambda words: f"peak memory {float(words):.2f} GiB",
    )
    contest(job_of("design and publish", size, "DuckDB"), ours, rounds=1)
