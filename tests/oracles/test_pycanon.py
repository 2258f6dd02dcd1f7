"""delta-disclosure, beta-likeness and t-closeness against pycanon, on tables of rows."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycanon import anonymity

import lowlift as ll
from lowlift import measures
from strategies import counts

#: Both sides are float ratios of small counts.
ABSOLUTE = 1e-12

pytestmark = pytest.mark.filterwarnings(
    # pycanon groups by a list of one column and reads the groups.
    "ignore:In a future version, the keys of `groups` will be a tuple"
)

small_positive_counts = counts(n_s=(2, 3), n_x=(1, 4), cells=st.integers(1, 9))


def rows_of(table):
    """Return the table as one row per person, s as strings (categories), a fresh index."""
    records = [
        (f"x{x}", f"s{s}")
        for s, row in enumerate(table)
        for x, number in enumerate(row)
        for _ in range(number)
    ]
    return pd.DataFrame(records, columns=["x", "s"])


def published(table):
    joint = ll.Joint.from_counts(table)
    return joint, ll.Channel.identity(joint)


@given(small_positive_counts)
def test_delta_disclosure_is_the_largest_log_lift(table):
    audit = ll.audit(*published(table), ll.LIP(1.0))
    delta = anonymity.delta_disclosure(rows_of(table), ["x"], ["s"])
    assert max(audit.leakage) == pytest.approx(delta, abs=ABSOLUTE)


@given(small_positive_counts)
def test_beta_likeness_is_the_largest_lift_less_one(table):
    beta = anonymity.basic_beta_likeness(rows_of(table), ["x"], ["s"])
    assert measures.max_lift(*published(table)).max() == pytest.approx(beta + 1, abs=ABSOLUTE)


@given(small_positive_counts)
def test_t_closeness_is_half_the_largest_l1_lift(table):
    t = anonymity.t_closeness(rows_of(table), ["x"], ["s"])
    assert measures.l1_lift(*published(table)).max() == pytest.approx(2 * t, abs=ABSOLUTE)


def test_pycanon_skips_zero_lifts_and_we_do_not():
    table = [[0, 2, 2], [4, 2, 2]]
    delta = anonymity.delta_disclosure(rows_of(table), ["x"], ["s"])
    assert delta == pytest.approx(math.log(1.5), abs=ABSOLUTE)
    audit = ll.audit(*published(table), ll.LIP(delta + ABSOLUTE))
    assert audit.min_lift_leakage == math.inf
    assert not audit.is_satisfied
    assert audit.worst.lift == 0
