"""The facts of a report: the word comes from exact audits, the numbers from what is published."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import lowlift as ll
from lowlift._guarantees import closeness, ends_of
from lowlift.criteria.protocol import epsilon_of, split_of
from lowlift.encodings import encode
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.figures.lifts import arranged
from lowlift.report import Report, page
from lowlift.report.outputs import shares_of
from lowlift.report.tradeoffs import side_by_side
from lowlift.workflow import (
    Asked,
    Options,
    audit_table,
    design,
    report_of,
    report_of_curve,
    sanitize,
    tradeoff_of,
)
from lowlift.workflow.curves import Bound
from people import ROWS, sha256, write_people

TITANIC = ll.datasets.titanic()
BOUND = ll.ALIP(0.5, 0.5)
ASKED = Asked(("disease",), ("ward",))


def value(numbers, name):
    return next(number.value for number in numbers if number.name == name)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture(scope="module")
def published(people, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "safe.csv"
    options = Options(seed=3, keep=("year",))
    return sanitize(people, ASKED, ll.LIP(0.4), str(out), options, mechanism="subset-merging")


def test_the_verdict_comes_first_and_has_numbers():
    report = report_of(ll.random_response(TITANIC, BOUND))
    assert report.holds
    assert report.verdict.word == "The limit is kept"
    assert report.verdict.tone == "good"
    assert report.verdict.sentence.endswith(
        "makes no value of S more than 1.65 times as likely as it was, nor less than 0.606 times "
        "as likely."
    )
    assert value(report.verdict.numbers, "Information kept") == "89.5%"
    assert value(report.verdict.numbers, "Values that break the limit") == "0"
    assert value(report.verdict.numbers, "Best guess right") == "69.3%"
    # Rounded up, as it says "at most".
    # The plain number is the first, as in the app.
    assert report.utility[0].name == "Rows published as they are"
    name = "Most information that any method could keep at this limit"
    assert value(report.utility, name) == "89.6%"
    assert value(report.utility, "Different values") == "14 before, 14 after"


def test_an_audit_that_fails_says_so():
    raw = ll.audit(TITANIC, ll.Channel.identity(TITANIC), BOUND)
    report = Report(raw)
    assert not report.holds
    assert report.verdict.tone == "bad"
    assert "3.1 times as likely as it was, or rule it out" in report.verdict.sentence
    assert "9 of 14 values break it" in report.verdict.detail
    assert not report.is_release
    assert report.lift_after_svg is None
    assert "break" in page(report)


def test_a_bound_that_floats_cannot_tell_is_decided_exactly():
    """P(s) = 1/2 and P(s|x) = 3/4: the lift is 3/2, and log(3/2) as a float is not log(3/2)."""
    joint = ll.Joint.from_counts([[3, 1], [1, 3]])
    channel = ll.Channel.identity(joint)
    near = math.log(1.5)
    with mpmath.workdps(60):
        is_enough = mpmath.mpf(near) > mpmath.log(mpmath.mpf(3) / 2)
    for upper in (math.nextafter(near, 0), near, math.nextafter(near, 1)):
        audit = ll.audit(joint, channel, ll.MaxLift(upper))
        report = Report(audit)
        assert report.holds is audit.is_satisfied
        assert (report.verdict.tone == "good") is audit.is_satisfied
        assert audit.is_satisfied is (upper > near or (upper == near and is_enough))


def test_floats_alone_give_no_verdict():
    class Divergence:
        lower, upper = math.inf, 0.05

        def leakage(self, lift_sy, p_s):
            logs = np.log(np.where(lift_sy > 0, lift_sy, 1.0))
            found = p_s @ (lift_sy * logs)
            return np.zeros_like(found), found

        def risk(self, lift_sy, p_s):
            return self.leakage(lift_sy, p_s)[1]

    release = ll.subset_merging(ll.Joint.random(3, 8, seed=1), Divergence())
    assert release.audit.is_satisfied
    report = report_of(release)
    assert not report.holds
    for form in (report, report.public):
        assert form.verdict.word == "Not decided exactly"
        assert form.verdict.tone == "plain"
    assert "The limit is kept" not in page(report) + page(report, is_public=True)


def test_a_release_that_breaks_its_bound_is_reported_as_such():
    broken = ll.Release.of(TITANIC, ll.Channel.identity(TITANIC), BOUND)
    report = report_of(broken)
    assert report.verdict.word == "The limit is not kept"
    assert report.verdict.sentence.startswith("This release breaks its promise")
    assert report.public.verdict.sentence == "This release breaks its promise."


def test_one_column_that_breaks_the_bound_is_enough():
    good = report_of(ll.optimal_merging(TITANIC, BOUND), points=())
    bad = ll.audit(TITANIC, ll.Channel.identity(TITANIC), BOUND)
    report = replace(good, columns=(("one", good.subject), ("other", bad)))
    assert good.holds
    assert not report.holds
    assert report.verdict.tone == "bad"
    assert any("other alone" in limit.text and limit.is_warning for limit in report.limits)


def test_the_riskiest_come_first_and_say_what_became_of_them():
    report = report_of(ll.optimal_merging(TITANIC, BOUND), points=())
    first = report.riskiest.rows[0]
    assert first[0] == "2nd woman child"
    assert first[2:5] == ("saved: ×3.1", "lost: ×0", "no")
    assert "2nd woman child" in first[5]
    assert (len(report.riskiest.rows), report.riskiest.hidden) == (14, 0)
    assert report.riskiest.caption.startswith("The highest and lowest lifts: 14 values")
    worst = max(float(row[6][1:]) for row in report.riskiest.rows)
    assert worst <= round(math.exp(0.5), 3)


def test_zero_cells_are_named_and_warned_of_while_they_remain():
    raw = Report(ll.audit(TITANIC, ll.Channel.identity(TITANIC), BOUND))
    after = report_of(ll.optimal_merging(TITANIC, BOUND), points=())
    name = "Values that never occur together"
    limit = next(limit for limit in raw.limits if limit.name == name)
    assert limit.text.startswith("4 pairs of a protected and a published value never occur")
    assert limit.is_warning
    # What the release does not do must not be read as what it does.
    assert name not in [limit.name for limit in after.limits]


def test_a_design_has_its_table_its_intervals_and_its_reason(people):
    report = report_of(design(people, ASKED, ll.LIP(0.4)))
    assert report.title == "disease in people.csv: no value becomes more than 1.5 times as likely"
    assert report.about == "Published columns: ward"
    assert value(report.provenance, "SHA-256 of that table") == sha256(people)
    assert value(report.provenance, "Mechanism") == "random-response"
    sample = next(limit for limit in report.limits if limit.name == "Sample or population")
    assert f"If these {ROWS:,} people are a sample" in sample.text
    audited = report_of(audit_table(people, ASKED, ll.LIP(0.4)))
    assert audited.title == (
        "disease in people.csv: not safe to publish (asked for: no value becomes more than 1.5 "
        "times as likely)"
    )
    assert audited.about == "Audit of ward"
    assert audited.points == ()


def test_what_was_published_is_told_with_what_is_outside(published):
    report = report_of(published)
    assert value(report.provenance, "SHA-256 of the output") == published.receipt.output_sha256
    assert value(report.provenance, "Draws") == "seeded"
    assert value(report.provenance, "Kept columns") == "year"
    assert next(n.note for n in report.provenance if n.name == "Rows") == ""  # none was left out
    assert "key" not in report.adversary
    warnings = [limit.text for limit in report.limits if limit.is_warning]
    assert "Draws by a seed: who knows it can undo them." in warnings


def test_a_receipt_of_another_release_is_refused(published):
    other = ll.optimal_merging(TITANIC, BOUND)
    with pytest.raises(InvalidInput, match="of this release"):
        report_of(other, receipt=published.receipt)


def test_what_failed_its_verification_gets_no_report(published):
    broken = replace(published.verification.checks[0], is_ok=False)
    failed = replace(published, verification=replace(published.verification, checks=(broken,)))
    with pytest.raises(BoundViolated, match="not verified"):
        report_of(failed)


def test_only_what_the_workflow_returns_is_reported_on():
    with pytest.raises(InvalidInput, match="got Joint"):
        report_of(TITANIC)


def test_the_head_says_for_whom_the_promise_is_and_who_gets_it(people):
    made = design(people, ASKED, ll.Population(ll.LIP.at_most(2), 0.9))
    report = report_of(made, points=(), recipient="the ministry")
    heads = {head.name: head.value for head in report.heads}
    assert heads["Recipient"] == "the ministry"
    assert heads["The promise is"] == (
        "For the population that the rows are a random sample of, with 90% confidence"
    )
    assert "the ministry" not in page(report, is_public=True)


@pytest.mark.parametrize(
    ("criterion", "claim"),
    [
        (ll.LIP.at_most(2), "no value becomes more than 2 times as likely"),
        (ll.ALIP(0.5, math.inf), "no value becomes less than 0.606 times as likely"),
        (ll.LIP(0.0), "nothing is learnt about it"),
        (ll.ALIP(math.inf, math.inf), "nothing is bounded"),
    ],
)
def test_the_title_claims_what_the_bound_promises(criterion, claim):
    report = report_of(ll.watchdog(TITANIC, criterion), points=())
    assert report.title == f"S: {claim}"


def test_warnings_are_those_of_the_limits_and_of_the_codebook():
    joint = ll.Joint.from_counts([[1, 2, 40], [2, 1, 40]], x_labels="abc")
    release = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[0, 1], [2]]), ll.MaxLift(0.0))
    texts = [one.text for one in report_of(release, points=()).warnings]
    assert any(text.startswith("As a sample") or "sample" in text for text in texts)
    assert any("reveal that 2 values occur fewer than 5 times" in text for text in texts)


def test_beliefs_that_can_grow_most_come_first():
    report = report_of(ll.random_response(TITANIC, BOUND), points=())
    assert [one.value for one in report.beliefs] == ["saved", "lost"]
    assert report.beliefs[0].words in page(report)


# --- the curve -------------------------------------------------------------------------------


def test_the_curve_runs_around_the_release_and_marks_it():
    report = report_of(ll.subset_merging(TITANIC, ll.ALIP(0.4, 0.6)))
    names = {point.mechanism for point in report.points}
    assert names == {"optimal-merging", "subset-merging", "watchdog"}
    assert all(point.is_satisfied for point in report.points)
    assert {point.split for point in report.points} == {0.4}
    assert 1.0 in {point.epsilon for point in report.points}
    assert report.mechanisms.rows[0][0] == "subset-merging (this release)"
    assert "this release" in [entry.label for entry in report.curve_legend]
    assert len(report.curve_svgs) == 3


@pytest.mark.parametrize(
    "criterion",
    [
        ll.MaxLift(0.5),
        ll.MaxLift(0.0),
        ll.ALIP(math.inf, 0.5),
        ll.ALIP(math.inf, 0.0),
        ll.LIP(0.5),
        ll.LDP(1.0),
        ll.L1Lift(math.inf, 0.3),
        ll.Chi2Lift(0.5, 0.5),
        ll.AlphaLift(2, math.inf, 0.2),
    ],
)
def test_every_criterion_has_a_curve_of_its_own_kind(criterion):
    report = report_of(ll.subset_merging(TITANIC, criterion))
    assert report.holds
    assert len({point.epsilon for point in report.points}) >= 3
    assert epsilon_of(criterion) in {point.epsilon for point in report.points}
    assert all(type(criterion).__name__ in point.criterion for point in report.points)
    split = split_of(criterion)
    assert all(point.split == pytest.approx(split, nan_ok=True) for point in report.points)


def test_a_limit_by_a_factor_is_said_by_its_factor():
    bounds = [ll.LIP.at_most(factor) for factor in (1.5, 2.0, 4.0)]
    for made in (bounds, [ll.Population(bound) for bound in bounds]):
        asked = [Bound(math.nan, epsilon_of(one), one) for one in made]
        points = tradeoff_of(TITANIC, criterion=asked, mechanisms=["watchdog"])
        table = side_by_side(points, None)
        assert table.head[:3] == ("mechanism", "at most", "budget ε")
        assert [row[1] for row in table.rows] == ["1.5 times", "2 times", "4 times"]
        assert {len(row) for row in table.rows} == {len(table.head)}
    # Of a budget with two sides no factor is both of them.
    split = tradeoff_of(TITANIC, criterion="alip", mechanisms=["watchdog"], epsilons=[1.0])
    table = side_by_side(split, None)
    assert table.head[:2] == ("mechanism", "budget ε")
    assert {len(row) for row in table.rows} == {len(table.head)}


def test_a_curve_without_a_finite_budget_is_none():
    criterion = ll.ALIP(math.inf, math.inf)
    assert report_of(ll.subset_merging(TITANIC, criterion)).points == ()
    with pytest.raises(InvalidInput, match="none that is finite"):
        tradeoff_of(TITANIC, criterion=criterion, mechanisms=["watchdog"], epsilons=[1.0])


def test_a_sweep_stops_when_told_to():
    seen = []

    def progress(done, total):
        seen.append((done, total))
        return done < 2

    points = tradeoff_of(
        TITANIC,
        criterion="lip",
        mechanisms=["watchdog", "subset-merging"],
        epsilons=[0.5, 1.0],
        progress=progress,
    )
    assert len(points) == 2
    assert seen == [(1, 4), (2, 4)]


def test_a_trade_off_has_no_verdict_and_no_public_form(people):
    found = audit_table(people, ASKED, ll.LIP(4.0))
    points = tradeoff_of(
        found.audit.joint, criterion="lip", mechanisms=["watchdog"], epsilons=[0.5, 1.0]
    )
    report = report_of_curve(found, points)
    assert report.verdict.word == "Trade-off"
    text = page(report)
    assert "The limit is kept" not in text
    assert "allowed as it is" not in text
    with pytest.raises(InvalidInput, match="no public form"):
        page(report, is_public=True)


# --- other words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "criterion",
    [
        ll.ALIP(0.5, 1.0),
        ll.ALIP(0.3, math.inf),
        ll.MaxLift(0.7),
        ll.LDP(1.2),
        ll.LIP(0.2),
        ll.L1Lift(math.inf, 0.3),
        ll.Chi2Lift(math.inf, 0.4),
    ],
)
def test_what_follows_from_a_bound_holds_for_every_lift_that_it_allows(criterion):
    rng = np.random.default_rng(0)
    ends, distance = ends_of(criterion), closeness(criterion)
    tried = 0
    for _ in range(4000):
        p_s = rng.dirichlet(np.ones(3))
        lift = rng.dirichlet(p_s * rng.choice([2.0, 20.0, 200.0]) + 1e-3) / p_s
        lower, upper = criterion.leakage(lift[:, None], p_s)
        if lower[0] <= criterion.lower and upper[0] <= criterion.upper:
            tried += 1
            assert math.log(lift.max()) <= ends.upper + 1e-9
            assert lift.min() >= math.exp(-ends.lower) - 1e-9
            assert p_s @ np.abs(lift - 1) / 2 <= distance + 1e-9
    assert tried > 100


def test_the_words_are_measured_before_and_after():
    table = report_of(ll.random_response(TITANIC, BOUND), points=()).words
    rows = {row[0]: row[2:5] for row in table.rows}
    assert table.head[2:5] == ("promised", "X as it is", "as published")
    assert rows["Max-lift"] == ("×1.65", "×3.1", "×1.65")
    assert rows["Local differential privacy (ε)"] == ("1 nats", "∞", "0.870 nats")
    assert rows["δ-disclosure"] == ("0.5 nats", "∞", "0.500 nats")
    assert rows["Best attacker"][1:] == ("79.1%", "69.3%")


def test_shares_of_rows_that_stay_are_those_of_the_encoding():
    release = ll.optimal_merging(TITANIC, BOUND)
    for name in ("codes", "groups", "values"):
        encoded = encode(release, name)
        raw = ll.audit(TITANIC, ll.Channel.identity(TITANIC), BOUND)
        both = shares_of(raw, encoded)
        for shares in both:
            assert shares.shares.sum() == pytest.approx(1)
            assert 1 - shares.parts.sum() == pytest.approx(encoded.share_changed)
        assert len({(shares.most, shares.letters) for shares in both}) == 1  # one scale


def test_what_is_kept_is_told_by_column(tmp_path):
    path = str(tmp_path / "titanic.csv")
    ll.datasets.write_titanic(path)
    asked = Asked(("survived",), ("class", "sex", "age"))
    made = design(path, asked, ll.LIP.at_most(2), encoding="values")
    words = report_of(made, points=()).kept_by_column
    shares = dict(part.rsplit(" ", 1) for part in words.split(", "))
    assert list(shares) == ["class", "sex", "age"]
    whole = 1 - made.encoded.share_changed
    assert all(float(share.strip("<>%")) / 100 > whole - 0.01 for share in shares.values())
    assert report_of(design(path, asked, ll.LIP(0.5), encoding="codes")).kept_by_column == ""


def test_large_lifts_come_first_in_a_heat_map_of_many_columns():
    """Zeros are the lowest lifts of most columns; they must not hide the largest one."""
    counts = np.zeros((60, 400), int)
    counts[np.arange(400) % 59, np.arange(400)] = 50  # each has 58 zeros and one lift of about 59
    counts[59, 399], counts[:59, 399] = 50, 0  # the only value of X with the last value of S
    audit = ll.audit(joint := ll.Joint.from_counts(counts), ll.Channel.identity(joint), ll.LIP(1.0))
    names = tuple(map(str, range(400)))
    found = arranged(audit, names, "values of X")
    assert found.columns == tuple(names[x] for x in audit.most_extreme(200))
    assert found.columns[0] == "399"
    assert len(found.rows) == 40
    assert "59" in found.rows
    np.testing.assert_allclose(found.log_lift.max(), math.log(400))
