"""The random response: NMI, proven bound, gap and time, with the textbook routes in the same run.

Usage: python benchmarks/random_response.py [SECTION ...] [--plot FILE.svg]
Sections: textbook, large, criteria, huge, growth (default: all).
"""

import argparse
import math
import resource
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from core import machine, row, timed

import lowlift as ll

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


def clocked(work: Callable[[], T]) -> tuple[float, T]:
    return timed(work, repeat=1)


def described(seconds: float, release: ll.Release) -> tuple[str, ...]:
    certificate = release.certificate
    if certificate is None:
        return f"{release.audit.nmi:.6f}", "-", "-", "-", f"{seconds:.2f} s"
    cells = f"{release.audit.nmi:.6f}", f"{certificate.upper_bound:.6f}", f"{certificate.gap:.1e}"
    return *cells, str(certificate.nodes), f"{seconds:.2f} s"


# ---- the textbook: list the vertices, then one linear program


def constraints(joint: ll.Joint, criterion: ll.ALIP) -> tuple[Floats, Floats]:
    """Return a, b with a v <= b for v in the polytope; sum(v) = 1 is apart."""
    a = np.vstack([-np.eye(joint.n_x), joint.lift, -joint.lift])
    low, high = math.exp(-criterion.lower), math.exp(criterion.upper)
    b = np.r_[np.zeros(joint.n_x), np.full(joint.n_s, high), np.full(joint.n_s, -low)]
    return a, b


def vertices_by_cddlib(joint: ll.Joint, criterion: ll.ALIP) -> Floats:
    import cdd

    a, b = constraints(joint, criterion)
    rows = np.vstack([np.r_[-1.0, np.ones(joint.n_x)], np.column_stack([b, -a])])
    matrix = cdd.matrix_from_array(rows.tolist(), lin_set=[0], rep_type=cdd.RepType.INEQUALITY)
    found = cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array
    return np.array(found)[:, 1:].astype(np.float64)


def vertices_by_qhull(joint: ll.Joint, criterion: ll.ALIP) -> Floats:
    from scipy.linalg import null_space
    from scipy.spatial import HalfspaceIntersection

    a, b = constraints(joint, criterion)
    basis = null_space(np.ones((1, joint.n_x)))
    spaces = np.column_stack([a @ basis, a @ joint.p_x - b])
    found = HalfspaceIntersection(spaces, np.zeros(joint.n_x - 1)).intersections
    points = joint.p_x + np.unique(found.round(12), axis=0) @ basis.T
    return np.asarray(np.maximum(points, 0.0))


def mixed_by_linprog(joint: ll.Joint, vertices: Floats) -> float:
    from scipy.optimize import linprog

    cost = linprog(entropies(vertices), A_eq=vertices.T, b_eq=joint.p_x).fun
    return 1 - float(cost) / joint.entropy_x


def mixed_by_highs(joint: ll.Joint, vertices: Floats) -> float:
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(vertices), joint.n_x
    model.col_cost_ = entropies(vertices)
    model.col_lower_ = np.zeros(len(vertices))
    model.col_upper_ = np.full(len(vertices), highspy.kHighsInf)
    model.row_lower_ = model.row_upper_ = joint.p_x
    k, x = np.nonzero(vertices > 1e-12)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.r_[0, np.cumsum(np.bincount(k, minlength=len(vertices)))]
    model.a_matrix_.index_, model.a_matrix_.value_ = x, vertices[k, x]
    solver.passModel(model)
    solver.run()
    return 1 - float(solver.getInfo().objective_function_value) / joint.entropy_x


def entropies(points: Floats) -> Floats:
    return np.asarray(-(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1))


def textbook_17x5() -> None:
    joint = ll.Joint.random(5, 17, seed=0)
    ll.random_response(joint, ll.LIP(0.5))
    print("\n### 17 x 5, lambda = .65: ours against qhull + HiGHS and cddlib + linprog\n")
    row("eps", "vertices", "NMI", "gap", "ours", "qhull + HiGHS", "cddlib + linprog")
    row(*["---"] * 7)
    totals = np.zeros(3)
    slower = 0
    for k in range(1, 33):
        criterion = ll.ALIP.split(k / 4, 0.65)
        # The least of nine runs each: a run is milliseconds, and the machine is shared.
        ours, release = timed(partial(ll.random_response, joint, criterion), repeat=9)
        listing, vertices = timed(partial(vertices_by_qhull, joint, criterion), repeat=9)
        mixing, best = timed(partial(mixed_by_highs, joint, vertices), repeat=9)
        qhull = listing + mixing
        listing, by_cdd = timed(partial(vertices_by_cddlib, joint, criterion), repeat=1)
        mixing, textbook = timed(partial(mixed_by_linprog, joint, by_cdd), repeat=1)
        totals += ours, qhull, listing + mixing
        slower += ours > qhull
        if ours > qhull:
            print(f"slower at eps {k / 4}: {1e3 * ours:.2f} ms against {1e3 * qhull:.2f} ms")
        if max(abs(best - release.audit.nmi), abs(textbook - release.audit.nmi)) > 2e-6:
            print(f"!! eps {k / 4}: {release.audit.nmi} {best} {textbook}")
        if release.certificate is None or release.certificate.gap > 1e-6:
            print(f"!! eps {k / 4}: gap {release.certificate}")
        if k in (1, 2, 4, 8, 16, 32):
            gap = release.certificate.gap if release.certificate else math.nan
            times = [f"{1e3 * t:.1f} ms" for t in (ours, qhull, listing + mixing)]
            row(k / 4, len(vertices), f"{release.audit.nmi:.6f}", f"{gap:.1e}", *times)
    seconds = [f"{t:.2f} s" for t in totals]
    row("all 32", "", "", "", *seconds)
    ratios = f"{totals[1] / totals[0]:.1f} and {totals[2] / totals[0]:.0f} times ours"
    print(f"\nIn total qhull + HiGHS and cddlib + linprog take {ratios}; "
          f"ours is slower than qhull + HiGHS at {slower} of 32 budgets.")  # fmt: skip


# ---- large joints


def large_200x15(seeds: int = 5) -> None:
    print(
        "\n### 200 x 15, eps / 2 on each side; the paper's SRR has .8505 / .9126 / .9774 / .9995\n"
    )
    row("eps", "seed", "NMI", "bound", "gap", "nodes", "time")
    row(*["---"] * 7)
    for epsilon in (1, 2, 4, 8):
        for seed in range(seeds):
            joint = ll.Joint.random(15, 200, seed=seed)
            criterion = ll.ALIP.split(epsilon, 0.5)
            result = clocked(partial(ll.random_response, joint, criterion, gap=1e-5))
            row(epsilon, seed, *described(*result))
    joint = ll.Joint.random(15, 200, seed=0)
    result = clocked(lambda: ll.random_response(joint, ll.LIP(0.25), gap=1e-3, time_limit=120))
    row(0.5, 0, *described(*result))


def other_criteria() -> None:
    print("\n### Other criteria, eps / 2 on each side\n")
    row("criterion", "size", "NMI", "bound", "gap", "nodes", "time")
    row(*["---"] * 7)
    for n_s, n_x, limit, epsilons in (
        (5, 17, 10.0, (0.25, 0.5, 1.0, 2.0)),
        (15, 200, 120.0, (2.0,)),
    ):
        joint = ll.Joint.random(n_s, n_x, seed=0)
        for epsilon in epsilons:
            half = epsilon / 2
            for criterion in (
                ll.LDP(epsilon),
                ll.L1Lift(math.inf, half),
                ll.Chi2Lift(math.inf, half),
                ll.AlphaLift(2, half, half),
                ll.AlphaLift(10, half, half),
                ll.AlphaLift(100, half, half),
            ):
                result = clocked(
                    partial(ll.random_response, joint, criterion, gap=1e-4, time_limit=limit)
                )
                row(criterion, f"{n_x} x {n_s}", *described(*result))


def huge() -> None:
    print("\n### Beyond, eps = 2, 60 s\n")
    row("size", "mechanism", "NMI", "bound", "gap", "nodes", "time")
    row(*["---"] * 7)
    for n_s, n_x in ((15, 1000), (8, 2000)):
        joint, criterion = ll.Joint.random(n_s, n_x, seed=0), ll.LIP(1.0)
        subset = clocked(partial(ll.subset_random_response, joint, criterion))
        row(f"{n_x} x {n_s}", "subset random response", *described(*subset))
        ours = clocked(partial(ll.random_response, joint, criterion, gap=1e-4))
        row(f"{n_x} x {n_s}", "random response", *described(*ours))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nmemory at most {most:.2f} GB")


def growth(limit: float = 60.0) -> Iterator[tuple[int, float, float]]:
    print("\n### Growth with |X|: |S| = 8, eps = 2, gap 1e-4, 60 s\n")
    row("|X|", "NMI", "bound", "gap", "nodes", "time")
    row(*["---"] * 6)
    for n_x in (10, 20, 50, 100, 200, 500, 1000, 2000):
        joint = ll.Joint.random(8, n_x, seed=0)
        seconds, release = clocked(
            partial(ll.random_response, joint, ll.LIP(1.0), gap=1e-4, time_limit=limit)
        )
        row(n_x, *described(seconds, release))
        yield n_x, seconds, release.certificate.gap if release.certificate else math.nan


def plot(points: list[tuple[int, float, float]], path: str) -> None:
    from matplotlib.figure import Figure

    sizes, seconds, gaps = zip(*points, strict=True)
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, values, name in ((left, seconds, "seconds"), (right, gaps, "proven gap in NMI")):
        axes.loglog(sizes, values, "o-", color="#0072B2")
        axes.set_xlabel("|X|  (|S| = 8, eps = 2)")
        axes.set_ylabel(name)
        axes.grid(visible=True, which="both", alpha=0.3)
    figure.savefig(path)


def warm_up() -> None:
    """Compile, so that no row pays for it."""
    for n_x in (6, 30):
        joint = ll.Joint.random(3, n_x, seed=0)
        ll.subset_random_response(joint, ll.LIP(0.2))
        for criterion in (ll.LIP(0.2), ll.LDP(0.4)):
            ll.random_response(joint, criterion, gap=1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--plot")
    options = parser.parse_args()
    sections: dict[str, Callable[[], object]] = {
        "textbook": textbook_17x5,
        "large": large_200x15,
        "criteria": other_criteria,
        "huge": huge,
    }
    machine()
    warm_up()
    for name, section in sections.items():
        if not options.sections or name in options.sections:
            section()
    if not options.sections or "growth" in options.sections:
        points = list(growth())
        if options.plot:
            plot(points, options.plot)


if __name__ == "__main__":
    main()
