"""Parquet and CSV files as DuckDB scans them: names, delimiters and types, told once."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from lowlift.tables.dialects import DUCKDB, Expression, call
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.queries import named, rows
from lowlift.tables.sources import Files, refuse_repeated
from lowlift.tables.type_names import DUCKDB_KINDS

#: Rows the types of a CSV are told from.
_SAMPLE = 1_000_000
_DELIMITERS = ",;\t|"
#: How a time is written that a cast of the text and DuckDB's sniffer read alike.
_ISO = r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?"


def kind_of(type_name: str) -> str:
    """Return the kind of a DuckDB type."""
    name = "" if "[" in type_name else type_name.partition("(")[0]
    return DUCKDB_KINDS.get(name, "other")


def types_of(sandbox: Sandbox, query: Expression) -> dict[str, str]:
    """Return DuckDB's type of each column of a query."""
    return {row[0]: row[1] for row in sandbox.run(f"DESCRIBE {DUCKDB.sql(query)}")}


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


def _option(name: str, value: Expression) -> Expression:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def read_parquet(paths: Sequence[str]) -> Expression:
    """Return a scan of Parquet files."""
    return call("read_parquet", exp.convert(list(paths)), _option("hive_partitioning", exp.false()))


def read_csv(
    paths: Sequence[str],
    delimiter: str | None,
    types: Mapping[str, str] | None = None,
    sample: int = _SAMPLE,
) -> Expression:
    """Return a scan of CSV files with a header: RFC 4180, an empty field is NULL, "" is a text.

    Without `types` they are told from a sample of the first rows.
    """
    # Dates written otherwise than "dateformat" stay the texts they are.
    plain = {"header": True, "quote": '"', "escape": '"', "comment": "", "skip": 0}
    plain |= {"allow_quoted_nulls": False, "dateformat": "%Y-%m-%d"}
    if len(paths) > 1:
        plain["hive_partitioning"] = False
    if delimiter is not None:
        plain["delim"] = delimiter
    plain |= {"sample_size": sample} if types is None else {"auto_detect": False}
    options = {name: exp.convert(value) for name, value in plain.items()}
    if types is not None:
        pairs = [
            exp.PropertyEQ(this=exp.Literal.string(name), expression=exp.Literal.string(kind))
            for name, kind in types.items()
        ]
        options["columns"] = exp.Struct(expressions=pairs)
    given = (_option(name, value) for name, value in options.items())
    return call("read_csv", exp.convert(list(paths)), *given)


def scan_parquet(sandbox: Sandbox, links: Sequence[str]) -> Expression:
    """Return a scan of Parquet files whose columns have different names."""
    refuse_repeated(_parquet_names(sandbox, links[0]), sandbox.about)
    return read_parquet(links)


def _parquet_names(sandbox: Sandbox, link: str) -> Iterator[str]:
    """Return the names of the columns as the file has them, without those inside structures."""
    schema = call("parquet_schema", exp.Literal.string(link))
    inside = 0
    _root, *found = sandbox.run(exp.select("name", "num_children").from_(schema))
    for name, children in found:
        if inside == 0:
            yield str(name)
        inside = max(inside - 1, 0) + int(children or 0)


def scan_csv(
    sandbox: Sandbox, links: Sequence[str], files: Files
) -> tuple[Expression, dict[str, str]]:
    """Return a scan of CSV files, and the kinds of columns that it reads as the texts they are.

    The types are told once, so that every later query reads the files the same way.
    """
    known = "\t" if ".tsv" in files.paths[0].suffixes else "," if files.is_text else None
    delimiter, types = (known, {}) if known else _sniffed(sandbox, links[0])
    refuse_repeated(_header(links[0], delimiter), sandbox.about)
    if len(links) > 1 or not types:
        # The types of a table of texts are not used.
        scan = read_csv(links, delimiter, sample=_SAMPLE // 50 if files.is_text else _SAMPLE)
        types = types_of(sandbox, exp.select("*").from_(scan))
    texts = read_csv(links, delimiter, dict.fromkeys(types, "VARCHAR"))
    if files.is_text:
        return texts, {}
    kinds = {name: kind_of(kind) for name, kind in types.items()}
    # Times are kept as they are written.
    opaque = {name: kind for name, kind in kinds.items() if kind in {"timestamp", "other"}}
    types |= dict.fromkeys(opaque, "VARCHAR")
    for name in _unlikely(sandbox, texts, kinds):
        types[name] = "VARCHAR"
        opaque |= {name: "other"} if kinds[name] == "timestamp" else {}
    return read_csv(links, delimiter, types), opaque


def _unlikely(sandbox: Sandbox, texts: Expression, kinds: Mapping[str, str]) -> list[str]:
    """Return columns that look like booleans or times to DuckDB and are none.

    DuckDB takes yes, no, t and f for booleans; published values must stay as they were. It tells
    12-02-10 for a time in 2012, and would then cast the text to the year 12.
    """
    patterns = {"boolean": "(true|false|True|False|TRUE|FALSE)", "timestamp": _ISO}
    likely = {name: patterns[kind] for name, kind in kinds.items() if kind in patterns}
    if not likely:
        return []
    head = exp.select("*").from_(texts).limit(_SAMPLE // 10)
    matches = (
        call("regexp_full_match", named(name), exp.Literal.string(pattern))
        for name, pattern in likely.items()
    )
    query = exp.select(*(call("bool_and", match) for match in matches))
    found = sandbox.run(query.from_(head.subquery("h")))[0]
    return [name for name, is_so in zip(likely, found, strict=True) if is_so is False]


def _sniffed(sandbox: Sandbox, link: str) -> tuple[str, dict[str, str]]:
    """Return the delimiter of a CSV, and the types of its columns where there are several."""
    scan = read_csv([link], None)
    scan.set("this", "sniff_csv")
    scan.expressions[0].replace(exp.Literal.string(link))
    delimiter, columns = sandbox.run(exp.select("Delimiter", "Columns").from_(scan))[0]
    if len(columns) > 1:
        return str(delimiter), {column["name"]: column["type"] for column in columns}
    # A ragged file is told apart from one with a single column by its header.
    header = "" if _is_quoted(link) else columns[0]["name"]
    delimiter = next((mark for mark in _DELIMITERS if mark in header), ",")
    if delimiter in header:
        names = {f"column{k}": "VARCHAR" for k in range(header.count(delimiter) + 1)}
        texts = exp.select("*").from_(read_csv([link], delimiter, names))
        sandbox.run(rows(texts.subquery("r")))
    return delimiter, {}


def _opened(path: str) -> gzip.GzipFile | io.BufferedReader:
    return gzip.GzipFile(path) if path.endswith(".gz") else Path(path).open("rb")


def _is_quoted(path: str) -> bool:
    """Tell whether the first line of a CSV is one quoted name, whatever is in it."""
    with _opened(path) as file:
        try:
            line = file.readline().rstrip(b"\r\n")
        except (OSError, EOFError, zlib.error):
            return False  # DuckDB refuses it when it reads on
    return bool(re.fullmatch(rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"', line))


def _header(path: str, delimiter: str) -> list[str]:
    """Return the names in the first record of a CSV, as they are written; none if it has none."""
    with io.TextIOWrapper(_opened(path), encoding="utf-8-sig", newline="") as file:
        try:
            return next(csv.reader(file, delimiter=delimiter), [])
        except (OSError, EOFError, zlib.error, UnicodeError, csv.Error):
            return []  # DuckDB refuses it when it reads on
