"""The growth plots, log-log, from the points of a run."""

from typing import Any

import numpy as np

from lowlift.figures import Curve, Panel, figure_files

#: File name: title, and panels (which points, label of x, label of y, heading).
PLOTS: dict[str, tuple[str, tuple[tuple[str, str, str, str], ...]]] = {
    "growth-alphabet.svg": (
        "Time against |X| (|S| = 8) and against |S| (|X| = 200)",
        (("x", "|X|", "seconds", "growth with |X|"), ("s", "|S|", "seconds", "growth with |S|")),
    ),
    "growth-rows.svg": (
        "Rows of Parquet files through DuckDB, |X| = 17, |S| = 5; pycanon: in memory",
        (
            ("rows", "rows", "seconds", "growth with rows"),
            ("rows", "rows", "rows a second", "rate"),
        ),
    ),
    "growth.svg": (
        "Random response against |X|: time and proven gap (|S| = 8, LIP(1), gap 1e-3, 30 s)",
        (
            ("response", "|X|", "seconds", "time"),
            ("response", "|X|", "gap in NMI", "proven gap"),
        ),
    ),
}
GAPS = (1e-4, 1.0)


def value_of(point: dict[str, Any], label: str) -> float:
    """Return what a panel shows of a point; NaN for nothing."""
    if label == "rows a second":
        return float(point["size"] / point["seconds"])
    found = point.get("gap" if label == "gap in NMI" else "seconds")
    return float("nan") if found is None else float(found)


def panel(
    points: list[dict[str, Any]], x: str, y: str, title: str, colours: dict[str, int]
) -> Panel:
    """Return a log-log panel with one line and markers per curve."""
    made = []
    for name in dict.fromkeys(point["curve"] for point in points):
        chosen = [point for point in points if point["curve"] == name]
        sizes = np.array([point["size"] for point in chosen], dtype=float)
        values = np.array([value_of(point, y) for point in chosen])
        look = colours[name]
        made += [
            Curve(name, sizes, values, colour=look),
            Curve(name, sizes, values, style="marker", colour=look, in_legend=False),
        ]
    limits = GAPS if y == "gap in NMI" else None
    return Panel(title, x, y, tuple(made), y_scale="log", y_limits=limits, x_scale="log")


def draw(points: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return per file name its title and its SVG; a curve has one colour in all its panels."""
    response = [{**p, "plot": "response"} for p in points if p.get("gap") is not None]
    drawn = {}
    for file, (title, panels) in PLOTS.items():
        plots = {plot for plot, *_ in panels}
        shown = [p for p in (*points, *response) if p["plot"] in plots]
        names = dict.fromkeys(point["curve"] for point in shown)
        colours = {name: k for k, name in enumerate(names)}
        made = [
            panel([p for p in shown if p["plot"] == plot], x, y, heading, colours)
            for plot, x, y, heading in panels
        ]
        if shown:
            drawn[file] = (title, figure_files(made, title)[0])
    return drawn
