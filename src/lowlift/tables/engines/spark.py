"""A Spark table, path or frame: counted and drawn from by the executors, which return counts."""

import math
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType
from pyspark.storagelevel import StorageLevel
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput
from lowlift.tables.columns import Column
from lowlift.tables.dialects import SPARK, Expression, call, number, table_named
from lowlift.tables.donor_plans import DonorPlan
from lowlift.tables.engines import Engine, Rows, Spool, Stamps, Values
from lowlift.tables.engines.private import PrivateFolder
from lowlift.tables.engines.spark_sessions import local_folder, refusing, session_of
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import Frame, SparkTable, refuse_repeated, split_name
from lowlift.tables.type_names import SPARK_KINDS

#: RFC 4180 with a header; by itself Spark would trim values when it writes them.
CSV: dict[str, bool | str] = {
    "header": True,
    "quote": '"',
    "escape": '"',
    "ignoreLeadingWhiteSpace": False,
    "ignoreTrailingWhiteSpace": False,
}


class Spark(Engine):
    """A table that Spark reads (see `Engine`)."""

    dialect = SPARK
    stamps: Stamps

    def __init__(self, source: SparkTable | Frame) -> None:
        self.source = source
        self.description = source.description
        self.is_steady = isinstance(source, SparkTable) and source.format != "table"
        self._views: list[str] = []
        #: What `hold` copied, and where it is if not in Spark's blocks.
        self._held: DataFrame | None = None
        self._folder: PrivateFolder | None = None
        self.session, self.is_owned = session_of(source)
        try:
            with refusing(self.description):
                self.frame = self._read(source)
                refuse_repeated(self.frame.columns, self.description)
                self.table: Expression = self.view(self.frame)
                self.files = local_files(self.frame)
            self.kinds: Mapping[str, str] = kinds_of(self.frame)
            self.stamps = Stamps(self.files, self.description)
        except BaseException:
            self.close()
            raise

    def _read(self, source: SparkTable | Frame) -> DataFrame:
        if isinstance(source, Frame):
            frame: DataFrame = source.value
            return frame
        if source.format == "table":
            parts = [exp.to_identifier(part, quoted=True) for part in split_name(source.name)]
            return self.session.table(".".join(map(SPARK.sql, parts)))
        path = self._from_here(source.name)
        if source.format == "parquet":
            return self.session.read.parquet(path)
        return self._read_csv(path, is_text=source.is_text)

    def _from_here(self, path: str) -> str:
        """Return a relative path as an absolute one: Java's working directory may be another.

        Where another file system than this machine's is Spark's default, it is left as it is.
        """
        if path.startswith("/") or urlsplit(path).scheme:
            return path
        found = hadoop(self.session)
        if found is None:
            return path
        files, configuration = found
        if files.FileSystem.getDefaultUri(configuration).getScheme() != "file":
            return path
        # Only the path that was given is a pattern.
        here = re.sub(r"([\\\[\]{}*?])", r"\\\1", str(Path.cwd()))
        return f"{here}/{path}"

    def _read_csv(self, path: str, *, is_text: bool) -> DataFrame:
        """Read a CSV so that "" is a text, 007 stays 007, and a broken record is an error."""
        options: dict[str, bool | str] = {
            **CSV,
            "mode": "FAILFAST",
            "multiLine": True,
            "nullValue": secrets.token_hex(16),
            "sep": "\t" if ".tsv" in path.lower() else ",",
        }
        # Spark would number names that come twice.
        first = self.session.read.options(**{**options, "header": False}).csv(path).first()
        refuse_repeated((str(name) for name in first or ()), self.description)
        reader = self.session.read.options(**options)
        if is_text:
            return reader.csv(path, inferSchema=False)
        schema = reader.csv(path, inferSchema=True).schema
        whole = [f.name for f in schema.fields if f.dataType.simpleString() in {"int", "bigint"}]
        if whole:
            texts = self.view(reader.csv(path, inferSchema=False))
            padded = [
                call("bool_or", call("rlike", named(name), exp.Literal.string("^-?0[0-9]")))
                for name in whole
            ]
            found = self.query(exp.select(*padded).from_(texts)).collect()[0]
            for name, is_padded in zip(whole, found, strict=True):
                if is_padded:
                    schema[name].dataType = StringType()
        return reader.schema(schema).csv(path)

    def view(self, frame: DataFrame) -> exp.Table:
        """Give a frame a name for queries."""
        name = f"lowlift_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(name)
        self._views.append(name)
        return table_named(name)

    def query(self, query: Expression, values: Values | None = None) -> DataFrame:
        """Return the frame of a query with bound values."""
        return self.session.sql(SPARK.sql(query), args=dict(values or {}))

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        with refusing(self.description):
            return [tuple(row) for row in self.query(query, values).collect()]

    def most_different(self) -> float:
        """Return the size of the input as Spark knows it: a different row takes a byte or more."""
        plan = getattr(self.frame, "_jdf", None)  # a frame of Spark Connect has none
        if plan is None:
            return math.inf
        with refusing(self.description):
            return int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))

    def ids(self, column: str) -> tuple[int, int, int]:
        """Count the rows, the rows with an id, and the different ids.

        By bits, each task keeps a bitmap for every 32,768 numbers, and sends those alone.
        """
        near = self.near_ids(column)
        if near is None:
            return super().ids(column)
        rows, present, low, _high = near
        value = exp.cast(named(column), "bigint") - number(low - 1)
        values = exp.select(value.as_("v")).from_(self.table.copy())
        values = values.where(exp.Not(this=named(column).is_(exp.null())))
        place = call("bitmap_bit_position", named("v"))
        bits = call("bitmap_count", call("bitmap_construct_agg", place)).as_("n")
        bucket = call("bitmap_bucket_number", named("v"))
        buckets = exp.select(bits).from_(values.subquery("w")).group_by(bucket)
        query = exp.select(exp.Sum(this=named("n"))).from_(buckets.subquery("b"))
        return rows, present, int(self.fetch(query)[0][0])

    @contextmanager
    def lookup(self, columns: Mapping[str, npt.NDArray[Any]]) -> Iterator[exp.Table]:
        """Lend a small table to queries; each executor gets all of it."""
        types = ("string" if array.dtype == object else "bigint" for array in columns.values())
        schema = ", ".join(f"{name} {kind}" for name, kind in zip(columns, types, strict=True))
        rows = list(zip(*(array.tolist() for array in columns.values()), strict=True))
        with refusing(self.description):
            table = self.view(self.session.createDataFrame(rows, schema).hint("broadcast"))
        try:
            yield table
        finally:
            self._views.remove(table.name)
            self.session.catalog.dropTempView(table.name)

    @contextmanager
    def drawing(self, plan: RowPlan) -> Iterator[tuple[exp.Select, Values]]:
        """Lend the query that draws the rows of a plan, and what to bind to it.

        Spark writes bound values into its plans, which its UI and event log show. The key is
        therefore the one row of a table, whose contents no plan shows.
        """
        key = {"key": np.array([plan.key], object)}
        with self.lookup(plan.by_digits()) as digits, self.lookup(key) as table:
            one = exp.select(named("key")).from_(table).subquery()
            yield plan.query_by_digits(self.table, digits, SPARK, one), {"null": plan.null}

    def hold(self, columns: Sequence[str]) -> None:
        """Copy these columns: to Parquet files where Spark runs on this machine alone.

        Else to the executors' disks, by a checkpoint and not a cache: when an executor is lost the
        job fails, and nothing is computed anew from what may have changed.
        """
        with refusing(self.description):
            rows = self.query(exp.select(*map(named, columns)).from_(self.table))
            held = self._in_files(rows) if self._is_local else None
            if held is None:
                held = self._held = rows.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
            self.table = self.view(held)
        self.is_steady = True

    @property
    def _is_local(self) -> bool:
        try:
            return str(self.session.sparkContext.master).startswith("local")
        except (AttributeError, PySparkException):  # Spark Connect has no context
            return False

    def _in_files(self, rows: DataFrame) -> DataFrame | None:
        """Return a copy that is read column by column; None of a type that Parquet lacks."""
        self._folder = PrivateFolder(local_folder())
        path = str(self._folder.path / "held")
        try:
            rows.write.parquet(path, compression="none")
        except AnalysisException:
            return None
        return self.session.read.schema(rows.schema).parquet(path)

    def spool(self, plan: RowPlan) -> Spool:
        """Refuse: rows that Spark draws stay in Spark."""
        raise InvalidInput(
            f"Spark writes kept columns ({len(plan.keep)} here) to a folder ending in .parquet or "
            ".csv or to table:NAME only. Choose such an output."
        )

    def keyed_donors(self, plan: DonorPlan) -> tuple[dict[int, int], Ints]:
        """Refuse: rows that Spark draws stay in Spark."""
        raise _leaving(f"those of {len(plan.cells.names)}")

    def rows_at(self, cells: Column, keys: Ints, ids: str | None = None) -> Spool:  # noqa: ARG002 (others read ids)
        """Refuse: rows that Spark draws stay in Spark."""
        raise _leaving(f"{len(keys):,} of {len(cells.names)}")

    def sha256(self) -> str | None:
        """Return the digest of local input files; None of a table of the catalog or a frame."""
        is_path = isinstance(self.source, SparkTable) and self.source.format != "table"
        return self.stamps.sha256() if is_path else None

    def close(self) -> None:
        """Drop our views and copies; stop a session that we started."""
        if self.is_owned:
            self.session.stop()
        else:
            for name in self._views:
                self.session.catalog.dropTempView(name)
            release(self._held)
        if self._folder is not None:
            self._folder.close()


def _leaving(rows: str) -> InvalidInput:
    return InvalidInput(
        f"rows that Spark draws must stay in Spark; {rows} columns would leave it. Write to a "
        "folder ending in .parquet or .csv or to table:NAME, and load that into the database."
    )


def kinds_of(frame: DataFrame) -> dict[str, str]:
    """Return the kind of each column."""
    return {name: SPARK_KINDS.get(shown.partition("(")[0], "other") for name, shown in frame.dtypes}


def release(frame: DataFrame | None) -> None:
    """Give back the blocks of a checkpoint, which Spark keeps until Java collects its garbage."""
    plan = getattr(frame, "_jdf", None)  # Spark Connect has none: its blocks end with the session
    if plan is not None:
        plan.queryExecution().logical().rdd().unpersist(False)


def hadoop(session: SparkSession) -> tuple[Any, Any] | None:
    """Return Hadoop's package of file systems and its configuration; None for Spark Connect."""
    try:
        context: Any = session.sparkContext
        return context._jvm.org.apache.hadoop.fs, context._jsc.hadoopConfiguration()  # noqa: SLF001 (there is no other way)
    except (AttributeError, PySparkException):
        return None


def local_files(frame: DataFrame) -> list[Path]:
    """Return the files of this machine that a frame reads, sorted; none if some are elsewhere."""
    names = sorted(frame.inputFiles())
    if not all(re.match(r"file:/", name) for name in names):
        return []
    return [Path(unquote(urlsplit(name).path)) for name in names]
