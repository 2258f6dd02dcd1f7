"""A ledger that cannot be asked or told: one sentence, nothing is published; --no-ledger is."""

import contextlib
import os
import resource
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from ledger_entries import entry
from lowlift._ledger import Ledger
from people import write_people

#: A user who owns nothing, where the tests run as root, who may write everywhere.
NOBODY = 65534


@pytest.fixture
def sanitize(lowlift, tmp_path):
    """Publish the people of the working folder."""
    write_people(tmp_path / "people.csv")

    def run(out, *more):
        return lowlift(
            *("sanitize", "people.csv", "-s", "disease", "-x", "ward", "--criterion", "lip"),
            *("--epsilon", 0.3, "--encoding", "codes", "-o", out, *more),
        )

    return run


def made(path):
    with Ledger(path) as ledger:
        ledger.add(entry())
    return path


def changed(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def check(sanitize, why, *more):
    """A publication ends in one line and leaves no file; without the ledger it takes place."""
    before = {path.name for path in Path().iterdir()}
    ran = sanitize("safe.csv", "--ledger", "bad/ledger.sqlite", *more)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert why in ran.err
    assert {path.name for path in Path().iterdir()} == before
    ran = sanitize("safe.csv", "--no-ledger")
    assert ran.code == 0, ran.err
    assert Path("safe.csv").exists()


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad").mkdir()
    return tmp_path / "bad" / "ledger.sqlite"


def test_a_ledger_of_another_version(sanitize, bad):
    changed(made(bad), "PRAGMA user_version = 2")
    check(sanitize, "ledger.sqlite must be a ledger of version 1; it is of version 2. Use the")


def test_a_damaged_ledger(sanitize, bad):
    os.truncate(made(bad), 5000)
    check(sanitize, "ledger.sqlite is damaged, or no ledger of lowlift. Put back a copy of it")


def test_a_locked_ledger(sanitize, bad, monkeypatch):
    made(bad)
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "patience", 0.05)
    with contextlib.closing(sqlite3.connect(bad, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        check(sanitize, "the ledger ledger.sqlite is locked by another process. Try again")


def test_a_ledger_that_is_locked_while_a_table_is_published(sanitize, bad, monkeypatch):
    """It can be read, and the entry of the publication cannot be written."""
    made(bad)
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "patience", 0.05)
    with contextlib.closing(sqlite3.connect(bad, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        check(sanitize, "the ledger ledger.sqlite is locked by another process. Try again")


@pytest.fixture
def as_user(monkeypatch, lowlift):
    """Work in a folder of a user who may not write everywhere."""
    folder = Path(tempfile.mkdtemp())
    write_people(folder / "people.csv")
    (folder / "bad").mkdir()
    monkeypatch.chdir(folder)
    yield folder
    (folder / "bad").chmod(0o700)
    shutil.rmtree(folder)


@contextlib.contextmanager
def without_rights(folder):
    """Be the owner of the folder, of whom its part "bad" is not to be written to."""
    for path in (folder, *folder.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    (folder / "bad").chmod(0o500)
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_folder_that_is_read_only(sanitize, as_user):
    os.chdir(as_user)
    with without_rights(as_user):
        check(sanitize, "ledger.sqlite cannot be made in ")


def test_a_ledger_in_a_folder_that_is_read_only(sanitize, as_user):
    os.chdir(as_user)
    made(as_user / "bad" / "ledger.sqlite")
    with without_rights(as_user):
        check(sanitize, "the ledger ledger.sqlite cannot be written in ")


def test_a_full_disk(sanitize, bad):
    """No file may grow beyond the ledger: its entry cannot be written, all others can."""
    with Ledger(bad) as ledger:
        for _ in range(100):  # large ones, as each is a transaction
            ledger.add(entry(people="others " * 4000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bad.stat().st_size, hard))
    try:
        check(sanitize, "the ledger ledger.sqlite cannot be written: the disk is full or fails.",
              "--people", "members " * 4000)  # fmt: skip
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Ledger(bad) as ledger:
        assert len(ledger.entries()) == 100
    assert sanitize("again.csv", "--ledger", bad).code == 0


def test_a_full_database_is_said_as_it_is(tmp_path):
    """SQLite takes the transaction back by itself when it is full."""
    with Ledger(made(tmp_path / "ledger.sqlite")) as ledger:
        pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ValueError, match="the disk is full or fails"):
            ledger.add(entry(people="members " * 4000))
        before = len(ledger.entries())
        ledger._connection.execute("PRAGMA max_page_count = 100000")
        ledger.add(entry())
        assert len(ledger.entries()) == before + 1
