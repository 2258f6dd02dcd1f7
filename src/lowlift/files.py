"""Files written in full or not at all."""

import hashlib
import os
import tempfile
from pathlib import Path

from lowlift.errors import InvalidInput

__all__ = ["check_writable", "sha256_of", "write_bytes", "write_text"]

_CHUNK = 1 << 20


def write_text(path: str | os.PathLike[str], text: str, *, is_private: bool) -> None:
    """Write a text file atomically, readable by its owner only when `is_private`.

    A run that is killed leaves the file as it was.
    """
    write_bytes(path, text.encode("utf-8"), is_private=is_private)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, is_private: bool) -> None:
    """Write a file atomically; see `write_text`."""
    path = Path(path)
    check_writable(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not is_private:
            draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose folder is not there or cannot be written to."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"{path.name} needs a folder that exists: {path.parent} does not.")
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InvalidInput(f"{path.name} cannot be written there. Choose another name or folder.")


def sha256_of(*paths: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of the files one after the other, in hex."""
    digest = hashlib.sha256()
    for path in paths:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
