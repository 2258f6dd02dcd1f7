"""What the ledger says before a publication, without writing: who holds what, and the sum."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from lowlift._audit import Audit
from lowlift._guarantees import ends_of
from lowlift._ledger import EVERYBODY, Entry, Ledger, is_same
from lowlift._rounding import at_least, at_most, ceiling, floor
from lowlift.composition import Together
from lowlift.criteria import Criterion, EveryPrior, Population, plain_criterion
from lowlift.encodings import Encoded
from lowlift.tables import Table
from lowlift.workflow import recording as asking
from lowlift.workflow.applying import Options
from lowlift.workflow.designing import Design
from lowlift.workflow.held import Held

#: A larger budget is not written as a factor.
_LARGEST = 700.0


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
        All to whom something was published, by the newest of their spellings; those who got
        something of these people first.
    """

    has_ledger: bool = False
    earlier: tuple[Earlier, ...] = ()
    most: str = ""
    least: str = ""
    holds: bool | None = True
    reason: str = ""
    recipients: tuple[str, ...] = ()


class Sum(NamedTuple):
    """What one recipient would hold with a new publication, all of it together.

    Attributes
    ----------
    recipient
        Who; `EVERYBODY` for all who got nothing of their own.
    most, least
        How many times as likely a sensitive value becomes, at most and at least: on these rows; if
        the promise is for others too (a population, other readers), as promised. Empty where that
        is not bounded or cannot be told.
    holds
        Whether the bound holds; None where that cannot be told.
    reason
        Why it cannot be told.
    is_missing
        Whether that is for want of a release file.
    """

    recipient: str
    most: str = ""
    least: str = ""
    holds: bool | None = None
    reason: str = ""
    is_missing: bool = False


def consult(table: Table, encoded: Encoded, options: Options) -> Consulted:
    """Ask the ledger of `options` what publishing would mean; nothing is written to it."""
    recording = options.recording
    if recording is None:
        return Consulted()
    if not Path(recording.ledger).exists():  # the first publication makes it
        return Consulted(has_ledger=True)
    entry, before, others = _before(table, encoded, options, recording)
    names = names_of([*others, *before])
    groups = asking.held_by_recipient(entry, before)
    held = {each.id: each for group in groups for each in group}
    earlier = tuple(_earlier(each, recording.releases) for each in held.values())
    new = Held(encoded, tuple(options.keep), entry.draw_sha256)
    total = recording.total or encoded.release.criterion
    try:
        found = [
            together
            for group in groups
            for _, together in asking.audited_together(table, group, new, total, recording.releases)
        ]
    except asking.Unaudited as reason:
        return Consulted(True, earlier, holds=None, reason=str(reason), recipients=names)
    ends = _outermost(map(_measured, found)) if found else ("", "")
    holds = all(each.is_satisfied for each in found)
    return Consulted(True, earlier, *ends, holds, recipients=names)


def names_of(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the recipients of publications, the newest first, each once as last written."""
    found: dict[str, str] = {}
    for each in reversed(entries):
        found.setdefault(each.holder, each.recipient)
    return tuple(found.values())


def sums(
    table: Table, made: Design, options: Options, recipients: Sequence[str]
) -> tuple[Sum, ...]:
    """Return what each recipient would hold if a design were published to them.

    Each holds what was published to them and to everybody. The last is of all others: they hold
    what was published to everybody, if anything was, and the new one.
    """
    recording = options.recording
    if recording is None or not Path(recording.ledger).exists():
        return ()
    entry, before, _ = _before(table, made.encoded, options, recording)
    new = Held(made.encoded, tuple(options.keep), entry.draw_sha256)
    total = recording.total or made.release.criterion
    found = []
    for name in (*recipients, EVERYBODY):
        # A recipient without a name has only what everybody has.
        one = replace(entry, recipient="" if name == EVERYBODY else name)
        audits: list[Audit | Together] = []
        try:
            for group in asking.held_by_recipient(one, before):
                verdicts = asking.audited_together(table, group, new, total, recording.releases)
                audits += [together for _, together in verdicts]
        except asking.Unaudited as reason:
            is_missing = isinstance(reason, asking.ReleaseMissing)
            found.append(Sum(name, reason=str(reason), is_missing=is_missing))
            continue
        is_alone = not audits
        holds = made.is_satisfied if is_alone else all(each.is_satisfied for each in audits)
        ends = [_promised(each) for each in audits or [made.audit]]
        found.append(Sum(name, *_outermost(ends), holds))
    return tuple(found)


def _before(
    table: Table, encoded: Encoded, options: Options, recording: asking.Recording
) -> tuple[Entry, list[Entry], list[Entry]]:
    """Return what the ledger would be told, and what it has of the same people and of others."""
    with Ledger(recording.ledger, must_exist=True) as ledger:
        every = [each for each in ledger.entries() if each.is_held]
    entry = asking.entry_of(table, encoded, None, options, recording)
    same = [each for each in every if is_same(each, entry)]
    return entry, same, [each for each in every if not is_same(each, entry)]


def _measured(found: Audit | Together) -> tuple[str, str]:
    """Return the largest and the smallest lift on these rows, never smaller or larger than it is.

    Floats are off by their error; what was decided in whole numbers is not.
    """
    n_channels = found.n_channels if isinstance(found, Together) else 1
    error = 4 * (found.joint.lift_error + 8 * n_channels * 2.0**-53)
    most = ceiling(float(found.lift.max()) * (1 + error))
    least = floor(float(found.lift.min()) * (1 - error))
    ends = ends_of(found.criterion)
    if found.is_satisfied and ends.upper < _LARGEST:
        most = min(most, at_most(ends.upper), key=float)
    if found.is_satisfied and ends.lower < _LARGEST:
        least = max(least, at_least(-ends.lower), key=float)
    return most, least


def _promised(found: Audit | Together) -> tuple[str, str]:
    """Return both ends for all whom the criterion is about; empty where they are not bounded."""
    if not _is_for_others(found.criterion):
        return _measured(found)
    ends = ends_of(found.criterion)
    if not found.is_satisfied:
        return "", ""
    most = at_most(ends.upper) if ends.upper < _LARGEST else ""
    return most, at_least(-ends.lower) if ends.lower < _LARGEST else "0"


def _is_for_others(criterion: Criterion) -> bool:
    """Return whether a criterion promises more than the lifts of these rows can show."""
    is_of_readers = isinstance(plain_criterion(criterion), EveryPrior)
    return is_of_readers or isinstance(criterion, Population)


def _outermost(ends: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the largest and the smallest of all ends; empty where one is not known."""
    mosts, leasts = zip(*ends, strict=True)
    most = max(mosts, key=float) if all(mosts) else ""
    return most, min(leasts, key=float) if all(leasts) else ""


def _earlier(entry: Entry, files: Any) -> Earlier:
    try:
        release = asking.release_of(entry, files).release
    except asking.Unaudited:
        return Earlier(entry, "", is_there=False)
    upper = ends_of(release.criterion).upper
    return Earlier(entry, at_most(upper) if upper < _LARGEST else "", is_there=True)
