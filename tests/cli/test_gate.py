"""``lowlift gate`` and ``publish``: a file of tables and bounds, idempotent by the ledger."""

import json
import re
import sqlite3
import stat
from dataclasses import fields
from pathlib import Path

import pytest

import lowlift as ll
from lowlift import schemas
from lowlift._cli.bound_options import Budgets
from lowlift._cli.config import read_config
from lowlift._cli.gate import _belongs
from lowlift._explanations import page
from lowlift._ledger import Ledger
from people import COUNTS, sha256, write_people

FILE = """
[defaults]
sensitive = "disease"
released = ["ward"]
ledger = "ledger.sqlite"

[tables.wards]
table = "people.csv"
others_stay = true
at_most = {as_it_is}

[tables.people]
table = "people.csv"
at_most = 1.5
out = "safe.csv"
{more}
"""
KEYED = 'id = "pid"\nkey_file = "draws.key"'


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path / "people.csv")
    return tmp_path


def configure(folder, as_it_is=4, more="", **changes):
    text = FILE.format(as_it_is=as_it_is, more=more)
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "lowlift.toml").write_text(text)


def entries(folder):
    with Ledger(folder / "ledger.sqlite", must_exist=True) as ledger:
        return ledger.entries()


def test_gate_tells_which_table_breaks_its_bound(lowlift, folder):
    configure(folder)
    ran = lowlift("gate")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].startswith("wards: LIP(epsilon=1.386")
    assert "people: safe.csv is not published yet" in ran.out
    configure(folder, as_it_is=1.5)
    ran = lowlift("gate", "--json")
    data = json.loads(ran.out)
    assert (ran.code, data["exit_code"], data["is_ok"]) == (1, 1, False)
    assert data["tables"]["wards"]["state"] == "breaks"
    assert "DOES NOT HOLD" in data["tables"]["wards"]["verdict"]
    assert lowlift("gate", "--quiet") == (1, "", "")


def test_publishing_again_publishes_nothing(lowlift, folder):
    configure(folder)
    first = lowlift("publish")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("people: published 8,695 rows to safe.csv. LIP(")
    assert first.out.endswith("All tables are published.\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = lowlift("publish")
    assert again.code == 0
    assert again.out.startswith("people: already published: safe.csv is there, verified")
    assert again.out.endswith("Nothing new: all were published before.\n")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert len(entries(folder)) == 1
    assert entries(folder)[0].people == "people"
    assert lowlift("gate").code == 0


def test_paths_begin_at_the_folder_of_the_file(lowlift, folder, monkeypatch):
    configure(folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    config = ("--config", "../lowlift.toml")
    assert lowlift("publish", *config).code == 0
    assert (folder / "safe.receipt.json").exists()
    assert not list(elsewhere.iterdir())
    monkeypatch.chdir(folder)
    assert "already published" in lowlift("publish").out


@pytest.mark.parametrize("change", ["table", "bound"])
def test_what_changed_is_a_new_release_that_the_ledger_judges(lowlift, folder, change):
    configure(folder)
    assert lowlift("publish").code == 0
    before = sha256(folder / "safe.csv")
    changes = {}
    if change == "table":
        write_people(folder / "people.csv", [[n + 5 for n in row] for row in COUNTS])
    else:
        changes = {"at_most = 1.5": "at_most = 1.4"}
    configure(folder, **changes)
    ran = lowlift("publish", "--json")
    error = json.loads(ran.out)["tables"]["people"]["error"]
    assert (ran.code, error["exit_code"]) == (2, 2)
    what = {"table": "the table", "bound": "the settings"}[change]
    assert error["message"].startswith(f"{what} changed since safe.csv was published")
    assert "another out" in error["message"]
    configure(folder, **changes, **{'"safe.csv"': '"second.csv"'})
    ran = lowlift("publish")
    assert ran.code == 1
    assert "1 earlier publication of the same people" in ran.out
    assert not (folder / "second.csv").exists()
    assert sha256(folder / "safe.csv") == before
    assert len([entry for entry in entries(folder) if entry.is_held]) == 1


def test_the_same_draws_under_another_name_are_allowed(lowlift, folder):
    assert lowlift("key", "new", "draws.key").code == 0
    configure(folder, more=KEYED)
    assert lowlift("publish").code == 0
    configure(folder, more=KEYED, **{'"safe.csv"': '"copy.csv"'})
    assert lowlift("publish").code == 0
    assert [entry.draws for entry in entries(folder)] == ["keyed", "keyed"]
    (folder / "draws.key").unlink()
    lowlift("key", "new", "draws.key")
    assert "the settings changed" in lowlift("publish").out


def test_a_killed_run_can_be_repeated(lowlift, folder, monkeypatch):
    """It leaves an entry that was begun, a release and a codebook, and no receipt."""
    configure(folder)
    assert lowlift("publish").code == 0
    (folder / "safe.receipt.json").unlink()
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute("UPDATE publications SET state = 'pending', process = '1 1 gone'")
    connection.close()
    monkeypatch.setattr("lowlift._ledger.entries.is_dead", lambda _: True)
    ran = lowlift("publish")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "people: published 8,695 rows" in ran.out
    assert "already published" in lowlift("publish").out


@pytest.mark.parametrize("name", ["safe.csv", "safe.release.json", "safe.receipt.json"])
def test_what_is_gone_is_not_drawn_again(lowlift, folder, name):
    configure(folder)
    assert lowlift("publish").code == 0
    (folder / name).unlink()
    ran = lowlift("publish")
    assert ran.code == 2
    assert "drawing again would be a second release" in ran.out
    assert not (folder / name).exists()


def test_gate_finds_a_published_table_that_was_changed(lowlift, folder):
    configure(folder)
    assert lowlift("publish").code == 0
    path = folder / "safe.csv"
    path.write_text(path.read_text().replace("\n", "\n0\n", 1))
    ran = lowlift("gate")
    assert ran.code == 1
    assert "people: NOT verified: " in ran.out
    path.rename(folder / "other.csv")
    for part in ("receipt", "release", "codebook"):
        (folder / f"safe.{part}.json").unlink()
    (folder / "other.csv").rename(path)
    ran = lowlift("gate")
    assert ran.code == 2
    assert "must have its receipt beside it" in ran.out


def test_gate_refuses_what_was_drawn_by_a_seed(lowlift, folder):
    configure(folder)
    asked = ("sanitize", "people.csv", "-s", "disease", "-x", "ward", "--at-most", "1.5")
    assert lowlift(*asked, "-o", "safe.csv", "--seed", 7).code == 0
    ran = lowlift("gate", "--json")
    people = json.loads(ran.out)["tables"]["people"]
    assert (ran.code, people["state"], people["is_satisfied"]) == (1, "breaks", False)
    assert "drawn by a seed, and who knows it can undo them" in people["detail"]


def test_gate_refuses_kept_columns_that_the_bound_does_not_cover(lowlift, folder):
    configure(folder)
    asked = ("sanitize", "people.csv", "-s", "disease", "-x", "ward", "--at-most", "1.5")
    kept = ("--keep", "pid", "--accept-uncovered")
    assert lowlift(*asked, *kept, "-o", "safe.csv").code == 0
    ran = lowlift("gate")
    assert ran.code == 1
    assert "columns were published beside them that the limit does not cover" in ran.out
    configure(folder, more='keep = "pid"\naccept_uncovered = true')
    assert lowlift("gate").code == 0


def test_a_table_in_a_database_without_a_receipt_does_not_pass(lowlift, folder):
    import duckdb

    configure(folder, **{'"safe.csv"': '"w.duckdb?table=safe"'})
    with duckdb.connect(folder / "w.duckdb") as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS a")
    assert lowlift("gate").code == 0
    with duckdb.connect(folder / "w.duckdb") as connection:
        connection.execute("CREATE TABLE safe AS SELECT * FROM 'people.csv'")
    ran = lowlift("gate")
    assert ran.code == 2
    assert "must have its receipt beside it" in ran.out


def test_gate_judges_what_was_published_by_the_bound_of_the_file(lowlift, folder):
    configure(folder)
    assert lowlift("publish").code == 0
    configure(folder, **{"at_most = 1.5": "at_most = 1.2"})
    ran = lowlift("gate")
    assert ran.code == 1
    assert re.search(r"people: LIP\(epsilon=0.18\d+\) DOES NOT HOLD", ran.out)
    configure(folder, **{'sensitive = "disease"': 'sensitive = "year"'})
    assert "it protects others" in lowlift("gate").out


def test_gate_looks_at_the_tables_of_changed_files_only(lowlift, folder):
    write_people(folder / "others.csv")
    other = '\n[tables.others]\ntable = "others.csv"\nothers_stay = true\nat_most = 1.1'
    configure(folder, more=other)
    assert lowlift("gate").code == 1
    assert lowlift("gate", "people.csv").code == 0
    (folder / "README.md").touch()
    assert lowlift("gate", "README.md").out == "No table of the file is concerned.\n"
    assert lowlift("gate", "others.csv").code == 1
    assert "is neither" in lowlift("gate", "nowhere.csv").err
    assert lowlift("gate", "lowlift.toml").code == 1


def test_gate_refuses_a_table_with_columns_that_nobody_named(lowlift, folder):
    """They would leave with it, and nothing was judged of them."""
    configure(folder, **{"others_stay = true": ""})
    ran = lowlift("gate", "--json")
    data = json.loads(ran.out)["tables"]["wards"]
    assert (ran.code, data["state"]) == (2, "error")
    assert "it also has 'pid', 'year'" in data["detail"]
    assert "others_stay = true" in data["detail"]
    configure(folder)
    warned = lowlift("gate")
    assert warned.code == 0
    assert "only 'ward' was judged: no other column of the table may leave with it." in warned.out
    every = 'released = ["ward", "year", "pid"]\nbins = { year = "each" }'
    configure(folder, **{"others_stay = true": every})
    assert lowlift("gate", "people.csv").code == 1


def test_gate_says_that_what_was_published_is_gone(lowlift, folder):
    configure(folder)
    assert lowlift("publish").code == 0
    (folder / "safe.csv").rename(folder / "elsewhere.csv")
    ran = lowlift("gate", "--json")
    data = json.loads(ran.out)["tables"]["people"]
    assert (ran.code, data["state"]) == (2, "error")
    assert "its receipt is, and it is not. Put back a copy." in data["detail"]


SPARK = """
[tables.a]
table = "{table}"
engine = "spark"
sensitive = "ill"
released = "age"
at_most = 2
"""


@pytest.mark.parametrize(
    ("table", "is_pattern"),
    [("people.parquet", False), ("file://{}/people.parquet", False), ("*.parquet", True)],
)
def test_a_file_in_a_folder_that_spark_reads_belongs_to_its_table(
    folder, monkeypatch, table, is_pattern
):
    monkeypatch.chdir(folder)
    (folder / "people.parquet").mkdir()
    (folder / "lowlift.toml").write_text(SPARK.format(table=table.format(folder)))
    (job,) = read_config(folder / "lowlift.toml")
    for name in ("people.parquet/part-0.parquet", "people.parquet", "."):
        assert _belongs(job, {(folder / name).resolve()})
    assert _belongs(job, {folder / "others.parquet"}) == is_pattern


def test_gate_looks_at_a_changed_file_of_a_published_folder(lowlift, folder):
    configure(folder, **{'"safe.csv"': '"safe.parquet"'})
    (folder / "safe.parquet").mkdir()
    for name in ("safe.parquet/part-0.parquet", "others.parquet"):
        (folder / name).touch()
    found = lowlift("gate", "safe.parquet/part-0.parquet")
    assert found.code == 2
    assert "must have its receipt beside it" in found.out
    assert lowlift("gate", "others.parquet").out == "No table of the file is concerned.\n"


def test_a_database_is_compared_by_its_counts(lowlift, folder):
    import duckdb

    with duckdb.connect(folder / "w.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM 'people.csv'")
    configure(folder, **{'"people.csv"': '"w.duckdb?table=t"'})
    assert lowlift("publish").code == 0
    assert "already published" in lowlift("publish").out
    with duckdb.connect(folder / "w.duckdb") as connection:
        connection.execute("INSERT INTO t SELECT * FROM t LIMIT 7")
    assert "the table changed since safe.csv" in lowlift("publish").out


def test_gate_knows_rows_published_from_cells(lowlift, folder):
    configure(folder, more="cells = 4")
    assert lowlift("publish").code == 0
    ran = lowlift("gate")
    assert (ran.code, ran.err) == (0, "")
    configure(folder, more='bins = { ward = "each" }')
    assert "it has other bins of 'ward'" in lowlift("gate").out


def test_bins_cells_and_weights_are_those_of_the_command_line(folder):
    (folder / "c.toml").write_text(
        """
        [tables.a]
        table = "people.csv"
        sensitive = "disease"
        released = ["ward", "year"]
        bins = { year = [2000, 2010.5, 2020] }
        criterion = "alip"
        lower = 0.5
        upper = 0.7
        [tables.b]
        table = "people.csv"
        sensitive = ["disease"]
        at_most = ["disease=cholera:0.3", 2]
        for = "population"
        confidence = 0.9
        cells = 7
        min_rows = 30
        weights = { ward = 2 }
        out = "b.csv"
        """
    )
    a, b = read_config(folder / "c.toml")
    assert a.as_it_is == ll.Schema("disease", ["ward", "year"], bins={"year": [2000, 2010.5, 2020]})
    assert a.criterion == ll.ALIP(0.5, 0.7)
    rows = ll.Schema("disease", cells=7, min_rows=30, weights={"ward": 2})
    assert b.as_designed == rows
    assert b.criterion == ll.Population(ll.AtMost({"cholera": 0.3}, 2), 0.9)
    assert a.settings != b.settings
    assert a.settings == read_config(folder / "c.toml")[0].settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tables.a]\nsensitiv = 's'", "tables.a has the unknown key 'sensitiv'. Did you mean"),
        ("[table.a]", "has the unknown key 'table'. Did you mean 'tables'?"),
        ("[tables.a]\nkey-file = 'k'", "unknown key 'key-file'. Did you mean 'key_file'?"),
        ("[tables.a]\npassword = 'k'", "'password'. Secrets and seeds do not stand in this file"),
        ("[tables.a]\nseed = 7", "'seed'. Secrets and seeds do not stand in this file"),
        ("[tables.a]\nzzz = 1", "unknown key 'zzz'. It may have: table, sensitive"),
        ("[tables.a]\nsensitive = 1", "tables.a.sensitive must be a text or be a list; it is"),
        ("[tables.a]\nmissing = 'no'", "tables.a.missing must be 'value' or 'drop' or 'error'"),
        ("[tables.a]\nkeep_order = 'no'", "tables.a.keep_order must be true or false"),
        ("[tables]\na = 1", "tables.a must be a table, as in [tables.a]"),
        ("", "must name a table; it has none"),
        ("[tables.a]\nsensitive = 's'", "tables.a: say which table it is"),
        ("[tables.a]\ntable = 't.csv'", "tables.a: sensitive columns: name at least one"),
        ("[tables.a]\ntable = 't.csv'\nsensitive = 's'", "must name the released columns"),
        ("[tables.a]\ntable = 't'\nsensitive = 's'\nreleased = 'x'", "name a bound"),
        ("[tables.a]\ntable = 't'\nsensitive = 's'\nreleased = 'x'\nat_most = 0.5", "tables.a: "),
        (
            "[tables.a]\ntable = 't'\nsensitive = 's'\nreleased = 's'\nat_most = 2",
            "tables.a: a col",
        ),
        ("[tables.a", "must be TOML; it is not: "),
    ],
)
def test_a_bad_file_is_one_sentence_with_the_fix(lowlift, folder, text, words):
    (folder / "lowlift.toml").write_text(text)
    for command in ("gate", "publish"):
        ran = lowlift(command)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert words in ran.err


def test_two_tables_must_not_write_the_same_files(lowlift, folder):
    configure(
        folder, more='[tables.again]\ntable = "people.csv"\nat_most = 2\nout = "safe.parquet"'
    )
    ran = lowlift("publish")
    assert ran.code == 2
    assert "'people' and 'again' would both write safe.release.json. Rename one." in ran.err


def test_what_cannot_be_read_or_written_is_one_sentence(lowlift, folder, monkeypatch):
    assert "lowlift.toml is not there" in lowlift("gate").err
    configure(folder)
    (folder / "people.csv").rename(folder / "gone.csv")
    for command in ("gate", "publish"):
        ran = lowlift(command)
        assert ran.code == 2
        assert "a table's file must exist; 'people.csv' does not." in ran.out
        quiet = lowlift(command, "--quiet")
        assert (quiet.code, quiet.out) == (2, "")
        assert "a table's file must exist" in quiet.err
    (folder / "gone.csv").rename(folder / "people.csv")
    monkeypatch.setenv("LOWLIFT_LEDGER", "off")
    configure(folder, **{'ledger = "ledger.sqlite"': ""})
    assert "needs a ledger, which knows what was published; it is off" in lowlift("publish").out
    assert "'nobody' is none of them. They are: people." in lowlift("publish", "nobody").err
    configure(folder, **{'"safe.csv"': '"absent/safe.csv"'})
    ran = lowlift("publish")
    assert ran.code == 2
    assert "absent" in ran.out


def test_a_ledger_that_is_locked_is_one_sentence(lowlift, folder, monkeypatch):
    configure(folder)
    assert lowlift("publish").code == 0
    configure(folder, **{'"safe.csv"': '"other.csv"', "at_most = 1.5": "at_most = 9"})
    monkeypatch.setattr("lowlift._ledger.store._PATIENCE", 0.1)
    monkeypatch.setattr(Ledger.__init__, "__kwdefaults__", {"must_exist": False, "patience": 0.1})
    lock = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    ran = lowlift("publish")
    lock.close()
    assert ran.code == 2
    assert "ledger.sqlite is locked by another process" in ran.out
    (folder / "ledger.sqlite").chmod(stat.S_IRUSR | stat.S_IRGRP)
    assert "chmod 600" in lowlift("publish").out


def test_an_earlier_ledger_has_no_settings_and_is_read(tmp_path):
    with Ledger(tmp_path / "l.sqlite") as ledger:
        assert ledger.settings() == {}


def test_the_schema_has_every_key_and_the_example_fits(tmp_path):
    known = schemas.load("config")["$defs"]["settings"]["properties"]
    source = Path(read_config.__code__.co_filename).read_text("utf-8")
    source += Path(source and read_config.__code__.co_filename).with_name("gate.py").read_text()
    bounds = {field.name for field in fields(Budgets)}
    assert [key for key in known if f'"{key}"' not in source and key not in bounds] == []
    example = re.search(r"```toml\n(.*?)```", page("config"), re.DOTALL)[1]
    (tmp_path / "lowlift.toml").write_text(example)
    regions, people = read_config(tmp_path / "lowlift.toml")
    assert (regions.out, people.out) == (None, "safe/people.csv")
    assert people.criterion == ll.LIP.at_most(1.5)
