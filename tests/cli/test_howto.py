"""docs/howto.md shows what its commands print."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_howto_is_what_the_commands_print():
    found = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "howto"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
