"""A new table in PostgreSQL, written in one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput
from lowlift.tables import row_keys
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DUCKDB, POSTGRES, table_named
from lowlift.tables.draws import Progress, shuffled_codes
from lowlift.tables.engines import Engine, Spool
from lowlift.tables.engines.postgres import Postgres, connect, positional, spool_drawn, unnested
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import types_of
from lowlift.tables.engines.spooling import keys_by_name
from lowlift.tables.outputs import Output
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import PostgresTable
from lowlift.tables.targets import KeyedRows, Written, published_columns, values_by_output
from lowlift.tables.targets.loading import load_rows, load_spool, published

_CHUNK = 1 << 16
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
#: PostgreSQL's type of a kept column by DuckDB's name; anything else is carried as text.
_TYPES = {
    "BOOLEAN": "boolean",
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "SMALLINT": "smallint",
    "USMALLINT": "integer",
    "INTEGER": "integer",
    "UINTEGER": "bigint",
    "BIGINT": "bigint",
    "UBIGINT": "numeric(20, 0)",
    "HUGEINT": "numeric(39, 0)",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "UUID": "uuid",
}
#: What loading a spool tells.
Loaded = TypeVar("Loaded")


class PostgresTarget(KeyedRows):
    """A table in PostgreSQL (see `Target`)."""

    def __init__(self, output: Output, place: PostgresTable, engine: Engine) -> None:
        self.output, self.place, self.engine = output, place, engine
        self.oid: int | None = None
        self.is_committing = False
        self.session = connect(place.address, place.description)
        try:
            self._open()
        except BaseException:
            self.session.close()
            raise

    def _open(self) -> None:
        """Begin the transaction; in the input's database, on the input's snapshot."""
        source = self.engine if isinstance(self.engine, Postgres) else None
        self.home = source if source and source.identity == self.session.identity() else None
        found = self.session.relation(self.place.name)
        if self.home and found and found[0] == self.home.oid:
            raise InvalidInput(
                f"an output must not be the input; both are {self.place.description}. "
                "Choose another name."
            )
        if found and not self.output.force:
            raise InvalidInput(
                f"an output must not exist; {self.place.description} does. Use force to replace it."
            )
        self.exists = found is not None
        schema = found[1] if found else self.place.name[0] if len(self.place.name) == 2 else None
        self.table = table_named(self.place.name[-1], schema)
        if self.home:
            self.home.share_snapshot(self.session)
        else:
            self.session.execute("BEGIN")

    def _drop(self) -> None:
        if self.exists:
            self.session.execute(f"DROP TABLE {POSTGRES.sql(self.table)}")

    def _create(self, types: Mapping[str, str]) -> None:
        self._drop()
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in types.items())
        self.session.execute(f"CREATE TABLE {POSTGRES.sql(self.table)} ({columns})")

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order."""
        self._create({c.name: POSTGRES.types[c.kind] for c in self.output.columns})
        texts = zip(*(column.texts for column in self.output.columns), strict=True)
        lines = ["\t".join(map(_field, row)).encode() + b"\n" for row in texts]
        codes = shuffled_codes(counts, seed)

        def blocks() -> Iterable[bytes]:
            for start in range(0, len(codes), _CHUNK):
                chunk = codes[start : start + _CHUNK].tolist()
                yield b"".join(map(lines.__getitem__, chunk))
                progress(start + len(chunk), len(codes))

        self.session.copy_in(self.table, "(FORMAT text)", blocks())

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""
        if self.home:
            return self._rows_here(plan, self.home)
        return self._load(self.engine.spool(plan), partial(load_spool, output=self.output))

    def _rows_here(self, plan: RowPlan, home: Postgres) -> list[int]:
        """Write inside the database: of a row, only its symbol and id leave it to be drawn."""
        query = plan.symbols(home.table, POSTGRES).select(POSTGRES.row_number().as_("r"))
        self.session.execute(
            f"CREATE TEMPORARY TABLE given ON COMMIT DROP AS {POSTGRES.sql(query)}"
        )
        numbered = replace(
            plan,
            columns=tuple(Column(f"c{k}", "text") for k in range(len(plan.columns))),
            id=None if plan.id is None else "t",
            keep=("r",),
        )
        spool = spool_drawn(
            self.session, exp.to_table("given"), numbered, ["BIGINT"], home.folder()
        )
        counts = self._load_drawn(spool)
        self._join()
        return counts

    def _load_drawn(self, spool: Spool) -> list[int]:
        """Send each row's number, output and place in the order; return the rows of each output."""
        sandbox = Sandbox([spool.path], self.place.description)
        try:
            counts = load_spool(sandbox, spool, self.output)
            self.session.execute(
                "CREATE TEMPORARY TABLE drawn (r bigint, y bigint, o bigint) ON COMMIT DROP"
            )
            rows = 'SELECT k0, y, row_number() OVER () FROM "rows"'
            self._send(sandbox, rows, exp.to_table("drawn"))
        finally:
            sandbox.close()
            spool.path.unlink()
        return counts

    def _join(self) -> None:
        """Create the table from the rows and what was drawn for them."""
        lookup, bound = unnested(values_by_output(self.output))
        shown = published_columns(self.output, lambda column: POSTGRES.types[column.kind], "g")
        query = (
            exp.select(*shown)
            .from_(exp.alias_(exp.to_table("drawn"), "r", table=True))
            .join(
                exp.alias_(exp.to_table("given"), "g", table=True),
                on=named("r", "g").eq(named("r", "r")),
            )
            .join(
                exp.alias_(lookup, "o", table=True),
                on=named("y", "o").eq(named("y", "r")),
            )
            .order_by(named("o", "r"))
        )
        text, places = positional(query, bound)
        self._drop()
        self.session.execute(f"CREATE TABLE {POSTGRES.sql(self.table)} AS {text}", places)

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:
        """Write the columns of the rows that were drawn, in this order.

        In the input's database the rows stay on the server, which is sent the keys of those drawn.
        """
        if self.home is None:
            self._load(self.engine.rows_at(cells, keys, ids), load_rows)
            return
        given = POSTGRES.sql(row_keys.keyed(cells, self.home.table, POSTGRES, ids))
        self.session.execute(f"CREATE TEMPORARY TABLE given ON COMMIT DROP AS {given}")
        drawn = np.column_stack(list(keys_by_name(keys).values()))
        columns = [f"r{k} bigint" for k in range(drawn.shape[1] - 1)]
        self.session.execute(
            f"CREATE TEMPORARY TABLE drawn ({', '.join(columns)}, o bigint) ON COMMIT DROP"
        )
        self.session.copy_in(exp.to_table("drawn"), "(FORMAT text)", _lines(drawn))
        by_column = keys.ndim > 1
        shown = [
            named(f"k{k}", f"t{k if by_column else 0}").as_(name, quoted=True)
            for k, name in enumerate(cells.names)
        ]
        tables = exp.to_table("given"), "r", exp.to_table("drawn")
        query = row_keys.at_keys(shown, *tables, by_column=by_column)
        self._drop()
        self.session.execute(f"CREATE TABLE {POSTGRES.sql(self.table)} AS {POSTGRES.sql(query)}")

    def _load(self, spool: Spool, load: Callable[[Sandbox, Spool], Loaded]) -> Loaded:
        """Create the table from a spool, whose rows `load` makes known to a sandbox."""
        sandbox = Sandbox([spool.path], self.place.description)
        try:
            counts = load(sandbox, spool)
            query = published(sandbox, self.output, is_ordered=False)
            types = {n: _postgres_type(kind) for n, kind in types_of(sandbox, query).items()}
            self._create(types)
            self._send(sandbox, DUCKDB.sql(query), self.table)
        finally:
            sandbox.close()
            spool.path.unlink()
        return counts

    def _send(self, sandbox: Sandbox, query: str, table: exp.Table) -> None:
        """Load the rows of a query of DuckDB into a table."""
        place = sandbox.folder / "rows.csv"
        target = DUCKDB.sql(exp.Literal.string(str(place)))
        sandbox.run(f"COPY ({query}) TO {target} (FORMAT csv, HEADER)")
        with place.open("rb") as file:
            blocks = iter(lambda: file.read(1 << 20), b"")
            self.session.copy_in(table, "(FORMAT csv, HEADER)", blocks)

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend the table, before the transaction ends."""
        self.oid = self._oid()
        kinds, _ = self.session.columns(self.oid)
        yield Written(POSTGRES, self.place.description, kinds, self.table, self.session.run)

    def _oid(self) -> int | None:
        found = self.session.relation(self.place.name)
        return None if found is None else found[0]

    def commit(self) -> None:
        """End the transaction."""
        if self.oid is None:
            raise InvalidInput("nothing was written.")
        self.is_committing = True
        self.session.execute("COMMIT")

    def undo(self) -> bool:
        """Drop the table, if the transaction ended; one that was replaced is gone."""
        if not self.is_committing:
            return True
        # The connection may have been cut while the server ended the transaction.
        self.session.close()
        self.session = connect(self.place.address, self.place.description)
        if self._oid() != self.oid:
            return True
        self.session.execute(f"DROP TABLE {POSTGRES.sql(self.table)}")
        return not self.exists

    def discard(self) -> None:
        """Close; what was not committed is rolled back."""
        self.session.close()


def _quoted(name: str) -> str:
    return POSTGRES.sql(exp.to_identifier(name, quoted=True))


def _lines(rows: Ints) -> Iterator[bytes]:
    """Yield rows of numbers as COPY reads them."""
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK].tolist()
        yield "".join("\t".join(map(str, row)) + "\n" for row in chunk).encode()


def _field(text: str | None) -> str:
    return r"\N" if text is None else text.translate(_ESCAPES)


def _postgres_type(shown: str) -> str:
    if shown.startswith("DECIMAL("):
        return "numeric" + shown.removeprefix("DECIMAL")
    return _TYPES.get(shown, "text")
