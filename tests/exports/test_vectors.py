"""The published test vectors: made by scripts/format, met by every runtime."""

import hashlib
import hmac
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from exports.driver import given
from exports.runtimes import here, tagged
from exports.test_files import evaluated
from lowlift import Release, schemas
from lowlift.encodings import published
from lowlift.tables import Column
from lowlift.tables.values import column_rule, symbol_reader
from tables.keyed_rows import cell_of, cells_in, drawn, in_vectors, reference, scope_of

ROOT = Path(__file__).parents[2]
VECTORS = schemas.vectors()


def calls_of(part):
    key = tagged("octets", part["key"])
    return [[one["record"], {"id": one["id"], "key": key}] for one in part["draws"]]


def wanted_of(part):
    return [
        tagged("error", one["error"]) if "error" in one else one["published"]
        for one in part["draws"]
    ]


def release_in(part, folder):
    (folder / "safe.release.json").write_text(json.dumps(part["release"]), "utf-8")
    return Release.from_json(folder / "safe.release.json")


def test_the_files_are_those_that_the_script_writes():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "format", "--check"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", range(len(VECTORS["releases"])))
def test_every_runtime_meets_the_releases(node, python, tmp_path, number):
    part = VECTORS["releases"][number]
    release = release_in(part, tmp_path)
    assert release.fingerprint == part["fingerprint"]
    calls, wanted = calls_of(part), wanted_of(part)
    assert here(release, calls) == wanted
    assert node.run(release, calls, tmp_path) == wanted
    assert python.run(release, calls, tmp_path) == wanted
    assert (release.draws is not None) == (number == 3)


@pytest.mark.parametrize("number", range(len(VECTORS["tables"])))
def test_tables_are_what_the_page_says(tmp_path, number):
    """Recomputed in plain Python from the file, by what the page defines."""
    part = VECTORS["tables"][number]
    release, cells = release_in(part, tmp_path), cells_in(part["release"])
    assert release.origin.encoding == ("rows", "columns")[number]
    assert release.fingerprint == part["fingerprint"]
    assert published(release).key_scope == scope_of(part["release"], cells) == part["scope"]
    table, wanted = in_vectors(part)
    ids, text, key = table["id"][1], json.dumps(part["release"]), bytes.fromhex(part["key"])
    records = list(zip(*(table[name][1] for name in cells["columns"]), strict=True))
    assert [cell_of(cells, record) for record in records] == [row["cell"] for row in part["rows"]]
    assert reference(text, records, ids, key) == wanted
    assert reference(text, records, ids, key[::-1]) != wanted
    outputs = [cell for _, cell, _ in drawn(text, records, ids, key)]
    assert set(outputs) == set(release.channel.y_labels)
    assert outputs != [row["cell"] for row in part["rows"]]


def test_tables_have_values_of_many_kinds_and_ids_of_several_bytes():
    rows, columns = VECTORS["tables"]
    assert rows["rows"] == columns["rows"]
    table, _ = in_vectors(rows)
    released = list(table.values())[2:]
    assert [kind for kind, _ in released] == ["text", "integer", "date", "boolean", "real"]
    assert all(None in values for _, values in released)
    assert {len(identity.encode()) - len(identity) for identity in table["id"][1]} >= {0, 1, 3}
    # Rows are whole rows of the table; columns are taken from several.
    whole = [{k: v for k, v in row["record"].items() if k != "ill"} for row in rows["rows"]]
    assert all(row in whole for row in rows["published"])
    assert any(row not in whole for row in columns["published"])


def test_uniform_numbers_are_what_the_page_says():
    for one in VECTORS["uniforms"]:
        subkey = hmac.new(bytes.fromhex(one["key"]), one["scope"].encode(), hashlib.sha256)
        assert subkey.hexdigest() == one["subkey"]
        octets = one["id"].encode()
        text = one["subkey"][:40].encode() + str(len(octets)).encode() + b":" + octets
        assert hashlib.sha256(text).hexdigest()[:15] == one["uniform"]


def test_slots_have_the_weights():
    for one in VECTORS["slots"]:
        places, size = Counter(), 1 << one["place_bits"]
        parts = zip(one["thresholds"], one["firsts"], one["others"], strict=True)
        for threshold, first, other in parts:
            places[first] += threshold
            places[other] += size - threshold
        scaled = [weight << one["slot_bits"] for weight in one["weights"]]
        assert [places[y] for y in range(len(scaled))] == scaled


def test_javascript_meets_uniforms_slots_and_symbols(tmp_path):
    code = (
        "VECTORS.uniforms.map((v) => uniformOf(v.subkey.slice(0, 40), v.id).toString(16)"
        ".padStart(15, '0'))"
    )
    given_vectors = json.dumps(VECTORS)
    found = evaluated(tmp_path, f"((VECTORS) => {code})({given_vectors})")
    assert found == [one["uniform"] for one in VECTORS["uniforms"]]
    code = (
        "VECTORS.slots.map((v) => poured(v.weights.map((_, k) => k), v.weights, "
        "2 ** v.slot_bits, 1n << BigInt(v.place_bits)))"
        ".map((v) => [v.thresholds.map(Number), v.firsts, v.others])"
    )
    found = evaluated(tmp_path, f"((VECTORS) => {code})({given_vectors})")
    assert found == [[v["thresholds"], v["firsts"], v["others"]] for v in VECTORS["slots"]]
    rules = [column_rule(Column.from_dict(one["column"])) for one in VECTORS["symbols"]]
    code = (
        "VECTORS.symbols.map((v, k) => v.texts.map(([value]) => "
        "symbolReader(rules[k])(value?.$ ? BigInt(value.text) : value)))"
    )
    found = evaluated(
        tmp_path, f"((VECTORS, rules) => {code})({given_vectors}, {json.dumps(rules)})"
    )
    assert found == [[text for _, text in one["texts"]] for one in VECTORS["symbols"]]


def test_the_library_meets_the_symbols():
    kinds = set()
    for one in VECTORS["symbols"]:
        column = Column.from_dict(one["column"])
        kinds.add((column.kind, type(column.bins).__name__))
        read = symbol_reader(column)
        assert [read(given(value)) for value, _ in one["texts"]] == [t for _, t in one["texts"]]
    assert len(kinds) == 15


def test_every_field_of_the_schemas_is_on_the_page():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    for name in schemas.SCHEMAS:
        part = page.partition(f"scripts/format: {name} -->")[2].partition("<!-- end -->")[0]
        for field in fields_in(schemas.load(name)):
            assert f"{field}`" in part, (name, field)


def fields_in(schema):
    if isinstance(schema, list):
        return {field for part in schema for field in fields_in(part)}
    if not isinstance(schema, dict):
        return set()
    found = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return found | {field for part in schema.values() for field in fields_in(part)}
