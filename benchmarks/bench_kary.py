"""k-ary randomised response at the same bound: what it keeps of X, and the time to draw a column.

Its budget is the largest for which the exact audit of S and Y holds (`kary.largest_epsilon`): the
user of OpenDP or multi-freq-ldpy who knows P(s, x) and tunes the budget to it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import inputs
import kary
import numpy as np
import pytest
from contest import Contender, Job

import lowlift as ll

JOINTS: dict[str, Callable[[], ll.Joint]] = {
    "titanic": ll.datasets.titanic,
    "clinic": lambda: inputs.clinic().joint(),
    "random 17 x 5": lambda: ll.Joint.random(5, 17, seed=0),
    "random 6 x 3": lambda: ll.Joint.random(3, 6, seed=0),
}


def by_opendp(k: int, epsilon: float, column: Any) -> Callable[[], Any]:
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    respond = dp.m.make_randomized_response(list(range(k)), kary.truth(k, epsilon))
    symbols = column.tolist()
    return lambda: [respond(x) for x in symbols]


def by_multi_freq_ldpy(k: int, epsilon: float, column: Any) -> Callable[[], Any]:
    respond = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
    symbols = column.tolist()
    return lambda: [respond(x, k, epsilon) for x in symbols]


@pytest.mark.sizes(
    tiny=[("random 6 x 3", 0.2)],
    quick=[("titanic", 0.5), ("random 17 x 5", 0.5), ("clinic", 0.5)],
    full=[
        (name, bound)
        for name in ("titanic", "random 17 x 5", "clinic")
        for bound in (0.25, 0.5, 1.0)
    ],
)
def bench_randomised_response(contest: Any, form: str, size: tuple[str, float]) -> None:
    name, bound = size
    joint, criterion = JOINTS[name](), ll.LIP(bound)
    best = ll.random_response(joint, criterion, gap=1e-3)
    epsilon = kary.largest_epsilon(joint, criterion)
    verdict = ll.audit(joint, kary.channel_of(joint, epsilon), criterion)
    rows = 500 if form == "tiny" else 10_000
    column = np.random.default_rng(0).choice(joint.n_x, rows, p=joint.p_x / joint.p_x.sum())
    settings = f"eps = {epsilon:.3f}, the largest that the audit of S allows"
    words = "our audit: satisfied" if verdict.is_satisfied else "our audit: VIOLATED"
    others = [
        Contender(
            who, make(joint.n_x, epsilon, column), lambda _: verdict.nmi, settings, lambda _: words
        )
        for who, make in (
            ("OpenDP make_randomized_response", by_opendp),
            ("multi-freq-ldpy GRR_Client", by_multi_freq_ldpy),
        )
    ]
    proven = best.certificate.upper_bound if best.certificate else best.audit.nmi
    ours = Contender(
        "lowlift random_response",
        lambda: best.sample_indices(column),
        lambda _: best.audit.nmi,
        "gap 1e-3; draws by the system's entropy",
        lambda _: f"our audit: satisfied, at most {proven:.4f} for any mechanism",
    )
    job = Job(
        "k-ary randomised response",
        f"draw {rows:,} values",
        f"{name}: |X| = {joint.n_x}, |S| = {joint.n_s}",
        "NMI",
        str(criterion),
    )
    contest(job, ours, others)
