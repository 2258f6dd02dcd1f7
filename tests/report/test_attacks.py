"""Attacks on the report: what it must not say, whoever asks and whatever the labels are."""

import math
import re
import warnings

import numpy as np
import pytest

import lowlift as ll
from lowlift import workflow
from lowlift.codebook import Codebook
from lowlift.encodings import default_encoding, encode
from lowlift.errors import InvalidInput
from lowlift.report import page
from lowlift.workflow import report_of

RISKY = ll.Joint.from_counts([[10, 0, 4, 7], [1, 10, 5, 7]])
BROKEN = ll.Release.of(RISKY, ll.Channel.identity(RISKY), ll.ALIP(0.3, 0.3))


class Own:
    """A criterion of a user: no box, compared in floats, although it has two numbers."""

    lower = upper = 0.1
    is_convex, is_polyhedral = True, False

    def leakage(self, lift_sy, p_s):
        del p_s
        return np.zeros(lift_sy.shape[1]), np.zeros(lift_sy.shape[1])

    def risk(self, lift_sy, p_s):
        del p_s
        return np.zeros(lift_sy.shape[1])

    def half_spaces(self, p_s):
        raise NotImplementedError

    cut = half_spaces


class Decided(Own):
    """The same with a verdict of its own, which allows everything."""

    def verdict(self, posterior, prior):
        del posterior, prior
        return True


def text_of(html):
    """Return what a reader sees of a page."""
    body = re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_a_broken_promise_is_not_repeated_as_a_guarantee():
    report = report_of(BROKEN, points=())
    assert report.verdict.word == "The limit is not kept"
    assert "No published value makes" not in report.verdict.detail
    assert "This holds for" not in text_of(page(report))


def test_the_mechanisms_table_knows_that_this_release_breaks_its_bound():
    rows = report_of(BROKEN).mechanisms.rows
    assert [row[-1] for row in rows if "this release" in row[0]] == ["no"]


@pytest.mark.parametrize(
    "criterion",
    [
        ll.ALIP(math.inf, math.inf),
        ll.LDP(math.inf),
        ll.L1Lift(math.inf, 4.0),
        ll.AlphaLift(1, math.inf, 2.0),
    ],
    ids=str,
)
def test_a_bound_of_nothing_is_not_praised(criterion):
    report = report_of(ll.Release.of(RISKY, ll.Channel.identity(RISKY), criterion), points=())
    for verdict in (report.verdict, report.public.verdict):
        assert verdict.tone != "good"
        assert "little" not in verdict.sentence
        assert "keeps its promise" not in verdict.sentence


@pytest.mark.parametrize("criterion", [Own(), Decided()], ids=["floats", "verdict"])
def test_a_users_criterion_gets_no_guarantee_in_our_words(criterion):
    report = report_of(ll.Release.of(RISKY, ll.Channel.identity(RISKY), criterion), points=())
    for is_public in (False, True):
        words = text_of(page(report, is_public=is_public))
        assert "No published value makes" not in words
        assert "changes little" not in words


def test_floats_are_not_called_exact():
    report = report_of(ll.Release.of(RISKY, ll.Channel.identity(RISKY), Own()), points=())
    assert report.verdict.word == "Not decided exactly"
    assert not any("decided exactly" in number.note for number in report.verdict.numbers)


@pytest.mark.parametrize(
    "criterion", [ll.MaxLift(200.0), ll.ALIP(60.0, 60.0), ll.LDP(650.0), ll.LIP(1e9)], ids=str
)
def test_large_budgets_can_be_reported(criterion):
    report = report_of(ll.Release.of(RISKY, ll.Channel.identity(RISKY), criterion), points=())
    assert page(report)
    assert page(report, is_public=True)


@pytest.mark.parametrize(
    "label", ["\x01", "a\x00b", "\ufffe", "\u202e", "$\\frac{$", "天地", "<svg onload=alert(1)>"]
)
def test_no_label_breaks_a_page_or_is_told_by_a_warning(label):
    joint = ll.Joint.from_counts([[10, 3, 4], [3, 10, 5]], [label, "t"], [label, "b", "c"])
    release = ll.subset_merging(joint, ll.ALIP(0.5, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = page(report_of(release, points=()))
    assert "<svg onload" not in html


@pytest.mark.parametrize("step", [0.01, 0.025, 0.2])
def test_the_public_intervals_are_those_of_the_codebook(step):
    release = ll.subset_merging(ll.datasets.titanic(), ll.ALIP(0.5, 0.5))
    book = Codebook.of(encode(release, default_encoding(release)), round_to=step)
    rows = report_of(release, points=(), round_to=step).public.channel.rows
    for (_, words), pairs in zip(rows, book.p_x_given_y, strict=True):
        shown = {
            (float(low), float(high)) for low, high in re.findall(r"([\d.]+)% to ([\d.]+)%", words)
        }
        told = {(round(100 * low, 9), round(100 * high, 9)) for low, high in pairs}
        assert shown <= told


@pytest.fixture
def published(tmp_path):
    """A table whose column k tells s, and a release of x."""
    rows = [("u", "a", "1"), ("v", "a", "1"), ("v", "b", "2"), ("w", "b", "2"), ("w", "a", "1")]
    text = "x,s,k\n" + "".join(",".join(row) + "\n" for row in rows * 60)
    (tmp_path / "t.csv").write_text(text)
    made = workflow.design(
        str(tmp_path / "t.csv"), workflow.Asked(("s",), ("x",)), ll.ALIP(0.6, 0.6)
    )
    made.release.to_json(tmp_path / "r.json")
    return tmp_path, ll.Release.from_json(tmp_path / "r.json")


@pytest.mark.parametrize(
    "options",
    [{"keep": ("k",), "accept_uncovered": True}, {"seed": 1}],
    ids=["kept columns", "seed"],
)
def test_no_green_verdict_over_what_the_guarantee_does_not_cover(published, options):
    folder, release = published
    target = str(folder / "o.csv")
    receipt = workflow.apply(str(folder / "t.csv"), release, target, workflow.Options(**options))
    report = report_of(release, receipt=receipt, points=())
    for verdict in (report.verdict, report.public.verdict):
        assert verdict.tone != "good"
        assert verdict.word != "The limit is kept"


def test_the_public_form_says_that_the_table_was_not_checked(published):
    folder, release = published
    (folder / "x.csv").write_text("x\n" + "u\nv\nw\n" * 50)
    accepted = workflow.Options(accept_unchecked=True)
    receipt = workflow.apply(str(folder / "x.csv"), release, str(folder / "o.csv"), accepted)
    report = report_of(release, receipt=receipt, points=())
    assert "Not checked on this table" in [limit.name for limit in report.public.limits]
    assert "Outside the guarantee" not in [limit.name for limit in report.public.limits]


def test_a_receipt_of_another_bound_is_refused(published):
    folder, release = published
    receipt = workflow.apply(str(folder / "t.csv"), release, str(folder / "o.csv"))
    other = ll.Release.of(release.joint, release.channel, ll.ALIP(6.0, 6.0))
    with pytest.raises(InvalidInput, match="receipt"):
        report_of(other.with_table(release.table), receipt=receipt, points=())


def test_the_public_form_of_a_random_response_has_no_probabilities():
    # Mixed outputs lie on the bound: each is an equation for P(s|x), solved by whoever knows P(s).
    joint = ll.Joint.from_counts([[1900, 700, 2100, 400], [150, 1100, 200, 1500]])
    release = ll.random_response(joint, ll.LIP(0.35))
    report = report_of(release, points=())
    assert any(";" in words for _, words in report.public.channel.rows)
    assert not any("%" in words for _, words in report.public.channel.rows)
    assert "nothing of the sensitive values" not in text_of(page(report, is_public=True))
    assert Codebook.of(encode(release, "codes")).warnings
