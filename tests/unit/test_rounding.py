"""What is said of a rounded number stays true of the number."""

import math
from decimal import Context, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._rounding import at_least, at_most, ceiling, expm1_at_most, floor, percent_at_most

POWERS = st.floats(-50, 50)


@given(POWERS)
def test_factors_are_rounded_outward(power):
    exact = Decimal(power).exp()
    assert Decimal(at_least(power)) <= exact <= Decimal(at_most(power))
    assert math.isclose(float(at_least(power)), float(exact), rel_tol=0.011)
    assert math.isclose(float(at_most(power)), float(exact), rel_tol=0.011)


@pytest.mark.parametrize("factor", [1.1, 1.25, 1.5, 1.65, 2, 2.5, 3, 4, 5, 8, 10, 20, 100, 999])
def test_a_factor_that_was_asked_for_is_written_as_it_was(factor):
    budget = ll.LIP.at_most(factor).epsilon
    assert at_most(budget) == f"{factor:g}"
    assert at_most(budget, 4) == f"{factor:g}"
    assert Decimal(at_least(-budget)) <= 1 / Decimal(str(factor))


def test_halves_and_tenths_are_written_as_such():
    texts = [at_least(-ll.LIP.at_most(factor).epsilon) for factor in (2, 4, 5, 10)]
    assert texts == ["0.5", "0.25", "0.2", "0.1"]
    assert expm1_at_most(ll.LIP.at_most(1.5).epsilon) == "0.5"
    above = math.nextafter(math.log(2), 1)
    assert (at_most(above), at_least(-above)) == ("2.01", "0.499")


@pytest.mark.parametrize("power", [700, -700, 5e-324, -5e-324, 1e-300, 699.9])
def test_extreme_powers_are_rounded_outward(power):
    with localcontext(Context(prec=1200)):
        exact = Decimal(power).exp()
        assert Decimal(at_least(power)) <= exact <= Decimal(at_most(power))
        assert exact - 1 <= Decimal(expm1_at_most(power))


@given(st.floats(-1e9, 1e9))
def test_numbers_are_rounded_to_their_side(value):
    assert Decimal(floor(value)) <= Decimal(value) <= Decimal(ceiling(value))


@given(st.floats(0, 1))
def test_a_bound_in_percent_is_not_below_it(share):
    shown = Decimal(percent_at_most(share).removesuffix("%"))
    assert Decimal(share) * 100 <= shown <= 100
