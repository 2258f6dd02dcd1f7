"""Arrays, pandas and polars frames: to tables that an engine reads, and back to what came in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from lowlift.errors import InvalidInput
from lowlift.tables import Column, OutputColumn, Table
from lowlift.tables.frames import framed

__all__ = ["Frame", "array_of", "built", "library_of", "target_of"]

Ints: TypeAlias = npt.NDArray[np.int64]

#: Whole numbers that a float holds exactly.
_EXACT = 1 << 53
#: pandas types for a column of objects that are all missing, which says nothing of its kind.
_EMPTY = {"text": "string", "integer": "Int64", "real": "float64", "boolean": "boolean"}


@dataclass(frozen=True, eq=False)
class Frame:
    """The rows of X: a pandas or polars frame, whose columns have these names.

    Parameters
    ----------
    value
        The frame.
    names
        Its columns, in order.
    library
        What X was: "pandas", "polars" or "array".
    """

    value: Any
    names: tuple[str, ...]
    library: str

    @property
    def is_polars(self) -> bool:
        """Whether the frame is one of polars."""
        return self.library == "polars"

    def __len__(self) -> int:
        return len(self.value)

    @property
    def dtypes(self) -> dict[str, Any]:
        """The type of each column."""
        return dict(zip(self.names, self.value.dtypes, strict=True))

    def select(self, names: Iterable[str]) -> "Frame":
        """Return these columns."""
        chosen = tuple(names)
        return Frame(self.value[list(chosen)], chosen, self.library)

    def join(self, name: str, values: npt.NDArray[Any]) -> "Frame":
        """Return the frame with one more column, row by row."""
        if self.is_polars:
            import polars as pl

            value = self.value.with_columns(pl.Series(name, values.tolist()))
        else:
            value = self.value.assign(**{name: pd.Series(values, self.value.index).infer_objects()})
        return Frame(value, (*self.names, name), self.library)

    def of_kinds(self, columns: Sequence[Column]) -> "Frame":
        """Give columns of objects that are all missing the kind that they had at fit."""
        if self.is_polars:
            return self
        kinds = {column.name: _EMPTY.get(column.kind) for column in columns}
        empty = {
            name: kind
            for name, kind in kinds.items()
            if kind and self.value[name].dtype == object and self.value[name].isna().all()
        }
        return Frame(self.value.astype(empty), self.names, self.library) if empty else self

    def check_names(self, table: Table) -> None:
        """Refuse names that the table's engine cannot tell apart."""
        if tuple(table.kinds) != self.names:
            raise InvalidInput(
                "columns of X must have different names, upper and lower case being the same; "
                "some have not. Rename them."
            )


def library_of(x: Any) -> str:
    """Return "pandas" or "polars" for a frame with named columns, else "array".

    Raises
    ------
    InvalidInput
        For a polars LazyFrame or an Arrow table.
    """
    kind = type(x)
    library = kind.__module__.partition(".")[0]
    if library == "pyarrow":
        raise InvalidInput(
            "X must be a pandas or polars DataFrame, or an array; got an Arrow table. "
            "Pass X.to_pandas()."
        )
    if library == "polars" and kind.__name__ == "LazyFrame":
        raise InvalidInput("X must be readable more than once; got a LazyFrame. Collect it first.")
    if isinstance(x, pd.DataFrame):
        return "pandas" if all(isinstance(name, str) for name in x.columns) else "array"
    return "polars" if library == "polars" and kind.__name__ == "DataFrame" else "array"


def array_of(x: Any, checked: Any, names: Sequence[str]) -> Frame:
    """Return the rows of an array that was checked; columns get these names and their own types."""
    values = checked
    if isinstance(x, list | tuple) and values.dtype.kind == "U":
        values = np.array(x, dtype=object)  # NumPy makes texts of the numbers in a list
    if not isinstance(values, pd.DataFrame):
        values = pd.DataFrame(values)
    return Frame(values.set_axis(list(names), axis=1).infer_objects(), tuple(names), "array")


def target_of(x: Any, values: Any, name: str) -> npt.NDArray[Any]:
    """Return the sensitive value of each row, given beside X.

    Classes written as whole floats become whole numbers, as everywhere in scikit-learn.

    Raises
    ------
    ValueError
        For another length than X, more than one column, or a NaN.
    """
    check_consistent_length(x, values)
    found: npt.NDArray[Any] = column_or_1d(values, warn=True)
    assert_all_finite(found, input_name=name)
    if found.dtype.kind not in "biufOU":
        raise InvalidInput(f"{name} must be texts, whole numbers or bools; got {found.dtype}.")
    if found.dtype.kind == "f" and (np.abs(found) < _EXACT).all() and (found % 1 == 0).all():
        return found.astype(np.int64)
    return found


def built(
    columns: Sequence[OutputColumn],
    drawn: Ints,
    library: str,
    *,
    index: Any = None,
    dtypes: Mapping[str, Any] | None = None,
) -> Any:
    """Return what is published for the outputs drawn: an array, or a frame with these types."""
    if library in {"pandas", "polars"}:
        return framed(columns, drawn, library, dtypes=dtypes, index=index)
    values = [list(column.values) for column in columns]
    kinds = {column.kind for column in columns}
    is_whole = len(kinds) == 1 and not any(None in some for some in values)
    dtype = {"integer": np.int64, "boolean": np.bool_}.get(kinds.pop()) if is_whole else None
    out: npt.NDArray[Any] = np.empty((len(drawn), len(columns)), dtype or object)
    for k, some in enumerate(values):
        published: npt.NDArray[Any] = np.empty(len(some), dtype or object)
        published[:] = some
        out[:, k] = published[drawn]
    return out
