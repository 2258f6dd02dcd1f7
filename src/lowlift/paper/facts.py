"""Small facts on which we differ from the paper, each recomputed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats
from lowlift._audit import audit
from lowlift._channel import Channel
from lowlift._joint import Joint
from lowlift.criteria import ALIP, LIP
from lowlift.errors import InvalidInput, SolverFailed
from lowlift.paper.vertices import vertices_of


@dataclass(frozen=True)
class PolytopeTest:
    """Blocks that violate ALIP when merged, and what two tests say of them.

    Of `violating`, `nonempty` have a posterior that ALIP allows, which is what Algorithm 2 asks;
    of `mixable` the vertices can be mixed to P_X on the block, which is what its program needs.
    """

    violating: int
    nonempty: int
    mixable: int


def polytope_test(blocks: int = 500, seed: int = 0) -> PolytopeTest:
    """Try Algorithm 2's test on so many random blocks that violate ALIP when merged.

    A block is two to six symbols of a random 5 x 17 joint, with budgets of 0.25 to 2 in all, split
    at lambda 0.35, 0.5 or 0.65. It takes a few ms: one or two linear programs.

    Examples
    --------
    >>> found = polytope_test(20)
    >>> found.violating, found.nonempty > 0, found.mixable
    (20, True, 0)
    """
    if blocks < 1:
        raise InvalidInput(f"blocks must be 1 or more; got {blocks}.")
    rng = np.random.default_rng(seed)
    violating = nonempty = mixable = 0
    while violating < blocks:
        joint = Joint.random(5, 17, rng)
        criterion = ALIP.split(rng.integers(1, 9) / 4, float(rng.choice([0.35, 0.5, 0.65])))
        block = rng.choice(joint.n_x, rng.integers(2, 7), replace=False)
        lift, share = joint.lift[:, block], joint.p_x[block] / joint.p_x[block].sum()
        low, high = math.exp(-criterion.lower), math.exp(criterion.upper)
        merged = lift @ share
        if merged.min() >= low and merged.max() <= high:
            continue
        violating += 1
        if _is_nonempty(lift, low, high):
            nonempty += 1
            mixable += _is_mixable(vertices_of(lift, low, high), share)
    return PolytopeTest(violating, nonempty, mixable)


def _is_nonempty(lift: Floats, low: float, high: float) -> bool:
    """Tell whether some posterior v has low <= lift @ v <= high."""
    n_s, n_x = lift.shape
    offsets = np.repeat([high, -low], n_s)
    return _is_feasible(
        n_x, A_ub=np.vstack([lift, -lift]), b_ub=offsets, A_eq=np.ones((1, n_x)), b_eq=np.ones(1)
    )


def _is_mixable(vertices: Floats, p_x: Floats) -> bool:
    """Tell whether the vertices (k, |X|) can be mixed to p_x: the program (optim1)."""
    return len(vertices) > 0 and _is_feasible(len(vertices), A_eq=vertices.T, b_eq=p_x)


def _is_feasible(size: int, **rows: Floats) -> bool:
    from scipy.optimize import linprog

    answer = linprog(np.zeros(size), **rows)
    if answer.status not in {0, 2}:
        raise SolverFailed(f"a feasibility program has no answer: {answer.message}")
    return bool(answer.status == 0)


@dataclass(frozen=True)
class Mixture:
    """A measure of two outputs, and of the one output that both are mixed to."""

    measure: str
    p_s: tuple[float, ...]
    #: The masses of the two outputs in the mixture.
    shares: tuple[float, float]
    first: float
    second: float
    mixed: float

    @property
    def is_raised(self) -> bool:
        """Whether the mixture has more than either output: then the measure is not convex."""
        return self.mixed > max(self.first, self.second)


def inverse_is_not_convex() -> tuple[Mixture, Mixture]:
    """Return two outputs whose mixture has a larger l1-, or chi2-lift-inverse, than either.

    Examples
    --------
    >>> [(item.measure, item.is_raised) for item in inverse_is_not_convex()]
    [('l1-lift-inverse', True), ('χ²-lift-inverse', True)]
    """
    return (
        _mixture(
            "l1-lift-inverse",
            1,
            ("0.166", "0.622", "0.212"),
            (("0.952", "0.678", "1.984"), ("2.282", "0.66", "0.992")),
            ("0.52", "0.48"),
        ),
        _mixture(
            "χ²-lift-inverse",
            2,
            ("0.8017", "0.1353", "0.0629"),
            (("0.7129", "1.2418", "4.1396"), ("0.7198", "2.6166", "1.0931")),
            ("0.5", "0.5"),
        ),
    )


def _mixture(
    measure: str,
    power: int,
    p_s: Sequence[str],
    lifts: Sequence[Sequence[str]],
    shares: tuple[str, str],
) -> Mixture:
    """Return the measure sum P(s) |1/l - 1|**power of decimal lifts, scaled to average to 1."""
    weights = [Fraction(p) for p in p_s]
    prior = [p / sum(weights) for p in weights]
    outputs = []
    for output in lifts:
        values = [Fraction(v) for v in output]
        mean = sum(p * v for p, v in zip(prior, values, strict=True))
        outputs.append([v / mean for v in values])
    first, second = map(Fraction, shares)
    outputs.append([first * a + second * b for a, b in zip(*outputs, strict=True)])
    found = [
        float(sum(p * abs(1 / v - 1) ** power for p, v in zip(prior, output, strict=True)))
        for output in outputs
    ]
    return Mixture(measure, tuple(map(float, prior)), (float(first), float(second)), *found)


@dataclass(frozen=True)
class Composition:
    """Two releases of the same X that keep LIP each, and what both together leak.

    Budgets and leakages are in nats; `lifts` are those of the output that reveals most.
    """

    epsilon: float
    each_satisfied: bool
    together_satisfied: bool
    together: float
    lifts: tuple[float, ...]


def composition() -> Composition:
    """Return two releases with lift 1 each (LIP at budget 0) that together reveal a symbol.

    With P(s=1|x) = (.2, .4, .6, .8), one release has the atom {x1: 1/4, x3: 3/4}, the other
    {x1: 1/2, x4: 1/2}; who sees both knows that X = x1. The verdicts are exact.

    Examples
    --------
    >>> both = composition()
    >>> both.each_satisfied, both.together_satisfied, round(both.together, 4)
    (True, False, 0.9163)
    """
    epsilon = 0.0
    joint = Joint.from_counts([[1, 2, 3, 4], [4, 3, 2, 1]])
    first = Channel([[1, 3], [0, 4], [3, 1], [0, 4]])
    second = Channel([[1, 1], [0, 2], [0, 2], [1, 1]])
    both = np.einsum("xa,xb->xab", first.weights, second.weights).reshape(joint.n_x, -1)
    each = [audit(joint, channel, LIP(epsilon)).is_satisfied for channel in (first, second)]
    found = audit(joint, Channel(both), LIP(2 * epsilon))
    worst = np.abs(np.log(found.lift)).max(axis=0).argmax()
    return Composition(
        epsilon,
        all(each),
        found.is_satisfied,
        max(found.min_lift_leakage, found.max_lift_leakage),
        tuple(found.lift[:, worst].tolist()),
    )


@dataclass(frozen=True)
class AboveOptimum:
    """A budget at which the printed subset random response keeps more than the printed optimum."""

    epsilon: float
    srr: float
    aorr: float

    @property
    def excess(self) -> float:
        """How much more NMI the printed response has."""
        return self.srr - self.aorr


def figure5_above_optimum(printed: Mapping[str, Mapping[float, float]]) -> list[AboveOptimum]:
    """List the budgets of Figure 5 at which the NMI of "srr" exceeds that of "aorr".

    `printed` has NMI by epsilon for both; budgets that only one has are left out.

    Examples
    --------
    >>> found = figure5_above_optimum({"srr": {1.0: 0.8, 5.0: 1.0}, "aorr": {1.0: 0.9, 5.0: 0.99}})
    >>> [(item.epsilon, round(item.excess, 6)) for item in found]
    [(5.0, 0.01)]
    """
    srr, aorr = printed["srr"], printed["aorr"]
    both = sorted(srr.keys() & aorr.keys())
    return [AboveOptimum(e, srr[e], aorr[e]) for e in both if srr[e] > aorr[e]]


class Allowed(NamedTuple):
    """The largest mean leakages that Propositions 6 and 4 leave, in nats."""

    min_lift_leakage: float
    max_lift_leakage: float


def proposition_bounds(
    joints: Iterable[Joint], epsilon: float, lam: float, kind: str, alpha: float = math.inf
) -> Allowed:
    """Return the mean over joints of the leakages that Propositions 6 and 4 allow.

    Both are taken at the rarest s, where they allow most: log(1 + (e**b - 1) / P(s)) for l1,
    log(1 + (e**b - 1) / sqrt(P(s))) for chi2, b - log(P(s)) / alpha for alpha-lift, with
    b = ``lam * epsilon`` for the min-lift and ``(1 - lam) * epsilon`` for the max-lift. `kind` is
    "l1", "chi2" or "alpha", of the order `alpha`.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> low, high = proposition_bounds([joint], 1.0, 0.5, "alpha", 2)
    >>> round(low, 4), round(high, 4)  # 1/2 + log(2) / 2
    (0.8466, 0.8466)
    """
    rarest = np.array([joint.p_s.min() for joint in joints])
    if not rarest.size:
        raise InvalidInput("joints must not be empty.")
    if kind not in {"l1", "chi2", "alpha"}:
        raise InvalidInput(f'kind must be "l1", "chi2" or "alpha"; got {kind!r}.')
    if not alpha >= 1:
        raise InvalidInput(f"alpha must be 1 or more; got {alpha!r}.")
    budgets = ALIP.split(epsilon, lam)
    found = []
    for budget in (budgets.lower, budgets.upper):
        if kind == "alpha":
            leakages = budget - np.log(rarest) / alpha
        else:
            scale = rarest if kind == "l1" else np.sqrt(rarest)
            leakages = np.log1p(math.expm1(budget) / scale)
        found.append(float(leakages.mean()))
    return Allowed(*found)
