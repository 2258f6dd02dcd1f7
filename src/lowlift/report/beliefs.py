"""What others can believe about one person, before and after: "8% before, at most 16% after"."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lowlift._audit import Audit
from lowlift._exact import exp_of
from lowlift._guarantees import ends_of
from lowlift._wording import cell, shown
from lowlift.confidence import lift_intervals
from lowlift.criteria import AtMost, BetaLikeness, Population, plain_criterion
from lowlift.figures.beliefs import belief_svg

#: Products of whole numbers up to which the worst beliefs are computed exactly.
_MOST_PRODUCTS = 200_000
#: The precision of powers of e.
_BITS = 128
#: More than the rounding of the intervals of a sample, as a part of them.
_OUTWARD = 1e-9
#: Where the scale of several beliefs can end.
_TOPS = (0.1, 0.25, 0.5, 1.0)
#: Budgets beyond this bound nothing that is to be seen.
_LARGEST = 700.0
#: The factors that the app names, each with what it allows for the rarest value.
STOPS = (1.5, 2.0, 3.0, 5.0)
#: The most digits of a share, among several and beside a factor.
_DIGITS, _MOST_DIGITS = 3, 4


class Belief(NamedTuple):
    """How likely a value of S is before, and between which ends after any published row.

    Attributes
    ----------
    value
        The value of S, as people read it.
    before
        P(s), its share of the table.
    least, most
        The ends of P(s|y) over everything that is published: for this table exact or rounded
        outward; for a `Population`, what its region of populations leaves possible.
    limit
        The largest belief that the criterion allows, rounded up; None where it bounds no single
        value.
    is_kept
        Whether the exact audit allows everything that is published.
    digits
        The fewest digits of its percentages; see `in_same_digits`.
    """

    value: str
    before: Fraction
    least: Fraction
    most: Fraction
    limit: Fraction | None = None
    is_kept: bool = True
    digits: int = 2

    @property
    def factor(self) -> float:
        """How many times as likely the value can become."""
        return float(self.most / self.before)

    @property
    def shown_digits(self) -> int:
        """How many digits it is written to: three where fewer seem to say more of a growth."""
        is_small = self.most - self.before < min(Fraction(1, 100), self.before / 10)
        return _DIGITS if is_small or self._seems_beyond else self.digits

    @property
    def after(self) -> str:
        """The largest belief after, in percent, rounded up."""
        return share_text(self.most, ROUND_CEILING, self.shown_digits)

    @property
    def lead(self) -> str:
        """What stands before the largest belief: ``8% before, at most``."""
        return f"{self._was} before, {self._bound}"

    @property
    def words(self) -> str:
        """What a row can tell: ``8% before, at most 16% after``."""
        return f"{self.lead} {self.after} after"

    @property
    def in_short(self) -> str:
        """The same where there is little room: ``8%, then at most 16%``."""
        return f"{self._was}, then {self._bound} {self.after}"

    @property
    def title(self) -> str:
        """Value and both ends in words, for a picture."""
        low = share_text(self.least, ROUND_FLOOR, self.shown_digits)
        return (
            f"{self.value}: {self._was} before, between {low} and {self.after} after seeing a row"
        )

    @property
    def picture(self) -> str:
        """The belief as an ``<svg>`` element from 0 to 100%; see `belief_svg`."""
        return self.drawn(1.0)

    def drawn(self, top: float) -> str:
        """Return the belief as an ``<svg>`` element from 0 to `top`."""
        numbers = (float(self.before), float(self.least), float(self.most))
        limit = self.limit
        if limit is not None and self.is_kept:  # what is allowed is not drawn as beyond
            limit = max(limit, self.most)
        end = None if limit is None else float(limit)
        return belief_svg(*numbers, end, title=self.title, top=top)

    @property
    def _bound(self) -> str:
        return "at most" if self.is_kept else "up to"

    @property
    def _was(self) -> str:
        return share_text(self.before, digits=self.shown_digits)

    @property
    def _seems_beyond(self) -> bool:
        """Whether of what is within its limit two digits say that it is not: 12% to 25% for 2."""
        if self.limit is None or self.limit >= 1 or self.most > self.limit:
            return False
        before = _read(share_text(self.before))
        after = _read(share_text(self.most, ROUND_CEILING))
        return after * self.before > self.limit * before


def share_text(share: Fraction | float, rounding: str = ROUND_HALF_UP, digits: int = 2) -> str:
    """Return a share in percent to so many digits, above 99% to three or more.

    A zero at the end is written where the share was rounded to it: 12.0% may be 11.95%.

    Examples
    --------
    >>> share_text(Fraction(1, 12), ROUND_CEILING), share_text(Fraction(4, 25)), share_text(0.0)
    ('8.4%', '16%', '0%')
    >>> share_text(Fraction(9996, 10000)), share_text(Fraction(1001, 10000), ROUND_CEILING)
    ('99.9%', '11%')
    >>> share_text(Fraction(11951, 100000), ROUND_CEILING, 3), share_text(Fraction(12, 100))
    ('12.0%', '12%')
    """
    exact = Fraction(share)
    digits = max(3, digits) if exact > Fraction(99, 100) else digits
    if exact not in {0, 1} and rounding != ROUND_CEILING and exact > Fraction(99, 100):
        rounding = ROUND_FLOOR  # what is not certain is not written so
    context = Context(prec=digits, rounding=rounding)
    return _written(exact, context.create_decimal(_percent(exact, rounding)))


def _percent(share: Fraction, rounding: str) -> Decimal:
    """Return 100 times a share, to so many digits that a tie or one beyond the last is seen."""
    wide = Context(prec=60, rounding=rounding)
    return wide.divide(Decimal(100 * share.numerator), Decimal(share.denominator))


def _written(share: Fraction, percent: Decimal) -> str:
    """Return a share that was rounded to so many percent; zeros at the end only if it was."""
    is_exact = Fraction(percent) == 100 * share
    return f"{percent.normalize() if is_exact else percent:f}%"


def _read(text: str) -> Fraction:
    """Return the share that `share_text` wrote."""
    return Fraction(text.removesuffix("%")) / 100


def beliefs_of(audit: Audit) -> tuple[Belief, ...]:
    """Return the belief in each value of S, in the order of the joint.

    Guarantee
        `most` is never below the largest P(s|y) of the audited channel on the audited counts; for
        a `Population` it holds for the population, with the confidence of the criterion.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3], [3, 1]], ["ill", "well"], ["a", "b"])
    >>> found = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP.at_most(1.5)))
    >>> found[0].value, found[0].words, found[0].limit
    ('ill', '50% before, up to 75% after', Fraction(2, 3))
    """
    joint, criterion = audit.joint, audit.criterion
    total = sum(joint.prior)
    shares = [Fraction(n, total) for n in joint.prior]
    if isinstance(criterion, Population):
        lows, highs, bases = _of_population(audit, criterion)
    else:
        (lows, highs), bases = _of_table(audit, shares), shares
    limits = _limits(audit, bases)
    is_exact = audit.is_satisfied and not isinstance(criterion, Population)
    found = []
    for s, label in enumerate(joint.s_labels):
        most, limit = max(highs[s], shares[s]), limits[s]
        if limit is not None and is_exact:  # decided in whole numbers: no more than is allowed
            most = max(min(most, limit), shares[s])
        least = min(lows[s], shares[s])
        value = cell(shown(label))
        found.append(Belief(value, shares[s], least, most, limit, audit.is_satisfied))
    return in_same_digits(found)


def in_same_digits(beliefs: Sequence[Belief]) -> tuple[Belief, ...]:
    """Return beliefs that stand together, all to three digits if one of them is.

    A share is then written alike wherever a page has it: also beside the `STOPS`.

    Examples
    --------
    >>> near = Belief("ill", Fraction(1, 3), Fraction(0), Fraction(67, 200))
    >>> far = Belief("well", Fraction(2, 3), Fraction(1, 2), Fraction(1))
    >>> [belief.words for belief in in_same_digits([near, far])]
    ['33.3% before, at most 33.5% after', '66.7% before, at most 100% after']
    """
    every = [belief.shown_digits for belief in beliefs]
    if beliefs:
        every.append(_digits_beside(min(beliefs, key=lambda belief: belief.before), STOPS))
    digits = min(_DIGITS, max(every, default=2))
    return tuple(belief._replace(digits=digits) for belief in beliefs)


def allowed_text(belief: Belief, factor: float) -> str:
    """Return from where to where a factor for all lifts lets a belief go, rounded up.

    The value becomes at most `factor` times as likely, and the others together no less than
    1/`factor` times. Of this table: for a `Population`, P(s) is not known exactly.

    Examples
    --------
    >>> half = Belief("ill", Fraction(1, 2), Fraction(0), Fraction(1))
    >>> allowed_text(half, 1.5), allowed_text(half, 3.0)
    ('50%, then at most 67%', '50%, then at most 84%')
    """
    digits = max(belief.digits, _digits_beside(belief, (*STOPS, factor)))
    before, after = _allowed(belief, factor, digits)
    return f"{before}, then at most {after}"


def _allowed(belief: Belief, factor: float, digits: int) -> tuple[str, str]:
    """Return a share to so many digits, and what a factor allows, to as many decimal places."""
    exact, share = Fraction(repr(factor)), belief.before
    most = min(share * exact, 1 - (1 - share) / exact)
    first = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(
        _percent(share, ROUND_HALF_UP)
    )
    places = max(0, digits - 1 - first.adjusted())
    after = _percent(most, ROUND_CEILING).quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
    return share_text(share, digits=digits), _written(most, after)


def _digits_beside(belief: Belief, factors: Sequence[float]) -> int:
    """Return the fewest digits to which what factors allow does not seem to be more than that.

    Three where it does to any: what is after is rounded up, and what was before may be down.
    """

    def seems_beyond(digits: int) -> bool:
        for factor in factors:
            before, after = _allowed(belief, factor, digits)
            if _read(after) > Fraction(repr(factor)) * _read(before):
                return True
        return False

    every = range(belief.digits, _MOST_DIGITS + 1)
    return next((digits for digits in every if not seems_beyond(digits)), _DIGITS)


def top_of(beliefs: Sequence[Belief]) -> float:
    """Return the end of a scale on which all of them can be seen: 0.1, 0.25, 0.5 or 1.

    Examples
    --------
    >>> top_of([Belief("ill", Fraction(1, 14), Fraction(0), Fraction(1, 11))])
    0.1
    """
    ends = [end for each in beliefs for end in (each.most, each.limit or each.most)]
    return next((top for top in _TOPS if top >= max(ends)), 1.0)


def worst_first(beliefs: Sequence[Belief]) -> list[Belief]:
    """Return beliefs, those that can grow by the largest factor first."""
    return sorted(beliefs, key=lambda belief: (-belief.factor, -belief.most))


def _limits(audit: Audit, bases: Sequence[Fraction]) -> list[Fraction | None]:
    """Return the largest belief that the criterion allows in each value, rounded up."""
    plain = plain_criterion(audit.criterion)
    lower, upper = ends_of(plain)
    limits: list[Fraction | None] = [None] * len(bases)
    if math.isfinite(upper):
        limits = [min(Fraction(1), base * _factor(upper)) for base in bases]
    if math.isfinite(lower):  # what all other values keep is not left for this one
        rest = [1 - (1 - base) / _factor(lower) for base in bases]
        limits = [r if old is None else min(old, r) for old, r in zip(limits, rest, strict=True)]
    if isinstance(plain, BetaLikeness):
        limits = [plain.allowed(base) for base in bases]
    if isinstance(plain, AtMost):
        for s, bound in plain.aligned(audit.joint.s_labels).bounds():
            old = limits[s]
            limits[s] = bound if old is None else min(old, bound)
    return limits


def _factor(budget: float) -> Fraction:
    """Return e**budget, rounded up."""
    factor = Fraction(exp_of(Fraction(min(budget, _LARGEST)), _BITS)[1], 1 << _BITS)
    # A budget made of a factor is the float just below its logarithm: 2, not 1.9999999999.
    whole = factor.limit_denominator(1_000_000)
    if whole >= factor and float(whole - factor) <= 4e-16 * float(whole):
        return whole
    return factor


def _of_table(audit: Audit, shares: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Return the least and the largest P(s|y): exact if that is little work, else outward."""
    lift, error = audit.lift, 4 * audit.joint.lift_error
    least, most = lift.min(axis=1), lift.max(axis=1)
    near_least = lift <= (least * (1 + 2 * error))[:, None]
    near_most = lift >= (most * (1 - 2 * error))[:, None]
    outputs = np.flatnonzero((near_least | near_most).any(axis=0)).tolist()
    work = len(shares) * sum(len(audit.channel.atom(y)[0]) for y in outputs)
    if work > _MOST_PRODUCTS:
        outward = [(1 - error, 1 + error), (least, most)]
        ends = [
            [
                min(Fraction(1), share * Fraction(x * by))
                for share, x in zip(shares, side.tolist(), strict=True)
            ]
            for by, side in zip(*outward, strict=True)
        ]
        return ends[0], ends[1]
    columns = {y: audit.joint.exact_column(*audit.channel.atom(y)) for y in outputs}

    def end(s: int, near: Sequence[bool], choose: Callable[..., Fraction]) -> Fraction:
        return choose(Fraction(columns[y][s], sum(columns[y])) for y in outputs if near[y])

    every = range(len(shares))
    return [end(s, near_least[s], min) for s in every], [end(s, near_most[s], max) for s in every]


def _of_population(
    audit: Audit, criterion: Population
) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Return the ends of P(s|y), and the largest P(s), that a sample leaves possible.

    All come from one set of simultaneous intervals, so that they hold together. A lift above 1 is
    largest, and one below 1 smallest, at the smallest P(s), but a belief is largest at the largest
    P(s): no population has both.
    """
    found = lift_intervals(audit.joint, audit.channel, criterion.confidence)
    p_low, p_high = found.p_s_low.tolist(), found.p_s_high.tolist()
    least, most = found.low.min(axis=1).tolist(), found.high.max(axis=1).tolist()
    lows = [
        Fraction(_believed(x * (1 - _OUTWARD), low if x < 1 else high, low) * (1 - _OUTWARD))
        for x, low, high in zip(least, p_low, p_high, strict=True)
    ]
    highs = [
        Fraction(
            min(1.0, _believed(x * (1 + _OUTWARD), low if x > 1 else high, high) * (1 + _OUTWARD))
        )
        for x, low, high in zip(most, p_low, p_high, strict=True)
    ]
    return lows, highs, [Fraction(min(1.0, p * (1 + _OUTWARD))) for p in p_high]


def _believed(lift: float, at: float, share: float) -> float:
    """Return P(s|y) if P(s) is `share`, of an output whose lift is `lift` where P(s) is `at`.

    Of it P(y|s) and P(y|not s) are the same, whatever P(s) is.
    """
    rest = 1 - lift * at
    if rest <= 0:
        return 1.0
    ratio = lift * (1 - at) / rest
    return share * ratio / (share * ratio + 1 - share)
