"""A sensitive column of numbers: each of few values is a class, else bins are asked for."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

RNG = np.random.default_rng(3)


def table(values, rows=400):
    s = RNG.choice(values, rows)
    return pd.DataFrame({"s": s, "age": RNG.integers(20, 60, rows), "x": RNG.choice([*"ab"], rows)})


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0, 1], (0, 1)),
        (list(range(20)), tuple(range(20))),
        ([0.0, 1.0], ("[0, 1)", "[1, 2)")),
        ([0.0, 1.0, np.nan], ("[0, 1)", "[1, 2)", None)),
        ([0.5, 1.25, 7], ("< 1.25", "[1.25, 7)", ">= 7")),
    ],
)
def test_each_of_few_values_is_a_class(values, labels):
    given = table(values)
    safe = ll.sanitize(given, sensitive="s", criterion=ll.LIP.at_most(2))
    assert safe.release.joint.s_labels == labels
    assert sum("each of them is a class of S" in line for line in safe.design.notes) == 1
    assert safe.verification.is_ok
    assert list(safe.table.columns) == ["age", "x"]
    assert ll.read_joint(given, "s", "x").s_labels == labels
    symbols = ll.sanitize(given, sensitive="s", released="x", criterion=ll.LIP.at_most(2))
    assert symbols.release.joint.s_labels == labels
    assert any("each of them is a class of S" in line for line in symbols.design.notes)


def test_bins_that_were_declared_are_not_told_of():
    safe = ll.sanitize(
        table([0, 1, 2]), sensitive="s", criterion=ll.LIP.at_most(2), bins={"s": [1]}
    )
    assert safe.release.joint.s_labels == ("< 1", ">= 1")
    assert safe.design.notes == ()


@pytest.mark.parametrize("values", [np.arange(21), np.arange(21) / 2])
def test_many_values_need_bins(values):
    given = table(values)
    with pytest.raises(InvalidInput, match=r"'s' is numeric .* must have declared bins"):
        ll.sanitize(given, sensitive="s", criterion=ll.LIP.at_most(2))
    with pytest.raises(InvalidInput, match="must have declared bins"):
        ll.read_joint(given, "s", "x")


def test_real_zeros_and_ones_of_a_survey(lowlift, tmp_path):
    """As `lowlift sanitize loanapp.csv -s approve`."""
    rows = table([0, 1], 900)
    rows.rename(columns={"s": "approve"}).to_csv(tmp_path / "loans.csv", index=False)
    made = lowlift("sanitize", "loans.csv", "-s", "approve", "--at-most", "2", "-o", "safe.csv")
    assert made.code == 0, made.err
    assert "'approve' holds numbers and has few values: each of them is a class" in made.out
    assert made.out.count("class of S") == 1
    found = lowlift("audit", "loans.csv", "-s", "approve", "-x", "x", "--at-most", "9")
    assert found.code == 0, found.err
    assert "each of them is a class of S" in found.out
    refused = lowlift("sanitize", "loans.csv", "-s", "age", "--at-most", "2", "-o", "other.csv")
    assert refused.code == 2
    assert "--bin age=" in refused.err
