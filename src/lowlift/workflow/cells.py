"""Design a release that publishes rows: cells, the least change, parts of cells."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lowlift._arrays import Ints
from lowlift._cells.kept import ValuesKept, values_kept
from lowlift._channel import Channel
from lowlift._deadline import Deadline, check_time_limit
from lowlift._distortion.weights import channel_of
from lowlift._joint import Joint
from lowlift._labels import number_of
from lowlift._logs import logged
from lowlift._mechanisms.least_distortion import least_distortion
from lowlift._release import Release
from lowlift._wording import counted
from lowlift.criteria import Criterion, Population, criterion_on
from lowlift.encodings import Encoded
from lowlift.tables import Column, Counts, Schema, Table
from lowlift.tables.cells import Learnt, learn
from lowlift.tables.schema import ROWS
from lowlift.workflow.choices import Chosen
from lowlift.workflow.columns import count, joint_of, per_column
from lowlift.workflow.designing import Design, designed
from lowlift.workflow.parts import broken, refine, spread

#: What designing rows consists of, in this order.
STAGES = ("reading", "learning", "counting", "solving", "refining")
#: Called with the name of each of ``STAGES`` as it begins.
Stage: TypeAlias = Callable[[str], object]

#: Exact audits of parts, each with fewer parts than the one before.
_MOST_AUDITS = 8

#: Information about the cell, relative to its entropy, below which there is none.
_NOTHING = 1e-9


def unheard(_: str) -> None:
    """Do nothing with the name of a stage."""


@logged("design", lambda found: designed(found[0]))
def design_cells(
    table: Table,
    asked: Schema,
    criterion: Criterion,
    time_limit: float = 60.0,
    *,
    why: str = "",
    stage: Stage = unheard,
    first: Callable[[Design], object] | None = None,
) -> tuple[Design, Counts]:
    """Learn cells of the released columns, and design the release that changes rows least.

    Returns the counts of S by cells too, with missing values as values. `first` is given the
    design on whole cells before they are split into parts, which changes fewer values.

    Guarantee
        As for `least_distortion`; where cells are split into parts, the audit is of the parts.
    """
    check_time_limit(time_limit)
    deadline = Deadline(time_limit)  # for the searches: what the engine takes is not counted
    is_sample = isinstance(criterion, Population)
    ground = learn_ground(table, asked, deadline, is_sample=is_sample, stage=stage)
    joint, counts, learnt = ground.joint, ground.counts, ground.learnt
    criterion = criterion_on(criterion, joint)
    stage("solving")
    release = ground.released(criterion, max(deadline.left, 0.0))
    if release.certificate is not None and release.certificate.is_stopped:
        # A part of the limit went into cells: what is said of the search is said of all of it.
        release = release.with_certificate(replace(release.certificate, stopped_after=time_limit))
    of = learnt.cells.of
    found = None  # which parts there are depends on S: for the population cells stay whole
    if not is_sample:
        if first is not None:
            first(_made(ground, release, of, asked, why))
        stage("refining")
        found = _refined(table, asked, learnt, release, deadline)
    if found is not None:
        release, counts, of = found
    return _made(ground, release, of, asked, why), counts


class Ground(NamedTuple):
    """Cells that were learnt of a table and counted with S: what every limit starts from."""

    joint: Joint
    counts: Counts
    learnt: Learnt

    def released(self, criterion: Criterion, time_limit: float) -> Release:
        """Return the release that changes rows least, cells whole."""
        here = np.array(self.joint.x_labels, np.int64)  # cells that some row is in
        distances = self.learnt.cells.distances[np.ix_(here, here)]
        return least_distortion(self.joint, criterion, distances, time_limit=time_limit)

    def kept(self, joint: Joint, channel: Channel, of: Ints) -> ValuesKept:
        """Return how many values a channel keeps.

        Parameters
        ----------
        joint, channel
            Of cells, or of their parts.
        of
            The cell, or part, of each row that cells were learnt from.
        """
        place = {number_of(label): x for x, label in enumerate(joint.x_labels)}
        target = np.array([place[number_of(label)] for label in channel.y_labels])
        masses = joint.p_x[channel.members] * (channel.member_weights / channel.denominator)
        flows = channel.members, target[channel.entry_outputs], masses
        sizes = np.asarray(joint.counts, np.int64).sum(axis=0)
        here = np.array([place[cell] for cell in of.tolist()], np.int64)
        return values_kept(self.learnt.cells.splitter.features, here, sizes, flows)

    def foreseen(self, release: Release, min_rows: int, deadline: Deadline) -> ValuesKept:
        """Return how many values a release of whole cells would keep once it is split into parts.

        Parts are judged by the rows that cells were learnt from; the table is not read.
        """
        cells = self.learnt.cells
        if isinstance(release.criterion, Population):
            return self.kept(release.joint, release.channel, cells.of)
        numbers = self.learnt.numbers_of(release.joint.s_labels)
        fine = refine(cells, numbers, release, max(1, min_rows // 2), deadline)
        rows = np.zeros((release.joint.n_s, fine.cells.tree.size), np.int64)
        np.add.at(rows, (numbers, fine.cells.of), 1)
        here = np.flatnonzero(rows.sum(axis=0))
        joint = Joint.from_counts(rows[:, here], release.joint.s_labels, here.tolist())
        channel = channel_of(joint, *spread(release, joint, fine.parent))
        return self.kept(joint, channel, fine.cells.of)


def learn_ground(
    table: Table, asked: Schema, deadline: Deadline, *, is_sample: bool, stage: Stage = unheard
) -> Ground:
    """Learn cells of the released columns and count them; for a sample, from some rows alone."""
    stage("reading")
    with deadline.paused():
        table.hold((*asked.sensitive, *asked.released))
        sensitive = [table.column(name, asked.bins.get(name)) for name in asked.sensitive]
    stage("learning")
    learnt = learn(
        table,
        asked.released,
        sensitive,
        asked.cells or "auto",
        min_rows=asked.min_rows,
        weights=asked.weights,
        deadline=deadline,
        is_pilot=is_sample,
    )
    stage("counting")
    with deadline.paused():
        joint, counts = count(table, asked, learnt.column)
    if is_sample:
        joint = joint.with_table(replace(joint.origin, pilot=_pilot_of(joint, learnt)))
    return Ground(joint, counts, learnt)


def _made(ground: Ground, release: Release, of: Ints, asked: Schema, why: str) -> Design:
    """Return the design that publishes rows by a release of its cells or their parts.

    `of` has the cell or part of each row that cells were learnt from.
    """
    joint, sensitive = ground.joint, release.joint.origin.sensitive
    reason = f"{why or 'asked for'}: rows are published, from {counted(joint.n_x, 'cell')}"
    return Design(
        release.audit,
        per_column(release.joint, release.channel, release.criterion, sensitive),
        (
            *_cautions(ground, release, asked.min_rows),
            *map(_identifies, ground.learnt.unique),
        ),
        chosen=Chosen("least-distortion", reason),
        encoded=Encoded(asked.encoding or ROWS, release),
        kept=ground.kept(release.joint, release.channel, of),
    )


def _pilot_of(joint: Joint, learnt: Learnt) -> tuple[tuple[int, ...], ...]:
    """Return the rows that cells were learnt from, by S and cell, in the order of the joint."""
    place = {label: x for x, label in enumerate(joint.x_labels)}
    out = np.zeros((joint.n_s, joint.n_x), np.int64)
    cells = np.array([place[cell] for cell in learnt.cells.of.tolist()])
    np.add.at(out, (learnt.numbers_of(joint.s_labels), cells), 1)
    return tuple(map(tuple, out.tolist()))


def _cautions(ground: Ground, release: Release, min_rows: int) -> tuple[str, ...]:
    """Say where the time was too short for all cells, and where no row decides what is published.

    Then nothing but the law of the table is.
    """
    cells, is_late = ground.joint.n_x, ground.learnt.is_late
    if cells == 1:
        why = "the time limit was over before cells were learnt"
        if not is_late:
            why = f"all rows are in one cell: they are alike, or fewer than {2 * min_rows}"
    elif release.audit.nmi < _NOTHING:
        why = "the limit allows no more"
        if release.certificate is not None and release.certificate.is_stopped:
            why = "the time limit was over before anything better was found"
    elif is_late:
        line = f"the time for learning cells was over at {cells:,}; with more, rows may change less"
        return (f"{line}.",)
    else:
        return ()
    line = (
        f"a published row tells nothing of the row that it replaces: {why}. Each is drawn from all "
        "rows of the table."
    )
    return (line,)


def _identifies(name: str) -> str:
    return (
        f"{name!r} is nearly unique, so it identifies people: its values are published as they "
        "are. Leave it out."
    )


def _refined(
    table: Table, asked: Schema, learnt: Learnt, release: Release, deadline: Deadline
) -> tuple[Release, Counts, Ints] | None:
    """Return the release on parts of cells, if there are any and the bound holds for them.

    With it come the counts of S by parts, and the part of each row that cells were learnt from.
    Parts are found in the rows that the cells were learnt from. Those that break the bound on all
    rows are joined with what they were split from, until the exact audit holds.
    """
    numbers = learnt.numbers_of(release.joint.s_labels)
    least = max(1, asked.min_rows // 2)
    fine = refine(learnt.cells, numbers, release, least, deadline)
    tree, parent = fine.cells.tree, fine.parent
    if tree.size == learnt.cells.tree.size or release.certificate is None:
        return None
    with deadline.paused():
        every, counts = count(table, asked, learnt.column_of(tree))
    rows = np.zeros((tree.size, every.n_s), np.int64)
    rows[np.array(every.x_labels)] = np.asarray(every.counts).T
    to, failed = np.arange(tree.size), broken(rows, parent, release)
    for _ in range(_MOST_AUDITS):
        while failed.size:
            tree, step = tree.joined(failed.tolist())
            before, rows = rows, np.zeros((tree.size, every.n_s), np.int64)
            np.add.at(rows, step, before)
            old, parent = parent, np.zeros(tree.size, np.int64)
            parent[step], to = old, step[to]
            failed = broken(rows, parent, release)
        column = learnt.column_of(tree)
        here = _joined(counts, column, to)
        parts = joint_of(here, len(asked.sensitive))
        parts = parts.with_table(replace(every.origin, released=(column,)))
        channel = channel_of(parts, *spread(release, parts, parent))
        made = Release.of(parts, channel, release.criterion, mechanism=release.mechanism)
        if made.audit.is_satisfied:
            bins = tuple(int(parent[number_of(label)]) for label in parts.x_labels)
            made = made.with_certificate(replace(release.certificate, bins=bins))
            return made, here, to[fine.cells.of]
        failed = np.array(made.audit.violations, np.int64)
        if (np.bincount(parent)[parent[failed]] == 1).any():  # whole cells have no siblings
            return None
    return None


def _joined(counts: Counts, column: Column, to: Ints) -> Counts:
    """Return counts of which the last label is a cell, with cells numbered anew."""
    sums: dict[Any, int] = {}
    for symbol, amount in zip(counts.symbols, counts.counts, strict=True):
        joined = (*symbol[:-1], int(to[number_of(symbol[-1])]))
        sums[joined] = sums.get(joined, 0) + amount
    columns = (*counts.columns[:-1], column)
    return replace(counts, columns=columns, symbols=list(sums), counts=list(sums.values()))
