"""The small records that a report is made of: plain data, ready to be shown."""

from typing import NamedTuple

from lowlift._rounding import ceiling, floor
from lowlift.figures.tradeoffs import Point

__all__ = ["Beside", "Limit", "Number", "Point", "Verdict"]


class Number(NamedTuple):
    """A number with its name, and a remark beside it."""

    name: str
    value: str
    note: str = ""


class Beside(NamedTuple):
    """What is known of the files beside a published table."""

    #: Whether the codebook is not handed out.
    is_codebook_withheld: bool = False
    #: The file of the public form; empty where none is written.
    public_page: str = ""


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


#: More than the rounding of a lift, as a part of it: 2 is not written 2.01.
_SLACK = 1e-9


def at_most_times(lift: float) -> str:
    """Return a measured factor, rounded up.

    Examples
    --------
    >>> at_most_times(3.0956), at_most_times(2.0000000001)
    ('×3.1', '×2')
    """
    return f"×{ceiling(lift * (1 - _SLACK))}"


def at_least_times(lift: float) -> str:
    """Return a measured factor, rounded down.

    Examples
    --------
    >>> at_least_times(2 / 3), at_least_times(0.4999999999), at_least_times(0.0)
    ('×0.666', '×0.5', '×0')
    """
    return f"×{floor(lift * (1 + _SLACK))}"
