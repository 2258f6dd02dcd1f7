"""Merging against a plain NumPy port of Algorithm 1, and how far the greedy is from the best."""

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from contest import Contender, Job
from naive_merging import block_entropy, naive_merging

import lowlift as ll

GROUP = "Merging"


def nmi(release: ll.Release) -> float:
    return release.audit.nmi


@pytest.mark.sizes(tiny=[2], quick=[20], full=[100])
def bench_figure_4_sweep_17x5(contest: Any, size: int) -> None:
    joints = [ll.Joint.random(5, 17, seed=k) for k in range(size)]
    epsilons = np.arange(1, 33) / 4
    criteria = [ll.ALIP.split(e, 0.5) for e in epsilons]

    def rival() -> float:
        found = [
            block_entropy(j.p_sx, naive_merging(j.p_sx, e / 2, e / 2))
            for j in joints
            for e in epsilons
        ]
        return float(np.mean(found))

    ours = Contender(
        "lowlift tradeoff(subset_merging)",
        partial(ll.tradeoff, joints, ll.subset_merging, criteria),
        lambda sweep: float(sweep["nmi"].mean()),
        "one core; every release audited",
    )
    job = Job(
        GROUP,
        f"Figure 4's sweep, {size * 32:,} releases",
        f"{size} joints, |X| = 17, |S| = 5",
        "mean NMI",
        "ALIP.split(0.25 to 8, 0.5)",
        tolerance=1e-9,
    )
    contest(job, ours, [Contender("naive NumPy port of Algorithm 1", rival, settings="no audit")])


@pytest.mark.sizes(
    tiny=[(3, 30)], quick=[(16, 1000)], full=[(16, 1000), (16, 10_000), (16, 30_000)]
)
def bench_subset_merging(contest: Any, size: tuple[int, int]) -> None:
    n_s, n_x = size
    joint = ll.Joint.random(n_s, n_x, seed=0)
    criterion = ll.LIP(0.15)
    share = len(ll.high_risk(joint, criterion)) / n_x

    def rival() -> float:
        return block_entropy(joint.p_sx, naive_merging(joint.p_sx, 0.15, 0.15))

    others = [
        Contender(
            "naive NumPy port of Algorithm 1",
            rival,
            settings="no audit",
            rounds=3 if n_x <= 1000 else 1,
        )
    ]
    ours = Contender(
        "lowlift subset_merging", partial(ll.subset_merging, joint, criterion), nmi, "audited"
    )
    job = Job(
        GROUP,
        "Algorithm 1",
        f"|X| = {n_x:,}, |S| = {n_s}, {share:.1%} high-risk",
        "NMI",
        str(criterion),
        tolerance=1e-9,
    )
    contest(job, ours, others, rounds=3 if n_x > 1000 else 9)


@pytest.mark.sizes(tiny=[], quick=[], full=["LDP", "l1", "alpha"])
def bench_subset_merging_10000x16(contest: Any, size: str) -> None:
    joint = ll.Joint.random(16, 10_000, seed=0)
    criteria = {
        "LDP": ll.LDP(0.3),
        "l1": ll.L1Lift(0.15, 0.15),
        "alpha": ll.AlphaLift(10, 0.2, 0.2),
    }
    criterion: Any = criteria[size]
    share = len(ll.high_risk(joint, criterion)) / joint.n_x
    ours = Contender(
        "lowlift subset_merging", partial(ll.subset_merging, joint, criterion), nmi, "audited"
    )
    data = f"|X| = 10,000, |S| = 16, {share:.1%} high-risk"
    contest(Job(GROUP, "Algorithm 1, other criteria", data, "NMI", str(criterion)), ours, rounds=3)


@pytest.mark.sizes(tiny=[(3, 7, 0.5)], quick=[(5, 17, 0.5)], full=[(5, 17, e) for e in (0.5, 1, 2)])
def bench_optimal_merging(contest: Any, size: tuple[int, int, float]) -> None:
    n_s, n_x, epsilon = size
    joint, criterion = ll.Joint.random(n_s, n_x, seed=0), ll.ALIP.split(epsilon, 0.5)
    greedy = Contender("lowlift subset_merging", partial(ll.subset_merging, joint, criterion), nmi)
    ours = Contender(
        "lowlift optimal_merging",
        partial(ll.optimal_merging, joint, criterion),
        nmi,
        "proven best of all partitions",
    )
    job = Job(GROUP, "best partition", f"|X| = {n_x}, |S| = {n_s}", "NMI", str(criterion))
    contest(job, ours, [greedy])


@pytest.mark.sizes(tiny=[], quick=[], full=[(8, 60)])
def bench_local_search(contest: Any, size: tuple[int, int]) -> None:
    n_s, n_x = size
    joint, criterion = ll.Joint.random(n_s, n_x, seed=0), ll.LIP(0.5)
    greedy = Contender("lowlift subset_merging", partial(ll.subset_merging, joint, criterion), nmi)
    ours = Contender(
        "lowlift optimal_merging",
        partial(ll.optimal_merging, joint, criterion, time_limit=20.0),
        nmi,
        "local search, at most 20 s",
    )
    job = Job(GROUP, "good partition", f"|X| = {n_x}, |S| = {n_s}", "NMI", str(criterion))
    contest(job, ours, [greedy], rounds=3)


@pytest.mark.sizes(tiny=[], quick=[5], full=[15])
def bench_import(contest: Any, size: int) -> None:
    def start(module: str) -> None:
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    def nothing(_: object) -> float:
        return 0.0

    ours = Contender("lowlift", partial(start, "lowlift"), nothing, "Python's start included")
    others = [
        Contender("numpy", partial(start, "numpy"), nothing, "Python's start included"),
        Contender("Python alone", partial(start, "sys"), nothing),
    ]
    contest(Job("Start", "import", "", "", better="same"), ours, others, rounds=size)


@pytest.mark.sizes(tiny=[], quick=[5], full=[15])
def bench_help(contest: Any, size: int) -> None:
    def start(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)

    def nothing(_: object) -> float:
        return 0.0

    words = "Python's start included"
    ours = Contender("lowlift --help", partial(start, "-m", "lowlift", "--help"), nothing, words)
    others = [
        Contender("import typer, rich.table", partial(start, "-c", "import typer, rich.table"),
                  nothing, words),
        Contender("Python alone", partial(start, "-c", "pass"), nothing),
    ]  # fmt: skip
    contest(Job("Start", "the commands", "", "", better="same"), ours, others, rounds=size)
