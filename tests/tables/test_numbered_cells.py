"""Cells of many conditions with long lists of values are found in little memory, exactly."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift._cells.tree import Split, Tree
from lowlift.tables import open_table
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import Column

LISTED = 200


def texts(numbers):
    return [f"text-number-{number:06d}-which-is-no-short-one" for number in numbers]


def chain(size):
    """One list of values after the other: cell k holds the k-th, the last all other values."""
    return [
        Split(
            0,
            -1 - k,
            k + 1 if k < size - 1 else -1 - size,
            values=tuple(texts(range(k * LISTED, (k + 1) * LISTED))),
        )
        for k in range(size)
    ]


def halves(size):
    """Numbers up to each bound, by halving: cell k holds the k-th part."""
    splits = []

    def below(first, last):
        if first == last:
            return -1 - first
        place, middle = len(splits), (first + last) // 2
        splits.append(None)
        ends = below(first, middle), below(middle + 1, last)
        splits[place] = Split(1, *ends, most=(middle + 1) * LISTED - 1)
        return place

    below(0, size)
    return splits


@pytest.mark.parametrize("splits", [chain(3), chain(300), halves(3), halves(500)])
def test_the_cell_of_each_row(splits, monkeypatch):
    monkeypatch.setenv("LOWLIFT_MEMORY", "250MB")
    size = len(splits)
    numbers = np.random.default_rng(0).integers(0, (size + 1) * LISTED, 20_000)
    frame = pd.DataFrame({"t": texts(numbers), "n": numbers})
    cells = Column("cells", "cells", CellBins(Tree(("t", "n"), tuple(splits)), ("text", "integer")))
    with open_table(frame) as table:
        table.hold(["t", "n"])
        counts = table.count([cells])
    found = dict(zip((cell for (cell,) in counts.symbols), counts.counts, strict=True))
    expected = np.bincount(numbers // LISTED, minlength=size + 1)
    assert found == {k: n for k, n in enumerate(expected.tolist()) if n}


def test_a_column_may_have_the_name_of_the_numbers_of_rows():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "RowId": rng.integers(5, 9, 600),
            "age": rng.integers(0, 90, 600),
            "ill": rng.random(600) < 0.4,
        }
    )
    safe = ll.sanitize(
        people, sensitive="ill", released=["RowId", "age"], cells=4, criterion=ll.LIP(1.0)
    )
    assert safe.verification.is_ok
    assert set(safe.table["RowId"]) <= set(people["RowId"])
