"""Every command of the documentation is run, and the pages show what their commands print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "howto"
COMMANDS = re.compile(r"^```(?:console|sh|bash|shell)$|^```python\n(?!>>>)", re.MULTILINE)
PAGES = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if COMMANDS.search(path.read_text("utf-8")) and path.name != "CHANGELOG.md"
]


@pytest.mark.second_lane
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_shows_what_its_commands_print(page):
    found = subprocess.run(
        [sys.executable, str(SCRIPT), "--check", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == 77 and not os.environ.get("CI"):
        pytest.skip(found.stderr)
    assert found.returncode == 0, found.stderr
