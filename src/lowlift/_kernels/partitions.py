"""Compiled search over all partitions of a few symbols, by bit mask."""

import math

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Floats
from lowlift._kernels.compilation import kernel


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


@kernel("boolean[::1], float64[::1], float64[::1], int32[::1], int64, int64")
def extend(
    allowed: Bools, gain: Floats, value: Floats, block: npt.NDArray[np.int32], first: int, last: int
) -> None:
    """Find the best allowed partition of each subset numbered ``first`` to ``last - 1``.

    All are (2**n,), by bit mask: whether a subset may be a block (`allowed`) and what it adds
    (`gain`). `value` and `block` receive the largest sum of gains, -inf when no partition is
    allowed, and one of its blocks (0: none); those below `first` are there, 0 of the empty set.
    O(3**n) for all: every subset tries every allowed block that holds its lowest symbol.
    """
    for mask in range(first, last):
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


def blocks_of(block: npt.NDArray[np.int32]) -> list[int]:
    """Return the blocks of the whole set as bit masks, from what `extend` found; none: empty."""
    found, mask = [], len(block) - 1
    while mask and block[mask]:
        found.append(int(block[mask]))
        mask ^= found[-1]
    return found
