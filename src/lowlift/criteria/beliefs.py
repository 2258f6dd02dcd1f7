"""Budgets in words: a factor for all lifts, and the largest belief in single values of S."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._exact import at_most_exp, log_of, precisions
from lowlift._kernels.lift import log_or_minus_inf
from lowlift.criteria.numbers import FACTOR, largest_budget, rounded_down, written
from lowlift.criteria.pointwise import violated
from lowlift.criteria.population import Population
from lowlift.criteria.protocol import BuiltIn, HalfSpaces
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift._joint import Joint
    from lowlift._labels import Label
    from lowlift.criteria.protocol import Criterion

#: The relative error allowed to the platform's log; real ones are 2**10 times better.
_LIBM = 2.0**-39


@dataclass(frozen=True)
class AtMost(BuiltIn):
    """The largest belief in values of S: ``P(s|y) <= beliefs[s]``, and a factor for all lifts.

    The region of lifts is a box: ``l(s) <= beliefs[s] / P(s)`` for the values named, and
    ``1/factor <= l(s) <= factor`` for all. With a_s the smaller of both bounds on l(s), the upper
    leakage is ``max_s log l(s) / log a_s``, and its budget 1: the share of its own budget that the
    worst s takes. The lower leakage is in nats, as for `LIP`.

    Parameters
    ----------
    beliefs
        For values of S, by label, the largest probability after seeing an output: in (0, 1].
    factor
        No value of S becomes more than this many times as likely, nor less than 1/factor times;
        inf by default: not bounded.
    share
        The budgets' share that may be used: ``l(s) <= a_s**share``.

    Guarantee
        For an observer whose prior is P_S and who knows P_SX. Closed under post-processing. The
        numbers are those that were written: 0.1 is a tenth.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[3, 1], [1, 3]], ["no", "yes"], ["a", "b"])
    >>> release = ll.random_response(joint, AtMost({"yes": 0.6}).on(joint))
    >>> release.audit.is_satisfied, bool((release.audit.lift[1] <= 1.2).all())
    (True, True)
    """

    beliefs: Any  # a mapping is taken, and kept as pairs
    factor: float = math.inf
    share: float = field(default=1.0, repr=False)
    #: The labels of S in the order of the joint; empty until `on` is called.
    labels: tuple["Label", ...] = field(default=(), repr=False, compare=False)

    kind: ClassVar[int] = -1  # no compiled kernel
    is_box = True
    is_polyhedral = True

    def __post_init__(self) -> None:
        given = self.beliefs.items() if isinstance(self.beliefs, Mapping) else self.beliefs
        try:
            pairs = tuple((_hashable(label), bound) for label, bound in given)
            names = {label for label, _ in pairs}
        except (TypeError, ValueError):
            raise InvalidInput(
                "beliefs must be a mapping from values of S to probabilities, such as "
                f"{{'yes': 0.5}}; got {type(self.beliefs).__name__}."
            ) from None
        if not pairs or len(names) < len(pairs):
            raise InvalidInput(
                f"beliefs must name at least one value of S, none twice; got {len(pairs)}. For a "
                "factor alone use LIP.at_most(2)."
            )
        rule = "a probability above 0, up to 1"
        exact = [written(bound, "a belief", rule, lambda b: 0 < b <= 1) for _, bound in pairs]
        beliefs = tuple((n, rounded_down(b)) for (n, _), b in zip(pairs, exact, strict=True))
        object.__setattr__(self, "beliefs", beliefs)
        factor = written(self.factor, "the factor", FACTOR, lambda value: value >= 1)
        object.__setattr__(self, "factor", rounded_down(factor))
        object.__setattr__(self, "_budget", largest_budget(self.factor))
        if not 0 <= self.share < math.inf:
            raise InvalidInput(f"share must be 0 or more; got {self.share!r}.")

    _budget: ClassVar[float]

    @property
    def lower(self) -> float:
        """The budget of the lower side in nats: log of the factor, times the share."""
        return self._budget * self.share if self.share else 0.0

    @property
    def upper(self) -> float:
        """The budget of the upper side: the share of each value's own budget, 1 by default."""
        return self.share

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {"beliefs": dict(self.beliefs), "factor": self.factor, "share": self.share}

    def scaled(self, factor: float) -> Self:
        """Return the same bounds with every budget, a logarithm, multiplied by `factor`."""
        return replace(self, share=self.share * factor)

    def shifted(self, by: float) -> Self:  # noqa: ARG002 (the protocol's)
        """Refuse: how far a belief moves with the lifts depends on P(s)."""
        raise InvalidInput("bounds on beliefs cannot be moved by nats; use another criterion.")

    def on(self, joint: "Joint") -> Self:
        """Return the criterion for a joint: its values found among the labels of S.

        Raises
        ------
        InvalidInput
            For a value that S does not have, or a belief below its share P(s): the outputs' beliefs
            average to P(s), so that some are above.
        """
        found = self.aligned(joint.s_labels, strictly=True)
        for s, bound in found.bounds():
            share = Fraction(int(joint.prior[s]), int(sum(map(int, joint.prior))))
            if bound < share:
                raise InvalidInput(
                    "a belief must be at least the value's share of the table, P(s), as beliefs "
                    f"average to it over the outputs; got {float(bound):g} for value {s + 1} of "
                    f"{len(joint.s_labels)} of S, which has a larger share. Raise it."
                )
        return found

    def aligned(self, labels: Sequence["Label"], *, strictly: bool = False) -> Self:
        """Return the criterion for these labels of S; a value that none is cannot be believed."""
        known = self._known(labels)
        pairs = []
        for value, bound in self.beliefs:
            if value in known:
                pairs.append((known[value], bound))
            elif strictly:
                raise InvalidInput(
                    f"a value whose belief is bounded must be one of the {len(labels)} of S; one "
                    "of those named is not. Write it as the table has it."
                )
            else:
                pairs.append((value, bound))
        if strictly and len({label for label, _ in pairs}) < len(pairs):
            raise InvalidInput("a value of S must have one belief; one is named twice.")
        return replace(self, beliefs=tuple(pairs), labels=tuple(labels))

    @staticmethod
    def _known(labels: Sequence["Label"]) -> dict["Label", "Label"]:
        """Return the label of each name; its own name comes before what others may be called."""
        known = {label: label for label in labels}
        for label in labels:
            for name in _names(label):
                known.setdefault(name, label)
        return known

    def bounds(self) -> list[tuple[int, Fraction]]:
        """Return the place of each value among the labels, and its belief exactly."""
        if not self.labels:
            raise InvalidInput(
                "a criterion with beliefs must know the labels of S; use criterion.on(joint)."
            )
        number = {label: s for s, label in enumerate(self.labels)}
        place = {name: number[label] for name, label in self._known(self.labels).items()}
        return [(place[v], Fraction(repr(b))) for v, b in self.beliefs if v in place]

    def _log_most(self, p_s: Floats) -> Floats:
        """Return log a_s, the largest log of a lift; inf where it is not bounded."""
        if len(p_s) != len(self.labels) and self.labels:
            raise InvalidInput(
                f"S must have the {len(self.labels)} values that the criterion was made for; it "
                f"has {len(p_s)}. Use criterion.on(joint)."
            )
        logs = np.full(len(p_s), self._budget)
        for s, bound in self.bounds():
            logs[s] = min(logs[s], math.log(float(bound)) - math.log(p_s[s]))
        return logs

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return ``-log min_s l`` in nats and ``max_s log l(s) / log a_s``, neither below 0."""
        low = np.maximum(-log_or_minus_inf(lift_sy.min(axis=0)), 0.0)
        most = self._log_most(p_s)[:, None]
        logs = log_or_minus_inf(lift_sy)
        # Where a belief is below P(s), what is above it is beyond every share.
        beyond = np.where(logs > most, np.inf, 0.0)
        ratio = np.divide(logs, most, out=beyond, where=(most > 0) & np.isfinite(most))
        return low, np.maximum(ratio.max(axis=0), 0.0)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return the share of its budget that the worst value takes, on both sides together."""
        low, high = self.leakage(lift_sy, p_s)
        high = np.minimum(high, 1e6)
        if math.isinf(self.lower) or not self._budget:
            return high
        return high + np.minimum(low / self._budget, 1e6)

    def screen(self, lift_sy: Floats, p_s: Floats, error: float) -> tuple[Bools, Bools]:
        """Return per output whether it surely is allowed, and whether it surely is not.

        Logarithms are compared: of the lift, and of the bound with its P(s) in floats.
        """
        logs, most = log_or_minus_inf(lift_sy), self._log_most(p_s)[:, None]
        limit = np.where(np.isinf(most), np.inf, most * self.share)
        size = np.where(np.isinf(most), 0.0, np.abs(most)) * max(1.0, self.share)
        margin = 32 * error * max(1.0, self.share) + _LIBM * (1 + size)
        within: Bools = np.all(logs <= limit - margin, axis=0)
        beyond: Bools = np.any(logs > limit + margin, axis=0)
        if math.isfinite(self.lower):
            edge = 32 * error + _LIBM * (1 + self.lower)
            within &= (logs >= -self.lower + edge).all(axis=0)
            beyond |= (logs < -self.lower - edge).any(axis=0)
        return within, beyond

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        mass, total = int(sum(posterior)), int(sum(prior))
        beliefs = dict(self.bounds())
        for s, (n, p) in enumerate(zip(map(int, posterior), map(int, prior), strict=True)):
            above, below = n * total, p * mass  # the lift is above / below
            if s in beliefs and not self._is_believed(n, mass, beliefs[s], Fraction(p, total)):
                return False
            if math.isinf(self._budget):
                continue
            side = Fraction(self.lower)
            if n == 0 or not (at_most_exp(above, below, side) and at_most_exp(below, above, side)):
                return False
        return True

    def _is_believed(self, n: int, mass: int, bound: Fraction, share: Fraction) -> bool:
        """Decide P(s|y) <= bound, or ``l(s) <= (bound / P(s))**share`` for another share than 1."""
        if self.share == 1:
            return n * bound.denominator <= bound.numerator * mass
        lift, most = Fraction(n, mass) / share, bound / share
        if lift <= 1 or most <= 1:
            return lift <= min(most, Fraction(1))
        power = Fraction(self.share)
        for bits in precisions():
            low, high = log_of(lift.numerator, lift.denominator, bits)
            least, largest = log_of(most.numerator, most.denominator, bits)
            if high <= power * least:
                return True
            if low > power * largest:
                return False
        return False

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return the region itself: ``l(s) <= a_s**share`` and ``-l(s) <= -e**-lower``."""
        unit, most = np.eye(len(p_s)), self._log_most(p_s)
        bounded = np.isfinite(most) & (most * self.share < 700)
        highest = np.exp(np.where(bounded, most * self.share, 0.0))
        for s, bound in self.bounds() if self.share == 1 else ():
            # One rounding instead of three: proofs allow for a unit or two.
            if float(bound) / p_s[s] <= math.exp(min(self._budget, 700.0)):
                highest[s] = float(bound) / p_s[s]
        normals, offsets = [unit[bounded]], [highest[bounded]]
        if math.isfinite(self.lower):
            normals.append(-unit)
            offsets.append(np.full(len(p_s), -math.exp(-self.lower)))
        return HalfSpaces(np.concatenate(normals), np.concatenate(offsets))

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return the half-spaces that a lift vector violates."""
        return violated(self.half_spaces(p_s), lift_s)


def criterion_on(criterion: "Criterion", joint: "Joint") -> "Criterion":
    """Return a criterion that knows the labels of a joint, if it needs them.

    One that is new is made with `AtMost.on`, which refuses what does not fit; one that was made for
    another joint, such as that of the design, is judged on this one. A bound for the population
    needs a joint of counted rows.
    """
    if isinstance(criterion, Population):
        if not joint.is_counted:
            raise InvalidInput(
                "a bound for the population needs counted rows; this joint was made of "
                "probabilities. Use Joint.from_counts."
            )
        inside: Any = criterion_on(criterion.criterion, joint)
        return replace(criterion, criterion=inside)
    if not isinstance(criterion, AtMost):
        return criterion
    return criterion.aligned(joint.s_labels) if criterion.labels else criterion.on(joint)


def _names(label: "Label") -> list["Label"]:
    """Return how a label may be written: itself, alone instead of in a tuple of one, as text."""
    inner = label[0] if isinstance(label, tuple) and len(label) == 1 else label
    texts = ["true" if inner else "false"] if isinstance(inner, bool) else []
    if not isinstance(inner, tuple):
        texts.append("(missing)" if inner is None else str(inner))
    return [*texts, inner]


def _hashable(label: Any) -> Any:
    return tuple(map(_hashable, label)) if isinstance(label, list) else label
