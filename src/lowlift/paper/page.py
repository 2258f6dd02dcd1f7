"""The page: every figure, proposition and difference, with the numbers behind each verdict."""

import base64
import csv
import io
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lowlift.figures.charts import panel_svg
from lowlift.figures.legends import legend
from lowlift.figures.page import Table, render
from lowlift.paper.counterexamples import (
    Counterexamples,
    counterexamples_of,
    write_comparison,
)
from lowlift.paper.experiments import EXPERIMENTS, QUANTITIES, TITLES
from lowlift.paper.propositions import Claim
from lowlift.paper.runs import Size
from lowlift.paper.vertices import growth_exponent
from lowlift.version import __version__

if TYPE_CHECKING:
    from lowlift.paper.reproduction import Figure


def write_page(figures: "Sequence[Figure]", size: Size, folder: Path, seconds: float) -> Path:
    """Write ``index.html``, ``propositions.csv`` and ``comparison.json``; return the page."""
    from markupsafe import Markup

    found = counterexamples_of(figures, size)
    write_comparison(figures, size, found, folder)
    with (folder / "propositions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(_claim_rows(found.claims))
    sections = [
        {
            "figure": figure,
            "panels": [
                Markup(panel_svg(panel, width=3.9, height=3.0, salt=f"{figure.number}-{k}"))  # noqa: S704 (ours)
                for k, panel in enumerate(figure.panels)
            ],
            "legend": [
                (entry.label, Markup(entry.svg))  # noqa: S704 (ours)
                for entry in legend(figure.panels)
            ],
            "comparisons": _comparisons(figure),
            "beyond": _beyond(figure),
            "readings": _readings(figure, found),
            "csv": _data_link(figure),
        }
        for figure in figures
    ]
    text = render(
        "lowlift.paper",
        "index.html",
        sections=sections,
        summary=_summary(figures),
        found=found,
        impossible=_impossible(found),
        vertices=_vertices(found),
        size=size,
        seconds=seconds,
        version=__version__,
        machine=f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
    )
    page = folder / "index.html"
    page.write_text(text, "utf-8")
    return page


def _claim_rows(claims: Sequence[Claim]) -> list[tuple[object, ...]]:
    head = ("proposition", "form", "statement", "cases", "smallest_slack", "violations")
    names = (*head, "counter_example")
    return [names, *(tuple(getattr(claim, name) for name in names) for claim in claims)]


def _data_link(figure: "Figure") -> str:
    from lowlift.paper.reproduction import table_of

    text = io.StringIO()
    csv.writer(text).writerows(table_of(figure))
    return "data:text/csv;base64," + base64.b64encode(text.getvalue().encode()).decode()


def _summary(figures: "Sequence[Figure]") -> Table:
    """Count, per figure and panel, the series that agree."""
    rows = []
    for figure in figures:
        cells = []
        for quantity in ("nmi", "min_lift_leakage", "max_lift_leakage"):
            verdicts = [c.verdict for c in figure.comparisons if c.quantity == quantity]
            agree = verdicts.count("agrees")
            judged = agree + verdicts.count("differs")
            words = "agrees" if agree == judged else f"{agree} of {judged} series agree"
            cells.append(words if judged else "")
        if figure.densities:
            best = min(figure.densities, key=lambda density: density.distance)
            cells[0] = f"total variation {best.distance:.2f} with {best.name}"
        rows.append((str(figure.number), figure.title, *cells))
    head = ("figure", "what", "utility", "min-lift leakage", "max-lift leakage")
    return Table("In short; where series differ, the figure's table says why.", head, tuple(rows))


def _comparisons(figure: "Figure") -> Table:
    head = ("panel", "series", "points", "largest", "mean", "allowed", "verdict", "where and why")
    rows = []
    for item in figure.comparisons:
        if not len(item.epsilons):
            continue
        where = f"{item.where}. " if item.where else ""
        allowed = item.allowed[np.isfinite(item.allowed)]
        span = ""
        if len(allowed):
            low, high = float(allowed.min()), float(allowed.max())
            span = f"{low:.3f}" if high - low < 5e-4 else f"{low:.3f}–{high:.3f}"
        rows.append(
            (
                *(TITLES[item.quantity], item.series.label, str(len(item.epsilons))),
                *(f"{item.largest:.4f}", f"{item.mean:.4f}", span),
                *(item.verdict, where + item.reason),
            )
        )
    caption = (
        "Deviation of our means from the printed points. At the paper's number of joints the "
        "allowed deviation is fixed, but for leakages at 100 joints or fewer: there, and in "
        "smaller runs, it is 4 standard errors of the difference of the two means."
    )
    return Table(caption, head, tuple(rows))


def _beyond(figure: "Figure") -> Table | None:
    """Set the markers beside the curve, on the same joints: what was left on the table."""
    if figure.experiment is None or not figure.experiment.markers:
        return None
    rows = []
    for series in figure.experiment.markers:
        sweep, base = figure.sweeps[series.name], figure.sweeps[series.beside]
        places = {e: k for k, e in enumerate(base.epsilons.tolist())}
        same = [places[e] for e in sweep.epsilons.tolist()]
        theirs = base.values["nmi"][: sweep.joints, same].mean(axis=0)
        for k, (epsilon, before) in enumerate(zip(base.epsilons[same], theirs, strict=True)):
            ours, bound = float(sweep.mean("nmi")[k]), float(sweep.mean("upper_bound")[k])
            rows.append(
                (
                    *(series.label, f"{epsilon:g}", f"{before:.4f}", f"{ours:.4f}"),
                    *(f"{ours - before:+.4f}", f"{bound:.4f}"),
                    f"{float(sweep.mean('seconds')[k]):.2g}",
                )
            )
    joints = figure.sweeps[figure.experiment.markers[0].name].joints
    caption = (
        f"What was left on the table: means of NMI over the same {joints} "
        f"joint{'s' if joints > 1 else ''}. No mechanism (for optimal merging: no partition) "
        "keeps more than the proven bound."
    )
    head = ("mechanism", "ε", "curve's NMI", "NMI", "gain", "proven bound", "seconds")
    return Table(caption, head, tuple(rows))


def _readings(figure: "Figure", found: Counterexamples) -> Table | None:
    """Both readings where the print can be read in two ways, against the printed points."""
    experiment, readings = figure.experiment, found.readings[figure.number]
    if experiment is None or not readings:
        return None
    labels = {curve.name: curve.label for curve in experiment.curves}
    rows = tuple(
        (
            *(labels[row.series], f"{row.nmi:.4f}", f"{row.min_lift_leakage:.4f}"),
            *(f"{row.max_lift_leakage:.4f}", f"{row.kept:.0%}"),
            f"{row.reading} (used)" if row.is_used else row.reading,
        )
        for row in readings
    )
    budgets = len(figure.sweeps[experiment.readings[-1].name].epsilons)
    head = ("series", "NMI off by", "min-lift off by", "max-lift off by", "bound kept", "reading")
    caption = (
        "Two readings of the same series: mean absolute deviation from the printed points, at the "
        f"same {budgets} budgets, and the share of releases that keep the bound."
    )
    return Table(caption, head, rows)


def _impossible(found: Counterexamples) -> list[tuple[str, ...]]:
    """List the printed leakages beyond what Propositions 4 and 6 allow on average."""
    labels = {
        (number, curve.name): curve.label
        for number, experiment in EXPERIMENTS.items()
        for curve in experiment.curves
    }
    return [
        (
            *(str(row.figure), labels[row.figure, row.series], QUANTITIES[row.quantity]),
            f"{len(row.epsilons)} of {row.points}",
            f"ε={row.worst:g}: {row.value:.3f} printed, at most {row.allowed:.3f}",
        )
        for row in found.impossible
    ]


def _vertices(found: Counterexamples) -> list[Table]:
    tables = []
    for n_s, counts in found.vertices.items():
        rows = tuple(
            (
                *(str(item.n_x), f"{item.vertices:,}", f"{item.support_bound:,}"),
                f"{item.exponential:.3g}",
            )
            for item in counts
        )
        caption = (
            f"|S|={n_s}, ALIP, ε=0.5, λ=0.5, one random joint each: vertices grow about as "
            f"|X|^{growth_exponent(counts):.1f}."
        )
        tables.append(Table(caption, ("|X|", "vertices", "support bound", "2^|X|"), rows))
    return tables
