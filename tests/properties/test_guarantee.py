"""Every release of a mechanism satisfies its criterion, by an exact check that is not lowlift's."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from oracles import rational
from strategies import BUDGETS, criteria, joint_of, made, releases, tables, tiny_probabilities

INF = math.inf

MECHANISMS = (ll.watchdog, ll.subset_merging, ll.optimal_merging)

by_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)


def truths(table, channel, criterion):
    """Return per output whether the criterion allows it."""
    p_s = rational.prior(table)
    columns = rational.columns(table, channel.weights.tolist())
    return [rational.is_allowed(criterion, column, p_s) for column in columns]


def assert_guaranteed(table, release):
    assert all(truths(table, release.channel, release.criterion))
    assert release.audit.is_satisfied
    rows = release.channel.weights.tolist()
    assert all(sum(row) == release.channel.denominator for row in rows)


@by_mechanism
@given(tables(), criteria())
def test_mechanisms_keep_their_criterion(mechanism, table, criterion):
    assert_guaranteed(table, mechanism(joint_of(table), criterion))


@given(tables(), criteria(), st.lists(st.floats(0.01, 1), min_size=2, max_size=3))
def test_watchdog_keeps_its_criterion_for_any_r(table, criterion, outputs):
    assert_guaranteed(table, ll.watchdog(joint_of(table), criterion, outputs=outputs))


# Budgets between 300 and 700 are where inverses of cells of 1e-150 to 1e-290 stand.
@by_mechanism
@given(
    tiny_probabilities(),
    criteria(st.sampled_from([0.0, 1e-12, 1.0, 60.0, 340.0, 400.0, 455.0, 660.0, 700.0, INF])),
)
def test_mechanisms_keep_their_criterion_with_tiny_cells(mechanism, table, criterion):
    assert_guaranteed(table, mechanism(joint_of(table), criterion))


@by_mechanism
@pytest.mark.parametrize("cell", [1e-120, 1e-200, 1e-290])
@pytest.mark.parametrize("make", [ll.ALIP, ll.L1Lift, ll.Chi2Lift])
def test_mechanisms_see_a_lift_beyond_a_large_budget(mechanism, cell, make):
    """The inverse lift of the tiny cell is e**(-log cell), 60 nats beyond the budget."""
    table = [[cell, 0.25, 0.25], [0.2, 0.1, 0.2]]
    criterion = make(-math.log(cell) - 60, INF)
    joint = joint_of(table)
    assert ll.high_risk(joint, criterion) == (0,)
    assert_guaranteed(table, mechanism(joint, criterion))


@pytest.mark.parametrize("tiny", [1e-30, 1e-290])
@pytest.mark.parametrize("budget", [700.0, 1e4])
def test_no_finite_budget_allows_a_zero_lift_below(tiny, budget):
    """Beside a cell of 1e-290 every verdict is exact: a zero must not be lost there either."""
    table = [[0.0, tiny, 0.5], [0.2, 0.1, 0.2]]
    joint = joint_of(table)
    for criterion in (
        ll.LIP(budget),
        ll.ALIP(budget, INF),
        ll.LDP(budget),
        ll.L1Lift(budget, INF),
        ll.Chi2Lift(budget, INF),
        ll.AlphaLift(1, budget, INF),
        ll.AlphaLift(2.5, budget, INF),
        ll.AlphaLift(INF, budget, INF),
    ):
        audit = ll.audit(joint, ll.Channel.identity(joint), criterion)
        assert audit.allowed.tolist() == [False, True, True]
        assert truths(table, audit.channel, criterion) == [False, True, True]
        for mechanism in MECHANISMS:
            assert_guaranteed(table, mechanism(joint, criterion))


@by_mechanism
@pytest.mark.parametrize("alpha", [2.0, 2.5, 10.0, 1000.0])
def test_mechanisms_take_large_orders_and_tiny_cells(mechanism, alpha):
    table = [[1e-290, 0.25, 0.25], [0.2, 0.1, 0.2]]
    for criterion in (ll.AlphaLift(alpha, 600.0, 700.0), ll.AlphaLift(alpha, 700.0, 700.0)):
        assert_guaranteed(table, mechanism(joint_of(table), criterion))


@by_mechanism
@pytest.mark.filterwarnings("ignore:S takes one value only:lowlift.errors.LowliftWarning")
@given(tables(n_s=(1, 1)), criteria())
def test_one_sensitive_value_is_released_as_it_is(mechanism, table, criterion):
    release = mechanism(joint_of(table), criterion)
    assert_guaranteed(table, release)
    assert release.channel.n_y == len(table[0])
    # NMI divides by H(X): rounding counts the more, the smaller that is.
    rounding = 1e-13 / max(release.joint.entropy_x, 1e-13)
    assert release.audit.nmi == pytest.approx(1.0, abs=rounding)


@by_mechanism
@given(tables(n_x=(1, 1)), criteria())
def test_one_symbol_is_released_as_it_is(mechanism, table, criterion):
    release = mechanism(joint_of(table), criterion)
    assert_guaranteed(table, release)
    assert (release.channel.n_y, release.audit.nmi) == (1, 1.0)


@by_mechanism
@pytest.mark.parametrize(
    "table",
    [
        [[0.6], [0.3], [0.1]],
        [[0.3], [0.3], [0.3], [0.09999999999999999]],
        [[n * (2**53 + 1)] for n in (1, 1, 3, 1)],
    ],
)
def test_one_symbol_keeps_everything_whatever_its_sum_rounds_to(mechanism, table):
    """H(X) = 0, and NMI is 1; a float sum next to 1 must not make it 0."""
    release = mechanism(joint_of(table), ll.LIP(0.0))
    assert release.joint.entropy_x == 0
    assert release.audit.nmi == 1


@by_mechanism
def test_mechanisms_keep_every_pair_of_budgets(mechanism):
    table = [[0, 3, 2, 1, 7], [5, 1, 0, 1, 7], [2, 2, 3, 1, 8]]
    joint = joint_of(table)
    makes = (ll.ALIP, ll.L1Lift, ll.Chi2Lift, lambda a, b: ll.AlphaLift(2.5, a, b))
    for make, lower, upper in itertools.product(makes, BUDGETS, BUDGETS):
        assert_guaranteed(table, mechanism(joint, make(lower, upper)))


@given(releases(), criteria())
def test_the_audit_tells_the_truth(release, criterion):
    joint, channel = made(release)
    audit = ll.audit(joint, channel, criterion)
    expected = truths(release[0], channel, criterion)
    assert audit.allowed.tolist() == expected
    assert audit.is_satisfied == all(expected)
    assert len(audit.violations) == expected.count(False)


@given(
    releases(tiny_probabilities()),
    criteria(st.sampled_from([0.0, 1e-12, 1.0, 60.0, 345.0, 457.0, 667.0, 700.0, INF])),
)
def test_the_audit_tells_the_truth_with_tiny_cells(release, criterion):
    joint, channel = made(release)
    expected = truths(release[0], channel, criterion)
    assert ll.audit(joint, channel, criterion).allowed.tolist() == expected


@given(tables(), criteria())
def test_the_unrepaired_watchdog_is_told_apart(table, criterion):
    """The paper's watchdog may release a violating set; its audit says so, and so does `sample`."""
    joint = joint_of(table)
    release = ll.watchdog(joint, criterion, repair=False)
    expected = all(truths(table, release.channel, criterion))
    assert release.audit.is_satisfied == expected
    high = ll.high_risk(joint, criterion)
    alone = truths(table, ll.Channel.identity(joint), criterion)
    assert [x not in high for x in joint.x_labels] == alone
    if not expected:
        with pytest.raises(ll.BoundViolated):
            release.sample([0], seed=0)
