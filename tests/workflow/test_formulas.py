"""Cells that a spreadsheet would run are escaped on request, and told of otherwise."""

import csv
from pathlib import Path

import pytest

from lowlift import LIP, LowliftWarning
from lowlift.tables import OutputColumn
from lowlift.tables.formulas import escaped, formula_warnings
from lowlift.workflow import Asked, Options, apply, design, estimate_table, sanitize, verify

VALUES = ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "plain"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["s", "x"])
        for k, value in enumerate(VALUES):
            rows.writerows([["yes", value]] * (20 + k) + [["no", value]] * (24 - k))
    return str(path)


@pytest.mark.parametrize("encoding", ["values", "groups"])
def test_escaped_cells_are_verified_and_estimated(table, tmp_path, encoding):
    target = str(tmp_path / "safe.csv")
    asked = Asked(("s",), ("x",), {}, "value", escape_formulas=True)
    mechanism = "subset-merging" if encoding == "groups" else "auto"
    criterion = LIP(2.0)
    made = sanitize(
        table, asked, criterion, target, Options(seed=1), encoding=encoding, mechanism=mechanism
    )
    assert made.verification.is_ok
    assert not any("spreadsheet" in line for line in made.warnings)
    with Path(target).open(newline="") as file:
        cells = [row["x"] for row in csv.DictReader(file)]
    assert len(cells) == 44 * len(VALUES)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells)
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert any(cell.startswith("''=cmd") for cell in cells)
    release, codebook = (str(made.files[name]) for name in ("release", "codebook"))
    assert verify(release, against=table, published=target).is_ok
    found = estimate_table(target, codebook)
    assert found.rows == len(cells)
    assert set(found.codebook.x_labels) == set(VALUES)


def test_cells_that_are_not_escaped_are_told(table, tmp_path):
    asked = Asked(("s",), ("x",), {}, "value")
    target = str(tmp_path / "safe.csv")
    made = sanitize(table, asked, LIP(2.0), target, Options(seed=1), encoding="values")
    (told,) = (line for line in made.warnings if "spreadsheet" in line)
    assert told.startswith("5 published values begin with =")
    column = OutputColumn("x", "text", ("=1",))
    assert formula_warnings([column], "safe.parquet") == ()
    assert formula_warnings([column], "postgresql://h/d?table=t.csv") == ()


def test_apply_warns_of_them_before_it_writes(table, tmp_path):
    made = design(table, Asked(("s",), ("x",), {}, "value"), LIP(2.0), encoding="values")
    target = tmp_path / "safe.csv"
    with pytest.raises(LowliftWarning, match="spreadsheet"):  # warnings are errors in tests
        apply(table, made.release, str(target))
    assert not target.exists()
    with pytest.warns(LowliftWarning, match="^5 published values begin with =") as told:
        apply(table, made.release, str(target))
    assert told[0].filename == __file__
    assert target.exists()
    apply(table, made.release, str(tmp_path / "other.parquet"))


def test_no_two_texts_become_one_and_numbers_stay():
    texts = ("=a", "'=a", "''=a", "'a", "a", "", None)
    assert len(set(escaped(OutputColumn("x", "text", texts)).texts)) == len(texts)
    number = OutputColumn("n", "integer", ("-1", "2"))
    assert escaped(number) is number


def test_rows_that_a_spreadsheet_would_run_are_told(table, tmp_path):
    asked = Asked(("s",), ("x",), cells=4, min_rows=5)
    told = []
    target, options = str(tmp_path / "safe.csv"), Options(seed=1)
    made = sanitize(table, asked, LIP(2.0), target, options, warn=told.append)
    lines = [line for line in told if "spreadsheet" in line]
    assert lines == [line for line in made.warnings if "spreadsheet" in line]
    assert lines[0].startswith("220 values of the rows to publish begin with =")
    assert "Parquet" in lines[0]
    quiet = sanitize(table, asked, LIP(2.0), str(tmp_path / "quiet.parquet"), Options(seed=1))
    assert not any("spreadsheet" in line for line in quiet.warnings)
    with pytest.warns(LowliftWarning, match="^220 values of the rows"):
        apply(table, made.release, str(tmp_path / "again.csv"))
