"""The verdict on any channel, exact; knows none of the solvers."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._channel import Channel, check_pair
from lowlift._display import MOST, card
from lowlift._guarantees import FAILS, HOLDS, ends_of, promise_in_full, verdict_word
from lowlift._joint import Joint, Label, check_joint
from lowlift._kernels.lift import log_or_minus_inf, most_extreme
from lowlift._population.rows import population_region
from lowlift._wording import cell, counted, percent, shown, times
from lowlift.criteria import Criterion, Population, criterion_on, is_certified, leakage_of, verdicts
from lowlift.measures.averages import information_x, normalized

if TYPE_CHECKING:
    from lowlift.figures import Picture


#: The symbols of an output, and their weights.
Column: TypeAlias = tuple[Sequence[int], Sequence[int]]


class Leakage(NamedTuple):
    """The largest leakage over the outputs, by the criterion's own measure, in nats."""

    lower: float
    upper: float


class Worst(NamedTuple):
    """Where a release stands closest to its budget, or furthest beyond it."""

    s: Label
    y: Label
    side: str
    lift: float
    leakage: float


class Judged:
    """The numbers of a verdict that follow from the lifts of its outputs."""

    joint: Joint
    criterion: Criterion
    lift: Floats
    mutual_information: float

    @property
    def is_certified(self) -> bool:
        """Whether the verdict is exact; False for a criterion of floats only."""
        return is_certified(self.criterion)

    @cached_property
    def min_lift_leakage(self) -> float:
        """-log of the smallest lift, in nats; inf for a zero lift."""
        return max(0.0, float(-log_or_minus_inf(self.lift.min())))

    @cached_property
    def max_lift_leakage(self) -> float:
        """Log of the largest lift, in nats."""
        return max(0.0, float(np.log(self.lift.max())))

    @cached_property
    def _leakages(self) -> tuple[Floats, Floats]:
        return leakage_of(self.criterion, self.lift, self.joint.p_s)

    @property
    def leakage(self) -> Leakage:
        """The largest leakage of each side, to compare with the criterion's budgets."""
        lower, upper = self._leakages
        return Leakage(float(lower.max()), float(upper.max()))

    @property
    def nmi(self) -> float:
        """I(X;Y) / H(X), Y all that is published; 1 when H(X) = 0."""
        return normalized(self.joint, self.mutual_information)

    def _text(self, broken: int, after: str, outputs: str) -> str:
        verdict = f"VIOLATED by {broken} output(s)" if broken else "satisfied"
        if not self.is_certified:
            verdict += " (floats only, not certified)"
        return (
            f"{self.criterion}: {verdict}{after}\n"
            f"  |X| = {self.joint.n_x}, {outputs}, NMI = {self.nmi:.4f}\n"
            f"  lifts between {self.lift.min():.4f} and {self.lift.max():.4f} "
            f"(leakage {self.min_lift_leakage:.4f} below, {self.max_lift_leakage:.4f} above)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Judged):
    """The verdict on a channel, and the numbers behind it; `lowlift.audit` makes it.

    `is_satisfied` is exact; the numbers are floats for display. Leakages are in nats.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[1, 3], [3, 1]], s_labels=["ill", "well"], x_labels="ab")
    >>> found = audit(joint, Channel.identity(joint), LIP(0.5))
    >>> found
    <Audit VIOLATED nmi=1.000000>
    >>> found.violations, round(found.min_lift_leakage, 4), found.worst.s, found.worst.y
    (('a', 'b'), 0.6931, 'ill', 'a')
    """

    joint: Joint
    channel: Channel
    criterion: Criterion
    #: Per output, whether the criterion allows it.
    allowed: Bools
    #: l(s, y), (|S|, |Y|).
    lift: Floats
    #: P(y), (|Y|,).
    p_y: Floats

    @cached_property
    def is_satisfied(self) -> bool:
        """Whether every output is allowed."""
        return bool(self.allowed.all())

    @cached_property
    def mutual_information(self) -> float:  # type: ignore[override]  # computed once
        """I(X;Y) in nats."""
        return information_x(self.joint, self.channel, self.p_y)

    @property
    def violations(self) -> tuple[Label, ...]:
        """The outputs that are not allowed."""
        labels = self.channel.y_labels
        return tuple(labels[y] for y in np.flatnonzero(~self.allowed))

    @cached_property
    def worst(self) -> Worst:
        """The output and the sensitive value with the least room (most excess) to the budget."""
        sides = zip(
            ("lower", "upper"),
            self._leakages,
            (self.criterion.lower, self.criterion.upper),
            strict=True,
        )
        found = []
        for side, leakages, budget in sides:
            y = int(np.argmax(leakages))
            # An unbounded side is only looked at when neither is bounded.
            excess = -math.inf if math.isinf(budget) else float(leakages[y]) - budget
            found.append((excess, float(leakages[y]), side, y))
        _, leakage, side, y = max(found)
        column = self.lift[:, y]
        s = int(column.argmin() if side == "lower" else column.argmax())
        labels = self.joint.s_labels[s], self.channel.y_labels[y]
        return Worst(*labels, side, float(column[s]), leakage)

    def most_extreme(self, most: int) -> list[int]:
        """Return the numbers of the outputs with the highest and with the lowest lifts, in turn.

        Equal lifts, such as zeros, are ordered by the mass of the output, largest first.

        Examples
        --------
        >>> from lowlift.criteria import LIP
        >>> joint = Joint.from_counts([[0, 0, 9, 1], [1, 2, 1, 9]])
        >>> audit(joint, Channel.identity(joint), LIP(1.0)).most_extreme(3)
        [2, 1, 0]
        """
        return most_extreme(self.lift, self.p_y, most)

    def __reduce__(self) -> tuple[Any, ...]:
        return audit, (self.joint, self.channel, self.criterion)

    def __repr__(self) -> str:
        return f"<Audit {'satisfied' if self.is_satisfied else 'VIOLATED'} nmi={self.nmi:.6f}>"

    def __str__(self) -> str:
        return self._text(len(self.violations), "", f"|Y| = {self.channel.n_y}")

    def _repr_html_(self) -> str:
        """Return verdict, numbers and the first outputs, as a notebook shows them."""
        return audit_card(self, f"Audit of {self.criterion}")

    def plot(self) -> "Picture":
        """Draw the log-lifts, S by Y, as a heat map; cells that break the bound are outlined.

        Raises
        ------
        MissingExtra
            Without matplotlib.
        """
        from lowlift.figures.lifts import lift_picture

        return lift_picture(self, f"Lifts under {self.criterion}", *ends_of(self.criterion))


def audit(joint: Joint, channel: Channel, criterion: Criterion) -> Audit:
    """Judge a channel by a criterion, exactly for the built-in ones.

    Parameters
    ----------
    joint
        P(s, x).
    channel
        P(y | x) in integer weights; `Channel.from_probabilities` rounds floats.
    criterion
        Any criterion of this package, or your own (`Criterion`).

    Guarantee
        For built-in criteria `is_satisfied` is True only if every output satisfies the criterion
        in exact arithmetic on the joint's and the channel's integers: floats decide where a proven
        error bound leaves no doubt, integers and enclosures of e**budget elsewhere. For
        `Population` it is True only if every output satisfies the criterion for all populations in
        the confidence region of the joint's counts.

    Cost
        O(|S| times the channel's positive weights), plus exact arithmetic on outputs within about
        1e-11 of a bound.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> verdict = audit(joint, Channel.identity(joint), ALIP(0.5, 0.5))
    >>> verdict.is_satisfied, verdict.worst.side, round(verdict.worst.leakage, 4)
    (False, 'lower', 0.6931)
    """
    check_pair(joint, channel)
    criterion = criterion_on(criterion, joint)
    masses = channel.output_masses(joint)
    mass_y = masses.sum(axis=0)
    lift = masses / mass_y / joint.p_s[:, None]
    allowed = allowed_lifts(joint, criterion, lift, channel.atom)
    p_y = mass_y / mass_y.sum()
    for array in (allowed, lift, p_y):
        array.flags.writeable = False
    return Audit(joint, channel, criterion, allowed, lift, p_y)


def allowed_lifts(
    joint: Joint,
    criterion: Criterion,
    lift: Floats,
    atom: Callable[[int], Column],
    error: float | None = None,
) -> Bools:
    """Return per output, with lifts (|S|, k), whether the criterion allows it.

    `atom` gives the symbols of an output and their weights, whole numbers, by its number;
    `error` bounds the relative error of the lifts, by default as the joint says.
    """
    if isinstance(criterion, Population):
        region = population_region(joint, criterion)
        return np.array([region.allows(*atom(y)) for y in range(lift.shape[1])], np.bool_)

    def exact(y: int) -> list[int]:
        return joint.exact_column(*atom(y))

    error = joint.lift_error if error is None else error
    return verdicts(criterion, lift, joint.p_s, error, exact, lambda: joint.prior)


def risky_symbols(joint: Joint, criterion: Criterion) -> Bools:
    """Return per symbol of X whether publishing it unchanged breaks the criterion, exactly."""
    check_joint(joint)
    return ~allowed_lifts(joint, criterion, joint.lift, lambda x: ([x], [1]))


def high_risk(joint: Joint, criterion: Criterion) -> tuple[Label, ...]:
    """Return the symbols of X_H: those whose own lifts break the criterion (equations 6 and 7).

    Examples
    --------
    >>> from lowlift.criteria import MaxLift
    >>> joint = Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> high_risk(joint, MaxLift(0.1))
    ('a', 'b')
    """
    return tuple(joint.x_labels[x] for x in np.flatnonzero(risky_symbols(joint, criterion)))


def audit_card(
    found: Audit, title: str, facts: Iterable[tuple[str, str]] = (), *, holds: bool = True
) -> str:
    """Return an audit as HTML; with `holds` False, something else than its outputs breaks it."""
    is_kept = found.is_satisfied and holds
    word = verdict_word(found.criterion, found.is_certified, is_kept)
    labels, n_y = found.channel.y_labels, found.channel.n_y
    rows = [
        (
            cell(shown(labels[y])),
            percent(float(found.p_y[y])),
            times(found.lift[:, y].min()),
            times(found.lift[:, y].max()),
            "yes" if found.allowed[y] else "no",
        )
        for y in range(min(MOST, n_y))
    ]
    return card(
        title,
        word=word,
        tone={HOLDS: "good", FAILS: "bad"}.get(word, "plain"),
        text=promise_in_full(found.criterion, is_kept),
        facts=[
            ("Information kept", f"{percent(found.nmi)} (NMI {found.nmi:.4f})"),
            *facts,
            ("Largest lift", times(found.lift.max())),
            ("Smallest lift", times(found.lift.min())),
            ("Values that break the bound", f"{len(found.violations):,} of {n_y:,}"),
            ("Sizes", f"|S| = {found.joint.n_s:,}, |X| = {found.joint.n_x:,}, |Y| = {n_y:,}"),
        ],
        head=("output", "P(y)", "smallest lift", "largest lift", "allowed"),
        rows=rows,
        left_off=f"and {counted(n_y - MOST, 'more output')}" if n_y > MOST else "",
    )
