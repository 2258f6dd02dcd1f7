"""Exported releases in their runtimes: a process that lives on, and lowlift itself beside it.

A call is ``[record, options]`` in JSON; what JSON does not have is tagged: ``{"$": "bigint",
"text": "7"}`` (also "number" for NaN and infinities, "octets" in hexadecimal digits, "undefined"
and "date" of JavaScript). A result is what is published, None, or an error's text with a tag.
``many`` draws by the key for people whose records are functions of their numbers.
"""

import json
import subprocess
import sys
from pathlib import Path

import lowlift as ll
import needs
from exports import driver
from lowlift.records import OneRecord

HERE = Path(__file__).parent
KEY = bytes(range(32))


def tagged(kind, text):
    return {"$": kind, "text": text}


def number(value):
    """Return a number as JSON, or tagged where JSON or a double does not hold it."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else tagged("bigint", str(value))
    return value if value - value == 0 else tagged("number", str(value).replace("inf", "Infinity"))


class Runtime:
    """A process that loads exported files and draws by them."""

    def __init__(self, target, command):
        self.target = target
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, **asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"{self.target} ended"
        return json.loads(line)

    def run(self, release, calls, folder):
        """Export a release to a file of this folder, and return the results of calls."""
        (text,) = ll.export(release, self.target).files.values()
        suffix = {"javascript": "mjs", "python": "py"}[self.target]
        path = folder / f"release{len(list(folder.iterdir()))}.{suffix}"
        path.write_text(text, "utf-8")
        self.ask(load=str(path))
        return self.ask(calls=calls)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


def node():
    script = "require(process.argv[1]); import(process.argv[2])"
    arguments = [needs.node(), "-e", script, str(HERE / "calls.js"), str(HERE / "driver.mjs")]
    return Runtime("javascript", arguments)


def python():
    return Runtime("python", [sys.executable, "-I", "-S", str(HERE / "driver.py")])


class Library:
    """lowlift with the face of an exported module."""

    InvalidInput = ll.InvalidInput

    def __init__(self, release):
        self.draw = OneRecord(release).draw


def here(release, calls):
    """Return the results of calls by `OneRecord`."""
    module = Library(release)
    return [driver.answer(module, *call) for call in calls]
