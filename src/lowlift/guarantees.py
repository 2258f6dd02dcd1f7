"""What a criterion promises, and how far a search came, in words."""

import math
from collections.abc import Callable

from lowlift.certificates import Certificate
from lowlift.criteria import LDP, AlphaLift, BuiltIn, Chi2Lift, Criterion, L1Lift
from lowlift.rounding import at_least, at_most, ceiling, expm1_at_most, floor

#: How the advice on a search that was stopped begins.
MORE_TIME = "More time may keep more:"

_READER = (
    "This holds for a reader who knows how the sensitive and the released values are distributed "
    "in the table, knows this codebook, and sees what was published of one record. Not covered: "
    "other knowledge about that person, other columns or releases of the same table, the order of "
    "rows, and that a person is in the table."
)


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
        return f"What {criterion} bounds is known to whoever wrote it."
    return f"{_promise(criterion)} {_READER}"


def stopped_note(
    certificate: Certificate | None, more: str = "a time limit of {seconds} s"
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
    if not math.isnan(certificate.gap):
        kept = floor(max(0.0, bound - certificate.gap + 1e-12))
        numbers = f"NMI {kept}, {numbers}, gap {ceiling(certificate.gap - 1e-12)}"
    start = f"The search stopped after {seconds:.3g} s: {numbers}."
    if not more:
        return start
    return f"{start} {MORE_TIME} try {more.format(seconds=max(1, math.ceil(3 * seconds)))}."


def _promise(criterion: Criterion) -> str:
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
    return _factors(lower, upper)


def _factors(lower: float, upper: float) -> str:
    if 0 in {lower, upper}:  # factors average to 1: none can be above or below alone
        return "No published value changes how likely any sensitive value is."
    sides = []
    if not math.isinf(upper):
        sides.append(f"more than {at_most(upper, 4)} times")
    if not math.isinf(lower):
        sides.append(f"less than {at_least(-lower, 4)} times")
    text = f"No published value makes any sensitive value {' or '.join(sides)} as likely as it was"
    if len(sides) == 2:
        return f"{text} before."
    return f"{text} before. How much {'more' if math.isinf(upper) else 'less'} is not bounded."


def _averages(*sides: tuple[float, str, Callable[[float, int], str]]) -> str:
    bounds = [f"{what} is at most {show(side, 4)}" for side, what, show in sides if side < math.inf]
    return (
        f"For every published value y, {' and '.join(bounds)}. "
        "Here s are the sensitive values, and means are weighted by P(s)."
    )
