"""One-sided confidence limits of a binomial probability, and how far a pair of them reaches.

Every float is rounded to the side on which a limit is too wide: levels are lowered by more than the
library's relative error, and each limit found is checked against the tail of the distribution.
"""

import math

import numpy as np

from lowlift._arrays import Floats

#: Levels are lowered by this part of them: more than the relative error of a tail in floats.
_LEVEL = 1e-6
#: Limits are moved outward by this part of them, and further until their tail is below the level.
_OUTWARD = 1e-9
#: Twice as far, and so often, until then: by then the limit is 0 or 1.
_DOUBLINGS = 40
#: For more draws than this, quantiles of the beta distribution lose digits: Hoeffding's limits.
MOST_DRAWS = 2.0**36


def normal_tail(z: float) -> float:
    """Return P(Z > z) of a standard normal Z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def radius(error: float) -> float:
    """Return a B with ``P(chi2_1 > B**2) / 2 + P(chi2_2 > B**2) / 4 <= error``, rounded up.

    That is the chance that the positive parts of two independent normals lie outside a quarter
    disc of radius B.

    Examples
    --------
    >>> round(radius(0.9 * 0.05 / 28), 2), round(radius(0.9 * 0.05 / 170), 2)
    (3.29, 3.79)
    """
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        tail = normal_tail(middle) + math.exp(-middle * middle / 2) / 4
        low, high = (low, middle) if tail <= error else (middle, high)
    return high * (1 + 1e-9)


def upper_limits(hits: Floats, draws: float, level: float | Floats) -> Floats:
    """Return limits that a binomial probability exceeds at most `level` of the time, each.

    Parameters
    ----------
    hits
        Successes in so many draws.
    level
        One for all, or of a shape that broadcasts with the hits. One-sided: p is beyond the limit
        when ``P(at most so many successes) < level``.

    Examples
    --------
    >>> upper_limits(np.array([0.0, 5.0, 10.0]), 10.0, 0.025).round(4)
    array([0.3085, 0.8129, 1.    ])
    """
    from scipy.special import betaincc, betainccinv

    hits, level = np.broadcast_arrays(hits, level)
    if draws > MOST_DRAWS:
        return np.minimum(1.0, (hits / draws + _hoeffding(draws, level)) * (1 + _OUTWARD))
    out, some = np.ones(hits.shape), hits < draws
    shape = hits[some] + 1, draws - hits[some]
    lowered = level[some] * (1 - _LEVEL)
    limit, room = betainccinv(*shape, lowered), _OUTWARD
    limit = np.where(np.isfinite(limit), limit, 1.0)
    for _ in range(_DOUBLINGS):
        moved = np.minimum(1.0, limit * (1 + room))
        # P(at most k successes) is the upper tail of a beta distribution at p.
        is_safe = (betaincc(*shape, moved) <= lowered) | (moved == 1.0)
        if is_safe.all():
            break
        room *= 2
    out[some] = np.where(is_safe, moved, 1.0)
    return out


def lower_limits(hits: Floats, draws: float, level: float | Floats) -> Floats:
    """Return limits that a binomial probability is below at most `level` of the time, each.

    Examples
    --------
    >>> lower_limits(np.array([0.0, 5.0, 10.0]), 10.0, 0.025).round(4)
    array([0.    , 0.1871, 0.6915])
    """
    from scipy.special import betainc, betaincinv

    hits, level = np.broadcast_arrays(hits, level)
    if draws > MOST_DRAWS:
        return np.maximum(0.0, (hits / draws - _hoeffding(draws, level)) * (1 - _OUTWARD))
    out, some = np.zeros(hits.shape), hits > 0
    shape = hits[some], draws - hits[some] + 1
    lowered = level[some] * (1 - _LEVEL)
    limit, room = betaincinv(*shape, lowered), _OUTWARD
    limit = np.where(np.isfinite(limit), limit, 0.0)
    for _ in range(_DOUBLINGS):
        moved = np.maximum(0.0, limit * (1 - room))
        # P(at least k successes) is the lower tail of a beta distribution at p.
        is_safe = betainc(*shape, moved) <= lowered
        if is_safe.all():
            break
        room *= 2
    out[some] = np.where(is_safe, moved, 0.0)
    return out


def _hoeffding(draws: float, level: Floats) -> Floats:
    return np.sqrt(-np.log(level * (1 - _LEVEL)) / (2 * draws)) + 1e-15
