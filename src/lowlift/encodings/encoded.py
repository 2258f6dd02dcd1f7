"""A release as it is published: its columns, the label and the text of each output."""

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowlift._arrays import Floats
from lowlift._channel import Channel
from lowlift._joint import Label
from lowlift._release import Release
from lowlift._wording import shown
from lowlift.encodings.rows import cell_texts
from lowlift.errors import InvalidInput
from lowlift.tables.columns import Column, cells_in
from lowlift.tables.formulas import escaped
from lowlift.tables.outputs import OutputColumn
from lowlift.tables.schema import NO_TABLE, OF_CELLS, Origin


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A release in the form in which it is published; `encode` makes one."""

    name: str
    #: The channel that is published, with the same joint and criterion, audited.
    release: Release

    def __repr__(self) -> str:
        return f"<Encoded {self.name} of {self.release!r}>"

    @property
    def channel(self) -> Channel:
        """From X to what is published."""
        return self.release.channel

    @property
    def origin(self) -> Origin:
        """The columns of S and X.

        Raises
        ------
        InvalidInput
            When the release was not designed on a table.
        """
        if self.release.origin is None:
            raise InvalidInput(NO_TABLE, advice="design")
        return self.release.origin

    @property
    def key_scope(self) -> str:
        """What a key is for: the same channel on other columns or cells has another subkey."""
        if self.release.draws is not None:
            return self.release.draws.scope
        parts: list[Any] = [self.release.fingerprint, *self.origin.schema.released]
        if self.origin.cells is not None:  # whose labels are numbers, in any tree
            parts.append(cells_in(self.origin.cells).to_dict())
        return json.dumps(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are published."""
        if self.origin.cells is not None:
            return self.origin.cells.names
        return tuple(column.name for column in self.columns)

    @cached_property
    def columns(self) -> tuple[OutputColumn, ...]:
        """The columns that are published, with the text of each output; see `origin`.

        None where rows are published: an output is then a cell, and has many texts.
        """
        if self.name in OF_CELLS:
            return ()
        released, labels = self.origin.released, self.channel.y_labels
        if self.name == "codes":
            return (OutputColumn("code", "integer", tuple(str(y) for y in range(len(labels)))),)
        found: tuple[OutputColumn, ...]
        if self.name == "groups":
            name = "+".join(column.name for column in released)
            found = (OutputColumn(name, "text", self.texts),)
        else:
            parts = list(map(parts_of, labels))
            found = tuple(
                OutputColumn(
                    column.name,
                    column.output_kind,
                    tuple(_published_text(column, part[k]) for part in parts),
                )
                for k, column in enumerate(released)
            )
        return tuple(map(escaped, found)) if self.origin.escape_formulas else found

    @property
    def nmi(self) -> float:
        """I(X;Y) / H(X) of what is published."""
        return self.release.audit.nmi

    @cached_property
    def unchanged(self) -> Floats:
        """P(x, y) of each entry of the channel that publishes x as itself; 0 of the others.

        For `codes` and `groups` a row is unchanged when x is the only member of its output.
        """
        channel, joint = self.channel, self.release.joint
        if self.name in {"values", *OF_CELLS}:
            number = {label: x for x, label in enumerate(joint.x_labels)}
            published = np.array([number[label] for label in self.labels])
            same = published[channel.entry_outputs] == channel.members
        else:
            same = (np.diff(channel.offsets) == 1)[channel.entry_outputs]
        p_y_given_x = channel.member_weights / channel.denominator
        return np.asarray(same * joint.p_x[channel.members] * p_y_given_x)

    @property
    def share_changed(self) -> float:
        """The expected share of rows whose published value is not x itself; see `unchanged`."""
        return min(1.0, max(0.0, 1.0 - math.fsum(self.unchanged)))

    @cached_property
    def unchanged_by_column(self) -> tuple[float, ...]:
        """The expected share of rows whose value stays, by column of X; of `values` alone."""
        if self.name != "values":
            return ()
        channel, joint = self.channel, self.release.joint
        masses = joint.p_x[channel.members] * (channel.member_weights / channel.denominator)
        before, after = (tuple(map(parts_of, each)) for each in (joint.x_labels, self.labels))
        found = []
        for k in range(len(before[0])):
            number: dict[Any, int] = {}
            ours, theirs = (
                np.array([number.setdefault(parts[k], len(number)) for parts in side])
                for side in (before, after)
            )
            same = ours[channel.members] == theirs[channel.entry_outputs]
            found.append(min(1.0, float(masses[same].sum())))
        return tuple(found)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """What is published per output: a number, the tuple of merged values, or a value of X."""
        if self.name == "codes":
            return tuple(range(self.channel.n_y))
        if self.name in {"values", *OF_CELLS}:
            return self.channel.y_labels
        names = self.release.joint.x_labels
        blocks = [sorted(self.channel.atom(y)[0]) for y in range(self.channel.n_y)]
        return tuple(tuple(names[x] for x in block) for block in blocks)

    @cached_property
    def x_texts(self) -> tuple[str, ...]:
        """The symbols of X as people read them; a cell by its conditions."""
        labels = self.release.joint.x_labels
        if self.name in OF_CELLS:
            return cell_texts(self.origin, labels)
        return tuple(map(shown, labels))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """`labels` as text, no two alike: ``3``, ``{a, b}`` or ``a`` for one value.

        A cell of rows is told by its conditions.
        """
        if self.name == "groups":
            found = tuple(_group_text(label) for label in self.labels)
        elif self.name in OF_CELLS:
            return cell_texts(self.origin, self.labels)
        else:
            found = tuple(text_of(label) for label in self.labels)
        if len(set(found)) == len(found):
            return found
        return tuple(json.dumps(label, ensure_ascii=False) for label in self.labels)


def parts_of(label: Label) -> tuple[Any, ...]:
    """Return the values of a label, one per column."""
    return label if isinstance(label, tuple) else (label,)


def text_of(label: Label) -> str:
    """Return a label as a person would write it.

    Examples
    --------
    >>> [text_of(label) for label in ("a", 3, None, True, ("a", 3))]
    ['a', '3', 'null', 'true', '(a, 3)']
    """
    if isinstance(label, str):
        return label
    if isinstance(label, tuple):
        return f"({', '.join(map(text_of, label))})"
    return json.dumps(label)


def _published_text(column: Column, label: Label) -> str | None:
    if label is None or column.output_kind == "text":
        return None if label is None else str(label)
    return column.text_of(label)


def _group_text(label: Label) -> str:
    if not isinstance(label, tuple):
        return text_of(label)
    return text_of(label[0]) if len(label) == 1 else f"{{{', '.join(map(text_of, label))}}}"
