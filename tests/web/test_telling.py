"""What a column says alone is judged by both sides of the promise."""

import math

import pytest

from lowlift.web.settings import Setting
from lowlift.web.telling import Limits, advice, given_away, limits_of, tags, telling
from lowlift.workflow import ColumnProfile

TWICE, UPPER, NONE = Limits(2.0, 2.0), Limits(math.inf, 2.0), Limits(math.inf, math.inf)


def column(low=None, high=None, *flags, name="x", **more):
    return ColumnProfile(name, "text", 5, 0.0, low, high, flags=flags, **more)


def test_a_value_that_becomes_unlikely_is_beyond_the_limit_too():
    said = telling(column(0.2, 1.5), TWICE)
    assert said.is_over
    assert (said.way, said.word) == ("down to", "0.20")
    assert said.bar == pytest.approx(100 * math.log10(5))
    assert not telling(column(0.5, 2.0), TWICE).is_over  # what is at the limit keeps it
    assert telling(column(0.0, 1.1), TWICE)[:2] == (100.0, True)
    assert telling(column(0.0, 1.1), TWICE)[3:5] == ("", "can rule a value out")


def test_without_a_lower_side_only_the_upper_counts():
    said = telling(column(0.2, 1.5), UPPER)
    assert not said.is_over
    assert (said.way, said.word) == ("up to", "1.50")
    assert telling(column(0.2, 2.5), UPPER).is_over


def test_without_a_bound_on_single_values_nothing_is_beyond_it():
    said = telling(column(0.2, 1.5), NONE)
    assert (said.is_over, said.limit, said.way) == (False, None, "down to")


def test_what_gives_it_away_is_beyond_any_limit():
    for limit in (2.0, 10.0, 50.0):
        assert telling(column(0.0, 4.0, "determines-sensitive"), Limits(limit, limit)).is_over
        assert telling(column(None, None, "identifier"), Limits(limit, limit)).is_over
    assert not telling(column(0.0, 4.0, "determines-sensitive"), Limits(math.inf, 5.0)).is_over
    assert telling(column(0.0, 4.0, "determines-sensitive"), TWICE).word == "tells it exactly"
    # Of an identifier it is not measured what it tells.
    assert telling(column(None, None, "identifier"), TWICE).word == "tells rows apart"


def test_what_is_beyond_the_limit_does_not_read_as_if_it_were_at_it():
    assert telling(column(0.9, 2.0001), TWICE).word == "2.01"
    assert telling(column(0.4999, 1.0), TWICE).word == "0.49"
    assert telling(column(0.9, 1.2), TWICE).word == "1.20"
    assert telling(column(0.99, 1.02), Limits(1.01, 1.01)).word == "1.02"


def test_little_or_nothing_is_said_in_words():
    assert telling(column(0.97, 1.04), TWICE).soft == "next to nothing"
    assert telling(column(None, None, "constant"), TWICE).soft == "nothing"
    assert telling(column(), TWICE).soft == "not measured"


def test_limits_are_those_of_the_setting():
    assert limits_of(Setting(limit=1.5)) == (1.5, 1.5)
    assert limits_of(Setting(criterion="max-lift", epsilon=math.log(4))) == pytest.approx(
        (math.inf, 4.0)
    )
    down, up = limits_of(Setting(criterion="alip", epsilon=2.0, split=0.25))
    assert (down, up) == pytest.approx((math.exp(0.5), math.exp(1.5)))
    assert limits_of(Setting(criterion="l1")) == NONE


def test_only_published_columns_are_said_to_give_it_away():
    measured = {
        name: column(0.0, 4.0, flag, name=name)
        for name, flag in (("a", "determines-sensitive"), ("b", "date"), ("c", "same-as-sensitive"))
    }
    setting = Setting("t", ("s",), ("a", "b"))
    assert given_away(measured, setting) == ("a",)
    assert advice(measured["c"], setting) == ""  # a notice above all columns says it


def test_groups_take_the_tag_of_single_values_away():
    found = column(None, None, "date", "almost-unique")
    plain, grouped = Setting("t", ("s",)), Setting("t", ("s",), bins=(("x", "year"),))
    assert [tag.words for tag in tags(found, plain)] == ["almost one value per row"]
    assert "group its values" in advice(found, plain)
    assert not tags(found, grouped)
    assert not advice(found, grouped)


def test_empty_cells_are_no_flag():
    assert not tags(ColumnProfile("x", "text", 5, 0.9), Setting())
