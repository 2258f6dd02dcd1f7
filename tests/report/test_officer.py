"""What an officer must see: who can be recognised, samples, and what is signed."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift._cells.utility import compare
from lowlift._exposure import STEPS
from lowlift.criteria import TCloseness
from lowlift.figures.bars import bar_chart_svg
from lowlift.report import Beside, Report, page
from lowlift.report.notions import promised_notions
from lowlift.report.outcome import stopped_words, whole_percent
from lowlift.report.outputs import shares_of
from lowlift.report.rows import unique_rows
from lowlift.report.sheet import sheet_of
from lowlift.workflow import (
    Asked,
    audit_table,
    codebook_of,
    design,
    report_of,
    report_of_curve,
    sanitize,
    tradeoff_of,
)
from people import ROWS, rows_of, write_csv, write_people

TITANIC = ll.datasets.titanic()
ASKED = Asked(("disease",), ("ward",))
AT_MOST = ll.AtMost({"y": 0.75}, 3)
#: People by illness, and by ward and sex: few of one combination.
FEW = ((40, 20, 3, 30), (25, 35, 1, 40))
WARDS = (("a", "m"), ("a", "w"), ("b", "m"), ("b", "w"))


def plain(text):
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def limit(report, name):
    return next(one for one in report.limits if one.name == name)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


def of_wards(folder):
    """Write a table of two columns to publish, of which some combinations are rare."""
    rows = [(ill, *both) for ill, both in rows_of(FEW, "yn", WARDS)]
    return write_csv(folder / "t.csv", ("ill", "ward", "sex"), rows)


@pytest.fixture(scope="module")
def published(people, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "safe.csv"
    return report_of(sanitize(people, ASKED, ll.LIP.at_most(1.5), str(out)), points=())


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    sick = rng.random(400) < 0.3
    table = {"sick": np.where(sick, "1", "0"), "cured": np.where(sick, "no", "yes")}
    table |= {"age": rng.normal(40 + 10 * sick, 12), "pay": rng.normal(3, 1, 400)}
    frame = pd.DataFrame(table)
    return report_of(ll.sanitize(frame, sensitive="sick", criterion=ll.LIP.at_most(2)), points=())


def test_copies_of_records_are_a_warning_with_their_number(rows):
    found = limit(rows, "Recognising people")
    assert found.is_warning
    number = rows.analysis.unique_rows_published
    assert f"{number} published rows" in found.text or f"{number} of" in found.text
    assert "can recognise the record" in found.text
    assert "Recognising people: not promised" in plain(page(rows))
    assert str(number) not in " ".join(one.text for one in rows.public.limits)


def test_a_column_that_gives_the_protected_one_away_is_a_warning(rows):
    found = limit(rows, "Columns that tell what is protected")
    assert found.is_warning
    assert "cured tells sick" in found.text
    assert "cured tells" not in plain(page(rows, is_public=True))


def test_values_are_not_called_anonymous(published):
    for form in (published, published.public):
        assert limit(form, "Anonymity").text.startswith("People may be recognised")


def test_a_sample_is_told_in_a_sentence_with_what_to_do(published):
    heads = {head.name: head.value for head in published.heads}
    words = "For the people in this table only"
    assert heads["The promise is"].startswith(f"{words}. If they are a sample of others, see ")
    public = {head.name: head.value for head in published.public.heads}
    assert public["The promise is"] == words
    found = limit(published, "Sample or population")
    assert found.text.startswith(f"If these {ROWS:,} people are a sample, then for everybody")
    assert "beyond the limit of 1.5" in found.text
    assert found.text.endswith("hand this one out. Publish a table for the population instead.")
    first, _, annex = plain(page(published)).partition("Annex")
    assert "--" not in first
    assert "add --for population to make a table for everybody" in annex
    sample = limit(published.public, "Sample or population")
    assert sample.text.endswith("and the limit need not hold there.")


def test_the_first_page_names_the_file_its_people_and_the_checks(published):
    heads = {head.name: head.value for head in published.heads}
    assert heads["Published file"] == f"safe.csv, {ROWS:,} people"
    assert re.fullmatch(r"(\d+) of \1 checks", heads["Verified"])
    assert heads["Recipient"] == "nobody named (treat as everybody)"
    assert not {"Published file", "Verified", "Recipient"} & {
        h.name for h in published.public.heads
    }


def test_what_is_signed_is_named_in_a_line(published):
    text = plain(page(published))
    digest = published.publication.output_sha256[:16]
    assert f"This is about safe.csv (SHA-256 {digest}…); protected: disease; limit: " in text
    assert "Keep with the data: safe.release.json, safe.receipt.json and this page." in text
    assert re.search(r"Without protection: \w+, [\d.]+% before, (up to|at most) ", text)
    assert text.index("Signature") < text.index("Annex") < text.index("How to repeat it")


def test_what_is_audited_is_named_and_not_called_published(people):
    """Nor is a table said to be designed on where nothing was designed, nor a curve one limit."""
    found = audit_table(people, ASKED, ll.LIP.at_most(1.5))
    audited = report_of(found)
    text = plain(page(audited))
    signed = "This is about ward of people.csv, published without a change; protected: disease; "
    assert signed in text
    how = {"criterion": "lip", "mechanisms": ["watchdog"], "epsilons": [0.2, 0.4]}
    points = tradeoff_of(found.audit.joint, **how)
    curve = report_of_curve(found, points)
    for report in (audited, curve):
        names = [line.name for line in report.provenance]
        assert "Table" in names
        assert "Columns to publish (X)" in names
        assert not {"Designed on", "Columns published (X)"} & set(names)
        assert ("Limit" in names) is (report is audited)
    joint = Report(ll.audit(TITANIC, ll.Channel.identity(TITANIC), ll.LIP(0.1)))
    assert "This is about X as it is; protected: S; " in plain(page(joint))


def test_rows_tell_no_more_than_certainty(rows, tmp_path):
    more = "; rows themselves tell more."
    sure = sheet_of(rows).unprotected
    assert " up to 100% after." in sure
    assert more not in sure
    asked = Asked(("ill",), ("ward", "sex"), cells="auto")
    unsure = sheet_of(report_of(design(of_wards(tmp_path), asked, ll.LIP.at_most(2)), points=()))
    assert unsure.unprotected.endswith(f"% after{more}")
    assert "100%" not in unsure.unprotected


def test_a_codebook_that_is_kept_back_is_not_handed_out(tmp_path):
    """Nor does another page give away the counts for which it is kept back."""
    table = of_wards(tmp_path)
    asked = Asked(("ill",), ("ward", "sex"))
    how = {"mechanism": "subset-merging", "encoding": "groups"}
    safe = sanitize(table, asked, ll.LIP.at_most(1.5), str(tmp_path / "safe.csv"), **how)
    given = report_of(safe, points=(), beside=Beside(False, "safe.public.html"))
    text = plain(page(given))
    assert "Hand out: safe.csv, safe.codebook.json and safe.public.html." in text
    assert "reveal that 1 combination occurs fewer than 5 times" in text
    assert given.public.warnings
    assert "% to " in plain(page(given, is_public=True))
    kept = report_of(safe, points=(), beside=Beside(True, "safe.public.html"))
    text = plain(page(kept))
    assert "Hand out: safe.csv and safe.public.html." in text
    keep = "safe.release.json, safe.receipt.json, this page and safe.codebook.json"
    assert f"Keep with the data: {keep}. The codebook was kept back." in text
    assert "reveal" not in text
    assert kept.public.warnings == ()
    assert "% to " not in plain(page(kept, is_public=True))


def test_advice_names_a_step_only_if_it_hides_the_counts(tmp_path):
    table = of_wards(tmp_path)
    how = {"mechanism": "subset-merging", "encoding": "groups"}
    made = design(table, Asked(("ill",), ("ward", "sex")), ll.LIP.at_most(1.5), **how)
    (text,) = (text for text in codebook_of(made).warnings if "exact numbers" in text)
    step = re.search(r"--round-to ([\d.]+)", text)
    hidden = {
        each: not any("still reveal" in text for text in codebook_of(made, each).warnings)
        for each in STEPS
    }
    first = next((each for each in STEPS if hidden[each]), None)
    assert (float(step[1]) if step else None) == first
    assert first is None or first > STEPS[0]


def test_rows_are_told_by_what_the_screen_says_and_the_rest_is_in_the_annex(rows, tmp_path):
    first, _, annex = plain(page(rows)).partition("Annex")
    kept = rows.values_kept
    assert f"Values that stay as they are {whole_percent(kept.share)} on average" in first
    assert f"How close rows stay to the originals {whole_percent(kept.nearness)}" in first
    assert "Rows published unchanged" in first
    assert f"by column: cured {whole_percent(kept.shares[0])}, age" in first
    for words in ("Mean change of a row", "Rows replaced by one of their own kind"):
        assert words not in first
        assert words in annex
    assert "of its own or of another kind" in annex
    assert "replaced inside them" not in annex
    uses = {row[0]: row for row in rows.columns_read.rows}
    assert uses["sick"][3] == "none"
    alone = plain(page(replace(rows, analysis=None, values_kept=None)))
    assert "How far counts move" not in alone
    assert "was not compared with its source: how far its counts move" in alone


def test_records_that_are_published_twice_are_said_to_be():
    before = {"age": np.array([1.0, 2.0, 3.0, 4.0])}
    twice = compare(before, {"age": np.array([1.0, 1.0, 3.0, 4.0])})
    once = compare(before, {"age": np.array([1.0, 2.0, 3.0, 4.0])})
    words = "some records are published more than once"
    assert words in unique_rows(twice)[1].note
    assert words not in unique_rows(once)[1].note


def test_cells_have_the_numbers_of_the_picture(rows):
    numbers = [row[0].partition(":")[0] for row in rows.riskiest.rows]
    assert len(set(numbers)) == len(numbers)
    place = {name.partition(":")[0]: x for x, name in enumerate(rows.shown_before.columns)}
    assert place == {str(x + 1): x for x in range(rows.raw.joint.n_x)}
    assert rows.shown_after.columns == rows.shown_before.columns
    assert int(numbers[0]) - 1 == rows.raw.most_extreme(1)[0]


def test_a_published_row_is_called_a_row_and_several_columns_combinations(published, tmp_path):
    assert "a published value" not in plain(page(published))
    assert any(number.name == "Different values" for number in published.utility)
    table = of_wards(tmp_path)
    safe = sanitize(
        *(table, Asked(("ill",), ("ward", "sex")), ll.LIP.at_most(1.5)),
        *(str(tmp_path / "safe.csv"),),
    )
    report = report_of(safe, points=())
    assert any(number.name == "Different combinations" for number in report.utility)
    assert "4 combinations to publish" in report.columns_read.caption
    assert "seeing a published row makes no value of ill" in report.verdict.sentence
    joint = report_of(ll.random_response(TITANIC, ll.LIP.at_most(2)), points=())
    assert "seeing a published value makes no value of S" in joint.verdict.sentence


def test_two_thirds_have_one_form(published):
    text = plain(page(published))
    assert "nor less than two thirds as likely" in text
    assert "0.667" not in text.partition("Annex")[0]
    assert "×0.667" not in text
    assert "0.666" not in text.partition("Annex")[0]


def test_a_population_is_not_called_exact_and_its_base_is_told():
    joint = ll.Joint.from_counts(TITANIC.counts * 4, TITANIC.s_labels, TITANIC.x_labels)
    bound = ll.Population(ll.LIP.at_most(2))
    report = report_of(ll.subset_merging(joint, bound), points=())
    text = plain(page(report))
    assert "Checked for every population that these rows leave possible, with 95%" in text
    assert "exact calculation" not in text
    assert "decided exactly" not in text
    assert "Judged for the population: a value may break the limit although" in text
    assert re.search(r"more common than in these rows \(saved: up to [\d.]+%\)", text)


#: Words of the paper, which stand in the annex alone.
JARGON = r"\b(bound|bounds|bounded|budget|NMI|nats|lifts?|released|sensitive|confidence 0)\b"


@pytest.mark.parametrize("bound", [ll.Population(ll.LIP.at_most(2)), TCloseness(0.2), AT_MOST])
@pytest.mark.parametrize("cells", [None, "auto"])
def test_before_the_annex_there_is_no_jargon(bound, cells, tmp_path):
    asked = Asked(("ill",), ("ward", "sex"), cells=cells)
    report = report_of(design(of_wards(tmp_path), asked, bound), points=())
    first, _, annex = plain(page(report)).partition("Annex")
    assert annex
    assert re.findall(JARGON, first) == []
    assert "a published value" not in first
    assert report.title.startswith("ill in t.csv: ")
    public = page(report, is_public=True).partition("The limit in other words")[0]
    assert re.findall(JARGON, plain(public)) == []


def test_a_search_that_was_stopped_is_told_in_plain_words(published):
    stopped = ll.Certificate("partitions", 0.7431, False, 0.1, stopped_after=20.0)
    first = plain(page(replace(published, certificate=stopped))).partition("Annex")[0]
    assert (
        "The search stopped after 20 s: no merging of values keeps more than 74.4% of the "
        "information (proven). More time may keep more: try a time limit of 60 s."
    ) in first
    assert re.findall(JARGON, first) == []
    rows = ll.Certificate("distortion", 0.1, False, 0.25, stopped_after=5.0)
    assert stopped_words(rows, is_advised=False) == (
        "The search stopped after 5 s: the mean change of a row is within 0.25 of the proven least."
    )


def test_numbers_of_other_notions_fit():
    found = {row[0]: row[2] for row in promised_notions(TCloseness(0.05)).rows}
    assert found["t-closeness"] == "0.05"
    report = report_of(ll.random_response(TITANIC, ll.LIP.at_most(2)), points=())
    words = {row[0]: row[2] for row in report.words.rows}
    assert words["Best attacker"] == "2 times as often, at most 100%"


@pytest.mark.parametrize(("criterion", "is_in_nats"), [(TCloseness(0.2), False), (ll.LIP(1), True)])
def test_only_budgets_are_in_nats(criterion, is_in_nats):
    report = report_of(ll.watchdog(TITANIC, criterion), points=())
    first = report.provenance[0]
    assert (first.name, bool(first.note)) == ("Limit", is_in_nats)


def test_formulas_are_in_the_annex_alone():
    report = report_of(ll.watchdog(TITANIC, TCloseness(0.2)), points=())
    first, _, annex = plain(page(report)).partition("Annex")
    assert "sum over s" not in first
    assert "sum over s" in annex
    assert "sum over s" not in report.public.promise


def test_a_promise_that_names_a_value_is_said_to():
    words = "no protected values but those named in the promise"
    for criterion, is_named in (
        (ll.AtMost({"saved": 0.9}).on(TITANIC), True),
        (ll.LIP(1.0), False),
    ):
        public = page(report_of(ll.watchdog(TITANIC, criterion), points=()), is_public=True)
        assert (words in public) is is_named


def test_rows_are_called_rows_and_numbers_have_their_column(rows):
    for text in (plain(page(rows)), plain(page(rows, is_public=True))):
        assert "a published value" not in text
    assert rows.words.head[3] == "cells as they are"
    assert any("sick = 1: ×" in row[2] for row in rows.riskiest.rows)


def test_bars_show_the_largest_and_tell_long_names_apart():
    joint = ll.Joint.random(2, 40, seed=0)
    raw = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(1.0))
    (shares,) = shares_of(raw, None)
    assert shares.most == max(shares.shares)
    names = [f"a long name of some place, {k}" for k in (1, 2)]
    svg = bar_chart_svg(names, np.array([0.5, 0.5]), title="bars")
    assert "place, 1" in svg
    assert "place, 2" in svg
