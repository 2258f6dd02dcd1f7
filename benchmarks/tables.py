"""Benchmarks of the table path: rows a second, and ratios to the engine's own copy in one run.

Usage: python benchmarks/tables.py [--engines] [--large]
    --engines adds PostgreSQL (LOWLIFT_POSTGRES=postgresql://host/db) and Spark at 2 million rows,
    --large adds 100 million rows through DuckDB with its peak memory.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import pandas as pd

import lowlift as ll
from lowlift.tables import open_table
from lowlift.workflow import Asked, Options, apply, audit_table, design

T = TypeVar("T")
BOUND = ll.ALIP(0.05, 0.05)
ASKED = Asked(("s",), ("x",))


def timed(work: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Return the least of a few wall-clock times, and the last result."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def make(path: Path, rows: int) -> None:
    """Write rows of an id, X with 17 values and S with 5 that depends on it."""
    duckdb.sql(
        f"""COPY (SELECT i AS id, 'x' || (hash(i) % 17) AS x,
                  's' || ((hash(i) % 17 + hash(i + {rows}) % 7) % 5) AS s
            FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"""  # noqa: S608
    )


def duckdb_10m(folder: Path) -> None:
    rows, source = 10_000_000, folder / "in.parquet"
    make(source, rows)
    release = design(str(source), ASKED, BOUND).release
    key = os.urandom(32)

    def copy(columns: str) -> None:
        query = f"COPY (SELECT {columns} FROM '{source}') TO '{folder}/copy.parquet'"  # noqa: S608
        duckdb.sql(f"{query} (FORMAT parquet)")

    def publish(options: Options) -> Any:
        return apply(str(source), release, str(folder / "safe.parquet"), options)

    table = open_table(str(source))
    columns = [table.column("s"), table.column("x")]

    query = f"SELECT s, x, count(*) FROM '{source}' GROUP BY ALL"  # noqa: S608
    bare, _ = timed(lambda: duckdb.execute(query).fetchall())
    counted, _ = timed(lambda: table.count(columns))
    table.close()
    copied, _ = timed(lambda: copy("x"))
    copied_id, _ = timed(lambda: copy("x, id"))
    fresh, receipt = timed(lambda: publish(Options(force=True)))
    keyed, _ = timed(lambda: publish(Options(force=True, id="id", key=key)))
    row("what, 10 million rows, DuckDB", "seconds", "rows/s", "ratio", "to")
    row("---", "---", "---", "---", "---")
    row("count S by X", f"{counted:.3f}", f"{rows / counted:,.0f}", f"{counted / bare:.2f}",
        f"bare GROUP BY, {bare:.3f} s")  # fmt: skip
    row("apply, fresh draws", f"{fresh:.2f}", f"{rows / fresh:,.0f}", f"{fresh / copied:.1f}",
        f"copy of x, {copied:.2f} s")  # fmt: skip
    row("apply, keyed draws", f"{keyed:.2f}", f"{rows / keyed:,.0f}", f"{keyed / copied_id:.1f}",
        f"copy of x and id, {copied_id:.2f} s")  # fmt: skip
    print(f"\nNMI {receipt.nmi:.4f}, rows changed {receipt.share_changed:.1%}\n")


def duckdb_100m(folder: Path) -> None:
    rows, source = 100_000_000, folder / "in.parquet"
    make(source, rows)
    code = (
        "import resource, sys, lowlift as ll\n"
        "from lowlift.workflow import *\n"
        "asked, bound = Asked(('s',), ('x',)), ll.ALIP(0.05, 0.05)\n"
        "made = design(sys.argv[1], asked, bound)\n"
        "print(apply(sys.argv[1], made.release, sys.argv[2]).seconds)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)\n"
    )
    command = [sys.executable, "-c", code, str(source), str(folder / "safe.parquet")]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    seconds, memory = map(float, words)
    row("apply, 100 million rows", f"{seconds:.1f} s", f"{rows / seconds:,.0f} rows/s",
        f"peak {memory:.2f} GiB")  # fmt: skip


def audit_5000_classes(folder: Path) -> None:
    """Audit a table with 5,000 classes: ours from the file, pycanon's from the same rows."""
    from pycanon import anonymity

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.integers(0, 5000, 100_000).astype(str), "s": rng.integers(0, 4, 100_000)}
    )
    frame["s"] = frame["s"].map(lambda k: f"s{k}")
    source = folder / "classes.parquet"
    duckdb.from_df(frame).to_parquet(str(source))
    ours, found = timed(lambda: audit_table(str(source), ASKED, BOUND))
    theirs, delta = timed(lambda: anonymity.delta_disclosure(frame, ["x"], ["s"]), 1)
    row("audit, 100,000 rows, 5,000 classes", "seconds", "largest |log lift|")
    row("---", "---", "---")
    finite = found.audit.lift[found.audit.lift > 0]
    row("lowlift", f"{ours:.2f}", f"{np.abs(np.log(finite)).max():.6f} (zero lifts aside)")
    row("pycanon delta_disclosure", f"{theirs:.2f}", f"{delta:.6f}")
    print(f"\n{theirs / ours:.0f} times as fast\n")


def start_up() -> None:
    def helped() -> None:
        command = [sys.executable, "-m", "lowlift.cli", "--help"]
        subprocess.run(command, capture_output=True, check=True)

    seconds, _ = timed(helped, 5)
    print(f"`lowlift --help`: {seconds:.2f} s\n")


def postgres_2m(url: str) -> None:
    import psycopg

    rows = 2_000_000
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("bench_in", "bench_copy", "bench_safe"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(
            "CREATE TABLE bench_in AS SELECT i AS id, 'x' || (i % 17) AS x, "
            "'s' || ((i % 17 + i % 7) % 5) AS s FROM generate_series(1, 2000000) i"
        )
        start = time.perf_counter()
        connection.execute("CREATE TABLE bench_copy AS SELECT x FROM bench_in")
        copied = time.perf_counter() - start
        source, target = f"{url}?table=bench_in", f"{url}?table=bench_safe"
        _engine("PostgreSQL", rows, copied, source, target, None)
        for name in ("bench_in", "bench_copy", "bench_safe"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")


def spark_2m(folder: Path) -> None:
    from pyspark.sql import SparkSession

    rows, source = 2_000_000, folder / "in.parquet"
    make(source, rows)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    frame = session.read.parquet(str(source)).select("x")

    def copy() -> None:
        frame.write.mode("overwrite").parquet(str(folder / "copy"))

    copied, _ = timed(copy)
    _engine("Spark", rows, copied, str(source), str(folder / "safe-spark.parquet"), "spark")
    session.stop()


def _engine(
    name: str, rows: int, copied: float, source: str, target: str, engine: str | None
) -> None:
    release = design(source, ASKED, BOUND, engine=engine).release
    key = os.urandom(32)
    row(f"what, 2 million rows, {name}", "seconds", "rows/s", f"ratio to its copy, {copied:.2f} s")
    row("---", "---", "---", "---")
    for words, options in (
        ("fresh", Options(force=True)),
        ("keyed", Options(force=True, id="id", key=key)),
    ):
        seconds, _ = timed(lambda o=options: apply(source, release, target, o, engine=engine), 2)  # type: ignore[misc]
        row(
            f"apply, {words}", f"{seconds:.2f}", f"{rows / seconds:,.0f}", f"{seconds / copied:.1f}"
        )
    print()


def main() -> None:
    start_up()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        audit_5000_classes(folder)
        duckdb_10m(folder)
        if "--engines" in sys.argv:
            if url := os.environ.get("LOWLIFT_POSTGRES"):
                postgres_2m(url)
            spark_2m(folder)
        if "--large" in sys.argv:
            duckdb_100m(folder)
    print(f"peak memory here: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
