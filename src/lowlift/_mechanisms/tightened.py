"""Subset merging at a budget and at tighter ones: a looser budget never keeps less.

What Algorithm 1 returns at a tighter budget is allowed at a looser one, and may keep more. Lowering
all budgets by one factor t, its blocks change at finitely many t only: while every block that it
accepted stays allowed, it takes the same steps. So all its partitions at tighter budgets can be
listed, each from the largest t that gives it.
"""

import math
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._audit import risky_symbols
from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._mechanisms.merging import release_merged
from lowlift._release import Release
from lowlift._solver.growing import (
    Merged,
    bound_on_partitions,
    divided,
    grower_for,
    kept_by,
    merge_subsets,
    repaired,
    started,
)
from lowlift.criteria import BuiltIn, Criterion, Population

Blocks: TypeAlias = list[list[int]]

#: Up to this many symbols every partition at a tighter budget is tried: some 1.7 per symbol.
LISTED_SYMBOLS = 200
#: Beyond, budgets of this ratio, whatever budget was asked for, and so many of them.
_RATIO, _STEPS = 2**-0.25, 12
#: By how much a budget is lowered below what a block needs.
_BELOW = 1 - 1e-12
#: A block that needs this much less than a budget is allowed by it, whatever the rounding.
_SURELY = 1 - 1e-9


def tightened_merging(
    joint: Joint, criterion: Criterion, *, time_limit: float | None = None
) -> Release:
    """Return the partition that keeps the most of those of `subset_merging` at tighter budgets.

    For a criterion that is not built in, or for the population, this is `subset_merging`. After
    `time_limit` seconds the best partition so far is returned, and a certificate says so.

    Guarantee
        Satisfies the criterion by the exact audit; never below `subset_merging`. Up to 200 symbols
        and in time, it never keeps less when all budgets are raised by one factor.

    Cost
        That of `subset_merging`, 1.7 times per symbol up to 200 symbols; 13 times beyond.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> from lowlift._mechanisms.merging import subset_merging
    >>> joint = Joint.random(4, 10, seed=1)
    >>> kept = [round(subset_merging(joint, LIP(e)).audit.nmi, 4) for e in (0.5805, 1.0)]
    >>> kept, round(tightened_merging(joint, LIP(1.0)).audit.nmi, 4)
    ([0.8485, 0.8069], 0.8485)
    """
    deadline = started(time_limit, criterion)
    if not isinstance(criterion, BuiltIn) or isinstance(criterion, Population):
        found = merge_subsets(joint, criterion, deadline=deadline)
    elif joint.n_x <= LISTED_SYMBOLS:
        found = _best_listed(joint, criterion, deadline)
    else:
        found = _best_of_some(joint, criterion, deadline)
    return release_merged(joint, criterion, found, "subset_merging", time_limit)


def _best_listed(joint: Joint, criterion: BuiltIn, deadline: Deadline) -> Merged:
    """Return the best of all partitions of Algorithm 1 at this and at tighter budgets."""
    factor, best, kept = 1.0, Merged([], is_stopped=False), -math.inf
    former: list[int] = []  # the high-risk symbols at the budget before
    same: Blocks = []  # the first blocks that grow from them, which this budget allows as well
    beyond: list[int] = []
    for _ in range(100 + 20 * joint.n_x):  # more than there are, whatever the rounding
        tighter = criterion.scaled(factor)
        risky = risky_symbols(joint, tighter)
        if _most_kept(joint, risky) <= kept:
            break
        high, alone = divided(risky)
        same = [] if high != former else same
        single, accepted = list(alone), list[list[int]]()
        blocks, is_stopped = list(alone), False
        if high:
            grower = grower_for(joint, tighter, deadline=deadline)
            grower.refused = beyond
            placed = {x for block in same for x in block}
            covered, is_allowed = grower.cover([x for x in high if x not in placed])
            covered = [list(block) for block in same] + covered
            accepted = [list(block) for block in (covered if is_allowed else covered[:-1])]
            blocks = covered + alone if is_allowed else repaired(grower, covered, alone)
            is_stopped = grower.is_stopped
        if kept_by(joint, blocks) > kept:
            best, kept = Merged(blocks, is_stopped=False), kept_by(joint, blocks)
        if is_stopped or deadline.is_over:
            return Merged(best.blocks, is_stopped=True)
        seen = [*accepted, *single, *blocks]
        needed = _needed(joint, criterion, seen)
        factor = min(factor, float(needed.max())) * _BELOW
        if len(blocks) == 1 or not factor:
            break
        beyond = seen[int(needed.argmax())]
        is_new = needed[: len(accepted)] > factor * _SURELY
        same, former = accepted[: int(is_new.argmax()) if is_new.any() else None], high
    return best


def _best_of_some(joint: Joint, criterion: BuiltIn, deadline: Deadline) -> Merged:
    """Return the best of the partitions at this budget and at some tighter ones, always the same.

    Twice the budget has all candidates of this one that are not much tighter.
    """
    best = merge_subsets(joint, criterion, deadline=deadline)
    sides = [side for side in (criterion.lower, criterion.upper) if 0 < side < math.inf]
    if not sides:
        return best
    largest = max(sides)
    first = math.floor(math.log(largest) / math.log(_RATIO)) + 1
    for k in range(first, first + _STEPS):
        if best.is_stopped or deadline.is_over:
            return Merged(best.blocks, is_stopped=True)
        tighter = criterion.scaled(min(1.0, _RATIO**k / largest))
        if _most_kept(joint, risky_symbols(joint, tighter)) <= kept_by(joint, best.blocks):
            break
        found = merge_subsets(joint, tighter, deadline=deadline)
        if found.is_stopped:
            return Merged(best.blocks, is_stopped=True)
        if kept_by(joint, found.blocks) > kept_by(joint, best.blocks):
            best = found
    return best


def _needed(joint: Joint, criterion: Criterion, blocks: Blocks) -> Floats:
    """Return for each block the factor of the budgets at which it is just allowed, (n,)."""
    members = [x for block in blocks for x in block]
    starts = [0, *accumulate(len(block) for block in blocks[:-1])]
    masses = np.add.reduceat(joint.masses[:, members], starts, axis=1)
    lift = masses / masses.sum(axis=0) / joint.p_s[:, None]
    needed = np.zeros(len(blocks))
    for leakage, side in zip(
        criterion.leakage(lift, joint.p_s), (criterion.lower, criterion.upper), strict=True
    ):
        if 0 < side < math.inf:
            needed = np.maximum(needed, leakage / side)
    return needed


def _most_kept(joint: Joint, risky: Bools) -> float:
    """Bound I(X;Y) of every partition in which these symbols have company."""
    outputs = joint.n_x - (int(risky.sum()) + 1) // 2
    return min(bound_on_partitions(joint, risky), math.log(max(outputs, 1)) + 1e-12)
