"""The receipt of a publication: what was published, from what, and how; written and read."""

import json
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path

from lowlift._files import read_json
from lowlift.errors import InvalidInput

_VERSION = 1


@dataclass(frozen=True)
class Receipt:
    """What was published, from what, and how; no data values."""

    release: str
    criterion: str
    encoding: str
    source: str
    source_sha256: str | None
    output: str
    output_sha256: str | None
    rows_in: int
    rows_out: int
    dropped: int
    unseen: int
    #: "fresh", "keyed", or "seeded: not for publication".
    draws: str
    #: Whether the bound was checked on this very table; it cannot be when S is not in it.
    checked_on_this_table: bool
    kept: tuple[str, ...]
    outside_the_guarantee: tuple[str, ...]
    nmi: float
    share_changed: float
    seconds: float
    lowlift: str
    python: str

    @property
    def uncovered(self) -> str:
        """Why the bound does not cover all that was published; empty when it does."""
        found = []
        if any(item.startswith("the kept columns") for item in self.outside_the_guarantee):
            found.append("columns were published beside them that the limit does not cover")
        if self.draws.startswith("seeded"):
            found.append("values were drawn by a seed, and who knows it can undo them")
        return "; ".join(found)

    def to_text(self) -> str:
        """Return the content of the receipt's file."""
        content = {"format": "lowlift-receipt", "version": _VERSION, **asdict(self)}
        return json.dumps(content, indent=1) + "\n"


def receipt_path(target: str) -> Path:
    """Return where the receipt of an output goes: beside a file, here for a database table."""
    if not isinstance(target, str):
        raise InvalidInput(
            f"target must be a file such as safe.csv, or a table; got {type(target).__name__}."
        )
    if "://" in target or target.startswith("table:"):
        name = target.rsplit("table=", maxsplit=1)[-1].removeprefix("table:")
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        return Path(f"{safe or 'table'}.receipt.json")
    path = Path(target.split("?", maxsplit=1)[0])
    if not path.name:
        raise InvalidInput(f"an output must be a file or a table; got {target!r}.")
    return path.with_name(f"{path.stem}.receipt.json")


def read_receipt(path: str | PathLike[str]) -> Receipt:
    """Return the receipt in a file.

    Raises
    ------
    InvalidInput
        For a file that is no receipt, or is damaged.
    """
    saved = read_json(path, "receipt", _VERSION)
    lists = {name: tuple(saved[name]) for name in ("kept", "outside_the_guarantee")}
    return Receipt(**{field.name: saved[field.name] for field in fields(Receipt)} | lists)
