"""Entropy and the measures of lift vectors against 50 digits."""

import math

import mpmath
import numpy as np
import pytest

from lowlift._kernels import lift

SIZES = [1.0, 1e-12, 1e-200, 1e150]


def case(seed):
    """Lifts (3, 7) of every size, some of them 0, and P(s)."""
    rng = np.random.default_rng(seed)
    lifts = rng.random((3, 7)) * rng.choice(SIZES, (3, 7))
    lifts[rng.random((3, 7)) < 0.1] = 0.0
    lifts[:, 0] = 1.0
    return lifts, rng.dirichlet(np.ones(3))


def exactly(value, p_s, lifts):
    """Return one number per output, from lists of mpmath numbers."""
    with mpmath.workdps(50):
        weights = [mpmath.mpf(p) for p in p_s.tolist()]
        return [float(value(weights, [mpmath.mpf(x) for x in c])) for c in lifts.T.tolist()]


def log(x):
    return mpmath.log(x) if x else -mpmath.inf


@pytest.mark.parametrize("seed", range(10))
def test_sums_over_the_sensitive_symbols(seed):
    lifts, p_s = case(seed)

    def of_power(power):
        def value(weights, column):
            total = sum(p * abs(x - 1) ** power for p, x in zip(weights, column, strict=True))
            return log(total)

        return value

    # 1 - lift loses what is below a unit of 1, in any arithmetic of doubles.
    tolerance = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(
        lift.log_l1(lifts, p_s), exactly(of_power(1), p_s, lifts), **tolerance
    )
    np.testing.assert_allclose(
        lift.log_chi2(lifts, p_s), exactly(of_power(2), p_s, lifts), **tolerance
    )
    assert lift.log_l1(lifts, p_s)[0] == lift.log_chi2(lifts, p_s)[0] == -math.inf


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 50.0, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_power_means(seed, alpha):
    lifts, p_s = case(seed)

    def value(weights, column):
        order = mpmath.mpf(alpha)
        return log(sum(p * x**order for p, x in zip(weights, column, strict=True))) / order

    found = lift.log_alpha_mean(lift.log_or_minus_inf(lifts), p_s, alpha)
    np.testing.assert_allclose(found, exactly(value, p_s, lifts), rtol=1e-12, atol=1e-12)
    largest = lift.log_alpha_mean(lift.log_or_minus_inf(lifts), p_s, math.inf)
    np.testing.assert_array_equal(largest, lift.log_or_minus_inf(lifts.max(axis=0)))
    assert (found <= largest + 1e-12).all()


def test_the_inverse_of_a_zero_lift_has_no_end():
    p_s = np.array([0.5, 0.5])
    logs = np.array([[math.inf], [0.0]])
    assert lift.log_alpha_mean(logs, p_s, 2.0).tolist() == [math.inf]
    assert lift.log_chi2(np.array([[math.inf], [1.0]]), p_s).tolist() == [math.inf]


def test_reciprocals_are_cut_before_they_overflow():
    found = lift.reciprocal(np.array([[0.0, 5e-324, 1e-310, 0.5, 4.0]]))
    assert found.tolist() == [[math.inf, 1e300, 1e300, 2.0, 0.25]]


@pytest.mark.parametrize("seed", range(5))
def test_entropy(seed):
    p = np.random.default_rng(seed).dirichlet(np.full(9, 0.05))
    p[p < 1e-6] = 0.0
    p /= p.sum()
    exact = -math.fsum(x * math.log(x) for x in p.tolist() if x)
    assert lift.entropy(p) == pytest.approx(exact, abs=1e-14)
    assert math.copysign(1, lift.entropy(np.array([0.0, 1.0]))) == 1


@pytest.mark.parametrize("seed", range(10))
def test_most_extreme_outputs_in_turn(seed):
    rng = np.random.default_rng(seed)
    lifts, p_y = rng.integers(1, 5, (2, 8)) / 2, rng.dirichlet(np.ones(8))
    highest = sorted(range(8), key=lambda y: (-max(lifts[:, y]), -p_y[y]))
    lowest = sorted(range(8), key=lambda y: (min(lifts[:, y]), -p_y[y]))
    for most in range(9):
        expected = list[int]()
        for pair in zip(highest[:most], lowest[:most], strict=True):
            expected += [y for y in dict.fromkeys(pair) if y not in expected]
        assert lift.most_extreme(lifts, p_y, most) == expected[:most]
