"""Benchmarks of the report: process time for facts, curve and page, and the page's size.

Usage: python benchmarks/report.py
Imports and compiled kernels are warm: the first report of a process adds what they cost.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import lowlift as ll
from lowlift.figures import heat_map_svg
from lowlift.report import page
from lowlift.workflow import report_of

T = TypeVar("T")
SIZES = ((50, 10), (200, 15), (1000, 20), (5000, 20))


def timed(work: Callable[[], T], repeat: int = 3) -> tuple[float, T]:
    """Return the least of a few process times, and the last result."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def counted(n_x: int, n_s: int) -> ll.Joint:
    """Return counts with a few hundred rows a cell."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(n_s, 5.0), n_x).T * rng.dirichlet(np.ones(n_x))
    counts = rng.multinomial(200 * n_s * n_x, (shares / shares.sum()).ravel()) + 1
    labels = [f"disease {k}" for k in range(n_s)], [f"zip {k:05d}" for k in range(n_x)]
    return ll.Joint.from_counts(counts.reshape(n_s, n_x), *labels)


def main() -> None:
    """Print a line per size."""
    page(report_of(ll.subset_merging(counted(20, 3), ll.ALIP(1.0, 1.0))))
    print("|X| x |S|     facts+curve     page   public   in all   kB   heat map")
    for n_x, n_s in SIZES:
        release = ll.subset_merging(counted(n_x, n_s), ll.ALIP(1.0, 1.0))
        facts, _ = timed(lambda r=release: report_of(r))  # type: ignore[misc]
        # A new report each time: pictures are kept once drawn.
        both, text = timed(lambda r=release: page(report_of(r)))  # type: ignore[misc]
        public, _ = timed(
            lambda r=release: page(report_of(r, points=()), is_public=True)  # type: ignore[misc]
        )
        shown = report_of(release, points=()).shown_before
        heat, _ = timed(
            lambda s=shown: heat_map_svg(  # type: ignore[misc]
                s.log_lift, s.rows, s.columns, title="Lift", lower=1.0, upper=1.0, refused=s.refused
            )
        )
        print(
            f"{n_x:5} x {n_s:<5} {facts:10.2f} s {both - facts:8.2f} s {public:6.2f} s "
            f"{both:6.2f} s {len(text.encode()) / 1000:5.0f} {heat * 1000:7.0f} ms"
        )


if __name__ == "__main__":
    main()
