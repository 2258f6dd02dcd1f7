"""Frames of pandas, polars and Arrow made of outputs, in the types in which the columns came."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift.tables.outputs import OutputColumn


def dtypes_of(frame: Any, library: str) -> dict[str, Any]:
    """Return the type of each column of a pandas, polars or Arrow frame, by name."""
    if library == "pandas":
        names = map(str, frame.columns)
        return dict(zip(names, frame.dtypes, strict=True))
    if library == "polars":
        return dict(frame.schema)
    return {field.name: field.type for field in frame.schema}


def published_type(dtype: Any, column: OutputColumn) -> Any:
    """Return the type of a column with the categories that its outputs have, and no others.

    Others may be those of rows that are not published.
    """
    if type(dtype).__name__ == "CategoricalDtype":  # of pandas
        known = dtype.categories
        return type(dtype)(known[known.isin(list(column.values))], dtype.ordered)
    if type(dtype).__name__ == "Enum":  # of polars
        return type(dtype)([name for name in dtype.categories if name in column.texts])
    return dtype


def framed(
    columns: Sequence[OutputColumn],
    codes: npt.NDArray[Any],
    library: str,
    *,
    dtypes: Mapping[str, Any] | None = None,
    kept: Mapping[str, Any] | None = None,
    index: Any = None,
) -> Any:
    """Return a frame of the outputs drawn, `codes`, then the columns that were `taken`.

    The types in which columns came, by name, give way to others where they cannot hold each output:
    a whole number that may be missing is nullable, a text that is no category is a plain text. The
    index is for pandas; by default it is a range.
    """
    types = dtypes or {}
    made = {one.name: _column(one, library, types.get(one.name), codes) for one in columns}
    made |= kept or {}
    if library == "polars":
        import polars as pl

        return pl.DataFrame([series.alias(name) for name, series in made.items()])
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(made)
    import pandas as pd

    frame = pd.DataFrame(made)
    if index is not None:
        frame.index = index
    return frame


def taken(frame: Any, library: str, names: Sequence[str], rows: Ints) -> dict[str, Any]:
    """Return columns of a frame at these rows, in their types."""
    if library == "pandas":
        places = {str(name): k for k, name in enumerate(frame.columns)}
        return {
            name: frame.iloc[:, places[name]].take(rows).reset_index(drop=True) for name in names
        }
    if library == "polars":
        return {name: frame.get_column(name).gather(rows) for name in names}
    return {name: _arrow_taken(frame.column(name), rows) for name in names}


def _arrow_taken(column: Any, rows: npt.NDArray[Any]) -> Any:
    import pyarrow as pa

    # Arrow cannot take rows of views.
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    plain = column.cast(views.get(column.type, column.type))
    found = plain.take(pa.array(rows)).cast(column.type)
    if pa.types.is_dictionary(found.type) and not found.type.ordered:
        # The dictionary has the values of all rows, published or not.
        return found.cast(found.type.value_type).cast(found.type)
    return found


def index_of(frame: Any, rows: Ints) -> Any:
    """Return the index of a pandas frame at these rows; of all rows in its type, as of a range."""
    if len(rows) == len(frame):
        return frame.index.copy()
    found = frame.index.take(rows)
    return found.remove_unused_levels() if found.nlevels > 1 else found


def _column(column: OutputColumn, library: str, dtype: Any, codes: npt.NDArray[Any]) -> Any:
    values = list(column.values)
    if library == "polars":
        return _polars_series(values, column.kind, dtype).gather(codes)
    if library == "pyarrow":
        return _arrow_taken(_arrow_array(values, column.kind, dtype), codes)
    return _pandas_series(values, column.kind, dtype).take(codes).reset_index(drop=True)


def _pandas_series(values: list[Any], kind: str, dtype: Any) -> Any:
    import pandas as pd

    is_missing = [value is None for value in values]
    for one in _pandas_types(values, kind, dtype):
        with contextlib.suppress(TypeError, ValueError, OverflowError, NotImplementedError):
            series = pd.Series(values, dtype=one)
            # pandas makes False of a missing bool.
            if series.isna().tolist() == is_missing and series.dropna().tolist() == [
                value for value in values if value is not None
            ]:
                return series
    return pd.Series(values, dtype=object)


def _pandas_types(values: list[Any], kind: str, dtype: Any) -> Iterator[Any]:
    """Yield the types to try, the best one first."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        known = dtype.categories
        if set(known).issuperset(value for value in values if value is not None):
            yield dtype
        dtype = known.dtype
    if dtype is not None:
        yield dtype
    is_missing = None in values
    if kind == "integer":
        if isinstance(dtype, np.dtype) and dtype.kind in "iu":
            yield str(dtype).replace("int", "Int").replace("u", "U")
        yield "Int64" if is_missing else "int64"
    elif kind == "boolean":
        yield "boolean" if is_missing else "bool"
    elif kind == "text":
        yield None


def _polars_series(values: list[Any], kind: str, dtype: Any) -> Any:
    import polars as pl

    if dtype is not None:
        with contextlib.suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            series = pl.Series(values, dtype=dtype, strict=True)
            if series.to_list() == values:
                return series
    plain = {"text": pl.String, "integer": pl.Int64, "boolean": pl.Boolean, "date": pl.Date}
    return pl.Series(values, dtype=plain.get(kind))


def _arrow_array(values: list[Any], kind: str, dtype: Any) -> Any:
    import pyarrow as pa

    if dtype is not None:
        with contextlib.suppress(TypeError, ValueError, OverflowError, pa.ArrowException):
            array = pa.array(values, dtype)
            if array.to_pylist() == values:
                return array
    if kind == "uuid":
        return pa.array(values, pa.uuid())
    plain = {"text": pa.string, "integer": pa.int64, "boolean": pa.bool_, "date": pa.date32}
    return pa.array(values, plain[kind]())
