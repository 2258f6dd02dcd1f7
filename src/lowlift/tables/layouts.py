"""Which uniform numbers draw which output: the pieces of each symbol, kept or cut, never moved.

A uniform number of 60 bits draws the output of the piece that it lies in. A release that refines
another cuts the pieces of each output among the outputs that refine it, so that the same number
draws an output of the first release and one that refines it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lowlift._channel import Channel
from lowlift._labels import Label, check_labels
from lowlift.errors import InvalidInput
from lowlift.tables.alias import UNIFORM_BITS, AliasTable

_WHOLE = 1 << UNIFORM_BITS
_MOST_SLOT_BITS = 8


@dataclass(frozen=True)
class Layout:
    """How keyed draws of a release are made: by which subkey, and which numbers draw what.

    Parameters
    ----------
    scope
        What the subkey is derived from beside the key.
    pieces
        For each symbol, where each piece begins and its output, in ascending order from 0. A piece
        ends where the next begins, the last at 2**60.
    """

    scope: str
    pieces: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def of_alias(cls, channel: Channel, scope: str) -> Self:
        """Return the pieces by which the alias table of a channel draws.

        Examples
        --------
        >>> Layout.of_alias(Channel([[3, 1], [0, 4]]), "").pieces[1]
        ((0, 1),)
        """
        table = AliasTable.from_channel(channel)
        slot = _WHOLE >> table.slot_bits
        unit = slot >> table.place_bits
        found = []
        slots = zip(table.thresholds, table.firsts, table.others, strict=True)
        for thresholds, firsts, others in slots:
            starts = []
            parts = zip(thresholds.tolist(), firsts.tolist(), others.tolist(), strict=True)
            for k, (threshold, first, other) in enumerate(parts):
                starts += [(k * slot, first), (k * slot + threshold * unit, other)]
            found.append(_joined(starts))
        return cls(scope, tuple(found))

    def cut(self, channel: Channel, parents: Sequence[int]) -> Self:
        """Return the pieces of a channel whose outputs refine those of this layout.

        The pieces of an output are dealt, in order, to the outputs that have it as their parent.

        Raises
        ------
        InvalidInput
            When the weights of the outputs do not add up to their parent's.
        """
        unit = _WHOLE // channel.denominator
        left: dict[tuple[int, int], list[list[int]]] = {}
        for y in range(channel.n_y):
            for x, weight in zip(*channel.atom(y), strict=True):
                left.setdefault((x, parents[y]), []).insert(0, [y, weight * unit])
        found = []
        for x, pieces in enumerate(self.pieces):
            starts = []
            for start, end, parent in _ranges(pieces):
                place = start
                while place < end:
                    waiting = left.get((x, parent))
                    if not waiting:
                        raise InvalidInput("outputs must have the weights of what they refine.")
                    y, size = waiting[-1]
                    taken = min(size, end - place)
                    starts.append((place, y))
                    place, waiting[-1][1] = place + taken, size - taken
                    if taken == size:
                        waiting.pop()
            found.append(_joined(starts))
        return type(self)(self.scope, tuple(found))

    def renamed(self, outputs: Sequence[int]) -> Self:
        """Return the same pieces, where output y is called ``outputs[y]``."""
        named = (_joined([(start, outputs[y]) for start, y in part]) for part in self.pieces)
        return type(self)(self.scope, tuple(named))

    def check(self, channel: Channel) -> None:
        """Refuse a layout that does not draw by exactly the weights of a channel."""
        unit, weights = _WHOLE // channel.denominator, [dict[int, int]() for _ in self.pieces]
        for pieces, sizes in zip(self.pieces, weights, strict=True):
            for start, end, y in _ranges(pieces):
                if end <= start:
                    raise InvalidInput("the pieces of a draw must ascend from 0; they do not.")
                sizes[y] = sizes.get(y, 0) + end - start
        wanted = [dict[int, int]() for _ in range(channel.n_x)]
        for y in range(channel.n_y):
            for x, weight in zip(*channel.atom(y), strict=True):
                wanted[x][y] = weight * unit
        is_whole = all(pieces and pieces[0][0] == 0 for pieces in self.pieces)
        if not is_whole or weights != wanted:
            raise InvalidInput("the pieces of a draw must have the channel's weights.")

    def draw(self, symbol: int, uniform: int) -> int:
        """Return the output that a uniform number of 60 bits draws for a symbol."""
        starts, outputs = self._columns[symbol]
        return outputs[bisect_right(starts, uniform) - 1]

    @cached_property
    def _columns(self) -> list[tuple[list[int], list[int]]]:
        return [([s for s, _ in pieces], [y for _, y in pieces]) for pieces in self.pieces]

    def lookup(self) -> tuple[int, npt.NDArray[np.int64]]:
        """Return k, and the rows of a table: symbol, slot, low, high and output.

        The leading k bits of a number are its slot; the rest lies between low and high (less than
        it) in one row of its symbol and slot.
        """
        largest = max(map(len, self.pieces))
        k = min((largest - 1).bit_length(), _MOST_SLOT_BITS)
        size, rows = _WHOLE >> k, list[tuple[int, int, int, int, int]]()
        for x, pieces in enumerate(self.pieces):
            for start, end, y in _ranges(pieces):
                for slot in range(start // size, -(-end // size)):
                    low, high = max(start - slot * size, 0), min(end - slot * size, size)
                    rows.append((x, slot, low, high, y))
        return k, np.array(rows, np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {"scope": self.scope, "pieces": [[list(p) for p in part] for part in self.pieces]}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the layout that `to_dict` wrote."""
        pieces = (tuple((start, y) for start, y in part) for part in saved["pieces"])
        return cls(saved["scope"], tuple(pieces))


@dataclass(frozen=True)
class Refines:
    """Which release another one refines: an output of the second says one of the first, and more.

    Parameters
    ----------
    first
        The fingerprint of the first release.
    outputs
        The labels of its outputs.
    parents
        For each output of the second, the number of the output of the first that it refines.
    bounds
        For each output of the first, the most information about X, in nats, that any refinement
        of it adds under the criterion.
    """

    first: str
    outputs: tuple[Label, ...]
    parents: tuple[int, ...]
    bounds: tuple[float, ...]

    def __post_init__(self) -> None:
        if set(self.parents) != set(range(len(self.outputs))) or len(self.bounds) != len(
            self.outputs
        ):
            raise InvalidInput("each output of the first release must be refined by one or more.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote."""
        outputs = check_labels(saved["outputs"], len(saved["outputs"]), "y")
        return cls(saved["first"], outputs, tuple(saved["parents"]), tuple(saved["bounds"]))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def lookup(
    channel: Channel, layout: Layout | None
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]], tuple[int, int]]:
    """Return the table that draws: the symbol of each of its rows, its other columns, its bits.

    Those are slot, threshold, first and other of the alias table; of a layout slot, low, high and
    first. The bits are those of slots and places, k and d.

    Examples
    --------
    >>> lookup(Channel([[3, 1], [0, 4]]), None)[1]["threshold"].tolist()
    [4, 2, 4, 0]
    """
    if layout is not None:
        k, rows = layout.lookup()
        names = ("slot", "low", "high", "first")
        return rows[:, 0], dict(zip(names, rows.T[1:], strict=True)), (k, UNIFORM_BITS - k)
    alias = AliasTable.from_channel(channel)
    slots = alias.thresholds.shape[1]
    columns = {
        "slot": np.tile(np.arange(slots), channel.n_x),
        "threshold": alias.thresholds.ravel(),
        "first": alias.firsts.ravel(),
        "other": alias.others.ravel(),
    }
    return np.repeat(np.arange(channel.n_x), slots), columns, (alias.slot_bits, alias.place_bits)


def overlaps(
    layouts: Sequence[Sequence[tuple[int, int]]],
) -> dict[tuple[int, ...], int]:
    """Return how many numbers draw these outputs, one of each layout's pieces of a symbol.

    Examples
    --------
    >>> half = 1 << 59
    >>> overlaps([((0, 0), (half, 1)), ((0, 5),)]) == {(0, 5): half, (1, 5): half}
    True
    """
    starts = sorted({start for pieces in layouts for start, _ in pieces})
    places, found = [0] * len(layouts), dict[tuple[int, ...], int]()
    for start, end in zip(starts, [*starts[1:], _WHOLE], strict=True):
        for k, pieces in enumerate(layouts):
            if places[k] + 1 < len(pieces) and pieces[places[k] + 1][0] <= start:
                places[k] += 1
        drawn = tuple(pieces[place][1] for pieces, place in zip(layouts, places, strict=True))
        found[drawn] = found.get(drawn, 0) + end - start
    return found


def _ranges(pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and output of each piece."""
    ends = [start for start, _ in pieces[1:]] + [_WHOLE]
    for (start, y), end in zip(pieces, ends, strict=True):
        yield start, end, y


def _joined(starts: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return pieces without empty ones, neighbours of the same output as one."""
    found = list[tuple[int, int]]()
    for start, y in starts:
        if start == _WHOLE:
            break
        if found and found[-1][0] == start:
            found.pop()
        if not found or found[-1][1] != y:
            found.append((start, y))
    return tuple(found)
