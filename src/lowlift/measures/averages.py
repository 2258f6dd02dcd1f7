"""Measures with one value per channel: information, divergences, best guesses."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_choice
from lowlift._arrays import Floats
from lowlift._channel import Channel
from lowlift._joint import Joint
from lowlift._kernels import lift as kernel
from lowlift.criteria.averaged import check_alpha
from lowlift.errors import InvalidInput
from lowlift.measures.outputs import chi2_lift, l1_lift, measure, prepared


def entropy(p: npt.ArrayLike) -> float:
    """Return -sum p log p in nats.

    Parameters
    ----------
    p
        Probabilities of any shape, which sum to 1 within 1e-9.

    Examples
    --------
    >>> entropy([0.5, 0.5]) == math.log(2)
    True
    """
    try:
        values = np.array(math.nan) if np.iscomplexobj(p) else np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(math.nan)
    if (
        not np.isfinite(values).all()
        or (values < 0).any()
        or abs(math.fsum(values.flat) - 1) > 1e-9
    ):
        raise InvalidInput("p must be probabilities that sum to 1 within 1e-9.")
    return kernel.entropy(values)


@measure
def mutual_information(joint: Joint, channel: Channel, of: str = "x") -> float:
    """Return I(X;Y), or I(S;Y) with ``of="s"``, in nats.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 1], [1, 1]])
    >>> mutual_information(joint, Channel.identity(joint)) == math.log(2)
    True
    """
    check_choice(of, "of", ("x", "s"))
    known = prepared(joint, channel)
    if of == "x":
        return information_x(joint, channel, known.p_y)
    return max(0.0, float(np.add.reduce(known.p_sy * known.information, axis=None)))


def information_x(joint: Joint, channel: Channel, masses_y: Floats) -> float:
    """Return I(X;Y) in nats, from the masses of the outputs that are already at hand."""
    p_y = masses_y / masses_y.sum()
    if channel.denominator == 1:  # Y is a function of X: I(X;Y) = H(Y)
        return max(0.0, float(-(p_y * np.log(p_y)).sum()))
    share = channel.member_weights / channel.denominator
    gain = np.log(share) - np.log(p_y)[channel.entry_outputs]
    return max(0.0, float((joint.p_x[channel.members] * share * gain).sum()))


@measure
def normalized_mutual_information(joint: Joint, channel: Channel) -> float:
    """Return I(X;Y) / H(X), in [0, 1]; 1 when H(X) = 0, as then nothing is lost.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 1, 2], [1, 1, 2]])
    >>> merged = Channel.from_blocks(joint, [[0, 1], [2]])
    >>> round(normalized_mutual_information(joint, merged), 4)
    0.6667
    """
    return normalized(joint, mutual_information(joint, channel))


def normalized(joint: Joint, information: float) -> float:
    """Return information / H(X) cut to [0, 1]; 1 when H(X) = 0."""
    return min(1.0, information / joint.entropy_x) if joint.entropy_x > 0 else 1.0


def _average(
    joint: Joint, channel: Channel, per_output: Callable[[Joint, Channel], Floats]
) -> float:
    return float(prepared(joint, channel).p_y @ per_output(joint, channel))


@measure
def total_variation(joint: Joint, channel: Channel) -> float:
    """Return T(S;Y) = E[l1-lift(Y)] / 2, the mean total variation of P(s|y) from P(s).

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> round(total_variation(joint, Channel.identity(joint)), 4)
    0.25
    """
    return _average(joint, channel, l1_lift) / 2


@measure
def chi2_divergence(joint: Joint, channel: Channel) -> float:
    """Return chi2(S;Y) = E[chi2-lift(Y)].

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> round(chi2_divergence(joint, Channel.identity(joint)), 4)
    0.25
    """
    return _average(joint, channel, chi2_lift)


@measure
def sibson_information(joint: Joint, channel: Channel, alpha: float) -> float:
    """Return Sibson's I_alpha(S;Y) in nats: alpha/(alpha-1) log E[alpha-lift(Y)].

    At alpha = 1 it is I(S;Y), at alpha = inf the maximal leakage.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> sibson_information(joint, Channel.identity(joint), math.inf) == math.log(1.5)
    True
    """
    if check_alpha(alpha) == 1:
        return mutual_information(joint, channel, of="s")
    if math.isinf(alpha):
        return maximal_leakage(joint, channel)
    known = prepared(joint, channel)
    p_y = known.p_y
    if alpha >= _NEAR_ONE and alpha * known.largest_log < _NO_OVERFLOW:
        # No mean is below 1, so that nothing is lost to underflow either.
        means = joint.p_s @ known.lift**alpha
        return _scaled_log(float(p_y @ means ** (1 / alpha)), alpha)
    logs = known.log_lift
    if alpha < _NEAR_ONE:
        excess = joint.p_s @ _times_expm1(np.exp(logs), logs, alpha - 1)
        return _near_one(p_y, np.log1p(excess) / alpha, alpha)
    return _scaled_log(float(p_y @ np.exp(kernel.log_alpha_mean(logs, joint.p_s, alpha))), alpha)


@measure
def arimoto_information(joint: Joint, channel: Channel, alpha: float) -> float:
    """Return Arimoto's I_alpha(S;Y) in nats: Sibson's form under P_S tilted by alpha.

    At alpha = 1 it is I(S;Y), at alpha = inf the log of the Bayes vulnerability's gain.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> round(arimoto_information(joint, Channel.identity(joint), 2.0), 4)
    0.2231
    """
    if check_alpha(alpha) == 1:
        return mutual_information(joint, channel, of="s")
    if math.isinf(alpha):
        guessed = bayes_vulnerability(joint, channel) / prepared(joint, channel).best_guess
        return max(0.0, math.log(guessed))
    known = prepared(joint, channel)
    p_y, log_p = known.p_y, np.log(joint.p_s)
    # Columns: the posteriors, and the prior last; each gives log (sum p**alpha)**(1/alpha).
    logs = np.column_stack([known.log_lift + log_p[:, None], log_p])
    if alpha < _NEAR_ONE:
        norms = np.log1p(_times_expm1(np.exp(logs), logs, alpha - 1).sum(axis=0)) / alpha
        return _near_one(p_y, norms[:-1] - norms[-1], alpha)
    norms = kernel.log_alpha_mean(logs, np.ones(joint.n_s), alpha)
    return _scaled_log(float(p_y @ np.exp(norms[:-1] - norms[-1])), alpha)


#: Below this order the mean is so near 1 that its excess over 1 is computed instead.
_NEAR_ONE = 1.5
#: e to this power is a float.
_NO_OVERFLOW = 700.0


def _times_expm1(p: Floats, logs: Floats, power: float) -> Floats:
    """Return p (e**(power log) - 1), 0 where p is 0."""
    return p * np.expm1(power * np.where(p > 0, logs, 0.0))


def _near_one(p_y: Floats, log_mean: Floats, alpha: float) -> float:
    return max(0.0, alpha / (alpha - 1) * math.log1p(float(p_y @ np.expm1(log_mean))))


def _scaled_log(mean: float, alpha: float) -> float:
    return max(0.0, alpha / (alpha - 1) * math.log(mean))


@measure
def maximal_leakage(joint: Joint, channel: Channel) -> float:
    """Return log sum_y max_s P(y|s) in nats: Sibson's information of order inf.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> round(maximal_leakage(joint, Channel.identity(joint)), 4)
    0.4055
    """
    known = prepared(joint, channel)
    return max(0.0, math.log(known.p_y @ np.maximum.reduce(known.lift)))


@measure
def bayes_vulnerability(joint: Joint, channel: Channel) -> float:
    """Return sum_y max_s P(s, y): how often the best guess of S from Y is right.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> bayes_vulnerability(joint, Channel.identity(joint))
    0.75
    """
    return float(np.add.reduce(np.maximum.reduce(prepared(joint, channel).p_sy)))
