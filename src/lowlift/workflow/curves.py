"""The trade-off of a table: mechanisms over budgets, as rows or as a chart."""

import csv
import io
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from lowlift.errors import InvalidInput
from lowlift.figures.charts import figure_files
from lowlift.figures.panels import Curve, Panel
from lowlift.files import write_bytes, write_text
from lowlift.tables import open_table
from lowlift.workflow.choices import choose, criterion_of, released_by
from lowlift.workflow.columns import Asked, count

__all__ = ["Point", "parse_numbers", "tradeoff_curve", "write_curve"]

_MOST_POINTS = 10_000


@dataclass(frozen=True)
class Point:
    """One release of a sweep."""

    mechanism: str
    criterion: str
    split: float
    epsilon: float
    nmi: float
    upper_bound: float
    min_lift_leakage: float
    max_lift_leakage: float
    is_satisfied: bool
    seconds: float


def parse_numbers(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of ``0.25:8:0.25`` (first, last, step) or of ``0.5,1,2``.

    Examples
    --------
    >>> parse_numbers("0.5:1.5:0.5", "epsilon"), parse_numbers("0.5,0.65", "split")
    ((0.5, 1.0, 1.5), (0.5, 0.65))
    """
    try:
        if ":" in text:
            first, last, step = (float(part) for part in text.split(":"))
            if not (step > 0 and last >= first and math.isfinite(last - first)):
                raise ValueError  # noqa: TRY301 (one message for all that is wrong)
            steps = (last - first) / step + 1e-9  # inf when the step is that small
            if steps >= _MOST_POINTS:
                raise InvalidInput(f"{name}: at most {_MOST_POINTS:,} numbers; got {text!r}.")
            return tuple(round(first + k * step, 12) for k in range(int(steps) + 1))
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{name} must be numbers such as 0.5,1,2 or first:last:step such as 0.25:8:0.25; "
            f"got {text!r}."
        ) from error


def tradeoff_curve(
    source: Any,
    asked: Asked,
    *,
    criterion: str,
    mechanisms: Sequence[str],
    epsilons: Sequence[float],
    splits: Sequence[float] = (0.5,),
    alpha: float | None = None,
    time_limit: float = 60.0,
    engine: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Point]:
    """Run every mechanism at every budget on the table's counts; every release is audited."""
    is_single = criterion in {"lip", "ldp", "max-lift"}
    shares = (math.nan,) if is_single else tuple(splits)
    tasks = [
        (name, split, epsilon) for name in mechanisms for split in shares for epsilon in epsilons
    ]
    asked_for = [
        criterion_of(criterion, epsilon=epsilon, split=None if is_single else split, alpha=alpha)
        for _, split, epsilon in tasks
    ]
    with open_table(source, engine) as table:
        joint, _ = count(table, asked)
    points = []
    for k, (task, bound) in enumerate(zip(tasks, asked_for, strict=True)):
        start = time.perf_counter()
        chosen = choose(task[0], joint, bound)
        release = released_by(chosen, joint, bound, time_limit=time_limit)
        audit, certificate = release.audit, release.certificate
        points.append(
            Point(
                chosen.name,
                str(bound),
                *task[1:],
                audit.nmi,
                certificate.upper_bound if certificate else math.nan,
                audit.min_lift_leakage,
                audit.max_lift_leakage,
                audit.is_satisfied,
                time.perf_counter() - start,
            )
        )
        if progress is not None:
            progress(k + 1, len(tasks))
    return points


def write_curve(points: Sequence[Point], path: Path) -> None:
    """Write the points as CSV, or as a chart: the file's ending says which."""
    if path.suffix == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([field.name for field in fields(Point)])
        writer.writerows(astuple(point) for point in points)
        write_text(path, text.getvalue(), is_private=True)
        return
    if path.suffix not in {".svg", ".png"}:
        raise InvalidInput(f"a curve is written as .csv, .svg or .png; got {path.name!r}.")
    svg, png = figure_files(_panels(points), "Privacy-utility trade-off")
    if path.suffix == ".svg":
        write_text(path, svg, is_private=True)
    else:
        write_bytes(path, png, is_private=True)


def _panels(points: Sequence[Point]) -> list[Panel]:
    series: dict[tuple[str, float], list[Point]] = {}
    for point in points:
        series.setdefault((point.mechanism, point.split), []).append(point)
    panels = []
    for quantity, title in (
        ("nmi", "Utility: NMI"),
        ("min_lift_leakage", "Min-lift leakage (nats)"),
        ("max_lift_leakage", "Max-lift leakage (nats)"),
    ):
        curves = []
        for k, ((name, split), some) in enumerate(series.items()):
            label = name if math.isnan(split) else f"{name}, split {split:g}"
            x = np.array([point.epsilon for point in some])
            y = np.array([getattr(point, quantity) for point in some])
            curves.append(Curve(label, x, y, colour=k % 8))
        panels.append(Panel(title, "ε (nats)", title, tuple(curves)))
    return panels
