"""Criteria that bound single lifts: LIP, asymmetric LIP, max-lift alone, LDP."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from lowlift._arrays import Floats
from lowlift._exact import at_most_exp
from lowlift._kernels.lift import log_or_minus_inf
from lowlift.criteria.numbers import largest_budget
from lowlift.criteria.protocol import ZERO_RISK, BuiltIn, HalfSpaces, TwoSided


def _log_range(lift_sy: Floats) -> tuple[Floats, Floats]:
    """Return -log min lift and log max lift per output, neither below 0."""
    # The ufuncs themselves: `min` and `max` take longer to call them than they take.
    low = log_or_minus_inf(np.minimum.reduce(lift_sy))
    high = np.log(np.maximum.reduce(lift_sy))
    return np.maximum(-low, 0.0), np.maximum(high, 0.0)


def _log_range_without_zeros(lift_sy: Floats) -> tuple[Floats, Floats]:
    """Return -log of the smallest positive lift plus `ZERO_RISK` a zero lift, and log max lift."""
    positive = np.where(lift_sy > 0, lift_sy, np.inf).min(axis=0)
    zeros = np.count_nonzero(lift_sy == 0, axis=0)
    return ZERO_RISK * zeros - np.log(positive), np.log(lift_sy.max(axis=0))


class Box(BuiltIn):
    """``e**-lower <= l(s) <= e**upper`` for every s."""

    kind: ClassVar[int] = 0
    is_box = True
    is_polyhedral = True

    @property
    def _largest(self) -> float:
        """The largest lift that is allowed, as a float."""
        return math.exp(self.upper) if self.upper < 700 else math.inf

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 (the protocol's)
        """Return ``-log min_s l`` and ``log max_s l`` per output, in nats; inf for a zero lift."""
        return _log_range(lift_sy)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:  # noqa: ARG002 (the protocol's)
        """Return ``log max l - log min l`` per output; a side of infinite budget does not enter.

        A zero lift counts 1e6 nats and leaves the minimum to the positive lifts, so that outputs
        with zeros are ordered by how many there are, then by the rest.
        """
        low, high = _log_range_without_zeros(lift_sy)
        if math.isinf(self.upper):
            return low
        return high if math.isinf(self.lower) else low + high

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        mass, total = sum(posterior), sum(prior)
        for n, p in zip(posterior, prior, strict=True):
            above, below = n * total, p * mass  # the lift is above / below
            if not math.isinf(self.upper) and not at_most_exp(above, below, Fraction(self.upper)):
                return False
            if not math.isinf(self.lower) and (
                n == 0 or not at_most_exp(below, above, Fraction(self.lower))
            ):
                return False
        return True

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return the region itself: ``l(s) <= e**upper`` and ``-l(s) <= -e**-lower``."""
        unit = np.eye(len(p_s))
        normals, offsets = [np.zeros((0, len(p_s)))], [np.zeros(0)]
        if self._largest < math.inf:
            normals.append(unit)
            offsets.append(np.full(len(p_s), self._largest))
        if not math.isinf(self.lower):
            normals.append(-unit)
            offsets.append(np.full(len(p_s), -math.exp(-self.lower)))
        return HalfSpaces(np.concatenate(normals), np.concatenate(offsets))

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return the half-spaces that a lift vector violates."""
        return violated(self.half_spaces(p_s), lift_s)


@dataclass(frozen=True)
class ALIP(TwoSided, Box):
    """Asymmetric local information privacy: ``e**-lower <= l(s) <= e**upper`` (Definition 3).

    Parameters
    ----------
    lower, upper
        Budgets in nats of the smallest and of the largest lift: 0 or more, inf for no bound.

    Guarantee
        Seeing y makes no s more than e**upper times as likely as before, nor less than e**-lower
        times, for an observer whose prior is P_S and who knows P_SX. Closed under post-processing.

    Examples
    --------
    >>> ALIP.split(2.0, 0.75)
    ALIP(lower=1.5, upper=0.5)
    """


@dataclass(frozen=True)
class LIP(Box):
    """Local information privacy: ``e**-epsilon <= l(s) <= e**epsilon`` (Definition 1).

    Parameters
    ----------
    epsilon
        Budget in nats of both sides.

    Examples
    --------
    >>> LIP(0.5).lower, LIP(0.5).upper
    (0.5, 0.5)
    """

    epsilon: float

    @classmethod
    def at_most(cls, factor: float | Fraction) -> Self:
        """Return the criterion for a factor: no s becomes more than so many times as likely.

        Nor less than 1/factor times. The budget is the largest float with
        ``e**epsilon <= factor``, proven: never looser.

        Examples
        --------
        >>> LIP.at_most(2)
        LIP(epsilon=0.6931471805599453)
        """
        return cls(largest_budget(factor))

    @property
    def lower(self) -> float:
        """The budget of the lower side, epsilon."""
        return self.epsilon

    @property
    def upper(self) -> float:
        """The budget of the upper side, epsilon."""
        return self.epsilon


@dataclass(frozen=True)
class MaxLift(Box):
    """A bound on the largest lift alone: ``l(s) <= e**upper`` (pointwise maximal leakage).

    Nothing bounds how much less likely an s becomes: an output may rule values of S out.

    Parameters
    ----------
    upper
        Budget in nats.

    Examples
    --------
    >>> MaxLift(1.0).lower
    inf
    """

    upper: float
    lower: ClassVar[float] = math.inf


@dataclass(frozen=True)
class LDP(BuiltIn):
    """Local differential privacy of S: ``P(y|s) <= e**epsilon P(y|s')`` (Definition 2).

    Parameters
    ----------
    epsilon
        Budget in nats of ``log max_s l - log min_s l``.

    Examples
    --------
    >>> LDP(1.0).upper
    1.0
    """

    epsilon: float
    lower: ClassVar[float] = math.inf
    kind: ClassVar[int] = 1
    is_polyhedral = True

    @classmethod
    def at_most(cls, factor: float | Fraction) -> Self:
        """Return the criterion for a factor: ``P(y|s) <= factor P(y|s')``, and so of every rate.

        The budget is the largest float with ``e**epsilon <= factor``, proven: never looser. With
        1.25, whatever is decided from Y selects any two groups of S at rates of which the smaller
        is at least four fifths of the larger.

        Examples
        --------
        >>> LDP.at_most(1.25)
        LDP(epsilon=0.22314355131420974)
        """
        return cls(largest_budget(factor))

    @property
    def upper(self) -> float:
        """The budget, epsilon; LDP has one side."""
        return self.epsilon

    def shifted(self, by: float) -> Self:
        """Return LDP that holds for all lifts within a factor ``e**by``: of two of them."""
        return type(self)(max(0.0, self.epsilon + 2 * by))

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 (the protocol's)
        """Return zeros (there is no lower side) and ``log max l - log min l`` per output."""
        low, high = _log_range(lift_sy)
        return np.zeros_like(low), low + high

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:  # noqa: ARG002 (the protocol's)
        """Return ``log max l - log min l`` per output; zeros count as in `ALIP.risk`."""
        low, high = _log_range_without_zeros(lift_sy)
        return low + high

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        if math.isinf(self.epsilon):
            return True
        rates = [Fraction(n, p) for n, p in zip(posterior, prior, strict=True)]
        low, high = min(rates), max(rates)
        if low == 0:
            return False
        ratio = high / low
        return at_most_exp(ratio.numerator, ratio.denominator, Fraction(self.epsilon))

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return the box around the region: lifts average to 1, so each is within e**+-epsilon."""
        return LIP(self.epsilon).half_spaces(p_s)

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return ``l(s) - e**epsilon l(t) <= 0`` for the largest and least lift, if broken."""
        normal = np.zeros((1, len(p_s)))
        s, t = int(lift_s.argmax()), int(lift_s.argmin())
        if self.epsilon > 700 or lift_s[s] <= math.exp(self.epsilon) * lift_s[t]:
            return HalfSpaces(normal[:0], np.zeros(0))
        normal[0, s], normal[0, t] = 1.0, -math.exp(self.epsilon)
        return HalfSpaces(normal, np.zeros(1))


def violated(spaces: HalfSpaces, lift_s: Floats) -> HalfSpaces:
    """Return the half-spaces in which a lift vector does not lie."""
    out = spaces.normals @ lift_s > spaces.offsets
    return HalfSpaces(spaces.normals[out], spaces.offsets[out])
