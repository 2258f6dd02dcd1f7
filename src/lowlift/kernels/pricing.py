"""Compiled search for posteriors v of a polytope with small ``H(v) - pi . v``.

`linearise` works on any polytope; `pairs` and `triples` list all vertices of support 2 and 3 where
the rows are boxes of lifts (row 0 of `rows` is the sum of v, the others are lifts).
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lowlift.kernels.compilation import kernel
from lowlift.kernels.lp import MINIMISE, OPTIMAL

__all__ = ["cheapest", "linearise", "pairs", "triples"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel(
    f"{MINIMISE}, float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], "
    "float64[:, ::1], float64[:, ::1], int64[::1], int64[::1], int64, int64"
)
def linearise(
    minimise: Callable[..., tuple[int, float, float, int]],
    rows: Floats,
    largest: Floats,
    lo: Floats,
    hi: Floats,
    pi: Floats,
    starts: Floats,
    tableau: Floats,
    basis: Ints,
    place: Ints,
    steps: int,
    most_pivots: int,
) -> tuple[Floats, Floats]:
    """Go down from each start by linear programs with cost ``-log(v + d) - pi``, d shrinking.

    Parameters
    ----------
    minimise
        `lp.minimise`.
    rows, largest, lo, hi
        The polytope as `lp.minimise` takes it; its first columns are v.
    pi
        Duals, (|X|,).
    starts
        Points to start from, (k, |X|).
    tableau, basis, place
        To start from; not changed.
    steps
        Linear programs per start at the most.
    most_pivots
        Per linear program.

    Returns
    -------
    tuple
        The best vertex from each start, (k, |X|), and its value ``H(v) - pi . v``; inf where none.
    """
    r, n = rows.shape
    n_x = pi.size
    work = np.empty((r, n + r))
    work_basis, work_place = np.empty(r, np.int64), np.empty(n + r, np.int64)
    x, net, cost, y = np.zeros(n + r), np.zeros(n), np.zeros(n), np.zeros(r)
    found, values = np.zeros(starts.shape), np.empty(starts.shape[0])
    for k in range(starts.shape[0]):
        if k % 50 == 0:  # rounding piles up in a tableau
            for i in range(r):
                work_basis[i] = basis[i]
                for j in range(n + r):
                    work[i, j] = tableau[i, j]
            for j in range(n + r):
                work_place[j] = place[j]
        for j in range(n_x):
            x[j] = starts[k, j]
        values[k], smooth, misses = math.inf, 1e-4, 0
        for step in range(steps):
            for j in range(n_x):
                cost[j] = -math.log(max(x[j], 0.0) + smooth) - pi[j]
            status, _, _, _ = minimise(
                rows, largest, work, work_basis, work_place, cost, lo, hi, math.inf, most_pivots,
                x, net, y,
            )  # fmt: skip
            if status != OPTIMAL:
                break
            value = 0.0
            for j in range(n_x):
                if x[j] > 1e-13:
                    value -= x[j] * (math.log(x[j]) + pi[j])
            if value < values[k] - 1e-12:
                values[k], misses = value, 0
                for j in range(n_x):
                    found[k, j] = max(x[j], 0.0)
            else:
                misses += 1
                if misses == 2:
                    break
            smooth = 0.01 * 0.3**step
    return found, values


@kernel("float64[:, ::1], float64[::1], float64[::1]")
def pairs(rows: Floats, row_lo: Floats, row_hi: Floats) -> tuple[Ints, Ints, Floats, int]:
    """Return all vertices of support 2: v = t at the first symbol, 1 - t at the second.

    Three arrays with room for more, and how many entries are used.
    """
    r, n = rows.shape
    first, second = np.empty(n * (n - 1), np.int64), np.empty(n * (n - 1), np.int64)
    share, count = np.empty(n * (n - 1)), 0
    for x in range(n):
        for z in range(x + 1, n):
            low, high = 0.0, 1.0
            for i in range(1, r):
                slope = rows[i, x] - rows[i, z]
                a, b = row_lo[i] - rows[i, z], row_hi[i] - rows[i, z]
                if slope > 1e-14:
                    low, high = max(low, a / slope), min(high, b / slope)
                elif slope < -1e-14:
                    low, high = max(low, b / slope), min(high, a / slope)
                elif a > 0 or b < 0:
                    high = -1.0
                if low > high:
                    break
            if low > high:
                continue
            if 0.0 < low < 1.0:
                first[count], second[count], share[count] = x, z, low
                count += 1
            if low < high < 1.0:
                first[count], second[count], share[count] = x, z, high
                count += 1
    return first, second, share, count


@kernel("int64[::1], float64[::1], float64, int64[:, ::1]")
def cheapest(symbol: Ints, cost: Floats, below: float, best: Ints) -> None:
    """Fill `best`, (n, k), with the numbers of the cheapest items of each symbol; -1: no more.

    Items of cost `below` or more do not count; among equals the first comes first.
    """
    n, size = best.shape
    for row in range(n):
        for place in range(size):
            best[row, place] = -1
    last = size - 1
    for item in range(symbol.size):
        row = symbol[item]
        if not cost[item] < below:
            continue
        if best[row, last] >= 0 and cost[item] >= cost[best[row, last]]:
            continue
        place = last
        while place > 0 and (best[row, place - 1] < 0 or cost[item] < cost[best[row, place - 1]]):
            best[row, place] = best[row, place - 1]
            place -= 1
        best[row, place] = item


@kernel(
    "float64[:, ::1], float64[::1], float64[::1], float64[::1], int64, float64, "
    "int64[:, ::1], float64[:, ::1], float64[::1]"
)
def triples(
    rows: Floats,
    row_lo: Floats,
    row_hi: Floats,
    pi: Floats,
    first: int,
    tolerance: float,
    members: Ints,
    shares: Floats,
    values: Floats,
) -> None:
    """Price all vertices of support 3 whose lowest symbol is `first`; keep the best per symbol.

    The triangle of weights is clipped by the half planes of the rows, and its corners evaluated.

    Parameters
    ----------
    rows, row_lo, row_hi
        Lifts and their boxes; row 0, the sum, is passed over.
    members, shares, values
        Receive, per symbol, the best vertex that has it: (n, 3), (n, 3), (n,), where its value is
        below ``-tolerance`` and below the one there.
    """
    r, n = rows.shape
    size = 2 * r + 8
    px, py, qx, qy = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for b in range(first + 1, n):
        for c in range(b + 1, n):
            corners = 3
            px[0], py[0], px[1], py[1], px[2], py[2] = 0.0, 0.0, 1.0, 0.0, 0.0, 1.0
            for i in range(1, r):
                da, db = rows[i, first] - rows[i, c], rows[i, b] - rows[i, c]
                for side in range(2):
                    sign = 1.0 if side == 0 else -1.0
                    room = rows[i, c] - row_lo[i] if side == 0 else row_hi[i] - rows[i, c]
                    is_cut = False
                    for t in range(corners):
                        if room + sign * (da * px[t] + db * py[t]) < 0:
                            is_cut = True
                            break
                    if not is_cut:
                        continue
                    kept = 0
                    for t in range(corners):
                        u = t + 1 if t + 1 < corners else 0
                        here = room + sign * (da * px[t] + db * py[t])
                        there = room + sign * (da * px[u] + db * py[u])
                        if here >= 0:
                            qx[kept], qy[kept] = px[t], py[t]
                            kept += 1
                        if (here > 0 and there < 0) or (here < 0 and there > 0):
                            w = here / (here - there)
                            qx[kept] = px[t] + w * (px[u] - px[t])
                            qy[kept] = py[t] + w * (py[u] - py[t])
                            kept += 1
                    corners = kept
                    if corners == 0:
                        break
                    for t in range(corners):
                        px[t], py[t] = qx[t], qy[t]
                if corners == 0:
                    break
            for t in range(corners):
                va, vb = px[t], py[t]
                vc = 1 - va - vb
                if va <= 1e-9 or vb <= 1e-9 or vc <= 1e-9:
                    continue
                value = -va * (pi[first] + math.log(va)) - vb * (pi[b] + math.log(vb))
                value -= vc * (pi[c] + math.log(vc))
                if value < -tolerance:
                    for member in range(3):
                        z = first if member == 0 else b if member == 1 else c
                        if value < values[z]:
                            values[z] = value
                            members[z, 0], members[z, 1], members[z, 2] = first, b, c
                            shares[z, 0], shares[z, 1], shares[z, 2] = va, vb, vc
