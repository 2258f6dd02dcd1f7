"""Runs pycanon and anjana by their own pinned versions: one JSON line in, one out, times inside.

Started by `rival_process.py`; needs nothing of lowlift.
"""

import contextlib
import io
import json
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import pandas as pd
from pycanon import anonymity

enforce: Any = import_module("anjana.anonymity").delta_disclosure

#: Tables are read once; reading is not part of the job.
TABLES: dict[str, Any] = {}


def table(path: str) -> Any:
    """Return the rows of a CSV as texts; a fresh index, since pycanon counts by position."""
    if path not in TABLES:
        TABLES[path] = pd.read_csv(path, dtype=str)
    return TABLES[path]


def audit(path: str, released: list[str], sensitive: str) -> dict[str, Any]:
    """Return delta by pycanon."""
    frame = table(path)
    start = time.perf_counter()
    delta = anonymity.delta_disclosure(frame, released, [sensitive])
    return {"seconds": time.perf_counter() - start, "delta": float(delta)}


def anonymise(
    path: str,
    released: list[str],
    sensitive: str,
    hierarchies: dict[str, list[list[str]]],
    delta: float,
    k: int,
    suppressed: float,
) -> dict[str, Any]:
    """Return the table that anjana publishes: per kept row its number and its values."""
    frame = table(path).reset_index(names="row")
    levels = {name: dict(enumerate(lists)) for name, lists in hierarchies.items()}
    start, before = time.perf_counter(), time.process_time()
    # The row number is a column that it leaves alone; the arguments stand in its documented order.
    safe = enforce(frame, [], released, sensitive, k, delta, suppressed, levels)
    spent = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - before,
    }
    if not len(safe):
        return {**spent, "rows": [], "values": [], "delta": None}
    found = anonymity.delta_disclosure(safe, released, [sensitive])
    values = safe[released].to_numpy().tolist()
    return {
        **spent,
        "rows": safe["row"].tolist(),
        "values": values,
        "delta": float(found),
    }


def versions() -> dict[str, str]:
    """Return what runs here."""
    return {name: version(name) for name in ("anjana", "pycanon", "pandas", "numpy")}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "audit": audit,
    "anonymise": anonymise,
    "versions": versions,
}


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                answer = JOBS[asked.pop("job")](**asked)
        except Exception as error:  # noqa: BLE001 (whatever it is, the asker must hear of it)
            traceback.print_exc()
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
