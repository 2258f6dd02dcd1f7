"""Parts of cells: finer values for rows that stay, where the bound allows it.

A row that stays in its cell d is published from its own part of d; a row that comes from another
cell takes a part by its size. So the part e has the masses ``k(d,d) n_se + come_s n_e``, where
come_s is what comes per row of d: the bound of e is checked like that of any output. Which parts
there are depends on S, so they are never published.
"""

from typing import NamedTuple

import numpy as np

from lowlift._arrays import Bools, Floats, Ints
from lowlift._cells.learning import Cells, Nodes, cells_of
from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._labels import number_of
from lowlift._release import Release
from lowlift.criteria import Criterion, leakage_of

#: Cells of which fewer rows stay are not split.
_LEAST_STAY = 0.05
#: Parts in all, about: engines find them by as many conditions in one query.
_MOST_PARTS = 2000
#: How far parts keep away from the bound, in nats: rounding to integers needs room.
_MARGIN = 1e-6


class Refined(NamedTuple):
    """Finer cells, and the cell that each is a part of."""

    cells: Cells
    parent: Ints


def refine(
    cells: Cells, sensitive: Ints, release: Release, min_rows: int, deadline: Deadline
) -> Refined:
    """Split cells further while each part keeps the bound.

    Parameters
    ----------
    cells
        As they were learnt; their numbers are the labels of the release's symbols.
    sensitive
        The number of the value of S of each row that they were learnt from.
    release
        From cells to cells.
    min_rows
        How many rows each part has at least.
    deadline
        When it is over, what there is stays as it is.
    """
    joint = release.joint
    stay, come = _flows(release)
    place = {label: x for x, label in enumerate(joint.x_labels)}
    parts, most = [], max(1, _MOST_PARTS // cells.tree.size)
    for cell in range(cells.tree.size):
        rows = np.flatnonzero(cells.of == cell)
        x = place.get(cell)
        is_split = x is not None and stay[x] > _LEAST_STAY and not deadline.is_over
        check, least = None, len(rows) + 1
        if x is not None and is_split:
            check = _Check(sensitive, joint, release.criterion, float(stay[x]), come[:, x])
            least = min_rows
        nodes = Nodes(cells.splitter, rows, least, check)
        nodes.grow(most, deadline)
        parts.append(nodes)
    found = cells_of(cells.splitter, parts, cells.tree)
    parent = np.zeros(found.tree.size, np.int64)
    parent[found.of] = cells.of
    return Refined(found, parent)


def _flows(release: Release) -> tuple[Floats, Floats]:
    """Return per cell the share that stays, and per s and row of the cell what comes to it."""
    joint, channel = release.joint, release.channel
    shares = channel.member_weights / channel.denominator
    number = {label: x for x, label in enumerate(joint.x_labels)}
    target = np.array([number[label] for label in channel.y_labels])[channel.entry_outputs]
    stays = target == channel.members
    stay = np.zeros(joint.n_x)
    stay[channel.members[stays]] = shares[stays]
    come = np.zeros((joint.n_s, joint.n_x))
    counts = np.asarray(joint.counts, np.float64)
    for s in range(joint.n_s):
        masses = counts[s, channel.members[~stays]] * shares[~stays]
        come[s] = np.bincount(target[~stays], masses, joint.n_x)
    return stay, come / counts.sum(axis=0)


class _Check:
    """Tells which splits of a cell's rows leave both parts within the bound."""

    def __init__(
        self, sensitive: Ints, joint: Joint, criterion: Criterion, stay: float, come: Floats
    ) -> None:
        self.sensitive, self.joint, self.criterion = sensitive, joint, criterion
        self.stay, self.come = stay, come

    def __call__(self, rows: Ints, low: Bools) -> Bools:
        values = np.eye(self.joint.n_s)[self.sensitive[rows]]
        left = low.astype(np.float64) @ values
        return self._holds(left) & self._holds(values.sum(axis=0) - left)

    def _holds(self, counts: Floats) -> Bools:
        return _holds(counts, self.stay, self.come, self.joint, self.criterion)


def _holds(
    counts: Floats, stay: Floats | float, come: Floats, joint: Joint, criterion: Criterion
) -> Bools:
    """Tell of parts with these rows of each s, (k, |S|), whether the bound holds."""
    masses = stay * counts + counts.sum(axis=1, keepdims=True) * come
    lifts = (masses / masses.sum(axis=1, keepdims=True) / joint.p_s).T
    lower, upper = leakage_of(criterion, lifts, joint.p_s)
    return (lower <= criterion.lower - _MARGIN) & (upper <= criterion.upper - _MARGIN)


def broken(counts: Ints, parent: Ints, release: Release) -> Ints:
    """Return the parts that break the bound and are not whole cells.

    `counts` has the rows of each s in each part, (parts, |S|); `parent` the cell of each part.
    """
    joint = release.joint
    place = {label: x for x, label in enumerate(joint.x_labels)}
    used = np.flatnonzero((np.bincount(parent)[parent] > 1) & (counts.sum(axis=1) > 0))
    if not used.size:
        return used
    stay, come = _flows(release)
    cell = np.array([place[x] for x in parent[used].tolist()])
    held = _holds(
        counts[used].astype(np.float64),
        stay[cell][:, None],
        come[:, cell].T,
        joint,
        release.criterion,
    )
    return used[~held]


def spread(release: Release, joint: Joint, parent: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the release's channel on parts: pairs of symbols of `joint`, and their masses.

    `parent` has the cell of each part by the part's number, which is its label in `joint`.
    """
    place = {label: x for x, label in enumerate(release.joint.x_labels)}
    cell = np.array([place[int(parent[number_of(label)])] for label in joint.x_labels])
    sizes = np.asarray(joint.counts, np.float64).sum(axis=0)
    whole = np.bincount(cell, sizes)
    members = [np.flatnonzero(cell == x) for x in range(release.joint.n_x)]
    channel = release.channel
    target = [place[label] for label in channel.y_labels]
    rows, columns, masses = [], [], []
    entries = zip(
        channel.members.tolist(), channel.entry_outputs.tolist(),
        (channel.member_weights / channel.denominator).tolist(), strict=True,
    )  # fmt: skip
    for c, y, share in entries:
        d = target[y]
        if c == d:
            rows.append(members[c])
            columns.append(members[c])
            masses.append(sizes[members[c]] * share)
        else:
            a, b = members[c], members[d]
            rows.append(np.repeat(a, len(b)))
            columns.append(np.tile(b, len(a)))
            masses.append(np.outer(sizes[a] * share, sizes[b] / whole[d]).ravel())
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(masses) / sizes.sum()
