"""What the parameters of the transformer mean, and which go together."""

import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lowlift._arguments import check_choice
from lowlift.criteria import BuiltIn, check_criterion
from lowlift.encodings import ENCODINGS
from lowlift.errors import InvalidInput, LowliftWarning
from lowlift.tables import Each, Quantiles, Schema
from lowlift.tables.bins import as_bins_by_name
from lowlift.workflow import MECHANISMS

#: Mechanisms whose Y is a function of X; with the encodings codes and groups nothing is drawn.
MERGING = ("watchdog", "subset-merging", "optimal-merging")
_CHOICES: Mapping[str, Sequence[str]] = {
    "mechanism": MECHANISMS,
    "encoding": ENCODINGS,
    "missing": ("value", "error"),
    "unseen": ("error", "most_common"),
    "on_violation": ("raise", "warn", "ignore"),
}


def check_parameters(given: Any) -> None:
    """Refuse parameters of a transformer that are none of the choices."""
    for name, choices in _CHOICES.items():
        check_choice(getattr(given, name), name, choices)
    seed_of(given.random_state)
    check_criterion(given.criterion)


def schema_of(
    sensitive: Sequence[str],
    released: Sequence[str],
    bins: Any,
    missing: str,
    kinds: Mapping[str, str],
) -> Schema:
    """Return the schema; one declaration of bins is for all numbers in X."""
    if bins is not None and not isinstance(bins, Mapping):
        numeric = {"integer", "real"}
        bins = {name: bins for name in released if kinds.get(name) in numeric}
    bins = as_bins_by_name(bins)
    for name in sensitive:  # each value of S is protected, not ranges of them
        if kinds.get(name) == "integer":
            bins.setdefault(name, Each())
    taken = [repr(name) for name, each in bins.items() if isinstance(each, Quantiles)]
    if taken:
        warnings.warn(
            f"the bins of {', '.join(taken)} are quantiles of the data: their edges are "
            "published and not covered by the bound. Declare edges or a width.",
            LowliftWarning,
            stacklevel=4,
        )
    return Schema(tuple(sensitive), tuple(released), bins, missing)


def seed_of(random_state: Any) -> int | None:
    """Return the seed of the draws; None draws from the operating system's entropy."""
    if random_state is None:
        return None
    try:
        seed = operator.index(random_state)
    except TypeError:
        seed = -1
    if seed < 0:
        raise InvalidInput(
            "random_state must be None, which is secure, or a whole number of 0 or more for "
            f"tests; got {type(random_state).__name__}."
        )
    return seed


def replaced(criterion: Any, changed: dict[str, Any]) -> Any:
    """Return a criterion with other parameters; the one given stays as it is."""
    if not isinstance(criterion, BuiltIn):
        raise InvalidInput(
            "criterion must be a built-in criterion to have its parameters set by name; got "
            f"{type(criterion).__name__}. Set criterion itself."
        )
    names = criterion.parameters()
    for name in changed:
        if name not in names:
            raise InvalidInput(
                f"{type(criterion).__name__} must be given one of its own parameters "
                f"({', '.join(names)}); got {name!r}."
            )
    return replace(criterion, **changed)
