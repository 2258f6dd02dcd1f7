"""Encode a release: the channel that is published, audited as what it is."""

import contextlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._joint import Label
from lowlift._release import Release
from lowlift._wording import shown
from lowlift.encodings.rows import cell_texts
from lowlift.encodings.values import MOST_ENTRIES, candidates
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables.columns import Column
from lowlift.tables.formulas import escaped
from lowlift.tables.outputs import OutputColumn
from lowlift.tables.schema import ENCODINGS, NO_TABLE, OF_CELLS, Origin

#: Groups whose texts need more bytes than this in all, and than this in a row, are not written.
_MOST_TEXT, _MOST_TEXT_PER_ROW = 1 << 28, 1000


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
            parts = [label if isinstance(label, tuple) else (label,) for label in labels]
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
    def share_changed(self) -> float:
        """The expected share of rows whose published value is not x itself.

        For `codes` and `groups` a row is unchanged when x is the only member of its output.
        """
        channel, p_x = self.channel, self.release.joint.p_x
        share = p_x[channel.members] * (channel.member_weights / channel.denominator)
        if self.name in {"values", *OF_CELLS}:
            number = {label: x for x, label in enumerate(self.release.joint.x_labels)}
            published = np.array([number[label] for label in self.labels])
            same = published[channel.entry_outputs] == channel.members
        else:
            same = (np.diff(channel.offsets) == 1)[channel.entry_outputs]
        return min(1.0, max(0.0, 1.0 - math.fsum(share[same])))

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


def is_deterministic(channel: Channel) -> bool:
    """Tell whether Y is a function of X: the channel merges values and draws nothing."""
    return bool((channel.member_weights == channel.denominator).all())


def default_encoding(release: Release) -> str:
    """Return "groups" for a release that merges values with texts not too long, else "codes".

    "values" for one whose outputs are values of X.

    Examples
    --------
    >>> from lowlift import LIP, Joint
    >>> joint = Joint.from_counts([[1, 3], [3, 1]])
    >>> default_encoding(Release.of(joint, Channel.identity(joint), LIP(1.0)))
    'groups'
    """
    if _is_of_values(release):
        return "values"
    is_short = is_deterministic(release.channel) and not _is_too_long(*_group_sizes(release))
    return "groups" if is_short else "codes"


def _is_of_values(release: Release) -> bool:
    """Tell whether a mechanism maps values of X to values of X, so that none is to be drawn."""
    is_to_x = release.mechanism == "least_distortion"
    return is_to_x and set(release.channel.y_labels) <= set(release.joint.x_labels)


def _group_sizes(release: Release) -> tuple[int, int, int]:
    """Return the bytes of the longest group's text, of all rows' texts, and the rows."""
    joint, channel = release.joint, release.channel
    if not joint.is_counted:
        return 0, 0, 0
    x_bytes = np.array([len(text_of(label).encode()) + 2 for label in joint.x_labels], np.int64)
    x_rows = np.asarray(joint.counts, np.int64).sum(axis=0)
    y_bytes, y_rows = np.zeros((2, channel.n_y), np.int64)
    np.add.at(y_bytes, channel.entry_outputs, x_bytes[channel.members])
    np.add.at(y_rows, channel.entry_outputs, x_rows[channel.members])
    return int(y_bytes.max()), int(y_bytes @ y_rows), int(x_rows.sum())


def _is_too_long(_longest: int, total: int, rows: int) -> bool:
    return total > _MOST_TEXT and total > _MOST_TEXT_PER_ROW * rows


def encode(release: Release, name: str) -> Encoded:
    """Return the release in the form in which it is published, audited in that form.

    Parameters
    ----------
    release
        What a mechanism returned.
    name
        "codes": the number of the output. "groups": the values that the output merges, for
        channels that merge and draw nothing. "values": y is drawn, then x' from P(x | y), so that
        what is published has the values of X and, in expectation, their shares. Of
        `least_distortion`, y is a value of X, and nothing else is drawn.

    Raises
    ------
    InvalidInput
        For another name, groups of a channel that draws or whose texts are too long, or values of
        a channel that links more than 2**21 pairs of symbols through its outputs.
    BoundViolated
        When what would be published does not satisfy the criterion by its own exact audit.

    Guarantee
        What is returned satisfies the criterion by the exact audit of the channel that is
        published. `values` is post-processing, and the expected share of every x is P(x) within
        2**-40. Where the weights allow it P(x | y) alone is rounded: the channel is then exactly a
        mixture of the audited outputs, and no convex criterion can fail. A channel that merges
        always allows it. Otherwise the product is rounded; where that breaks the bound, up to
        2**-12 of the rows get a fresh draw from P_X, which moves every lift toward 1; at a budget
        of 0, P(x | y) alone is rounded if the shares are then within 2**-24.

    Cost
        `values`: O(p), p the number of pairs of symbols that share an output, counted per output.

    Examples
    --------
    >>> from lowlift import Joint, MaxLift
    >>> joint = Joint.from_counts([[1, 2, 4], [2, 1, 4]], x_labels="abc")
    >>> merged = Release.of(joint, Channel.from_blocks(joint, [[0, 1], [2]]), MaxLift(0.0))
    >>> encode(merged, "groups").texts
    ('{a, b}', 'c')
    >>> encoded = encode(merged, "values")
    >>> encoded.channel.p_y_given_x
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    >>> round(encoded.share_changed, 4)  # half of the 6 rows of 14
    0.2143
    """
    if not isinstance(release, Release):
        raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
    if name in OF_CELLS:
        _refuse_broken(release)
        if release.origin is None or release.origin.cells is None:
            raise InvalidInput("rows are published only of cells; this release has none.")
        return Encoded(name, release)
    if name not in ENCODINGS:
        raise InvalidInput(f"the encoding must be codes, groups or values; got {name!r}.")
    if name == "groups" and not is_deterministic(release.channel):
        raise InvalidInput(
            "groups need a channel that merges values and draws nothing; this one draws. "
            "Use the encoding codes or values."
        )
    sizes = _group_sizes(release) if name == "groups" else (0, 0, 0)
    if _is_too_long(*sizes):
        raise InvalidInput(
            f"groups must be short enough to be written in every row; here one has up to "
            f"{_shown_bytes(sizes[0])}, and all rows together {_shown_bytes(sizes[1])}. Use the "
            "encoding codes, whose codebook lists each group once, or the encoding values."
        )
    if name == "values" and not _is_of_values(release):
        return Encoded(name, _release_values(release))
    _refuse_broken(release)
    return Encoded(name, release)


def published(release: Release) -> Encoded:
    """Return a release in the form in which its table says that it is published.

    The file of a release holds the channel that is published: nothing is encoded here. A file of
    version 1 with the encoding "values" holds the channel before that, which is encoded now, as
    every use of the file did; so is a release that a mechanism made of `read_joint`'s joint.

    Raises
    ------
    InvalidInput
        When the release says no encoding, or its channel is not one of that encoding.
    BoundViolated
        When what is published does not satisfy the criterion.

    Examples
    --------
    >>> from lowlift import Joint, MaxLift
    >>> joint = Joint.from_counts([[1, 2, 4], [2, 1, 4]], x_labels="abc")
    >>> merged = Release.of(joint, Channel.from_blocks(joint, [[0, 1], [2]]), MaxLift(0.0))
    >>> columns = [Column("ill", "boolean")], [Column("ward", "text")]
    >>> origin = Origin(*map(tuple, columns), "value", "people.csv", 14, None, "values")
    >>> values = encode(merged, "values").release.with_table(origin)
    >>> published(values).channel is values.channel
    True
    """
    if release.origin is None:
        raise InvalidInput(
            "a release must say its encoding; this one was not designed on a table. "
            "Use encode(release, name)."
        )
    name = release.origin.encoding
    if name != "values" or not release.is_encoded:
        return encode(release, name)
    if not set(release.channel.y_labels) <= set(release.joint.x_labels):
        raise InvalidInput(
            "the outputs of a release published as values must be values of X; some are not. "
            "Use encode(release, 'values')."
        )
    _refuse_broken(release)
    return Encoded(name, release)


def described(release: Release) -> Encoded:
    """Return a release as it is to be described, even one that breaks its bound; see `published`.

    A release of no table is described in its default encoding, and so is one that cannot be
    published as values.
    """
    said = "" if release.origin is None else release.origin.encoding
    if said and release.audit.is_satisfied:
        with contextlib.suppress(*(() if release.is_encoded else (InvalidInput, BoundViolated))):
            return published(release)
    is_known = said and release.is_encoded
    return Encoded(said if is_known else default_encoding(release), release)


def _refuse_broken(release: Release) -> None:
    if not release.audit.is_satisfied:
        raise BoundViolated(
            f"this release does not satisfy {release.criterion}: {len(release.audit.violations)} "
            f"of {release.channel.n_y} outputs break it. Use a mechanism that repairs it."
        )


def _shown_bytes(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size / 1000:,.1f} kB"


def _release_values(release: Release) -> Release:
    joint, channel, criterion = release.joint, release.channel, release.criterion
    sizes = np.diff(channel.offsets)
    pairs = min(int(sizes @ sizes), joint.n_x**2)
    if pairs > MOST_ENTRIES:
        raise InvalidInput(
            f"values may link at most {MOST_ENTRIES} pairs of symbols through an output; this "
            f"channel links up to {pairs}. Use the encoding codes or groups."
        )
    for candidate in candidates(joint, channel, criterion):
        verdict = Release.of(joint, candidate, criterion, mechanism=release.mechanism)
        if verdict.audit.is_satisfied:
            return replace(
                verdict,
                partition=release.partition,
                is_encoded=True,
                certificate=_certificate(release.certificate, verdict.audit.nmi),
            )
    raise BoundViolated(_refusal(release))


def _certificate(proven: Certificate | None, nmi: float) -> Certificate | None:
    """Return the same proof for a channel that keeps less: the bound stays, the gap grows."""
    if proven is None:
        return None
    gap = max(0.0, proven.upper_bound - nmi)
    return replace(proven, gap=gap, is_optimal=proven.is_optimal and gap <= max(0.0, proven.gap))


def _refusal(release: Release) -> str:
    instead = "codes or groups" if is_deterministic(release.channel) else "codes"
    if not release.audit.is_satisfied:
        return (
            f"this release does not satisfy {release.criterion}, nor do values drawn from it. "
            "Use a mechanism that repairs it."
        )
    why = (
        "whole weights up to 2**48 leave no room for so tight a bound"
        if getattr(release.criterion, "is_convex", True)
        else "mixing outputs can break a criterion that is not convex"
    )
    return (
        f"values drawn from this release would not satisfy {release.criterion}: {why}. "
        f"Use the encoding {instead}."
    )
