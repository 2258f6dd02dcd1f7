"""Optimal merging: the best partition of X whose blocks a criterion allows."""

import time
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.audit import risky_symbols
from lowlift.certificates import Certificate
from lowlift.criteria import Criterion, verdicts
from lowlift.joint import Joint
from lowlift.kernels.compilation import prepare
from lowlift.mechanisms.blocks import kept_by, release_blocks
from lowlift.mechanisms.merging import merge_subsets
from lowlift.release import Release

__all__ = ["PROVEN_SYMBOLS", "optimal_merging"]

Bools: TypeAlias = npt.NDArray[np.bool_]
Groups: TypeAlias = Sequence[Sequence[int]]

#: Up to this many symbols every partition is covered.
PROVEN_SYMBOLS = 18
#: Symbols or groups that one step of the local search arranges anew.
_NEIGHBOURHOOD = 11
_CHUNK = 1 << 15
#: More than the rounding of a sum of at most 18 gains, over H(X).
_ROUNDING = 1e-12


def optimal_merging(joint: Joint, criterion: Criterion, time_limit: float = 60.0) -> Release:
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
        Seconds for the search beyond 18 symbols.

    Returns
    -------
    Release
        With ``certificate.is_optimal``: whether it is the best partition, proven. If not, the
        certificate's bound is the simple one that no high-risk symbol can stay alone.

    Guarantee
        Satisfies the criterion by the exact audit; never below `subset_merging`.

    Cost
        O(3**|X|) time and O(2**|X| |S|) memory up to 18 symbols.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> joint = Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> release = optimal_merging(joint, ALIP(0.5, 0.5))
    >>> release.partition, release.certificate.is_optimal
    (Partition([['a', 'b'], ['c']]), True)
    """
    prepare("merging", "partitions")  # compiling is no part of the time limit
    start = time.monotonic()
    greedy = merge_subsets(joint, criterion)
    risky = risky_symbols(joint, criterion)
    is_proven = joint.n_x <= PROVEN_SYMBOLS or not risky.any()
    blocks = greedy
    if risky.any():
        if is_proven:
            blocks = _best_arrangement(joint, criterion, [[x] for x in range(joint.n_x)]) or greedy
        else:
            blocks = _improve(joint, criterion, greedy, start + time_limit)
    if kept_by(joint, blocks) < kept_by(joint, greedy):  # by rounding alone
        blocks = greedy
    bound = kept_by(joint, blocks) if is_proven else _bound_alone(joint, risky)
    nmi = min(1.0, bound / joint.entropy_x + _ROUNDING) if joint.entropy_x else 1.0
    certificate = Certificate("partitions", nmi, is_proven)
    return release_blocks(joint, criterion, blocks, "optimal_merging", certificate)


def _bound_alone(joint: Joint, risky: Bools) -> float:
    """Bound the information of every allowed partition: a high-risk symbol has company.

    A block with x and another symbol loses at least ``p(x) log((p(x) + p_min) / p(x))`` on x.
    """
    p = joint.p_x[risky]
    return joint.entropy_x - float((p * np.log1p(joint.p_x.min() / p)).sum())


def _best_arrangement(joint: Joint, criterion: Criterion, groups: Groups) -> list[list[int]] | None:
    """Return the allowed partition of the groups that keeps the most information, if any is."""
    prepare("partitions")
    from lowlift.kernels import partitions

    columns = np.stack([joint.masses[:, list(group)].sum(axis=1) for group in groups], axis=1)
    sums = partitions.subset_sums(columns)
    p_y = sums.sum(axis=0) / joint.total
    p_y[0] = 1.0  # the empty set, which is never a block
    _, masks, count = partitions.best_partition(
        _allowed(joint, criterion, groups, sums), -p_y * np.log(p_y)
    )
    if not count:
        return None
    return [
        [x for k, group in enumerate(groups) if mask >> k & 1 for x in group]
        for mask in masks[:count].tolist()
    ]


def _allowed(
    joint: Joint, criterion: Criterion, groups: Groups, sums: npt.NDArray[np.float64]
) -> Bools:
    """Return per set of groups, by bit mask, whether it may be a block."""

    def members(mask: int) -> list[int]:
        return [x for k, group in enumerate(groups) if mask >> k & 1 for x in group]

    out = np.zeros(sums.shape[1], np.bool_)
    is_all = sum(len(group) for group in groups) == joint.n_x
    for first in range(1, len(out), _CHUNK):
        last = min(first + _CHUNK, len(out))
        part = sums[:, first:last]

        def exact(k: int, first: int = first) -> list[int]:
            block = members(first + k)
            if len(block) == joint.n_x:
                return list(joint.prior)
            return joint.exact_column(block, [1] * len(block))

        lift = part / part.sum(axis=0) / joint.p_s[:, None]
        out[first:last] = verdicts(
            criterion, lift, joint.p_s, joint.lift_error, exact, lambda: joint.prior
        )
    if is_all:
        out[-1] = True  # one output for all of X: its lift is exactly 1
    return out


def _improve(
    joint: Joint, criterion: Criterion, blocks: Groups, deadline: float
) -> list[list[int]]:
    """Return a partition that no arrangement of a few of its blocks was seen to improve."""
    rng = np.random.default_rng(0)
    current = [list(block) for block in blocks]
    failures = 0
    while failures < 100 + 4 * len(current) and time.monotonic() < deadline:
        groups, chosen = _neighbourhood(joint, current, rng)
        before = [current[k] for k in chosen]
        after = _best_arrangement(joint, criterion, groups)
        if after and kept_by(joint, after) > kept_by(joint, before) + _ROUNDING:
            current = [b for k, b in enumerate(current) if k not in chosen] + after
            failures = 0
        else:
            failures += 1
    return current


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
