"""What all requests share."""

from dataclasses import dataclass

from lowlift.web.access import Access
from lowlift.web.limits import Limits
from lowlift.web.sessions import Sessions

__all__ = ["House", "NotIn"]


class NotIn(Exception):
    """A request without a session."""


@dataclass(frozen=True, eq=False)
class House:
    """Who gets in, whose sessions there are, and the limits."""

    access: Access
    sessions: Sessions
    limits: Limits
    is_secure: bool
