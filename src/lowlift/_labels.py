"""Labels of symbols: plain values, all different; those of a pandas frame where there are some."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from lowlift.errors import InvalidInput

Label: TypeAlias = str | int | float | bool | tuple["Label", ...] | None

#: Labels may be tuples of tuples, up to this depth.
_DEPTH = 8


def check_labels(labels: Iterable[Any] | None, size: int, axis: str) -> tuple[Label, ...]:
    """Return the labels as a tuple of plain values; ``0..size-1`` when none are given.

    Raises
    ------
    InvalidInput
        When the number is not `size`, a label repeats, or one is not a string, number, bool, None
        or a tuple of those.
    """
    if labels is None:
        return tuple(range(size))
    if not isinstance(labels, Iterable) or getattr(labels, "ndim", 1) == 0:
        raise InvalidInput(f"{axis}_labels must be a list; got {type(labels).__name__}.")
    found = tuple(_plain(label, axis, k) for k, label in enumerate(labels))
    if len(found) != size:
        raise InvalidInput(
            f"{axis}_labels must name each of the {size} symbols once; got {len(found)} labels."
        )
    if len(set(found)) != size:
        seen: dict[Label, int] = {}
        for k, label in enumerate(found):
            if label in seen:
                raise InvalidInput(
                    f"{axis}_labels must differ; {label!r} stands at {seen[label]} and at {k}."
                )
            seen[label] = k
    return found


def _plain(label: Any, axis: str, place: int, depth: int = 0) -> Label:
    if type(label) is str:  # the most frequent by far
        return label
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, tuple | list) and depth < _DEPTH:
        return tuple(_plain(part, axis, place, depth + 1) for part in label)
    if isinstance(label, float) and not math.isfinite(label):
        raise InvalidInput(f"{axis}_labels must be finite; got {label} at {place}.")
    if label is None or isinstance(label, str | int | float):
        return label
    raise InvalidInput(
        f"{axis}_labels must be strings, numbers, bools, None or tuples of those; "
        f"got {type(label).__name__} at {place}."
    )


def block_labels(labels: tuple[Label, ...], blocks: Sequence[Sequence[int]]) -> tuple[Label, ...]:
    """Name an output by its one member or by the tuple of its members, numbered where two agree."""
    names: list[Label] = [
        labels[block[0]] if len(block) == 1 else tuple(labels[x] for x in block) for block in blocks
    ]
    if len(set(names)) < len(names):
        seen = Counter(names)
        for y, block in enumerate(blocks):
            if seen[names[y]] > 1:
                names[y] = (*(labels[x] for x in block), f"output {y}")
    # A symbol may itself be called by such a tuple: then all outputs are numbered.
    return tuple(names) if len(set(names)) == len(names) else tuple(range(len(names)))


def labels_in(table: Any, given: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the labels given; where there are none, those of a pandas frame."""
    if type(table).__module__.partition(".")[0] != "pandas" or not hasattr(table, "columns"):
        return given
    axes = (table.index, table.columns)
    s, x = (
        [_frame_label(label) for label in axis] if labels is None else labels
        for labels, axis in zip(given, axes, strict=True)
    )
    return s, x


def _frame_label(label: Any) -> Any:
    """Return a label of pandas as a plain value: NaN as None, an interval or a date as text."""
    if isinstance(label, tuple):
        return tuple(_frame_label(part) for part in label)
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, str | int) or (label == label) is True:  # noqa: PLR0124 (NaN is not)
        return label if label is None or isinstance(label, str | int | float) else str(label)
    return None


def number_of(label: Label) -> int:
    """Return a label that is a whole number, as that of a cell is."""
    if not isinstance(label, int):
        raise InvalidInput("a label of cells must be the number of one; one is not.")
    return label
