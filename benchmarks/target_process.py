"""One call in a process of its own, so that its peak memory is known; run by `bench_alphabets`.

Usage: target_process.py JSON, with
    {"joint": [name, arguments], "criterion": [name, arguments], "who": "lowlift" or a rival,
     "gap": 1e-4, "limit": 10.0}
It prints a line of JSON. The kernels are compiled, and everything is imported, before the call.
"""

import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import inputs
import vertices

import lowlift as ll
from lowlift._solver.classes import Classes

JOINTS: dict[str, Callable[..., ll.Joint]] = {
    "random": lambda n_x, n_s, seed: ll.Joint.random(n_s, n_x, seed=seed),
    "happiness": inputs.happiness,
}
CRITERIA: dict[str, Callable[..., Any]] = {
    "ALIP": ll.ALIP.split,
    "chi2": lambda budget: ll.Chi2Lift(math.inf, budget),
    "alpha": lambda alpha, budget: ll.AlphaLift(alpha, budget, budget),
}
#: The plain program of all pairs, by linprog's method. A pair takes about 1 KB: more than this many
#: are not run, so that the benchmarks need no more than 2 GB.
PAIRS = {"all pairs, HiGHS simplex": "highs-ds", "all pairs, HiGHS interior point": "highs-ipm"}
MOST_PAIRS = 2_000_000
VERTICES = {
    "qhull + HiGHS": vertices.vertices_by_qhull,
    "cddlib + HiGHS": vertices.vertices_by_cddlib,
}
#: A call shorter than this, in seconds, is repeated, and the median is reported.
SHORT, MOST_CALLS = 0.5, 50


def peak() -> float:
    """Return the largest resident memory of this process, in MB.

    Linux's ru_maxrss counts the process that started this one, too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text("utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, the median of a few where it is short, and the result."""
    found: list[float] = []
    while not found or (found[0] < SHORT and len(found) < MOST_CALLS and sum(found) < 2 * SHORT):
        start = time.perf_counter()
        result = run()
        found.append(time.perf_counter() - start)
    return median(found), result


def ours(joint: ll.Joint, criterion: ll.Criterion, gap: float, limit: float) -> dict[str, Any]:
    """Return what `random_response` reaches."""
    small = ll.Joint.random(joint.n_s, 20, seed=0)
    ll.random_response(small, criterion, gap=1e-2)
    run = partial(ll.random_response, joint, criterion, gap=gap, time_limit=limit)
    seconds, release = timed(run)
    highest = peak()
    certificate = release.certificate
    if not release.audit.is_satisfied or certificate is None:
        raise AssertionError("A release must satisfy its criterion and have a certificate.")
    return {
        "seconds": seconds,
        "nmi": release.audit.nmi,
        "gap": certificate.gap,
        "memory_mb": highest,
        "n_x": joint.n_x,
        "n_s": joint.n_s,
        "classes": len(Classes(joint)),
        "criterion": str(criterion),
    }


def listed_and_mixed(who: str, joint: ll.Joint, criterion: ll.ALIP) -> float:
    """Return the NMI of the best mixture of all vertices."""
    return vertices.mixed_by_highs(joint, VERTICES[who](joint, criterion))


def rival(who: str, joint: ll.Joint, criterion: ll.ALIP, limit: float) -> dict[str, Any]:
    """Return what another route reaches; symbols with equal columns are one for it, too."""
    classes = Classes(joint)
    run: Callable[[], float]
    if who in PAIRS:
        pairs = vertices.pairs_of_two(classes.joint, criterion)
        if pairs > MOST_PAIRS:
            return {"why": f"not run, {pairs / 1e6:,.1f} million pairs (about 1 KB each)"}
        vertices.pairs_by_linprog(ll.Joint.random(2, 20, seed=0), criterion, PAIRS[who], limit)
        run = partial(vertices.pairs_by_linprog, classes.joint, criterion, PAIRS[who], limit)
    else:
        run = partial(listed_and_mixed, who, classes.joint, criterion)
        try:
            run()
        except ImportError as error:
            return {"why": str(error)}
    seconds, found = timed(run)
    if math.isnan(found):
        return {"why": f"no answer in {limit:.0f} s"}
    # I(X;Y) = H(X) - H(classes) + I(classes;Y).
    lost = (1 - found) * classes.joint.entropy_x / joint.entropy_x
    return {"seconds": seconds, "nmi": 1 - lost, "memory_mb": peak()}


def main() -> None:
    """Do what is asked."""
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    (name, *arguments), (kind, *budgets) = asked["joint"], asked["criterion"]
    joint, criterion = JOINTS[name](*arguments), CRITERIA[kind](*budgets)
    if asked["who"] == "lowlift":
        answer = ours(joint, criterion, asked["gap"], asked["limit"])
    else:
        answer = rival(asked["who"], joint, criterion, asked["limit"])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
