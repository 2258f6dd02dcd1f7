"""Sums of subsets and the best allowed partition against enumeration."""

import math

import numpy as np
import pytest

from lowlift._kernels import partitions


def set_partitions(items):
    """Yield all partitions of a list into lists."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in set_partitions(rest):
        yield [[first], *smaller]
        for k, block in enumerate(smaller):
            yield [*smaller[:k], [first, *block], *smaller[k + 1 :]]


def mask_of(block):
    return sum(1 << x for x in block)


@pytest.mark.parametrize("n", range(1, 8))
def test_subset_sums(n):
    columns = np.random.default_rng(n).random((3, n))
    sums = partitions.subset_sums(columns)
    assert sums.shape == (3, 1 << n)
    for mask in range(1 << n):
        members = [x for x in range(n) if mask >> x & 1]
        np.testing.assert_allclose(sums[:, mask], columns[:, members].sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("seed", range(30))
def test_the_best_allowed_partition_of_every_subset(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    allowed, gain = rng.random(1 << n) < rng.random(), rng.normal(size=1 << n)
    value, block = np.zeros(1 << n), np.zeros(1 << n, np.int32)
    middle = int(rng.integers(1, 1 << n))
    partitions.extend(allowed, gain, value, block, 1, middle)
    partitions.extend(allowed, gain, value, block, middle, 1 << n)
    for mask in range(1, 1 << n):
        members = [x for x in range(n) if mask >> x & 1]
        sums = [
            sum(gain[mask_of(part)] for part in whole)
            for whole in set_partitions(members)
            if all(allowed[mask_of(part)] for part in whole)
        ]
        assert value[mask] == pytest.approx(max(sums, default=-math.inf), abs=1e-12)
    found = partitions.blocks_of(block)
    if math.isinf(value[-1]):
        assert sum(found) != (1 << n) - 1 or not found
        return
    assert sum(found) == (1 << n) - 1  # blocks are disjoint
    assert all(allowed[mask] for mask in found)
    assert sum(gain[mask] for mask in found) == pytest.approx(value[-1], abs=1e-12)


def test_no_allowed_partition_has_no_blocks():
    value, block = np.zeros(4), np.zeros(4, np.int32)
    partitions.extend(np.zeros(4, np.bool_), np.zeros(4), value, block, 1, 4)
    assert value.tolist() == [0, -math.inf, -math.inf, -math.inf]
    assert partitions.blocks_of(block) == []
