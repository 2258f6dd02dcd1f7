"""The file of the ledger: SQLite, one transaction for each change, readable by its owner only.

A process that is killed at any point leaves every entry that was written before: SQLite takes back
what was not ended when the file is opened again.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import NoReturn, Self

from lowlift._files import place, write_text
from lowlift._ledger.entries import FAILED, PENDING, PUBLISHED, WITHDRAWN, Entry
from lowlift._temporary import temporary_beside
from lowlift.errors import InvalidInput

#: "LLed" as a number: says that a SQLite file is a ledger.
_APPLICATION = 0x4C4C6564
_VERSION = 1
#: Bytes of the smallest page of SQLite.
_SMALLEST = 512
#: How a file of SQLite begins.
_SQLITE = b"SQLite format 3\0"
#: Seconds to wait for another process.
_PATIENCE = 10.0
#: Beside the publications, in a table of its own: ledgers of earlier versions have none.
_SETTINGS = "CREATE TABLE IF NOT EXISTS settings (id TEXT PRIMARY KEY, sha256 TEXT) STRICT"
_NUMBERS = {"rows", "is_unaudited"}
#: The variable that names the ledger; "off" for none.
VARIABLE = "LOWLIFT_LEDGER"
#: The file in the data folder that says that the ledger is off.
_OFF = "ledger.off"


def default_ledger() -> Path | None:
    """Return the ledger of this user, by LOWLIFT_LEDGER or XDG_DATA_HOME; None when it is off.

    It is off by LOWLIFT_LEDGER=off, or by the setting that `switch` writes.
    """
    given = os.environ.get(VARIABLE, "")
    if given == "off":
        return None
    if given:
        return Path(given)
    folder = _folder()
    return None if (folder / _OFF).exists() else folder / "ledger.sqlite"


def switch(*, is_on: bool) -> Path:
    """Turn the ledger of this user on or off for good; return the file of the setting."""
    setting = _folder() / _OFF
    if is_on:
        setting.unlink(missing_ok=True)
    else:
        setting.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(setting, "The ledger is off: lowlift ledger on.\n", is_private=True)
    return setting


def _folder() -> Path:
    """Return this user's data folder for lowlift."""
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():
        data = Path.home() / ".local" / "share"
    return data / "lowlift"


class Ledger:
    """An open ledger; a context manager that closes it.

    Parameters
    ----------
    path
        The file. One that is not there is made, with its folder, unless `must_exist`.
    must_exist
        Refuse a file that is not there.
    patience
        Seconds to wait while another process writes.

    Raises
    ------
    InvalidInput
        For a file that is no ledger, of another version, damaged, locked, readable by others, or in
        a folder that cannot be written to.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        must_exist: bool = False,
        patience: float = _PATIENCE,
    ) -> None:
        self.path = Path(path).absolute()
        if not self.path.exists():
            if must_exist:
                raise InvalidInput(
                    f"the ledger must exist; {self.path} does not. The first "
                    "publication that is told to it makes it."
                )
            self._make()
        self._check_file()
        self._connection = sqlite3.connect(self.path, timeout=patience, isolation_level=None)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _make(self) -> None:
        """Make an empty ledger: in full under another name, then under its own."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = temporary_beside(self.path)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            self._refuse_folder(error)
        names = ", ".join(
            f"{each.name} {'INTEGER' if each.name in _NUMBERS else 'TEXT'}"
            + (" PRIMARY KEY" if each.name == "id" else "")
            for each in fields(Entry)
        )
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as made:
                made.execute(f"PRAGMA application_id = {_APPLICATION}")
                made.execute(f"PRAGMA user_version = {_VERSION}")
                made.execute(f"CREATE TABLE publications ({names}) STRICT")
            with contextlib.suppress(InvalidInput):  # another process made it meanwhile
                place(temporary, self.path, force=False)
        except sqlite3.Error as error:
            self._refuse(error)
        finally:
            temporary.unlink(missing_ok=True)

    def _check_file(self) -> None:
        try:
            found = self.path.stat()
            with self.path.open("rb") as file:
                start = file.read(len(_SQLITE))
        except OSError as error:
            self._refuse_folder(error)
        if found.st_size < _SMALLEST or start != _SQLITE:  # SQLite takes a small one for a new one
            self._refuse_damage()
        if found.st_mode & 0o077:
            raise InvalidInput(
                f"{self.path.name} must be readable by its owner only: chmod 600 it."
            )

    def _check(self) -> None:
        with self._refusing():
            application = self._connection.execute("PRAGMA application_id").fetchone()[0]
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if application != _APPLICATION:
                raise InvalidInput(f"{self.path.name} is no ledger of lowlift. Name another file.")
            if version != _VERSION:
                raise InvalidInput(
                    f"{self.path.name} must be a ledger of version {_VERSION}; it is of version "
                    f"{version}. Use the lowlift that wrote it."
                )
            names = [row[1] for row in self._connection.execute("PRAGMA table_info(publications)")]
            whole = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if whole != "ok" or names != [each.name for each in fields(Entry)]:
                self._refuse_damage()
            self._connection.execute("PRAGMA synchronous = EXTRA")

    def add(
        self,
        entry: Entry,
        check: Callable[[list[Entry]], object] = lambda _: None,
        *,
        settings: str | None = None,
    ) -> None:
        """Write an entry; `check` may refuse, and sees all others: none comes in between.

        `settings` is a digest of what was asked for, by which a repeated request is known.
        """
        row = entry.to_row()
        marks = ", ".join("?" for _ in row)
        with self._changing():
            check(self.entries())
            self._connection.execute(
                f"INSERT INTO publications ({', '.join(row)}) VALUES ({marks})",  # noqa: S608 (names of fields)
                [int(value) if isinstance(value, bool) else value for value in row.values()],
            )
            if settings is not None:
                self._connection.execute(_SETTINGS)
                self._connection.execute("INSERT INTO settings VALUES (?, ?)", (entry.id, settings))

    def settings(self) -> dict[str, str]:
        """Return the digests of what was asked for, by the id of the entry."""
        with self._refusing():
            found = self._connection.execute("PRAGMA table_info(settings)").fetchall()
            return dict(self._connection.execute("SELECT * FROM settings")) if found else {}

    def end(self, entry: Entry, *, is_published: bool) -> None:
        """Write whether a publication that was begun took place."""
        state = PUBLISHED if is_published else FAILED
        with self._changing():
            self._connection.execute(
                "UPDATE publications SET state = ? WHERE id = ? AND state = ?",
                (state, entry.id, PENDING),
            )

    def withdraw(self, id: str) -> Entry:  # noqa: A002 (the name of the field)
        """Declare that what an entry says was never handed out: it no longer counts.

        Raises
        ------
        InvalidInput
            When no publication that counts has this id.
        """
        with self._changing():
            changed = self._connection.execute(
                "UPDATE publications SET state = ? WHERE id = ? AND state IN (?, ?)",
                (WITHDRAWN, id, PUBLISHED, PENDING),
            ).rowcount
        if not changed:
            raise InvalidInput(f"an id must be that of a publication that counts; {id!r} is none.")
        return next(entry for entry in self.entries() if entry.id == id)

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        with self._refusing():
            answer = self._connection.execute("SELECT * FROM publications ORDER BY rowid")
            names = [each[0] for each in answer.description]
            return [Entry.from_row(dict(zip(names, row, strict=True))) for row in answer]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with self._refusing():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends one by itself on a full disk
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self._refuse(error)

    def _refuse(self, error: sqlite3.Error) -> NoReturn:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise InvalidInput(
                f"the ledger {self.path.name} is locked by another process. Try again when it has "
                "ended."
            ) from error
        if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
            raise InvalidInput(
                f"the ledger {self.path.name} cannot be written in {self.path.parent}. Make the "
                "file and its folder writable, or name another ledger."
            ) from error
        if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            raise InvalidInput(
                f"the ledger {self.path.name} cannot be written: the disk is full or fails."
            ) from error
        self._refuse_damage()

    def _refuse_damage(self) -> NoReturn:
        raise InvalidInput(
            f"{self.path.name} is damaged, or no ledger of lowlift. Put back a copy of it; without "
            "it nobody knows what was published."
        )

    def _refuse_folder(self, error: OSError) -> NoReturn:
        raise InvalidInput(
            f"the ledger {self.path.name} cannot be made in {self.path.parent}: {error.strerror}. "
            "Name another file, or turn the ledger off."
        ) from error
