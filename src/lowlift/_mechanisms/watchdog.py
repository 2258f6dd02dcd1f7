"""The watchdog: low-risk symbols as they are, high-risk ones randomised together."""

from collections.abc import Sequence

import numpy as np

from lowlift._audit import risky_symbols
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._exact import integers_of, largest_remainders
from lowlift._joint import Joint
from lowlift._mechanisms.merging import release_blocks, release_merged, stopped_certificate
from lowlift._release import Release
from lowlift._solver.growing import Merged, divided, grower_for, join_at_once, started
from lowlift.criteria import Criterion
from lowlift.errors import InvalidInput


def watchdog(
    joint: Joint,
    criterion: Criterion,
    outputs: int | Sequence[float] = 1,
    repair: bool = True,
    *,
    time_limit: float | None = None,
) -> Release:
    """Publish low-risk symbols unchanged and randomise X_H without regard to x (equation 8).

    Every symbol of X_H is mapped to the outputs Y_H with the same probabilities R(y), so every
    output of Y_H has the lift of X_H merged, whatever R is (Theorem 1: no randomisation of X_H
    leaks less).

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        What every output must satisfy.
    outputs
        1 for one super symbol (complete merging), k for k uniform outputs, or the weights R(y).
    repair
        When X_H merged still breaks the criterion, let it take in low-risk symbols, one at a time
        by least risk. Without repair the set is released as the paper prints it, and the audit
        says so.
    time_limit
        Seconds for the repair; then low-risk symbols are taken in many at a time, and a certificate
        says so. None: no limit.

    Guarantee
        With repair the release satisfies the criterion by the exact audit, for every joint and
        every budget.

    Cost
        O(|X| |S|), and O(|X|**2 |S|) at worst when repaired.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> joint = Joint.from_counts([[1, 3, 4], [3, 2, 4]], x_labels="abc")
    >>> watchdog(joint, ALIP(0.2, 0.2)).partition
    Partition([['a', 'b'], ['c']])
    >>> watchdog(joint, ALIP(0.2, 0.2), outputs=2).channel.p_y_given_x
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    if not isinstance(repair, bool):
        raise InvalidInput(f"repair must be True or False; got {type(repair).__name__}.")
    weights = _weights(outputs)
    deadline = started(time_limit, criterion)
    block, alone = divided(risky_symbols(joint, criterion))
    if not block:
        return release_blocks(joint, criterion, alone, "watchdog")
    is_stopped = False
    if repair:
        grower = grower_for(joint, criterion, deadline=deadline)
        pool = grower.pool(alone)
        grower.absorb(block, pool)
        alone, is_stopped = pool.rest(), grower.is_stopped
        if is_stopped:
            join_at_once(grower, block, alone)
    found = Merged([block, *alone], is_stopped)
    if len(weights) == 1:
        return release_merged(joint, criterion, found, "watchdog", time_limit)
    block.sort()
    atoms = [(block, [weight] * len(block)) for weight in weights]
    atoms += [(item, [sum(weights)]) for item in alone]
    channel = Channel.from_atoms(joint, atoms, sum(weights))
    certificate = stopped_certificate(joint, criterion, found, time_limit)
    return Release.of(joint, channel, criterion, mechanism="watchdog", certificate=certificate)


def _weights(outputs: int | Sequence[float]) -> list[int]:
    """Return R(y) as positive whole numbers that sum to a power of two."""
    if isinstance(outputs, int | np.integer) and not isinstance(outputs, bool):
        if not 1 <= outputs <= 1 << 20:
            raise InvalidInput(f"outputs must be at least 1 (and at most 2**20); got {outputs}.")
        shares = np.ones(outputs)
    else:
        try:
            shares = np.array(outputs, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput("outputs must be a number or a list of weights.") from error
        if shares.ndim != 1 or shares.size == 0 or not (np.isfinite(shares) & (shares > 0)).all():
            raise InvalidInput("the weights of outputs must be positive numbers, one per output.")
    if shares.size == 1:
        return [1]
    rounded = largest_remainders(integers_of(shares).tolist(), MAX_DENOMINATOR)
    if min(rounded) < 1:
        raise InvalidInput(
            f"each weight of outputs must be at least 2**-48 of their sum; weight "
            f"{rounded.index(0)} is not."
        )
    return rounded
