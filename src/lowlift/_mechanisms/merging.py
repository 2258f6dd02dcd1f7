"""Subset merging: Algorithm 1 of the paper, in the form that keeps the guarantee."""

from collections.abc import Sequence

from lowlift._audit import risky_symbols
from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._joint import Joint
from lowlift._partition import Partition
from lowlift._release import Release
from lowlift._solver.growing import (
    Merged,
    Progress,
    bound_on_partitions,
    kept_by,
    merge_subsets,
    started,
)
from lowlift.criteria import Criterion

#: More than the rounding of a quotient, and, per symbol, of entropies of about 1 nat.
_ROUNDING, _PER_SYMBOL = 1e-12, 2.0**-48


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
    deadline = started(time_limit, criterion)
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


def partitions_certificate(
    joint: Joint,
    blocks: Sequence[Sequence[int]],
    bound: float,
    *,
    is_optimal: bool = False,
    stopped_after: float | None = None,
) -> Certificate:
    """Return the certificate of a partition, with a bound on I(X;Y) in nats."""
    if not joint.entropy_x:
        return Certificate("partitions", 1.0, is_optimal, 0.0, stopped_after=stopped_after)
    # The rounding of an entropy is that of its largest terms, however small the entropy is.
    slack = _PER_SYMBOL * (joint.n_x + 8) * (1 + joint.entropy_x)
    nmi = min(1.0, (bound + slack) / joint.entropy_x + _ROUNDING)
    gap = max(0.0, nmi - kept_by(joint, blocks) / joint.entropy_x)
    return Certificate("partitions", nmi, is_optimal, gap, stopped_after=stopped_after)


def partition_of(joint: Joint, blocks: Sequence[Sequence[int]]) -> Partition:
    """Return the blocks, as numbers of symbols, with their labels; in order of X."""
    labels = joint.x_labels
    ordered = sorted(sorted(block) for block in blocks)
    return Partition.trusted(tuple(labels[x] for x in block) for block in ordered)


def release_blocks(
    joint: Joint,
    criterion: Criterion,
    blocks: Sequence[Sequence[int]],
    mechanism: str,
    certificate: Certificate | None = None,
) -> Release:
    """Return the audited release that maps each block to one output, blocks in order of X."""
    return Release.of(
        joint,
        Channel.from_blocks(joint, sorted(sorted(block) for block in blocks)),
        criterion,
        partition=partition_of(joint, blocks),
        certificate=certificate,
        mechanism=mechanism,
    )
