"""One-sided confidence limits of a binomial probability, and how far a pair of them reaches.

Every float is rounded to the side on which a limit is too wide: levels are lowered by more than the
library's relative error, and each limit found is checked against the tail of the distribution.
"""

import math
from typing import Any

import numpy as np

from lowlift._arrays import Floats

#: Levels are lowered by this part of them: more than the relative error of a tail in floats.
_LEVEL = 1e-6
#: Limits are moved outward by this part of them, and further until their tail is below the level.
_OUTWARD = 1e-9
#: Eight times as far, and so often, until then: by then the limit is 0 or 1.
_MOVES = 14
#: Of more levels than this, quantiles are computed at so many, and interpolated between them.
_NODES = 9
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
        One for all, or (levels, 1). One-sided: p is beyond the limit
        when ``P(at most so many successes) < level``.

    Examples
    --------
    >>> upper_limits(np.array([0.0, 5.0, 10.0]), 10.0, 0.025).round(4)
    array([0.3085, 0.8129, 1.    ])
    """
    from scipy.special import betaincc, betainccinv

    if draws > MOST_DRAWS:
        return np.minimum(1.0, (hits / draws + _hoeffding(draws, level)) * (1 + _OUTWARD))
    out, some = np.ones(np.broadcast_shapes(hits.shape, np.shape(level))), hits < draws
    shape = hits[some] + 1, draws - hits[some]
    # P(at most k successes) is the upper tail of a beta distribution at p.
    out[..., some] = _checked(betainccinv, betaincc, shape, level, end=1.0)
    return out


def lower_limits(hits: Floats, draws: float, level: float | Floats) -> Floats:
    """Return limits that a binomial probability is below at most `level` of the time, each.

    Examples
    --------
    >>> lower_limits(np.array([0.0, 5.0, 10.0]), 10.0, 0.025).round(4)
    array([0.    , 0.1871, 0.6915])
    """
    from scipy.special import betainc, betaincinv

    if draws > MOST_DRAWS:
        return np.maximum(0.0, (hits / draws - _hoeffding(draws, level)) * (1 - _OUTWARD))
    out, some = np.zeros(np.broadcast_shapes(hits.shape, np.shape(level))), hits > 0
    shape = hits[some], draws - hits[some] + 1
    # P(at least k successes) is the lower tail of a beta distribution at p.
    out[..., some] = _checked(betaincinv, betainc, shape, level, end=0.0)
    return out


def _checked(
    inverse: Any, tail: Any, shape: tuple[Floats, Floats], level: float | Floats, *, end: float
) -> Floats:
    """Return quantiles of beta distributions, moved toward `end` until their tail is the level."""
    lowered = np.asarray(level) * (1 - _LEVEL)
    found = _quantiles(inverse, shape, lowered)
    found = np.where(np.isfinite(found), found, end)
    a, b, levels = (part.ravel() for part in np.broadcast_arrays(*shape, lowered))
    out, left, room = np.full(found.size, end), np.arange(found.size), _OUTWARD
    for _ in range(_MOVES):
        moved = np.minimum(1.0, found.ravel()[left] * (1 + room if end else 1 - room))
        is_safe = (tail(a[left], b[left], moved) <= levels[left]) | (moved == end)
        out[left[is_safe]] = moved[is_safe]
        left, room = left[~is_safe], 8 * room
        if not len(left):
            break
    return out.reshape(found.shape)


def _quantiles(inverse: Any, shape: tuple[Floats, Floats], levels: Floats) -> Floats:
    """Return quantiles at each level; between some levels they are interpolated, which is near.

    Their log-odds are smooth in the normal score of the level, and an inverse costs much more than
    the tail that checks it.
    """
    from scipy.special import expit, logit, ndtr, ndtri

    if levels.size <= _NODES:
        return np.asarray(inverse(*shape, levels))
    from scipy.interpolate import BarycentricInterpolator

    scores = ndtri(levels[:, 0])
    middle, reach = (scores.max() + scores.min()) / 2, (scores.max() - scores.min()) / 2
    nodes = middle + reach * np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))
    odds = logit(inverse(*shape, ndtr(nodes)[:, None]))
    with np.errstate(invalid="ignore"):
        out = expit(BarycentricInterpolator(nodes, odds)(scores))
    rough = ~np.isfinite(odds).all(axis=0)
    out[:, rough] = inverse(*(part[rough] for part in shape), levels)
    return np.asarray(out)


def _hoeffding(draws: float, level: float | Floats) -> Floats:
    return np.asarray(np.sqrt(-np.log(level * (1 - _LEVEL)) / (2 * draws)) + 1e-15)
