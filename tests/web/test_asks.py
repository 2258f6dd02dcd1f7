"""What is asked before a draw: no consent where nothing is written, and advice that can help."""

from dataclasses import replace

import pytest

import lowlift as ll
from ledger_entries import entry
from lowlift.errors import InvalidInput
from lowlift.web.asking import asks_of, check, codebook_ask
from lowlift.web.frame import Place
from lowlift.web.settings import Setting
from lowlift.web.work import Prepared, Wishes
from lowlift.workflow import Asked, design
from lowlift.workflow.consulting import Consulted, Earlier
from people import write_people

PLACE = Place("publish", Setting("1", ("disease",), ("ward",), limit=1.2))
ENTRY = entry()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = write_people(tmp_path_factory.mktemp("people") / "people.csv")
    return design(path, Asked(("disease",), ("ward",)), ll.LIP.at_most(1.2), encoding="values")


def asked(made, drawn=(), *, is_fitted=False, proves="", rare=0, keep=(), **facts):
    """Return what is asked, by name, when the ledger says so."""
    wishes = Wishes("them", keep=keep)
    if facts:
        earlier = tuple(Earlier(each, "1.3", True) for each in facts.pop("entries", (ENTRY,)))
        facts = {"has_ledger": True, "earlier": earlier, **facts}
    found = Prepared(Consulted(**facts), rare, (), 0.01, is_fitted, proves)
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


def test_where_nothing_is_written_nothing_is_consented_to(made):
    found = asked(made, [None], rare=3, most="3.22", least="0.3", holds=False)
    assert not any(ask.choices for ask in found.values())
    assert "codebook" in asked(made, [None], rare=3)


def test_a_looser_limit_is_offered_where_one_helps(made):
    way = asked(made, most="3.22", least="0.3", holds=False)["ledger"].ways[0]
    assert way.words == "Allow at least 3.34 times (Protection)"  # 1 / 0.3
    assert "limit=3.34" in way.address
    assert asked(made, most="3.22", least="0", holds=False)["ledger"].ways == ()


@pytest.mark.parametrize(
    ("encodings", "words"),
    [
        (("codes",), "The earlier table was drawn without a key, so it cannot be refined."),
        (("rows",), "The earlier table has rows drawn from cells, so it cannot be refined."),
        (("rows", "codes"), "The earlier tables have rows drawn from cells, or were drawn"),
    ],
)
def test_it_is_said_why_the_earlier_table_cannot_be_refined(made, encodings, words):
    entries = [entry(encoding=name) for name in encodings]
    found = asked(made, entries=entries, most="3", least="0", holds=False)["ledger"]
    assert words in found.text
    assert found.command.splitlines() == [f"lowlift ledger withdraw {one.id}" for one in entries]


def test_it_is_said_why_tables_go_beyond_the_limit_together(made):
    facts = {"most": "3", "least": "0", "holds": False}
    one = asked(made, **facts)["ledger"].text
    assert "The two draws are independent, so limits do not add up: whoever has both can" in one
    assert "Nothing is written for them." in one
    several = asked(made, entries=[entry(), entry()], **facts)["ledger"].text
    assert "The draws are independent, so limits do not add up: whoever has all of them" in several


def test_all_columns_at_once_are_advised_only_where_columns_differ(made):
    facts = {"most": "3", "least": "0", "holds": False}
    same = asked(made, entries=[entry(released=("ward",), kept=())], **facts)["ledger"].text
    assert "Let them keep that one. If it was never handed out" in same
    for found in (
        asked(made, entries=[entry(released=("job",), kept=())], **facts),
        asked(made, entries=[entry(released=("ward",), kept=())], keep=("job",), **facts),
    ):
        assert "Let them keep that one, or publish all columns once." in found["ledger"].text


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
