"""A bound for many readers at once: for every prior that gives each value of S some share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from lowlift._arrays import Floats
from lowlift._exact import at_most_exp
from lowlift._kernels.lift import log_or_minus_inf
from lowlift.criteria.numbers import as_float, largest_budget, written
from lowlift.criteria.pointwise import ALIP, violated
from lowlift.criteria.protocol import ZERO_RISK, BuiltIn, HalfSpaces, budget
from lowlift.errors import InvalidInput


@dataclass(frozen=True)
class EveryPrior(BuiltIn):
    """Bounds on the lift for every prior q with ``q(s) >= at_least`` for each s, and for P_S.

    A reader with the prior q has the lift ``P(y|s) / sum_t q(t) P(y|t)``: P(x|s) is that of the
    table. All of them lie between ``e**-lower`` and ``e**upper``. The priors are a simplex, the
    lift's inverse is linear in q, so the corners of the simplex are enough: with n values of S,
    c = at_least and the table's lifts l, the bound is

        ``max_s l(s) <= e**upper  min(1, c sum_s l(s) + (1 - n c) min_s l(s))``
        ``min_s l(s) >= e**-lower max(1, c sum_s l(s) + (1 - n c) max_s l(s))``

    The 1 is the table's own prior. At c = 0 both are `LDP`; the larger c, the fewer readers.

    Parameters
    ----------
    at_least
        c, the least that a prior gives each value of S: from 0 to 1/n. A float stands for its
        shortest decimal form: 0.1 is a tenth.
    lower, upper
        Budgets in nats of the smallest and of the largest lift: 0 or more, inf for no bound.

    Guarantee
        For every observer who knows P(x|s) and whose prior is P_S or gives each s at least c.
        Closed under post-processing.

    Examples
    --------
    Lifts 5/4 and 3/4 keep ALIP for the table. A reader who thought the first value rare has the
    lift (5/4) / (7/8) = 10/7:

    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[5, 3], [3, 5]])
    >>> channel = ll.Channel.identity(joint)
    >>> ll.audit(joint, channel, ll.LIP.at_most(1.4)).is_satisfied
    True
    >>> ll.audit(joint, channel, EveryPrior.at_most(1.4, at_least=0.25)).is_satisfied
    False
    >>> ll.audit(joint, channel, EveryPrior.at_most(1.6, at_least=0.25)).is_satisfied
    True
    """

    at_least: float
    lower: float
    upper: float

    kind: ClassVar[int] = -1  # no compiled kernel
    is_polyhedral = True
    fixed = ("at_least",)

    def __post_init__(self) -> None:
        rule = "a probability from 0 to 1/|S|, such as 0.01"
        exact = written(self.at_least, "at_least", rule, lambda value: 0 <= value <= 1)
        object.__setattr__(self, "at_least", as_float(self.at_least, exact))
        if math.isinf(self.at_least):
            raise InvalidInput(f"at_least must be {rule}; got inf.")
        for name in ("lower", "upper"):
            object.__setattr__(self, name, budget(getattr(self, name), name))

    @classmethod
    def at_most(cls, factor: float | Fraction, *, at_least: float) -> Self:
        """Return the criterion for a factor: no s becomes more than so many times as likely.

        Nor less than 1/factor times, for any of the readers. The budgets are the largest float with
        ``e**budget <= factor``, proven: never looser.

        Examples
        --------
        >>> EveryPrior.at_most(2, at_least=0.1)
        EveryPrior(at_least=0.1, lower=0.6931471805599453, upper=0.6931471805599453)
        """
        side = largest_budget(factor)
        return cls(at_least, side, side)

    def shifted(self, by: float) -> Self:
        """Return what holds for all lifts within a factor ``e**by``: of two of them."""
        sides = (max(0.0, side + 2 * by) for side in (self.lower, self.upper))
        return type(self)(self.at_least, *sides)

    def _share(self, n_s: int) -> Fraction:
        """Return c exactly.

        Raises
        ------
        InvalidInput
            If no prior gives each of so many values as much.
        """
        exact = Fraction(repr(self.at_least))
        if exact * n_s > 1:
            raise InvalidInput(
                f"at_least must be at most 1/{n_s}, as S has {n_s} values whose probabilities sum "
                f"to 1; got {self.at_least!r}. Lower it."
            )
        return exact

    def means(self, lift_sy: Floats) -> tuple[Floats, Floats]:
        """Return, per output, the least and the largest mean lift over all the priors."""
        c, n_s = self._share(len(lift_sy)), len(lift_sy)
        even, rest = float(c) * lift_sy.sum(axis=0), float(1 - n_s * c)
        least, most = (even + rest * end for end in (lift_sy.min(axis=0), lift_sy.max(axis=0)))
        return np.minimum(least, 1.0), np.maximum(most, 1.0)

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 (the protocol's)
        """Return ``-log`` of the smallest and ``log`` of the largest lift of any of the readers."""
        least, most = self.means(lift_sy)
        low = np.log(most) - log_or_minus_inf(lift_sy.min(axis=0))
        return low, np.log(lift_sy.max(axis=0)) - log_or_minus_inf(least)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return the leakage of both sides together; a side of infinite budget does not enter.

        Infinite leakages are cut at 1e6 nats for each zero lift.
        """
        low, high = self.leakage(lift_sy, p_s)
        most = ZERO_RISK * np.maximum(np.count_nonzero(lift_sy == 0, axis=0), 1)
        low, high = np.minimum(low, most), np.minimum(high, most)
        if math.isinf(self.upper):
            high = np.zeros_like(high)
        elif math.isinf(self.lower):
            low = np.zeros_like(low)
        return np.asarray(low + high)

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""
        pairs = list(zip(map(int, posterior), map(int, prior), strict=True))
        own = Fraction(sum(n for n, _ in pairs), sum(p for _, p in pairs))
        rates = [Fraction(n, p) for n, p in pairs]
        c, low, high = self._share(len(rates)), min(rates), max(rates)
        even, rest = c * sum(rates), 1 - len(rates) * c
        sides = (
            (self.upper, high, min(own, even + rest * low)),
            (self.lower, max(own, even + rest * high), low),
        )
        return all(_is_ratio_at_most(*side) for side in sides)

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return the box around the region: the table's own prior is one of the priors."""
        return ALIP(self.lower, self.upper).half_spaces(p_s)

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return what is broken: faces of the box, and the bounds of the worst prior of each side.

        These are ``l(s) <= e**upper q . l`` and ``e**-lower q . l <= l(s)`` at a corner q.
        """
        box = violated(self.half_spaces(p_s), lift_s)
        s, t = int(lift_s.argmax()), int(lift_s.argmin())
        normals = []
        if self.upper < 700:
            normals.append(-math.exp(self.upper) * self._corner(t, len(p_s)))
            normals[-1][s] += 1.0
        if math.isfinite(self.lower):
            normals.append(math.exp(-self.lower) * self._corner(s, len(p_s)))
            normals[-1][t] -= 1.0
        rows = np.array(normals).reshape(-1, len(p_s))
        found = violated(HalfSpaces(rows, np.zeros(len(rows))), lift_s)
        return HalfSpaces(np.r_[found.normals, box.normals], np.r_[found.offsets, box.offsets])

    def _corner(self, s: int, n_s: int) -> Floats:
        """Return the prior that gives every other value of S the least, and s the rest."""
        c = self._share(n_s)
        prior = np.full(n_s, float(c))
        prior[s] = float(1 - (n_s - 1) * c)
        return prior


def _is_ratio_at_most(side: float, above: Fraction, below: Fraction) -> bool:
    """Decide ``above <= e**side below``."""
    if math.isinf(side):
        return True
    if below == 0:
        return False
    ratio = above / below
    return at_most_exp(ratio.numerator, ratio.denominator, Fraction(side))
