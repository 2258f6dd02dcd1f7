"""Compiled loops of the merging mechanisms.

A block is kept as ``q(s)``, the sum over its symbols of P(s, x) / P(s) up to one factor. Its mass
is ``c = sum_s P(s) q(s)`` and its lift ``q / c``; so max-lift over min-lift needs no mass at all.

The notions are told apart by the number that the criteria carry as `kind`:
0 box (LIP, ALIP, max-lift), 1 LDP, 2 l1-lift, 3 chi2-lift, 4 alpha-lift.
"""

import math
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.compilation import helper, kernel

#: What `cover` says when it returns.
HOLDS, EMPTY, UNDECIDED, PAUSED = 0, 1, 2, 3

_LIBM = 2.0**-40
_CAP = 1e150
#: Candidates scored side by side.
_LANES = 64
#: A lower bound this much smaller still is one, whatever its rounding.
_SURELY = 1 - 1e-9


class Region(NamedTuple):
    """The criterion: its kind, the order of alpha-lift, and both budgets in nats."""

    kind: int
    alpha: float
    lower: float
    upper: float


@helper()
def _log_power_means(q: Floats, p_s: Floats, c: float, alpha: float) -> tuple[float, float]:
    """Return logs of the power means of 1/l and of l of order alpha, over the positive lifts."""
    low, high = math.inf, 0.0
    for s in range(q.size):
        high = max(high, q[s])
        if q[s] > 0:
            low = min(low, q[s])
    # Powers relative to the extremes lie in [0, 1].
    inverse, direct = 0.0, 0.0
    for s in range(q.size):
        if q[s] > 0:
            direct += p_s[s] * math.exp(alpha * math.log(q[s] / high))
            inverse += p_s[s] * math.exp(alpha * math.log(low / q[s]))
    return (
        math.log(c / low) + math.log(inverse) / alpha,
        math.log(high / c) + math.log(direct) / alpha,
    )


@helper()
def _measures(region: Region, q: Floats, p_s: Floats) -> tuple[int, float, float, float]:
    """Return the number of zero lifts, lift-inverse and lift-based measure, and 1 / min lift.

    The last three without the zero lifts.

    Kinds 0 and 1 give 1 / min lift and max lift, kinds 2 and 3 the sums, kind 4 logs.
    """
    zeros, c, low, high = 0, 0.0, math.inf, 0.0
    for s in range(q.size):
        c += p_s[s] * q[s]
        high = max(high, q[s])
        if q[s] > 0:
            low = min(low, q[s])
        else:
            zeros += 1
    if region.kind <= 1:
        return zeros, c / low, high / c, c / low
    if region.kind == 4:
        inverse, direct = _log_power_means(q, p_s, c, region.alpha)
        return zeros, inverse, direct, c / low
    inverse, direct = 0.0, 0.0
    for s in range(q.size):
        up = abs(q[s] / c - 1)
        down = abs(min(c / q[s], _CAP) - 1) if q[s] > 0 else 0.0
        if region.kind == 3:
            up, down = up * up, down * down
        direct += p_s[s] * up
        inverse += p_s[s] * down
    return zeros, inverse, direct, c / low


@helper()
def _against(leakage: float, budget: float, error: float) -> int:
    """Return 1 when a leakage surely is in budget, -1 when surely not, else 0.

    The margin is that of `BuiltIn.screen`.
    """
    if budget == math.inf:
        return 1
    margin = 16 * error + 2 * _LIBM * (1 + budget)
    if leakage > budget + margin:
        return -1
    return 1 if leakage <= budget - margin else 0


@helper()
def _state(region: Region, q: Floats, p_s: Floats, error: float) -> int:
    """Return 1 when the block surely is allowed, -1 when surely not, else 0."""
    kind = region.kind
    zeros, inverse, direct, largest = _measures(region, q, p_s)
    if (kind == 2 or kind == 3) and largest >= _CAP:  # noqa: PLR1714 (a tuple compiles slowly)
        return 0  # the cap was at work
    if kind == 0:
        low, high = math.log(inverse), math.log(direct)
    elif kind == 1:
        low, high = 0.0, math.log(inverse) + math.log(direct)
    elif kind == 2:
        low, high = math.log1p(inverse), math.log1p(direct)
    elif kind == 3:
        low, high = math.log1p(math.sqrt(inverse)), math.log1p(math.sqrt(direct))
    else:
        low, high = inverse, direct
    if zeros > 0:
        low = math.inf
        if kind == 1:
            high = math.inf
    return min(_against(low, region.lower, error), _against(high, region.upper, error))


@helper()
def _risk(region: Region, q: Floats, p_s: Floats) -> tuple[int, float]:
    """Return the zeros and the rest of a block's risk, in the order of the criterion's `risk`."""
    zeros, inverse, direct, _ = _measures(region, q, p_s)
    if region.kind == 1:
        return zeros, inverse * direct
    if region.lower == math.inf:
        return 0, direct
    if region.upper == math.inf:
        return zeros, inverse
    if region.kind == 0:
        return zeros, inverse * direct
    if region.kind == 4:
        high = max(inverse, direct)
        return zeros, high + math.log(math.exp(inverse - high) + math.exp(direct - high))
    return zeros, inverse + direct


@helper()
def _best_ratio(current: Floats, pool: Floats, ids: Ints, n_pool: int) -> int:
    """Return the candidate with the least zeros, then max-lift / min-lift, then number."""
    n_s = current.size
    best, best_zeros, best_ratio = -1, n_s + 1, math.inf
    # The extremes of the block come first: most candidates lose on them alone.
    first, last = 0, 0
    for s in range(1, n_s):
        if current[s] > current[first]:
            first = s
        if current[s] < current[last]:
            last = s
    for i in range(n_pool):
        high = current[first] + pool[first, i]
        low = current[last] + pool[last, i]
        if best_zeros == 0 and high > best_ratio * low:
            continue
        zeros, low = 0, math.inf
        for s in range(n_s):
            value = current[s] + pool[s, i]
            high = max(high, value)
            if value > 0:
                low = min(low, value)
            else:
                zeros += 1
        ratio = high / low
        if zeros < best_zeros or (
            zeros == best_zeros
            and (ratio < best_ratio or (ratio == best_ratio and ids[i] < ids[best]))
        ):
            best, best_zeros, best_ratio = i, zeros, ratio
    return best


@helper()
def _score(
    region: Region,
    current: Floats,
    p_s: Floats,
    pool: Floats,
    start: int,
    width: int,
    lanes: Floats,
) -> None:
    """Fill zeros, lift-inverse and lift-based measure of some candidates: rows 1, 2, 3 of `lanes`.

    The candidates are side by side, so that the compiler computes several at once. For kind 4 the
    measures are lower bounds of the power means: the largest term, and the mean of order 1 or 2.
    """
    kind, alpha = region.kind, region.alpha
    mass, zeros, inverse, direct = lanes[0], lanes[1], lanes[2], lanes[3]
    for row in range(4):
        for k in range(width):
            lanes[row, k] = 0.0
    for s in range(current.size):
        for k in range(width):
            value = current[s] + pool[s, start + k]
            mass[k] += p_s[s] * value
            zeros[k] += 1.0 if value == 0 else 0.0
    for s in range(current.size):
        weight = p_s[s]
        if kind == 0:
            for k in range(width):
                value = current[s] + pool[s, start + k]
                direct[k] = max(direct[k], value / mass[k])
                inverse[k] = max(inverse[k], mass[k] / value if value > 0 else 0.0)
        elif kind == 2:
            for k in range(width):
                value = current[s] + pool[s, start + k]
                below = mass[k] / value if value > 0 else 1.0
                direct[k] += weight * abs(value / mass[k] - 1)
                inverse[k] += weight * abs(min(below, _CAP) - 1)
        elif kind == 3:
            for k in range(width):
                value = current[s] + pool[s, start + k]
                above = value / mass[k] - 1
                below = min(mass[k] / value if value > 0 else 1.0, _CAP) - 1
                direct[k] += weight * above * above
                inverse[k] += weight * below * below
        else:
            for k in range(width):
                value = current[s] + pool[s, start + k]
                above = value / mass[k]
                below = min(mass[k] / value if value > 0 else 0.0, _CAP)
                direct[k] += weight * (above * above if alpha >= 2 else above)
                inverse[k] += weight * (below * below if alpha >= 2 else below)
    if kind == 4:
        if alpha >= 2:
            for k in range(width):
                direct[k], inverse[k] = math.sqrt(direct[k]), math.sqrt(inverse[k])
        for s in range(current.size):
            weight = p_s[s] ** (1 / alpha)
            for k in range(width):
                value = current[s] + pool[s, start + k]
                direct[k] = max(direct[k], weight * (value / mass[k]))
                inverse[k] = max(inverse[k], weight * mass[k] / value if value > 0 else 0.0)


@helper()
def _best_mean(
    region: Region, current: Floats, p_s: Floats, pool: Floats, ids: Ints, n_pool: int
) -> int:
    """Return the candidate that leaves the block at least risk, ties by number."""
    has_lower = region.lower < math.inf
    has_upper = region.upper < math.inf or not has_lower
    best, best_zeros, best_risk = -1, current.size + 1.0, math.inf
    lanes = np.empty((4, _LANES))
    union = np.empty(current.size)
    for start in range(0, n_pool, _LANES):
        width = min(_LANES, n_pool - start)
        _score(region, current, p_s, pool, start, width, lanes)
        for k in range(width):
            i = start + k
            zeros = lanes[1, k] if has_lower else 0.0
            risk = (lanes[2, k] if has_lower else 0.0) + (lanes[3, k] if has_upper else 0.0)
            if zeros > best_zeros or (zeros == best_zeros and risk * _SURELY > best_risk):
                continue
            if region.kind == 4:
                for s in range(current.size):
                    union[s] = current[s] + pool[s, i]
                risk = math.exp(min(_risk(region, union, p_s)[1], 700.0))
            if zeros < best_zeros or (
                zeros == best_zeros
                and (risk < best_risk or (risk == best_risk and ids[i] < ids[best]))
            ):
                best, best_zeros, best_risk = i, zeros, risk
    return best


@kernel(
    "int64, float64, float64, float64, float64, float64[::1], float64[::1], float64[:, ::1], "
    "int64[::1], int64, int64[::1], int64, int64[::1], float64[::1], int64[::1], int64, int64, "
    "int64, int64"
)
def cover(
    kind: int,
    alpha: float,
    lower: float,
    upper: float,
    error: float,
    p_s: Floats,
    current: Floats,
    pool: Floats,
    ids: Ints,
    n_pool: int,
    taken: Ints,
    state: int,
    zeros: Ints,
    risk: Floats,
    ends: Ints,
    n_blocks: int,
    n_taken: int,
    most_blocks: int,
    patience: int,
) -> tuple[int, int, int, int]:
    """Grow blocks from a pool of symbols until it is empty, each from the riskiest one left.

    A block absorbs the candidate that leaves it at least risk until it is allowed.

    - `current` is q of the block, (|S|,). `pool` and `ids` are q of the candidates, (|S|, n), and
      their numbers; the first `n_pool` are there, and the ones absorbed are swapped out.
    - `taken` receives the numbers in the order in which they were placed, (n,), `ends` where each
      finished block ends in it, (n,); `n_taken` and `n_blocks` count them.
    - `state` is 0 to start a block, 1 to look at the current one, 2 to extend it without a look.
    - `zeros` and `risk` receive, where nothing is placed yet, each candidate's risk, (n,).

    Returns `HOLDS` (every block is allowed, or `most_blocks` are finished), `EMPTY` (all but the
    last), `UNDECIDED` (floats cannot tell of the current block) or `PAUSED` (after about
    `patience` candidates); then n_pool, n_blocks, n_taken.
    """
    n_s, seen, region = current.size, 0, Region(kind, alpha, lower, upper)
    is_ratio = kind == 1 or (kind == 0 and lower < math.inf and upper < math.inf)
    if state == 0 and n_taken == 0:
        for i in range(n_pool):
            for s in range(n_s):
                current[s] = pool[s, i]
            zeros[ids[i]], risk[ids[i]] = _risk(region, current, p_s)
    while n_blocks < most_blocks:
        if state == 0:
            if n_pool == 0:
                return HOLDS, n_pool, n_blocks, n_taken
            if seen > patience:
                return PAUSED, n_pool, n_blocks, n_taken
            best = n_pool - 1
            for i in range(n_pool - 1):
                a, b = ids[i], ids[best]
                if zeros[a] > zeros[b] or (
                    zeros[a] == zeros[b] and (risk[a] > risk[b] or (risk[a] == risk[b] and a < b))
                ):
                    best = i
            for s in range(n_s):
                current[s] = 0.0
        else:
            if state == 1:
                verdict = _state(region, current, p_s, error)
                if verdict > 0:
                    ends[n_blocks] = n_taken
                    n_blocks += 1
                    state = 0
                    continue
                if verdict == 0:
                    return UNDECIDED, n_pool, n_blocks, n_taken
            if n_pool == 0:
                return EMPTY, n_pool, n_blocks, n_taken
            if seen > patience:
                return PAUSED, n_pool, n_blocks, n_taken
            if is_ratio:
                best = _best_ratio(current, pool, ids, n_pool)
            else:
                best = _best_mean(region, current, p_s, pool, ids, n_pool)
        seen += n_pool
        taken[n_taken] = ids[best]
        n_taken += 1
        n_pool -= 1
        for s in range(n_s):
            current[s] += pool[s, best]
            pool[s, best] = pool[s, n_pool]
        ids[best] = ids[n_pool]
        state = 1
    return HOLDS, n_pool, n_blocks, n_taken
