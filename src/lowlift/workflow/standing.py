"""Was this published already? Asked of the ledger, so that a request may be repeated."""

from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from lowlift._ledger import Entry, Ledger
from lowlift._ledger.entries import PENDING
from lowlift._receipts import receipt_path
from lowlift.errors import InvalidInput
from lowlift.tables import Table, open_table
from lowlift.workflow.checking import SAME_COUNTS, Verification, verify
from lowlift.workflow.sanitizing import files_beside


class Standing(NamedTuple):
    """What the ledger has of an output.

    Attributes
    ----------
    entry
        The publication that is there, by these very settings from this very table; else None.
    verification
        What was checked of it.
    is_unfinished
        Whether a run that was killed may have left files, which count as nothing.
    """

    entry: Entry | None = None
    verification: Verification | None = None
    is_unfinished: bool = False


def standing_of(
    source: Any, target: str, ledger: Path, settings: str, *, engine: str | None = None
) -> Standing:
    """Tell whether a table was published by these settings to this target, and is still there.

    Parameters
    ----------
    source, engine
        The table. Files are compared by their digest; a table without one by its counts.
    target
        Where it is written.
    ledger
        The file that is asked.
    settings
        A digest of what is asked for.

    Raises
    ------
    InvalidInput
        When another table, or other settings, were published to this target; or when what was
        published is not there as it was.
    """
    receipt = str(receipt_path(target).absolute())
    if not ledger.exists():
        return Standing()
    with Ledger(ledger, must_exist=True) as opened:
        every = [entry for entry in opened.entries() if entry.receipt_file == receipt]
        asked = opened.settings()
    held = [entry for entry in every if entry.is_held]
    if not held:
        is_killed = any(entry.state == PENDING for entry in every)  # an error removes its files
        return Standing(is_unfinished=is_killed and not Path(receipt).exists())
    entry = held[-1]
    if asked.get(entry.id) != settings:
        refuse_changed("the settings", entry.output, _named(entry))
    with open_table(source, engine) as table:
        digest = refuse_other_table(table, entry.source_sha256, entry.output, _named(entry))
    found = _verified(target, source if digest is None else None, engine)
    failed = [check.name for check in found.checks if not check.is_ok] if found else [""]
    if SAME_COUNTS in failed:
        refuse_changed("the table", entry.output, _named(entry))
    if failed or not entry.is_received:
        raise InvalidInput(
            f"{entry.output} is not as it was published ({_named(entry)}); drawing again would be "
            "a second release. Put back a copy of it and of the files beside it; if it was never "
            f"handed out, remove them and use lowlift ledger withdraw {entry.id}."
        )
    return Standing(entry, found)


def refuse_other_table(
    table: Table, sha256: str | None, output: str, which: str = ""
) -> str | None:
    """Refuse a table that is not the one of this digest; return its digest.

    A table that has none, as in a database, is the same here where the other has none too.
    """
    digest = table.sha256()
    if digest != sha256:
        refuse_changed("the table", output, which)
    return digest


def refuse_changed(what: str, output: str, which: str = "") -> NoReturn:
    """Refuse a table or settings that are not those of a publication."""
    raise InvalidInput(
        f"{what} changed since {output} was published{which and f' ({which})'}. Give the new "
        "release another out: the ledger then judges it together with the earlier one, whose files "
        "must stay."
    )


def _named(entry: Entry) -> str:
    return f"{entry.id}, {entry.at[:10]}"


def _verified(target: str, against: Any, engine: str | None) -> Verification | None:
    """Return the checks of what is there; None where it cannot be read."""
    reads = engine if engine == "spark" else None  # what was written, and where, tells the others
    try:
        return verify(
            str(files_beside(target)["release"]), published=target, against=against, engine=reads
        )
    except InvalidInput:
        return None
