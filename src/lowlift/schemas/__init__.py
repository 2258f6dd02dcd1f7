"""JSON Schemas (draft 2020-12) of the files that lowlift writes; they ship with the package."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from lowlift._arguments import check_choice
from lowlift.errors import InvalidInput
from lowlift.schemas.faults import Checks, checks_of

__all__ = ["SCHEMAS", "load", "vectors"]

SCHEMAS = ("release", "codebook", "receipt")


def load(name: str) -> dict[str, Any]:
    """Return the schema of a release, a codebook or a receipt; "config" is that of lowlift.toml.

    Every file that lowlift writes fits its schema, and the readers refuse a file that does not.
    They also check what a schema cannot: that the parts of a file fit together, and that its audit
    is true.

    Examples
    --------
    >>> load("codebook")["title"]
    'A lowlift codebook'
    """
    check_choice(name, "name", (*SCHEMAS, "config"))
    return _read(f"{name}.schema.json")


def vectors() -> dict[str, Any]:
    """Return test vectors of keyed draws, for whoever writes another runtime.

    Examples
    --------
    >>> vectors()["uniforms"][0]["id"]
    '7'
    """
    return _read("vectors.json")


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__name__) / name).read_text("utf-8"))
    return found


def check(value: Any, name: str, part: str = "") -> None:
    """Refuse plain data that does not fit a schema, or the definition `part` in it.

    Raises
    ------
    InvalidInput
        With the first place that does not fit; no value is in the message.

    Examples
    --------
    >>> check({"bins": "width", "width": "10"}, "release", "bins")
    Traceback (most recent call last):
        ...
    lowlift.errors.InvalidInput: width must be a number; it is a text.
    """
    fault = _checks(name)[part](value)
    if fault is not None:
        raise InvalidInput(str(fault))


@cache
def _checks(name: str) -> Checks:
    return checks_of(load(name))
