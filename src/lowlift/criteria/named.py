"""Notions that other fields have names for, decided on their own scales.

Each is a region that another criterion of this package has too, up to the scale of its bound:
`in_nats` is that criterion. Its budgets are floats, and none is exactly ``log(1 + beta)``, say. The
verdicts here compare the numbers that were written.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from lowlift._arguments import check_choice
from lowlift._exact import at_most_exp, below_power_of_two, log_of
from lowlift.criteria.averaged import L1Lift, TotalVariation, l1_of
from lowlift.criteria.beliefs import AtMost
from lowlift.criteria.numbers import as_float, largest_budget, rounded_down, written
from lowlift.criteria.pointwise import LIP, Box, MaxLift
from lowlift.criteria.protocol import BuiltIn, budget
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift._joint import Joint

#: Pointwise maximal leakage, ``log max_s l(s)``, of every output: the bound is `MaxLift`.
PML = MaxLift

_BITS = 256
_DELTA = "above 0: it is a strict bound, which no release keeps at 0. For 0 use LIP(0)"


class _Named(BuiltIn):
    """A notion with a scale of its own, which other budgets are given in nats."""

    #: The budget of the upper side in nats, the largest float that is not looser.
    _upper: float

    @property
    def upper(self) -> float:
        """The bound of the upper side as a budget in nats, rounded down."""
        return self._upper

    def scaled(self, factor: float) -> BuiltIn:
        """Return the bound in nats with every budget multiplied by `factor`."""
        return self if factor == 1 else self.in_nats.scaled(factor)

    def shifted(self, by: float) -> BuiltIn:
        """Return the bound in nats with every budget raised by `by`, or lowered."""
        return self if by == 0 else self.in_nats.shifted(by)


@dataclass(frozen=True)
class BetaLikeness(_Named, Box):
    """Basic beta-likeness: ``(P(s|y) - P(s)) / P(s) <= beta``, that is ``l(s) <= 1 + beta``.

    In nats it is ``MaxLift(log(1 + beta))``. Nothing bounds how much less likely an s becomes: an
    output may rule values of S out, as in the definition.

    Parameters
    ----------
    beta
        0 or more, inf for no bound. A float stands for its shortest decimal form: 0.1 is a tenth.

    References
    ----------
    Cao and Karras, Publishing microdata with a robust privacy guarantee, VLDB 2012.

    Examples
    --------
    A lift of exactly 2 has beta = 1; no float is log 2:

    >>> BetaLikeness(1).verdict([2, 1], [1, 2]), BetaLikeness(0.999).verdict([2, 1], [1, 2])
    (True, False)
    >>> BetaLikeness(1).in_nats
    MaxLift(upper=0.6931471805599453)
    """

    beta: float
    lower: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        exact = written(self.beta, "beta", "0 or more, such as 1", lambda value: value >= 0)
        object.__setattr__(self, "beta", as_float(self.beta, exact))
        object.__setattr__(self, "_upper", largest_budget(self._most or math.inf))

    @classmethod
    def enhanced(cls, beta: float | Fraction, joint: "Joint") -> AtMost:
        """Return enhanced beta-likeness on a joint, as beliefs.

        ``P(s|y) <= P(s) (1 + min(beta, -log P(s)))``: a common value may gain less, and none
        becomes certain. The largest beliefs are floats, rounded down: never looser.

        Examples
        --------
        >>> import lowlift as ll
        >>> joint = ll.Joint.from_counts([[1, 1], [1, 5]], ["ill", "well"], ["a", "b"])
        >>> ll.BetaLikeness.enhanced(1, joint).parameters()["beliefs"]["ill"]
        0.5
        """
        basic: BetaLikeness = cls(beta)  # type: ignore[arg-type]  # it takes fractions
        total = sum(map(int, joint.prior))
        shares = [Fraction(int(n), total) for n in joint.prior]
        beliefs = [
            min(basic.allowed(share), share * (1 + _log_of_inverse(share))) for share in shares
        ]
        pairs = zip(joint.s_labels, map(rounded_down, beliefs), strict=True)
        return AtMost(tuple(pairs)).on(joint)

    @property
    def in_nats(self) -> BuiltIn:
        """The bound as `MaxLift`, its budget rounded down."""
        return MaxLift(self.upper)

    @property
    def _most(self) -> Fraction | None:
        """The largest lift, exactly; None for no bound."""
        return None if math.isinf(self.beta) else 1 + Fraction(repr(self.beta))

    @property
    def _largest(self) -> float:
        most = self._most
        return math.inf if most is None else float(most)

    def allowed(self, share: Fraction) -> Fraction:
        """Return the largest belief in a value of this share of the table, exactly."""
        most = self._most
        return Fraction(1) if most is None else min(Fraction(1), share * most)

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        most, mass, total = self._most, int(sum(posterior)), int(sum(prior))
        if most is None:
            return True
        pairs = zip(map(int, posterior), map(int, prior), strict=True)
        return all(n * total * most.denominator <= p * mass * most.numerator for n, p in pairs)


def _log_of_inverse(share: Fraction) -> Fraction:
    """Return ``-log share``, rounded down."""
    low = log_of(share.denominator, share.numerator, _BITS)[0]
    return Fraction(max(low, 0), 1 << _BITS)


@dataclass(frozen=True)
class DeltaDisclosure(_Named, Box):
    """delta-disclosure privacy: ``|log(P(s|y) / P(s))| < delta`` for every s, strictly.

    In nats it is ``LIP(delta)``: e**delta is no fraction, so that no lift is equal to it. In bits
    it may be: with delta = 1, a lift of 2 is refused. A value of S that an output rules out breaks
    it, as the logarithm of 0 is infinite; tools that leave such values out of the maximum allow it.

    Parameters
    ----------
    delta
        Above 0, inf for no bound.
    unit
        Of delta: "nats" (natural logarithms) or "bits" (base 2).

    References
    ----------
    Brickell and Shmatikov, The cost of privacy, KDD 2008.

    Examples
    --------
    >>> DeltaDisclosure(0.5).in_nats, DeltaDisclosure(1, "bits").in_nats
    (LIP(epsilon=0.5), LIP(epsilon=0.6931471805599453))
    >>> DeltaDisclosure(1, "bits").verdict([2, 1], [1, 2])
    False
    """

    delta: float
    unit: str = "nats"

    def __post_init__(self) -> None:
        delta = budget(self.delta, "delta")
        if delta == 0:
            raise InvalidInput(f"delta must be {_DELTA}; got {self.delta!r}.")
        check_choice(self.unit, "unit", ("nats", "bits"))
        object.__setattr__(self, "delta", delta)
        in_bits = self.unit == "bits" and math.isfinite(delta)
        object.__setattr__(self, "_upper", _nats_of_bits(delta) if in_bits else delta)

    @property
    def lower(self) -> float:
        """The bound of the lower side as a budget in nats, rounded down."""
        return self._upper

    @property
    def in_nats(self) -> BuiltIn:
        """The bound as `LIP`; of a delta in bits, its budget rounded down."""
        return LIP(self.upper)

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        if math.isinf(self.delta):
            return True
        delta, mass, total = Fraction(self.delta), int(sum(posterior)), int(sum(prior))
        is_below = below_power_of_two if self.unit == "bits" else at_most_exp
        for n, p in zip(map(int, posterior), map(int, prior), strict=True):
            ends = n * total, p * mass
            if n == 0 or not (is_below(*ends, delta) and is_below(*ends[::-1], delta)):
                return False
        return True


def _nats_of_bits(bits: float) -> float:
    """Return the largest float that is at most ``bits log 2``, or the one below it."""
    exact = Fraction(bits) * Fraction(log_of(2, 1, _BITS)[0], 1 << _BITS)
    number = float(exact)
    return number if Fraction(number) <= exact else math.nextafter(number, 0.0)


@dataclass(frozen=True)
class TCloseness(_Named, TotalVariation):
    """t-closeness with the equal distance: ``1/2 sum_s |P(s|y) - P(s)| <= t``.

    This is the total variation between the belief before and after, half of the l1-lift: in nats
    ``L1Lift(inf, log(1 + 2 t))``. The earth mover's distance of ordered values is another notion.

    Parameters
    ----------
    t
        From 0 to 1. A float stands for its shortest decimal form: 0.1 is a tenth.

    References
    ----------
    Li, Li and Venkatasubramanian, t-closeness, ICDE 2007.

    Examples
    --------
    >>> TCloseness(0.25).verdict([3, 1], [1, 1]), TCloseness(0.2).verdict([3, 1], [1, 1])
    (True, False)
    >>> TCloseness(0.25).in_nats
    L1Lift(lower=inf, upper=0.40546510810816433)
    """

    t: float
    lower: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        exact = written(self.t, "t", "from 0 to 1, such as 0.2", lambda value: 0 <= value <= 1)
        object.__setattr__(self, "t", as_float(self.t, exact))
        if math.isinf(self.t):
            raise InvalidInput("t must be from 0 to 1, such as 0.2; got inf.")
        object.__setattr__(self, "_upper", largest_budget(1 + 2 * Fraction(repr(self.t))))

    @property
    def largest_norm(self) -> float:
        """The largest l1-lift that is allowed: ``2 t``."""
        return 2 * self.t

    @property
    def in_nats(self) -> BuiltIn:
        """The bound as the upper side of `L1Lift`, its budget rounded down."""
        return L1Lift(math.inf, self.upper)

    def _within(self, deviations: Sequence[tuple[int, Fraction]], total: int, side: float) -> bool:  # noqa: ARG002 (a float of t)
        return l1_of(deviations, total) <= 2 * Fraction(repr(self.t))
