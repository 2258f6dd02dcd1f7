"""Before a table is published: look at its columns, audit them as they are, make it safe."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lowlift._arguments import check_instance
from lowlift.criteria import Criterion, check_criterion
from lowlift.errors import InvalidInput, LowliftWarning
from lowlift.tables.schema import OF_CELLS, Schema

if TYPE_CHECKING:  # they load scipy, which most users of `lowlift` do not need
    import os

    from lowlift._release import Release
    from lowlift.workflow import Recording, Sanitized, TableAudit, TableProfile

Names = str | Sequence[str]


def _schema(
    schema: Schema | None, sensitive: Names | None, released: Names | None, **more: Any
) -> Schema:
    """Return the schema given, or the one that the columns make."""
    if schema is None:
        if sensitive is None or released is None:
            raise InvalidInput(
                "sensitive and released must name columns of the table, as in "
                "sensitive='disease', released=['age', 'region']; or give a schema."
            )
        named: Any = sensitive, released
        return Schema(*named, **{name: value for name, value in more.items() if value is not None})
    check_instance(schema, Schema, "schema")
    given = [name for name, value in {"sensitive": sensitive, "released": released, **more}.items()
             if value is not None]  # fmt: skip
    if given:
        raise InvalidInput(f"give a schema, or {' and '.join(given)}, not both.")
    return schema


def sanitize(
    table: Any,
    *,
    criterion: Criterion,
    sensitive: Names | None = None,
    released: Names | None = None,
    bins: Mapping[str, Any] | None = None,
    missing: str | None = None,
    encoding: str | None = None,
    cells: int | str | None = None,
    min_rows: int | None = None,
    weights: Mapping[str, float] | None = None,
    schema: Schema | None = None,
    mechanism: str = "auto",
    target: str | None = None,
    keep: Sequence[str] = (),
    keep_order: bool = False,
    id: str | None = None,  # noqa: A002 (as in the options of every way to publish)
    key: bytes | None = None,
    seed: int | None = None,
    accept_uncovered: bool = False,
    force: bool = False,
    round_to: float | None = None,
    time_limit: float = 60.0,
    engine: str | None = None,
    progress: Callable[[Any], object] | None = None,
    ledger: "str | os.PathLike[str] | Recording | None" = None,
    continues: "Release | None" = None,
) -> "Sanitized":
    """Make a table that may be published: count, design, draw and verify.

    Parameters
    ----------
    table
        A pandas, polars, Arrow or Spark frame, a DuckDB relation, a path of CSV or Parquet files,
        ``data.duckdb?table=NAME`` or ``postgresql://user@host/db?table=NAME``.
    criterion
        The bound, such as ``LIP(0.5)``.
    sensitive, released, bins, missing, encoding, cells, min_rows, weights
        The columns, as for `Schema`; or a `schema`. With `released` left out: all columns but S and
        identifiers, as rows. Rows are also published where neither bins, an encoding nor a
        mechanism is asked for and there are more than 5 columns, numbers without bins, or more
        symbols than the mechanisms take. Otherwise values of X are written.
    mechanism
        "auto" takes the best that the size allows; `lowlift.workflow.MECHANISMS` has the others.
    target
        Where to write the table, with its release, codebook and receipt beside it. None writes
        nothing.
    keep, keep_order, id, key, seed, accept_uncovered
        As for `Release.apply`.
    force
        Overwrite a target that exists.
    round_to
        Round the probabilities of the codebook to this step, at least 0.01.
    time_limit
        Seconds after which a search stops with the best release so far.
    engine
        "duckdb", "postgres" or "spark"; default: what the table needs.
    progress
        Told where the search stands; False stops it.
    ledger
        A file that is asked what was published of these people before, and told of this; or a
        `lowlift.workflow.Recording`, which says more. None: no ledger is asked or told.
    continues
        An earlier release of the same columns, whose keyed draws are to stay: rows whose symbol and
        whose row of the channel are unchanged get the same output by the same id and key. The pairs
        of an earlier and a new output are audited, and refused where they break the criterion.

    Returns
    -------
    Sanitized
        `table` is a frame of the kind that came in, or the target; beside it `release`, `audit`,
        `codebook`, `receipt`, `verification` and `report()`.

    Raises
    ------
    InvalidInput
        For columns, sizes or options that do not fit.
    BoundViolated
        When the bound cannot be kept, as with kept columns.

    Warns
    -----
    LowliftWarning
        For each of `Sanitized.warnings`, before anything is written; what is to be known of the
        codebook only where it is written, with a target.

    Guarantee
        One row of the safe table changes the belief about S by no more than the criterion allows,
        exactly, for who knows the table's P(s, x). Rows are in random order unless `keep_order`.

    Examples
    --------
    >>> import duckdb
    >>> from lowlift import LIP
    >>> people = duckdb.sql("select i % 3 as ward, i % 7 < 2 as ill from range(99) t(i)")
    >>> safe = sanitize(people, sensitive="ill", released="ward", bins={"ward": "each"},
    ...                 criterion=LIP(0.5))
    >>> safe.audit.is_satisfied, safe.receipt.rows_out
    (True, 99)

    Every column but the sensitive one, as rows:

    >>> people = duckdb.sql("select i % 7 as ward, i % 50 as age, i % 3 < 1 as ill "
    ...                     "from range(600) t(i)")
    >>> safe = sanitize(people, sensitive="ill", criterion=LIP(0.5))
    >>> safe.table.columns, safe.receipt.encoding
    (['ward', 'age'], 'rows')
    """
    from lowlift import workflow
    from lowlift.workflow.rows import cells_by_default

    check_criterion(criterion)
    if schema is None and sensitive is not None and released is None:
        released = ()
        cells = cells or cells_by_default(sensitive, bins, encoding, mechanism)
    if cells is None and (weights or min_rows):
        cells = "auto"  # what only rows have
    more = {"missing": missing, "encoding": encoding, "cells": cells, "weights": weights}
    asked = _schema(schema, sensitive, released, bins=bins, min_rows=min_rows, **more)
    options = workflow.Options(
        keep, accept_uncovered, keep_order, id, key, seed, force=force, recording=ledger
    )
    return workflow.sanitize(
        table,
        asked,
        criterion,
        target,
        options,
        mechanism=mechanism,
        encoding=None if asked.encoding in OF_CELLS else asked.encoding,
        default="values",
        round_to=round_to,
        time_limit=time_limit,
        engine=engine,
        continues=continues,
        design_progress=progress,
        warn=lambda line: warnings.warn(line, LowliftWarning, stacklevel=5),
    )


def audit_table(
    table: Any,
    *,
    criterion: Criterion,
    sensitive: Names | None = None,
    released: Names | None = None,
    bins: Mapping[str, Any] | None = None,
    missing: str | None = None,
    schema: Schema | None = None,
    engine: str | None = None,
) -> "TableAudit":
    """Return the verdict on publishing columns of a table as they are.

    Parameters
    ----------
    table, criterion, sensitive, released, bins, missing, schema, engine
        As for `sanitize`.

    Guarantee
        Exact for the table as the population; `intervals` say what a sample supports.

    Examples
    --------
    >>> import duckdb
    >>> from lowlift import LIP
    >>> people = duckdb.sql("select i % 3 as ward, i % 3 < 1 as ill from range(99) t(i)")
    >>> bins = {"ward": "each"}
    >>> audit_table(people, sensitive="ill", released="ward", bins=bins,
    ...             criterion=LIP(0.5)).is_satisfied
    False
    """
    from lowlift import workflow

    check_criterion(criterion)
    asked = _schema(schema, sensitive, released, bins=bins, missing=missing)
    return workflow.audit_table(table, asked, criterion, engine=engine)


def columns(
    table: Any,
    *,
    sensitive: Names,
    bins: Mapping[str, Any] | None = None,
    engine: str | None = None,
) -> "TableProfile":
    """Look at every column of a table before some are chosen.

    Parameters
    ----------
    table, engine
        As for `sanitize`.
    sensitive
        The columns of S; several are one symbol.
    bins
        As for `Schema`, for columns that shall be looked at as they will be published. Other
        numbers are cut at quantiles.

    Returns
    -------
    TableProfile
        `columns` has one record each: kind, different and missing values, what the column says
        about S alone and on top of the others, and flags such as "identifier".
        `lowlift.workflow.publishable` returns the names of those that are no identifiers.

    Examples
    --------
    >>> import duckdb
    >>> people = duckdb.sql("select i as id, i % 3 as ward, i % 3 < 1 as ill from range(300) t(i)")
    >>> found = columns(people, sensitive="ill")
    >>> {column.name: column.remarks for column in found.columns}
    {'id': 'identifier', 'ward': 'determines S'}
    """
    from lowlift import workflow

    return workflow.profile_columns(table, sensitive, bins=bins, engine=engine)
