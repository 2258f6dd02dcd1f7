"""Integers, fractions and enclosures: the arithmetic that decides.

An enclosure is a pair of integers ``(lo, hi)`` at a number of ``bits``: the real number it stands
for lies in ``[lo / 2**bits, hi / 2**bits]``. Every operation rounds its lower end down and its
upper end up, so nothing here depends on how floats round.

The comparisons double the bits until they are decided. With a rational budget ``x != 0``, ``e**x``
is transcendental (Lindemann), so it never equals the algebraic number it is compared with and the
loops end; ``x == 0`` is compared as the integer 1.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats

Enclosure = tuple[int, int]

#: Comparisons that are still open at this precision count as not satisfied.
MAX_BITS = 1 << 16

_GUARD = 32


def precisions(start: int = 128) -> Iterator[int]:
    """Yield the number of bits to try, doubling up to `MAX_BITS`."""
    bits = start
    while bits <= MAX_BITS:
        yield bits
        bits *= 2


def integers_of(values: Floats) -> npt.NDArray[np.object_]:
    """Return the floats as integer multiples of one common power of two, exactly.

    Examples
    --------
    >>> integers_of(np.array([0.5, 0.75])).tolist()
    [2, 3]
    """
    mantissa, exponent = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    used = digits != 0
    shift = exponent - int(exponent[used].min()) if used.any() else exponent
    scaled = [int(d) << int(k) if d else 0 for d, k in zip(digits.flat, shift.flat, strict=True)]
    common = math.gcd(*scaled) or 1
    twos = common & -common
    out = np.empty(len(scaled), dtype=object)
    out[:] = [v // twos for v in scaled]
    return out.reshape(values.shape)


def largest_remainders(shares: Sequence[int], denominator: int) -> list[int]:
    """Return whole numbers in the ratio of `shares` that sum to `denominator`.

    Examples
    --------
    >>> largest_remainders([1, 1, 1], 16)
    [6, 5, 5]
    """
    total = sum(shares)
    floors, rests = zip(*(divmod(share * denominator, total) for share in shares), strict=True)
    out = list(floors)
    by_rest = sorted(range(len(out)), key=lambda k: -rests[k])
    for k in by_rest[: denominator - sum(out)]:
        out[k] += 1
    return out


def _shift_up(value: int, bits: int) -> int:
    return -((-value) >> bits)


def _ceil_div(a: int, b: int) -> int:
    return -((-a) // b)


@lru_cache(maxsize=32)
def _log2(bits: int) -> Enclosure:
    """Enclose log 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    lo = hi = 0
    for factor, inverse in ((18, 26), (-2, 4801), (8, 8749)):
        low, high = _atanh_inverse(inverse, bits + _GUARD)
        lo += factor * (low if factor > 0 else high)
        hi += factor * (high if factor > 0 else low)
    return lo >> _GUARD, _shift_up(hi, _GUARD)


def _atanh_inverse(inverse: int, bits: int) -> Enclosure:
    """Enclose atanh(1/inverse), inverse >= 2, by its series."""
    power, k, lo, terms = (1 << bits) // inverse, 1, 0, 0
    while power:
        lo += power // k
        power //= inverse * inverse
        k += 2
        terms += 1
    # Each term was rounded down twice, by less than 1 (power) + 1 (division); the tail is below 2.
    return lo, lo + 2 * terms + 2


@lru_cache(maxsize=4096)
def exp_of(x: Fraction, bits: int) -> Enclosure:
    """Enclose e**x for a rational x of moderate size.

    Examples
    --------
    >>> lo, hi = exp_of(Fraction(1), 20)
    >>> lo / 2**20 <= math.e <= hi / 2**20, hi - lo <= 2
    (True, True)
    """
    scaled = x.numerator << bits
    return exp_between(scaled // x.denominator, _ceil_div(scaled, x.denominator), bits)


def exp_between(lo: int, hi: int, bits: int) -> Enclosure:
    """Enclose e**t for every t in [lo, hi] / 2**bits; both ends are within a few units of best."""
    return _exp_end(lo, bits)[0], _exp_end(hi, bits)[1]


def _exp_end(x: int, bits: int) -> Enclosure:
    """Enclose e**(x / 2**bits)."""
    halvings = 8 + math.isqrt(bits) // 2
    magnitude = max(0, (abs(x) >> bits).bit_length() + 1)
    work = bits + _GUARD + 2 * halvings + magnitude + max(0, 2 * (x >> bits))
    t = x << (work - bits)
    log2_lo, log2_hi = _log2(work)
    k = t // (log2_hi if t >= 0 else log2_lo)  # so that r >= 0
    # r = t - k log 2, enclosed; then divided by 2**halvings so that the series is short.
    r_lo = t - k * (log2_hi if k >= 0 else log2_lo)
    r_hi = t - k * (log2_lo if k >= 0 else log2_hi)
    r_lo, r_hi = r_lo >> halvings, _shift_up(r_hi, halvings)
    lo, hi = _exp_series(r_lo, work)[0], _exp_series(r_hi, work)[1]
    for _ in range(halvings):
        lo, hi = (lo * lo) >> work, _shift_up(hi * hi, work)
    shift = work - bits - k
    if shift >= 0:
        return lo >> shift, _shift_up(hi, shift)
    return lo << -shift, hi << -shift


def _exp_series(r: int, bits: int) -> Enclosure:
    """Enclose e**(r / 2**bits) for 0 <= r < 2**bits / 4 by Taylor's series."""
    term = total = 1 << bits
    k = 0
    while term:
        k += 1
        term = (term * r >> bits) // k
        total += term
    # A term is too low by less than 2 plus the error of the one before (times r/k < 1/4): below 3.
    return total, total + 3 * k + 3


@lru_cache(maxsize=4096)
def log_of(numerator: int, denominator: int, bits: int) -> Enclosure:
    """Enclose log(numerator / denominator) for positive integers.

    Examples
    --------
    >>> lo, hi = log_of(10, 1, 30)
    >>> lo / 2**30 <= math.log(10) <= hi / 2**30
    True
    """
    if numerator < denominator:
        lo, hi = log_of(denominator, numerator, bits)
        return -hi, -lo
    k = numerator.bit_length() - denominator.bit_length()
    work = bits + _GUARD + k.bit_length()
    # q = m 2**k with m in (1/2, 2); if m < 1 use k - 1 so that m lies in [1, 2).
    if numerator < denominator << k:
        k -= 1
    denominator <<= k
    z_num, z_den = numerator - denominator, numerator + denominator
    lo = _atanh((z_num << work) // z_den, work)[0]
    hi = _atanh(_ceil_div(z_num << work, z_den), work)[1]
    log2_lo, log2_hi = _log2(work)
    down = work - bits
    return (2 * lo + k * log2_lo) >> down, _shift_up(2 * hi + k * log2_hi, down)


def _atanh(z: int, bits: int) -> Enclosure:
    """Enclose atanh(z / 2**bits) for 0 <= z <= 2**bits / 3 + 1."""
    square = z * z >> bits
    power, k, lo, terms = z, 1, 0, 0
    while power:
        lo += power // k
        power = power * square >> bits
        k += 2
        terms += 1
    # power is too low by less than 2, division by less than 1; the tail is below 4.
    return lo, lo + 3 * terms + 4


def _is_at_most_zero(enclosure: Callable[[int], Enclosure]) -> bool:
    """Decide the sign of what a function encloses at a number of bits; undecided is False."""
    for bits in precisions():
        lo, hi = enclosure(bits)
        if hi <= 0 or lo > 0:
            return hi <= 0
    return False


def at_most_exp(numerator: int, denominator: int, budget: Fraction) -> bool:
    """Decide numerator / denominator <= e**budget for a positive denominator and budget >= 0.

    Examples
    --------
    >>> at_most_exp(2718281828, 10**9, Fraction(1)), at_most_exp(2718281829, 10**9, Fraction(1))
    (True, False)
    """
    if numerator <= denominator:
        return True
    if budget == 0:
        return False
    # log2(q) < bits: a budget above bits * log 2 needs no exponential (and may be astronomic).
    bits = numerator.bit_length() - denominator.bit_length() + 1
    if budget >= bits:
        return True

    def excess(precision: int) -> Enclosure:
        lo, hi = exp_of(budget, precision)
        scaled = numerator << precision
        return scaled - hi * denominator, scaled - lo * denominator

    return _is_at_most_zero(excess)


def below_power_of_two(numerator: int, denominator: int, power: Fraction) -> bool:
    """Decide numerator / denominator < 2**power for positive integers and power > 0.

    Only a whole power of 2 is rational, so that the enclosures of any other come apart.

    Examples
    --------
    >>> below_power_of_two(2, 1, Fraction(1)), below_power_of_two(7, 5, Fraction(1, 2))
    (False, True)
    """
    bits = numerator.bit_length() - denominator.bit_length() + 1
    if numerator <= denominator or power >= bits:  # the ratio is below 2**bits
        return True
    if power.denominator == 1:
        return numerator < denominator << power.numerator
    for precision in precisions():
        low, high = log_of(numerator, denominator, precision)
        least, most = (power * end for end in _log2(precision))
        if high < least or low > most:
            return bool(high < least)
    return False


def sqrt_at_most_expm1(square: Fraction, budget: Fraction) -> bool:
    """Decide sqrt(square) <= e**budget - 1 for square >= 0 and budget >= 0, undecided is False.

    Examples
    --------
    >>> [sqrt_at_most_expm1(Fraction(square), Fraction(4)) for square in (2872, 2873)]
    [True, False]
    """
    if square == 0 or budget == 0:
        return square == 0
    # 1 + sqrt(square) <= 2 * 2**(bits / 2): astronomic budgets need no exponential.
    bits = max(0, square.numerator.bit_length() - square.denominator.bit_length() + 1)
    if budget >= bits // 2 + 2:
        return True

    def excess(precision: int) -> Enclosure:
        scaled = square.numerator << (2 * precision)
        low, high = (max(end - (1 << precision), 0) for end in exp_of(budget, precision))
        return scaled - high**2 * square.denominator, scaled - low**2 * square.denominator

    return _is_at_most_zero(excess)


def power_sum_at_most_exp(
    terms: Sequence[tuple[int, int, int]], scale: int, exponent: Fraction, budget: Fraction
) -> bool:
    """Decide sum_k w_k (a_k / b_k)**exponent / scale <= e**(|exponent| budget), undecided is False.

    `terms` are ``(w, a, b)``, positive integers; the budget is positive.
    """
    bound = abs(exponent) * budget
    room = scale.bit_length() + 1

    def excess(bits: int) -> Enclosure:
        lo = hi = -(scale << bits)
        for w, a, b in terms:
            # The term over the bound is w e**t, with t = exponent log(a/b) - bound.
            ends = [exponent * end for end in log_of(a, b, bits)]
            low = math.floor(min(ends) - bound * (1 << bits))
            high = math.ceil(max(ends) - bound * (1 << bits))
            if low > (room - w.bit_length() + 1) << bits:  # w e**t > scale by itself
                return 1, 1
            if high > (room + 1) << bits:  # its power would have as many digits: more bits first
                return -1, 1
            term = (0, 1) if high < -(2 * bits << bits) else exp_between(low, high, bits)
            lo, hi = lo + w * term[0], hi + w * term[1]
        return lo, hi

    return _is_at_most_zero(excess)
