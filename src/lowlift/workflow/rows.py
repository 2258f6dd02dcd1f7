"""Choose between rows and symbols for a table, and design either."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lowlift._arguments import check_choice, check_instance
from lowlift._wording import counted, joined
from lowlift.criteria import Criterion
from lowlift.errors import InvalidInput
from lowlift.tables import Counts, Schema, Table, open_table
from lowlift.tables.classes import notes_on_sensitive, with_classes
from lowlift.tables.schema import ENCODINGS, OF_CELLS
from lowlift.workflow.applying import Options
from lowlift.workflow.cells import Stage, design_cells, unheard
from lowlift.workflow.choices import MECHANISMS, Progress
from lowlift.workflow.columns import count
from lowlift.workflow.designing import Design, design_counted
from lowlift.workflow.profiles import ColumnProfile
from lowlift.workflow.profiling import flagged

#: Up to so many columns of categories are published together, as symbols.
_FEW_COLUMNS = 5
#: Kinds that have no symbols without bins.
_UNBINNED = {"integer": "number", "real": "number", "timestamp": "timestamp"}
#: Columns that are named one by one in a sentence.
_MOST_NAMED = 8
_TOO_MANY = "the columns have more combinations of values than the exact mechanisms take"


class Method(NamedTuple):
    """How a release is looked for and written."""

    mechanism: str = "auto"
    encoding: str | None = None
    time_limit: float = 60.0
    progress: Progress | None = None
    #: The encoding of symbols when none is asked for; None chooses by the release.
    default: str | None = None
    #: As for `design_counted` and `design_cells`.
    first: Callable[[Design], object] | None = None
    preferred: str | None = None
    #: As for `design`.
    stage: Stage = unheard


class _Rows(NamedTuple):
    """That rows are published: of which columns, why, and which are left out."""

    asked: Schema
    why: str
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def cells_by_default(
    sensitive: str | Sequence[str],
    bins: Mapping[str, Any] | None,
    encoding: str | None,
    mechanism: str,
) -> str | None:
    """Return "auto" where a call that names no released column asks for nothing but rows."""
    own = {sensitive} if isinstance(sensitive, str) else set(sensitive)
    is_plain = encoding is None and mechanism == "auto"
    return "auto" if is_plain and set(bins or ()) <= own else None


def design(
    source: Any,
    asked: Schema,
    criterion: Criterion,
    *,
    mechanism: str = "auto",
    encoding: str | None = None,
    preferred: str | None = None,
    time_limit: float = 60.0,
    engine: str | None = None,
    progress: Progress | None = None,
    first: Callable[[Design], object] | None = None,
    stage: Stage = unheard,
) -> Design:
    """Count the table and return a release of its columns that satisfies the criterion.

    Rows are published where the schema has cells; or where neither bins, an encoding nor a
    mechanism is asked for and there are many columns, numbers without bins, or too many symbols.
    `preferred` is the encoding of symbols when none is asked for, unless they are too many for it.
    `stage` is given the name of each part of the work as it begins: those of ``STAGES`` for rows.

    Raises
    ------
    InvalidInput
        For columns, sizes, mechanisms or encodings that do not fit.
    BoundViolated
        When the encoding breaks the bound.
    """
    check_instance(asked, Schema, "schema")
    method = Method(mechanism, encoding, time_limit, progress, None, first, preferred, stage)
    with open_table(source, engine) as table:
        return design_table(table, asked, criterion, method)[0]


def design_table(
    table: Table,
    asked: Schema,
    criterion: Criterion,
    method: Method,
    options: Options | None = None,
) -> tuple[Design, Counts]:
    """Do the same with an open table; return the counts too, with missing values as values.

    `options` say how it will be published: rows go without kept columns and a kept order, and by a
    key only where they are asked for.
    """
    options = options or Options()
    check_choice(method.mechanism, "mechanism", MECHANISMS)
    if method.encoding is not None:
        check_choice(method.encoding, "encoding", (*ENCODINGS, *OF_CELLS))
    given, asked = asked, with_classes(table, asked)
    if asked.cells is not None:
        options.hold(table, (*asked.sensitive, *(asked.released or table.kinds)))
    rows = _asked_rows(table, asked, method, options.id)
    may_be_rows = _is_plain(asked, criterion, method) and not options.is_by_row
    if rows is None and may_be_rows and (why := _reason_of(table, asked)):
        rows = _Rows(replace(asked, cells="auto"), why)
    if rows is None:
        options.hold(table, (*asked.sensitive, *asked.released))
        try:
            method.stage("counting")
            joint, counts = count(table, asked)
            made = design_counted(
                joint,
                joint.origin,
                criterion,
                mechanism=method.mechanism,
                encoding=method.encoding or asked.encoding or method.default,
                preferred=method.preferred,
                time_limit=method.time_limit,
                progress=method.progress,
                first=method.first,
            )
        except InvalidInput as error:
            if not may_be_rows or error.advice != "cells" or _has_identifiers(table, asked):
                raise
            rows = _Rows(replace(asked, cells="auto"), _TOO_MANY)
        else:
            notes = notes_on_sensitive(given, made.audit.joint)
            return replace(made, notes=notes, asked=given), counts
    how: Any = {"why": rows.why, "stage": method.stage, "first": method.first}
    made, counts = design_cells(table, rows.asked, criterion, method.time_limit, **how)
    warnings = (*made.warnings, *_left_out_words(rows.left_out))
    notes = (*notes_on_sensitive(given, made.audit.joint), *rows.notes)
    made = replace(made, left_out=rows.left_out, asked=given)
    return replace(made, warnings=warnings, notes=notes), counts


def _asked_rows(table: Table, asked: Schema, method: Method, identity: str | None) -> _Rows | None:
    """Return the schema that asks for rows, with its columns; None for another schema."""
    if asked.cells is None:
        return None
    is_of_rows = method.mechanism in {"auto", "least-distortion"}
    if not is_of_rows or method.encoding not in {None, *OF_CELLS}:
        raise InvalidInput(
            "cells publish rows by the mechanism least-distortion; another mechanism or encoding "
            "was asked for. Leave it out, or cells."
        )
    if asked.released:
        return _Rows(asked, "asked for")
    found = flagged(table, asked.sensitive)
    if identity is not None:
        found = tuple(column for column in found if column.name != identity)
    released = tuple(column.name for column in found if not column.is_withheld)
    left_out = tuple((column.name, column.remarks) for column in found if column.is_withheld)
    if not found:
        raise InvalidInput(
            "a table must have a column beside the sensitive ones; this one has none, so there is "
            "nothing to publish. Add the columns to publish."
        )
    if not released:
        raise InvalidInput(
            f"a table must have a column to publish; of the {len(found)} beside the sensitive "
            f"ones {len(left_out)} are identifiers or cannot be counted. Name the columns to "
            "release."
        )
    words = f"{counted(len(released), 'column')}, all but S"
    words += " and those left out" if left_out else ""
    return _Rows(replace(asked, released=released), words, left_out, tuple(_remarks(found)))


def named_columns(table: Table, asked: Schema, identity: str | None) -> tuple[str, ...]:
    """Return the columns that a design publishes: where none is named, those that it would take."""
    found = None if asked.released else _asked_rows(table, asked, Method(), identity)
    return asked.released if found is None else found.asked.released


def needs_bins(table: Table, name: str) -> bool:
    """Tell whether the values of a column are no symbols without bins."""
    table.check_name(name)
    return table.kinds[name] in _UNBINNED


def is_of_rows(
    kinds: Mapping[str, str], asked: Schema, criterion: Criterion, method: Method
) -> bool:
    """Tell whether rows of columns of these kinds are published, whatever they are counted to.

    Such a design needs no compiled kernel. Where it returns False, rows may still be published:
    of columns that turn out to have too many symbols.
    """
    is_plain = _is_plain(asked, criterion, method)
    return asked.cells is not None or (is_plain and bool(_reason(kinds, asked.released)))


def _is_plain(asked: Schema, criterion: Criterion, method: Method) -> bool:
    """Tell whether nothing was asked for that rows do not have."""
    is_default = method.mechanism == "auto" and not (method.encoding or asked.encoding)
    is_default = is_default and asked.missing == "value" and not asked.escape_formulas
    has_bins = bool(set(asked.bins) & set(asked.released))
    return is_default and not has_bins and getattr(criterion, "is_convex", True)


def _reason_of(table: Table, asked: Schema) -> str:
    for name in asked.names:
        table.check_name(name)
    return _reason(table.kinds, asked.released)


def _reason(kinds: Mapping[str, str], released: Sequence[str]) -> str:
    """Return why rows are published, where nothing was asked for; empty for symbols."""
    pairs = [(name, kinds.get(name)) for name in released]
    unbinned = [(name, _UNBINNED[kind]) for name, kind in pairs if kind in _UNBINNED]
    if unbinned:
        name, kind = unbinned[0]
        more = f" and {counted(len(unbinned) - 1, 'other')} have" if unbinned[1:] else " has"
        return f"{name!r} (a {kind}){more} no bins"
    many = len(released) > _FEW_COLUMNS
    return f"{len(released)} columns have many combinations of values" if many else ""


def _has_identifiers(table: Table, asked: Schema) -> bool:
    """Tell whether a named column is an identifier: its rows are published only when asked for."""
    return any(column.is_withheld for column in flagged(table, asked.sensitive, asked.released))


def _remarks(found: Sequence[ColumnProfile]) -> Iterator[str]:
    """Say what to know of columns that are published as none was named."""
    constant = [repr(column.name) for column in found if "constant" in column.flags]
    if constant:
        yield f"The same in every row, so published unchanged: {_some(constant)}."
    rare = [repr(column.name) for column in found if "few-rows-each" in column.flags]
    if rare:
        yield (
            f"Caution: few rows per value, as of an identifier that repeats: {_some(rare)}. If it "
            "tells households, places or persons apart, leave it out: name the other columns."
        )


def _some(words: Sequence[str]) -> str:
    """Return the first of many words, and how many more there are."""
    more = [f"{len(words) - _MOST_NAMED:,} more"] if len(words) > _MOST_NAMED else []
    return joined([*words[:_MOST_NAMED], *more])


def _left_out_words(left_out: Sequence[tuple[str, str]]) -> list[str]:
    if not left_out:
        return []
    words = [f"{name!r} ({why})" for name, why in left_out]
    line = (
        f"not published: {_some(words)}. To publish such a column anyway, name all columns to "
        "release, and it among them."
    )
    return [line]
