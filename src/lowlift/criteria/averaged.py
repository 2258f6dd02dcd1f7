"""Criteria that bound a mean over s of the lift and of its inverse: l1-, chi2- and alpha-lift."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from lowlift._arrays import Floats
from lowlift._exact import at_most_exp, power_sum_at_most_exp, sqrt_at_most_expm1
from lowlift._kernels.lift import log_alpha_mean, log_chi2, log_l1, log_or_minus_inf, reciprocal
from lowlift.criteria.pointwise import ALIP, violated
from lowlift.criteria.protocol import ZERO_RISK, BuiltIn, HalfSpaces, TwoSided, budget, split_budget
from lowlift.errors import InvalidInput

#: Budgets above this have no tangents: their exponentials would leave the floats.
_MOST = 300.0
#: The largest power that a gradient is computed with.
_STEEP = 1e8


def check_alpha(alpha: float) -> float:
    """Return alpha as a float: 1 or more, possibly inf."""
    value = budget(alpha, "alpha")
    if value < 1:
        raise InvalidInput(f"alpha must be 1 or more (inf allowed); got {alpha!r}.")
    return value


class _Averaged(BuiltIn):
    """Bounds a log measure of the lifts on the upper side, of their inverses on the lower."""

    #: The lift that adds nothing to the lift-inverse measure.
    neutral: ClassVar[float] = 1.0

    @abstractmethod
    def _log_measures(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return the logs of the lift-inverse and of the lift-based measure."""

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return the log of (lift-based + lift-inverse measure) per output.

        A side of infinite budget does not enter. While the lower side does, a zero lift counts
        1e6 nats and is left out of the sum, so that outputs with zeros are ordered by how many
        there are, then by the rest.
        """
        if math.isinf(self.lower):
            return self._log_measures(lift_sy, p_s)[1]
        zeros = lift_sy == 0
        low = self._log_measures(np.where(zeros, self.neutral, lift_sy), p_s)[0]
        if not math.isinf(self.upper):
            low = np.logaddexp(low, self._log_measures(lift_sy, p_s)[1])
        return np.asarray(low + ZERO_RISK * zeros.sum(axis=0))

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return a box around the region; `cut` gives the rest."""
        self._refuse_unless_convex()
        bounds = [(np.eye(len(p_s)), self._largest(p_s)), (-np.eye(len(p_s)), -self._smallest(p_s))]
        kept = [(n[np.isfinite(o)], o[np.isfinite(o)]) for n, o in bounds]
        return HalfSpaces(
            np.concatenate([n for n, _ in kept]), np.concatenate([o for _, o in kept])
        )

    @abstractmethod
    def _largest(self, p_s: Floats) -> Floats:
        """Return the largest lift that the region allows, per s."""

    def _smallest(self, p_s: Floats) -> Floats:
        return np.zeros(len(p_s))

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return tangents of the measures that a lift vector exceeds, and faces it is beyond."""
        self._refuse_unless_convex()
        box = violated(self.half_spaces(p_s), lift_s)
        found = self._tangents(lift_s, p_s)
        normals = np.array([g for g, _ in found]).reshape(len(found), len(p_s))
        offsets = np.array([o for _, o in found])
        return HalfSpaces(np.r_[normals, box.normals], np.r_[offsets, box.offsets])

    @abstractmethod
    def _tangents(self, lift_s: Floats, p_s: Floats) -> list[tuple[Floats, float]]:
        """Return normals and offsets of the tangents of the measures that are exceeded."""

    def _refuse_unless_convex(self) -> None:
        if not self.is_convex:
            raise InvalidInput(
                f"{self} is not convex: mixing two allowed outputs can break its lower side. "
                "Use lower=math.inf, ALIP or AlphaLift."
            )


class _Norm(_Averaged):
    """What l1- and chi2-lift share: the mean of ``|l - 1|**order``, whose root is a norm."""

    order: ClassVar[int]

    @property
    def largest_norm(self) -> float:
        """The largest norm of deviations from 1 that the upper side allows."""
        return math.expm1(self.upper) if self.upper < 700 else math.inf

    @property
    def is_convex(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether the lower side is off; the prior-weighted lift-inverse measure is not convex."""
        return math.isinf(self.lower)

    def _log_measures(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        log_mean = log_l1 if self.order == 1 else log_chi2
        return log_mean(reciprocal(lift_sy), p_s), log_mean(lift_sy, p_s)

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return ``log(1 + norm)`` per output and side, in nats; inf for a zero lift below.

        The norm is the l1 measure, or the square root of the chi2 measure.
        """
        low, high = self._log_measures(lift_sy, p_s)
        return np.logaddexp(0.0, low / self.order), np.logaddexp(0.0, high / self.order)

    @abstractmethod
    def _reach(self, p_s: Floats) -> Floats:
        """Return how far from 1 a lift may be, per s."""

    def _largest(self, p_s: Floats) -> Floats:
        return 1 + self._reach(p_s)

    def _smallest(self, p_s: Floats) -> Floats:
        return np.maximum(0.0, 1 - self._reach(p_s))

    @abstractmethod
    def _norm(self, off: Floats, p_s: Floats) -> tuple[float, Floats]:
        """Return the norm of deviations from 1, and its gradient."""

    def _tangents(self, lift_s: Floats, p_s: Floats) -> list[tuple[Floats, float]]:
        # Tangents of the norm are tighter than those of its square.
        bound, (norm, normal) = self.largest_norm, self._norm(lift_s - 1, p_s)
        return [(normal, bound + float(normal.sum()))] if norm > bound else []

    @abstractmethod
    def _within(self, deviations: Sequence[tuple[int, Fraction]], total: int, side: float) -> bool:
        """Decide whether the measure of these deviations from 1 is in budget."""

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        mass, total = sum(posterior), sum(prior)
        pairs = list(zip(posterior, prior, strict=True))
        if not math.isinf(self.upper):
            off = [(p, Fraction(n * total, p * mass) - 1) for n, p in pairs]
            if not self._within(off, total, self.upper):
                return False
        if not math.isinf(self.lower):
            if 0 in posterior:
                return False
            off = [(p, Fraction(p * mass, n * total) - 1) for n, p in pairs]
            return self._within(off, total, self.lower)
        return True


class TotalVariation(_Norm):
    """The l1 distance of posteriors from the prior: what l1-lift and t-closeness share."""

    kind: ClassVar[int] = 2
    order: ClassVar[int] = 1
    is_polyhedral = True

    def _reach(self, p_s: Floats) -> Floats:
        return self.largest_norm / (2 * p_s)  # positive deviations carry half of the sum

    def _norm(self, off: Floats, p_s: Floats) -> tuple[float, Floats]:
        return float(p_s @ np.abs(off)), p_s * np.sign(off)

    def _within(self, deviations: Sequence[tuple[int, Fraction]], total: int, side: float) -> bool:
        bound = 1 + l1_of(deviations, total)
        return at_most_exp(bound.numerator, bound.denominator, Fraction(side))


def l1_of(deviations: Sequence[tuple[int, Fraction]], total: int) -> Fraction:
    """Return the mean size of deviations, weighted by whole numbers that sum to `total`."""
    return sum((p * abs(d) for p, d in deviations), Fraction(0)) / total


@dataclass(frozen=True)
class L1Lift(TwoSided, TotalVariation):
    """l1-privacy: ``sum_s P(s) |l(s) - 1| <= e**upper - 1``, and of 1/l ``<= e**lower - 1``.

    The upper side alone is polyhedral and closed under post-processing. The lower (lift-inverse)
    side is neither convex nor closed under post-processing: P_S = (.166, .622, .212) and the lifts
    (.952, .678, 1.984), (2.282, .66, .992) have .409 and .415; mixed .52 to .48 they have .440.

    Parameters
    ----------
    lower, upper
        Budgets in nats of the lift-inverse and of the lift-based measure (equations 30 and 27).

    Examples
    --------
    >>> low, up = L1Lift(1.0, 1.0).leakage(np.array([[0.5], [1.5]]), np.array([0.5, 0.5]))
    >>> float(np.expm1(up[0]).round(12)), float(np.expm1(low[0]).round(12))
    (0.5, 0.666666666667)
    """


@dataclass(frozen=True)
class Chi2Lift(TwoSided, _Norm):
    """chi2-privacy: ``sum_s P(s) (l(s) - 1)**2 <= (e**upper - 1)**2``, and of 1/l with lower.

    The upper side alone is convex and closed under post-processing. The lower (lift-inverse) side
    is neither: P_S = (.8017, .1353, .0629) and the lifts (.7129, 1.2418, 4.1396),
    (.7198, 2.6166, 1.0931) have .1714 and .1736; mixed half and half they have .1811.

    Parameters
    ----------
    lower, upper
        Budgets in nats of the lift-inverse and of the lift-based measure (equations 31 and 28).

    Examples
    --------
    >>> low, up = Chi2Lift(1.0, 1.0).leakage(np.array([[0.5], [1.5]]), np.array([0.5, 0.5]))
    >>> float((np.expm1(up[0]) ** 2).round(12))
    0.25
    """

    kind: ClassVar[int] = 3
    order: ClassVar[int] = 2

    def _reach(self, p_s: Floats) -> Floats:
        return min(self.largest_norm, 1e300) * np.sqrt((1 - p_s) / p_s)

    def _norm(self, off: Floats, p_s: Floats) -> tuple[float, Floats]:
        norm = math.sqrt(float(p_s @ (off * off)))
        return norm, p_s * off / (norm or 1.0)

    def _within(self, deviations: Sequence[tuple[int, Fraction]], total: int, side: float) -> bool:
        square = sum((p * d * d for p, d in deviations), Fraction(0)) / total
        return sqrt_at_most_expm1(square, Fraction(side))


@dataclass(frozen=True)
class AlphaLift(_Averaged):
    """alpha-lift-privacy: ``(sum_s P(s) l(s)**alpha)**(1/alpha) <= e**upper``; of 1/l with lower.

    Both sides are convex and closed under post-processing. At alpha = inf this is `ALIP`; at
    alpha = 1 the lift-based measure is identically 1 and bounds nothing.

    Parameters
    ----------
    alpha
        1 or more, inf allowed.
    lower, upper
        Budgets in nats of the lift-inverse and of the lift-based measure (equations 32 and 29).

    Examples
    --------
    >>> AlphaLift.split(2, 1.0, 0.5)
    AlphaLift(alpha=2.0, lower=0.5, upper=0.5)
    """

    alpha: float
    lower: float
    upper: float
    kind: ClassVar[int] = 4
    fixed = ("alpha",)
    neutral: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        check_alpha(self.alpha)

    @property
    def is_box(self) -> bool:  # type: ignore[override]  # a constant elsewhere
        """Whether alpha is infinite."""
        return math.isinf(self.alpha)

    @classmethod
    def split(cls, alpha: float, epsilon: float, lam: float) -> Self:
        """Return the criterion with budgets ``lam * epsilon`` and ``(1 - lam) * epsilon``."""
        return cls(alpha, *split_budget(epsilon, lam))

    def _log_measures(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        logs = log_or_minus_inf(lift_sy)
        return log_alpha_mean(-logs, p_s, self.alpha), log_alpha_mean(logs, p_s, self.alpha)

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return the log of the measure per output and side, in nats; inf for a zero lift below."""
        low, high = self._log_measures(lift_sy, p_s)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return the log of (lift-based + lift-inverse measure) per output; ALIP's at inf."""
        if self.is_box:
            return ALIP(self.lower, self.upper).risk(lift_sy, p_s)
        return super().risk(lift_sy, p_s)

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        mass, total = sum(posterior), sum(prior)
        lifts = [(p, n * total, p * mass) for n, p in zip(posterior, prior, strict=True)]
        if all(above == below for _, above, below in lifts):
            return True
        return self._side_holds(lifts, total, self.upper, 1) and self._side_holds(
            lifts, total, self.lower, -1
        )

    def _side_holds(
        self, lifts: Sequence[tuple[int, int, int]], total: int, side: float, sign: int
    ) -> bool:
        if math.isinf(side) or (sign > 0 and self.alpha == 1):
            return True
        if side == 0:  # the mean is 1 only when every lift is, and some lift is not
            return False
        positive = [term for term in lifts if term[1] > 0]
        if sign < 0 and len(positive) < len(lifts):
            return False
        if math.isinf(self.alpha):
            ends = (((a, b) if sign > 0 else (b, a)) for _, a, b in positive)
            return all(at_most_exp(*end, Fraction(side)) for end in ends)
        return power_sum_at_most_exp(positive, total, sign * Fraction(self.alpha), Fraction(side))

    def _largest(self, p_s: Floats) -> Floats:
        if self.upper > _MOST:
            return np.full(len(p_s), np.inf)
        return math.exp(self.upper) * p_s ** (-1 / self.alpha)

    def _smallest(self, p_s: Floats) -> Floats:
        return np.asarray(math.exp(-self.lower) * p_s ** (1 / self.alpha))

    def _tangents(self, lift_s: Floats, p_s: Floats) -> list[tuple[Floats, float]]:
        """Return half-spaces that hold the region for the normal as it is, rounded or not.

        For g >= 0 and 1/alpha + 1/b = 1, Hoelder's inequality gives ``g . l <= e**upper M_b`` and
        its reverse ``g . l >= e**-lower M_q`` with q = alpha / (alpha + 1), where M_t is the power
        mean ``(sum_s P(s) (g / P(s))**t)**(1/t)``. A gradient of a huge alpha is far off in floats;
        these offsets are not.
        """
        out: list[tuple[Floats, float]] = []
        if math.isinf(self.alpha):
            return out  # the box is the region
        if self.upper < _MOST and self.alpha > 1:
            norm, normal = self._norm(lift_s, p_s)
            if norm > math.exp(self.upper):
                # Below 2 the gradient is exact enough, and b may be huge: M_b is 1.
                mean = 1.0
                if self.alpha >= 2:
                    mean = _power_mean(normal / p_s, p_s, 1 / (1 - 1 / self.alpha))
                out.append((normal, math.exp(self.upper) * mean))
        if self.lower < _MOST and (lift_s > 0).all():
            norm, gradient = self._norm(1 / lift_s, p_s)
            if norm > math.exp(self.lower):
                normal = gradient / (lift_s * lift_s)
                mean = _power_mean(normal / p_s, p_s, 1 / (1 + 1 / self.alpha))
                out.append((-normal, -math.exp(-self.lower) * mean))
        return out

    def _norm(self, values: Floats, p_s: Floats) -> tuple[float, Floats]:
        """Return (sum_s P(s) value**alpha)**(1/alpha) and its gradient."""
        logs = log_or_minus_inf(values)[:, None]
        norm = math.exp(float(log_alpha_mean(logs, p_s, self.alpha)[0]))
        # Beyond a power of 1e8 rounding alone would make the gradient 0 or infinite.
        return norm, p_s * (values / norm) ** (min(self.alpha, _STEEP) - 1)


def _power_mean(values: Floats, p_s: Floats, power: float) -> float:
    return math.exp(float(log_alpha_mean(log_or_minus_inf(values)[:, None], p_s, power)[0]))
