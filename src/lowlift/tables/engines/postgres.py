"""A table in PostgreSQL, counted and drawn from where it lives.

Everything runs in one read-only transaction at repeatable read, so that the rows that are drawn
are the rows that were counted; a second connection that must write sees the same snapshot. So
nothing is copied by `hold`: counting stays with the server.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt
import psycopg
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput
from lowlift.tables import row_keys
from lowlift.tables.columns import Column
from lowlift.tables.dialects import DUCKDB, POSTGRES, Expression, call, table_named
from lowlift.tables.donor_plans import DonorPlan
from lowlift.tables.engines import Engine, Rows, Spool, Values, refuse_ids
from lowlift.tables.engines.keyed_draws import tallied
from lowlift.tables.engines.keyed_rows import donors_by_key
from lowlift.tables.engines.private import PrivateFolder
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.engines.scans import read_csv
from lowlift.tables.engines.spooling import spool_keys, spool_rows
from lowlift.tables.queries import id_faults, named
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import PostgresTable
from lowlift.tables.type_names import POSTGRES_KINDS

Connection = psycopg.Connection[tuple[Any, ...]]

#: The DuckDB type of a kept column by PostgreSQL's name; anything else is carried as text.
_DUCKDB_TYPES = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "uuid": "UUID",
    "timestamp without time zone": "TIMESTAMP",
    "time without time zone": "TIME",
}
#: Texts and dates as other engines write them, and as queries are written; plans that suit one pass
#: over a large table.
_SETTINGS = (
    "client_encoding = 'UTF8'",
    "standard_conforming_strings = on",
    "datestyle = 'ISO, YMD'",
    "timezone = 'UTC'",
    "jit = off",
    "enable_mergejoin = off",
    "work_mem = '64MB'",
)
_COLUMNS = """
    SELECT a.attname, coalesce(b.typname, t.typname), t.typtype,
           format_type(a.atttypid, a.atttypmod)
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_RELATION = """
    SELECT c.oid, n.nspname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = $1 AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
      AND CASE WHEN $2::text IS NULL THEN pg_table_is_visible(c.oid) ELSE n.nspname = $2::text END
"""
_ROOM = """
    SELECT pg_relation_size(oid) / 28 FROM pg_class
    WHERE oid = $1 AND relkind IN ('r', 'm') AND NOT relhassubclass
"""
_IDENTITY = """
    SELECT pg_postmaster_start_time()::text, current_database()::text,
           (SELECT oid::text FROM pg_database WHERE datname = current_database())
"""


def connect(address: str, about: str) -> "Session":
    """Connect, with texts, dates and times as every other engine writes them.

    An error does not repeat the address.
    """
    try:
        connection: Connection = psycopg.connect(
            address, autocommit=True, application_name="lowlift", connect_timeout=30
        )
    except psycopg.Error as error:
        reason = re.sub(r"\s+", " ", str(error)).strip()[:200]
    else:
        session = Session(connection, about)
        for setting in _SETTINGS:
            session.execute(f"SET {setting}")
        return session
    raise InvalidInput(f"{about} must be reachable; PostgreSQL says: {reason}")


class Session:
    """A connection whose errors tell no values."""

    def __init__(self, connection: Connection, about: str) -> None:
        self.connection = connection
        self.about = about

    def run(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query with values bound by the server, and return its rows."""
        return self.execute(*positional(query, values or {}))

    def execute(self, text: str, values: Sequence[Any] = ()) -> Rows:
        """Run a statement with numbered places, and return its rows."""
        with self.refusing(), psycopg.RawCursor(self.connection) as cursor:
            cursor.execute(text, list(values) or None)
            return cursor.fetchall() if cursor.description else []

    def copy_out(self, query: Expression, file: BinaryIO) -> None:
        """Write the rows of a query that has no bound values as CSV."""
        statement = f"COPY ({POSTGRES.sql(query)}) TO STDOUT (FORMAT csv, HEADER)"
        with self.refusing(), self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            file.writelines(copy)

    def copy_in(self, table: Expression, options: str, blocks: Iterable[bytes]) -> None:
        """Load rows into a table."""
        statement = f"COPY {POSTGRES.sql(table)} FROM STDIN {options}"
        with self.refusing(), self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            for block in blocks:
                copy.write(block)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn errors of the server into one line; their own text may quote values."""
        fault = None
        try:
            yield
        except psycopg.Error as error:
            fault = said(error, self.about)
        if fault is not None:
            raise InvalidInput(fault)

    def relation(self, name: tuple[str, ...]) -> tuple[int, str] | None:
        """Return the number and schema of a table or view, None when there is none."""
        schema = name[0] if len(name) == 2 else None
        found = self.execute(_RELATION, [name[-1], schema])
        return (found[0][0], found[0][1]) if found else None

    def columns(self, oid: int | None) -> tuple[dict[str, str], dict[str, str]]:
        """Return the kind of each column of a table, and DuckDB's name of its type."""
        rows = self.execute(_COLUMNS, [oid])
        kinds = {
            name: "text" if enum == "e" else POSTGRES_KINDS.get(kind, "other")
            for name, kind, enum, _ in rows
        }
        return kinds, {name: _duckdb_type(shown) for name, _, _, shown in rows}

    def identity(self) -> tuple[Any, ...]:
        """Return what tells this database from every other."""
        return self.execute(_IDENTITY)[0]

    def close(self) -> None:
        """Close the connection; what was not committed is rolled back."""
        self.connection.close()


def said(error: psycopg.Error, about: str) -> str:
    """Return what may be told of an error: its kind."""
    kind = type(error).__name__
    hints = {
        "InsufficientPrivilege": "the database user may not do this. Ask for the privilege.",
        "UndefinedTable": "the table or view does not exist.",
        "ReadOnlySqlTransaction": "the server is read-only.",
        "DiskFull": "the server's disk is full.",
        "QueryCanceled": "the server cancelled the query.",
        "DuplicateTable": "the table was made meanwhile. Use force to replace it.",
        "DependentObjectsStillExist": "other objects depend on the table to replace.",
        "WrongObjectType": "what is to be replaced is not a table.",
    }
    return f"{about}: PostgreSQL refused ({kind}, {error.sqlstate or 'no code'}); " + hints.get(
        kind, "see the server's log."
    )


def positional(query: Expression, values: Values) -> tuple[str, list[Any]]:
    """Return the query with numbered places, and the values in their order."""
    order: list[str] = []

    def placed(node: Expression) -> Expression:
        if not isinstance(node, exp.Placeholder):
            return node
        if node.name not in order:
            order.append(node.name)
        return exp.Parameter(this=exp.Literal.number(order.index(node.name) + 1))

    text = POSTGRES.sql(query.transform(placed))
    return text, [values[name] for name in order]


def unnested(columns: Mapping[str, npt.NDArray[Any]]) -> tuple[Expression, Values]:
    """Return a small table as bound arrays: it needs no temporary table and no write access."""
    types = {name: "text" if a.dtype == object else "bigint" for name, a in columns.items()}
    arrays = [
        exp.cast(exp.Placeholder(this=f"array_{name}"), f"{kind}[]", dialect="postgres")
        for name, kind in types.items()
    ]
    names = [exp.to_identifier(name, quoted=True) for name in columns]
    scan = exp.Table(
        this=call("unnest", *arrays),
        alias=exp.TableAlias(this=exp.to_identifier("q"), columns=names),
    )
    values = {f"array_{name}": array.tolist() for name, array in columns.items()}
    return exp.select("*").from_(scan).subquery(), values


class Postgres(Engine):
    """A table in PostgreSQL (see `Engine`)."""

    dialect = POSTGRES
    checks_ids_drawn = True

    def __init__(self, source: PostgresTable) -> None:
        self.source = source
        self.description = source.description
        self.session = connect(source.address, source.description)
        self._folder: PrivateFolder | None = None
        try:
            self._open(source)
        except BaseException:
            self.close()
            raise

    def _open(self, source: PostgresTable) -> None:
        self.identity = self.session.identity()
        self.session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = self.session.relation(source.name)
        if found is None:
            raise InvalidInput(f"the table must exist; {self.description} does not.")
        self.oid, schema = found
        self.table: Expression = table_named(source.name[-1], schema)
        kind = self.session.execute("SELECT relkind FROM pg_class WHERE oid = $1", [self.oid])
        self.is_steady = kind[0][0] not in {"v", "f"}
        self.kinds: Mapping[str, str]
        self.kinds, self._types = self.session.columns(self.oid)

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        return self.session.run(query, values)

    def most_different(self) -> float:
        """Return how many rows the pages of a plain table have room for: 28 bytes each at least."""
        found = self.session.execute(_ROOM, [self.oid])
        return int(found[0][0]) if found else math.inf

    def share_snapshot(self, session: Session) -> None:
        """Begin a transaction in another session that sees the rows this one sees."""
        snapshot = self.session.execute("SELECT pg_export_snapshot()")[0][0]
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        session.execute(f"SET TRANSACTION SNAPSHOT {POSTGRES.sql(exp.Literal.string(snapshot))}")

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private Parquet file."""
        types = [self._types[name] for name in plan.keep]
        return spool_drawn(self.session, self.table, plan, types, self.folder())

    def keyed_donors(self, plan: DonorPlan) -> tuple[dict[int, int], Ints]:
        """Return how many rows each cell gets by a key, and the keys of the rows drawn.

        The key must not reach the server, so cells and ids come to this process. A row is numbered
        by the place of its id among all of them, which the server knows too.
        """
        sandbox = Sandbox([], self.session.about)
        try:
            place = sandbox.folder / "rows.csv"
            with place.open("wb") as file:
                self.session.copy_out(plan.given(self.table, POSTGRES), file)
            scan = read_csv([str(place)], ",", {"c": "BIGINT", "t": "VARCHAR"})
            numbered = row_keys.numbered_by(named("t")).as_("r", quoted=True)
            sent = DUCKDB.sql(exp.select("*", numbered).from_(scan))
            sandbox.run(f"CREATE TEMP TABLE sent AS {sent}")
            place.unlink()
            refuse_ids(*sandbox.run(id_faults("t", exp.to_table("sent")))[0])
            return donors_by_key(sandbox, exp.to_table("sent"), plan)
        finally:
            sandbox.close()

    def rows_at(self, cells: Column, keys: Ints, ids: str | None = None) -> Spool:
        """Write the columns of cells of the rows with these keys to a private file, in order.

        A transaction that only reads cannot make a table of keys, so all rows come to a private
        copy on this machine, and are joined there.
        """
        sandbox = Sandbox([], self.session.about)
        try:
            place = sandbox.folder / "rows.csv"
            with place.open("wb") as file:
                self.session.copy_out(row_keys.keyed(cells, self.table, POSTGRES, ids), file)
            names = [f"k{k}" for k in range(len(cells.names))]
            types = [self._types[name] for name in cells.names]
            read = {"r": "BIGINT", **dict(zip(names, types, strict=True))}
            scan = DUCKDB.sql(exp.select("*").from_(read_csv([str(place)], ",", read)))
            sandbox.run(f"CREATE TEMP TABLE sent AS {scan}")
            place.unlink()
            spool = spool_keys(sandbox, exp.to_table("sent"), "r", names, keys, sandbox.folder)
            return replace(spool, path=spool.path.rename(self.folder() / spool.path.name))
        finally:
            sandbox.close()

    def tally(self, plan: RowPlan) -> Rows:
        """Draw the rows of a plan and count each output."""
        with _drawn_here(self.session, self.table, plan, ()) as (sandbox, table, local):
            return tallied(sandbox, table, local)

    def folder(self) -> Path:
        """Return a private folder that is removed on close."""
        if self._folder is None:
            self._folder = PrivateFolder()
        return self._folder.path

    def close(self) -> None:
        """Close the connection and remove what was temporary."""
        self.session.close()
        if self._folder is not None:
            self._folder.close()


@contextmanager
def _drawn_here(
    session: Session, table: Expression, plan: RowPlan, types: Sequence[str]
) -> Iterator[tuple[Sandbox, Expression, RowPlan]]:
    """Lend the symbols, ids and kept columns of a table's rows to DuckDB, and the plan for them.

    The key must not reach the server, whose log may hold every bound value. So the server sends
    what a row is drawn by, and the digests are computed in this process. The ids of all rows are
    checked here too, as the texts that are hashed: the server need not read them a second time.
    """
    sandbox = Sandbox([], session.about)
    try:
        place = sandbox.folder / "rows.csv"
        names = [f"c{k}" for k in range(len(plan.columns))]
        kept = [f"k{k}" for k in range(len(plan.keep))]
        read = dict.fromkeys(names, "VARCHAR") | dict(zip(kept, types, strict=True))
        if plan.id is not None:
            read["t"] = "VARCHAR"
        query = plan.symbols(table, POSTGRES)
        with place.open("wb") as file:
            session.copy_out(query, file)
        scan = DUCKDB.sql(exp.select("*").from_(read_csv([str(place)], ",", read)))
        sandbox.run(f"CREATE TEMP TABLE sent AS {scan}")
        place.unlink()
        sent = exp.to_table("sent")
        if plan.id is not None:
            refuse_ids(*sandbox.run(id_faults("t", sent))[0])
        local = replace(
            plan,
            columns=tuple(Column(name, "text") for name in names),
            id=None if plan.id is None else "t",
            keep=tuple(kept),
        )
        yield sandbox, sent, local
    finally:
        sandbox.close()


def spool_drawn(
    session: Session, table: Expression, plan: RowPlan, types: Sequence[str], folder: Path
) -> Spool:
    """Draw the rows of a table in this process and write them to a private Parquet file.

    `types` are DuckDB's names for the types of the kept columns.
    """
    with _drawn_here(session, table, plan, types) as (sandbox, sent, local):
        spool = spool_rows(sandbox, sent, local, sandbox.folder)
        return replace(spool, path=spool.path.rename(folder / spool.path.name))


def _duckdb_type(shown: str) -> str:
    exact = re.fullmatch(r"numeric\((\d+),(\d+)\)", shown)
    if exact and int(exact[1]) <= 38:
        return f"DECIMAL({exact[1]},{exact[2]})"
    return _DUCKDB_TYPES.get(shown, "VARCHAR")
