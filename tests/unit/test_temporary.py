"""Temporary files beside an output: those of dead processes are removed, no others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lowlift._temporary import is_abandoned, temporary_beside, temporary_table

MAKE = """
import sys
from pathlib import Path
from lowlift._temporary import temporary_beside
made = temporary_beside(Path(sys.argv[1]))
made.touch()
print(made, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def process(tmp_path):
    """A process that made a temporary file and has not ended."""
    command = [sys.executable, "-c", MAKE, str(tmp_path / "safe.csv")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        running.made = Path(running.stdout.readline().decode().strip())
        yield running
        running.kill()


@pytest.mark.parametrize("suffix", [".wal", "-journal"])  # of DuckDB, of SQLite
def test_what_a_killed_process_left_is_removed_by_the_next(process, tmp_path, suffix):
    log = process.made.with_name(process.made.name + suffix)
    log.touch()
    assert process.made.exists()
    process.kill()
    process.wait()
    temporary_beside(tmp_path / "other.parquet")
    assert list(tmp_path.iterdir()) == []


def test_files_of_live_processes_stay(process, tmp_path):
    mine = temporary_beside(tmp_path / "safe.csv")
    mine.touch()
    temporary_beside(tmp_path / "safe.csv")
    assert {mine, process.made} == set(tmp_path.iterdir())


def test_the_number_of_a_dead_process_may_be_used_again(tmp_path):
    mine = temporary_beside(tmp_path / "safe.csv")
    older = re.sub(rf"-{os.getpid()}-(\d+)-", f"-{os.getpid()}-1-", mine.name)
    assert older != mine.name
    (tmp_path / older).touch()
    temporary_beside(tmp_path / "safe.csv")
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_removed(process, tmp_path):
    process.kill()
    process.wait()
    name = process.made.name
    process.made.unlink()
    machine = name.split(".")[3].split("-")[0]
    others = [
        name.replace(f".{machine}-", ".00000000-"),  # another machine's
        name.removesuffix(".part"),
        name + ".txt",
        ".safe.csv.0123456789ab.part",
        "safe.csv",
    ]
    for other in others:
        (tmp_path / other).touch()
    (tmp_path / name).symlink_to("safe.csv")
    temporary_beside(tmp_path / "safe.csv")
    assert len(list(tmp_path.iterdir())) == len(others) + 1


def test_a_folder_of_a_dead_process_is_removed_with_what_is_in_it(process, tmp_path):
    process.kill()
    process.wait()
    folder = tmp_path / process.made.name.replace("safe", "folder")
    folder.mkdir()
    (folder / "part-0.parquet").touch()
    temporary_beside(tmp_path / "safe.csv")
    assert not folder.exists()


def test_a_table_of_a_dead_process_is_told_by_its_name(process):
    mine, part = temporary_table(), process.made.name.split(".")[3]
    theirs = f"lowlift_{part.replace('-', '_')}"
    assert not is_abandoned(mine)
    assert not is_abandoned(theirs)
    process.kill()
    process.wait()
    assert is_abandoned(theirs)
    for other in ("lowlift_0123456789abcdef", "lowlift_old_0123456789abcdef", f"{theirs}_2"):
        assert not is_abandoned(other)


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    assert temporary_beside(tmp_path / "none" / "safe.csv").parent == tmp_path / "none"
