"""One publication as the ledger keeps it: names, hashes and paths, never a value of the data."""

import secrets
import unicodedata
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from lowlift._receipts import read_receipt
from lowlift._temporary import is_dead, this_process
from lowlift.errors import InvalidInput

#: The recipient of what anybody may see.
EVERYBODY = "everybody"
#: States: begun and not ended; ended; ended by an error; declared as never handed out.
PENDING, PUBLISHED, FAILED, WITHDRAWN = "pending", "published", "failed", "withdrawn"


def recipient_of(name: str) -> str:
    """Return a recipient as the ledger names it, so that the public has one name.

    Examples
    --------
    >>> recipient_of(" Everybody "), recipient_of("Everybody's Clinic")
    ('everybody', "Everybody's Clinic")
    """
    return EVERYBODY if folded(name) == EVERYBODY else name


def folded(name: str) -> str:
    """Return by what names are compared: who is typed differently holds what they held before.

    Examples
    --------
    >>> folded(" The  Ministry ") == folded("the ministry")
    True
    """
    # Folding the case can leave the normal form, so that it comes between.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(text.split())


def new_id() -> str:
    """Return an id that says nothing."""
    return secrets.token_hex(8)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Entry:
    """One publication.

    The fields are the columns of the ledger. A release is told by its fingerprint and by where its
    file was written: the file itself holds values of the data and stays where it is.
    """

    #: The table: as its receipt names it, and the digest of its files.
    source: str
    source_sha256: str | None
    #: The people: a name that was declared, and the column of their ids.
    people: str | None
    id_column: str | None
    sensitive: tuple[str, ...]
    released: tuple[str, ...]
    kept: tuple[str, ...]
    #: The release: its fingerprint and its file.
    release: str
    release_file: str | None
    encoding: str
    criterion: str
    #: "fresh" or "keyed"; of keyed draws, a hash by which the same draws are known.
    draws: str
    draw_sha256: str | None
    #: The fingerprint of the release that this one refines.
    refines: str | None
    recipient: str
    output: str
    output_sha256: str | None
    receipt_file: str | None
    rows: int
    #: Whether it was published although it could not be audited with what was published before.
    is_unaudited: bool
    lowlift: str
    state: str = PENDING
    id: str = field(default_factory=new_id)
    at: str = field(default_factory=_now)
    #: What tells the process that publishes.
    process: str = field(default_factory=this_process)

    def to_row(self) -> dict[str, Any]:
        """Return plain values for a row; lists of columns are one text."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: "\x1f".join(value) if isinstance(value, tuple) else value
            for name, value in found.items()
        }

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Entry":
        """Return the entry that `to_row` wrote."""
        lists = {
            name: tuple(filter(None, str(row[name]).split("\x1f")))
            for name in ("sensitive", "released", "kept")
        }
        others = {
            "is_unaudited": bool(row["is_unaudited"]),
            "recipient": recipient_of(row["recipient"]),  # earlier versions took any case
        }
        return cls(**row | lists | others)

    @property
    def holder(self) -> str:
        """The recipient as recipients are compared."""
        return folded(self.recipient)

    @property
    def is_held(self) -> bool:
        """Whether somebody may hold what was published.

        A run that did not end (a kill, a full disk) published nothing unless its receipt is there;
        one that may still be running counts as published.
        """
        if self.state != PENDING:
            return self.state == PUBLISHED
        return self.may_run or self.is_received

    @property
    def may_run(self) -> bool:
        """Whether the process that publishes may still run."""
        return not is_dead(self.process)

    @property
    def is_received(self) -> bool:
        """Whether the receipt of this very publication is where it was to be written."""
        if self.receipt_file is None or not Path(self.receipt_file).exists():
            return False
        try:
            found = read_receipt(self.receipt_file)
        except InvalidInput:
            return True  # what is there cannot be told from it
        return found.release == self.release and found.output_sha256 == self.output_sha256


class Who(NamedTuple):
    """What tells whose rows a table holds."""

    source: str
    source_sha256: str | None
    people: str | None
    id_column: str | None


def is_same(one: Entry | Who, other: Entry | Who) -> bool:
    """Tell whether two tables may hold rows of the same people."""
    if one.people is not None and one.people == other.people:
        return True
    if one.source_sha256 is not None and one.source_sha256 == other.source_sha256:
        return True
    if one.source != other.source or (one.people is not None and other.people is not None):
        return False
    has_no_digest = one.source_sha256 is None and other.source_sha256 is None
    return has_no_digest or (one.id_column is not None and one.id_column == other.id_column)
