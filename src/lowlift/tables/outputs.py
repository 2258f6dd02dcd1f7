"""What is written: the columns of each output, what is kept, where to, and what came of it."""

import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from lowlift._one_record import published_value
from lowlift.errors import InvalidInput
from lowlift.tables.columns import Column

OUTPUT_KINDS = ("text", "integer", "boolean", "date", "uuid")
#: DuckDB's types of whole numbers.
INTEGER_TYPES = frozenset(
    f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")
) | {"INTEGER", "UINTEGER"}


@dataclass(frozen=True)
class OutputColumn:
    """A published column: its text for each output y, which is cast to `kind`.

    Parameters
    ----------
    name
        The column's name in the output.
    kind
        "text", "integer", "boolean", "date" or "uuid".
    texts
        One per output of the channel; None is NULL.
    width
        For whole numbers in files, DuckDB's name of the type; default: 64 bits.

    Examples
    --------
    >>> OutputColumn("ward", "text", ("north", "south")).kind
    'text'
    """

    name: str
    kind: str
    texts: tuple[str | None, ...]
    width: str = ""

    def __post_init__(self) -> None:
        if self.width and (self.kind != "integer" or self.width not in INTEGER_TYPES):
            raise InvalidInput(f"a width must be a type of whole numbers; got {self.width!r}.")
        if not self.name:
            raise InvalidInput("an output column must have a name; got an empty one.")
        if self.kind not in OUTPUT_KINDS:
            raise InvalidInput(
                f"output column {self.name!r} must be {', '.join(OUTPUT_KINDS)}; got {self.kind!r}."
            )
        if not all(text is None or _fits(text, self.kind) for text in self.texts):
            raise InvalidInput(
                f"the texts of output column {self.name!r} must be of kind {self.kind}; one is not."
            )

    def fits(self, width: str) -> bool:
        """Tell whether a type of whole numbers, by DuckDB's or Spark's name, holds each value."""
        match = re.fullmatch(r"(U?)(TINY|SMALL|BIG|HUGE|)INT(?:EGER)?", width.upper())
        if match is None:
            return False
        bits = {"TINY": 8, "SMALL": 16, "": 32, "BIG": 64, "HUGE": 128}[match[2]]
        low, high = (0, 1 << bits) if match[1] else (-(1 << (bits - 1)), 1 << (bits - 1))
        return all(text is None or low <= int(text) < high for text in self.texts)

    @property
    def written(self) -> tuple[str | None, ...]:
        """The texts as engines show the values that are made of them."""
        return tuple(None if text is None else _shown(text, self.kind) for text in self.texts)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of each output in Python's types: str, int, bool, date, UUID; None is NULL.

        Raises
        ------
        InvalidInput
            For a day outside the years 1 to 9999, which Python has no type for.
        """
        try:
            return tuple(published_value(text, self.kind) for text in self.texts)
        except ValueError:
            pass
        raise InvalidInput(
            f"the days of output column {self.name!r} must lie in the years 1 to 9999; one does "
            "not. Use the encoding codes."
        )


def _shown(text: str, kind: str) -> str:
    if kind == "integer":
        return str(int(text))
    return str(uuid.UUID(text)) if kind == "uuid" else text


def _fits(text: str, kind: str) -> bool:
    try:
        if kind == "integer":
            return -(1 << 63) <= int(text) < 1 << 63
        if kind == "uuid":
            return bool(uuid.UUID(text))
    except ValueError:
        return False
    return kind != "boolean" or text in {"true", "false"}


@dataclass(frozen=True)
class Output:
    """Where rows are written, and what.

    Parameters
    ----------
    target
        ``safe.parquet``, ``safe.csv``, ``x.duckdb?table=NAME``,
        ``postgresql://user@host/db?table=NAME``; from Spark a folder ``safe.parquet`` or
        ``safe.csv``, or ``table:NAME``. None: a frame of the library of the source, which
        `Staged.frame` is; for files and database tables one of pandas, else of pyarrow.
    columns
        What is published for each output y.
    keep
        Input columns published as they are.
    keep_order
        Write the rows in the input's order (files and frames read by DuckDB, to a file or a frame).
        A pandas frame keeps its index. Order and index are outside the guarantee.
    force
        Replace an existing target.
    cells
        Instead of `columns`: the cells of X. Rows of the table are published, drawn inside cells.
    by_column
        Draw each column of such a row by itself: from a row of the same cell, each from another.

    Raises
    ------
    InvalidInput
        For no columns, or two of one name.
    """

    target: str | None
    columns: tuple[OutputColumn, ...]
    keep: tuple[str, ...] = ()
    keep_order: bool = False
    force: bool = False
    cells: Column | None = None
    by_column: bool = False

    def __post_init__(self) -> None:
        if self.cells is not None:
            return
        if not self.columns:
            raise InvalidInput("an output must have at least one column; got none.")
        seen: set[str] = set()
        for name in self.names:
            # DuckDB and Spark do not tell upper from lower case in names.
            if name.casefold() in seen:
                raise InvalidInput(
                    f"the columns of an output must have different names; {name!r} comes twice. "
                    "Rename the released column or keep another."
                )
            seen.add(name.casefold())

    @property
    def description(self) -> str:
        """What errors call it."""
        return "the frame" if self.target is None else self.target

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the written columns: the released ones, then the kept ones."""
        if self.cells is not None:
            return self.cells.names
        return (*(column.name for column in self.columns), *self.keep)


@dataclass(frozen=True)
class Applied:
    """What came of an application.

    Parameters
    ----------
    rows_in, rows_out
        Rows read and written: ``rows_out == rows_in - dropped - unseen``.
    dropped
        Rows that left because a value was missing.
    unseen
        Rows that left because the channel does not know their symbol.
    sha256
        The digest of the written file (of a folder: its data files, one after the other in sorted
        order); None for a database table.
    counts
        The rows of each output y.
    frame
        What `Table.apply` made for an output without a target.
    """

    rows_in: int
    rows_out: int
    dropped: int
    unseen: int
    sha256: str | None
    counts: tuple[int, ...]
    frame: Any = field(default=None, repr=False, compare=False)
