"""A release as a JavaScript module that privatises one record, in a browser or Node."""

import json
from importlib.resources import files
from typing import Any

from lowlift._exports.files import Export
from lowlift._one_record.texts import KINDS, PARTLY, TEXTS
from lowlift._record_program import program_of
from lowlift._version import __version__
from lowlift.encodings import Encoded

_HEAD = """\
// Made by lowlift {version} from release {release}.
// It has the columns, the labels and the channel of the release, as a codebook has; no counts.
//
//   import {{ draw }} from "./release.mjs";
//   draw({{ age: 41 }})                    // drawn anew, by crypto.getRandomValues
//   draw({{ age: 41 }}, {{ id: 7, key }})    // by 32 secret bytes (Uint8Array): the same each time
//
// A second fresh draw for the same person reveals more than the bound says. Who has the key can
// undo keyed draws: give it to your server, never to a page.
"""


def exported(encoded: Encoded) -> Export:
    """Return the module; it has no dependencies."""
    return Export(
        {"release.mjs": f"{script(encoded)}\nexport {{ draw, InvalidInput, PROGRAM }};\n"}
    )


def script(encoded: Encoded) -> str:
    """Return the same without the line that exports: a script that defines ``draw``."""
    program = program_of(encoded)
    head = _HEAD.format(version=__version__, release=program["release"])
    return f"{head}\nconst PROGRAM = {literal(program)};\n\n{engine()}"


def engine() -> str:
    """Return what is the same for every release."""
    words = {"texts": TEXTS, "kinds": KINDS, "partly": PARTLY}
    code = (files("lowlift._one_record") / "draw.js").read_text("utf-8")
    return f"const WORDS = {literal(words)};\n\n{code}"


def literal(value: Any) -> str:
    r"""Return plain data as JavaScript that may also stand inside a script element of a page.

    Examples
    --------
    >>> literal({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
