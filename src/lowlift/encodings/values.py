"""Channels from X to values of X that are drawn from P(x | y), in whole numbers."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._exact import largest_remainders
from lowlift._joint import Joint
from lowlift.criteria import Criterion

#: The channel of `values` has one entry per pair of symbols that share an output.
MOST_ENTRIES = 1 << 21
#: How far the expected share of a value may be from P(x); when rounding breaks the bound, too.
_LAW_ERROR, _LAW_ERROR_TIGHT = 2.0**-41, 2.0**-24
#: Shares of fresh draws from P_X, as powers of 1/2, to try when rounding would break the bound.
_FRESH = (28, 20, 12)
_DIGIT = 16


def candidates(joint: Joint, channel: Channel, criterion: Criterion) -> Iterator[Channel]:
    """Yield channels to X', the one to prefer first; the audit decides which is taken.

    All arithmetic is exact, so that every machine makes the same channel of a release.
    """
    split = _Split(joint, channel)
    if split.law_error <= _LAW_ERROR:
        yield split.channel()
        return
    places, weights = _mixture(joint, channel)
    yield _channel_of(joint, places, weights)
    # Mixing in draws from P_X helps only where mixing is allowed, and makes the channel dense.
    if getattr(criterion, "is_convex", True) and joint.n_x**2 <= MOST_ENTRIES:
        for bits in _FRESH:
            yield _channel_of(joint, *_freshened(joint, places, weights, bits))
    if split.law_error <= _LAW_ERROR_TIGHT:
        yield split.channel()


class _Split:
    """The channel to X' in which P(x'|y) is rounded and nothing else.

    The weights of an atom are ``t u`` with t their greatest common divisor. ``t 2**48 / d`` (d the
    channel's denominator) is shared out among the values x' in the ratio of P(x'|y) by largest
    remainders, k(x'), and x goes to x' with the weight u(x) k(x') summed over y: a non-negative
    combination of the audited atoms, in integers.
    """

    def __init__(self, joint: Joint, channel: Channel) -> None:
        self.joint, self.of = joint, channel
        scale = MAX_DENOMINATOR // channel.denominator
        units, splits, rooms = list[int](), list[int](), list[int]()
        for (_, weights), shares in zip(_atoms(channel), _posteriors(joint, channel), strict=True):
            common = math.gcd(*weights)
            units += [w // common for w in weights]
            splits += largest_remainders(shares, common * scale)
            rooms.append(common * scale)
        self.units, self.splits = np.array(units), np.array(splits)
        p_y = channel.output_masses(joint).sum(axis=0) / channel.denominator / joint.total
        share = self.splits * (p_y / np.array(rooms))[channel.entry_outputs]
        law = np.bincount(channel.members, share, joint.n_x)
        #: How far the expected share of a value is from P(x), at most.
        self.law_error = float(np.abs(law - joint.p_x).max())

    def channel(self) -> Channel:
        """Return the channel to X'."""
        places, (weights,) = _products(self.of, [(self.units, self.splits)])
        return _channel_of(self.joint, places, weights)


def _atoms(channel: Channel) -> Iterator[tuple[list[int], list[int]]]:
    return (channel.atom(y) for y in range(channel.n_y))


def _posteriors(joint: Joint, channel: Channel) -> Iterator[list[int]]:
    """Yield P(x | y) along the members of each output up to one factor, exactly."""
    n_x: list[int] = np.array(joint.counts, dtype=object).sum(axis=0).tolist()
    for members, weights in _atoms(channel):
        yield [n_x[x] * w for x, w in zip(members, weights, strict=True)]


def _products(
    channel: Channel, factors: Sequence[tuple[Ints, Ints]]
) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the sums over y of left(y, x) right(y, x') for pairs of factors, where y links both.

    The factors have one whole number per entry of the channel, and no sum exceeds 2**53: in floats
    all is exact, whatever the order. Places are ``x |X| + x'``, in order.
    """
    n_x, n_y = channel.n_x, channel.n_y
    sizes = np.diff(channel.offsets)
    if int(sizes @ sizes) <= MOST_ENTRIES:
        # Entry by entry of each output, every entry of the same output.
        mine = np.repeat(np.arange(len(channel.members)), sizes[channel.entry_outputs])
        firsts = np.cumsum(sizes[channel.entry_outputs]) - sizes[channel.entry_outputs]
        other = np.arange(len(mine)) - firsts[mine] + channel.offsets[channel.entry_outputs[mine]]
        keys = channel.members[mine] * n_x + channel.members[other]
        places, where = np.unique(keys, return_inverse=True)
        sums = [
            np.bincount(where, left[mine] * right[other].astype(np.float64), len(places))
            for left, right in factors
        ]
        return places, tuple(total.astype(np.int64) for total in sums)

    def table(values: Ints) -> Floats:
        full = np.zeros((n_x, n_y))
        full[channel.members, channel.entry_outputs] = values
        return full

    linked = table(np.ones_like(channel.members))
    places = np.flatnonzero(np.matmul(linked, linked.T))
    found = (np.matmul(table(left), table(right).T).ravel()[places] for left, right in factors)
    return places, tuple(total.astype(np.int64) for total in found)


def _mixture(joint: Joint, channel: Channel) -> tuple[Ints, Ints]:
    """Return places ``x |X| + x'`` and sum_y P(y|x) P(x'|y) there, in units of 2**-48.

    P(x'|y) is rounded to 2**-48 too; the products of 96 bits are summed in digits of 16 bits, and
    each row is rounded by largest remainders.
    """
    scaled = channel.member_weights * (MAX_DENOMINATOR // channel.denominator)
    shares = [largest_remainders(v, MAX_DENOMINATOR) for v in _posteriors(joint, channel)]
    posterior = np.array([k for part in shares for k in part])
    left, right = _digits(scaled), _digits(posterior)
    pairs = [(i, j) for i in range(3) for j in range(3)]
    places, sums = _products(channel, [(left[i], right[j]) for i, j in pairs])
    digits = np.zeros((7, len(places)), np.int64)
    for (i, j), total in zip(pairs, sums, strict=True):
        digits[i + j] += total
    for k in range(6):
        digits[k + 1] += digits[k] >> _DIGIT
        digits[k] &= (1 << _DIGIT) - 1
    rest, whole = digits[:3], digits[3:]
    return places, _topped_up(places // joint.n_x, _number(whole), _number(rest))


def _digits(values: Ints) -> list[Ints]:
    """Return the three digits of 16 bits of numbers up to 2**48, least first."""
    mask = (1 << _DIGIT) - 1
    return [values & mask, values >> _DIGIT & mask, values >> 2 * _DIGIT]


def _number(digits: Ints) -> Ints:
    return np.asarray(sum(digit << k * _DIGIT for k, digit in enumerate(digits)))


def _topped_up(rows: Ints, whole: Ints, rest: Ints) -> Ints:
    """Return whole weights with one added to the largest rests of each row, until it is full."""
    missing = MAX_DENOMINATOR - np.bincount(rows, whole).astype(np.int64)  # exact below 2**53
    order = np.lexsort((-rest, rows))
    starts = np.searchsorted(rows[order], np.arange(len(missing)))
    rank = np.arange(len(order)) - starts[rows[order]]
    out = whole.copy()
    out[order] += rank < missing[rows[order]]
    return out


def _freshened(joint: Joint, places: Ints, weights: Ints, bits: int) -> tuple[Ints, Ints]:
    """Return the weights with 2**-bits of every row drawn from P_X anew."""
    n_x = joint.n_x
    dense = np.zeros(n_x * n_x, np.int64)
    dense[places] = weights
    counts = np.array(joint.counts, dtype=object).sum(axis=0).tolist()
    fresh = np.array(largest_remainders(counts, MAX_DENOMINATOR))
    change = np.tile(fresh, n_x) - dense
    rows = np.repeat(np.arange(n_x), n_x)
    whole, rest = dense + (change >> bits), change & ((1 << bits) - 1)
    return np.arange(n_x * n_x), _topped_up(rows, whole, rest)


def _channel_of(joint: Joint, places: Ints, weights: Ints) -> Channel:
    """Return the channel with these weights at the places ``x |X| + x'``, in lowest terms."""
    members, published = np.divmod(places[weights > 0], joint.n_x)
    weights = weights[weights > 0]
    common = int(np.gcd.reduce(weights))
    twos = min(common & -common, MAX_DENOMINATOR)
    order = np.lexsort((members, published))
    values, sizes = np.unique(published, return_counts=True)
    parts = members[order], weights[order] // twos, MAX_DENOMINATOR // twos
    return Channel.from_entries(joint, sizes, *parts, tuple(joint.x_labels[x] for x in values))
