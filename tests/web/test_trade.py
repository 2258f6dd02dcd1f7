"""The chart of limits: what its points say."""

import pytest

from lowlift.report.outcome import CANNOT, EMPTY, USEFUL
from lowlift.web.frame import Place
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.trade import chart_of
from lowlift.web.work import Answer
from lowlift.workflow.stops import Stop

HERE = Place("protection", Setting("t", ("s",), ("x",), limit=2.5))


@pytest.mark.parametrize("looser", [Stop(3.0, USEFUL, 0.96), Stop(3.0, CANNOT), Stop(3.0, EMPTY)])
def test_a_looser_limit_keeps_no_less_as_what_holds_at_a_tighter_one_holds_there(looser):
    points = [Stop(1.25, CANNOT), Stop(1.5, EMPTY, 0.05), Stop(2.0, USEFUL, 0.9), looser]
    chart = chart_of(HERE, points, Stop(2.5, USEFUL, 0.97))
    kept = {mark.name: mark.kept for mark in chart.marks}
    assert kept == {
        "1.25": "", "1.5": "5%", "2": "90%", "2.5": "97%", "3": "97%", "5": "", "10": ""
    }  # fmt: skip
    assert [mark.kind for mark in chart.marks][:5] == ["none", "weak", "", "", ""]
    heights = [mark.y for mark in chart.marks][1:5]
    assert heights == sorted(heights, reverse=True)


def test_rows_that_stay_by_chance_are_nothing_kept_and_a_late_point_is_not_known():
    points = [Stop(1.25, EMPTY, 0.78), Stop(1.5, EMPTY, 0.02, is_late=True), Stop(2.0, USEFUL, 0.7)]
    marks = {mark.name: mark for mark in chart_of(HERE, points, None).marks}
    assert (marks["1.25"].kept, marks["1.25"].kind) == ("0%", "weak")
    assert marks["1.25"].words == "At most 1.25 times: keeps almost nothing"
    assert marks["1.5"].words == "At most 1.5 times: not known yet"
    assert marks["2"].kept == "70%"


def test_before_it_is_drawn_it_says_when_it_is():
    for answer, is_first, words in (
        (None, False, "when there is an answer"),
        (Answer(None, None), True, "when the search ends"),
    ):
        given = {"place": HERE, "answer": answer, "is_first": is_first, "is_swapped": False}
        assert f"It is drawn {words}." in show("protection/trade_part.html", **given)


def test_labels_stand_where_neither_line_passes():
    points = [
        Stop(1.25, EMPTY, 0.0, 0.05),
        Stop(1.5, EMPTY, 0.02, 0.14),
        Stop(2.0, USEFUL, 0.5, 0.55),
        Stop(3.0, USEFUL, 1.0, 1.0),
    ]
    chart = chart_of(HERE, points, None)
    marks = {mark.name: mark for mark in chart.marks}
    for name in ("2", "3"):  # the curve goes up to the right: below it
        assert marks[name].label[0] > marks[name].x
        assert marks[name].label[1] > marks[name].y + 20
    for place, name in zip(chart.best.split(), ("1.25", "1.5"), strict=False):  # near the axis
        assert marks[name].label[1] < float(place.split(",")[1]) < marks[name].y
    far = chart_of(HERE, [Stop(2.0, USEFUL, 0.11, 0.3)], None).marks[2]  # room between both
    assert far.y - 20 < far.label[1] < far.y - 10


def test_the_present_limit_takes_the_better_one_too():
    chart = chart_of(HERE, [Stop(2.0, USEFUL, 0.9)], Stop(2.5, USEFUL, 0.8))
    (now,) = (mark for mark in chart.marks if mark.is_current)
    assert now.kept == "90%"
