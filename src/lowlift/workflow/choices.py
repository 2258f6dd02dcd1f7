"""The names of mechanisms, and which mechanism fits a size."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lowlift._arguments import check_choice
from lowlift._joint import Joint
from lowlift._mechanisms.least_distortion import least_distortion
from lowlift._mechanisms.merging import subset_merging
from lowlift._mechanisms.optimal_merging import PROVEN_SYMBOLS, optimal_merging
from lowlift._mechanisms.random_response import random_response
from lowlift._mechanisms.subset_random_response import subset_random_response
from lowlift._mechanisms.tightened import tightened_merging
from lowlift._mechanisms.watchdog import watchdog
from lowlift._release import Release
from lowlift._solver.classes import Classes
from lowlift._solver.search import State
from lowlift.criteria import Criterion, Population
from lowlift.errors import InvalidInput

MECHANISMS = (
    "auto",
    "watchdog",
    "subset-merging",
    "optimal-merging",
    "random-response",
    "subset-random-response",
    "least-distortion",
)

#: Cells |S| |X| up to which a mechanism answers in a minute or so.
_MOST_CELLS: Mapping[str, int] = MappingProxyType(
    {
        "random-response": 20_000,
        "subset-random-response": 50_000,
        "optimal-merging": 100_000,
        "least-distortion": 20_000,
    }
)
#: Cells up to which the optimum for the population is searched.
_MOST_FOR_POPULATION = 3_000
#: Symbols up to which it does where S has two values.
_MOST_OF_TWO = 200_000
#: Steps |X|**2 |S| a second in merging, and the seconds that we are willing to start.
_MERGING_RATE, _MERGING_SECONDS = 3e9, 300.0

Progress = Callable[[State], object]


@dataclass(frozen=True)
class Chosen:
    """A mechanism by name, and why it."""

    name: str
    reason: str
    #: Whether "auto" chose it: then a looser budget must not keep less.
    is_auto: bool = False


def choose(name: str, joint: Joint, criterion: Criterion) -> Chosen:
    """Return the mechanism to run; "auto" takes the best one that the size allows."""
    check_choice(name, "mechanism", MECHANISMS)
    size = f"{joint.n_x:,} symbols of X by {joint.n_s:,} of S"
    if isinstance(criterion, Population):
        return _chosen_for_population(name, joint, size)
    cells, is_convex = joint.n_x * joint.n_s, getattr(criterion, "is_convex", True)
    seconds, different = joint.n_x**2 * joint.n_s / _MERGING_RATE, cells
    if is_convex and joint.n_s == 2 and name in {"auto", "random-response"}:
        if joint.n_x > _MOST_OF_TWO:
            raise InvalidInput(
                f"this table has {size}; the optimum takes up to {_MOST_OF_TWO:,}. "
                "Use wider bins or fewer columns.",
                advice="cells",
            )
        is_auto, reason = name == "auto", f"{size}: small enough for the optimum"
        return Chosen("random-response", reason if is_auto else "asked for", is_auto)
    if is_convex and cells > _MOST_CELLS["random-response"]:
        _refuse_hours(size, seconds)
        count = len(Classes(joint))  # what the optimum is searched on
        different, size = count * joint.n_s, f"{size}, with {count:,} different P(s|x)"
    if name != "auto":
        most = _MOST_CELLS.get(name)
        used = different if name == "random-response" else cells
        if most is not None and used > most:
            raise InvalidInput(
                f"{name} takes up to {most:,} cells; this table has {size}, {used:,} cells. "
                "Use mechanism auto or subset-merging, wider bins, or fewer columns."
            )
        _refuse_hours(size, seconds)
        return Chosen(name, "asked for")
    if is_convex and different <= _MOST_CELLS["random-response"]:
        return Chosen("random-response", f"{size}: small enough for the optimum", is_auto=True)
    if is_convex and cells <= _MOST_CELLS["subset-random-response"]:
        reason = f"{size}: too many for the optimum in a minute"
        return Chosen("subset-random-response", reason, is_auto=True)
    _refuse_hours(size, seconds)
    why = "too many to randomise" if is_convex else f"{criterion} is not convex"
    merging = "optimal-merging" if joint.n_x <= PROVEN_SYMBOLS else "subset-merging"
    return Chosen(merging, f"{size}; {why}", is_auto=True)


def _chosen_for_population(name: str, joint: Joint, size: str) -> Chosen:
    """Return the mechanism for a bound that holds for the population."""
    cells = joint.n_x * joint.n_s
    if name == "subset-random-response":
        raise InvalidInput(
            "subset-random-response takes bounds for this table only. Use mechanism auto for the "
            "population."
        )
    if name in {"auto", "random-response"} and cells <= _MOST_FOR_POPULATION:
        is_auto, reason = name == "auto", f"{size}: small enough for the optimum"
        return Chosen("random-response", reason if is_auto else "asked for", is_auto)
    if name == "random-response":
        raise InvalidInput(
            f"random-response takes up to {_MOST_FOR_POPULATION:,} cells for the population; this "
            f"table has {size}, {cells:,} cells. Use mechanism auto, wider bins or fewer columns."
        )
    _refuse_hours(size, 100 * joint.n_x**2 * joint.n_s / _MERGING_RATE)
    if name == "auto":
        return Chosen("subset-merging", f"{size}: too many for the optimum", is_auto=True)
    return Chosen(name, "asked for")


def _refuse_hours(size: str, seconds: float) -> None:
    if seconds > _MERGING_SECONDS:
        raise InvalidInput(
            f"this table has {size}: merging them would take about {seconds / 60:,.0f} minutes. "
            "Use wider bins or fewer columns.",
            advice="cells",
        )


def released_by(
    chosen: Chosen,
    joint: Joint,
    criterion: Criterion,
    *,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> Release:
    """Run the mechanism; searches stop after `time_limit` seconds with the best so far.

    What "auto" chose keeps no less when all budgets are raised by one factor, if it ends in time:
    the optimum does not (up to its gap of 1e-6), and merging takes the best of tighter budgets.
    """
    merge = tightened_merging if chosen.is_auto else subset_merging
    run: Mapping[str, Callable[[Joint, Criterion], Release]] = {
        "watchdog": functools.partial(watchdog, time_limit=time_limit),
        "subset-merging": functools.partial(merge, time_limit=time_limit),
        "optimal-merging": functools.partial(optimal_merging, time_limit=time_limit),
        "random-response": functools.partial(
            random_response, time_limit=time_limit, progress=progress
        ),
        "subset-random-response": functools.partial(subset_random_response, time_limit=time_limit),
        "least-distortion": functools.partial(least_distortion, time_limit=time_limit),
    }
    return run[chosen.name](joint, criterion)
