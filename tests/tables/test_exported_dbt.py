"""The texts of a dbt model and its test, and the bound that the test decides."""

import re
from collections import Counter

import duckdb
import jinja2
import numpy as np
import pandas as pd
import pytest
import sqlglot

import lowlift as ll
from documentation import ROOT
from lowlift._exports.carrying import carried
from lowlift._exports.checks import Check, limits_of
from lowlift._exports.dialects import DIALECTS
from lowlift._exports.statements import Statement
from lowlift.tables.dialects import table_named
from lowlift.workflow import design

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


def designed():
    schema = ll.Schema("ill", ["age", "{{ ward"], bins={"age": "width:20"})
    method = {"mechanism": "random-response", "encoding": "values", "time_limit": 2}
    return design(people(), schema, ll.LIP(0.3), **method).encoded.release


@pytest.fixture(scope="module")
def released():
    return designed()


def rendered(text):
    """Return what dbt would send: Jinja with its functions."""
    names = {
        "ref": lambda name: name,
        "source": lambda schema, name: f'"{schema}_{name}"',
        "env_var": lambda *_: "ab" * 20,
        "config": lambda **_: "",
    }
    return jinja2.Environment(autoescape=False).from_string(text).render(**names)


def asked_of_dbt(text):
    """Return what stands in a file for dbt to fill, but for braces and line ends of values."""
    found = re.findall(r"{{ (.*?) }}", text)
    return Counter(words for words in found if not words.startswith("'"))


def test_files_ask_dbt_for_tables_and_a_variable_and_nothing_else(released):
    made = ll.export(released, "sql", dbt=True, table="people", id="id")
    names = [["models", "safe.sql"], ["tests", "safe_is_protected.sql"]]
    assert [name.split("/") for name in made.files] == names
    model, test = map(asked_of_dbt, made.files.values())
    key = 'env_var("LOWLIFT_SUBKEY_SAFE", "")'
    assert model == {'config(materialized="table")': 1, key: 1, 'ref("people")': 3}
    assert test == {'ref("people")': 1, 'ref("safe")': 2}


def test_files_name_a_source_a_model_and_a_table_of_the_subkey(released):
    place = {"table": "raw.people", "model": "wards", "id": "id"}
    made = ll.export(released, "sql", dbt=True, key_table="key_of", **place)
    model, test = map(asked_of_dbt, made.files.values())
    source = 'source("raw", "people")'
    assert model == {'config(materialized="table")': 1, 'ref("key_of")': 1, source: 3}
    assert test == {source: 1, 'ref("wards")': 2}
    by_variable = asked_of_dbt(ll.export(released, "sql", dbt=True, **place).text)
    assert by_variable['env_var("LOWLIFT_SUBKEY_WARDS", "")'] == 1


@pytest.mark.parametrize("page", ["export.md", "gate.md"])
def test_the_documentation_names_the_versions_that_tests_run(page):
    said = " ".join((ROOT / "docs" / "guide" / page).read_text("utf-8").split())
    versions = (ROOT / "constraints-dbt.txt").read_text("utf-8")
    names = ("dbt-core", "dbt-duckdb")
    core, adapter = (re.search(rf"^{name}==(\d+\.\d+)", versions, re.MULTILINE) for name in names)
    assert f"dbt-core {core[1]} with dbt-duckdb {adapter[1]}" in said


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
        sql = rendered(text)
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
