"""Tables of numbers that a user gives: two-dimensional, and whole numbers where they must be."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools
from lowlift.errors import InvalidInput


def as_table(
    values: npt.ArrayLike, name: str, axes: str, *, exactly: bool = False
) -> npt.NDArray[Any]:
    """Return a two-dimensional array, neither side empty."""
    try:
        array = np.array(values)
    except ValueError as error:
        raise InvalidInput(f"{name} must be a table with rows of equal length.") from error
    if exactly and array.dtype.kind == "f" and isinstance(values, list | tuple):
        array = np.array(values, dtype=object)  # NumPy makes large integers floats
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInput(
            f"{name} must be a table of {axes}, neither empty; got shape {array.shape}."
        )
    return array


def refuse_bad_cell(bad: Bools, array: npt.NDArray[Any], rule: str) -> None:
    """Refuse the first cell that is bad, with its row and column."""
    if bad.any():
        s, x = np.argwhere(bad)[0]
        raise InvalidInput(f"{rule}; got {array[s, x]} at row {s}, column {x}.")


def whole_numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the entries as Python integers in an object array; refuse fractions and NaN."""
    if array.dtype.kind in "iu":
        return array.astype(object)
    out = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        value = array[place]
        try:
            exact = int(value)
        except (TypeError, ValueError, OverflowError):
            exact = None
        if exact is None or exact != value:
            raise InvalidInput(
                f"counts must be whole numbers; got {value} at row {place[0]}, column {place[1]}."
            )
        out[place] = exact
    return out
