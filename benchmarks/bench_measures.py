"""Leakage measures against qif (C++) and dit: the values agree; time beside.

Ours take the joint of S and X and the channel of X, and keep P(s, y) with the channel after the
first measure; the rivals get P(y|s) or P(s, y) ready, in the form that they ask for.
"""

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from contest import Contender, Job

import lowlift as ll
from lowlift import measures

NATS = math.log(2)


def release_of(n_s: int, n_x: int) -> tuple[ll.Joint, ll.Channel]:
    joint = ll.Joint.random(n_s, n_x, seed=0)
    return joint, ll.subset_merging(joint, ll.LIP(0.5)).channel


def by_qif(joint: ll.Joint, channel: ll.Channel) -> dict[str, Callable[[], float]]:
    qif = import_module("qif")

    p_sy = joint.p_sx @ channel.p_y_given_x
    p = np.ascontiguousarray(p_sy / p_sy.sum(axis=1, keepdims=True))
    bayes, prior = qif.measure.bayes_vuln, joint.p_s
    return {
        "maximal leakage": lambda: math.log(bayes.mult_capacity(p)),
        "LDP": lambda: qif.measure.d_privacy.smallest_epsilon(p, lambda _i, _j: 1.0),
        "I(S;Y)": lambda: qif.measure.shannon.add_leakage(prior, p) * NATS,
        "Arimoto information, order inf": lambda: bayes.min_entropy_leakage(prior, p) * NATS,
        "Bayes vulnerability": lambda: bayes.posterior(prior, p),
    }


def by_dit(joint: ll.Joint, channel: ll.Channel) -> dict[str, Callable[[], float]]:
    dit = import_module("dit")
    sibson = import_module("dit.other").sibson_mutual_information_pmf

    p_sy = joint.p_sx @ channel.p_y_given_x
    p_sy /= p_sy.sum()
    outcomes = [(s, y) for s in range(joint.n_s) for y in range(channel.n_y)]
    distribution = dit.Distribution(outcomes, p_sy.ravel().tolist())
    information = dit.shannon.mutual_information
    return {
        "maximal leakage": lambda: float(sibson(p_sy, math.inf)) * NATS,
        "I(S;Y)": lambda: float(information(distribution, [0], [1])) * NATS,
        "Sibson information, order 2": lambda: float(sibson(p_sy, 2.0)) * NATS,
    }


OURS: dict[str, Callable[..., float]] = {
    "maximal leakage": measures.maximal_leakage,
    "LDP": lambda joint, channel: measures.local_differential_privacy(joint, channel).epsilon,
    "I(S;Y)": partial(measures.mutual_information, of="s"),
    "Sibson information, order 2": partial(measures.sibson_information, alpha=2),
    "Arimoto information, order inf": partial(measures.arimoto_information, alpha=math.inf),
    "Bayes vulnerability": measures.bayes_vulnerability,
}


@pytest.mark.sizes(tiny=[(3, 6)], quick=[(5, 17), (15, 200)], full=[(5, 17), (15, 200), (20, 2000)])
@pytest.mark.parametrize("measure", OURS)
def bench_measure(contest: Any, measure: str, size: tuple[int, int]) -> None:
    joint, channel = release_of(*size)
    others = [
        Contender(package, found[measure], settings="P(s, y) given")
        for package, found in (("qif", by_qif(joint, channel)), ("dit", by_dit(joint, channel)))
        if measure in found
    ]
    ours = Contender(
        "lowlift measures",
        partial(OURS[measure], joint, channel),
        settings="P(s, x) and P(y|x) given; P(s, y) kept after the first call",
    )
    job = Job(
        "Leakage measures",
        measure,
        f"|S| = {joint.n_s}, |X| = {joint.n_x}, |Y| = {channel.n_y}",
        f"{measure} in nats" if measure != "Bayes vulnerability" else measure,
        better="same",
        tolerance=1e-9,
    )
    contest(job, ours, others)
