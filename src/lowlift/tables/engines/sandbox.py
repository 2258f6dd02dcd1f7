"""A DuckDB that can touch only the files it was given.

External access is off except for those files and one private folder; extensions are neither
installed nor loaded; the configuration is locked. Given files get plain names through links in
the private folder, so that no character of a path means anything to DuckDB.
"""

import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from lowlift.errors import InvalidInput
from lowlift.tables.background import started
from lowlift.tables.dialects import DUCKDB, Expression
from lowlift.tables.engines import Rows, Values
from lowlift.tables.engines.private import PrivateFolder

Found = TypeVar("Found")

_MEMORY = "1GB"
_SIZE = re.compile(r"\d+(\.\d+)?\s*([KMGT]i?)?B", re.IGNORECASE)


class Sandbox:
    """An in-memory DuckDB in a private folder of mode 0700, which `close` removes.

    It may read and write `paths` beside that folder. An error is about a table or an output, which
    `about` describes.
    """

    def __init__(self, paths: Sequence[Path], about: str) -> None:
        self.about = about
        self._private = PrivateFolder()
        self.folder = self._private.path
        try:
            self.connection = self._connect(paths)
        except BaseException:
            self._private.close()
            raise

    def _connect(self, paths: Sequence[Path]) -> duckdb.DuckDBPyConnection:
        spill = self.folder / "spill"
        spill.mkdir()
        memory = os.environ.get("LOWLIFT_MEMORY", _MEMORY)
        if not _SIZE.fullmatch(memory.strip()):
            raise InvalidInput(
                f"LOWLIFT_MEMORY must be a size such as 4GB; got {memory!r}. Or unset it."
            )
        connection = duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "allow_persistent_secrets": "false",
                "python_enable_replacements": "false",
                "memory_limit": memory,
                "temp_directory": str(spill),
            },
        )
        connection.execute("SET enable_progress_bar = false")
        # DuckDB checks where a link leads, so the files themselves are listed.
        allowed = [str(path.resolve()) for path in paths]
        connection.execute("SET allowed_paths = $1", [allowed])
        connection.execute("SET allowed_directories = $1", [[f"{self.folder}{os.sep}"]])
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def link(self, path: Path, name: str) -> str:
        """Return a plain path in the private folder that leads to a given file."""
        place = self.folder / name
        place.symlink_to(path.resolve())
        return str(place)

    def run(self, query: Expression | str, values: Values | None = None) -> Rows:
        """Run a statement and return its rows.

        When DuckDB refuses, only the kind of its error is told: its message may quote values.
        """
        text = query if isinstance(query, str) else DUCKDB.sql(query)
        given = dict(values) if values else None
        return self._refusing(lambda: self.connection.execute(text, given).fetchall())

    def answer(
        self,
        query: Expression,
        fetch: Callable[[duckdb.DuckDBPyRelation], Found],
        values: Values | None = None,
    ) -> Found:
        """Return what `fetch` makes of the rows of a query, such as a frame; else as `run`."""
        text, given = DUCKDB.sql(query), dict(values) if values else None
        return self._refusing(lambda: fetch(self.connection.sql(text, params=given)))

    def _refusing(self, work: Callable[[], Found]) -> Found:
        try:
            return self._interruptible(work)
        except duckdb.Error as error:
            fault = said(error, self.about)
        except UnicodeError:
            fault = f"{self.about} must be UTF-8 text; it is not."
        # Raised here, so that not even the chain of exceptions holds the original message.
        raise InvalidInput(fault)

    def _interruptible(self, work: Callable[[], Found]) -> Found:
        """Run a query so that an exception of a signal's handler stops it and is raised here.

        In the main thread DuckDB itself would answer a signal, with an error that hides which
        exception it was.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        done = started(work, "lowlift query")
        try:
            # Not Thread.join, after which an interrupted Python takes the thread for ended.
            wait([done])
        except BaseException:
            while not done.done():  # again and again: the query may not have begun
                self.connection.interrupt()
                wait([done], 0.05)
            raise
        return done.result()

    def register(self, name: str, value: Any) -> None:
        """Let queries read arrays or a frame under a name."""
        self._refusing(lambda: self.connection.register(name, value))

    def close(self) -> None:
        """Close the connection and remove the folder."""
        self.connection.close()
        self._private.close()


def said(error: duckdb.Error, about: str) -> str:
    """Return what may be told of an error: its kind, a line number and a column's name."""
    message = str(error)
    if "CSV Error on Line" in message:
        return _said_of_csv(message, about)
    if "sniffing" in message:
        return f"{about} must be well-formed CSV; its columns cannot be made out on any line."
    if isinstance(error, duckdb.OutOfMemoryException):
        return (
            f"{about} needs more memory or temporary disk space than is allowed. "
            "Ask for fewer columns or wider bins, or set LOWLIFT_MEMORY (such as 4GB)."
        )
    if isinstance(error, duckdb.PermissionException):
        return f"{about} must not reach for other files; DuckDB refused it access."
    if isinstance(error, duckdb.IOException):
        return f"{about} must be readable and its disk have room; DuckDB could not go on."
    return f"{about} could not be read by DuckDB ({type(error).__name__})."


def _said_of_csv(message: str, about: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", message)
    place = f"line {line[1]}" if line else "one line"
    if "Error when converting column" not in message:
        return f"{about} must be well-formed CSV in UTF-8; {place} is not."
    column = _only(r'^Error when converting column "(.*)"\. Could not', message)
    kind = _only(r"is being converted as type (\w+)", message)
    return (
        f"{about} must hold one type in {f'column {column!r}' if column else 'each column'}; "
        f"{place} is no {kind or 'such value'}. Correct the line, or convert the file to Parquet "
        "with that column as text."
    )


def _only(pattern: str, message: str) -> str | None:
    """Return what the pattern finds; None where a quoted line of the table says the like too."""
    found = set(re.findall(pattern, message, re.MULTILINE))
    return found.pop() if len(found) == 1 else None
