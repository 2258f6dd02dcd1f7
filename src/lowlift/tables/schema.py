"""Which columns of a table are sensitive, which are released, and how their values are read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

from lowlift._arguments import check_choice
from lowlift._files import refuse_unknown
from lowlift.errors import InvalidInput
from lowlift.schemas import check
from lowlift.tables.bins import Bins, as_bins_by_name, bins_from_dict
from lowlift.tables.cells import KIND as CELLS
from lowlift.tables.columns import MISSING, Column, cells_in

#: How a released value can be written.
ENCODINGS = ("codes", "groups", "values")
#: How rows drawn inside cells are written: as rows of the table, or with each column drawn alone.
ROWS, COLUMNS = "rows", "columns"
OF_CELLS = (ROWS, COLUMNS)
NO_TABLE = "this release was not designed on a table, so its columns are not known."


def column_names(given: Any, parameter: str) -> list[str]:
    """Return one name or several as a list; refuse what is neither."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(
            f"{parameter} must be the name of a column or a list of names; got "
            f"{type(given).__name__}."
        )
    return list(names)


@dataclass(frozen=True)
class Schema:
    """The columns of a table that a release is about.

    Parameters
    ----------
    sensitive, released
        Names of the columns of S and of X; at least one each, none twice. One name may be given
        as a text. With `cells`, `released` may be left out: then `sanitize` and `design` take all
        columns but S and identifiers.
    bins
        How numbers and dates become symbols, by column: a text ("width:10", "each", "quantiles:4",
        "month"), a list of edges, or bins of `lowlift.tables`. A column of numbers must have bins.
    missing
        What a missing value is: "value" (a symbol of its own), "drop" (its row leaves) or "error".
    escape_formulas
        Whether an apostrophe is written before published texts that a spreadsheet would run.
    encoding
        How released values are written: "values" (values of X), "codes" (numbers of outputs) or
        "groups" (lists of merged values). None: "values" from Python; the command line chooses.
        With `cells`: "rows" (rows of the table, the default) or "columns" (each column of a row is
        drawn by itself inside the cell: no person's combination is repeated but by chance).
    cells
        Publish rows: X is divided into so many cells (or "auto"), learnt from the released columns,
        and each row is replaced by a row of its own or a near cell. Numbers need no bins.
    min_rows
        How many rows each cell has at least.
    weights
        What a change of a column counts, 1 by default.

    Raises
    ------
    InvalidInput
        When these do not fit together.

    Examples
    --------
    >>> schema = Schema("disease", ["age", "region"], bins={"age": "width:10"})
    >>> schema.bins["age"]
    Width(width=10)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    sensitive: tuple[str, ...]
    released: tuple[str, ...] = ()
    bins: Mapping[str, Bins] = field(default_factory=dict)
    missing: str = "value"
    escape_formulas: bool = False
    encoding: str | None = None
    cells: int | str | None = None
    min_rows: int = 20
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for side in ("sensitive", "released"):
            object.__setattr__(self, side, tuple(column_names(getattr(self, side), side)))
        object.__setattr__(self, "bins", MappingProxyType(as_bins_by_name(self.bins)))
        for side, given in (("sensitive", self.sensitive), ("released", self.released)):
            if not given and (side == "sensitive" or self.cells is None):
                raise InvalidInput(f"{side} columns: name at least one.")
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InvalidInput(
                "a column must be either sensitive or released, and named once; "
                f"{twice[0]!r} is not. Name it once."
            )
        stray = sorted(set(self.bins) - set(self.names))
        if stray:
            raise InvalidInput(
                f"bins must be of columns that are sensitive or released; {stray[0]!r} is neither. "
                "Name it, or leave its bins out."
            )
        check_choice(self.missing, "missing", MISSING)
        if not isinstance(self.weights, Mapping):
            raise InvalidInput("weights must be a mapping of columns to numbers.")
        object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))
        if self.cells is not None:
            self._check_cells()
        elif self.encoding is not None:
            check_choice(self.encoding, "encoding", ENCODINGS)

    def _check_cells(self) -> None:
        is_number = type(self.cells) is int and self.cells >= 1
        if not (is_number or (isinstance(self.cells, str) and self.cells == "auto")):
            raise InvalidInput(
                f'cells must be a whole number, 1 or more, or "auto"; got {self.cells!r}.'
            )
        if type(self.min_rows) is not int or self.min_rows < 1:
            raise InvalidInput(
                f"min_rows must be a whole number, 1 or more; got {self.min_rows!r}."
            )
        if self.missing != "value" or self.encoding not in {None, *OF_CELLS}:
            raise InvalidInput(
                "cells publish rows, with missing values as values: leave missing out, and let the "
                'encoding be "rows" or "columns".'
            )
        if self.escape_formulas:
            raise InvalidInput(
                "rows are published as they are: escape_formulas must be left out with cells. "
                "Write Parquet, which no spreadsheet runs."
            )
        binned = sorted(set(self.bins) & set(self.released))
        if binned:
            raise InvalidInput(
                f"cells need no bins; {binned[0]!r} has them. Leave its bins out, or cells."
            )
        for name, weight in self.weights.items():
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            is_published = name in self.released or not (self.released or name in self.sensitive)
            if not is_published or not is_number or not 0 < weight < math.inf:
                raise InvalidInput(
                    f"weights must be positive numbers of released columns; that of {name!r} is "
                    "not. Leave out a column that does not matter."
                )
        object.__setattr__(self, "encoding", self.encoding or ROWS)

    def __hash__(self) -> int:
        bins = frozenset(self.bins.items())
        return hash((self.sensitive, self.released, bins, self.missing, self.encoding, self.cells))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = self.sensitive, self.released, dict(self.bins), self.missing
        more = self.escape_formulas, self.encoding, self.cells, self.min_rows
        return type(self), (*fields, *more, dict(self.weights))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of S, then those of X."""
        return (*self.sensitive, *self.released)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "sensitive": list(self.sensitive),
            "released": list(self.released),
            "bins": {name: bins.to_dict() for name, bins in self.bins.items()},
            "missing": self.missing,
            "escape_formulas": self.escape_formulas,
            "encoding": self.encoding,
            **self._cells_dict(),
        }

    def _cells_dict(self) -> dict[str, Any]:
        """Return what says that rows are published; nothing where they are not."""
        if self.cells is None:
            return {}
        return {"cells": self.cells, "min_rows": self.min_rows, "weights": dict(self.weights)}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the schema that `to_dict` wrote."""
        try:
            bins = {str(name): bins_from_dict(part) for name, part in saved["bins"].items()}
            found = cls(
                saved["sensitive"],
                saved["released"],
                bins,
                saved["missing"],
                saved["escape_formulas"] is True,
                saved["encoding"],
                *(saved[name] for name in ("cells", "min_rows", "weights") if "cells" in saved),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput("a schema must be what Schema.to_dict writes; it is not.") from error
        refuse_unknown(saved, found.to_dict(), "a schema")
        return found


@dataclass(frozen=True)
class Origin:
    """Where a joint was counted: the columns as they were found, and which table it was.

    A joint and its releases carry it, and so does the file of a release.
    """

    sensitive: tuple[Column, ...]
    released: tuple[Column, ...]
    missing: str
    source: str
    rows: int
    sha256: str | None
    #: How what is published is written: "codes", "groups", "values", or "rows" or "columns" drawn
    #: inside cells; empty before a design.
    encoding: str = ""
    #: Columns whose bins were taken from the data, on request.
    from_data: tuple[str, ...] = ()
    #: Whether published texts that a spreadsheet would run as formulas are escaped.
    escape_formulas: bool = False
    #: Rows by S and X that the cells of a release for the population were learnt from, which are
    #: not counted again: in the order of the joint's labels; empty where there are none.
    pilot: tuple[tuple[int, ...], ...] = ()

    @property
    def cells(self) -> Column | None:
        """The column of cells, where rows are published; else None."""
        return self.released[0] if self.released[0].kind == CELLS else None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of S, then those of X."""
        return (*self.sensitive, *self.released)

    @property
    def schema(self) -> Schema:
        """The schema by which another table is read the same way: quantiles are edges in it."""
        cells = self.cells
        if cells is not None:
            bins = {one.name: one.bins for one in self.sensitive if one.bins is not None}
            names = tuple(column.name for column in self.sensitive)
            size = cells_in(cells).tree.size
            return Schema(names, cells.names, bins, encoding=self.encoding or None, cells=size)
        return Schema(
            tuple(column.name for column in self.sensitive),
            tuple(column.name for column in self.released),
            {column.name: column.bins for column in self.columns if column.bins is not None},
            self.missing,
            self.escape_formulas,
            self.encoding or None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for a file."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        for side in ("sensitive", "released"):
            found[side] = [column.to_dict() for column in found[side]]
        found["from_data"] = list(self.from_data)
        # Written only where it says something: other files stay as earlier versions read them.
        if not self.escape_formulas:
            del found["escape_formulas"]
        if not self.pilot:
            del found["pilot"]
        return found

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any] | None) -> Self:
        """Return the columns of a release's file.

        Raises
        ------
        InvalidInput
            When the release was not designed on a table, or this is not what `to_dict` writes.
        """
        if saved is None:
            raise InvalidInput(NO_TABLE, advice="design")
        try:
            check(saved, "release", "table")
            sides = {
                side: tuple(Column.from_dict(part) for part in saved[side])
                for side in ("sensitive", "released")
            }
        except InvalidInput as error:
            fault = str(error).removeprefix("it ")
            raise InvalidInput(
                f"the table's columns in the release are damaged: {fault}"
            ) from error
        pilot = tuple(tuple(row) for row in saved.get("pilot", ()))
        return cls(**{**saved, **sides, "from_data": tuple(saved["from_data"]), "pilot": pilot})


#: The name that the record had before.
Spec = Origin
