"""Whether new rows prove that a channel, fixed before they came, breaks its bound.

A bound on an output y reads ``P(s, y) <= tau(pi) P(y)`` with pi = P(s) and tau affine. With
``w = P(y|x)`` of a row and any constant h known before, the score::

    Z = w (1[s] - tau(pi)) - h (1[s] - pi)

has a mean of at most 0 if the bound holds, as the last term has mean 0. So the product over rows of
``1 + lambda Z`` has a mean of at most 1 (an e-value), and so has a mean of such products over
lambdas, outputs, values and sides that were fixed before. By Markov's inequality that mean passes
``1 / alpha`` with a chance of at most alpha. P(s) is not known: the least product over a confidence
interval of it is taken. Each factor is affine in pi, so the log of the product is concave, and the
least is at an end.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats
from lowlift._population.rows import interval_of
from lowlift.criteria import (
    LDP,
    AlphaLift,
    AtMost,
    BuiltIn,
    Chi2Lift,
    Criterion,
    EveryPrior,
    L1Lift,
)

#: The part of alpha that the intervals of P(s) may have.
_PRIOR_SHARE = 0.1
#: Lambdas, as parts of the largest at which no factor was negative for the design's P(s).
_PARTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7)
#: More than the relative rounding of a sum of logarithms.
_ROUNDING = 1e-9


class Evidence(NamedTuple):
    """How strongly rows speak against a bound: they prove it broken from `needed` on."""

    #: The logarithm of the mean e-value, rounded down, and what it must reach.
    log_value: float
    needed: float
    alpha: float

    @property
    def is_proof(self) -> bool:
        """Whether the rows prove the bound broken, with an error of at most alpha."""
        return self.log_value >= self.needed

    @property
    def words(self) -> str:
        """The evidence, and how much of it is proof."""
        value = self.log_value
        odds = f"{math.exp(value):,.0f}" if value < 40 else f"e**{math.floor(value):,}"
        proof = math.ceil(math.exp(self.needed))
        return f"their evidence against it is {odds} to 1, and {proof:,} to 1 is proof"


class _Side(NamedTuple):
    """A bound ``sign (P(s, y) - tau(pi) P(y)) <= 0`` with ``tau(pi) = slope pi + start``."""

    sign: float
    slope: float
    start: float


def evidence_against(
    counts: Floats,
    channel: Floats,
    criterion: Criterion,
    before: tuple[Floats, Floats],
    alpha: float,
) -> Evidence:
    """Return how strongly counted rows speak against a bound of a channel.

    Parameters
    ----------
    counts
        New rows by S and X, (|S|, |X|).
    channel
        P(y | x), (|X|, |Y|), chosen before.
    criterion
        A built-in criterion; of LDP, l1-, chi2- and alpha-lift, bounds on single values that follow
        are tested.
    before
        P(s) and P(y) as they were known before: they steer the test, which is valid for any.
    alpha
        The error: the probability of a proof where the bound holds is at most this.
    """
    p_s, p_y = before
    n_s = len(counts)
    sets = 1 if n_s == 2 else n_s
    outside = counts.sum(axis=0) - counts
    found: list[Floats] = []
    for s in range(n_s):
        prior = interval_of(counts[s].sum(), counts.sum(), _PRIOR_SHARE * alpha / (2 * sets))
        ends = [float(end) for end in prior]
        for side in _sides(criterion, s, float(p_s[s])):
            scores = [_scores(channel, side, p_y, pi) for pi in (*ends, float(p_s[s]))]
            found.append(_log_values(counts[s], outside[s], scores))
    if not found:
        return Evidence(-math.inf, math.inf, alpha)
    values = np.concatenate(found)
    mean = float(np.logaddexp.reduce(values)) - math.log(len(values))
    return Evidence(mean - 1e-9, -math.log((1 - _PRIOR_SHARE) * alpha), alpha)


def _sides(criterion: Criterion, s: int, p_s: float) -> Iterator[_Side]:
    """Yield bounds on one value of S that follow from a criterion, rounded to the loose side."""
    criterion = criterion.in_nats if isinstance(criterion, BuiltIn) else criterion
    lower, upper = criterion.lower, criterion.upper
    if isinstance(criterion, L1Lift | Chi2Lift | AlphaLift) and not criterion.is_box:
        yield from _sides_of_mean(criterion, p_s)
        return
    if isinstance(criterion, LDP):
        lower = upper = criterion.epsilon
    elif isinstance(criterion, AtMost):
        upper = lower
        for place, belief in criterion.bounds():
            if place == s:
                yield _Side(1.0, 0.0, _up(float(belief)))
    elif not (isinstance(criterion, EveryPrior) or getattr(criterion, "is_box", False)):
        return
    if upper < 700:
        yield _Side(1.0, _up(math.exp(upper)), 0.0)
    if lower < 700:
        yield _Side(-1.0, _down(math.exp(-lower)), 0.0)


def _sides_of_mean(criterion: L1Lift | Chi2Lift | AlphaLift, p_s: float) -> Iterator[_Side]:
    """Yield bounds on one value of S that follow from one on a mean over S.

    ``|P(s|y) - P(s)|`` is at most half the l1-lift, and ``sqrt(chi2 P(s) (1 - P(s)))``. Of the
    alpha-lift, ``P(s|y) <= e**upper P(s)**(1 - 1/alpha)`` and ``>= e**-lower P(s)**(1 + 1/alpha)``:
    the tangents at `p_s` are above the one and below the other.
    """
    if not isinstance(criterion, AlphaLift):
        if criterion.upper < 700:
            half = _up(math.expm1(criterion.upper) / 2)
            yield _Side(1.0, 1.0, half)
            yield _Side(-1.0, 1.0, -half)
        return
    part = 1 / criterion.alpha
    for sign, budget in ((1.0, criterion.upper), (-1.0, -criterion.lower)):
        power = 1 - sign * part
        if abs(budget) < 700 and power > 0:
            top = math.exp(budget) * p_s**power
            yield _Side(sign, power * top / p_s, (1 - power) * top + sign * 1e-12 * top)


def _up(value: float) -> float:
    return value * (1 + 1e-15)


def _down(value: float) -> float:
    return value * (1 - 1e-15)


def _scores(channel: Floats, side: _Side, p_y: Floats, pi: float) -> tuple[Floats, Floats]:
    """Return Z of rows with s and of rows without, by symbol and output."""
    tau, h = side.slope * pi + side.start, (side.slope + side.start) * p_y
    with_s = channel * (1 - tau) - h * (1 - pi)
    without = h * pi - channel * tau
    return side.sign * with_s, side.sign * without


def _log_values(inside: Floats, outside: Floats, scores: list[tuple[Floats, Floats]]) -> Floats:
    """Return per lambda and output the log of the least product over the ends of P(s).

    The last of the scores are those at the design's P(s), which set the scale of lambda. A product
    with a negative factor at an end counts as 0.
    """
    *ends, design = scores
    scale = np.maximum(-np.minimum(design[0].min(axis=0), design[1].min(axis=0)), 1e-12)
    out = []
    for part in _PARTS:
        rate = part / scale
        logs = []
        for with_s, without in ends:
            first, second = 1 + rate * with_s, 1 + rate * without
            is_valid = (first.min(axis=0) > 0) & (second.min(axis=0) > 0)
            terms = np.log(np.maximum(first, 1e-300)), np.log(np.maximum(second, 1e-300))
            total = inside @ terms[0] + outside @ terms[1]
            size = inside @ np.abs(terms[0]) + outside @ np.abs(terms[1])
            logs.append(np.where(is_valid, total - _ROUNDING * size, -np.inf))
        out.append(np.minimum(*logs))
    return np.concatenate(out)
