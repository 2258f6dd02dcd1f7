"""The symbols of each row, read by the engine that counted them at fit, and the check on them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lowlift.audit import Audit
from lowlift.encodings import Encoded
from lowlift.errors import InvalidInput
from lowlift.joint import Joint, Label
from lowlift.sklearn.frames import Frame
from lowlift.tables import Column, Counts, Each, open_table
from lowlift.workflow import Spec
from lowlift.workflow.bounds import first_broken

__all__ = ["Read", "broken_here", "read_rows", "replace_unseen"]


@dataclass(frozen=True, eq=False)
class Read:
    """The labels of each row: of the sensitive columns that are there, then of the released."""

    sensitive: tuple[Column, ...]
    released: tuple[Column, ...]
    labels: list[tuple[Label, ...]]

    def x_labels(self) -> list[Label]:
        """Return the symbol of X of each row."""
        start = len(self.sensitive)
        if len(self.released) == 1:
            return [row[start] for row in self.labels]
        return [row[start:] for row in self.labels]

    def numbers(self, joint: Joint) -> npt.NDArray[np.int64]:
        """Return the number of each row's symbol in the joint.

        Raises
        ------
        InvalidInput
            When a row has a symbol that the joint has not; the message has their number.
        """
        found = _numbers(self, joint)
        unseen = int((found < 0).sum())
        if unseen:
            raise InvalidInput(
                f"every combination of values must have been seen at fit; {unseen} of "
                f"{len(found)} rows have an unseen one. Fit on a table that has them, use wider "
                "bins, or set unseen='most_common'."
            )
        return found


def read_rows(rows: Frame, spec: Spec, sensitive: Sequence[Column]) -> Read:
    """Return the symbols of each row, in order: the engine counts row by row.

    Raises
    ------
    InvalidInput
        For a column of another kind than at fit, or missing values that are an error.
    """
    columns = (*sensitive, *spec.released)
    frame = rows.select(column.name for column in columns).of_kinds(columns)
    row = "row"
    while row in {name.casefold() for name in frame.names}:
        row += "_"
    with open_table(frame.join(row, np.arange(len(rows))).value) as table:
        table.check_columns(columns)
        if spec.missing == "error":
            table.count(columns, missing="error")
        counts = table.count([Column(row, "integer", Each()), *columns], most=len(rows))
    if len(counts.symbols) != len(rows):
        raise InvalidInput("a table must not change while it is read; X did.")
    return Read(tuple(sensitive), spec.released, [symbol[1:] for symbol in counts.symbols])


def replace_unseen(read: Read, joint: Joint) -> Read:
    """Return the rows with the most common symbol of X in place of those that fit did not see."""
    common = joint.x_labels[int(np.argmax(np.array(joint.counts, dtype=object).sum(axis=0)))]
    stand_in = common if len(read.released) > 1 and isinstance(common, tuple) else (common,)
    start = len(read.sensitive)
    labels = [
        (*row[:start], *stand_in) if number < 0 else row
        for row, number in zip(read.labels, _numbers(read, joint).tolist(), strict=True)
    ]
    return replace(read, labels=labels)


def broken_here(read: Read, encoded: Encoded) -> Audit | None:
    """Return the audit of the channel under the counts of these rows when it is false."""
    counted = Counter(read.labels)
    counts = Counts(
        (*read.sensitive, *read.released),
        list(counted),
        list(counted.values()),
        len(read.labels),
        0,
    )
    return first_broken(counts, encoded)


def _numbers(read: Read, joint: Joint) -> npt.NDArray[np.int64]:
    places = {label: x for x, label in enumerate(joint.x_labels)}
    return np.array([places.get(label, -1) for label in read.x_labels()], np.int64)
