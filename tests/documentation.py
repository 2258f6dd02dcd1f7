"""Pages of the documentation, run by scripts/howto."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "howto"


def run_page(page, *options):
    """Run the commands of a page; fail where it does not show what they print."""
    found = subprocess.run(
        [sys.executable, str(SCRIPT), "--check", *map(str, options), str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == 77 and not os.environ.get("CI"):
        pytest.skip(found.stderr)
    assert found.returncode == 0, found.stderr
