"""What all requests share."""

import asyncio
from dataclasses import dataclass, field

from lowlift.web.sessions import Door, Sessions

__all__ = ["House", "NotIn"]


class NotIn(Exception):
    """A request without a session."""


@dataclass(frozen=True, eq=False)
class House:
    """Who gets in, whose sessions there are, and the limits."""

    door: Door
    sessions: Sessions
    upload_limit: int
    is_secure: bool
    #: Held while a password is tried.
    guess: asyncio.Lock = field(default_factory=asyncio.Lock)
