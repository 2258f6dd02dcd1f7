"""Optimal merging: the best partition of X whose blocks a criterion allows."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._audit import allowed_lifts, risky_symbols
from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._mechanisms.merging import partitions_certificate, release_blocks
from lowlift._release import Release
from lowlift._solver.growing import bound_on_partitions, kept_by, merge_subsets, started
from lowlift.criteria import Criterion

Groups: TypeAlias = Sequence[Sequence[int]]

#: Up to this many symbols every partition is covered.
PROVEN_SYMBOLS = 18
#: Symbols or groups that one step of the local search arranges anew.
_NEIGHBOURHOOD = 11
#: Subsets allowed_lifts, and searched, between two questions for the time.
_CHUNK = 1 << 12
#: More than the rounding of a sum of at most 18 gains, over H(X).
_ROUNDING = 1e-12


def optimal_merging(joint: Joint, criterion: Criterion, time_limit: float | None = 60.0) -> Release:
    """Return the allowed partition of X that keeps the most information.

    A partition keeps I(X;Y) = H(Y), a sum over blocks; so the best one of up to 18 symbols is found
    by dynamic programming over subsets. Low-risk symbols may join blocks. Beyond 18 symbols, the
    partition of `subset_merging` is improved: a few blocks at a time are taken apart and arranged
    in the best way, until nothing improves or time is up.

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        What every output must satisfy.
    time_limit
        Seconds; then the best partition so far is returned, and the certificate says so.

    Returns
    -------
    Release
        With ``certificate.is_optimal``: whether it is the best partition, proven. If not, the
        certificate's bound is the simple one that no high-risk symbol can stay alone.

    Raises
    ------
    InvalidInput
        For a time_limit below 0.

    Guarantee
        Satisfies the criterion by the exact audit; never below `subset_merging`.

    Cost
        O(3**|X|) time and O(2**|X| |S|) memory up to 18 symbols (some 2 s for 18).

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> joint = Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> release = optimal_merging(joint, ALIP(0.5, 0.5))
    >>> release.partition, release.certificate.is_optimal
    (Partition([['a', 'b'], ['c']]), True)
    """
    deadline = started(time_limit, criterion, "partitions")
    risky = risky_symbols(joint, criterion)
    greedy, is_stopped = merge_subsets(joint, criterion, deadline=deadline)
    blocks, is_proven = greedy, not risky.any()
    if not is_proven and not is_stopped:
        if joint.n_x <= PROVEN_SYMBOLS:
            alone = [[x] for x in range(joint.n_x)]
            best, is_proven = _best_arrangement(joint, criterion, alone, deadline)
            blocks, is_stopped = best or greedy, not is_proven
        else:
            blocks, is_stopped = _improve(joint, criterion, greedy, deadline)
    if kept_by(joint, blocks) < kept_by(joint, greedy):  # by rounding alone
        blocks = greedy
    bound = kept_by(joint, blocks) if is_proven else bound_on_partitions(joint, risky)
    certificate = partitions_certificate(
        joint, blocks, bound, is_optimal=is_proven, stopped_after=time_limit if is_stopped else None
    )
    return release_blocks(joint, criterion, blocks, "optimal_merging", certificate)


def _best_arrangement(
    joint: Joint, criterion: Criterion, groups: Groups, deadline: Deadline
) -> tuple[list[list[int]] | None, bool]:
    """Return the best allowed partition of the groups, if any is; and whether all were covered."""
    from lowlift._kernels import partitions

    columns = np.stack([joint.masses[:, list(group)].sum(axis=1) for group in groups], axis=1)
    sums = partitions.subset_sums(columns)
    p_y = sums.sum(axis=0) / joint.total
    p_y[0] = 1.0  # the empty set, which is never a block
    allowed = _allowed(joint, criterion, groups, sums, deadline)
    if allowed is None:
        return None, False
    gain, value = -p_y * np.log(p_y), np.full(p_y.size, -np.inf)
    block = np.zeros(p_y.size, np.int32)
    value[0] = 0.0
    for first in range(1, p_y.size, _CHUNK):
        if deadline.is_over:
            return None, False
        partitions.extend(allowed, gain, value, block, first, min(first + _CHUNK, p_y.size))
    found = [_union(groups, mask) for mask in partitions.blocks_of(block)]
    return found or None, True


def _allowed(
    joint: Joint, criterion: Criterion, groups: Groups, sums: Floats, deadline: Deadline
) -> Bools | None:
    """Return per set of groups, by bit mask, whether it may be a block; None when time ran out."""
    out = np.zeros(sums.shape[1], np.bool_)
    for first in range(1, len(out), _CHUNK):
        if deadline.is_over:
            return None
        last = min(first + _CHUNK, len(out))
        part = sums[:, first:last]

        def atom(k: int, first: int = first) -> tuple[list[int], list[int]]:
            block = _union(groups, first + k)
            return block, [1] * len(block)

        lift = part / part.sum(axis=0) / joint.p_s[:, None]
        out[first:last] = allowed_lifts(joint, criterion, lift, atom)
    if len(_union(groups, len(out) - 1)) == joint.n_x:
        out[-1] = True  # one output for all of X: its lift is exactly 1
    return out


def _union(groups: Groups, mask: int) -> list[int]:
    """Return the symbols of the groups whose bits are set."""
    return [x for k, group in enumerate(groups) if mask >> k & 1 for x in group]


def _improve(
    joint: Joint, criterion: Criterion, blocks: Groups, deadline: Deadline
) -> tuple[list[list[int]], bool]:
    """Return a partition that no arrangement of a few of its blocks was seen to improve.

    Also tells whether time ran out before that.
    """
    rng = np.random.default_rng(0)
    current = [list(block) for block in blocks]
    failures = 0
    while failures < 100 + 4 * len(current):
        if deadline.is_over:
            return current, True
        groups, chosen = _neighbourhood(joint, current, rng)
        before = [current[k] for k in chosen]
        after, _ = _best_arrangement(joint, criterion, groups, deadline)
        if after and kept_by(joint, after) > kept_by(joint, before) + _ROUNDING:
            current = [b for k, b in enumerate(current) if k not in chosen] + after
            failures = 0
        else:
            failures += 1
    return current, False


def _neighbourhood(
    joint: Joint, blocks: list[list[int]], rng: np.random.Generator
) -> tuple[list[list[int]], set[int]]:
    """Pick a block by what it loses, and others to go with it; return their groups and numbers.

    A block of more symbols than fit gives some of them one by one and the rest as one group.
    """
    p_x = joint.p_x
    losses = np.array([-(p_x[b] * np.log(p_x[b] / p_x[b].sum())).sum() for b in blocks])
    losses = np.maximum(losses, 0.0)
    first = int(rng.choice(len(blocks), p=losses / losses.sum() if losses.any() else None))
    groups, chosen = list[list[int]](), set[int]()
    for k in [first, *rng.permutation(len(blocks)).tolist()]:
        room = _NEIGHBOURHOOD - len(groups)
        if k in chosen or room < 1:
            continue
        block = blocks[k]
        if len(block) <= room:
            groups += [[x] for x in block]
        elif not groups:
            mixed = rng.permutation(block).tolist()
            groups += [[x] for x in mixed[: room // 2]] + [mixed[room // 2 :]]
        else:
            groups.append(list(block))
        chosen.add(k)
    return groups, chosen
