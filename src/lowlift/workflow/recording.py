"""Ask the ledger before a publication, and tell it of the publication."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lowlift._ledger import EVERYBODY, Entry, Ledger, is_same, recipient_of
from lowlift._receipts import Receipt, receipt_path
from lowlift._release import Release
from lowlift._version import __version__
from lowlift._wording import counted
from lowlift.composition import Together
from lowlift.criteria import Criterion
from lowlift.encodings import Encoded, published
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables import Table, open_table
from lowlift.tables.sources import Frame
from lowlift.workflow.held import Held, Promise, audit_held
from lowlift.workflow.keys import subkey_of

if TYPE_CHECKING:
    from lowlift.workflow.applying import Options


@dataclass(frozen=True)
class Recording:
    """Which ledger is asked and told, and what it cannot know by itself.

    Parameters
    ----------
    ledger
        Its file; made when it is not there.
    people
        A name for the people of the table. Without it they are told by the digest of the table's
        files, by its name and the id column, or by the name of a table in a database.
    to
        Who gets what is published; "everybody" is the public. Names are compared without regard to
        the case of letters and to white space.
    total
        What all that a recipient holds must satisfy; by default the criterion of this release.
    releases
        Files of earlier releases that are no longer where they were written.
    release_file
        The file of the release that is applied.
    accept_unaudited
        Publish although it cannot be audited with what was published before; recorded.
    settings
        A digest of what was asked for, by which ``lowlift publish`` knows a repeated request.

    Examples
    --------
    >>> Recording("ledger.sqlite", to="the institute").to
    'the institute'
    >>> Recording("ledger.sqlite", to="Everybody").to
    'everybody'
    """

    ledger: str | os.PathLike[str]
    people: str | None = None
    to: str = EVERYBODY
    total: Criterion | None = None
    releases: Sequence[str | os.PathLike[str]] = ()
    release_file: str | os.PathLike[str] | None = None
    accept_unaudited: bool = False
    settings: str | None = None

    def __post_init__(self) -> None:
        for name in ("people", "to"):
            value = getattr(self, name)
            is_text = isinstance(value, str) and bool(value.strip()) and "\n" not in value
            if not is_text and not (name == "people" and value is None):
                raise InvalidInput(f"{name} must be a name on one line; got {value!r}.")
        object.__setattr__(self, "to", recipient_of(self.to))
        if not isinstance(self.ledger, str | os.PathLike):
            raise InvalidInput(
                f"ledger must be a path or a Recording; got {type(self.ledger).__name__}."
            )

    @classmethod
    def of(cls, given: Any) -> "Recording | None":
        """Return a recording for what a caller gave: None, a path or a recording."""
        return given if given is None or isinstance(given, Recording) else cls(given)


@contextlib.contextmanager
def recorded(
    table: Table, encoded: Encoded, target: str | None, options: "Options"
) -> Iterator[Callable[[Receipt], None]]:
    """Ask the ledger; lend what writes an entry before the table appears, and end it afterwards.

    Raises
    ------
    BoundViolated
        When a recipient would hold publications that together break the bound, or when that cannot
        be told and was not accepted.
    """
    recording = options.recording
    if recording is None:
        yield lambda _: None
        return
    if isinstance(table.source, Frame) and recording.people is None:
        raise InvalidInput(
            "the people of a frame must have a name, as a frame has none: give people."
        )
    with Ledger(recording.ledger) as ledger:
        entry = entry_of(table, encoded, target, options, recording)
        before = [each for each in ledger.entries() if each.is_held and is_same(each, entry)]
        entry = replace(entry, is_unaudited=_ask(table, encoded, options, entry, before))
        known, begun = {each.id for each in before}, list[Entry]()

        def begin(receipt: Receipt) -> None:
            found = replace(
                entry,
                source_sha256=receipt.source_sha256,
                output_sha256=receipt.output_sha256,
                rows=receipt.rows_out,
            )
            ledger.add(
                found,
                lambda every: _refuse_newer(every, found, known),
                settings=recording.settings,
            )
            begun.append(found)

        try:
            yield begin
        except BaseException:
            for found in begun:
                ledger.end(found, is_published=found.is_received)
            raise
        for found in begun:
            ledger.end(found, is_published=True)


def entry_of(
    table: Table,
    encoded: Encoded,
    target: str | None,
    options: "Options",
    recording: Recording,
) -> Entry:
    """Return what the ledger is told; the receipt adds to it."""
    release, schema = encoded.release, encoded.origin.schema
    receipt = None if target is None else str(receipt_path(target).absolute())
    file = recording.release_file
    drawn = None
    if options.key is not None:
        secret = subkey_of(options.key, encoded.key_scope) + str(options.id).encode()
        drawn = hashlib.sha256(b"lowlift ledger" + secret).hexdigest()
    return Entry(
        source=table.description,
        source_sha256=table.sha256(),
        people=recording.people,
        id_column=options.id,
        sensitive=schema.sensitive,
        released=schema.released,
        kept=tuple(options.keep),
        release=release.fingerprint,
        release_file=None if file is None else str(Path(file).absolute()),
        encoding=encoded.name,
        criterion=budgets_text(release.criterion),
        draws=options.mode,
        draw_sha256=drawn,
        refines=None if release.refines is None else release.refines.first,
        recipient=recording.to,
        output="a frame" if target is None else target,
        output_sha256=None,
        receipt_file=receipt,
        rows=0,
        is_unaudited=False,
        lowlift=__version__,
    )


def budgets_text(criterion: Any) -> str:
    """Return a criterion with its budgets, without the values of S whose beliefs it may bound."""
    values: dict[str, Any] = getattr(criterion, "parameters", dict)()
    shown = []
    for name, value in values.items():
        if isinstance(value, int | float):
            shown.append(f"{name}={value!r}")
        elif hasattr(value, "parameters"):  # a criterion in another
            shown.append(f"{name}={budgets_text(value)}")
    return f"{type(criterion).__name__}({', '.join(shown)})"


def _refuse_newer(every: Sequence[Entry], entry: Entry, known: set[str]) -> None:
    """Refuse to begin when another process published of the same people since the question."""
    newer = [e for e in every if e.id not in known and e.is_held and is_same(e, entry)]
    if newer:
        raise InvalidInput(
            "another publication of the same people was begun meanwhile; nothing was written. "
            "Try again: it is then audited with that one."
        )


def _ask(
    table: Table, encoded: Encoded, options: "Options", entry: Entry, before: Sequence[Entry]
) -> bool:
    """Refuse what breaks the bound together with what was published; tell whether it is unaudited.

    Each recipient holds what was published to them and to everybody.
    """
    recording = options.recording
    if recording is None:
        return False
    new = Held(encoded, tuple(options.keep), entry.draw_sha256)
    total = recording.total or encoded.release.criterion
    for group in held_by_recipient(entry, before):
        try:
            audit_entries(table, group, new, total, recording.releases)
        except Unaudited as reason:
            if not recording.accept_unaudited:
                earlier = counted(len(group), "earlier publication")
                raise BoundViolated(
                    f"{earlier} of the same people must be audited together with this one, which "
                    f"cannot be done: {reason} Nothing was written.",
                    advice="unaudited",
                ) from None
            return True
    return False


def held_by_recipient(entry: Entry, before: Sequence[Entry]) -> list[list[Entry]]:
    """Return what recipients hold that the new one does not say anyway, each group once."""
    recipients = {entry.holder}
    if entry.holder == EVERYBODY:
        recipients |= {each.holder for each in before}
    by_id = {each.id: each for each in before}
    groups = {
        tuple(each.id for each in before if each.holder in {recipient, EVERYBODY})
        for recipient in recipients
    }
    found = [_independent([by_id[id_] for id_ in group], entry) for group in sorted(groups)]
    return [group for group in found if group]


class Unaudited(Exception):
    """Why earlier publications cannot be audited."""


class ReleaseMissing(Unaudited):
    """The release of an earlier publication is not where it was."""


def _independent(before: Sequence[Entry], entry: Entry) -> list[Entry]:
    """Return the earlier publications that say something which the new one does not say anyway.

    The same draws published again are one publication, and a refinement says what it refines.
    """

    def is_within(one: Entry, other: Entry) -> bool:
        is_drawn_alike = one.draw_sha256 is not None and one.draw_sha256 == other.draw_sha256
        says_it = one.release in {other.release, other.refines}
        return is_drawn_alike and says_it and set(one.kept) <= set(other.kept)

    later, found = [entry], list[Entry]()
    for one in reversed(before):
        if not any(is_within(one, other) for other in later):
            found.append(one)
        later.append(one)
    return found[::-1]


def release_of(entry: Entry, files: Sequence[str | os.PathLike[str]]) -> Encoded:
    """Return the release of an earlier publication, read from its file.

    Raises
    ------
    ReleaseMissing
        When the file is not there, or holds another release.
    """
    places = [Path(file) for file in files]
    if entry.release_file is not None:
        places.append(Path(entry.release_file))
    for place in places:
        with contextlib.suppress(InvalidInput, BoundViolated):
            encoded = published(Release.from_json(place))
            if encoded.release.fingerprint == entry.release:
                return encoded
    where = "was not kept" if entry.release_file is None else f"{entry.release_file} is gone"
    raise ReleaseMissing(f"the release of publication {entry.id} {where} or is another one.")


def audit_entries(
    table: Table,
    before: Sequence[Entry],
    new: Held | None,
    total: Criterion | None,
    files: Sequence[str | os.PathLike[str]],
) -> None:
    """Refuse publications that break a bound together: the total, and what others were promised.

    Without a new one the last of them is it; without a total, its criterion is.

    Raises
    ------
    BoundViolated
        When they do.
    Unaudited
        When it cannot be told.
    """
    if new is None:
        before = [*_independent(before[:-1], before[-1]), before[-1]]
    for promise, found in audited_together(table, before, new, total, files):
        if not found.is_satisfied:
            _refuse_together(found, promise, len(before) if new is not None else len(before) - 1)


def audited_together(
    table: Table,
    before: Sequence[Entry],
    new: Held | None,
    total: Criterion | None,
    files: Sequence[str | os.PathLike[str]],
) -> Iterator[tuple[Promise, Together]]:
    """Yield each promise and the verdict on all publications together; see `audit_entries`."""
    held = [Held(release_of(each, files), each.kept, each.draw_sha256) for each in before]
    if new is not None:
        held.append(new)
    last = held[-1]
    total = total or last.encoded.release.criterion
    promises = [Promise(last.sensitive, total)]
    if len(last.sensitive) > 1:
        promises += [Promise((column,), total) for column in last.sensitive]
    for each in held[:-1]:
        if all(each.sensitive != promise.sensitive for promise in promises):
            promises.append(Promise(each.sensitive, each.encoded.release.criterion))
    # All columns are needed, whatever part of the table is held for drawing.
    with open_table(table.source) as again:
        for promise in promises:
            try:
                again.check_columns(promise.sensitive)
                yield promise, audit_held(again, held, promise)
            except InvalidInput as error:
                raise Unaudited(str(error)) from error


def _refuse_together(found: Together, promise: Promise, n_before: int) -> NoReturn:
    names = ", ".join(repr(column.name) for column in promise.sensitive)
    before = counted(n_before, "earlier publication")
    raise BoundViolated(
        f"together with {before} of the same people this one does not satisfy "
        f"{budgets_text(found.criterion)} for {names}: {found.violations:,} of "
        f"{found.n_outputs:,} joint outputs break it (leakage {found.leakage.lower:.4f} below, "
        f"{found.leakage.upper:.4f} above). Nothing was written.",
        advice="held",
    )
