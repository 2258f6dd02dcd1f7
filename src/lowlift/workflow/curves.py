"""The trade-off of a table: mechanisms over budgets, as rows or as a chart."""

import csv
import io
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from lowlift._files import write_bytes, write_text
from lowlift._joint import Joint
from lowlift._release import Release
from lowlift.criteria import AtMost, BuiltIn, Criterion, Population, criterion_on
from lowlift.criteria.protocol import epsilon_of, split_of
from lowlift.errors import InvalidInput
from lowlift.figures.charts import figure_files
from lowlift.figures.tradeoffs import curve_panels
from lowlift.report import Point
from lowlift.tables import open_table
from lowlift.workflow.budgets import at_most_of
from lowlift.workflow.choices import choose, released_by
from lowlift.workflow.columns import Asked, count
from lowlift.workflow.criteria import NAMED, SINGLE, criterion_of

_MOST_POINTS = 10_000


class Bound(NamedTuple):
    """A criterion on a curve, with the numbers that it was made from."""

    split: float
    epsilon: float
    criterion: Criterion


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
    """Run every mechanism at every budget on the table's counts; see `tradeoff_of`."""
    bounds_of(criterion, epsilons, splits, alpha)  # what is wrong is said before the table is read
    with open_table(source, engine) as table:
        joint, _ = count(table, asked)
    return tradeoff_of(
        joint,
        criterion=criterion,
        mechanisms=mechanisms,
        epsilons=epsilons,
        splits=splits,
        alpha=alpha,
        time_limit=time_limit,
        progress=progress,
    )


def bounds_at_most(texts: Sequence[str], sensitive: Sequence[str]) -> list[Bound]:
    """Return the bounds that texts say: factors such as ``1.5,2,4``, each with all beliefs.

    Parameters
    ----------
    texts
        Factors with commas or as first:last:step, and COLUMN=VALUE:BELIEF as for `at_most_of`.
    sensitive
        The columns of S.

    Examples
    --------
    >>> [bound.criterion for bound in bounds_at_most(["1.5,2"], ["income"])]
    [LIP(epsilon=0.40546510810816433), LIP(epsilon=0.6931471805599453)]
    """
    beliefs = [text for text in texts if "=" in text]
    factors = [text for text in texts if "=" not in text]
    if len(factors) != 1:
        raise InvalidInput(
            f"a curve needs one list of factors, such as 1.5,2,4; got {len(factors)}."
        )
    made = [
        at_most_of([repr(factor), *beliefs], sensitive)
        for factor in parse_numbers(factors[0], "at-most")
    ]
    return [Bound(math.nan, epsilon_of(criterion), criterion) for criterion in made]


def bounds_of(
    criterion: str | Criterion | Sequence[Bound],
    epsilons: Sequence[float] = (),
    splits: Sequence[float] = (0.5,),
    alpha: float | None = None,
) -> list[Bound]:
    """Return the criterion at every split and budget.

    Parameters
    ----------
    criterion
        One of `CRITERIA`; or a criterion, whose own budgets are scaled so that they sum to each
        epsilon (an infinite one stays infinite), and whose own split is kept; or the bounds, as
        `bounds_at_most` makes them.
    epsilons, splits, alpha
        As for `criterion_of`; splits and alpha do not matter for a criterion that has them.

    Examples
    --------
    >>> [bound.criterion for bound in bounds_of("alip", [1.0, 2.0], [0.25])]
    [ALIP(lower=0.25, upper=0.75), ALIP(lower=0.5, upper=1.5)]
    >>> from lowlift.criteria import L1Lift
    >>> bounds_of(L1Lift(math.inf, 0.5), [1.0])
    [Bound(split=nan, epsilon=1.0, criterion=L1Lift(lower=inf, upper=1.0))]
    """
    if isinstance(criterion, list | tuple):
        return list(criterion)
    if isinstance(criterion, str):
        is_single = criterion in SINGLE
        if criterion in NAMED or criterion == "every-prior":
            raise InvalidInput(
                f"a curve by name moves budgets in nats alone; {criterion} needs another number. "
                "Use lowlift.tradeoff with a list of criteria."
            )
        return [
            Bound(
                math.nan if split is None else split,
                epsilon,
                criterion_of(criterion, epsilon=epsilon, split=split, alpha=alpha),
            )
            for split in ([None] if is_single else splits)
            for epsilon in epsilons
        ]
    if isinstance(criterion, Population):
        return [
            bound._replace(criterion=Population(bound.criterion, criterion.confidence))  # type: ignore[arg-type]  # built in
            for bound in bounds_of(criterion.criterion, epsilons, splits, alpha)
        ]
    if not isinstance(criterion, BuiltIn) or isinstance(criterion, AtMost):
        raise InvalidInput(
            f"a curve needs a built-in criterion, which has budgets in nats to move; got "
            f"{type(criterion).__name__}. For bounds on beliefs use lowlift.tradeoff with a list."
        )
    criterion = criterion.in_nats
    parameters = criterion.parameters()
    sides = {k: v for k, v in parameters.items() if k not in criterion.fixed and v < math.inf}
    if not sides:
        raise InvalidInput(f"a curve needs a budget to move; {criterion} has none that is finite.")
    if not any(sides.values()):  # a budget of 0 cannot be scaled: its sides are taken as equal
        sides = dict.fromkeys(sides, 1.0)
    own = math.fsum(sides.values())
    return [
        Bound(
            split_of(criterion),
            epsilon,
            type(criterion)(**parameters | {k: v * epsilon / own for k, v in sides.items()}),
        )
        for epsilon in epsilons
    ]


def tradeoff_of(
    joint: Joint,
    *,
    criterion: str | Criterion | Sequence[Bound],
    mechanisms: Sequence[str],
    epsilons: Sequence[float] = (),
    splits: Sequence[float] = (0.5,),
    alpha: float | None = None,
    time_limit: float = 60.0,
    is_monotone: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> list[Point]:
    """Run every mechanism at every budget; every release is audited.

    Parameters
    ----------
    joint
        P(s, x).
    criterion, epsilons, splits, alpha
        See `bounds_of`.
    mechanisms
        Names of `MECHANISMS`; with "auto" no point keeps less than one at a tighter budget of the
        same split.
    time_limit
        Seconds for each search, which then gives the best so far.
    is_monotone
        Let every mechanism keep no less than at a tighter budget, as "auto" does.
    progress
        Called with the number of releases done and in all; returning False stops the sweep, which
        then has the points so far.
    """
    bounds = bounds_of(criterion, epsilons, splits, alpha)
    tasks = [(name, bound) for name in mechanisms for bound in bounds]
    # By rising budget, so that "auto" can take what a tighter one kept.
    order = sorted(range(len(tasks)), key=lambda k: tasks[k][1].epsilon)
    points, best = dict[int, Point](), dict[tuple[str, str], Release]()
    for done, k in enumerate(order, start=1):
        name, bound = tasks[k]
        start = time.perf_counter()
        asked = criterion_on(bound.criterion, joint)
        chosen = choose(name, joint, asked)
        release = released_by(chosen, joint, asked, time_limit=time_limit)
        if chosen.is_auto or is_monotone:
            key = name, str(bound.split)
            release = best[key] = _better(release, best.get(key))
        points[k] = Point.of(
            chosen.name,
            release.audit,
            release.certificate,
            split=bound.split,
            epsilon=bound.epsilon,
            seconds=time.perf_counter() - start,
        )
        if progress is not None and progress(done, len(tasks)) is False:
            break
    return [points[k] for k in sorted(points)]


def _better(release: Release, tighter: Release | None) -> Release:
    """Return the release, or the channel of one at a tighter budget where that keeps more."""
    if tighter is None or tighter.audit.nmi <= release.audit.nmi:
        return release
    other = Release.of(
        release.joint,
        tighter.channel,
        release.criterion,
        partition=tighter.partition,
        mechanism=tighter.mechanism,
    )
    if not other.audit.is_satisfied:
        return release
    known = release.certificate
    if known is None:
        return other
    return other.with_certificate(replace(known, gap=known.upper_bound - other.audit.nmi))


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
    svg, png = figure_files(curve_panels(points, None), "Privacy-utility trade-off")
    if path.suffix == ".svg":
        write_text(path, svg, is_private=True)
    else:
        write_bytes(path, png, is_private=True)


def read_curve(path: str | os.PathLike[str]) -> list[Point]:
    """Read the points that `write_curve` wrote as CSV.

    Raises
    ------
    InvalidInput
        For a file that is no such curve.
    """
    name = Path(path).name
    kinds = {field.name: field.type for field in fields(Point)}
    readers: dict[Any, Callable[[str], Any]] = {
        str: str,
        float: float,
        bool: {"True": True, "False": False}.__getitem__,
    }
    points = []
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            # Files written before searches said that they stopped have one column less.
            if next(rows, None) not in (list(kinds), list(kinds)[:-1]):
                raise InvalidInput(f"{name} must be a trade-off curve that lowlift wrote as .csv.")
            for row in rows:
                texts = zip(list(kinds.values())[: max(len(row), len(kinds) - 1)], row, strict=True)
                points.append(Point(*(readers[kind](text) for kind, text in texts)))
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}.") from error
    except (KeyError, ValueError, csv.Error) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{name} is damaged at point {len(points) + 1}.") from error
    if not points:
        raise InvalidInput(f"{name} has no points.")
    return points
