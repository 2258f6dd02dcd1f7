"""A command run in the process of the tests."""

import sys
from typing import NamedTuple

import pytest

from lowlift.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def lowlift(monkeypatch, capsys, tmp_path):
    """Run a command in this process, in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["lowlift", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Ran(left.value.code, *capsys.readouterr())

    return run
