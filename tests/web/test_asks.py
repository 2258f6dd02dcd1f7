"""What is asked before a draw: no consent where nothing is written, and advice that can help."""

import pytest

import lowlift as ll
from ledger_entries import entry
from lowlift.web.asking import asks_of, codebook_ask
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


def asked(made, drawn=(), *, is_fitted=False, proves="", rare=0, **facts):
    """Return what is asked, by name, when the ledger says so."""
    if facts:
        earlier = tuple(Earlier(each, "1.3", True) for each in facts.pop("entries", (ENTRY,)))
        facts = {"has_ledger": True, "earlier": earlier, **facts}
    found = Prepared(Consulted(**facts), rare, (), 0.01, is_fitted, proves)
    return {ask.name: ask for ask in asks_of(made, found, Wishes("them"), PLACE, drawn)}


def test_what_the_ledger_audits_together_needs_no_consent(made):
    holds = {"most": "1.1", "least": "0.9", "holds": True}
    assert "again" not in asked(made, [ENTRY.output_sha256], **holds)
    for drawn in (["another"], [None], [ENTRY.output_sha256, "another"]):
        assert not asked(made, drawn, **holds)["again"].is_done
    assert "again" in asked(made, [ENTRY.output_sha256])  # there is no ledger


def test_a_row_that_can_prove_a_value_is_a_caution(made):
    assert "proves" not in asked(made)
    ask = asked(made, proves="It can.")["proves"]
    assert (ask.text, ask.is_caution, ask.is_done) == ("It can.", True, True)
    assert "/protection" in ask.ways[0].address


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
        (("codes",), "The earlier table was drawn without a key"),
        (("rows",), "The earlier table has rows drawn from cells"),
        (("rows", "codes"), "The earlier tables have rows drawn from cells, or were drawn"),
    ],
)
def test_it_is_said_why_the_earlier_table_cannot_be_refined(made, encodings, words):
    entries = [entry(encoding=name) for name in encodings]
    found = asked(made, entries=entries, most="3", least="0", holds=False)["ledger"]
    assert words in found.text
    assert found.command.splitlines() == [f"lowlift ledger withdraw {one.id}" for one in entries]


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
