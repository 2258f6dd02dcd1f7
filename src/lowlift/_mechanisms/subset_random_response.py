"""Subset random response: Algorithm 2 of the paper, in the form that keeps the guarantee."""

import math
from collections.abc import Sequence

import numpy as np

from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._deadline import Deadline
from lowlift._joint import Joint, check_joint
from lowlift._mechanisms.merging import partition_of, release_blocks
from lowlift._mechanisms.random_response import AFTERWARDS, best_mixture, check_convex, round_atoms
from lowlift._partition import Partition
from lowlift._release import Release
from lowlift._solver.classes import Mixture
from lowlift._solver.growing import Grower, grower_for, kept_by, merge_subsets, started
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import entropy_of
from lowlift._solver.search import Limits
from lowlift.criteria import Criterion, Population
from lowlift.errors import InvalidInput

#: Blocks are small: they are solved to this gap of their own NMI.
_GAP = 1e-6
#: Seconds for one block, when there is no other limit.
_SECONDS = 20.0


def subset_random_response(
    joint: Joint,
    criterion: Criterion,
    *,
    partition: Partition | None = None,
    time_limit: float | None = None,
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
    time_limit
        Seconds; then the blocks that are left stay merged. None: 20 seconds for each block.

    Returns
    -------
    Release
        Its partition has the blocks as they were joined. When time ran out it has a certificate
        that says so.

    Raises
    ------
    InvalidInput
        For a criterion that is not convex, a partition that is not one of X, or a time_limit
        below 0.

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
    check_joint(joint)
    check_convex(criterion)
    if isinstance(criterion, Population):
        raise InvalidInput(
            "subset_random_response takes bounds for this table only; got one for the population. "
            "Use random_response or subset_merging."
        )
    whole = started(time_limit, criterion, "pairs" if joint.n_s == 2 else "search")
    deadline, is_stopped = whole.earlier(AFTERWARDS * joint.n_x), False
    if partition is None:
        blocks, is_stopped = merge_subsets(joint, criterion, deadline=deadline)
    else:
        channel = Channel.from_partition(joint, partition)
        blocks = _joined(
            grower_for(joint, criterion), [channel.atom(y)[0] for y in range(channel.n_y)]
        )
    release: Release | None = None
    if not math.isinf(joint.lift_error):  # else no float polytope can be trusted
        atoms, is_cut = _respond_to_all(joint, criterion, blocks, deadline)
        is_stopped = is_stopped or is_cut
        release = round_atoms(joint, criterion, atoms, "subset_random_response", whole)
    if release is None or release.audit.mutual_information < kept_by(joint, blocks):
        release = release_blocks(joint, criterion, blocks, "subset_random_response")
    release = release.with_partition(partition_of(joint, blocks))
    if not is_stopped:
        return release
    certificate = Certificate(
        "mechanisms",
        1.0,
        is_optimal=False,
        gap=1.0 - release.audit.nmi,
        stopped_after=whole.elapsed if time_limit is None else time_limit,
    )
    return release.with_certificate(certificate)


def _respond_to_all(
    joint: Joint, criterion: Criterion, blocks: list[list[int]], deadline: Deadline
) -> tuple[Mixture, bool]:
    """Return the atoms of all blocks, none without time, and whether time ran out on one of them.

    Each has an equal share of the time; what some leave over, the others have.
    """
    if deadline.is_over:
        return [], True
    found: list[Mixture] = [[] for _ in blocks]
    pending = list(range(len(blocks)))
    while pending:
        cut = []
        for k, number in enumerate(pending):
            left = deadline.left
            share = _SECONDS if math.isinf(left) else left / (len(pending) - k)
            found[number], is_cut = _respond(joint, criterion, blocks[number], Deadline(share))
            cut += [number] if is_cut else []
        if len(cut) == len(pending) or deadline.is_over or math.isinf(deadline.left):
            break
        pending = cut
    return [atom for some in found for atom in some], bool(cut)


def _joined(grower: Grower, blocks: Sequence[list[int]]) -> list[list[int]]:
    """Join each block that is not allowed with the next ones, the last with earlier ones."""
    queue, out = [list(block) for block in blocks], list[list[int]]()
    while queue:
        block = queue.pop(0)
        while not grower.holds(block):
            block += queue.pop(0) if queue else out.pop()
        out.append(block)
    return out


def _respond(
    joint: Joint, criterion: Criterion, block: list[int], deadline: Deadline
) -> tuple[Mixture, bool]:
    """Return the atoms of the block's best random response, and whether time ran out.

    Their numbers and masses are those of X.
    """
    mass, numbers = float(joint.p_x[block].sum()), np.array(block)
    merged: Mixture = [(mass, (numbers, joint.p_x[numbers] / mass))]
    if len(block) == 1:
        return merged, False
    if deadline.is_over:
        return merged, True
    polytope = Polytope(joint, criterion, block)
    limits = Limits(_GAP, deadline, 1, None, entropy_of(polytope.p_x))
    found = best_mixture(polytope, [range(len(block))], limits)
    if not found.atoms:
        return merged, True
    atoms = [(mass * beta, (numbers[members], shares)) for beta, (members, shares) in found.atoms]
    return atoms, found.is_stopped
