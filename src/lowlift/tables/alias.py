"""Draws by table look-up: Walker's alias method in whole numbers.

A symbol's weights w_y (which sum to 2**d) are scaled by K = 2**k and poured into K slots of
capacity 2**d, each shared by at most two outputs. A uniform number of 60 bits gives the slot (its
leading k bits) and a place in it (the next d), so that k + d <= 60. Given a uniform number the law
of the draw is the channel, exactly: summed over the slots, output y holds w_y K places.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowlift._arrays import Ints
from lowlift._channel import Channel
from lowlift._one_record import key_text, poured, uniform_of
from lowlift._one_record.draws import UNIFORM_BITS
from lowlift.errors import InvalidInput

__all__ = [
    "UNIFORM_BITS",
    "AliasTable",
    "alias_draw",
    "key_text",
    "slot_bits",
    "uniform_of",
]

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
        k = slot_bits(channel)
        by_symbol = np.argsort(channel.members, kind="stable")
        ends = np.cumsum(np.bincount(channel.members, minlength=channel.n_x)).tolist()
        outputs = channel.entry_outputs[by_symbol].tolist()
        weights = channel.member_weights[by_symbol].tolist()
        thresholds, firsts, others = np.empty((3, channel.n_x, 1 << k), np.int64)
        start = 0
        for x, end in enumerate(ends):
            slots = poured(outputs[start:end], weights[start:end], 1 << k, channel.denominator)
            thresholds[x], firsts[x], others[x] = slots
            start = end
        return cls(k, channel.denominator.bit_length() - 1, thresholds, firsts, others)


def slot_bits(channel: Channel) -> int:
    """Return k, so that 2**k slots hold the outputs of each symbol.

    Raises
    ------
    InvalidInput
        When a symbol has more than 4,096 outputs or the table more than 4 million slots.
    """
    largest = int(np.bincount(channel.members, minlength=channel.n_x).max())
    k = (largest - 1).bit_length()
    if k > _MOST_SLOT_BITS or channel.n_x << k > _MOST_ENTRIES:
        raise InvalidInput(
            f"a channel drawn row by row must have at most {1 << _MOST_SLOT_BITS} outputs a "
            f"symbol and {_MOST_ENTRIES} slots in all; this one has {largest} and "
            f"{channel.n_x << k}. Keep no column and draw without ids, or use fewer symbols."
        )
    return k


def alias_draw(table: AliasTable, symbol: int, uniform: int) -> int:
    """Return the output that a uniform number of 60 bits draws for a symbol.

    This is what every engine computes in SQL.
    """
    rest = UNIFORM_BITS - table.slot_bits
    slot = uniform >> rest
    place = (uniform >> (rest - table.place_bits)) & ((1 << table.place_bits) - 1)
    chosen = table.firsts if place < table.thresholds[symbol, slot] else table.others
    return int(chosen[symbol, slot])
