"""What to do about an error, in the words of the pages."""

from collections.abc import Mapping

from lowlift.errors import LowliftError

__all__ = ["ADVICE", "said"]

#: By the keys of `lowlift.errors.ADVICE`.
ADVICE: Mapping[str, str] = {
    "bins": "Write them under its name, such as {example}; other forms: {forms}.",
    "design": "Design one on a table first.",
    "https": "Start the web app with both a certificate and its key.",
    "key": "Make a new one.",
    "missing": "Take missing values as values of their own, or remove them.",
    "overwrite": "Try again.",
    "remote": "Start the web app with a password, a certificate and its key.",
    "unchecked": "Choose a table that has them.",
    "uncovered": "Publish those columns in the same release, or leave them out.",
}


def said(error: BaseException) -> str:
    """Return what an error says on a page."""
    return error.said(ADVICE) if isinstance(error, LowliftError) else str(error)
