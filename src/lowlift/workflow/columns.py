"""Which columns of which table a release is about: asked for, found, and kept in its file."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from lowlift.arguments import check_choice, check_instance
from lowlift.audit import Audit, audit
from lowlift.channel import Channel
from lowlift.criteria import Criterion
from lowlift.errors import InvalidInput, LowliftWarning
from lowlift.files import refuse_unknown
from lowlift.joint import Joint, Label
from lowlift.tables import Bins, Column, Counts, Quantiles, Table, open_table
from lowlift.tables.bins import as_bins_by_name
from lowlift.tables.table import column_names

__all__ = [
    "Asked",
    "Found",
    "Spec",
    "after_missing",
    "check_kinds",
    "columns_of",
    "count",
    "count_table",
    "joint_of",
    "last_columns",
    "per_column",
    "quiet_joint",
]

_MOST_COLUMNS = 2_000
_MISSING = ("value", "drop", "error")


@dataclass(frozen=True)
class Asked:
    """The columns that a user names.

    Parameters
    ----------
    sensitive, released
        Names of the columns of S and of X; at least one each, none twice.
    bins
        How numeric columns become symbols, by name: bins, a text such as "width:10", or edges.
    missing
        What a missing value is: "value" (a symbol of its own), "drop" or "error".
    escape_formulas
        Whether an apostrophe is written before published texts that a spreadsheet would run.
    """

    sensitive: tuple[str, ...]
    released: tuple[str, ...]
    bins: Mapping[str, Bins] = field(default_factory=dict)
    missing: str = "value"
    escape_formulas: bool = False

    def __post_init__(self) -> None:
        for side in ("sensitive", "released"):
            object.__setattr__(self, side, tuple(column_names(getattr(self, side), side)))
        object.__setattr__(self, "bins", as_bins_by_name(self.bins))
        names = (*self.sensitive, *self.released)
        for side, given in (("sensitive", self.sensitive), ("released", self.released)):
            if not given:
                raise InvalidInput(f"{side} columns: name at least one.")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidInput(
                f"a column is either sensitive or released, and named once; {twice[0]!r} is not. "
                "To publish a sensitive column there is no bound to keep."
            )
        stray = sorted(set(self.bins) - set(names))
        if stray:
            raise InvalidInput(f"bins are given for {stray[0]!r}, which is not used.")
        check_choice(self.missing, "missing", _MISSING)


@dataclass(frozen=True)
class Spec:
    """The columns as they were found, with the table's name, rows and hash; kept in a release."""

    sensitive: tuple[Column, ...]
    released: tuple[Column, ...]
    missing: str
    source: str
    rows: int
    sha256: str | None
    #: How what is published is written: "codes", "groups" or "values"; empty before a design.
    encoding: str = ""
    #: Columns whose bins were taken from the data, on request.
    from_data: tuple[str, ...] = ()
    #: Whether published texts that a spreadsheet would run as formulas are escaped.
    escape_formulas: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        # Written only where it says something: other files stay as earlier versions read them.
        escaped = {"escape_formulas": True} if self.escape_formulas else {}
        return {
            "sensitive": [column.to_dict() for column in self.sensitive],
            "released": [column.to_dict() for column in self.released],
            "missing": self.missing,
            "source": self.source,
            "rows": self.rows,
            "sha256": self.sha256,
            "encoding": self.encoding,
            "from_data": list(self.from_data),
            **escaped,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any] | None) -> Self:
        """Return the columns of a release's file.

        Raises
        ------
        InvalidInput
            When the release was not designed on a table, or its file is damaged.
        """
        if saved is None:
            raise InvalidInput(
                "this release was not designed on a table, so its columns are not known.",
                advice="design",
            )
        try:
            found = cls(
                tuple(Column.from_dict(part) for part in saved["sensitive"]),
                tuple(Column.from_dict(part) for part in saved["released"]),
                str(saved["missing"]),
                str(saved["source"]),
                int(saved["rows"]),
                saved["sha256"],
                str(saved["encoding"]),
                tuple(str(name) for name in saved["from_data"]),
                saved.get("escape_formulas", False) is True,
            )
            refuse_unknown(saved, found.to_dict(), "the table's columns in the release")
        except InvalidInput:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput("the table's columns in the release are damaged.") from error
        if found.missing not in _MISSING or not found.sensitive or not found.released:
            raise InvalidInput("the table's columns in the release are damaged.")
        return found


@dataclass(frozen=True)
class Found:
    """A column of a table, before any is chosen: its kind, different values, missing ones."""

    name: str
    kind: str
    #: None for columns that cannot be counted.
    values: int | None
    missing: int | None


def columns_of(source: Any, *, engine: str | None = None) -> tuple[int, tuple[Found, ...]]:
    """Return the number of rows and what each column is, so that one can choose."""
    with open_table(source, engine) as table:
        if len(table.kinds) > _MOST_COLUMNS:
            raise InvalidInput(
                f"a table must have at most {_MOST_COLUMNS:,} columns to choose from; this one has "
                f"{len(table.kinds):,}. Use a part of it."
            )
        sizes = table.sizes()
        found = tuple(
            Found(name, kind, *sizes.get(name, (None, None))) for name, kind in table.kinds.items()
        )
        return table.rows, found


def count_table(source: Any, asked: Asked, *, engine: str | None = None) -> tuple[Joint, Spec]:
    """Open the table and count S by X in it."""
    check_instance(asked, Asked, "asked")
    with open_table(source, engine) as table:
        joint, spec, _ = count(table, asked)
        return joint, spec


def count(table: Table, asked: Asked) -> tuple[Joint, Spec, Counts]:
    """Count S by X in the table: one query. The counts have missing values as values."""
    sensitive = _found(table, asked.sensitive, asked.bins)
    released = _found(table, asked.released, asked.bins)
    every = table.count([*sensitive, *released])
    counts = after_missing(every, asked.missing)
    spec = Spec(
        sensitive,
        released,
        asked.missing,
        table.description,
        counts.rows,
        table.sha256(),
        from_data=tuple(n for n, bins in asked.bins.items() if isinstance(bins, Quantiles)),
        escape_formulas=asked.escape_formulas,
    )
    return joint_of(counts, len(sensitive)), spec, every


def after_missing(counts: Counts, missing: str) -> Counts:
    """Return counts that have missing values as values with those treated as `missing` says.

    Raises
    ------
    InvalidInput
        When values are missing and `missing` is "error"; the message has their number.
    """
    if missing == "value":
        return counts
    pairs = list(zip(counts.symbols, counts.counts, strict=True))
    kept = [(symbol, amount) for symbol, amount in pairs if None not in symbol]
    rows = sum(amount for _, amount in kept)
    dropped = counts.rows - rows
    if missing == "error" and dropped:
        names = ", ".join(repr(column.name) for column in counts.columns)
        raise InvalidInput(
            f"no value may be missing in {names}; {dropped} rows have one. "
            "Count missing as a value, or drop those rows."
        )
    symbols, amounts = [symbol for symbol, _ in kept], [amount for _, amount in kept]
    return Counts(counts.columns, symbols, amounts, rows, counts.dropped + dropped)


def last_columns(counts: Counts, size: int) -> Counts:
    """Return the counts of the last columns alone."""
    sums: dict[tuple[Label, ...], int] = {}
    for symbol, amount in zip(counts.symbols, counts.counts, strict=True):
        sums[symbol[-size:]] = sums.get(symbol[-size:], 0) + amount
    found = list(sums.values())
    return Counts(counts.columns[-size:], list(sums), found, counts.rows, counts.dropped)


def check_kinds(table: Table, columns: Sequence[Column]) -> None:
    """Refuse a table in which a column is missing, or of another kind than at design."""
    for column in columns:
        found = table.kinds.get(column.name)
        if found is None:
            raise InvalidInput(f"the table must have the column {column.name!r}; it has not.")
        if found != column.kind:
            raise InvalidInput(
                f"the column {column.name!r} must be of kind {column.kind}, as at design; here it "
                f"is of kind {found}. Cast it, or design the release on this table."
            )


def _found(table: Table, names: Sequence[str], bins: Mapping[str, Bins]) -> tuple[Column, ...]:
    return tuple(table.column(name, bins.get(name)) for name in names)


def joint_of(counts: Counts, n_sensitive: int) -> Joint:
    """Return the joint of the counts; see `quiet_joint`."""
    if not counts.rows:
        raise InvalidInput("no rows are left to count: every one has a missing value.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowliftWarning)
        return counts.joint(n_sensitive)


def quiet_joint(counts: Any, s_labels: Iterable[Any], x_labels: Iterable[Any]) -> Joint:
    """Return a joint of counts; one value of S only is nothing to warn of here: lifts are 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowliftWarning)
        return Joint.from_counts(counts, s_labels, x_labels)


def per_column(
    joint: Joint, channel: Channel, criterion: Criterion, spec: Spec
) -> tuple[tuple[str, Audit], ...]:
    """Return the audit of each sensitive column alone, when there are several.

    For a convex criterion they follow from the joint's verdict; for others they need not.
    """
    if len(spec.sensitive) == 1:
        return ()
    return tuple(
        (column.name, audit(_marginal(joint, k), channel, criterion))
        for k, column in enumerate(spec.sensitive)
    )


def _marginal(joint: Joint, place: int) -> Joint:
    """Return the counts of one sensitive column by X, from those of several."""
    sums: dict[Label, Any] = {}
    for row, label in zip(joint.counts, joint.s_labels, strict=True):
        name = label[place] if isinstance(label, tuple) else label
        sums[name] = row if name not in sums else sums[name] + row
    return quiet_joint(list(sums.values()), list(sums), joint.x_labels)
