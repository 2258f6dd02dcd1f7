"""Files written in full or not at all."""

import contextlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from lowlift._temporary import temporary_beside
from lowlift.errors import InvalidInput
from lowlift.schemas import SCHEMAS, check


def write_text(path: str | os.PathLike[str], text: str, *, is_private: bool) -> None:
    """Write a text file atomically, readable by its owner only when `is_private`.

    A run that is killed leaves the file as it was.
    """
    write_bytes(path, text.encode("utf-8"), is_private=is_private)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, is_private: bool) -> None:
    """Write a file atomically; see `write_text`."""
    draft = Draft(path, content, is_private=is_private)
    try:
        draft.publish(force=True)
    finally:
        draft.discard()


class Draft:
    """A file that is written in full under a temporary name, and gets its own name later.

    Each step may be interrupted at any point: `undo` looks at the files, not at what was noted
    about them.
    """

    def __init__(self, path: str | os.PathLike[str], content: bytes, *, is_private: bool) -> None:
        self.path = Path(path)
        check_writable(self.path)
        self.temporary = temporary_beside(self.path)
        self._old = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.old")
        self._inode = 0
        try:
            handle = os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                self._inode = os.fstat(file.fileno()).st_ino
            if not is_private:
                open_to_readers(self.temporary)
        except BaseException:
            self.discard()
            raise

    def set_aside(self) -> None:
        """Take the file that is there now out of sight, until `undo` or `discard`."""
        if os.path.lexists(self.path):
            self.path.rename(self._old)

    def publish(self, *, force: bool) -> None:
        """Give the file its name; without `force`, refuse one that is taken."""
        place(self.temporary, self.path, force=force)

    def undo(self, *, restore: bool) -> None:
        """Take the name away again; with `restore`, put back what was set aside."""
        with contextlib.suppress(FileNotFoundError):
            if self._inode and self.path.stat().st_ino == self._inode:
                self.path.unlink()
        if restore and os.path.lexists(self._old) and not os.path.lexists(self.path):
            self._old.rename(self.path)

    def discard(self) -> None:
        """Remove what has a temporary name: the draft, and what was set aside."""
        self.temporary.unlink(missing_ok=True)
        self._old.unlink(missing_ok=True)


def place(temporary: Path, path: Path, *, force: bool) -> None:
    """Give a whole file on the disk its name; after a crash the name leads there or is free."""
    if force:
        temporary.replace(path)
    else:
        try:
            # Unlike a rename, a link never replaces a file.
            path.hardlink_to(temporary)
        except FileExistsError:
            refuse_taken(path)
        except OSError:  # a file system without links
            if os.path.lexists(path):
                refuse_taken(path)
            temporary.replace(path)
        else:
            temporary.unlink()
    sync(path.parent)


def refuse_taken(path: Path) -> NoReturn:
    """Refuse a name that was free when the work began."""
    raise InvalidInput(
        f"an output must not exist; {path.name} appeared meanwhile. Use force to replace it."
    )


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a crash of the machine."""
    handle = os.open(path, os.O_RDONLY)
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        os.fsync(handle)
    os.close(handle)


def open_to_readers(path: Path) -> None:
    """Give a file the mode that a new file would have."""
    mask = os.umask(0o077)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def read_json(path: str | os.PathLike[str], what: str, *versions: int) -> dict[str, Any]:
    """Return the mapping in a file of ours that says this format and one of these versions.

    Parameters
    ----------
    path
        The file.
    what
        What it holds: "release", "codebook" and "receipt" are checked against their schema.
    versions
        The versions that are read, the oldest first.

    Raises
    ------
    InvalidInput
        For a file that cannot be read, is no JSON (NaN and infinity are none), has a key twice,
        says otherwise, or does not fit the schema.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"path must be a path; got {type(path).__name__}.")
    name, kind = Path(path).name, f"lowlift-{what}"
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
    if type(saved.get("version")) is not int or saved["version"] not in versions:
        raise InvalidInput(
            f"{name} must be of version {' or '.join(map(str, versions))}; it is of version "
            f"{saved.get('version')!r}. Read it with the lowlift that wrote it."
        )
    if what in SCHEMAS:
        with refusing_damage(name):
            check(saved, what)
    return saved


@contextlib.contextmanager
def refusing_damage(name: str) -> Iterator[None]:
    """Turn what goes wrong when an object is made of a file's parts into one line."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{name} is damaged: {error}") from error
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        fault = f"a part is missing or of the wrong kind ({type(error).__name__})"
        raise InvalidInput(f"{name} is damaged: {fault}.") from error


def refuse_unknown(saved: Mapping[str, Any], known: Mapping[str, Any], name: str) -> None:
    """Refuse a mapping that has a key which `known` has not, on any level of mappings."""
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
