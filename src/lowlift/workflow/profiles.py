"""The columns of a table, looked at before some are chosen: the records, and how they are shown."""

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from lowlift._display import card, frame, text_table
from lowlift._wording import counted, joined, percent

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {
    "identifier": "identifier",
    "free-text": "free text",
    "not-counted": "cannot be counted",
    "constant": "constant",
    "few-rows-each": "few rows per value",
    "almost-unique": "almost one value per row",
    "date": "date",
    "same-as-sensitive": "S in other words",
    "determines-sensitive": "determines S",
    "follows-from-sensitive": "S, coarser",
    "nearly-determines-sensitive": "nearly determines S",
}
_HEAD = (
    "column", "kind", "values", "missing", "lifts of S", "bits", "guess", "alone", "on top",
    "remarks",
)  # fmt: skip
_LEGEND = (
    "lifts of S: how many times as likely a value of the column (of a number: a bin) makes a value "
    "of S. bits: what it tells of S. guess: how often S is then guessed right. alone, on top: the "
    "share of S that the column explains by itself, and beyond all the others. More: lowlift "
    "explain columns"
)
#: The places of those that are read from the left.
_TEXTS = [_HEAD.index(name) for name in ("column", "kind", "remarks")]


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it is, what it says about S alone, and on top of the others.

    A number that was not measured is None, as of identifiers, constants and columns that cannot be
    counted.

    Parameters
    ----------
    name, kind
        As the table has it.
    different
        Different values that are not missing, dates by day; None for a kind that cannot be counted.
    missing
        The share of rows without a value.
    lift_low, lift_high
        The smallest and the largest P(s given value) / P(s): of the values of a category, or of
        the bins of a number (`is_binned`).
    information, information_share
        I(column; S) in bits and as a share of H(S), corrected for the bias of small counts.
    best_guess
        How often the best guess of S from this column is right, each row guessed from the others.
    alone, on_top
        The share of S that the column explains (adjusted R squared of the indicators of S): by
        itself, and beyond what all the other columns explain together.
    is_binned
        Whether the numbers are of bins between quantiles instead of single values.
    n_bins
        How many bins then, 20 or fewer; None for single values.
    flags
        "identifier", "free-text", "not-counted", "constant", "few-rows-each" (ten rows per value
        or fewer, as of an identifier that repeats), "almost-unique" (more than half as many
        different numbers or dates as rows with one), "date", "same-as-sensitive" (S in other
        words), "determines-sensitive", "nearly-determines-sensitive" (right in 99% of the rows),
        "follows-from-sensitive" (S in fewer words).
    duplicates
        Columns with the same values, one to one.
    """

    name: str
    kind: str
    different: int | None
    missing: float | None
    lift_low: float | None = None
    lift_high: float | None = None
    information: float | None = None
    information_share: float | None = None
    best_guess: float | None = None
    alone: float | None = None
    on_top: float | None = None
    is_binned: bool = False
    n_bins: int | None = None
    flags: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()

    @property
    def is_withheld(self) -> bool:
        """Whether it is published only when it is named: an identifier, or not countable."""
        return not {"identifier", "not-counted"}.isdisjoint(self.flags)

    @property
    def remarks(self) -> str:
        """The flags in words."""
        words = [_WORDS[flag] for flag in self.flags]
        words += [f"same as {joined(self.duplicates)}"] if self.duplicates else []
        return ", ".join(words)


@dataclass(frozen=True)
class TableProfile:
    """The columns of a table and what each says about S (see `profile_columns`).

    Parameters
    ----------
    source, rows
        The table's name and its rows.
    sensitive, sensitive_values
        The columns of S, and the combinations of their values that occur.
    entropy
        H(S) in bits.
    base_rate
        How often S is guessed right without seeing any column.
    explained
        The share of S that all measured columns explain together; None when it was not measured.
    columns
        The other columns, in the table's order.
    notes
        What to know about the numbers.
    """

    source: str
    rows: int
    sensitive: tuple[str, ...]
    sensitive_values: int
    entropy: float
    base_rate: float
    explained: float | None
    columns: tuple[ColumnProfile, ...]
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> tuple[ColumnProfile, ...]:
        """The columns by what they say about S alone, most first; those not measured last."""
        return tuple(sorted(self.columns, key=_rank))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, and the names of the columns that are `publishable`."""
        return asdict(self) | {"publishable": publishable(self)}

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per column.

        Raises
        ------
        MissingExtra
            Without pandas.
        """
        names = [field.name for field in fields(ColumnProfile)]
        return frame([{n: getattr(c, n) for n in names} for c in self.columns], names)

    def cells(self) -> list[tuple[str, ...]]:
        """Return a line for each column as people read it, those that say most first."""
        return [_cells(column) for column in self.ranked]

    def lines(self) -> list[str]:
        """Return what to read above the table of columns."""
        s, values = ", ".join(self.sensitive), counted(self.sensitive_values, "value")
        first = (
            f"{self.source}: {counted(self.rows, 'row')}; S is {s}: {values}, {self.entropy:.3f} "
            f"bits; the best guess of it is right in {percent(self.base_rate)} of the rows."
        )
        lines = [first]
        if self.explained is not None:
            lines.append(f"The columns with a number under 'on top' explain "
                         f"{percent(self.explained)} of S together.")  # fmt: skip
        return lines

    def notices(self) -> list[str]:
        """Return what to read below the table of columns."""
        withheld = [column.name for column in self.columns if column.is_withheld]
        lines = list(self.notes)
        if withheld:
            names = ", ".join(withheld)
            lines.append(f"Not to be published unless you name them: {names}.")
        return [*lines, _LEGEND]

    def __str__(self) -> str:
        table = text_table([_HEAD, *self.cells()], _TEXTS)
        return "\n".join((*self.lines(), "", *table, "", *self.notices()))

    def _repr_html_(self) -> str:
        return card(
            f"Columns of {self.source}",
            text=" ".join(self.lines()),
            head=_HEAD,
            rows=self.cells(),
            left_off=" ".join(self.notices()),
        )


def publishable(profile: TableProfile) -> list[str]:
    """Return the columns to publish when none is named: all but S and identifiers.

    Left out are columns with the flag "identifier" (free text too) and those that cannot be
    counted. A column that says much about S is no reason: the bound takes care of it.
    """
    return [column.name for column in profile.columns if not column.is_withheld]


def _rank(column: ColumnProfile) -> float:
    return 1.0 if column.information is None else -column.information


def _cells(column: ColumnProfile) -> tuple[str, ...]:
    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    is_measured = column.lift_low is not None
    return (
        column.name,
        column.kind,
        "" if column.different is None else f"{column.different:,}",
        share(column.missing),
        f"{column.lift_low:.2f}-{column.lift_high:.2f}" if is_measured else "",
        "" if column.information is None else f"{column.information:.3f}",
        share(column.best_guess),
        share(column.alone),
        share(column.on_top),
        column.remarks,
    )
