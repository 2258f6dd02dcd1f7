"""Tables that rows cannot be published from, or hardly: one sentence with a fix, or a result."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput

RNG = np.random.default_rng(5)
BOUND = ll.LIP.at_most(2)


def people(rows=200):
    return pd.DataFrame(
        {
            "s": RNG.permutation(np.resize(["yes", "no"], rows)),
            "age": RNG.integers(20, 60, rows),
            "job": RNG.choice(["nurse", "clerk", "smith"], rows),
        }
    )


REFUSED = {
    "absent": (people(), "t", "Did you mean|The first are"),
    "all missing": (
        people().assign(s=pd.array([None] * 200, "string")),
        "s",
        "'s' has none in any row",
    ),
    "all missing numbers": (people().assign(s=np.nan), "s", "'s' has none in any row"),
    "one column": (people()[["s"]], "s", "there is nothing to publish. Add the columns"),
    "no rows": (people()[:0], "s", "must have rows"),
    "identifiers only": (
        pd.DataFrame({"s": ["yes", "no"] * 50, "t": [f"t{k}" for k in range(100)]}),
        "s",
        "Name the columns to release",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_published_is_refused_in_one_sentence(name, lowlift, tmp_path):
    frame, sensitive, words = REFUSED[name]
    with pytest.raises(InvalidInput, match=words):
        ll.sanitize(frame, sensitive=sensitive, criterion=BOUND)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = lowlift("sanitize", "t.csv", "-s", sensitive, "--at-most", "2", "-o", "safe.csv")
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert not (tmp_path / "safe.csv").exists()


def test_a_sensitive_column_is_not_published(lowlift, tmp_path):
    with pytest.raises(InvalidInput, match="either sensitive or released"):
        ll.sanitize(people(), sensitive="s", released=["age", "s"], criterion=BOUND)
    people().to_csv(tmp_path / "t.csv", index=False)
    columns = ("-s", "s", "-x", "s", "-x", "age")
    found = lowlift("sanitize", "t.csv", *columns, "--at-most", "2", "-o", "safe.csv")
    assert (found.code, found.err.count("\n")) == (2, 1)


EQUAL = people()
EQUAL[["age", "job"]] = [30, "nurse"]
HARDLY = {
    "three rows": (people(3), BOUND, "all rows are in one cell"),
    "two rows": (people(2), BOUND, "all rows are in one cell"),
    "one row": (people(1), BOUND, "all rows are in one cell"),
    "all rows equal": (EQUAL, BOUND, "all rows are in one cell"),
    "no budget": (people(), ll.LIP.at_most(1), "allows no more"),
}


@pytest.mark.parametrize("name", HARDLY)
def test_the_law_of_the_table_is_published_where_nothing_more_can_be(name, lowlift, tmp_path):
    frame, bound, why = HARDLY[name]
    with pytest.warns(
        ll.LowliftWarning, match=f"tells nothing of the row that it replaces: .*{why}"
    ):
        safe = ll.sanitize(frame, sensitive="s", criterion=bound)
    assert safe.verification.is_ok
    assert len(safe.table) == len(frame)
    assert set(safe.table["job"]) <= set(frame["job"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    factor = "1" if bound.epsilon == 0 else "2"
    found = lowlift("sanitize", "t.csv", "-s", "s", "--at-most", factor, "-o", "safe.csv")
    assert found.code == 0, found.err
    assert "a published row tells nothing of the row that it replaces" in found.out
    assert len((tmp_path / "safe.csv").read_text().splitlines()) == len(frame) + 1


def test_one_value_of_the_sensitive_column_is_told():
    safe = ll.sanitize(people().assign(s="no"), sensitive="s", criterion=BOUND)
    assert safe.design.notes == ("S has one value only, so that nothing can be learnt of it.",)


def test_a_table_of_very_many_columns_is_refused_unless_some_are_named(lowlift, tmp_path):
    wide = pd.DataFrame(RNG.integers(0, 3, (60, 10_000))).add_prefix("c")
    wide["s"] = np.resize(["yes", "no"], 60)
    wide.to_csv(tmp_path / "t.csv", index=False)
    found = lowlift("sanitize", "t.csv", "-s", "s", "--at-most", "2", "-o", "safe.csv")
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert "at most 1,000 columns" in found.err
    assert "name the columns to publish" in found.err
    named = ("-s", "s", "-x", "c0", "-x", "c9999")
    found = lowlift("sanitize", "t.csv", *named, "--at-most", "2", "-o", "safe.csv")
    assert found.code == 0, found.err
    assert (tmp_path / "safe.csv").read_text().startswith("c0,c9999\n")


@pytest.mark.second_lane
@pytest.mark.parametrize("different", [1_000_000, 300_000])
def test_a_column_of_very_many_texts_is_left_out_or_told_of(different, lowlift, tmp_path):
    rows = 1_000_000
    numbers = RNG.permutation(np.resize(np.arange(different), rows))
    frame = pd.DataFrame({"s": RNG.choice(["yes", "no"], rows), "age": RNG.integers(20, 60, rows)})
    frame["t"] = [f"t{k}" for k in numbers]
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = lowlift("sanitize", "t.csv", "-s", "s", "--at-most", "2", "-o", "safe.csv")
    assert found.code == 0, found.err
    with (tmp_path / "safe.csv").open() as file:
        first = file.readline()
    if different == rows:
        assert first == "age\n"
        assert "not published: 't' (identifier)" in found.out
    else:
        assert first == "age,t\n"
        assert "Caution: few rows per value, as of an identifier that repeats: 't'" in found.out


@pytest.mark.second_lane
def test_three_columns_of_very_many_texts_fit_into_little_memory(lowlift, tmp_path, monkeypatch):
    monkeypatch.setenv("LOWLIFT_MEMORY", "600MB")
    rows = 216_000
    frame = pd.DataFrame({"s": RNG.choice(["yes", "no", "?"], rows)})
    for k in range(3):
        frame[f"t{k}"] = [f"text-number-{v:06d}-of-{k}" for v in RNG.integers(0, 125_000, rows)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = lowlift("sanitize", "t.csv", "-s", "s", "--at-most", "2", "-o", "safe.csv")
    assert found.code == 0, found.err
    found = lowlift("columns", "t.csv", "-s", "s")
    assert found.code == 0, found.err
    assert found.out.count("few rows per value") == 3
