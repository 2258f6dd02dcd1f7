"""Parquet and CSV files, written under a temporary name and renamed when they are whole."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlglot import exp

from lowlift.errors import InvalidInput
from lowlift.files import check_writable, open_to_readers, place, sync
from lowlift.tables.dialects import DUCKDB
from lowlift.tables.draws import Progress, shuffled_codes
from lowlift.tables.engines import Engine, RowPlan
from lowlift.tables.engines.duckdb import DuckDB
from lowlift.tables.engines.private import PrivateFolder
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.outputs import Output
from lowlift.tables.sources import Files, file_format
from lowlift.tables.targets import refuse_input
from lowlift.tables.targets.loading import (
    load_codes,
    load_spool,
    published,
)
from lowlift.temporary import temporary_beside

__all__ = ["FileTarget", "refuse_existing"]


class FileTarget:
    """A file that DuckDB writes (see `Target`)."""

    def __init__(self, output: Output, path: Path, engine: Engine) -> None:
        self.output, self.path, self.engine = output, path, engine
        self.sandbox: Sandbox | None = None
        refuse_input(path, engine)
        refuse_existing(path, force=output.force)
        check_writable(path)
        self.temporary = temporary_beside(path)
        self.old = self.temporary.with_suffix(".old")
        self.inode = 0

    def _create(self) -> None:
        """Create the temporary file, not readable by others until it is whole and checked.

        Not in the constructor: a signal that arrives there would leave the file behind.
        """
        try:
            os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise InvalidInput(f"{self.path.name} cannot be written: {error.strerror}.") from error

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order."""
        rows = sum(counts)
        self._create()
        self.sandbox = Sandbox([self.temporary], self.path.name)
        load_codes(self.sandbox, shuffled_codes(counts, seed))
        self._copy(self.sandbox)
        progress(rows, rows)

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""
        self._create()
        spool = self.engine.spool(plan)
        try:
            self.sandbox = Sandbox([self.temporary, spool.path], self.path.name)
            counts = load_spool(self.sandbox, spool, self.output)
            self._copy(self.sandbox)
        finally:
            spool.path.unlink()
        return counts

    def _copy(self, sandbox: Sandbox) -> None:
        place = DUCKDB.sql(exp.Literal.string(str(self.temporary.resolve())))
        options = "FORMAT parquet"
        if file_format(self.path.name) == "csv":
            packed = "gzip" if self.path.name.lower().endswith(".gz") else "none"
            options = f"FORMAT csv, HEADER, COMPRESSION {packed}, DELIMITER '{self._delimiter()}'"
        query = DUCKDB.sql(published(sandbox, self.output))
        sandbox.run(f"COPY ({query}) TO {place} ({options}, USE_TMP_FILE false)")

    def _delimiter(self) -> str:
        return "\t" if ".tsv" in self.path.suffixes else ","

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend the file, read from scratch as anyone would read it."""
        self._close()
        folder = PrivateFolder()
        try:
            link = folder.path / self.path.name
            link.symlink_to(self.temporary.resolve())
            form = str(file_format(self.path.name))
            engine = DuckDB(Files((link,), form, self.path.name, is_text=True))
            try:
                yield engine
            finally:
                engine.close()
        finally:
            folder.close()

    def commit(self) -> None:
        """Rename the file, now that it is whole."""
        self._close()
        self.inode = self.temporary.stat().st_ino
        open_to_readers(self.temporary)
        with contextlib.suppress(OSError):  # nothing to replace, or a file system without links
            self.old.hardlink_to(self.path)
        sync(self.temporary)
        place(self.temporary, self.path, force=self.output.force)

    def undo(self) -> bool:
        """Remove the file again, and put back the one that it replaced."""
        with contextlib.suppress(FileNotFoundError):
            if not self.inode or self.path.stat().st_ino != self.inode:
                return True
        if self.old.exists():
            self.old.replace(self.path)
            return True
        self.path.unlink(missing_ok=True)
        return not self.output.force

    def discard(self) -> None:
        """Remove the temporary files."""
        self._close()
        self.temporary.unlink(missing_ok=True)
        self.old.unlink(missing_ok=True)

    def _close(self) -> None:
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse a target that exists, unless it is a file and may be replaced."""
    if path.is_dir():
        raise InvalidInput(f"an output must be a file; {str(path)!r} is a folder.")
    if (path.exists() or path.is_symlink()) and not force:
        raise InvalidInput(
            f"an output must not exist; {str(path)!r} does. Use force to replace it."
        )
    if not path.parent.is_dir():
        raise InvalidInput(f"an output's folder must exist; {str(path.parent)!r} does not.")
