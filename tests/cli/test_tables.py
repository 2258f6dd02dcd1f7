"""The table commands as a user runs them: exit codes, files, JSON, one line for what is wrong.

Most run `main` in this process; what is about processes (names on a real command line, signals,
a large table) runs in one of its own.
"""

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import lowlift as ll
from lowlift._cli.app import app
from lowlift.workflow import Asked, design
from people import (
    COUNTS,
    DISEASES,
    ROWS,
    WARDS,
    counted,
    names,
    read_csv,
    rows_of,
    sha256,
    write_csv,
    write_parquet,
    write_people,
)

COMMAND = [sys.executable, "-m", "lowlift._cli"]
ENVIRONMENT = os.environ | {"PYTHONWARNINGS": "error", "COLUMNS": "200", "NO_COLOR": "1"}
S_X = ("-s", "disease", "-x", "ward")
BOUND = ("--criterion", "lip", "--epsilon", "0.4")
MERGE = ("--mechanism", "subset-merging")


def process(*arguments, timeout=120, cwd=None):
    """Run a command in a process of its own."""
    found = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        cwd=cwd,
        env=ENVIRONMENT,
        check=False,
    )
    assert "Traceback" not in found.stdout + found.stderr
    return found


@pytest.fixture
def people(tmp_path):
    return write_people(tmp_path / "people.csv")


def refuse(word):
    raise AssertionError(word)


def data_of(ran):
    """The JSON that was printed: nothing else was, and it has no NaN or Infinity."""
    assert ran.err == ""
    return json.loads(ran.out, parse_constant=refuse)


def written(folder, *but):
    return [name for name in names(folder) if name not in ("people.csv", *but)]


# --- the whole path --------------------------------------------------------------------------


def test_step_by_step(lowlift, people, tmp_path):
    found = lowlift("audit", people, *S_X, *BOUND)
    assert (found.code, found.err) == (1, "")
    assert "DOES NOT HOLD" in found.out
    assert lowlift("audit", people, *S_X, "--criterion", "lip", "--epsilon", 5).code == 0
    found = lowlift("design", people, *S_X, *BOUND, "--public", "codebook.json")
    assert (found.code, found.err) == (0, "")
    assert "LIP(epsilon=0.4) holds" in found.out
    assert "NMI" in found.out
    assert "rows changed" in found.out
    assert "random-response" in found.out
    assert "population" in found.out
    assert written(tmp_path) == ["codebook.json", "release.json"]
    assert (tmp_path / "release.json").stat().st_mode & 0o777 == 0o600
    found = lowlift("apply", people, "release.json", "-o", "safe.parquet")
    assert (found.code, found.err) == (0, "")
    assert f"{ROWS:,} rows" in found.out
    assert lowlift("verify", "release.json").code == 0
    found = lowlift("verify", "release.json", "safe.parquet", "--against", people)
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith("Verified.\n")
    found = lowlift("estimate", "safe.parquet", "codebook.json")
    assert (found.code, found.err) == (0, "")
    for ward in WARDS:
        assert ward in found.out
    found = lowlift("show", "release.json")
    assert (found.code, found.err) == (0, "")
    assert "holds" in found.out
    assert pq.read_schema(tmp_path / "safe.parquet").names == ["code"]


AWKWARD = ('"; drop table t; --', "select", "ä ö", "a=b", "with space", "it's", "[bold]")


def test_awkward_names_missing_values_and_mixed_types(tmp_path):
    """200,000 rows through sanitize, verify and estimate, drawn by a key."""
    rng = np.random.default_rng(5)
    size = 200_000
    s = rng.integers(0, 3, size)
    text = np.where(rng.random(size) < 0.2, s, rng.integers(0, 3, size))
    number = rng.integers(-20, 20, size) + 3 * s
    rows = list(
        zip(
            (("yes", "no", "")[k] for k in s),
            (("SELECT 1; --", "", 'a "quoted", value')[k] for k in text),
            (("é", "日本", "'")[k] for k in rng.integers(0, 3, size)),
            ("" if k % 17 == 0 else int(k) for k in number),
            (f"id {k}" for k in range(size)),
            ("2020-02-29" for _ in range(size)),
            (("true", "false")[k] for k in rng.integers(0, 2, size)),
            strict=True,
        )
    )
    write_csv(tmp_path / "odd name's.csv", AWKWARD, rows)
    ages = {k: f"[{k // 20 * 20}, {k // 20 * 20 + 20})" for k in range(-40, 40)} | {"": ""}
    found = Counter((row[1], row[2], ages[row[3]], row[6]) for row in rows)
    shares = {symbol: amount / size for symbol, amount in found.items()}
    assert process("key", "new", "draws.key", cwd=tmp_path).returncode == 0
    found = process(
        *("sanitize", "odd name's.csv", "-s", AWKWARD[0]),
        *("-x", "select", "-x", "ä ö", "-x", "a=b", "-x", "[bold]"),
        *("--bin", "a=b=width:20", "--criterion", "alip", "--lower", 0.2, "--upper", 0.2),
        *("--mechanism", "subset-random-response", "--encoding", "values"),
        *("--id", "with space", "--key-file", "draws.key", "-o", "safe ü.csv"),
        cwd=tmp_path,
    )
    assert (found.returncode, found.stderr) == (0, "")
    head, drawn = read_csv(tmp_path / "safe ü.csv")
    assert head == ["select", "ä ö", "a=b", "[bold]"]
    assert len(drawn) == size
    assert {row[0] for row in drawn} == {"SELECT 1; --", "", 'a "quoted", value'}
    assert {row[2] for row in drawn} == {"", "[-20, 0)", "[0, 20)", "[20, 40)"}
    found = process(
        *("verify", "safe ü.release.json", "safe ü.csv", "--against", "odd name's.csv"),
        cwd=tmp_path,
    )
    assert (found.returncode, found.stderr) == (0, "")
    found = process(
        *("estimate", "safe ü.csv", "safe ü.codebook.json", "--json", "--level", 0.999999),
        cwd=tmp_path,
    )
    assert (found.returncode, found.stderr) == (0, "")
    values = json.loads(found.stdout)["x"]
    assert len(values) == len(shares) == 3 * 3 * 4 * 2
    for value in values:
        text, letter, age, flag = value["value"]
        share = shares[text or "", letter, age or "", str(flag).lower()]
        assert value["low"] <= share <= value["high"]


def test_labels_are_shown_as_they_are(lowlift, tmp_path):
    """Brackets are markup to the terminal library, and none of ours."""
    rows = [("[red]a[/red]", "[bold]u"), ("b", "[/]v")] * 9 + [("b", "[bold]u")]
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    found = lowlift("audit", table, "-s", "s", "-x", "x", *BOUND)
    assert (found.code, found.err) == (1, "")
    for label in ("[red]a[/red]", "[bold]u", "[/]v"):
        assert label in found.out
    assert lowlift("design", table, "-s", "s", "-x", "x", *BOUND, "-o", "r.json").code == 0
    assert "[bold]u" in lowlift("show", "r.json").out


def test_sanitize_says_what_it_wrote(lowlift, people, tmp_path):
    found = lowlift("sanitize", people, *S_X, *BOUND, *MERGE, "-o", "safe.csv")
    assert (found.code, found.err) == (0, "")
    assert written(tmp_path) == [
        *("safe.codebook.json", "safe.csv", "safe.receipt.json", "safe.release.json")
    ]
    for word in (
        "Verified.",
        "safe.release.json",
        "safe.codebook.json",
        "lowlift explain promise",
        "NMI",
    ):
        assert word in found.out
    receipt = json.loads((tmp_path / "safe.receipt.json").read_text())
    assert receipt["output_sha256"] == sha256(tmp_path / "safe.csv")
    assert receipt["source_sha256"] == sha256(people)
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in written(tmp_path)}
    assert modes["safe.release.json"] == modes["safe.receipt.json"] == 0o600
    mask = os.umask(0)
    os.umask(mask)
    assert modes["safe.csv"] == modes["safe.codebook.json"] == 0o666 & ~mask


def test_what_to_read_is_named_in_every_summary(lowlift, people):
    for arguments in (
        ("audit", people, *S_X, *BOUND),
        ("design", people, *S_X, *BOUND, *MERGE),
        ("apply", people, "release.json", "-o", "a.csv"),
        ("sanitize", people, *S_X, *BOUND, *MERGE, "-o", "b.csv"),
        ("audit", "release.json", "release.json"),
    ):
        assert "lowlift explain promise" in lowlift(*arguments).out, arguments


def test_codebooks_warn_of_small_counts_wherever_they_are_written(lowlift, tmp_path):
    rows = rows_of([[2, 50, 50], [2, 50, 50]], ("a", "b"), ("u", "v", "w"))
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    asked = (table, "-s", "s", "-x", "x", *BOUND)
    assert "fewer than 5 times" in lowlift("design", *asked, "--public", "c.json").out
    assert "fewer than 5 times" in lowlift("sanitize", *asked, "-o", "a.csv").out
    assert "fewer than 5 times" in str(
        data_of(lowlift("sanitize", *asked, "-o", "b.csv", "--json"))
    )
    lowlift("sanitize", *asked, "-o", "c.csv", "--round-to", 0.1)
    assert json.loads((tmp_path / "c.codebook.json").read_text())["round_to"] == 0.1


def test_edges_from_the_data_are_said(lowlift, tmp_path):
    table = write_csv(tmp_path / "t.csv", ("s", "n"), [("ab"[k % 2], k) for k in range(40)])
    asked = (table, "-s", "s", "-x", "n", *BOUND)
    for command in (("audit",), ("sanitize", "--force", "-o", "safe.csv")):
        assert "from the data" in lowlift(*command, *asked, "--bin", "n=quantiles:4").out
        assert "from the data" not in lowlift(*command, *asked, "--bin", "n=width:9").out


def test_what_a_sample_supports_is_said(lowlift, people, tmp_path):
    rows = rows_of([[3, 3, 2], [3, 0, 4]], ("a", "b"), ("u", "v", "w"))
    small = write_csv(tmp_path / "small.csv", ("s", "x"), rows)
    asked = (small, "-s", "s", "-x", "x", "--criterion", "max-lift", "--epsilon", 1)
    for command in (("audit",), ("design", "-o", "small.json")):
        found = lowlift(*command, *asked)
        assert found.code == 0
        assert "The bound is for this table: its rows are everybody." in found.out
        assert "too small to support the bound" in found.out
        assert "1 pair of a protected and a published value never occurs together" in found.out
    found = lowlift("audit", people, *S_X, "--criterion", "lip", "--epsilon", 4)
    assert "The bound is for this table: its rows are everybody." in found.out
    assert "too small" not in found.out
    assert "never occur" not in found.out


# --- JSON ------------------------------------------------------------------------------------


def test_json_is_json_and_has_the_verdict(lowlift, people):
    found = lowlift("audit", people, *S_X, *BOUND, "--json")
    assert found.code == 1
    data = data_of(found)
    assert (data["is_satisfied"], data["rows"], data["outputs"]) == (False, ROWS, 4)
    assert data["violations"] > 0
    assert data["sample"]["zero_cells"] == 0
    found = lowlift("design", people, *S_X, *BOUND, *MERGE, "--public", "c.json", "--json")
    data = data_of(found)
    assert found.code == 0
    assert data["published"]["is_satisfied"] is True
    assert (data["mechanism"], data["encoding"]) == ("subset-merging", "groups")
    assert (data["release"], data["codebook"]) == ("release.json", "c.json")
    data = data_of(lowlift("apply", people, "release.json", "-o", "a.csv", "--json"))
    assert (data["rows_out"], data["draws"]) == (ROWS, "fresh")
    found = lowlift("verify", "release.json", "a.csv", "--json")
    assert (found.code, data_of(found)["is_verified"]) == (0, True)
    data = data_of(lowlift("estimate", "a.csv", "c.json", "--json"))
    assert [value["value"] for value in data["x"]] == list(WARDS)
    totals = {tuple(total["values"]): total["total"] for total in data["totals"]}
    merged = [part for part in totals if len(part) > 1]
    assert merged
    for part in merged:
        sums = [sum(row[WARDS.index(ward)] for row in COUNTS) for ward in part]
        assert totals[part] == pytest.approx(sum(sums) / ROWS)
    assert data["notes"]
    data = data_of(lowlift("show", "release.json", "--json"))
    assert data["is_satisfied"] is True
    found = lowlift("audit", "release.json", "release.json", "--json")
    assert (found.code, data_of(found)["is_satisfied"]) == (0, True)
    found = lowlift("sanitize", people, *S_X, *BOUND, *MERGE, "-o", "b.csv", "--json")
    data = data_of(found)
    assert found.code == 0
    assert data["is_verified"] is data["design"]["published"]["is_satisfied"] is True
    assert data["receipt"]["rows_out"] == ROWS
    data = data_of(lowlift("key", "new", "k", "--json"))
    assert "k" in data.values()
    sweep = ("--epsilon", "1,2", *MERGE, "--json", "-o", "curve.csv")
    data = data_of(lowlift("tradeoff", people, *S_X, *sweep))
    assert [point["is_satisfied"] for point in data] == [True, True]


def test_json_without_finite_numbers(lowlift, tmp_path):
    """A zero lift, no bound, and a single-budget sweep: infinities and NaN become text."""
    rows = rows_of([[9, 0], [9, 9]], ("a", "b"), ("u", "v"))
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    asked = (table, "-s", "s", "-x", "x")
    free = ("--criterion", "alip", "--lower", "inf", "--upper", "inf")
    found = lowlift("audit", *asked, *free, "--json")
    data = data_of(found)
    assert (found.code, data["is_satisfied"], data["min_lift_leakage"]) == (0, True, "inf")
    data_of(lowlift("sanitize", *asked, *free, "-o", "a.csv", "--json"))
    data_of(lowlift("show", "a.release.json", "--json"))
    data_of(lowlift("verify", "a.release.json", "a.csv", "--json"))
    sweep = ("--criterion", "lip", "--epsilon", "1", *MERGE, "--json", "-o", "curve.csv")
    data_of(lowlift("tradeoff", *asked, *sweep))
    # A published table that the channel cannot explain has no intervals.
    rare = [("u",)] * 18 + [("v",)] * 9
    other = write_csv(tmp_path / "other.csv", ("x",), rare)
    data_of(lowlift("estimate", other, "a.codebook.json", "--json"))


# --- exit codes ------------------------------------------------------------------------------


def bad_inputs():
    both = ("audit", "people.csv", *S_X)
    yes = (*S_X, *BOUND)
    new = (*yes, "-o", "new.json")
    alip = ("--criterion", "alip")
    return [
        (("audit", "people.csv", *S_X), "--criterion"),
        ((*both, "--criterion", "lip"), "epsilon"),
        ((*both, "--criterion", "lift", "--epsilon", 1), "criterion must be one of"),
        ((*both, "--criterion", "lip", "--epsilon", "-1"), "0 or more"),
        ((*both, "--criterion", "lip", "--epsilon", "nan"), "0 or more"),
        ((*both, *alip, "--upper", 1), "alip needs a bound"),
        ((*both, *alip, "--lower", 1, "--upper", "nan"), "0 or more"),
        ((*both, *alip, "--epsilon", 1, "--upper", 1), "not both"),
        ((*both, "--criterion", "alpha", "--epsilon", 1), "alpha"),
        (("audit", "people.csv", "-x", "ward", *BOUND), "sensitive columns"),
        (("audit", "people.csv", "-s", "disease", *BOUND), "released columns"),
        (("audit", "people.csv", "-s", "ward", "-x", "ward", *BOUND), "'ward' is not"),
        (("audit", "people.csv", *S_X, "-x", "ward", *BOUND), "named once"),
        (("audit", "people.csv", "-s", "disease", "-x", "wards", *BOUND), "'ward'"),
        ((*both, *BOUND, "--bin", "age=width:5"), "'age' is neither"),
        ((*both, *BOUND, "--bin", "ward=each"), "columns of numbers or dates"),
        ((*both, *BOUND, "--bin", "ward=1,2", "--bin", "ward=3"), "twice"),
        ((*both, *BOUND, "--bin", "ward"), "COLUMN=BINS"),
        ((*both, *BOUND, "--bin", "ward=width:x"), "bins of 'ward' must be edges"),
        ((*both, *BOUND, "--missing", "ignore"), "missing must be one of"),
        ((*both, *BOUND, "--engine", "sqlite"), "engine"),
        (("audit", ".", *yes), "folder"),
        (("audit", "none.csv", *yes), "must exist"),
        (("audit", "none*.csv", *yes), "matches none"),
        (("audit", "https://host/people.csv", *yes), "local file"),
        (("audit", "s3://bucket/people.parquet", *yes), "local file"),
        (("audit", "people.csv", "people.csv", *yes), "one table"),
        (("audit", "release.json"), "two or more"),
        (("audit", "release.json", "none.json"), "none.json"),
        (("design", "people.csv", *new, "--mechanism", "best"), "mechanism must be one of"),
        (("design", "people.csv", *new, "--encoding", "text"), "encoding"),
        (("design", "people.csv", *new, "--time-limit", "-1"), "time_limit"),
        (("design", "people.csv", *new, "--public", "p.json", "--round-to", 2), "round_to"),
        (("design", "people.csv", *yes, "-o", "none/release.json"), "none"),
        (("design", "people.csv", *new, "--public", "none/p.json"), "none"),
        (("design", "people.csv", *yes, "-o", "p.json", "--public", "p.json"), "differ"),
        (("design", "people.csv", *yes, "-o", "people.csv", "--force"), "differ"),
        (("design", "people.csv", *yes, "-o", "/sys/release.json"), "release.json"),
        (("design", "people.csv", *yes, "-o", "."), ""),
        (("apply", "people.csv", "release.json", "-o", "none/safe.csv"), "none"),
        (("apply", "people.csv", "release.json", "-o", "/sys/safe.csv"), "safe.csv"),
        (("apply", "people.csv", "release.json", "-o", "safe.json"), ".parquet"),
        (("apply", "people.csv", "release.json", "-o", "people.csv", "--force"), "input"),
        (("apply", "people.csv", "none.json", "-o", "safe.csv"), "none.json"),
        (("apply", "people.csv", "people.csv", "-o", "safe.csv"), "no release"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--id", "pid"), "key"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--key-file", "no"), "no"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--seed", "-1"), "seed"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--unseen", "x"), "unseen"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--keep", "ward"), "'ward'"),
        (("apply", "people.csv", "release.json", "-o", "safe.csv", "--keep", "none"), "'none'"),
        (("sanitize", "people.csv", *yes, "-o", "safe"), ".parquet"),
        (("sanitize", "people.csv", *yes, "-o", "."), ""),
        (("sanitize", "people.csv", *S_X, "-o", "safe.csv"), "--criterion"),
        (("verify", "people.csv"), "no release"),
        (("verify", "release.json", "none.csv"), "must exist"),
        (("verify", "release.json", "--against", "none.csv"), "must exist"),
        (("estimate", "people.csv", "release.json"), "no codebook"),
        (("estimate", "people.csv", "people.csv"), "no codebook"),
        (("tradeoff", "people.csv", *S_X, "-o", "curve.pdf"), ".png"),
        (("tradeoff", "people.csv", *S_X, "-o", "none/curve.csv"), "none"),
        (("tradeoff", "people.csv", *S_X, "-o", "c.csv", "--epsilon", "1:0:1"), "epsilon"),
        (("tradeoff", "people.csv", *S_X, "-o", "c.csv", "--split", "x"), "split"),
        (("tradeoff", "people.csv", *S_X, "-o", "people.csv", "--force"), ""),
        (("show", "people.csv"), "no release"),
        (("show", "."), ""),
        (("key", "new", "none/k"), "k"),
        (("key", "new", "people.csv"), "never overwritten"),
        (("demo", "--out", "."), "empty folder"),
        (("demo", "--out", "people.csv"), "folder"),
        (("demo", "--out", "people.csv/demo"), ""),
    ]


def test_bad_input_is_one_line_and_writes_nothing(lowlift, people, tmp_path):
    made = design(people, Asked(("disease",), ("ward",)), ll.LIP(0.4), mechanism="subset-merging")
    made.release.to_json(tmp_path / "release.json")
    before = sha256(people)
    for arguments, word in bad_inputs():
        found = lowlift(*arguments)
        assert (found.code, found.out) == (2, ""), arguments
        assert found.err.startswith("lowlift: "), arguments
        assert found.err.count("\n") == 1, (arguments, found.err)
        assert word in found.err, (arguments, found.err)
        assert written(tmp_path) == ["release.json"], arguments
    assert sha256(people) == before


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "t.csv"),
        ("disease,ward\n", "must have rows"),
        ("disease,ward\na,u\nb,v,w\n" + "a,u\n" * 50, "line"),
    ],
)
def test_tables_that_cannot_be_read(lowlift, tmp_path, text, word):
    (tmp_path / "t.csv").write_text(text)
    found = lowlift("sanitize", "t.csv", *S_X, *BOUND, "-o", "safe.csv")
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert word in found.err
    assert names(tmp_path) == ["t.csv"]


def test_a_file_without_permission(lowlift, people, monkeypatch):
    from pathlib import Path

    opened = Path.open

    def forbidden(self, *arguments, **options):
        if self.name == "people.csv":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", forbidden)
    found = lowlift("audit", people, *S_X, *BOUND)
    assert (found.code, found.out) == (2, "")
    assert "readable" in found.err


@pytest.mark.parametrize("budget", [0, "inf", 1e-300, 1e308])
def test_budgets_at_the_ends(lowlift, people, budget):
    bound = ("--criterion", "lip", "--epsilon", budget)
    found = lowlift("audit", people, *S_X, *bound)
    assert found.code == (1 if float(budget) < 1 else 0)
    found = lowlift("sanitize", people, *S_X, *bound, "-o", "safe.csv", "--json")
    published = data_of(found)["design"]["published"]
    assert found.code == 0
    assert published["is_satisfied"] is True
    if float(budget) < 1:  # what is independent of the disease may still be published
        assert published["max_lift_leakage"] == pytest.approx(0, abs=1e-12)
        assert published["nmi"] < 0.5
    else:
        assert published["nmi"] == pytest.approx(1)


def test_one_row_and_one_value_are_fine(lowlift, tmp_path):
    for name, rows in (("row", [("a", "u")]), ("value", [("a", "u"), ("a", "v")] * 5)):
        table = write_csv(tmp_path / f"{name}.csv", ("s", "x"), rows)
        asked = (table, "-s", "s", "-x", "x", "--criterion", "lip", "--epsilon", 0)
        for command in (("audit",), ("sanitize", "-o", f"{name}.parquet")):
            found = lowlift(*command, *asked)
            assert (found.code, found.err) == (0, "")


def test_a_table_on_which_the_bound_fails_exits_1_and_writes_nothing(lowlift, people, tmp_path):
    assert lowlift("design", people, *S_X, *BOUND, *MERGE).code == 0
    write_people(tmp_path / "later.csv", [[90, 3, 3, 3], [3, 90, 3, 3], [3, 3, 3, 90]])
    found = lowlift("apply", "later.csv", "release.json", "-o", "safe.csv")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("lowlift: on this table the release does not satisfy LIP")
    assert found.err.count("\n") == 1
    assert written(tmp_path) == ["later.csv", "release.json"]


def test_a_false_release_exits_1(lowlift, people, tmp_path):
    joint = ll.Joint.from_counts(COUNTS, DISEASES, WARDS)
    made = design(people, Asked(("disease",), ("ward",)), ll.LIP(0.4), mechanism="subset-merging")
    bad = ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(0.4))
    bad.with_table(made.spec.to_dict()).to_json(tmp_path / "release.json")
    found = lowlift("apply", people, "release.json", "-o", "safe.csv")
    assert (found.code, found.out) == (1, "")
    assert written(tmp_path) == ["release.json"]
    assert lowlift("verify", "release.json").code == 1
    assert lowlift("verify", "release.json", "--against", people).code == 1
    found = lowlift("show", "release.json")
    assert "DOES NOT HOLD" in found.out


def test_kept_columns(lowlift, tmp_path):
    rows = [(s, x, s, "c") for s in "ab" for x in "uv" for _ in range(20)]
    table = write_csv(tmp_path / "t.csv", ("s", "x", "copy", "same"), rows)
    asked = (table, "-s", "s", "-x", "x", *BOUND)
    found = lowlift("sanitize", *asked, "--keep", "copy", "-o", "a.csv")
    assert (found.code, found.out) == (1, "")
    assert "--accept-uncovered" in found.err
    assert names(tmp_path) == ["t.csv"]
    found = lowlift("sanitize", *asked, "--keep", "same", "-o", "b.csv")
    assert found.code == 0
    assert "Outside" not in found.out
    assert read_csv(tmp_path / "b.csv")[0] == ["x", "same"]
    more = ("--accept-uncovered", "--keep-order", "-o", "c.csv")
    found = lowlift("sanitize", *asked, "--keep", "copy", *more)
    assert found.code == 0
    assert "Outside the guarantee: the kept columns" in found.out
    receipt = json.loads((tmp_path / "c.receipt.json").read_text())
    assert len(receipt["outside_the_guarantee"]) == 2
    assert read_csv(tmp_path / "c.csv")[1] == [(x, s) for s, x, *_ in rows]


def test_verify_exits_1_on_what_was_changed(lowlift, people, tmp_path):
    assert lowlift("sanitize", people, *S_X, *BOUND, *MERGE, "-o", "safe.csv").code == 0
    head, rows = read_csv(tmp_path / "safe.csv")
    for name, (columns, changed) in {
        "extra": ([*head, "s"], [(*row, "a") for row in rows]),
        "value": (head, [("SECRET123",), *rows[1:]]),
        "other": (head, [rows[0]] * ROWS),
    }.items():
        write_csv(tmp_path / f"{name}.csv", columns, changed)
        found = lowlift("verify", "safe.release.json", f"{name}.csv")
        assert (found.code, found.err) == (1, ""), name
        assert found.out.endswith("NOT verified.\n")
        assert "FAIL" in found.out
        assert "SECRET123" not in found.out
    write_csv(tmp_path / "safe.csv", head, rows[1:])
    assert lowlift("verify", "safe.release.json", "safe.csv").code == 1
    write_people(tmp_path / "t.csv", [[COUNTS[0][0] + 1, *COUNTS[0][1:]], *COUNTS[1:]])
    assert lowlift("verify", "safe.release.json", "--against", "t.csv").code == 1
    release = json.loads((tmp_path / "safe.release.json").read_text())
    release["joint"]["counts"][0][0] += 1
    (tmp_path / "safe.release.json").write_text(json.dumps(release))
    found = lowlift("verify", "safe.release.json")
    assert (found.code, found.out) == (2, "")
    assert "changed" in found.err


def test_releases_that_each_reveal_nothing_do_not_hold_together(tmp_path):
    """The counter-example of docs/threat-model.md, as files."""
    rows = rows_of([[1, 2, 3, 4], [4, 3, 2, 1]], ("a", "b"), ("x1", "x2", "x3", "x4"))
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    made = design(table, Asked(("s",), ("x",)), ll.LIP(0.0))
    columns, joint = made.spec.to_dict() | {"encoding": "codes"}, made.release.joint
    assert joint.x_labels == ("x1", "x2", "x3", "x4")
    for name, weights in (
        ("r1.json", [[1, 3], [0, 4], [3, 1], [0, 4]]),
        ("r2.json", [[1, 1], [0, 2], [0, 2], [1, 1]]),
    ):
        release = ll.Release.of(joint, ll.Channel(weights, joint.x_labels), ll.LIP(0.0))
        assert release.audit.is_satisfied
        release.with_table(columns).to_json(tmp_path / name)
    found = process("audit", "r1.json", "r2.json", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (1, "")
    assert "2 releases together: LIP(epsilon=0.0) DOES NOT HOLD" in found.stdout
    found = process("audit", "r1.json", "r1.json", cwd=tmp_path)
    assert found.returncode == 1  # drawn twice, it can be averaged


def test_usage_errors(lowlift, tmp_path):
    for arguments in ((), ("audit",), ("design", "t.csv"), ("apply", "a", "b"), ("none",)):
        found = lowlift(*arguments)
        assert found.code == 2, arguments
        assert "Usage: lowlift" in found.err + found.out
    found = lowlift("audit", "t.csv", *S_X, "--criterion", "lip", "--epsilon", "one")
    assert found.code == 2
    assert names(tmp_path) == []


# --- files -----------------------------------------------------------------------------------


def test_existing_outputs_need_force(lowlift, people, tmp_path):
    asked = (*S_X, *BOUND, *MERGE)
    for name, arguments in (
        ("release.json", ("design", people, *asked)),
        ("c.json", ("design", people, *asked, "--public", "c.json")),
        ("safe.csv", ("sanitize", people, *asked, "-o", "safe.csv")),
        ("safe.receipt.json", ("sanitize", people, *asked, "-o", "safe.csv")),
        ("safe.release.json", ("sanitize", people, *asked, "-o", "safe.csv")),
        ("safe.codebook.json", ("sanitize", people, *asked, "-o", "safe.csv")),
        ("curve.csv", ("tradeoff", people, *S_X, *MERGE, "--epsilon", 1, "-o", "curve.csv")),
    ):
        (tmp_path / name).write_text("precious")
        found = lowlift(*arguments)
        assert (found.code, found.out) == (2, ""), name
        assert "exist" in found.err
        assert "force" in found.err
        assert written(tmp_path) == [name], name
        assert (tmp_path / name).read_text() == "precious"
        assert lowlift(*arguments, "--force").code == 0
        assert (tmp_path / name).read_text() != "precious"
        for path in written(tmp_path):
            (tmp_path / path).unlink()


def test_keyed_draws_repeat(lowlift, people, tmp_path):
    assert lowlift("key", "new", "k").code == 0
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert len((tmp_path / "k").read_bytes()) == 32
    assert lowlift("key", "new", "l").code == lowlift("key", "new", "m").code == 0
    bound = ("--criterion", "lip", "--epsilon", 0.3, "--mechanism", "random-response")
    assert lowlift("design", people, *S_X, *bound).code == 0
    found = []
    for number, key in enumerate(("k", "k", "l", "m")):
        keyed = ("--id", "pid", "--key-file", key, "-o", f"{number}.csv")
        ran = lowlift("apply", people, "release.json", *keyed)
        assert (ran.code, ran.err) == (0, "")
        assert "keyed" in ran.out
        found.append(counted(tmp_path / f"{number}.csv", "code"))
    assert found[0] == found[1]
    assert found[2:] != [found[0]] * 2
    (tmp_path / "k").chmod(0o644)
    ran = lowlift("apply", people, "release.json", "--id", "pid", "--key-file", "k", "-o", "x.csv")
    assert (ran.code, ran.out) == (2, "")


def test_a_seed_is_not_for_publication(lowlift, people, tmp_path):
    found = lowlift("sanitize", people, *S_X, *BOUND, *MERGE, "-o", "safe.csv", "--seed", 3)
    assert found.code == 0
    assert "not for publication" in found.out
    assert "not for publication" in (tmp_path / "safe.receipt.json").read_text()
    found = lowlift("verify", "safe.release.json", "safe.csv", "--against", people)
    assert found.code == 0
    last = found.out.splitlines()[-1]
    assert last == "Verified, except: draws (seeded: not for publication)."


@pytest.mark.parametrize("options", [(), ("--keep", "k"), ("--keep-order",)])
def test_on_a_terminal_there_is_a_bar_and_a_rate(tmp_path, options):
    rows = [("ab"[k % 2], "uvw"[k % 3], "k") for k in range(30_000)]
    write_csv(tmp_path / "t.csv", ("s", "x", "k"), rows)
    ours, theirs = pty.openpty()
    shown = b""
    arguments = ["sanitize", "t.csv", "-s", "s", "-x", "x", *BOUND, "-o", "safe.csv", *options]
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        env=ENVIRONMENT | {"TERM": "xterm"},
    ) as running:
        os.close(theirs)
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1 << 16):
                shown += part
        os.close(ours)
        out, _ = running.communicate(timeout=60)
    assert b"Traceback" not in shown
    assert running.returncode == 0
    assert b"Verified." in out
    assert re.search(rb"of 30,000 rows", shown)
    assert b"/s" in shown


def test_many_symbols_are_refused_and_no_hang(tmp_path):
    """A column of 10**6 different values as X."""
    size = 1_000_000
    columns = {
        "s": pa.array(["a", "b", "c"]).take(pa.array(np.arange(size) % 3)),
        "x": pa.array(np.arange(size)).cast(pa.string()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = process(
        *("sanitize", "t.parquet", "-s", "s", "-x", "x", *BOUND, "-o", "safe.csv"),
        cwd=tmp_path,
        timeout=60,
    )
    assert (found.returncode, found.stdout) == (2, "")
    reason = (
        r"at most 500,000 combinations of values; they have about (9\d0,000|1,[01]00,000) \('x'"
    )
    assert re.search(reason, found.stderr)
    assert "Leave out the columns with the most values" in found.stderr
    assert "wider bins" in found.stderr
    assert found.stderr.count("\n") == 1
    assert names(tmp_path) == ["t.parquet"]


# --- other commands --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["curve.csv", "curve.svg", "curve.png"])
def test_tradeoff(lowlift, people, tmp_path, name):
    found = lowlift(
        *("tradeoff", people, *S_X, "--mechanism", "subset-merging,watchdog"),
        *("--epsilon", "0.5:1.5:0.5", "--split", "0.5,0.65", "-o", name),
    )
    assert (found.code, found.err) == (0, "")
    assert found.out.endswith(f"Wrote {name}.\n")
    assert len(re.findall(r"^ *(?:subset-merging|watchdog) ", found.out, re.MULTILINE)) == 12
    # The numbers are logs of lifts, and the heading says so.
    assert "leakage below  leakage above" in re.sub(r"(?<=\w)  +", "  ", found.out)
    assert (
        "Leakage in nats: minus the log of the smallest lift, the log of the largest." in found.out
    )
    assert "min-lift" not in found.out
    if name == "curve.csv":
        assert len(read_csv(tmp_path / name)[1]) == 12


def test_apply_tells_of_formulas_as_sanitize_does(lowlift, tmp_path):
    rows = [*["yes,=1+1"] * 9, *["no,=1+1"] * 10, *["yes,b"] * 10, *["no,b"] * 9]
    (tmp_path / "t.csv").write_text("\n".join(["s,x", *rows, ""]))
    asked = ("t.csv", "-s", "s", "-x", "x", "--criterion", "lip", "--epsilon", "1")
    made = lowlift("design", *asked, "--encoding", "values", "-o", "r.json")
    assert (made.code, made.err) == (0, "")
    applied = lowlift("apply", "t.csv", "r.json", "-o", "a.csv")
    assert "1 published value begins with =" in " ".join((applied.out + applied.err).split())
    data = data_of(lowlift("apply", "t.csv", "r.json", "-o", "b.csv", "--json"))
    assert ["spreadsheet" in line for line in data["warnings"]] == [True]
    plain = data_of(lowlift("apply", "t.csv", "r.json", "-o", "c.parquet", "--json"))
    assert plain["warnings"] == []


@pytest.fixture
def hard(tmp_path):
    """A table on which no search ends within a minute."""
    rng = np.random.default_rng(0)
    s, x = rng.integers(0, 50, 20_000), rng.integers(0, 50, 20_000)
    columns = {"s": [f"s{k}" for k in s], "x": [f"x{k}" for k in x]}
    return write_parquet(tmp_path / "hard.parquet", columns)


STOPPED = re.compile(
    r"The search stopped after 0\.1 s: NMI 0\.\d+, proven bound [01][.\d]*, gap 0\.\d+\. "
    r"More time may keep more: try --time-limit 1\."
)


def test_a_search_that_stopped_says_so_on_every_screen(lowlift, hard, tmp_path):
    asked = (hard, "-s", "s", "-x", "x", "--criterion", "lip", "--epsilon", "0.3")
    limit = ("--time-limit", "0.1")
    release, page = tmp_path / "r.json", tmp_path / "r.html"
    files = ("--out", release, "--report", page)
    ll.random_response(ll.Joint.random(3, 30, seed=0), ll.LIP(0.5), gap=1e-2)  # compile
    done = lowlift("design", *asked, *limit, *files)
    assert STOPPED.search(done.out)
    assert "The search stopped after 0.1 s" in page.read_text(encoding="utf-8")
    assert STOPPED.search(lowlift("show", release).out)
    shown = json.loads(lowlift("show", release, "--json").out)
    assert shown["stopped_after"] == 0.1
    assert shown["gap"] == pytest.approx(shown["upper_bound"] - shown["nmi"])
    assert STOPPED.search(shown["stopped_note"])
    made = lowlift("sanitize", *asked, *limit, "-o", tmp_path / "safe.csv")
    assert STOPPED.search(made.out)
    data = json.loads(lowlift("design", *asked, *limit, "--out", tmp_path / "2.json", "--json").out)
    assert data["stopped_after"] == 0.1
    assert STOPPED.search(data["stopped_note"])


def test_a_curve_says_how_many_searches_stopped(lowlift, hard, tmp_path):
    asked = (hard, "-s", "s", "-x", "x", "--criterion", "lip", "--epsilon", "0.3,0.4")
    limit = ("--time-limit", "0.1")
    ll.random_response(ll.Joint.random(3, 30, seed=0), ll.LIP(0.5), gap=1e-2)  # compile
    done = lowlift("tradeoff", *asked, *limit, "-o", tmp_path / "curve.csv")
    assert "2 of 2 searches stopped after 0.1 s. More time may keep more: try --time-limit 1." in (
        done.out
    )
    again = lowlift("tradeoff", *asked, *limit, "-o", tmp_path / "2.csv", "--json")
    assert [point["is_stopped"] for point in json.loads(again.out)] == [True, True]


def test_a_search_that_ends_by_itself_says_nothing_of_stopping(lowlift, people, tmp_path):
    done = lowlift("design", people, *S_X, *BOUND, "--out", tmp_path / "r.json")
    assert "stopped" not in done.out
    shown = json.loads(lowlift("show", tmp_path / "r.json", "--json").out)
    assert shown["stopped_after"] is None
    assert shown["stopped_note"] is None


def test_demo(tmp_path):
    found = process("demo", "--out", "here", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    for name in names(tmp_path / "here"):
        assert name in found.stdout
    assert len(names(tmp_path / "here")) == 5
    assert "Verified." in found.stdout
    assert "DOES NOT HOLD" in found.stdout  # as it is
    head, rows = read_csv(tmp_path / "here" / "titanic.csv")
    assert (head, len(rows)) == (["class", "sex", "age", "survived"], 2201)
    before = {name: sha256(tmp_path / "here" / name) for name in names(tmp_path / "here")}
    found = process("demo", "--out", "here", cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.count("\n") == 1
    after = {name: sha256(tmp_path / "here" / name) for name in names(tmp_path / "here")}
    assert after == before


def test_the_commands_that_the_demo_prints_do_what_the_demo_did(tmp_path):
    first = process("demo", "--out", "my folder", cwd=tmp_path)
    commands = [shlex.split(line)[2:] for line in re.findall(r"^\$ .*", first.stdout, re.MULTILINE)]
    for path in (tmp_path / "my folder").glob("safe.*"):
        path.unlink()
    again = [process(*command, cwd=tmp_path) for command in commands]
    assert [found.returncode for found in again] == [1, 0, 0]
    for line in again[0].stdout.splitlines():
        assert line in first.stdout  # the audit: nothing in it is drawn
    assert [line in first.stdout for line in again[1].stdout.splitlines()[:2]] == [True, True]


def test_every_option_has_help_with_an_example():
    group = typer.main.get_command(app)
    commands = {**group.commands, **group.commands["key"].commands}
    del commands["key"], commands["paper"]
    for name, command in commands.items():
        for option in command.params:
            assert option.help, (name, option.name)
            if option.param_type_name == "argument" or option.is_flag or option.name == "help":
                continue
            assert re.search(r"e\.g\.|[Ff]or example|\w\.csv|\w=|: --|\d,\d", option.help), (
                option.opts
            )


# --- no data value ---------------------------------------------------------------------------


def test_no_data_value_is_in_an_error(lowlift, tmp_path):
    secret = "SECRET123"
    rows = [(f"{secret}-{k}", f"{secret}-s{k % 2}", f"{secret}-x{k % 2}", k) for k in range(40)]
    table = write_csv(tmp_path / "t.csv", ("id", "s", "x", "n"), rows)
    gaps = [*rows, (f"{secret}-0", "", f"{secret}-x0", 1), ("", f"{secret}-s0", "", 1)]
    gaps = write_csv(tmp_path / "gaps.csv", ("id", "s", "x", "n"), gaps)
    flat = [(k, f"{secret}-s{k % 2}", f"{secret}-x{k // 2 % 2}") for k in range(40)]
    flat = write_csv(tmp_path / "flat.csv", ("id", "s", "x"), flat)
    wide = write_parquet(
        tmp_path / "wide.parquet",
        {"s": ["a", "b"] * 9, "x": [1.25e301 + 1e300 * k for k in range(18)]},
    )
    twice = [(secret, f"{secret}-x{k % 2}") for k in range(40)]
    twice = write_csv(tmp_path / "twice.csv", ("id", "x"), twice)
    (tmp_path / "broken.csv").write_text(f's,x\n{secret},a\n"{secret},b\n{secret},c,d,e\n')
    asked = ("-s", "s", "-x", "x", *BOUND)
    assert lowlift("design", flat, *asked, "--public", "codebook.json").code == 0
    assert lowlift("key", "new", "k").code == 0
    keyed = ("--id", "id", "--key-file", "k")
    before = names(tmp_path)
    for code, arguments in (
        (1, ("apply", table, "release.json", "-o", "safe.csv")),
        (1, ("apply", gaps, "release.json", "-o", "safe.csv", *keyed)),
        (1, ("apply", twice, "release.json", "-o", "safe.csv", *keyed)),
        (2, ("apply", twice, "release.json", "-o", "safe.csv", *keyed, "--accept-unchecked")),
        (1, ("apply", flat, "release.json", "-o", "safe.csv", "--keep", "id")),
        (2, ("audit", gaps, *asked, "--missing", "error")),
        (2, ("audit", gaps, *asked, "--missing", "drop", "--bin", "x=each")),
        (2, ("audit", table, "-s", "s", "-x", "n", *BOUND)),
        (2, ("audit", wide, *asked, "--bin", "x=quantiles:3")),
        (2, ("sanitize", "broken.csv", *asked, "-o", "safe.csv")),
        (1, ("sanitize", table, *asked, "-o", "safe.csv", "--keep", "id")),
        (1, ("verify", "release.json", "--against", table)),
        (1, ("verify", "release.json", table)),
    ):
        found = lowlift(*arguments)
        assert found.code == code, (arguments, found)
        assert secret not in found.err, arguments
        assert "e+30" not in found.err
        if arguments[0] != "audit":
            assert secret not in found.out
        assert names(tmp_path) == before


def test_counts_tell_what_left(lowlift, people, tmp_path):
    """Unseen values: refused with their number, or left out and counted."""
    assert lowlift("design", people, *S_X, *BOUND, *MERGE).code == 0
    rows = [(s, x) for s, x in rows_of(COUNTS, DISEASES, WARDS)] + [("cholera", "SECRET123")] * 3
    table = write_csv(tmp_path / "t.csv", ("disease", "ward"), rows)
    found = lowlift("apply", table, "release.json", "-o", "safe.csv")
    assert (found.code, found.out) == (2, "")
    assert "3 rows" in found.err
    assert "SECRET123" not in found.err
    found = lowlift("apply", table, "release.json", "-o", "safe.csv", "--unseen", "suppress")
    assert found.code == 0
    assert "3 unseen" in found.out
    assert Counter(counted(tmp_path / "safe.csv", "ward")).total() == ROWS


def test_a_table_without_s_is_published_only_on_request(lowlift, people, tmp_path):
    """Exit code 1, and no plain "Verified." once it was accepted."""
    assert lowlift("design", people, *S_X, *BOUND, *MERGE).code == 0
    head, rows = read_csv(people)
    bare = write_csv(tmp_path / "bare.csv", ("ward",), [(row[head.index("ward")],) for row in rows])
    found = lowlift("apply", bare, "release.json", "-o", "safe.csv")
    assert found.code == 1
    assert "cannot be checked here" in found.err
    assert not (tmp_path / "safe.csv").exists()
    found = lowlift("apply", bare, "release.json", "-o", "safe.csv", "--accept-unchecked")
    assert found.code == 0
    assert "not checked" in found.out
    found = lowlift("verify", "release.json", "safe.csv")
    assert (found.code, found.out.splitlines()[-1]) == (1, "NOT verified.")
    found = lowlift("verify", "release.json", "safe.csv", "--accept-unchecked")
    assert found.code == 0
    assert found.out.splitlines()[-1].startswith("Verified, except: check of the bound on")
    data = data_of(lowlift("verify", "release.json", "safe.csv", "--accept-unchecked", "--json"))
    assert (data["is_verified"], len(data["except"])) == (True, 1)


@pytest.mark.parametrize("encoding", ["codes", "groups", "values"])
def test_show_speaks_of_what_was_published(lowlift, people, tmp_path, encoding):
    asked = (*S_X, *BOUND, *MERGE, "--encoding", encoding, "-o", "safe.csv")
    made = data_of(lowlift("sanitize", people, *asked, "--json"))
    shown = data_of(lowlift("show", "safe.release.json", "--json"))
    receipt = json.loads((tmp_path / "safe.receipt.json").read_text())
    assert shown["nmi"] == receipt["nmi"] == made["design"]["published"]["nmi"]
    assert shown["encoding"] == receipt["encoding"] == encoding
    assert shown["fingerprint"] == receipt["release"]
    assert shown["share_changed"] == receipt["share_changed"]
    text = lowlift("show", "safe.release.json").out
    assert f"{receipt['nmi']:.4f}" in text
    assert re.search(rf"rows changed +{receipt['share_changed']:.1%}", text)
    head = {"codes": "code", "groups": "output", "values": "value"}[encoding]
    assert re.search(rf"^ *{head} +share", text, re.MULTILINE)
