"""Keys for draws that repeat: 32 random bytes in a file that only its owner can read."""

import os
from pathlib import Path
from typing import Any

from lowlift._one_record import key_fault, key_text, subkey_of
from lowlift._one_record.draws import KEY_SIZE
from lowlift._release import Release
from lowlift.encodings import published
from lowlift.errors import InvalidInput

__all__ = ["KEY_SIZE", "check_key", "new_key", "read_key", "subkey_of", "subkey_text"]


def new_key(path: str | os.PathLike[str]) -> Path:
    """Write a new key, mode 0600; never over a file that is there."""
    path = Path(path)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InvalidInput(f"{path.name} exists; a key is never overwritten.") from error
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be written: {error.strerror}.") from error
    with os.fdopen(handle, "wb") as file:
        file.write(os.urandom(KEY_SIZE))
    return path


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key in a file.

    Raises
    ------
    InvalidInput
        When it cannot be read, is not 32 bytes, or others may read it.
    """
    path = Path(path)
    try:
        mode, key = path.stat().st_mode, path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path.name} cannot be read: {error.strerror}.") from error
    if len(key) != KEY_SIZE:
        raise InvalidInput(
            f"a key must be {KEY_SIZE} bytes; {path.name} has {len(key)}.", advice="key"
        )
    if mode & 0o077:
        raise InvalidInput(f"{path.name} must be readable by its owner only: chmod 600 it.")
    return key


def check_key(key: Any) -> None:
    """Refuse what is no key."""
    fault = key_fault(key)
    if fault is not None:
        raise InvalidInput(fault, advice="key")


def subkey_text(release: Release, key: bytes) -> str:
    """Return what an exported program is given instead of the key: 40 hex digits of the subkey.

    Who has it can undo the draws of this release, and of no other.

    Raises
    ------
    InvalidInput
        When the key has another size, or the release was not designed on a table.
    """
    check_key(key)
    return key_text(subkey_of(key, published(release).key_scope))
