"""Compiled search over all partitions of a few symbols, by bit mask."""

import math

import numpy as np
import numpy.typing as npt

from lowlift.kernels.compilation import kernel

__all__ = ["best_partition", "subset_sums"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel("float64[:, ::1]")
def subset_sums(columns: Floats) -> Floats:
    """Return the sum of the columns of every subset: (m, n) gives (m, 2**n), by bit mask."""
    m, n = columns.shape
    out = np.zeros((m, 1 << n))
    for s in range(m):
        for k in range(n):
            for mask in range(1 << k):
                out[s, (1 << k) | mask] = out[s, mask] + columns[s, k]
    return out


@kernel("boolean[::1], float64[::1]")
def best_partition(allowed: npt.NDArray[np.bool_], gain: Floats) -> tuple[float, Ints, int]:
    """Return the allowed partition of ``0..n-1`` with the largest sum of gains.

    Parameters
    ----------
    allowed, gain
        Per subset, by bit mask: (2**n,).

    Returns
    -------
    tuple
        The sum, the blocks as bit masks with room for more, and how many there are; -inf and 0
        when no partition is allowed.

    Cost
        O(3**n): every subset tries every allowed block that holds its lowest symbol.
    """
    size = allowed.size
    value = np.empty(size)
    block = np.zeros(size, np.int32)
    value[0] = 0.0
    for mask in range(1, size):
        lowest = mask & -mask
        rest = mask ^ lowest
        # Submasks of `rest` from the largest down to 0, each joined by the lowest symbol.
        sub = rest
        best, best_block = -math.inf, 0
        while True:
            if allowed[sub | lowest]:
                total = gain[sub | lowest] + value[rest ^ sub]
                if total > best:
                    best, best_block = total, sub | lowest
            if sub == 0:
                break
            sub = (sub - 1) & rest
        value[mask] = best
        block[mask] = best_block
    blocks = np.empty(64, np.int64)
    count, mask = 0, size - 1
    while mask and block[mask]:
        blocks[count] = block[mask]
        mask ^= block[mask]
        count += 1
    return value[size - 1], blocks, count
