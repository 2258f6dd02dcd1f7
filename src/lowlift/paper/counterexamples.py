"""Where the print is contradicted, as numbers: page and ``comparison.json`` both show these."""

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._version import __version__
from lowlift.paper import facts
from lowlift.paper.comparison import OWN_JOINTS, STANDARD_ERRORS, Comparison, compare
from lowlift.paper.experiments import QUANTITIES, Experiment, Series
from lowlift.paper.points import printed
from lowlift.paper.propositions import Claim, try_propositions
from lowlift.paper.runs import Size, Sweep, joint_of
from lowlift.paper.vertices import SIZES, VertexCount, growth_exponent, vertex_counts

if TYPE_CHECKING:
    from lowlift.paper.reproduction import Figure

#: The name of the file that `write_comparison` writes.
COMPARISON = "comparison.json"


@dataclass(frozen=True)
class Reading:
    """One reading of a series: its mean absolute deviations, and how often it keeps the bound."""

    figure: int
    series: str
    reading: str
    #: Whether it is the reading that the figure is drawn with.
    is_used: bool
    joints: int
    nmi: float
    min_lift_leakage: float
    max_lift_leakage: float
    #: The share of the releases that keep the bound.
    kept: float


@dataclass(frozen=True)
class Impossible:
    """Printed mean leakages of a series beyond what Propositions 4 and 6 allow on average."""

    figure: int
    series: str
    quantity: str
    #: Printed points in all, and the budgets of those that lie beyond.
    points: int
    epsilons: tuple[float, ...]
    #: The budget at which most is too much, what is printed there and what is allowed.
    worst: float
    value: float
    allowed: float


@dataclass(frozen=True, eq=False)
class Counterexamples:
    """What contradicts the print, beside the curves of a run."""

    claims: tuple[Claim, ...]
    polytope: facts.PolytopeTest
    inverse: tuple[facts.Mixture, facts.Mixture]
    composition: facts.Composition
    above: tuple[facts.AboveOptimum, ...]
    impossible: tuple[Impossible, ...]
    #: By figure.
    readings: Mapping[int, tuple[Reading, ...]]
    #: By |S|.
    vertices: Mapping[int, tuple[VertexCount, ...]]


def counterexamples_of(figures: "Sequence[Figure]", size: Size) -> Counterexamples:
    """Try the propositions, recompute the facts and count vertices; set readings side by side."""
    curves = {name: dict(printed(5, name, "nmi")) for name in ("aorr", "srr")}
    has_figure_5 = any(figure.number == 5 for figure in figures)
    sizes = {n_s: found[:4] if size.is_quick else found for n_s, found in SIZES.items()}
    return Counterexamples(
        tuple(try_propositions(500 if size.is_quick else 4000, size.seed)),
        facts.polytope_test(100 if size.is_quick else 500, size.seed),
        facts.inverse_is_not_convex(),
        facts.composition(),
        tuple(facts.figure5_above_optimum(curves)) if has_figure_5 else (),
        tuple(
            row
            for figure in figures
            if figure.number in {7, 8} and figure.experiment is not None and figure.is_printed
            for row in _impossible(figure.experiment, size.seed)
        ),
        {figure.number: _readings(figure) for figure in figures},
        {n_s: tuple(vertex_counts(n_s, found, seed=size.seed)) for n_s, found in sizes.items()},
    )


def _impossible(experiment: Experiment, seed: int) -> list[Impossible]:
    """List the printed leakages beyond what Propositions 4 and 6 allow on average."""
    joints = [joint_of(experiment, seed, k) for k in range(200)]
    rows = []
    for series in experiment.curves[1:]:
        for side, quantity in enumerate(("min_lift_leakage", "max_lift_leakage")):
            points, notion = experiment.printed(series.name, quantity), series.notion
            kind = notion.lam, notion.kind, notion.alpha
            bounds = {e: facts.proposition_bounds(joints, e, *kind)[side] for e in points}
            beyond = {e: (v, bounds[e]) for e, v in points.items() if v > bounds[e]}
            if beyond:
                worst = max(beyond, key=lambda e: beyond[e][0] - beyond[e][1])
                key = experiment.number, series.name, quantity
                rows.append(Impossible(*key, len(points), tuple(beyond), worst, *beyond[worst]))
    return rows


def _readings(figure: "Figure") -> tuple[Reading, ...]:
    """Both readings where the print can be read in two ways, against the printed points."""
    experiment = figure.experiment
    if experiment is None or not experiment.is_printed:
        return ()
    rows: dict[Reading, None] = {}
    for series in experiment.readings:
        sweep, base = figure.sweeps[series.name], figure.sweeps[series.beside]
        rows[_reading(experiment, base, sweep)] = None
        rows[_reading(experiment, sweep, sweep, base.series)] = None
    return tuple(rows)


def _reading(
    experiment: Experiment, used: Sweep, other: Sweep, curve: Series | None = None
) -> Reading:
    """Judge a sweep, on the joints and budgets of another, by the points of its curve."""
    at = [k for k, e in enumerate(used.epsilons.tolist()) if e in other.epsilons]
    values = {name: array[: other.joints, at] for name, array in used.values.items()}
    series = curve or used.series
    some = Sweep(series, used.epsilons[at], values)
    nmi, low, high = (compare(experiment, some, name).mean for name in tuple(QUANTITIES)[:3])
    return Reading(
        experiment.number,
        series.name,
        used.series.mechanism,
        curve is None,
        other.joints,
        nmi,
        low,
        high,
        float(values["is_satisfied"].mean()),
    )


def write_comparison(
    figures: "Sequence[Figure]", size: Size, found: Counterexamples, folder: Path
) -> Path:
    """Write deviations, verdicts and the above as ``comparison.json``; an infinity is null."""
    content = {
        "lowlift": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "seed": size.seed,
        "joints": size.joints,
        "quick": size.is_quick,
        "departs_from_the_paper": size.departures,
        "figures": [figure.number for figure in figures],
        "releases": {str(figure.number): _releases(figure) for figure in figures},
        "standard_errors": STANDARD_ERRORS,
        "own_joints": OWN_JOINTS,
        "comparisons": [
            _comparison(figure, item)
            for figure in figures
            for item in figure.comparisons
            if len(item.epsilons)
        ],
        "densities": [
            {"generator": density.name, "distance": density.distance}
            for figure in figures
            for density in figure.densities
        ],
        "readings": [asdict(row) for rows in found.readings.values() for row in rows],
        "impossible": [asdict(row) for row in found.impossible],
        "polytope": asdict(found.polytope),
        "propositions": [asdict(claim) for claim in found.claims],
        "vertices": [_growth(*item) for item in found.vertices.items()],
    }
    path = folder / COMPARISON
    path.write_text(json.dumps(_finite(content), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def _releases(figure: "Figure") -> dict[str, float]:
    """Count a figure's releases and add up the time of each, whichever run made it."""
    times = [sweep.values["seconds"] for sweep in figure.sweeps.values()]
    return {
        "count": sum(item.size for item in times),
        "seconds": round(sum(float(item.sum()) for item in times), 1),
    }


def _comparison(figure: "Figure", item: Comparison) -> dict[str, Any]:
    return {
        "figure": figure.number,
        "series": item.series.name,
        "label": item.series.label,
        "panel": item.quantity,
        "joints": figure.sweeps[item.series.name].joints,
        "largest": item.largest,
        "mean": item.mean,
        "tolerance": [float(item.allowed.min()), float(item.allowed.max())],
        "verdict": item.verdict,
        "where": item.where,
        "reason": item.reason,
        "epsilons": item.epsilons.tolist(),
        "ours": item.ours.tolist(),
        "paper": item.theirs.tolist(),
        "allowed": item.allowed.tolist(),
    }


def _growth(n_s: int, counts: Sequence[VertexCount]) -> dict[str, Any]:
    sizes = {str(count.n_x): count.vertices for count in counts}
    return {"n_s": n_s, "vertices": sizes, "exponent": growth_exponent(counts)}


def _finite(value: Any) -> Any:
    """Return the value with null for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
