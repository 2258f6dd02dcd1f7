"""Publish rows under a bound, beside what else does it, and beside the goals.

Ours is the whole command in a process of its own, start and reading included. Rivals are given the
rows in memory. The same attack and the same tables judge all of them.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pytest
import rows_rivals
import rows_tables
from contest import Unavailable
from rival_process import RivalProcess
from rows_rivals import Published
from rows_scores import scores
from rows_tables import Rows
from rows_targets import ENGINES, FULL, SHORT, TINY, RowsTarget

import lowlift as ll
from lowlift.workflow.utility import published_for

PROCESS = Path(__file__).resolve().parent / "rows_process.py"
CRITERION = ll.LIP(0.5)
#: Draws of each publication over which change and tables are averaged.
DRAWS = {"tiny": 2, "quick": 1, "full": 2}
#: Seconds that a process gets beyond its goal before it is ended, and that a program is given:
#: more than its goal, so that a busy machine shows how far it is missed.
PATIENCE, PROGRAM = 600.0, 600.0
#: How often processes are looked at, in seconds.
STEP = 0.05
NAMES = {
    "recoding": "full-domain recoding",
    "kary columns": "k-ary response on each column",
    "kary seen": "k-ary response on each column, weakest noise",
    "kary rows": "k-ary response on the row",
    "kary cells": "k-ary response on our cells",
    "anjana": "anjana delta_disclosure",
    "highs-ds": "all pairs, HiGHS simplex",
    "highs-ipm": "all pairs, HiGHS interior point",
}


def watched(command: list[str], limit: float, ledger: Path) -> dict[str, Any]:
    """Run a command; return its seconds, CPU seconds and peak memory, with all it starts.

    The ledger is a new one: that of whoever runs this would know the table from an earlier run.
    """
    ledger.unlink(missing_ok=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"LOWLIFT_LEDGER": str(ledger)},
    )
    spent: dict[int, float] = {}
    memory, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    while process.poll() is None and time.perf_counter() - start < limit:
        here = 0.0
        for pid, cpu, resident in processes_of(process.pid):
            spent[pid], here = cpu / ticks, here + resident
        memory = max(memory, here)
        time.sleep(STEP)
    if process.poll() is None:
        os.killpg(process.pid, 9)
    seconds = time.perf_counter() - start
    _, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the command ended with {process.returncode}: {errors.decode()[-300:]}")
    return {"seconds": seconds, "cpu": sum(spent.values()), "memory_mb": memory / 2**20}


def processes_of(session: int) -> Iterator[tuple[int, float, float]]:
    """Return the number, CPU ticks and resident bytes of each process of a session."""
    size = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            yield int(folder.name), float(fields[11]) + float(fields[12]), float(fields[21]) * size


def written(target: RowsTarget, folder: Path) -> tuple[Path, str, list[str]]:
    """Write the table; return its path, S and the columns to publish."""
    kind, *numbers = target.table
    if kind == "survey":
        path = folder / "people.csv"
        rows_tables.write_survey(path, *numbers)
        names = ["educ", "workstat", "female"] if target.job == "symbols" else rows_tables.SURVEY
        return path, "happy", list(names)
    path = folder / "people.parquet"
    rows_tables.write_generated(path, *numbers)
    return path, "ill", [f"c{k}" for k in range(numbers[1])]


def sanitized(target: RowsTarget, path: Path, sensitive: str) -> dict[str, Any]:
    """Run the command; return its times, and the proof and the release that it leaves."""
    spark = target.job == "spark"
    out = path.parent / f"safe{path.suffix}"
    main = "import sys; from lowlift._cli import main; sys.argv[0] = 'lowlift'; main()"
    command = [sys.executable, "-c", main, "sanitize", str(path), "-s", sensitive, "-o", str(out)]
    command += ["--criterion", "lip", "--epsilon", str(CRITERION.epsilon), "--force"]
    command += ["--cells", str(target.cells), "--min-rows", str(target.min_rows)]
    command += ["--engine", "spark"] if spark else []
    found = watched(command, target.goal["seconds"] + PATIENCE, path.parent / "ledger.sqlite")
    release = ll.Release.from_json(path.parent / "safe.release.json")
    proof: Any = release.certificate
    found["gap"] = (proof.distortion - proof.lower_bound) / proof.distortion
    cells = len(set(proof.bins or release.joint.x_labels))
    found["settings"] = f"{cells:,} cells, {release.joint.n_x:,} parts"
    return found | {"release": release, "holds": release.audit.is_satisfied}


def ours(release: ll.Release, path: Path, sensitive: str, names: list[str]) -> tuple[Rows, Any]:
    """Return the rows, and what is published for them, drawn as publishing draws."""
    origin: Any = release.origin
    table = rows_tables.read(path, sensitive, names, origin.cells)
    number = {label: x for x, label in enumerate(release.joint.x_labels)}
    x = np.array([number[label] for label in np.asarray(table.cells).tolist()])
    rows = np.arange(len(table))

    def draw(seed: int) -> Any:
        return rows_rivals.chosen(
            table.columns, published_for(release.channel, x, rows, seed=seed)[1]
        )

    return table, Published("yes", release.audit.is_satisfied, "", rows, draw)


def kary_cells(table: Rows, target: RowsTarget, path: Path, sensitive: str) -> Published:
    """Return the k-ary response on cells that are learnt as ours are."""
    names = list(table.columns)
    cells = target.cells
    learnt = rows_tables.cells_of(path, sensitive, names, cells, target.min_rows)
    there = rows_tables.read(path, sensitive, names, learnt.column)
    of = np.unique(np.asarray(there.cells), return_inverse=True)[1].reshape(-1)
    return rows_rivals.kary_tuple(there, of, CRITERION, "cells")


def rival(
    who: str, table: Rows, target: RowsTarget, path: Path, sensitive: str, rivals: RivalProcess
) -> tuple[Published, dict[str, float]]:
    """Let a rival publish the rows; return that, and what it took."""
    if who == "anjana":
        made, seconds, cpu = rows_rivals.anjana(table, CRITERION, rivals, path.parent)
        return made, {"seconds": seconds, "cpu": cpu}
    run: dict[str, Callable[[], Published]] = {
        "recoding": partial(rows_rivals.recoding, table, CRITERION, target.audits),
        "kary columns": partial(rows_rivals.kary_columns, table, CRITERION, is_proven=True),
        "kary seen": partial(rows_rivals.kary_columns, table, CRITERION, is_proven=False),
        "kary rows": partial(rows_rivals.kary_rows, table, CRITERION),
        "kary cells": partial(kary_cells, table, target, path, sensitive),
    }
    start, before = time.perf_counter(), time.process_time()
    made = run[who]()
    return made, {"seconds": time.perf_counter() - start, "cpu": time.process_time() - before}


def publish(
    target: RowsTarget, folder: Path, rivals: RivalProcess, draws: int
) -> list[dict[str, Any]]:
    """Return what our command and the rivals publish, ours first."""
    path, sensitive, names = written(target, folder)
    found = sanitized(target, path, sensitive)
    release, holds = found.pop("release"), found.pop("holds")
    entries = [{"who": "lowlift sanitize", "verdict": "yes" if holds else "no", **found}]
    if target.job == "spark" or not target.rivals:
        return entries
    table, made = ours(release, path, sensitive, names)
    entries[0] |= scores(table, made, draws)
    for who in target.rivals:
        try:
            made, took = rival(who, table, target, path, sensitive, rivals)
        except (Unavailable, ValueError) as error:
            entries.append({"who": NAMES[who], "why": str(error)})
            continue
        about = {"who": NAMES[who], "verdict": made.verdict, "settings": made.settings}
        entries.append(about | took | scores(table, made, draws))
    return entries


def solve(target: RowsTarget, folder: Path) -> list[dict[str, Any]]:
    """Return the least change that is possible on cells or symbols, ours first."""
    path, sensitive, names = written(target, folder)
    entries = []
    for who in ("lowlift", *target.rivals):
        asked = {
            "path": str(path), "sensitive": sensitive, "names": names, "cells": target.cells,
            "min_rows": target.min_rows, "who": who, "gap": target.goal["gap"], "limit": PROGRAM,
        }  # fmt: skip
        command = [sys.executable, str(PROCESS), json.dumps(asked)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, timeout=PROGRAM + PATIENCE
        )
        found = json.loads(done.stdout)
        size = f"|X| = {found.pop('n_x'):,}, |S| = {found.pop('n_s')}"
        entry = {"who": NAMES.get(who, "lowlift least_distortion"), "settings": size} | found
        if who == "lowlift":
            entry["verdict"] = "yes" if entry.pop("holds") else "no"
        entries.append(entry)
    return entries


@pytest.mark.sizes(tiny=TINY, quick=SHORT, full=FULL)
def bench_rows(
    benchmark: Any, form: str, folder: Path, rivals: RivalProcess, size: RowsTarget
) -> None:
    load = machine.load()[0]
    if size.job in {"cells", "symbols"}:
        entries = benchmark.pedantic(solve, (size, folder), rounds=1)
    else:
        entries = benchmark.pedantic(publish, (size, folder, rivals, DRAWS[form]), rounds=1)
    benchmark.extra_info["rows"] = {
        "id": str(size),
        "name": size.name,
        "goal": size.goal,
        "load": load,
        "date": machine.today(),
        "entries": entries,
    }


@pytest.mark.engines
@pytest.mark.sizes(tiny=[], quick=[], full=ENGINES)
def bench_rows_spark(
    benchmark: Any, form: str, folder: Path, rivals: RivalProcess, size: RowsTarget
) -> None:
    bench_rows(benchmark, form, folder, rivals, size)
