"""Exported statements draw what `apply` draws, in the engines themselves."""

from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.workflow import design
from lowlift.workflow.keys import subkey_text

KEY = bytes(range(32))
ROWS = 10_000
WARDS = ["north", 'it\'s \\ "quoted"', "{{ x }} {% y %}", "é\n", None]


def people(rows=ROWS, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, rows)
    frame = pd.DataFrame(
        {
            "pid": rng.permutation(rows),
            "ill": np.where(rng.random(rows) * 120 < age, "yes", "no"),
            "age": age,
            "ward": rng.choice(WARDS, rows),
        }
    )
    return frame.astype({"ward": object})


@pytest.fixture(scope="module")
def released():
    schema = ll.Schema("ill", ["age", "ward"], bins={"age": "width:10"}, encoding="values")
    return design(
        people(), schema, ll.LIP(0.3), mechanism="random-response", encoding="values", time_limit=3
    ).encoded.release


def test_a_statement_draws_in_duckdb_what_apply_draws(released):
    frame = people()
    program = ll.export(released, "sql", dialect="duckdb", table="people", id="pid")
    with duckdb.connect() as connection:
        connection.register("people", frame)
        connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey_text(released, KEY)}'")
        drawn = connection.execute(program.text).fetchall()
    wanted = released.apply(frame, id="pid", key=KEY)
    texts = wanted.astype(object).where(wanted.notna(), None)
    assert Counter(drawn) == Counter(texts.itertuples(index=False, name=None))
    assert len(set(drawn)) > 20
