"""The random response against the textbook (cddlib, PPL, qhull, a linear program), and beyond."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import vertices
from contest import Contender, Job

import lowlift as ll

GROUP = "Random response"

ROUTES: dict[str, tuple[Callable[..., Any], Callable[..., float], str]] = {
    "qhull + HiGHS": (vertices.vertices_by_qhull, vertices.mixed_by_highs, ""),
    "qhull + linprog": (vertices.vertices_by_qhull, vertices.mixed_by_linprog, ""),
    "cddlib + HiGHS": (vertices.vertices_by_cddlib, vertices.mixed_by_highs, "floats"),
    "PPL + HiGHS": (
        vertices.vertices_by_ppl,
        vertices.mixed_by_highs,
        "coefficients as fractions with denominators to 1e6",
    ),
}


def nmi(release: ll.Release) -> float:
    return release.audit.nmi


def proven(release: ll.Release) -> str:
    found = release.certificate
    if found is None:
        return "no bound"
    return f"proven at most {found.upper_bound:.6f}, gap {found.gap:.1e}, {found.nodes} nodes"


@pytest.mark.sizes(
    tiny=[(3, 6, 1.0)],
    quick=[(5, 12, 1.0), (5, 17, 1.0), (5, 17, 4.0)],
    full=[(5, 12, 1.0), *((5, 17, eps) for eps in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))],
)
def bench_textbook(contest: Any, size: tuple[int, int, float]) -> None:
    n_s, n_x, epsilon = size
    joint, criterion = ll.Joint.random(n_s, n_x, seed=0), ll.ALIP.split(epsilon, 0.65)

    def route(listed: Callable[..., Any], mixed: Callable[..., float]) -> float:
        return mixed(joint, listed(joint, criterion))

    number = len(vertices.vertices_by_qhull(joint, criterion))
    others = [
        Contender(who, partial(route, listed, mixed), settings=words, rounds=5)
        for who, (listed, mixed, words) in ROUTES.items()
    ]
    ours = Contender(
        "lowlift random_response",
        partial(ll.random_response, joint, criterion),
        nmi,
        "gap 1e-6, all cores; audited, certified",
        proven,
    )
    job = Job(
        GROUP,
        "optimal random response",
        f"|X| = {n_x}, |S| = {n_s}, {number:,} vertices",
        "NMI",
        f"ALIP.split({epsilon}, 0.65)",
        tolerance=2e-6,
    )
    contest(job, ours, others)


@pytest.mark.sizes(tiny=[], quick=[], full=[range(1, 33)])
def bench_32_budgets_17x5(contest: Any, size: range) -> None:
    joint = ll.Joint.random(5, 17, seed=0)
    criteria = [ll.ALIP.split(k / 4, 0.65) for k in size]

    def by_qhull() -> float:
        lists = (vertices.vertices_by_qhull(joint, c) for c in criteria)
        return sum(vertices.mixed_by_highs(joint, found) for found in lists) / len(criteria)

    ours = Contender(
        "lowlift random_response",
        lambda: [ll.random_response(joint, c).audit.nmi for c in criteria],
        lambda found: sum(found) / len(found),
        "gap 1e-6, all cores; audited, certified",
    )
    job = Job(
        GROUP,
        "all 32 budgets",
        "|X| = 17, |S| = 5",
        "mean NMI",
        "ALIP.split(0.25 to 8, 0.65)",
        tolerance=2e-6,
    )
    contest(job, ours, [Contender("qhull + HiGHS", by_qhull, rounds=5)])


@pytest.mark.sizes(tiny=[], quick=[2.0], full=[1.0, 2.0, 4.0, 8.0])
def bench_large_200x15(contest: Any, size: float) -> None:
    joint, criterion = ll.Joint.random(15, 200, seed=0), ll.ALIP.split(size, 0.5)
    ours = Contender(
        "lowlift random_response",
        partial(ll.random_response, joint, criterion, gap=1e-5),
        nmi,
        "gap 1e-5",
        proven,
    )
    rival = Contender(
        "lowlift subset_random_response",
        partial(ll.subset_random_response, joint, criterion),
        nmi,
        "the paper's Algorithm 2",
    )
    job = Job(
        GROUP,
        "large: too many vertices to list",
        "|X| = 200, |S| = 15",
        "NMI",
        str(criterion),
    )
    contest(job, ours, [rival], rounds=3)


@pytest.mark.sizes(
    tiny=[], quick=[], full=["LDP", "l1", "chi2", "alpha 2", "alpha 10", "alpha 100"]
)
def bench_other_criteria_17x5(contest: Any, size: str) -> None:
    joint = ll.Joint.random(5, 17, seed=0)
    criterion = {
        "LDP": ll.LDP(1.0),
        "l1": ll.L1Lift(math.inf, 0.5),
        "chi2": ll.Chi2Lift(math.inf, 0.5),
        "alpha 2": ll.AlphaLift(2, 0.5, 0.5),
        "alpha 10": ll.AlphaLift(10, 0.5, 0.5),
        "alpha 100": ll.AlphaLift(100, 0.5, 0.5),
    }[size]
    ours = Contender(
        "lowlift random_response",
        partial(ll.random_response, joint, criterion, gap=1e-4, time_limit=10.0),
        nmi,
        "gap 1e-4, at most 10 s",
        proven,
    )
    job = Job(GROUP, "other criteria", "|X| = 17, |S| = 5", "NMI", str(criterion))
    contest(job, ours, rounds=3)


@pytest.mark.sizes(tiny=[], quick=[], full=[(15, 1000), (8, 2000)])
def bench_huge(contest: Any, size: tuple[int, int]) -> None:
    n_s, n_x = size
    joint, criterion = ll.Joint.random(n_s, n_x, seed=0), ll.LIP(1.0)
    ours = Contender(
        "lowlift random_response",
        partial(ll.random_response, joint, criterion, gap=1e-2, time_limit=30.0),
        nmi,
        "gap 1e-2, at most 30 s",
        proven,
    )
    job = Job(GROUP, "huge", f"|X| = {n_x:,}, |S| = {n_s}", "NMI", str(criterion))
    contest(job, ours, rounds=1)
