"""A looser budget never keeps less: what is valid at a tighter one is valid at it."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._mechanisms import tightened
from lowlift._mechanisms.tightened import tightened_merging
from lowlift.workflow.choices import choose, released_by

#: What a search to the end may leave: the random response stops at this gap.
GAP = 1e-6

MERGED = {
    "l1": lambda e: ll.L1Lift(0.4 * e, 0.6 * e),
    "chi2": lambda e: ll.Chi2Lift(e, e),
}
RANDOMISED = {
    "lip": ll.LIP,
    "alip": lambda e: ll.ALIP(0.65 * e, 0.35 * e),
    "max-lift": ll.MaxLift,
    "alpha": lambda e: ll.AlphaLift(2.0, math.inf, e),
}
BUDGETS = st.lists(st.floats(0.01, 3.0), min_size=4, max_size=8).map(sorted)
SEEDS = st.integers(0, 10**6)


def kept(joint, criterion):
    release = released_by(choose("auto", joint, criterion), joint, criterion, time_limit=600.0)
    assert release.audit.is_satisfied
    assert release.audit.is_certified
    assert release.certificate is None or not release.certificate.is_stopped
    return release.audit.nmi


@pytest.mark.parametrize("notion", MERGED)
@given(seed=SEEDS, n_x=st.integers(19, 30), budgets=BUDGETS)
def test_auto_merges_no_more_at_a_looser_budget(notion, seed, n_x, budgets):
    joint = ll.Joint.random(3, n_x, seed=seed)
    found = [kept(joint, MERGED[notion](epsilon)) for epsilon in budgets]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(found))
    plain = ll.subset_merging(joint, MERGED[notion](budgets[-1])).audit.nmi
    assert found[-1] >= plain - 1e-12


@pytest.mark.parametrize("notion", MERGED)
@given(seed=SEEDS, n_x=st.integers(3, 9), budgets=BUDGETS)
def test_auto_takes_the_best_partition_of_few_symbols(notion, seed, n_x, budgets):
    joint = ll.Joint.random(3, n_x, seed=seed)
    found = [kept(joint, MERGED[notion](epsilon)) for epsilon in budgets]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("notion", RANDOMISED)
@given(seed=SEEDS, n_x=st.integers(3, 7), budgets=BUDGETS)
def test_auto_randomises_no_more_at_a_looser_budget(notion, seed, n_x, budgets):
    joint = ll.Joint.random(2, n_x, seed=seed)
    found = [kept(joint, RANDOMISED[notion](epsilon)) for epsilon in budgets]
    assert all(a <= b + GAP for a, b in itertools.pairwise(found))


@given(seed=SEEDS, epsilon=st.floats(0.05, 3.0))
def test_all_partitions_at_tighter_budgets_are_listed(seed, epsilon):
    """Budgets between those that were tried give nothing better."""
    joint = ll.Joint.random(3, 14, seed=seed)
    best = tightened_merging(joint, ll.LIP(epsilon)).audit.nmi
    for k in range(1, 60):
        tighter = ll.subset_merging(joint, ll.LIP(epsilon * k / 60))
        assert tighter.audit.nmi <= best + 1e-12


def test_algorithm_1_itself_keeps_less_at_a_looser_budget():
    """The reason for all this; Algorithm 1 stays as it is printed."""
    joint = ll.Joint.random(4, 10, seed=1)
    tight, loose = (ll.subset_merging(joint, ll.LIP(e)).audit.nmi for e in (0.5805, 1.0))
    assert loose < tight
    assert tightened_merging(joint, ll.LIP(1.0)).audit.nmi == pytest.approx(tight)


def test_many_symbols_have_a_few_tighter_budgets(monkeypatch):
    joint = ll.Joint.random(4, 10, seed=1)
    monkeypatch.setattr(tightened, "LISTED_SYMBOLS", 5)
    found = [tightened_merging(joint, ll.LIP(0.1 * k)) for k in range(1, 30)]
    for k, release in enumerate(found):
        assert release.audit.is_satisfied
        plain = ll.subset_merging(joint, ll.LIP(0.1 * (k + 1)))
        assert release.audit.nmi >= plain.audit.nmi - 1e-12
    assert tightened_merging(joint, ll.LIP(0)).audit.nmi == 0
    assert tightened_merging(joint, ll.MaxLift(math.inf)).audit.nmi == 1
