"""What the answer says of its search, and that a looser bound keeps no less."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput
from lowlift.report import page
from lowlift.report.outcome import most_words, stopped_words
from lowlift.web.frame import Place
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.work import answer
from lowlift.workflow import Asked, count_table, profiling, report_of
from people import write_parquet

ASKED = Asked(("s",), ("x",))


def test_a_search_that_stopped_says_so_on_its_page(tmp_path):
    rng = np.random.default_rng(0)
    columns = {name: [f"{name}{k}" for k in rng.integers(0, 50, 20_000)] for name in "sx"}
    table = write_parquet(tmp_path / "hard.parquet", columns)
    ll.random_response(ll.Joint.random(3, 30, seed=0), ll.LIP(0.3), gap=1e-2)  # compile
    setting = Setting("t", ("s",), ("x",), mechanism="random-response", seconds=0.1)
    found = answer(table, None, None, ASKED, setting, ll.LIP(0.3), lambda _: True)
    # The sentence of the report; that of the command line has the numbers of the paper.
    told = stopped_words(found.design.release.certificate, is_advised=False)
    assert told == "The search stopped after 0.1 s."
    assert "of the information at this limit (proven)" in most_words(found.said.most)
    shown = show(
        "answer/ready.html",
        place=Place("protection", setting),
        found=found,
        searching="",
        is_warned=False,
        is_adding=False,
        longer=3 * setting.seconds,
        ways=[],
        is_pending=False,
    )
    assert "The search stopped after 0.1 s.</strong> More time may keep more: " in shown
    assert "No method keeps more than" in shown
    assert not re.search("NMI|bound|gap", shown)
    assert told in page(report_of(found.design))
    assert "search for 0.3 s" in shown


def test_rows_whose_columns_cannot_be_looked_at_have_no_answer(tmp_path, monkeypatch):
    """Whether a column tells S is not known then, and the answer would be green."""
    rng = np.random.default_rng(0)
    columns = {name: [f"{name}{k}" for k in rng.integers(0, 4, 2_000)] for name in "sxy"}
    table = write_parquet(tmp_path / "wide.parquet", columns)
    asked = Asked(("s",), ("x", "y"), cells=8)
    setting = Setting("t", ("s",), ("x", "y"), cells=8)
    given = table, None, None, asked, setting, ll.LIP(0.7), lambda _: True
    assert answer(*given).tells == ()
    monkeypatch.setattr(profiling, "_MOST_COLUMNS", 2)
    with pytest.raises(InvalidInput, match="to be looked at"):
        answer(*given)


def test_a_search_says_no_less_than_the_answer_beside_it():
    job = SimpleNamespace(state="running", seconds=2.0)
    steps = [(1, 0.0, 0.83, 1.0), (2, 0.75, 0.83, 2.0)]

    def said(n, least):
        given = {"job": job, "kind": "search", "stages": (), "least": least}
        return show("progress.html", steps=steps[:n], last=steps[n - 1], **given)

    assert "Nothing better found yet." in said(1, 0.61)
    assert "so far: 0%" not in said(1, 0.61)
    assert "Found so far: 75% of the information." in said(2, 0.61)
    assert "Found so far: 0% of the information." in said(1, -1.0)  # no answer is beside it


def test_a_looser_bound_keeps_no_less_on_the_page(tmp_path):
    """By Algorithm 1 alone it would."""
    joint = ll.Joint.from_counts((ll.Joint.random(4, 10, seed=1).p_sx * 10**6).round().astype(int))
    bounds = [ll.LIP(0.5805), ll.LIP(1.0)]
    kept = [ll.subset_merging(joint, bound).audit.nmi for bound in bounds]
    assert kept[1] < kept[0]
    table = write_parquet(tmp_path / "t.parquet", {"s": ["a", "b"], "x": ["c", "d"]})
    _, origin = count_table(table, ASKED)
    joint = joint.with_table(origin)
    for mechanism in ("auto", "subset-merging"):
        setting = Setting("t", ("s",), ("x",), mechanism=mechanism)
        answers = [
            answer(table, None, joint, ASKED, setting, bound, lambda _: True) for bound in bounds
        ]
        found = [each.design.release.audit.nmi for each in answers]
        assert found[0] >= kept[0]
        assert found[1] >= found[0]
