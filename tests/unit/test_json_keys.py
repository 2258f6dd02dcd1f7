"""A file of ours with a repeated or an unknown key is refused, with the key's name."""

import json
from pathlib import Path

import pytest

from lowlift import Certificate, InvalidInput, Release
from lowlift.codebook import Codebook
from lowlift.workflow import read_receipt

FILES = Path(__file__).parents[1] / "package" / "files"
READERS = {
    "safe.release.json": Release.from_json,
    "safe.codebook.json": Codebook.from_json,
    "certificate.json": Certificate.from_json,
    "safe.receipt.json": read_receipt,
}


@pytest.fixture(params=READERS)
def given(request):
    return request.param, (FILES / request.param).read_text()


def read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return READERS[name](tmp_path / name)


def test_files_of_version_1_are_read(tmp_path, given):
    read(tmp_path, *given)


def test_a_repeated_key_is_refused(tmp_path, given):
    name, text = given
    twice = text.replace('"version"', '"version": 1, "version"', 1)
    with pytest.raises(InvalidInput, match=r"each key once; it has 'version' twice"):
        read(tmp_path, name, twice)


def test_an_unknown_key_is_refused(tmp_path, given):
    name, text = given
    saved = json.loads(text) | {"colour": "red"}
    with pytest.raises(InvalidInput, match="'colour'"):
        read(tmp_path, name, json.dumps(saved))


@pytest.mark.parametrize(
    "path",
    [
        ("audit",), ("channel",), ("joint",), ("criterion",),
        ("table",), ("table", "released", 0), ("table", "released", 0, "bins"),
    ],
)  # fmt: skip
def test_an_unknown_key_deep_in_a_release_is_refused(tmp_path, path):
    saved = json.loads((FILES / "safe.release.json").read_text())
    part = saved
    for step in path:
        part = part[step]
    part["colour"] = "red"
    with pytest.raises(InvalidInput, match="colour"):
        read(tmp_path, "safe.release.json", json.dumps(saved))


def test_a_repeated_key_deep_in_a_file_is_refused(tmp_path):
    text = (FILES / "safe.release.json").read_text()
    twice = text.replace('"denominator"', '"denominator": 4, "denominator"', 1)
    with pytest.raises(InvalidInput, match="'denominator' twice"):
        read(tmp_path, "safe.release.json", twice)
