"""Where Spark writes: a folder, a table of the catalog, or a checkpoint that becomes a frame."""

import contextlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from sqlglot import exp

from lowlift._temporary import is_abandoned, remove_abandoned, temporary_beside, temporary_table
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import SPARK, Expression, table_named
from lowlift.tables.engines.spark import CSV, Spark, hadoop, release
from lowlift.tables.outputs import Output
from lowlift.tables.sources import SparkTable, file_format, parse_source, split_name


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


class Folder(_Place):
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
        """Refuse the input, a name that is taken, and a folder that does not exist."""
        place = self.system.makeQualified(self.path).toUri().getPath()
        if any(str(file) == place or str(file.parent) == place for file in self.inputs):
            raise InvalidInput("an output must not be the input; it is. Choose another name.")
        super().refuse_existing()
        parent = self.path.getParent()
        if parent is not None and not self.system.exists(parent):
            raise InvalidInput(f"an output's folder must exist; {parent.toString()!r} does not.")

    def write(self, rows: DataFrame) -> None:
        """Write rows under the temporary name."""
        if self.format == "csv":
            rows.write.options(**CSV).csv(self.temporary.toString())
        else:
            rows.write.parquet(self.temporary.toString())

    def read(self) -> DataFrame:
        """Return what was written; of a CSV, texts."""
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


class CatalogTable(_Place):
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
        """Refuse the input, and a name that is taken."""
        source = self.engine.source
        if isinstance(source, SparkTable) and source.format == "table":
            *schema, name = split_name(source.name)
            if SPARK.sql(_named(schema, name)).casefold() == SPARK.sql(self.path).casefold():
                raise InvalidInput("an output must not be the input; it is. Choose another name.")
        super().refuse_existing()

    def _exists(self, place: Expression) -> bool:
        return bool(self.engine.session.catalog.tableExists(SPARK.sql(place)))

    def write(self, rows: DataFrame) -> None:
        """Write rows under the temporary name."""
        rows.write.format("parquet").saveAsTable(SPARK.sql(self.temporary))

    def read(self) -> DataFrame:
        """Return what was written."""
        return self.engine.session.table(SPARK.sql(self.temporary))

    def _rename(self, place: Expression, name: Expression) -> None:
        self.engine.session.sql(f"ALTER TABLE {SPARK.sql(place)} RENAME TO {SPARK.sql(name)}")

    def _remove(self, place: Expression) -> None:
        self.engine.session.sql(f"DROP TABLE {SPARK.sql(place)}")


class Checkpoint:
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
        """Compute rows, once for all."""
        self.rows = rows.localCheckpoint()

    def read(self) -> DataFrame:
        """Return what was written."""
        if self.rows is None:
            raise InvalidInput("nothing was written.")
        return self.rows

    def publish(self) -> None:
        """Let go of the frame, which is now `SparkTarget.frame`."""
        self.handed_out, self.rows = self.rows, None

    def undo(self) -> None:
        """Take back the frame that was handed out."""
        release(self.handed_out)
        self.handed_out = None

    def discard(self) -> None:
        """Remove the frame that was not handed out."""
        release(self.rows)
        self.rows = None


def _named(schema: Sequence[str], name: str) -> exp.Table:
    return table_named(name, schema[0] if schema else None)
