"""What is said of a rounded number stays true of the number."""

import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from lowlift._rounding import at_least, at_most, ceiling, floor, percent_at_most

POWERS = st.floats(-50, 50)


@given(POWERS)
def test_factors_are_rounded_outward(power):
    exact = Decimal(power).exp()
    assert Decimal(at_least(power)) <= exact <= Decimal(at_most(power))
    assert math.isclose(float(at_least(power)), float(exact), rel_tol=0.011)
    assert math.isclose(float(at_most(power)), float(exact), rel_tol=0.011)


@given(st.floats(-1e9, 1e9))
def test_numbers_are_rounded_to_their_side(value):
    assert Decimal(floor(value)) <= Decimal(value) <= Decimal(ceiling(value))


@given(st.floats(0, 1))
def test_a_bound_in_percent_is_not_below_it(share):
    shown = Decimal(percent_at_most(share).removesuffix("%"))
    assert Decimal(share) * 100 <= shown <= 100
