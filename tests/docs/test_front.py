"""The front page: its picture is of a real run, and what is said beside it is true of it."""

import importlib
import importlib.machinery
import importlib.util
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
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


def test_it_says_that_single_rows_say_more_than_groups(front, stored):
    rows = pd.DataFrame(front.rows_of_the_table())
    alike = rows.groupby([0, 1, 2])[3].transform("nunique")
    assert front.given_away() == (alike == 1).sum() > 0
    assert any(f"{front.given_away()} of {len(rows):,} give" in text for text in stored)


def test_a_bound_of_one_and_a_half_is_kept(front):
    made, _ = front.run()
    assert made.encoded.release.audit.is_satisfied
    for _, prior, raw, safe in front.beliefs():
        assert prior / 1.5 - 1e-12 <= safe[0] <= safe[1] <= 1.5 * prior + 1e-12
        assert raw[0] < safe[0] < prior < safe[1] < raw[1]


def test_what_is_said_beside_it_is_what_it_shows(front):
    raw, safe = ranges(front)["lungs"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"as it is, {raw} for lungs in groups of similar rows; published, {safe}]" in readme
    low, high = safe.split(" to ")
    caption = " ".join((DOCS / "index.md").read_text("utf-8").split())
    assert raw.startswith("0%")  # "some rule them out"
    assert f"give lungs a chance of {raw.split(' to ')[1]}" in caption
    assert f"no published row says less than {low} or more than {high}" in caption


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


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md"])
def test_links_outside_the_site_lead_to_a_file_and_a_heading(name):
    text = re.sub(
        r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert links
    for link in links:
        place, _, wanted = link.partition("#")
        page = ROOT / (place or name)
        assert page.is_file(), link
        titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE) if wanted else []
        slugs = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not wanted or wanted in slugs, link


def test_the_checker_is_as_short_as_pages_say():
    lines = len((ROOT / "checker" / "check.py").read_text("utf-8").splitlines())
    for page in (ROOT / "README.md", DOCS / "faq.md", DOCS / "guide" / "audit-a-release.md"):
        said = re.findall(r"(?:less than )?(\d+) lines", page.read_text("utf-8"))
        assert set(said) == {"300"}, page.name
        assert "less than 300 lines" in page.read_text("utf-8"), page.name
    assert 250 < lines < 300


def test_every_doi_is_a_link_to_itself():
    text = (DOCS / "bibliography.md").read_text("utf-8")
    found = re.findall(r"\[doi:(\S+?)\]\(https://doi\.org/(\S+?)\)\n", text)
    assert len(found) == text.count("\n- ")
    assert all(name == target for name, target in found)
    assert len(set(found)) == len(found)


def test_what_pages_cite_is_in_the_bibliography():
    """By author and year, or by the number of a preprint."""
    works = (DOCS / "bibliography.md").read_text("utf-8").split("\n- ")
    years, preprints = set(), set()
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        years |= set(re.findall(r"\b([A-Z]\w+) \(?((?:19|20)\d\d)\)", text))
        preprints |= set(re.findall(r"\barXiv:(\d{4}\.\d{5})", text))
    assert {("Hoeffding", "1956"), ("Pearson", "1934")} <= years
    for name, year in years:
        assert any(name in work and f", {year}." in work for work in works), (name, year)
    assert preprints
    for number in preprints:
        assert any(f"/arXiv.{number})" in work for work in works), number
