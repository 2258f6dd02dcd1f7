"""The lifts before and after: what the heat maps show, and what became of the riskiest values."""

import math
from typing import TYPE_CHECKING

import numpy as np

from lowlift._audit import Audit
from lowlift._guarantees import Ends, ends_of
from lowlift._wording import cell, counted, percent, shown, times
from lowlift.figures import colour_limit, heat_map_svg
from lowlift.figures.lifts import Shown
from lowlift.figures.page import Table

if TYPE_CHECKING:
    from lowlift.report.report import Report

_RISKIEST, _OUTPUTS = 12, 3
#: Values up to which all are shown.
_ALL = 20
#: Cells, whose names are long.
_CELLS = 6


def output_names(audit: Audit, texts: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return what the outputs are called: as published, or the values of X themselves."""
    if texts is not None:
        return texts
    return tuple(shown(label) for label in audit.channel.y_labels)


def riskiest(
    raw: Audit,
    published: Audit | None,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    is_judged: bool = True,
    what: str = "value",
) -> Table:
    """Return the values of X with the highest and lowest lifts, and what became of them.

    `raw` is the audit of publishing X as it is, `published` that of what is published instead, with
    the `names` of the values of X and of its outputs. `is_judged`: there is one bound to judge by.
    `what` each of them is.
    """
    n_x = raw.joint.n_x
    order = raw.most_extreme(_CELLS if what == "cell" else n_x if n_x <= _ALL else _RISKIEST)
    s_labels = [cell(shown(label)) for label in raw.joint.s_labels]
    rows = []
    for x in order:
        lifts = raw.lift[:, x]
        high, low = int(lifts.argmax()), int(lifts.argmin())
        row = [
            cell(names[0][x]),
            percent(float(raw.p_y[x])),
            f"{s_labels[high]}: {times(float(lifts[high]))}",
            f"{s_labels[low]}: {times(float(lifts[low]))}",
        ]
        if is_judged:
            row.append("yes" if raw.allowed[x] else "no")
        if published is not None:
            row += _became(published, x, names[1])
        rows.append(tuple(row))
    head = [what, "share", "raises most", "lowers most"]
    if is_judged:
        head.append("allowed as it is")
    if published is not None:
        head += ["published as", "then at most", "then at least"]
    numeric = (1, 6, 7) if published is not None else (1,)
    some = f"{len(rows)} of " if len(rows) < n_x else ""
    caption = f"The highest and lowest lifts: {some}{counted(n_x, what)}"
    caption += "." if published is None else ", and what became of them."
    return Table(caption, tuple(head), tuple(rows), numeric, n_x - len(rows))


def _became(published: Audit, x: int, names: tuple[str, ...]) -> list[str]:
    """Say which outputs a value can become, the likeliest first, and their extreme lifts."""
    channel = published.channel
    entries = np.flatnonzero(channel.members == x)
    entries = entries[np.argsort(-channel.member_weights[entries], kind="stable")]
    outputs = channel.entry_outputs[entries]
    shares = channel.member_weights[entries] / channel.denominator
    words = [
        cell(names[y]) if share == 1 else f"{cell(names[y])} ({percent(float(share))})"
        for y, share in zip(outputs[:_OUTPUTS].tolist(), shares[:_OUTPUTS], strict=True)
    ]
    if len(outputs) > _OUTPUTS:
        words.append(f"{len(outputs) - _OUTPUTS:,} more")
    lifts = published.lift[:, outputs]
    return ["; ".join(words), times(float(lifts.max())), times(float(lifts.min()))]


def heat_map(report: "Report", part: Shown, title: str, what: str) -> str:
    """Return the lifts of one side of a report as a picture; both sides have the same colours."""
    sides = [side for side in (report.shown_before, report.shown_after) if side is not None]
    ends = Ends(math.inf, math.inf) if report.is_curve else ends_of(report.raw.criterion)
    return heat_map_svg(
        part.log_lift,
        part.rows,
        part.columns,
        title=title,
        lower=ends.lower,
        upper=ends.upper,
        limit=colour_limit([side.log_lift for side in sides], *ends),
        refused=None if report.is_curve else part.refused,
        x_label=what,
        salt=report.salt,
    )
