"""Beliefs before and after: exact, rounded to the cautious side, drawn within the picture."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift.figures.beliefs import belief_svg
from lowlift.report.beliefs import (
    STOPS,
    Belief,
    _believed,
    allowed_text,
    beliefs_of,
    share_text,
    top_of,
    worst_first,
)

#: A tick of the picture: its class, and where it begins and ends.
DRAWN = re.compile(r'class="(\w+)" d="M50.0 (\d+)V(\d+)"')


def exact_most(joint, channel):
    """Return max over y of P(s|y) by fractions alone."""
    columns = [joint.exact_column(*channel.atom(y)) for y in range(channel.n_y)]
    return [max(Fraction(c[s], sum(c)) for c in columns) for s in range(joint.n_s)]


def percent_of(text):
    return Fraction(text.removesuffix("%")) / 100


@given(st.lists(st.lists(st.integers(1, 60), min_size=4, max_size=4), min_size=2, max_size=4))
def test_what_is_said_is_never_below_the_worst(counts):
    joint = ll.Joint.from_counts(counts)
    for bound in (ll.LIP.at_most(1.5), ll.LIP.at_most(3)):
        release = ll.subset_merging(joint, bound)
        worst = exact_most(joint, release.channel)
        for belief, most in zip(beliefs_of(release.audit), worst, strict=True):
            assert percent_of(belief.after) >= belief.most >= most
            assert belief.limit is None or belief.most <= belief.limit
            assert belief.least <= belief.before <= belief.most


def test_a_worst_belief_of_a_quarter_is_not_rounded_up():
    joint = ll.Joint.from_counts([[1, 3], [3, 1]], ["ill", "well"], ["a", "b"])
    found = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP.at_most(2.5)))
    assert [belief.most for belief in found] == [Fraction(3, 4)] * 2
    assert found[0].words == "50% before, at most 75% after"
    strict = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP.at_most(1.25)))
    assert strict[0].words == "50% before, up to 75% after"
    assert 'class="beyond"' in strict[0].picture
    assert 'class="beyond"' not in found[0].picture


def test_a_growth_of_less_than_a_point_is_not_said_to_be_one():
    half, third = Fraction(1, 2), Fraction(1, 3)
    grown = Belief("a", half, half, half + Fraction(1, 2000))
    assert grown.words == "50% before, at most 50.1% after"
    assert grown._replace(most=Fraction(51, 100)).words == "50% before, at most 51% after"
    small = Belief("a", third, third, third + Fraction(1, 1000), is_kept=False)
    assert small.in_short == "33.3%, then up to 33.5%"
    assert Belief("a", third / 10, Fraction(0), third / 9).words == (
        "3.3% before, at most 3.8% after"
    )


def test_rounding_does_not_break_the_factor_on_its_face():
    share = Fraction(122, 1000)
    within = Belief("a", share, Fraction(0), 2 * share, limit=2 * share)
    assert within.words == "12.2% before, at most 24.4% after"
    assert within._replace(limit=None).words == "12% before, at most 25% after"
    eighth = within._replace(before=Fraction(12, 100), most=Fraction(24, 100))
    assert eighth._replace(limit=Fraction(24, 100)).words == "12% before, at most 24% after"
    rare = Belief("a", Fraction(323, 1000), Fraction(0), Fraction(1))
    assert allowed_text(rare, 2.0) == "32.3%, then at most 64.6%"


def test_a_limit_at_which_anything_is_allowed_asks_for_no_more_digits():
    sure = Belief("a", Fraction(561, 1000), Fraction(0), Fraction(1), limit=Fraction(1))
    assert sure.words == "56% before, at most 100% after"


def test_shares_that_stand_together_have_the_same_digits():
    """12.2, 57.1 and 31% were one page's, of which another one had 30.7%."""
    joint = ll.Joint.from_counts([[307, 0], [571, 0], [100, 22]], list("abc"), list("xy"))
    found = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP(9.0)))
    assert [belief.words.partition(" ")[0] for belief in found] == ["30.7%", "57.1%", "12.2%"]


@given(st.integers(1, 999), st.integers(1, 999))
def test_before_is_written_alike_in_the_answer_and_beside_the_limits(one, other):
    joint = ll.Joint.from_counts([[one, 1], [other, 1]], ["a", "b"], ["x", "y"])
    found = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP(9.0)))
    rarest = min(found, key=lambda belief: belief.before)
    before = {allowed_text(rarest, factor).partition(",")[0] for factor in STOPS}
    assert len(before) == 1
    said = rarest.in_short.partition(",")[0]
    assert said in before or len(said) < len(
        before.pop()
    )  # the fourth digit is beside a limit only
    assert len({belief.shown_digits for belief in found}) == 1


@given(st.fractions(Fraction(1, 10_000), Fraction(1, 2)), st.sampled_from([*STOPS, 1.05, 7.5]))
def test_what_a_limit_allows_is_rounded_up_and_seems_no_more_than_it(share, factor):
    before, after = allowed_text(Belief("a", share, share, share), factor).split(", then at most ")
    exact = Fraction(repr(factor))
    assert percent_of(after) >= min(share * exact, 1 - (1 - share) / exact)
    assert percent_of(after) <= exact * percent_of(before) * Fraction(102, 100)


def test_a_zero_that_was_rounded_to_is_written():
    rare = Belief("s08", Fraction(59525, 10**6), Fraction(0), Fraction(1))
    said = [allowed_text(rare, factor) for factor in STOPS]
    assert said == [f"6.0%, then at most {most}%" for most in ("9.0", "12.0", "17.9", "29.8")]
    said = allowed_text(rare._replace(digits=3), 2.0)  # 5.95% seems to become 2.002 times as likely
    assert said == "5.953%, then at most 11.905%"
    saved = Belief("saved", Fraction(711, 2201), Fraction(0), Fraction(1))  # no more digits help
    assert allowed_text(saved, 2.0) == "32.3%, then at most 64.7%"
    assert share_text(Fraction(7195, 10_000), "ROUND_CEILING", 3) == "72.0%"
    assert share_text(Fraction(1, 2), digits=3) == "50%"


def test_the_scale_of_a_picture_ends_where_it_is_told_to():
    rare = Belief("a", Fraction(73, 1000), Fraction(1, 20), Fraction(94, 1000))
    assert top_of([rare]) == 0.1
    assert top_of([rare, rare._replace(most=Fraction(11, 100))]) == 0.25
    assert top_of([rare, rare._replace(limit=Fraction(3, 10))]) == 0.5
    assert 'class="worst" d="M94.0 3' in rare.drawn(0.1)
    assert 'class="worst" d="M9.4 3' in rare.picture


def test_before_and_limit_are_seen_behind_the_end_of_the_band():
    drawn = belief_svg(0.5, 0.5, 0.5, 0.5, title="a")
    ends = {name: (int(top), int(foot)) for name, top, foot in DRAWN.findall(drawn)}
    for name in ("prior", "limit"):
        assert ends[name][0] < ends["worst"][0] < ends["worst"][1] < ends[name][1]


def test_many_outputs_are_rounded_outward(monkeypatch):
    monkeypatch.setattr("lowlift.report.beliefs._MOST_PRODUCTS", 0)
    rng = np.random.default_rng(4)
    joint = ll.Joint.from_counts(rng.integers(1, 50, (3, 20)))
    channel = ll.Channel.identity(joint)
    for belief, most in zip(
        beliefs_of(ll.audit(joint, channel, ll.LIP(9.0))), exact_most(joint, channel), strict=True
    ):
        assert 0 <= belief.most - most < Fraction(1, 10**9)


def test_a_limit_on_one_value_is_its_own():
    joint = ll.Joint.from_counts([[1, 3], [3, 1]], ["ill", "well"], ["a", "b"])
    bound = ll.AtMost({"ill": 0.6}).on(joint)
    release = ll.random_response(joint, bound)
    ill, well = beliefs_of(release.audit)
    assert (ill.limit, well.limit) == (Fraction(3, 5), None)
    assert ill.most <= Fraction(3, 5)


def test_a_bound_for_the_population_allows_for_its_shares():
    joint = ll.Joint.from_counts([[400, 600], [600, 400]], ["ill", "well"], ["a", "b"])
    bound = ll.Population(ll.LIP.at_most(1.5))
    here = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP.at_most(1.5)))
    there = beliefs_of(ll.audit(joint, ll.Channel.identity(joint), bound))
    for table, population in zip(here, there, strict=True):
        assert population.before == table.before
        assert population.least < table.least < table.most < population.most
        assert population.most <= population.limit


@pytest.mark.parametrize(("inside", "outside"), [(0.6, 0.2), (0.1, 0.7), (0.3, 0.0), (0.0, 0.4)])
def test_of_an_output_another_share_gives_another_belief(inside, outside):
    """With P(y|s) = inside and P(y|not s) = outside, by Bayes' rule."""

    def after(share):
        return share * inside / (share * inside + (1 - share) * outside)

    assert _believed(after(0.08) / 0.08, 0.08, 0.12) == pytest.approx(after(0.12), abs=1e-12)


@pytest.mark.parametrize(
    ("share", "rounding", "text"),
    [
        (Fraction(1, 3), "ROUND_CEILING", "34%"),
        (Fraction(1, 3), "ROUND_FLOOR", "33%"),
        (Fraction(24, 100), "ROUND_CEILING", "24%"),
        (Fraction(3, 1000), "ROUND_CEILING", "0.3%"),
        (Fraction(99999, 100000), "ROUND_CEILING", "100%"),
        (Fraction(99999, 100000), "ROUND_HALF_EVEN", "99.9%"),
        (Fraction(1), "ROUND_HALF_EVEN", "100%"),
    ],
)
def test_shares_in_words(share, rounding, text):
    assert share_text(share, rounding) == text


def test_the_worst_value_comes_first():
    joint = ll.Joint.from_counts([[1, 30], [10, 21], [89, 49]], ["rare", "some", "most"])
    found = worst_first(beliefs_of(ll.audit(joint, ll.Channel.identity(joint), ll.LIP(9.0))))
    assert [belief.value for belief in found] == ["rare", "some", "most"]
    assert found[0].factor == pytest.approx(max(joint.lift[0]))


def test_the_picture_stays_within_its_box_and_escapes_names():
    drawn = belief_svg(0.2, -0.1, 1.4, 0.5, title='<b>"ill"</b>')
    assert "<b>" not in drawn
    assert 'x="0.0" y="3" width="100"' in drawn
    assert not math.isnan(len(drawn))
