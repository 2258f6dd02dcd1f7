"""The three encodings of Y, each a channel that is audited as what it is.

`codes` publishes the number of the output, `groups` the list of values that were merged, `values`
a value of X drawn from P(x | y). The first two are the release's own channel under other names;
the third is another channel, from X to X, with an audit of its own.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.certificates import Certificate
from lowlift.channel import MAX_DENOMINATOR, Channel, largest_remainders
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.joint import Joint, Label
from lowlift.release import Release
from lowlift.tables.schema import ENCODINGS

__all__ = [
    "ENCODINGS",
    "Encoded",
    "default_encoding",
    "described",
    "encode",
    "is_deterministic",
    "published",
    "text_of",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

#: Groups whose texts need more bytes than this in all, and than this in a row, are not written.
_MOST_TEXT, _MOST_TEXT_PER_ROW = 1 << 28, 1000

#: The channel of `values` has one entry per pair of symbols that share an output.
MOST_ENTRIES = 1 << 21
#: How far the expected share of a value may be from P(x); when rounding breaks the bound, too.
_LAW_ERROR, _LAW_ERROR_TIGHT = 2.0**-41, 2.0**-24
#: Shares of fresh draws from P_X, as powers of 1/2, to try when rounding would break the bound.
_FRESH = (28, 20, 12)
_DIGIT = 16


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A release in the form in which it is published; `encode` makes one."""

    name: str
    #: The channel that is published, with the same joint and criterion, audited.
    release: Release

    def __repr__(self) -> str:
        return f"<Encoded {self.name} of {self.release!r}>"

    @property
    def channel(self) -> Channel:
        """From X to what is published."""
        return self.release.channel

    @property
    def nmi(self) -> float:
        """I(X;Y) / H(X) of what is published."""
        return self.release.audit.nmi

    @cached_property
    def share_changed(self) -> float:
        """The expected share of rows whose published value is not x itself.

        For `codes` and `groups` a row is unchanged when x is the only member of its output.
        """
        channel, p_x = self.channel, self.release.joint.p_x
        share = p_x[channel.members] * (channel.member_weights / channel.denominator)
        if self.name == "values":
            number = {label: x for x, label in enumerate(self.release.joint.x_labels)}
            published = np.array([number[label] for label in self.labels])
            same = published[channel.entry_outputs] == channel.members
        else:
            same = (np.diff(channel.offsets) == 1)[channel.entry_outputs]
        return min(1.0, max(0.0, 1.0 - math.fsum(share[same])))

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """What is published per output: a number, the tuple of merged values, or a value of X."""
        if self.name == "codes":
            return tuple(range(self.channel.n_y))
        if self.name == "values":
            return self.channel.y_labels
        names = self.release.joint.x_labels
        blocks = [sorted(self.channel.atom(y)[0]) for y in range(self.channel.n_y)]
        return tuple(tuple(names[x] for x in block) for block in blocks)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """`labels` as text, no two alike: ``3``, ``{a, b}`` or ``a`` for one value."""
        if self.name == "groups":
            found = tuple(_group_text(label) for label in self.labels)
        else:
            found = tuple(text_of(label) for label in self.labels)
        if len(set(found)) == len(found):
            return found
        return tuple(json.dumps(label, ensure_ascii=False) for label in self.labels)


def text_of(label: Label) -> str:
    """Return a label as a person would write it.

    Examples
    --------
    >>> [text_of(label) for label in ("a", 3, None, True, ("a", 3))]
    ['a', '3', 'null', 'true', '(a, 3)']
    """
    if isinstance(label, str):
        return label
    if isinstance(label, tuple):
        return f"({', '.join(map(text_of, label))})"
    return json.dumps(label)


def _group_text(label: Label) -> str:
    if not isinstance(label, tuple):
        return text_of(label)
    return text_of(label[0]) if len(label) == 1 else f"{{{', '.join(map(text_of, label))}}}"


def is_deterministic(channel: Channel) -> bool:
    """Tell whether Y is a function of X: the channel merges values and draws nothing."""
    return bool((channel.member_weights == channel.denominator).all())


def default_encoding(release: Release) -> str:
    """Return "groups" for a release that merges values with texts not too long, else "codes".

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> default_encoding(Release.of(joint, Channel.identity(joint), LIP(1.0)))
    'groups'
    """
    is_short = is_deterministic(release.channel) and not _is_too_long(*_group_sizes(release))
    return "groups" if is_short else "codes"


def _group_sizes(release: Release) -> tuple[int, int, int]:
    """Return the bytes of the longest group's text, of all rows' texts, and the rows."""
    joint, channel = release.joint, release.channel
    if not joint.is_counted:
        return 0, 0, 0
    x_bytes = np.array([len(text_of(label).encode()) + 2 for label in joint.x_labels], np.int64)
    x_rows = np.asarray(joint.counts, np.int64).sum(axis=0)
    y_bytes, y_rows = np.zeros((2, channel.n_y), np.int64)
    np.add.at(y_bytes, channel.entry_outputs, x_bytes[channel.members])
    np.add.at(y_rows, channel.entry_outputs, x_rows[channel.members])
    return int(y_bytes.max()), int(y_bytes @ y_rows), int(x_rows.sum())


def _is_too_long(_longest: int, total: int, rows: int) -> bool:
    return total > _MOST_TEXT and total > _MOST_TEXT_PER_ROW * rows


def encode(release: Release, name: str) -> Encoded:
    """Return the release in the form in which it is published, audited in that form.

    Parameters
    ----------
    release
        What a mechanism returned.
    name
        "codes": the number of the output. "groups": the values that the output merges, for
        channels that merge and draw nothing. "values": y is drawn, then x' from P(x | y), so that
        what is published has the values of X and, in expectation, their shares.

    Raises
    ------
    InvalidInput
        For another name, groups of a channel that draws or whose texts are too long, or values of
        a channel that links more than 2**21 pairs of symbols through its outputs.
    BoundViolated
        When what would be published does not satisfy the criterion by its own exact audit.

    Guarantee
        What is returned satisfies the criterion by the exact audit of the channel that is
        published. `values` is post-processing, and the expected share of every x is P(x) within
        2**-40. Where the weights allow it P(x | y) alone is rounded: the channel is then exactly a
        mixture of the audited outputs, and no convex criterion can fail. A channel that merges
        always allows it. Otherwise the product is rounded; where that breaks the bound, up to
        2**-12 of the rows get a fresh draw from P_X, which moves every lift toward 1; at a budget
        of 0, P(x | y) alone is rounded if the shares are then within 2**-24.

    Cost
        `values`: O(p), p the number of pairs of symbols that share an output, counted per output.

    Examples
    --------
    >>> from lowlift.criteria import MaxLift
    >>> joint = Joint.from_counts([[1, 2, 4], [2, 1, 4]], x_labels="abc")
    >>> merged = Release.of(joint, Channel.from_blocks(joint, [[0, 1], [2]]), MaxLift(0.0))
    >>> encode(merged, "groups").texts
    ('{a, b}', 'c')
    >>> encoded = encode(merged, "values")
    >>> encoded.channel.p_y_given_x
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    >>> round(encoded.share_changed, 4)  # half of the 6 rows of 14
    0.2143
    """
    if not isinstance(release, Release):
        raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
    if name not in ENCODINGS:
        raise InvalidInput(f"the encoding must be codes, groups or values; got {name!r}.")
    if name == "groups" and not is_deterministic(release.channel):
        raise InvalidInput(
            "groups need a channel that merges values and draws nothing; this one draws. "
            "Use the encoding codes or values."
        )
    sizes = _group_sizes(release) if name == "groups" else (0, 0, 0)
    if _is_too_long(*sizes):
        raise InvalidInput(
            f"groups must be short enough to be written in every row; here one has up to "
            f"{_shown_bytes(sizes[0])}, and all rows together {_shown_bytes(sizes[1])}. Use the "
            "encoding codes, whose codebook lists each group once, or the encoding values."
        )
    if name == "values":
        return Encoded(name, _release_values(release))
    _refuse_broken(release)
    return Encoded(name, release)


def published(release: Release) -> Encoded:
    """Return a release in the form in which its table says that it is published.

    The file of a release holds the channel that is published: nothing is encoded here. A file of
    version 1 with the encoding "values" holds the channel before that, which is encoded now, as
    every use of the file did. A release that a mechanism made of `read_joint`'s joint has no
    encoding yet: it is published as values.

    Raises
    ------
    InvalidInput
        When the release says no encoding, or its channel is not one of that encoding.
    BoundViolated
        When what is published does not satisfy the criterion.

    Examples
    --------
    >>> from lowlift.criteria import MaxLift
    >>> joint = Joint.from_counts([[1, 2, 4], [2, 1, 4]], x_labels="abc")
    >>> merged = Release.of(joint, Channel.from_blocks(joint, [[0, 1], [2]]), MaxLift(0.0))
    >>> values = encode(merged, "values").release.with_table({"encoding": "values"})
    >>> published(values).channel is values.channel
    True
    """
    name = None if release.table is None else release.table.get("encoding")
    if not isinstance(name, str):
        raise InvalidInput(
            "a release must say its encoding; this one was not designed on a table. "
            "Use encode(release, name)."
        )
    if name != "values" or not release.is_encoded:
        return encode(release, name or "values")
    if not set(release.channel.y_labels) <= set(release.joint.x_labels):
        raise InvalidInput(
            "the outputs of a release published as values must be values of X; some are not. "
            "Use encode(release, 'values')."
        )
    _refuse_broken(release)
    return Encoded(name, release)


def described(release: Release) -> Encoded:
    """Return a release as it is to be described, even one that breaks its bound; see `published`.

    A release of no table is described in its default encoding.
    """
    said = None if release.table is None else release.table.get("encoding")
    if said and release.audit.is_satisfied:
        return published(release)
    is_known = said in ENCODINGS and release.is_encoded
    return Encoded(str(said) if is_known else default_encoding(release), release)


def _refuse_broken(release: Release) -> None:
    if not release.audit.is_satisfied:
        raise BoundViolated(
            f"this release does not satisfy {release.criterion}: {len(release.audit.violations)} "
            f"of {release.channel.n_y} outputs break it. Use a mechanism that repairs it."
        )


def _shown_bytes(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size / 1000:,.1f} kB"


def _release_values(release: Release) -> Release:
    joint, channel, criterion = release.joint, release.channel, release.criterion
    sizes = np.diff(channel.offsets)
    pairs = min(int(sizes @ sizes), joint.n_x**2)
    if pairs > MOST_ENTRIES:
        raise InvalidInput(
            f"values may link at most {MOST_ENTRIES} pairs of symbols through an output; this "
            f"channel links up to {pairs}. Use the encoding codes or groups."
        )
    for candidate in _candidates(joint, channel, criterion):
        verdict = Release.of(joint, candidate, criterion, mechanism=release.mechanism)
        if verdict.audit.is_satisfied:
            return replace(
                verdict,
                partition=release.partition,
                table=release.table,
                certificate=_certificate(release.certificate, verdict.audit.nmi),
            )
    raise BoundViolated(_refusal(release))


def _certificate(proven: Certificate | None, nmi: float) -> Certificate | None:
    """Return the same proof for a channel that keeps less: the bound stays, the gap grows."""
    if proven is None:
        return None
    gap = max(0.0, proven.upper_bound - nmi)
    return replace(proven, gap=gap, is_optimal=proven.is_optimal and gap <= max(0.0, proven.gap))


def _candidates(joint: Joint, channel: Channel, criterion: Criterion) -> Iterator[Channel]:
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


def _refusal(release: Release) -> str:
    instead = "codes or groups" if is_deterministic(release.channel) else "codes"
    if not release.audit.is_satisfied:
        return (
            f"this release does not satisfy {release.criterion}, nor do values drawn from it. "
            "Use a mechanism that repairs it."
        )
    why = (
        "whole weights up to 2**48 leave no room for so tight a bound"
        if getattr(release.criterion, "is_convex", True)
        else "mixing outputs can break a criterion that is not convex"
    )
    return (
        f"values drawn from this release would not satisfy {release.criterion}: {why}. "
        f"Use the encoding {instead}."
    )


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
    members, weights = members[order], weights[order] // twos
    values, starts = np.unique(published[order], return_index=True)
    ends = np.append(starts[1:], len(members))
    atoms = [
        (members[a:b].tolist(), weights[a:b].tolist())
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    labels = [joint.x_labels[x] for x in values.tolist()]
    return Channel.from_atoms(joint, atoms, MAX_DENOMINATOR // twos, labels)
