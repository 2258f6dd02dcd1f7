"""Where a table is: a file, a database, Spark or a frame in memory; nothing is opened here."""

import glob
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from lowlift.errors import InvalidInput

ENGINES = ("duckdb", "postgres", "spark")

_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_DATABASES = (".duckdb", ".ddb", ".db")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:@/\[\]]*)(:\d+)?")
_POSTGRES = frozenset({"postgresql", "postgres"})
#: What Spark may read by itself; object stores are reached through a table of its catalog.
_SPARK_SCHEMES = frozenset({"file", "hdfs", "viewfs", "dbfs"})
#: What may be read where it is, by package.
_FRAMES = {
    "pandas": {"DataFrame"},
    "polars": {"DataFrame"},
    "pyarrow": {"Table", "RecordBatch", "FileSystemDataset", "InMemoryDataset", "UnionDataset"},
    "duckdb": {"DuckDBPyRelation"},
    "pyspark": {"DataFrame"},
}
_REFUSED = (
    "a password must not stand in a table's address, where logs and histories keep it. "
    "Set PGPASSWORD, or use a pgpass or service file."
)


@dataclass(frozen=True)
class Files:
    """CSV or Parquet files of one table, in sorted order."""

    paths: tuple[Path, ...]
    format: str
    description: str
    #: Whether a CSV is read as texts only, whatever they look like.
    is_text: bool = False


@dataclass(frozen=True)
class DatabaseFile:
    """A table in a DuckDB database file."""

    path: Path
    name: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class PostgresTable:
    """A table in a PostgreSQL database; the address has no password in it."""

    address: str
    name: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class SparkTable:
    """A table of Spark's catalog (format "table"), or files that Spark reads."""

    name: str
    format: str
    description: str
    #: Whether the columns of a CSV are texts, whatever they look like.
    is_text: bool = False


@dataclass(frozen=True)
class Frame:
    """A frame or relation in memory."""

    value: Any
    library: str
    description: str


Source: TypeAlias = Files | DatabaseFile | PostgresTable | SparkTable | Frame


def is_frame_name(text: str) -> bool:
    """Tell whether a table's description is that of a frame, which has no address.

    Examples
    --------
    >>> is_frame_name("pandas DataFrame"), is_frame_name("people.csv")
    (True, False)
    """
    library, _, kind = text.partition(" ")
    return kind in _FRAMES.get(library, set())


def parse_source(source: Any, engine: str | None = None) -> Source:
    """Return where a table is, and so which engine reads it; see `lowlift.tables.open_table`."""
    if engine is not None and engine not in ENGINES:
        raise InvalidInput(f"engine must be duckdb, postgres or spark; got {engine!r}.")
    if isinstance(source, Source):
        return source
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    found = _parse_text(source, engine) if isinstance(source, str) else _parse_frame(source)
    reads = _engine_of(found)
    if engine is not None and engine != reads:
        raise InvalidInput(
            f"engine {engine!r} cannot read this table, {reads!r} does: {found.description}. "
            "Leave the engine out."
        )
    return found


def refuse_repeated(names: Iterable[str], about: str) -> None:
    """Refuse column names that come twice: DuckDB would rename one, Spark would read neither.

    Upper and lower case are the same to both.
    """
    seen: dict[str, str] = {}
    twice: dict[str, None] = {}
    for name in names:
        if name and name.casefold() in seen:
            twice |= dict.fromkeys((seen[name.casefold()], name))
        seen.setdefault(name.casefold(), name)
    if twice:
        verb = "comes twice" if len(twice) == 1 else "come twice or differ in case only"
        raise InvalidInput(
            "columns must have different names (in more than upper and lower case); "
            f"{', '.join(map(repr, twice))} of {about} {verb}. "
            "Rename them."
        )


def _engine_of(source: Source) -> str:
    if isinstance(source, PostgresTable):
        return "postgres"
    spark = isinstance(source, SparkTable) or (
        isinstance(source, Frame) and source.library == "pyspark"
    )
    return "spark" if spark else "duckdb"


def _parse_frame(source: Any) -> Frame:
    kind = type(source)
    library = kind.__module__.partition(".")[0].removeprefix("_")
    if kind.__name__ in _FRAMES.get(library, ()):
        return Frame(_own(source, library), library, f"{library} {kind.__name__}")
    if library in _FRAMES and kind.__name__ in {"LazyFrame", "RecordBatchReader", "Scanner"}:
        raise InvalidInput(
            f"a table must be readable more than once; got a {library} {kind.__name__}. "
            "Collect it first."
        )
    raise InvalidInput(
        "a table must be a path, an address, or a pandas, polars, pyarrow, DuckDB or Spark frame; "
        f"got {kind.__name__}."
    )


def _own(frame: Any, library: str) -> Any:
    """Return a frame that changes to the given one do not reach; both share their data."""
    if library == "pandas":
        return frame.copy(deep=False)
    return frame.clone() if library == "polars" else frame


def _parse_text(text: str, engine: str | None) -> Source:
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() in _POSTGRES:
        return parse_postgres(text)
    if re.search(r"pass(word|wd)\s*=", text, re.IGNORECASE):
        raise InvalidInput(_REFUSED)
    if engine == "spark":
        return _parse_spark(text, scheme[1].lower() if scheme else "")
    if scheme and ("://" in text or not os.path.lexists(text)):
        raise InvalidInput(
            f"a table must be a local file or a database; got a path that starts with "
            f"'{scheme[1].lower()}:'. Copy the file to this machine first."
        )
    path, name = split_database(text)
    return _parse_files(text) if name is None else _parse_database(path, name)


def split_database(text: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the path and the table's name of ``data.duckdb?table=NAME``; no name without it."""
    path, mark, name = text.rpartition("?table=")
    if mark:
        return path, split_name(name)
    if text.lower().endswith(_DATABASES):
        raise InvalidInput(
            f"a database file needs the table's name; got {text!r}. Add ?table=NAME."
        )
    return text, None


def split_name(text: str) -> tuple[str, ...]:
    """Return the parts of ``table`` or ``schema.table``; a part may be in double quotes.

    Examples
    --------
    >>> split_name('hr."a.b"')
    ('hr', 'a.b')
    """
    part = r'(?:"((?:[^"]|"")+)"|([^".]+))'
    match = re.fullmatch(rf"{part}(?:\.{part})?", text, re.DOTALL)
    if match is None:
        raise InvalidInput(
            'a table must be written NAME or SCHEMA.NAME, in double quotes ("a.b") where it has '
            f"dots or quotes; got {text!r}."
        )
    found = [
        quoted.replace('""', '"') if quoted else bare
        for quoted, bare in (match.groups()[:2], match.groups()[2:])
        if quoted or bare
    ]
    return tuple(found)


def _shown(name: tuple[str, ...]) -> str:
    return ".".join(
        '"' + part.replace('"', '""') + '"' if re.search(r'[".]', part) else part for part in name
    )


def _parse_database(text: str, name: tuple[str, ...]) -> DatabaseFile:
    path = Path(text)
    _check_file(path, text)
    return DatabaseFile(path, name, f"{path.name}?table={_shown(name)}")


def _parse_files(text: str) -> Files:
    path = Path(text)
    if not glob.has_magic(text) or os.path.lexists(text):
        _check_file(path, text)
        paths = [path]
    else:
        try:
            names = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 (absolute patterns too)
        except ValueError:  # a NUL byte is in no name
            names = []
        paths = [Path(name) for name in names]
        if not paths:
            raise InvalidInput(f"a table's files must exist; {text!r} matches none.")
        for found in paths:
            _check_file(found, str(found))
    formats = {file_format(found.name) for found in paths}
    if len(formats) > 1 or None in formats:
        raise InvalidInput(
            "a table must be .csv, .tsv, .csv.gz or .parquet files of one format, or a database "
            f"with ?table=NAME; got {text!r}."
        )
    return Files(tuple(paths), str(formats.pop()), path.name)


def file_format(name: str) -> str | None:
    """Return "csv" or "parquet" by the name's suffix, None for any other."""
    lower = name.lower()
    found = _SUFFIXES.get(Path(lower.removesuffix(".gz")).suffix)
    return None if lower.endswith(".gz") and found == "parquet" else found


def _check_file(path: Path, text: str) -> None:
    try:
        if path.is_dir():
            raise InvalidInput(
                f"a table must be a file; {text!r} is a folder. Use '{text.rstrip('/')}/*.parquet'."
            )
        if not path.exists():
            raise InvalidInput(f"a table's file must exist; {text!r} does not.")
        _refuse_stream(path, text)
        with path.open("rb") as file:
            if not file.read(1):
                raise InvalidInput(
                    f"a table's file must have a header and rows; {text!r} is empty."
                )
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"a table's file must be readable; {text!r} is not.") from None


def _refuse_stream(path: Path, text: str) -> None:
    """Refuse what can be read once only, and might never end: a pipe, a socket, a device."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidInput(
            f"a table must be a regular file, which can be read more than once; {text!r} is a "
            "pipe, a socket or a device. Copy it to a file first."
        )


def parse_postgres(text: str) -> PostgresTable:
    """Return the table of ``postgresql://user@host/db?table=NAME``; a password is never echoed."""
    form = "postgresql://user@host/db?table=NAME"
    try:
        parts = urlsplit(text)
        password, query = parts.password, parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise InvalidInput(f"a PostgreSQL address must be written {form}; it is not.") from None
    if password is not None or any("pass" in key.lower() and "file" not in key for key, _ in query):
        raise InvalidInput(_REFUSED)
    # What is no host may be a piece of a password that was not percent-encoded.
    host = parts.netloc.rpartition("@")[2]
    if not all(_HOST.fullmatch(one) for one in host.split(",")) or "@" in parts.path:
        raise InvalidInput(f"a PostgreSQL address must be written {form}; it is not.")
    names = [value for key, value in query if key == "table"]
    if len(names) != 1 or parts.fragment or not parts.netloc + parts.query:
        raise InvalidInput(
            f"a PostgreSQL address must name one table, as in {form}; it does not "
            "(write # as %23 and & as %26)."
        )
    name = split_name(names[0])
    others = urlencode([(key, value) for key, value in query if key != "table"], quote_via=quote)
    address = urlunsplit(("postgresql", parts.netloc, parts.path or "/", others, ""))
    if not parts.netloc:  # urlunsplit drops the empty authority
        address = "postgresql://" + address.removeprefix("postgresql:").removeprefix("//")
    return PostgresTable(address, name, f"postgresql://{host}{parts.path}?table={_shown(name)}")


def _parse_spark(text: str, scheme: str) -> SparkTable:
    if scheme and scheme not in _SPARK_SCHEMES:
        raise InvalidInput(
            f"a Spark path must be local or on {', '.join(sorted(_SPARK_SCHEMES))}; got one that "
            f"starts with '{scheme}:'. Register it as a table of Spark's catalog."
        )
    local = Path(text.removeprefix("file://"))
    # A table may have a longer name than a file can: Path.exists would raise.
    is_there = os.path.exists(local)  # noqa: PTH110 (does not raise)
    if scheme in {"", "file"} and is_there and not local.is_dir():
        _refuse_stream(local, text)
    form = file_format(text.rstrip("/"))
    if form is None and ("/" in text or scheme):
        raise InvalidInput(
            f"a Spark path must end in .csv or .parquet; got {text!r}. Or name a table."
        )
    shown = text.rstrip("/").rpartition("/")[2] if form else text
    return SparkTable(text, form or "table", shown)
