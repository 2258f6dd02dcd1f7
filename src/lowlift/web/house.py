"""What all requests share."""

from dataclasses import dataclass

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
