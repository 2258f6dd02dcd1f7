"""Measures with a value per output: lifts, and the lift-based and lift-inverse ones."""

import math
from collections.abc import Callable
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
    check_pair(joint, channel)
    masses = channel.output_masses(joint)
    return np.asarray(masses / masses.sum(axis=0) / joint.p_s[:, None])


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
    return kernel.log_or_minus_inf(lift(joint, channel))


@measure
def min_lift(joint: Joint, channel: Channel) -> Floats:
    """Return Psi(y) = min_s l(s, y) per output, equation 2.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> min_lift(joint, Channel.identity(joint))
    array([0.5, 0.5])
    """
    return np.asarray(lift(joint, channel).min(axis=0))


@measure
def max_lift(joint: Joint, channel: Channel) -> Floats:
    """Return Lambda(y) = max_s l(s, y) per output, equation 2.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> max_lift(joint, Channel.identity(joint))
    array([1.5, 1.5])
    """
    return np.asarray(lift(joint, channel).max(axis=0))


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
    return _exp(kernel.log_l1(lift(joint, channel), joint.p_s))


@measure
def chi2_lift(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) (l(s, y) - 1)**2 per output, equation 28.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> chi2_lift(joint, Channel.identity(joint)).round(12)
    array([0.25, 0.25])
    """
    return _exp(kernel.log_chi2(lift(joint, channel), joint.p_s))


@measure
def alpha_lift(joint: Joint, channel: Channel, alpha: float) -> Floats:
    """Return (sum_s P(s) l(s, y)**alpha)**(1/alpha) per output, equation 29; alpha in [1, inf].

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> alpha_lift(joint, Channel.identity(joint), 2.0).round(4)
    array([1.118, 1.118])
    """
    return _exp(kernel.log_alpha_mean(log_lift(joint, channel), joint.p_s, check_alpha(alpha)))


@measure
def l1_lift_inverse(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) |1/l(s, y) - 1| per output, equation 30; inf for a zero lift.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> l1_lift_inverse(joint, Channel.identity(joint)).round(4)
    array([0.6667, 0.6667])
    """
    return _exp(kernel.log_l1(kernel.reciprocal(lift(joint, channel)), joint.p_s))


@measure
def chi2_lift_inverse(joint: Joint, channel: Channel) -> Floats:
    """Return sum_s P(s) (1/l(s, y) - 1)**2 per output, equation 31; inf for a zero lift.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> chi2_lift_inverse(joint, Channel.identity(joint)).round(4)
    array([0.5556, 0.5556])
    """
    return _exp(kernel.log_chi2(kernel.reciprocal(lift(joint, channel)), joint.p_s))


@measure
def alpha_lift_inverse(joint: Joint, channel: Channel, alpha: float) -> Floats:
    """Return (sum_s P(s) l(s, y)**-alpha)**(1/alpha) per output, equation 32.

    Examples
    --------
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> alpha_lift_inverse(joint, Channel.identity(joint), 2.0).round(4)
    array([1.4907, 1.4907])
    """
    return _exp(kernel.log_alpha_mean(-log_lift(joint, channel), joint.p_s, check_alpha(alpha)))


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
    values = lift(joint, channel)
    with np.errstate(divide="ignore", over="ignore"):
        gamma = values.max(axis=0) / values.min(axis=0)
    return LocalDifferentialPrivacy(gamma, float(gamma.max()))
