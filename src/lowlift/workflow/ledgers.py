"""Look at a ledger: what was published, whether its files are there, and what holds together."""

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lowlift._files import write_text
from lowlift._ledger import EVERYBODY, Entry, Ledger, Who, is_same
from lowlift.criteria import Criterion
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables import Table, open_table
from lowlift.workflow.checking import Check, Verification
from lowlift.workflow.recording import Unaudited, audit_entries, release_of


def read_ledger(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a ledger, the oldest first.

    A run that did not end is told as "failed", or as "published" where its receipt is there.

    Raises
    ------
    InvalidInput
        For a ledger that is not there, of another version, locked or damaged.
    """
    with Ledger(path, must_exist=True) as ledger:
        return [_settled(entry) for entry in ledger.entries()]


def _settled(entry: Entry) -> Entry:
    if entry.state != "pending" or entry.may_run:
        return entry
    return replace(entry, state="published" if entry.is_received else "failed")


def withdraw(path: str | os.PathLike[str], id: str) -> Entry:  # noqa: A002 (the name of the field)
    """Declare that what a publication wrote was never handed out, so that it no longer counts."""
    with Ledger(path, must_exist=True) as ledger:
        return ledger.withdraw(id)


def export_ledger(path: str | os.PathLike[str], out: str | os.PathLike[str]) -> int:
    """Write the entries of a ledger to a private JSON or CSV file; return how many."""
    found = [asdict(entry) for entry in read_ledger(path)]
    where = Path(out)
    if where.suffix == ".json":
        content = {"format": "lowlift-ledger", "version": 1, "publications": found}
        text = json.dumps(content, indent=1) + "\n"
    elif where.suffix == ".csv":
        lines = io.StringIO()
        names = list(Entry.__dataclass_fields__)
        writer = csv.DictWriter(lines, names, lineterminator="\n")
        writer.writeheader()
        for row in found:
            writer.writerow({k: " ".join(v) if isinstance(v, tuple) else v for k, v in row.items()})
        text = lines.getvalue()
    else:
        raise InvalidInput(f"a ledger is written as .json or .csv; got {where.name!r}.")
    write_text(where, text, is_private=True)
    return len(found)


def check_ledger(
    path: str | os.PathLike[str],
    source: Any = None,
    *,
    total: Criterion | None = None,
    people: str | None = None,
    id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
    releases: Sequence[str | os.PathLike[str]] = (),
    engine: str | None = None,
) -> Verification:
    """Check that the releases of a ledger are there, and what is held of the people of a table.

    Parameters
    ----------
    path
        The ledger.
    source
        A table: what each recipient holds of its people is audited together on its rows.
    total
        What must hold; by default the criterion of the last publication to that recipient.
    people, id
        By which the people of the table are told, as for `Recording`; the id column.
    releases
        Files of releases that are no longer where they were written.
    """
    entries = [entry for entry in read_ledger(path) if entry.is_held]
    checks = [_file(entry, releases) for entry in entries]
    if source is not None:
        with open_table(source, engine) as table:
            who = Who(table.description, table.sha256(), people, id)
            theirs = [entry for entry in entries if is_same(entry, who)]
            checks += _together(table, theirs, total, releases)
    return Verification(tuple(checks))


def _file(entry: Entry, releases: Sequence[str | os.PathLike[str]]) -> Check:
    name = f"the release of {entry.id} is there"
    try:
        release_of(entry, releases)
    except Unaudited as reason:
        return Check(name, is_ok=False, detail=str(reason))
    return Check(name, is_ok=True, detail=entry.release[:16])


def _together(
    table: Table,
    entries: Sequence[Entry],
    total: Criterion | None,
    releases: Sequence[str | os.PathLike[str]],
) -> list[Check]:
    """Audit what each recipient holds."""
    checks = []
    for holder, recipient in sorted({each.holder: each.recipient for each in entries}.items()):
        theirs = [entry for entry in entries if entry.holder in {holder, EVERYBODY}]
        name = f"what {recipient} holds keeps the bound"
        words = f"{len(theirs)} publication{'s' if len(theirs) > 1 else ''}"
        try:
            audit_entries(table, theirs, None, total, releases)
        except (BoundViolated, Unaudited) as error:
            said = error.message if isinstance(error, BoundViolated) else str(error)
            checks.append(Check(name, is_ok=False, detail=f"{words}; {said}"))
        else:
            checks.append(Check(name, is_ok=True, detail=words))
    if not checks:
        checks.append(Check("what is held of this table", is_ok=True, detail="nothing"))
    return checks
