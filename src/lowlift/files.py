"""Files written in full or not at all."""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from lowlift.errors import InvalidInput

__all__ = [
    "check_writable",
    "read_json",
    "refuse_unknown",
    "sha256_of",
    "write_bytes",
    "write_text",
]

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


def read_json(path: str | os.PathLike[str], kind: str, version: int) -> dict[str, Any]:
    """Return the mapping in a file of ours that says this format and version.

    Parameters
    ----------
    path
        The file.
    kind
        The format it must say, such as "lowlift-release".
    version
        The version it must say.

    Raises
    ------
    InvalidInput
        For a file that cannot be read, is no JSON (NaN and infinity are none), has a key twice, or
        says otherwise.
    """
    name, what = Path(path).name, kind.removeprefix("lowlift-")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is no {what}: it is not text.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not one of a file"
        raise InvalidInput(f"{name} cannot be read: {reason}.") from error
    try:
        saved = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_refuse_repeated,
        )
    except InvalidInput as error:
        raise InvalidInput(f"{name} {error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name} is no {what}, or is truncated: it is not JSON.") from error
    if not isinstance(saved, dict) or saved.get("format") != kind:
        raise InvalidInput(f'{name} is no {what}: it does not say "format": "{kind}".')
    if type(saved.get("version")) is not int or saved["version"] != version:
        raise InvalidInput(
            f"{name} must be of version {version}; it is of version {saved.get('version')!r}. "
            "Read it with the lowlift that wrote it."
        )
    return saved


def refuse_unknown(saved: Mapping[str, Any], known: Mapping[str, Any], name: str) -> None:
    """Refuse a mapping that has a key which `known` has not, on any level of mappings.

    Raises
    ------
    InvalidInput
        With the key, and `name` for the file.
    """
    for key, value in saved.items():
        if key not in known:
            raise InvalidInput(
                f"{name} must have no keys but those that lowlift writes; it has {key!r}. "
                "Remove it, or read the file with the lowlift that wrote it."
            )
        if isinstance(value, Mapping) and isinstance(known[key], Mapping):
            refuse_unknown(value, known[key], name)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mapping; readers differ in which value of a repeated key they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInput(f"must have each key once; it has {repeated!r} twice. Remove one.")
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(digits)
    return number


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
