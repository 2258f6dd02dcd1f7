"""P(X) back from what was published, with intervals.

The shares r(y) of the outputs are ``r = A p`` with ``A(y, x) = P(y|x)`` and p = P(X). The estimate
maximises ``sum_y n(y) log r(y)`` over all p, from the channel alone: what a codebook says of P(X)
does not enter, it would come back as its own confirmation. The intervals are the smallest and the
largest p(x) for which every r(y) lies in its own interval: true also where p is not determined.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.channel import Channel
from lowlift.deadline import Deadline
from lowlift.errors import InvalidInput
from lowlift.joint import Label
from lowlift.sampling import check_level, clopper_pearson

__all__ = ["Block", "Estimate", "estimate"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

#: More symbols with rows of their own would take minutes and gigabytes.
MOST_BLOCKS = 2000
#: The gap, in nats a row, at which the likelihood counts as largest, and at which to stop.
_SOLVED, _TARGET = 1e-9, 1e-12
_STEPS = 100
#: Singular values below this share of the largest count as zero.
_RANK = 1e-10
#: Taken off both ends of an interval for rounding, per unit of the multipliers' sum.
_ROUNDING = 1e-12
#: Seconds that the likelihood may take in any case; seconds per b**3 of an inverse and of an SVD.
_AT_LEAST, _INVERSE, _SVD = 0.5, 1e-9, 1e-8


class Block(NamedTuple):
    """Symbols of X that the channel treats alike: their total is all that can be estimated."""

    #: Numbers of the symbols.
    symbols: tuple[int, ...]
    #: The estimate of their total; NaN where the outputs do not determine it.
    total: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What the published rows say of P(X); `estimate` makes one."""

    x_labels: tuple[Label, ...]
    #: The estimate of P(x), (|X|,); NaN where the outputs do not determine it.
    p_x: Floats
    #: The ends of the simultaneous intervals of P(x), (|X|,); NaN when not `is_consistent`.
    low: Floats
    high: Floats
    #: Per symbol, whether all p of largest likelihood agree on it.
    is_identified: Bools
    #: The symbols by equal rows of the channel.
    blocks: tuple[Block, ...]
    #: The shares of the outputs under the estimate, (|Y|,).
    fitted: Floats
    log_likelihood: float
    #: How far the likelihood can at most be from the largest, in nats a row.
    gap: float
    #: Whether some p explains all outputs within their intervals.
    is_consistent: bool
    #: How many blocks have an interval that is true but may not be the narrowest: time ran out.
    skipped: int
    level: float
    n_rows: int

    def __repr__(self) -> str:
        known = int(self.is_identified.sum())
        return f"<Estimate |X|={len(self.p_x)} identified={known} rows={self.n_rows}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        found = []
        if not self.is_consistent:
            found.append("the published table does not look drawn from this channel: no intervals.")
        open_blocks = [b.symbols for b in self.blocks if not self.is_identified[b.symbols[0]]]
        merged = sum(len(symbols) for symbols in open_blocks if len(symbols) > 1)
        if merged:
            found.append(
                f"the channel treats {merged} values like others: their totals are estimated, "
                "each alone has bounds only."
            )
        other = sum(len(symbols) == 1 for symbols in open_blocks)
        if other:
            found.append(f"{other} more values are not determined by the outputs: bounds only.")
        if self.skipped:
            found.append(
                f"{self.skipped} intervals are true but may be wider than need be: time ran out."
            )
        if self.gap > _SOLVED:
            found.append(f"the likelihood may be {self.gap:.1g} nats a row below the largest.")
        return tuple(found)


def estimate(
    channel: Channel, counts_y: npt.ArrayLike, level: float = 0.95, *, time_limit: float = 10.0
) -> Estimate:
    """Return the P(X) under which the published rows are most likely, with intervals.

    Parameters
    ----------
    channel
        P(y | x) as published.
    counts_y
        How many published rows have each output, (|Y|,): whole numbers, not all 0.
    level
        The confidence that all intervals hold together.
    time_limit
        Seconds; intervals that are not narrowed by then are wider, and `skipped` counts them.

    Raises
    ------
    InvalidInput
        For counts that are not |Y| whole numbers of 0 or more, a level not between 0 and 1, or
        a channel that draws and has more than 2000 different rows.

    Guarantee
        `gap` bounds how far the likelihood is from the largest, by the Karush-Kuhn-Tucker
        conditions of what is returned. If rows are drawn independently by the channel, all
        P(x) lie in their intervals with probability `level` at least, at every size, whether they
        are determined or not: each end is proven by the multipliers of a linear program.

    Cost
        A channel that merges, or draws within blocks that it merges: O(|X|). Otherwise symbols that
        share outputs, directly or through others, are solved together: O(b**3) for b different
        rows, and 2 b linear programs. A random response of 1000 values takes some 3 s; a dense
        channel of 1000 rows has time for few of its programs (`skipped`).

    Notes
    -----
    Minimises ``-sum_y q(y) log (A p)(y) + sum p`` over p >= 0 from uniform p, by a primal-dual
    interior point method: it ends inside the face of all maximisers, which tells what is
    determined. With ``g = A' (q / A p)``, no p has a likelihood above ``log max g`` a row more.

    Examples
    --------
    Each value is kept with probability 3/4, else flipped: (r - 1/4) / (1/2).

    >>> found = estimate(Channel([[3, 1], [1, 3]]), [400, 600])
    >>> found.p_x.round(6), found.low.round(2), found.high.round(2)
    (array([0.3, 0.7]), array([0.24, 0.64]), array([0.36, 0.76]))

    Two values merged: only their total is determined.

    >>> merged = estimate(Channel([[1, 0], [1, 0], [0, 1]]), [400, 600])
    >>> merged.p_x, merged.high.round(2)
    (array([nan, nan, 0.6]), array([0.43, 0.43, 0.63]))
    """
    if not isinstance(channel, Channel):
        raise InvalidInput(f"channel must be a Channel; got {type(channel).__name__}.")
    counts = _whole_counts(counts_y, channel.n_y)
    check_level(level)
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if not is_number or not time_limit >= 0:
        raise InvalidInput(f"time_limit must be 0 seconds or more; got {time_limit!r}.")
    table = _Table(channel)
    seen = np.asarray(np.bincount(table.of_output, counts, table.n_y), np.float64)
    # Of two outputs one interval is the mirror of the other: both hold or neither.
    error = (1 - level) / (1 if table.n_y == 2 else table.n_y)
    box = clopper_pearson(seen, seen.sum(), error)
    solve = _merged if (table.weights == channel.denominator).all() else _mixed
    found = solve(table, seen, box, Deadline(time_limit))
    return _spread(channel, table, counts, level, found)


def _whole_counts(counts_y: npt.ArrayLike, n_y: int) -> Floats:
    try:
        given = np.asarray(counts_y)
        counts = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("counts_y must hold whole numbers, one per output.") from error
    if given.dtype.kind == "b" or counts.shape != (n_y,):
        raise InvalidInput(
            f"counts_y must hold one whole number for each of the {n_y} outputs; "
            f"got shape {counts.shape}."
        )
    bad = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))
    if bad.any():
        raise InvalidInput(
            f"counts_y must be whole numbers, 0 or more; got {given[bad][0]} "
            f"at {int(np.argmax(bad))}."
        )
    if not counts.any():
        raise InvalidInput("counts_y must not all be 0: there are no rows to estimate from.")
    return counts


class _Table:
    """A channel with outputs of one direction taken together, and symbols of one row.

    Outputs whose members have the same ratios of weights say the same of x: their sum tells all.
    What is drawn within a block of merged values is such a difference that makes none.
    """

    def __init__(self, channel: Channel) -> None:
        self.denominator = channel.denominator
        number: dict[bytes, int] = {}
        #: Per output of the channel: its number here, and which share of that one it is.
        self.of_output = np.zeros(channel.n_y, np.int64)
        common = np.zeros(channel.n_y)
        members, weights = list[Ints](), list[Ints]()
        for y in range(channel.n_y):
            entries = slice(channel.offsets[y], channel.offsets[y + 1])
            order = np.argsort(channel.members[entries])
            mine, given = channel.members[entries][order], channel.member_weights[entries][order]
            divisor = np.gcd.reduce(given)
            k = number.setdefault(mine.tobytes() + (given // divisor).tobytes(), len(number))
            self.of_output[y], common[y] = k, divisor
            if k == len(members):
                members.append(mine)
                weights.append(given)
            else:
                weights[k] = weights[k] + given
        self.n_y = len(number)
        self.share = common / np.bincount(self.of_output, common)[self.of_output]
        outputs = np.repeat(np.arange(self.n_y), [len(part) for part in members])
        by_symbol = np.lexsort((outputs, np.concatenate(members)))
        self.outputs, self.weights = outputs[by_symbol], np.concatenate(weights)[by_symbol]
        symbols = np.concatenate(members)[by_symbol]
        self.starts = np.searchsorted(symbols, np.arange(channel.n_x + 1))
        self.blocks = self._equal_rows()

    def _row(self, x: int) -> tuple[Ints, Ints]:
        entries = slice(self.starts[x], self.starts[x + 1])
        return self.outputs[entries], self.weights[entries]

    def _equal_rows(self) -> list[tuple[int, ...]]:
        found: dict[bytes, list[int]] = {}
        for x in range(len(self.starts) - 1):
            key = b"".join(part.tobytes() for part in self._row(x))
            found.setdefault(key, []).append(x)
        return [tuple(block) for block in found.values()]

    @property
    def p_yx(self) -> Floats:
        """P(y | x) for the first symbol of each block, (outputs, blocks)."""
        table = np.zeros((self.n_y, len(self.blocks)))
        for k, block in enumerate(self.blocks):
            outputs, weights = self._row(block[0])
            table[outputs, k] = weights / self.denominator
        return table


class _Found(NamedTuple):
    """Per block: the total (NaN if not determined) and its interval; and how it was found."""

    total: Floats
    low: Floats
    high: Floats
    fitted: Floats
    gap: float
    is_consistent: bool
    skipped: int


def _merged(
    table: _Table, counts: Floats, box: tuple[Floats, Floats], _deadline: Deadline
) -> _Found:
    """Return the shares of the outputs themselves: each block has one, and they sum to 1."""
    low, high = box
    shares = counts / counts.sum()
    tight_low = np.clip(np.maximum(low, 1 - (high.sum() - high) - _ROUNDING), 0, 1)
    tight_high = np.clip(np.minimum(high, 1 - (low.sum() - low) + _ROUNDING), 0, 1)
    mine = table.outputs[table.starts[[block[0] for block in table.blocks]]]
    return _Found(shares[mine], tight_low[mine], tight_high[mine], shares, 0.0, True, 0)


def _mixed(table: _Table, counts: Floats, box: tuple[Floats, Floats], deadline: Deadline) -> _Found:
    if len(table.blocks) > MOST_BLOCKS:
        raise InvalidInput(
            f"a channel that draws may have at most {MOST_BLOCKS} different rows here; this one "
            f"has {len(table.blocks)}. Estimate totals of values with a coarser channel."
        )
    p_yx = table.p_yx
    parts = _parts(p_yx)
    p, identified, gap = _likely_parts(p_yx, counts / counts.sum(), parts, deadline)
    ends = _Ends(p_yx, *box)
    ends.narrow(np.argsort(-p), parts, deadline)
    return _Found(
        np.where(identified, p, np.nan),
        ends.low,
        ends.high,
        p_yx @ p,
        gap,
        ends.is_consistent,
        ends.skipped,
    )


def _parts(p_yx: Floats) -> list[tuple[Ints, Ints]]:
    """Return the outputs and the blocks of each part: those that share outputs with each other."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_y, n = p_yx.shape
    rows, columns = np.nonzero(p_yx)
    edges = csr_array((np.ones(len(rows)), (rows, n_y + columns)), shape=(n_y + n, n_y + n))
    count, label = connected_components(edges, directed=False)
    order = np.argsort(label, kind="stable")
    pieces = np.split(order, np.searchsorted(label[order], np.arange(1, count)))
    return [(piece[piece < n_y], piece[piece >= n_y] - n_y) for piece in pieces]


def _likely_parts(
    p_yx: Floats, q: Floats, parts: list[tuple[Ints, Ints]], deadline: Deadline
) -> tuple[Floats, Bools, float]:
    """Return p of largest likelihood, what of it all maximisers agree on, and the gap.

    The mass of a part is the share of its outputs in every maximiser; given it, parts do not
    depend on each other.
    """
    n = p_yx.shape[1]
    p, identified, gap = np.zeros(n), np.ones(n, np.bool_), 0.0
    enough = Deadline(max(deadline.left, _AT_LEAST))
    for outputs, blocks in parts:
        mass = float(q[outputs].sum())
        if mass == 0:
            continue  # no output was seen: 0 is the only maximiser
        if len(blocks) == 1:
            p[blocks] = mass
            continue
        rows, shares = p_yx[np.ix_(outputs, blocks)], q[outputs] / mass
        inside, slack, off = _most_likely(rows, shares, enough)
        p[blocks], gap = mass * inside, max(gap, off)
        identified[blocks] = _identified(rows, shares, inside, slack, deadline)
    return p / p.sum(), identified, gap


def _spread(
    channel: Channel, table: _Table, counts: Floats, level: float, found: _Found
) -> Estimate:
    """Return what was found for blocks as an estimate of every symbol."""
    p_x, low, high = np.full((3, channel.n_x), np.nan)
    for k, block in enumerate(table.blocks):
        symbols = list(block)
        high[symbols] = found.high[k]
        low[symbols] = found.low[k] if len(block) == 1 else 0.0 * found.low[k]  # NaN stays NaN
        if len(block) == 1 or found.total[k] == 0:
            p_x[symbols] = found.total[k]
    seen = counts > 0
    fitted = found.fitted[table.of_output] * table.share
    for array in (p_x, low, high, fitted):
        array.flags.writeable = False
    return Estimate(
        channel.x_labels,
        p_x,
        low,
        high,
        ~np.isnan(p_x),
        tuple(
            Block(block, float(found.total[k]), float(found.low[k]), float(found.high[k]))
            for k, block in enumerate(table.blocks)
        ),
        fitted,
        math.fsum(counts[seen] * np.log(fitted[seen])),
        found.gap,
        found.is_consistent,
        found.skipped,
        level,
        int(counts.sum()),
    )


def _most_likely(p_yx: Floats, q: Floats, deadline: Deadline) -> tuple[Floats, Floats, float]:
    """Return p of largest likelihood, its slacks ``1 - g``, and the gap in nats a row."""
    rows, weights = _sparse_or_dense(p_yx[q > 0]), q[q > 0]
    n = rows.shape[1]
    p, z = np.full(n, 1 / n), np.ones(n)
    best = p, z, math.inf
    for _ in range(_STEPS):
        r = rows @ p
        g = rows.T @ (weights / r)
        gap = math.log(float(g.max()) * float(p.sum()))
        if gap < best[2]:
            best = p / p.sum(), z, gap
        if gap < _TARGET or deadline.is_over:
            break
        # (H + z/p) d = ..., scaled so that every eigenvalue of the matrix is 1 or more.
        scale = np.sqrt(p / z)
        try:
            solve = _factored(rows, scale, np.sqrt(weights) / r)
        except (np.linalg.LinAlgError, ValueError, RuntimeError):
            break
        # Mehrotra: where a full step would lead, then a step that makes up for its second order.
        step = scale * solve(scale * (g - 1))
        change = -z - z / p * step
        mean = float(p @ z) / n
        ahead = (p + _longest(p, step) * step) @ (z + _longest(z, change) * change) / n
        aim = (ahead / mean) ** 3 * mean - step * change
        step = scale * solve(scale * (g - 1 + aim / p))
        change = aim / p - z - z / p * step
        p, z = p + _longest(p, step) * step, z + _longest(z, change) * change
    return _without_dust(rows, weights, best)


def _sparse_or_dense(table: Floats) -> Any:
    """Return a table with few entries as a sparse one: products take a hundredth of the time."""
    from scipy.sparse import csr_array

    return csr_array(table) if np.count_nonzero(table) * 10 < table.size else table


def _factored(rows: Any, scale: Floats, weight: Floats) -> Callable[[Floats], Floats]:
    """Return what solves ``(1 + half' half) d = b`` with half = weight rows scale."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse import diags_array, issparse
    from scipy.sparse.linalg import splu

    # Near the end the one may drown in the rest: then a rounding of the trace is added.
    if issparse(rows):
        half = diags_array(weight) @ rows @ diags_array(scale)
        matrix = half.T @ half
        ones = np.full(matrix.shape[0], 1.0 + 1e-15 * float(matrix.trace()))
        return splu((matrix + diags_array(ones)).tocsc()).solve  # type: ignore[no-any-return]
    half = rows * scale * weight[:, None]
    matrix = half.T @ half
    matrix[np.diag_indices(len(matrix))] += 1.0 + 1e-15 * matrix.trace()
    factor = cho_factor(matrix, lower=True, overwrite_a=True)
    return lambda b: np.asarray(cho_solve(factor, b))


def _longest(values: Floats, change: Floats) -> float:
    """Return how much of a change keeps positive values positive, at most all of it."""
    falls = change < 0
    if not falls.any():
        return 1.0
    return min(1.0, 0.9995 * float((-values[falls] / change[falls]).min()))


def _without_dust(
    rows: Any, weights: Floats, best: tuple[Floats, Floats, float]
) -> tuple[Floats, Floats, float]:
    """Return the solution with what is 0 but for the method set to 0, if it is no worse."""
    p, z, gap = best
    clean = np.where((p < 1e-7) & (p < z), 0.0, p)
    clean /= clean.sum()
    r = rows @ clean
    if (r > 0).all():
        clean_gap = max(0.0, math.log(float((rows.T @ (weights / r)).max())))
        if clean_gap <= max(gap, _SOLVED / 10):
            return clean, z, clean_gap
    return p, z, max(0.0, gap)


def _identified(p_yx: Floats, q: Floats, p: Floats, slack: Floats, deadline: Deadline) -> Bools:
    """Tell per entry whether all maximisers agree on it; without time to tell, that they do not.

    They share r(y) wherever q(y) > 0, and their zeros where the slack is positive; p lies inside
    their face, so they are p + d with d in the null space of those rows and of the sum.
    """
    free = np.flatnonzero(p > np.minimum(slack, 1e-7))
    system = np.vstack([p_yx[q > 0][:, free], np.ones(len(free))])
    known = np.ones(len(p), np.bool_)
    if _is_surely_of_full_rank(system):
        return known
    if _SVD * len(free) ** 3 > max(deadline.left, _AT_LEAST):
        known[free] = False
        return known
    _, values, axes = np.linalg.svd(system, full_matrices=system.shape[0] < system.shape[1])
    rank = int((values > _RANK * values[0]).sum())
    if rank < len(free):
        known[free] = np.abs(axes[rank:]).max(axis=0) < 1e-6
    return known


def _is_surely_of_full_rank(system: Floats) -> bool:
    """Tell whether the columns are far from dependent, at a tenth of the price of an SVD."""
    gram = system.T @ system
    gram[np.diag_indices(len(gram))] -= 1e-8 * gram.trace()
    try:
        np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return False
    return True


class _Ends:
    """The ends of the intervals of p(x) over all p whose r(y) lie in a box.

    For any multipliers u, ``p(x) = (e_x - A' u) . p + u . r`` is at most the largest entry of
    ``e_x - A' u`` plus the largest ``u . r`` in the box, and at least the smallest of both. So
    every u proves an interval; the linear programs find the u that prove the narrowest.
    """

    def __init__(self, p_yx: Floats, low_y: Floats, high_y: Floats) -> None:
        self.p_yx, self.low_y, self.high_y = p_yx, low_y, high_y
        self.p_xy = _sparse_or_dense(np.ascontiguousarray(p_yx.T))
        n = p_yx.shape[1]
        self.low, self.high = np.zeros(n), np.ones(n)
        self.is_consistent, self.skipped = True, 0

    def _prove(self, x: int, u: Floats) -> None:
        """Narrow the interval of p(x) to what the multipliers prove."""
        rest = -(self.p_xy @ u)
        rest[x] += 1.0
        at_low, at_high = u * self.low_y, u * self.high_y
        room = _ROUNDING * (1.0 + float(np.abs(u).sum()))
        least = float(rest.min()) + float(np.minimum(at_low, at_high).sum()) - room
        most = float(rest.max()) + float(np.maximum(at_low, at_high).sum()) + room
        self.low[x], self.high[x] = max(self.low[x], least), min(self.high[x], most)

    def narrow(self, order: Ints, parts: list[tuple[Ints, Ints]], deadline: Deadline) -> None:
        """Solve both linear programs of each x, in this order, until time runs out."""
        solver, status = _solver(self.p_yx, self.low_y, self.high_y, deadline.left)
        solver.run()
        if solver.getModelStatus() == status.kInfeasible:
            self.is_consistent = False
            self.low[:] = self.high[:] = np.nan
            return
        solver.setOptionValue("simplex_strategy", 4)  # primal: the last point stays feasible
        before = deadline.earlier(_INVERSE * max(len(blocks) for _, blocks in parts) ** 3)
        left = np.array(
            [x for x in order.tolist() if before.is_over or not self._solve(solver, status, x)],
            np.int64,
        )
        self.skipped = len(left)
        if self.skipped:
            self._narrow_without_solver(left, parts, deadline)
        # Where both ends meet they may have passed each other by less than a rounding.
        np.minimum(self.low, self.high, out=self.low)

    def _solve(self, solver: Any, status: Any, x: int) -> bool:
        """Narrow p(x) by its two linear programs; tell whether both were solved."""
        solved = True
        for sign in (1.0, -1.0):
            solver.changeColCost(x, sign)
            solver.run()
            solved &= solver.getModelStatus() == status.kOptimal
            solution = solver.getSolution()
            if solution.dual_valid:
                self._prove(x, sign * np.array(solution.row_dual)[:-1])
        solver.changeColCost(x, 0.0)
        return solved

    def _narrow_without_solver(
        self, left: Ints, parts: list[tuple[Ints, Ints]], deadline: Deadline
    ) -> None:
        """Prove what the inverse of the channel proves: the bounds that forget that p >= 0."""
        for x in left.tolist():
            column = self.p_yx[:, x]
            used = column > 0
            most = float((self.high_y[used] / column[used]).min()) + _ROUNDING  # A p(x) <= r
            self.high[x] = min(self.high[x], most)
        for outputs, blocks in parts:
            mine = np.isin(blocks, left)
            is_long = _INVERSE * len(blocks) ** 3 > max(deadline.left, _AT_LEAST)
            if not mine.any() or is_long:
                continue
            inverse = _some_inverse(self.p_yx[np.ix_(outputs, blocks)])
            u = np.zeros(len(self.p_yx))
            for k in np.flatnonzero(mine).tolist():
                if deadline.left < -_AT_LEAST:
                    return
                u[outputs] = inverse[k]
                self._prove(int(blocks[k]), u)


def _some_inverse(p_yx: Floats) -> Floats:
    """Return the inverse, or the pseudo-inverse where there is none (which takes ten times)."""
    if p_yx.shape[0] == p_yx.shape[1]:
        try:
            return np.asarray(np.linalg.inv(p_yx), np.float64)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.pinv(p_yx, rcond=_RANK), np.float64)


def _solver(p_yx: Floats, low_y: Floats, high_y: Floats, time_limit: float) -> tuple[Any, Any]:
    """Return a solver that holds the p whose r(y) lie in the box, and the names of its statuses."""
    import highspy

    n = p_yx.shape[1]
    rows = np.vstack([p_yx, np.ones(n)])
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = rows.shape
    model.col_cost_, model.col_lower_ = np.zeros(n), np.zeros(n)
    model.col_upper_ = np.ones(n)
    model.row_lower_, model.row_upper_ = np.append(low_y, 1.0), np.append(high_y, 1.0)
    column, row = np.nonzero(rows.T)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.searchsorted(column, np.arange(n + 1)).astype(np.int32)
    model.a_matrix_.index_ = row.astype(np.int32)
    model.a_matrix_.value_ = rows[row, column]
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("solver", "simplex"),
        ("presolve", "off"),
        ("simplex_scale_strategy", 0),  # scaled, it can go round in circles on dense channels
        ("simplex_iteration_limit", 50 * sum(rows.shape)),
        ("time_limit", float(time_limit)),
    ):
        solver.setOptionValue(name, value)
    solver.passModel(model)
    return solver, highspy.HighsModelStatus
