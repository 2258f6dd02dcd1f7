"""Numbers as texts, rounded to the side on which what is said of them stays true."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from lowlift._exact import exp_of

#: Beyond this a factor is written as a power of e.
_MOST = 700.0
#: The precision of powers of e; e**-700 has 1,010 zeros behind the point.
_BITS = 1280
#: What is left of a belief at a factor below, in words.
PARTS = {
    "1.25": "four fifths",
    "1.5": "two thirds",
    "2": "half",
    "3": "a third",
    "4": "a quarter",
    "5": "a fifth",
    "10": "a tenth",
}


def float_below(value: Fraction) -> float:
    """Return the largest float that is not above."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    return near if near <= value else math.nextafter(near, -math.inf)


def ceiling(value: float, digits: int = 3) -> str:
    """Return a number to so many digits, rounded up.

    Examples
    --------
    >>> ceiling(1.7501), ceiling(2.0), ceiling(-0.12345)
    ('1.76', '2', '-0.123')
    """
    return _written(value, ROUND_CEILING, digits)


def floor(value: float, digits: int = 3) -> str:
    """Return a number to so many digits, rounded down.

    Examples
    --------
    >>> floor(0.5149), floor(0.0)
    ('0.514', '0')
    """
    return _written(value, ROUND_FLOOR, digits)


def at_most(power: float, digits: int = 3) -> str:
    """Return e**power, rounded up.

    Examples
    --------
    >>> at_most(0.5), at_most(0.0), at_most(800.0)
    ('1.65', '1', 'e**800')
    >>> at_most(0.6931471805599453)  # a little less than log 2
    '2'
    """
    return _power(power, 0, ROUND_CEILING, digits)


def at_least(power: float, digits: int = 3) -> str:
    """Return e**power, rounded down.

    Examples
    --------
    >>> at_least(-0.5)
    '0.606'
    """
    return _power(power, 0, ROUND_FLOOR, digits)


def part_at_least(budget: float) -> str:
    """Return e**-budget in words, or rounded down.

    Examples
    --------
    >>> import math
    >>> part_at_least(math.log(2)), part_at_least(0.605)
    ('half', '0.546 times')
    """
    return PARTS.get(at_most(budget)) or f"{at_least(-budget)} times"


def expm1_at_most(power: float, digits: int = 3) -> str:
    """Return e**power - 1, rounded up.

    Examples
    --------
    >>> expm1_at_most(0.5)
    '0.649'
    """
    return _power(power, 1, ROUND_CEILING, digits)


def percent_at_most(share: float) -> str:
    """Return a share in percent to one decimal, rounded up, at most 100%.

    Examples
    --------
    >>> percent_at_most(0.83961), percent_at_most(1.0000001)
    ('84%', '100%')
    """
    tenths = math.ceil(Decimal(min(share, 1.0)) * 1000)
    return f"{tenths / 10:g}%"


#: Whether powers of e are written as earlier versions wrote them, for their codebooks.
_IN_FLOATS: ContextVar[bool] = ContextVar("in_floats", default=False)


@contextmanager
def in_floats() -> Iterator[None]:
    """Write powers of e from floats that are two steps too far, which is true but not the nearest.

    Examples
    --------
    >>> with in_floats():
    ...     print(at_most(0.6931471805599453))
    2.01
    """
    token = _IN_FLOATS.set(True)
    try:
        yield
    finally:
        _IN_FLOATS.reset(token)


def _power(power: float, less: int, rounding: str, digits: int) -> str:
    """Return e**power - less."""
    if not power:
        return str(1 - less)
    if abs(power) > _MOST:
        return f"e**{power:g}"
    if _IN_FLOATS.get():
        toward = math.inf if rounding == ROUND_CEILING else 0.0
        function = math.expm1 if less else math.exp
        return _written(
            math.nextafter(math.nextafter(function(power), toward), toward), rounding, digits
        )
    # e**power lies between the ends, so that rounding either of them away from the other is true.
    low, high = exp_of(Fraction(power), _BITS)
    end = Decimal((high if rounding == ROUND_CEILING else low) - (less << _BITS))
    exact = Context(prec=_BITS, rounding=rounding).divide(end, Decimal(1 << _BITS))
    return _written(exact, rounding, digits)


def _written(value: float | Decimal, rounding: str, digits: int) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "undefined"
    found = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value)).normalize()
    return f"{found:f}"  # codebooks hold these texts: they must not change
