"""What docs/versioning.md promises is so: public modules, extras, formats, one version number."""

import importlib
import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import lowlift
from lowlift import _certificates, _receipts, _release_files, codebook
from lowlift.codebook import Codebook
from lowlift.workflow import verify

ROOT = Path(__file__).resolve().parents[2]
FILES = Path(__file__).resolve().parent / "files"
POLICY = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PUBLIC = re.findall(r"`(lowlift(?:\.\w+)*)`", POLICY.partition("- **Python**")[2].partition(";")[0])
FORMATS = {
    "lowlift-release": _release_files.VERSION,
    "lowlift-codebook": codebook._VERSION,
    _certificates._FORMAT: _certificates._VERSION,
    "lowlift-receipt": _receipts._VERSION,
}


def test_modules_that_are_not_public_begin_with_an_underscore():
    found = {path.stem for path in (ROOT / "src" / "lowlift").iterdir() if path.stem[0] != "_"}
    assert {f"lowlift.{name}" for name in found - {"py"}} == set(PUBLIC) - {"lowlift"}


def test_every_module_has_fewer_than_400_lines():
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines())
        for path in (ROOT / "src").rglob("*.py")
    }
    assert len(sizes) > 100
    assert {path: size for path, size in sizes.items() if size >= 400} == {}


def test_every_check_that_is_switched_off_says_why():
    lines = [line for path in (ROOT / "src").rglob("*.py") for line in path.read_text().split("\n")]
    found = [line for line in lines if re.search(r"# (ruff: )?noqa|# type: ignore", line)]
    given = r"noqa: [A-Z0-9, ]+ \(.+\)$|type: ignore\[[a-z-]+\]  # .+$"
    assert len(found) > 10
    assert [line for line in found if not re.search(given, line)] == []


def test_there_is_one_semantic_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", lowlift.__version__)
    assert "version" in PROJECT["project"]["dynamic"]
    assert importlib.metadata.version("lowlift") == lowlift.__version__
    assert str(CITATION["version"]) == lowlift.__version__


def test_the_citation_names_the_paper_and_no_invented_people():
    assert CITATION["authors"] == [{"name": "The lowlift developers"}]
    (paper,) = CITATION["references"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Zarrabian", "Ding", "Sadeghi"
    ]  # fmt: skip
    assert paper["title"].casefold().startswith("on the lift, related privacy measures")
    assert CITATION["license"] == PROJECT["project"]["license"]
    assert PROJECT["project"]["urls"]["Paper"] == f"https://doi.org/{paper['doi']}"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_lists_its_names(name):
    module = importlib.import_module(name)
    assert module.__all__
    assert all(hasattr(module, word) for word in module.__all__)


def test_the_public_modules_are_those_that_examples_use():
    assert len(PUBLIC) > 10
    for path in (ROOT / "examples").glob("*.py"):
        used = re.findall(
            r"^(?:from|import) (lowlift[\w.]*)", path.read_text("utf-8"), re.MULTILINE
        )
        assert set(used) <= set(PUBLIC), path.name


def test_every_extra_is_described():
    table = POLICY.partition("| extra |")[2].partition("\n\n")[0]
    described = set(
        re.findall(r"`([a-z]+)`", "".join(re.findall(r"^\|[^|]*\|", table, re.MULTILINE)))
    )
    assert described == set(PROJECT["project"]["optional-dependencies"])


def test_every_format_and_its_version_is_listed():
    listed = re.findall(r"^\| `(lowlift-\w+)` \| (\d+) \|", POLICY, re.MULTILINE)
    assert {name: int(version) for name, version in listed} == FORMATS


def test_files_of_the_first_version_are_read():
    found = lowlift.Release.from_json(FILES / "safe.release.json")
    assert found.audit.is_satisfied
    assert found.fingerprint.startswith("2d50d7f0e4d9bab8")
    assert Codebook.from_json(FILES / "safe.codebook.json").x_labels == found.joint.x_labels
    assert lowlift.Certificate.from_json(FILES / "certificate.json").scope == "mechanisms"
    checked = verify(str(FILES / "safe.release.json"), published=str(FILES / "safe.csv"))
    assert checked.is_ok


def test_issue_forms_are_forms():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.name != "config.yml":
            assert {"name", "description", "body"} <= set(form)
            kinds = {part["type"] for part in form["body"]}
            assert kinds <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
