"""Wheel and sdist are built as `make package` builds them, and the wheel works alone."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "package"


@pytest.mark.second_lane
@pytest.mark.timeout(900)
def test_the_wheel_is_whole_and_runs_the_demo_in_an_empty_environment(tmp_path):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "twine finds no fault" in done.stdout
    assert "all of them" in done.stdout
    assert "safe.csv" in done.stdout
    assert len(list(tmp_path.iterdir())) == 2
