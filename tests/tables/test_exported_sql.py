"""Exported statements draw what `apply` draws: in the engines, and transpiled from other SQL."""

from collections import Counter
from uuid import UUID

import duckdb
import numpy as np
import pytest
import sqlglot
from sqlglot import exp

import lowlift as ll
from lowlift.tables.sources import parse_postgres
from lowlift.workflow import Options, apply, design
from lowlift.workflow.keys import subkey_text
from tables.test_records import COLUMNS, bins_of, mixing, neighbours, released_from, table_of

KEY = bytes(range(32))
WARDS = ["north", 'it\'s \\ "quoted"', "{{ x }} {% y %}", "é\n", "[null]", "null", None]
TRANSPILED = ["bigquery", "snowflake", "redshift", "trino", "spark"]
KEPT = {"keep": ["id"], "accept_uncovered": True}


def people(rows, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(-5, 90, rows)
    return {
        "id": ("integer", rng.permutation(rows).tolist()),
        "ill": ("text", np.where(rng.random(rows) * 120 < age, "yes", "no").tolist()),
        "age": ("integer", age.tolist()),
        "ward": ("text", [WARDS[k] for k in rng.integers(0, len(WARDS), rows)]),
    }


def run(store, program, source, subkey, spark=None):
    """Return the rows of a statement in the engine that a table was put into."""
    if store.name == "duckdb":
        with duckdb.connect() as connection:
            connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{source}')")
            connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey}'")
            return connection.execute(program.text).fetchall()
    if store.name == "postgres":
        import psycopg

        name = parse_postgres(source).name[-1]
        with psycopg.connect(store.server) as connection:
            connection.execute("SELECT set_config('lowlift.subkey', %s, true)", [subkey])
            connection.execute(f'CREATE TEMP VIEW given AS SELECT * FROM "{name}"')
            return connection.execute(program.text.encode()).fetchall()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    session.read.parquet(source).createOrReplaceTempView("given")
    text = program.text.rstrip().rstrip(";")
    return [tuple(row) for row in session.sql(text, args={"lowlift_subkey": subkey}).collect()]


def applied(store, release, source, **options):
    target = store.target()
    options = {"id": "id", "key": KEY, "keep": ("id",), "accept_uncovered": True} | options
    options |= {"accept_unchecked": True}
    apply(source, release, target, Options(**options), engine=store.engine)
    return store.read(target)


def test_every_kind_of_column_is_drawn_as_apply_draws_it(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the receipt of a database's table goes here
    source = store.put(few(table_of(1)))
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    for channel, encoding in ((mixing, "codes"), (neighbours, "values")):
        release, _ = released_from(source, store.engine, channel, encoding, bins)
        program = ll.export(release, "sql", dialect=store.name, table="given", id="id", **KEPT)
        drawn = run(store, program, source, subkey_text(release, KEY))
        assert Counter(drawn) == Counter(applied(store, release, source))


@pytest.mark.parametrize("dialect", TRANSPILED)
def test_other_dialects_draw_the_same_when_transpiled_to_duckdb(files, dialect):
    source = files.put(few(table_of(2)))
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    for channel, encoding in ((mixing, "codes"), (neighbours, "values")):
        release, _ = released_from(source, None, channel, encoding, bins)
        program = ll.export(release, "sql", dialect=dialect, table="given", id="id", **KEPT)
        drawn = run_transpiled(program.text, dialect, source, subkey_text(release, KEY))
        wanted = Counter(map(without_uuid, applied(files, release, source)))
        assert Counter(map(without_uuid, drawn)) == wanted


def few(table, rows=100):
    return {name: (kind, values[:rows]) for name, (kind, values) in table.items()}


def without_uuid(row):
    return tuple(str(value) if isinstance(value, UUID) else value for value in row)


#: What DuckDB calls otherwise than the other warehouses.
MACROS = [
    "from_base(digits, base) AS CAST(concat('0x', digits) AS BIGINT)",
    "bitwise_right_shift(value, bits) AS value >> bits",
    "fail(text) AS error(text)",
    "raise_error(text) AS error(text)",
]


def run_transpiled(text, dialect, source, subkey):
    """Run a statement of another warehouse in DuckDB; what sqlglot does not know is replaced."""
    tree = sqlglot.parse_one(text, read=dialect)
    for node in list(tree.walk()):
        other = in_duckdb(node, subkey)
        if other is not None:
            node.replace(other)
    with duckdb.connect() as connection:
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro}")
        connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{source}')")
        return connection.execute(tree.sql("duckdb")).fetchall()


def in_duckdb(node, subkey):
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Placeholder | exp.Parameter) or name == "CURRENT_SETTING":
        return exp.Literal.string(subkey)
    if isinstance(node, exp.ToNumber) or name == "CONV":
        digits = node.this if isinstance(node, exp.ToNumber) else node.expressions[0]
        return exp.Anonymous(this="FROM_BASE", expressions=[digits, exp.Literal.number(16)])
    if isinstance(node, exp.ByteLength) or name == "OCTET_LENGTH":
        value = node.this if isinstance(node, exp.ByteLength) else node.expressions[0]
        return exp.Anonymous(this="STRLEN", expressions=[value])
    if isinstance(node, exp.Length) and isinstance(node.this, exp.Encode):
        return exp.Anonymous(this="STRLEN", expressions=[node.this.this])
    if isinstance(node, exp.Div) and isinstance(node.this.unnest(), exp.Sub):
        return exp.IntDiv(this=node.this, expression=node.expression)  # whole numbers, no rest
    if isinstance(node, exp.DataType) and node.expressions:
        return exp.DataType(this=node.this)  # VARCHAR(MAX)
    return None


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of two columns whose law is that of an optimal mechanism."""
    import pandas as pd

    frame = pd.DataFrame({name: values for name, (_, values) in people(20_000).items()})
    schema = ll.Schema("ill", ["age", "ward"], bins={"age": "width:10"})
    method = {"mechanism": "random-response", "encoding": "values", "time_limit": 3}
    return design(frame, schema, ll.LIP(0.3), **method).encoded.release


@pytest.mark.parametrize("rows", [10_000, pytest.param(1_000_000, marks=pytest.mark.second_lane)])
def test_a_large_table_is_drawn_bit_by_bit_as_apply_draws_it(
    store, released, rows, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = people(rows, seed=2)
    del table["ill"]  # other rows than those of the design
    source = store.put(table)
    program = ll.export(released, "sql", dialect=store.name, table="given", id="id", **KEPT)
    drawn = run(store, program, source, subkey_text(released, KEY))
    assert len(drawn) == rows
    assert sorted(drawn, key=last) == sorted(applied(store, released, source), key=last)
    other = run(store, program, source, subkey_text(released, KEY[::-1]))
    assert sorted(other, key=last) != sorted(drawn, key=last)


def last(row):
    return row[-1]
