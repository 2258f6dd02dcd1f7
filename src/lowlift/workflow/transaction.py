"""Table and files appear together, or none of them does.

The receipt is the mark of a publication: it goes first and comes last, so that no order of events,
not even a kill between two steps, leaves a new table beside an old receipt. A table without a
receipt is not published, and `verify` says so.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from lowlift._files import Draft
from lowlift.errors import LowliftError


class Content(NamedTuple):
    """A file to write: where, what, and whether only its owner may read it."""

    path: Path
    text: str
    is_private: bool


class Table(Protocol):
    """A table that is written and has no name yet (`lowlift.tables.application.Staged`)."""

    def commit(self) -> None:
        """Give the table its name."""

    def undo(self) -> bool:
        """Take back a commit; return whether what was there before is there again."""


@contextlib.contextmanager
def drafts(contents: Sequence[Content]) -> Iterator[list[Draft]]:
    """Write files under temporary names; what has no other name in the end is removed."""
    made: list[Draft] = []
    try:
        for path, text, is_private in contents:
            made.append(Draft(path, text.encode("utf-8"), is_private=is_private))
        yield made
    finally:
        for draft in made:
            draft.discard()


def commit(table: Table, files: Sequence[Draft], *, force: bool) -> None:
    """Make the table and its files visible, the receipt (the last of them) at the very end.

    When a step fails or is interrupted, what it had made visible is removed, and what `force` had
    replaced is put back; a database table that was replaced is gone, and its files with it.
    """
    if not files:  # a frame: nothing but the table
        table.commit()
        return
    *others, receipt = files
    try:
        if force:
            receipt.set_aside()
            for draft in others:
                draft.set_aside()
        for draft in others:
            draft.publish(force=False)
        table.commit()
        receipt.publish(force=False)
    except BaseException:
        is_back = False
        with contextlib.suppress(LowliftError, OSError):  # say what failed first
            is_back = table.undo()
        for draft in (*others, receipt):
            draft.undo(restore=is_back)
        raise
