"""JSON Schemas (draft 2020-12) of the files that lowlift writes; they ship with the package."""

import json
from importlib.resources import files
from typing import Any

from lowlift.arguments import check_choice

__all__ = ["SCHEMAS", "load"]

SCHEMAS = ("release", "codebook", "receipt")


def load(name: str) -> dict[str, Any]:
    """Return the schema of a release, a codebook or a receipt.

    Every file that lowlift writes fits its schema. The readers check what a schema cannot: that the
    parts of a file fit together, and that its audit is true.

    Examples
    --------
    >>> load("codebook")["title"]
    'A lowlift codebook'
    """
    check_choice(name, "name", SCHEMAS)
    found: dict[str, Any] = json.loads((files(__name__) / f"{name}.schema.json").read_text("utf-8"))
    return found
