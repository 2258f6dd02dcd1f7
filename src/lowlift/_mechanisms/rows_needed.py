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
#: The part of the time that one sample may have: of those that are far apart, and later.
_FIRST_PART, _PART = 0.08, 0.2
#: By what factor samples differ until one keeps enough and one does not.
_STEP = 4


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows with the shares of a table keep so much of X; `rows_needed` finds it."""

    #: The fewest rows found that keep it; None where no number was found.
    rows: int | None
    #: The NMI asked for.
    keep: float
    #: The NMI that was found for so many rows; None where there are none.
    nmi: float | None
    #: The most rows for which no design was found that keeps it; None where none was tried.
    too_few: int | None
    #: The rows of the table.
    table_rows: int
    #: The NMI that a bound for this table keeps, and the proven bound on it: no sample keeps more.
    #: Of a criterion that is not convex merging keeps it, and nothing is proven: 1.
    table_nmi: float
    most: float
    #: Whether the search ended: `too_few` rows keep less (to 0.001 of NMI) and are within 2%, or no
    #: number of rows keeps it. Else fewer than `rows` may do.
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
        alone = random_response(joint, bound.criterion, gap=_GAP, time_limit=_part(deadline, _PART))
    else:
        alone = subset_merging(joint, bound.criterion, time_limit=_part(deadline, _PART))
    proof = alone.certificate if bound.criterion.is_convex else None
    most = 1.0 if proof is None else proof.upper_bound

    search = _Search(joint, bound, keep, deadline)
    is_settled = most < keep or search.run()
    enough, nmi = search.enough or (None, None)
    told = rows, alone.audit.nmi, most, is_settled
    return RowsNeeded(enough, keep, nmi, search.short, *told)


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


class _Search:
    """Samples of a table's shares, some that keep enough and some that do not."""

    def __init__(self, joint: Joint, bound: Population, keep: float, deadline: Deadline) -> None:
        self.joint, self.bound, self.keep, self.deadline = joint, bound, keep, deadline
        #: The fewest rows that keep enough, and what they keep.
        self.enough: tuple[int, float] | None = None
        #: The most rows that do not, and whether the search for them ended.
        self.short: int | None = None
        self.is_decided = True

    def run(self) -> bool:
        """Find both ends, then bisect; tell whether that ended.

        From the table's own size up or down by a factor.
        """
        size = int(self.joint.counts.sum())
        self._try(size, _FIRST_PART)
        while self.enough is None or self.short is None:
            size = _STEP * size if self.enough is None else size // _STEP
            if self.deadline.is_over or not _FEWEST_ROWS <= size <= _MOST_ROWS:
                return not self.deadline.is_over and self.is_decided
            self._try(size, _FIRST_PART)
        while self.enough[0] > max(self.short * _CLOSE, self.short + 1):
            if self.deadline.is_over:
                return False
            self._try(round(math.sqrt(self.enough[0] * self.short)), _PART)
        return self.is_decided

    def _try(self, rows: int, part: float) -> None:
        """Design on so many rows; the search stops when it is known whether they keep enough."""
        nmi, most = self._kept(rows, _part(self.deadline, part))
        if nmi >= self.keep:
            self.enough = rows, nmi
        else:
            self.short, self.is_decided = rows, most < self.keep + _GAP

    def _kept(self, rows: int, limit: float | None) -> tuple[float, float]:
        """Return the NMI found for so many rows, and the proven bound on it."""
        counts = _scaled(self.joint.counts, rows)
        if (counts.sum(axis=1) == 0).any():  # a sample that lacks a value of S says nothing of it
            return 0.0, 0.0
        sample = Joint.from_counts(counts[:, counts.sum(axis=0) > 0], self.joint.s_labels)
        try:
            found = self._designed(sample, limit, self._is_open)
            if found.audit.nmi < self.keep <= found.audit.nmi + 1e-6:  # a hair is lost in rounding
                found = self._designed(sample, limit, None)
        except Infeasible:  # a belief that P(s) may pass in the population
            return 0.0, 0.0
        return found.audit.nmi, 1.0 if found.certificate is None else found.certificate.upper_bound

    def _is_open(self, state: State) -> bool:
        return state.nmi < self.keep <= state.bound

    def _designed(
        self, sample: Joint, limit: float | None, progress: Callable[[State], object] | None
    ) -> Release:
        return random_response(sample, self.bound, gap=_GAP, time_limit=limit, progress=progress)


def _part(deadline: Deadline, part: float) -> float | None:
    """Return the seconds that one search may have."""
    if math.isinf(deadline.end):
        return None
    return max(0.05, min(deadline.left, part * (deadline.end - deadline.start)))


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
