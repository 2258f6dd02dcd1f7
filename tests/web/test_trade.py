"""The chart of limits: what its points say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lowlift.report.outcome import AVERAGE, CANNOT, EMPTY, PROVES, USEFUL, Outcome
from lowlift.web.frame import Place
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.trade import chart_of, ways
from lowlift.web.words import NAMES, TELLS
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
    late, open_ = marks["1.5"], marks["3"]
    assert late.words == "At most 1.5 times: the time ran out; it may keep more"
    assert (late.kind, late.kept) == ("late", "")
    assert (open_.words, open_.kind) == ("At most 3 times: not known yet", "")
    drawn = trade_of(chart_of(HERE, points, None))
    assert "?: the time ran out; it may keep more" in drawn
    assert 'class="late"' in drawn
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
    assert far.label[::2] == (far.x, "middle")  # neither line is nearer than the other


def test_what_would_help_says_what_is_kept_of_what():
    points = (Stop(2.5, EMPTY, 0.05), Stop(3.0, USEFUL, 0.5))
    way = ways(HERE, EMPTY, points)[0]
    assert (way.words, way.kept) == ("Allow 3 times as likely", "keeps 50% of the information")
    assert ways(HERE, EMPTY, points, is_rows=True)[0].kept == "rows stay 50% close"


@pytest.mark.parametrize(
    ("shown", "kind", "words", "legend"),
    [
        (PROVES, "proves", "keeps 70%, but can prove a value", "diamond: a row can prove a value"),
        (AVERAGE, "average", "keeps 70%, on average", "square: holds on average"),
    ],
)
def test_what_is_useful_but_not_green_has_a_mark_of_its_own(shown, kind, words, legend):
    points = [Stop(1.5, USEFUL, 0.6), Stop(2.0, USEFUL, 0.7, shown=shown)]
    chart = chart_of(HERE, points, None)
    marks = {mark.name: mark for mark in chart.marks}
    assert (marks["1.5"].kind, marks["2"].kind) == ("", kind)
    assert marks["2"].words == f"At most 2 times: {words}"
    assert legend in trade_of(chart)
    assert legend not in trade_of(chart_of(HERE, points[:1], None))


def trade_of(chart):
    """Return the part of the page with a chart."""
    given = {"part": "", "is_rows": False, "is_swapped": False}
    return show("protection/trade.html", chart=chart, **given)


def test_where_a_row_can_prove_a_value_a_tighter_limit_that_proves_none_is_offered():
    setting = Setting("t", ("s",), ("x",), criterion="max-lift", epsilon=1.7, encoding="groups")
    here = Place("protection", setting)
    points = (
        Stop(0.25, USEFUL, 0.4),
        Stop(0.5, USEFUL, 0.76),
        Stop(1.0, USEFUL, 1.0, shown=PROVES),
        Stop(2.0, USEFUL, 1.0),
    )
    found = ways(here, PROVES, points)
    assert [way.words for way in found] == [
        "Use a limit on each value instead of the criterion",
        "Allow no more than 1.65 times as likely",
    ]
    assert found[1].kept == "keeps 76% of the information"
    assert "epsilon=0.5&" in found[1].address
    assert ways(here, USEFUL, points) == []
    average = Place("protection", Setting("t", ("s",), ("x", "z"), criterion="alpha"))
    assert [way.words for way in ways(average, AVERAGE, points)] == [found[0].words]


def test_that_the_rows_are_everybody_is_asked_and_comes_last():
    """It is no choice that makes the promise weaker, but a question of what is true."""
    setting = Setting("t", ("s",), ("x", "z"), audience="population")
    found = ways(Place("protection", setting), EMPTY, (Stop(3.0, USEFUL, 0.5),))
    assert [way.words for way in found] == [
        "Allow 3 times as likely",
        "Leave out a column that tells much",
        "If these rows are in fact everybody, say so",
    ]


def test_points_are_named_by_the_factor_where_the_criterion_bounds_each_value():
    setting = Setting("t", ("s",), ("x",), criterion="max-lift", epsilon=1.7)
    chart = chart_of(Place("protection", setting), [Stop(2.0, USEFUL, 0.7)], None)
    marks = {mark.budget: mark for mark in chart.marks}
    assert list(marks) == ["0.25", "0.5", "1", "1.7", "2", "4", "8"]
    assert [marks[budget].name for budget in ("0.5", "1.7", "2")] == ["1.65", "5.48", "7.39"]
    assert marks["2"].words == "At most 7.39 times: keeps 70%"
    drawn = trade_of(chart)
    assert "at most this many times as likely" in drawn
    assert 'data-limit="1.7"' in drawn  # what the field has
    mean = chart_of(Place("protection", Setting("t", criterion="l1", epsilon=2.0)), [], None)
    assert [mark.name for mark in mean.marks][3:5] == ["2", "4"]
    assert mean.marks[3].words == "Setting 2 under Advanced: not known yet"
    assert ">setting under Advanced<" in trade_of(mean)
    for part in (drawn, trade_of(mean)):
        assert "nats" not in part
    way = ways(
        Place("protection", replace(setting, criterion="l1")), EMPTY, [Stop(2.0, USEFUL, 1.0)]
    )
    assert way[0].words == "Allow a setting of 2 under Advanced"


def test_the_present_limit_takes_the_better_one_too():
    chart = chart_of(HERE, [Stop(2.0, USEFUL, 0.9)], Stop(2.5, USEFUL, 0.8))
    (now,) = (mark for mark in chart.marks if mark.is_current)
    assert now.kept == "90%"


def test_where_people_are_identified_no_other_limit_is_offered():
    place = Place("protection", Setting("1", ("s",), ("x", "mail")))
    found = ways(place, NAMES, ())
    assert [way.words for way in found] == ["Leave out or group such columns"]
    assert found[0].address.startswith("/columns?")


def test_columns_that_tell_what_is_protected_are_not_green_and_left_out_by_a_link():
    place = Place("protection", Setting("1", ("s",), ("x", "code")))
    (way,) = ways(place, TELLS, (), tells=("code",))
    assert way.words == "Leave code out"
    assert "x=x" in way.address
    assert "code" not in way.address
    (way,) = ways(place, TELLS, (), tells=("x", "code"))
    assert way.address.startswith("/columns?")
    design = SimpleNamespace(warnings=())
    for state, shown in ((USEFUL, TELLS), (EMPTY, EMPTY), (CANNOT, CANNOT)):
        said = Outcome(state, "", "", (), 0.5, None, ())
        assert Answer(design, said, tells=("code",)).shown == shown


@pytest.mark.parametrize(
    ("warning", "state"),
    [
        ("'mail' is nearly unique, so it identifies people: more. Leave it out.", "names"),
        ("'a', 'b' together are nearly unique (60 in 60 rows), so they do. Fewer.", "names"),
        ("not published: 'mail' (identifier). To publish it, name it.", USEFUL),
        ("the bins of 'age' were cut at quantiles of these rows.", USEFUL),
    ],
)
def test_an_answer_that_identifies_people_is_not_green(warning, state):
    said = Outcome(USEFUL, "", "", (), 0.5, None, ())
    found = Answer(SimpleNamespace(warnings=(warning,)), said)
    assert found.shown == state
    assert found.identifies == ((warning.partition(". ")[0],) if state == "names" else ())
