"""A privacy criterion is a region of lift vectors.

An output y is allowed when its lift vector ``l(s) = P(s|y) / P(s)`` lies in the region. `protocol`
says what a criterion knows, `judging` how outputs are judged by it; `pointwise` holds the notions
that bound single lifts, `averaged` those that bound a mean over s, `priors` the one for many
readers at once, `named` notions of other fields on their own scales.
"""

import math
from typing import Any

from lowlift.criteria.averaged import AlphaLift, Chi2Lift, L1Lift
from lowlift.criteria.beliefs import AtMost, criterion_on
from lowlift.criteria.judging import (
    check_criterion,
    cut_of,
    half_spaces_of,
    is_certified,
    leakage_of,
    risk_of,
    verdicts,
)
from lowlift.criteria.named import PML, BetaLikeness, DeltaDisclosure, TCloseness
from lowlift.criteria.pointwise import ALIP, LDP, LIP, MaxLift
from lowlift.criteria.population import Population, check_confidence
from lowlift.criteria.priors import EveryPrior
from lowlift.criteria.protocol import BuiltIn, Criterion, HalfSpaces, plain_criterion
from lowlift.errors import InvalidInput

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "AlphaLift",
    "AtMost",
    "BetaLikeness",
    "BuiltIn",
    "Chi2Lift",
    "Criterion",
    "DeltaDisclosure",
    "EveryPrior",
    "HalfSpaces",
    "L1Lift",
    "MaxLift",
    "Population",
    "TCloseness",
    "check_confidence",
    "check_criterion",
    "criterion_on",
    "cut_of",
    "from_dict",
    "half_spaces_of",
    "is_certified",
    "leakage_of",
    "plain_criterion",
    "risk_of",
    "to_dict",
    "verdicts",
]

_BY_NAME: dict[str, type[BuiltIn]] = {
    cls.__name__: cls
    for cls in (
        ALIP,
        LIP,
        LDP,
        MaxLift,
        L1Lift,
        Chi2Lift,
        AlphaLift,
        AtMost,
        BetaLikeness,
        DeltaDisclosure,
        TCloseness,
        EveryPrior,
        Population,
    )
}


def to_dict(criterion: Criterion) -> dict[str, Any]:
    """Return a built-in criterion as plain values; an infinite budget is the string "inf".

    Examples
    --------
    >>> to_dict(ALIP(0.5, math.inf))
    {'name': 'ALIP', 'lower': 0.5, 'upper': 'inf'}
    """
    if not isinstance(criterion, BuiltIn) or _BY_NAME.get(type(criterion).__name__) is None:
        raise InvalidInput(
            f"only built-in criteria can be saved; got {type(criterion).__name__}. "
            "Save the channel and keep the criterion in your code."
        )
    values = criterion.parameters().items()
    return {"name": type(criterion).__name__} | {k: _plain(v) for k, v in values}


def _plain(value: Any) -> Any:
    if isinstance(value, BuiltIn):
        return to_dict(value)
    if isinstance(value, dict):  # the labels of S may be other things than texts
        return [{"value": label, "at_most": bound} for label, bound in value.items()]
    return "inf" if value == math.inf else value


def from_dict(saved: dict[str, Any]) -> BuiltIn:
    """Return the criterion that `to_dict` described.

    Raises
    ------
    InvalidInput
        For an unknown name or parameters that do not fit.
    """
    values = dict(saved)
    cls = _BY_NAME.get(str(values.pop("name", "")))
    if cls is None:
        raise InvalidInput(f"criterion must be one of {', '.join(_BY_NAME)}.")
    if isinstance(values.get("beliefs"), list):
        values["beliefs"] = _beliefs(values["beliefs"])
    if isinstance(values.get("criterion"), dict):
        values["criterion"] = from_dict(values["criterion"])
    try:
        return cls(**{k: math.inf if v == "inf" else v for k, v in values.items()})
    except TypeError as error:
        raise InvalidInput(f"the parameters of {cls.__name__} do not fit: {error}.") from error


def _beliefs(saved: list[Any]) -> tuple[tuple[Any, Any], ...]:
    """Return values of S and their beliefs as `to_dict` wrote them."""
    pairs = []
    for each in saved:
        match each:
            case {"value": value, "at_most": bound} if len(each) == 2:
                pairs.append((value, bound))
            case _:
                raise InvalidInput(
                    "a belief must have a value and at_most; the file says otherwise."
                )
    return tuple(pairs)
