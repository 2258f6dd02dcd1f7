"""Spark puts settings and variables of its process in place of ${NAME}: in no value of a table."""

from collections import Counter
from dataclasses import replace

import pytest

import lowlift as ll
from lowlift._cells.tree import Split, Tree
from lowlift.tables import Column, open_table
from lowlift.tables.cells import CellBins
from lowlift.workflow.columns import count
from lowlift.workflow.keys import subkey_text
from tables.test_exported_sql import KEPT, KEY, SMALL, applied, run, small

#: Of the process, of the session, and unknown ones, which Spark reads as nothing.
VALUES = ["${env:PATH}", "${spark.app.name}", "${x}", "\\${y}", "$ {x}", ""]


def of_values(store):
    """A table of these values, and a release that publishes each or the next one."""
    source = store.put(
        {
            "id": ("integer", list(range(60))),
            "ill": ("text", ["y", "n", "n"] * 20),
            "ward": ("text", VALUES * 10),
        }
    )
    with open_table(source, store.engine) as table:
        joint, _ = count(table, ll.Schema("ill", "ward"))
    assert set(joint.x_labels) == set(VALUES)
    atoms = [([x, (x + 1) % 6], [3, 1]) if x < 5 else ([0, 5], [1, 3]) for x in range(6)]
    channel = ll.Channel.from_atoms(joint, atoms, 4, joint.x_labels)
    release = ll.Release.of(joint, channel, ll.MaxLift(700.0))
    return release.with_table(replace(joint.origin, encoding="values")), source


def test_values_that_look_like_variables_are_drawn_and_published_as_they_are(
    store, tmp_path, monkeypatch
):
    """Else a statement would publish what they stand for, and draw twice for an empty text."""
    monkeypatch.chdir(tmp_path)
    release, source = of_values(store)
    program = ll.export(release, "sql", dialect=store.name, table="given", id="id", **KEPT)
    found = run(store, program, source, subkey_text(release, KEY))
    assert Counter(found) == Counter(applied(store, release, source))
    assert {ward for ward, _ in found} == set(VALUES)
    assert len(found) == 60


def test_cells_of_categories_that_look_like_variables_are_those_of_every_engine(store):
    source = store.put({"ward": ("text", VALUES * 10)})
    tree = Tree(("ward",), (Split(0, -1, -2, values=("${env:PATH}", "${x}", "")),))
    column = Column("cell", "cells", CellBins(tree, ("text",)))
    with open_table(source, store.engine) as table:
        counts = table.count([column])
    assert dict(zip(counts.symbols, counts.counts, strict=True)) == {(0,): 30, (1,): 30}


def test_a_name_with_a_variable_is_refused(stores):
    spark, duckdb = stores("spark"), stores("duckdb")
    table = {"${x}" if name == "ward" else name: part for name, part in SMALL.items()}
    said = r"a name in Spark must not have \$\{ in it.*got '\$\{x\}'.*in a view"
    with (
        open_table(spark.put(table), "spark") as opened,
        pytest.raises(ll.InvalidInput, match=said),
    ):
        count(opened, ll.Schema("ill", "${x}"))
    release = small(duckdb)
    origin = replace(release.origin, released=(Column("${x}", "text"),))
    with pytest.raises(ll.InvalidInput, match=said):
        ll.export(release.with_table(origin), "sql", dialect="spark", table="given", id="id")
    with pytest.raises(ll.InvalidInput, match=said):
        ll.export(release, "sql", dialect="spark", table="${x}", id="id")
