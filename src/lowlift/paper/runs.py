"""Run the experiments: parallel over joints with joblib, each piece kept on disk once done."""

import functools
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from lowlift._arrays import Floats
from lowlift._joint import Joint
from lowlift._sweeps import tradeoff
from lowlift._version import __version__
from lowlift.errors import InvalidInput, MissingExtra
from lowlift.paper.experiments import (
    GAP,
    PAPERS,
    Experiment,
    Series,
    Setup,
    experiment_of,
    mechanism_for,
)

#: Called with (figure, releases done, releases in all).
Progress: TypeAlias = Callable[[int, int, int], object]

_QUICK_BUDGETS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_READING_BUDGETS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
_READING_JOINTS = 200
#: Releases to a piece of work, by how long a mechanism takes.
_CHUNK = {"random response": 160, "subset random response": 160}
_FIELDS = ("nmi", "upper_bound", "min_lift_leakage", "max_lift_leakage", "seconds", "is_satisfied")


@dataclass(frozen=True)
class Size:
    """How much of an experiment to run, of which setup and seed.

    `epsilons` replace the budgets of a figure, `seconds` the limit of one search that adds to the
    paper.
    """

    joints: int | None = None
    is_quick: bool = False
    seed: int = 9
    setup: Setup = PAPERS
    epsilons: tuple[float, ...] = ()
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.joints is not None and (type(self.joints) is not int or self.joints < 1):
            raise InvalidInput(f"joints must be 1 or more; got {self.joints}.")
        if type(self.seed) is not int or self.seed < 0:
            raise InvalidInput(f"seed must be 0 or more; got {self.seed}.")
        if not all(0 < epsilon < math.inf for epsilon in self.epsilons):
            raise InvalidInput(
                f"budgets must be above 0 and finite; got {list(self.epsilons)} nats."
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise InvalidInput(f"seconds must be above 0 and finite; got {self.seconds}.")

    def experiment(self, number: int) -> Experiment:
        """Return what a figure plots, with the setup and the budgets asked for."""
        found = experiment_of(number, self.setup)
        if not self.epsilons:
            return found
        budgets = tuple(sorted(set(self.epsilons)))
        return replace(found, epsilons=budgets, marker_epsilons=budgets)

    @property
    def departures(self) -> dict[str, Any]:
        """What departs from the paper, by name."""
        asked = asdict(self.setup) | {"epsilons": self.epsilons, "seconds": self.seconds}
        return {name: value for name, value in asked.items() if value not in (None, ())}

    def joints_of(self, experiment: Experiment) -> int:
        """Return the number of joints to take means over: at its setup at most the paper's."""
        if self.joints is not None and not experiment.is_printed:
            return self.joints
        quick = max(2, experiment.joints // 25) if self.is_quick else experiment.joints
        return min(quick, self.joints or quick)

    def parts(self, experiment: Experiment) -> Iterator[tuple[Series, int, tuple[float, ...]]]:
        """Yield each series with its number of joints and its budgets."""
        joints, all_budgets = self.joints_of(experiment), experiment.epsilons
        few = tuple(e for e in _QUICK_BUDGETS if e in all_budgets)
        if self.epsilons or not self.is_quick:
            few = all_budgets
        for series in experiment.markers:
            budgets = experiment.marker_epsilons
            if self.is_quick and not self.epsilons:
                budgets = tuple(e for e in (1.0, 2.0, 4.0, 8.0) if e in budgets)[-3:]
            yield series, min(joints, 2 if self.is_quick else experiment.marker_joints), budgets
        for series in experiment.curves:
            yield series, joints, few
        for series in experiment.readings:
            budgets = tuple(e for e in _READING_BUDGETS if e in all_budgets)
            budgets = all_budgets if self.epsilons else budgets
            yield series, min(joints, _READING_JOINTS), budgets

    def seconds_of(self, experiment: Experiment) -> float:
        """Return the time limit of one search that adds to the paper."""
        if self.seconds is not None:
            return self.seconds
        return 2.0 if self.is_quick else experiment.seconds


@dataclass(frozen=True)
class Task:
    """One series on some joints and budgets: the piece of work that is run and kept."""

    figure: int
    series: str
    seed: int
    joints: tuple[int, int]
    epsilons: tuple[float, ...]
    seconds: float
    setup: Setup = PAPERS

    @property
    def key(self) -> str:
        """Name the piece by all that decides its result."""
        parts = [__version__, self.figure, self.series, self.seed, *self.joints]
        departs = [] if self.setup.is_papers else [asdict(self.setup)]
        return json.dumps([*parts, self.epsilons, self.seconds, GAP, *departs])

    def __len__(self) -> int:
        return (self.joints[1] - self.joints[0]) * len(self.epsilons)


@dataclass(frozen=True, eq=False)
class Sweep:
    """One series: arrays of (joints, budgets) by quantity."""

    series: Series
    epsilons: Floats
    values: dict[str, Floats]

    @property
    def joints(self) -> int:
        """The number of joints."""
        return len(self.values["nmi"])

    def mean(self, quantity: str) -> Floats:
        """Return the mean over joints, per budget."""
        return np.asarray(self.values[quantity].mean(axis=0))

    def spread(self, quantity: str) -> Floats:
        """Return the standard deviation over joints, per budget; NaN for one joint."""
        if self.joints < 2:
            return np.full(len(self.epsilons), np.nan)
        return np.asarray(self.values[quantity].std(axis=0, ddof=1))


def joint_of(experiment: Experiment, seed: int, number: int) -> Joint:
    """Return the random joint of this number: the same in every figure of the same size."""
    rng = np.random.default_rng([seed, experiment.n_s, experiment.n_x, number])
    return Joint.random(experiment.n_s, experiment.n_x, rng)


def run_task(task: Task) -> list[list[float]]:
    """Return, per joint and budget, the numbers of `_FIELDS`."""
    experiment = experiment_of(task.figure, task.setup)
    every = (*experiment.curves, *experiment.markers, *experiment.readings)
    series = next(item for item in every if item.name == task.series)
    mechanism = mechanism_for(series.mechanism, task.seconds)
    _compile(series)
    joints = [joint_of(experiment, task.seed, number) for number in range(*task.joints)]
    rows = tradeoff(joints, mechanism, [series.notion(e) for e in task.epsilons]).rows
    return [[float(row[name]) for name in _FIELDS] for row in rows]


@functools.cache
def _compile(series: Series) -> None:
    """Compile or load the kernels once a process, so that no timed release pays for it."""
    mechanism_for(series.mechanism, 1.0)(Joint.random(2, 4, 0), series.notion(0.4))


class Pieces:
    """The pieces of one figure that are done, one line each in a file."""

    def __init__(self, path: Path, tasks: Iterable[Task]) -> None:
        self.path, wanted = path, {task.key for task in tasks}
        self.found = {k: v for k, v in self._read() if k in wanted}
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text("".join(self._line(*item) for item in self.found.items()), "utf-8")
        fresh.replace(path)

    def _read(self) -> Iterator[tuple[str, list[list[float]]]]:
        if not self.path.exists():
            return
        for line in self.path.read_text("utf-8", errors="replace").splitlines():
            try:
                piece = json.loads(line)
                yield str(piece["key"]), piece["rows"]
            except (ValueError, KeyError, TypeError):
                continue  # a line that an interrupted run left half written

    @staticmethod
    def _line(key: str, rows: list[list[float]]) -> str:
        return json.dumps({"key": key, "rows": rows}) + "\n"

    def add(self, task: Task, rows: list[list[float]]) -> None:
        """Store the rows of a finished task."""
        self.found[task.key] = rows
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self._line(task.key, rows))


def runner(jobs: int | None) -> Any:
    """Return joblib's Parallel; without `jobs` it follows ``joblib.parallel_config``."""
    try:
        import joblib
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[paper]' to run the paper's figures.") from error
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise InvalidInput(f"jobs must be 1 or more; got {jobs}.")
    try:
        return joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    except ValueError:  # a backend that can only return everything at once
        return joblib.Parallel(n_jobs=jobs)


def start_workers(parallel: Any, jobs: int | None) -> None:
    """Start the worker processes so that they leave Ctrl-C to this one.

    A signal that is ignored when a process starts stays so; else each worker would print a
    traceback of its own.
    """
    import signal
    import threading

    is_main = threading.current_thread() is threading.main_thread()
    if jobs is None or jobs < 2 or not is_main:
        return
    import joblib

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        list(parallel(joblib.delayed(time.sleep)(0.0) for _ in range(jobs)))
    finally:
        signal.signal(signal.SIGINT, before)


def _tasks(experiment: Experiment, size: Size) -> list[Task]:
    found = []
    for series, joints, epsilons in size.parts(experiment):
        chunk = _CHUNK.get(series.mechanism, 1600)
        if series in experiment.markers:
            chunk = 1  # each may take until its time limit
        elif experiment.n_x > 100:
            chunk = 40
        step = max(1, chunk // len(epsilons))
        budgets = [(e,) for e in epsilons] if chunk == 1 else [epsilons]
        for some in budgets:
            for first in range(0, joints, step):
                span = first, min(first + step, joints)
                seconds = size.seconds_of(experiment)
                key = experiment.number, series.name, size.seed, span, some, seconds
                found.append(Task(*key, size.setup))
    return found


def run_experiment(
    experiment: Experiment,
    size: Size,
    folder: Path,
    parallel: Any,
    progress: Progress | None = None,
) -> dict[str, Sweep]:
    """Run every series of a figure, but for the pieces that the folder already holds."""
    tasks = _tasks(experiment, size)
    pieces = Pieces(folder / f"figure-{experiment.number}.jsonl", tasks)
    waiting = [task for task in tasks if task.key not in pieces.found]
    total = sum(len(task) for task in tasks)
    done = total - sum(len(task) for task in waiting)
    if progress is not None:
        progress(experiment.number, done, total)
    for task, rows in _results(parallel, waiting):
        pieces.add(task, rows)
        done += len(task)
        if progress is not None:
            progress(experiment.number, done, total)
    return {
        series.name: _sweep(series, joints, epsilons, tasks, pieces)
        for series, joints, epsilons in size.parts(experiment)
    }


def _run_numbered(number: int, task: Task) -> tuple[int, list[list[float]]]:
    return number, run_task(task)


def _results(parallel: Any, tasks: Sequence[Task]) -> Iterator[tuple[Task, list[list[float]]]]:
    if not tasks:
        return
    import joblib

    # A backend that returns everything at once is given a few pieces at a time.
    step = len(tasks) if parallel.return_generator else 16
    for first in range(0, len(tasks), step):
        some = list(enumerate(tasks))[first : first + step]
        for number, rows in parallel(joblib.delayed(_run_numbered)(*item) for item in some):
            yield tasks[number], rows


def _sweep(
    series: Series, joints: int, epsilons: tuple[float, ...], tasks: list[Task], pieces: Pieces
) -> Sweep:
    cells = np.full((joints, len(epsilons), len(_FIELDS)), np.nan)
    for task in tasks:
        if task.series == series.name:
            where = [epsilons.index(e) for e in task.epsilons]
            rows = np.array(pieces.found[task.key], np.float64)
            block = rows.reshape(task.joints[1] - task.joints[0], len(where), len(_FIELDS))
            cells[slice(*task.joints), where] = block
    values = {name: cells[:, :, k] for k, name in enumerate(_FIELDS)}
    return Sweep(series, np.array(epsilons), values)
