"""The three encodings of Y, each a channel that is audited as what it is.

`codes` publishes the number of the output, `groups` the list of values that were merged, `values`
a value of X drawn from P(x | y). The first two are the release's own channel under other names;
the third is another channel, from X to X, with an audit of its own.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lowlift.channel import MAX_DENOMINATOR, Channel, largest_remainders
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.exact import integers_of
from lowlift.joint import Joint, Label
from lowlift.release import Release

__all__ = ["ENCODINGS", "Encoded", "default_encoding", "encode", "is_deterministic", "text_of"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
_Entries = TypeVar("_Entries", npt.NDArray[np.int64], npt.NDArray[np.float64])

ENCODINGS = ("codes", "groups", "values")

#: The channel of `values` has one entry per pair of symbols that share an output.
MOST_ENTRIES = 1 << 21
#: How far the expected share of a value may be from P(x); when rounding breaks the bound, too.
_LAW_ERROR, _LAW_ERROR_TIGHT = 2.0**-41, 2.0**-24
#: Shares of fresh draws from P_X to try when rounding alone would break the bound.
_FRESH = (0.0, 2.0**-28, 2.0**-20, 2.0**-12)


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
    """Return "groups" when the release merges values, else "codes".

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> default_encoding(Release.of(joint, Channel.identity(joint), LIP(1.0)))
    'groups'
    """
    return "groups" if is_deterministic(release.channel) else "codes"


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
        For another name, groups of a channel that draws, or values of a channel that links more
        than 2**21 pairs of symbols through its outputs.
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
    if name == "values":
        return Encoded(name, _release_values(release))
    if not release.audit.is_satisfied:
        raise BoundViolated(
            f"this release does not satisfy {release.criterion}: {len(release.audit.violations)} "
            f"of {release.channel.n_y} outputs break it. Use a mechanism that repairs it."
        )
    return Encoded(name, release)


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
            return replace(verdict, partition=release.partition)
    raise BoundViolated(_refusal(release))


def _candidates(joint: Joint, channel: Channel, criterion: Criterion) -> Iterator[Channel]:
    """Yield channels to X', the one to prefer first; the audit decides which is taken."""
    exact = _split_posteriors(joint, channel)
    error = _law_error(joint, exact)
    if error <= _LAW_ERROR:
        yield exact
        return
    # Mixing in draws from P_X helps only where mixing is allowed, and makes the channel dense.
    may_mix = getattr(criterion, "is_convex", True) and joint.n_x**2 <= MOST_ENTRIES
    mixed = _mixture(joint, channel)
    for fresh in _FRESH if may_mix else _FRESH[:1]:
        yield _rounded(joint, mixed, fresh)
    if error <= _LAW_ERROR_TIGHT:
        yield exact


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


def _split_posteriors(joint: Joint, channel: Channel) -> Channel:
    """Return the channel to X' in which P(x'|y) is rounded and nothing else.

    The weights of an atom are ``t u`` with t their greatest common divisor. ``t 2**48 / d`` (d the
    channel's denominator) is shared out among the values x' in the ratio of P(x'|y) by largest
    remainders, k(x'), and x goes to x' with the weight u(x) k(x') summed over y: a non-negative
    combination of the audited atoms, in integers.
    """
    n_x: list[int] = np.array(joint.counts, dtype=object).sum(axis=0).tolist()
    scale = MAX_DENOMINATOR // channel.denominator
    units, splits = [], []
    for y in range(channel.n_y):
        members, weights = channel.atom(y)
        common = math.gcd(*weights)
        shares = [n_x[x] * w for x, w in zip(members, weights, strict=True)]
        units += [w // common for w in weights]
        splits += largest_remainders(shares, common * scale)
    return _channel_of(joint, *_product(channel, np.array(splits), np.array(units)))


def _product(channel: Channel, left: _Entries, right: _Entries) -> tuple[Ints, _Entries]:
    """Return where ``sum_y left(y, a) right(y, b)`` is not 0, as places ``a |X| + b``, and there.

    `left` and `right` have one number per entry of the channel.
    """
    from scipy.sparse import csr_array

    shape, starts, members = (channel.n_y, channel.n_x), channel.offsets, channel.members
    table = csr_array((left, members, starts), shape).T @ csr_array((right, members, starts), shape)
    rows, columns = table.tocoo().coords
    places = rows.astype(np.int64) * channel.n_x + columns
    order = np.argsort(places)
    return places[order], table.tocoo().data[order]


def _channel_of(joint: Joint, places: Ints, weights: Ints) -> Channel:
    """Return the channel with these weights at the places ``x' |X| + x``, in lowest terms."""
    places, weights = places[weights > 0], weights[weights > 0]
    common = int(np.gcd.reduce(weights))
    twos = min(common & -common, MAX_DENOMINATOR)
    published, members = np.divmod(places, joint.n_x)
    weights //= twos
    values, starts = np.unique(published, return_index=True)
    ends = np.append(starts[1:], len(places))
    atoms = [
        (members[a:b].tolist(), weights[a:b].tolist())
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    labels = [joint.x_labels[x] for x in values.tolist()]
    return Channel.from_atoms(joint, atoms, MAX_DENOMINATOR // twos, labels)


def _law_error(joint: Joint, channel: Channel) -> float:
    """Return the largest distance of the expected share of a value from P(x)."""
    number = {label: x for x, label in enumerate(joint.x_labels)}
    law = np.zeros(joint.n_x)
    sums = channel.output_masses(joint).sum(axis=0) / channel.denominator / joint.total
    law[[number[label] for label in channel.y_labels]] = sums
    return float(np.abs(law - joint.p_x).max())


def _mixture(joint: Joint, channel: Channel) -> tuple[Ints, Floats]:
    """Return places ``x |X| + x'`` and the probabilities sum_y P(y|x) P(x'|y) there."""
    given_x = channel.member_weights / channel.denominator
    mass = joint.p_x[channel.members] * given_x
    p_y = np.add.reduceat(mass, channel.offsets[:-1])
    return _product(channel, given_x, mass / p_y[channel.entry_outputs])


def _rounded(joint: Joint, mixed: tuple[Ints, Floats], fresh: float) -> Channel:
    """Return the mixture in whole weights, a share `fresh` of it drawn from P_X anew."""
    n_x = joint.n_x
    places, shares = mixed
    if fresh:
        dense = np.tile(fresh * joint.p_x, n_x)
        dense[places] += (1 - fresh) * shares
        places, shares = np.arange(n_x * n_x), dense
    starts = np.searchsorted(places, np.arange(n_x + 1) * n_x).tolist()
    weights = np.zeros(len(places), np.int64)
    for x in range(n_x):
        row = slice(starts[x], starts[x + 1])
        weights[row] = largest_remainders(integers_of(shares[row]).tolist(), MAX_DENOMINATOR)
    flipped = places % n_x * n_x + places // n_x
    by_value = np.argsort(flipped)
    return _channel_of(joint, flipped[by_value], weights[by_value])
