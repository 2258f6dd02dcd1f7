"""Texts that DuckDB reads from our memory."""

import gc

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.shared_texts import SharedTexts

#: No half of a surrogate pair, which no UTF-8 has.
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def read(shared: SharedTexts, query: str = "FROM rows") -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.register("rows", shared)
        gc.collect()  # nothing may be gone that DuckDB still reads
        return connection.execute(query).fetchall()


@given(st.data())
def test_rows_are_the_texts_of_their_numbers(data):
    size = data.draw(st.integers(1, 300))
    columns = {
        name: data.draw(st.lists(TEXTS, min_size=size, max_size=size))
        for name in data.draw(st.lists(st.sampled_from(["a", "b b", "ä"]), min_size=1, unique=True))
    }
    numbers = np.array(data.draw(st.lists(st.integers(0, size - 1))), np.min_scalar_type(size))
    expected = [tuple(texts[k] for texts in columns.values()) for k in numbers.tolist()]
    assert read(SharedTexts(columns, numbers)) == expected


@pytest.mark.parametrize(("outputs", "kind"), [(7, np.uint8), (60_000, np.uint16), (70_000, "u4")])
def test_parts_come_in_order(outputs, kind):
    numbers = np.random.default_rng(1).integers(0, outputs, 1_300_001).astype(kind)
    texts = [None if k % 5 == 0 else f"text {k}" for k in range(outputs)]
    shared = SharedTexts({"v0": texts, "v1": [str(k) for k in range(outputs)]}, numbers)
    with duckdb.connect() as connection:
        connection.register("rows", shared)
        for _ in range(2):  # a query after another starts from the first row
            found = connection.execute("SELECT v1, v0 IS NULL AS missing FROM rows").fetchnumpy()
            np.testing.assert_array_equal(found["v1"].astype(np.int64), numbers)
            np.testing.assert_array_equal(found["missing"], numbers % 5 == 0)


def test_numbers_need_not_be_contiguous():
    assert read(SharedTexts({"v0": ["a", "b"]}, np.zeros(10, np.uint8)[::2])) == [("a",)] * 5


def test_a_sandbox_reads_them_and_types_are_text():
    sandbox = Sandbox([], "rows")
    try:
        sandbox.register("rows", SharedTexts({"v0": ["1", None]}, np.array([0, 1], np.uint8)))
        assert sandbox.run("SELECT v0, typeof(v0) FROM rows") == [
            ("1", "VARCHAR"),
            (None, "VARCHAR"),
        ]
    finally:
        sandbox.close()
