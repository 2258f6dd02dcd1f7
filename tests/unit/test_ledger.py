"""The file of the ledger: what it keeps, and what it refuses."""

import os
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_entries import entry
from lowlift import InvalidInput
from lowlift._ledger import Ledger, default_ledger
from lowlift._temporary import is_dead, this_process


def test_entries_come_back_as_they_were_written(tmp_path):
    first, second = entry(), entry(people="members", kept=("year",), is_unaudited=True)
    with Ledger(tmp_path / "folder" / "ledger.sqlite") as ledger:
        ledger.add(first)
        ledger.add(second)
        ledger.end(second, is_published=True)
    with Ledger(tmp_path / "folder" / "ledger.sqlite", must_exist=True) as ledger:
        assert ledger.entries() == [first, replace(second, state="published")]
    assert stat.S_IMODE((tmp_path / "folder" / "ledger.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["ledger.sqlite"]


def test_a_run_that_ended_without_a_receipt_published_nothing(tmp_path):
    code = "from lowlift._temporary import this_process; print(this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    dead = done.stdout.strip()
    assert is_dead(dead)
    assert not is_dead(this_process())
    assert entry().is_held  # begun by this process, which runs
    assert not entry(process=dead).is_held
    assert not entry(process=dead, receipt_file=str(tmp_path / "none.receipt.json")).is_held
    damaged = tmp_path / "damaged.receipt.json"
    damaged.write_text("{")
    assert entry(process=dead, receipt_file=str(damaged)).is_held
    assert not entry(state="failed").is_held


def test_what_was_never_handed_out_is_withdrawn(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        one = entry()
        ledger.add(one)
        ledger.end(one, is_published=True)
        assert not ledger.withdraw(one.id).is_held
        with pytest.raises(InvalidInput, match="an id must be that of a publication that counts"):
            ledger.withdraw(one.id)


def test_a_check_sees_all_entries_and_may_refuse(tmp_path):
    def refuse(entries):
        raise InvalidInput(f"{len(entries)} there.")

    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.add(entry())
        with pytest.raises(InvalidInput, match="1 there"):
            ledger.add(entry(), refuse)
        assert len(ledger.entries()) == 1


def made(path):
    with Ledger(path) as ledger:
        for _ in range(200):
            ledger.add(entry())
    return path


def changed(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("size", [0, 1, 20, 1000, 5000, 20_000])
def test_a_truncated_ledger_is_refused(tmp_path, size):
    path = made(tmp_path / "ledger.sqlite")
    assert path.stat().st_size > size
    os.truncate(path, size)
    with pytest.raises(InvalidInput, match=r"ledger\.sqlite is damaged, or no ledger") as refused:
        Ledger(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 2", "must be a ledger of version 1; it is of version 2"),
        ("PRAGMA application_id = 7", "is no ledger of lowlift"),
        ("DROP TABLE publications", "is damaged"),
        ("ALTER TABLE publications ADD COLUMN more TEXT", "is damaged"),
    ],
)
def test_another_ledger_is_refused(tmp_path, statement, message):
    path = made(tmp_path / "ledger.sqlite")
    changed(path, statement)
    with pytest.raises(InvalidInput, match=message):
        Ledger(path)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_text("people,disease\n" * 500)
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match="is damaged, or no ledger of lowlift"):
        Ledger(path)


def test_a_locked_ledger_is_refused_in_one_sentence(tmp_path):
    path = made(tmp_path / "ledger.sqlite")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InvalidInput, match="is locked by another process"):
        Ledger(path, patience=0.05)
    other.execute("ROLLBACK")
    with Ledger(path, patience=0.05) as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InvalidInput, match="is locked by another process"):
            ledger.add(entry())
    other.close()


def test_a_ledger_that_others_may_read_is_refused(tmp_path):
    path = made(tmp_path / "ledger.sqlite")
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="must be readable by its owner only: chmod 600 it"):
        Ledger(path)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "folder").write_text("")
    with pytest.raises(InvalidInput, match="cannot be made in"):
        Ledger(tmp_path / "folder" / "ledger.sqlite")
    with pytest.raises(InvalidInput, match="the ledger must exist"):
        Ledger(tmp_path / "none.sqlite", must_exist=True)


def test_the_ledger_of_a_user(monkeypatch, tmp_path):
    assert default_ledger() is None  # as tests must not write to it
    monkeypatch.setenv("LOWLIFT_LEDGER", str(tmp_path / "mine.sqlite"))
    assert default_ledger() == tmp_path / "mine.sqlite"
    monkeypatch.delenv("LOWLIFT_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_ledger() == tmp_path / "lowlift" / "ledger.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_ledger() == Path(tmp_path, ".local", "share", "lowlift", "ledger.sqlite")
