"""What is drawn for each row, and fresh draws from nothing but the counts.

When nothing of a row but its symbol matters and the order is free, the output is a multiset: how
many rows of each symbol become each output. Those numbers have the law of the channel's draws row
by row, and the rows themselves never leave the engine.
"""

import hashlib
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift._channel import Channel
from lowlift._draw import draw
from lowlift._joint import Label
from lowlift._labels import number_of
from lowlift.errors import InvalidInput
from lowlift.tables.columns import MISSING, Column
from lowlift.tables.layouts import Layout, lookup

#: Called with what is done and the whole.
Progress: TypeAlias = Callable[[int, int], object]

UNSEEN = ("error", "suppress")
_SHORTEST_KEY = 20
_CHUNK = 1 << 20
#: From this many rows a symbol's rows are split by counts of random bits.
_MANY = 1 << 14


@dataclass(frozen=True)
class Draw:
    """How each row's output is drawn.

    Parameters
    ----------
    columns
        The columns of X, in the order of the symbols' labels.
    channel
        The integer weights; outputs are numbered 0..|Y|-1.
    symbols
        The label of each row of the channel: the label itself for one column, else a tuple.
    missing
        "value": NULL is a symbol with label None; "drop": such rows leave; "error".
    unseen
        What to do with rows whose symbol is not listed: "error", or "suppress" (they leave).
    id, subkey
        Keyed draws: a column of different ids (integer, text, UUID) and at least 20 bytes.
    seed
        For tests only: whoever knows it can undo the randomisation.
    layout
        Which uniform numbers draw which output, for keyed draws; None: those of the alias table.

    Raises
    ------
    InvalidInput
        When these do not fit together.

    Guarantee
        The law of a row's output given its symbol is the channel, exactly; for keyed draws under
        the assumption that SHA-256 with a secret key is a random function.
    """

    columns: tuple[Column, ...]
    channel: Channel
    symbols: tuple[Label, ...]
    missing: str = "value"
    unseen: str = "error"
    id: str | None = None
    subkey: bytes | None = None
    seed: int | None = None
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise InvalidInput("a draw must have at least one column of X; got none.")
        if len(self.symbols) != self.channel.n_x:
            raise InvalidInput(
                f"a draw must have one symbol per row of the channel ({self.channel.n_x}); "
                f"got {len(self.symbols)}."
            )
        if self.missing not in MISSING:
            raise InvalidInput(f"missing must be value, drop or error; got {self.missing!r}.")
        if self.unseen not in UNSEEN:
            raise InvalidInput(f"unseen must be error or suppress; got {self.unseen!r}.")
        if (self.id is None) != (self.subkey is None):
            raise InvalidInput("keyed draws must have an id column and a subkey; got one of them.")
        if self.subkey is not None and len(self.subkey) < _SHORTEST_KEY:
            raise InvalidInput(
                f"a subkey must have at least {_SHORTEST_KEY} bytes; got {len(self.subkey)}."
            )
        if self.seed is not None and (self.id is not None or self.seed < 0):
            raise InvalidInput("a seed must be 0 or more and goes without an id; it does not.")
        if self.layout is not None:
            self.layout.check(self.channel)

    @property
    def outputs(self) -> list[int]:
        """The cell that each output is, where the outputs are cells."""
        return list(map(number_of, self.channel.y_labels))

    def texts(self) -> list[tuple[str | None, ...]]:
        """Return the symbol texts of each row of the channel, one per column.

        Raises
        ------
        InvalidInput
            When a label does not fit its column, or two symbols have the same texts.
        """
        rows = []
        for label in self.symbols:
            parts = label if len(self.columns) > 1 else (label,)
            if not isinstance(parts, tuple) or len(parts) != len(self.columns):
                raise InvalidInput(
                    f"a symbol must have one label per column ({len(self.columns)}); one has not."
                )
            pairs = zip(self.columns, parts, strict=True)
            rows.append(tuple(column.text_of(part) for column, part in pairs))
        if len(set(rows)) < len(rows):
            raise InvalidInput("the symbols of a draw must differ; two are the same.")
        return rows


def lookup_of_cells(draw: Draw) -> tuple[dict[str, Ints], tuple[int, int]]:
    """Return the table that draws cells, and its bits: `lookup`, with c for the symbol.

    Symbols and outputs are cells by their numbers.
    """
    symbols, columns, bits = lookup(draw.channel, draw.layout)
    cells = np.array(list(map(number_of, draw.symbols)), np.int64)
    outputs = np.array(draw.outputs, np.int64)
    drawn: dict[str, Ints] = {
        name: outputs[columns[name]] for name in ("first", "other") if name in columns
    }
    return {"c": cells[symbols]} | columns | drawn, bits


def one_time_key(seed: int | None) -> bytes:
    """Return 32 bytes from the operating system, or those of a seed."""
    if seed is None:
        return os.urandom(32)
    return hashlib.sha256(f"lowlift seed {seed}".encode()).digest()


def rows_per_output(
    channel: Channel,
    rows: Sequence[int],
    seed: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Ints:
    """Return how many rows become each output, drawn by the channel's integer weights.

    Each symbol has so many rows, (|X|,); without a seed the operating system's entropy is used.
    `progress` is called with the number of rows drawn so far.

    Guarantee
        The same law as `lowlift.draw` row by row, then counted.

    Cost
        About 4 ns and a few random bits a row, 60 ns where symbols have few rows; memory does not
        grow with the rows.

    Examples
    --------
    >>> rows_per_output(Channel([[0, 1], [1, 0]]), [3, 2]).tolist()
    [2, 3]
    """
    rng = None if seed is None else np.random.default_rng(seed)
    take = os.urandom if rng is None else rng.bytes
    tell = progress or (lambda _: None)
    totals = np.zeros(channel.n_y, np.int64)
    counts = np.asarray(rows, np.int64)
    few = np.where(counts < _MANY, counts, 0)
    ends = np.cumsum(few)
    for start in range(0, int(ends[-1]), _CHUNK):
        places = np.arange(start, min(start + _CHUNK, int(ends[-1])))
        symbols = np.searchsorted(ends, places, side="right")
        totals += np.bincount(draw(channel, symbols, rng), minlength=channel.n_y)
        tell(int(places[-1]) + 1)
    done = int(ends[-1])
    many = np.flatnonzero(counts >= _MANY)
    if many.size:
        by_symbol = np.argsort(channel.members, kind="stable")
        edges = np.searchsorted(channel.members[by_symbol], np.arange(channel.n_x + 1))
    for x in many.tolist():
        entries = by_symbol[edges[x] : edges[x + 1]]
        sums = np.cumsum(channel.member_weights[entries])
        totals[channel.entry_outputs[entries]] += split_rows(int(counts[x]), sums, take)
        done += int(counts[x])
        tell(done)
    return totals


def split_rows(rows: int, sums: Ints, take: Callable[[int], bytes]) -> Ints:
    """Return how many of `rows` uniform numbers below ``sums[-1]`` fall to each running sum.

    A row's next bit says in which half of its range it lies, so the bits that are set are counted.
    A range that no running sum cuts is decided: most rows take few bits, and all of them are drawn.
    """
    ends = sums.tolist()
    counts = [0] * len(ends)
    ranges = [(rows, 0, ends[-1])]
    while ranges:
        inside, low, high = ranges.pop()
        output = bisect_right(ends, low)
        if inside == 0 or high <= ends[output]:
            counts[output] += inside
            continue
        middle, upper = (low + high) // 2, _bits_set(inside, take)
        ranges += [(inside - upper, low, middle), (upper, middle, high)]
    return np.array(counts, np.int64)


def _bits_set(size: int, take: Callable[[int], bytes]) -> int:
    """Return how many of so many random bits are set."""
    found = 0
    for start in range(0, size, _CHUNK):
        bits = min(_CHUNK, size - start)
        found += (int.from_bytes(take(-(-bits // 8))) >> (-bits % 8)).bit_count()
    return found


def places(
    sizes: Mapping[int, int],
    counts: Mapping[int, int],
    seed: int | None = None,
    columns: int | None = None,
) -> tuple[Ints, Ints]:
    """Return cells, each as often as counted, in random order, and a place drawn in each.

    Parameters
    ----------
    sizes
        How many rows each cell has.
    counts
        How many rows to draw of each cell.
    seed
        None draws from the operating system's entropy.
    columns
        Draw so many places for each row, one per column; None: one for all of them.

    Guarantee
        A place of a cell, 0 to its size - 1, is drawn uniformly and with replacement, whatever row
        it is drawn for. The order is a function of the counts and fresh randomness alone.

    Raises
    ------
    InvalidInput
        When a cell has no rows.
    """
    rng = np.random.default_rng(int.from_bytes(os.urandom(16)) if seed is None else [seed, 2])
    used = [cell for cell, number in counts.items() if number]
    empty = sum(not sizes.get(cell) for cell in used)
    if empty:
        raise InvalidInput(
            f"each cell that is drawn must have rows in this table; {empty} have none. Design the "
            "release on this table."
        )
    wanted = np.repeat(np.array(used, np.int64), [counts[cell] for cell in used])
    rng.shuffle(wanted)
    rows = np.zeros(max(used, default=0) + 1, np.int64)
    rows[used] = [sizes[cell] for cell in used]
    if columns is None:
        return wanted, rng.integers(0, rows[wanted])
    return wanted, rng.integers(0, rows[wanted][:, None], (len(wanted), columns))


def donors(
    cells: Ints, counts: Mapping[int, int], seed: int | None = None, columns: int | None = None
) -> Ints:
    """Return the numbers of rows drawn inside cells, (n,) or (n, columns), as `places` says.

    `cells` has the cell of each row.
    """
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    starts = np.cumsum(sizes) - sizes
    wanted, place = places(dict(enumerate(sizes.tolist())), counts, seed, columns)
    first = starts[wanted]
    return np.asarray(order[place + (first if columns is None else first[:, None])])


def shuffled_codes(counts: Sequence[int], seed: int | None = None) -> npt.NDArray[Any]:
    """Return the output numbers, each as often as counted, in random order.

    The order is a function of the counts and fresh randomness alone, so it carries nothing. Most
    places get an output independently of each other, by shares a little below those counted; what
    is then left of each output is shuffled into the free places. That treats all places alike, so
    every order has the same chance.

    Cost
        About 5 ns and one to four bytes a row.
    """
    wanted = np.asarray(counts, np.int64)
    rng = np.random.default_rng(int.from_bytes(os.urandom(16)) if seed is None else [seed, 1])
    codes, left = _dealt(wanted, rng)
    while left.min() < 0:  # a chance of about 1e-9 per output
        codes, left = _dealt(wanted, rng)
    rest = np.repeat(np.arange(len(wanted)), left)
    rng.shuffle(rest)
    codes[codes == len(wanted)] = rest
    return codes


def _dealt(wanted: Ints, rng: np.random.Generator) -> tuple[npt.NDArray[Any], Ints]:
    """Return independent outputs, or |Y| for a free place, and how many of each output are left."""
    rows, free = int(wanted.sum()), len(wanted)
    # Six standard deviations less than wanted: hardly ever is an output dealt too often.
    shares = np.maximum(wanted - 6 * np.sqrt(wanted), 0) / max(rows, 1)
    cells = np.floor(shares * (1 << 16)).astype(np.int64)
    codes = np.empty(rows, np.min_scalar_type(free))
    table = np.repeat(np.arange(free + 1), [*cells, (1 << 16) - int(cells.sum())])
    table = table.astype(codes.dtype)
    for start in range(0, rows, 1 << 16):
        part = codes[start : start + (1 << 16)]
        words = rng.bit_generator.random_raw(-(-len(part) // 4)).view(np.uint16)[: len(part)]
        table.take(words, out=part, mode="clip")  # to check words of 16 bits would take a copy
    return codes, wanted - _counted(codes, free)


def _counted(codes: npt.NDArray[Any], below: int) -> Ints:
    """Return how often each code below a number occurs; bytes are counted two at a time."""
    is_byte, even = codes.itemsize == 1, len(codes) // 2 * 2
    words, size = (codes[:even].view(np.uint16), 1 << 16) if is_byte else (codes, below + 1)
    counts = np.zeros(size, np.int64)
    for start in range(0, len(words), 1 << 17):
        counts += np.bincount(words[start : start + (1 << 17)], minlength=size)
    if is_byte:
        pairs = counts.reshape(256, 256)
        counts = pairs.sum(axis=0) + pairs.sum(axis=1)
        counts[codes[even:]] += 1
    return counts[:below]
