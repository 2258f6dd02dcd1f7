"""How a block of symbols grows until a criterion allows it: shared by watchdog and merging."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.certificates import Certificate
from lowlift.channel import Channel
from lowlift.criteria import BuiltIn, Criterion, verdicts
from lowlift.joint import Joint
from lowlift.kernels.compilation import prepare
from lowlift.partition import Partition
from lowlift.release import Release

__all__ = ["Grower", "Pool", "Progress", "grower_for", "kept_by", "release_blocks"]

Floats: TypeAlias = npt.NDArray[np.float64]
#: Called with (symbols done, symbols in all).
Progress: TypeAlias = Callable[[int, int], object]

#: Candidates looked at between two calls of progress: a few tenths of a second.
_PATIENCE = 20_000_000


class Pool:
    """Groups of symbols that a growing block may take in, each with its sums over S."""

    def __init__(self, groups: Sequence[list[int]], columns: Floats) -> None:
        #: The groups by number; the kernels and `take` keep the rest in step.
        self.groups = groups
        members = [x for group in groups for x in group]
        self.sums = np.take(columns, np.array(members, np.intp), axis=1)
        if len(members) > len(groups):
            starts = [0, *accumulate(len(group) for group in groups[:-1])]
            self.sums = np.add.reduceat(self.sums, starts, axis=1)
        #: The first `left` columns of `sums` are still there, in any order; `ids` numbers them.
        self.ids = np.arange(len(groups))
        self.left = len(groups)
        #: Room for the numbers of the groups taken.
        self.taken = np.empty(len(groups), np.int64)

    def take(self, number: int) -> list[int]:
        """Take a group out by its number, and return it."""
        place = int(np.argmax(self.ids[: self.left] == number))
        self.left -= 1
        self.sums[:, place], self.ids[place] = self.sums[:, self.left], self.ids[self.left]
        return self.groups[number]

    def rest(self) -> list[list[int]]:
        """Return the groups that are still there, by number."""
        return [self.groups[k] for k in sorted(self.ids[: self.left].tolist())]


class Grower:
    """Lets blocks absorb groups of a pool, least risk first, until the criterion allows them.

    This one is for criteria that users bring: NumPy, and the criterion's own risk.
    """

    def __init__(
        self, joint: Joint, criterion: Criterion, progress: Callable[[int], object]
    ) -> None:
        self.joint, self.criterion, self.progress = joint, criterion, progress
        self.columns = joint.masses_given_s

    def pool(self, groups: Sequence[list[int]]) -> Pool:
        """Return a pool of these groups of symbols."""
        return Pool(groups, self.columns)

    def holds(self, block: Sequence[int]) -> bool:
        """Tell whether the criterion allows the block, exactly."""
        if len(block) == self.joint.n_x:
            return True  # one output for all of X: its lift is exactly 1
        masses = self.joint.masses[:, list(block)].sum(axis=1, keepdims=True)
        lift = masses / masses.sum() / self.joint.p_s[:, None]
        return bool(
            verdicts(
                self.criterion,
                lift,
                self.joint.p_s,
                self.joint.lift_error,
                lambda _: self.joint.exact_column(block, [1] * len(block)),
                lambda: self.joint.prior,
            )[0]
        )

    def cover(self, symbols: list[int]) -> tuple[list[list[int]], bool]:
        """Grow blocks from the symbols until all are placed, each from the riskiest one left.

        Returns the blocks, and whether the last is allowed; all others are.
        """
        pool = self.pool([[x] for x in symbols])
        risk = self.criterion.risk(self.joint.lift[:, symbols], self.joint.p_s)
        blocks, allowed = list[list[int]](), True
        while pool.left:
            ids = pool.ids[: pool.left]
            blocks.append(list(pool.take(int(ids[np.lexsort((ids, -risk[ids]))[0]]))))
            self.progress(1)
            allowed = self.absorb(blocks[-1], pool)
        return blocks, allowed

    def absorb(self, block: list[int], pool: Pool) -> bool:
        """Extend the block from the pool until it is allowed; tell whether it is."""
        p_s = self.joint.p_s
        while not self.holds(block):
            if not pool.left:
                return False
            union = pool.sums[:, : pool.left] + self.columns[:, block].sum(axis=1, keepdims=True)
            risk = self.criterion.risk(union / (p_s @ union), p_s)
            ids = pool.ids[: pool.left]
            block.extend(pool.take(int(ids[np.lexsort((ids, risk))[0]])))
            self.progress(1)
        return True


class CompiledGrower(Grower):
    """For built-in criteria: the compiled kernels, which stop where floats cannot tell."""

    def __init__(self, joint: Joint, criterion: BuiltIn, progress: Callable[[int], object]) -> None:
        super().__init__(joint, criterion, progress)
        prepare("merging")
        from lowlift.kernels import merging

        self.kernel = merging
        kind, alpha = criterion.kind, float(getattr(criterion, "alpha", 0.0))
        if math.isinf(alpha):
            kind, alpha = 0, 0.0  # the limit of alpha-lift is the box
        self.region = (kind, alpha, float(criterion.lower), float(criterion.upper))
        #: A copy, because numba compiles a kernel anew for an array that is read-only.
        self.p_s = joint.p_s.copy()

    def cover(self, symbols: list[int]) -> tuple[list[list[int]], bool]:
        """Grow blocks from the symbols until all are placed, each from the riskiest one left."""
        kernel, p_s, error = self.kernel, self.p_s, self.joint.lift_error
        pool = self.pool([[x] for x in symbols])
        zeros, risk = np.empty_like(pool.taken), np.empty(len(symbols))
        ends, current = np.empty_like(pool.taken), np.empty(self.joint.n_s)
        state = blocks = placed = 0
        while True:
            before = placed
            status, pool.left, blocks, placed = kernel.cover(
                *self.region, error, p_s, current, pool.sums, pool.ids, pool.left, pool.taken,
                state, zeros, risk, ends, blocks, placed, len(symbols), _PATIENCE,
            )  # fmt: skip
            self.progress(placed - before)
            if status in (kernel.HOLDS, kernel.EMPTY):
                break
            start = int(ends[blocks - 1]) if blocks else 0
            state = 1 if placed > start else 0
            if status == kernel.UNDECIDED:
                state = 2
                if self.holds([symbols[k] for k in pool.taken[start:placed].tolist()]):
                    ends[blocks], blocks, state = placed, blocks + 1, 0
        order = [symbols[k] for k in pool.taken.tolist()]
        stops = ends[:blocks].tolist()
        if status == kernel.EMPTY:
            stops.append(placed)
        found = [order[a:b] for a, b in zip([0, *stops[:-1]], stops, strict=True)]
        return found, status == kernel.HOLDS

    def absorb(self, block: list[int], pool: Pool) -> bool:
        """Extend the block from the pool until it is allowed; tell whether it is."""
        kernel, state = self.kernel, 1
        current = self.columns[:, block].sum(axis=1)
        ends, risk = np.empty(1, np.int64), np.empty(0)
        while True:
            status, pool.left, _, count = kernel.cover(
                *self.region, self.joint.lift_error, self.p_s, current, pool.sums, pool.ids,
                pool.left, pool.taken, state, ends, risk, ends, 0, 0, 1, _PATIENCE,
            )  # fmt: skip
            for number in pool.taken[:count].tolist():
                block.extend(pool.groups[number])
            self.progress(count)
            if status == kernel.HOLDS or (status == kernel.UNDECIDED and self.holds(block)):
                return True
            if status == kernel.EMPTY:
                return False
            state = 1 if status == kernel.PAUSED else 2


def grower_for(
    joint: Joint, criterion: Criterion, progress: Callable[[int], object] = lambda _: None
) -> Grower:
    """Return the compiled grower for built-in criteria, the plain one for others."""
    kind = CompiledGrower if isinstance(criterion, BuiltIn) else Grower
    return kind(joint, criterion, progress)  # type: ignore[arg-type]


def kept_by(joint: Joint, blocks: Sequence[Sequence[int]]) -> float:
    """Return I(X;Y) = H(Y) of a partition, in nats."""
    p_x = joint.p_x.tolist()
    return -math.fsum(p * math.log(p) for p in (sum(p_x[x] for x in block) for block in blocks))


def release_blocks(
    joint: Joint,
    criterion: Criterion,
    blocks: Sequence[Sequence[int]],
    mechanism: str,
    certificate: Certificate | None = None,
) -> Release:
    """Return the audited release that maps each block to one output, blocks in order of X."""
    ordered = sorted(sorted(block) for block in blocks)
    labels = joint.x_labels
    return Release.of(
        joint,
        Channel.from_blocks(joint, ordered),
        criterion,
        partition=Partition.trusted(tuple(labels[x] for x in block) for block in ordered),
        certificate=certificate,
        mechanism=mechanism,
    )
