"""The distribution of X under which what was published is the most likely, by interior points."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lowlift._arrays import Bools, Floats, Ints
from lowlift._deadline import Deadline

#: The gap, in nats a row, at which the likelihood counts as largest, and at which to stop.
SOLVED, _TARGET = 1e-9, 1e-12
_STEPS = 100
#: Singular values below this share of the largest count as zero.
RANK = 1e-10
#: Seconds that the likelihood may take in any case; seconds per b**3 of an SVD.
AT_LEAST, _SVD = 0.5, 1e-8


def likely_parts(
    p_yx: Floats, q: Floats, parts: list[tuple[Ints, Ints]], deadline: Deadline
) -> tuple[Floats, Bools, float]:
    """Return p of largest likelihood, what of it all maximisers agree on, and the gap.

    The mass of a part is the share of its outputs in every maximiser; given it, parts do not
    depend on each other.
    """
    n = p_yx.shape[1]
    p, identified, gap = np.zeros(n), np.ones(n, np.bool_), 0.0
    enough = Deadline(max(deadline.left, AT_LEAST))
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


def _most_likely(p_yx: Floats, q: Floats, deadline: Deadline) -> tuple[Floats, Floats, float]:
    """Return p of largest likelihood, its slacks ``1 - g``, and the gap in nats a row."""
    rows, weights = sparse_or_dense(p_yx[q > 0]), q[q > 0]
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


def sparse_or_dense(table: Floats) -> Any:
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
        solve: Callable[[Floats], Floats] = splu((matrix + diags_array(ones)).tocsc()).solve
        return solve
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
        if clean_gap <= max(gap, SOLVED / 10):
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
    if _SVD * len(free) ** 3 > max(deadline.left, AT_LEAST):
        known[free] = False
        return known
    _, values, axes = np.linalg.svd(system, full_matrices=system.shape[0] < system.shape[1])
    rank = int((values > RANK * values[0]).sum())
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
