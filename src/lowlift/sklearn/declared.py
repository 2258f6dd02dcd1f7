"""What a user declares of the columns: which are sensitive or released, and their bins."""

import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from lowlift.errors import InvalidInput, LowliftWarning
from lowlift.tables import Bins, Each, Quantiles
from lowlift.tables.bins import as_bins

__all__ = ["declared_bins", "names_of", "seed_of"]

_NUMERIC = ("integer", "real")


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


def names_of(given: Any, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Return one name or several as a tuple.

    Raises
    ------
    InvalidInput
        When one is not a column of X.
    """
    names = (given,) if isinstance(given, str) else tuple(given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InvalidInput(
            f"{what} must be columns of X; {unknown[0]!r} is not. An array's columns are x0, x1, "
            "and so on; to use names pass a DataFrame."
        )
    return names


def declared_bins(
    given: Any, kinds: Mapping[str, str], sensitive: Sequence[str], released: Sequence[str]
) -> dict[str, Bins]:
    """Return the bins of each numeric column.

    Parameters
    ----------
    given
        None, bins by name, or one declaration for every numeric column that is released.
    kinds
        The kind of each column.

    Raises
    ------
    InvalidInput
        For bins that cannot be read, or a numeric column without.
    """
    if isinstance(given, Mapping):
        found = {name: as_bins(name, value) for name, value in given.items()}
    elif given is None:
        found = {}
    else:
        found = {name: as_bins(name, given) for name in released if kinds[name] in _NUMERIC}
    for name in sensitive:  # each value of S is protected, not ranges of them
        if kinds[name] == "integer":
            found.setdefault(name, Each())
    without = [n for n in (*sensitive, *released) if kinds[n] in _NUMERIC and n not in found]
    if without:
        name, kind = without[0], kinds[without[0]]
        more = " or 'each'" if kind == "integer" else ""
        raise InvalidInput(
            f"numeric columns must have declared bins; {name!r} ({kind}) has none. Pass bins="
            f"{{{name!r}: [0, 10, 20]}} (edges), 'width:10'{more}."
        )
    taken = [name for name, bins in found.items() if isinstance(bins, Quantiles)]
    if taken:
        warnings.warn(
            f"the bins of {', '.join(map(repr, taken))} are quantiles of the data: their edges "
            "are published and not covered by the bound. Declare edges or a width.",
            LowliftWarning,
            stacklevel=4,
        )
    return found
