"""Exported statements refuse columns whose types `apply` refuses, where warehouses tell them."""

import duckdb
import pytest

import lowlift as ll
from lowlift.workflow.keys import subkey_text
from tables.test_exported_sql import KEY, SMALL, applied, run, small
from tables.test_keyed_rows import cut_by_age

TEXT_READ = "column 'ward' must be of kind text, as at design; here its type is "
ID_READ = "an id column must be integer, text or uuid; the type of 'id' is "


@pytest.mark.parametrize(
    ("change", "said", "said_by_apply"),
    [
        ({"ward": ("integer", [1, 2, 3, 4])}, TEXT_READ, "column 'ward' must be of kind text"),
        ({"ward": ("boolean", [True, False] * 2)}, TEXT_READ, "column 'ward' must be of kind text"),
        ({"id": ("real", [1.0, 2.0, 3.0, 4.0])}, ID_READ, "an id column must be integer, text or"),
        ({"id": ("date", ["2024-01-02"] * 4)}, ID_READ, "an id column must be integer, text or"),
    ],
)
def test_types_that_apply_refuses_are_refused_by_every_engine(store, change, said, said_by_apply):
    """Of another type the same number has another text: an unseen value, or other draws."""
    release, source = small(store), store.put(SMALL | change)
    method = {"dialect": store.name, "table": "given", "id": "id", "unseen": "suppress"}
    with pytest.raises(Exception, match=said):  # each engine has its own
        run(store, ll.export(release, "sql", **method), source, subkey_text(release, KEY))
    with pytest.raises(ll.InvalidInput, match=said_by_apply):
        applied(store, release, source, keep=(), accept_uncovered=False, unseen="suppress")


def test_types_are_looked_at_where_nothing_is_drawn(store):
    release = small(store, channel=[[1, 0], [0, 1]])
    program = ll.export(release, "sql", dialect=store.name, table="given", unseen="suppress")
    with pytest.raises(Exception, match=TEXT_READ):  # each engine has its own
        run(store, program, store.put(SMALL | {"ward": ("integer", [1, 2, 3, 4])}), "")


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "redshift", "trino"])
def test_types_are_not_looked_at_in_other_warehouses(files, dialect):
    program = ll.export(small(files), "sql", dialect=dialect, table="given", id="id")
    assert "lowlift_types" not in program.text


def test_enumerations_and_domains_are_of_the_kind_of_their_values(stores, postgres):
    import psycopg

    release = small(stores("duckdb"))
    subkey = subkey_text(release, KEY)
    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE letter AS ENUM ('a', 'b')")
        connection.execute("CREATE TABLE given (id UTINYINT, ward letter)")
        connection.execute("INSERT INTO given VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')")
        connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey}'")
        program = ll.export(release, "sql", dialect="duckdb", table="given", id="id")
        wanted = connection.execute(program.text).fetchall()
    assert len(wanted) == 4
    program = ll.export(release, "sql", dialect="postgres", table="given", id="id")
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TYPE pg_temp.letter AS ENUM ('a', 'b')")
        connection.execute("CREATE DOMAIN pg_temp.short AS varchar(3)")
        connection.execute("CREATE DOMAIN pg_temp.number AS smallint")
        connection.execute("SELECT set_config('lowlift.subkey', %s, true)", [subkey])
        for kind in ("pg_temp.letter", "pg_temp.short", "bpchar(1)"):
            connection.execute(f"CREATE TEMP TABLE given (id pg_temp.number, ward {kind})")
            connection.execute("INSERT INTO given VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')")
            assert connection.execute(program.text.encode()).fetchall() == wanted
            connection.execute("DROP TABLE given")


def test_a_column_of_another_type_is_not_put_into_another_cell(store):
    """A boolean has another text than the category that the design had."""
    made, release = cut_by_age(200)
    made["job"] = ("boolean", [True, False] * 100)
    program = ll.export(release, "sql", dialect=store.name, table="given", id="id")
    said = "column 'job' must be of kind text, as at design; here its type is "
    with pytest.raises(Exception, match=said):  # each engine has its own
        run(store, program, store.put(made), subkey_text(release, KEY))
