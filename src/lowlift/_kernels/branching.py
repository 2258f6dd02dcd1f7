"""What a node of branch and bound splits (see `branch_and_bound`)."""

import math

from lowlift._arrays import Floats
from lowlift._kernels.compilation import helper
from lowlift._kernels.underestimates import APART, JOINTLY, Linear, Node, binary_entropy, chord

LEVELS = 16  # opened coordinates at the most
#: Least weight of an interval's width against its error, when choosing what to split.
_WIDTH = 0.02
#: Split 1 - f in proportion where (1 - high) / (1 - low) is below this.
_PROPORTION = 0.4


@helper()
def _error_apart(lo: float, hi: float, t: float) -> float:
    """Return by how much -t log t exceeds its chord."""
    begin, tilt = chord(lo, hi)
    return -t * math.log(t) - begin - tilt * t if t > 1e-13 else 0.0


@helper()
def what_to_split(
    kind: int, depth: int, node: Node, linear: Linear, x: Floats, pi: Floats
) -> tuple[int, float]:
    """Return the level to split and where; `depth` stands for opening a coordinate, -1 for none."""
    keys, low, high, is_key = node
    cost, lo, hi, start, slope = linear
    left, level, largest = 1.0, -1, 0.0
    for i in range(depth):
        if high[i] - low[i] < 1e-7:
            left -= x[keys[i]]
            continue
        share = min(max(x[keys[i]] / left, low[i]), high[i]) if left > 1e-12 else low[i]
        off = left * (high[i] - low[i]) * _WIDTH
        # Also where coordinates are taken apart: only the chain's errors end with the intervals.
        if not (kind == JOINTLY and i == depth - 1):
            off = max(off, left * (binary_entropy(share) - (start[i] + slope[i] * share)))
        if off > largest:
            largest, level = off, i
        left -= x[keys[i]]
    rest = 0.0
    if left > 1e-12:
        for j in range(pi.size):
            if not is_key[j] and x[j] > 1e-13:
                if kind == APART:
                    rest += _error_apart(lo[j], hi[j], x[j])
                else:
                    rest += x[j] * (-math.log(x[j] / left) - (cost[j] + pi[j]))
        if kind == JOINTLY:
            i = depth - 1
            both = left + x[keys[i]]
            share = x[keys[i]] / both
            rest += both * (binary_entropy(share) - (start[i] + slope[i] * share))
    if (rest > largest or level < 0) and depth < LEVELS - 1:
        level, point, proportion = depth, 0.0, _PROPORTION
        for i in range(depth):
            ratio = (1 - high[i]) / (1 - low[i]) if low[i] < 1 else 1.0
            if ratio < proportion and high[i] - low[i] > 1e-6:
                proportion, level = ratio, i
                point = 1 - math.sqrt(max(1 - high[i], 0.02 * (1 - low[i])) * (1 - low[i]))
        return level, point
    if level < 0:
        return -1, 0.0
    left = 1.0
    for i in range(level):
        left -= x[keys[i]]
    width = high[level] - low[level]
    point = x[keys[level]] / left if left > 1e-12 else 0.0
    # Also where x is no number: the two halves must cover the interval.
    if not low[level] + 0.15 * width <= point <= high[level] - 0.15 * width:
        point = 0.5 * (low[level] + high[level])
    return level, point
