"""The small records that a report is made of: plain data, ready to be shown."""

from dataclasses import dataclass
from typing import NamedTuple

from lowlift.figures.tradeoffs import Point

__all__ = ["Limit", "Number", "Origin", "Point", "Publication", "Verdict"]


class Number(NamedTuple):
    """A number with its name, and a remark beside it."""

    name: str
    value: str
    note: str = ""


class Limit(NamedTuple):
    """Something that is not promised; a warning when it concerns this very release."""

    name: str
    text: str
    is_warning: bool = False


class Verdict(NamedTuple):
    """The verdict in a word and a sentence, and the numbers behind it."""

    word: str
    #: "good", "bad" or "plain": the colour.
    tone: str
    sentence: str
    detail: str
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Origin:
    """The table that the joint was counted from."""

    sensitive: tuple[str, ...]
    released: tuple[str, ...]
    name: str
    rows: int
    sha256: str | None
    #: What a missing value is: "value", "drop" or "error".
    missing: str = "value"
    #: Columns whose bins were taken from the data.
    from_data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Publication:
    """What was published, as its receipt says."""

    output: str
    output_sha256: str | None
    source: str
    source_sha256: str | None
    rows_in: int
    rows_out: int
    dropped: int
    unseen: int
    #: "fresh", "keyed", or "seeded: not for publication".
    draws: str
    checked_on_this_table: bool
    kept: tuple[str, ...]
    outside_the_guarantee: tuple[str, ...]
    lowlift: str
    python: str

    @property
    def uncovered(self) -> str:
        """Why the bound does not cover all that was published; empty when it does."""
        found = []
        if any(item.startswith("the kept columns") for item in self.outside_the_guarantee):
            found.append("columns were published beside them that the bound does not cover")
        if self.draws.startswith("seeded"):
            found.append("values were drawn by a seed, and who knows it can undo them")
        return "; ".join(found)
