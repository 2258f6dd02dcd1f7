"""Where rows are written, whole or not at all, and how each kind of target is opened."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from lowlift._arrays import Ints
from lowlift.errors import InvalidInput, MissingExtra
from lowlift.tables.columns import Column
from lowlift.tables.dialects import Dialect, Expression
from lowlift.tables.donor_plans import DonorPlan
from lowlift.tables.draws import Progress
from lowlift.tables.engines import Engine, Rows, Values
from lowlift.tables.outputs import Output, OutputColumn
from lowlift.tables.queries import named
from lowlift.tables.row_plans import RowPlan
from lowlift.tables.sources import Files, file_format, parse_postgres, split_database


class Target(Protocol):
    """A target that is written under a temporary name or in a transaction.

    Any step may be interrupted: `undo` and `discard` look at what is there.
    """

    def write_counts(self, counts: Sequence[int], seed: int | None, progress: Progress) -> None:
        """Write each output as often as counted, in random order."""

    def write_rows(self, plan: RowPlan) -> Sequence[int]:
        """Write the rows of a plan and return how many each output has."""

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:
        """Write the columns of cells of the rows that `Engine.donors` drew, in this order.

        With the id column those of `Engine.keyed_donors`.
        """

    def write_keyed(self, plan: DonorPlan) -> Mapping[int, int]:
        """Write the rows that a key draws and return how many each cell has."""

    def written(self) -> AbstractContextManager[Engine]:
        """Lend what was written and not yet committed as a table to read."""

    def commit(self) -> None:
        """Give what was written its name; what had it before is kept where that is possible."""

    def undo(self) -> bool:
        """Take back a commit; return whether what was there before is there again."""

    def discard(self) -> None:
        """Remove what has no name of its own, and what was replaced; close."""


class KeyedRows:
    """A target that asks its engine which rows a key draws (see `Target`)."""

    engine: Engine

    def write_donors(self, cells: Column, keys: Ints, ids: str | None = None) -> None:
        """Write the columns of the rows that were drawn, in this order."""
        raise NotImplementedError

    def write_keyed(self, plan: DonorPlan) -> Mapping[int, int]:
        """Write the rows that a key draws and return how many each cell has."""
        counts, keys = self.engine.keyed_donors(plan)
        self.write_donors(plan.cells, keys, plan.id)
        return counts


class Written(Engine):
    """Rows that are written and not yet committed, to be counted."""

    is_steady = False  # its combinations need no estimate: they are the outputs of a channel

    def __init__(
        self,
        dialect: Dialect,
        description: str,
        kinds: Mapping[str, str],
        table: Expression,
        fetch: Callable[..., Rows],
        digest: str | None = None,
    ) -> None:
        self.dialect, self.description, self.kinds, self.table = dialect, description, kinds, table
        self._fetch, self._digest = fetch, digest

    def fetch(self, query: Expression, values: Values | None = None) -> Rows:
        """Run a query whose answer is small and return its rows."""
        return self._fetch(query, values)

    def sha256(self) -> str | None:
        """Return the digest of the written files; None when there are none."""
        return self._digest


def open_target(output: Output, engine: Engine) -> Target:
    """Open a target without touching what may be there.

    It is refused when it exists and `force` is off, is the input, or is none of ours.
    """
    target = output.target
    if target is None and engine.dialect.name != "spark":
        from lowlift.tables.targets.frames import frame_target

        return frame_target(output, engine)
    if target is None:
        return _spark(output, engine)
    if not isinstance(target, str):
        raise InvalidInput(
            f"target must be a file such as safe.csv, or a table; got {type(target).__name__}."
        )
    scheme = target.partition(":")[0].lower() if "://" in target else ""
    if scheme in {"postgresql", "postgres"}:
        return _postgres(output, engine, target)
    if engine.dialect.name == "spark" and "?table=" not in target:
        return _spark(output, engine)
    if scheme or target.startswith("table:"):
        raise InvalidInput(
            f"an output must be a local file or a database table; got '{scheme or 'table'}:'. "
            "Only Spark writes those."
        )
    path, name = split_database(target)
    if name is not None:
        from lowlift.tables.targets.database import DatabaseTarget

        return DatabaseTarget(output, Path(path), name, engine)
    if file_format(target) is None:
        raise InvalidInput(
            "an output must end in .parquet, .csv, .tsv or .csv.gz, or name a database table "
            f"with ?table=NAME; got {target!r}."
        )
    from lowlift.tables.targets.files import FileTarget

    return FileTarget(output, Path(target), engine)


def _spark(output: Output, engine: Engine) -> Target:
    from lowlift.tables.engines.spark import Spark
    from lowlift.tables.targets.spark import SparkTarget

    if not isinstance(engine, Spark):
        raise InvalidInput("only Spark writes to Spark.")
    return SparkTarget(output, engine)


def _postgres(output: Output, engine: Engine, target: str) -> Target:
    place = parse_postgres(target)
    try:
        from lowlift.tables.targets.postgres import PostgresTarget
    except ModuleNotFoundError as error:
        raise MissingExtra("psycopg is needed: pip install 'lowlift[postgres]'") from error
    return PostgresTarget(output, place, engine)


def values_by_output(output: Output) -> dict[str, npt.NDArray[Any]]:
    """Return the lookup table of an output: y, and the texts of each column as v0, v1, ..."""
    texts = {f"v{k}": np.array(one.texts, object) for k, one in enumerate(output.columns)}
    return {"y": np.arange(len(output.columns[0].texts)), **texts}


def published_columns(
    output: Output, type_of: Callable[[OutputColumn], str], kept: str
) -> list[Expression]:
    """Return the published columns of rows that are joined to the lookup table "o".

    `kept` is the table that has k0, k1, ...
    """
    released = [
        exp.cast(named(f"v{k}", "o"), type_of(column)).as_(column.name, quoted=True)
        for k, column in enumerate(output.columns)
    ]
    names = enumerate(output.keep)
    return [*released, *(named(f"k{k}", kept).as_(name, quoted=True) for k, name in names)]


def refuse_input(path: Path, engine: Engine) -> None:
    """Refuse a target that is one of the input's files."""
    source = engine.source
    if isinstance(source, Files) and path.exists():
        for given in source.paths:
            if given.exists() and path.samefile(given):
                raise InvalidInput(
                    f"an output must not be the input; both are {path.name!r}. Choose another name."
                )
