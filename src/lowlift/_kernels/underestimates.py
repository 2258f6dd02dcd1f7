"""Functions linear in v that are at most H(v), for a node of branch and bound.

`CHAIN`: the chain rule with the chord of the binary entropy on each level's interval of shares, and
``-log(largest share)`` for each x of the rest. `JOINTLY`: the same, but the last level and the rest
together have the chord of the least entropy that a distribution with this largest entry can have.
`APART`: the chord of ``-t log t`` on the box of each coordinate, whatever the order; it is the best
where boxes are narrower than shares.

Each coefficient is off by less than 1e-13, which `_SLACK` covers.
"""

import math
from typing import NamedTuple

from lowlift._arrays import Bools, Floats, Ints
from lowlift._kernels.compilation import helper

CHAIN, JOINTLY, APART = 0, 1, 2
#: Factors that round up and down.
UP, DOWN = 1 + 2.0**-50, 1 - 2.0**-50

#: A box is empty where its ends are this far in the wrong order.
_EMPTY = 1e-9
_SLACK = 1e-12
#: Shares are rounded up by less than this factor.
_ROUNDED = 1 + 1e-12
#: More than the rounding of one coordinate's chord.
_CHORD_SLACK = 1e-15
#: Narrower intervals have no chord but the lower end.
_NARROW = 1e-10
#: A largest share below this counts as this.
_TINY = 1e-9
#: The part of the gap that another underestimate must promise.
_OTHER = 0.1


class Node(NamedTuple):
    """Opened coordinates, level by level, the intervals of their shares, and which they are."""

    keys: Ints
    low: Floats
    high: Floats
    is_key: Bools


class Linear(NamedTuple):
    """An underestimate: costs and boxes of v, and ``start + slope f`` of each level of a chain."""

    cost: Floats
    lo: Floats
    hi: Floats
    start: Floats
    slope: Floats


@helper()
def binary_entropy(f: float) -> float:
    """Return the entropy of (f, 1 - f)."""
    if f <= 0.0 or f >= 1.0:
        return 0.0
    return -f * math.log(f) - (1 - f) * math.log(1 - f)


@helper()
def least_entropy(largest: float) -> float:
    """Return the least entropy of a distribution whose entries are at most `largest`."""
    if largest >= 1.0:
        return 0.0
    count = math.floor(1.0 / largest + 1e-12)
    rest = 1 - count * largest
    out = -count * largest * math.log(largest)
    return out - rest * math.log(rest) if rest > 1e-300 else out


@helper()
def _eta(t: float) -> float:
    return -t * math.log(t) if t > 0.0 else 0.0


@helper()
def _line(low: float, first: float, high: float, last: float) -> tuple[float, float]:
    """Return start and slope of the chord between two points, or of what is below both."""
    width = high - low
    if width > _NARROW:
        slope = (last - first) / width
        return first - slope * low, slope
    return min(first, last), 0.0


@helper()
def chord(lo: float, hi: float) -> tuple[float, float]:
    """Return start and slope of the chord of ``-t log t`` on a box."""
    if lo <= 0.0:
        return 0.0, -math.log(max(hi, _TINY))
    return _line(lo, _eta(lo), hi, _eta(hi))


@helper()
def _pieces(high: float) -> float:
    """Return the q for which a largest entry is at most 1/q, also where it is rounded up."""
    return math.floor(min(1.0 / high, 1e9) + 1e-9)  # the entry may be 0


@helper()
def _joint_line(low: float, high: float) -> tuple[float, float]:
    """Return the chord of the least entropy of a distribution with a largest entry in between.

    It falls, so the line goes on below the least entropy where `high` is rounded up beyond 1/q.
    """
    top = min(high, 1.0 / _pieces(high))
    return _line(low, least_entropy(low), top, least_entropy(top))


@helper()
def underestimate(
    kind: int,
    pi: Floats,
    depth: int,
    node: Node,
    cap: float,
    rest_min: float,
    rest_max: float,
    least: Floats,
    most: Floats,
    linear: Linear,
) -> float:
    """Set the linear underestimate of H(v) - pi . v; return its constant, inf if no v is left."""
    keys, low, high, is_key = node
    cost, lo, hi, start, slope = linear
    constant = -_SLACK
    for j in range(pi.size):
        cost[j], lo[j], hi[j] = -pi[j], least[j], most[j]
        if not is_key[j]:
            hi[j] = min(hi[j], cap * rest_max * UP)
        if lo[j] > hi[j] * (1 + _EMPTY) + _EMPTY:  # by far more than rounding
            return math.inf
        lo[j] = min(lo[j], hi[j])
        if kind == APART:
            begin, tilt = chord(lo[j], hi[j])
            cost[j] += tilt
            if lo[j] > 0.0:
                constant += begin - _CHORD_SLACK
        elif kind == CHAIN and not is_key[j]:
            share = min(cap, hi[j] / rest_min * UP) if rest_min > 1e-12 else cap
            cost[j] -= math.log(max(share, _TINY))
    if kind == APART:
        return constant
    for i in range(depth):
        if kind == JOINTLY and i == depth - 1:
            start[i], slope[i] = _joint_line(low[i], high[i])
        else:
            start[i], slope[i] = _line(
                low[i], binary_entropy(low[i]), high[i], binary_entropy(high[i])
            )
        constant += start[i]
        cost[keys[i]] += slope[i]
        for q in range(i):
            cost[keys[q]] -= start[i]
    return constant


@helper()
def better(
    depth: int, node: Node, linear: Linear, constant: float, x: Floats, pi: Floats, gap: float
) -> int:
    """Return the kind of underestimate that is by far the best at x, given that of the chain."""
    keys, low, high, _ = node
    cost, lo, hi, start, slope = linear
    chain, apart = constant, 0.0
    for j in range(pi.size):
        if x[j] > 0.0:
            chain += x[j] * (cost[j] + pi[j])
            begin, tilt = chord(lo[j], hi[j])
            apart += begin + tilt * x[j]
    best, kind = chain + _OTHER * gap, CHAIN
    if apart > best:
        best, kind = apart, APART
    if depth == 0:
        return kind
    i = depth - 1
    pieces = _pieces(high[i])
    if pieces < 2 or high[i] > 1.0 / pieces * _ROUNDED or low[i] < 1.0 / (pieces + 1.0):
        return kind  # the least entropy is concave between such points only
    jointly, left = 0.0, 1.0
    for q in range(i):
        jointly += slope[q] * x[keys[q]] + start[q] * left
        left -= x[keys[q]]
    begin, tilt = _joint_line(low[i], high[i])
    jointly += tilt * x[keys[i]] + begin * left
    return JOINTLY if jointly > best else kind
