"""The lifts before and after: what the heat maps show, and what became of the riskiest values."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lowlift._audit import Audit
from lowlift._guarantees import Ends, ends_of
from lowlift._wording import cell, counted, percent, shown
from lowlift.figures import colour_limit, heat_map_svg
from lowlift.figures.lifts import MOST_COLUMNS, Shown, arranged
from lowlift.figures.page import Table
from lowlift.report.beliefs import Belief
from lowlift.report.outcome import named
from lowlift.report.outputs import unit_of
from lowlift.report.records import at_least_times, at_most_times

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


def names(report: "Report") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what the values of X and the outputs are called.

    Cells are called by their number in the picture before, as their conditions are long.
    """
    encoded = report.encoded
    if encoded is None:
        found = output_names(report.raw, None)
        return found, found
    if not report.is_rows:
        return encoded.x_texts, output_names(report.subject, encoded.texts)
    number = {x: k for k, x in enumerate(report.raw.most_extreme(report.raw.joint.n_x), 1)}
    if len(number) <= MOST_COLUMNS:
        number = {x: x + 1 for x in number}
    before = tuple(f"{number[x]}: {text}" for x, text in enumerate(encoded.x_texts))
    return before, tuple(before[x] for x in _cells_of(report))


def _cells_of(report: "Report") -> list[int]:
    """Return the cell that each output is, of published rows."""
    place = {label: x for x, label in enumerate(report.raw.joint.x_labels)}
    return [place[label] for label in report.subject.channel.y_labels]


def symbols_of(report: "Report") -> str:
    """Return what the values of X are called all together."""
    return "cells" if report.is_rows else f"{report.unit}s of X"


def shown_before(report: "Report") -> Shown:
    """Return the lifts of X as it is that are drawn."""
    return arranged(report.raw, names(report)[0], symbols_of(report))


def shown_after(report: "Report") -> Shown | None:
    """Return the lifts of what is published that are drawn; None without a release.

    Cells are in the order of the picture before, where they are the same and nothing that breaks
    the limit is left out.
    """
    if report.published is None:
        return None
    audit, order = report.published, None
    if report.is_rows and sorted(_cells_of(report)) == list(range(report.raw.joint.n_x)):
        output = {x: y for y, x in enumerate(_cells_of(report))}
        cells = (
            list(output) if len(output) <= MOST_COLUMNS else report.raw.most_extreme(MOST_COLUMNS)
        )
        same = [output[x] for x in (cells if len(cells) < len(output) else sorted(cells))]
        order = same if bool(np.delete(audit.allowed, same).all()) else None
    what = f"published {unit_of(report, is_published=True)}s"
    return arranged(audit, names(report)[1], what, order)


def riskiest_of(report: "Report") -> Table:
    """Return the riskiest values of X of a report; see `riskiest`."""
    return riskiest(
        report.raw,
        report.published,
        names(report),
        is_judged=not report.is_curve,
        what=report.unit,
        s_names=s_names(report),
    )


def s_names(report: "Report") -> tuple[str, ...]:
    """Return what the protected values are called: ``reject = 1`` where 1 says nothing alone."""
    labels = (cell(shown(label)) for label in report.raw.joint.s_labels)
    none = Fraction(0)
    beliefs = (Belief(label, none, none, none) for label in labels)
    return tuple(named(belief, report.sensitive).value for belief in beliefs)


def riskiest(
    raw: Audit,
    published: Audit | None,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    is_judged: bool = True,
    what: str = "value",
    s_names: Sequence[str] = (),
) -> Table:
    """Return the values of X with the highest and lowest lifts, and what became of them.

    `raw` is the audit of publishing X as it is, `published` that of what is published instead, with
    the `names` of the values of X and of its outputs. `is_judged`: there is one bound to judge by.
    `what` each of them is; `s_names` what the values of S are called.
    """
    n_x = raw.joint.n_x
    order = raw.most_extreme(_CELLS if what == "cell" else n_x if n_x <= _ALL else _RISKIEST)
    s_labels = list(s_names or [cell(shown(label)) for label in raw.joint.s_labels])
    rows = []
    for x in order:
        lifts = raw.lift[:, x]
        high, low = int(lifts.argmax()), int(lifts.argmin())
        row = [
            cell(names[0][x]),
            percent(float(raw.p_y[x])),
            f"{s_labels[high]}: {at_most_times(float(lifts[high]))}",
            f"{s_labels[low]}: {at_least_times(float(lifts[low]))}",
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
    caption += " Their numbers are those in the pictures." if what == "cell" else ""
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
    return ["; ".join(words), at_most_times(float(lifts.max())), at_least_times(float(lifts.min()))]


def heat_map(report: "Report", part: Shown, title: str, what: str) -> str:
    """Return the lifts of one side of a report as a picture; both sides have the same colours."""
    sides = [side for side in (report.shown_before, report.shown_after) if side is not None]
    ends = Ends(math.inf, math.inf) if report.is_curve else ends_of(report.raw.criterion)
    names = dict(zip(map(shown, report.raw.joint.s_labels), s_names(report), strict=True))
    return heat_map_svg(
        part.log_lift,
        tuple(names.get(row, row) for row in part.rows),
        part.columns,
        title=title,
        lower=ends.lower,
        upper=ends.upper,
        limit=colour_limit([side.log_lift for side in sides], *ends),
        refused=None if report.is_curve else part.refused,
        x_label=what,
        salt=report.salt,
    )
