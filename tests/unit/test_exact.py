"""The arithmetic that decides, against mpmath at far higher precision and against Fraction."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from lowlift import _exact as exact
from lowlift._exact import (
    MAX_BITS,
    at_most_exp,
    exp_between,
    exp_of,
    integers_of,
    log_of,
    power_sum_at_most_exp,
    precisions,
    sqrt_at_most_expm1,
)

BITS = (1, 8, 53, 128, 200, 511, 1024, 3000)
OFF = Fraction(1, 10**30)
UNIT = Fraction(1, 2**400)


def real(x):
    return mpmath.mpf(x.numerator) / x.denominator


def rational(value, up):
    """Return the fraction next to a real number, below or above it, at 2**-400."""
    whole = int(mpmath.floor(mpmath.ldexp(value, 400)))
    return Fraction(whole + up, 2**400)


def rationals(seed, count=40, size=60):
    rng = random.Random(seed)
    some = [Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(5e-324), Fraction(-20)]
    for _ in range(count):
        denominator = rng.randint(1, 10 ** rng.randint(0, 20))
        some.append(Fraction(rng.randint(-size * denominator, size * denominator), denominator))
    return some


@pytest.mark.parametrize("bits", BITS)
def test_exp_enclosures_hold_the_value_and_are_narrow(bits):
    with mpmath.workprec(2 * bits + 300):
        for x in rationals(bits):
            lo, hi = exp_of(x, bits)
            value = mpmath.ldexp(mpmath.exp(real(x)), bits)
            assert lo <= value <= hi, x
            # One unit of x is worth e**x units; rounding adds a few.
            assert hi - lo <= 4 + 2 * mpmath.exp(real(x)), x


@pytest.mark.parametrize("bits", BITS)
def test_exp_between_holds_both_ends(bits):
    rng = random.Random(bits)
    with mpmath.workprec(2 * bits + 300):
        for _ in range(20):
            ends = sorted(rng.randint(-30 << bits, 30 << bits) for _ in range(2))
            lo, hi = exp_between(*ends, bits)
            true_lo, true_hi = (
                mpmath.ldexp(mpmath.exp(mpmath.ldexp(t, -bits)), bits) for t in ends
            )
            assert lo <= true_lo
            assert true_hi <= hi
            assert true_lo - lo <= 3
            assert hi - true_hi <= 3


@pytest.mark.parametrize("bits", BITS)
def test_log_enclosures_hold_the_value_and_are_narrow(bits):
    rng = random.Random(bits)
    pairs = [(1, 1), (2, 1), (1, 2), (2**200 + 1, 2**200), (10**300, 1), (1, 10**300), (3, 4)]
    pairs += [(rng.randint(1, 10**k), rng.randint(1, 10 ** (40 - k))) for k in range(1, 40)]
    with mpmath.workprec(2 * bits + 1500):
        for a, b in pairs:
            lo, hi = log_of(a, b, bits)
            value = mpmath.ldexp(mpmath.log(mpmath.mpf(a) / b), bits)
            assert lo <= value <= hi, (a, b)
            assert hi - lo <= 3, (a, b)


@pytest.mark.parametrize("bits", [10, 40, 100, 300])
def test_series_enclose_before_any_guard_bits_help(bits):
    one = 1 << bits
    with mpmath.workprec(3 * bits + 100):
        for k in range(200):
            r = one // 4 * k // 200
            lo, hi = exact._exp_series(r, bits)
            assert lo <= mpmath.ldexp(mpmath.exp(mpmath.ldexp(r, -bits)), bits) <= hi
            z = one // 3 * k // 200
            lo, hi = exact._atanh(z, bits)
            assert lo <= mpmath.ldexp(mpmath.atanh(mpmath.ldexp(z, -bits)), bits) <= hi
            lo, hi = exact._atanh_inverse(k + 2, bits)
            assert lo <= mpmath.ldexp(mpmath.atanh(mpmath.mpf(1) / (k + 2)), bits) <= hi
        lo, hi = exact._log2(bits)
        assert lo <= mpmath.ldexp(mpmath.log(2), bits) <= hi
        assert hi - lo <= 2


def test_precisions_double_up_to_the_limit():
    assert list(precisions()) == [128 << k for k in range(10)]
    assert list(precisions())[-1] == MAX_BITS
    assert list(precisions(MAX_BITS)) == [MAX_BITS]


@pytest.mark.parametrize("budget", [0.001, 0.1, 0.5, 1.0, 2.5, 30.0, 700.0])
def test_at_most_exp_decides_on_both_sides_of_the_bound(budget):
    b = Fraction(budget)
    with mpmath.workprec(3000):
        bound = mpmath.exp(real(b))
        below, above = rational(bound, 0), rational(bound, 1)
    for q, verdict in (
        (below, True),
        (above, False),
        (below - OFF, True),
        (above + OFF, False),
        (1 / below, True),
        (1 / above, True),
    ):
        assert at_most_exp(q.numerator, q.denominator, b) is verdict
        assert at_most_exp(7 * q.numerator, 7 * q.denominator, b) is verdict


@pytest.mark.parametrize("budget", [1e-10, 1e-300, 5e-324])
def test_at_most_exp_decides_at_tiny_budgets(budget):
    # 1 + b < e**b < 1 + b + b**2 for 0 < b < 1.
    b = Fraction(budget)
    for q, verdict in ((1 + b, True), (1 + b + b * b, False)):
        assert at_most_exp(q.numerator, q.denominator, b) is verdict


def test_at_most_exp_takes_budget_zero_as_the_integer_one():
    assert at_most_exp(5, 5, Fraction(0))
    assert at_most_exp(0, 5, Fraction(0))
    assert not at_most_exp(2**2000 + 1, 2**2000, Fraction(0))


@pytest.mark.parametrize("budget", [0.001, 0.5, 1.0, 4.0, 30.0])
def test_sqrt_at_most_expm1_decides_on_both_sides_of_the_bound(budget):
    b = Fraction(budget)
    with mpmath.workprec(3000):
        bound = mpmath.expm1(real(b)) ** 2
        below, above = rational(bound, 0), rational(bound, 1)
    assert sqrt_at_most_expm1(below, b)
    assert sqrt_at_most_expm1(below - OFF, b)
    assert not sqrt_at_most_expm1(above, b)
    assert not sqrt_at_most_expm1(above + OFF, b)


@pytest.mark.parametrize("budget", [1e-10, 1e-300, 5e-324])
def test_sqrt_at_most_expm1_decides_at_tiny_budgets(budget):
    b = Fraction(budget)
    assert sqrt_at_most_expm1(b**2, b)
    assert not sqrt_at_most_expm1((b + b**2) ** 2, b)


def test_sqrt_at_most_expm1_at_zero():
    assert sqrt_at_most_expm1(Fraction(0), Fraction(0))
    assert sqrt_at_most_expm1(Fraction(0), Fraction(1))
    assert not sqrt_at_most_expm1(Fraction(1, 2**2000), Fraction(0))


@pytest.mark.parametrize("exponent", [1, 2, 2.5, 50.25, 1000, -1, -2.5, -1000])
@pytest.mark.parametrize("terms", [[(1, 1, 2), (1, 3, 2)], [(3, 2, 3), (4, 9, 8), (1, 3, 2)]])
def test_power_sum_decides_on_both_sides_of_the_bound(exponent, terms):
    exponent, scale = Fraction(exponent), sum(w for w, _, _ in terms)
    with mpmath.workprec(6000):
        total = sum(w * (mpmath.mpf(a) / b) ** real(exponent) for w, a, b in terms) / scale
        bound = mpmath.log(total) / abs(real(exponent))
        if abs(bound) < UNIT:  # exponent 1: the mean lift is 1 and holds at every budget
            assert power_sum_at_most_exp(terms, scale, exponent, UNIT)
            return
        below, above = rational(bound, 0), rational(bound, 1)
    assert power_sum_at_most_exp(terms, scale, exponent, above)
    assert power_sum_at_most_exp(terms, scale, exponent, above + OFF)
    assert not power_sum_at_most_exp(terms, scale, exponent, below)
    assert not power_sum_at_most_exp(terms, scale, exponent, below - OFF)


def test_power_sum_decides_at_tiny_budgets():
    # Lifts 1 + d and 1 - d: the mean square is 1 + d**2; e**(d**2 - d**4) < 1 + d**2 < e**(d**2).
    one = 2**500
    terms, square = [(1, one + 1, one), (1, one - 1, one)], Fraction(1, one**2)
    assert power_sum_at_most_exp(terms, 2, Fraction(2), square / 2)
    assert not power_sum_at_most_exp(terms, 2, Fraction(2), (square - square**2) / 2)
    assert not power_sum_at_most_exp(terms, 2, Fraction(2), Fraction(5e-324))


@pytest.mark.parametrize("budget", [1e4, 1e18, 1e300])
def test_astronomic_budgets_return_at_once(budget):
    b = Fraction(budget)
    assert at_most_exp(10**300, 1, b)
    assert sqrt_at_most_expm1(Fraction(10**300), b)
    for exponent in (2, 1000, -1000):
        terms = [(1, 1, 10**300), (10**300, 10**300, 1)]
        assert power_sum_at_most_exp(terms, 10**300, Fraction(exponent), b)


def test_integers_are_the_floats_up_to_one_power_of_two():
    rng = np.random.default_rng(0)
    for k in range(50):
        values = rng.random((3, 4)) * 2.0 ** rng.integers(-300, 300, (3, 4))
        values[0, k % 4] = 0.0
        found = integers_of(values)
        assert found.shape == (3, 4)
        scales = {Fraction(v) / n for v, n in zip(values.flat, found.flat, strict=True) if n}
        assert len(scales) == 1
        scale = scales.pop()
        assert (scale.numerator & (scale.numerator - 1)) == 0
        assert (scale.denominator & (scale.denominator - 1)) == 0
        assert found[0, k % 4] == 0
        assert any(n % 2 for n in found.flat)
        assert all(type(n) is int for n in found.flat)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5e-324, 1e-323], [1, 2]),
        ([0.0, 0.0], [0, 0]),
        ([1.0, 2.0**-1074], [2**1074, 1]),
        ([1.7976931348623157e308], [2**53 - 1]),
        ([3.0, 6.0, 0.0], [3, 6, 0]),
    ],
)
def test_integers_of_extreme_floats(values, expected):
    assert integers_of(np.array(values)).tolist() == expected


@pytest.mark.parametrize("exponent", [10**44, 10**49, 10**100, 10**300])
def test_powers_of_huge_orders_are_decided_without_numbers_of_as_many_digits(exponent):
    """At few bits the end of such a power is astronomic: it must not be computed."""
    step = Fraction(1, 10**12) * Fraction(2, 2**48)
    terms = [(1, (v := 1 + sign * step).numerator, v.denominator) for sign in (1, -1)]
    assert not power_sum_at_most_exp(terms, 2, Fraction(exponent), Fraction(7.1054e-27))
    assert power_sum_at_most_exp(terms, 2, Fraction(exponent), Fraction(7.1055e-27))
