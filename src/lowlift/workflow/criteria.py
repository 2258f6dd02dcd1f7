"""The names of criteria in a command or an address, and how their bounds are given."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from lowlift._arguments import check_choice
from lowlift.criteria import (
    ALIP,
    LDP,
    LIP,
    AlphaLift,
    BetaLikeness,
    BuiltIn,
    Chi2Lift,
    Criterion,
    DeltaDisclosure,
    EveryPrior,
    L1Lift,
    MaxLift,
    TCloseness,
)
from lowlift.errors import InvalidInput

#: Criteria with budgets in nats, of which a curve can be made.
IN_NATS = ("lip", "alip", "ldp", "max-lift", "l1", "chi2", "alpha", "every-prior")
#: Notions with a bound of their own: its name, and the criterion.
NAMED: Mapping[str, tuple[str, type[BuiltIn]]] = MappingProxyType(
    {
        "beta-likeness": ("beta", BetaLikeness),
        "delta-disclosure": ("delta", DeltaDisclosure),
        "t-closeness": ("t", TCloseness),
    }
)
#: PML, pointwise maximal leakage, is another name of max-lift.
CRITERIA = (*IN_NATS, "pml", *NAMED)
#: Criteria of one budget, and of two that are all there is.
_ONE: Mapping[str, Callable[[float], Criterion]] = MappingProxyType(
    {"lip": LIP, "ldp": LDP, "max-lift": MaxLift, "pml": MaxLift}
)
_TWO: Mapping[str, Callable[[float, float], Criterion]] = MappingProxyType(
    {"alip": ALIP, "l1": L1Lift, "chi2": Chi2Lift}
)
SINGLE = frozenset(_ONE)


def criterion_of(
    name: str,
    *,
    epsilon: float | None = None,
    split: float | None = None,
    lower: float | None = None,
    upper: float | None = None,
    alpha: float | None = None,
    at_least: float | None = None,
    beta: float | None = None,
    delta: float | None = None,
    t: float | None = None,
) -> Criterion:
    """Return the criterion by its name and its budgets in nats, or its own bound.

    Parameters
    ----------
    name
        One of `CRITERIA`.
    epsilon, split
        For lip and ldp the budget; for max-lift (pml) its one budget; for the others
        ``lower = split * epsilon`` and ``upper = (1 - split) * epsilon``, split 0.5 by default.
    lower, upper
        The two budgets; l1, chi2 and alpha may leave `lower` out, which then is not bounded.
    alpha
        The order of alpha.
    at_least
        For every-prior: the least that a reader's prior gives each value of S.
    beta, delta, t
        The bound of beta-likeness, delta-disclosure and t-closeness.

    Raises
    ------
    InvalidInput
        For an unknown name, or budgets that are missing, too many or not numbers of 0 or more.

    Examples
    --------
    >>> criterion_of("alip", epsilon=2.0, split=0.65)
    ALIP(lower=1.3, upper=0.7)
    >>> criterion_of("max-lift", upper=1.0)
    MaxLift(upper=1.0)
    >>> criterion_of("t-closeness", t=0.2)
    TCloseness(t=0.2)
    """
    if isinstance(name, str) and name == "maximal-leakage":  # an array has no single answer
        raise InvalidInput(
            "a criterion must bound each output; maximal leakage is a mean over them. Criterion "
            "pml keeps it at most its epsilon, and measures.maximal_leakage computes it."
        )
    check_choice(name, "criterion", CRITERIA)
    _refuse_others(name, {"beta": beta, "delta": delta, "t": t})
    given = {"epsilon": epsilon, "split": split, "lower": lower, "upper": upper}
    if name in NAMED:
        more = {**given, "alpha": alpha, "at_least": at_least}
        return _named(name, {"beta": beta, "delta": delta, "t": t}[NAMED[name][0]], more)
    if (alpha is None) == (name == "alpha"):
        raise InvalidInput("alpha is the order of criterion alpha: give it there, and only there.")
    if (at_least is None) == (name == "every-prior"):
        raise InvalidInput(
            "at_least, such as 0.01, is the least that a prior of criterion every-prior gives each "
            "sensitive value: give it there, and only there."
        )
    sides = _sides(name, **given)
    if name in SINGLE:
        return _ONE[name](sides[1])
    if alpha is not None:
        return AlphaLift(alpha, *sides)
    return _TWO[name](*sides) if at_least is None else EveryPrior(at_least, *sides)


def _refuse_others(name: str, own: Mapping[str, float | None]) -> None:
    """Refuse the bound of another notion."""
    for notion, (bound, _) in NAMED.items():
        if own[bound] is not None and notion != name:
            raise InvalidInput(f"{bound} is the bound of criterion {notion}; got {name}.")


def _named(name: str, value: float | None, others: Mapping[str, float | None]) -> Criterion:
    """Return a notion with a bound of its own."""
    bound, kind = NAMED[name]
    for other, given in others.items():
        if given is not None:
            raise InvalidInput(f"{name} has one bound, {bound}; leave {other} out.")
    if value is None:
        raise InvalidInput(f"{name} needs its bound: {bound}.")
    return kind(**{bound: value})


def _sides(
    name: str,
    epsilon: float | None,
    split: float | None,
    lower: float | None,
    upper: float | None,
) -> tuple[float, float]:
    """Return the budgets of both sides; those of a criterion of one budget are the same."""
    if epsilon is not None and (lower is not None or upper is not None):
        raise InvalidInput("give epsilon (with split), or lower and upper, not both.")
    if split is not None and (epsilon is None or name in SINGLE):
        raise InvalidInput(
            "split divides epsilon between the two sides of alip, l1, chi2, alpha, every-prior."
        )
    if name in SINGLE:
        given = upper if epsilon is None and _ONE[name] is MaxLift else epsilon
        if given is None or lower is not None or (upper is not None and _ONE[name] is not MaxLift):
            which = "epsilon or upper" if _ONE[name] is MaxLift else "epsilon"
            raise InvalidInput(f"{name} needs one bound: {which}, in nats.")
        return given, given
    if epsilon is not None:
        sides = ALIP.split(epsilon, 0.5 if split is None else split)
        return sides.lower, sides.upper
    if upper is None or (lower is None and name in {"alip", "every-prior"}):
        raise InvalidInput(f"{name} needs a bound: epsilon, or lower and upper, in nats.")
    return math.inf if lower is None else lower, upper
