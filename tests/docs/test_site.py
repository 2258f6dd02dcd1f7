"""The site builds without a warning, stands alone, and has a place for every public name."""

import functools
import importlib
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = [pytest.mark.second_lane, pytest.mark.xdist_group("site")]  # built once
ROOT = Path(__file__).resolve().parent.parent.parent
#: What users are told to import.
MODULES = [
    "lowlift",
    "lowlift.codebook",
    "lowlift.composition",
    "lowlift.confidence",
    "lowlift.criteria",
    "lowlift.datasets",
    "lowlift.encodings",
    "lowlift.errors",
    "lowlift.estimation",
    "lowlift.figures",
    "lowlift.measures",
    "lowlift.paper",
    "lowlift.records",
    "lowlift.report",
    "lowlift.sampling",
    "lowlift.schemas",
    "lowlift.sklearn",
    "lowlift.tables",
    "lowlift.web",
    "lowlift.workflow",
]
#: Attributes that make a browser load something.
LOADING = {"src", "srcset", "data", "poster", "action", "formaction", "background"}


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        str(ROOT / "docs"),
        str(folder),
    ]
    found = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert not found.stderr
    return folder


class Page(HTMLParser):
    """What a page loads, where it links to, and the ids it has."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids = [], [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name in LOADING or (name in {"href", "xlink:href"} and tag not in {"a", "area"}):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)
            elif name == "style" and "url(" in value:
                self.loads.append(value)


@pytest.fixture(scope="session")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def is_outside(address):
    return bool(urlsplit(address).netloc) or address.startswith("//")


def test_nothing_is_loaded_from_outside(site, pages):
    assert len(pages) > 30
    for name, page in pages.items():
        assert [address for address in page.loads if is_outside(address)] == [], name
    for path in site.rglob("*.css"):
        text = path.read_text("utf-8")
        loaded = re.findall(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)", text)
        outside = [a or b for a, b in loaded if is_outside(a or b)]
        assert outside == [], path.name
    for path in site.rglob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"(import|fetch|importScripts)\s*\(?\s*['\"](https?:)?//", text), (
            path.name
        )


def test_no_script_draws_formulas(site, pages):
    assert not any(
        "mathjax" in address.lower() for page in pages.values() for address in page.loads
    )
    text = (site / "paper-mapping.html").read_text("utf-8")
    assert text.count('class="formula"') > 30


def test_every_link_inside_leads_somewhere(site, pages):
    wrong = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = (
                (Path("/") / name).parent / unquote(parts.path) if parts.path else Path("/") / name
            )
            target = Path(*_resolved(place)).as_posix()
            other = pages.get(target)
            if other is None:
                found = (site / target).is_file()
            else:
                found = not parts.fragment or unquote(parts.fragment) in other.ids
            if not found:
                wrong.append((name, link))
    assert wrong == []


def _resolved(path):
    out = []
    for part in path.parts[1:]:
        if part == "..":
            out.pop()
        else:
            out.append(part)
    return out


def inventory(site):
    """Return the documented names, from the file that Sphinx writes for others."""
    raw = (site / "objects.inv").read_bytes()
    body = zlib.decompress(raw.split(b"\n", 4)[4]).decode()
    return [line.split(" ")[0] for line in body.splitlines() if " py:" in line]


def meant(name):
    """Return the object that a dotted name means, or None."""
    parts = name.split(".")
    for cut in range(1, len(parts) + 1):
        try:
            return functools.reduce(
                getattr, parts[cut:], importlib.import_module(".".join(parts[:cut]))
            )
        except (AttributeError, ModuleNotFoundError):
            continue
    return None


def test_every_public_name_has_an_entry(site):
    names = inventory(site)
    documented = {id(value) for value in map(meant, names) if value is not None}
    missing = []
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            dotted = f"{module}.{name}"
            if dotted not in names and id(meant(dotted)) not in documented:
                missing.append(dotted)
    assert missing == []
