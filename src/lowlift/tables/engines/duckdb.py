"""Files, DuckDB databases and frames in memory, read by DuckDB in this process."""

import csv
import gzip
import hashlib
import math
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.dialects import DUCKDB, Expression, call, number
from lowlift.tables.engines import RowPlan, Rows, Spool, Stamps, Values
from lowlift.tables.engines.sandbox import Sandbox, said
from lowlift.tables.outputs import INTEGER_TYPES
from lowlift.tables.queries import bound, by_output, in_order, named
from lowlift.tables.sources import DatabaseFile, Files, Frame, refuse_repeated

_KINDS = {
    **dict.fromkeys(INTEGER_TYPES, "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "real"),
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "UUID": "uuid",
}
#: Rows the types of a CSV are told from.
_SAMPLE = 1_000_000
#: Ids that span at most this many numbers, and this many times their own, are counted as bits.
_WIDEST, _SPARSEST = 1 << 28, 64
_DELIMITERS = ",;\t|"
#: How a time is written that a cast of the text and DuckDB's sniffer read alike.
_ISO = r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?"


def kind_of(type_name: str) -> str:
    """Return the kind of a DuckDB type."""
    return _KINDS.get(type_name.partition("(")[0], "other") if "[" not in type_name else "other"


def option(name: str, value: Expression) -> Expression:
    """Return a named argument of a table function."""
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def read_parquet(paths: Sequence[str]) -> Expression:
    """Return a scan of Parquet files."""
    return call(
        "read_parquet",
        exp.array(*map(exp.Literal.string, paths)),
        option("hive_partitioning", exp.false()),
    )


def read_csv(
    paths: Sequence[str],
    delimiter: str | None,
    types: Mapping[str, str] | None = None,
    sample: int = _SAMPLE,
) -> Expression:
    """Return a scan of CSV files with a header: RFC 4180, an empty field is NULL, "" is a text.

    Without `types` they are told from a sample of the first rows.
    """
    options = {
        "header": exp.true(),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
        "comment": exp.Literal.string(""),
        "skip": exp.Literal.number(0),
        "allow_quoted_nulls": exp.false(),
        # Dates written otherwise stay the texts they are.
        "dateformat": exp.Literal.string("%Y-%m-%d"),
        "sample_size": exp.Literal.number(sample),
    }
    if len(paths) > 1:
        options["hive_partitioning"] = exp.false()
    if delimiter is not None:
        options["delim"] = exp.Literal.string(delimiter)
    if types is not None:
        options["auto_detect"] = exp.false()
        options["columns"] = exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.Literal.string(name), expression=exp.Literal.string(kind))
                for name, kind in types.items()
            ]
        )
        del options["sample_size"]
    files = exp.array(*map(exp.Literal.string, paths))
    return call("read_csv", files, *(option(key, value) for key, value in options.items()))


def _is_quoted(path: str) -> bool:
    """Tell whether the first line of a CSV is one quoted name, whatever is in it."""
    place = Path(path)
    with gzip.open(place) if path.endswith(".gz") else place.open("rb") as file:
        try:
            line = file.readline().rstrip(b"\r\n")
        except (OSError, EOFError, zlib.error):
            return False  # DuckDB refuses it when it reads on
    return bool(re.fullmatch(rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"', line))


def _header(path: str, delimiter: str) -> list[str]:
    """Return the names in the first record of a CSV, as they are written; none if it has none."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        try:
            return next(csv.reader(file, delimiter=delimiter), [])
        except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
            return []  # DuckDB refuses it when it reads on


def _frame_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns, as it has them."""
    names = frame.columns if hasattr(frame, "to_numpy") else frame.schema.names
    return [str(name) for name in names]


def with_types(types: Mapping[str, str]) -> Expression:
    """Return all columns, those named here cast to these types."""
    casts = [
        exp.cast(named(name), kind, dialect="duckdb").as_(name, quoted=True)
        for name, kind in types.items()
    ]
    return exp.Star(replace=casts) if casts else exp.Star()


def huge(types: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of whole numbers that Parquet, where they are doubles, does not hold."""
    return {name: str(kind) for name, kind in types.items() if "HUGEINT" in str(kind)}


def attach(path: Path, name: str, *, read_only: bool) -> str:
    """Return the statement that attaches a database file."""
    place = DUCKDB.sql(exp.Literal.string(str(path.resolve())))
    mode = " (READ_ONLY)" if read_only else ""
    return f"ATTACH {place} AS {DUCKDB.sql(exp.to_identifier(name, quoted=True))}{mode}"


def database_files(path: Path) -> list[Path]:
    """Return a database file and the logs that DuckDB keeps beside it."""
    real = path.resolve()
    logs = (".wal", ".wal.checkpoint", ".wal.recovery")
    return [real, *(real.with_name(real.name + log) for log in logs)]


class _Stream:
    """A polars frame without its type, for which DuckDB would need pyarrow."""

    def __init__(self, frame: Any) -> None:
        self.__arrow_c_stream__ = frame.__arrow_c_stream__


class DuckDB:
    """A table that DuckDB reads (see `Engine`)."""

    dialect = DUCKDB
    checks_ids_drawn = False

    def __init__(self, source: Files | DatabaseFile | Frame) -> None:
        self.source = source
        self.description = source.description
        self.has_order = not isinstance(source, DatabaseFile)
        self._attached = self._is_held = False
        self._links: list[str] = []
        self.is_steady = True
        #: Columns of a CSV that are read as the texts they are, and their kinds.
        self._opaque: dict[str, str] = {}
        # A database file is locked while it is attached; other files may change.
        self._files = source.paths if isinstance(source, Files) else ()
        self._stamps = Stamps(self._files, self.description)
        self.sandbox = Sandbox(self._allowed(), self.description)
        self.table: Expression = exp.Table(this=exp.to_identifier("source", quoted=True))
        try:
            self._open()
            types = self._types(exp.select("*").from_(self.table))
        except BaseException:
            self.close()
            raise
        self.kinds: Mapping[str, str] = {
            name: self._opaque.get(name) or kind_of(kind) for name, kind in types.items()
        }
        #: The types of whole numbers, so that what is published can have them too.
        self.widths: Mapping[str, str] = {
            name: kind for name, kind in types.items() if kind in INTEGER_TYPES
        }

    def _allowed(self) -> list[Path]:
        if isinstance(self.source, DatabaseFile):
            return database_files(self.source.path)
        return list(self._files)

    def _open(self) -> None:
        if isinstance(self.source, DatabaseFile):
            self.reattach()
            *schema, name = self.source.name
            self.table = exp.table_(
                exp.to_identifier(name, quoted=True),
                db=exp.to_identifier(schema[0] if schema else "main", quoted=True),
                catalog=exp.to_identifier("input", quoted=True),
            )
            known = self.sandbox.run(
                "SELECT table_type FROM information_schema.tables WHERE table_catalog = 'input' "
                "AND table_schema = $schema AND table_name = $name",
                {"schema": schema[0] if schema else "main", "name": name},
            )
            if not known:
                raise InvalidInput(
                    f"the table must exist in its database; {self.description} does not."
                )
            self.is_steady = known[0][0] == "BASE TABLE"
        elif isinstance(self.source, Files):
            self._view(self._scan(self.source))
        elif self.source.library == "duckdb":
            refuse_repeated(self.source.value.columns, self.description)
            relation = self.source.value
            types = huge(dict(zip(relation.columns, relation.types, strict=True)))
            self._view(read_parquet([self._spooled(relation, types)]), types)
        else:
            frame = self.source.value
            refuse_repeated(_frame_names(frame), self.description)
            if type(frame).__name__ == "RecordBatch":  # DuckDB 1.4 cannot read one by itself
                import pyarrow as pa

                frame = pa.Table.from_batches([frame])
            if self.source.library == "polars" and not find_spec("pyarrow"):
                frame = _Stream(frame)
            self.sandbox.register("source", frame)

    def reattach(self) -> None:
        """Attach the database file (again), read-only."""
        if isinstance(self.source, DatabaseFile) and not self._attached:
            self.sandbox.run(attach(self.source.path, "input", read_only=True))
            self._attached = True

    def detach(self) -> None:
        """Let go of the database file, so that a table can be written to it."""
        if self._attached:
            self.sandbox.run('DETACH "input"')
            self._attached = False

    def _view(self, scan: Expression, types: Mapping[str, str] | None = None) -> None:
        query = DUCKDB.sql(exp.select(with_types(types or {})).from_(scan))
        self.sandbox.run(f"CREATE TEMP VIEW {DUCKDB.sql(self.table)} AS {query}")

    def _scan(self, files: Files) -> Expression:
        suffix = ".parquet"
        if files.format == "csv":
            suffix = ".csv.gz" if files.paths[0].name.lower().endswith(".gz") else ".csv"
        links = [self.sandbox.link(path, f"in{k}{suffix}") for k, path in enumerate(files.paths)]
        self._links = links
        if files.format == "parquet":
            refuse_repeated(self._parquet_names(links[0]), self.description)
            return read_parquet(links)
        known = "\t" if ".tsv" in files.paths[0].suffixes else "," if files.is_text else None
        delimiter, types = (known, {}) if known else self._delimiter(links[0])
        refuse_repeated(_header(links[0], delimiter), self.description)
        if len(links) > 1 or not types:
            # The types of a table of texts are not used.
            scan = read_csv(links, delimiter, sample=_SAMPLE // 50 if files.is_text else _SAMPLE)
            types = self._types(exp.select("*").from_(scan))
        if files.is_text:
            return read_csv(links, delimiter, dict.fromkeys(types, "VARCHAR"))
        return self._sniffed(links, delimiter, types)

    def _types(self, query: Expression) -> dict[str, str]:
        return {row[0]: row[1] for row in self.sandbox.run(f"DESCRIBE {DUCKDB.sql(query)}")}

    def _parquet_names(self, link: str) -> Iterator[str]:
        """Return the names of the columns as the file has them, without those inside structures."""
        schema = call("parquet_schema", exp.Literal.string(link))
        inside = 0
        _root, *rows = self.sandbox.run(exp.select("name", "num_children").from_(schema))
        for name, children in rows:
            if inside == 0:
                yield str(name)
            inside = max(inside - 1, 0) + int(children or 0)

    def _sniffed(self, links: Sequence[str], delimiter: str, types: dict[str, str]) -> Expression:
        """Return the files read with the types found, so that every query reads them the same."""
        # Times are kept as they are written.
        kinds = {name: kind_of(kind) for name, kind in types.items()}
        self._opaque = {n: kind for n, kind in kinds.items() if kind in {"timestamp", "other"}}
        types |= dict.fromkeys(self._opaque, "VARCHAR")
        # DuckDB takes yes, no, t and f for booleans; published values must stay as they were. It
        # tells 12-02-10 for a time in 2012, and would then cast the text to the year 12.
        likely = {
            name: "(true|false|True|False|TRUE|FALSE)" if kind == "boolean" else _ISO
            for name, kind in kinds.items()
            if kind in {"boolean", "timestamp"}
        }
        if likely:
            texts = read_csv(links, delimiter, dict.fromkeys(types, "VARCHAR"))
            head = exp.select("*").from_(texts).limit(_SAMPLE // 10)
            matches = (
                call("regexp_full_match", named(name), exp.Literal.string(pattern))
                for name, pattern in likely.items()
            )
            found = self.sandbox.run(
                exp.select(*(call("bool_and", match) for match in matches)).from_(
                    head.subquery("h")
                )
            )[0]
            for name, is_so in zip(likely, found, strict=True):
                if is_so is False:
                    types[name] = "VARCHAR"
                    self._opaque |= {name: "other"} if kinds[name] == "timestamp" else {}
        return read_csv(links, delimiter, types)

    def _delimiter(self, link: str) -> tuple[str, dict[str, str]]:
        """Return the delimiter of a CSV, and the types of its columns where there are several."""
        scan = read_csv([link], None)
        scan.set("this", "sniff_csv")
        scan.expressions[0].replace(exp.Literal.string(link))
        query = exp.select("Delimiter", "Columns").from_(scan)
        delimiter, columns = self.sandbox.run(query)[0]
        if len(columns) == 1:
            # A ragged file is told apart from one with a single column by its header.
            header = "" if _is_quoted(link) else columns[0]["name"]
            delimiter = next((mark for mark in _DELIMITERS if mark in header), ",")
            if delimiter in header:
                names = {f"column{k}": "VARCHAR" for k in range(header.count(delimiter) + 1)}
                self.sandbox.run(
                    exp.select(exp.Count(this=exp.Star())).from_(
                        exp.select("*").from_(read_csv([link], delimiter, names)).subquery("r")
                    )
                )
            return str(delimiter), {}
        return str(delimiter), {column["name"]: column["type"] for column in columns}

    def _spooled(self, relation: Any, types: Mapping[str, str]) -> str:
        """Copy a relation to the private folder: its own connection is not ours to configure.

        Columns of these types are texts in the copy.
        """
        place = self.sandbox.folder / "relation.parquet"
        try:
            texts = DUCKDB.sql(with_types(dict.fromkeys(types, "text")))
            relation.select(duckdb.SQLExpression(texts)).write_parquet(str(place))
        except duckdb.Error as error:
            fault = said(error, self.description)
        else:
            return str(place)
        raise InvalidInput(fault)

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        return self.sandbox.run(query, values)

    def most_different(self) -> float:
        """Return the number of rows; for a CSV, which would be read for it, a bound."""
        if self._is_held or not isinstance(self.source, Files):
            return int(self.fetch(queries.rows(self.table))[0][0])
        if self.source.format == "parquet":
            files = exp.array(*map(exp.Literal.string, self._links))
            counts = exp.select(exp.Sum(this=named("num_rows")))
            return int(self.fetch(counts.from_(call("parquet_file_metadata", files)))[0][0])
        if self._links[0].endswith(".gz"):
            return math.inf
        # A line has its delimiters and its end.
        return sum(path.stat().st_size // len(self.kinds) + 1 for path in self._files)

    def tally(self, plan: RowPlan) -> Rows:
        """Draw the rows of a plan and count each output."""
        with drawing(self.sandbox, self.table, plan) as (query, values):
            return self.sandbox.run(by_output(query), values)

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids."""
        if self.kinds[column] == "integer":
            value = named(column)
            ends = queries.rows(self.table).select(
                exp.Count(this=value), exp.Min(this=value.copy()), exp.Max(this=value.copy())
            )
            rows, present, low, high = self.fetch(ends)[0]
            if present and high - low < min(_WIDEST, _SPARSEST * rows):
                # One bit per possible id: six times as fast as a set of the ids.
                bits = call("bitstring_agg", value.copy(), number(low), number(high))
                query = exp.select(call("bit_count", bits)).from_(self.table.copy())
                return rows, present, self.fetch(query)[0][0]
        rows, present, different = self.fetch(queries.id_faults(column, self.table))[0]
        return rows, present, different

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns, their types and the order of the rows to a private database file."""
        self.sandbox.run(attach(self.sandbox.folder / "held.duckdb", "held", read_only=False))
        rows = exp.select(*map(named, columns)).from_(self.table)
        held = exp.table_("rows", db="main", catalog="held", quoted=True)
        self.sandbox.run(f"CREATE TABLE {DUCKDB.sql(held)} AS {DUCKDB.sql(rows)}")
        self.table, self.is_steady, self._is_held = held, True, True

    def spool(self, plan: RowPlan) -> Spool:
        """Write the rows of a plan to a private Parquet file."""
        return spool_rows(self.sandbox, self.table, plan, self.sandbox.folder)

    def numbered(self, plan: RowPlan) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Draw the rows of a plan: the output of each, in order, and its row in the table.

        Nothing is kept but the row.
        """
        place = f"row_{secrets.token_hex(8)}"
        row = DUCKDB.row_number().as_(place)
        table = exp.select(exp.Star(), row).from_(self.table).subquery("numbered")
        plan = replace(plan, keep=(place,))
        with drawing(self.sandbox, table, plan) as (query, values):
            found = self.sandbox.answer(
                in_order(query, kept=1), lambda answer: answer.fetchnumpy(), values
            )
        return found["y"], found["k0"] - 1

    def check_unchanged(self) -> None:
        """Refuse files that changed since the table was opened."""
        self._stamps.check()

    def sha256(self) -> str | None:
        """Return the digest of the files, one after the other in sorted order."""
        return digest_of_files(self._files) if isinstance(self.source, Files) else None

    def close(self) -> None:
        """Close the connection and remove what was temporary."""
        self.sandbox.close()


@contextmanager
def drawing(
    sandbox: Sandbox, table: Expression, plan: RowPlan
) -> Iterator[tuple[exp.Select, Values]]:
    """Lend the query that draws the rows of a plan in this process, and what to bind to it."""
    name = f"lookup_{secrets.token_hex(8)}"
    sandbox.register(name, dict(plan.alias))
    alias = exp.Table(this=exp.to_identifier(name, quoted=True))
    try:
        yield (
            plan.query(table, alias, DUCKDB, bound("key")),
            {"key": plan.key, "null": plan.null},
        )
    finally:
        sandbox.connection.unregister(name)


def spool_rows(sandbox: Sandbox, table: Expression, plan: RowPlan, folder: Path) -> Spool:
    """Draw the rows of a plan and write them to a Parquet file in a private folder."""
    kept = exp.select(*map(named, plan.keep)).from_(table)
    found = sandbox.run(f"DESCRIBE {DUCKDB.sql(kept)}") if plan.keep else []
    types = huge({f"k{k}": row[1] for k, row in enumerate(found)})
    if types:
        texts = {name: f"text_{secrets.token_hex(8)}" for name in plan.keep}
        casts = (exp.cast(named(name), "text").as_(text) for name, text in texts.items())
        table = exp.select(exp.Star(), *casts).from_(table).subquery("exact")
        keep = (texts[n] if f"k{k}" in types else n for k, n in enumerate(plan.keep))
        plan = replace(plan, keep=tuple(keep))
    place = folder / f"spool-{secrets.token_hex(8)}.parquet"
    target = DUCKDB.sql(exp.Literal.string(str(place)))
    with drawing(sandbox, table, plan) as (query, values):
        rows = DUCKDB.sql(in_order(query, len(plan.keep)))
        sandbox.run(f"COPY ({rows}) TO {target} (FORMAT parquet)", values)
    return Spool(place, types)


def digest_of_files(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of files, one after the other, without holding them in memory."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
