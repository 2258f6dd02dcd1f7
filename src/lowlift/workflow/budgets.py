"""Budgets in words: a factor, or the largest belief in a value of S, as texts of a command."""

from collections.abc import Sequence
from fractions import Fraction

from lowlift._arguments import check_positive
from lowlift.criteria import LIP, AtMost, BuiltIn, Criterion, EveryPrior
from lowlift.criteria.protocol import epsilon_of
from lowlift.errors import InvalidInput


def at_most_of(
    texts: Sequence[str], sensitive: Sequence[str], at_least: float | None = None
) -> Criterion:
    """Return the bound that texts say: ``2``, ``income=>50K:0.5``, or several of them.

    Parameters
    ----------
    texts
        A factor for all values, and COLUMN=VALUE:BELIEF for single ones.
    sensitive
        The columns of S; beliefs need exactly one.
    at_least
        With a factor alone: for every reader who gave each value this probability or more.

    Raises
    ------
    InvalidInput
        For a text that is neither, two factors, or a value that is named twice.

    Examples
    --------
    >>> at_most_of(["2"], ["income"])
    LIP(epsilon=0.6931471805599453)
    >>> at_most_of(["income=>50K:0.5", "2"], ["income"])
    AtMost(beliefs=(('>50K', 0.5),), factor=2.0)
    >>> at_most_of(["2"], ["income"], at_least=0.1)
    EveryPrior(at_least=0.1, lower=0.6931471805599453, upper=0.6931471805599453)
    """
    factors: list[Fraction] = []
    beliefs: dict[str, float] = {}
    for text in texts:
        value, found, number = text.rpartition(":")
        if not found:
            factors.append(_number(text))
            continue
        if len(sensitive) != 1 or not value.startswith(f"{sensitive[0]}="):
            raise InvalidInput(
                "a belief must be of a value of the one sensitive column, as in income=>50K:0.5; "
                f"got one for {len(sensitive)} sensitive columns or of another column. Write "
                "COLUMN=VALUE:BELIEF with the column that you name as sensitive."
            )
        name = value.removeprefix(f"{sensitive[0]}=")
        if name in beliefs:
            raise InvalidInput("a value of the sensitive column must have one belief; got two.")
        beliefs[name] = float(_number(number))
    if len(factors) > 1:
        raise InvalidInput(f"give one factor for all values; got {len(factors)}.")
    if not beliefs:
        factor = factors[0]
        if at_least is None:
            return LIP.at_most(factor)
        return EveryPrior.at_most(factor, at_least=at_least)
    if at_least is not None:
        raise InvalidInput(
            "at_least goes with a factor for all values; got beliefs in single ones. Leave one out."
        )
    return AtMost(beliefs, float(factors[0])) if factors else AtMost(beliefs)


def _number(text: str) -> Fraction:
    try:
        return Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(
            f"a bound must be a factor such as 2, or COLUMN=VALUE:BELIEF; got {text!r}."
        ) from None


def total_of(criterion: Criterion, epsilon: float) -> Criterion:
    """Return a criterion with another whole budget in nats, divided as before.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> total_of(ALIP(0.5, 1.0), 3.0)
    ALIP(lower=1.0, upper=2.0)
    """
    before = epsilon_of(criterion)
    if not isinstance(criterion, BuiltIn) or isinstance(criterion, AtMost) or not before > 0:
        raise InvalidInput(f"a total is told in nats; {type(criterion).__name__} has no such one.")
    check_positive(epsilon, "the total")
    return criterion.scaled(epsilon / before)
