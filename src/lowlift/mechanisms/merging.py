"""Subset merging: Algorithm 1 of the paper, in the form that keeps the guarantee."""

from lowlift.audit import risky_symbols
from lowlift.criteria import Criterion
from lowlift.joint import Joint
from lowlift.mechanisms.blocks import Grower, Progress, grower_for, release_blocks
from lowlift.release import Release

__all__ = ["merge_subsets", "repaired", "subset_merging"]


def subset_merging(
    joint: Joint, criterion: Criterion, *, progress: Progress | None = None
) -> Release:
    """Merge high-risk symbols into small blocks that the criterion allows (Algorithm 1).

    The symbol of highest risk starts a block, which takes in the high-risk symbol that leaves it at
    least risk until it is allowed; then the next. A last block that runs out of symbols joins other
    blocks, then low-risk symbols, one at a time by least risk. Ties (in floats) go to the lower
    number.

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        What every output must satisfy.
    progress
        Called with the number of high-risk symbols placed and their number, now and then.

    Returns
    -------
    Release
        Its partition has one block per output; low-risk symbols that were not needed stay alone.

    Guarantee
        The release satisfies the criterion by the exact audit, for every joint and every budget:
        all of X as one block has lift 1, so the last block ends there at the latest.

    Cost
        O(|X_H|**2 |S|) time, O(|X| |S|) memory.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> joint = Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> release = subset_merging(joint, ALIP(0.5, 0.5))
    >>> release.partition, release.audit.is_satisfied
    (Partition([['a', 'b'], ['c']]), True)
    """
    blocks = merge_subsets(joint, criterion, progress)
    return release_blocks(joint, criterion, blocks, "subset_merging")


def merge_subsets(
    joint: Joint, criterion: Criterion, progress: Progress | None = None
) -> list[list[int]]:
    """Return the blocks of Algorithm 1 as numbers of symbols; together they are all of X."""
    risky = risky_symbols(joint, criterion)
    high, low = risky.nonzero()[0].tolist(), (~risky).nonzero()[0].tolist()
    alone = [[x] for x in low]
    if not high:
        return alone
    done = 0

    def placed(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, len(high))

    blocks, allowed = grower_for(joint, criterion, placed).cover(high)
    if allowed:
        return blocks + alone
    return repaired(grower_for(joint, criterion), blocks, alone)


def repaired(grower: Grower, blocks: list[list[int]], alone: list[list[int]]) -> list[list[int]]:
    """Let the last block join other blocks, then low-risk symbols, until it is allowed."""
    *rest, last = blocks
    allowed = grower.holds(last)
    for more in (rest, alone):
        if more and not allowed:
            pool = grower.pool(more)
            allowed = grower.absorb(last, pool)
            more[:] = pool.rest()
    return [*rest, last, *alone]
