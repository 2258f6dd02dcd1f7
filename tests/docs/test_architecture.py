"""Every file that docs/architecture.md names is there, and it names every module."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SOURCE = ROOT / "src" / "lowlift"
#: A file, or a folder with its slash.
NAME = re.compile(r"`([\w./]+(?:\.py|\.js|\.json|\.html|/))`")


def section(name):
    return PAGE.partition(f"## {name}\n")[2].partition("\n## ")[0]


def named():
    """Return each name with the folders in which it may be: those that its line named before."""
    found = []
    for line in PAGE.splitlines():
        folders = [SOURCE, ROOT]
        for name in NAME.findall(line):
            found.append((name, tuple(folders)))
            places = (base / name for base in (SOURCE, ROOT))
            folders += [place if name.endswith("/") else place.parent for place in places]
    return found


@pytest.mark.parametrize(("name", "folders"), named())
def test_what_is_named_is_there(name, folders):
    assert any((folder / name).exists() for folder in folders)


def test_every_module_is_named():
    names = {name.rstrip("/") for name in NAME.findall(section("The tree"))}
    hidden = {"__init__.py", "__main__.py", "__pycache__", "py.typed", "sampling.py"}
    assert not {path.name for path in SOURCE.iterdir()} - hidden - names


def test_the_five_changes_have_an_answer():
    changes = "kind of bins", "table engine", "criterion", "word on the verdict", "new export"
    assert all(change in section("Where a change goes") for change in changes)
