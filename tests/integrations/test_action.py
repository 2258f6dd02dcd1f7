"""action.yml: its steps are run by bash, with the variables that GitHub sets."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from people import write_people

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]
CONFIG = """
[tables.wards]
table = "people.csv"
sensitive = "disease"
released = ["ward"]
others_stay = true
at_most = {factor}
"""


def run(step, temporary, cwd, /, **inputs):
    """Run a step as GitHub does: bash -e with pipefail, inputs in the environment."""
    defaults = {name: given.get("default", "") for name, given in ACTION["inputs"].items()}
    given = defaults | inputs
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text)
        for name, text in step.get("env", {}).items()
    }
    files = {name: temporary / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.touch()
    environment |= {name: str(path) for name, path in files.items()}
    environment |= {"RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return done, outputs, files["GITHUB_STEP_SUMMARY"].read_text()


@pytest.fixture
def places(tmp_path):
    """The repository that is checked, and the runner's folder with an installed lowlift."""
    runner, checked = tmp_path / "runner", tmp_path / "checked"
    binaries = runner / "lowlift" / "bin"
    binaries.mkdir(parents=True)
    checked.mkdir()
    for name, words in (("python", ""), ("lowlift", " -P -m lowlift")):
        path = binaries / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        path.chmod(0o755)
    write_people(checked / "people.csv")
    return runner, checked


@pytest.mark.parametrize(("factor", "code", "word"), [(4, 0, "holds"), (1.5, 1, "breaks")])
def test_the_exit_code_the_outputs_and_the_summary_tell(places, factor, code, word):
    runner, checked = places
    (checked / "lowlift.toml").write_text(CONFIG.format(factor=factor))
    done, outputs, summary = run(GATE, runner, checked)
    assert done.returncode == code, done.stderr
    assert outputs["is-ok"] == str(code == 0).lower()
    found = json.loads(Path(outputs["json"]).read_text())
    assert found["tables"]["wards"]["state"] == word
    assert f"- **wards**: {word}. LIP(epsilon=" in summary
    assert summary in done.stdout


def test_bad_input_is_told_and_its_name_is_not_run(places):
    runner, checked = places
    done, outputs, summary = run(GATE, runner, checked, config="$(touch made); x.toml")
    assert (done.returncode, outputs["is-ok"]) == (2, "false")
    assert "is not there" in summary
    assert not (checked / "made").exists()


def test_no_code_of_the_checked_repository_is_run(places):
    runner, checked = places
    (checked / "lowlift.toml").write_text(CONFIG.format(factor=1.5))
    for name in ("json", "lowlift", "typer"):
        (checked / f"{name}.py").write_text(f"open({str(checked / 'ran')!r}, 'a').write('{name} ')")
    done, outputs, summary = run(GATE, runner, checked)
    assert not (checked / "ran").exists(), (checked / "ran").read_text()
    assert (done.returncode, outputs["is-ok"]) == (1, "false"), done.stderr
    assert "- **wards**: breaks." in summary
    calls = [re.findall(r'python3?"? (\S+)', step["run"]) for step in (INSTALL, GATE)]
    assert calls == [["-I", "-I"], ["-I"]]


def test_inputs_reach_the_shell_by_the_environment_only():
    for step in (INSTALL, GATE):
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == set(ACTION["inputs"])


@pytest.mark.second_lane
@pytest.mark.timeout(900)
def test_the_first_step_installs_what_the_second_runs(tmp_path, monkeypatch):
    runner, checked = tmp_path / "runner", tmp_path / "checked"
    runner.mkdir()
    checked.mkdir()
    for name in ("venv", "pip", "json"):
        (checked / f"{name}.py").write_text("raise SystemExit('the checked repository runs')")
    monkeypatch.setenv("PIP_NO_COMPILE", "0")  # pip's way to say: install no bytecode
    done, *_ = run(INSTALL, runner, checked, extras="sklearn")
    assert done.returncode == 0, done.stdout + done.stderr
    write_people(checked / "people.csv")
    (checked / "lowlift.toml").write_text(CONFIG.format(factor=4))
    done, outputs, _ = run(GATE, runner, checked)
    assert (done.returncode, outputs["is-ok"]) == (0, "true"), done.stderr
