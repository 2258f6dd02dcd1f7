"""Real numbers between two fractions: their arithmetic, and which of two numbers is larger."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lowlift._exact import exp_between, log_of, precisions

#: Floats decide beyond this part of the larger side (and of 1); their error is below 1e-12 of it.
DOUBT = 1e-9
#: The smallest positive float: a sign where a difference underflows.
LEAST = 5e-324


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number that lies between two fractions, or at one of them."""

    low: Fraction
    high: Fraction

    def __iter__(self) -> Iterator[Fraction]:
        yield self.low
        yield self.high

    def __add__(self, other: "Number") -> "Enclosure":
        low, high = _enclosed(other)
        return Enclosure(self.low + low, self.high + high)

    def __mul__(self, other: "Number") -> "Enclosure":
        ends = [a * b for a in self for b in _enclosed(other)]
        return Enclosure(min(ends), max(ends))

    def __rtruediv__(self, other: "Number") -> "Enclosure":
        return Enclosure(1 / self.high, 1 / self.low) * other  # it is positive

    def __truediv__(self, other: "Number") -> "Enclosure":
        return self * (Fraction(1) / other)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def middle(self) -> Fraction:
        """The number half-way between the ends."""
        return (self.low + self.high) / 2


Number: TypeAlias = Fraction | Enclosure


def _enclosed(value: Number) -> Enclosure:
    return value if isinstance(value, Enclosure) else Enclosure(value, value)


def larger(one: Number, other: Number) -> Number:
    """Return or enclose the larger of two numbers."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return max(one, other)
    (a, b), (c, d) = _enclosed(one), _enclosed(other)
    return Enclosure(max(a, c), max(b, d))


def log(value: Number, bits: int) -> Number:
    """Enclose the logarithm of a positive number; exactly for 1."""
    if isinstance(value, Enclosure):
        return _between(log(end, bits) for end in value)
    if value == 1:
        return Fraction()
    low, high = log_of(value.numerator, value.denominator, bits)
    return Enclosure(Fraction(low, 1 << bits), Fraction(high, 1 << bits))


def power(value: Number, exponent: Fraction, bits: int) -> Number:
    """Enclose a power of a number that is not negative; exactly where it is plainly rational."""
    if isinstance(value, Enclosure):
        return _between(power(end, exponent, bits) for end in value)
    if value in {0, 1}:
        return value
    if exponent.denominator == 1:
        return value ** int(exponent)
    ends = [exponent * end for end in _enclosed(log(value, bits))]
    low, high = math.floor(min(ends) * 2**bits), math.ceil(max(ends) * 2**bits)
    low, high = exp_between(low, high, bits)
    return Enclosure(Fraction(low, 1 << bits), Fraction(high, 1 << bits))


def _between(values: Iterator[Number]) -> Enclosure:
    """Enclose all that lies between two numbers."""
    (a, b), (c, d) = map(_enclosed, values)
    return Enclosure(min(a, c), max(b, d))


def exact_slack(sides: Callable[[int], tuple[Number, Number]]) -> float:
    """Return larger - smaller with its exact sign; an open one counts as violated."""
    for bits in precisions():
        left, right = map(_enclosed, sides(bits))
        if left.high < right.low or left.low > right.high:
            slack = float(right.middle - left.middle)
            return slack or math.copysign(LEAST, right.low - left.high)
        if left.low == left.high == right.low == right.high:
            return 0.0
    return -LEAST
