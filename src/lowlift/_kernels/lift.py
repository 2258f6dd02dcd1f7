"""Lifts and the quantities of one output, on plain arrays; logs are natural.

Shapes: ``lift_sy`` is (|S|, |Y|), ``p_s`` is (|S|,), results are (|Y|,). A zero lift is a value
like any other: its logarithm is -inf, its inverse inf, and no function here skips it.
"""

import numpy as np

from lowlift._arrays import Floats

#: Reciprocals are cut here, so that squares of sums stay finite in the scaled forms below.
_LARGEST = 1e300


def log_or_minus_inf(values: Floats) -> Floats:
    """Return log(values), -inf where a value is 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def entropy(p: Floats) -> float:
    """Return -sum p log p in nats, for probabilities that sum to one."""
    kept = p[p > 0]
    return float(-(kept * np.log(kept)).sum()) + 0.0


def reciprocal(lift_sy: Floats) -> Floats:
    """Return 1 / lift, inf for a zero lift, at most 1e300 otherwise."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(lift_sy > 0, np.minimum(1 / lift_sy, _LARGEST), np.inf)


def log_l1(values_sy: Floats, p_s: Floats) -> Floats:
    """Return log sum_s P(s) |value - 1| per output; value is a lift or its inverse."""
    return log_or_minus_inf(p_s @ np.abs(values_sy - 1))


def log_chi2(values_sy: Floats, p_s: Floats) -> Floats:
    """Return log sum_s P(s) (value - 1)**2 per output, scaled so that squares do not overflow."""
    distance = np.abs(values_sy - 1)
    largest = distance.max(axis=0)
    infinite = np.isinf(largest)
    scale = np.where((largest > 0) & ~infinite, largest, 1.0)
    ratio = np.where(infinite, 0.0, distance / scale)
    out = 2 * np.log(scale) + log_or_minus_inf(p_s @ (ratio * ratio))
    return np.where(infinite, np.inf, out)


def log_alpha_mean(log_values_sy: Floats, p_s: Floats, alpha: float) -> Floats:
    """Return log (sum_s P(s) value**alpha)**(1/alpha) per output, from log values."""
    largest = log_values_sy.max(axis=0)
    if np.isinf(alpha):
        return np.asarray(largest)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    mean = p_s @ np.exp(alpha * np.minimum(log_values_sy - finite, 0.0))
    with np.errstate(divide="ignore"):  # an output without mass has no mean
        return np.where(np.isfinite(largest), finite + np.log(mean) / alpha, largest)


def most_extreme(lift_sy: Floats, p_y: Floats, most: int) -> list[int]:
    """Return the outputs with the highest and with the lowest lifts in turn; ties by mass."""
    highest = np.lexsort((-p_y, -lift_sy.max(axis=0)))[:most].tolist()
    lowest = np.lexsort((-p_y, lift_sy.min(axis=0)))[:most].tolist()
    in_turn = [y for pair in zip(highest, lowest, strict=True) for y in pair]
    return list(dict.fromkeys(in_turn))[:most]
