"""A folder or a table that Spark writes under a temporary name, renamed when it is whole."""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel
from sqlglot import exp

from lowlift._temporary import (
    is_abandoned,
    remove_abandoned,
    temporary_beside,
    temporary_table,
)
from lowlift.errors import InvalidInput
from lowlift.tables import queries
from lowlift.tables.columns import Column
from lowlift.tables.dialects import SPARK, Expression, call, number, table_named
from lowlift.tables.draws import Progress
from lowlift.tables.engines import Engine, digest_of_files
from lowlift.tables.engines.spark import (
    CSV,
    Spark,
    hadoop,
    kinds_of,
    local_files,
    refusing,
    release,
)
from lowlift.tables.outputs import Output, OutputColumn
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan, by_output
from lowlift.tables.sources import SparkTable, file_format, parse_source, split_name
from lowlift.tables.targets import Written, published_columns, values_by_output

#: Numbers that the driver sends to describe the rows, about, at most.
_NUMBERS = 20_000_000
_SMALLEST_CHUNK, _LARGEST_CHUNK = 10_000, 4_000_000
_ROWS_PER_FILE = 5_000_000
#: What NumPy's hypergeometric draws can hold.
_BLOCK = 500_000_000


class SparkTarget:
    """A folder or a catalog table (see `Target`)."""

    def __init__(self, output: Output, engine: Spark) -> None:
        self.output, self.engine = output, engine
        self.session = engine.session
        self.is_committing = False
        self.about = output.description
        #: What was made of an output without a target; None before it is committed.
        self.frame: DataFrame | None = None
        self.place: _Folder | _CatalogTable | _Checkpoint
        if output.target is None:
            self.place = _Checkpoint(engine)
        elif output.target.startswith("table:"):
            self.place = _CatalogTable(output, engine, output.target)
        else:
            self.place = _Folder(output, engine, output.target)
        with refusing(self.about):
            self.place.refuse_existing()

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order.

        The driver deals the counts to chunks of rows, as a shuffle would; executors shuffle each.
        """
        rows = list(chunks(counts, seed))
        with refusing(self.about):
            files = max(1, sum(counts) // _ROWS_PER_FILE, self._cores())
            frame = self.session.createDataFrame(rows, "y array<int>, n array<int>")
            table = self.engine.view(frame.repartition(min(files, max(len(rows), 1))))
            self._write(self.engine.query(_shuffled(table, seed)), ordered=False)
        progress(sum(counts), sum(counts))

    def _cores(self) -> int:
        return int(self.session.sparkContext.defaultParallelism)

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""
        counts = [0] * len(self.output.columns[0].texts)
        with refusing(self.about), self.engine.drawing(plan) as (query, values):
            # Drawn once: what is counted here is what is written below.
            drawn = self.engine.query(query, values).persist(StorageLevel.DISK_ONLY)
            try:
                table = self.engine.view(drawn)
                tally = by_output(exp.select(named("y")).from_(table))
                for y, rows in self.engine.query(tally).collect():
                    if y is not None:
                        counts[int(y)] = int(rows)
                self._write(drawn, ordered=True)
            finally:
                drawn.unpersist()
        return counts

    def write_donors(self, cells: Column, keys: npt.NDArray[np.int64]) -> None:
        """Write the columns of the rows that were drawn, in this order.

        The engine holds the rows, so that a number of a row in its cell means the same row
        whenever Spark computes it.
        """
        by_column = keys.ndim > 1
        with refusing(self.about):
            given = self.engine.query(queries.keyed(cells, self.engine.table, SPARK))
            given = given.persist(StorageLevel.DISK_ONLY)
            try:
                drawn = self.engine.view(self._sent(keys))
                shown = [
                    self._shown(named(f"k{k}", f"t{k if by_column else 0}"), name)
                    for k, name in enumerate(cells.names)
                ]
                tables = self.engine.view(given), "r", drawn
                query = queries.at_keys(shown, *tables, by_column=by_column)
                self.place.write(self.engine.query(query))
            finally:
                given.unpersist()

    def _sent(self, keys: npt.NDArray[np.int64]) -> DataFrame:
        """Return drawn keys as a frame: r0, r1, ..., and their order, o; sent by chunks."""
        parts = keys.reshape(len(keys), -1)
        names = [f"r{k}" for k in range(parts.shape[1])]
        rows = [
            (start, *parts[start : start + _SMALLEST_CHUNK].T.tolist())
            for start in range(0, len(parts), _SMALLEST_CHUNK)
        ]
        schema = ", ".join(("o bigint", *(f"{name} array<bigint>" for name in names)))
        frame = self.session.createDataFrame(rows, schema)
        zipped = frame.selectExpr("o", f"posexplode(arrays_zip({', '.join(names)})) AS (at, z)")
        return zipped.selectExpr("o + at AS o", *(f"z.{name}" for name in names))

    def _shown(self, value: Expression, name: str) -> Expression:
        """Return a column under its name; a time of a CSV as text, which Spark would cut off."""
        is_csv = isinstance(self.place, _Folder) and self.place.format == "csv"
        if is_csv and self.engine.kinds[name] == "timestamp":
            value = exp.cast(value, "text")
        return value.as_(name, quoted=True)

    def _write(self, rows: DataFrame, *, ordered: bool) -> None:
        shown = published_columns(self.output, self._type, "r")
        with self.engine.lookup(values_by_output(self.output)) as lookup:
            query = (
                exp.select(*shown)
                .from_(exp.alias_(self.engine.view(rows), "r", table=True))
                .join(
                    exp.alias_(lookup, "o", table=True),
                    on=named("y", "o").eq(named("y", "r")),
                )
            )
            self.place.write(
                self.engine.query(query.order_by(named("o", "r")) if ordered else query)
            )

    def _type(self, column: OutputColumn) -> str:
        """Return the type of a column: in a frame, whole numbers are as wide as they came."""
        came = dict(self.engine.frame.dtypes).get(column.name, "")
        is_frame = self.output.target is None and column.kind == "integer"
        return came if is_frame and column.fits(came) else SPARK.types[column.kind]

    @contextmanager
    def written(self) -> Iterator[Engine]:
        """Lend what was written, read from its files as texts where it is a CSV."""
        with refusing(self.about):
            frame = self.place.read()
            files = local_files(frame) if isinstance(self.place, _Folder) else []
            kinds = kinds_of(frame)
            table = self.engine.view(frame)
        digest = digest_of_files(files) if files else None
        yield Written(SPARK, self.about, kinds, table, self.engine.fetch, digest)

    def commit(self) -> None:
        """Give what was written its name, or hand out the frame."""
        self.is_committing = True
        with refusing(self.about):
            self.place.publish()
        if isinstance(self.place, _Checkpoint):
            self.frame = self.place.handed_out

    def undo(self) -> bool:
        """Take the name away again, and put back what had it."""
        self.frame = None
        if self.is_committing:
            with refusing(self.about):
                self.place.undo()
        return True

    def discard(self) -> None:
        """Remove what has a temporary name."""
        with refusing(self.about):
            self.place.discard()


class _Place:
    """A place with a name of its own, a temporary one, and one for what had the name before."""

    output: Output
    path: Any
    temporary: Any
    #: No later run removes this after a kill: it is what was published before.
    old: Any

    def _exists(self, place: Any) -> bool:
        raise NotImplementedError

    def _rename(self, place: Any, name: Any) -> None:
        raise NotImplementedError

    def _remove(self, place: Any) -> None:
        raise NotImplementedError

    def refuse_existing(self) -> None:
        if self._exists(self.path) and not self.output.force:
            raise InvalidInput(
                f"an output must not exist; {self.output.target!r} does. Use force to replace it."
            )

    def publish(self) -> None:
        if self._exists(self.path):
            self.refuse_existing()
            self._rename(self.path, self.old)
        self._rename(self.temporary, self.path)

    def undo(self) -> None:
        if not self._exists(self.temporary) and self._exists(self.path):
            self._remove(self.path)
        if self._exists(self.old) and not self._exists(self.path):
            self._rename(self.old, self.path)

    def discard(self) -> None:
        for place in (self.temporary, self.old):
            if self._exists(place):
                self._remove(place)


class _Folder(_Place):
    """A folder of Parquet or CSV files, on any file system that Spark reaches."""

    def __init__(self, output: Output, engine: Spark, target: str) -> None:
        place = parse_source(target, "spark")
        self.format = file_format(target.rstrip("/"))
        if self.format is None or not isinstance(place, SparkTable):
            raise InvalidInput(
                "an output of Spark must end in .parquet or .csv, or be table:NAME; "
                f"got {target!r}."
            )
        self.output, self.session = output, engine.session
        self.inputs = engine.files
        found = hadoop(self.session)
        if found is None:
            raise InvalidInput("Spark Connect cannot rename folders; write to table:NAME instead.")
        files, configuration = found
        self.path = files.Path(target.rstrip("/"))
        self.system = self.path.getFileSystem(configuration)
        if self.system.getUri().getScheme() == "file":
            # Java's working directory is the one in which Spark was started.
            here = Path(self.path.toUri().getPath()).absolute()
            self.path = files.Path(str(here))
            self.temporary = files.Path(str(temporary_beside(here)))
        else:
            self.temporary = self.path.suffix(f".{secrets.token_hex(6)}.part")
        self.old = self.path.suffix(f".{secrets.token_hex(6)}.old")

    def refuse_existing(self) -> None:
        place = self.system.makeQualified(self.path).toUri().getPath()
        if any(str(file) == place or str(file.parent) == place for file in self.inputs):
            raise InvalidInput("an output must not be the input; it is. Choose another name.")
        super().refuse_existing()
        parent = self.path.getParent()
        if parent is not None and not self.system.exists(parent):
            raise InvalidInput(f"an output's folder must exist; {parent.toString()!r} does not.")

    def write(self, rows: DataFrame) -> None:
        if self.format == "csv":
            rows.write.options(**CSV).csv(self.temporary.toString())
        else:
            rows.write.parquet(self.temporary.toString())

    def read(self) -> DataFrame:
        if self.format == "parquet":
            return self.session.read.parquet(self.temporary.toString())
        reader = self.session.read.options(
            **CSV, mode="FAILFAST", multiLine=True, nullValue=secrets.token_hex(16)
        )
        return reader.csv(self.temporary.toString(), inferSchema=False)

    def _exists(self, place: Any) -> bool:
        return bool(self.system.exists(place))

    def _rename(self, place: Any, name: Any) -> None:
        if not self.system.rename(place, name):
            raise InvalidInput(
                f"{self.output.target!r} must be possible to rename; it is not. Nothing was "
                "published."
            )

    def _remove(self, place: Any) -> None:
        self.system.delete(place, True)


class _CatalogTable(_Place):
    """A table of Spark's catalog."""

    def __init__(self, output: Output, engine: Spark, target: str) -> None:
        self.output, self.engine = output, engine
        *schema, name = split_name(target.removeprefix("table:"))
        self.path, self.temporary = _named(schema, name), _named(schema, temporary_table())
        self.old = _named(schema, f"lowlift_old_{secrets.token_hex(8)}")
        self._remove_abandoned(schema)

    def _remove_abandoned(self, schema: Sequence[str]) -> None:
        """Drop what dead processes left in the schema, and in its local folder.

        A catalog in memory forgets its tables; their files stay.
        """
        session = self.engine.session
        with contextlib.suppress(PySparkException, Py4JError):
            home = schema[0] if schema else session.catalog.currentDatabase()
            within = SPARK.sql(exp.to_identifier(home, quoted=True))
            found = session.sql(f"SHOW TABLES IN {within} LIKE 'lowlift_*'").collect()
            for name in (row.tableName for row in found if is_abandoned(row.tableName)):
                session.sql(f"DROP TABLE IF EXISTS {SPARK.sql(_named([home], name))}")
            folder = urlsplit(session.catalog.getDatabase(home).locationUri)
            if folder.scheme == "file":
                remove_abandoned(Path(unquote(folder.path)))

    def refuse_existing(self) -> None:
        source = self.engine.source
        if isinstance(source, SparkTable) and source.format == "table":
            *schema, name = split_name(source.name)
            if SPARK.sql(_named(schema, name)).casefold() == SPARK.sql(self.path).casefold():
                raise InvalidInput("an output must not be the input; it is. Choose another name.")
        super().refuse_existing()

    def _exists(self, place: Expression) -> bool:
        return bool(self.engine.session.catalog.tableExists(SPARK.sql(place)))

    def write(self, rows: DataFrame) -> None:
        rows.write.format("parquet").saveAsTable(SPARK.sql(self.temporary))

    def read(self) -> DataFrame:
        return self.engine.session.table(SPARK.sql(self.temporary))

    def _rename(self, place: Expression, name: Expression) -> None:
        self.engine.session.sql(f"ALTER TABLE {SPARK.sql(place)} RENAME TO {SPARK.sql(name)}")

    def _remove(self, place: Expression) -> None:
        self.engine.session.sql(f"DROP TABLE {SPARK.sql(place)}")


class _Checkpoint:
    """A frame whose rows the executors hold, apart from our views and files.

    A checkpoint and not a cache: when an executor is lost a query fails, and nothing is drawn anew.
    Spark removes it with the last frame that reads it; one that is not handed out goes at once.
    """

    def __init__(self, engine: Spark) -> None:
        if engine.is_owned:
            raise InvalidInput(
                "a Spark frame must belong to a session that goes on; this one ends with the "
                "table. Start a session before, or give a target, such as safe.parquet."
            )
        self.rows: DataFrame | None = None
        self.handed_out: DataFrame | None = None

    def refuse_existing(self) -> None:
        """Do nothing: a frame replaces nothing."""

    def write(self, rows: DataFrame) -> None:
        self.rows = rows.localCheckpoint()

    def read(self) -> DataFrame:
        if self.rows is None:
            raise InvalidInput("nothing was written.")
        return self.rows

    def publish(self) -> None:
        """Let go of the frame, which is now `SparkTarget.frame`."""
        self.handed_out, self.rows = self.rows, None

    def undo(self) -> None:
        release(self.handed_out)
        self.handed_out = None

    def discard(self) -> None:
        release(self.rows)
        self.rows = None


def _shuffled(table: Expression, seed: int | None) -> exp.Select:
    """Return the query that lists the outputs of each chunk as often as dealt, in random order."""
    code, often = exp.to_identifier("code"), exp.to_identifier("often")
    repeat = exp.Lambda(this=call("array_repeat", code, often), expressions=[code, often])
    codes = call("flatten", call("zip_with", named("y"), named("n"), repeat))
    salt = [] if seed is None else [number(seed)]
    return exp.select(call("explode", call("shuffle", codes, *salt)).as_("y")).from_(table)


def _named(schema: Sequence[str], name: str) -> exp.Table:
    return table_named(name, schema[0] if schema else None)


def chunks(counts: Sequence[int], seed: int | None) -> Iterator[tuple[list[int], list[int]]]:
    """Deal counted outputs to chunks of rows as a shuffle would: outputs, and how often each.

    Above half a billion rows, each block of that size gets its even share first.
    """
    total = sum(counts)
    size = min(max(total * len(counts) // _NUMBERS, _SMALLEST_CHUNK), _LARGEST_CHUNK)
    rng = np.random.default_rng(None if seed is None else [seed, 1])
    blocks = -(-total // _BLOCK)
    for block in range(blocks):
        left = np.array([(block + 1) * n // blocks - block * n // blocks for n in counts], np.int64)
        while (rest := int(left.sum())) > 0:
            dealt = rng.multivariate_hypergeometric(left, min(size, rest), method="marginals")
            left -= dealt
            used = np.flatnonzero(dealt)
            yield used.tolist(), dealt[used].tolist()
