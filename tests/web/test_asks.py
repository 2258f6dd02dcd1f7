"""What is asked before a draw: no consent where nothing is written, and advice that can help."""

import re
from dataclasses import replace

import numpy as np
import pytest

import lowlift as ll
from ledger_entries import entry
from lowlift.errors import InvalidInput
from lowlift.web.asking import asks_of, check, codebook_ask, promise
from lowlift.web.frame import Place
from lowlift.web.preparing import Prepared
from lowlift.web.settings import Setting
from lowlift.web.work import Wishes
from lowlift.workflow import Asked, design, report_of
from lowlift.workflow.consulting import Consulted, Earlier
from people import write_people

PLACE = Place("publish", Setting("1", ("disease",), ("ward",), limit=1.2))
ENTRY = entry()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture(scope="module")
def made(people):
    return design(people, Asked(("disease",), ("ward",)), ll.LIP.at_most(1.2), encoding="values")


def asked(made, drawn=(), *, is_fitted=False, proves="", rare=0, keep=(), rows=(), **facts):
    """Return what is asked, by name, when the ledger says so.

    `rows` are, of published rows, all and those that no other equals, and the columns that tell.
    """
    wishes = Wishes("them", keep=keep)
    if facts:
        earlier = tuple(Earlier(each, "1.3", True) for each in facts.pop("entries", (ENTRY,)))
        facts = {"has_ledger": True, "earlier": earlier, **facts}
    found = Prepared(Consulted(**facts), rare, (), 0.01, is_fitted, proves, *rows)
    return {ask.name: ask for ask in asks_of(made, found, wishes, PLACE, drawn)}


def test_what_the_ledger_audits_together_needs_no_consent(made):
    holds = {"most": "1.1", "least": "0.9", "holds": True}
    assert "again" not in asked(made, [ENTRY.output_sha256], **holds)
    for drawn in (["another"], [None], [ENTRY.output_sha256, "another"]):
        assert not asked(made, drawn, **holds)["again"].is_done
    assert "again" in asked(made, [ENTRY.output_sha256])  # there is no ledger


def test_a_row_that_can_prove_a_value_needs_consent(made):
    assert "proves" not in asked(made)
    ask = asked(made, proves="It can.")["proves"]
    assert (ask.text, ask.is_done, ask.has_box, ask.look) == ("It can.", False, True, "")
    assert "/protection" in ask.ways[0].address
    with pytest.raises(InvalidInput, match="can prove a value: decide that first"):
        check([ask], {})
    check([ask], {"proves": "yes"})


def test_only_what_is_good_is_shown_in_green(made):
    kept = {"most": "1.1", "holds": True}
    assert asked(made, least="0.9", **kept)["ledger"].look == "done"
    assert asked(made, least="0", **kept)["ledger"].look == ""  # a value can be ruled out
    assert asked(made, most="3", least="0", holds=False)["ledger"].look == "final"
    rows = replace(made, encoded=replace(made.encoded, name="rows"))
    assert asked(rows)["drawn"].look == "neutral"  # somebody may be recognised
    assert asked(rows, rows=(9, 1))["drawn"].look == ""  # somebody can


def test_where_nothing_is_written_nothing_is_consented_to(made):
    found = asked(made, [None], rare=3, most="3.22", least="0.3", holds=False)
    assert list(found) == ["ledger"]
    assert "codebook" in asked(made, [None], rare=3)


def test_a_looser_limit_is_offered_where_one_helps(made):
    way = asked(made, most="3.22", least="0.3", holds=False)["ledger"].ways[-1]
    assert way.words == "Allow at least 3.34 times (Protection)"  # 1 / 0.3
    assert "limit=3.34" in way.address
    assert asked(made, most="3.22", least="0", holds=False)["ledger"].ways[2:] == ()


def test_it_is_said_why_tables_go_beyond_the_limit_together(made):
    facts = {"most": "3", "least": "0", "holds": False}
    own = entry(recipient="them")
    one = asked(made, entries=[own], **facts)["ledger"]
    assert one.title == "With what them already has, this goes beyond your limit"
    assert one.text == (
        "Each table was drawn by chance on its own. Whoever compares both learns more than either "
        "allows."
    )
    assert [way.words for way in one.ways] == [
        "Try merged values only",
        "Write it for someone else",
    ]
    assert one.command_for == "If the earlier table was never handed out, withdraw it:"
    entries = [entry(recipient="them"), entry(recipient="them")]
    several = asked(made, entries=entries, **facts)["ledger"]
    assert "Whoever compares all of them learns more than each allows." in several.text
    assert several.command.splitlines() == [f"lowlift ledger withdraw {one.id}" for one in entries]


def test_what_everybody_has_another_recipient_has_too(made):
    facts = {"most": "3", "least": "0", "holds": False}
    for entries in ([ENTRY], [entry(recipient="them"), ENTRY]):
        found = asked(made, entries=entries, **facts)["ledger"]
        assert found.text.startswith("What was published to everybody, them has too. Each table")
        assert [way.words for way in found.ways] == ["Try merged values only"]
    kept = asked(made, most="1.1", least="0.9", holds=True)["ledger"]
    assert kept.text.startswith("What was published to everybody, them has too. Together")


def test_the_way_to_the_table_that_they_have_is_the_newest_that_is_here(made):
    consulted = Consulted(True, (Earlier(ENTRY, "1.3", True),), "3", "0", False)
    found = Prepared(consulted, 0, (), 0.01)
    for written, address in (({"ef" * 32: "/published/k"}, "/published/k"), ({"ab": "/k"}, "")):
        (ask,) = asks_of(made, found, Wishes("them"), PLACE, (), written)
        here = [way.address for way in ask.ways if "table that they have" in way.words]
        assert here == [address] * bool(address)


def test_an_empty_ledger_and_one_that_is_off_are_told_apart(made):
    off = asked(made)["ledger"]
    assert (off.title, off.look) == ("The ledger is off: nobody knows what they have", "")
    first = asked(made, entries=(), recipients=("the ministry",))["ledger"]
    assert first.title == "The ledger has no earlier table of these people for them"
    assert first.text == "New to the ledger."
    assert (first.look, first.is_done) == ("neutral", True)
    for known in ((), ("Them", "the ministry")):  # typed differently, they are not new
        assert asked(made, entries=(), recipients=known)["ledger"].text == ""


def test_the_sentence_above_the_button_names_columns_recipient_and_promise(made):
    wishes = Wishes("the institute", keep=("job",))
    said = promise(made, Consulted(has_ledger=True), wishes)
    assert said == (
        f"The institute gets ward and job of {made.spec.rows:,} people. They have nothing of these "
        "people yet. No value of disease becomes more than 1.2 times as likely."
    )
    assert "Nobody knows what they have." in promise(made, Consulted(), wishes)
    wishes = Wishes("them", keep=tuple("abcdefgh"))
    assert "gets 9 columns of" in promise(made, Consulted(), wishes)


def test_a_limit_on_an_average_names_the_column_above_the_button(people):
    average = design(people, Asked(("disease",), ("ward",)), ll.TCloseness(0.3))
    said = promise(average, Consulted(), Wishes("them"))
    assert said.endswith(
        " Seeing a published row moves at most 30% of the belief in some values of disease to "
        "others."
    )


def test_a_column_that_identifies_people_is_left_out_by_a_link(made):
    text = "'mail' is nearly unique (400 values in 400 rows), so it identifies people. Leave it out"
    place = Place("publish", replace(PLACE.setting, released=("ward", "mail")))
    found = Prepared(Consulted(), 0, ())
    one = replace(made, warnings=(text,))
    (ask,) = (a for a in asks_of(one, found, Wishes("them"), place, ()) if a.name == "caution:0")
    assert ask.instead.words == "Leave mail out"
    assert ask.text == ""  # which would say that again
    assert ask.instead.address.startswith("/publish?")
    assert "mail" not in ask.instead.address
    assert ask.instead.address.endswith("&to=them")
    (only,) = (a for a in asks_of(one, found, Wishes("them"), PLACE, ()) if a.name == "caution:0")
    assert only.instead is None  # it is not among the columns
    assert only.text == "Leave it out"


def test_what_the_report_warns_of_is_told_before_the_draw(made):
    assert "ruled-out" not in asked(made)
    audit = replace(made.audit)
    lost = np.ones_like(made.audit.lift)
    lost[0, 0] = 0
    audit.__dict__["lift"] = lost
    found = asked(replace(made, audit=audit))
    assert found["ruled-out"].text.endswith(
        "together in your table. 1 such pair remains in what is published: such a row rules the "
        "protected value out."
    )
    assert found["ruled-out"].is_done
    assert found["ruled-out"].look == ""


def test_what_the_limit_is_worth_for_people_behind_a_sample_is_told_in_the_reports_numbers(made):
    (told,) = [
        each.text
        for each in report_of(made, points=()).warnings
        if each.name == "Sample or population"
    ]
    ask = asked(made)["sample"]
    numbers = ask.text.removeprefix("These rows are taken to be everybody. ")
    assert re.search(r"up to [\d.]+ times as likely, beyond the limit of 1\.2, or", numbers)
    assert told.startswith(numbers)
    assert "--" not in ask.text  # the way is a link
    assert "audience=population" in ask.ways[0].address


@pytest.mark.parametrize(
    ("unique", "words"),
    [
        (0, "recognise whose row it is. The public"),
        (1, "recognise whose row it is: 1 of 1,204 people has a row that nobody else has. The"),
        (17, "recognise whose row it is: 17 of 1,204 people have a row that nobody else has. The"),
        (1204, "recognise whose row it is: all 1,204 people have a row that nobody else has. The"),
    ],
)
def test_how_many_have_a_row_of_their_own_is_told_before_the_draw(made, unique, words):
    rows = replace(made, encoded=replace(made.encoded, name="rows"))
    assert words in asked(rows, rows=(1204, unique))["drawn"].text


def test_columns_that_tell_what_is_protected_are_published_with_consent_only(made):
    assert "tells" not in asked(made, rows=(9, 0))
    one = asked(made, rows=(9, 0, ("ward",)))["tells"]
    title = "A published column tells what is protected"
    assert (one.title, one.look, one.sign, one.has_box) == (title, "", "to decide", True)
    assert one.instead is None  # no other column is published
    assert one.text.startswith("In your table, ward tells disease, wholly or in part. Whoever ")
    two = asked(made, rows=(9, 0, ("ward", "year")))["tells"]
    assert two.title == "Published columns tell what is protected"
    assert "ward and year tell disease" in two.text
    place = Place("publish", replace(PLACE.setting, released=("ward", "year", "sex")))
    found = Prepared(Consulted(), 0, (), tells=("ward", "year"))
    (two,) = (a for a in asks_of(made, found, Wishes(), place, ()) if a.name == "tells")
    assert two.instead.words == "Leave ward and year out"
    assert "x=sex" in two.instead.address
    assert "x=ward" not in two.instead.address


def test_weights_fitted_to_the_protected_values_are_told_before_the_draw(made):
    assert "were fitted to the protected ones" in asked(made, is_fitted=True)["drawn"].text
    assert "fitted" not in asked(made)["drawn"].text


def test_a_codebook_that_no_rounding_makes_safe_is_kept_back():
    found = codebook_ask(1, "14 combinations", None)
    assert found.text.startswith("1 of 14 combinations occurs in fewer than 5 rows.")
    assert [(choice.value, choice.is_safe) for choice in found.choices] == [
        ("withheld", True),
        ("exact", False),
    ]
    finer = codebook_ask(2, "14 combinations", 0.01)
    assert "combinations occur in" in finer.text
    assert finer.choices[0].words == "Round the codebook to whole percents"
