"""Rows of cells drawn by a key: as defined, the same in every engine, refused where they must."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lowlift as ll
from lowlift._cells.tree import Split, Tree
from lowlift.encodings import published
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column
from lowlift.tables.donor_plans import MOST_ROWS, place_of, refuse_many
from lowlift.workflow import Options, Recording, apply, design
from tables.conftest import DuckDBStore
from tables.keyed_rows import KEY, drawn, in_vectors, reference
from tables.test_cells_engines import columns

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")
RELEASED = ["age", "pay", "job", "day", "at", "member", "team"]
KEYED = {"id": "id", "key": KEY}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Receipts of database tables are written to the working folder."""
    monkeypatch.chdir(tmp_path)


def people(rows=600, seed=0):
    """A table of every kind that all engines have, with missing values; ids of several bytes."""
    made = columns(rows, seed)
    made["team"] = ("text", [None if v is None else str(v) for v in made["team"][1]])
    ids = [f"p{k}é" for k in np.random.default_rng(seed).permutation(rows)]
    return made | {"id": ("text", ids)}


def records_of(made):
    return list(zip(*(made[name][1] for name in RELEASED), strict=True))


@pytest.fixture(scope="module", params=["rows", "columns"])
def released(request, tmp_path_factory):
    """A release of rows, or of columns, from cells."""
    return design_of(request.param, tmp_path_factory.mktemp("design"))


def design_of(encoding, folder):
    source = DuckDBStore(folder).put(people())
    asked = ll.Schema("ill", RELEASED, cells=10, encoding=encoding, weights={"age": 9.0})
    release = design(source, asked, ll.LIP(0.3)).encoded.release
    assert release.channel.denominator > 1
    return release


def test_the_definition_holds_in_every_engine(store, released):
    """One digest and whole numbers: plain Python, DuckDB, PostgreSQL and Spark draw the same."""
    made = people()
    source, target = store.put(made), store.target()
    receipt = apply(source, released, target, Options(**KEYED), engine=store.engine)
    wanted = reference(released.to_text(), records_of(made), made["id"][1])
    found = store.read(target)
    assert receipt.draws == "keyed"
    assert Counter(found) == Counter(wanted)
    assert store.name == "spark" or found == wanted  # Spark's files have no order
    assert Counter(found) != Counter(records_of(made))
    other = reference(released.to_text(), records_of(made), made["id"][1], KEY[::-1])
    assert Counter(found) != Counter(other)


@pytest.mark.parametrize("number", [0, 1])
def test_every_engine_meets_the_vectors(store, tmp_path, number):
    part = ll.schemas.vectors()["tables"][number]
    (tmp_path / "release.json").write_text(json.dumps(part["release"]), "utf-8")
    release = ll.Release.from_json(tmp_path / "release.json")
    made, wanted = in_vectors(part)
    source, target = store.put(made), store.target()
    options = Options(id="id", key=bytes.fromhex(part["key"]))
    apply(source, release, target, options, engine=store.engine)
    found = store.read(target)
    assert Counter(found) == Counter(wanted)
    assert store.name == "spark" or found == wanted  # Spark's files have no order


def test_a_published_table_is_verified(store, released, tmp_path):
    source, target = store.put(people()), store.target()
    receipt = apply(source, released, target, Options(**KEYED), engine=store.engine)
    file = tmp_path / "release.json"
    file.write_text(released.to_text())
    engine = store.engine if store.name == "spark" else None
    method = {"against": source, "published": target, "receipt": receipt, "engine": engine}
    found = ll.verify(str(file), **method)
    assert found.is_ok, found
    assert any(check.detail == "keyed" for check in found.checks)


def test_rows_go_from_one_engine_to_another(stores, released):
    made = people()
    wanted = Counter(reference(released.to_text(), records_of(made), made["id"][1]))
    opened = {name: stores(name) for name in ("duckdb", "postgres")}
    for name, to in (("duckdb", "postgres"), ("postgres", "duckdb")):
        source, target = opened[name].put(made), opened[to].target()
        apply(source, released, target, Options(**KEYED))
        assert Counter(opened[to].read(target)) == wanted


@pytest.mark.parametrize("library", ["arrow", "polars", "duckdb"])
def test_frames_repeat_whatever_their_order(files, released, library):
    source = files.put(people())
    with duckdb.connect() as connection:
        tables = []
        for order in ("id", "age, job, id"):
            relation = connection.sql(f"SELECT * FROM '{source}' ORDER BY {order}")
            convert = {"arrow": "to_arrow_table", "polars": "pl"}
            given = getattr(relation, convert[library])() if library in convert else relation
            safe = released.apply(given, **KEYED)
            rows = safe if library == "duckdb" else connection.sql("FROM safe")
            tables.append(rows.fetchall())
    assert tables[0] == tables[1]
    assert len(tables[0]) == 600


@given(st.integers(0, (1 << 60) - 1), st.integers(1, MOST_ROWS))
def test_places_are_exact_whole_numbers_of_64_bits(v, rows):
    found = place_of(np.int64(v), np.int64(rows))
    assert found == v * rows >> 60
    assert found < rows


def test_too_many_rows_for_64_bits_are_refused():
    refuse_many(MOST_ROWS)
    with pytest.raises(ll.InvalidInput, match="at most 4,294,967,296"):
        refuse_many(MOST_ROWS + 1)


def test_the_row_of_a_cell_does_not_depend_on_the_row_that_it_is_drawn_for():
    """Given the cell, every row of it is as likely as any other, for each row alike."""
    frame = pd.DataFrame({"a": range(8), "s": ["x", "y"] * 4, "id": range(8)})
    release = design(frame, ll.Schema("s", ["a"], cells=1), ll.LIP(9.0)).encoded.release
    text, ids, records = release.to_text(), list(map(str, range(8))), [(a,) for a in range(8)]
    pairs = np.zeros((8, 8))
    for k in range(800):
        for row, (_, _, (donor,)) in enumerate(drawn(text, records, ids, k.to_bytes(32))):
            pairs[row, donor] += 1
    safe = release.apply(frame, id="id", key=(799).to_bytes(32))
    assert safe["a"].tolist() == [a for (a,) in reference(text, records, ids, (799).to_bytes(32))]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-6


def test_people_keep_their_cells_when_rows_are_added(tmp_path):
    """Across growth the cell stays, and about S both published rows tell no more than it does."""
    text = design_of("rows", tmp_path).to_text()
    made = people(900, seed=3)
    records, ids = records_of(made), made["id"][1]
    before, after = drawn(text, records[:600], ids[:600]), drawn(text, records, ids)
    assert [cell for _, cell, _ in before] == [cell for _, cell, _ in after[:600]]
    assert [rows for _, _, rows in before] != [rows for _, _, rows in after[:600]]
    # The pair of rows, given the cell, has one law whoever it is drawn for.
    frame = pd.DataFrame({"a": [0, 1, 2], "s": ["x", "y", "x"], "id": range(3)})
    text = design(frame, ll.Schema("s", ["a"], cells=1), ll.LIP(9.0)).encoded.release.to_text()
    pairs = np.zeros((2, 9))
    for k in range(1500):
        two, three = (
            drawn(text, [(a,) for a in range(n)], list("abc")[:n], k.to_bytes(32)) for n in (2, 3)
        )
        for row in range(2):
            pairs[row, 3 * two[row][2][0] + three[row][2][0]] += 1
    found = pairs[:, pairs.any(axis=0)]
    assert stats.chi2_contingency(found).pvalue > 1e-6


def other_tree(release):
    """The same channel on cells with another condition."""
    column = release.origin.cells
    splits = list(column.bins.tree.splits)
    at = next(k for k, split in enumerate(splits) if not split.is_category)
    kind = column.bins.kinds[splits[at].column]
    other = {"integer": 1, "real": 1.5, "date": "2024-01-02"}.get(
        kind, "2024-01-02 00:00:00.000000"
    )
    splits[at] = replace(splits[at], most=other)
    tree = replace(column.bins.tree, splits=tuple(splits))
    bins = replace(column.bins, tree=tree)
    return release.with_table(replace(release.origin, released=(replace(column, bins=bins),)))


def test_the_same_channel_on_other_cells_is_drawn_by_another_subkey(released, tmp_path):
    other = other_tree(released)
    assert other.fingerprint == released.fingerprint
    assert published(other).key_scope != published(released).key_scope
    (tmp_path / "release.json").write_text(released.to_text())
    again = ll.Release.from_json(tmp_path / "release.json")
    assert published(again).key_scope == published(released).key_scope


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"id": ("text", [None, "b", "b", *map(str, range(597))])},
            "1 missing and 1 repeated ones",
        ),
        ({"id": ("real", [k / 2 for k in range(600)])}, "must be integer, text or uuid"),
        ({"job": None}, "'job'"),
        ({"id": None}, "the id column 'id' is not in the table"),
    ],
)
def test_bad_tables_are_refused(store, released, change, message):
    made = {n: part for n, part in (people() | change).items() if part is not None}
    target = store.target()
    with pytest.raises(ll.InvalidInput, match=message):
        apply(store.put(made), released, target, Options(**KEYED), engine=store.engine)
    assert not store.exists(target)


def test_options_that_rows_do_not_have_are_refused(files, released):
    source, target = files.put(people()), files.target()
    for options, message in (
        ({"keep": ["id"], "accept_uncovered": True}, "Name it among the released columns"),
        ({"keep_order": True}, "rows must be published in any order"),
    ):
        with pytest.raises(ll.InvalidInput, match=message):
            apply(source, released, target, Options(**KEYED, **options))
    with pytest.raises(ll.InvalidInput, match="both an id column and a key"):
        Options(id="id")
    with pytest.raises(ll.InvalidInput, match="32 bytes; got 31"):
        Options(id="id", key=KEY[1:])


def cut_by_age(rows, encoding="rows"):
    """A table of ages and a release of two cells that are drawn for each other."""
    made = {
        "id": ("integer", list(range(rows))),
        "age": ("integer", [20 + k % 40 for k in range(rows)]),
        "job": ("text", ["nurse" if k % 3 else "cook" for k in range(rows)]),
        "ill": ("boolean", [k % 7 < (3 if k % 40 > 19 else 1) for k in range(rows)]),
    }
    counts = np.zeros((2, 2), int)
    np.add.at(counts, (np.array(made["ill"][1], int), np.array(made["age"][1]) // 40), 1)
    tree = Tree(("age", "job"), (Split(0, -1, -2, most=39),))
    cells = Column("cell", "cells", CellBins(tree, ("integer", "text")))
    joint = ll.Joint.from_counts(counts, s_labels=[False, True], x_labels=[0, 1])
    origin = ll.tables.Origin(
        (Column("ill", "boolean"),), (cells,), "value", "t", rows, None, encoding
    )
    channel = ll.Channel([[3, 1], [1, 3]], y_labels=[0, 1])
    return made, ll.Release.of(joint, channel, ll.LIP(0.4)).with_table(origin)


def test_a_cell_that_is_drawn_and_has_no_rows_is_refused(store):
    made, release = cut_by_age(200)
    young = [age < 40 for age in made["age"][1]]
    part = {
        name: (kind, [v for v, keep in zip(values, young, strict=True) if keep])
        for name, (kind, values) in made.items()
    }
    target = store.target()
    with pytest.raises(ll.InvalidInput, match="1 have none"):
        apply(store.put(part), release, target, Options(**KEYED), engine=store.engine)
    assert not store.exists(target)


def test_a_category_that_the_design_did_not_have_belongs_to_a_cell(files):
    made, release = cut_by_age(200)
    made["job"] = ("text", ["judge"] * 200)
    target = files.target()
    apply(files.put(made), release, target, Options(**KEYED))
    found = files.read(target)
    records = list(zip(made["age"][1], made["job"][1], strict=True))
    assert found == reference(release.to_text(), records, list(map(str, range(200))))


def test_the_ledger_takes_the_same_draws_for_one_publication(files):
    made, release = cut_by_age(200)
    file, ledger = files.place(".json"), files.place(".sqlite")
    Path(file).write_text(release.to_text())
    recording = Recording(ledger, people="us", release_file=file)
    grown = {name: (kind, values + values[:50]) for name, (kind, values) in made.items()}
    grown["id"] = ("integer", list(range(250)))
    for table, key, is_refused in (
        (made, KEY, False),
        (made, KEY, False),
        (grown, KEY, False),
        (made, KEY[::-1], True),
    ):
        options = Options(id="id", key=key, recording=recording, accept_unchecked=True)
        target = files.target()
        if is_refused:
            with pytest.raises(ll.BoundViolated, match="earlier publication"):
                apply(files.put(table), release, target, options)
        else:
            apply(files.put(table), release, target, options)


def test_a_release_of_rows_neither_continues_nor_is_refined(files, released):
    source = files.put(people())
    asked = {"sensitive": "ill", "released": RELEASED, "cells": 10, "criterion": ll.LIP(0.3)}
    with pytest.raises(ll.InvalidInput, match="does not continue another"):
        ll.sanitize(source, **asked, **KEYED, continues=released)
    with pytest.raises(ll.InvalidInput, match="cannot be refined"):
        ll.refine(released, ll.LIP(0.6))
