"""What a codebook gives away beyond its purpose: how S goes with X, symbols of few rows."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lowlift._channel import Channel
from lowlift._joint import Joint
from lowlift._wording import capital, counted
from lowlift.encodings import Encoded, is_deterministic

#: Counts below this are called exposed.
FEW = 5
#: Steps to which a codebook may be rounded, the finest first.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Said of a channel whose weights were fitted to P(s, x).
_FITTED = (
    "the codebook tells by which chances values are drawn, and these were made from how the "
    "protected values go with the published ones: whoever studies it can estimate that. The limit "
    "is kept all the same: it is worked out for readers who know that. If it must stay "
    "confidential, keep the codebook back, or publish merged values only."
)
_OR = "merge rare values before the design, or keep the codebook back."


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
    what = _what(encoded)
    few = f"{counted(len(rare), what)} {'occurs' if len(rare) == 1 else 'occur'}"
    advice = _advice(encoded, step, masses, rare)
    if step is None:
        text = f"the codebook's exact numbers reveal that {few} fewer than {FEW} times. {advice}"
        return (*fitted, text)
    found = []
    pinned = _pinned(encoded.channel, step, masses, rare)
    if pinned:
        found.append(
            f"intervals of width {float(step):g} still reveal how often "
            f"{counted(len(pinned), what)} {'occurs' if len(pinned) == 1 else 'occur'}: fewer "
            f"than {FEW} times. {advice}"
        )
    if _has_exact_chances(encoded):
        found.append(
            f"the codebook's chances of drawing are exact and made from the table: {few} "
            f"fewer than {FEW} times, and these chances may tell how often. {capital(_OR)}"
        )
    return (*fitted, *found)


def _what(encoded: Encoded) -> str:
    """Return what a symbol of X is: a value of a column, or a combination of several."""
    origin = encoded.release.origin
    return "value" if origin is None or len(origin.schema.released) == 1 else "combination"


def _has_exact_chances(encoded: Encoded) -> bool:
    """Return whether a codebook, however it is rounded, has the exact weights of draws."""
    return encoded.name != "values" and not is_deterministic(encoded.channel)


def _advice(
    encoded: Encoded,
    step: Fraction | None,
    masses: Sequence[Sequence[int]],
    rare: set[int],
) -> str:
    """Return what hides the counts of rare symbols; of rounding only a step that does."""
    steps = () if _has_exact_chances(encoded) else STEPS
    coarser = (each for each in steps if step is None or Fraction(repr(each)) > step)
    for each in coarser:
        if not _pinned(encoded.channel, Fraction(repr(each)), masses, rare):
            rounded = f"(--round-to {each:g}; in Python round_to={each:g})"
            return f"Round them to multiples of {each:g} {rounded}, {_OR}"
    return capital(_OR)


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


def _pinned(
    channel: Channel, step: Fraction, masses: Sequence[Sequence[int]], rare: set[int]
) -> set[int]:
    """Return the rare symbols for which one count only fits the interval and the output's rows.

    ``n(x) P(y|x) = P(x|y) n(y)``, and n(y) is seen in the released table.
    """
    found = set()
    for y, parts in enumerate(masses):
        whole = sum(parts)
        for x, w, part in zip(*channel.atom(y), parts, strict=True):
            if x not in rare:
                continue
            low, high = (end * whole / w for end in ends_of(Fraction(part, whole), step))
            if math.floor(high) <= math.ceil(low):
                found.add(x)
    return found
