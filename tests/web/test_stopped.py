"""What the answer says of its search, and that a looser bound keeps no less."""

import numpy as np

import lowlift as ll
from lowlift._guarantees import stopped_note
from lowlift.report import page
from lowlift.web.frame import Place
from lowlift.web.pages import show
from lowlift.web.settings import Setting
from lowlift.web.work import answer
from lowlift.workflow import Asked, count_table, report_of
from people import write_parquet

ASKED = Asked(("s",), ("x",))


def test_a_search_that_stopped_says_so_on_its_page(tmp_path):
    rng = np.random.default_rng(0)
    columns = {name: [f"{name}{k}" for k in rng.integers(0, 50, 20_000)] for name in "sx"}
    table = write_parquet(tmp_path / "hard.parquet", columns)
    ll.random_response(ll.Joint.random(3, 30, seed=0), ll.LIP(0.3), gap=1e-2)  # compile
    setting = Setting("t", ("s",), ("x",), mechanism="random-response", seconds=0.1)
    found = answer(table, None, None, ASKED, setting, ll.LIP(0.3), lambda _: True)
    # The sentence of the command line and of the report.
    told = stopped_note(found.design.release.certificate, "")
    assert told.startswith("The search stopped after 0.1 s: NMI 0.")
    shown = show(
        "answer/ready.html",
        place=Place("protection", setting),
        found=found,
        searching="",
        longer=3 * setting.seconds,
        ways=[],
        is_pending=False,
    )
    assert f"{told}</strong> More time may keep more: " in shown
    assert told in page(report_of(found.design))
    assert "search for 0.3 s" in shown


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
