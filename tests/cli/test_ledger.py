"""``lowlift ledger`` and the options of commands that publish."""

import csv
import json
import stat
from pathlib import Path

import pytest

from people import write_people


@pytest.fixture
def sanitize(lowlift, tmp_path):
    write_people(tmp_path / "people.csv")

    def run(out, *more, released="ward", epsilon=0.3):
        return lowlift(
            *("sanitize", "people.csv", "-s", "disease", "-x", released, "--criterion", "lip"),
            *("--epsilon", epsilon, "--encoding", "codes", "-o", out, *more),
        )

    return run


@pytest.fixture
def own(monkeypatch, tmp_path):
    """The ledger of a user whose data folder is the test's."""
    monkeypatch.delenv("LOWLIFT_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "lowlift" / "ledger.sqlite"


def publications(lowlift, *more):
    return json.loads(lowlift("ledger", "show", "--json", *more).out)["publications"]


def test_commands_ask_and_tell_the_ledger_of_the_user(lowlift, sanitize, own):
    assert sanitize("a.csv").code == 0
    (found,) = publications(lowlift)
    assert (found["output"], found["recipient"], found["state"]) == (
        "a.csv",
        "everybody",
        "published",
    )
    ran = sanitize("b.csv")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "together with 1 earlier publication of the same people" in ran.err
    assert "lowlift refine" in ran.err
    assert not Path("b.csv").exists()
    assert own.exists()


@pytest.mark.parametrize("more", [("--no-ledger",), ()])
def test_the_ledger_is_turned_off_in_one_line(sanitize, own, monkeypatch, more):
    if not more:
        monkeypatch.setenv("LOWLIFT_LEDGER", "off")
    assert sanitize("a.csv", *more).code == 0
    assert sanitize("b.csv", *more).code == 0
    assert not own.exists()


def test_an_option_names_another_ledger(lowlift, sanitize, own):
    assert sanitize("a.csv", "--ledger", "mine.sqlite", "--to", "one").code == 0
    assert sanitize("b.csv", "--ledger", "mine.sqlite", "--to", "two").code == 0
    assert not own.exists()
    shown = lowlift("ledger", "show", "--ledger", "mine.sqlite")
    assert shown.code == 0
    assert "2 publications" in shown.out
    ran = sanitize("c.csv", "--ledger", "mine.sqlite", "--no-ledger")
    assert "give --ledger or --no-ledger, not both" in ran.err


@pytest.mark.parametrize("width", [60, 140])
def test_a_ledger_can_be_read_on_any_screen(lowlift, sanitize, own, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert sanitize("a.csv", "--to", "Ministry of Health").code == 0
    shown = lowlift("ledger", "show").out
    assert "people.csv: ward" in shown
    assert "Ministry of Health" in shown
    assert max(map(len, shown.splitlines()[1:])) <= width  # the first names the file


def test_a_file_that_is_no_ledger_is_named_before_its_mode(lowlift, own):
    Path("other.csv").write_text("a,b\n" * 400)
    Path("other.csv").chmod(0o644)
    assert "no ledger of lowlift" in lowlift("ledger", "show", "--ledger", "other.csv").err


def test_a_bound_is_shown_as_it_was_given(lowlift, sanitize, own):
    assert sanitize("a.csv", epsilon=0.1).code == 0
    given = ("--for", "population", "--confidence", "0.9995", "--to", "one", "--total", "5")
    assert sanitize("b.csv", *given, epsilon=0.7).code == 0
    shown = lowlift("ledger", "show").out
    assert "LIP(0.1)" in shown
    assert "Population(LIP(0.7), 0.9995)" in shown


def test_a_total_and_a_withdrawal_let_a_table_through(lowlift, sanitize, own):
    assert sanitize("a.csv").code == 0
    assert sanitize("b.csv", "--total", 3).code == 0
    assert sanitize("c.csv").code == 1
    for found in publications(lowlift):
        assert lowlift("ledger", "withdraw", found["id"]).code == 0
    assert sanitize("c.csv").code == 0
    states = [found["state"] for found in publications(lowlift)]
    assert states == ["withdrawn", "withdrawn", "published"]
    assert lowlift("ledger", "withdraw", "nothing").code == 2


def test_what_was_applied_is_recorded_with_its_release(lowlift, sanitize, own):
    design = lowlift(
        *("design", "people.csv", "-s", "disease", "-x", "ward", "--criterion", "lip"),
        *("--epsilon", 0.3, "-o", "r.json"),
    )
    assert design.code == 0, design.err
    assert lowlift("apply", "people.csv", "r.json", "-o", "a.csv").code == 0
    ran = lowlift("apply", "people.csv", "r.json", "-o", "b.csv")
    assert ran.code == 1
    Path("r.json").rename("moved.json")
    ran = lowlift("apply", "people.csv", "moved.json", "-o", "b.csv")
    assert "r.json is gone or is another one" in ran.err
    assert "--accept-unaudited" in ran.err
    ran = lowlift("apply", "people.csv", "moved.json", "-o", "b.csv", "--earlier", "moved.json")
    assert "together with 1 earlier" in ran.err
    ran = lowlift("apply", "people.csv", "moved.json", "-o", "b.csv", "--accept-unaudited")
    assert ran.code == 0
    assert publications(lowlift)[-1]["is_unaudited"]


def test_check_finds_a_release_that_is_gone_and_what_breaks_together(lowlift, sanitize, own):
    assert sanitize("a.csv").code == 0
    assert lowlift("ledger", "check").code == 0
    assert lowlift("ledger", "check", "people.csv").code == 0
    assert sanitize("b.csv", "--total", 3).code == 0
    found = json.loads(lowlift("ledger", "check", "people.csv", "--json").out)
    assert [check["is_ok"] for check in found["checks"]] == [True, True, False]
    assert "together with 1 earlier" in found["checks"][-1]["detail"]
    Path("a.release.json").unlink()
    ran = lowlift("ledger", "check")
    assert ran.code == 1
    assert "NO" in ran.out


@pytest.mark.parametrize("name", ["ledger.json", "ledger.csv"])
def test_export_writes_no_value_of_the_data(lowlift, sanitize, own, name):
    assert sanitize("a.csv").code == 0
    assert lowlift("ledger", "export", "-o", name).code == 0
    text = Path(name).read_text("utf-8")
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    for value in ("asthma", "cholera", "east", "p17"):
        assert value not in text
    rows = json.loads(text)["publications"] if name.endswith("json") else None
    rows = rows or list(csv.DictReader(text.splitlines()))
    assert rows[0]["output"] == "a.csv"
    assert lowlift("ledger", "export", "-o", name).code == 2
    assert lowlift("ledger", "export", "-o", "ledger.txt").code == 2


def test_bad_ledgers_end_in_one_line(lowlift, sanitize, own, tmp_path):
    ran = lowlift("ledger", "show", "--ledger", "none.sqlite")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    bad = tmp_path / "bad.sqlite"
    bad.write_text("no database" * 100)
    bad.chmod(0o600)
    for command in (("ledger", "show"), ("ledger", "check")):
        ran = lowlift(*command, "--ledger", "bad.sqlite")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "is damaged, or no ledger of lowlift" in ran.err
    ran = sanitize("a.csv", "--ledger", "bad.sqlite")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert not Path("a.csv").exists()


def test_a_setting_turns_the_ledger_off_and_on(lowlift, sanitize, own):
    assert lowlift("ledger", "off").out == "Your ledger is off.\n"
    assert sanitize("a.csv").code == 0
    assert sanitize("b.csv").code == 0
    assert not own.exists()
    assert "the ledger is off" in lowlift("ledger", "show").err
    assert json.loads(lowlift("ledger", "on", "--json").out)["is_on"]
    assert sanitize("c.csv").code == 0
    assert sanitize("d.csv").code == 1
