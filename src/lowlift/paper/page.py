"""The page: every figure, proposition and difference, with the numbers behind each verdict."""

import base64
import csv
import io
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lowlift._version import __version__
from lowlift.figures.charts import panel_svg
from lowlift.figures.legends import legend
from lowlift.figures.page import render
from lowlift.paper.counterexamples import counterexamples_of, write_comparison
from lowlift.paper.experiments import QUANTITIES, TITLES, Series
from lowlift.paper.propositions import Claim
from lowlift.paper.runs import Size
from lowlift.paper.vertices import growth_exponent

if TYPE_CHECKING:
    from lowlift.paper.reproduction import Figure


def write_page(figures: "Sequence[Figure]", size: Size, folder: Path, seconds: float) -> Path:
    """Write ``index.html``, ``propositions.csv`` and ``comparison.json``; return the page."""
    found = counterexamples_of(figures, size)
    write_comparison(figures, size, found, folder)
    with (folder / "propositions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(_claim_rows(found.claims))
    sections = [
        {
            "figure": figure,
            "panels": [
                panel_svg(panel, width=3.9, height=3.0, salt=f"{figure.number}-{k}")
                for k, panel in enumerate(figure.panels)
            ],
            "legend": legend(figure.panels),
            "agreement": [_agreement(figure, quantity) for quantity in tuple(QUANTITIES)[:3]],
            "beyond": list(_beyond(figure)),
            "csv": _data_link(figure),
        }
        for figure in figures
    ]
    text = render(
        "lowlift.paper",
        "index.html",
        sections=sections,
        found=found,
        labels={
            (figure.number, curve.name): curve.label
            for figure in figures
            for curve in (figure.experiment.curves if figure.experiment else ())
        },
        quantities=QUANTITIES,
        titles=TITLES,
        growth_exponent=growth_exponent,
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


def _agreement(figure: "Figure", quantity: str) -> tuple[int, int]:
    """Count the series of a panel that agree with the printed points, and those that are judged."""
    verdicts = [item.verdict for item in figure.comparisons if item.quantity == quantity]
    agree = verdicts.count("agrees")
    return agree, agree + verdicts.count("differs")


def _beyond(figure: "Figure") -> Iterator[tuple[Series, *tuple[float, ...]]]:
    """Yield each marker's budget, NMI of its curve on the same joints, its own, bound, seconds."""
    for series in figure.experiment.markers if figure.experiment else ():
        sweep, base = figure.sweeps[series.name], figure.sweeps[series.beside]
        places = {e: k for k, e in enumerate(base.epsilons.tolist())}
        same = [places[e] for e in sweep.epsilons.tolist()]
        before = base.values["nmi"][: sweep.joints, same].mean(axis=0)
        means = (sweep.mean(name) for name in ("nmi", "upper_bound", "seconds"))
        for row in zip(sweep.epsilons, before, *means, strict=True):
            yield series, *map(float, row)
