"""delta-disclosure, beta-likeness and t-closeness against pycanon, on tables of rows."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycanon import anonymity

import lowlift as ll
from lowlift import measures
from oracles import rational
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


def exact(table):
    """Return the bounds that a table of rows just keeps, in fractions: delta's as the factor."""
    identity = np.eye(len(table[0]), dtype=int).tolist()
    p_s, lifts = rational.prior(table), rational.lifts(table, identity)
    least, most = rational.extremes((table, identity))
    distance = max(rational.l1(l_s, p_s) for l_s in lifts) / 2
    return most - 1, max(most, 1 / least if least else math.inf), distance


def decided(table, criterion):
    """Return the verdict on publishing x as it is."""
    return ll.audit(*published(table), criterion).is_satisfied


@given(small_positive_counts)
def test_the_criteria_hold_at_what_pycanon_measures(table):
    rows, (beta, factor, t) = rows_of(table), exact(table)
    measured = anonymity.basic_beta_likeness(rows, ["x"], ["s"])
    assert measured == pytest.approx(float(beta), abs=ABSOLUTE)
    assert decided(table, ll.BetaLikeness(measured + ABSOLUTE))
    assert measured < ABSOLUTE or not decided(table, ll.BetaLikeness(max(0, measured - ABSOLUTE)))
    measured = anonymity.delta_disclosure(rows, ["x"], ["s"])
    assert measured == pytest.approx(math.log(factor), abs=ABSOLUTE)
    for unit, scale in (("nats", 1.0), ("bits", math.log(2))):
        assert decided(table, ll.DeltaDisclosure(measured / scale + ABSOLUTE, unit))
        below = measured / scale - ABSOLUTE
        assert below <= 0 or not decided(table, ll.DeltaDisclosure(below, unit))
    measured = anonymity.t_closeness(rows, ["x"], ["s"])
    assert measured == pytest.approx(float(t), abs=ABSOLUTE)
    assert decided(table, ll.TCloseness(min(1, measured + ABSOLUTE)))
    assert measured < ABSOLUTE or not decided(table, ll.TCloseness(max(0, measured - ABSOLUTE)))


@given(counts(n_s=(2, 3), n_x=(1, 4), cells=st.integers(0, 6)))
def test_the_criteria_hold_at_the_exact_bound_with_zero_cells_too(table):
    beta, factor, t = exact(table)
    is_decimal = Fraction(repr(float(beta))) == beta
    assert decided(table, ll.BetaLikeness(beta)) is is_decimal  # others are rounded down
    assert Fraction(repr(float(t))) != t or decided(table, ll.TCloseness(t))
    assert decided(table, ll.DeltaDisclosure(50.0)) is (factor < math.inf)


def test_pycanon_takes_one_minimum_of_enhanced_beta_likeness_and_the_definition_one_per_value():
    # s0 is certain in x0: its lift is 4/3, and -log P(s0) = 0.29 is less than 1/3.
    table = [[4, 2], [0, 2]]
    rows = rows_of(table)
    measured = anonymity.enhanced_beta_likeness(rows, ["x"], ["s"])
    assert measured == pytest.approx(anonymity.basic_beta_likeness(rows, ["x"], ["s"]))
    joint, channel = published(table)
    for beta in (measured + ABSOLUTE, 100):  # no beta allows what -log P(s) forbids
        assert not ll.audit(joint, channel, ll.BetaLikeness.enhanced(beta, joint)).is_satisfied


def test_pycanon_skips_zero_lifts_and_we_do_not():
    table = [[0, 2, 2], [4, 2, 2]]
    delta = anonymity.delta_disclosure(rows_of(table), ["x"], ["s"])
    assert delta == pytest.approx(math.log(1.5), abs=ABSOLUTE)
    audit = ll.audit(*published(table), ll.LIP(delta + ABSOLUTE))
    assert audit.min_lift_leakage == math.inf
    assert not audit.is_satisfied
    assert audit.worst.lift == 0
    assert not decided(table, ll.DeltaDisclosure(delta + ABSOLUTE))
    assert decided(table, ll.BetaLikeness(0.5))  # which has no lower side


@given(counts(n_s=(2, 3), n_x=(1, 4)))
def test_maximal_leakage_is_the_mean_of_what_pml_bounds(table):
    joint, channel = published(table)
    identity = np.eye(joint.n_x, dtype=int).tolist()
    lifts = rational.lifts(table, identity)
    masses = [sum(column) for column in rational.columns(table, identity)]
    mean = sum(m * max(l_s) for m, l_s in zip(masses, lifts, strict=True)) / sum(masses)
    assert measures.maximal_leakage(joint, channel) == pytest.approx(math.log(mean), abs=ABSOLUTE)
    budget = rational.log_up(max(max(l_s) for l_s in lifts))
    assert decided(table, ll.PML(budget))
    assert measures.maximal_leakage(joint, channel) <= budget + ABSOLUTE
