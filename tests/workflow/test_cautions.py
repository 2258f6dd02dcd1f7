"""Warnings from the counts: X determines S, a column is an identifier."""

import json

import pandas as pd
import pytest

import lowlift as ll
from lowlift import LIP, Joint
from lowlift._cli import main
from lowlift.tables import Column
from lowlift.workflow import Asked, audit_table, design
from lowlift.workflow.cautions import cautions

S, X = [Column("sick", "text")], [Column("ward", "text")]


def test_x_that_determines_s_is_told():
    joint = Joint.from_counts([[3, 0, 2], [0, 4, 0]])
    (told,) = cautions(joint, S, X)
    assert told == (
        "'ward' determines 'sick': every value comes with one value of 'sick' only, so that "
        "publishing it as it is reveals 'sick'."
    )


@pytest.mark.filterwarnings("ignore:S takes one value")
@pytest.mark.parametrize("counts", [[[3, 0, 2], [1, 4, 0]], [[3, 1, 2]]])
def test_x_that_does_not_is_not(counts):
    assert cautions(Joint.from_counts(counts, s_labels=range(len(counts))), S, X) == ()


@pytest.mark.parametrize(
    ("values", "rows", "is_told"), [(91, 99, True), (90, 100, False), (50, 50, False)]
)
def test_a_column_that_is_nearly_unique_is_told(values, rows, is_told):
    first = [rows - values + 1] + [1] * (values - 1)
    joint = Joint.from_counts([first, [1] + [0] * (values - 1)])
    found = cautions(joint, S, X)
    assert any("nearly unique (91 values in 100 rows)" in line for line in found) == is_told


def test_columns_that_are_unique_together_are_told():
    labels = [(a, b) for a in range(8) for b in range(8)]
    joint = Joint.from_counts([[1] * 32 + [0] * 32, [0] * 32 + [1] * 32], x_labels=labels)
    (both,) = (line for line in cautions(joint, S, [*X, Column("age", "text")]) if "unique" in line)
    assert both.startswith("'ward', 'age' together are nearly unique (64 combinations in 64 rows)")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sick,name\n" + "".join(f"{'yn'[n % 2]},p{n}x\n" for n in range(60)))
    return path


@pytest.mark.parametrize("command", ["audit", "design", "sanitize"])
@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
def test_every_screen_says_so(table, tmp_path, monkeypatch, capsys, command, is_json):
    monkeypatch.chdir(tmp_path)
    out = {"audit": [], "design": ["--out", "r.json"], "sanitize": ["-o", "safe.csv"]}[command]
    bound = ["--criterion", "lip", "--epsilon", "0.5", *(["--json"] if is_json else [])]
    arguments = ["lowlift", command, str(table), "-s", "sick", "-x", "name", *bound, *out]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    lines = json.loads(shown)["warnings"] if is_json else shown.splitlines()
    for words in ("nearly unique (60 values in 60 rows)", "'name' determines 'sick'"):
        assert sum(words in line for line in lines) == 1


def test_a_design_has_them(table):
    made = design(str(table), Asked(("sick",), ("name",), {}, "value"), LIP(0.5))
    assert len(made.warnings) == 2


def test_bins_that_the_rows_cut_make_a_confidence_approximate():
    frame = pd.DataFrame({"ill": [k % 3 == 0 for k in range(600)], "age": range(600)})
    for bound, bins, is_warned in (
        (ll.Population(ll.LIP(0.9)), "quantiles:3", True),
        (ll.Population(ll.LIP(0.9)), "0,200,400", False),
        (ll.LIP(0.9), "quantiles:3", False),
    ):
        schema = ll.Schema(("ill",), ("age",), bins={"age": bins})
        found = audit_table(frame, schema, bound).warnings
        assert any("the confidence is approximate" in line for line in found) is is_warned
