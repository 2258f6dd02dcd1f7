"""Shares and means by groups, back from published rows, with intervals that include the drawing."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import lowlift as ll
from lowlift._channel import Channel
from lowlift._cli.app import app
from lowlift.codebook import Codebook
from lowlift.errors import InvalidInput
from lowlift.estimation.groups import Counted, Total, group_estimate, marginal
from lowlift.workflow.utility import published_for

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")
RELEASED = ["age", "job", "pay", "member"]


def people(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 60, rows), rng.choice(["nurse", "smith, or so", ""], rows)
    pay = np.round(1000 + 40 * age + rng.normal(0, 300, rows), 1)
    ill = rng.random(rows) < 0.1 + 0.5 * (age > 40) + 0.2 * (job == "nurse")
    frame = pd.DataFrame(
        {"age": age, "job": job, "pay": pay, "member": rng.random(rows) < 0.3, "ill": ill}
    )
    frame.loc[rng.random(rows) < 0.1, ["job", "pay"]] = None
    return frame


@pytest.fixture(scope="module")
def safe():
    asked = {"sensitive": "ill", "released": RELEASED, "cells": 8, "criterion": ll.LIP(0.3)}
    return ll.sanitize(people(), **asked, seed=1)


def test_against_pandas(safe):
    found = ll.estimate(safe.table, safe.codebook, by=["job", "member"], mean=["age", "pay"])
    assert found.rows == 400
    frame = safe.table
    expected = frame.groupby(["job", "member"], dropna=False)
    assert len(found.groups) == len(expected)
    for (job, member), part in expected:
        label = (None if pd.isna(job) else job, bool(member))
        [group] = [group for group in found.groups if group.labels == label]
        exact = stats.binomtest(len(part), 400).proportion_ci(0.95, "exact")
        assert group.rows == len(part)
        assert group.share == pytest.approx((len(part) / 400, exact.low, exact.high))
        for name, mean in zip(("age", "pay"), group.means, strict=True):
            values = part[name].dropna()
            if values.empty:
                assert all(map(math.isnan, mean))
                continue
            ends = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
            assert mean == pytest.approx((values.mean(), *ends))
    assert [group.labels[0] for group in found.groups][-1] is None  # missing last


def test_bins_and_all_rows(safe):
    found = ll.estimate(safe.table, safe.codebook, by="age", bins={"age": "width:10"}, mean="pay")
    frame = safe.table
    sizes = frame.groupby(frame["age"] // 10).size()
    assert [group.rows for group in found.groups] == sizes.tolist()
    assert found.groups[0].labels == ("[10, 20)",)
    [group] = ll.estimate(safe.table, safe.codebook, mean="age").groups
    assert group.labels == ()
    assert group.share == (1, 1, 1)
    assert group.means[0].value == pytest.approx(frame["age"].mean())


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb"])
def test_files_say_the_same_as_the_frame(tmp_path, kind):
    people().to_parquet(tmp_path / "people.parquet")
    end = "duckdb?table=t" if kind == "duckdb" else kind
    target = str(tmp_path / f"safe.{end}")
    asked = {"sensitive": "ill", "released": RELEASED, "cells": 8, "criterion": ll.LIP(0.3)}
    made = ll.sanitize(str(tmp_path / "people.parquet"), **asked, target=target, seed=1)
    book = str(next(tmp_path.glob("*.codebook.json")))
    found = ll.estimate(target, book, by=["job", "age"], bins={"age": "20,30"}, mean="pay")
    here = ll.estimate(
        ll.sanitize(people(), **asked, seed=1).table,
        made.codebook,
        by=["job", "age"],
        bins={"age": "20,30"},
        mean="pay",
    )
    assert found.to_pandas()["job"].tolist() == here.to_pandas()["job"].tolist()
    assert [group.rows for group in found.groups] == [group.rows for group in here.groups]
    for one, other in zip(found.groups, here.groups, strict=True):
        assert one.means[0] == pytest.approx(other.means[0], nan_ok=True)
    ages = ll.estimate(target, book, by="age").groups
    assert [group.labels[0] for group in ages] == sorted(group.labels[0] for group in ages)


def test_each_row_is_published_once_on_the_average(safe):
    """Whatever the group is: its expected rows are its rows in the table."""
    joint, channel = safe.release.joint, safe.release.channel
    sizes = {label: int(n) for label, n in zip(joint.x_labels, joint.counts.sum(0), strict=True)}
    for y, label in enumerate(channel.y_labels):
        members, weights = channel.atom(y)
        come = sum(sizes[joint.x_labels[x]] * w for x, w in zip(members, weights, strict=True))
        times = Fraction(int(come), channel.denominator * sizes[label])
        assert abs(times - 1) < Fraction(1, 10**9)


def law_keeping_channel(cells, stay):
    """Rows stay in their cell with a chance, else take a cell by its size."""
    shares = np.bincount(cells) / len(cells)
    return Channel.from_probabilities(stay * np.eye(len(shares)) + (1 - stay) * shares[None, :])


@pytest.mark.parametrize("stay", [0.0, 0.6])
def test_intervals_cover_the_table(safe, stay):
    """Groups that cut through cells; 400 tables published by the same source."""
    rng = np.random.default_rng(7)
    rows, times = 300, 400
    x = rng.integers(0, 10, rows)
    cells, number = x // 2, rng.normal(x, 2.0)
    groups = np.stack([x % 3 == 0, (x == 4) & (number > 4), number > 12])
    shares = groups.mean(axis=1)
    mean = number[groups[0]].mean()
    channel = law_keeping_channel(cells, stay)
    covered, means = np.zeros(len(groups)), 0
    for seed in range(times):
        _, donors = published_for(channel, cells, np.arange(rows), seed)
        for k, group in enumerate(groups):
            inside = group[donors]
            values = number[donors][inside]
            numbers = ((len(values), values.mean(), values.var(ddof=1)),) if k == 0 else ()
            counted = [
                Counted((1,), int(inside.sum()), numbers),
                Counted((0,), int((~inside).sum())),
            ]
            found = group_estimate(["g"], ["number"] if k == 0 else [], counted, 0.9).groups[0]
            covered[k] += found.share.low <= shares[k] <= found.share.high
            if k == 0:
                means += found.means[0].low <= mean <= found.means[0].high
    # Three standard errors below the level: 0.9 - 3 * sqrt(0.09 / 400).
    assert (covered / times >= 0.855).all()
    assert means / times >= 0.855


def test_intervals_of_the_population_include_the_sampling():
    """A new sample is published each time; intervals of the table alone would miss too often."""
    rng = np.random.default_rng(8)
    rows, times, share = 200, 600, 0.3
    hits = np.zeros(2)
    for seed in range(times):
        x = (rng.random(rows) < share).astype(int) + 2 * rng.integers(0, 2, rows)
        cells = np.unique(x // 2, return_inverse=True)[1]
        _, donors = published_for(law_keeping_channel(cells, 0.0), cells, np.arange(rows), seed)
        inside = int((x[donors] % 2).sum())
        counted = [Counted((1,), inside), Counted((0,), rows - inside)]
        for k, is_population in enumerate((False, True)):
            found = group_estimate(["g"], [], counted, 0.9, is_population=is_population)
            interval = found.groups[0].share
            hits[k] += interval.low <= share <= interval.high
    assert hits[1] / times >= 0.9 - 3 * math.sqrt(0.09 / times)
    assert hits[0] / times < 0.85


def test_groups_without_a_row_are_bounded():
    found = group_estimate(["job"], [], [Counted(("a",), 100)])
    assert f"at most {1 - 0.025 ** (1 / 100):.2g}" in found.notes[1]
    assert "published from" in found.notes[0]
    population = group_estimate(["job"], [], [Counted(("a",), 100)], is_population=True)
    assert "sampling" in population.notes[0]
    one = group_estimate(["job"], ["age"], [Counted(("a",), 1, ((1, 7.0, 0.0),))])
    assert one.groups[0].means[0].value == 7
    assert math.isnan(one.groups[0].means[0].low)
    assert one.lines[0] == ("a", "1", "1.0000", "0.0250 to 1.0000", "7", "")


def test_marginals_of_totals_by_hand():
    totals = [
        Total(frozenset({0}), 0.2, 0.1, 0.3),
        Total(frozenset({0}), 0.1, 0.05, 0.15),
        Total(frozenset({1}), 0.4, 0.3, 0.5),
        Total(frozenset({1, 2}), 0.3, 0.2, 0.4),
    ]
    first, second, third = marginal([("a",), ("b",), ("c",)], totals)
    assert first.share == pytest.approx((0.3, 0.15, 0.45))
    assert math.isnan(second.share.value)
    assert second.share[1:] == pytest.approx((0.3, 0.85))
    assert third.share[1:] == pytest.approx((0.0, 0.4))


def test_values_have_groups_too():
    rng = np.random.default_rng(0)
    frame = people(20_000)[["job", "member", "ill"]]
    frame["job"] = frame["job"].fillna("none")
    frame["ill"] = rng.random(20_000) < 0.2 + 0.2 * (frame["job"] == "nurse")
    asked = {"sensitive": "ill", "released": ["job", "member"], "criterion": ll.LIP(0.3)}
    made = ll.sanitize(frame, **asked, seed=1, time_limit=10)
    found = ll.estimate(made.table, made.codebook, by="job", level=0.999)
    for group in found.groups:
        truth = float((frame["job"] == group.labels[0]).mean())
        assert group.share.low <= truth <= group.share.high
    assert len(found.groups) == 4
    with pytest.raises(InvalidInput, match="means, bins"):
        ll.estimate(made.table, made.codebook, mean="job")
    codes = ll.sanitize(frame, **asked, encoding="codes", seed=1, time_limit=10)
    with pytest.raises(InvalidInput, match="does not name the columns"):
        ll.estimate(codes.table, codes.codebook, by="job")


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({}, "published rows are estimated by groups"),
        ({"by": "ill"}, "one that was published"),
        ({"mean": "job"}, "must be of numbers"),
        ({"by": ["job", "job"]}, "twice"),
        ({"by": "job", "bins": {"age": "width:5"}}, "columns to group by"),
        ({"by": "age", "bins": {"age": "quantiles:4"}}, "declared"),
        ({"by": "job", "level": 1.0}, "level"),
        ({"population": True}, "go with by or mean"),
    ],
)
def test_refusals(safe, more, match):
    with pytest.raises(InvalidInput, match=match):
        ll.estimate(safe.table, safe.codebook, **more)


def test_tables_that_do_not_fit(safe, tmp_path):
    with pytest.raises(InvalidInput, match="must have the column"):
        ll.estimate(safe.table[["age"]], safe.codebook, by="job")
    broken = Codebook._rows("rows", safe.codebook.criterion, [{"kind": "text"}])
    with pytest.raises(InvalidInput, match="need a name"):
        ll.estimate(safe.table, broken, by="job")
    pd.DataFrame({"age": ["SECRET", "1"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InvalidInput) as found:
        ll.estimate(str(tmp_path / "t.csv"), safe.codebook, mean="age")
    assert "SECRET" not in str(found.value)


def test_command(safe, tmp_path):
    book, table = tmp_path / "book.json", tmp_path / "safe.parquet"
    safe.codebook.to_json(book)
    safe.table.to_parquet(table)

    def run(*args):
        found = CliRunner().invoke(app, ["estimate", str(table), str(book), *args])
        return found.exit_code, found.output

    code, text = run("--by", "job,member", "--mean", "pay")
    assert code == 0
    assert "mean pay" in text
    assert "includes the drawing" in text
    code, text = run(
        "--by", "age", "--bin", "age=width:10", "--mean", "pay", "--population", "--json"
    )
    data = json.loads(text)
    assert code == 0
    assert data["rows"] == sum(group["rows"] for group in data["groups"]) == 400
    assert {"age", "share", "share_low", "mean_pay", "mean_pay_high"} <= set(data["groups"][0])
    assert "sampling" in data["notes"][0]
    assert run()[0] != 0
    assert run("--population")[0] != 0


def test_shown(safe):
    found = ll.estimate(safe.table, safe.codebook, by="job", mean="age")
    frame = found.to_pandas()
    assert list(frame.columns[:5]) == ["job", "rows", "share", "share_low", "share_high"]
    assert len(frame) == len(found.groups)
    assert "includes the drawing" in found._repr_html_()
