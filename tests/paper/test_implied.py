"""The bounds of Propositions 1 and 3 to 6 hold in rationals, and are reached."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._exact import at_most_exp
from lowlift.paper import implied_lifts, implied_measures

#: Every positive 2 x 2 table of counts up to 4, and some 3 x 2 ones.
TABLES = [
    *(np.array(cells).reshape(2, 2) for cells in itertools.product((1, 2, 3, 4), repeat=4)),
    *(np.array(cells).reshape(3, 2) for cells in itertools.product((1, 2, 9), repeat=6)),
]
tables = st.integers(2, 4).flatmap(
    lambda n_s: st.lists(
        st.lists(st.integers(1, 60), min_size=n_s, max_size=n_s), min_size=2, max_size=4
    )
).map(lambda rows: np.array(rows).T)  # fmt: skip


def case(counts):
    """Return P(s) and the lifts (|S|, |X|) of a table, in fractions."""
    rows, columns, total = counts.sum(axis=1), counts.sum(axis=0), int(counts.sum())
    p_s = [Fraction(int(n), total) for n in rows]
    lift = [
        [
            Fraction(int(counts[s, x]) * total, int(rows[s]) * int(columns[x]))
            for x in range(counts.shape[1])
        ]
        for s in range(counts.shape[0])
    ]
    return p_s, list(zip(*lift, strict=True)), [Fraction(int(n), total) for n in columns]


def budget(ratio):
    """Return a float budget just large enough: ratio <= e**budget, proven."""
    for ulps in range(1, 100):
        found = math.log(ratio) * (1 + ulps * 2**-52)
        if at_most_exp(ratio.numerator, ratio.denominator, Fraction(found)):
            return found
    raise AssertionError(ratio)


def alip_of(outputs):
    """Return ALIP with the tightest budgets that the outputs keep."""
    lifts = [value for output in outputs for value in output]
    return ll.ALIP(budget(1 / min(lifts)), budget(max(lifts)))


def mean(p_s, output, function):
    return sum(p * function(value) for p, value in zip(p_s, output, strict=True))


def check_measures(counts):
    p_s, outputs, p_y = case(counts)
    found = implied_measures(alip_of(outputs))
    l1 = [mean(p_s, output, lambda v: abs(v - 1)) for output in outputs]
    chi2 = [mean(p_s, output, lambda v: (v - 1) ** 2) for output in outputs]
    squares = [mean(p_s, output, lambda v: v**2) for output in outputs]
    assert max(l1) <= Fraction(found.l1_lift)
    assert max(chi2) <= Fraction(found.chi2_lift)
    assert max(squares) <= Fraction(found.alpha_lift) ** 2
    assert sum(p * v for p, v in zip(p_y, l1, strict=True)) / 2 <= Fraction(found.total_variation)
    assert sum(p * v for p, v in zip(p_y, chi2, strict=True)) <= Fraction(found.chi2_divergence)
    inverses = [
        (lambda v: abs(1 / v - 1), found.l1_lift_inverse, 1),
        (lambda v: (1 / v - 1) ** 2, found.chi2_lift_inverse, 1),
        (lambda v: 1 / v**2, found.alpha_lift_inverse, 2),
    ]
    for function, bound, exponent in inverses:
        assert max(mean(p_s, o, function) for o in outputs) <= Fraction(bound) ** exponent
    for output in outputs:
        ratio = max(output) / min(output)
        limit = Fraction(found.local_differential_privacy)
        assert at_most_exp(ratio.numerator, ratio.denominator, limit)


def check_lifts(counts):
    p_s, outputs, _ = case(counts)
    joint = ll.Joint.from_counts(counts)
    largest = [
        max(mean(p_s, o, f) for o in outputs)
        for f in (
            lambda v: abs(v - 1),
            lambda v: abs(1 / v - 1),
            lambda v: (v - 1) ** 2,
            lambda v: (1 / v - 1) ** 2,
            lambda v: v**2,
            lambda v: 1 / v**2,
        )
    ]
    root = [Fraction(math.sqrt(v) * (1 + 1e-15)) for v in largest[2:]]
    assert all(r**2 >= v for r, v in zip(root, largest[2:], strict=True))
    criteria = [
        ll.L1Lift(budget(1 + largest[1]), budget(1 + largest[0])),
        ll.Chi2Lift(budget(1 + root[1]), budget(1 + root[0])),
        ll.AlphaLift(2, budget(root[3]), budget(root[2])),
    ]
    for criterion in criteria:
        found = implied_lifts(criterion, joint)
        for output in outputs:
            for s, value in enumerate(output):
                assert Fraction(found.low[s]) <= value <= Fraction(found.high[s])


def test_measures_of_every_small_table_are_bounded():
    for counts in TABLES:
        check_measures(counts)


def test_lifts_of_every_small_table_are_bounded():
    for counts in TABLES[::5]:
        check_lifts(counts)


@given(tables)
def test_measures_are_bounded(counts):
    check_measures(counts)


@given(tables)
def test_lifts_are_bounded(counts):
    check_lifts(counts)


def test_where_the_print_is_exceeded_the_corrected_bound_holds():
    counts = np.array([[8, 192], [192, 608]])  # P_S = (.2, .8), lifts (.2, 1.2) and (1.2, .95)
    p_s, outputs, _ = case(counts)
    criterion = alip_of(outputs)
    found = implied_measures(criterion)
    assert mean(p_s, outputs[0], lambda v: abs(v - 1)) == Fraction(32, 100)
    assert math.expm1(criterion.upper) < 0.21 < found.l1_lift
    # u = 1.2 and d = .2 meet in one output, so both bounds are reached.
    assert found.l1_lift == pytest.approx(0.32, rel=1e-12)
    assert found.chi2_lift == pytest.approx(0.16, rel=1e-12)


INVERSES = {
    "l1_lift_inverse": lambda v: abs(1 / v - 1),
    "chi2_lift_inverse": lambda v: (1 / v - 1) ** 2,
}
#: Lifts between d and u: t is u; t is below u; both at once nearly; d at and below 1/2; d near 1.
ENDS = [
    (Fraction(6, 7), Fraction(9, 7)),
    (Fraction(9, 10), Fraction(10)),
    (Fraction(9, 10), Fraction(163, 100)),
    (Fraction(1, 2), Fraction(30)),
    (Fraction(1, 20), Fraction(3)),
    (Fraction(999, 1000), Fraction(5)),
]


def inside(d, u):
    """Return ALIP with the largest float budgets whose lifts lie within d and u."""
    low, high = budget(1 / d), budget(u)
    while not at_least_exp(1 / d, low):
        low = math.nextafter(low, 0)
    while not at_least_exp(u, high):
        high = math.nextafter(high, 0)
    return ll.ALIP(low, high)


def at_least_exp(ratio, found):
    return at_most_exp(ratio.denominator, ratio.numerator, -Fraction(found))


def pairs(d, u, steps):
    """Return every pair of lifts of two values of S on a grid of [d, 1) and (1, u]."""
    low = [d + (1 - d) * Fraction(k, steps) for k in range(steps)]
    high = [1 + (u - 1) * Fraction(k, steps) ** 2 for k in range(1, steps + 1)]
    return itertools.product(low, high)


@pytest.mark.parametrize(("d", "u"), ENDS)
@pytest.mark.parametrize("name", INVERSES)
def test_proposition_5_is_reached_and_not_exceeded(name, d, u):
    function = INVERSES[name]
    loose = Fraction(getattr(implied_measures(alip_of([(d, u)])), name))
    found = Fraction(getattr(implied_measures(inside(d, u)), name))
    best = max(
        ((b - 1) * function(a) + (1 - a) * function(b)) / (b - a) for a, b in pairs(d, u, 120)
    )
    assert best <= loose
    assert found <= loose <= found * (1 + Fraction(1, 10**12))
    assert float(best) == pytest.approx(float(found), rel=2e-4)


def test_proposition_5_where_three_values_of_s_reach_it():
    p_s, outputs, _ = case(np.array([[3, 2, 2], [2, 3, 2], [2, 2, 3]]))  # lifts 9/7, 6/7, 6/7
    found = implied_measures(alip_of(outputs))
    for name, value in (
        ("l1_lift_inverse", Fraction(5, 27)),
        ("chi2_lift_inverse", Fraction(17, 486)),
    ):
        assert mean(p_s, outputs[0], INVERSES[name]) == value <= Fraction(getattr(found, name))
        assert getattr(found, name) == pytest.approx(float(value), rel=1e-12)


def test_proposition_5_at_its_ends():
    for zero in (ll.ALIP(0.0, 1.0), ll.ALIP(1.0, 0.0), ll.ALIP(math.inf, 0.0)):
        found = implied_measures(zero)
        assert [str(found.l1_lift_inverse), str(found.chi2_lift_inverse)] == ["0.0", "0.0"]
    far = implied_measures(ll.ALIP(1.0, math.inf))  # e**-1 < 1/2: the print is right here
    assert far.l1_lift_inverse == pytest.approx(math.e - 1, rel=1e-12)
    assert far.chi2_lift_inverse == pytest.approx((math.e - 1) ** 2, rel=1e-12)
    near = implied_measures(ll.ALIP(1e-9, math.inf))  # 2 (1 - d) and (1 - d)/4, nearly
    assert near.l1_lift_inverse == pytest.approx(2e-9, rel=1e-4)
    assert near.chi2_lift_inverse == pytest.approx(2.5e-10, rel=1e-6)


def test_proposition_4_is_reached():
    # One s has all of the deviation above, so alpha = inf gives the lift itself.
    joint = ll.Joint.from_counts([[3, 1], [1, 3]])
    found = implied_lifts(ll.AlphaLift(math.inf, math.log(2), math.log(1.5)), joint)
    np.testing.assert_allclose(found.high, 1.5, rtol=1e-12)
    np.testing.assert_allclose(found.low, 0.5, rtol=1e-12)
    assert found.max_lift == found.high.max()
    assert found.min_lift == found.low.min()


def test_budgets_of_zero_and_of_infinity():
    zero = implied_measures(ll.ALIP(0.0, 0.0))
    assert (zero.l1_lift, zero.chi2_lift, zero.alpha_lift, zero.l1_lift_inverse) == (0, 0, 1, 0)
    above = implied_measures(ll.MaxLift(math.log(2)))
    assert above.l1_lift == pytest.approx(1.0, rel=1e-15)  # 2(u - 1)/u
    assert math.isinf(above.l1_lift_inverse)
    below = implied_measures(ll.ALIP(math.log(2), math.inf))
    assert below.total_variation == pytest.approx(0.5, rel=1e-15)
    assert math.isinf(below.chi2_lift)
    assert math.isinf(below.mutual_information)
    huge = implied_measures(ll.LIP(1e6))
    assert huge.l1_lift == 2
    assert math.isinf(huge.alpha_lift)
    joint = ll.Joint.from_counts([[1, 3], [8, 8]])
    free = implied_lifts(ll.L1Lift(math.inf, math.inf), joint)
    assert free.low.tolist() == [0, 0]
    assert free.high.tolist() == [5, 1.25]


def test_other_criteria_and_orders_are_refused():
    joint = ll.Joint.from_counts([[1, 3], [8, 8]])
    with pytest.raises(ll.InvalidInput, match=r"must be ALIP, LIP or MaxLift; got L1Lift\. For"):
        implied_measures(ll.L1Lift(1.0, 1.0))
    with pytest.raises(ll.InvalidInput, match=r"must be L1Lift, Chi2Lift or AlphaLift; got LIP\."):
        implied_lifts(ll.LIP(1.0), joint)
    for alpha in (1.0, math.inf, math.nan):
        with pytest.raises(ll.InvalidInput, match="alpha must be above 1 and finite"):
            implied_measures(ll.LIP(1.0), alpha=alpha)
