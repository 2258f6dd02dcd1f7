"""Numbers of a bound as they were written: 0.1 is a tenth; and the budgets that they stand for."""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from lowlift._exact import exp_of, log_of, precisions
from lowlift.errors import InvalidInput

#: The largest float.
_LARGEST = Fraction(sys.float_info.max)
#: What a factor must be.
FACTOR = "1 or more, such as 2"


def largest_budget(factor: Any) -> float:
    """Return the largest float b with ``e**b <= factor``, proven with enclosures.

    Parameters
    ----------
    factor
        1 or more; inf for no bound. A float stands for its shortest decimal form.

    Examples
    --------
    >>> largest_budget(2) <= math.log(2), largest_budget(1)
    (True, 0.0)
    """
    exact = written(factor, "the factor", FACTOR, lambda value: value >= 1)
    if exact is None:
        return math.inf
    if exact == 1:
        return 0.0
    # Near 1 the enclosure is wide, and log(1 + x) is at most x.
    above = min(Fraction(log_of(*exact.as_integer_ratio(), 256)[1], 1 << 256), exact - 1)
    guess = math.nextafter(float(above), 1e9)
    while guess > 0 and not _is_exp_at_most(Fraction(guess), exact):
        guess = math.nextafter(guess, 0.0)
    return max(guess, 0.0)


def _is_exp_at_most(budget: Fraction, factor: Fraction) -> bool:
    """Decide e**budget <= factor; undecided is False."""
    for bits in precisions():
        low, high = exp_of(budget, bits)
        scaled = factor.numerator << bits
        if high * factor.denominator <= scaled:
            return True
        if low * factor.denominator > scaled:
            return False
    return False


def written(
    value: Any, what: str, rule: str, is_right: Callable[[Fraction], bool]
) -> Fraction | None:
    """Return a number as the fraction that was written; None for inf."""
    try:
        if isinstance(value, float | np.floating) and math.isinf(value) and value > 0:
            return None
        # The shortest decimal form: 0.1 means a tenth, not the float that is a little more.
        number = Fraction(repr(float(value)) if isinstance(value, float | np.floating) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        number = Fraction(-1)
    if isinstance(value, bool | np.bool_ | str) or not is_right(number):
        given = str(value) if isinstance(value, Fraction) else repr(value)
        raise InvalidInput(f"{what} must be {rule}; got {given}.")
    return number


def as_float(value: Any, exact: Fraction | None) -> float:
    """Return a number that was written as a float: itself if it is one, else rounded down."""
    return value if type(value) is float else rounded_down(exact)


def rounded_down(exact: Fraction | None) -> float:
    """Return a float whose shortest decimal form is at most a fraction; inf for None."""
    if exact is None:
        return math.inf
    if exact > _LARGEST:
        raise InvalidInput(
            f"a bound must be at most {sys.float_info.max:.2g}; got a larger number. For no bound "
            "use inf."
        )
    number = float(exact)
    return number if Fraction(repr(number)) <= exact else math.nextafter(number, 0.0)
