"""What the analyst gets of published rows: against brute force, from frames and files."""

import json
import re
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import lowlift as ll
from lowlift._cells.utility import compare
from lowlift._cli.app import app
from lowlift._release import Release
from lowlift.errors import InvalidInput
from lowlift.report import page
from lowlift.workflow import report_of
from lowlift.workflow.utility import published_for

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")
RELEASED = ["age", "job", "pay"]


def people(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 60, rows), rng.choice(["nurse", "smith", "clerk"], rows)
    pay = np.round(1000 + 40 * age + rng.normal(0, 300, rows), 1)
    ill = rng.random(rows) < 0.1 + 0.5 * (age > 40) + 0.2 * (job == "nurse")
    frame = pd.DataFrame({"age": age, "job": job, "pay": pay, "ill": np.where(ill, "yes", "no")})
    frame.loc[rng.random(rows) < 0.05, "job"] = None
    frame.loc[rng.random(rows) < 0.05, "pay"] = None
    return frame


def sanitized(table, **more):
    asked = {"sensitive": "ill", "released": RELEASED, "cells": 8, "criterion": ll.LIP(0.3)}
    return ll.sanitize(table, **asked, **more)


@pytest.fixture(scope="module")
def source():
    return people()


@pytest.fixture(scope="module")
def safe(source):
    return sanitized(source, seed=3)


def rows_of(frame):
    plain = frame[RELEASED].astype(object).where(frame[RELEASED].notna(), None)
    return [tuple(row) for row in plain.itertuples(index=False)]


def test_distances_and_unique_rows_by_brute_force(source, safe):
    found = safe.utility()
    for name in ("job",):
        before, after = (Counter(row[1] for row in rows_of(t)) for t in (source, safe.table))
        differ = sum(abs(before[v] - after[v]) for v in {*before, *after}) / len(source) / 2
        [column] = [column for column in found.columns if column.name == name]
        assert column.distance == pytest.approx(differ, abs=1e-12)
    before, after = Counter(rows_of(source)), Counter(rows_of(safe.table))
    assert found.unique_before == sum(n == 1 for n in before.values())
    assert found.unique_after == sum(n == 1 for n in after.values())
    assert found.smallest_before == min(before.values())
    assert found.smallest_after == min(after.values())
    assert found.unique_rows_published == sum(n for row, n in after.items() if before[row] == 1)
    assert (found.rows_before, found.rows_after) == (600, 600)


def test_two_way_tables_and_correlations_by_brute_force():
    before = {"a": np.array(list("xxyy"), object), "b": np.array(list("uvuv"), object)}
    after = {"a": np.array(list("xxxy"), object), "b": np.array(list("uuuv"), object)}
    found = compare(before, after)
    assert found.pairs_worst == 0.5  # (x, u): 1/4 and 3/4; (x, v), (y, u): 1/4 and 0
    assert found.cell_worst == 0.5
    assert found.worst_pair == ("a", "b")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    found = compare({"x": x, "y": y}, {"x": x, "y": x})
    assert found.correlation_worst == pytest.approx(1 - np.corrcoef(x, y)[0, 1])


def expected_changes(source, release):
    """The exact expectation over rows, cells and donors."""
    tree = release.origin.cells.bins.tree
    names = tree.columns
    records = [dict(zip(RELEASED, row, strict=True)) for row in rows_of(source)]
    cells = [tree.cell_of(record) for record in records]
    members = {c: [r for r, cell in zip(records, cells, strict=True) if cell == c] for c in cells}
    place = {label: x for x, label in enumerate(release.joint.x_labels)}
    p = release.channel.p_y_given_x
    ranks = source["age"].rank(method="average") / len(source)
    changed, moved = dict.fromkeys(names, 0.0), 0.0
    rank = dict(zip(source["age"], ranks, strict=True))
    for record, cell in zip(records, cells, strict=True):
        for y, d in enumerate(release.channel.y_labels):
            weight = p[place[cell], y]
            if not weight:
                continue
            for name in names:
                differ = np.mean([other[name] != record[name] for other in members[d]])
                changed[name] += weight * differ / len(records)
            apart = np.mean([abs(rank[o["age"]] - rank[record["age"]]) for o in members[d]])
            moved += weight * apart / len(records)
    return changed, moved


def test_what_becomes_of_a_row_is_what_publishing_does_on_the_average():
    source = people(150, 1)
    safe = sanitized(source, seed=1)
    changed, moved = expected_changes(source, safe.release)
    found = {column.name: column for column in safe.utility().columns}
    for name in RELEASED:  # 50,000 pairs of 150 rows: four standard errors
        assert found[name].changed == pytest.approx(changed[name], abs=0.01)
    assert found["age"].moved == pytest.approx(moved, abs=0.01)
    assert found["job"].moved == found["job"].changed
    assert found["age"].moved < found["age"].moved_at_random


def test_a_row_is_published_from_the_cell_that_was_drawn(safe, source):
    tree = safe.release.origin.cells.bins.tree
    records = [dict(zip(RELEASED, row, strict=True)) for row in rows_of(source)]
    place = {label: x for x, label in enumerate(safe.release.joint.x_labels)}
    x = np.array([place[tree.cell_of(record)] for record in records])
    rows, donors = published_for(safe.release.channel, x, np.arange(len(x)), seed=5)
    assert list(rows) == list(range(len(x)))
    p = safe.release.channel.p_y_given_x
    outputs = {label: y for y, label in enumerate(safe.release.channel.y_labels)}
    labels = safe.release.joint.x_labels
    assert all(p[x[r], outputs[labels[x[d]]]] > 0 for r, d in zip(rows, donors, strict=True))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_written_table_says_the_same_as_its_frame(tmp_path, source, kind):
    path = tmp_path / f"people.{kind}"
    getattr(source, f"to_{kind}")(path, index=False)
    target = str(tmp_path / f"safe.{kind}")
    made = sanitized(str(path), target=target, seed=3)
    read = pd.read_csv(target) if kind == "csv" else pd.read_parquet(target)
    from_files, from_frames = made.utility(), ll.compare(source, read, RELEASED)
    for one, other in zip(from_files.columns, from_frames.columns, strict=True):
        assert (one.name, one.distance) == (other.name, pytest.approx(other.distance, abs=1e-12))
    assert from_files.unique_rows_published == from_frames.unique_rows_published
    assert from_files.pairs_worst == pytest.approx(from_frames.pairs_worst, abs=1e-12)


def test_texts_that_look_like_numbers_stay_texts(tmp_path):
    frame = pd.DataFrame({"zip": ["001", "1", "002", "2"] * 5})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = ll.compare(str(tmp_path / "t.parquet"), str(tmp_path / "t.csv"))
    assert found.columns[0].distance == 0
    assert found.smallest_after == 5


def test_a_column_that_was_recoded_is_compared_as_texts():
    source = pd.DataFrame({"age": [21, 22, 31, 32]})
    found = ll.compare(source, pd.DataFrame({"age": ["20-29", "20-29", "30-39", "30-39"]}))
    assert found.columns[0].distance == 1


def test_shown_and_as_a_frame(safe):
    found = safe.utility()
    frame = found.to_pandas()
    assert list(frame.index) == RELEASED
    assert frame.loc["job", "changed"] == found.columns[1].changed
    for text in (str(found), found._repr_html_()):
        assert "Confidential" in text
        assert "Re-identification is another promise" in text
        assert "Equal to a row that is unique in the source" in text


def test_an_attacker_learns_less_from_published_rows(source):
    pytest.importorskip("sklearn")
    source = people(4000, 2)
    made = sanitized(source, seed=1)
    found = made.utility(attack=True, task="pay")
    right, area, task = found.scores
    assert right.name == "Guess of S, learnt from 2,000 rows"
    assert re.search(r"learnt from 1,\d{3} rows$", task.name)  # some have no pay
    assert right.base == pytest.approx(source["ill"].value_counts(normalize=True).max(), abs=0.03)
    assert area.raw > area.published + 0.05
    assert right.raw > right.published
    assert task.raw > 0.3
    assert task.published > 0.3
    assert ll.compare(source, made.table, release=made.release, attack=True).scores == (right, area)


def test_refusals(tmp_path, source, safe):
    with pytest.raises(InvalidInput, match="release that publishes rows"):
        ll.compare(source, safe.table, attack=True)
    with pytest.raises(InvalidInput, match="Did you mean"):
        ll.compare(source, safe.table, ["agee"])
    with pytest.raises(InvalidInput, match="task must be"):
        safe.utility(task="ill")
    source.to_csv(tmp_path / "people.csv", index=False)
    made = sanitized(str(tmp_path / "people.csv"), target=str(tmp_path / "safe.csv"))
    source.head(300).to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(InvalidInput, match="its digest is another"):
        made.utility()
    values = ll.sanitize(source, sensitive="ill", released="job", criterion=ll.LIP(0.5))
    with pytest.raises(InvalidInput, match="publishes values"):
        values.utility()


def test_more_rows_than_are_read_are_a_sample():
    numbers = duckdb.sql("select i % 977 as a, i % 13 as b from range(120000) t(i)")
    found = ll.compare(numbers, duckdb.sql("select i % 977 as a, i % 13 as b from range(9) t(i)"))
    assert found.is_sample
    assert found.rows_before == 100_000
    assert "sample of both" in str(found)


def test_samples_of_other_types_are_compared_as_samples(tmp_path):
    """The rows that are read are chosen by a hash, which a number and its text do not share."""
    path = tmp_path / "t.parquet"
    duckdb.sql("select i // 2 as a, hash(i) % 20 as b from range(240000) t(i)").write_parquet(
        str(path)
    )
    duckdb.read_parquet(str(path)).write_csv(str(tmp_path / "t.csv"))
    same = ll.compare(str(path), str(path))
    assert same.columns_mean == same.pairs_mean == 0
    assert same.unique_rows_published == same.unique_after
    other = ll.compare(str(path), str(tmp_path / "t.csv"))
    assert other.unique_rows_published is None
    assert "Equal to" not in str(other)
    assert 0 < other.columns_mean < 2 * other.bootstrap_columns


def test_the_report_has_it_and_the_public_form_has_not(safe):
    made = report_of(safe)
    assert made.analysis == safe.utility()
    full, public = page(made), page(made, is_public=True)
    for text in ("What the analyst gets", "Unique rows before", "distance of its table"):
        assert text in full
        assert text not in public
    assert "Recognising people: not promised" in full
    assert "Re-identification" in public
    assert "Chance alone gives" in full
    for text in ("The channel", "What of X survives", "Information kept", "bootstrap"):
        assert text not in public  # which cells mix, and how much, is made with S
    assert re.search(r"\b(age|pay) (up to|above) ", full)  # a cell in words
    assert not re.search(r"\d+: (age|job|pay) ", public)


def run(*args):
    found = CliRunner().invoke(app, list(map(str, args)))
    return found.exit_code, found.output


def test_commands(tmp_path, source):
    table, target = tmp_path / "people.csv", tmp_path / "safe.csv"
    source.to_csv(table, index=False)
    made = sanitized(str(table), target=str(target), seed=3)
    release = tmp_path / "safe.release.json"
    code, text = run("utility", table, target)
    assert code == 0
    assert "Unique rows" in text
    assert "rows changed" not in text
    code, text = run("utility", table, target, "--release", release, "--json")
    data = json.loads(text)
    assert code == 0
    assert data["columns"][1]["changed"] == made.utility().columns[1].changed
    assert data["worst_pair"] == list(made.utility().worst_pair)
    out = tmp_path / "report.html"
    pair = ("--source", table, "--published", target)
    assert run("report", release, "-o", out, *pair)[0] == 0
    assert "Unique rows before" in out.read_text()
    assert run("report", release, "-o", out, "--force")[0] == 0
    assert "was not compared with its source" in out.read_text()
    code, _ = run("report", release, "-o", tmp_path / "r2.html", "--source", table)
    assert code != 0
    assert Release.from_json(release).origin.cells is not None
