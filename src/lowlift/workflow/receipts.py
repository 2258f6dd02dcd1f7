"""The receipt of a publication: what was published, from what, and how; written and read."""

import json
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path

from lowlift.errors import InvalidInput
from lowlift.files import read_json
from lowlift.workflow.transaction import Content

__all__ = ["RECEIPT_FORMAT", "RECEIPT_VERSION", "Receipt", "read_receipt", "receipt_path"]

RECEIPT_FORMAT, RECEIPT_VERSION = "lowlift-receipt", 1


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

    def content(self, path: Path) -> Content:
        """Return the receipt as a file at this place."""
        content = {"format": RECEIPT_FORMAT, "version": RECEIPT_VERSION, **asdict(self)}
        return Content(path, json.dumps(content, indent=1) + "\n", is_private=True)


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
    saved = read_json(path, "receipt", RECEIPT_VERSION)
    lists = {name: tuple(saved[name]) for name in ("kept", "outside_the_guarantee")}
    return Receipt(**{field.name: saved[field.name] for field in fields(Receipt)} | lists)
