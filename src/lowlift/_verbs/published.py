"""When a table is published: verify it, estimate from it, compare it with its source."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from lowlift.errors import InvalidInput

if TYPE_CHECKING:  # they load scipy, which most users of `lowlift` do not need
    from lowlift._cells.utility import Utility
    from lowlift._release import Release
    from lowlift.codebook import Codebook
    from lowlift.estimation import GroupEstimate
    from lowlift.workflow import Receipt, TableEstimate, Verification

Names = str | Sequence[str]


def verify(
    release: "str | Release",
    *,
    against: Any = None,
    published: Any = None,
    receipt: "Receipt | None" = None,
    engine: str | None = None,
    accept_unchecked: bool = False,
) -> "Verification":
    """Check a release from scratch, the table it was made from, and a table published by it.

    Parameters
    ----------
    release
        A release, or its file.
    against
        The table that it was counted from.
    published, receipt
        A table published by it; the receipt of a frame (that of a file lies beside it).
    engine, accept_unchecked
        As for `lowlift.workflow.verify`.

    Returns
    -------
    Verification
        `is_ok`, and `checks` with the number behind each.
    """
    from lowlift import workflow

    return workflow.verify(
        release,
        against=against,
        published=published,
        receipt=receipt,
        engine=engine,
        accept_unchecked=accept_unchecked,
    )


class _Groups(TypedDict, total=False):
    """What `estimate` takes where it estimates of groups, for type checkers."""

    by: Names
    mean: Names
    bins: Mapping[str, Any] | None
    level: float
    population: bool
    engine: str | None


@overload
def estimate(
    published: Any, codebook: "str | Codebook", *, level: float = 0.95, engine: str | None = None
) -> "TableEstimate": ...


@overload
def estimate(
    published: Any, codebook: "str | Codebook", **groups: Unpack[_Groups]
) -> "GroupEstimate": ...


def estimate(
    published: Any,
    codebook: "str | Codebook",
    *,
    by: Names = (),
    mean: Names = (),
    bins: Mapping[str, Any] | None = None,
    level: float = 0.95,
    population: bool = False,
    engine: str | None = None,
) -> "TableEstimate | GroupEstimate":
    """Estimate from a published table and its codebook: the distribution of X, or groups of rows.

    Parameters
    ----------
    published
        The published table: a frame, a file or a database table.
    codebook
        Its codebook, or the codebook's file.
    by
        Columns to group by, for shares of groups; where rows or values are published.
    mean
        Columns of numbers whose means are wanted, by groups or of all rows; where rows are
        published.
    bins
        Of columns to group by, as for `Schema`: ``{"age": "width:10"}``.
    level
        The level of the confidence intervals.
    population
        Whether the table was a random sample, and the population is asked for: wider intervals.
    engine
        As for `sanitize`.

    Returns
    -------
    TableEstimate or GroupEstimate
        Without groups and means, `estimate` has P(x) by maximum likelihood with intervals. With
        them, one row per group: ``groups``, ``to_pandas()``.

    Guarantee
        Where rows are published, each interval of a share covers the share in the table at the
        level or more, whatever the group is; intervals of means do so approximately.

    Examples
    --------
    >>> import duckdb, warnings
    >>> from lowlift import LIP, LowliftWarning, sanitize
    >>> warnings.simplefilter("ignore", LowliftWarning)
    >>> people = duckdb.sql("select i % 3 as ward, i % 10 as age, i % 7 < 2 as ill "
    ...                     "from range(990) t(i)")
    >>> safe = sanitize(people, sensitive="ill", released=["ward", "age"], cells=4,
    ...                 criterion=LIP(0.5), seed=1)
    >>> found = estimate(safe.table, safe.codebook, by="ward", mean="age")
    >>> [group.labels for group in found.groups], sum(group.rows for group in found.groups)
    ([(0,), (1,), (2,)], 990)
    >>> found.groups[0].share.low < 1 / 3 < found.groups[0].share.high
    True
    """
    from lowlift import workflow

    if not (by or mean):
        if bins or population:
            raise InvalidInput("bins and population go with by or mean; neither is given.")
        return workflow.estimate_table(published, codebook, level=level, engine=engine)
    return workflow.estimate_groups(
        published,
        codebook,
        by,
        mean,
        bins=bins,
        level=level,
        is_population=population,
        engine=engine,
    )


def compare(
    source: Any,
    published: Any,
    columns: Names | None = None,
    *,
    release: "str | Release | None" = None,
    attack: bool = False,
    task: str | None = None,
    engine: str | None = None,
) -> "Utility":
    """Compare a published table with its source: what an analyst gets. Confidential.

    Parameters
    ----------
    source, published
        The tables, as for `sanitize`.
    columns
        The columns to compare; those of the published table by default.
    release
        The release of published rows, or its file: adds how many rows change and how far, expected
        over the draws.
    attack
        With a release: also how well a model guesses S, from rows as they are and as they are
        published (scikit-learn).
    task
        With a release: also how well this column is predicted from the others by a model that
        learnt from published rows, and by one that learnt from rows as they are.
    engine
        As for `sanitize`, of the source.

    Returns
    -------
    Utility
        Distances of tables of one and two columns beside those of a bootstrap sample, correlations,
        unique rows; ``to_pandas()`` has the columns.

    Cost
        At most 100,000 rows of each table are read.

    Examples
    --------
    >>> import duckdb
    >>> source = duckdb.sql("select i % 3 as ward, i % 2 as sex from range(60) t(i)")
    >>> found = compare(source, duckdb.sql("select 0 as ward, i % 2 as sex from range(60) t(i)"))
    >>> [(column.name, round(column.distance, 3)) for column in found.columns]
    [('ward', 0.667), ('sex', 0.0)]
    """
    from lowlift import workflow
    from lowlift._release import Release

    if isinstance(release, str | PathLike):
        release = Release.from_json(release)
    return workflow.compare_tables(
        source, published, columns, release=release, attack=attack, task=task, engine=engine
    )
