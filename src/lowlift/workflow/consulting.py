"""What the ledger says before a publication, without writing: who holds what, and the sum."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lowlift._guarantees import ends_of
from lowlift._ledger import Entry, Ledger, is_same
from lowlift._rounding import at_most, ceiling, floor
from lowlift.encodings import Encoded
from lowlift.tables import Table
from lowlift.workflow import recording as asking
from lowlift.workflow.applying import Options
from lowlift.workflow.held import Held


class Earlier(NamedTuple):
    """An earlier publication of the same people.

    Attributes
    ----------
    entry
        What the ledger has of it.
    most
        How many times as likely it makes a sensitive value at most; empty where that is not
        bounded or its release is not there.
    is_there
        Whether its release can be read.
    """

    entry: Entry
    most: str
    is_there: bool


@dataclass(frozen=True)
class Consulted:
    """What the ledger says of a publication before it is drawn.

    Parameters
    ----------
    has_ledger
        Whether there is a ledger to be told.
    earlier
        What the recipients hold of the same people.
    most, least
        How many times as likely all of it together makes a sensitive value, at most and at least;
        empty where it cannot be told, or there is nothing earlier.
    holds
        Whether all of it together keeps the bound; None where that cannot be told.
    reason
        Why it cannot be told.
    recipients
        All who got something of these people.
    """

    has_ledger: bool = False
    earlier: tuple[Earlier, ...] = ()
    most: str = ""
    least: str = ""
    holds: bool | None = True
    reason: str = ""
    recipients: tuple[str, ...] = ()


def consult(table: Table, encoded: Encoded, options: Options) -> Consulted:
    """Ask the ledger of `options` what publishing would mean; nothing is written to it."""
    recording = options.recording
    if recording is None:
        return Consulted()
    if not Path(recording.ledger).exists():  # the first publication makes it
        return Consulted(has_ledger=True)
    with Ledger(recording.ledger, must_exist=True) as ledger:
        every = ledger.entries()
    entry = asking.entry_of(table, encoded, None, options, recording)
    before = [each for each in every if each.is_held and is_same(each, entry)]
    names = tuple(sorted({each.recipient for each in before}))
    groups = asking.held_by_recipient(entry, before)
    held = {each.id: each for group in groups for each in group}
    earlier = tuple(_earlier(each, recording.releases) for each in held.values())
    new = Held(encoded, tuple(options.keep), entry.draw_sha256)
    total = recording.total or encoded.release.criterion
    most, least, holds = 0.0, math.inf, True
    try:
        for group in groups:
            found = asking.audited_together(table, group, new, total, recording.releases)
            for _, together in found:
                most = max(most, float(together.lift.max()))
                least = min(least, float(together.lift.min()))
                holds = holds and together.is_satisfied
    except asking.Unaudited as reason:
        return Consulted(True, earlier, holds=None, reason=str(reason), recipients=names)
    ends = (ceiling(most), floor(least)) if groups else ("", "")
    return Consulted(True, earlier, *ends, holds, recipients=names)


def _earlier(entry: Entry, files: Any) -> Earlier:
    try:
        release = asking.release_of(entry, files).release
    except asking.Unaudited:
        return Earlier(entry, "", is_there=False)
    upper = ends_of(release.criterion).upper
    return Earlier(entry, at_most(upper) if upper < 700 else "", is_there=True)
