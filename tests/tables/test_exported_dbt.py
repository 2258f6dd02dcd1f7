"""A dbt model draws what `apply` draws, and its test fails where it must."""

from collections import Counter

import duckdb
import jinja2
import numpy as np
import pandas as pd
import pytest
import sqlglot

import lowlift as ll
from lowlift._exports.carrying import carried
from lowlift._exports.checks import Check, limits_of
from lowlift._exports.dialects import DIALECTS
from lowlift._exports.statements import Statement
from lowlift.tables.dialects import table_named
from lowlift.workflow import design
from lowlift.workflow.keys import subkey_text

KEY = bytes(range(32))
WARDS = ["{{ x }}", "{% endraw %}", "{# c #}", "{{{", "a\r\nb\rc", "it's \\ 'q'", None]


def people(rows=3000):
    rng = np.random.default_rng(5)
    age = rng.integers(0, 60, rows)
    return pd.DataFrame(
        {
            "id": np.arange(rows),
            "ill": np.where(rng.random(rows) * 80 < age, "yes", "no"),
            "age": age,
            "{{ ward": pd.Series([WARDS[k] for k in rng.integers(0, 7, rows)], dtype=object),
        }
    )


@pytest.fixture(scope="module")
def released():
    schema = ll.Schema("ill", ["age", "{{ ward"], bins={"age": "width:20"})
    method = {"mechanism": "random-response", "encoding": "values", "time_limit": 2}
    return design(people(), schema, ll.LIP(0.3), **method).encoded.release


def rendered(text, **environment):
    """Return what dbt would send: Jinja with its functions."""
    names = {
        "ref": lambda name: name,
        "source": lambda schema, name: f'"{schema}_{name}"',
        "env_var": environment.__getitem__,
        "config": lambda **_: "",
    }
    return jinja2.Environment(autoescape=False).from_string(text).render(**names)


@pytest.fixture
def project(released):
    """The two files in a database with the table, the model built."""
    made = ll.export(released, "sql", dbt=True, table="people", id="id")
    folders = [name.split("/") for name in made.files]
    assert folders == [["models", "safe.sql"], ["tests", "safe_is_protected.sql"]]
    model, test = made.files.values()
    subkey = subkey_text(released, KEY)
    assert subkey not in model
    with duckdb.connect() as connection:
        connection.register("frame", people())
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
        connection.execute(f"CREATE TABLE safe AS {rendered(model, LOWLIFT_SUBKEY=subkey)}")
        yield connection, rendered(test)


def test_the_model_is_what_apply_draws_and_its_test_passes(project, released):
    connection, test = project
    wanted = released.apply(people(), id="id", key=KEY)
    texts = wanted.astype(object).where(wanted.notna(), None)
    drawn = connection.execute("SELECT * FROM safe").fetchall()
    assert Counter(drawn) == Counter(texts.itertuples(index=False, name=None))
    assert connection.execute(test).fetchall() == []


@pytest.mark.parametrize(
    ("change", "fault", "amount"),
    [
        ("DELETE FROM safe WHERE rowid < 3", "rows are missing", -3),
        ("INSERT INTO safe SELECT * FROM safe LIMIT 2", "rows are missing", 2),
        ("UPDATE safe SET age = '[0, 99)' WHERE rowid < 4", "rows have an output", 4),
        ("UPDATE safe SET \"{{ ward\" = 'x' WHERE rowid < 1", "rows have an output", 1),
        ("UPDATE people SET ill = 'no' WHERE age < 30", "lifts are beyond the bound", None),
        ("UPDATE people SET ill = NULL WHERE id = 7", "lifts are beyond the bound", None),
    ],
)
def test_the_test_fails(project, change, fault, amount):
    connection, test = project
    connection.execute(change)
    found = connection.execute(test).fetchall()
    assert [text for text, _ in found if text.startswith(fault)]
    assert amount is None or [number for _, number in found] == [amount]


def test_a_subkey_of_another_size_and_repeated_ids_are_refused(project, released):
    connection, _ = project
    model = ll.export(released, "sql", dbt=True, table="people", id="id").text
    for subkey in ("", "ab" * 19, "AB" * 20, "ab" * 32):
        with pytest.raises(duckdb.Error, match="a subkey must be 40 hexadecimal digits"):
            connection.execute(rendered(model, LOWLIFT_SUBKEY=subkey))
    connection.execute("UPDATE people SET id = 5 WHERE id = 6")
    with pytest.raises(duckdb.Error, match="0 missing and 1 repeated ones in 3000 rows"):
        connection.execute(rendered(model, LOWLIFT_SUBKEY="ab" * 20))


def test_a_table_of_one_row_can_hold_the_subkey(project, released):
    connection, _ = project
    made = ll.export(released, "sql", dbt=True, table="raw.people", id="id", key_table="key_of")
    assert "env_var" not in made.text
    connection.execute(f"CREATE TABLE key_of AS SELECT '{subkey_text(released, KEY)}' AS subkey")
    connection.execute("CREATE VIEW raw_people AS SELECT * FROM people")
    drawn = connection.execute(rendered(made.text)).fetchall()
    assert Counter(drawn) == Counter(connection.execute("SELECT * FROM safe").fetchall())


def test_what_sql_cannot_check_is_refused(released):
    other = ll.Release.of(released.joint, released.channel, ll.L1Lift(2.0, 2.0))
    other = other.with_table(released.origin)
    with pytest.raises(ll.InvalidInput, match=r"SQL can check lip, alip and max-lift .*L1Lift"):
        ll.export(other, "sql", dbt=True, table="people", id="id")
    made = ll.export(other, "sql", dbt=True, table="people", id="id", accept_unchecked=True)
    assert "lowlift_weights" not in list(made.files.values())[1]


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_both_files_are_sql_of_every_dialect(released, dialect):
    made = ll.export(released, "sql", dialect=dialect, dbt=True, table="people", id="id")
    for text in made.files.values():
        sql = rendered(text, LOWLIFT_SUBKEY="ab" * 20)
        assert isinstance(sqlglot.parse_one(sql, read=dialect), sqlglot.exp.Select)


def faults(connection, release, criterion):
    """What the check finds of the bound, with a criterion that the release need not satisfy."""
    written = DIALECTS["duckdb"]
    statement = Statement(carried(release), written, table_named("t"), "id", written.subkey())
    check = Check(statement, table_named("t"), limits_of(criterion))
    sql = check._with_tables(check._bound_fault()).sql("duckdb", identify=True)
    return connection.execute(sql).fetchone()[0]


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_decided_as_the_exact_audit_decides_it(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0 if seed % 3 == 0 else 1, 40, (3, 5))
    counts[:, 0] += 1
    joint = ll.Joint.from_counts(counts, s_labels=["a", "b", None], x_labels=[*"vwxy", None])
    weights = rng.random((joint.n_x, 4)) + 0.01
    channel = ll.Channel.from_probabilities(weights / weights.sum(axis=1, keepdims=True))
    rows = [
        (s, x)
        for s, line in zip(joint.s_labels, joint.counts, strict=True)
        for x, number in zip(joint.x_labels, line, strict=True)
        for _ in range(int(number))
    ]
    from lowlift.tables import Column, Origin

    origin = Origin(
        (Column("s", "text"),), (Column("x", "text"),), "value", "t", len(rows), None, "codes"
    )
    release = ll.Release.of(joint, channel, ll.MaxLift(700.0)).with_table(origin)
    worst = release.audit.max_lift_leakage
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (s TEXT, x TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        for budget in (0.0, worst * (1 - 1e-13), worst * (1 + 1e-13), 2 * worst, 11.0):
            for criterion in (ll.MaxLift(budget), ll.LIP(budget), ll.ALIP(0.5, budget)):
                verdict = ll.audit(joint, channel, criterion)
                assert (faults(connection, release, criterion) == 0) == verdict.is_satisfied
        constant = ll.Release.of(joint, ll.Channel(np.ones((joint.n_x, 1), int)), ll.MaxLift(0.0))
        assert faults(connection, constant.with_table(origin), ll.LIP(0.0)) == 0
