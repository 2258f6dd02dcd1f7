"""The small records that a report is made of: plain data, ready to be shown."""

from typing import NamedTuple

from lowlift.figures.tradeoffs import Point

__all__ = ["Limit", "Number", "Point", "Verdict"]


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
