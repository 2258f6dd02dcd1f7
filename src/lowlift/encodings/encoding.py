"""Encode a release: the channel that is published, audited as what it is."""

import contextlib
from dataclasses import replace

import numpy as np

from lowlift._arguments import check_instance
from lowlift._certificates import Certificate
from lowlift._channel import Channel
from lowlift._release import Release
from lowlift.encodings.encoded import Encoded, text_of
from lowlift.encodings.values import MOST_ENTRIES, candidates
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables.schema import ENCODINGS, OF_CELLS

#: Groups whose texts need more bytes than this in all, and than this in a row, are not written.
_MOST_TEXT, _MOST_TEXT_PER_ROW = 1 << 28, 1000


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
    check_instance(release, Release, "release")
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
    >>> from lowlift.tables import Column, Origin
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
