"""P(X), or shares and means by groups, back from a published table and its codebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lowlift._joint import Label
from lowlift.codebook import Codebook
from lowlift.errors import InvalidInput
from lowlift.estimation import Estimate, GroupEstimate, estimate
from lowlift.estimation.groups import Counted, Total, group_estimate, marginal
from lowlift.tables import Column, OutputColumn, Quantiles, Table, open_table, read_back
from lowlift.tables.bins import as_bins_by_name
from lowlift.tables.schema import COLUMNS, OF_CELLS, column_names
from lowlift.tables.staging import check_published

#: Groups to accept.
_MOST_GROUPS = 100_000
_SIMULTANEOUS = (
    "All intervals hold together with the confidence asked for; they include the drawing."
)
_STRADDLED = "Groups without an estimate share values that the channel treats alike: bounds only."


@dataclass(frozen=True, eq=False)
class TableEstimate:
    """What a published table says of X."""

    codebook: Codebook
    rows: int
    estimate: Estimate


def estimate_table(
    published: Any, codebook_file: str | Codebook, *, level: float = 0.95, engine: str | None = None
) -> TableEstimate:
    """Estimate the distribution of X by maximum likelihood from the channel alone.

    Parameters
    ----------
    published, engine
        The published table: a frame, a file or a database table, as for `open_table`.
    codebook_file
        Its codebook, or the codebook's file.
    level
        The level of the confidence intervals.

    Raises
    ------
    InvalidInput
        For files that do not fit together.
    """
    codebook = _read(codebook_file)
    if codebook.encoding in OF_CELLS:
        raise InvalidInput(
            "published rows are estimated by groups: name columns to group by, or numbers to "
            "average."
        )
    try:
        columns = tuple(
            OutputColumn(str(part["name"]), str(part["kind"]), tuple(part["texts"]))
            for part in codebook.columns or ()
        )
    except (KeyError, TypeError) as error:
        raise InvalidInput("the codebook's columns need a name, a kind and texts.") from error
    if any(
        len(column.texts) != len(codebook.labels)
        or not all(isinstance(text, str | None) for text in column.texts)
        for column in columns
    ):
        raise InvalidInput("the codebook's columns need one text per output.")
    if not columns:
        raise InvalidInput("the codebook must say which columns were published; it does not.")
    if codebook.channel is None:
        raise InvalidInput(
            "the codebook was rounded, so its channel is not known; an estimate needs it exact."
        )
    with open_table(published, engine, is_text=True) as table:
        found = read_back(table, columns)
    if found.unknown:
        raise InvalidInput(
            f"{found.unknown:,} of {found.rows:,} rows are no output of the codebook: "
            "it belongs to another table."
        )
    counts = list(found.counts)
    return TableEstimate(codebook, found.rows, estimate(codebook.channel, counts, level))


def _read(codebook: str | Codebook) -> Codebook:
    return codebook if isinstance(codebook, Codebook) else Codebook.from_json(codebook)


def estimate_groups(
    published: Any,
    codebook_file: str | Codebook,
    by: str | Sequence[str] = (),
    mean: str | Sequence[str] = (),
    *,
    bins: Mapping[str, Any] | None = None,
    level: float = 0.95,
    is_population: bool = False,
    engine: str | None = None,
) -> GroupEstimate:
    """Estimate shares, and means of numbers, by groups; see `lowlift.estimate`.

    Raises
    ------
    InvalidInput
        For columns that were not published, means of columns that are no numbers, or an encoding
        that does not say the columns of X.

    Cost
        One GROUP BY in the engine.
    """
    codebook = _read(codebook_file)
    groups, means = column_names(by, "by"), column_names(mean, "mean")
    if not groups and not means:
        raise InvalidInput("an estimate needs columns to group by, or numbers to average.")
    if len({*groups}) < len(groups) or len({*means}) < len(means):
        raise InvalidInput("a column is named twice; name it once.")
    try:
        kinds = {str(part["name"]): str(part["kind"]) for part in codebook.columns or ()}
    except KeyError as error:
        raise InvalidInput("the codebook's columns need a name and a kind.") from error
    if codebook.encoding == COLUMNS and len({*groups, *means}) > 1:
        raise InvalidInput(
            "columns that were drawn one by one are estimated one by one: what they had in common "
            "inside a cell is gone. Name one column, or publish rows."
        )
    for name in (*groups, *means):
        if name not in kinds and codebook.encoding in {*OF_CELLS, "values"}:
            raise InvalidInput(f"column {name!r} must be one that was published; it is not.")
    if codebook.encoding not in OF_CELLS:
        return _marginal(published, codebook, groups, means, bins, level, is_population, engine)
    for name in means:
        if kinds[name] not in {"integer", "real"}:
            raise InvalidInput(f"a mean must be of numbers; column {name!r} is {kinds[name]}.")
    columns = _columns(groups, kinds, bins)
    with open_table(published, engine, is_text=True) as table:
        counted = _counted(table, columns, means, kinds)
    options: dict[str, Any] = {"is_population": is_population}
    return group_estimate(groups, means, counted, level, **options)


def _columns(
    groups: Sequence[str], kinds: Mapping[str, str], bins: Mapping[str, Any] | None
) -> list[Column]:
    """Return the columns of the groups: values as they are written, or in bins."""
    asked = as_bins_by_name(bins or {})
    stray = sorted(set(asked) - set(groups))
    if stray:
        raise InvalidInput(f"bins must be of columns to group by; {stray[0]!r} is none.")
    if any(isinstance(part, Quantiles) for part in asked.values()):
        raise InvalidInput("groups need bins that are declared: edges or width:10, no quantiles.")
    return [
        Column(name, kinds[name], asked[name]) if name in asked else Column(name, "text")
        for name in groups
    ]


def _counted(
    table: Table, columns: Sequence[Column], means: Sequence[str], kinds: Mapping[str, str]
) -> list[Counted]:
    check_published(table, (*(column.name for column in columns), *means))
    found = table.group_means(columns, means, _MOST_GROUPS)
    if len(found) > _MOST_GROUPS:
        raise InvalidInput(
            f"there may be at most {_MOST_GROUPS:,} groups; there are more. Group by fewer "
            "columns, or give bins."
        )
    width, made = len(columns), []
    for row in found:
        labels = tuple(
            _label(column, text, kinds[column.name])
            for column, text in zip(columns, row, strict=False)
        )
        parts = [row[start : start + 3] for start in range(width + 1, len(row), 3)]
        values = tuple((int(n), float(m or 0), float(v or 0)) for n, m, v in parts)
        made.append(Counted(labels, int(row[width]), values))
    order = [_order(column) for column in columns]
    return sorted(made, key=lambda one: [key(v) for key, v in zip(order, one.labels, strict=True)])


def _label(column: Column, text: str | None, kind: str) -> Label:
    """Return a label typed as its column is, so that numbers sort as numbers."""
    if column.bins is not None or text is None or kind not in {"integer", "real", "boolean"}:
        return column.label_of(text)
    if kind == "boolean":
        return text == "true"
    try:
        return int(text) if kind == "integer" else float(text)
    except ValueError:
        return text


def _order(column: Column) -> Any:
    """Return what sorts the labels of a column: numbers, then texts, missing last."""
    if column.bins is not None:
        return column.order_of
    return lambda v: (v is None, isinstance(v, str), v if v is not None else 0)


def _marginal(
    published: Any,
    codebook: Codebook,
    groups: Sequence[str],
    means: Sequence[str],
    bins: Any,
    level: float,
    is_population: bool,
    engine: str | None,
) -> GroupEstimate:
    """Return shares of groups of symbols from the estimate of P(X)."""
    if codebook.encoding != "values":
        raise InvalidInput(
            f"groups are estimated of published rows or values; this codebook is of "
            f"{codebook.encoding}, which does not name the columns of X. Estimate without groups."
        )
    if means or bins or is_population:
        raise InvalidInput(
            "means, bins and the population are estimated of published rows (cells); this codebook "
            "is of values, whose symbols are declared. Leave them out."
        )
    found = estimate_table(published, codebook, level=level, engine=engine)
    result, names = found.estimate, [str(part["name"]) for part in codebook.columns or ()]
    places = [names.index(name) for name in groups]
    rows = [x if isinstance(x, tuple) else (x,) for x in result.x_labels]
    labels = [tuple(row[k] for k in places) for row in rows]
    number = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    totals = [
        Total(frozenset(number[labels[x]] for x in block.symbols), *block[1:])
        for block in result.blocks
    ]
    made = marginal(list(number), totals)
    is_open = any(group.share.value != group.share.value for group in made)
    notes = (_SIMULTANEOUS, *([_STRADDLED] if is_open else []))
    return GroupEstimate(tuple(groups), (), tuple(made), found.rows, level, notes)
