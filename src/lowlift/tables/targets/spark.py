"""A folder or a table that Spark writes under a temporary name, renamed when it is whole."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from pyspark.sql import DataFrame
from pyspark.storagelevel import StorageLevel
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.tables import row_keys
from lowlift.tables.columns import Column
from lowlift.tables.dialects import SPARK, Expression, call, number
from lowlift.tables.donor_plans import DonorPlan, empty_cells
from lowlift.tables.draws import Progress
from lowlift.tables.engines import Engine, digest_of_files
from lowlift.tables.engines.spark import Spark, kinds_of, local_files
from lowlift.tables.engines.spark_sessions import refusing
from lowlift.tables.outputs import Output, OutputColumn
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan, by_output
from lowlift.tables.targets import Written, published_columns, values_by_output
from lowlift.tables.targets.spark_places import CatalogTable, Checkpoint, Folder

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
        self.place: Folder | CatalogTable | Checkpoint
        if output.target is None:
            self.place = Checkpoint(engine)
        elif output.target.startswith("table:"):
            self.place = CatalogTable(output, engine, output.target)
        else:
            self.place = Folder(output, engine, output.target)
        with refusing(self.about):
            self.place.refuse_existing()

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order.

        The driver deals the counts to chunks of rows, as a shuffle would; executors shuffle each.
        """
        rows = list(chunks(counts, seed))
        with refusing(self.about):
            cores = int(self.session.sparkContext.defaultParallelism)
            files = max(1, sum(counts) // _ROWS_PER_FILE, cores)
            frame = self.session.createDataFrame(rows, "y array<int>, n array<int>")
            table = self.engine.view(frame.repartition(min(files, max(len(rows), 1))))
            self._write(self.engine.query(_shuffled(table, seed)), ordered=False)
        progress(sum(counts), sum(counts))

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

    def write_keyed(self, plan: DonorPlan) -> Mapping[int, int]:
        """Write the rows that a key draws and return how many each cell has.

        All of it stays in Spark. The key is the one row of a table, as for `Spark.drawing`.
        """
        engine, names = self.engine, plan.cells.names
        columns = [f"k{k}" for k in range(len(names))]
        shown = [named(name).as_(k, quoted=True) for k, name in zip(columns, names, strict=True)]
        key = {"key": np.array([plan.key], object)}
        with refusing(self.about), engine.lookup(plan.alias) as alias, engine.lookup(key) as table:
            given = plan.given(engine.table, SPARK, shown).subquery("g")
            one = exp.select(named("key")).from_(table).subquery()
            # Drawn once: what is counted here is what is written below.
            drawn = engine.query(plan.drawn(given, alias, SPARK, one, columns))
            drawn = drawn.persist(StorageLevel.DISK_ONLY)
            try:
                view = engine.view(drawn)
                counts, sizes = self._cells_in(view, "y"), self._cells_in(view, "c")
                empty_cells(counts, sizes)
                known = exp.Not(this=named("y", "p").is_(exp.null()))
                columns_of = [
                    self._shown(named(column, plan.source_of(k)), name)
                    for k, (column, name) in enumerate(zip(columns, names, strict=True))
                ]
                parts = plan.placed(view).subquery(), plan.ranked(view).subquery()
                self.place.write(engine.query(plan.published(*parts, columns_of).where(known)))
            finally:
                drawn.unpersist()
        return counts

    def _cells_in(self, drawn: Expression, name: str) -> dict[int, int]:
        """Count the rows of each cell in a column."""
        tally = exp.select(named(name), exp.Count(this=exp.Star())).from_(drawn.copy())
        rows = self.engine.query(tally.group_by(named(name))).collect()
        return {int(cell): int(number) for cell, number in rows if cell is not None}

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:  # noqa: ARG002 (others read ids)
        """Write the columns of the rows that were drawn, in this order.

        The engine holds the rows, so that a number of a row in its cell means the same row
        whenever Spark computes it.
        """
        by_column = keys.ndim > 1
        with refusing(self.about):
            given = self.engine.query(row_keys.keyed(cells, self.engine.table, SPARK))
            given = given.persist(StorageLevel.DISK_ONLY)
            try:
                drawn = self.engine.view(self._sent(keys))
                shown = [
                    self._shown(named(f"k{k}", f"t{k if by_column else 0}"), name)
                    for k, name in enumerate(cells.names)
                ]
                tables = self.engine.view(given), "r", drawn
                query = row_keys.at_keys(shown, *tables, by_column=by_column)
                self.place.write(self.engine.query(query))
            finally:
                given.unpersist()

    def _sent(self, keys: Ints) -> DataFrame:
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
        is_csv = isinstance(self.place, Folder) and self.place.format == "csv"
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
            files = local_files(frame) if isinstance(self.place, Folder) else []
            kinds = kinds_of(frame)
            table = self.engine.view(frame)
        digest = digest_of_files(files) if files else None
        yield Written(SPARK, self.about, kinds, table, self.engine.fetch, digest)

    def commit(self) -> None:
        """Give what was written its name, or hand out the frame."""
        self.is_committing = True
        with refusing(self.about):
            self.place.publish()
        if isinstance(self.place, Checkpoint):
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


def _shuffled(table: Expression, seed: int | None) -> exp.Select:
    """Return the query that lists the outputs of each chunk as often as dealt, in random order."""
    code, often = exp.to_identifier("code"), exp.to_identifier("often")
    repeat = exp.Lambda(this=call("array_repeat", code, often), expressions=[code, often])
    codes = call("flatten", call("zip_with", named("y"), named("n"), repeat))
    salt = [] if seed is None else [number(seed)]
    return exp.select(call("explode", call("shuffle", codes, *salt)).as_("y")).from_(table)


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
