"""Branch and bound that proves ``H(v) - pi . v >= cut`` on a polytope of posteriors v.

A node fixes an order: coordinates k_1, ..., k_d are the largest, each the largest of what the ones
before left over. With R_0 = 1 and R_i = R_{i-1} - v(k_i), the share f_i = v(k_i) / R_{i-1} lies in
``[low_i, high_i]``, and each share w = v / R_d of the rest is at most `cap`. By the chain rule::

    H(v) = sum_i R_{i-1} hb(f_i) + R_d H(w)

which is bounded below by a function linear in v: the chord of hb on each interval, and
``-log(largest share)`` for each x of the rest; or, for the last level and the rest together, by the
chord of the least entropy that a distribution with largest entry f_d can have. Only boxes of
variables change from node to node, so a linear program goes on from its parent's tableau.

Rounding: shares and boxes are moved outward by a few units, the linear program's bound has its own
allowance, and `_SLACK` covers the coefficients, each of which is off by less than 1e-13.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lowlift.kernels.compilation import helper, kernel
from lowlift.kernels.lp import LIMIT, MINIMISE, OPTIMAL

__all__ = ["DIFFUSE", "prove"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: The number that stands for "no largest coordinate: all are at most the cap".
DIFFUSE = -1

_LEVELS = 16  # opened coordinates at the most
_HEIGHT = 80  # of the tree
_STACK = 60_000
_UP, _DOWN = 1 + 2.0**-50, 1 - 2.0**-50
_SLACK = 1e-12
#: Rounds of tightening in a node, and the part of the gap that a round must gain.
_ROUNDS, _GAIN = 4, 0.2
#: Least weight of an interval's width against its error, when choosing what to split.
_WIDTH = 0.02
#: Split 1 - f in proportion where (1 - high) / (1 - low) is below this.
_PROPORTION = 0.4
#: The part of the gap that the other underestimate must promise.
_OTHER = 0.1
#: A diffuse child must be this much below its parent's cap.
_CAP_STEP = 0.02
#: Nodes after which a block that has met a point below the cut hands it over.
_HANDOVER = 300


@helper()
def _binary_entropy(f: float) -> float:
    if f <= 0.0 or f >= 1.0:
        return 0.0
    return -f * math.log(f) - (1 - f) * math.log(1 - f)


@helper()
def _least_entropy(largest: float) -> float:
    """Return the least entropy of a distribution whose entries are at most `largest`."""
    if largest >= 1.0:
        return 0.0
    count = math.floor(1.0 / largest + 1e-12)
    rest = 1 - count * largest
    out = -count * largest * math.log(largest)
    return out - rest * math.log(rest) if rest > 1e-300 else out


@helper()
def _value(v: Floats, pi: Floats) -> float:
    """Return H(v) - pi . v."""
    total = 0.0
    for j in range(pi.size):
        if not v[j] <= 1e-13:  # no number stays no number
            total -= v[j] * (math.log(v[j]) + pi[j])
    return total


@helper()
def _cap_after(share: float) -> float:
    """Return the most that another coordinate can have of what a largest share leaves over."""
    return min(1.0, share / (1 - share) * _UP) if share < 0.5 else 1.0


@helper()
def _match(
    depth: int, keys: Ints, low: Floats, high: Floats, least: Floats, most: Floats
) -> tuple[bool, float, float]:
    """Let intervals of shares and boxes of v tighten each other.

    Returns whether anything is left, and the least and the most that the rest can have.
    """
    rest_min, rest_max = 1.0, 1.0
    for i in range(depth):
        k = keys[i]
        if rest_min > 1e-12:
            high[i] = min(high[i], most[k] / rest_min * _UP)
        if rest_max > 1e-12:
            low[i] = max(low[i], least[k] / rest_max * _DOWN)
        least[k] = max(least[k], low[i] * rest_min * _DOWN)
        most[k] = min(most[k], high[i] * rest_max * _UP)
        if low[i] > high[i] or least[k] > most[k]:
            return False, 0.0, 0.0
        rest_min *= max(1 - high[i], 0.0) * _DOWN
        rest_max *= (1 - low[i]) * _UP
    return True, rest_min, rest_max


@helper()
def _underestimate(
    pi: Floats,
    depth: int,
    keys: Ints,
    is_key: npt.NDArray[np.bool_],
    low: Floats,
    high: Floats,
    cap: float,
    rest_min: float,
    rest_max: float,
    jointly: bool,
    least: Floats,
    most: Floats,
    lo: Floats,
    hi: Floats,
    cost: Floats,
    start: Floats,
    slope: Floats,
) -> float:
    """Set costs and boxes of the linear underestimate of H(v) - pi . v; return its constant.

    `jointly` takes the last level and the rest together. Level i has ``start + slope f``.
    """
    for j in range(pi.size):
        cost[j], lo[j], hi[j] = -pi[j], least[j], most[j]
        if not is_key[j]:
            hi[j] = min(hi[j], cap * rest_max * _UP)
            if not jointly:
                share = min(cap, hi[j] / rest_min * _UP) if rest_min > 1e-12 else cap
                cost[j] -= math.log(max(share, 1e-9))
        if lo[j] > hi[j]:  # both are rounded outward
            return math.inf
    constant = -_SLACK
    for i in range(depth):
        if jointly and i == depth - 1:
            first, last = _least_entropy(low[i]), _least_entropy(high[i])
        else:
            first, last = _binary_entropy(low[i]), _binary_entropy(high[i])
        width = high[i] - low[i]
        if width > 1e-10:
            slope[i] = (last - first) / width
            start[i] = first - slope[i] * low[i]
        else:
            slope[i], start[i] = 0.0, min(first, last)
        constant += start[i]
        cost[keys[i]] += slope[i]
        for q in range(i):
            cost[keys[q]] -= start[i]
    return constant


@helper()
def _promises_more(
    depth: int,
    keys: Ints,
    is_key: npt.NDArray[np.bool_],
    low: Floats,
    high: Floats,
    x: Floats,
    pi: Floats,
    cost: Floats,
    start: Floats,
    slope: Floats,
    gap: float,
) -> bool:
    """Tell whether taking the last level and the rest together would be better at x by far."""
    i = depth - 1
    pieces = math.floor(min(1.0 / high[i], 1e9) + 1e-9)  # the share may be 0
    if pieces < 2 or high[i] > 1.0 / pieces or low[i] < 1.0 / (pieces + 1.0):
        return False  # the least entropy is concave between such points only
    left = 1.0
    for q in range(i):
        left -= x[keys[q]]
    first, last = _least_entropy(low[i]), _least_entropy(high[i])
    width = high[i] - low[i]
    if width > 1e-10:
        tilt = (last - first) / width
        other = tilt * x[keys[i]] + (first - tilt * low[i]) * left
    else:
        other = min(first, last) * left
    now = slope[i] * x[keys[i]] + start[i] * left
    for j in range(pi.size):
        if not is_key[j] and x[j] > 0:
            now += x[j] * (cost[j] + pi[j])
    return bool(other > now + _OTHER * gap)


@helper()
def _tighten(
    net: Floats, error: float, gap: float, lo: Floats, hi: Floats, least: Floats, most: Floats
) -> None:
    """Cut the boxes by reduced costs: beyond them the bound passes the cut."""
    for j in range(least.size):
        if net[j] > 1e-9 + 2 * error:
            most[j] = min(most[j], (lo[j] + gap / (net[j] - error)) * _UP + 1e-15)
        elif net[j] < -1e-9 - 2 * error:
            least[j] = max(least[j], (hi[j] - gap / (-net[j] - error)) * _DOWN - 1e-15)


@helper()
def _what_to_split(
    depth: int,
    keys: Ints,
    is_key: npt.NDArray[np.bool_],
    low: Floats,
    high: Floats,
    jointly: bool,
    x: Floats,
    pi: Floats,
    cost: Floats,
    start: Floats,
    slope: Floats,
) -> tuple[int, float]:
    """Return the level to split and where; `depth` stands for opening a coordinate, -1 for none."""
    left, level, largest = 1.0, -1, 0.0
    for i in range(depth):
        if high[i] - low[i] < 1e-7:
            left -= x[keys[i]]
            continue
        share = min(max(x[keys[i]] / left, low[i]), high[i]) if left > 1e-12 else low[i]
        off = left * (high[i] - low[i]) * _WIDTH
        if not (jointly and i == depth - 1):
            off = max(off, left * (_binary_entropy(share) - (start[i] + slope[i] * share)))
        if off > largest:
            largest, level = off, i
        left -= x[keys[i]]
    rest = 0.0
    if left > 1e-12:
        for j in range(pi.size):
            if not is_key[j] and x[j] > 1e-13:
                rest += x[j] * (-math.log(x[j] / left) - (cost[j] + pi[j]))
        if jointly:
            i = depth - 1
            both = left + x[keys[i]]
            share = x[keys[i]] / both
            rest += both * (_binary_entropy(share) - (start[i] + slope[i] * share))
    if (rest > largest or level < 0) and depth < _LEVELS - 1:
        level, point, proportion = depth, 0.0, _PROPORTION
        for i in range(depth):
            ratio = (1 - high[i]) / (1 - low[i]) if low[i] < 1 else 1.0
            if ratio < proportion and high[i] - low[i] > 1e-6:
                proportion, level = ratio, i
                point = 1 - math.sqrt(max(1 - high[i], 0.02 * (1 - low[i])) * (1 - low[i]))
        return level, point
    if level < 0:
        return -1, 0.0
    left = 1.0
    for i in range(level):
        left -= x[keys[i]]
    width = high[level] - low[level]
    point = x[keys[level]] / left if left > 1e-12 else 0.0
    # Also where x is no number: the two halves must cover the interval.
    if not low[level] + 0.15 * width <= point <= high[level] - 0.15 * width:
        point = 0.5 * (low[level] + high[level])
    return level, point


@helper()
def _keep(points: Floats, values: Floats, x: Floats, value: float) -> None:
    """Keep a point among the best ones found, sorted by value, unless one has the same value."""
    last = values.size - 1
    if not value < values[last]:
        return
    for t in range(values.size):
        if abs(values[t] - value) < 1e-9:
            return
    while last > 0 and values[last - 1] > value:
        values[last] = values[last - 1]
        for j in range(points.shape[1]):
            points[last, j] = points[last - 1, j]
        last -= 1
    values[last] = value
    for j in range(points.shape[1]):
        points[last, j] = max(x[j], 0.0)


@helper()
def _push(
    top: int,
    height: int,
    depth: int,
    bound: float,
    cap: float,
    keys: Ints,
    low: Floats,
    high: Floats,
    s_whole: Ints,
    s_real: Floats,
    s_keys: Ints,
    s_low: Floats,
    s_high: Floats,
) -> None:
    """Put a node on the stack, with the first `depth` of its levels."""
    s_whole[top, 0], s_whole[top, 1] = height, depth
    s_real[top, 0], s_real[top, 1] = bound, cap
    for i in range(depth):
        s_keys[top, i], s_low[top, i], s_high[top, i] = keys[i], low[i], high[i]


@helper()
def _copy_level(
    level: int, tableaus: Floats, bases: Ints, places: Ints, leasts: Floats, mosts: Floats
) -> None:
    """Start a level of the tree from what the level above it left."""
    for i in range(tableaus.shape[1]):
        bases[level, i] = bases[level - 1, i]
        for j in range(tableaus.shape[2]):
            tableaus[level, i, j] = tableaus[level - 1, i, j]
    for j in range(places.shape[1]):
        places[level, j] = places[level - 1, j]
    for j in range(leasts.shape[1]):
        leasts[level, j], mosts[level, j] = leasts[level - 1, j], mosts[level - 1, j]


@kernel(
    f"{MINIMISE}, float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], "
    "float64, int64[::1], float64[::1], float64[::1], int64, int64, float64[:, ::1], "
    "int64[::1], int64[::1], int64[::1], float64[::1], int64[::1], float64[:, ::1], float64[::1]"
)
def prove(
    minimise: Callable[..., tuple[int, float, float, int]],
    rows: Floats,
    largest: Floats,
    box_lo: Floats,
    box_hi: Floats,
    pi: Floats,
    cut: float,
    job_key: Ints,
    job_low: Floats,
    job_high: Floats,
    most_nodes: int,
    most_pivots: int,
    tableau: Floats,
    basis: Ints,
    place: Ints,
    stop: Ints,
    bounds: Floats,
    nodes: Ints,
    points: Floats,
    values: Floats,
) -> None:
    """Bound ``H(v) - pi . v`` from below on the part of the polytope that each job stands for.

    Parameters
    ----------
    minimise
        `lp.minimise`.
    rows, largest, box_lo, box_hi
        The polytope as `lp.minimise` takes it; its first columns are v, others are auxiliary.
    pi
        Any duals, (|X|,).
    cut
        What to prove; the search stops where it is proven.
    job_key, job_low, job_high
        A job is "k is the largest coordinate and v_k lies in [low, high]", or, for `DIFFUSE`,
        "every coordinate is at most high".
    most_nodes
        Per job; nodes beyond enter with their parent's bound.
    most_pivots
        Per linear program.
    tableau, basis, place
        To start from.
    stop
        Another thread may set ``stop[0]`` to end the search early; the bounds stay true.
    bounds, nodes
        Receive, per job, a true lower bound (at most `cut`) and the number of nodes.
    points, values
        Receive points of the polytope with the least values found: (k, |X|) and (k,).
    """
    r, n = rows.shape
    n_x = pi.size
    tableaus = np.empty((_HEIGHT + 1, r, n + r))
    bases, places = np.empty((_HEIGHT + 1, r), np.int64), np.empty((_HEIGHT + 1, n + r), np.int64)
    leasts, mosts = np.empty((_HEIGHT + 1, n_x)), np.empty((_HEIGHT + 1, n_x))
    room = min(_STACK, _HEIGHT * (n_x + 2))  # depth first: a node's children per level
    s_whole, s_real = np.empty((room, 2), np.int64), np.empty((room, 2))
    s_keys = np.empty((room, _LEVELS), np.int64)
    s_low, s_high = np.empty((room, _LEVELS)), np.empty((room, _LEVELS))
    keys, low, high = np.empty(_LEVELS, np.int64), np.empty(_LEVELS), np.empty(_LEVELS)
    start, slope = np.empty(_LEVELS), np.empty(_LEVELS)
    is_key = np.zeros(n_x, np.bool_)
    lo, hi, cost = np.empty(n + r), np.empty(n + r), np.zeros(n)
    for j in range(n + r):
        lo[j], hi[j] = box_lo[j], box_hi[j]
    x, net, y = np.zeros(n + r), np.zeros(n), np.zeros(r)
    for job in range(job_key.size):
        for i in range(r):
            bases[0, i] = basis[i]
            for j in range(n + r):
                tableaus[0, i, j] = tableau[i, j]
        for j in range(n + r):
            places[0, j] = place[j]
        for j in range(n_x):
            leasts[0, j], mosts[0, j] = box_lo[j], box_hi[j]
        s_whole[0, 0], s_whole[0, 1] = 1, 0
        s_real[0, 0], s_real[0, 1] = -math.inf, job_high[job]
        if job_key[job] != DIFFUSE:
            s_whole[0, 1], s_real[0, 1] = 1, _cap_after(job_high[job])
            s_keys[0, 0], s_low[0, 0], s_high[0, 0] = job_key[job], job_low[job], job_high[job]
        top, worst, count, is_below = 1, cut, 0, False
        while top > 0:
            top -= 1
            height, depth = s_whole[top, 0], s_whole[top, 1]
            bound, cap = s_real[top, 0], s_real[top, 1]
            if count >= most_nodes or stop[0] != 0 or (is_below and count >= _HANDOVER):
                worst = min(worst, bound)
                continue
            for i in range(depth):
                keys[i], low[i], high[i] = s_keys[top, i], s_low[top, i], s_high[top, i]
            _copy_level(height, tableaus, bases, places, leasts, mosts)
            least, most = leasts[height], mosts[height]
            for j in range(n_x):
                is_key[j] = False
            for i in range(depth):
                is_key[keys[i]] = True
            # ---- bound the node, tightening its boxes while that pays
            # Not the constant False, which numba would compile the helpers for apart.
            jointly = depth < 0
            is_done, previous, rounds, gap, status = False, -math.inf, 0, 0.0, LIMIT
            rest_min, rest_max, error = 1.0, 1.0, 0.0
            while True:
                rounds += 1
                count += 1
                any_left, rest_min, rest_max = _match(depth, keys, low, high, least, most)
                if not any_left:
                    is_done = True
                    break
                if depth > 0:
                    cap = min(cap, _cap_after(high[depth - 1]))
                constant = _underestimate(
                    pi, depth, keys, is_key, low, high, cap, rest_min, rest_max, jointly,
                    least, most, lo, hi, cost, start, slope,
                )  # fmt: skip
                if constant == math.inf:  # no point is left
                    is_done = True
                    break
                status, now, error, _ = minimise(
                    rows, largest, tableaus[height], bases[height], places[height], cost, lo, hi,
                    cut - constant, most_pivots, x, net, y,
                )  # fmt: skip
                now += constant
                bound = max(bound, now)
                if bound >= cut:
                    is_done = True
                    break
                gap = cut - now
                _tighten(net, error, gap, lo, hi, least, most)
                if status >= LIMIT or rounds >= _ROUNDS:
                    break
                if (
                    rounds == 1
                    and depth > 0
                    and _promises_more(
                        depth, keys, is_key, low, high, x, pi, cost, start, slope, gap
                    )
                ):
                    jointly, previous = True, now
                    continue
                if rounds > 1 and now - previous < _GAIN * gap:
                    break
                previous = now
            if is_done:
                continue
            if status == OPTIMAL:  # else x may lie outside
                value = _value(x, pi)
                is_below = is_below or value < cut
                _keep(points, values, x, value)
            # ---- branch
            level, point = _what_to_split(
                depth, keys, is_key, low, high, jointly, x, pi, cost, start, slope
            )
            if level < 0 or height >= _HEIGHT or top + n_x + 2 >= room:
                worst = min(worst, bound)
                continue
            if level < depth:
                was_low, was_high = low[level], high[level]
                for side in range(2):
                    if side == 0:
                        high[level] = point
                    else:
                        low[level], high[level] = point, was_high
                    child_cap = cap
                    if level == depth - 1:
                        child_cap = min(cap, _cap_after(high[level]))
                    _push(
                        top, height + 1, depth, bound, child_cap,
                        keys, low, high, s_whole, s_real, s_keys, s_low, s_high,
                    )  # fmt: skip
                    top += 1
                low[level] = was_low
                continue
            pieces = math.floor(min(1.0 / cap, 1e9) + 1e-9)  # the cap may be 0
            next_cap = 1.0 / (pieces + 1.0)
            if cap - next_cap < _CAP_STEP:
                next_cap = 1.0 / (pieces + 2.0)
            _push(
                top, height + 1, depth, bound, next_cap,
                keys, low, high, s_whole, s_real, s_keys, s_low, s_high,
            )  # fmt: skip
            top += 1
            needed = next_cap * rest_min * _DOWN
            for j in range(n_x):
                if is_key[j] or min(most[j], hi[j]) < needed:
                    continue
                if net[j] > 2 * error and (net[j] - error) * (needed - lo[j]) > gap * _UP + 1e-15:
                    continue
                share = min(cap, min(most[j], hi[j]) / rest_min * _UP) if rest_min > 1e-12 else cap
                if share < next_cap:
                    continue
                keys[depth], low[depth], high[depth] = j, next_cap, share
                _push(
                    top, height + 1, depth + 1, bound, _cap_after(share),
                    keys, low, high, s_whole, s_real, s_keys, s_low, s_high,
                )  # fmt: skip
                top += 1
        bounds[job], nodes[job] = worst, count
