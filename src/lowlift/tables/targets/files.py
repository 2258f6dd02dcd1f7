"""Parquet and CSV files, written under a temporary name and renamed when they are whole."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from lowlift._files import check_writable, open_to_readers, place, sync
from lowlift._temporary import temporary_beside
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import DUCKDB, number
from lowlift.tables.engines import Engine
from lowlift.tables.engines.duckdb import DuckDB
from lowlift.tables.engines.private import PrivateFolder
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import huge, types_of, with_types
from lowlift.tables.outputs import Output
from lowlift.tables.queries import named
from lowlift.tables.sources import Files, file_format
from lowlift.tables.targets import refuse_input
from lowlift.tables.targets.loading import Writer, published

_DECIMAL = exp.DataType.build("DECIMAL(38, 0)", dialect="duckdb")


class FileTarget(Writer):
    """A file that DuckDB writes (see `Target`)."""

    def __init__(self, output: Output, path: Path, engine: Engine) -> None:
        self.format = str(file_format(path.name))
        if self.format == "parquet":  # no 128 bits there: 64 hold each output
            slim = (replace(c, width="") if "HUGE" in c.width else c for c in output.columns)
            output = replace(output, columns=tuple(slim))
        self.output, self.path, self.engine = output, path, engine
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

    def _open(self, paths: Sequence[Path]) -> Sandbox:
        self._create()
        self.sandbox = Sandbox([self.temporary, *paths], self.path.name)
        return self.sandbox

    def _store(self, sandbox: Sandbox) -> None:
        place = DUCKDB.sql(exp.Literal.string(str(self.temporary.resolve())))
        query = published(sandbox, self.output, self.drawn)
        options = "FORMAT parquet"
        if self.format == "csv":
            packed = "gzip" if self.path.name.lower().endswith(".gz") else "none"
            comma = "\t" if ".tsv" in self.path.suffixes else ","
            options = f"FORMAT csv, HEADER, COMPRESSION {packed}, DELIMITER '{comma}'"
        else:
            query = self._exact(sandbox, query)
        sandbox.run(f"COPY ({DUCKDB.sql(query)}) TO {place} ({options}, USE_TMP_FILE false)")

    def _exact(self, sandbox: Sandbox, query: exp.Select) -> exp.Select:
        """Return the columns in types that Parquet holds exactly: decimals for 128 bits."""
        if not self.output.keep and self.output.cells is None:
            return query
        types = huge(types_of(sandbox, query))
        if types and self.output.cells is not None:  # whose conditions are on whole numbers
            raise InvalidInput(
                f"column {next(iter(types))!r} must have whole numbers of 64 bits in a Parquet "
                "file of published rows; its type has 128. Write to a CSV or to a database "
                "(safe.duckdb?table=safe), or cast it to BIGINT in a view."
            )
        for name in types:
            is_lost = exp.TryCast(this=named(name), to=_DECIMAL).is_(exp.null())
            lost = exp.and_(is_lost, exp.not_(named(name).is_(exp.null())))
            rows = exp.select(number(1)).from_(query.subquery("p")).where(lost).limit(1)
            if sandbox.run(rows):
                raise InvalidInput(
                    f"column {name!r} must have at most 38 digits in a Parquet file; some of "
                    "its numbers have more. Write to a CSV or a database, or leave it out."
                )
        decimals = with_types(dict.fromkeys(types, "DECIMAL(38, 0)"))
        return exp.select(decimals).from_(query.subquery("p")) if types else query

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend the file, read from scratch as anyone would read it."""
        self._close()
        folder = PrivateFolder()
        try:
            link = folder.path / self.path.name
            link.symlink_to(self.temporary.resolve())
            engine = DuckDB(Files((link,), self.format, self.path.name, is_text=True))
            engine.is_steady = False  # its combinations need no estimate: they are the outputs
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
