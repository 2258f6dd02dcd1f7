"""k-ary randomised response, blind to S, at the largest budget that a bound on S allows.

OpenDP and multi-freq-ldpy draw from this channel: the true symbol with probability
e**eps / (e**eps + k - 1), each other one with 1 / (e**eps + k - 1).
"""

import math

import numpy as np

import lowlift as ll

#: Beyond this the response is the truth to within 2**-48.
LARGEST = 40.0


def channel_of(joint: ll.Joint, epsilon: float) -> ll.Channel:
    """Return the channel over the symbols of X."""
    k = joint.n_x
    lie = 1 / (math.exp(epsilon) + k - 1)
    p = np.full((k, k), lie)
    np.fill_diagonal(p, 1 - lie * (k - 1))
    return ll.Channel.from_probabilities(p, x_labels=joint.x_labels, y_labels=joint.x_labels)


def largest_epsilon(joint: ll.Joint, criterion: ll.Criterion) -> float:
    """Return the largest budget whose channel satisfies the criterion, by exact audits.

    Lifts move away from 1 as the budget grows, so that halving finds it.
    """

    def holds(epsilon: float) -> bool:
        return ll.audit(joint, channel_of(joint, epsilon), criterion).is_satisfied

    if holds(LARGEST):
        return LARGEST
    low, high = 0.0, LARGEST
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def truth(k: int, epsilon: float) -> float:
    """Return the probability of the true symbol."""
    return math.exp(epsilon) / (math.exp(epsilon) + k - 1)
