r"""The region "given the labels S" and its rows, for each criterion that has them.

Let a set T of values of S have ``pi = P(T)``, ``a_x = P(x|T)`` and ``b_x = P(x|not T)``. Given
which rows are of T, the counts of x in T and outside are independent binomials of a_x and b_x. An
exact one-sided p-value is super-uniform, so as a normal score it is dominated by a standard
normal, and

    P(z_a+**2 + z_b+**2 > B**2) <= P(chi2_1 > B**2) / 2 + P(chi2_2 > B**2) / 4

for each x and each direction (a too high and b too low, or the reverse). With the right side the
part of the error that one of them may have, all (a_x, b_x) lie in quarter discs of radius B at
once. A bound on ``P(T|y)`` is ``sum_x w_x psi_x <= 0`` with ``psi_x = c_a a_x - c_b b_x``, and
``sum_x psi_x = c_a - c_b`` whatever the population: `region.Row` decides it.

A bound on a mean over S mixes all values of S. Where it has no rows of its own, the rows are those
of a box of lifts that implies it, so that less may be allowed than could be: see `_box`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints
from lowlift._exact import exp_of
from lowlift._population.limits import lower_limits, normal_tail, radius, upper_limits
from lowlift._population.region import BITS, Region, Row
from lowlift.criteria import (
    LDP,
    AlphaLift,
    AtMost,
    BuiltIn,
    Chi2Lift,
    EveryPrior,
    L1Lift,
    Population,
    criterion_on,
)
from lowlift.errors import Infeasible, InvalidInput

if TYPE_CHECKING:
    from lowlift._joint import Joint

#: Steps of z_a**2 on the arc of a quarter disc; both coordinates are rounded outward.
_STEPS = 200
#: The part of the error that the intervals of P(s) may have.
PRIOR_SHARE = 0.1
#: Budgets above this count as this, which is stricter.
_MOST = 700
#: The bits of e**budget.
_PRECISION = 128
#: More than the rounding of two products and their sum, as a part of them.
_ROUNDING = 2.0**-50
#: Values of S up to which all their subsets have rows.
_MOST_VALUES = 6


class Between(NamedTuple):
    """A number known to lie between two fractions."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, eq=False)
class Discs:
    """Limits of two binomial probabilities at the corners of an arc: (steps, k).

    Row g of the upper and row ``-1 - g`` of the lower ones are a point on or outside the arc.
    Symbols with the same counts share a column: `of` has the column of each symbol, (|X|,).
    """

    of: Ints
    a_low: Floats
    a_high: Floats
    b_low: Floats
    b_high: Floats

    def mirrored(self) -> "Discs":
        """Return the same limits with a and b exchanged."""
        return Discs(self.of, self.b_low, self.b_high, self.a_low, self.a_high)

    def row(self, a: Between, b: Between, gain: Fraction) -> Row:
        """Return the row of ``psi = a a_x - b b_x``, whose sum is at most minus the gain."""
        upper = _largest(_up(max(a.high, Fraction(0))), self.a_high, _down(b.low), self.b_low)
        lower = _largest(_up(b.high), self.b_high, _down(max(a.low, Fraction(0))), self.a_low)
        if a.low < 0:  # a_x is at most 1
            lower = lower + _up(-a.low)
        ends = _whole(upper, self.of), _whole(lower, self.of)
        return Row(*ends, math.floor(gain * (1 << BITS)))

    def turned(self, a: Between, b: Between, gain: Fraction) -> Row:
        """Return the row of ``psi = b b_x - a a_x``."""
        return self.mirrored().row(b, a, gain)


def _largest(high: float, highs: Floats, low: float, lows: Floats) -> Floats:
    """Return ``max high * highs - low * lows`` over the arc, rounded up."""
    more, less = high * highs, low * lows[::-1]
    return np.asarray((more - less + _ROUNDING * (more + less)).max(axis=0))


def _up(value: Fraction | int) -> float:
    return math.nextafter(float(value), math.inf)


def _down(value: Fraction | int) -> float:
    return max(0.0, math.nextafter(float(value), -math.inf))


def _whole(values: Floats, of: Ints) -> list[int]:
    """Return the values of all symbols as multiples of 2**-BITS, rounded up."""
    whole = [int(value) for value in np.ceil(np.ldexp(values, BITS)).tolist()]
    return [whole[k] for k in of.tolist()]


@lru_cache(maxsize=8)
def population_region(joint: "Joint", criterion: Population) -> Region:
    """Return the columns that keep a bound for the population of a joint's counted rows."""
    bound = criterion_on(criterion, joint)
    if not isinstance(bound, Population):  # for type checkers: it is one with numbers for labels
        raise TypeError(type(bound).__name__)
    return region_of(counted_rows(joint), bound.criterion, bound.confidence)


def counted_rows(joint: "Joint") -> npt.NDArray[Any]:
    """Return the rows of a joint by S and X, less those that its cells were learnt from."""
    pilot = getattr(joint.origin, "pilot", ())
    if not pilot:
        return joint.counts
    try:
        counts = np.asarray(joint.counts - np.array(pilot, np.int64))
    except (ValueError, OverflowError):
        counts = np.array([-1])
    if counts.shape != joint.counts.shape or (counts < 0).any():
        raise InvalidInput("the pilot of a release must be rows of its table; the file says other.")
    return counts


def region_of(counts: npt.NDArray[Any], criterion: BuiltIn, confidence: float) -> Region:
    """Return the columns that keep a criterion for the population of counted rows.

    Parameters
    ----------
    counts
        Rows by S and X, (|S|, |X|), whole numbers; a symbol may have none.
    criterion
        Any but AtMost with a share of its budgets. The rows are exact for LIP, ALIP, MaxLift, LDP,
        AtMost, AlphaLift of infinite order, L1Lift with up to 6 values of S and Chi2Lift with 2,
        both with ``lower=math.inf``; of others they allow less.
    confidence
        The least probability, over samples, that the region holds the population.

    Raises
    ------
    InvalidInput
        For a criterion that has no rows here.
    """
    table = np.asarray(counts, np.float64)
    n_s, n_x = table.shape
    if n_s == 1:  # every lift is 1
        return Region((), n_x)
    error = _error(confidence)
    criterion = criterion.in_nats
    if isinstance(criterion, EveryPrior):  # what holds for every prior holds for these
        criterion = LDP(min(criterion.lower, criterion.upper))
    if isinstance(criterion, LDP):
        return Region(tuple(_ratio_rows(table, criterion.epsilon, error)), n_x)
    sets = _sets(criterion, n_s)
    disc_error = (1 - PRIOR_SHARE) * error / (2 * len(sets) * n_x)
    # A bound on lifts needs the smallest P(s) of each s, others both ends of each set's.
    needs_both = isinstance(criterion, L1Lift | Chi2Lift | AtMost)
    prior_error = PRIOR_SHARE * error / (2 * len(sets) if needs_both else n_s)
    found: list[Row] = []
    for chosen in sets:
        inside = table[list(chosen)].sum(axis=0)
        outside = table.sum(axis=0) - inside
        discs = discs_of(inside, outside, disc_error)
        prior = interval_of(inside.sum(), table.sum(), prior_error)
        found += _rows_of_set(criterion, n_s, chosen, discs, prior)
        # Of two values, or of a set and the rest, one pair of discs is the mirror of the other.
        if n_s == 2 or _has_sets(criterion, n_s):
            rest = Between(1 - prior.high, 1 - prior.low)
            others = tuple(s for s in range(n_s) if s not in chosen)
            found += _rows_of_set(criterion, n_s, others, discs.mirrored(), rest)
    return Region(tuple(found), n_x)


def _error(confidence: float) -> float:
    """Return 1 - confidence, of the decimal number that was written, rounded down."""
    return math.nextafter(float(1 - Fraction(repr(confidence))), 0.0)


def _has_sets(criterion: BuiltIn, n_s: int) -> bool:
    """Whether the rows are those of all sets of values of S."""
    is_upper = isinstance(criterion, L1Lift) and math.isinf(criterion.lower)
    return is_upper and n_s <= _MOST_VALUES


def _sets(criterion: BuiltIn, n_s: int) -> list[tuple[int, ...]]:
    """Return the sets of values of S whose probabilities are bounded, one of two complements."""
    if getattr(criterion, "share", 1) != 1:
        raise InvalidInput(
            f"{criterion} for the population is not known for a share of its budgets. Use other "
            "factors and beliefs, or the bound for this table."
        )
    if _has_sets(criterion, n_s):
        every = [t for size in range(1, n_s) for t in combinations(range(n_s), size)]
        return [t for t in every if 0 in t]
    return [(0,)] if n_s == 2 else [(s,) for s in range(n_s)]


def _rows_of_set(
    criterion: BuiltIn, n_s: int, chosen: tuple[int, ...], discs: Discs, prior: Between
) -> Iterator[Row]:
    """Yield the rows that bound P(T|y) from above, and for two-sided criteria from below."""
    if _has_sets(criterion, n_s):
        yield from _difference_row(discs, prior, criterion.upper)
        return
    if isinstance(criterion, Chi2Lift) and math.isinf(criterion.lower) and n_s == 2:
        square = (1 - prior.high) / prior.high  # the least that any P(s) allows
        yield from _lift_rows(discs, prior, _exactly(1 + _reach(criterion.upper, square)))
        return
    if isinstance(criterion, AtMost):
        for s, belief in criterion.bounds():
            if chosen == (s,) and belief < 1:
                yield _belief_row(discs, prior, belief)
    least, most = _box(criterion, n_s, prior)
    if most is not None:
        yield from _lift_rows(discs, prior, most)
    if least is not None and least.low > 0:
        yield discs.turned(*_coefficients(least, prior.low), 1 - least.high)


def _box(criterion: BuiltIn, n_s: int, prior: Between) -> tuple[Between | None, Between | None]:
    """Return the least and the largest lift of one s in a box of lifts that implies a criterion.

    It is the criterion itself for LIP, ALIP and MaxLift. As lifts have the mean 1, those of at most
    b have ``sum P(s) l**alpha <= b**(alpha - 1)``. With ``|l - 1| <= c / sqrt(|S| P(s))`` for each
    s the chi2-lift is at most c, and so is the l1-lift, a mean of what the other is the root of the
    mean square of. The same holds of 1/l.
    """
    lower, upper = criterion.lower, criterion.upper
    if isinstance(criterion, AtMost):
        upper = lower  # in nats, of the factor
    if isinstance(criterion, AlphaLift) and not criterion.is_box and not math.isinf(upper):
        alpha = Fraction(criterion.alpha)
        upper = math.inf
        if alpha > 1:
            times = Fraction(criterion.upper) * alpha / (alpha - 1)
            upper = max(0.0, math.nextafter(float(min(times, Fraction(_MOST))), 0.0))
    if not isinstance(criterion, L1Lift | Chi2Lift):
        return (
            None if math.isinf(lower) else _power(-lower),
            None if math.isinf(upper) else _power(upper),
        )
    share, least, most = 1 / (n_s * prior.high), list[Fraction](), list[Fraction]()
    if not math.isinf(upper):
        reach = _reach(upper, share)
        least.append(1 - reach)
        most.append(1 + reach)
    if not math.isinf(lower):
        reach = _reach(lower, share)
        least.append(1 / (1 + reach))
        if reach < 1:
            most.append(1 / (1 - reach))
    return (
        _exactly(max(least)) if least else None,
        _exactly(min(most)) if most else None,
    )


def _exactly(value: Fraction) -> Between:
    return Between(value, value)


def _lift_rows(discs: Discs, prior: Between, factor: Between) -> Iterator[Row]:
    """Yield ``P(T|y) <= factor P(T)``; where factor P(T) is 1 or more, it bounds nothing.

    It reads ``P(y|T) / P(y|not T) <= factor (1 - pi) / (1 - factor pi)``, which is least at the
    smallest pi; the lower side, ``>=`` with a factor below 1, is largest there.
    """
    if factor.low * prior.low < 1:
        yield discs.row(*_coefficients(factor, prior.low), factor.low - 1)


def _coefficients(factor: Between, prior: Fraction) -> tuple[Between, Between]:
    """Return ``1 - factor P(T)`` and ``factor (1 - P(T))``."""
    a = Between(1 - factor.high * prior, 1 - factor.low * prior)
    return a, Between(factor.low * (1 - prior), factor.high * (1 - prior))


def _belief_row(discs: Discs, prior: Between, belief: Fraction) -> Row:
    """Return ``P(s|y) <= belief``: worst at the largest P(s)."""
    if prior.high > belief:
        raise Infeasible(
            "a belief must be at least what P(s) may be in the population, as beliefs average to "
            f"it over the outputs; got {float(belief):g}, and P(s) may be "
            f"{float(prior.high):.3g}. Raise it, or lower the confidence."
        )
    a, b = (1 - belief) * prior.high, belief * (1 - prior.high)
    return discs.row(Between(a, a), Between(b, b), b - a)


def _difference_row(discs: Discs, prior: Between, budget: float) -> Iterator[Row]:
    """Yield ``P(T|y) - P(T) <= c / 2`` for c = e**budget - 1.

    It reads ``g A - (g + c / 2) B <= 0`` with A = P(y|T), B = P(y|not T) and ``g = pi (1 - pi -
    c / 2)``: worst at the largest g, whatever A and B.
    """
    if math.isinf(budget):
        return
    half = Between(*((end - 1) / 2 for end in _power(budget)))
    if half.low + prior.low >= 1:
        return
    best = min(max((1 - half.low) / 2, prior.low), prior.high)
    g = max(best * (1 - best - half.low), Fraction(0))
    yield discs.row(Between(g, g), Between(g + half.low, g + half.high), half.low)


def _reach(budget: float, square: Fraction) -> Fraction:
    """Return ``c sqrt(square)`` with c = e**budget - 1, rounded down."""
    c, scale = _power(min(budget, _MOST)).low - 1, 1 << _PRECISION
    return c * Fraction(math.isqrt(math.floor(square * scale * scale)), scale)


def _ratio_rows(table: Floats, epsilon: float, error: float) -> Iterator[Row]:
    """Yield ``P(y|s) <= e**epsilon P(y|t)`` for all pairs: neither P(s) nor P(x) is needed."""
    if math.isinf(epsilon):
        return
    n_s, n_x = table.shape
    one, factor = Between(Fraction(1), Fraction(1)), _power(epsilon)
    for s, t in combinations(range(n_s), 2):
        discs = discs_of(table[s], table[t], error / (n_s * (n_s - 1) * n_x))
        yield discs.row(one, factor, factor.low - 1)
        yield discs.mirrored().row(one, factor, factor.low - 1)


@cache
def _power(budget: float) -> Between:
    """Enclose e**budget; a budget beyond 700 counts as 700."""
    exact = max(-Fraction(_MOST), min(Fraction(_MOST), Fraction(budget)))
    if exact == 0:
        return Between(Fraction(1), Fraction(1))
    low, high = exp_of(exact, _PRECISION + 1100 * (exact < 0))
    scale = 1 << (_PRECISION + 1100 * (exact < 0))
    return Between(Fraction(low, scale), Fraction(high, scale))


def interval_of(hits: float, draws: float, level: float) -> Between:
    """Return a confidence interval of a probability; `level` is the error of each side."""
    one = np.array([hits])
    low, high = lower_limits(one, draws, level)[0], upper_limits(one, draws, level)[0]
    return Between(Fraction(float(low)), Fraction(float(high)))


def discs_of(inside: Floats, outside: Floats, error: float, steps: int = _STEPS) -> Discs:
    """Return the discs of two rows of counts, each of which is missed with this error."""
    size = radius(error)
    levels = np.array([normal_tail(size * math.sqrt((g + 1) / steps)) for g in range(steps)])
    pairs, of = np.unique(np.stack([inside, outside]), axis=1, return_inverse=True)
    limits = (
        _both_limits(hits, float(all_hits.sum()), levels)
        for hits, all_hits in zip(pairs, (inside, outside), strict=True)
    )
    return Discs(of.reshape(-1), *(end for ends in limits for end in ends))


def _both_limits(hits: Floats, draws: float, levels: Floats) -> tuple[Floats, Floats]:
    """Return lower and upper limits at each level, (levels, k)."""
    different, which = np.unique(hits, return_inverse=True)
    low, high = (
        limits(different, draws, levels[:, None]) for limits in (lower_limits, upper_limits)
    )
    return low[:, which], high[:, which]
