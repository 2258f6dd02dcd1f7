"""Numbers as texts, rounded to the side on which what is said of them stays true."""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

#: Beyond this a factor is written as a power of e.
_MOST = 700.0


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
    """
    return _function(power, math.exp, math.inf, ceiling, digits) if power else "1"


def at_least(power: float, digits: int = 3) -> str:
    """Return e**power, rounded down.

    Examples
    --------
    >>> at_least(-0.5)
    '0.606'
    """
    return _function(power, math.exp, 0.0, floor, digits) if power else "1"


def expm1_at_most(power: float, digits: int = 3) -> str:
    """Return e**power - 1, rounded up.

    Examples
    --------
    >>> expm1_at_most(0.5)
    '0.649'
    """
    return _function(power, math.expm1, math.inf, ceiling, digits) if power else "0"


def percent_at_most(share: float) -> str:
    """Return a share in percent to one decimal, rounded up, at most 100%.

    Examples
    --------
    >>> percent_at_most(0.83961), percent_at_most(1.0000001)
    ('84%', '100%')
    """
    tenths = math.ceil(Decimal(min(share, 1.0)) * 1000)
    return f"{tenths / 10:g}%"


def _function(
    power: float,
    function: Callable[[float], float],
    toward: float,
    written: Callable[[float, int], str],
    digits: int,
) -> str:
    if abs(power) > _MOST:
        return f"e**{power:g}"
    # Two floats further: the function's own error is below one.
    return written(math.nextafter(math.nextafter(function(power), toward), toward), digits)


def _written(value: float, rounding: str, digits: int) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "undefined"
    found = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value)).normalize()
    return f"{found:f}"  # codebooks hold these texts: they must not change
