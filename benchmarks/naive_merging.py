"""Algorithm 1 as a researcher would write it in NumPy: floats only, no audit, one joint at a time.

The rival of `subset_merging` in the benchmarks. Candidates are scored in one vectorised step.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def naive_merging(p_sx: Floats, lower: float, upper: float) -> list[list[int]]:
    """Return the blocks of the corrected Algorithm 1 for ALIP(lower, upper)."""
    p_s = p_sx.sum(axis=1)

    def lifts(columns: Floats) -> Floats:
        return np.asarray(columns / columns.sum(axis=0) / p_s[:, None])

    def violates(column: Floats) -> bool:
        lift = lifts(column[:, None])
        return bool(lift.min() < np.exp(-lower) or lift.max() > np.exp(upper))

    def risk(columns: Floats) -> Floats:
        lift = lifts(columns)
        return np.asarray(np.log(lift.max(axis=0)) - np.log(lift.min(axis=0)))

    def absorb(block: list[int], groups: list[list[int]]) -> None:
        column = p_sx[:, block].sum(axis=1)
        while groups and violates(column):
            candidates = np.stack([p_sx[:, g].sum(axis=1) for g in groups], axis=1)
            best = groups.pop(int(np.argmin(risk(candidates + column[:, None]))))
            block += best
            column = column + p_sx[:, best].sum(axis=1)

    high = [x for x in range(p_sx.shape[1]) if violates(p_sx[:, x])]
    low = [[x] for x in range(p_sx.shape[1]) if x not in set(high)]
    symbol_risk = risk(p_sx)
    queue, blocks = [[x] for x in sorted(high, key=lambda x: -symbol_risk[x])], []
    while queue:
        block = queue.pop(0)
        queue.sort()
        absorb(block, queue)
        queue.sort(key=lambda g: -symbol_risk[g[0]])
        blocks.append(block)
    if blocks:
        last = blocks.pop()
        absorb(last, blocks)
        absorb(last, low)
        blocks.append(last)
    return blocks + low


def block_entropy(p_sx: Floats, blocks: list[list[int]]) -> float:
    """Return I(X;Y) / H(X) of a partition."""
    p_x = p_sx.sum(axis=0)
    p_y = np.array([p_x[block].sum() for block in blocks])
    return float((p_y * np.log(p_y)).sum() / (p_x * np.log(p_x)).sum())
