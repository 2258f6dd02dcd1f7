"""The public form names what is protected, and leaks nothing of S by X, no count, no hash."""

import re
from dataclasses import fields

import numpy as np
import pytest

import lowlift as ll
from lowlift.figures.page import environment_of
from lowlift.report import Public, Report, page
from lowlift.workflow import Asked, Options, audit_table, design, report_of, sanitize
from people import rows_of, sha256, write_csv

DISEASES = ("qzalpha", "qzbeta", "qzgamma")
WARDS = ("east", "north", "south", "west")
COUNTS = ((1371, 412, 837, 594), (711, 1632, 478, 893), (197, 236, 1015, 319))
ASKED = Asked(("qzdisease",), ("ward",))
BOUND = ll.ALIP(0.41, 0.43)
MACROS = ("verdict", "limits", "lifts", "utility", "curve", "words", "channel", "provenance")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "qzsource.csv"
    rows = rows_of(COUNTS, DISEASES, WARDS)
    return write_csv(path, ("qzdisease", "ward", "year"), [(s, x, "2020") for s, x in rows])


@pytest.fixture(scope="module", params=["audit", "random-response", "subset-merging", "sanitize"])
def report(request, source, tmp_path_factory):
    if request.param == "audit":
        return report_of(audit_table(source, ASKED, BOUND))
    if request.param == "sanitize":
        out = tmp_path_factory.mktemp("out") / "safe.csv"
        options = Options(keep=("year",))
        return report_of(sanitize(source, ASKED, BOUND, str(out), options, encoding="values"))
    return report_of(design(source, ASKED, BOUND, mechanism=request.param))


def secrets(report, source):
    """Everything that the confidential form may tell and the public one may not."""
    joint, audits = report.raw.joint, [report.raw, report.subject]
    found = {*DISEASES, "qzsource", "survived", sha256(source)}
    numbers = {*joint.counts.ravel(), *joint.counts.sum(axis=0), *joint.counts.sum(axis=1)}
    numbers.add(joint.counts.sum())
    for number in numbers:
        found |= {f"{number}", f"{number:,}"}
    shares = [*joint.p_sx.ravel(), *joint.p_s, *joint.p_x, *joint.p_s_given_x.ravel()]
    shares += [*report.guesses, *report.subject.p_y]
    found |= {f"{share:.1%}" for share in shares} | {f"{share:.4f}" for share in shares}
    for audit in audits:
        found |= {f"×{lift:.3g}" for lift in audit.lift.ravel()}
        found |= {f"{lift:.4f}" for lift in audit.lift.ravel()}
        found |= {f"{audit.nmi:.4f}", f"{audit.nmi:.1%}"}
        leaks = (audit.min_lift_leakage, audit.max_lift_leakage)
        found |= {f"{leak:.3f}" for leak in leaks} | {f"{leak:.4f}" for leak in leaks}
    if report.encoded is not None:
        found.add(report.encoded.release.fingerprint)
    for point in report.points:
        found |= {f"{point.nmi:.1%}"}
    if report.upper_bound is not None:
        found |= {f"{report.upper_bound:.1%}"}
    # What the budgets alone say, and what every reader knows.
    return found - {"100.0%", "×1.51", "×1.54", "1.0000", "0.410", "0.430", "×1"}


def leaked(text, report, source):
    """Return the secrets in a text; the digits of the time and of the output's hash are none."""
    if report.publication is not None:
        text = text.replace(report.publication.output_sha256, "")
    text = text.replace(report.made_at, "")
    return sorted(secret for secret in secrets(report, source) if secret in text)


def test_the_public_page_has_none_of_it(report, source):
    text = page(report, is_public=True)
    assert leaked(text, report, source) == []
    assert "<svg" not in text


def test_the_public_page_names_what_is_protected_and_how_strongly(report):
    text = page(report, is_public=True)
    claim = "no value becomes more than 1.54 times as likely"
    words = claim if report.verdict.tone == "good" else f"not safe to publish (asked for: {claim})"
    assert f"<h1>qzdisease: {words}</h1>" in text


def test_the_confidential_page_has_it(report, source):
    """The secrets are the right ones: the full page shows labels, lifts and the hash."""
    text = page(report)
    assert all(label in text for label in DISEASES)
    assert sha256(source) in text
    assert "qzdisease" in text
    assert "Confidential." in text


def test_the_macros_leak_nothing_when_given_the_whole_report(report, source):
    calls = "".join(f"{{{{ sections.{name}(report, true) }}}}" for name in MACROS)
    template = environment_of("lowlift.report").from_string(
        f'{{% import "sections.html" as sections %}}{calls}'
    )
    text = template.render(report=report)
    assert leaked(text, report, source) == []
    assert "The limit" in text


def plain(value):
    if isinstance(value, tuple):
        return all(plain(part) for part in value)
    return value is None or isinstance(value, str | bool | int)


def test_the_public_form_is_plain_data(report):
    """No joint, audit or array can be reached from it, whatever a template asks for."""
    public = report.public
    assert isinstance(public, Public)
    assert public.public is public
    assert all(plain(getattr(public, field.name)) for field in fields(public))


def test_reasons_that_count_are_cut(source, tmp_path):
    rows = [(s, x, str(k)) for k, (s, x) in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
    table = write_csv(tmp_path / "qzids.csv", ("qzdisease", "ward", "person"), rows)
    options = Options(keep=("person",), accept_uncovered=True)
    made = sanitize(table, ASKED, BOUND, str(tmp_path / "safe.csv"), options)
    report = report_of(made)
    assert any("break" in limit.text for limit in report.limits if limit.is_warning)
    warning = next(limit for limit in report.public.limits if limit.is_warning)
    assert warning.text == "The kept columns."


def test_probabilities_are_no_finer_than_asked_for(source):
    made = design(source, ASKED, BOUND, mechanism="subset-merging")
    table = report_of(made, points=(), round_to=0.25).public
    assert "(25% to 50%)" in str(table.channel.rows)
    assert {number.value for number in table.utility} <= {
        f"about {share}%" for share in (0, 25, 50, 75, 100)
    }
    fine = report_of(made, points=(), round_to=1e-6).public
    assert "." not in "".join(row[1] for row in fine.channel.rows)


def test_small_counts_are_warned_of():
    joint = ll.Joint.from_counts([[1, 2, 40], [2, 1, 40]], x_labels="abc")
    release = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[0, 1], [2]]), ll.MaxLift(0.0))
    report = report_of(release, points=())
    assert [text.partition(":")[0] for text in report.public.warnings] == [
        "intervals of width 0.01 still reveal how often 2 values occur"
    ]


def test_a_database_is_not_named(source, tmp_path):
    made = sanitize(source, ASKED, BOUND, str(tmp_path / "safe.csv"))
    report = report_of(made)
    far = report.publication.__class__(
        **vars(report.publication) | {"output": "postgresql://qzhost/db?table=t"}
    )
    text = page(Report(**vars_of(report) | {"publication": far}), is_public=True)
    assert "qzhost" not in text


def vars_of(report):
    return {field.name: getattr(report, field.name) for field in fields(report)}


def test_readers_are_told_what_became_of_rows_and_not_what_a_publisher_can_do(report):
    text, encoded = page(report, is_public=True), report.encoded
    assert "lowlift audit" not in text
    assert "key of the draws" not in text
    if encoded is None or not encoded.share_changed:
        return
    names = [number.name for number in report.public.utility]
    assert names == ["Rows published as they are", "Information kept"]
    words = "is not the one in the table, and no row says which"
    what = {"values": "value", "codes": "code", "groups": "group"}[encoded.name]
    assert f"In the other rows the published {what}" in text
    assert (words in text) is (encoded.name == "values")
    assert ("how likely" in text) is ("% to" in str(report.public.channel))


@pytest.mark.parametrize(
    ("name", "foot"), [("safe-1.csv", "safe-1.csv"), ('"} x {" .csv', "lowlift report")]
)
def test_the_foot_of_a_printed_page_names_a_plain_file_alone(source, tmp_path, name, foot):
    """What is written by a style sheet cannot be escaped as text."""
    made = sanitize(source, ASKED, BOUND, str(tmp_path / name))
    style = page(report_of(made), is_public=True).partition("</style>")[0]
    assert re.search(r'@bottom-left \{ content: ("[^"]*")', style)[1] == f'"{foot}"'


def test_arrays_without_a_table_have_a_public_form():
    release = ll.subset_merging(ll.Joint.random(3, 6, seed=0), ll.LIP(0.3))
    report = report_of(release)
    text = page(report, is_public=True)
    assert "<h1>S: no value becomes more than 1.35 times as likely</h1>" in text
    assert not any(f"{share:.1%}" in text for share in np.ravel(release.joint.p_sx))
