"""What a codebook gives away beyond its purpose: how S goes with X, symbols of few rows."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lowlift._channel import Channel
from lowlift._joint import Joint
from lowlift.encodings import Encoded, is_deterministic

#: Counts below this are called exposed.
FEW = 5
#: Said of a channel whose weights were fitted to P(s, x).
_FITTED = (
    "the channel draws by weights that were fitted to how the sensitive values go with the "
    "released ones: whoever studies it can estimate that. The bound is against a "
    "reader who knows that already; if it must stay confidential, use a merging mechanism."
)


def ends_of(value: Fraction, step: Fraction) -> tuple[Fraction, Fraction]:
    """Return the ends of an interval between multiples of the step that holds the value.

    The width is always one step: an interval of no width would be an exact value.
    """
    k = min(value // step, math.ceil(1 / step) - 1)
    return k * step, min(Fraction(1), (k + 1) * step)


def exposed(
    encoded: Encoded, step: Fraction | None, masses: Sequence[Sequence[int]]
) -> tuple[str, ...]:
    """Say what the codebook gives away: how S goes with X, symbols of few rows."""
    fitted = () if is_by_blocks(encoded.channel) else (_FITTED,)
    joint = encoded.release.joint
    rare = rare_in(joint)
    if not rare:
        return fitted
    few = f"{len(rare)} of {joint.n_x} values {'occurs' if len(rare) == 1 else 'occur'}"
    if step is None:
        text = (
            f"exact probabilities expose counts below {FEW}: {few} so rarely, and P(x|y) "
            "with the number of published rows tells their counts. Round outward (round_to=0.01; "
            "--round-to 0.01 on the command line), merge rare values before the design, or do not "
            "publish the codebook."
        )
        return (*fitted, text)
    found = []
    pinned = rare & _pinned(encoded.channel, step, masses)
    if pinned:
        found.append(
            f"intervals of width {float(step):g} still expose counts below {FEW}: those of "
            f"{len(pinned)} of {joint.n_x} values, whose outputs have few rows. Use a larger "
            "round_to (--round-to), or merge rare values before the design."
        )
    if encoded.name != "values" and not is_deterministic(encoded.channel):
        found.append(
            f"the weights of a channel that draws are exact and made from the table: {few} "
            f"fewer than {FEW} times, and the weights may tell their counts."
        )
    return (*fitted, *found)


def rare_in(joint: Joint) -> set[int]:
    """Return the symbols of X that few rows have, by their numbers; of counts alone."""
    if not joint.is_counted:
        return set()
    return set(np.flatnonzero(joint.counts.sum(axis=0) < FEW).tolist())


def is_by_blocks(channel: Channel) -> bool:
    """Return whether outputs depend on blocks of X alone: merged, or drawn within a block."""
    blocks: dict[int, tuple[int, ...]] = {}
    for y in range(channel.n_y):
        members, weights = channel.atom(y)
        block = tuple(members)
        if len(set(weights)) > 1 or any(blocks.setdefault(x, block) != block for x in block):
            return False
    return True


def _pinned(channel: Channel, step: Fraction, masses: Sequence[Sequence[int]]) -> set[int]:
    """Return the symbols for which one count only fits the interval and the output's rows.

    ``n(x) P(y|x) = P(x|y) n(y)``, and n(y) is seen in the released table.
    """
    found = set()
    for y, parts in enumerate(masses):
        whole = sum(parts)
        for x, w, part in zip(*channel.atom(y), parts, strict=True):
            low, high = (end * whole / w for end in ends_of(Fraction(part, whole), step))
            if math.floor(high) <= math.ceil(low):
                found.add(x)
    return found
