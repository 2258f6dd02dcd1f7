"""The time that a search may take: set once when it starts, and asked by every loop."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lowlift.errors import InvalidInput

#: Replaced in tests by a clock that advances by a step per question.
now = time.monotonic


class Deadline:
    """The end of a search that starts now.

    Examples
    --------
    >>> Deadline(None).is_over, Deadline(None).left
    (False, inf)
    >>> Deadline(60.0).left <= 60.0
    True
    """

    __slots__ = ("end", "start")

    def __init__(self, seconds: float | None) -> None:
        self.start = now()
        self.end = math.inf if seconds is None else self.start + seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return now() - self.start

    @property
    def left(self) -> float:
        """Seconds that are left, below 0 when it is over; inf without a limit."""
        return self.end - now() if self.end < math.inf else math.inf

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return self.left <= 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that something takes which is no part of the search."""
        start = now()
        try:
            yield
        finally:
            spent = now() - start
            self.start += spent
            self.end += spent

    def half(self) -> "Deadline":
        """Return a deadline of the same start at half of the time."""
        part = Deadline.__new__(Deadline)
        part.start, part.end = self.start, self.start + (self.end - self.start) / 2
        return part

    def earlier(self, seconds: float) -> "Deadline":
        """Return a deadline of the same start that leaves so many seconds, at most half of all.

        What comes after a search (rounding, the audit) needs them.
        """
        part = Deadline.__new__(Deadline)
        part.start = self.start
        part.end = self.end - min(seconds, (self.end - self.start) / 2)
        return part


def check_time_limit(time_limit: float | None) -> None:
    """Refuse a limit that is not a number of seconds, 0 or more; None means none."""
    if time_limit is None:
        return
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if not is_number or not time_limit >= 0 or (math.inf > time_limit > 1e15):
        shown = (
            repr(time_limit) if is_number and not time_limit >= 1e15 else type(time_limit).__name__
        )
        raise InvalidInput(f"time_limit must be 0 seconds or more, below 1e15 or inf; got {shown}.")
