"""Every command of the documentation is run, and the pages show what their commands print."""

import re

import pytest

from documentation import ROOT, run_page

COMMANDS = re.compile(r"^```(?:console|sh|bash|shell)$|^```python\n(?!>>>)", re.MULTILINE)
PAGES = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if COMMANDS.search(path.read_text("utf-8")) and path.name not in {"CHANGELOG.md", "paper.md"}
]


@pytest.mark.second_lane
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_shows_what_its_commands_print(page):
    run_page(page)


@pytest.mark.second_lane
@pytest.mark.timeout(2400)
@pytest.mark.xdist_group("full paper")
def test_the_page_of_the_paper_shows_what_its_commands_print(full_paper):
    names = {path.name for path in full_paper.iterdir()}
    assert {"reproduction", "quick", "larger", "orders"} <= names
