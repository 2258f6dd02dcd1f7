"""Algorithm 1 as a researcher would write it in NumPy: floats only, no audit, one joint at a time.

The rival of `subset_merging` in the benchmarks. Candidates are scored in one vectorised step, and
the columns of groups are kept, not summed anew.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Groups:
    """Groups of symbols with their columns P(s, group), in order."""

    def __init__(self, p_sx: Floats, symbols: list[list[int]]) -> None:
        self.symbols = symbols
        parts = [p_sx[:, group].sum(axis=1) for group in symbols]
        self.columns = np.stack(parts, axis=1) if parts else np.empty((len(p_sx), 0))

    def pop(self, k: int) -> tuple[list[int], Floats]:
        """Take a group out."""
        column = self.columns[:, k]
        self.columns = np.delete(self.columns, k, axis=1)
        return self.symbols.pop(k), column


class NaiveMerging:
    """The corrected Algorithm 1 for ALIP(lower, upper)."""

    def __init__(self, p_sx: Floats, lower: float, upper: float) -> None:
        self.p_sx, self.p_s = p_sx, p_sx.sum(axis=1)
        self.low, self.high = np.exp(-lower), np.exp(upper)

    def lifts(self, columns: Floats) -> Floats:
        """Return the lifts of groups, (|S|, groups)."""
        return np.asarray(columns / columns.sum(axis=0) / self.p_s[:, None])

    def violates(self, columns: Floats) -> npt.NDArray[np.bool_]:
        """Return which groups break the bound."""
        lift = self.lifts(columns)
        return np.asarray((lift.min(axis=0) < self.low) | (lift.max(axis=0) > self.high))

    def risk(self, columns: Floats) -> Floats:
        """Return the spread of the log lifts of groups."""
        lift = self.lifts(columns)
        return np.asarray(np.log(lift.max(axis=0)) - np.log(lift.min(axis=0)))

    def absorb(self, block: list[int], groups: Groups) -> None:
        """Let the block take groups, least risk first, until it is allowed."""
        column = self.p_sx[:, block].sum(axis=1)
        while groups.symbols and self.violates(column[:, None])[0]:
            best = int(np.argmin(self.risk(groups.columns + column[:, None])))
            members, added = groups.pop(best)
            block += members
            column = column + added

    def blocks(self) -> list[list[int]]:
        """Return the blocks of the partition."""
        is_high, symbol_risk = self.violates(self.p_sx), self.risk(self.p_sx)
        # In order of symbols, so that ties fall as in the algorithm.
        queue = Groups(self.p_sx, [[int(x)] for x in np.flatnonzero(is_high)])
        low = Groups(self.p_sx, [[int(x)] for x in np.flatnonzero(~is_high)])
        made: list[list[int]] = []
        while queue.symbols:
            worst = int(np.argmax([symbol_risk[group[0]] for group in queue.symbols]))
            block, _ = queue.pop(worst)
            self.absorb(block, queue)
            made.append(block)
        if made:
            last = made.pop()
            self.absorb(last, others := Groups(self.p_sx, made))
            self.absorb(last, low)
            made = [*others.symbols, last]
        return made + low.symbols


def naive_merging(p_sx: Floats, lower: float, upper: float) -> list[list[int]]:
    """Return the blocks of the corrected Algorithm 1 for ALIP(lower, upper)."""
    return NaiveMerging(p_sx, lower, upper).blocks()


def block_entropy(p_sx: Floats, blocks: list[list[int]]) -> float:
    """Return I(X;Y) / H(X) of a partition."""
    p_x = p_sx.sum(axis=0)
    p_y = np.array([p_x[block].sum() for block in blocks])
    return float((p_y * np.log(p_y)).sum() / (p_x * np.log(p_x)).sum())
