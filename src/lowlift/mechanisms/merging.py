"""Subset merging: Algorithm 1 of the paper, in the form that keeps the guarantee."""

from typing import NamedTuple

from lowlift.arguments import check_callable
from lowlift.audit import risky_symbols
from lowlift.certificates import Certificate
from lowlift.criteria import Criterion
from lowlift.deadline import Deadline
from lowlift.joint import Joint
from lowlift.mechanisms.blocks import (
    Grower,
    Progress,
    bound_on_partitions,
    grower_for,
    kernels_of,
    partitions_certificate,
    release_blocks,
    started,
)
from lowlift.release import Release

__all__ = [
    "Merged",
    "join_at_once",
    "merge_subsets",
    "release_merged",
    "repaired",
    "stopped_certificate",
    "subset_merging",
]


class Merged(NamedTuple):
    """Blocks as numbers of symbols, together all of X; and whether time ran out on the way."""

    blocks: list[list[int]]
    is_stopped: bool


def subset_merging(
    joint: Joint,
    criterion: Criterion,
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
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
    time_limit
        Seconds; then what is left becomes one block, joined by others until it is allowed. None:
        no limit.
    progress
        Called with the number of high-risk symbols placed and their number, now and then.

    Returns
    -------
    Release
        Its partition has one block per output; low-risk symbols that were not needed stay alone.
        When time ran out it has a certificate that says so, with a bound on all partitions.

    Raises
    ------
    InvalidInput
        For a time_limit below 0.

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
    deadline = started(time_limit, *kernels_of(criterion))
    found = merge_subsets(joint, criterion, progress, deadline)
    return release_merged(joint, criterion, found, "subset_merging", time_limit)


def release_merged(
    joint: Joint, criterion: Criterion, found: Merged, mechanism: str, seconds: float | None
) -> Release:
    """Return the audited release of the blocks; if they were stopped, a certificate says so."""
    certificate = stopped_certificate(joint, criterion, found, seconds)
    return release_blocks(joint, criterion, found.blocks, mechanism, certificate)


def stopped_certificate(
    joint: Joint, criterion: Criterion, found: Merged, seconds: float | None
) -> Certificate | None:
    """Return what is known of blocks that were stopped; None for others."""
    if not found.is_stopped:
        return None
    bound = bound_on_partitions(joint, risky_symbols(joint, criterion))
    return partitions_certificate(joint, found.blocks, bound, stopped_after=seconds)


def merge_subsets(
    joint: Joint,
    criterion: Criterion,
    progress: Progress | None = None,
    deadline: Deadline | None = None,
) -> Merged:
    """Return the blocks of Algorithm 1; see `subset_merging`."""
    check_callable(progress, "progress")
    risky = risky_symbols(joint, criterion)
    high, low = risky.nonzero()[0].tolist(), (~risky).nonzero()[0].tolist()
    alone = [[x] for x in low]
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
    allowed = grower.holds(last)
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
