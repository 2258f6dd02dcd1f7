"""What is fuzzed: one function of bytes per reader. It raises when a promise is broken.

A reader may refuse anything, but only with an error of ours. What it accepts must be what the file
says: the verdict of a release is decided again in fractions from the file's own numbers. No value
of a table may stand in an error.
"""

import atexit
import contextlib
import io
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import lowlift as ll
from fuzz.mutation import changed_bytes, changed_json
from fuzz.seeds import MARKER, PUBLISHED, TABLES, documents, texts
from lowlift._receipts import receipt_path
from lowlift.codebook import Codebook
from lowlift.errors import LowliftError
from lowlift.tables import Column, Each, Edges, Width, open_table, parse_bins
from lowlift.tables.bins import bins_from_dict
from lowlift.tables.sources import PostgresTable, parse_source, split_name
from lowlift.workflow import estimate_table, parse_numbers, verify
from oracles import rational

__all__ = ["READERS", "TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A reader, files that it takes, and how to change them."""

    #: Reads bytes; raises when a promise is broken.
    run: Callable[[bytes], None]
    #: Makes valid files.
    seeds: Callable[[], list[bytes]]
    #: Makes an odd file of a file and a random.Random.
    change: Callable[..., bytes]


@cache
def folder():
    """Return a temporary folder of this process; every file of a target is in it."""
    place = tempfile.mkdtemp(prefix="lowlift-fuzz-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)


def written(name, data):
    path = folder() / name
    path.write_bytes(data)
    return path


def release(data):
    """Read a release: its verdict is the one of its numbers, and it comes back as it was."""
    path = written("given.release.json", data)
    try:
        found = ll.Release.from_json(path)
    except LowliftError:
        return
    stored = json.loads(data)
    assert stored["audit"]["is_satisfied"] is found.audit.is_satisfied
    check_criterion(found.criterion, stored["criterion"])
    if is_small(stored):
        assert found.audit.allowed.tolist() == verdicts(found.criterion, stored)
    again = folder() / "again.release.json"
    found.to_json(again)
    assert ll.Release.from_json(again).fingerprint == found.fingerprint
    with contextlib.suppress(LowliftError):
        if verify(str(path)).is_ok:
            assert found.audit.is_satisfied


def check_criterion(criterion, stored):
    """Check that the criterion is the one that the file names, number by number."""
    assert type(criterion).__name__ == stored["name"]
    for name, value in criterion.parameters().items():
        given = math.inf if stored[name] == "inf" else stored[name]
        if type(given) is int and value != given:  # no float is that number: rounded down
            assert value < given < math.nextafter(value, math.inf)
        else:
            assert value == given


def is_small(stored):
    """Tell whether fractions decide in time: no number is longer than a float's."""
    cells = json.dumps([stored["joint"].get("counts"), stored["criterion"]])
    return all(len(part) < 30 for part in cells.replace(",", " ").split())


def verdicts(criterion, stored):
    """Decide every output in fractions, from the numbers in the file."""
    joint, channel = stored["joint"], stored["channel"]
    table = joint["counts"] if "counts" in joint else joint["p_sx"]
    weights = [[0] * len(channel["atoms"]) for _ in table[0]]
    for y, (members, parts) in enumerate(channel["atoms"]):
        for x, part in zip(members, parts, strict=True):
            weights[x][y] = part
    p_s = rational.prior(table)
    columns = rational.columns(table, weights)
    return [rational.is_allowed(criterion, column, p_s) for column in columns]


def codebook(data):
    """Read a codebook, write it again, and estimate with it."""
    path = written("given.codebook.json", data)
    try:
        found = Codebook.from_json(path)
    except LowliftError:
        return
    again = folder() / "again.codebook.json"
    found.to_json(again)
    text = again.read_text("utf-8")
    Codebook.from_json(again).to_json(again)
    assert again.read_text("utf-8") == text
    with contextlib.suppress(LowliftError):
        estimate_table(str(written("published.csv", PUBLISHED)), str(path))


def receipt(data):
    """Verify a published table beside a receipt: a receipt of something else is told."""
    release_file = written("safe.release.json", documents()["release"][0])
    published = written("safe.csv", documents()["published"][0])
    receipt_path(str(published)).write_bytes(data)
    try:
        found = verify(str(release_file), published=str(published))
    except LowliftError:
        return
    if found.is_ok:
        stored, true = json.loads(data), json.loads(documents()["receipt"][0])
        assert stored["release"] == true["release"]
        assert stored["rows_out"] == true["rows_out"]
        assert stored["output_sha256"] in {None, true["output_sha256"]}


def certificate(data):
    """Read a certificate."""
    path = written("given.certificate.json", data)
    with contextlib.suppress(LowliftError):
        ll.Certificate.from_json(path)


def bins(data):
    """Parse the bins of a command line option, and write them down again."""
    with contextlib.suppress(LowliftError):
        name, found = parse_bins(text_of(data))
        assert name
        assert bins_from_dict(json.loads(json.dumps(found.to_dict()))) == found
        if isinstance(found, Edges):
            assert len(set(found.labels)) == len(found.edges) + 1
            assert [found.text_of(label) for label in found.labels] == list(found.labels)
        elif isinstance(found, Width):
            for text in ("<", "-3", "0", "7", ">"):
                assert found.text_of(found.label_of(text)) == text


def numbers(data):
    """Parse the numbers of a command line option."""
    with contextlib.suppress(LowliftError):
        assert all(type(value) is float for value in parse_numbers(text_of(data), "epsilon"))


def source(data):
    """Parse the name of a table for each engine; nothing is opened but files of the folder."""
    # A pattern of the whole disk is not ours to walk.
    text = text_of(data).replace("..", "__").lstrip("/~")
    with contextlib.chdir(folder()):
        for engine in (None, "duckdb", "postgres", "spark"):
            with contextlib.suppress(LowliftError):
                found = parse_source(text, engine)
                if isinstance(found, PostgresTable):
                    assert "password" not in found.address.lower()
        for work in (split_name, receipt_path):
            with contextlib.suppress(LowliftError):
                work(text)


def password(data):
    """A password in an address is refused, and stands in no message."""
    user, rest, tail = [*text_of(data).split("|", 2), "", ""][:3]
    user = "".join(c for c in user if c not in "/?#:@[]\t\r\n")
    address = f"postgresql://{user}:{MARKER}{rest}@host/{tail}"
    with refusals() as refused:
        found = parse_source(address)
        assert MARKER not in found.description
        assert MARKER not in found.address.partition("?")[0]
    assert MARKER not in refused.getvalue()


def table(name):
    """Return the target that reads bytes as a file of this name and counts all of it."""

    def run(data):
        path = written(name, data)
        with refusals() as refused, open_table(str(path)) as opened:
            kinds = opened.kinds.items()
            columns = [column_of(name, kind) for name, kind in kinds if kind != "other"]
            counted = opened.count(columns[:3])
            assert sum(counted.counts) + counted.dropped == opened.rows
        # What stands in the first line is a name, and names may be told.
        if MARKER.encode() not in data.partition(b"\n")[0] and b'"' not in data[:40]:
            assert MARKER not in refused.getvalue()

    return run


@contextlib.contextmanager
def refusals():
    """Let errors of ours pass, and keep what they say."""
    said = io.StringIO()
    try:
        yield said
    except LowliftError as error:
        said.write(everything_said(error))


def column_of(name, kind):
    declared = {"integer": Each(), "real": Width(1)}
    return Column(name, kind, declared.get(kind))


def everything_said(error):
    """Return the messages of an error and of those it came from."""
    said = []
    while error is not None:
        said.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(said)


def text_of(data):
    return data.decode("utf-8", "replace")


READERS = {
    "release": Target(release, lambda: documents()["release"], changed_json),
    "codebook": Target(codebook, lambda: documents()["codebook"], changed_json),
    "receipt": Target(receipt, lambda: documents()["receipt"], changed_json),
    "certificate": Target(certificate, lambda: documents()["certificate"], changed_json),
    "bins": Target(bins, lambda: texts()["bins"], changed_bytes),
    "numbers": Target(numbers, lambda: texts()["numbers"], changed_bytes),
    "source": Target(source, lambda: texts()["source"], changed_bytes),
    "password": Target(password, lambda: texts()["password"], changed_bytes),
    "csv": Target(table("given.csv"), TABLES["csv"], changed_bytes),
    "tsv": Target(table("given.tsv"), TABLES["tsv"], changed_bytes),
    "gzip": Target(table("given.csv.gz"), TABLES["gzip"], changed_bytes),
    "parquet": Target(table("given.parquet"), TABLES["parquet"], changed_bytes),
}
_NAMES = tuple(READERS)


def _of(data):
    """Return the reader that the first byte chooses, and the rest."""
    return READERS[_NAMES[data[0] % len(_NAMES)] if data else "bins"], data[1:]


def _every():
    return [bytes([k]) + data for k, name in enumerate(_NAMES) for data in READERS[name].seeds()]


def _run_one(data):
    reader, rest = _of(data)
    reader.run(rest)


def _change_one(data, random):
    reader, rest = _of(data)
    return data[:1] + reader.change(rest, random)


#: The readers, and all of them in one: a first byte chooses.
TARGETS = {**READERS, "every": Target(_run_one, _every, _change_one)}
