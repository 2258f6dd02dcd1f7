"""What a table says of the lifts in the population, when the table is a sample of it.

A lift ``l(s, y) = P(s|y) / P(s)`` is ``r / (pi r + 1 - pi)`` with pi = P(s) and the ratio
``r = P(y|s) / P(y|not s)``. Both lie in a confidence region of the population that the counts give:
see `lowlift.Population`.
"""

import math
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift._audit import Leakage
from lowlift._channel import Channel, check_pair
from lowlift._joint import Joint
from lowlift._kernels.lift import log_or_minus_inf, reciprocal
from lowlift._population.ratios import Entries, largest_ratios
from lowlift._population.rows import PRIOR_SHARE, counted_rows, discs_of, interval_of
from lowlift.criteria import LDP, AlphaLift, AtMost, BuiltIn, Criterion, EveryPrior, plain_criterion
from lowlift.errors import InvalidInput

__all__ = ["LiftIntervals", "check_level", "clopper_pearson", "lift_intervals", "smallest_sample"]


#: Steps of the arcs of the region's discs: fewer than for a verdict, and a little wider.
_STEPS = 24
#: No table is searched for that has more rows than this.
_MOST_ROWS = 2.0**50
#: For more draws than this, scipy's quantiles of the beta distribution lose digits or are NaN.
_MOST_DRAWS = 2.0**36


def check_level(level: float) -> float:
    """Return the level of confidence as a float between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1; got {level!r}. For example: 0.95.")
    return float(level)


def clopper_pearson(hits: Floats, trials: Floats, error: float) -> tuple[Floats, Floats]:
    """Return intervals that miss a binomial probability at most `error` of the time, each.

    Parameters
    ----------
    hits, trials
        Successes and draws, of shapes that broadcast.
    error
        Half of it for either side.

    Guarantee
        Exact for every probability and every number of draws. 0 successes give the lower end 0,
        as many as draws the upper end 1. For more than 2**36 draws the intervals are those of
        Hoeffding's inequality, which are wider.

    Examples
    --------
    >>> low, high = clopper_pearson(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.1871]), array([0.3085, 0.8129]))
    """
    from scipy.special import betainccinv, betaincinv

    n, k = np.broadcast_arrays(np.asarray(trials, np.float64), np.asarray(hits, np.float64))
    low, high = np.zeros(n.shape), np.ones(n.shape)
    many = n > _MOST_DRAWS
    some, rest = (k > 0) & ~many, (k < n) & ~many
    low[some] = betaincinv(k[some], n[some] - k[some] + 1, error / 2)
    high[rest] = betainccinv(k[rest] + 1, n[rest] - k[rest], error / 2)
    share = k[many] / n[many]
    width = np.sqrt(math.log(2 / error) / (2 * n[many])) + 1e-15  # the rounding of the share
    low[many], high[many] = np.maximum(share - width, 0), np.minimum(share + width, 1)
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class LiftIntervals:
    """Simultaneous intervals of the lifts in the population; `lift_intervals` makes them."""

    #: The ends of the interval of l(s, y), (|S|, |Y|).
    low: Floats
    high: Floats
    #: The ends of the interval of P(s), (|S|,).
    p_s_low: Floats
    p_s_high: Floats
    #: Per output, whether its lift is 1 whatever the population is: it says nothing about x.
    is_constant: Bools
    #: Per output, whether it mixes symbols unevenly.
    is_mixed: Bools
    level: float
    n_rows: int
    #: How many pairs (s, x) do not occur in the table.
    zero_cells: int

    def __repr__(self) -> str:
        n_s, n_y = self.low.shape
        return f"<LiftIntervals |S|={n_s} |Y|={n_y} level={self.level} rows={self.n_rows}>"

    @property
    def note(self) -> str:
        """What the intervals say, in words."""
        text = (
            f"If the table is the whole population the audit is exact. If it is a sample, all "
            f"{self.low.size} lifts of the population lie in their intervals with confidence "
            f"{self.level:g}, also for a channel that was chosen with the same rows."
        )
        if self.zero_cells:
            text += (
                f" {self.zero_cells} pair(s) of a sensitive and a released value do not occur: "
                "a sample cannot tell whether they are impossible."
            )
        return text

    def leakage(self, criterion: Criterion) -> Leakage:
        """Return the largest leakage that any lifts and any P(s) in the intervals have, per side.

        Never too low; too high where lifts cannot be at their ends at once.

        Raises
        ------
        InvalidInput
            For a criterion that is not built in: where its leakage is largest is not known.
        """
        if not isinstance(criterion, BuiltIn):
            raise InvalidInput(
                "the largest leakage in the intervals is known for built-in criteria only; got "
                f"{type(criterion).__name__}. Compare the ends of the intervals yourself."
            )
        criterion = plain_criterion(criterion)
        open_to_doubt = np.flatnonzero(~self.is_constant)
        if self.low.shape[0] == 1 or not len(open_to_doubt):
            return Leakage(0.0, 0.0)
        low, high = self.low[:, open_to_doubt], self.high[:, open_to_doubt]
        if isinstance(criterion, AtMost):  # a larger P(s) leaves a belief less room
            lower = max(0.0, -float(log_or_minus_inf(low.min())))
            return Leakage(lower, float(criterion.leakage(high, self.p_s_high)[1].max()))
        if criterion.is_box:
            return Leakage(
                max(0.0, -float(log_or_minus_inf(low.min()))),
                max(0.0, float(log_or_minus_inf(high.max()))),
            )
        if isinstance(criterion, LDP):
            return Leakage(0.0, float(_log_ratio(low, high).max()))
        if isinstance(criterion, EveryPrior):
            least, most = criterion.means(low)[0], criterion.means(high)[1]
            return Leakage(
                float((np.log(most) - log_or_minus_inf(low.min(axis=0))).max()),
                float((np.log(high.max(axis=0)) - log_or_minus_inf(least)).max()),
            )
        sides = [self._averaged(criterion, low[:, y], high[:, y]) for y in range(low.shape[1])]
        return Leakage(max(a for a, _ in sides), max(b for _, b in sides))

    def _averaged(self, criterion: BuiltIn, low: Floats, high: Floats) -> tuple[float, float]:
        """Return both sides for one output, its lifts and P(s) where the mean is largest."""
        if isinstance(criterion, AlphaLift):
            worst, weights = [low, high], [-low, high]
        else:
            ends = np.stack([low, high])
            off = [np.abs(reciprocal(ends) - 1), np.abs(ends - 1)]
            worst = [np.where(d[0] > d[1], low, high) for d in off]
            weights = [d.max(axis=0) for d in off]
        out = []
        for side in (0, 1):
            p_s = _heaviest(weights[side], self.p_s_low, self.p_s_high)
            out.append(float(criterion.leakage(worst[side][:, None], p_s)[side][0]))
        return out[0], out[1]

    def supports(self, criterion: Criterion) -> bool | None:
        """Tell whether the bound holds for every population in the intervals.

        None for a criterion that is not built in: it cannot be told.

        Examples
        --------
        >>> from lowlift.criteria import LIP
        >>> joint = Joint.from_counts([[400, 600], [600, 400]])
        >>> intervals = lift_intervals(joint, Channel.identity(joint))
        >>> intervals.supports(LIP(0.5)), intervals.supports(LIP(0.3))
        (True, False)
        """
        if not isinstance(criterion, BuiltIn):
            return None
        lower, upper = self.leakage(criterion)
        return lower <= criterion.lower and upper <= criterion.upper


def _log_ratio(low: Floats, high: Floats) -> Floats:
    """Return per output the largest log of high(s) / low(t) over s other than t."""
    most = np.sort(high, axis=0)[-2:]
    other = np.where(high == most[1], most[0], most[1])
    # With ties for the largest the second is as large, so any s may stand for it.
    ties = (high == most[1]).sum(axis=0) > 1
    other = np.where(ties, most[1], other)
    return np.asarray(np.maximum(0.0, (np.log(other) - log_or_minus_inf(low)).max(axis=0)))


def _heaviest(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the p with low <= p <= high and sum 1 that has the largest mean of the values.

    Only their order matters.
    """
    p, left = low.copy(), 1.0 - float(low.sum())
    for s in np.argsort(-values).tolist():
        step = min(left, float(high[s] - low[s]))
        p[s] += step
        left -= step
    return p


def lift_intervals(joint: Joint, channel: Channel, level: float = 0.95) -> LiftIntervals:
    """Return intervals that hold all lifts of the population at once, from a sample of its rows.

    With pi = P(s) and the ratio ``r = P(y|s) / P(y|not s)``, a lift is ``r / (pi r + 1 - pi)``. The
    ends of r are those of the region of populations that `lowlift.Population` uses, which holds for
    every channel at once. An output that every x has with one probability has lift 1.

    Parameters
    ----------
    joint
        Counted rows (`Joint.from_counts`).
    channel
        P(y | x).
    level
        The confidence that all intervals hold together.

    Raises
    ------
    InvalidInput
        For a joint that was not counted, a channel of another X, or a level not between 0 and 1.

    Guarantee
        Under independent draws of rows, all lifts lie in their intervals with probability `level`
        at least, for every population and size, also for a channel that was chosen with the same
        rows. A pair (s, x) that does not occur has the lower end 0.

    Cost
        O(|S| (|X| and the channel's positive weights)), some hundreds of times.

    Examples
    --------
    >>> joint = Joint.from_counts([[40, 60], [60, 40]])
    >>> found = lift_intervals(joint, Channel.identity(joint))
    >>> found.low.round(2), found.high.round(2)
    (array([[0.55, 1.  ],
           [1.  , 0.55]]), array([[1.  , 1.53],
           [1.53, 1.  ]]))
    """
    counts = _counted(joint, channel)
    return _intervals(counts, channel, Entries.of(channel), check_level(level))


def _counted(joint: Joint, channel: Channel) -> Floats:
    check_pair(joint, channel)
    if not joint.is_counted:
        raise InvalidInput(
            "intervals need counted rows; this joint was made of probabilities. "
            "Use Joint.from_counts."
        )
    return counted_rows(joint).astype(np.float64)


def _intervals(counts: Floats, channel: Channel, entries: Entries, level: float) -> LiftIntervals:
    """Return the intervals for counts, which need not be whole."""
    n_s, n_x = counts.shape
    mixed = np.minimum.reduceat(entries.weights, entries.starts) < 1
    constant = ~mixed & (np.diff(channel.offsets) == n_x)
    low, high = np.ones((2, n_s, channel.n_y))
    p_low, p_high = np.ones((2, n_s))
    # Of two values of S one disc is the mirror of the other: both hold or neither.
    sets = 1 if n_s == 2 else n_s
    error, told = 1 - level, ~constant
    for s in range(n_s if n_s > 1 else 0):
        inside, outside = counts[s], counts.sum(axis=0) - counts[s]
        prior = interval_of(inside.sum(), counts.sum(), PRIOR_SHARE * error / (2 * sets))
        p_low[s], p_high[s] = map(float, prior)
        if told.any():
            discs = discs_of(inside, outside, (1 - PRIOR_SHARE) * error / (2 * sets * n_x), _STEPS)
            most = largest_ratios(discs, entries)[told]
            least = 1 / largest_ratios(discs.mirrored(), entries)[told]
            high[s, told] = _lift(most, np.where(most > 1, p_low[s], p_high[s]))
            low[s, told] = _lift(least, np.where(least < 1, p_low[s], p_high[s]))
    for array in (low, high, p_low, p_high):
        array.flags.writeable = False
    zeros = int((counts == 0).sum())
    return LiftIntervals(low, high, p_low, p_high, constant, mixed, level, int(counts.sum()), zeros)


def _lift(ratio: Floats, p_s: Floats) -> Floats:
    """Return ``r / (p r + 1 - p)``; ``1 / p`` for an infinite r."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(ratio), 1 / p_s, ratio / (p_s * ratio + 1 - p_s))


def smallest_sample(
    joint: Joint, channel: Channel, criterion: Criterion, level: float = 0.95
) -> int | None:
    """Return about how many rows with the same shares would support the bound.

    None when no number up to 2**50 would: a lift is at its bound, or beyond it, or the bound on
    small lifts is met by pairs (s, x) that do not occur.

    Parameters
    ----------
    joint, channel, level
        As for `lift_intervals`.
    criterion
        A built-in criterion.

    Cost
        That of `lift_intervals`, up to 60 times.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[4, 6], [6, 4]])
    >>> smallest_sample(joint, Channel.identity(joint), LIP(0.5))
    320
    """
    counts, entries = _counted(joint, channel), Entries.of(channel)
    rows = float(counts.sum())
    check_level(level)

    def suffices(factor: float) -> bool:
        lower, upper = _intervals(counts * factor, channel, entries, level).leakage(criterion)
        return lower <= criterion.lower and upper <= criterion.upper

    if suffices(1.0):
        return int(rows)
    if not suffices(_MOST_ROWS / rows):
        return None
    enough = 2.0
    while not suffices(enough):
        enough *= 2
        if enough * rows > _MOST_ROWS:
            return None
    short = enough / 2
    for _ in range(6):  # to about one percent
        middle = (enough + short) / 2
        enough, short = (middle, short) if suffices(middle) else (enough, middle)
    return math.ceil(enough * rows)
