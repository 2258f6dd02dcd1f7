"""Estimates of P(X) from the counts of published outputs, and what they say."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_instance
from lowlift._arrays import Bools, Floats, Ints
from lowlift._channel import Channel
from lowlift._deadline import Deadline
from lowlift._joint import Label
from lowlift.confidence import check_level, clopper_pearson
from lowlift.errors import InvalidInput
from lowlift.estimation.likelihood import SOLVED, likely_parts
from lowlift.estimation.ranges import ROUNDING, Ends

#: More symbols with rows of their own would take minutes and gigabytes.
MOST_BLOCKS = 2000


class Block(NamedTuple):
    """Symbols of X that the channel treats alike: their total is all that can be estimated."""

    #: Numbers of the symbols.
    symbols: tuple[int, ...]
    #: The estimate of their total; NaN where the outputs do not determine it.
    total: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What the published rows say of P(X); `estimate` makes one."""

    x_labels: tuple[Label, ...]
    #: The estimate of P(x), (|X|,); NaN where the outputs do not determine it.
    p_x: Floats
    #: The ends of the simultaneous intervals of P(x), (|X|,); NaN when not `is_consistent`.
    low: Floats
    high: Floats
    #: Per symbol, whether all p of largest likelihood agree on it.
    is_identified: Bools
    #: The symbols by equal rows of the channel.
    blocks: tuple[Block, ...]
    #: The shares of the outputs under the estimate, (|Y|,).
    fitted: Floats
    log_likelihood: float
    #: How far the likelihood can at most be from the largest, in nats a row.
    gap: float
    #: Whether some p explains all outputs within their intervals.
    is_consistent: bool
    #: How many blocks have an interval that is true but may not be the narrowest: time ran out.
    skipped: int
    level: float
    n_rows: int

    def __repr__(self) -> str:
        known = int(self.is_identified.sum())
        return f"<Estimate |X|={len(self.p_x)} identified={known} rows={self.n_rows}>"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        found = []
        if not self.is_consistent:
            found.append("the published table does not look drawn from this channel: no intervals.")
        open_blocks = [b.symbols for b in self.blocks if not self.is_identified[b.symbols[0]]]
        merged = sum(len(symbols) for symbols in open_blocks if len(symbols) > 1)
        if merged:
            found.append(
                f"the channel treats {merged} values like others: their totals are estimated, "
                "each alone has bounds only."
            )
        other = sum(len(symbols) == 1 for symbols in open_blocks)
        if other:
            found.append(f"{other} more values are not determined by the outputs: bounds only.")
        if self.skipped:
            found.append(
                f"{self.skipped} intervals are true but may be wider than need be: time ran out."
            )
        if self.gap > SOLVED:
            found.append(f"the likelihood may be {self.gap:.1g} nats a row below the largest.")
        return tuple(found)


def estimate(
    channel: Channel, counts_y: npt.ArrayLike, level: float = 0.95, *, time_limit: float = 10.0
) -> Estimate:
    """Return the P(X) under which the published rows are most likely, with intervals.

    Parameters
    ----------
    channel
        P(y | x) as published.
    counts_y
        How many published rows have each output, (|Y|,): whole numbers, not all 0.
    level
        The confidence that all intervals hold together.
    time_limit
        Seconds; intervals that are not narrowed by then are wider, and `skipped` counts them.

    Raises
    ------
    InvalidInput
        For counts that are not |Y| whole numbers of 0 or more, a level not between 0 and 1, or
        a channel that draws and has more than 2000 different rows.

    Guarantee
        `gap` bounds how far the likelihood is from the largest, by the Karush-Kuhn-Tucker
        conditions of what is returned. If rows are drawn independently by the channel, all
        P(x) lie in their intervals with probability `level` at least, at every size, whether they
        are determined or not: each end is proven by the multipliers of a linear program.

    Cost
        A channel that merges, or draws within blocks that it merges: O(|X|). Otherwise symbols that
        share outputs, directly or through others, are solved together: O(b**3) for b different
        rows, and 2 b linear programs. A random response of 1000 values takes some 3 s; a dense
        channel of 1000 rows has time for few of its programs (`skipped`).

    Notes
    -----
    Minimises ``-sum_y q(y) log (A p)(y) + sum p`` over p >= 0 from uniform p, by a primal-dual
    interior point method: it ends inside the face of all maximisers, which tells what is
    determined. With ``g = A' (q / A p)``, no p has a likelihood above ``log max g`` a row more.

    Examples
    --------
    Each value is kept with probability 3/4, else flipped: (r - 1/4) / (1/2).

    >>> found = estimate(Channel([[3, 1], [1, 3]]), [400, 600])
    >>> found.p_x.round(6), found.low.round(2), found.high.round(2)
    (array([0.3, 0.7]), array([0.24, 0.64]), array([0.36, 0.76]))

    Two values merged: only their total is determined.

    >>> merged = estimate(Channel([[1, 0], [1, 0], [0, 1]]), [400, 600])
    >>> merged.p_x, merged.high.round(2)
    (array([nan, nan, 0.6]), array([0.43, 0.43, 0.63]))
    """
    check_instance(channel, Channel, "channel")
    counts = _whole_counts(counts_y, channel.n_y)
    check_level(level)
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if not is_number or not time_limit >= 0:
        raise InvalidInput(f"time_limit must be 0 seconds or more; got {time_limit!r}.")
    table = _Table(channel)
    seen = np.asarray(np.bincount(table.of_output, counts, table.n_y), np.float64)
    # Of two outputs one interval is the mirror of the other: both hold or neither.
    error = (1 - level) / (1 if table.n_y == 2 else table.n_y)
    box = clopper_pearson(seen, seen.sum(), error)
    solve = _merged if (table.weights == channel.denominator).all() else _mixed
    found = solve(table, seen, box, Deadline(time_limit))
    return _spread(channel, table, counts, level, found)


def _whole_counts(counts_y: npt.ArrayLike, n_y: int) -> Floats:
    try:
        given = np.asarray(counts_y)
        counts = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("counts_y must hold whole numbers, one per output.") from error
    if given.dtype.kind == "b" or counts.shape != (n_y,):
        raise InvalidInput(
            f"counts_y must hold one whole number for each of the {n_y} outputs; "
            f"got shape {counts.shape}."
        )
    bad = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))
    if bad.any():
        raise InvalidInput(
            f"counts_y must be whole numbers, 0 or more; got {given[bad][0]} "
            f"at {int(np.argmax(bad))}."
        )
    if not counts.any():
        raise InvalidInput("counts_y must not all be 0: there are no rows to estimate from.")
    return counts


class _Table:
    """A channel with outputs of one direction taken together, and symbols of one row.

    Outputs whose members have the same ratios of weights say the same of x: their sum tells all.
    What is drawn within a block of merged values is such a difference that makes none.
    """

    def __init__(self, channel: Channel) -> None:
        self.denominator = channel.denominator
        number: dict[bytes, int] = {}
        #: Per output of the channel: its number here, and which share of that one it is.
        self.of_output = np.zeros(channel.n_y, np.int64)
        common = np.zeros(channel.n_y)
        members, weights = list[Ints](), list[Ints]()
        for y in range(channel.n_y):
            entries = slice(channel.offsets[y], channel.offsets[y + 1])
            order = np.argsort(channel.members[entries])
            mine, given = channel.members[entries][order], channel.member_weights[entries][order]
            divisor = np.gcd.reduce(given)
            k = number.setdefault(mine.tobytes() + (given // divisor).tobytes(), len(number))
            self.of_output[y], common[y] = k, divisor
            if k == len(members):
                members.append(mine)
                weights.append(given)
            else:
                weights[k] = weights[k] + given
        self.n_y = len(number)
        self.share = common / np.bincount(self.of_output, common)[self.of_output]
        outputs = np.repeat(np.arange(self.n_y), [len(part) for part in members])
        by_symbol = np.lexsort((outputs, np.concatenate(members)))
        self.outputs, self.weights = outputs[by_symbol], np.concatenate(weights)[by_symbol]
        symbols = np.concatenate(members)[by_symbol]
        self.starts = np.searchsorted(symbols, np.arange(channel.n_x + 1))
        self.blocks = self._equal_rows()

    def _row(self, x: int) -> tuple[Ints, Ints]:
        entries = slice(self.starts[x], self.starts[x + 1])
        return self.outputs[entries], self.weights[entries]

    def _equal_rows(self) -> list[tuple[int, ...]]:
        found: dict[bytes, list[int]] = {}
        for x in range(len(self.starts) - 1):
            key = b"".join(part.tobytes() for part in self._row(x))
            found.setdefault(key, []).append(x)
        return [tuple(block) for block in found.values()]

    @property
    def p_yx(self) -> Floats:
        """P(y | x) for the first symbol of each block, (outputs, blocks)."""
        table = np.zeros((self.n_y, len(self.blocks)))
        for k, block in enumerate(self.blocks):
            outputs, weights = self._row(block[0])
            table[outputs, k] = weights / self.denominator
        return table


class _Found(NamedTuple):
    """Per block: the total (NaN if not determined) and its interval; and how it was found."""

    total: Floats
    low: Floats
    high: Floats
    fitted: Floats
    gap: float
    is_consistent: bool
    skipped: int


def _merged(
    table: _Table, counts: Floats, box: tuple[Floats, Floats], _deadline: Deadline
) -> _Found:
    """Return the shares of the outputs themselves: each block has one, and they sum to 1."""
    low, high = box
    shares = counts / counts.sum()
    tight_low = np.clip(np.maximum(low, 1 - (high.sum() - high) - ROUNDING), 0, 1)
    tight_high = np.clip(np.minimum(high, 1 - (low.sum() - low) + ROUNDING), 0, 1)
    mine = table.outputs[table.starts[[block[0] for block in table.blocks]]]
    return _Found(shares[mine], tight_low[mine], tight_high[mine], shares, 0.0, True, 0)


def _mixed(table: _Table, counts: Floats, box: tuple[Floats, Floats], deadline: Deadline) -> _Found:
    if len(table.blocks) > MOST_BLOCKS:
        raise InvalidInput(
            f"a channel that draws may have at most {MOST_BLOCKS} different rows here; this one "
            f"has {len(table.blocks)}. Estimate totals of values with a coarser channel."
        )
    p_yx = table.p_yx
    parts = _parts(p_yx)
    p, identified, gap = likely_parts(p_yx, counts / counts.sum(), parts, deadline)
    ends = Ends(p_yx, *box)
    ends.narrow(np.argsort(-p), parts, deadline)
    return _Found(
        np.where(identified, p, np.nan),
        ends.low,
        ends.high,
        p_yx @ p,
        gap,
        ends.is_consistent,
        ends.skipped,
    )


def _parts(p_yx: Floats) -> list[tuple[Ints, Ints]]:
    """Return the outputs and the blocks of each part: those that share outputs with each other."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_y, n = p_yx.shape
    rows, columns = np.nonzero(p_yx)
    edges = csr_array((np.ones(len(rows)), (rows, n_y + columns)), shape=(n_y + n, n_y + n))
    count, label = connected_components(edges, directed=False)
    order = np.argsort(label, kind="stable")
    pieces = np.split(order, np.searchsorted(label[order], np.arange(1, count)))
    return [(piece[piece < n_y], piece[piece >= n_y] - n_y) for piece in pieces]


def _spread(
    channel: Channel, table: _Table, counts: Floats, level: float, found: _Found
) -> Estimate:
    """Return what was found for blocks as an estimate of every symbol."""
    p_x, low, high = np.full((3, channel.n_x), np.nan)
    for k, block in enumerate(table.blocks):
        symbols = list(block)
        high[symbols] = found.high[k]
        low[symbols] = found.low[k] if len(block) == 1 else 0.0 * found.low[k]  # NaN stays NaN
        if len(block) == 1 or found.total[k] == 0:
            p_x[symbols] = found.total[k]
    seen = counts > 0
    fitted = found.fitted[table.of_output] * table.share
    for array in (p_x, low, high, fitted):
        array.flags.writeable = False
    return Estimate(
        channel.x_labels,
        p_x,
        low,
        high,
        ~np.isnan(p_x),
        tuple(
            Block(block, float(found.total[k]), float(found.low[k]), float(found.high[k]))
            for k, block in enumerate(table.blocks)
        ),
        fitted,
        math.fsum(counts[seen] * np.log(fitted[seen])),
        found.gap,
        found.is_consistent,
        found.skipped,
        level,
        int(counts.sum()),
    )
