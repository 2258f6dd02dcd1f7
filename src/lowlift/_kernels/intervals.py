"""Compiled loops over pairs of symbols on either side of a boundary, where S has two values.

One coordinate then tells the lift, and a criterion allows an interval of it. A symbol at distance
g below a boundary and one at distance k above it make an atom on the boundary with the shares
``k / (g + k)`` and ``g / (g + k)``. Its entropy is ``c(g, k) g k / (g + k)`` with::

    c(g, k) = log(1 + k/g) / k + log(1 + g/k) / g

which decreases in g and in k, and whose mixed derivative ``1 / (g k (g + k))`` is positive. So for
g0 <= g and k0 <= k::

    c(g, k) >= c(g, k0) + c(g0, k) - c(g0, k0)

which bounds all pairs of two stretches of symbols at the cost of one pass over each.
"""

import math

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.compilation import helper, kernel

#: More than the rounding of a value, relative to the size of its terms.
_ROUNDING = 2.0**-46
#: Up to this many pairs are looked at one by one.
_FEW = 16
#: Halvings of two stretches of at most 2**31 symbols, three left over at each.
_DEPTH = 256


@helper()
def _cost(g: float, k: float) -> float:
    """Return c(g, k), the entropy per unit of ``mass times distance`` that is matched."""
    return math.log1p(k / g) / k + math.log1p(g / k) / g


@helper()
def _value(g: float, k: float, pi: float, rho: float) -> float:
    """Return H(v) - pi . v of the pair at distances g and k with the duals pi and rho."""
    entropy = k * math.log1p(g / k) + g * math.log1p(k / g)
    return (entropy - k * pi - g * rho) / (g + k)


@kernel("float64[::1], float64[::1], float64[::1], float64[::1], int64, int64, float64, int64[::1]")
def least_value(
    g: Floats, pi: Floats, k: Floats, rho: Floats, first: int, last: int, cut: float, stop: Ints
) -> float:
    """Return the least ``H(v) - pi . v`` of pairs, less its rounding, or `cut` if none is below it.

    One side has the distances g, rising, and the duals pi, the other k and rho; `first` to `last`
    is the part of the first side to look at. Another thread may set `stop`: the result is -inf.
    """
    stack = np.empty((_DEPTH, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = first, last, 0, k.size
    height = 1 if first < last and k.size else 0
    least, count = cut, 0
    while height:
        height -= 1
        i0, i1, j0, j1 = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        count += 1
        if count % 1024 == 0 and stop[0]:
            return -math.inf
        if (i1 - i0) * (j1 - j0) <= _FEW:
            for i in range(i0, i1):
                for j in range(j0, j1):
                    value = _value(g[i], k[j], pi[i], rho[j])
                    value -= _ROUNDING * (1 + abs(pi[i]) + abs(rho[j]))
                    if not value >= least:  # no number is no proof
                        least = value if value < least else -math.inf
            continue
        corner = _cost(g[i0], k[j0])
        left, right, size = math.inf, math.inf, 0.0
        for i in range(i0, i1):
            dual = pi[i] / g[i]
            left = min(left, _cost(g[i], k[j0]) - dual)
            size = max(size, abs(dual))
        for j in range(j0, j1):
            dual = rho[j] / k[j]
            right = min(right, _cost(g[i0], k[j]) - dual)
            size = max(size, abs(dual))
        net = left + right - corner - _ROUNDING * (4 * corner + 2 * size)
        # The largest share of a unit: g k / (g + k) rises in both.
        unit = g[i1 - 1] * k[j1 - 1] / (g[i1 - 1] + k[j1 - 1])
        if net >= 0 or net * unit * (1 + _ROUNDING) >= least:
            continue
        middle_i = (i0 + i1) // 2 if i1 - i0 > 1 else i1
        middle_j = (j0 + j1) // 2 if j1 - j0 > 1 else j1
        for half_i in range(2):
            a, b = (i0, middle_i) if half_i == 0 else (middle_i, i1)
            for half_j in range(2):
                c, d = (j0, middle_j) if half_j == 0 else (middle_j, j1)
                if a < b and c < d:
                    stack[height, 0], stack[height, 1] = a, b
                    stack[height, 2], stack[height, 3] = c, d
                    height += 1
    return least


@kernel("float64[::1], float64[::1], float64[::1], float64[::1]")
def largest_duals(g: Floats, k: Floats, rho: Floats, out: Floats) -> None:
    """Lower each of `out` to the largest dual at distance g that no pair with (k, rho) refutes."""
    for i in range(g.size):
        for j in range(k.size):
            dual = g[i] * (_cost(g[i], k[j]) - rho[j] / k[j])
            out[i] = min(out[i], dual)


@kernel("float64[::1], float64[::1], float64[::1], float64[::1], float64, int64[:, ::1]")
def cheapest_partners(
    g: Floats, pi: Floats, k: Floats, rho: Floats, below: float, best: Ints
) -> None:
    """Fill `best`, (|g|, count), with the partners of least ``H(v) - pi . v``; -1: no more.

    Those of a value of `below` or more do not count.
    """
    count = best.shape[1]
    values = np.empty(count)
    for i in range(g.size):
        for place in range(count):
            best[i, place], values[place] = -1, below
        for j in range(k.size):
            value = _value(g[i], k[j], pi[i], rho[j])
            if not value < values[count - 1]:
                continue
            place = count - 1
            while place > 0 and value < values[place - 1]:
                best[i, place], values[place] = best[i, place - 1], values[place - 1]
                place -= 1
            best[i, place], values[place] = j, value


@kernel("float64[::1], float64[::1], float64[::1], float64[::1]")
def match(g: Floats, mass: Floats, k: Floats, other: Floats) -> tuple[Ints, Ints, Floats, int]:
    """Match two sides in the order given, in units of mass times distance, until one is used up.

    With g falling and k rising that is the cheapest matching. Returns the numbers of each pair and
    its units, with room for more, and how many pairs there are.
    """
    room = g.size + k.size
    first, second, units = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    left, right = mass.copy(), other.copy()
    i, j, count = 0, 0, 0
    while i < g.size and j < k.size:
        here, there = left[i] * g[i], right[j] * k[j]
        unit = min(here, there)
        if unit > 0:
            first[count], second[count], units[count] = i, j, unit
            count += 1
        if here <= there:
            right[j] = max(0.0, right[j] - unit / k[j])
            i += 1
        else:
            left[i] = max(0.0, left[i] - unit / g[i])
            j += 1
    return first, second, units, count
