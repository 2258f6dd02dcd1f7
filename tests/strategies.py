"""Hypothesis strategies: tables, channels, partitions, budgets and criteria.

A table is a list of |S| rows of |X| numbers, whole (counts) or floats (probabilities), so that a
test can do its own arithmetic on the very numbers a joint is made of; `joint_of` makes the joint.
"""

import math
from itertools import pairwise

from hypothesis import strategies as st

import lowlift as ll

INF = math.inf

#: Budgets from 0 up: nothing, almost nothing, the usual range, more than exp can hold, no bound.
BUDGETS = (0.0, 5e-324, 1e-12, 0.05, 0.3, 1.0, 8.0, 700.0, 1e4, INF)

#: Orders of alpha-lift, whole and not.
UNITS = ("nats", "bits")
ALPHAS = (1.0, 1.5, 2.0, 2.7, 10.0, INF)


def joint_of(table):
    """Return the joint of a table: of counts if its cells are whole, else of probabilities."""
    whole = all(isinstance(cell, int) for row in table for cell in row)
    return ll.Joint.from_counts(table) if whole else ll.Joint(table)


def without_empty_symbols(table):
    """Return the table with a 1 in every row and column that had no mass."""
    filled = [list(row) for row in table]
    n_x = len(filled[0])
    for s, row in enumerate(filled):
        if not any(row):
            row[s % n_x] = 1
    for x in range(n_x):
        if not any(row[x] for row in filled):
            filled[x % len(filled)][x] = 1
    return filled


def _table(cells, n_s, n_x):
    return st.lists(st.lists(cells, min_size=n_x, max_size=n_x), min_size=n_s, max_size=n_s).map(
        without_empty_symbols
    )


@st.composite
def counts(draw, n_s=(2, 4), n_x=(1, 5), cells=None):
    """Counts with zero cells, small numbers (so that ties are common) beside large ones."""
    if cells is None:
        cells = st.one_of(st.integers(0, 6), st.integers(0, 10**6))
    return draw(_table(cells, draw(st.integers(*n_s)), draw(st.integers(*n_x))))


def positive_counts(n_s=(2, 4), n_x=(1, 5)):
    """Counts without a zero cell."""
    return counts(n_s, n_x, st.one_of(st.integers(1, 6), st.integers(1, 10**6)))


@st.composite
def repeated_columns(draw, n_s=(2, 4), n_x=(1, 5)):
    """Counts where columns repeat, also at other sizes: equal lifts, equal risks."""
    few = draw(counts(n_s, (1, 2)))
    picks = draw(
        st.lists(
            st.tuples(st.integers(0, len(few[0]) - 1), st.integers(1, 3)),
            min_size=n_x[0],
            max_size=n_x[1],
        )
    )
    return without_empty_symbols([[row[x] * k for x, k in picks] for row in few])


@st.composite
def independent(draw, n_s=(2, 4), n_x=(1, 5)):
    """Counts of independent S and X: every lift is 1."""
    positive = st.integers(1, 1000)
    rows = draw(st.lists(positive, min_size=n_s[0], max_size=n_s[1]))
    columns = draw(st.lists(positive, min_size=n_x[0], max_size=n_x[1]))
    return [[a * b for b in columns] for a in rows]


@st.composite
def probabilities(draw, n_s=(2, 4), n_x=(1, 5), smallest=1e-6):
    """Floats that sum to 1 up to rounding, some of them 0, the others at least `smallest`."""
    cells = st.one_of(st.just(0.0), st.floats(smallest, 1.0))
    table = draw(_table(cells, draw(st.integers(*n_s)), draw(st.integers(*n_x))))
    total = math.fsum(cell for row in table for cell in row)
    return [[float(cell / total) for cell in row] for row in table]


@st.composite
def tiny_probabilities(draw, n_s=(2, 3), n_x=(2, 4)):
    """Floats some of which are as small as a joint takes, or 0."""
    small = st.sampled_from([1e-290, 1e-200, 1e-150, 1e-30, 0.0])
    few = draw(st.lists(small, min_size=1, max_size=4))
    table = draw(_table(st.floats(0.1, 1.0), draw(st.integers(*n_s)), draw(st.integers(*n_x))))
    # A first value of S that hardly occurs has lifts up to the inverse of its probability.
    rare = draw(st.sampled_from([1.0, 1.0, 1e-150, 1e-280]))
    table[0] = [cell * rare for cell in table[0]]
    total = math.fsum(cell for row in table for cell in row)
    table = [[float(cell / total) for cell in row] for row in table]
    for k, cell in enumerate(few):
        row = table[k % len(table)]
        x = draw(st.integers(0, len(row) - 2))
        # The mass goes to the last column, so that the sum stays 1 within rounding.
        row[-1] += row[x]
        row[x] = cell
        if not any(other[x] for other in table):
            row[x] = 1e-290
    return table


def tables(n_s=(2, 4), n_x=(1, 5)):
    """Every kind of table but the tiny ones."""
    return st.one_of(
        counts(n_s, n_x),
        positive_counts(n_s, n_x),
        repeated_columns(n_s, n_x),
        independent(n_s, n_x),
        probabilities(n_s, n_x),
    )


@st.composite
def weights(draw, n_x, n_y=(1, 4)):
    """Integer weights of a channel: |X| rows that sum to one power of two, no unused output."""
    denominator = draw(st.sampled_from([1, 2, 8, 1024, 1 << 40]))
    size = draw(st.integers(*n_y))
    ends = st.lists(st.integers(0, denominator), min_size=size - 1, max_size=size - 1).map(sorted)
    rows = []
    for _ in range(n_x):
        stops = [0, *draw(ends), denominator]
        rows.append([b - a for a, b in pairwise(stops)])
    used = [y for y in range(size) if any(row[y] for row in rows)]
    return [[row[y] for y in used] for row in rows]


@st.composite
def releases(draw, table=None):
    """A table and the weights of a channel for it."""
    cells = draw(tables() if table is None else table)
    return cells, draw(weights(len(cells[0])))


def made(release):
    """Return the joint and the channel of a table with weights."""
    table, channel_weights = release
    return joint_of(table), ll.Channel(channel_weights)


@st.composite
def partitions(draw, n):
    """Blocks of 0..n-1, as a list of lists."""
    blocks = []
    for x in range(n):
        k = draw(st.integers(0, len(blocks)))
        if k == len(blocks):
            blocks.append([])
        blocks[k].append(x)
    return blocks


def budgets():
    """Budgets from 0 up, inf included."""
    return st.one_of(st.sampled_from(BUDGETS), st.floats(0, 3))


def criteria(side=None):
    """Every criterion, with budgets on one side or on both."""
    side = budgets() if side is None else side
    alpha = st.sampled_from(ALPHAS)
    return st.one_of(
        st.builds(ll.LIP, side),
        st.builds(ll.ALIP, side, side),
        st.builds(ll.LDP, side),
        st.builds(ll.MaxLift, side),
        st.builds(ll.L1Lift, side, side),
        st.builds(ll.Chi2Lift, side, side),
        st.builds(ll.AlphaLift, alpha, side, side),
        st.builds(ll.BetaLikeness, st.sampled_from([0.0, 0.1, 0.25, 1.0, math.inf])),
        st.builds(ll.DeltaDisclosure, st.sampled_from([0.3, 1.0, 2.5]), st.sampled_from(UNITS)),
        st.builds(ll.TCloseness, st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])),
        st.builds(ll.EveryPrior, st.sampled_from([0.0, 0.01, 0.1, 0.25]), side, side),
    )
