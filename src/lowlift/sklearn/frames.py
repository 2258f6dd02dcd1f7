"""X as a frame that an engine reads: the symbols of its rows, and outputs as an array."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from lowlift._arrays import Ints
from lowlift._joint import Label
from lowlift.encodings import Encoded
from lowlift.errors import InvalidInput
from lowlift.tables import Column, Counts, Each, Origin, OutputColumn, open_table

#: Whole numbers that a float holds exactly.
_EXACT = 1 << 53
#: pandas types for a column of objects that are all missing, which says nothing of its kind.
_EMPTY = {"text": "string", "integer": "Int64", "real": "float64", "boolean": "boolean"}


def library_of(x: Any) -> str:
    """Return "pandas" or "polars" for a frame with named columns, else "array"."""
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


def frame_of(x: Any, checked: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of an array that was checked; columns get these names and their own types."""
    if isinstance(x, list | tuple) and checked.dtype.kind == "U":
        checked = np.array(x, dtype=object)  # NumPy makes texts of the numbers in a list
    return pd.DataFrame(checked).set_axis(list(names), axis=1).infer_objects()


def with_column(frame: Any, name: str, values: npt.NDArray[Any]) -> Any:
    """Return a pandas or polars frame with one more column, row by row."""
    if isinstance(frame, pd.DataFrame):
        return frame.assign(**{name: pd.Series(values, frame.index).infer_objects()})
    import polars as pl

    return frame.with_columns(pl.Series(name, values.tolist()))


def target_of(x: Any, values: Any, name: str) -> npt.NDArray[Any]:
    """Return the sensitive value of each row, given beside X.

    Classes written as whole floats become whole numbers, as everywhere in scikit-learn.
    """
    check_consistent_length(x, values)
    found: npt.NDArray[Any] = column_or_1d(values, warn=True)
    assert_all_finite(found, input_name=name)
    if found.dtype.kind not in "biufOU":
        raise InvalidInput(f"{name} must be texts, whole numbers or bools; got {found.dtype}.")
    if found.dtype.kind == "f" and (np.abs(found) < _EXACT).all() and (found % 1 == 0).all():
        return found.astype(np.int64)
    return found


def _symbols(frame: Any, origin: Origin, sensitive: Sequence[Column]) -> list[tuple[Label, ...]]:
    """Return the labels of each row in some columns of S and in X: counted row by row."""
    columns = (*sensitive, *origin.released)
    rows = frame[[column.name for column in columns]]
    if isinstance(rows, pd.DataFrame):
        empty = [c for c in columns if rows[c.name].dtype == object and rows[c.name].isna().all()]
        rows = rows.astype({c.name: _EMPTY[c.kind] for c in empty if c.kind in _EMPTY})
    number = "row"
    while number in {column.name.casefold() for column in columns}:
        number += "_"
    with open_table(with_column(rows, number, np.arange(len(rows)))) as table:
        table.check_columns(columns)
        if origin.missing == "error":
            table.count(columns, missing="error")
        counts = table.count([Column(number, "integer", Each()), *columns], most=len(rows))
    if len(counts.symbols) != len(rows):
        raise InvalidInput("a table must not change while it is read; X did.")
    return [symbol[1:] for symbol in counts.symbols]


def numbers_of(
    frame: Any, encoded: Encoded, sensitive: Sequence[Column], unseen: str
) -> tuple[Ints, Counts]:
    """Return the number of each row's symbol of X, and the counts of some columns of S by X.

    An unseen symbol stands for the most common one, unless `unseen` is "error".
    """
    joint, start = encoded.release.joint, len(sensitive)
    rows = _symbols(frame, encoded.origin, sensitive)
    labels = [x if isinstance(x, tuple) else (x,) for x in joint.x_labels]
    places = {label: x for x, label in enumerate(labels)}
    numbers = np.array([places.get(row[start:], -1) for row in rows], np.int64)
    missing = int((numbers < 0).sum())
    if missing and unseen == "error":
        raise InvalidInput(
            f"every combination of values must have been seen at fit; {missing} of {len(rows)} "
            "rows have an unseen one. Fit on a table that has them, use wider bins, or set "
            "unseen='most_common'."
        )
    numbers[numbers < 0] = int(np.argmax(np.array(joint.counts, dtype=object).sum(axis=0)))
    pairs = zip(rows, numbers.tolist(), strict=True)
    counted = Counter((*row[:start], *labels[x]) for row, x in pairs)
    columns = (*sensitive, *encoded.origin.released)
    return numbers, Counts(columns, list(counted), list(counted.values()), len(rows), 0)


def array_of(columns: Sequence[OutputColumn], drawn: Ints) -> npt.NDArray[Any]:
    """Return what is published for the outputs drawn; numbers or bools if there is nothing else."""
    kinds = {column.kind for column in columns}
    is_plain = len(kinds) == 1 and not any(None in column.texts for column in columns)
    dtype = {"integer": np.int64, "boolean": np.bool_}.get(kinds.pop()) if is_plain else None
    values: npt.NDArray[Any] = np.empty((len(columns[0].texts), len(columns)), dtype or object)
    for k, column in enumerate(columns):
        values[:, k] = column.values  # noqa: PD011 (no pandas)
    return values[drawn]
