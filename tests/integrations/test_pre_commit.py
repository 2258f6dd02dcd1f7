"""The hooks of .pre-commit-hooks.yaml, run by pre-commit itself on a repository of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lowlift.tables.sources import _DATABASES, _SUFFIXES, file_format
from people import write_people

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
CONFIG = """
[tables.wards]
table = "data/people.csv"
sensitive = "disease"
released = ["ward"]
others_stay = true
at_most = {factor}
"""


def run(*command, cwd, check=True):
    there = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{there}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(cwd.parent / "home"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "COLUMNS": "200",
    }
    names = [f"-c user.{key}={value}" for key, value in (("name", "n"), ("email", "e@example"))]
    words = ["git", *" ".join(names).split(), *command[1:]] if command[0] == "git" else command
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=check, timeout=240
    )


@pytest.fixture
def repository(tmp_path):
    """A repository with a table, and one that has the hooks."""
    hooks, own = tmp_path / "hooks", tmp_path / "own"
    for folder in (hooks, own):
        folder.mkdir()
        run("git", "init", "-q", cwd=folder)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    # What language: system runs: the lowlift of the environment of these tests.
    run("git", "add", "-A", cwd=hooks)
    run("git", "commit", "-qm", "hooks", cwd=hooks)
    revision = run("git", "rev-parse", "HEAD", cwd=hooks).stdout.strip()
    hook = {"repo": str(hooks), "rev": revision, "hooks": [{"id": "lowlift-audit-system"}]}
    (own / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [hook]}))
    (own / "data").mkdir()
    write_people(own / "data" / "people.csv")
    (own / "README.md").write_text("words\n")
    return own


def committed(repository, factor):
    (repository / "lowlift.toml").write_text(CONFIG.format(factor=factor))
    run("git", "add", "-A", cwd=repository)
    return run(sys.executable, "-m", "pre_commit", "run", cwd=repository, check=False)


@pytest.mark.second_lane
def test_a_commit_of_a_table_that_breaks_its_bound_is_refused(repository):
    found = committed(repository, 4)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "Passed" in found.stdout
    found = committed(repository, 1.5)
    assert found.returncode == 1
    assert "wards: LIP(epsilon=0.405" in found.stdout
    # A commit that touches no table is not looked at.
    run("git", "commit", "-qm", "tables", "--no-verify", cwd=repository)
    (repository / "README.md").write_text("other words\n")
    run("git", "add", "-A", cwd=repository)
    found = run(sys.executable, "-m", "pre_commit", "run", cwd=repository, check=False)
    assert (found.returncode, "Skipped" in found.stdout) == (0, True)


@pytest.mark.parametrize("suffix", [*_SUFFIXES, *_DATABASES, ".csv.gz", ".tsv.gz"])
def test_hooks_look_at_every_name_that_a_table_can_have(suffix):
    """In any case: a table of such a name is read, and its commit must be looked at."""
    looked_at = re.compile(HOOKS[0]["files"])
    for name in (f"people{suffix}", f"data/PEOPLE{suffix.upper()}"):
        assert suffix in _DATABASES or file_format(name)
        assert looked_at.search(name)
    assert looked_at.search("lowlift.toml")
    assert not looked_at.search("README.md")


def test_both_hooks_run_the_same_command_on_the_same_files():
    installed, system = HOOKS
    assert [hook["id"] for hook in HOOKS] == ["lowlift-audit", "lowlift-audit-system"]
    assert (installed["language"], system["language"]) == ("python", "system")
    for key in ("entry", "files", "require_serial"):
        assert installed[key] == system[key]
