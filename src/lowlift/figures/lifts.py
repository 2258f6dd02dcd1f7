"""The lifts of an audit as a heat map: all of them, or the riskiest part."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._kernels.lift import log_or_minus_inf, most_extreme
from lowlift._wording import shown
from lowlift.figures.heatmaps import heat_map_svg
from lowlift.figures.pictures import Picture

if TYPE_CHECKING:
    from lowlift._audit import Audit

#: A heat map has at most so many rows and columns; the riskiest are kept.
_MOST_ROWS, MOST_COLUMNS = 40, 200
#: Beyond this many columns they have numbers in place of names.
_NAMED = 50


class Shown(NamedTuple):
    """The part of an audit's lifts that a heat map shows."""

    log_lift: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    refused: Bools
    #: What is shown and what is not, in words.
    note: str


def arranged(
    audit: "Audit", names: tuple[str, ...], what: str, order: Sequence[int] | None = None
) -> Shown:
    """Return what a heat map shows: everything in its order, or the riskiest part, riskiest first.

    `names` are those of the outputs; the note says `what` they are, such as "values of X". An
    `order` of outputs, of another picture, is kept where not all are drawn.
    """
    logs = log_or_minus_inf(audit.lift)
    columns, rows = np.arange(logs.shape[1]), np.arange(logs.shape[0])
    notes = []
    if (more := len(columns) - MOST_COLUMNS) > 0:
        columns = np.array(audit.most_extreme(MOST_COLUMNS) if order is None else order)
        which = f"The {MOST_COLUMNS} riskiest of {logs.shape[1]:,} {what}, riskiest first"
        if order is not None:
            which = f"{MOST_COLUMNS} of {logs.shape[1]:,} {what}, in the order of the picture above"
        notes.append(f"{which}; {more:,} {'is' if more == 1 else 'are'} not shown.")
    elif len(columns) > _NAMED:
        notes.append(f"{len(columns)} {what} in the order of the table.")
    if len(rows) > _MOST_ROWS:
        rows = np.sort(most_extreme(audit.lift.T, audit.joint.p_s, _MOST_ROWS))
        hidden = logs.shape[0] - _MOST_ROWS
        notes.append(
            f"The {_MOST_ROWS} protected values whose lifts go furthest; {hidden:,} are not shown."
        )
    s_labels = audit.joint.s_labels
    return Shown(
        logs[np.ix_(rows, columns)],
        tuple(shown(s_labels[s]) for s in rows.tolist()),
        tuple(names[y] for y in columns.tolist()),
        ~audit.allowed[columns],
        " ".join(notes),
    )


def lift_picture(
    audit: "Audit", title: str, lower: float = math.inf, upper: float = math.inf
) -> Picture:
    """Return the heat map of an audit's log-lifts, S by Y; budgets of single lifts in nats."""
    names = tuple(shown(label) for label in audit.channel.y_labels)
    part = arranged(audit, names, "published values")
    svg = heat_map_svg(
        part.log_lift,
        part.rows,
        part.columns,
        title=f"{title} {part.note}".rstrip(),
        lower=lower,
        upper=upper,
        refused=part.refused,
        x_label=part.note or "published values",
    )
    return Picture(title, svg)
