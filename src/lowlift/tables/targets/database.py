"""A new table in a DuckDB database file, written in one transaction."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt
from sqlglot import exp

from lowlift._files import open_to_readers, place, sync
from lowlift._temporary import temporary_beside
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import DUCKDB, table_named
from lowlift.tables.engines import Engine
from lowlift.tables.engines.duckdb import DuckDB, attach, database_files
from lowlift.tables.engines.numbered_cells import NumbersCells
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import kind_of, types_of
from lowlift.tables.outputs import Output
from lowlift.tables.shared_texts import SharedTexts
from lowlift.tables.sources import DatabaseFile
from lowlift.tables.targets import Written
from lowlift.tables.targets.files import refuse_existing
from lowlift.tables.targets.loading import Writer, loaded, published


class DatabaseTarget(Writer):
    """A table in a database file (see `Target`); a new file appears whole or not at all."""

    #: What DuckDB reads the rows from, if they are texts.
    texts: SharedTexts | None = None

    def __init__(self, output: Output, path: Path, name: tuple[str, ...], engine: Engine) -> None:
        self.output, self.path, self.engine = output, path, engine
        self.schema, self.name = name if len(name) == 2 else ("main", name[0])
        self.is_new = not path.exists()
        refuse_existing(path, force=True)
        self.written_file = temporary_beside(path) if self.is_new else path.resolve()
        self.inode, self.is_committing = 0, False
        #: Tells our table from the one that it replaces, as its comment.
        self.mark = f"lowlift {secrets.token_hex(8)}"
        self.shared = self._shared()
        if not self.is_new and not output.force:
            self._refuse_existing_table()

    def _shared(self) -> DuckDB | None:
        """Return the engine when it reads the same database file, which must let go of it."""
        source = self.engine.source
        if (
            self.is_new
            or not isinstance(source, DatabaseFile)
            or not isinstance(self.engine, DuckDB)
        ):
            return None
        if not self.path.samefile(source.path):
            return None
        if source.name[-1].casefold() == self.name.casefold():
            raise InvalidInput(
                f"an output must not be the input; both are table {self.name!r}. "
                "Choose another name."
            )
        return self.engine

    def _refuse_existing_table(self) -> None:
        if self.shared:  # which stays attached: what was counted must not change before it is drawn
            found = self._exists(self.shared.sandbox, "input")
        else:
            try:
                found = self._exists(self._open([]), "output")
            finally:
                self._close()
        if found:
            raise InvalidInput(
                f"an output must not exist; table {self.name!r} does. Use force to replace it."
            )

    def _open(self, paths: Sequence[Path]) -> Sandbox:
        if self.shared:
            self.shared.detach()
        self.sandbox = Sandbox(
            [*database_files(self.written_file), *paths], Path(self.output.description).name
        )
        self.sandbox.run(attach(self.written_file, "output", read_only=False))
        if self.is_new:  # not readable by others until it is whole and checked
            self.written_file.chmod(0o600)
        return self.sandbox

    def _exists(self, sandbox: Sandbox, catalog: str) -> bool:
        query = (
            "SELECT 1 FROM information_schema.tables WHERE table_catalog = $catalog "
            "AND lower(table_schema) = lower($schema) AND lower(table_name) = lower($name)"
        )
        values = {"catalog": catalog, "schema": self.schema, "name": self.name}
        return bool(sandbox.run(query, values))

    @property
    def _table(self) -> exp.Table:
        return table_named(self.name, self.schema, "output")

    def _load_codes(self, sandbox: Sandbox, codes: npt.NDArray[Any]) -> None:
        """Let the sandbox read the texts of each row; numbers and dates are faster by a join."""
        columns = self.output.columns
        if any(column.kind != "text" for column in columns):
            super()._load_codes(sandbox, codes)
            return
        self.texts = SharedTexts({f"v{k}": one.texts for k, one in enumerate(columns)}, codes)
        sandbox.register("rows", self.texts)

    def _store(self, sandbox: Sandbox) -> None:
        if self.texts is None:
            query = DUCKDB.sql(published(sandbox, self.output, is_ordered=False))
        else:
            query = DUCKDB.sql(loaded(self.output, "v"))
        table = DUCKDB.sql(self._table)
        sandbox.run("BEGIN TRANSACTION")
        if self.output.force:
            sandbox.run(f"DROP TABLE IF EXISTS {table}")
        sandbox.run(f"CREATE TABLE {table} AS {query}")
        if self.output.force:
            mark = DUCKDB.sql(exp.Literal.string(self.mark))
            sandbox.run(f"COMMENT ON TABLE {table} IS {mark}")

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend the table, before the transaction ends."""
        if self.sandbox is None:
            raise InvalidInput("nothing was written.")
        types = types_of(self.sandbox, exp.select("*").from_(self._table))
        kinds = {name: kind_of(kind) for name, kind in types.items()}
        about = Path(self.output.description).name
        yield _WrittenTable(about, kinds, self._table, self.sandbox)

    def commit(self) -> None:
        """End the transaction; a new file gets its name."""
        if self.sandbox is None:
            raise InvalidInput("nothing was written.")
        self.is_committing = True
        self.sandbox.run("COMMIT")
        self.sandbox.run('DETACH "output"')
        self._close()
        if self.is_new:
            self.inode = self.written_file.stat().st_ino
            open_to_readers(self.written_file)
            sync(self.written_file)
            place(self.written_file, self.path, force=False)

    def undo(self) -> bool:
        """Remove a new file, or drop the table; one that was replaced is gone."""
        if not self.is_committing:
            return True
        self._close()
        if self.is_new:
            with contextlib.suppress(FileNotFoundError):
                if self.inode and self.path.stat().st_ino == self.inode:
                    self.path.unlink()
            return True
        sandbox = self._open([])
        try:
            found = sandbox.run(
                "SELECT comment FROM duckdb_tables() WHERE database_name = 'output' "
                "AND lower(schema_name) = lower($schema) AND lower(table_name) = lower($name)",
                {"schema": self.schema, "name": self.name},
            )
            if found != [(self.mark if self.output.force else None,)]:
                return True  # the transaction did not end: what was there is there
            sandbox.run(f"DROP TABLE {DUCKDB.sql(self._table)}")
        finally:
            self._close()
        return not self.output.force

    def discard(self) -> None:
        """Drop what was not committed."""
        self._close()
        if self.is_new:
            for file in database_files(self.written_file):
                file.unlink(missing_ok=True)
        if self.shared:
            self.shared.reattach()


class _WrittenTable(NumbersCells, Written):
    """The table, before the transaction ends."""

    def __init__(
        self, about: str, kinds: Mapping[str, str], table: exp.Table, sandbox: Sandbox
    ) -> None:
        Written.__init__(self, DUCKDB, about, kinds, table, sandbox.run)
        self.sandbox = sandbox
