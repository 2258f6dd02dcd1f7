"""The generic test for dbt: rendered as by dbt, run in DuckDB and PostgreSQL."""

from pathlib import Path
from types import SimpleNamespace

import duckdb
import jinja2
import numpy as np
import pytest

import lowlift as ll

ROOT = Path(__file__).resolve().parents[2]
TEST = (ROOT / "integrations" / "dbt" / "lift_at_most.sql").read_text("utf-8")


class Refused(Exception):
    pass


def rendered(model, engine="duckdb", **arguments):
    """The SQL of the test; dbt's test blocks are macros to Jinja."""
    text = TEST.replace("{% test ", "{% macro ").replace("{% endtest %}", "{% endmacro %}")

    def refuse(message):
        raise Refused(message)

    known = {
        "target": SimpleNamespace(type=engine),
        "exceptions": SimpleNamespace(raise_compiler_error=refuse),
    }
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    module = environment.from_string(text, globals=known).make_module()
    return str(module.lift_at_most(model, **arguments))


def random_table(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(6, 60))
    values = [
        [None if rng.random() < 0.1 else f"{name}{rng.integers(0, 3)}" for _ in range(rows)]
        for name in "sxy"
    ]
    if seed % 2:  # little of S in X, so that the bound holds now and then
        values[0] = [f"s{k % 2}" for k in range(rows)]
        values[1] = values[2] = [f"x{(k // 2) % 2}" for k in range(rows)]
    return dict(zip(("s", "x", "y"), values, strict=True))


def relation(columns):
    names = ", ".join(columns)
    marks = ", ".join("(" + ", ".join("?" for _ in columns) + ")" for _ in columns["s"])
    rows = [value for row in zip(*columns.values(), strict=True) for value in row]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({', '.join(f'{n} VARCHAR' for n in columns)})")
    connection.execute(f"INSERT INTO t ({names}) VALUES {marks}", rows)
    return connection


def test_it_decides_as_the_audit_does():
    verdicts = []
    for seed in range(60):
        with relation(random_table(seed)) as connection:
            for factor in (1.05, "1.5", 3):
                asked = {"sensitive": "s", "released": ["x", "y"]}
                sql = rendered("t", factor=factor, **asked)
                wrong = connection.execute(sql).fetchall()
                bound = ll.LIP.at_most(float(factor))
                found = ll.audit_table(connection.table("t"), criterion=bound, **asked)
                assert (not wrong) == found.is_satisfied, (seed, factor)
                verdicts.append(found.is_satisfied)
    assert 10 < sum(verdicts) < len(verdicts) - 10


def test_a_factor_that_is_reached_is_refused_as_by_the_audit():
    """P(s|x) / P(s) is exactly 3/2."""
    columns = {"s": ["a"] * 3 + ["b"] + ["a"] + ["b"] * 3, "x": ["u"] * 4 + ["v"] * 4}
    with relation(columns) as connection:
        asked = {"sensitive": "s", "released": "x"}
        verdicts = {}
        for factor in ("1.5", "1.500", "2", "2.0000001"):
            verdicts[factor] = not connection.execute(
                rendered("t", factor=factor, **asked)
            ).fetchall()
            bound = ll.LIP.at_most(float(factor))
            found = ll.audit_table(connection.table("t"), criterion=bound, **asked)
            assert verdicts[factor] == found.is_satisfied
    # The other side: 1/2 is below 1/1.5, and is 1/2 exactly.
    assert verdicts == {"1.5": False, "1.500": False, "2": False, "2.0000001": True}


def test_large_counts_do_not_overflow():
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 2 AS s, i % 3 AS x FROM range(3000000) r(i)"
        )
        sql = rendered("t", sensitive="s", released="x", factor="1.00000000001")
        assert connection.execute(sql).fetchall() == []


def test_several_sensitive_columns_are_one(tmp_path):
    table = random_table(3)
    with relation(table) as connection:
        asked = {"sensitive": ["s", "y"], "released": ["x"]}
        for factor in (1.2, 9):
            wrong = connection.execute(rendered("t", factor=factor, **asked)).fetchall()
            bound = ll.LIP.at_most(factor)
            found = ll.audit_table(connection.table("t"), criterion=bound, **asked)
            assert (not wrong) == found.is_satisfied


@pytest.mark.parametrize("factor", ["1", "0.5", "1,5", "-2", "much", "1.2.3", "1e3", "inf"])
def test_a_factor_must_be_a_decimal_number_above_1(factor):
    with pytest.raises(Refused, match="factor must be a decimal number above 1"):
        rendered("t", sensitive="s", released="x", factor=factor)


@pytest.mark.parametrize(("sensitive", "released"), [([], "x"), ("s", []), ("s", ["x", "s"])])
def test_columns_must_be_named_once(sensitive, released):
    with pytest.raises(Refused, match="no column is both"):
        rendered("t", sensitive=sensitive, released=released, factor=2)


def test_postgresql_decides_the_same(postgres):
    import psycopg

    asked = {"sensitive": "s", "released": ["x", "y"]}
    with psycopg.connect(postgres) as connection:
        for seed in range(6):
            table = random_table(seed)
            connection.execute("CREATE TEMP TABLE t (s text, x text, y text)")
            rows = list(zip(*table.values(), strict=True))
            connection.cursor().executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
            with relation(table) as local:
                for factor in ("1.05", "3"):
                    theirs = connection.execute(rendered("t", "postgres", factor=factor, **asked))
                    ours = local.execute(rendered("t", factor=factor, **asked))
                    assert sorted(theirs.fetchall()) == sorted(ours.fetchall())
            connection.execute("DROP TABLE t")
