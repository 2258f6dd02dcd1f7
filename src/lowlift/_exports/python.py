"""A release as a Python file that privatises one record and needs the standard library only."""

import ast
import json
from importlib.resources import files

from lowlift._exports.files import Export
from lowlift._record_program import program_of
from lowlift._version import __version__
from lowlift.encodings import Encoded

#: The modules of `lowlift._one_record` that are copied, each after those that it imports.
_PARTS = ("texts", "symbols", "draws", "drawer")
_HEAD = '''\
"""Made by lowlift {version} from release {release}.

It has the columns, the labels and the channel of the release, as a codebook has; no counts. It
needs the standard library only.

    from release import draw
    draw({{"age": 41}})                  # drawn anew, by the operating system's entropy
    draw({{"age": 41}}, id=7, key=key)   # by 32 secret bytes: the same each time

A second fresh draw for the same person reveals more than the bound says. Who has the key can undo
keyed draws: keep it apart.
"""
'''


def exported(encoded: Encoded) -> Export:
    """Return the file: the code that `lowlift.records.OneRecord` runs, and the release."""
    program = program_of(encoded)
    head = _HEAD.format(version=__version__, release=program["release"])
    data = json.dumps(program, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    end = f"draw = Drawer(json.loads({data!r})).draw\n"
    return Export({"release.py": "\n\n".join([head + _code(), end])})


def _code() -> str:
    """Return imports, the error, and the copied modules without their own imports."""
    imports, bodies = {"import json"}, list[str]()
    for part in _PARTS:
        text = (files("lowlift._one_record") / f"{part}.py").read_text("utf-8")
        found, body = _divided(text)
        imports |= found
        bodies.append(body)
    error = 'class InvalidInput(ValueError):\n    """An argument breaks a rule."""'
    lines = sorted(imports, key=lambda line: (line.startswith("from"), line))
    return "\n\n\n".join(["\n".join(["", *lines]), error, *bodies])


def _divided(text: str) -> tuple[set[str], str]:
    """Return the imports of the standard library in a module, and what follows its imports."""
    nodes = ast.parse(text).body
    found = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in found if not ast.unparse(node).startswith("from lowlift")]
    rest = text.splitlines()[max(node.end_lineno or 0 for node in found) :]
    return set(map(ast.unparse, others)), "\n".join(rest).strip()
