"""A column that a table lacks is an error of the warehouse, whatever else has its name."""

from dataclasses import replace

import pytest
import sqlglot
from sqlglot import exp

import lowlift as ll
from lowlift._exports.dialects import DIALECTS
from lowlift.tables import open_table
from lowlift.workflow import design
from lowlift.workflow.columns import count
from lowlift.workflow.keys import subkey_text
from tables.test_exported_dbt import rendered
from tables.test_exported_sql import KEY, SMALL, run, small
from tables.test_keyed_rows import cut_by_age

#: Names inside the statement, of functions without brackets, and of functions of a row.
NAMES = ["c0", "c1", "t", "k0", "y", "o", "user", "current_date", "row_to_json", "to_jsonb", "ward"]


def refused(store, program, source, release, name):
    with pytest.raises(Exception, match=name) as found:  # each engine has its own
        run(store, program, source, subkey_text(release, KEY))
    said = str(found.value).splitlines()[0]  # Spark adds the statement
    assert name in said
    assert "must have been seen" not in said


def two_columns(store, name):
    """A release of `ward` and a column of this name, whose values are those of `ward`."""
    first = "place" if name == "ward" else "ward"
    table = {k: v for k, v in SMALL.items() if k != "ward"} | {first: SMALL["ward"]}
    with open_table(store.put(table | {name: SMALL["ward"]}), store.engine) as opened:
        joint, _ = count(opened, ll.Schema("ill", [first, name]))
    release = ll.Release.of(joint, ll.Channel([[3, 1], [1, 3]]), ll.MaxLift(700.0))
    return release.with_table(replace(joint.origin, encoding="codes")), store.put(table)


@pytest.mark.parametrize("unseen", ["error", "suppress"])
def test_a_column_that_is_missing_is_read_from_nowhere_else(store, unseen):
    for name in NAMES:
        release, source = two_columns(store, name)
        method = {"table": "given", "id": "id", "unseen": unseen}
        program = ll.export(release, "sql", dialect=store.name, **method)
        refused(store, program, source, release, name)


def test_a_kept_column_that_is_missing_is_no_part_of_the_statement(store):
    """As a part it would be the value that is to be hidden, or the id."""
    release, source = small(store), store.put(SMALL)
    for name in NAMES[:-1]:
        method = {"table": "given", "id": "id", "keep": ["id", name], "accept_uncovered": True}
        program = ll.export(release, "sql", dialect=store.name, **method)
        refused(store, program, source, release, name)


def test_no_id_is_published_for_a_column_that_is_missing(store):
    """Inside the statement t is the id, and c the cell."""
    for name in ("t", "c", "user", "k0"):
        table = {
            "id": ("integer", list(range(40))),
            "ill": ("text", ["y", "n"] * 20),
            "age": ("integer", [k % 5 for k in range(40)]),
        }
        whole = store.put(table | {name: ("text", ["a", "a", "b", "b"] * 10)})
        schema = ll.Schema("ill", ["age", name], cells=2)
        made = design(whole, schema, ll.LIP(2.0), encoding="rows", engine=store.engine)
        release = made.encoded.release
        program = ll.export(release, "sql", dialect=store.name, table="given", id="id")
        refused(store, program, store.put(table), release, name)


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_names_of_columns_have_the_name_of_their_table(files, dialect):
    """In PostgreSQL, such a name can be a function of the row; without it, it cannot."""
    method = {"dialect": dialect, "table": "given", "id": "id"}
    program = ll.export(small(files), "sql", **method, keep=["k9"], accept_uncovered=True)
    tree = sqlglot.parse_one(program.text, read=dialect)
    asked = {"ward", "id", "k9"}
    found = [column for column in tree.find_all(exp.Column) if column.name in asked]
    assert {column.name for column in found} == asked
    wanted = "" if dialect == "postgres" else "lowlift_table"
    assert {column.table for column in found} == {wanted}


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_conditions_of_cells_have_the_name_of_their_table(dialect):
    _, release = cut_by_age(200)
    method = {"dialect": dialect, "table": "given", "id": "id", "dbt": True}
    for text in ll.export(release, "sql", **method).files.values():
        tree = sqlglot.parse_one(rendered(text), read=dialect)
        conditions = [part.this for part in tree.find_all(exp.LTE) if part.this.name == "age"]
        assert conditions
        wanted = "" if dialect == "postgres" else "lowlift_table"
        assert {column.table for column in conditions} == {wanted}


@pytest.mark.parametrize("option", [{"keep": ["Lowlift_Table"]}, {"id": "lowlift_table"}])
def test_no_column_has_the_name_of_the_table(files, option):
    """DuckDB and PostgreSQL read it as the whole row, with S, where there is no such column."""
    method = {"table": "given", "id": "id", "accept_uncovered": True} | option
    with pytest.raises(ll.InvalidInput, match="must not be named lowlift_table"):
        ll.export(small(files), "sql", **method)
    release, _ = two_columns(files, "lowlift_table")
    with pytest.raises(ll.InvalidInput, match="must not be named lowlift_table"):
        ll.export(release, "sql", table="given", id="id")


@pytest.mark.parametrize(("dialect", "most"), [("postgres", 63), ("redshift", 127)])
def test_names_are_not_cut_to_those_of_other_columns(files, dialect, most):
    """PostgreSQL reads the first bytes of a long name: here, a column of S."""
    sensitive = "é" * (most // 2) + "s"
    table = {sensitive if name == "ill" else name: part for name, part in SMALL.items()}
    with open_table(files.put(table)) as opened:
        joint, _ = count(opened, ll.Schema(sensitive, "ward"))
    release = ll.Release.of(joint, ll.Channel([[3, 1], [1, 3]]), ll.MaxLift(700.0))
    release = release.with_table(replace(joint.origin, encoding="codes"))
    method = {"table": "given", "id": "id", "accept_uncovered": True}
    for option in ({"keep": [sensitive + "x"]}, {"id": sensitive + "x"}):
        with pytest.raises(ll.InvalidInput, match=f"must have at most {most} bytes, of which"):
            ll.export(release, "sql", dialect=dialect, **(method | option))
        assert ll.export(release, "sql", dialect="duckdb", **(method | option)).text
    assert ll.export(release, "sql", dialect=dialect, keep=["id"], **method).text
