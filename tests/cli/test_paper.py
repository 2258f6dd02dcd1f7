"""``lowlift paper`` as a user runs it: in a process of its own."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lowlift as ll

COMMAND = [sys.executable, "-m", "lowlift._cli"]
# Warnings are errors there as well; a plain terminal makes help the same everywhere.
ENVIRONMENT = os.environ | {"PYTHONWARNINGS": "error", "COLUMNS": "100", "NO_COLOR": "1"}
TINY = ("--quick", "--joints", "2")


def lowlift(*arguments, cwd=None):
    found = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        cwd=cwd,
        env=ENVIRONMENT,
        check=False,
    )
    assert "Traceback" not in found.stdout + found.stderr
    return found


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.second_lane
def test_it_writes_the_page_and_says_where(tmp_path):
    found = lowlift("paper", 4, *TINY, "--jobs", 2, "--seed", 3, "--out", "here", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"Wrote {Path('here') / 'index.html'}\n"
    expected = ["comparison.json", "figure-4.csv", "figure-4.png", "figure-4.svg", "index.html"]
    expected += ["pieces", "propositions.csv", "reproduction.json"]
    assert names(tmp_path / "here") == expected
    manifest = json.loads((tmp_path / "here" / "reproduction.json").read_text("utf-8"))
    assert manifest["figures"] == [4]
    assert (manifest["seed"], manifest["joints"], manifest["quick"]) == (3, 2, True)


@pytest.mark.second_lane
def test_a_figure_is_drawn_at_another_size(tmp_path):
    size = ["--x", 30, "--s", 8, "--joints", 1, "--lambda", 0.4, "--budget", 4, "--seconds", 2]
    found = lowlift("paper", 5, *size, "--jobs", 1, "--out", tmp_path / "larger")
    assert (found.returncode, found.stderr) == (0, "")
    manifest = json.loads((tmp_path / "larger" / "reproduction.json").read_text("utf-8"))
    assert (manifest["n_x"], manifest["n_s"], manifest["lambdas"]) == (30, 8, [0.4])
    assert (manifest["epsilons"], manifest["seconds"]) == ([4.0], 2.0)
    with (tmp_path / "larger" / "figure-5.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "nmi"]
    kept = {row["series"]: float(row["ours"]) for row in rows}
    assert kept["subset-merging"] <= kept["srr"] + 1e-9
    assert kept["srr"] <= kept["aorr"] + 1e-9
    text = (tmp_path / "larger" / "index.html").read_text("utf-8")
    assert "means over 1 random joint (" in text
    assert "1 joints" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["9"], "figures must be numbers from 1 to 8; got 9."),
        (["4", "--joints", "0"], "joints must be 1 or more; got 0."),
        (["4", "--jobs", "0"], "jobs must be 1 or more; got 0."),
        (["4", "--seed", "-1"], "seed must be 0 or more; got -1."),
        (["4", "--x", "1"], "x must be a whole number, 2 or more; got 1."),
        (["4", "--budget", "-1"], "budgets must be above 0 and finite; got [-1.0] nats."),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(arguments, message, tmp_path):
    found = lowlift("paper", *arguments, "--out", tmp_path / "new")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == f"lowlift: {message}\n"
    assert names(tmp_path) == []


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_bytes(b"precious")
    found = lowlift("paper", 1, "--out", tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(f"lowlift: {tmp_path} holds something")
    assert found.stderr.count("\n") == 1
    assert (tmp_path / "thesis.txt").read_bytes() == b"precious"
    assert names(tmp_path) == ["thesis.txt"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "notes").write_bytes(b"precious")
    found = lowlift("paper", 1, "--out", tmp_path / "notes" / "result")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("lowlift: ")
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["4"], "--out"), (["four", "--out", "x"], "integer"), (["4", "--out", "x", "--no"], "--no")],
)
def test_usage_errors(arguments, message, tmp_path):
    found = lowlift("paper", *arguments, cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert "Usage: lowlift paper" in found.stderr
    assert message in found.stderr
    assert names(tmp_path) == []


def test_version():
    found = lowlift("--version")
    assert (found.returncode, found.stdout, found.stderr) == (0, f"lowlift {ll.__version__}\n", "")


def test_help():
    found = lowlift("--help")
    assert (found.returncode, found.stderr) == (0, "")
    assert "paper" in found.stdout
    more = lowlift("paper", "--help")
    assert (more.returncode, more.stderr) == (0, "")
    for option in ("FIGURE", "--out", "--joints", "--quick", "--seed", "--jobs"):
        assert option in more.stdout


def lines(path):
    """The whole lines of a file that may still be written."""
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


@pytest.mark.second_lane
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    """Ctrl-C reaches the whole group of processes, as here."""
    pieces = tmp_path / "pieces" / "figure-4.jsonl"
    arguments = ["paper", "4", *TINY, "--jobs", "2", "--out", str(tmp_path)]
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not lines(pieces) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    # Both are 130 in a shell; Python ends by the signal when it came within exec("...").
    assert process.returncode in {130, -signal.SIGINT}, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert stderr.count("\n") <= 1
    kept = lines(pieces)
    assert 0 < len(kept) < 19
    assert not (tmp_path / "index.html").exists()
    found = lowlift(*arguments)
    assert (found.returncode, found.stderr) == (0, "")
    assert (tmp_path / "index.html").exists()
    # Those were not run again: their seconds are the same.
    assert lines(pieces)[: len(kept)] == kept
    assert len(lines(pieces)) == 19
