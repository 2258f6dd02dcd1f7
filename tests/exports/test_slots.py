"""The table of slots, listed in few values, is the table of slots."""

import random

import duckdb
import pytest

from lowlift._exports.slots import listed_slots


def table(symbols, slots, share, seed):
    """Return a table whose slots are, but for a share of them, alike in each symbol."""
    rng = random.Random(seed)
    names = ("c", "slot", "threshold", "first", "other")
    rows = []
    for x in range(symbols):
        usual = (0, rng.randrange(9), rng.randrange(9))
        for k in range(slots):
            is_odd = rng.random() < share
            own = (rng.randrange(2**48), rng.randrange(9), rng.randrange(9)) if is_odd else usual
            rows.append((3 * x, k, *own))
    rng.shuffle(rows)
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("size", [(1, 1), (3, 8), (40, 64)])
def test_the_engine_makes_the_same_table(size, share):
    for seed in range(3):
        given = table(*size, share, seed)
        query = listed_slots("c", given).sql("duckdb", identify=True)
        found = duckdb.sql(query).fetchall()
        assert sorted(found) == sorted(zip(*given.values(), strict=True))


def test_few_values_are_listed_where_most_slots_are_alike():
    sizes = {
        share: len(listed_slots("c", table(40, 64, share, 0)).sql("duckdb")) for share in (0.02, 1)
    }
    assert 8 * sizes[0.02] < sizes[1]


@pytest.mark.parametrize("change", ["lacking", "twice"])
def test_a_table_that_is_not_full_is_listed_as_it_is(change):
    """A layout has several rows for a slot, or none."""
    given = table(40, 64, 0.02, 0)
    for values in given.values():
        if change == "lacking":
            values.pop()
        else:
            values.append(values[0])
    found = duckdb.sql(listed_slots("c", given).sql("duckdb", identify=True)).fetchall()
    assert sorted(found) == sorted(zip(*given.values(), strict=True))
