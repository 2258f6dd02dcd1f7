"""A small linear program in boxes, solved by the dual simplex, with a bound that is always true.

The problem is ``min cost . v`` over ``lo <= (v, rows v) <= hi``: `rows` is (r, n), and the boxes
have n + r entries. The dense tableau holds ``B**-1 [-rows | I]``. Every variable is boxed, so every
basis is dual feasible once each nonbasic variable sits at the bound that its reduced cost asks for;
costs and boxes may change freely between two calls, which go on from the tableau as it is.

Nothing is read off the tableau but multipliers y and a point. The bound is recomputed from `rows`
for those y, and is a bound for *any* y::

    cost . v = (cost - rows' y) . v + y . (rows v) >= sum_j min net_j box_j + sum_i min y_i box_i

less an allowance for rounding that holds for any order of summation.
"""

import math
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._kernels.compilation import helper, kernel

#: Optimal; proven to exceed the cutoff (or infeasible); too many pivots; infeasible but not proven.
OPTIMAL, BEYOND, LIMIT, STUCK = 0, 1, 2, 3

#: Sums may be reordered: the allowance holds for any order, and they run several times faster.
_SUMS = {"contract", "reassoc", "nsz"}
_UNIT = 2.0**-53
_MINIMISE = (
    "float64[:, ::1], float64[::1], float64[:, ::1], int64[::1], int64[::1], float64[::1], "
    "float64[::1], float64[::1], float64, int64, float64[::1], float64[::1], float64[::1]"
)
#: `minimise` as an argument of other kernels, which then do not compile it again.
MINIMISE = f"FunctionType(Tuple((int64, float64, float64, int64))({_MINIMISE}))"


class Program(NamedTuple):
    """A problem: rows (r, n), cost (n,), boxes (n + r,); boxes of v are not negative.

    `largest` is, per row, at least the absolute value of its entries and of its box: (r,).
    """

    rows: Floats
    largest: Floats
    cost: Floats
    lo: Floats
    hi: Floats


class State(NamedTuple):
    """Where the simplex stands: tableau, basis and places as `fresh_tableau` gives them.

    Reduced costs and the nonbasic variables have n + r entries, the basic ones r.
    """

    tableau: Floats
    basis: Ints
    place: Ints
    reduced: Floats
    x: Floats
    basic: Floats


def fresh_tableau(rows: Floats) -> tuple[Floats, Ints, Ints]:
    """Return the tableau, basis (r,) and places (n + r,; -1 nonbasic) of the slack basis."""
    r, n = rows.shape
    tableau = np.zeros((r, n + r))
    np.negative(rows, out=tableau[:, :n])
    tableau[np.arange(r), np.arange(n, n + r)] = 1.0
    basis = np.arange(n, n + r)
    place = np.concatenate([np.full(n, -1), np.arange(r)])
    return tableau, basis, place


@helper(fastmath=_SUMS)
def pivot(tableau: Floats, reduced: Floats, row: int, column: int) -> None:
    """Let the column enter the basis in this row, in the tableau and the reduced costs."""
    scale = 1.0 / tableau[row, column]
    size = tableau.shape[1]
    for j in range(size):
        tableau[row, j] *= scale
    tableau[row, column] = 1.0
    for i in range(tableau.shape[0]):
        factor = tableau[i, column]
        if i != row and factor != 0.0:
            for j in range(size):
                tableau[i, j] -= factor * tableau[row, j]
            tableau[i, column] = 0.0
    factor = reduced[column]
    for j in range(size):
        reduced[j] -= factor * tableau[row, j]
    reduced[column] = 0.0


@helper(fastmath=_SUMS)
def _bound_for(program: Program, y: Floats, net: Floats) -> tuple[float, float]:
    """Return a lower bound of ``cost . v`` that holds for any y, and the error of each ``net``.

    The multipliers y are (r,); `net` receives ``cost - rows' y``, (n,).

    With ``w = max |cost| + sum_i |y_i| largest_i`` every net is off by at most (r + 2) u w, and the
    sum of n + r products by at most (n + 2 r + 4) u w (1 + sum hi); three times that is taken off.
    """
    rows, largest, cost, lo, hi = program
    r, n = rows.shape
    weight = 0.0
    for j in range(n):
        net[j] = cost[j]
        weight = max(weight, abs(cost[j]))
    for i in range(r):
        weight += abs(y[i]) * largest[i]
        if y[i] != 0.0:
            for j in range(n):
                net[j] -= y[i] * rows[i, j]
    total, room = 0.0, 1.0
    for j in range(n):
        total += min(net[j] * lo[j], net[j] * hi[j])
        room += hi[j]
    for i in range(r):
        total += min(y[i] * lo[n + i], y[i] * hi[n + i])
    bound = total - 3 * (n + 2 * r + 4) * _UNIT * weight * room
    if not bound < math.inf:  # overflow, or no number: nothing is proven
        return -math.inf, math.inf
    return bound, 3 * (r + 2) * _UNIT * weight


@helper(fastmath=_SUMS)
def _start(program: Program, state: State) -> None:
    """Set reduced costs, nonbasic variables at the bound they ask for, and the basic ones."""
    _, _, cost, lo, hi = program
    tableau, basis, place, reduced, x, basic = state
    r, size = tableau.shape
    n = size - r
    for j in range(n):
        reduced[j] = cost[j]
    for j in range(n, size):
        reduced[j] = 0.0
    for i in range(r):
        if basis[i] < n and cost[basis[i]] != 0.0:
            for j in range(size):
                reduced[j] -= cost[basis[i]] * tableau[i, j]
    for i in range(r):
        reduced[basis[i]] = 0.0
    for j in range(size):
        if place[j] >= 0:
            x[j] = 0.0
        elif reduced[j] > 0:
            x[j] = lo[j]
        elif reduced[j] < 0:
            x[j] = hi[j]
        else:
            x[j] = lo[j] if abs(lo[j]) <= abs(hi[j]) else hi[j]
    for i in range(r):
        total = 0.0
        for j in range(size):
            total -= tableau[i, j] * x[j]
        basic[i] = total


@helper()
def _leaving(basis: Ints, basic: Floats, lo: Floats, hi: Floats) -> tuple[int, float, bool]:
    """Return the row that is furthest out of its box, by how much, and whether it is too low."""
    row, worst, rises = -1, 1e-10, False
    for i in range(basis.size):
        b = basis[i]
        if lo[b] - basic[i] > worst:
            row, worst, rises = i, lo[b] - basic[i], True
        elif basic[i] - hi[b] > worst:
            row, worst, rises = i, basic[i] - hi[b], False
    return row, worst, rises


@helper()
def _entering(
    program: Program,
    state: State,
    row: int,
    slope: float,
    rises: bool,
    ratios: Floats,
    columns: Ints,
) -> int:
    """Return the entering column by the long-step ratio test, -1 when there is none.

    Boxed variables are flipped to their other bound as long as the dual objective still rises.
    """
    lo, hi = program.lo, program.hi
    tableau, _, place, reduced, x, basic = state
    r, size = tableau.shape
    count = 0
    for j in range(size):
        width = hi[j] - lo[j]
        t = tableau[row, j] if rises else -tableau[row, j]
        if place[j] >= 0 or width <= 0.0 or abs(t) < 1e-9:
            continue
        at_low = x[j] <= lo[j] + 0.5 * width
        if at_low and t < 0.0:
            ratios[count], columns[count] = max(reduced[j], 0.0) / -t, j
            count += 1
        elif not at_low and t > 0.0:
            ratios[count], columns[count] = max(-reduced[j], 0.0) / t, j
            count += 1
    while count > 0:
        # The least ratio; among nearly equal ones the largest pivot.
        best, pivot = 0, abs(tableau[row, columns[0]])
        for e in range(1, count):
            size_e = abs(tableau[row, columns[e]])
            if ratios[e] < ratios[best] - 1e-12 or (
                ratios[e] <= ratios[best] + 1e-12 and size_e > pivot
            ):
                best, pivot = e, size_e
        j = columns[best]
        fall = pivot * (hi[j] - lo[j])
        if slope - fall <= 1e-10:
            return int(j)
        slope -= fall
        flipped = hi[j] if x[j] <= lo[j] + 0.5 * (hi[j] - lo[j]) else lo[j]
        for i in range(r):
            basic[i] -= tableau[i, j] * (flipped - x[j])
        x[j] = flipped
        count -= 1
        ratios[best], columns[best] = ratios[count], columns[count]
    return -1


@helper()
def _bound_at(
    program: Program, state: State, row: int, step: float, y: Floats, net: Floats
) -> tuple[float, float]:
    """Set y to the multipliers of the basis, moved along a row; return what `_bound_for` does."""
    r, n = program.rows.shape
    for i in range(r):
        y[i] = state.reduced[n + i] + step * state.tableau[row, n + i]
    return _bound_for(program, y, net)


@helper()
def _prove_infeasible(
    program: Program, state: State, row: int, cutoff: float, y: Floats, net: Floats
) -> tuple[float, float]:
    """Move y along the dual ray of an infeasible row until the bound passes the cutoff.

    Returns what `_bound_for` does.
    """
    step, bound, error = 1.0, -math.inf, 0.0
    for _ in range(7):
        for side in range(2):
            bound, error = _bound_at(program, state, row, -step if side else step, y, net)
            if bound > cutoff:
                return bound, error
        step *= 8.0
    return bound, error


@kernel(_MINIMISE)
def minimise(
    rows: Floats,
    largest: Floats,
    tableau: Floats,
    basis: Ints,
    place: Ints,
    cost: Floats,
    lo: Floats,
    hi: Floats,
    cutoff: float,
    most_pivots: int,
    x: Floats,
    net: Floats,
    y: Floats,
) -> tuple[int, float, float, int]:
    """Minimise a `Program`, going on from the tableau as it is, which is changed in place.

    Stop once the bound passes the cutoff (inf to solve to the end), or after so many pivots. `x`
    receives the point (v, rows v), (n + r,); `net` and `y` receive ``cost - rows' y`` of the bound,
    (n,), and its multipliers, (r,). Returns the status, the bound, the error of each `net`, and the
    number of pivots.
    """
    r, n = rows.shape
    reduced, basic = np.empty(n + r), np.empty(r)
    ratios, columns = np.empty(n + r), np.empty(n + r, np.int64)
    program = Program(rows, largest, cost, lo, hi)
    state = State(tableau, basis, place, reduced, x, basic)
    _start(program, state)
    status, pivots, bound, error = LIMIT, 0, -math.inf, 0.0
    while pivots < most_pivots:
        if cutoff < math.inf:
            objective = 0.0
            for j in range(n + r):
                objective += reduced[j] * x[j]
            if objective > cutoff + 1e-10:
                bound, error = _bound_at(program, state, 0, 0.0, y, net)
                if bound > cutoff:
                    status = BEYOND
                    break
        row, worst, rises = _leaving(basis, basic, lo, hi)
        if row < 0:
            status = OPTIMAL
            break
        column = _entering(program, state, row, worst, rises, ratios, columns)
        if column < 0:
            bound, error = _prove_infeasible(program, state, row, cutoff, y, net)
            status = BEYOND if bound > cutoff else STUCK
            break
        leaves = basis[row]
        target = lo[leaves] if rises else hi[leaves]
        step = (basic[row] - target) / tableau[row, column]
        for i in range(r):
            basic[i] -= tableau[i, column] * step
        value = x[column] + step
        x[column], x[leaves] = 0.0, target
        pivot(tableau, reduced, row, column)
        basis[row], place[column], place[leaves], basic[row] = column, row, -1, value
        pivots += 1
    if status != BEYOND:
        bound, error = _bound_at(program, state, 0, 0.0, y, net)
    for i in range(r):
        x[basis[i]] = basic[i]
    return status, bound, error, pivots
