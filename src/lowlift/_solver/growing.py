"""Blocks of symbols that grow until a criterion allows them: Algorithm 1 of the paper."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np

from lowlift._arguments import check_callable
from lowlift._arrays import Bools, Floats
from lowlift._audit import allowed_lifts, risky_symbols
from lowlift._deadline import Deadline, check_time_limit
from lowlift._joint import Joint
from lowlift._kernels.compilation import prepare
from lowlift.criteria import BuiltIn, Criterion, risk_of

#: Called with (symbols done, symbols in all).
Progress: TypeAlias = Callable[[int, int], object]
#: Called with the number of symbols just placed.
Placed: TypeAlias = Callable[[int], object]

#: Entries of candidates, |S| each, looked at between two questions for the time: some tenths of a
#: second. Criteria that are means take 10 times as long for each, powers 100 times.
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

    This one is for criteria that users bring: NumPy, and the criterion's own risk. When the
    deadline is over, what is left stays together, and `is_stopped` says so.
    """

    def __init__(
        self, joint: Joint, criterion: Criterion, progress: Placed, deadline: Deadline
    ) -> None:
        self.joint, self.criterion, self.progress = joint, criterion, progress
        self.deadline, self.is_stopped = deadline, False
        self.columns = joint.masses_given_s
        #: A block that is known not to be allowed, which saves its exact verdict.
        self.refused: Sequence[int] = ()

    def _is_over(self) -> bool:
        self.is_stopped = self.is_stopped or self.deadline.is_over
        return self.is_stopped

    def pool(self, groups: Sequence[list[int]]) -> Pool:
        """Return a pool of these groups of symbols."""
        return Pool(groups, self.columns)

    def holds(self, block: Sequence[int]) -> bool:
        """Tell whether the criterion allows the block, exactly."""
        if len(block) == self.joint.n_x:
            return True  # one output for all of X: its lift is exactly 1
        if len(block) == len(self.refused) and set(block) == set(self.refused):
            return False
        masses = self.joint.masses[:, list(block)].sum(axis=1, keepdims=True)
        lift = masses / masses.sum() / self.joint.p_s[:, None]
        atom = block, [1] * len(block)
        return bool(allowed_lifts(self.joint, self.criterion, lift, lambda _: atom)[0])

    def cover(self, symbols: list[int]) -> tuple[list[list[int]], bool]:
        """Grow blocks from the symbols until all are placed, each from the riskiest one left.

        Returns the blocks, and whether the last is allowed; all others are.
        """
        pool = self.pool([[x] for x in symbols])
        risk = risk_of(self.criterion, self.joint.lift[:, symbols], self.joint.p_s)
        blocks, allowed = list[list[int]](), True
        while pool.left:
            if self._is_over():
                left = [x for group in pool.rest() for x in group]
                if allowed:
                    blocks.append(left)
                else:
                    blocks[-1] += left
                return blocks, False
            ids = pool.ids[: pool.left]
            blocks.append(list(pool.take(int(ids[np.lexsort((ids, -risk[ids]))[0]]))))
            self.progress(1)
            allowed = self.absorb(blocks[-1], pool)
        return blocks, allowed

    def absorb(self, block: list[int], pool: Pool) -> bool:
        """Extend the block from the pool until it is allowed; tell whether it is."""
        p_s = self.joint.p_s
        while not self.holds(block):
            if not pool.left or self._is_over():
                return False
            union = pool.sums[:, : pool.left] + self.columns[:, block].sum(axis=1, keepdims=True)
            risk = risk_of(self.criterion, union / (p_s @ union), p_s)
            ids = pool.ids[: pool.left]
            block.extend(pool.take(int(ids[np.lexsort((ids, risk))[0]])))
            self.progress(1)
        return True


class CompiledGrower(Grower):
    """For built-in criteria: the compiled kernels, which stop where floats cannot tell."""

    def __init__(
        self, joint: Joint, criterion: BuiltIn, progress: Placed, deadline: Deadline
    ) -> None:
        super().__init__(joint, criterion, progress, deadline)
        prepare("merging")
        from lowlift._kernels import merging

        self.kernel = merging
        kind, alpha = criterion.kind, float(getattr(criterion, "alpha", 0.0))
        if math.isinf(alpha):
            kind, alpha = 0, 0.0  # the limit of alpha-lift is the box
        self.region = (kind, alpha, float(criterion.lower), float(criterion.upper))
        #: A copy, because numba compiles a kernel anew for an array that is read-only.
        self.p_s = joint.p_s.copy()
        self.patience = _PATIENCE // joint.n_s // (1, 1, 10, 10, 100)[kind] + 1

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
                state, zeros, risk, ends, blocks, placed, len(symbols), self.patience,
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
            if self._is_over():
                pool.taken[placed:] = np.sort(pool.ids[: pool.left])
                status, placed = kernel.EMPTY, len(symbols)
                break
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
                pool.left, pool.taken, state, ends, risk, ends, 0, 0, 1, self.patience,
            )  # fmt: skip
            for number in pool.taken[:count].tolist():
                block.extend(pool.groups[number])
            self.progress(count)
            if status == kernel.HOLDS or (status == kernel.UNDECIDED and self.holds(block)):
                return True
            if status == kernel.EMPTY or self._is_over():
                return False
            state = 1 if status == kernel.PAUSED else 2


def started(time_limit: float | None, criterion: Criterion, *parts: str) -> Deadline:
    """Return the deadline of a search that starts now: compiling its kernels comes before.

    Merging by criteria that users bring needs none; `parts` are what else is needed.
    """
    check_time_limit(time_limit)
    prepare(*(("merging",) if _is_compiled(criterion) else ()), *parts)
    return Deadline(time_limit)


def _is_compiled(criterion: Criterion) -> TypeGuard[BuiltIn]:
    return isinstance(criterion, BuiltIn) and criterion.kind >= 0


def grower_for(
    joint: Joint,
    criterion: Criterion,
    progress: Placed = lambda _: None,
    deadline: Deadline | None = None,
) -> Grower:
    """Return the compiled grower for criteria that have one, the plain one for others."""
    deadline = deadline or Deadline(None)
    if _is_compiled(criterion):
        return CompiledGrower(joint, criterion, progress, deadline)
    return Grower(joint, criterion, progress, deadline)


def kept_by(joint: Joint, blocks: Sequence[Sequence[int]]) -> float:
    """Return I(X;Y) = H(Y) of a partition, in nats."""
    members = [x for block in blocks for x in block]
    starts = [0, *accumulate(map(len, blocks[:-1]))]
    p_y = np.add.reduceat(joint.p_x[members], starts)
    return -math.fsum((p_y * np.log(p_y)).tolist())


def bound_on_partitions(joint: Joint, risky: Bools) -> float:
    """Return a bound on I(X;Y) of every allowed partition: a high-risk symbol has company.

    A block with x and another symbol loses at least ``p(x) log((p(x) + p_min) / p(x))`` on x.
    """
    p = joint.p_x[risky]
    return joint.entropy_x - float((p * np.log1p(joint.p_x.min() / p)).sum())


class Merged(NamedTuple):
    """Blocks as numbers of symbols, together all of X; and whether time ran out on the way."""

    blocks: list[list[int]]
    is_stopped: bool


def divided(risky: Bools) -> tuple[list[int], list[list[int]]]:
    """Return the high-risk symbols, and each of the others as a block of its own."""
    return np.flatnonzero(risky).tolist(), [[x] for x in np.flatnonzero(~risky).tolist()]


def merge_subsets(
    joint: Joint,
    criterion: Criterion,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> Merged:
    """Return the blocks of Algorithm 1; see `subset_merging`."""
    check_callable(progress, "progress")
    high, alone = divided(risky_symbols(joint, criterion))
    if not high:
        return Merged(alone, is_stopped=False)
    done = 0

    def placed(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(high))

    grower = grower_for(joint, criterion, placed, deadline)
    blocks, allowed = grower.cover(high)
    if allowed:
        return Merged(blocks + alone, is_stopped=False)
    grower.progress = lambda _: None
    return Merged(repaired(grower, blocks, alone), grower.is_stopped)


def repaired(grower: Grower, blocks: list[list[int]], alone: list[list[int]]) -> list[list[int]]:
    """Let the last block join other blocks, then low-risk symbols, until it is allowed."""
    *rest, last = blocks
    allowed = grower.is_stopped and grower.holds(last)  # else `cover` has found that it is not
    for more in (rest, alone):
        if more and not (allowed or grower.is_stopped):
            pool = grower.pool(more)
            allowed = grower.absorb(last, pool)
            more[:] = pool.rest()
    if grower.is_stopped:
        join_at_once(grower, last, rest, alone)
    return [*rest, last, *alone]


def join_at_once(grower: Grower, block: list[int], *others: list[list[int]]) -> None:
    """Let the block join others, 1, 2, 4, ... at a time, until it is allowed: all of X is."""
    count = 1
    while not grower.holds(block):
        left = count
        for more in others:
            taken = more[-left:] if left else []
            del more[len(more) - len(taken) :]
            for other in taken:
                block.extend(other)
            left -= len(taken)
        count *= 2
