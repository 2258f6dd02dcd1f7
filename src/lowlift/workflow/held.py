"""The audit of several publications together: on rows, across columns; and of release files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lowlift._arrays import Ints
from lowlift._channel import Channel
from lowlift._joint import Joint, Label
from lowlift._release import Release
from lowlift.composition import Together, audit_together
from lowlift.criteria import Criterion, Population, criterion_on
from lowlift.encodings import Encoded, published
from lowlift.errors import InvalidInput
from lowlift.tables import Column, Counts, Each, Table
from lowlift.tables.alias import UNIFORM_BITS
from lowlift.tables.layouts import Layout, overlaps
from lowlift.workflow.columns import quiet_joint


@dataclass(frozen=True)
class Held:
    """A publication: its release as published, and the columns that were kept beside it."""

    encoded: Encoded
    kept: tuple[str, ...] = ()
    #: Publications with the same text were drawn by the same uniform numbers; None: by others.
    draws: str | None = None

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The sensitive columns."""
        return self.encoded.origin.sensitive


@dataclass(frozen=True)
class Promise:
    """What shall hold: a criterion on these sensitive columns."""

    sensitive: tuple[Column, ...]
    criterion: Criterion


def audit_held(table: Table, held: Sequence[Held], promise: Promise) -> Together:
    """Return the verdict on publications of the rows of a table together.

    The rows are counted by S and by the symbols of all publications. The channel from those symbols
    to all that was published is audited exactly: a product, and where publications were drawn by
    the same key and ids, the outputs that the same number draws. A bound for the population is
    judged by the region of these counts: it holds for every channel from their symbols at once, so
    for this one.

    Raises
    ------
    InvalidInput
        When a column is not in the table or too fine to be counted, there are too many joint
        outputs, or a bound for the population is asked of rows from cells.
    """
    if isinstance(promise.criterion, Population) and any(
        each.encoded.origin.cells is not None for each in held
    ):
        raise InvalidInput(
            "a bound for the population of rows from cells must be judged without the rows that "
            "the cells were learnt from, which are not known here. Publish all columns at once, or "
            "declare bins instead of cells."
        )
    kept = dict.fromkeys(name for each in held for name in each.kept)
    columns = _different(
        [
            *promise.sensitive,
            *(column for each in held for column in each.encoded.origin.released),
            *(_plain(table, name) for name in kept),
        ]
    )
    n_s = len(promise.sensitive)
    counts = table.count(columns)
    joint, symbols = _joint(counts, n_s)
    places = {column: k - n_s for k, column in enumerate(columns) if k >= n_s}
    groups = dict[object, list[Encoded]]()
    for each in held:
        groups.setdefault(each.draws or object(), []).append(each.encoded)
    channels = [
        _coupled(joint, [(each, _numbers(symbols, each, places)) for each in group])
        if len(group) > 1
        else _spread(joint, group[0].channel, _numbers(symbols, group[0], places))
        for group in groups.values()
    ]
    if kept:
        channels.append(_as_it_is(joint, symbols, [places[_plain(table, name)] for name in kept]))
    return audit_together(joint, channels, criterion_on(promise.criterion, joint))


def _different(columns: Iterable[Column]) -> list[Column]:
    found = list[Column]()
    for column in columns:
        if column not in found:
            found.append(column)
    return found


def _plain(table: Table, name: str) -> Column:
    """Return a kept column, whose values are published as they are."""
    table.check_name(name)
    return Column(name, table.kinds[name], Each() if table.kinds[name] == "integer" else None)


def _joint(counts: Counts, n_s: int) -> tuple[Joint, list[tuple[Label, ...]]]:
    """Return the counts of S by the symbols of all other columns, and those symbols."""
    s_labels = list(dict.fromkeys(symbol[:n_s] for symbol in counts.symbols))
    symbols = list(dict.fromkeys(symbol[n_s:] for symbol in counts.symbols))
    rows = {label: k for k, label in enumerate(s_labels)}
    places = {label: k for k, label in enumerate(symbols)}
    table = np.zeros((len(rows), len(places)), np.int64)
    for symbol, number in zip(counts.symbols, counts.counts, strict=True):
        table[rows[symbol[:n_s]], places[symbol[n_s:]]] = number
    names = [label[0] for label in s_labels] if n_s == 1 else s_labels
    return quiet_joint(table, names, range(len(symbols))), symbols


def _numbers(symbols: list[tuple[Label, ...]], encoded: Encoded, places: dict[Column, int]) -> Ints:
    """Return the number of a release's symbol for each symbol of all columns.

    -1 for rows that the release leaves out, for a missing or an unseen value.
    """
    origin = encoded.origin
    mine = [places[column] for column in origin.released]
    number = {label: x for x, label in enumerate(encoded.release.joint.x_labels)}
    of = np.empty(len(symbols), np.int64)
    for k, symbol in enumerate(symbols):
        parts = tuple(symbol[place] for place in mine)
        is_dropped = origin.missing == "drop" and None in parts
        of[k] = -1 if is_dropped else number.get(parts[0] if len(mine) == 1 else parts, -1)
    return of


def _spread(joint: Joint, channel: Channel, of: Ints) -> Channel:
    """Return a channel on the symbols of all columns; rows left out have an output of their own."""
    order = np.argsort(channel.members, kind="stable")
    starts = np.searchsorted(channel.members[order], np.arange(channel.n_x + 1))
    known = np.flatnonzero(of >= 0)
    sizes = np.diff(starts)[of[known]]
    members = np.repeat(known, sizes)
    within = np.arange(len(members)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entries = order[np.repeat(starts[of[known]], sizes) + within]
    absent = np.flatnonzero(of < 0)
    outputs = np.r_[channel.entry_outputs[entries], np.full(len(absent), channel.n_y)]
    weights = np.r_[channel.member_weights[entries], np.full(len(absent), channel.denominator)]
    return _by_output(joint, outputs, np.r_[members, absent], weights, channel.denominator)


def _coupled(joint: Joint, group: Sequence[tuple[Encoded, Ints]]) -> Channel:
    """Return the channel to the outputs that the same uniform number draws in each release."""
    layouts = [
        each.release.draws or Layout.of_alias(each.channel, each.key_scope) for each, _ in group
    ]
    numbers = dict[tuple[int, ...], int]()
    outputs, members, weights = list[int](), list[int](), list[int]()
    for k in range(joint.n_x):
        xs = [int(of[k]) for _, of in group]
        pieces = [
            layout.pieces[x] if x >= 0 else ((0, -1),)
            for layout, x in zip(layouts, xs, strict=True)
        ]
        for drawn, size in overlaps(pieces).items():
            outputs.append(numbers.setdefault(drawn, len(numbers)))
            members.append(k)
            weights.append(size)
    found = np.array(outputs), np.array(members), np.array(weights)
    return _by_output(joint, *found, 1 << UNIFORM_BITS)


def _as_it_is(joint: Joint, symbols: list[tuple[Label, ...]], places: Sequence[int]) -> Channel:
    """Return the channel that publishes the columns at these places as they are."""
    number = dict[tuple[Label, ...], int]()
    outputs = [number.setdefault(tuple(s[k] for k in places), len(number)) for s in symbols]
    members = np.arange(len(symbols))
    return _by_output(joint, np.array(outputs), members, np.ones_like(members), 1)


def _by_output(
    joint: Joint, outputs: Ints, members: Ints, weights: Ints, denominator: int
) -> Channel:
    order = np.lexsort((members, outputs))
    found, sizes = np.unique(outputs[order], return_counts=True)
    labels = tuple(range(len(found)))
    parts = members[order], weights[order], denominator, labels
    return Channel.from_entries(joint, sizes, *parts)


def audit_releases(files: Sequence[str]) -> tuple[list[Release], Together]:
    """Return the verdict on several releases of the same table, drawn independently.

    A release that another one refines is part of what that one says, and is left out.

    Raises
    ------
    InvalidInput
        When they are not of the same table and columns, have different criteria, or are drawn by
        the same numbers, so that they are not independent.
    """
    if len(files) < 2:
        raise InvalidInput("name two or more releases to audit together.")
    found = {file: Release.from_json(file) for file in files}
    within = _refined(found.values())
    files = [file for file in files if found[file].fingerprint not in within]
    releases = [found[file] for file in files]
    scopes = [release.draws.scope for release in releases if release.draws is not None]
    if len(set(scopes)) < len(scopes):
        raise InvalidInput(
            "releases that are drawn by the same numbers are not independent; two of these are. "
            "Audit them on their table, by the ledger that knows their keys."
        )
    first = releases[0].joint
    for file, release in zip(files[1:], releases[1:], strict=True):
        if not _is_same_table(release, releases[0]):
            if release.origin is not None and release.origin.cells is not None:
                raise InvalidInput(
                    f"{Path(file).name} publishes rows from cells of its own, so that no verdict "
                    f"on it together with {Path(files[0]).name} is possible. Publish once, with "
                    "all columns."
                )
            raise InvalidInput(
                f"{Path(file).name} must be of the table and columns of {Path(files[0]).name}; "
                "it is not. Releases of other columns can be audited together only on the table: "
                "a ledger does it when they are published; or release all columns at once."
            )
        if release.criterion != releases[0].criterion:
            raise InvalidInput(
                f"{Path(file).name} has another criterion than {Path(files[0]).name}; the verdict "
                "is on one bound. Design both for the bound that shall hold together."
            )
    channels = [
        release.channel if release.origin is None else published(release).channel
        for release in releases
    ]
    return releases, audit_together(first, channels, releases[0].criterion)


def _is_same_table(one: Release, other: Release) -> bool:
    """Tell whether two releases have the same columns of the same table: not only equal counts."""
    joints = one.joint, other.joint
    if joints[0].labels != joints[1].labels or (joints[0].masses != joints[1].masses).any():
        return False
    first, second = one.origin, other.origin
    if first is None or second is None:
        return first is second
    return replace(first, encoding="", source="") == replace(second, encoding="", source="")


def _refined(releases: Iterable[Release]) -> set[str]:
    """Return the fingerprints of the releases that others refine."""
    return {release.refines.first for release in releases if release.refines is not None}
