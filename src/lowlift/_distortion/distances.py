"""Distances between symbols of X: given as arrays, functions or by column, or from the labels."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats
from lowlift._joint import Joint
from lowlift.errors import InvalidInput

Distance: TypeAlias = (
    npt.ArrayLike | Mapping[str, npt.ArrayLike] | Callable[[Any, Any], float] | None
)


def limited(matrix: Floats, limit: Any) -> Floats:
    """Return the distances without those above a limit; a symbol may always stay."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1e9:
        got = repr(limit) if isinstance(limit, float) else type(limit).__name__
        raise InvalidInput(f"limit must be a distance, 0 to 1e9; got {got}.")
    out = np.where(matrix <= limit, matrix, np.inf)
    np.fill_diagonal(out, matrix.diagonal())
    return out


def distances_of(joint: Joint, distance: Distance, weights: Any) -> Floats:
    """Return D(x, y) as an array (|X|, |X|)."""
    if isinstance(distance, type):
        raise InvalidInput("distance must be a table of numbers, a mapping or a function.")
    if callable(distance):
        _refuse_weights(weights)
        labels = joint.x_labels
        return _checked([[distance(x, y) for y in labels] for x in labels], joint.n_x)
    if distance is None:
        parts = _differences(joint)
    elif isinstance(distance, Mapping):
        parts = {str(name): _checked(part, joint.n_x) for name, part in distance.items()}
    else:
        _refuse_weights(weights)
        return _checked(distance, joint.n_x)
    shares = _shares(parts, weights)
    return np.asarray(sum(share * part for share, part in zip(shares, parts.values(), strict=True)))


def _refuse_weights(weights: Any) -> None:
    if weights is not None:
        raise InvalidInput(
            "weights count the distances of columns; distance is one for all. "
            "Pass a mapping of columns to distances."
        )


def _differences(joint: Joint) -> dict[str, Floats]:
    """Return per part of the labels whether two symbols differ in it, as 0 and 1.

    Of columns with an order (bins, dates): how far apart they are in it, from 0 to 1.
    """
    labels = [label if isinstance(label, tuple) else (label,) for label in joint.x_labels]
    if len({len(label) for label in labels}) > 1:
        labels = [(label,) for label in labels]
    names = [str(k) for k in range(len(labels[0]))]
    found: list[Any] = [None] * len(names)
    if joint.origin is not None and len(joint.origin.released) == len(names):
        found = list(joint.origin.released)
        names = [column.name for column in found]
    parts = {}
    for name, column, values in zip(names, found, zip(*labels, strict=True), strict=True):
        number = {value: k for k, value in enumerate(dict.fromkeys(values))}
        codes = np.array([number[value] for value in values])
        parts[name] = (codes[:, None] != codes).astype(np.float64)
        if column is not None and (column.bins is not None or column.kind == "date"):
            parts[name] = _by_rank(column, values, parts[name])
    return parts


def _by_rank(column: Any, values: tuple[Any, ...], differ: Floats) -> Floats:
    """Return the difference of ranks, scaled to 0..1; a missing value is far from all others."""
    order = sorted((v for v in set(values) if v is not None), key=column.order_of)
    place = {value: k / max(len(order) - 1, 1) for k, value in enumerate(order)}
    places = np.array([place.get(value, np.nan) for value in values])
    apart = np.abs(places[:, None] - places)
    return np.where(np.isnan(apart), differ, apart)


def _shares(parts: Mapping[str, Floats], weights: Any) -> Floats:
    """Return what each column counts: shares that sum to 1."""
    if weights is None:
        weights = [1.0] * len(parts)
    if isinstance(weights, Mapping):
        unknown = set(weights) - set(parts)
        if unknown:
            raise InvalidInput(
                f"weights must name columns of the distance ({', '.join(parts)}); "
                f"got {min(map(str, unknown))!r}."
            )
        weights = [weights.get(name, 1.0) for name in parts]
    try:
        shares = np.array(list(weights), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("weights must be numbers, one per column.") from error
    if shares.shape != (len(parts),) or not (np.isfinite(shares) & (shares >= 0)).all():
        raise InvalidInput(f"weights must be {len(parts)} numbers, 0 or more, one per column.")
    if not shares.any():
        raise InvalidInput("weights must not all be 0.")
    return np.asarray(shares / shares.sum())


def _checked(values: Any, n_x: int) -> Floats:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("distance must be a table of numbers.") from error
    if matrix.shape != (n_x, n_x):
        raise InvalidInput(f"distance must have shape ({n_x}, {n_x}); got {matrix.shape}.")
    bad = np.isnan(matrix) | (matrix < 0) | ((matrix > 1e9) & (matrix < np.inf))
    if bad.any():
        x, y = np.argwhere(bad)[0]
        raise InvalidInput(
            f"distance must be 0 to 1e9, or inf; got {matrix[x, y]} at row {x}, column {y}."
        )
    if np.isinf(matrix.diagonal()).any():
        raise InvalidInput("distance must be finite between a symbol and itself.")
    return matrix
