"""Shares and means by groups of a published table, with intervals that include the drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowlift._arrays import Floats
from lowlift._display import MOST, card, frame
from lowlift._joint import Label
from lowlift._wording import cell, counted, shown
from lowlift.confidence import check_level, clopper_pearson

if TYPE_CHECKING:
    import pandas as pd

#: What the intervals of published rows cover.
OF_TABLE = (
    "Each interval covers the table that the rows were published from, alone and with {level} "
    "confidence: it includes the drawing."
)
OF_POPULATION = (
    "Each interval covers the population that the table is a random sample of, alone and with "
    "about {level} confidence: it includes the drawing and the sampling."
)


class Interval(NamedTuple):
    """An estimate between its ends; NaN where there is none."""

    value: float
    low: float
    high: float


class Group(NamedTuple):
    """A group of rows: its labels, one per column, its share, and the means asked for."""

    labels: tuple[Label, ...]
    #: Published rows; None where they do not count the group, as with drawn codes.
    rows: int | None
    share: Interval
    means: tuple[Interval, ...] = ()


@dataclass(frozen=True, eq=False)
class GroupEstimate:
    """What a published table says of groups of rows: shares, and means of columns of numbers."""

    by: tuple[str, ...]
    mean: tuple[str, ...]
    groups: tuple[Group, ...]
    rows: int
    level: float
    notes: tuple[str, ...] = ()

    @property
    def _fields(self) -> list[str]:
        ends = ("low", "high")
        names = ["share", *(f"mean_{name}" for name in self.mean)]
        return [part for name in names for part in (name, *(f"{name}_{end}" for end in ends))]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per group: its labels, rows, share and means with their ends."""
        found = []
        for group in self.groups:
            numbers = [end for interval in (group.share, *group.means) for end in interval]
            names = [*self.by, "rows", *self._fields]
            found.append(dict(zip(names, [*group.labels, group.rows, *numbers], strict=True)))
        return found

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row per group: its labels, rows, share and means with their ends."""
        return frame(self.records(), [*self.by, "rows", *self._fields])

    @property
    def head(self) -> tuple[str, ...]:
        """The head of the table as texts."""
        means = (part for name in self.mean for part in (f"mean {name}", "interval"))
        return (*self.by, "rows", "share", "interval", *means)

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The table as texts."""
        return [
            (
                *(cell(shown(label)) for label in group.labels),
                "" if group.rows is None else f"{group.rows:,}",
                *_texts(group.share, ".4f"),
                *(text for mean in group.means for text in _texts(mean, ".5g")),
            )
            for group in self.groups
        ]

    def _repr_html_(self) -> str:
        """Return the first groups as a notebook shows them."""
        more = len(self.groups) - 3 * MOST
        return card(
            f"Estimates from {self.rows:,} published rows",
            text=" ".join(self.notes),
            head=self.head,
            rows=self.lines[: 3 * MOST],
            left_off=f"and {counted(more, 'more group')}" if more > 0 else "",
        )


def _texts(found: Interval, form: str) -> tuple[str, str]:
    """Return an estimate and its interval as texts, empty where there is none."""
    value, low, high = (format(end, form) for end in found)
    return "" if np.isnan(found.value) else value, "" if np.isnan(found.low) else f"{low} to {high}"


class Counted(NamedTuple):
    """A group of published rows as counted: per mean, how many values, their mean and variance."""

    labels: tuple[Label, ...]
    rows: int
    numbers: tuple[tuple[int, float, float], ...] = ()


def group_estimate(
    by: Sequence[str],
    mean: Sequence[str],
    counted_groups: Sequence[Counted],
    level: float = 0.95,
    *,
    is_population: bool = False,
) -> GroupEstimate:
    """Estimate shares and means of groups from rows that were published from cells.

    Each of the n published rows is drawn independently of the others, and each row of the table is
    published once on the average, because the law of the cells is kept and rows are drawn uniformly
    inside a cell. So a group's published rows K have the mean n q, where q is its share in the
    table, for every group, whether or not it follows cells. K is a sum of n independent indicators
    of different chances. By Hoeffding (1956, theorem 4), beyond a distance of 1 from its mean each
    tail is at most that of the binomial with this mean. As n q is a whole number, that is every K
    but n q, and the interval of Clopper and Pearson covers q at the level or more. The mean
    of a column in a group is a ratio of two such sums; its variance is at most s**2 / K to
    first order.

    If the table is itself a random sample of as many rows, the share has at most twice that
    variance; the intervals are then those of half as many rows.

    Parameters
    ----------
    by, mean
        Columns of the groups, and columns of numbers whose means are wanted.
    counted_groups
        The groups of the published table.
    level
        Of each interval alone.
    is_population
        Whether the table is a sample, and the population is asked for.

    Examples
    --------
    >>> found = group_estimate(["job"], [], [Counted(("nurse",), 30), Counted(("smith",), 70)])
    >>> [round(end, 3) for end in found.groups[0].share]
    [0.3, 0.212, 0.4]
    """
    check_level(level)
    weight = 0.5 if is_population else 1.0
    rows = sum(group.rows for group in counted_groups)
    hits = np.array([group.rows for group in counted_groups], np.float64)
    total = np.array(weight * rows)
    low, high = clopper_pearson(weight * np.append(hits, 0.0), total, 1 - level)
    if not by:
        low[0] = 1.0  # all rows are one group, and that is certain
    found = [
        Group(
            group.labels,
            group.rows,
            Interval(group.rows / rows, float(low[k]), float(high[k])),
            tuple(_mean_interval(*part, level, weight) for part in group.numbers),
        )
        for k, group in enumerate(counted_groups)
    ]
    text = OF_POPULATION if is_population else OF_TABLE
    notes = [text.format(level=f"{level:.0%}" if round(100 * level) == 100 * level else f"{level}")]
    if by:
        notes.append(
            f"Groups without a published row are not listed; the share of each is at most "
            f"{float(high[-1]):.2g} with the same confidence."
        )
    return GroupEstimate(tuple(by), tuple(mean), tuple(found), rows, level, tuple(notes))


def _mean_interval(
    values: int, mean: float, variance: float, level: float, weight: float
) -> Interval:
    """Return the t interval of a mean; no ends for fewer than two values."""
    from scipy.special import stdtrit

    if values == 0:
        return Interval(np.nan, np.nan, np.nan)
    if values < 2:
        return Interval(mean, np.nan, np.nan)
    t = float(stdtrit(values - 1, (1 + level) / 2))
    width = t * float(np.sqrt(variance / (weight * values)))
    return Interval(mean, mean - width, mean + width)


class Total(NamedTuple):
    """Symbols whose total is estimated together, as `Block`: the groups they are in, and it."""

    groups: frozenset[int]
    value: float
    low: float
    high: float


def marginal(groups: Sequence[tuple[Label, ...]], totals: Sequence[Total]) -> list[Group]:
    """Return shares of groups of symbols from totals of P(X) with simultaneous intervals.

    A total whose symbols are in several groups is not known of either: it widens both.
    """
    value, low, high = np.zeros((3, len(groups)))
    for total in totals:
        here = list(total.groups)
        high[here] += total.high
        if len(here) == 1:
            low[here] += total.low
            value[here] += total.value
        else:
            value[here] = np.nan
    whole = _others(high)
    low, high = np.maximum(low, 1 - whole), np.minimum(high, 1 - _others(low))
    ends = zip(
        value.tolist(), np.clip(low, 0, 1).tolist(), np.clip(high, 0, 1).tolist(), strict=True
    )
    return [
        Group(labels, None, Interval(*three)) for labels, three in zip(groups, ends, strict=True)
    ]


def _others(ends: Floats) -> Floats:
    return np.asarray(ends.sum() - ends)
