"""``lowlift export --to sql`` and ``lowlift key subkey``: files, JSON and refusals."""

import json
import re

import duckdb
import pytest

from people import write_people

DESIGN = ("design", "people.csv", "-s", "disease", "-x", "ward", "--criterion", "lip")


@pytest.fixture
def designed(lowlift, tmp_path):
    write_people(tmp_path / "people.csv")
    more = ("--epsilon", 0.3, "--mechanism", "random-response", "--encoding", "codes")
    assert lowlift(*DESIGN, *more, "-o", "r.json").code == 0
    assert lowlift("key", "new", "draws.key").code == 0
    return ("export", "r.json", "--to", "sql", "--table", "people", "--id", "id")


def test_a_statement_is_printed_or_written_and_draws_by_the_subkey(lowlift, designed, tmp_path):
    printed = lowlift(*designed)
    assert printed.code == 0
    assert lowlift(*designed, "-o", "safe.sql").out == "Wrote safe.sql.\n"
    assert (tmp_path / "safe.sql").read_text("utf-8") == printed.out
    assert lowlift(*designed, "-o", "safe.sql").code == 2
    assert lowlift(*designed, "-o", "safe.sql", "--force").code == 0
    subkey = lowlift("key", "subkey", "r.json", "--key-file", "draws.key").out.strip()
    assert re.fullmatch("[0-9a-f]{40}", subkey)
    assert subkey not in printed.out
    with duckdb.connect() as connection:
        connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey}'")
        connection.execute(
            "CREATE VIEW people AS SELECT row_number() OVER () AS id, * "
            f"FROM read_csv('{tmp_path / 'people.csv'}')"
        )
        drawn = connection.execute(printed.out).fetchall()
        rows = connection.execute("SELECT count(*) FROM people").fetchone()[0]
    assert len(drawn) == rows


def test_two_files_for_dbt(lowlift, designed, tmp_path):
    found = json.loads(lowlift(*designed, "--dbt", "--model", "wards", "-o", "p", "--json").out)
    names = [["models", "wards.sql"], ["tests", "wards_is_protected.sql"]]
    assert [name.split("/") for name in found["files"]] == names
    assert all(tmp_path.joinpath("p", *name).exists() for name in names)


def test_refusals_are_one_line(lowlift, designed, tmp_path):
    (tmp_path / "short.key").write_bytes(bytes(31))
    (tmp_path / "short.key").chmod(0o600)
    for command, said in (
        ((*designed, "--dialect", "oracle"), "dialect must be one of duckdb"),
        (("export", "r.json", "--to", "sql", "--table", "t"), "because this release draws"),
        (("export", "r.json", "--to", "cobol"), "to must be one of sql"),
        (("key", "subkey", "r.json", "--key-file", "short.key"), "a key must be 32 bytes"),
    ):
        done = lowlift(*command)
        assert done.code == 2
        assert said in done.err
        assert done.err.count("\n") == 1
