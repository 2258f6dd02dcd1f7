"""Enclosures of sums, logarithms and powers of rationals, and which of two numbers is larger."""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

from lowlift.exact import exp_between, log_of, precisions

#: A real number lies between the two ends; a rational is both.
Ends: TypeAlias = tuple[Fraction, Fraction]

#: Floats decide beyond this part of the larger side (and of 1); their error is below 1e-12 of it.
DOUBT = 1e-9
#: The smallest positive float: a sign where a difference underflows.
LEAST = 5e-324


def sum_of(parts: Iterable[Ends]) -> Ends:
    """Enclose the sum of the enclosed."""
    low, high = zip(*parts, strict=True)
    return sum(low, Fraction()), sum(high, Fraction())


def weighted(weights: Sequence[Fraction], parts: Sequence[Ends]) -> Ends:
    """Enclose the sum of the enclosed, each times its weight (0 or more)."""
    return sum_of((w * lo, w * hi) for w, (lo, hi) in zip(weights, parts, strict=True))


def log(value: Fraction, bits: int) -> Ends:
    """Enclose the logarithm of a positive value; exactly for 1."""
    if value == 1:
        return Fraction(), Fraction()
    low, high = log_of(value.numerator, value.denominator, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def power(value: Fraction, alpha: Fraction, bits: int) -> Ends:
    """Enclose value**alpha for a positive value; exactly where it is plainly rational."""
    if alpha.denominator == 1 or value == 1:
        exactly = value ** int(alpha)
        return exactly, exactly
    ends = [alpha * end for end in log(value, bits)]
    low, high = math.floor(min(ends) * 2**bits), math.ceil(max(ends) * 2**bits)
    low, high = exp_between(low, high, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def root(ends: Ends, alpha: Fraction, bits: int) -> Ends:
    """Enclose the root of order alpha of every number between two ends."""
    if ends[1] == 0:
        return ends
    return power(ends[0], 1 / alpha, bits)[0], power(ends[1], 1 / alpha, bits)[1]


def scaled_log(alpha: Fraction, ends: Ends, bits: int) -> Ends:
    """Enclose alpha / (alpha - 1) times the logarithm of every number between two ends."""
    factor = alpha / (alpha - 1)
    return factor * log(ends[0], bits)[0], factor * log(ends[1], bits)[1]


def exact_slack(sides: Callable[[int], tuple[Ends, Ends]]) -> float:
    """Return larger - smaller with its exact sign; an open one counts as violated."""
    for bits in precisions():
        smaller, larger = sides(bits)
        if smaller[1] < larger[0] or smaller[0] > larger[1]:
            slack = float(middle(larger) - middle(smaller))
            return slack or math.copysign(LEAST, larger[0] - smaller[1])
        if smaller[0] == smaller[1] == larger[0] == larger[1]:
            return 0.0
    return -LEAST


def middle(ends: Ends) -> Fraction:
    """Return the number half-way between two ends."""
    return (ends[0] + ends[1]) / 2
