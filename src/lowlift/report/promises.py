"""What is promised of a row, in one sentence that names what is protected."""

import math
from dataclasses import replace
from decimal import Decimal

from lowlift._audit import Audit
from lowlift._guarantees import Ends, for_whom, limited, promise_of
from lowlift._rounding import at_most, ceiling, part_at_least
from lowlift._wording import joined, of_rows
from lowlift.criteria import Chi2Lift, Criterion, L1Lift, Population, plain_criterion

#: What stands before and after the name of a column: a page shows names by other letters.
MARKS = ("\x02", "\x03")
_WITHOUT = dict.fromkeys(map(ord, MARKS))


def marked(name: str) -> str:
    """Return the name of a column between `MARKS`, of which it has none itself."""
    return f"{MARKS[0]}{unmarked(name)}{MARKS[1]}"


def unmarked(text: str) -> str:
    """Return a text without `MARKS`.

    Examples
    --------
    >>> unmarked(f"what {marked('age')} tells")
    'what age tells'
    """
    return text.translate(_WITHOUT)


def promise(criterion: Criterion, sensitive: tuple[str, ...]) -> str:
    """Return what is promised of a row; the names of what is protected are marked."""
    names = [marked(name) for name in sensitive]
    words = of_rows(promise_of(plain_criterion(criterion), within))
    words = words.replace("sensitive values", f"values of {joined(names)}")
    words = words.replace("sensitive value", f"value of {joined(names, 'or')}")
    return f"{words}, {whom(criterion)}" if isinstance(criterion, Population) else words


def whom(criterion: Criterion) -> str:
    """Return for whom a limit is, with the confidence in percent.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> whom(Population(LIP(0.5), 0.9))
    'for the population that the rows are a random sample of, with 90% confidence'
    """
    if not isinstance(criterion, Population):
        return for_whom(criterion)
    return f"for the population that the rows are a random sample of, with {confidence(criterion)}"


def not_kept(
    criterion: Criterion,
    sensitive: tuple[str, ...],
    failing: tuple[tuple[str, Audit], ...],
    *,
    is_of_all: bool,
) -> tuple[str, str]:
    """Return for which columns a promise is not kept, and what was asked for and is reached.

    Parameters
    ----------
    criterion
        The bound.
    sensitive
        The columns of S.
    failing
        Those of them for which alone it is not kept, with their audits.
    is_of_all
        Whether it is kept for all of several columns taken together.
    """
    broken = joined([marked(name) for name, _ in failing] or [*map(marked, sensitive)], "or")
    words = f"Seeing a row may tell more about {broken} than you allowed."
    if is_of_all:
        names = joined([marked(name) for name in sensitive])
        alone = f"{broken} by itself" if failing else "each of them by itself"
        words += f" The limit holds for {names} taken together, but not for {alone}."
    reached = ""
    if failing and isinstance(criterion, Chi2Lift | L1Lift):
        lower = {name: audit.leakage.lower for name, audit in failing}
        if min(lower.values()) > criterion.lower:  # of both sides, the one that is not kept
            criterion = replace(criterion, upper=math.inf)
            each = [f"for {marked(name)} by itself: {_reached(lower[name])}" for name in lower]
            reached = f" Reached {'; '.join(each)}."
    return words, f"Asked for: {promise(criterion, sensitive)}.{reached}"


def _reached(leakage: float) -> str:
    """Return how far the lower side of a bound on an average goes, as its promise says it."""
    if math.isinf(leakage):
        return "without a limit, as a value can be ruled out"
    share = math.expm1(leakage)
    return f"{ceiling(100 * share)}%" if share < 10 else f"{ceiling(share)} times"


def confidence(criterion: Population) -> str:
    """Return the confidence as it was chosen, in percent."""
    return f"{(Decimal(repr(criterion.confidence)) * 100).normalize():f}% confidence"


def within(ends: Ends) -> str:
    """Return `limited` in the form that is read fastest: a third, not 0.333 times."""
    if ends == Ends(0, 0):
        return limited(ends)
    likely = "times as likely as it was"
    if math.isinf(ends.lower):
        words = f"more than {at_most(ends.upper)} {likely}"
    elif math.isinf(ends.upper):
        words = f"less than {part_at_least(ends.lower)} as likely as it was"
    else:
        words = (
            f"more than {at_most(ends.upper)} {likely}, nor less than {part_at_least(ends.lower)}"
        )
        words += " as likely"
    return f"seeing a published value makes no sensitive value {words}"
