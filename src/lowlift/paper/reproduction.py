"""Run the figures that are asked for and write them, their numbers and one page into a folder."""

import csv
import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowlift._version import __version__
from lowlift._wording import counted
from lowlift.errors import InvalidInput
from lowlift.figures.charts import figure_files
from lowlift.figures.panels import Curve, Panel
from lowlift.paper.comparison import Comparison, compare
from lowlift.paper.density import Density, densities
from lowlift.paper.experiments import EXPERIMENTS, QUANTITIES, TITLES, Experiment, Setup
from lowlift.paper.runs import Size, Sweep, run_experiment, runner, start_workers

#: The numbers of the paper's figures.
FIGURES = (1, *EXPERIMENTS)
#: Marks a folder as ours, and says how it was made.
_MANIFEST = "reproduction.json"
_MADE_BY = "lowlift paper"
#: The width of the band about a mean, in standard errors: a point beyond it is hardly chance.
BAND = 4.0


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure as it was run: what was drawn, and how it compares."""

    number: int
    title: str
    setup: str
    panels: tuple[Panel, ...]
    comparisons: tuple[Comparison, ...]
    densities: tuple[Density, ...]
    sweeps: dict[str, Sweep]
    seconds: float
    #: What was run; None for Figure 1.
    experiment: Experiment | None = None

    @property
    def is_printed(self) -> bool:
        """Whether the paper's own points are beside it."""
        if self.experiment is None:
            return self.densities[0].theirs is not None
        return self.experiment.is_printed


def reproduce(
    out: str | PathLike[str],
    figures: Iterable[int] = FIGURES,
    *,
    joints: int | None = None,
    quick: bool = False,
    seed: int = 9,
    jobs: int | None = None,
    progress: Callable[[int, int, int], object] | None = None,
    n_s: int | None = None,
    n_x: int | None = None,
    lambdas: Iterable[float] = (),
    alphas: Iterable[float] = (),
    epsilons: Iterable[float] = (),
    seconds: float | None = None,
) -> Path:
    """Recompute figures and propositions of the paper and write them into a folder.

    With other sizes, lambdas or orders than the paper's, the same curves are drawn without its
    points: there is nothing to compare them with.

    Parameters
    ----------
    out
        A folder that is new, empty or an earlier result of this function. Pieces of work found
        there that fit are not run again.
    figures
        Numbers from 1 to 8.
    joints
        At most this many random joints a figure; default: the paper's number. At another setup
        exactly this many.
    quick
        Fewer joints and budgets: the whole page in a minute.
    seed
        Of the random joints. The numbers depend on nothing else (seconds, and searches that
        their time limit stopped, aside).
    jobs
        Processes; default: what ``joblib.parallel_config`` says, so that Dask, Ray or Spark can
        do the work.
    progress
        Called with (figure, releases done, releases in all).
    n_s, n_x
        The sizes of S and X; default: the paper's 5 and 17, or 15 and 200 in Figure 6.
    lambdas
        Shares of the budget on the lower side; Figures 5, 6 and 8 take one.
    alphas
        The orders of Figure 8.
    epsilons
        The budgets in nats, instead of the figure's 0.25, 0.5, ... 8.
    seconds
        The time limit of one search that adds to the paper; default 30, 2 for `quick`.

    Returns
    -------
    pathlib.Path
        The page ``index.html``; beside it each figure as SVG, PNG and CSV, and
        ``comparison.json`` with every deviation and verdict.

    Raises
    ------
    InvalidInput
        For an unknown figure, joints or jobs below 1, sizes below 2, a lambda not between 0 and 1,
        several of them for a figure that takes one, or a folder that holds something else.
        Nothing is written then.
    """
    from lowlift.paper.page import write_page

    numbers = _check_figures(figures)
    setup = Setup(n_s, n_x, tuple(lambdas), tuple(alphas))
    size = Size(joints, quick, seed, setup, tuple(epsilons), seconds)
    experiments = {number: size.experiment(number) for number in numbers if number != 1}
    parallel = runner(jobs)
    folder = _claim(Path(out))
    start = time.perf_counter()
    found = []
    with parallel:
        start_workers(parallel, jobs)
        for number in numbers:
            if number == 1:
                figure = _first(size)
            else:
                figure = _figure(experiments[number], size, folder, parallel, progress)
            _write(figure, folder)
            found.append(figure)
    page = write_page(found, size, folder, time.perf_counter() - start)
    _sign(folder, numbers, size)
    return page


def _check_figures(figures: Iterable[int]) -> list[int]:
    try:
        numbers = sorted(set(figures))
    except TypeError as error:
        raise InvalidInput("figures must be a list of numbers from 1 to 8.") from error
    unknown = [number for number in numbers if number not in FIGURES]
    if unknown or not numbers:
        raise InvalidInput(
            f"figures must be numbers from 1 to 8; got {', '.join(map(str, unknown)) or 'none'}."
        )
    return numbers


def _claim(folder: Path) -> Path:
    """Return the folder, made if need be and marked as ours; refuse one that is not."""
    if folder.exists():
        if not folder.is_dir():
            raise InvalidInput(f"{folder} must be a folder; it is a file. Choose another.")
        is_ours = _signed(folder / _MANIFEST)
        if not is_ours and any(folder.iterdir()):
            raise InvalidInput(
                f"{folder} holds something that lowlift paper did not write. "
                "Choose a new or empty folder."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sign(folder)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be written: {error.strerror}. Choose another folder."
        ) from error
    return folder


def _signed(manifest: Path) -> bool:
    try:
        return bool(json.loads(manifest.read_text("utf-8"))["made_by"] == _MADE_BY)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _sign(folder: Path, numbers: Sequence[int] = (), size: Size | None = None) -> None:
    settings: dict[str, Any] = {"made_by": _MADE_BY, "version": __version__}
    if size is not None:
        settings |= {"figures": list(numbers), "seed": size.seed, "joints": size.joints}
        settings |= {"quick": size.is_quick, "python": platform.python_version()}
        settings |= size.departures
    (folder / _MANIFEST).write_text(json.dumps(settings, indent=1) + "\n", "utf-8")


def _first(size: Size) -> Figure:
    start = time.perf_counter()
    setup = size.setup
    is_papers = setup.n_s is None and setup.n_x is None
    joints = size.joints or 1000
    joints = min(1000, joints) if is_papers else joints
    found = densities(joints, size.seed, setup.n_s, setup.n_x)
    panels = tuple(
        Panel(
            density.name,
            "log-lift (nats), min left, max right",
            "probability",
            (
                *(
                    Curve("the paper", density.centres, theirs, style="points", colour=0)
                    for theirs in (density.theirs,)
                    if theirs is not None
                ),
                Curve("ours", density.centres, density.ours, style="bars", colour=1),
            ),
        )
        for density in found
    )
    words = f"|S|={setup.n_s or 5}, {joints:,} random joints, seed {size.seed}; "
    return Figure(
        1,
        "How often each log-lift occurs",
        words + ("bins as printed." if is_papers else "bins as wide as the printed ones."),
        panels,
        (),
        tuple(found),
        {},
        time.perf_counter() - start,
    )


def _figure(
    experiment: Experiment,
    size: Size,
    folder: Path,
    parallel: Any,
    progress: Callable[[int, int, int], object] | None,
) -> Figure:
    start = time.perf_counter()
    sweeps = run_experiment(experiment, size, folder / "pieces", parallel, progress)
    comparisons = tuple(
        compare(experiment, sweeps[series.name], quantity)
        for quantity in experiment.quantities
        for series in experiment.curves
        if experiment.is_printed
    )
    panels = tuple(_panel(experiment, quantity, sweeps) for quantity in experiment.quantities)
    paper = f"; the paper: {experiment.joints:,}" + ", our guess" * (experiment.number == 6)
    setup = (
        f"|S|={experiment.n_s}, |X|={experiment.n_x}, means over "
        f"{counted(size.joints_of(experiment), 'random joint')} (uniform entries over their sum"
        f"{paper * experiment.is_printed}), "
        f"seed {size.seed}, "
        f"ε from {experiment.epsilons[0]:g} to {experiment.epsilons[-1]:g}; "
        "budgets ε_l=λε, ε_u=(1−λ)ε."
    )
    return Figure(
        experiment.number,
        experiment.title,
        setup,
        panels,
        comparisons,
        (),
        sweeps,
        time.perf_counter() - start,
        experiment,
    )


def _panel(experiment: Experiment, quantity: str, sweeps: dict[str, Sweep]) -> Panel:
    curves = []
    for colour, series in enumerate(experiment.curves):
        sweep = sweeps[series.name]
        mean = sweep.mean(quantity)
        error = BAND * np.nan_to_num(sweep.spread(quantity)) / np.sqrt(sweep.joints)
        low = np.maximum(mean - error, mean / 2) if quantity == "seconds" else mean - error
        curves.append(
            Curve(series.label, sweep.epsilons, mean, colour=colour, low=low, high=mean + error)
        )
        points = experiment.printed(series.name, quantity)
        if points:
            x, y = np.array(list(points)), np.array(list(points.values()))
            curves.append(
                Curve("the paper's points", x, y, "points", colour, in_legend=colour == 0)
            )
    first = len(experiment.curves)
    for k, series in enumerate(experiment.markers):
        sweep = sweeps[series.name]
        names = [curve.name for curve in experiment.curves]
        # Several notions in one figure: a marker has the colour of its notion's curve.
        colour = names.index(series.beside) if len(experiment.markers) > 2 else first + k
        curves.append(Curve(series.label, sweep.epsilons, sweep.mean(quantity), "marker", colour))
        if quantity == "nmi" and series.mechanism == "proven random response":
            bound = sweep.mean("upper_bound")
            curves.append(
                Curve("proven bound", sweep.epsilons, bound, "tick", colour, in_legend=True)
            )
    scale = "log" if quantity == "seconds" else "linear"
    return Panel(TITLES[quantity], "ε (nats)", QUANTITIES[quantity], tuple(curves), scale)


def _write(figure: Figure, folder: Path) -> None:
    """Write a figure as SVG, PNG and CSV."""
    name = f"figure-{figure.number}"
    svg, png = figure_files(figure.panels, f"Figure {figure.number}: {figure.title}")
    (folder / f"{name}.svg").write_text(svg, "utf-8")
    (folder / f"{name}.png").write_bytes(png)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(table_of(figure))


def table_of(figure: Figure) -> Iterable[Sequence[object]]:
    """Yield the figure's numbers as rows, the first one their names."""
    experiment = figure.experiment
    if experiment is None:
        yield "generator", "log_lift", "ours", "paper"
        for density in figure.densities:
            ours, paper = density.ours.tolist(), [""] * len(density.ours)
            paper = paper if density.theirs is None else density.theirs.tolist()
            for row in zip(density.centres.tolist(), ours, paper, strict=True):
                yield density.name, *row
        return
    yield (
        *("quantity", "series", "mechanism", "epsilon", "joints"),
        *("ours", "standard_error", "upper_bound", "satisfied", "paper"),
    )
    for name, sweep in figure.sweeps.items():
        bound, held = sweep.mean("upper_bound"), sweep.mean("is_satisfied")
        for quantity in QUANTITIES:
            points = experiment.printed(name, quantity)
            error = sweep.spread(quantity) / np.sqrt(sweep.joints)
            for k, epsilon in enumerate(sweep.epsilons.tolist()):
                yield (
                    *(quantity, name, sweep.series.mechanism, epsilon, sweep.joints),
                    *(float(sweep.mean(quantity)[k]), float(error[k]), float(bound[k])),
                    *(float(held[k]), points.get(epsilon, "")),
                )
