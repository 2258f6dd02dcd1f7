"""Groups of a published table and their means, on every engine."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.codebook import Codebook

NAN, NULL = float("nan"), None
JOBS = ["nurse", "nurse", "o'smith", "nurse", NULL, "o'smith", NULL, "nurse"]
AGES = [20, 31, 45, NULL, 50, 41, 38, 29]
PAYS = [1.5, NAN, 3.25, 2.5, 4.0, NULL, 1.0, 2.0]


def test_groups_and_means(store):
    table = store.put({"job": ("text", JOBS), "age": ("integer", AGES), "pay": ("real", PAYS)})
    kinds = {"job": "text", "age": "integer", "pay": "real"}
    book = Codebook._rows("rows", ll.LIP(0.5), [{"name": n, "kind": k} for n, k in kinds.items()])
    asked = {"by": ["job", "age"], "bins": {"age": "40"}, "mean": "pay", "engine": store.engine}
    found = ll.estimate(table, book, **asked)
    labels = {"< 40": lambda age: age < 40, ">= 40": lambda age: age >= 40}
    assert sum(group.rows for group in found.groups) == len(JOBS)
    for group in found.groups:
        job, age = group.labels
        rows = [
            pay
            for j, a, pay in zip(JOBS, AGES, PAYS, strict=True)
            if j == job and (a is None) == (age is None) and (a is None or labels[age](a))
        ]
        values = [pay for pay in rows if pay is not None and not math.isnan(pay)]
        assert group.rows == len(rows)
        mean = group.means[0]
        if not values:
            assert math.isnan(mean.value)
            continue
        assert mean.value == pytest.approx(np.mean(values))
        assert math.isnan(mean.low) == (len(values) < 2)


def test_a_table_of_every_engine_is_compared(store):
    table = store.put({"job": ("text", JOBS), "age": ("integer", AGES)})
    found = ll.compare(table, store.put({"job": ("text", JOBS), "age": ("integer", AGES)}),
                       engine=store.engine)  # fmt: skip
    assert [column.distance for column in found.columns] == [0, 0]
    assert found.unique_rows_published == len(JOBS)
