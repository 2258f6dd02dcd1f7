"""How many rows a sample needs so that a bound for the population keeps enough of X."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowlift._arguments import check_instance
from lowlift._arrays import Ints
from lowlift._deadline import Deadline, check_time_limit
from lowlift._joint import Joint, check_joint
from lowlift._mechanisms.merging import subset_merging
from lowlift._mechanisms.random_response import random_response
from lowlift._release import Release
from lowlift._solver.search import State
from lowlift.criteria import BuiltIn, Population, criterion_on, plain_criterion
from lowlift.errors import Infeasible, InvalidInput

#: Cells |S| |X| up to which the optimum for the population is searched.
_MOST_CELLS = 3_000
#: No sample is tried that has more rows than this, or fewer.
_MOST_ROWS, _FEWEST_ROWS = 1 << 36, 10
#: The last two numbers of rows that were tried differ by this factor at the most.
_CLOSE = 1.02
#: How near to its bound a search goes that is not decided before.
_GAP = 1e-3
#: The part of the time that one sample may have.
_PART = 0.25


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows with the shares of a table keep so much of X; `rows_needed` finds it."""

    #: The fewest rows found that keep it; None where no number was found.
    rows: int | None
    #: The NMI asked for.
    keep: float
    #: The NMI that was found for so many rows; None where there are none.
    nmi: float | None
    #: The most rows found that keep less; None where none was tried.
    too_few: int | None
    #: The rows of the table.
    table_rows: int
    #: The NMI that a bound for this table keeps, and the proven bound on it: no sample keeps more.
    #: Of a criterion that is not convex merging keeps it, and nothing is proven: 1.
    table_nmi: float
    most: float
    #: Whether the search ended: `too_few` and `rows` are within 2%, or no number of rows keeps it.
    is_settled: bool


def rows_needed(
    joint: Joint,
    criterion: BuiltIn,
    keep: float,
    *,
    confidence: float = 0.95,
    time_limit: float | None = 60.0,
) -> RowsNeeded:
    """Return about how many rows a bound for the population needs to keep so much of X.

    The counts are scaled to samples of other sizes, each is designed on by `random_response`, and
    the number of rows is found by bisection.

    Parameters
    ----------
    joint
        Counted rows (`Joint.from_counts`), up to 3000 cells of S by X.
    criterion
        The bound, as `Population` takes it; or a `Population`, whose confidence then counts.
    keep
        The NMI to reach, above 0 and below 1.
    confidence
        Of the bound for the population.
    time_limit
        Seconds; then the best so far is returned, with `is_settled` False. None: no limit.

    Raises
    ------
    InvalidInput
        For a joint that was not counted or is too large, and for arguments out of range.

    Guarantee
        For samples with the shares of this table, in whole rows: `rows` of them keep `keep` by the
        exact audit. Another sample of as many rows has other shares and may keep more or less.

    Cost
        Some 10 to 20 searches of `random_response`, each until it is known on which side it ends.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[40, 60], [60, 40]])
    >>> found = ll.rows_needed(joint, ll.LIP(0.5), keep=0.99)
    >>> found.too_few < found.rows, 0.99 <= found.nmi <= found.most
    (True, True)
    """
    bound = _checked(joint, criterion, keep, confidence, time_limit)
    deadline = Deadline(time_limit)
    rows = int(joint.counts.sum())
    if bound.criterion.is_convex:
        alone = random_response(joint, bound.criterion, gap=_GAP, time_limit=_part(deadline))
    else:
        alone = subset_merging(joint, bound.criterion, time_limit=_part(deadline))
    proof = alone.certificate if bound.criterion.is_convex else None
    most = 1.0 if proof is None else proof.upper_bound

    def answer(
        found: tuple[int, float] | None, short: int | None, *, is_settled: bool
    ) -> RowsNeeded:
        enough, nmi = found or (None, None)
        return RowsNeeded(enough, keep, nmi, short, rows, alone.audit.nmi, most, is_settled)

    if most < keep:
        return answer(None, None, is_settled=True)
    enough, short = _bracket(joint, bound, keep, deadline)
    while enough is not None and short is not None and enough[0] > short * _CLOSE:
        middle = round(math.sqrt(enough[0] * short))
        if deadline.is_over or not short < middle < enough[0]:
            break
        nmi = _kept(joint, bound, middle, keep, deadline)
        enough, short = ((middle, nmi), short) if nmi >= keep else (enough, middle)
    if enough is None:
        return answer(None, short, is_settled=not deadline.is_over)
    least = _FEWEST_ROWS if short is None else short
    return answer(enough, short, is_settled=enough[0] <= max(least * _CLOSE, least + 1))


def _checked(
    joint: Joint, criterion: BuiltIn, keep: float, confidence: float, time_limit: float | None
) -> Population:
    """Return the bound for the population, or refuse the arguments."""
    check_joint(joint)
    check_instance(criterion, BuiltIn, "criterion", "For example: LIP(0.5).")
    check_time_limit(time_limit)
    is_number = isinstance(keep, int | float) and not isinstance(keep, bool)
    if not is_number or not 0 < keep < 1:
        raise InvalidInput(f"keep must lie between 0 and 1; got {keep!r}. For example: 0.8.")
    if not joint.is_counted:
        raise InvalidInput(
            "the rows needed are known for counted rows; this joint was made of probabilities. "
            "Use Joint.from_counts."
        )
    if joint.n_s * joint.n_x > _MOST_CELLS:
        raise InvalidInput(
            f"the rows needed are searched for up to {_MOST_CELLS:,} cells of S by X; got "
            f"{joint.n_s * joint.n_x:,}. Use wider bins or fewer columns."
        )
    plain: Any = criterion_on(plain_criterion(criterion), joint)
    sure = criterion.confidence if isinstance(criterion, Population) else confidence
    return Population(plain, sure)


def _bracket(
    joint: Joint, bound: Population, keep: float, deadline: Deadline
) -> tuple[tuple[int, float] | None, int | None]:
    """Return rows that keep enough with what they keep, and rows that keep too little.

    From the table's own size up or down by doubling.
    """
    size = int(joint.counts.sum())
    nmi = _kept(joint, bound, size, keep, deadline)
    enough, short = ((size, nmi), None) if nmi >= keep else (None, size)
    while not deadline.is_over and (enough is None or short is None):
        size = 2 * size if enough is None else size // 2
        if not _FEWEST_ROWS <= size <= _MOST_ROWS:
            break
        nmi = _kept(joint, bound, size, keep, deadline)
        enough, short = ((size, nmi), short) if nmi >= keep else (enough, size)
    return enough, short


def _kept(joint: Joint, bound: Population, rows: int, keep: float, deadline: Deadline) -> float:
    """Return the NMI found for so many rows with the same shares; the search stops when decided."""
    counts = _scaled(joint.counts, rows)
    if (counts.sum(axis=1) == 0).any():  # a sample that lacks a value of S says nothing of it
        return 0.0

    def is_open(state: State) -> bool:
        return state.nmi < keep <= state.bound

    sample = Joint.from_counts(counts[:, counts.sum(axis=0) > 0], joint.s_labels)
    try:
        found = _designed(sample, bound, deadline, is_open)
        if found.audit.nmi < keep <= found.audit.nmi + 1e-6:  # stopped a hair before rounding
            found = _designed(sample, bound, deadline, None)
    except Infeasible:  # a belief that P(s) may pass in the population
        return 0.0
    return found.audit.nmi


def _designed(
    sample: Joint,
    bound: Population,
    deadline: Deadline,
    progress: Callable[[State], object] | None,
) -> Release:
    limit = _part(deadline)
    return random_response(sample, bound, gap=_GAP, time_limit=limit, progress=progress)


def _part(deadline: Deadline) -> float | None:
    """Return the seconds that one search may have."""
    if math.isinf(deadline.end):
        return None
    return max(0.05, min(deadline.left, _PART * (deadline.end - deadline.start)))


def _scaled(counts: Ints, rows: int) -> Ints:
    """Return counts with the same shares and this sum: whole numbers, largest remainders first.

    Examples
    --------
    >>> _scaled(np.array([[1, 2], [3, 4]]), 5)
    array([[1, 1],
           [1, 2]])
    """
    total = int(counts.sum())
    parts = [divmod(int(count) * rows, total) for count in counts.flat]
    whole = np.array([part[0] for part in parts], np.int64)
    order = sorted(range(len(parts)), key=lambda k: -parts[k][1])
    whole[order[: rows - int(whole.sum())]] += 1
    return whole.reshape(counts.shape)
