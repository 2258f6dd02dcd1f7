"""The compiled merging of blocks against the same steps in plain Python."""

import math

import numpy as np
import pytest

from lowlift._kernels import merging

INF = math.inf
BOX, LDP, L1, CHI2, ALPHA = range(5)
#: Kind, order, and budgets: both sides, each side alone.
REGIONS = [
    (BOX, 0.0, 0.3, 0.2),
    (BOX, 0.0, INF, 0.25),
    (BOX, 0.0, 0.4, INF),
    (LDP, 0.0, INF, 0.6),
    (L1, 0.0, 0.3, 0.2),
    (L1, 0.0, INF, 0.15),
    (CHI2, 0.0, 0.4, 0.3),
    (CHI2, 0.0, 0.35, INF),
    (ALPHA, 1.0, 0.3, 0.2),
    (ALPHA, 2.0, INF, 0.2),
    (ALPHA, 7.5, 0.3, 0.25),
]


def measures(region, q, p_s):
    """Return the zero lifts and the two sides' measures of a block, zero lifts left out."""
    kind, alpha, _, _ = region
    mass = sum(p * value for p, value in zip(p_s, q, strict=True))
    lifts = [value / mass for value in q]
    pairs = [(p, lift) for p, lift in zip(p_s, lifts, strict=True) if lift > 0]
    zeros = len(lifts) - len(pairs)
    if kind in (BOX, LDP):
        return zeros, max(1 / lift for _, lift in pairs), max(lifts)
    if kind == ALPHA:
        inverse = sum(p * lift**-alpha for p, lift in pairs) ** (1 / alpha)
        return zeros, inverse, sum(p * lift**alpha for p, lift in pairs) ** (1 / alpha)
    power = 1 if kind == L1 else 2
    direct = sum(p * abs(lift - 1) ** power for p, lift in zip(p_s, lifts, strict=True))
    return zeros, sum(p * abs(1 / lift - 1) ** power for p, lift in pairs), direct


def risk(region, q, p_s):
    zeros, inverse, direct = measures(region, q, p_s)
    kind, _, lower, upper = region
    if kind == LDP:
        return zeros, inverse * direct
    if lower == INF:
        return 0, direct
    if upper == INF:
        return zeros, inverse
    return zeros, inverse * direct if kind == BOX else inverse + direct


def is_allowed(region, q, p_s):
    zeros, inverse, direct = measures(region, q, p_s)
    kind, _, lower, upper = region
    if kind == LDP:
        return not zeros and math.log(inverse * direct) <= upper
    leakage = {L1: math.log1p, CHI2: lambda sum_: math.log1p(math.sqrt(sum_))}.get(kind, math.log)
    low, high = INF if zeros else leakage(inverse), leakage(direct)
    return low <= lower and high <= upper


def merged(region, columns, p_s):
    """Grow each block from the riskiest symbol left, by the one that leaves it at least risk."""
    left, blocks = set(range(columns.shape[1])), []
    while left:
        worst = max(left, key=lambda x: (*risk(region, columns[:, x].tolist(), p_s), -x))
        left.remove(worst)
        blocks.append([worst])
        while True:
            q = columns[:, blocks[-1]].sum(axis=1)
            if is_allowed(region, q.tolist(), p_s):
                break
            if not left:
                return blocks, False
            after = {x: risk(region, (q + columns[:, x]).tolist(), p_s) for x in left}
            nearest = min(left, key=lambda x: (*after[x], x))
            left.remove(nearest)
            blocks[-1].append(nearest)
    return blocks, True


def covered(region, columns, p_s, patience=10**9, error=1e-14):
    """Run the kernel to its end, going on wherever it pauses; return blocks, status, pauses."""
    n_s, n = columns.shape
    pool, ids, current = columns.copy(), np.arange(n), np.empty(n_s)
    taken, ends, zeros = (np.zeros(n, np.int64) for _ in range(3))
    state = blocks = placed = pauses = 0
    left, risks = n, np.zeros(n)
    while True:
        status, left, blocks, placed = merging.cover(
            *region, error, p_s, current, pool, ids, left, taken, state, zeros, risks, ends,
            blocks, placed, n, patience,
        )  # fmt: skip
        if status != merging.PAUSED:
            break
        pauses += 1
        state = 1 if placed > (ends[blocks - 1] if blocks else 0) else 0
    stops = [*ends[:blocks].tolist(), *([placed] if status != merging.HOLDS else [])]
    order = taken[:placed].tolist()
    return [order[a:b] for a, b in zip([0, *stops[:-1]], stops, strict=True)], status, pauses


def case(seed, *, with_zeros):
    rng = np.random.default_rng(seed)
    n_s, n = int(rng.integers(2, 5)), int(rng.integers(2, 14))
    p_sx = rng.random((n_s, n)) ** 2
    if with_zeros:
        p_sx[rng.random((n_s, n)) < 0.15] = 0.0
        p_sx[rng.integers(n_s, size=n), np.arange(n)] += 0.1
    p_s = p_sx.sum(axis=1) / p_sx.sum()
    return np.ascontiguousarray(p_sx / p_s[:, None]), p_s


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("with_zeros", [False, True])
def test_blocks_are_those_of_the_plain_steps(region, with_zeros):
    several = 0
    for seed in range(25):
        columns, p_s = case(seed, with_zeros=with_zeros)
        expected, is_whole = merged(region, columns, p_s.tolist())
        several += len(expected) > 1
        found, status, _ = covered(region, columns, p_s)
        if status == merging.UNDECIDED:  # all symbols in one block: their lift is exactly 1
            assert sorted(x for block in found for x in block) == list(range(columns.shape[1]))
            continue
        assert found == expected
        assert status == (merging.HOLDS if is_whole else merging.EMPTY)
    assert several > 5


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_a_pause_changes_nothing(region):
    for seed in range(10):
        columns, p_s = case(seed, with_zeros=False)
        at_once = covered(region, columns, p_s)
        slowly = covered(region, columns, p_s, patience=0)
        assert slowly[:2] == at_once[:2]
        assert slowly[2] > 0


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_what_floats_cannot_tell_is_left_undecided(region):
    columns, p_s = case(1, with_zeros=False)
    blocks, status, _ = covered(region, columns, p_s, error=1.0)
    assert (status, len(blocks), len(blocks[0])) == (merging.UNDECIDED, 1, 1)


def test_more_candidates_than_are_scored_side_by_side():
    rng = np.random.default_rng(0)
    p_sx = rng.random((3, 200))
    p_s = p_sx.sum(axis=1) / p_sx.sum()
    columns = np.ascontiguousarray(p_sx / p_s[:, None])
    for region in REGIONS:
        found, status, _ = covered(region, columns, p_s)
        assert (found, status) == (merged(region, columns, p_s.tolist())[0], merging.HOLDS)
