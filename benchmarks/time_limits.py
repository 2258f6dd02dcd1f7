"""How long each mechanism takes against its time limit, at many sizes: run it as a script.

Every line is one call after compilation: seconds over the limit must be at most 1 + 5% of it.
"""

import argparse
import functools
import itertools
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import inputs
import numpy as np

import lowlift as ll

#: Generated joints, |X| by |S|.
SIZES = ((50, 50), (200, 15), (1000, 15), (2000, 2), (9238, 2), (20_000, 2))
#: The same, with counts from 0 to the last number; and symbols of a random joint with two values.
COUNTS = ((100_000, 2, 199), (50_000, 3, 11))
LARGEST = 100_000
LIMITS = (1.0, 2.0, 5.0)
CRITERIA = (ll.LIP(0.5), ll.AlphaLift(2.0, 0.5, 0.5), ll.L1Lift(0.3, 0.3))
MECHANISMS: dict[str, Callable[..., ll.Release]] = {
    "random_response": ll.random_response,
    "subset_random_response": ll.subset_random_response,
    "subset_merging": ll.subset_merging,
    "optimal_merging": ll.optimal_merging,
    "watchdog": ll.watchdog,
}


def joint_of(n_x: int, n_s: int) -> ll.Joint:
    """Return a joint as a table of counts would give it: common and rare symbols, zero cells."""
    rng = np.random.default_rng(n_x)
    p_x = rng.dirichlet(np.full(n_x, 0.5))
    p_s_given_x = rng.dirichlet(np.full(n_s, 2.0), n_x)
    counts = rng.poisson(20 * n_x * p_x[:, None] * p_s_given_x)
    return ll.Joint.from_counts((counts + (counts.sum(axis=1) == 0)[:, None]).T)


def makers(most: int) -> Iterator[tuple[str, Callable[[], ll.Joint]]]:
    """Yield each joint's name and how to make it: the real ones, and up to `most` symbols."""
    for columns in (2, 3, 4, 6):
        words = f"happiness, {columns} columns"
        yield words, functools.partial(inputs.happiness, columns, "vhappy")
    for size in SIZES:
        if size[0] <= most:
            yield "counts, common and rare", functools.partial(joint_of, *size)
    if most >= LARGEST:
        yield "random", functools.partial(ll.Joint.random, 2, LARGEST, seed=0)
    for n_x, n_s, largest in COUNTS:
        if n_x <= most:
            words = f"counts from 0 to {largest}"
            yield words, functools.partial(inputs.counted, n_x, n_s, largest)


def measure(name: str, joint: ll.Joint, criterion: ll.Criterion, limit: float) -> float:
    """Run once, print a line, and return the seconds over what is allowed."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = MECHANISMS[name](joint, criterion, time_limit=limit)
    seconds = time.perf_counter() - start
    certificate = release.certificate
    bound = f"{certificate.upper_bound:.4f}" if certificate else ""
    stopped = "stopped" if certificate and certificate.is_stopped else ""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    over = seconds - limit - 1 - 0.05 * limit
    print(
        f"{name:23} {joint.n_x:6} x {joint.n_s:<3} {criterion!s:38} limit {limit:4.0f} s, "
        f"took {seconds:6.2f} s{' LATE' if over > 0 else '':5} NMI {release.audit.nmi:.4f} "
        f"bound {bound:6} {stopped:7} {peak:6.0f} MB",
        flush=True,
    )
    assert release.audit.is_satisfied
    return over


def main() -> int:
    """Measure what was asked for; return 1 when a call took longer than allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=float, nargs="+", default=LIMITS)
    parser.add_argument("--mechanisms", nargs="+", default=list(MECHANISMS), choices=MECHANISMS)
    parser.add_argument("--least", type=int, default=0, help="symbols of X, at least")
    parser.add_argument("--most", type=int, default=LARGEST, help="symbols of a generated X")
    asked = parser.parse_args()
    for n_s, criterion in itertools.product((2, 3), CRITERIA):  # compile
        small = ll.Joint.random(n_s, 30, seed=0)
        for name, run in MECHANISMS.items():
            if "response" not in name or getattr(criterion, "is_convex", True):
                keywords = {"gap": 1e-2} if name == "random_response" else {}
                run(small, criterion, **keywords, time_limit=600.0)
    late = 0
    for words, make in makers(asked.most):
        joint = make()
        if joint.n_x < asked.least:
            continue
        print(f"{words}:")
        for criterion in CRITERIA:
            for name in asked.mechanisms:
                if "response" in name and not getattr(criterion, "is_convex", True):
                    continue
                late += sum(measure(name, joint, criterion, limit) > 0 for limit in asked.limits)
    print(f"{late} calls took longer than their limit and 1 s + 5%.")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
