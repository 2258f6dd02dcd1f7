"""How long `sanitize` takes against what any publication does: count S by X, and copy X.

    python benchmarks/sanitize_and_copy.py [ROWS] [ROUNDS]

Count and copy are one DuckDB connection that runs the same GROUP BY, then copies the column to a
target of the same kind. They take turns with `sanitize`, in one process, after one warm-up each;
medians are printed, and where the time of `sanitize` goes. The design does not depend on the rows:
it is shown apart.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import inputs

import lowlift as ll
from lowlift.tables import Table, application
from lowlift.tables.targets.loading import Writer
from lowlift.workflow import Asked, Options, sanitize, sanitizing

ASKED = Asked(("s",), ("x",), encoding="values")
CRITERIA = (ll.LIP(0.5), ll.ALIP(0.05, 0.05))


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that passed, and those of all cores: a busy machine changes the first."""
    start, before = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - before


@contextmanager
def watched(spent: dict[str, float]) -> Iterator[None]:
    """Add up the seconds of each part of `sanitize`."""
    parts = {
        "count": (Table, "count"),
        "design": (sanitizing, "design_table"),
        "draw": (application, "rows_per_output"),
        "shuffle, write": (Writer, "write_counts"),
        "read back, hash": (application, "_read_back"),
    }
    real = {name: getattr(*place) for name, place in parts.items()}

    def part(name: str) -> Callable[..., Any]:
        def run(*given: Any, **more: Any) -> Any:
            start, before = time.perf_counter(), sum(spent.values())
            try:
                return real[name](*given, **more)
            finally:
                inner = sum(spent.values()) - before
                seconds = time.perf_counter() - start - inner
                spent[name] = spent.get(name, 0.0) + seconds

        return run

    try:
        for name, place in parts.items():
            setattr(*place, part(name))
        yield
    finally:
        for name, place in parts.items():
            setattr(*place, real[name])


def sources(folder: Path, rows: int) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield a name, our source and target, and the statements of count and copy."""
    parquet, csv, database = (folder / f"in.{end}" for end in ("parquet", "csv", "duckdb"))
    inputs.write_rows(parquet, rows)
    count = "SELECT s, x, count(*) FROM {} GROUP BY ALL"
    copy = "COPY (SELECT x FROM '{}') TO '{}' ({})"
    to = copy.format(parquet, folder / "copy.parquet", "FORMAT parquet")
    yield "Parquet", str(parquet), f"{folder}/safe.parquet", [count.format(f"'{parquet}'"), to]
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{parquet}') TO '{csv}' (FORMAT csv, HEADER)")
    to = copy.format(csv, folder / "copy.csv", "FORMAT csv, HEADER")
    yield "CSV", str(csv), f"{folder}/safe.csv", [count.format(f"'{csv}'"), to]
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{parquet}'")
    statements = [
        f"ATTACH '{database}' AS i (READ_ONLY)",
        f"ATTACH '{folder}/copy.duckdb' AS o",
        count.format("i.people"),
        "CREATE OR REPLACE TABLE o.safe AS SELECT x FROM i.people",
    ]
    yield "DuckDB", f"{database}?table=people", f"{folder}/safe.duckdb?table=safe", statements


def run_all(statements: list[str]) -> None:
    with duckdb.connect() as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


def main(rows: int = 10_000_000, rounds: int = 7) -> None:
    """Print a line for each kind of table and criterion."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, source, target, statements in sources(folder, rows):
            for criterion in CRITERIA:
                compare(kind, criterion, rounds, source, target, statements)


def compare(
    kind: str, criterion: Any, rounds: int, source: str, target: str, statements: list[str]
) -> None:
    """Print how long both take, and where the time of ours goes."""
    spent: list[dict[str, float]] = []

    def ours() -> None:
        spent.append({})
        with watched(spent[-1]):
            sanitize(source, ASKED, criterion, target, Options(force=True))

    ours()
    run_all(statements)
    turns = [(*timed(lambda: run_all(statements)), *timed(ours)) for _ in range(rounds)]
    theirs, cores, mine, our_cores = (statistics.median(one) for one in zip(*turns, strict=True))
    parts = {p: statistics.median(one.get(p, 0.0) for one in spent[1:]) for p in spent[-1]}
    parts["other"] = mine - sum(parts.values())
    shown = ", ".join(f"{part} {seconds:.3f}" for part, seconds in parts.items())
    print(f"{kind}, {criterion}: count + copy {theirs:.3f} s ({cores:.3f} of all cores),", end=" ")
    print(f"sanitize {mine:.3f} ({our_cores:.3f}): {mine / theirs:.2f} ({our_cores / cores:.2f})")
    print(f"  without the design {(mine - parts['design']) / theirs:.2f}; {shown}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
