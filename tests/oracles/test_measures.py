"""Every measure against its definition in Fractions."""

import math

import numpy as np
from hypothesis import given

import lowlift as ll
from lowlift import measures
from oracles import rational
from strategies import made, releases

#: Measures are sums of a few terms; near 0 they cancel.
CLOSE = {"rtol": 1e-11, "atol": 1e-14}


def floats(values):
    return [math.inf if v is None else float(v) for v in values]


def exact(release):
    p_s = rational.prior(release[0])
    lifts = rational.lifts(*release)
    return p_s, lifts, [rational.inverse(l_s) for l_s in lifts]


def p_y_of(release):
    masses = [sum(column) for column in rational.columns(*release)]
    return [mass / sum(masses) for mass in masses]


@given(releases())
def test_lifts_are_their_definition(release):
    joint, channel = made(release)
    _, lifts, _ = exact(release)
    columns = np.array([floats(l_s) for l_s in lifts]).T
    np.testing.assert_allclose(measures.lift(joint, channel), columns, **CLOSE)
    assert ((measures.lift(joint, channel) == 0) == (columns == 0)).all()
    np.testing.assert_allclose(measures.min_lift(joint, channel), columns.min(axis=0), **CLOSE)
    np.testing.assert_allclose(measures.max_lift(joint, channel), columns.max(axis=0), **CLOSE)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(measures.log_lift(joint, channel), np.log(columns), **CLOSE)


@given(releases())
def test_lift_based_measures_are_their_definition(release):
    joint, channel = made(release)
    p_s, lifts, _ = exact(release)
    l1 = [rational.l1(l_s, p_s) for l_s in lifts]
    chi2 = [rational.chi2(l_s, p_s) for l_s in lifts]
    np.testing.assert_allclose(measures.l1_lift(joint, channel), floats(l1), **CLOSE)
    np.testing.assert_allclose(measures.chi2_lift(joint, channel), floats(chi2), **CLOSE)
    for alpha in (2, 5):
        mean = [rational.power_mean(l_s, p_s, alpha) for l_s in lifts]
        found = measures.alpha_lift(joint, channel, alpha)
        np.testing.assert_allclose(found**alpha, floats(mean), **CLOSE)


@given(releases())
def test_lift_inverse_measures_are_their_definition(release):
    joint, channel = made(release)
    p_s, _, inverses = exact(release)
    l1 = [v and rational.l1(v, p_s) for v in inverses]
    chi2 = [v and rational.chi2(v, p_s) for v in inverses]
    np.testing.assert_allclose(measures.l1_lift_inverse(joint, channel), floats(l1), **CLOSE)
    np.testing.assert_allclose(measures.chi2_lift_inverse(joint, channel), floats(chi2), **CLOSE)
    for alpha in (1, 2, 5):
        mean = [v and rational.power_mean(v, p_s, alpha) for v in inverses]
        found = measures.alpha_lift_inverse(joint, channel, alpha)
        np.testing.assert_allclose(found**alpha, floats(mean), **CLOSE)


@given(releases())
def test_averages_are_their_definition(release):
    joint, channel = made(release)
    p_s, lifts, _ = exact(release)
    p_y = p_y_of(release)
    terms = list(zip(p_y, lifts, strict=True))
    expected = {
        measures.total_variation: sum(p * rational.l1(l_s, p_s) for p, l_s in terms) / 2,
        measures.chi2_divergence: sum(p * rational.chi2(l_s, p_s) for p, l_s in terms),
        measures.bayes_vulnerability: sum(
            p * max(q * v for q, v in zip(p_s, l_s, strict=True)) for p, l_s in terms
        ),
    }
    for measure, value in expected.items():
        np.testing.assert_allclose(measure(joint, channel), float(value), **CLOSE)
    leakage = float(sum(p * max(l_s) for p, l_s in terms))
    np.testing.assert_allclose(math.exp(measures.maximal_leakage(joint, channel)), leakage, **CLOSE)


@given(releases())
def test_arimoto_of_order_inf_is_the_gain_of_the_best_guess(release):
    joint, channel = made(release)
    gain = measures.bayes_vulnerability(joint, channel) / float(max(rational.prior(release[0])))
    found = measures.arimoto_information(joint, channel, math.inf)
    np.testing.assert_allclose(found, math.log(max(gain, 1.0)), **CLOSE)


def test_numbers_stay_finite_at_large_orders_and_tiny_lifts():
    joint = ll.Joint([[1e-299, 0.5], [0.25, 0.25]])
    channel = ll.Channel.identity(joint)
    smallest = math.log(1e-299 / 0.25 / 0.5)
    for alpha in (1.5, 1000.0):
        low = math.log(measures.alpha_lift_inverse(joint, channel, alpha)[0])
        # One term carries the mean: log P(s) / alpha beside the log of the inverse lift.
        assert math.isclose(low, -smallest + math.log(0.5) / alpha, rel_tol=1e-12)
        assert np.isfinite(measures.alpha_lift(joint, channel, alpha)).all()
        assert math.isfinite(measures.sibson_information(joint, channel, alpha))
        assert math.isfinite(measures.arimoto_information(joint, channel, alpha))
    assert math.isclose(
        measures.local_differential_privacy(joint, channel).epsilon,
        -smallest + math.log(2),
        rel_tol=1e-12,
    )
