"""What is looked at before a table is drawn: without a browser, on tables made for it."""

import math
from collections import Counter

import pytest

import lowlift as ll
from lowlift.report.outcome import EMPTY
from lowlift.web.preparing import prepare_publication
from lowlift.web.work import Wishes, said
from lowlift.workflow import Asked, design


@pytest.fixture(autouse=True)
def no_ledger(monkeypatch):
    monkeypatch.setenv("LOWLIFT_LEDGER", "off")


def prepared(source, made, keep=()):
    return prepare_publication(
        source, None, made, "safe.csv", Wishes("them", keep=keep), lambda _: True
    )


def write(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_row_that_proves_a_value_is_told_however_little_is_kept(tmp_path):
    """A rare value of X stays as it is, by which S is certain; all others are one group."""
    rows = Counter({"a,ill": 10, "b,well": 380, "c,ill": 590})
    table = write(tmp_path / "few.csv", "x,s", rows.elements())
    how = {"mechanism": "subset-merging", "encoding": "groups"}
    made = design(table, Asked(("s",), ("x",)), ll.MaxLift(math.log(1.7)), **how)
    assert said(made).state == EMPTY
    assert said(made).proves == ""
    assert "can make it certain that the value is ill" in prepared(table, made).proves


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with addresses, and a ward that says nothing."""
    rows = [f"p{k}@example.org,{'ab'[k % 2]},{k / 7},{'xy'[k % 5 == 0]}" for k in range(400)]
    return write(tmp_path_factory.mktemp("kept") / "people.csv", "mail,ward,score,ill", rows)


def test_columns_beside_the_published_ones_are_judged_with_them(people):
    asked = Asked(("ill",), ("ward",))
    both_ways = design(people, asked, ll.LIP.at_most(1.5), encoding="values")
    assert prepared(people, both_ways).uncovered == ""
    found = prepared(people, both_ways, ("mail",))
    assert found.uncovered == "All of it together does not keep the limit."
    untold = prepared(people, both_ways, ("score",)).uncovered
    assert untold.startswith(
        "Whether all of it together keeps the limit cannot be told: 'score' is"
    )
    gains = design(people, asked, ll.MaxLift(2.0), encoding="values")
    assert (prepared(people, gains).proves, prepared(people, gains).naming) == ("", ())
    found = prepared(people, gains, ("mail",))
    assert (found.uncovered, found.naming) == ("", ("mail",))
    assert "can make it certain that the value is ill = x or ill = y" in found.proves


def test_nothing_is_added_to_rows(people):
    rows = design(people, Asked(("ill",), ("ward", "score")), ll.LIP.at_most(3))
    assert rows.spec.cells is not None
    found = prepared(people, rows, ("mail",))
    assert found.uncovered.startswith("Rows must be published without kept columns")
