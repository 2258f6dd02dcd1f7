"""The verdict on several releases of the same table together.

Outputs (y1, y2, ...) drawn independently given x have the weight ``w1(y1|x) w2(y2|x) ...``. Two
releases of lift 1 may reveal x together, so no sum of budgets bounds anything: the joint output is
audited as what it is, in integers, whatever the denominators multiply to.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._audit import Judged, allowed_lifts
from lowlift._channel import Channel
from lowlift._joint import Joint, check_joint
from lowlift.criteria import Criterion
from lowlift.errors import InvalidInput

__all__ = ["MOST_OUTPUTS", "Together", "audit_together"]


#: How many joint outputs are audited, and how many pairs of a symbol and a joint output.
MOST_OUTPUTS = 500_000
MOST_ENTRIES = 5_000_000
#: Below this share of the total, products of floats may leave the normal range.
_SMALLEST = 1e-280


@dataclass(frozen=True, eq=False, repr=False)
class Together(Judged):
    """The verdict on several channels drawn independently, and the numbers behind it.

    `is_satisfied` is exact; the numbers are floats for display. Leakages are in nats.
    """

    joint: Joint
    criterion: Criterion
    n_channels: int
    #: Per joint output that can occur, whether the criterion allows it.
    allowed: Bools
    #: l(s, (y1, y2, ...)), (|S|, number of joint outputs).
    lift: Floats
    #: The probability of each joint output.
    p_y: Floats
    #: I(X; Y1, Y2, ...) in nats.
    mutual_information: float

    @property
    def n_outputs(self) -> int:
        """How many joint outputs can occur."""
        return len(self.allowed)

    @cached_property
    def violations(self) -> int:
        """How many joint outputs are not allowed."""
        return int((~self.allowed).sum())

    @property
    def is_satisfied(self) -> bool:
        """Whether every joint output is allowed."""
        return self.violations == 0

    def __repr__(self) -> str:
        word = "satisfied" if self.is_satisfied else "VIOLATED"
        return f"<Together {self.n_channels} channels {word} nmi={self.nmi:.6f}>"

    def __str__(self) -> str:
        after = f" by {self.n_channels} release(s) together"
        return self._text(self.violations, after, f"joint outputs = {self.n_outputs}")


def audit_together(joint: Joint, channels: Sequence[Channel], criterion: Criterion) -> Together:
    """Return the verdict on several channels that are drawn independently given x.

    Parameters
    ----------
    joint
        P(s, x) of the one table that was released.
    channels
        What was published of it, one or more, each as it was published (`Encoded.channel`). A draw
        that was kept (one key, one release) and published again is one channel, not two.
    criterion
        Any criterion of this package, or your own (`Criterion`).

    Raises
    ------
    InvalidInput
        For a channel of another X, or more than 500,000 joint outputs or 5,000,000 pairs of
        a symbol and a joint output; the message says how many.

    Guarantee
        For built-in criteria `is_satisfied` is True only if every joint output of positive
        probability satisfies the criterion in exact arithmetic: floats decide where a proven error
        bound leaves no doubt, Python integers elsewhere. Nothing is rounded.

    Cost
        O(|S| e) for e pairs of a symbol and a joint output it can have, plus exact arithmetic on
        outputs near a bound: at a budget of 0 that is all of them, some 20 microseconds times |S|
        each.

    Examples
    --------
    With P(s=1|x) = (.2, .4, .6, .8), two releases of lift 1 that together reveal the first x:

    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[1, 2, 3, 4], [4, 3, 2, 1]])
    >>> first = Channel([[1, 3], [0, 4], [3, 1], [0, 4]])
    >>> second = Channel([[1, 1], [0, 2], [0, 2], [1, 1]])
    >>> [audit_together(joint, [channel], LIP(0)).is_satisfied for channel in (first, second)]
    [True, True]
    >>> both = audit_together(joint, [first, second], LIP(0))
    >>> both.is_satisfied, both.n_outputs, both.violations, both.lift[:, 0].round(6).tolist()
    (False, 4, 4, [0.4, 1.6])
    """
    _check(joint, channels)
    product = _Product(channels)
    lift, p_y, error = product.lifts(joint)
    allowed = allowed_lifts(joint, criterion, lift, product.atom, error)
    for array in (allowed, lift, p_y):
        array.flags.writeable = False
    information = product.information(joint, p_y)
    return Together(joint, criterion, len(channels), allowed, lift, p_y, information)


def _check(joint: Joint, channels: Sequence[Channel]) -> None:
    check_joint(joint)
    if isinstance(channels, Channel) or not len(channels):
        raise InvalidInput("channels must be a list of one channel or more.")
    for channel in channels:
        if not isinstance(channel, Channel):
            raise InvalidInput(f"channels must hold channels; got {type(channel).__name__}.")
        channel.check_fits(joint)


class _Product:
    """Joint outputs by their members; output k is the tuple of outputs ``parts[:, k]``.

    The entries of output k are ``offsets[k]`` to ``offsets[k + 1]`` of `members` and `shares`.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = channels
        _refuse_too_many(channels)
        first = channels[0]
        self.parts = np.arange(first.n_y)[None, :]
        self.outputs, self.members = first.entry_outputs, first.members
        #: P(y1, y2, ... | x) in floats.
        self.shares = first.member_weights / first.denominator
        for channel in channels[1:]:
            self._multiply(channel)
        order = np.lexsort((self.members, self.outputs))
        self.outputs, self.members = self.outputs[order], self.members[order]
        self.shares = self.shares[order]
        self.offsets = np.searchsorted(self.outputs, np.arange(self.parts.shape[1] + 1))

    def _multiply(self, channel: Channel) -> None:
        """Split every output by the outputs of one more channel."""
        by_symbol = np.argsort(channel.members, kind="stable")
        starts = np.searchsorted(channel.members[by_symbol], np.arange(channel.n_x + 1))
        sizes = np.diff(starts)[self.members]
        old = np.repeat(np.arange(len(self.members)), sizes)
        within = np.arange(len(old)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        new = by_symbol[starts[self.members][old] + within]
        keys = self.outputs[old] * channel.n_y + channel.entry_outputs[new]
        found, self.outputs = np.unique(keys, return_inverse=True)
        if len(found) > MOST_OUTPUTS:
            raise InvalidInput(
                f"at most {MOST_OUTPUTS} joint outputs can be audited; these channels have "
                f"{len(found)} or more. Audit fewer releases together."
            )
        before, last = np.divmod(found, channel.n_y)
        self.parts = np.vstack([self.parts[:, before], last])
        self.members = self.members[old]
        self.shares = self.shares[old] * (channel.member_weights[new] / channel.denominator)

    def atom(self, k: int) -> tuple[list[int], list[int]]:
        """Return the members of joint output k and their weights, exactly."""
        members = self.members[self.offsets[k] : self.offsets[k + 1]].tolist()
        weights = [1] * len(members)
        for channel, y in zip(self.channels, self.parts[:, k].tolist(), strict=True):
            mine = dict(zip(*channel.atom(y), strict=True))
            weights = [w * mine[x] for w, x in zip(weights, members, strict=True)]
        return members, weights

    def lifts(self, joint: Joint) -> tuple[Floats, Floats, float]:
        """Return lifts, probabilities of the outputs, and a bound on the lifts' relative error."""
        smallest = joint.masses.min(where=joint.masses > 0, initial=math.inf) / joint.total
        if smallest * float(self.shares.min()) < _SMALLEST:
            return *self._exact_lifts(joint), math.inf
        masses = np.empty((joint.n_s, self.parts.shape[1]))
        for row, mass in zip(masses, joint.masses, strict=True):
            row[:] = np.add.reduceat(mass[self.members] * self.shares, self.offsets[:-1])
        mass_y = masses.sum(axis=0)
        lift = masses / mass_y / joint.p_s[:, None]
        # Each further channel rounds a term once more, in the sums above and below a lift.
        error = joint.lift_error + 8 * len(self.channels) * 2.0**-53
        return lift, mass_y / mass_y.sum(), error

    def _exact_lifts(self, joint: Joint) -> tuple[Floats, Floats]:
        """Return lifts and probabilities rounded from integers: floats would leave their range."""
        lift = np.empty((joint.n_s, self.parts.shape[1]))
        total = sum(joint.prior)
        whole = total * math.prod(channel.denominator for channel in self.channels)
        p_y = np.empty(lift.shape[1])
        for k in range(lift.shape[1]):
            column = joint.exact_column(*self.atom(k))
            mass = sum(column)
            pairs = zip(column, joint.prior, strict=True)
            lift[:, k] = [n * total / (p * mass) for n, p in pairs]
            p_y[k] = mass / whole
        return lift, p_y

    def information(self, joint: Joint, p_y: Floats) -> float:
        """Return I(X; Y1, Y2, ...) in nats."""
        seen = (self.shares > 0) & (p_y[self.outputs] > 0)  # below 1e-308 nothing is added
        shares, outputs = self.shares[seen], self.outputs[seen]
        gain = np.log(shares) - np.log(p_y)[outputs]
        return max(0.0, float((joint.p_x[self.members[seen]] * shares * gain).sum()))


def _refuse_too_many(channels: Sequence[Channel]) -> None:
    entries = [1] * channels[0].n_x
    for channel in channels:
        degrees = np.bincount(channel.members, minlength=channel.n_x).tolist()
        entries = [a * b for a, b in zip(entries, degrees, strict=True)]
    if sum(entries) > MOST_ENTRIES:
        raise InvalidInput(
            f"at most {MOST_ENTRIES} pairs of a symbol and a joint output can be audited; these "
            f"channels have {sum(entries)}. Audit fewer releases together."
        )
