"""Any mechanism over joints and budgets: one row per audited release."""

import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_callable
from lowlift._arrays import Floats
from lowlift._display import MOST, card, frame
from lowlift._joint import Joint, check_joint
from lowlift._release import Release
from lowlift._rounding import percent_at_most
from lowlift._wording import counted, percent
from lowlift.criteria import Criterion, check_criterion, criterion_on
from lowlift.criteria.protocol import epsilon_of, split_of
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from lowlift.figures import Picture
    from lowlift.figures.tradeoffs import Point


Mechanism: TypeAlias = Callable[[Joint, Criterion], Release]
#: Called with (releases done, releases in all); returning False stops the sweep.
Progress: TypeAlias = Callable[[int, int], object]

_ROW = np.dtype(
    [
        ("joint", np.int64),
        ("criterion", np.int64),
        ("is_satisfied", np.bool_),
        ("outputs", np.int64),
        ("nmi", np.float64),
        ("mutual_information", np.float64),
        ("upper_bound", np.float64),
        ("min_lift_leakage", np.float64),
        ("max_lift_leakage", np.float64),
        ("seconds", np.float64),
    ]
)


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff:
    """The rows of a sweep: a NumPy record per release, joint by joint.

    Parameters
    ----------
    rows
        With the fields joint and criterion (their numbers), is_satisfied, outputs, nmi,
        mutual_information, upper_bound (on NMI, proven; NaN without a certificate),
        min_lift_leakage, max_lift_leakage (nats), seconds.
    criteria
        What the numbers in the field criterion mean.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]])
    >>> sweep = ll.tradeoff(joint, ll.subset_merging, [ll.LIP(0.5), ll.LIP(1.0)])
    >>> sweep
    <Tradeoff of 2 releases, 2 criteria>
    >>> sweep["nmi"].round(4), sweep.mean("outputs")
    (array([0.6667, 1.    ]), array([2., 3.]))
    """

    rows: npt.NDArray[np.void]
    criteria: tuple[Criterion, ...]

    def __repr__(self) -> str:
        return f"<Tradeoff of {len(self.rows)} releases, {len(self.criteria)} criteria>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[np.void]:
        return iter(self.rows)

    def __getitem__(self, field: str) -> npt.NDArray[Any]:
        """Return one field of every row."""
        return self.rows[field]

    def mean(self, field: str) -> Floats:
        """Return the mean of a field over the joints, one per criterion (NaN where none ran)."""
        which = self.rows["criterion"]
        size = len(self.criteria)
        sums = np.bincount(which, self.rows[field].astype(np.float64), size)
        counts = np.bincount(which, minlength=size)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows, with the criterion in words in place of its number."""
        names = list(self.rows.dtype.names or ())
        with open(path, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123 (any path-like)
            writer = csv.writer(file)
            writer.writerow(names)
            for row in self.rows:
                words = dict(zip(names, row.item(), strict=True))
                words["criterion"] = str(self.criteria[words["criterion"]])
                writer.writerow(words.values())

    def _repr_html_(self) -> str:
        """Return the first releases, as a notebook shows them."""
        rows = [
            (
                str(self.criteria[row["criterion"]]),
                "yes" if row["is_satisfied"] else "no",
                percent(float(row["nmi"])),
                "" if math.isnan(row["upper_bound"]) else percent_at_most(row["upper_bound"]),
                f"{row['max_lift_leakage']:.3f}",
                f"{row['min_lift_leakage']:.3f}",
            )
            for row in self.rows[:MOST]
        ]
        more = len(self.rows) - MOST
        return card(
            f"Trade-off: {counted(len(self.rows), 'release')}",
            facts=[
                ("Criteria", f"{len(self.criteria):,}"),
                ("Bound holds", f"{int(self.rows['is_satisfied'].sum()):,} of {len(self.rows):,}"),
            ],
            head=("bound", "holds", "kept", "proven at most", "leakage above", "leakage below"),
            rows=rows,
            left_off=f"and {counted(more, 'more release')}" if more > 0 else "",
        )

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per release, with the criterion in words and its budget as numbers.

        Returns
        -------
        A frame with the fields of `rows`, and after the criterion ``epsilon`` (the whole budget in
        nats) and ``lambda`` (the lower side's share of it; NaN for a criterion of one budget).

        Raises
        ------
        MissingExtra
            Without pandas.
        """
        asked = [self.criteria[k] for k in self.rows["criterion"]]
        content = {name: self.rows[name] for name in self.rows.dtype.names or ()}
        found = frame(content | {"criterion": list(map(str, asked))}).astype({"criterion": "str"})
        place = found.columns.get_loc("criterion")
        found.insert(place + 1, "epsilon", np.array([epsilon_of(c) for c in asked], np.float64))
        found.insert(place + 2, "lambda", np.array([split_of(c) for c in asked], np.float64))
        return found

    def plot(self) -> "Picture":
        """Draw what is kept and what leaks over the budget: means over the joints.

        Raises
        ------
        MissingExtra
            Without matplotlib.
        """
        from lowlift.figures import Curve, Picture
        from lowlift.figures.charts import figure_svg
        from lowlift.figures.tradeoffs import curve_panels

        points = self._points()
        panels = curve_panels(points)
        bounds = np.array([point.upper_bound for point in points])
        if np.isfinite(bounds).any():
            epsilons = np.array([point.epsilon for point in points])
            proven = Curve("proven bound", epsilons, bounds, "tick", 0)
            panels[0] = replace(panels[0], curves=(*panels[0].curves, proven))
        title = "Privacy-utility trade-off"
        return Picture(title, figure_svg(panels, title))

    def _points(self) -> "list[Point]":
        """Return the means over the joints, one point per criterion."""
        from lowlift.figures.tradeoffs import Point

        names = ("nmi", "upper_bound", "min_lift_leakage", "max_lift_leakage", "seconds")
        means = [self.mean(name).tolist() for name in names]
        return [
            Point(
                _notion(c), str(c), split_of(c), epsilon_of(c), nmi, bound, low, high, holds, took
            )
            for c, holds, nmi, bound, low, high, took in zip(
                self.criteria, self.mean("is_satisfied") == 1, *means, strict=True
            )
        ]


def _notion(criterion: Criterion) -> str:
    """Return the kind of a criterion, which its budgets are not part of."""
    alpha = getattr(criterion, "alpha", None)
    name = type(criterion).__name__
    return name if alpha is None else f"{name}, alpha {alpha:g}"


def tradeoff(
    joints: Joint | Iterable[Joint],
    mechanism: Mechanism,
    criteria: Criterion | Iterable[Criterion],
    jobs: int = 1,
    progress: Progress | None = None,
) -> Tradeoff:
    """Run a mechanism for every joint and criterion, and audit every release.

    Parameters
    ----------
    joints
        One or more joints.
    mechanism
        ``mechanism(joint, criterion) -> Release``; with options: ``functools.partial``.
    criteria
        One or more criteria.
    jobs
        Threads to use. The rows do not depend on it (seconds aside). The built-in mechanisms run
        side by side; one of your own in plain Python gains nothing.
    progress
        Called with the number of releases done and in all; returning False stops the sweep,
        which then has the rows of the joints finished so far.

    Examples
    --------
    >>> import lowlift as ll
    >>> joints = [ll.Joint.random(3, 6, seed=k) for k in range(2)]
    >>> sweep = tradeoff(joints, ll.subset_merging, [ll.LIP(0.1), ll.LIP(1.0)])
    >>> len(sweep), bool(sweep["is_satisfied"].all())
    (4, True)
    """
    all_joints, all_criteria = _several(joints), tuple(_several(criteria))
    for joint in all_joints:
        check_joint(joint)
    for criterion in all_criteria:
        check_criterion(criterion)
    if not callable(mechanism) or isinstance(mechanism, type):
        raise InvalidInput(
            "mechanism must be a function of a joint and a criterion, such as "
            f"lowlift.subset_merging; got {type(mechanism).__name__}."
        )
    check_callable(progress, "progress")
    if not all_joints or not all_criteria:
        raise InvalidInput("joints and criteria must not be empty.")
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise InvalidInput(f"jobs must be a whole number, 1 or more; got {jobs!r}.")
    tasks = [(k, joint, mechanism, all_criteria) for k, joint in enumerate(all_joints)]
    total, found = len(all_joints) * len(all_criteria), list[tuple[Any, ...]]()
    results = map(_rows_of, tasks) if jobs == 1 else _in_threads(tasks, jobs)
    for rows in results:
        found += rows
        if progress is not None and progress(len(found), total) is False:
            break
    return Tradeoff(np.array(found, dtype=_ROW), all_criteria)


def _several(given: Any) -> list[Any]:
    is_one = not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
    return [given] if is_one else list(given)


_Task: TypeAlias = tuple[int, Joint, Mechanism, Sequence[Criterion]]


def _rows_of(task: _Task) -> list[tuple[Any, ...]]:
    number, joint, mechanism, criteria = task
    rows = []
    for k, criterion in enumerate(criteria):
        start = time.perf_counter()
        release = mechanism(joint, criterion_on(criterion, joint))
        seconds = time.perf_counter() - start
        audit, certificate = release.audit, release.certificate
        rows.append(
            (
                number,
                k,
                audit.is_satisfied,
                release.channel.n_y,
                audit.nmi,
                audit.mutual_information,
                certificate.upper_bound if certificate else math.nan,
                audit.min_lift_leakage,
                audit.max_lift_leakage,
                seconds,
            )
        )
    return rows


def _in_threads(tasks: Sequence[_Task], jobs: int) -> Iterator[list[tuple[Any, ...]]]:
    from concurrent.futures import ThreadPoolExecutor

    # Threads, not processes: kernels and HiGHS release the interpreter's lock, and a process
    # spends seconds on its start, which short releases never win back.
    with ThreadPoolExecutor(min(jobs, len(tasks))) as pool:
        try:
            yield from pool.map(_rows_of, tasks)
        finally:
            pool.shutdown(cancel_futures=True)
