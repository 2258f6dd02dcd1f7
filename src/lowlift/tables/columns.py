"""A column as symbols: its kind, its bins, and the label of each symbol text.

Inside SQL a symbol is a text, or NULL for a missing value; outside it is a label: a string, a
whole number, a bool or None.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from lowlift._files import refuse_unknown
from lowlift._joint import Label
from lowlift.errors import InvalidInput
from lowlift.tables.bins import Bins, Each, Edges, Quantiles, Width, bins_from_dict
from lowlift.tables.cells import KIND as CELLS
from lowlift.tables.cells import CellBins
from lowlift.tables.date_bins import Calendar, DateBins, DateEdges, Days

#: The kinds of column a table can have; "other" can be kept, but not counted.
KINDS = ("text", "integer", "real", "boolean", "date", "timestamp", "uuid", "other")
NUMERIC = frozenset({"integer", "real"})
_DATED = frozenset({"date", "timestamp"})
#: What may be done about a missing value.
MISSING = ("value", "drop", "error")


@dataclass(frozen=True)
class Column:
    """A column that is counted or drawn from.

    Parameters
    ----------
    name
        As the table has it.
    kind
        "text", "integer", "real", "boolean", "date", "timestamp" (without a time zone) or "uuid".
    bins
        For numbers and timestamps, which need them, and for dates; a `Width` of dates is `Days`.

    Raises
    ------
    InvalidInput
        When kind and bins do not fit.

    Examples
    --------
    >>> Column("sick", "boolean").label_of("true")
    True
    """

    name: str
    kind: str
    bins: Bins | None = None

    def __post_init__(self) -> None:
        if (self.kind == CELLS) != isinstance(self.bins, CellBins):
            raise InvalidInput("a column of cells must have cells, and no other column has them.")
        if self.kind == CELLS:
            return
        if self.kind not in KINDS or self.kind == "other":
            raise InvalidInput(
                f"column {self.name!r} must be text, integer, real, boolean, date or uuid; it is "
                f"{self.kind}. Cast it in a view (a timestamp with a time zone: to a date)."
            )
        if self.kind in _DATED:
            self._check_date_bins()
            return
        if self.kind in NUMERIC and self.bins is None:
            whole = self.kind == "integer"
            raise InvalidInput(
                f"column {self.name!r} is numeric ({self.kind}) and must have declared bins; got "
                "none.",
                advice="bins",
                column=self.name,
                example="0,18,30" if whole else "width:1",
                forms="'width:10' or 'each'" if whole else "'0,1.5'",
            )
        if self.kind not in NUMERIC and self.bins is not None:
            raise InvalidInput(
                f"only columns of numbers or dates may have bins; column {self.name!r} is "
                f"{self.kind}. Leave its bins out."
            )
        if isinstance(self.bins, DateBins):
            raise InvalidInput(
                f"column {self.name!r} holds numbers ({self.kind}), so its bins must be numbers; "
                "got days of a calendar. Use edges or a width, such as width:1."
            )
        if self.kind == "real" and isinstance(self.bins, Each):
            raise InvalidInput(
                f"column {self.name!r} holds real numbers, so each value cannot be a symbol. "
                "Use a width or edges, such as width:1."
            )

    def _check_date_bins(self) -> None:
        forms = "month, quarter, year, width:7 (days) or 2024-01-01,2024-07-01"
        if isinstance(self.bins, Width) and isinstance(self.bins.width, int):
            object.__setattr__(self, "bins", Days(self.bins.width))
        if self.bins is None and self.kind == "timestamp":
            raise InvalidInput(
                f"column {self.name!r} holds timestamps and must have declared bins; got none. "
                f"Use {forms}."
            )
        if not isinstance(self.bins, DateBins | None):
            raise InvalidInput(
                f"column {self.name!r} holds days ({self.kind}), so its bins must be days of a "
                f"calendar; got numbers. Use {forms}."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that it is made of."""
        return self.bins.tree.columns if isinstance(self.bins, CellBins) else (self.name,)

    @property
    def output_kind(self) -> str:
        """How a released original value is typed: the kind, or text for a binned column."""
        if self.bins is None or isinstance(self.bins, Each):
            return self.kind
        return "text"

    def label_of(self, text: str | None) -> Label:
        """Return the label of a symbol text."""
        if text is None:
            return None
        if self.bins is not None:
            return _resolved(self.bins).label_of(text)
        return text == "true" if self.kind == "boolean" else text

    def text_of(self, label: Label) -> str | None:
        """Return the symbol text of a label: the inverse of `label_of`.

        Raises
        ------
        InvalidInput
            When no symbol of this column has that label.
        """
        if label is None:
            return None
        if self.bins is not None:
            return _resolved(self.bins).text_of(label)
        if self.kind == "boolean" and isinstance(label, bool):
            return "true" if label else "false"
        if self.kind != "boolean" and isinstance(label, str):
            return label
        raise InvalidInput(
            f"a label of the {self.kind} column {self.name!r} must be a "
            f"{'bool' if self.kind == 'boolean' else 'string'} or None; "
            f"got {type(label).__name__}."
        )

    def order_of(self, label: Label) -> tuple[bool, Any]:
        """Return a key that sorts labels: numbers and bins by size, missing last."""
        if label is None:
            return (True, 0)
        return (False, label if self.bins is None else _resolved(self.bins).order_of(label))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        bins = None if self.bins is None else self.bins.to_dict()
        return {"name": self.name, "kind": self.kind, "bins": bins}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the column that `to_dict` wrote.

        Examples
        --------
        >>> Column.from_dict(Column("age", "integer", Each()).to_dict())
        Column(name='age', kind='integer', bins=Each())
        """
        refuse_unknown(values, dict.fromkeys(("name", "kind", "bins")), "a column")
        match values:
            case {"name": str(name), "kind": str(kind), "bins": None}:
                return cls(name, kind)
            case {"name": str(name), "kind": str(kind), "bins": dict(bins)}:
                return cls(name, kind, bins_from_dict(bins))
        raise InvalidInput("a column must have a name, a kind and bins; the file says otherwise.")


def cells_in(column: Column) -> CellBins:
    """Return the cells of a column of cells.

    Raises
    ------
    InvalidInput
        When it is another column.
    """
    if not isinstance(column.bins, CellBins):
        raise InvalidInput(f"rows are drawn inside cells; column {column.name!r} has none.")
    return column.bins


def _resolved(bins: Bins) -> Edges | Width | Each | Calendar | Days | DateEdges | CellBins:
    if isinstance(bins, Quantiles):
        raise InvalidInput("quantiles must be resolved by Table.column before they are used.")
    return bins
