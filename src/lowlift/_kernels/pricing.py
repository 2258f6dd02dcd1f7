"""Compiled search for posteriors v of a polytope with small ``H(v) - pi . v``.

`linearise` works on any polytope; `pairs` and `triples` list all vertices of support 2 and 3 where
the rows are boxes of lifts (row 0 of `rows` is the sum of v, the others are lifts).
"""

import math
from collections.abc import Callable

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.compilation import helper, kernel
from lowlift._kernels.lp import MINIMISE, OPTIMAL, State, pivot

#: Vertices that a walk along edges passes at the most.
_WALK = 200
#: The least gain, and the least step, of an edge worth walking along.
_GAIN, _STEP = 1e-9, 1e-9
#: Walk on from vertices below this value.
_NEAR = 0.4
#: With more rows than this, a walk costs more than it finds.
_MANY_ROWS = 64
#: A symbol whose net cost is above this, at v = 0, is not worth entering.
_DEAR = 8.0


@helper()
def _term(v: float, pi: float) -> float:
    """Return what one coordinate adds to H(v) - pi . v."""
    return -v * (math.log(v) + pi) if v > 1e-13 else 0.0


@helper()
def _value(x: Floats, pi: Floats) -> float:
    """Return H(v) - pi . v."""
    total = 0.0
    for j in range(pi.size):
        total += _term(x[j], pi[j])
    return total


@helper()
def _edge(state: State, lo: Floats, hi: Floats, column: int, sign: float) -> tuple[float, int]:
    """Return how far a nonbasic variable can move, and the row that stops it (-1: its own box)."""
    tableau, basis, x = state.tableau, state.basis, state.x
    step, row = hi[column] - lo[column], -1
    for i in range(basis.size):
        rate, b = -sign * tableau[i, column], basis[i]
        if rate > 1e-9:
            most = (hi[b] - x[b]) / rate
        elif rate < -1e-9:
            most = (lo[b] - x[b]) / rate
        else:
            continue
        if most < step:
            step, row = max(most, 0.0), i
    return step, row


@helper()
def _walk(state: State, lo: Floats, hi: Floats, pi: Floats, net: Floats) -> None:
    """Walk from a vertex x to the neighbour with the least H(v) - pi . v while that is less.

    Linear programs stop at vertices that are the best for one linear cost; these are the best of
    all their neighbours.
    """
    tableau, basis, place, unused, x, _ = state
    r, size = tableau.shape
    n_x = pi.size
    for _ in range(_WALK):
        best, column, leaves, move = -_GAIN, -1, -1, 0.0
        for j in range(size):
            if place[j] >= 0 or hi[j] <= lo[j] or (j < n_x and net[j] > _DEAR):
                continue
            sign = 1.0 if x[j] <= 0.5 * (lo[j] + hi[j]) else -1.0
            step, row = _edge(state, lo, hi, j, sign)
            if step < _STEP:
                continue
            change = 0.0
            if j < n_x:
                change = _term(x[j] + sign * step, pi[j]) - _term(x[j], pi[j])
            for i in range(r):
                b = basis[i]
                if b < n_x and tableau[i, j] != 0.0:
                    change += _term(x[b] - tableau[i, j] * sign * step, pi[b]) - _term(x[b], pi[b])
            if change < best:
                best, column, leaves, move = change, j, row, sign * step
        if column < 0:
            return
        for i in range(r):
            x[basis[i]] -= tableau[i, column] * move
        x[column] += move
        if leaves < 0:
            x[column] = hi[column] if move > 0 else lo[column]
            continue
        b = basis[leaves]
        x[b] = lo[b] if x[b] <= 0.5 * (lo[b] + hi[b]) else hi[b]
        pivot(tableau, unused, leaves, column)
        basis[leaves], place[column], place[b] = column, leaves, -1


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

    From the best vertex found, walk on along edges. The polytope is given as `minimise`
    (`lp.minimise`) takes it, with a tableau to start from, which is not changed; its first columns
    are v. `pi` are duals, (|X|,), `starts` points, (k, |X|). At most `steps` linear programs per
    start have `most_pivots` each.

    Returns the best vertex from each start, (k, |X|), and its ``H(v) - pi . v``; inf where none.
    """
    r, n = rows.shape
    n_x = pi.size
    work = np.empty((r, n + r))
    work_basis, work_place = np.empty(r, np.int64), np.empty(n + r, np.int64)
    x, net, cost, y = np.zeros(n + r), np.zeros(n), np.zeros(n), np.zeros(r)
    state = State(work, work_basis, work_place, np.zeros(n + r), x, y)
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
        for step in range(steps + 1):
            is_last = step == steps or misses == 2
            if is_last:  # once more at the best vertex, and on from there where it is near 0
                if values[k] > _NEAR or r > _MANY_ROWS:
                    break
                smooth = 1e-4
                for j in range(n_x):
                    x[j] = found[k, j]
            for j in range(n_x):
                cost[j] = -math.log(max(x[j], 0.0) + smooth) - pi[j]
            status, _, _, _ = minimise(
                rows, largest, work, work_basis, work_place, cost, lo, hi, math.inf, most_pivots,
                x, net, y,
            )  # fmt: skip
            if status != OPTIMAL:
                break
            if is_last:
                _walk(state, lo, hi, pi, net)
            value = _value(x, pi)
            if value < values[k] - 1e-12:
                values[k], misses = value, 0
                for j in range(n_x):
                    found[k, j] = max(x[j], 0.0)
            else:
                misses += 1
            if is_last:
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
    Row 0, the sum, is passed over. `members`, `shares` and `values` receive, per symbol, the best
    vertex that has it, (n, 3), (n, 3), (n,), if it is below ``-tolerance`` and the one there.
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
