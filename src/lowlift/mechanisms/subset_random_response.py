"""Subset random response: Algorithm 2 of the paper, in the form that keeps the guarantee."""

import math
from collections.abc import Sequence

import numpy as np

from lowlift.channel import Channel
from lowlift.criteria import Criterion
from lowlift.joint import Joint
from lowlift.mechanisms.blocks import Grower, grower_for, release_blocks
from lowlift.mechanisms.master import Mixture
from lowlift.mechanisms.merging import merge_subsets
from lowlift.mechanisms.random_response import check_convex, round_atoms
from lowlift.partition import Partition
from lowlift.polytope import Polytope
from lowlift.release import Release

__all__ = ["subset_random_response"]

#: Blocks are small: they are solved to this gap of their own NMI.
_GAP = 1e-6
_SECONDS = 20.0


def subset_random_response(
    joint: Joint, criterion: Criterion, *, partition: Partition | None = None
) -> Release:
    """Apply the optimal random response to each block of a partition (Algorithm 2).

    A block that violates the criterion when merged has no random response of its own (the paper
    tests whether its polytope is empty, which is not the same); it joins the blocks after it, then
    those before it, until it holds.

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        A convex criterion, as for `random_response`.
    partition
        Blocks of all of X; default: those of `subset_merging`.

    Returns
    -------
    Release
        Its partition has the blocks as they were joined.

    Raises
    ------
    InvalidInput
        For a criterion that is not convex, or a partition that is not one of X.

    Guarantee
        Satisfies the criterion by the exact audit; never below merging the same blocks.

    Cost
        That of `random_response` on each block.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.random(4, 12, seed=0)
    >>> release = subset_random_response(joint, LIP(0.3))
    >>> release.audit.is_satisfied
    True
    """
    check_convex(criterion)
    if partition is None:
        blocks = merge_subsets(joint, criterion)
    else:
        channel = Channel.from_partition(joint, partition)
        blocks = _joined(
            grower_for(joint, criterion), [channel.atom(y)[0] for y in range(channel.n_y)]
        )
    merged = release_blocks(joint, criterion, blocks, "subset_random_response")
    if math.isinf(joint.lift_error):  # cells so small that no float polytope can be trusted
        return merged
    atoms: Mixture = []
    for block in blocks:
        atoms += _respond(joint, criterion, block)
    release = round_atoms(joint, criterion, atoms, "subset_random_response")
    if release is None or release.audit.nmi < merged.audit.nmi:
        return merged
    return release.with_partition(merged.partition)


def _joined(grower: Grower, blocks: Sequence[list[int]]) -> list[list[int]]:
    """Join each block that is not allowed with the next ones, the last with earlier ones."""
    queue, out = [list(block) for block in blocks], list[list[int]]()
    while queue:
        block = queue.pop(0)
        while not grower.holds(block):
            block += queue.pop(0) if queue else out.pop()
        out.append(block)
    return out


def _respond(joint: Joint, criterion: Criterion, block: list[int]) -> Mixture:
    """Return the atoms of the block's optimal random response, in numbers and masses of X."""
    mass = float(joint.p_x[block].sum())
    if len(block) == 1:
        return [(mass, (np.array(block), np.ones(1)))]
    from lowlift.mechanisms.column_generation import optimise

    polytope = Polytope(joint, criterion, block)
    found = optimise(polytope, [range(len(block))], _GAP, _SECONDS, 1)
    numbers = np.array(block)
    return [(mass * beta, (numbers[members], shares)) for beta, (members, shares) in found.atoms]
