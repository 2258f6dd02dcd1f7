"""A card before the draw: what it says, and what can be chosen or changed."""

from datetime import datetime
from typing import NamedTuple

from lowlift._ledger import Entry
from lowlift.web.work import Published
from lowlift.workflow.consulting import Earlier


class Choice(NamedTuple):
    """One way to go on: the value of a field, what it means, and a note below."""

    value: str
    words: str
    note: str = ""
    is_safe: bool = False


class Way(NamedTuple):
    """A link that changes the setting instead."""

    words: str
    address: str


class Ask(NamedTuple):
    """A warning: its field, what it says, and what can be done.

    Without choices it only tells; one that `is_caution` tells what speaks against the table, one
    that `is_neutral` what speaks neither for nor against it. With choices of which none is safe,
    one must be made. One that `is_final` cannot be gone beyond here: nothing is written.
    """

    name: str
    title: str
    text: str = ""
    choices: tuple[Choice, ...] = ()
    ways: tuple[Way, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    #: How many times as likely a value becomes by all of it together, at most and at least.
    together: tuple[str, str] = ("", "")
    #: What can be done by a command, which follows these words.
    command_for: str = ""
    command: str = ""
    is_final: bool = False
    is_caution: bool = False
    is_neutral: bool = False
    wants_release: bool = False
    #: A link that avoids what is asked about, shown before the choices.
    instead: Way | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to decide."""
        return not self.is_final and (not self.choices or any(c.is_safe for c in self.choices))

    @property
    def has_box(self) -> bool:
        """Whether its only choice is a box that must be ticked."""
        return len(self.choices) == 1

    @property
    def look(self) -> str:
        """How it is shown: "final", "neutral" or "done"; empty for a warning."""
        if self.is_final:
            return "final"
        if self.is_neutral:
            return "neutral"
        return "done" if self.is_done and not self.is_caution else ""

    @property
    def sign(self) -> str:
        """What its icon says, in words."""
        if not self.choices or self.is_final:
            return "cannot be settled here" if self.is_final else "to know"
        return "settled" if self.is_done else "to decide"


def day(entry: Entry | Published) -> str:
    """Return the day of a publication in words, such as 3 March 2026."""
    at = datetime.fromisoformat(entry.at) if isinstance(entry.at, str) else entry.at
    return f"{at.day} {at:%B %Y}"
