"""Where an error happened, without its text: that may hold data."""

import traceback
from pathlib import Path

__all__ = ["place_of"]


def place_of(error: BaseException) -> str:
    """Return the kind of an error and the line that raised it.

    Examples
    --------
    >>> place_of(KeyError("a secret"))
    'KeyError'
    """
    frames = traceback.extract_tb(error.__traceback__)
    kind = type(error).__name__
    return f"{kind} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else kind
