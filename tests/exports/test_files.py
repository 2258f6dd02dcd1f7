"""The exported files: small, self-contained, safe inside a page, right in their parts."""

import ast
import hashlib
import hmac
import json
import subprocess
import sys

import numpy as np
import pytest

import lowlift as ll
import needs
from exports.releases import release_of
from exports.runtimes import KEY, here, tagged
from lowlift._exports import javascript
from lowlift._exports.carrying import carried
from lowlift.tables import Column, Width

HOSTILE = [
    "</script><script>alert(1)</script>", "<!--", "*/", "`${1}`", "'\"\\", "\u2028\u2029", "\r\n",
    "__proto__", "constructor", "prototype", "toString", "\0", "😀", "\ud800", "{}", "$&", "]]>",
]  # fmt: skip


def evaluated(tmp_path, code):
    """Return what Node makes of an expression on the functions inside an exported module."""
    release = release_of([Column("x", "text")], [("a",)], encoding="codes")
    (tmp_path / "inside.mjs").write_text(
        f"{javascript.script(carried(release))}\nconsole.log(JSON.stringify({code}));\n", "utf-8"
    )
    done = subprocess.run(
        [needs.node(), tmp_path / "inside.mjs"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_module_is_small_and_the_release_adds_little():
    assert len(javascript.engine().encode()) < 20_000
    rows = [(10 * a, r) for a in range(10) for r in "news"]
    columns = [Column("age", "integer", Width(10)), Column("region", "text")]
    (text,) = ll.export(release_of(columns, rows, bits=20), "javascript").files.values()
    assert len(text.encode()) < 30_000
    assert text.isascii()


def test_the_python_file_imports_the_standard_library_only():
    release = release_of([Column("x", "text")], [("a",)], encoding="codes")
    (text,) = ll.export(release, "python").files.values()
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in nodes}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert text.isascii()


def test_sha256_and_hmac_are_those_of_the_standards(tmp_path):
    messages = [bytes(k % 251 for k in range(n)) for n in (*range(130), 1000, 65537)]
    messages += [b"abc", b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"]  # FIPS 180-4
    given = json.dumps([list(message) for message in messages])
    hexadecimal = "(o) => Array.from(o, (b) => b.toString(16).padStart(2, '0')).join('')"
    code = (
        f"{given}.map((m) => [sha256(m), hmac(Uint8Array.from({list(KEY)}), m)].map({hexadecimal}))"
    )
    assert evaluated(tmp_path, code) == [
        [hashlib.sha256(m).hexdigest(), hmac.new(KEY, m, hashlib.sha256).hexdigest()]
        for m in messages
    ]


def test_names_and_values_that_mean_something_to_a_language_are_only_texts(
    node, python, chromium, tmp_path
):
    names = [name for name in HOSTILE if name != "\ud800"]
    columns = [Column(name, "text") for name in names]
    rows = [[value] * len(names) for value in HOSTILE]
    release = release_of(columns, rows, encoding="values", bits=3)
    options = {"id": 7, "key": tagged("octets", KEY.hex())}
    calls = [[dict.fromkeys(names, value), options] for value in HOSTILE]
    calls.append([dict.fromkeys(names[1:], "a"), {}])
    wanted = here(release, calls)
    assert set(wanted[0]) == set(names)
    assert "it lacks" in wanted[-1]["text"]
    assert node.run(release, calls, tmp_path) == wanted
    assert python.run(release, calls, tmp_path) == wanted
    script = javascript.script(carried(release))
    assert "</script" not in script
    assert "<!--" not in script
    page = f"<!doctype html><script>{script}globalThis.module = {{ draw, InvalidInput }}</script>"
    (tmp_path / "page.html").write_text(page, "utf-8")
    tab, errors = chromium.new_page(), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("dialog", lambda dialog: errors.append(dialog.message))
    tab.goto((tmp_path / "page.html").as_uri())
    drawn = tab.evaluate(
        "([record, key]) => JSON.stringify(module.draw(JSON.parse(record), "
        "{id: 7, key: Uint8Array.from(key)}))",
        [json.dumps(calls[7][0]), list(KEY)],
    )
    assert json.loads(drawn) == wanted[7]
    assert not errors
    tab.close()


def fresh_codes(release, words, folder):
    """Return what Node draws from these pairs of random words, all for the symbol 'a'."""
    text = javascript.script(carried(release)) + (
        f"const words = {words};\nObject.defineProperty(globalThis, 'crypto', {{ value: "
        "{ getRandomValues: (into) => (into.set(words.shift()), into) } });\n"
        f"console.log(JSON.stringify(Array.from({{ length: {len(words)} }}, "
        "() => draw({ x: 'a' }).code)));\n"
    )
    (folder / "fresh.mjs").write_text(text, "utf-8")
    done = subprocess.run(
        [needs.node(), folder / "fresh.mjs"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def of_weights(weights):
    """Return the release of one symbol whose outputs have these weights."""
    joint = ll.Joint.from_counts([[1], [2]], ["p", "q"], ["a"])
    channel = ll.Channel.from_atoms(joint, [([0], [w]) for w in weights], sum(weights))
    origin = release_of([Column("x", "text")], [("a",)], encoding="codes").origin
    return ll.Release.of(joint, channel, ll.LIP(0.1)).with_table(origin)


@pytest.mark.parametrize("weights", [[1, 1], [3, 1, 4], [100, 1, 27, 128]])
def test_fresh_draws_of_javascript_meet_the_weights_exactly(tmp_path, weights):
    """Every number below the denominator once: each output as often as its weight."""
    words = [[0xFFFF0000, low] for low in range(sum(weights))]
    codes = fresh_codes(of_weights(weights), words, tmp_path)
    assert np.bincount(codes).tolist() == weights


def test_fresh_draws_use_all_bits_of_the_largest_denominator(tmp_path):
    """With 48 bits, the high and the low word of getRandomValues both count."""
    words = [[0x8000, 0], [0x8000, 1], [0xFFFF8000, 0], [0x7FFF, 0xFFFFFFFF], [0xFFFF, 0xFFFFFFFF]]
    codes = fresh_codes(of_weights([2**47 + 1, 2**47 - 1]), words, tmp_path)
    assert codes == [0, 1, 0, 0, 1]


def test_the_command_writes_both_files(lowlift, tmp_path):
    release = release_of([Column("x", "text")], [("a",), ("b",)], encoding="codes", bits=3)
    release.to_json(tmp_path / "safe.release.json")
    for target, name in (("javascript", "safe.mjs"), ("python", "safe.py")):
        ran = lowlift(
            "export", tmp_path / "safe.release.json", "--to", target, "-o", tmp_path / name
        )
        assert ran.code == 0, ran.err
        (text,) = ll.export(release, target).files.values()
        assert (tmp_path / name).read_text("utf-8") == text
        again = lowlift("export", tmp_path / "safe.release.json", "--to", target)
        assert again.out.strip() == text.strip()
