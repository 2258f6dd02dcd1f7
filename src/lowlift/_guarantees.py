"""What a criterion promises, in numbers and in words, and how far a search came."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from lowlift._rounding import at_least, at_most, ceiling, expm1_at_most, floor, part_at_least
from lowlift._wording import joined, shown
from lowlift.criteria import (
    LDP,
    AlphaLift,
    AtMost,
    BuiltIn,
    Chi2Lift,
    Criterion,
    EveryPrior,
    L1Lift,
    Population,
    TCloseness,
    plain_criterion,
)

if TYPE_CHECKING:
    from lowlift._certificates import Certificate


#: A larger budget of an average is said as so many times, and not in percent.
_MOST_PERCENT = 2.3
#: How a factor is said beside beliefs; codebooks hold the second, which must not change.
_SIDES = "no sensitive value is more than {} times as likely as it was, nor less than {} as likely"
_STORED_SIDES = "no sensitive value is more than {0} or less than 1/{0} times as likely as it was"
#: How the advice on a search that was stopped begins.
MORE_TIME = "More time may keep more:"

_READER = (
    "This holds for a reader who knows {distributions} "
    "in the {whole}, knows this codebook, and sees what was published of one record. Not covered: "
    "other knowledge about that person, other columns or releases of the same table, the order of "
    "rows, and that a person is in the table."
)


class Ends(NamedTuple):
    """How far a criterion bounds every lift, in nats; inf where it does not."""

    lower: float
    upper: float


def ends_of(criterion: Criterion) -> Ends:
    """Return the bounds on single lifts that follow from a criterion, whatever P(s) is.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, MaxLift
    >>> ends_of(ALIP(0.5, 1.0)), ends_of(LDP(1.0)), ends_of(MaxLift(2.0))
    (Ends(lower=0.5, upper=1.0), Ends(lower=1.0, upper=1.0), Ends(lower=inf, upper=2.0))
    """
    criterion = plain_criterion(criterion)
    if isinstance(criterion, LDP):
        return Ends(criterion.epsilon, criterion.epsilon)
    if isinstance(criterion, AtMost):  # what holds for all values of S
        return Ends(criterion.lower, criterion.lower)
    if isinstance(criterion, EveryPrior) or (isinstance(criterion, BuiltIn) and criterion.is_box):
        lower, upper = criterion.lower, criterion.upper
        # Lifts average to 1: none can be above alone, or below alone.
        return Ends(0.0, 0.0) if 0 in {lower, upper} else Ends(lower, upper)
    return Ends(math.inf, math.inf)


def closeness(criterion: Criterion) -> float:
    """Return the largest total variation between P(s|y) and P(s) that follows from a criterion.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> round(closeness(ALIP(0.5, 0.5)), 4), closeness(ALIP(math.inf, math.inf))
    (0.2449, 1.0)
    """
    criterion = plain_criterion(criterion)
    ends = ends_of(criterion)
    if isinstance(criterion, LDP):
        return math.tanh(criterion.epsilon / 4) if criterion.epsilon < 700 else 1.0
    if isinstance(criterion, TCloseness):
        return criterion.t
    if isinstance(criterion, L1Lift | Chi2Lift):
        return min(1.0, math.expm1(criterion.upper) / 2 if criterion.upper < 700 else 1.0)
    low = math.exp(-ends.lower)
    if ends.upper > 700:
        return 1.0 - low
    high = math.exp(ends.upper)
    return 0.0 if high == low else (high - 1) * (1 - low) / (high - low)


def guarantee_of(criterion: Criterion) -> str:
    """Return what a criterion promises, in words and numbers rounded to the safe side.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> print(guarantee_of(ALIP(0.5, 1.0)).partition(". ")[0])
    No published value makes any sensitive value more than 2.719 times or less than 0.6065 times \
as likely as it was before
    """
    if not isinstance(criterion, BuiltIn):
        return f"lowlift did not define {criterion}: its author must say what it bounds."
    whole = "population" if isinstance(criterion, Population) else "table"
    known = "how the sensitive and the released values are distributed"
    if isinstance(plain_criterion(criterion), EveryPrior):
        known = "how the released values are distributed for each sensitive value"
    return f"{_promise(criterion)} {_READER.format(whole=whole, distributions=known)}"


def for_whom(criterion: Criterion) -> str:
    """Return for what the bound holds: this table, or the population that its rows came from.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> for_whom(LIP(0.5))
    'for this table: its rows are everybody'
    >>> for_whom(Population(LIP(0.5), 0.9))
    'for the population that the rows are a random sample of, with confidence 0.9'
    """
    if isinstance(criterion, Population):
        return (
            "for the population that the rows are a random sample of, with confidence "
            f"{criterion.confidence!r}"
        )
    return "for this table: its rows are everybody"


def limited(ends: Ends) -> str:
    """Return that lifts stay within ends, of which one is finite, as promised or as measured."""
    if ends == Ends(0, 0):
        return "seeing a published value tells nothing about the sensitive values"
    words = _factors(ends)
    return f"seeing a published value makes no sensitive value {words} as likely as it was"


def promise_of(criterion: Criterion, say: Callable[[Ends], str] = limited) -> str:
    """Return what the bound promises: one sentence, without jargon where that is possible.

    Parameters
    ----------
    criterion
        The bound.
    say
        How limits on single lifts are said.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, MaxLift
    >>> promise_of(ALIP(0.5, 1.0))
    'seeing a published value makes no sensitive value more than 2.72 times or less than 0.606 \
times as likely as it was'
    >>> promise_of(MaxLift(0.0))
    'seeing a published value tells nothing about the sensitive values'
    """
    if not isinstance(criterion, BuiltIn):
        return f"what a published value tells satisfies {criterion}"
    if isinstance(criterion, Population):
        return f"{promise_of(criterion.criterion, say)}, {for_whom(criterion)}"
    ends = ends_of(criterion)
    if is_empty(criterion) or (math.isinf(criterion.lower) and math.isinf(criterion.upper)):
        return "nothing is bounded"
    if isinstance(criterion, AtMost):
        return f"after seeing a published value, {_beliefs(criterion, _SIDES)}"
    if isinstance(criterion, EveryPrior):
        return f"{say(ends)}, for {_readers(criterion)}"
    return say(ends) if _factors(ends) else _on_average(criterion)


def measured(low: float, high: float) -> str:
    """Return what lifts from `low` to `high` mean, rounded outward.

    Examples
    --------
    >>> print(measured(0.25, 2.5))
    seeing a published value can make a sensitive value 2.5 times as likely as it was, or reduce \
it to 0.25 times
    >>> measured(0.0, 2.5).rpartition(", ")[2]
    'or rule it out'
    """
    less = "rule it out" if low == 0 else f"reduce it to {floor(low)} times"
    more = f"make a sensitive value {ceiling(high)} times as likely as it was"
    return f"seeing a published value can {more}, or {less}"


def _readers(criterion: EveryPrior) -> str:
    """Return for whose beliefs a bound for every prior holds."""
    if not criterion.at_least:
        return "readers with any belief before"
    return (
        f"readers who gave each sensitive value a chance of at least "
        f"{_decimal(criterion.at_least, 100)}% before, and for those who knew how they are "
        "distributed"
    )


def is_empty(criterion: Criterion) -> bool:
    """Return whether every release satisfies the criterion.

    Examples
    --------
    >>> is_empty(L1Lift(math.inf, 2.0)), is_empty(L1Lift(math.inf, 0.5))
    (True, False)
    """
    criterion = plain_criterion(criterion)
    if not isinstance(criterion, BuiltIn) or math.isfinite(criterion.lower):
        return False
    if isinstance(criterion, TCloseness):
        return criterion.t == 1
    if isinstance(criterion, L1Lift):  # two distributions differ by 2 at most
        return criterion.upper >= math.log(3)
    if isinstance(criterion, AlphaLift) and criterion.alpha == 1:  # lifts average to 1
        return True
    return math.isinf(criterion.upper)


def _on_average(criterion: Criterion) -> str:
    """Return what a bound on an average promises; a side that bounds nothing is left out."""
    seen, upper, lower = "seeing a published value", criterion.upper, criterion.lower
    if isinstance(criterion, AlphaLift):
        more = f"more than {at_most(upper)} times as likely as they were"
        less = f"less than {part_at_least(lower)} as likely"
        if math.isinf(upper):
            more, less = f"{less} as they were", ""
        words = f"{more}, and no {less}" if less and math.isfinite(lower) else more
        return f"{seen} makes the sensitive values, on average, no {words}"
    if (share := closeness(criterion)) < 1:
        moved = f"{math.ceil(share * (1 + 1e-12) * 1000) / 10:g}%"
        if isinstance(criterion, TCloseness):
            moved = f"{_decimal(criterion.t, 100)}%"
        return f"{seen} moves at most {moved} of the belief in some sensitive values to others"
    mean = "as a root mean square" if isinstance(criterion, Chi2Lift) else "on average"
    mean, seen = f"{mean} over the sensitive values", f"{seen} may differ"
    below = f"from the chance after by at most {_share(lower)} the chance after"
    if not isinstance(criterion, Chi2Lift) or math.isinf(upper):
        return f"{mean}, the chance before {seen} {below}"
    above = f"from the chance before by at most {_share(upper)} the chance before"
    also = f", and the chance before {below}" if math.isfinite(lower) else ""
    return f"{mean}, the chance after {seen} {above}{also}"


def _share(power: float) -> str:
    """Return e**power - 1, rounded up: a share of what follows, or how many times that."""
    if power > _MOST_PERCENT:
        return f"{expm1_at_most(power)} times"
    return f"{_decimal(float(expm1_at_most(power)), 100)}% of"


def promise_in_full(criterion: Criterion, holds: bool) -> str:
    """Return the promise in the codebook's words, or that there is none."""
    if not isinstance(criterion, BuiltIn):
        return "lowlift did not define this criterion: its author must say what it bounds."
    words = _promise(criterion)
    return words if holds else f"Asked for, but not kept: {words}"


def stopped_note(
    certificate: "Certificate | None", more: str = "a time limit of {seconds} s"
) -> str | None:
    """Return a sentence on a search that was stopped; None for one that ended by itself.

    Parameters
    ----------
    certificate
        Of a release.
    more
        How to give the search more seconds, in the words of whoever reads it; empty for nothing.

    Examples
    --------
    >>> from lowlift._certificates import Certificate
    >>> stopped = Certificate("mechanisms", 0.743, False, 0.258, stopped_after=20.0)
    >>> print(stopped_note(stopped, "--time-limit {seconds}"))
    The search stopped after 20 s: NMI 0.485, proven bound 0.743, gap 0.258. More time may keep \
more: try --time-limit 60.
    """
    if certificate is None or certificate.stopped_after is None:
        return None
    seconds, bound = certificate.stopped_after, certificate.upper_bound
    numbers = f"proven bound {ceiling(bound)}"
    if certificate.scope == "partitions":
        numbers += " for merging"
    if certificate.scope == "distortion":
        numbers = f"the mean change is within {ceiling(certificate.gap)} of the proven least"
    elif not math.isnan(certificate.gap):
        kept = floor(max(0.0, bound - certificate.gap + 1e-12))
        numbers = f"NMI {kept}, {numbers}, gap {ceiling(certificate.gap - 1e-12)}"
    start = f"The search stopped after {seconds:.3g} s: {numbers}."
    if not more:
        return start
    could = MORE_TIME
    if certificate.scope == "distortion":
        could = could.replace("keep more", "change less")
    return f"{start} {could} try {more.format(seconds=max(1, math.ceil(3 * seconds)))}."


def _promise(criterion: Criterion) -> str:
    if isinstance(criterion, Population):
        return f"{_promise(criterion.criterion)} This holds {for_whom(criterion)}."
    if isinstance(criterion, AtMost):
        return f"After seeing a published value, {_beliefs(criterion, _STORED_SIDES)}."
    if isinstance(criterion, TCloseness):
        return (
            "For every published value y, half the sum over s of |P(s|y) - P(s)| is at most "
            f"{_decimal(criterion.t, 1)}. Here s are the sensitive values."
        )
    words = _promise_in_lifts(criterion)
    if isinstance(criterion, EveryPrior) and math.isfinite(min(criterion.lower, criterion.upper)):
        return f"{words} This holds for {_readers(criterion)}."
    return words


def _promise_in_lifts(criterion: Criterion) -> str:
    lower, upper = criterion.lower, criterion.upper
    if math.isinf(lower) and math.isinf(upper):
        return "Nothing is bounded."
    if isinstance(criterion, LDP):
        return (
            f"No published value is more than {at_most(upper, 4)} times as likely under one "
            "sensitive value as under another."
        )
    if isinstance(criterion, L1Lift):
        return _averages(
            (upper, "the sum over s of |P(s|y) - P(s)|", expm1_at_most),
            (lower, "the mean over s of |P(s)/P(s|y) - 1|", expm1_at_most),
        )
    if isinstance(criterion, Chi2Lift):
        return _averages(
            (upper, "the root mean square over s of P(s|y)/P(s) - 1", expm1_at_most),
            (lower, "the root mean square over s of P(s)/P(s|y) - 1", expm1_at_most),
        )
    if isinstance(criterion, AlphaLift) and not math.isinf(criterion.alpha):
        mean = f"the power mean of order {criterion.alpha:g} over s of"
        return _averages(
            (upper, f"{mean} P(s|y)/P(s)", at_most), (lower, f"{mean} P(s)/P(s|y)", at_most)
        )
    return _single_lifts(ends_of(criterion))


def _beliefs(criterion: AtMost, sides: str) -> str:
    """Return how likely values are at most after seeing an output; `sides` says the factor."""
    values = criterion.parameters()["beliefs"].items()
    words = [
        f"{shown(label)!r} is at most {_decimal(bound, 100)}% likely" for label, bound in values
    ]
    if math.isfinite(criterion.factor):
        factor = _decimal(criterion.factor, 1)
        words.append(sides.format(factor, part_at_least(criterion.lower)))
    return joined(words)


def _decimal(number: float, times: int) -> str:
    """Return a multiple of a number in full, as it was written: it is said to be a bound."""
    return f"{(Decimal(repr(number)) * times).normalize():f}"


def _single_lifts(ends: Ends) -> str:
    if ends == Ends(0, 0):
        return "No published value changes how likely any sensitive value is."
    text = f"No published value makes any sensitive value {_factors(ends, 4)} as likely as it was"
    if math.isfinite(max(ends)):
        return f"{text} before."
    return f"{text} before. How much {'more' if math.isinf(ends.upper) else 'less'} is not bounded."


def _factors(ends: Ends, digits: int = 3) -> str:
    """Return by which factors a sensitive value does not become more or less likely; or nothing."""
    sides = []
    if math.isfinite(ends.upper):
        sides.append(f"more than {at_most(ends.upper, digits)} times")
    if math.isfinite(ends.lower):
        sides.append(f"less than {at_least(-ends.lower, digits)} times")
    return " or ".join(sides)


def _averages(*sides: tuple[float, str, Callable[[float, int], str]]) -> str:
    bounds = [f"{what} is at most {show(side, 4)}" for side, what, show in sides if side < math.inf]
    return (
        f"For every published value y, {' and '.join(bounds)}. "
        "Here s are the sensitive values, and means are weighted by P(s)."
    )


#: The words of a verdict.
HOLDS, FAILS, UNPROVEN = "The bound holds", "The bound does not hold", "Not decided exactly"
EMPTY = "Nothing is bounded"


def verdict_word(criterion: Criterion, is_certified: bool, holds: bool) -> str:
    """Return the verdict in a few words."""
    if is_certified and holds:
        return EMPTY if is_empty(criterion) else HOLDS
    return FAILS if is_certified else UNPROVEN
