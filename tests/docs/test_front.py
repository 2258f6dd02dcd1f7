"""The front page: its picture is of a real run, and what is said beside it is true of it."""

import importlib
import importlib.machinery
import importlib.util
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def front():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("_pictures.front")


@pytest.fixture(scope="module")
def stored():
    """The words of the stored picture, in their order."""
    root = ET.fromstring((DOCS / "before-after.svg").read_text("utf-8"))
    return [item.text for item in root.iter(f"{SVG}text")]


def ranges(front):
    """Return, per disease, the two ranges as the picture writes them."""
    found = {}
    for name, _, raw, safe in front.beliefs():
        ends = f"{math.floor(100 * safe[0])}% to {math.ceil(100 * safe[1] - 1e-9)}%"
        found[name] = (f"{100 * raw[0]:.0f}% to {100 * raw[1]:.0f}%", ends)
    return found


def test_the_stored_picture_has_the_beliefs_of_the_run(front, stored):
    for name, pair in ranges(front).items():
        place = stored.index(name, stored.index("before") if "before" in stored else 0)
        assert any(stored[k + 1 : k + 3] == list(pair) for k in range(place, len(stored)))


def test_its_rows_are_rows_of_the_table(front, stored):
    rows = front.rows_of_the_table()
    start = next(k for k, text in enumerate(stored) if text.isdigit())
    for k in range(8):
        before = tuple(stored[start + 7 * k : start + 7 * k + 4])
        after = tuple(stored[start + 7 * k + 4 : start + 7 * k + 7])
        assert before in rows
        assert any(row[:3] == after for row in rows)


def test_a_bound_of_one_and_a_half_is_kept(front):
    made, _ = front.run()
    assert made.encoded.release.audit.is_satisfied
    for _, prior, raw, safe in front.beliefs():
        assert prior / 1.5 - 1e-12 <= safe[0] <= safe[1] <= 1.5 * prior + 1e-12
        assert raw[0] < safe[0] < prior < safe[1] < raw[1]


def test_what_is_said_beside_it_is_what_it_shows(front):
    raw, safe = ranges(front)["lungs"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"as it is, {raw} for lungs; published, {safe}]" in readme
    low, high = safe.split(" to ")
    caption = " ".join((DOCS / "index.md").read_text("utf-8").split())
    assert raw.startswith("0%")  # "some rule it out"
    assert f"lungs are ill with {raw.split(' to ')[1]}" in caption
    assert f"none says less than {low} or more than {high}" in caption


def test_the_picture_can_be_read_on_light_and_dark_pages(front):
    loader = importlib.machinery.SourceFileLoader("pictures", str(ROOT / "scripts" / "pictures"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec = importlib.util.spec_from_loader("pictures", loader)
        script = importlib.util.module_from_spec(spec)
        loader.exec_module(script)
    made = script.standalone(front.before_and_after())
    root = ET.fromstring(made)
    assert root.attrib["width"]
    style = root.find(f"{SVG}style").text
    assert "prefers-color-scheme: dark" in style
    used = {item.attrib["class"] for item in root.iter() if "class" in item.attrib}
    assert used <= set(re.findall(r"\.([\w-]+) \{", style))  # no class without a colour
    assert root.find(f"{SVG}rect").attrib["class"] == "ground"  # a ground of its own


def test_every_doi_is_a_link_to_itself():
    text = (DOCS / "bibliography.md").read_text("utf-8")
    found = re.findall(r"\[doi:(\S+?)\]\(https://doi\.org/(\S+?)\)\n", text)
    # One has none here: no second source confirmed it.
    assert len(found) == text.count("\n- ") - 1
    assert all(name == target for name, target in found)
    assert len(set(found)) == len(found)
