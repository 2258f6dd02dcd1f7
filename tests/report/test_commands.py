"""``--report`` on the commands, and ``lowlift report``."""

import json
import re
import shlex
import stat
from html import unescape
from pathlib import Path

import pytest

import lowlift as ll
from people import COUNTS, DISEASES, WARDS, names, write_people

S_X = ("-s", "disease", "-x", "ward")
BOUND = ("--criterion", "lip", "--epsilon", "0.4")
MERGE = ("--mechanism", "subset-merging")


@pytest.fixture
def lowlift(lowlift, tmp_path):
    """Run a command beside a table of people."""
    write_people(tmp_path / "people.csv")
    return lowlift


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


def test_an_audit_writes_a_report_and_keeps_its_exit_code(lowlift):
    ran = lowlift("audit", "people.csv", *S_X, *BOUND, "--report", "r.html")
    assert ran.code == 1
    assert "Wrote r.html (confidential)." in ran.out
    assert mode("r.html") == 0o600
    text = Path("r.html").read_text("utf-8")
    assert "The limit is not kept" in text
    assert "Audit of ward" in text
    assert "disease in people.csv: not safe to publish" in text


def test_a_design_writes_both_forms(lowlift):
    pages = "--report", "r.html", "--report-public", "p.html"
    ran = lowlift("design", "people.csv", *S_X, *BOUND, *MERGE, "--public", "book.json", *pages)
    assert ran.code == 0
    assert mode("r.html") == 0o600
    assert mode("p.html") & stat.S_IRGRP
    assert "asthma" in Path("r.html").read_text("utf-8")
    public = Path("p.html").read_text("utf-8")
    assert "asthma" not in public
    assert "people.csv" not in public
    assert "disease: no value becomes more than 1.5 times as likely" in public
    assert "The limit is kept" in public


def test_sanitize_reports_on_what_was_published(lowlift):
    ran = lowlift(
        *("sanitize", "people.csv", *S_X, *BOUND, "-o", "safe.csv", "--json"),
        *("--report", "r.html"),
    )
    assert ran.code == 0
    assert json.loads(ran.out)["files"]["report"] == "r.html"
    receipt = json.loads(Path("safe.receipt.json").read_text("utf-8"))
    text = Path("r.html").read_text("utf-8")
    assert receipt["output_sha256"] in text
    assert receipt["source_sha256"] in text
    assert "no seed, no key" in text
    assert "disease in people.csv: no value becomes more than 1.5 times as likely" in text


def plain(text):
    """Return what a page says, without its elements."""
    return unescape(re.sub(r"<[^>]*>", "", text))


def test_the_recipient_and_the_commands_are_on_the_page(lowlift):
    ran = lowlift(
        *("sanitize", "people.csv", *S_X, *BOUND, "-o", "safe.csv", "--report", "r.html"),
        *("--report-public", "p.html", "--ledger", "ledger.sqlite", "--to", "the institute"),
    )
    assert ran.code == 0
    text = Path("r.html").read_text("utf-8")
    assert "<dt>Recipient</dt><dd>the institute</dd>" in text
    commands = re.findall(r'<pre class="command"[^>]*><code>(.*?)</code>', text, re.DOTALL)
    again, check, both = (shlex.split(plain(one).replace("\\\n", " "))[1:] for one in commands)
    assert again[-2:] == ["-o", "safe.csv"]
    assert lowlift(*check).code == 0
    assert both == ["audit", "safe.release.json", "OTHER.release.json"]
    assert "Hand out:</strong> safe.csv, safe.codebook.json and p.html." in text
    ran = lowlift(*again, "--no-ledger", "--force")
    assert ran.code == 0, ran.err
    public = Path("p.html").read_text("utf-8")
    assert "institute" not in public
    assert "lowlift sanitize" in plain(text)
    assert "lowlift sanitize" not in plain(public)
    ran = lowlift("report", "safe.release.json", "--to", "the ministry", "-o", "again.html")
    assert "<dd>the ministry</dd>" in Path("again.html").read_text("utf-8")


def test_a_trade_off_writes_its_curve(lowlift):
    sweep = "--criterion", "lip", "--epsilon", "0.5,1,2", *MERGE
    ran = lowlift("tradeoff", "people.csv", *S_X, *sweep, "-o", "c.csv", "--report", "r.html")
    assert ran.code == 0
    text = Path("r.html").read_text("utf-8")
    assert "Trade-off of ward" in text
    assert "Information kept (NMI)" in text


def test_a_release_file_is_reported_on_with_its_receipt(lowlift):
    lowlift("sanitize", "people.csv", *S_X, *BOUND, "-o", "safe.csv")
    ran = lowlift("report", "safe.release.json", "--receipt", "safe.receipt.json")
    assert ran.code == 0
    assert ran.out.startswith("The limit is kept. This release keeps its promise")
    assert mode("report.html") == 0o600
    assert "SHA-256 of the output" in Path("report.html").read_text("utf-8")
    ran = lowlift("report", "safe.release.json", "--public", "-o", "p.html", "--json")
    found = json.loads(ran.out)
    assert found.pop("verdict").startswith("The limit is kept. This release keeps its promise")
    assert found == {
        "report": "p.html",
        "is_public": True,
        "is_satisfied": True,
        "warnings": [],
    }
    assert "asthma" not in Path("p.html").read_text("utf-8")


def test_a_release_that_breaks_its_bound_exits_1(lowlift):
    joint = ll.Joint.from_counts(COUNTS, DISEASES, WARDS)
    ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(0.4)).to_json("broken.json")
    ran = lowlift("report", "broken.json")
    assert ran.code == 1
    assert ran.out.startswith("The limit is not kept. This release breaks its promise")
    assert "The limit is not kept" in Path("report.html").read_text("utf-8")


def test_files_that_exist_are_refused_before_any_work(lowlift):
    Path("r.html").write_text("mine", "utf-8")
    before = names(".")
    for command in (
        ("audit", "people.csv", *S_X, *BOUND),
        ("design", "people.csv", *S_X, *BOUND),
        ("sanitize", "people.csv", *S_X, *BOUND, "-o", "safe.csv"),
        ("tradeoff", "people.csv", *S_X, "-o", "c.csv"),
    ):
        ran = lowlift(*command, "--report", "r.html")
        assert ran.code == 2
        assert "r.html exists" in ran.err
    assert names(".") == before
    assert Path("r.html").read_text("utf-8") == "mine"
    lowlift("audit", "people.csv", *S_X, *BOUND, "--report", "r.html", "--force")
    assert "ward" in Path("r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("design", "people.csv", "-o", "r.html"), "outputs must differ"),
        (("design", "people.csv", "--report-public", "r.html"), "outputs must differ"),
        (("sanitize", "people.csv", "-o", "r.html"), "outputs must differ"),
        (("sanitize", "people.csv", "-o", "s.csv", "--report-public", "s.codebook.json"), "differ"),
        (("audit", "no/people.csv"), "must exist"),
    ],
)
def test_a_report_is_a_file_of_its_own(lowlift, command, words):
    ran = lowlift(*command, *S_X, *BOUND, "--report", "r.html")
    assert ran.code == 2
    assert words in ran.err
    assert not Path("r.html").exists()


def test_several_releases_have_no_report(lowlift):
    lowlift("design", "people.csv", *S_X, *BOUND, "-o", "a.json")
    ran = lowlift("audit", "a.json", "a.json", "--report", "r.html")
    assert ran.code == 2
    assert "use lowlift report" in ran.err


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved.pop("draws"),
        lambda saved: saved.update(rows_in="many"),
        lambda saved: saved.update(kept="ward"),
        lambda saved: saved.update(outside_the_guarantee=[3]),
        lambda saved: saved.update(output_sha256=7),
        lambda saved: saved.update(checked_on_this_table=1),
    ],
)
def test_a_damaged_receipt_is_refused(lowlift, change):
    lowlift("sanitize", "people.csv", *S_X, *BOUND, *MERGE, "-o", "safe.csv")
    saved = json.loads(Path("safe.receipt.json").read_text("utf-8"))
    change(saved)
    Path("safe.receipt.json").write_text(json.dumps(saved), "utf-8")
    ran = lowlift("report", "safe.release.json", "--receipt", "safe.receipt.json")
    assert ran.code == 2
    assert "safe.receipt.json is damaged: " in ran.err
    assert not Path("report.html").exists()


def test_a_receipt_of_another_release_is_refused(lowlift):
    lowlift("sanitize", "people.csv", *S_X, *BOUND, *MERGE, "-o", "safe.csv")
    lowlift("design", "people.csv", *S_X, "--criterion", "lip", "--epsilon", "0.1", *MERGE)
    ran = lowlift("report", "release.json", "--receipt", "safe.receipt.json")
    assert ran.code == 2
    assert "the receipt must be of this release" in ran.err
