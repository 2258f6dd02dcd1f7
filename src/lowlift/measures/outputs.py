"""Measures with a value per output: lifts, and the lift-based and lift-inverse ones."""

import math
from collections.abc import Callable
from functools import cached_property
from inspect import cleandoc, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lowlift._arrays import Floats
from lowlift._channel import Channel, check_pair
from lowlift._joint import Joint
from lowlift._kernels import lift as kernel
from lowlift.criteria.averaged import check_alpha

F = TypeVar("F", bound=Callable[..., Any])

#: What the measures take, as their docstrings say it.
_PARAMETERS = {
    "joint": "joint\n    P(s, x).\n",
    "channel": "channel\n    P(y | x).\n",
    "of": 'of\n    "x" for I(X;Y), "s" for I(S;Y).\n',
    "alpha": "alpha\n    The order, 1 or more; inf allowed.\n",
}


def measure(function: F) -> F:
    """Write the parameters that all measures share into a docstring, before its examples."""
    taken = "".join(_PARAMETERS.get(name, "") for name in signature(function).parameters)
    said, title, examples = cleandoc(function.__doc__ or "").partition("Examples\n--------\n")
    function.__doc__ = f"{said}Parameters\n----------\n{taken}\n{title}{examples}"
    return function


class Prepared:
    """What the measures of a joint and a channel begin with; kept with the channel.

    The arrays are never handed out: who gets one may change it.

    Parameters
    ----------
    joint, channel
        Checked here, once.
    """

    def __init__(self, joint: Joint, channel: Channel) -> None:
        check_pair(joint, channel)
        self.joint = joint
        masses = channel.output_masses(joint)
        #: P(s, y), (|S|, |Y|), and P(y).
        self.p_sy: Floats = masses / masses.sum()
        self.p_y: Floats = self.p_sy.sum(axis=0)
        self.lift: Floats = masses / masses.sum(axis=0) / joint.p_s[:, None]

    @cached_property
    def log_lift(self) -> Floats:
        """The log of each lift in nats; -inf for a zero lift."""
        return kernel.log_or_minus_inf(self.lift)

    @cached_property
    def largest_log(self) -> float:
        """The log of the largest lift."""
        return math.log(float(self.lift.max()))

    @cached_property
    def best_guess(self) -> float:
        """How often a guess of S without Y is right at best."""
        return float(self.joint.p_s.max())

    @cached_property
    def information(self) -> Floats:
        """The log of each lift; 0 where P(s, y) is 0, which adds nothing to a mean."""
        return np.log(np.where(self.p_sy > 0, self.lift, 1.0))


#: Larger tables are prepared anew for each measure.
_MOST_KEPT = 1 << 20


def prepared(joint: Joint, channel: Channel) -> Prepared:
    """Return what the measures of this pair begin with: the last joint of a channel is kept."""
    kept = getattr(channel, "_prepared", None)
    if isinstance(kept, Prepared) and kept.joint is joint:
        return kept
    found = Prepared(joint, channel)
    if found.p_sy.size <= _MOST_KEPT:
        vars(channel)["_prepared"] = found
    return found


@measure
def lift(joint: Joint, channel: Channel) -> Floats:
    """Return l(s, y) = P(s|y) / P(s), (|S|, |Y|), equation 1.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> lift(joint, Channel.identity(joint))
    array([[0.5, 1.5],
           [1.5, 0.5]])
    """
    return prepared(joint, channel).lift.copy()


@measure
def log_lift(joint: Joint, channel: Channel) -> Floats:
    """Return i(s, y) = log l(s, y), (|S|, |Y|), in nats; -inf for a zero lift.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> log_lift(joint, Channel.identity(joint)).round(4)
    array([[-0.6931,  0.4055],
           [ 0.4055, -0.6931]])
    """
    return prepared(joint, channel).log_lift.copy()


@measure
def min_lift(joint: Joint, channel: Channel) -> Floats:
    """Return Psi(y) = min_s l(s, y) per output, equation 2.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> min_lift(joint, Channel.identity(joint))
    array([0.5, 0.5])
    """
    return np.asarray(np.minimum.reduce(prepared(joint, channel).lift))


@measure
def max_lift(joint: Joint, channel: Channel) -> Floats:
    """Return Lambda(y) = max_s l(s, y) per output, equation 2.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> max_lift(joint, Channel.identity(joint))
    array([1.5, 1.5])
    """
    return np.asarray(np.maximum.reduce(prepared(joint, channel).lift))


def _exp(logs: Floats) -> Floats:
    with np.errstate(over="ignore"):  # beyond 1.8e308 the float is inf
        return np.exp(logs)


@measure
def l1_lift(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) |l(s, y) - 1| per output, equation 27: twice the total variation distance.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> l1_lift(joint, Channel.identity(joint)).round(12)
    array([0.5, 0.5])
    """
    return _exp(kernel.log_l1(prepared(joint, channel).lift, joint.p_s))


@measure
def chi2_lift(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) (l(s, y) - 1)**2 per output, equation 28.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> chi2_lift(joint, Channel.identity(joint)).round(12)
    array([0.25, 0.25])
    """
    return _exp(kernel.log_chi2(prepared(joint, channel).lift, joint.p_s))


@measure
def alpha_lift(joint: Joint, channel: Channel, alpha: float) -> Floats:
    """Return (sum_s P(s) l(s, y)**alpha)**(1/alpha) per output, equation 29; alpha in [1, inf].

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> alpha_lift(joint, Channel.identity(joint), 2.0).round(4)
    array([1.118, 1.118])
    """
    return _exp(
        kernel.log_alpha_mean(prepared(joint, channel).log_lift, joint.p_s, check_alpha(alpha))
    )


@measure
def l1_lift_inverse(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) |1/l(s, y) - 1| per output, equation 30; inf for a zero lift.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> l1_lift_inverse(joint, Channel.identity(joint)).round(4)
    array([0.6667, 0.6667])
    """
    return _exp(kernel.log_l1(kernel.reciprocal(prepared(joint, channel).lift), joint.p_s))


@measure
def chi2_lift_inverse(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) (1/l(s, y) - 1)**2 per output, equation 31; inf for a zero lift.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> chi2_lift_inverse(joint, Channel.identity(joint)).round(4)
    array([0.5556, 0.5556])
    """
    return _exp(kernel.log_chi2(kernel.reciprocal(prepared(joint, channel).lift), joint.p_s))


@measure
def alpha_lift_inverse(joint: Joint, channel: Channel, alpha: float) -> Floats:
    """Return (sum_s P(s) l(s, y)**-alpha)**(1/alpha) per output, equation 32.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> alpha_lift_inverse(joint, Channel.identity(joint), 2.0).round(4)
    array([1.4907, 1.4907])
    """
    return _exp(
        kernel.log_alpha_mean(-prepared(joint, channel).log_lift, joint.p_s, check_alpha(alpha))
    )


class LocalDifferentialPrivacy(NamedTuple):
    """Gamma(y) per output and its maximum (ratios); `epsilon` is the maximum in nats.

    Parameters
    ----------
    gamma
        max_s P(y|s) / min_s P(y|s) per output.
    maximum
        The largest of them.

    Examples
    --------
    >>> round(LocalDifferentialPrivacy(np.array([2.0, 3.0]), 3.0).epsilon, 4)
    1.0986
    """

    gamma: Floats
    maximum: float

    @property
    def epsilon(self) -> float:
        """The smallest LDP budget that holds, in nats."""
        return math.log(self.maximum)


@measure
def local_differential_privacy(joint: Joint, channel: Channel) -> LocalDifferentialPrivacy:
    """Return Gamma(y) = max_s P(y|s) / min_s P(y|s) per output, equation 4, and its maximum.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> local_differential_privacy(joint, Channel.identity(joint)).maximum
    3.0
    """
    values = prepared(joint, channel).lift
    with np.errstate(divide="ignore", over="ignore"):
        gamma = np.maximum.reduce(values) / np.minimum.reduce(values)
    return LocalDifferentialPrivacy(gamma, float(gamma.max()))
