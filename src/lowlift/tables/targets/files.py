"""Parquet and CSV files, written under a temporary name and renamed when they are whole."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from lowlift.errors import InvalidInput
from lowlift.tables.dialects import DUCKDB
from lowlift.tables.draws import Progress, shuffled_codes
from lowlift.tables.engines import Engine, RowPlan
from lowlift.tables.engines.duckdb import digest_of_files, read_csv, read_parquet
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.outputs import Output
from lowlift.tables.sources import file_format
from lowlift.tables.targets import refuse_input
from lowlift.tables.targets.loading import (
    load_codes,
    load_spool,
    null_faults,
    outputs_counted,
    published,
)
from lowlift.temporary import temporary_beside

__all__ = ["FileTarget", "check_counts", "open_to_readers", "publish_file", "temporary_beside"]


class FileTarget:
    """A file that DuckDB writes (see `Target`)."""

    def __init__(self, output: Output, path: Path, engine: Engine) -> None:
        self.output, self.path, self.engine = output, path, engine
        self.sandbox: Sandbox | None = None
        refuse_input(path, engine)
        refuse_existing(path, force=output.force)
        self.temporary = temporary_beside(path)
        # Not readable by others until it is whole and checked.
        try:
            os.close(os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise InvalidInput(f"{path.name} cannot be written: {error.strerror}.") from error

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order."""
        rows = sum(counts)
        self.sandbox = Sandbox([self.temporary], Path(self.output.target).name)
        load_codes(self.sandbox, shuffled_codes(counts, seed))
        self._copy(self.sandbox)
        progress(rows, rows)

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""
        spool = self.engine.spool(plan)
        try:
            self.sandbox = Sandbox([self.temporary, spool.path], Path(self.output.target).name)
            load_spool(self.sandbox, spool)
            counts = outputs_counted(self.sandbox, len(self.output.columns[0].texts))
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

    def check(self, rows: int) -> None:
        """Read the file back."""
        if self.sandbox is None:
            raise InvalidInput("nothing was written.")
        names: Sequence[str] = self.output.names
        csv = file_format(self.path.name) == "csv"
        packed = csv and self.path.name.lower().endswith(".gz")
        suffix = (".csv.gz" if packed else ".csv") if csv else ".parquet"
        link = self.sandbox.link(self.temporary, f"written{suffix}")
        if csv:
            names = [f"v{k}" for k in range(len(names))]
            scan = read_csv([link], self._delimiter(), dict.fromkeys(names, "VARCHAR"))
        else:
            scan = read_parquet([link])
        found = self.sandbox.run(null_faults(self.output, names, scan))[0]
        check_counts(found, rows, self.output.target)

    def commit(self) -> str | None:
        """Rename the file, now that it is whole."""
        self._close()
        digest = digest_of_files([self.temporary])
        open_to_readers(self.temporary)
        publish_file(self.temporary, self.path, force=self.output.force)
        return digest

    def discard(self) -> None:
        """Remove the temporary file."""
        self._close()
        self.temporary.unlink(missing_ok=True)

    def _close(self) -> None:
        if self.sandbox is not None:
            self.sandbox.close()
            self.sandbox = None


def check_counts(found: Sequence[int], rows: int, target: str) -> None:
    """Refuse what was read back if rows are missing or a NULL came in by accident."""
    if any(count != rows for count in found):
        raise InvalidInput(
            f"{target} must have {rows} rows without accidental NULLs; read back: {found[0]} rows, "
            f"{max(found[0] - count for count in found)} NULLs. Nothing was published."
        )


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


def open_to_readers(path: Path) -> None:
    """Give a file the mode that a new file would have."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def publish_file(temporary: Path, path: Path, *, force: bool) -> None:
    """Give a whole file its name: after a crash the name leads to all of it or to what was there.

    Raises
    ------
    InvalidInput
        When the name was taken in the meantime and `force` is off.
    """
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if force:
        temporary.replace(path)
    else:
        try:
            # Unlike a rename, a link never replaces a file.
            path.hardlink_to(temporary)
        except FileExistsError:
            raise InvalidInput(
                f"an output must not exist; {str(path)!r} appeared meanwhile. Use force."
            ) from None
        except OSError:  # a file system without links
            refuse_existing(path, force=False)
            temporary.replace(path)
        else:
            temporary.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder
        os.fsync(folder)
    os.close(folder)
