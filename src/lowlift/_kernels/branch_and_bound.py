"""Branch and bound that proves ``H(v) - pi . v >= cut`` on a polytope of posteriors v.

A node fixes an order: coordinates k_1, ..., k_d are the largest, each the largest of what the ones
before left over. With R_0 = 1 and R_i = R_{i-1} - v(k_i), the share f_i = v(k_i) / R_{i-1} lies in
``[low_i, high_i]``, and each share w = v / R_d of the rest is at most `cap`. By the chain rule::

    H(v) = sum_i R_{i-1} hb(f_i) + R_d H(w)

which `underestimates` bounds below by functions linear in v. Only boxes of variables change from
node to node, so a linear program goes on from its parent's tableau.

Rounding: shares and boxes are moved outward by a few units, the linear program's bound has its own
allowance, and the underestimates have theirs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.branching import LEVELS, what_to_split
from lowlift._kernels.compilation import helper, kernel
from lowlift._kernels.lp import LIMIT, MINIMISE, OPTIMAL
from lowlift._kernels.underestimates import CHAIN, DOWN, UP, Linear, Node, better, underestimate

#: The number that stands for "no largest coordinate: all are at most the cap".
DIFFUSE = -1

_HEIGHT = 80  # of the tree
_STACK = 60_000
#: Rounds of tightening in a node, and the part of the gap that a round must gain.
_ROUNDS, _GAIN = 4, 0.2
#: A diffuse child must be this much below its parent's cap.
_CAP_STEP = 0.02
#: Nodes after which a block that has met a point below the cut hands it over.
_HANDOVER = 300


class Stack(NamedTuple):
    """Nodes to look at: height and depth, bound and cap, and their levels, a row each."""

    whole: Ints
    real: Floats
    keys: Ints
    low: Floats
    high: Floats


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
    return min(1.0, share / (1 - share) * UP) if share < 0.5 else 1.0


@helper()
def _match(depth: int, node: Node, least: Floats, most: Floats) -> tuple[bool, float, float]:
    """Let intervals of shares and boxes of v tighten each other.

    Returns whether anything is left, and the least and the most that the rest can have.
    """
    keys, low, high, _ = node
    rest_min, rest_max = 1.0, 1.0
    for i in range(depth):
        k = keys[i]
        if rest_min > 1e-12:
            high[i] = min(high[i], most[k] / rest_min * UP)
        if rest_max > 1e-12:
            low[i] = max(low[i], least[k] / rest_max * DOWN)
        least[k] = max(least[k], low[i] * rest_min * DOWN)
        most[k] = min(most[k], high[i] * rest_max * UP)
        if low[i] > high[i] or least[k] > most[k]:
            return False, 0.0, 0.0
        rest_min *= max(1 - high[i], 0.0) * DOWN
        rest_max *= (1 - low[i]) * UP
    return True, rest_min, rest_max


@helper()
def _tighten(
    net: Floats, error: float, gap: float, lo: Floats, hi: Floats, least: Floats, most: Floats
) -> None:
    """Cut the boxes by reduced costs: beyond them the bound passes the cut."""
    for j in range(least.size):
        if net[j] > 1e-9 + 2 * error:
            most[j] = min(most[j], (lo[j] + gap / (net[j] - error)) * UP + 1e-15)
        elif net[j] < -1e-9 - 2 * error:
            least[j] = max(least[j], (hi[j] - gap / (-net[j] - error)) * DOWN - 1e-15)


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
    stack: Stack, top: int, node: Node, height: int, depth: int, bound: float, cap: float
) -> None:
    """Put a node on the stack, with the first `depth` of its levels."""
    stack.whole[top, 0], stack.whole[top, 1] = height, depth
    stack.real[top, 0], stack.real[top, 1] = bound, cap
    for i in range(depth):
        stack.keys[top, i] = node.keys[i]
        stack.low[top, i], stack.high[top, i] = node.low[i], node.high[i]


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

    A job is "k is the largest coordinate and v_k lies in [low, high]", or, for `DIFFUSE`, "every
    coordinate is at most high". The search of a job stops where `cut` is proven; nodes beyond
    `most_nodes` enter with their parent's bound. Another thread may set ``stop[0]`` to end all
    searches early; the bounds stay true.

    The polytope is given as `minimise` (`lp.minimise`) takes it, with a tableau to start from; its
    first columns are v, others are auxiliary. `pi` are any duals, (|X|,). `bounds` and `nodes`
    receive, per job, a true lower bound (at most `cut`) and the number of nodes; `points` and
    `values` receive points of the polytope with the least values found, (k, |X|) and (k,).
    """
    r, n = rows.shape
    n_x = pi.size
    tableaus = np.empty((_HEIGHT + 1, r, n + r))
    bases, places = np.empty((_HEIGHT + 1, r), np.int64), np.empty((_HEIGHT + 1, n + r), np.int64)
    leasts, mosts = np.empty((_HEIGHT + 1, n_x)), np.empty((_HEIGHT + 1, n_x))
    room = min(_STACK, _HEIGHT * (n_x + 2))  # depth first: a node's children per level
    s_whole, s_real = np.empty((room, 2), np.int64), np.empty((room, 2))
    s_keys = np.empty((room, LEVELS), np.int64)
    s_low, s_high = np.empty((room, LEVELS)), np.empty((room, LEVELS))
    stack = Stack(s_whole, s_real, s_keys, s_low, s_high)
    keys, low, high = np.empty(LEVELS, np.int64), np.empty(LEVELS), np.empty(LEVELS)
    is_key = np.zeros(n_x, np.bool_)
    node = Node(keys, low, high, is_key)
    lo, hi, cost = np.empty(n + r), np.empty(n + r), np.zeros(n)
    linear = Linear(cost, lo, hi, np.empty(LEVELS), np.empty(LEVELS))
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
        keys[0], low[0], high[0] = job_key[job], job_low[job], job_high[job]
        if job_key[job] == DIFFUSE:
            _push(stack, 0, node, 1, 0, -math.inf, job_high[job])
        else:
            _push(stack, 0, node, 1, 1, -math.inf, _cap_after(job_high[job]))
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
            kind = CHAIN
            is_done, previous, rounds, gap, status = False, -math.inf, 0, 0.0, LIMIT
            rest_min, rest_max, error = 1.0, 1.0, 0.0
            while True:
                rounds += 1
                count += 1
                any_left, rest_min, rest_max = _match(depth, node, least, most)
                if not any_left:
                    is_done = True
                    break
                if depth > 0:
                    cap = min(cap, _cap_after(high[depth - 1]))
                constant = underestimate(
                    kind, pi, depth, node, cap, rest_min, rest_max, least, most, linear
                )
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
                if rounds == 1:
                    kind = better(depth, node, linear, constant, x, pi, gap)
                    if kind != CHAIN:
                        previous = now
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
            level, point = what_to_split(kind, depth, node, linear, x, pi)
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
                    _push(stack, top, node, height + 1, depth, bound, child_cap)
                    top += 1
                low[level] = was_low
                continue
            pieces = math.floor(min(1.0 / cap, 1e9) + 1e-9)  # the cap may be 0
            next_cap = 1.0 / (pieces + 1.0)
            if cap - next_cap < _CAP_STEP:
                next_cap = 1.0 / (pieces + 2.0)
            _push(stack, top, node, height + 1, depth, bound, next_cap)
            top += 1
            needed = next_cap * rest_min * DOWN
            for j in range(n_x):
                if is_key[j] or min(most[j], hi[j]) < needed:
                    continue
                if net[j] > 2 * error and (net[j] - error) * (needed - lo[j]) > gap * UP + 1e-15:
                    continue
                share = min(cap, min(most[j], hi[j]) / rest_min * UP) if rest_min > 1e-12 else cap
                if share < next_cap:
                    continue
                keys[depth], low[depth], high[depth] = j, next_cap, share
                _push(stack, top, node, height + 1, depth + 1, bound, _cap_after(share))
                top += 1
        bounds[job], nodes[job] = worst, count
