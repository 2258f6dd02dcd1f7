"""Draws by table look-up: Walker's alias method in whole numbers.

A symbol's weights w_y (which sum to 2**d) are scaled by K = 2**k and poured into K slots of
capacity 2**d, each shared by at most two outputs. A uniform number of 60 bits gives the slot (its
leading k bits) and a place in it (the next d), so that k + d <= 60. Given a uniform number the law
of the draw is the channel, exactly: summed over the slots, output y holds w_y K places.
"""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from lowlift._arrays import Ints
from lowlift._channel import Channel
from lowlift.errors import InvalidInput

UNIFORM_BITS = 60
#: Hex digits of the subkey in a digest: 160 bits, and one block of SHA-256 with a short id.
_KEY_DIGITS = 40
_MOST_SLOT_BITS = 12
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class AliasTable:
    """The slots of each symbol: arrays of shape (|X|, K).

    Parameters
    ----------
    slot_bits, place_bits
        k and d.
    thresholds, firsts, others
        Slot c of symbol x gives ``firsts[x, c]`` to the places below ``thresholds[x, c]`` and
        ``others[x, c]`` to the rest.
    """

    slot_bits: int
    place_bits: int
    thresholds: Ints
    firsts: Ints
    others: Ints

    @classmethod
    def from_channel(cls, channel: Channel) -> Self:
        """Return the table of a channel.

        Raises
        ------
        InvalidInput
            When a symbol has more than 4,096 outputs or the table more than 4 million slots.

        Cost
            O(|X| K) time and memory.

        Examples
        --------
        >>> table = AliasTable.from_channel(Channel([[3, 1], [0, 4]]))
        >>> table.thresholds.tolist(), table.firsts.tolist(), table.others.tolist()
        ([[4, 2], [4, 0]], [[0, 1], [1, 1]], [[0, 0], [1, 1]])
        """
        by_symbol = np.argsort(channel.members, kind="stable")
        ends = np.cumsum(np.bincount(channel.members, minlength=channel.n_x)).tolist()
        largest = int(np.diff(ends, prepend=0).max())
        k = (largest - 1).bit_length()
        if k > _MOST_SLOT_BITS or channel.n_x << k > _MOST_ENTRIES:
            raise InvalidInput(
                f"a channel drawn row by row must have at most {1 << _MOST_SLOT_BITS} outputs a "
                f"symbol and {_MOST_ENTRIES} slots in all; this one has {largest} and "
                f"{channel.n_x << k}. Keep no column and draw without ids, or use fewer symbols."
            )
        outputs = channel.entry_outputs[by_symbol].tolist()
        weights = channel.member_weights[by_symbol].tolist()
        thresholds, firsts, others = np.empty((3, channel.n_x, 1 << k), np.int64)
        start = 0
        for x, end in enumerate(ends):
            slots = _poured(outputs[start:end], weights[start:end], 1 << k, channel.denominator)
            thresholds[x], firsts[x], others[x] = slots
            start = end
        return cls(k, channel.denominator.bit_length() - 1, thresholds, firsts, others)


def _poured(
    outputs: list[int], weights: list[int], slots: int, capacity: int
) -> tuple[list[int], list[int], list[int]]:
    """Return thresholds, first and other outputs of one symbol's slots (Walker 1977, Vose 1991)."""
    padding = slots - len(outputs)
    names = outputs + [outputs[0]] * padding
    left = [weight * slots for weight in weights] + [0] * padding
    thresholds, others = [capacity] * slots, names.copy()
    small = [slot for slot in range(slots) if left[slot] < capacity]
    large = [slot for slot in range(slots) if left[slot] > capacity]
    # Whole numbers: what is missing in the small slots is exactly what the large ones have over.
    while small:
        slot, donor = small.pop(), large[-1]
        thresholds[slot], others[slot] = left[slot], names[donor]
        left[donor] -= capacity - left[slot]
        if left[donor] <= capacity:
            large.pop()
            if left[donor] < capacity:
                small.append(donor)
    return thresholds, names, others


def key_text(subkey: bytes) -> str:
    """Return the part of a subkey that enters a digest, as text."""
    return subkey.hex()[:_KEY_DIGITS]


def uniform_of(subkey: bytes, text: str) -> int:
    """Return the uniform number of an id: the leading 60 bits of a SHA-256.

    The digest is of subkey, length of the id in UTF-8 bytes, a colon and the id.

    Parameters
    ----------
    subkey
        At least 20 bytes.
    text
        The id: whole numbers in decimal digits, UUIDs lower-case with hyphens.

    Examples
    --------
    >>> hex(uniform_of(bytes(32), "7"))
    '0x7dd13e9ef1d93a5'
    """
    octets = text.encode()
    digest = hashlib.sha256(f"{key_text(subkey)}{len(octets)}:".encode() + octets)
    return int(digest.hexdigest()[: UNIFORM_BITS // 4], 16)


def alias_draw(table: AliasTable, symbol: int, uniform: int) -> int:
    """Return the output that a uniform number of 60 bits draws for a symbol.

    This is what every engine computes in SQL.
    """
    rest = UNIFORM_BITS - table.slot_bits
    slot = uniform >> rest
    place = (uniform >> (rest - table.place_bits)) & ((1 << table.place_bits) - 1)
    chosen = table.firsts if place < table.thresholds[symbol, slot] else table.others
    return int(chosen[symbol, slot])
