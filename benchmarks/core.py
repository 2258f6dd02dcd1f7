"""Benchmarks of the core: objective beside time, rivals in the same run, as Markdown.

Usage: python benchmarks/core.py [--full]    (--full adds |X| = 100,000)
"""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import TypeVar

import numpy as np
from naive_merging import block_entropy, naive_merging

import lowlift as ll

T = TypeVar("T")


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


def machine() -> None:
    names = ("numpy", "numba")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    python = f"Python {platform.python_version()}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, {python}, {versions}\n")


def figure_4_sweep_1000x32_17x5() -> None:
    joints = [ll.Joint.random(5, 17, seed=k) for k in range(1000)]
    epsilons = np.arange(1, 33) / 4
    criteria = [ll.ALIP.split(e, 0.5) for e in epsilons]
    ll.tradeoff(joints[:1], ll.subset_merging, criteria)
    seconds, sweep = timed(lambda: ll.tradeoff(joints, ll.subset_merging, criteria))
    few = joints[:20]

    def rival() -> float:
        found = [
            block_entropy(j.p_sx, naive_merging(j.p_sx, e / 2, e / 2))
            for j in few
            for e in epsilons
        ]
        return float(np.mean(found))

    ours, mine = timed(lambda: ll.tradeoff(few, ll.subset_merging, criteria), repeat=1)
    theirs, nmi = timed(rival, repeat=1)
    row("Figure 4 sweep, 32,000 audited releases", f"{sweep['nmi'].mean():.5f}", f"{seconds:.2f} s")
    row("- 640 of them", f"{mine['nmi'].mean():.5f}", f"{ours:.3f} s")
    row(
        "- the same by naive NumPy, no audit", f"{nmi:.5f}", f"{theirs:.3f} s, {theirs / ours:.0f}x"
    )


def count(steps: list[int], done: int, _total: int) -> None:
    steps.append(done)


def subset_merging_large(n_x: int, n_s: int, repeat: int) -> None:
    joint = ll.Joint.random(n_s, n_x, seed=0)
    for criterion in (ll.LIP(0.15), ll.LDP(0.3), ll.L1Lift(0.15, 0.15), ll.AlphaLift(10, 0.2, 0.2)):
        share = len(ll.high_risk(joint, criterion)) / n_x
        steps: list[int] = []
        seconds, release = timed(
            partial(ll.subset_merging, joint, criterion, progress=partial(count, steps)), repeat
        )
        name = f"subset merging {n_x} x {n_s}, {criterion}, {share:.1%} high-risk"
        row(name, f"{release.audit.nmi:.5f}", f"{seconds:.2f} s, {len(steps)} progress calls")


def optimal_merging_17x5() -> None:
    joint = ll.Joint.random(5, 17, seed=0)
    for epsilon in (0.5, 1.0, 2.0):
        criterion = ll.ALIP.split(epsilon, 0.5)
        greedy = ll.subset_merging(joint, criterion)
        seconds, best = timed(partial(ll.optimal_merging, joint, criterion))
        name = f"optimal merging 17 x 5, eps {epsilon} (greedy {greedy.audit.nmi:.5f})"
        row(name, f"{best.audit.nmi:.5f}", f"{seconds:.2f} s")


def local_search_60x8() -> None:
    joint, criterion = ll.Joint.random(8, 60, seed=0), ll.LIP(0.5)
    greedy = ll.subset_merging(joint, criterion)
    seconds, found = timed(lambda: ll.optimal_merging(joint, criterion, time_limit=20.0), repeat=1)
    name = f"optimal merging 60 x 8, not proven (greedy {greedy.audit.nmi:.5f})"
    row(name, f"{found.audit.nmi:.5f}", f"{seconds:.2f} s")


def import_ratio() -> None:
    def least(module: str) -> float:
        command = [sys.executable, "-c", f"import {module}"]
        return timed(lambda: subprocess.run(command, check=True), repeat=15)[0]

    bare, numpy, lowlift = least("sys"), least("numpy"), least("lowlift")
    ratio = (lowlift - bare) / (numpy - bare)
    row("import lowlift, less Python's start", "-", f"{lowlift - bare:.3f} s, {ratio:.2f}x numpy")


def main() -> None:
    machine()
    row("what", "NMI", "time")
    row("---", "---", "---")
    import_ratio()
    figure_4_sweep_1000x32_17x5()
    optimal_merging_17x5()
    local_search_60x8()
    subset_merging_large(10_000, 16, repeat=2)
    if "--full" in sys.argv:
        subset_merging_large(100_000, 16, repeat=1)


if __name__ == "__main__":
    main()
