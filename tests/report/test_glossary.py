"""The terms that a page uses are explained on it, and no others."""

import re
from html import unescape

import pytest

import lowlift as ll
from lowlift._wording import capital
from lowlift.report import page
from lowlift.report.glossary import _TERMS, glossary_of
from lowlift.workflow import Asked, design, report_of
from people import write_people

TITANIC = ll.random_response(ll.datasets.titanic(), ll.LIP.at_most(2))


def told(text):
    """Return the terms that a page explains, and those that the rest of it uses."""
    facts = r'<div><dt>([^<]*)</dt><dd><span class="long">([^<]*)</span></dd></div>'
    terms = {(name, f"{capital(words)}.") for name, words, _ in _TERMS}
    found = {tuple(map(unescape, fact)) for fact in re.findall(facts, text)}
    explained = {name for name, _ in found & terms}

    def without(fact):
        return "" if (unescape(fact[1]), unescape(fact[2])) in terms else fact[0]

    return explained, {term.name for term in glossary_of(re.sub(facts, without, text))}


@pytest.mark.parametrize("is_public", [False, True])
def test_a_page_explains_the_terms_that_it_uses_and_no_others(is_public, tmp_path):
    people = write_people(tmp_path / "people.csv")
    for found in (TITANIC, design(people, Asked(("disease",), ("ward",)), ll.ALIP(1, 1))):
        text = page(report_of(found), is_public=is_public)
        explained, used = told(text)
        assert explained == used
        assert {"Nats", "S, X, Y", "Mechanism"} <= used
        assert ("Words on this page" in text) is is_public


def test_mechanisms_and_measures_of_the_annex_are_explained():
    explained, _ = told(page(report_of(TITANIC)))
    wanted = {"Watchdog", "Subset-merging", "Optimal-merging", "Random-response", "Fingerprint"}
    assert wanted | {"Budget, epsilon (ε)", "Information kept, NMI", "Proven", "LIP"} <= explained
    assert not {"Condition", "Cell, kind of rows", "Bootstrap", "ALIP"} & explained
