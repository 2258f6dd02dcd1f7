"""The random response between merging and its bound, and monotone in the budgets."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import lowlift as ll

NOTIONS = {
    "alip": ll.ALIP,
    "ldp": lambda low, up: ll.LDP(low + up),
    "max-lift": lambda _, up: ll.MaxLift(up),
    "l1": lambda _, up: ll.L1Lift(math.inf, up),
}


@pytest.mark.parametrize("notion", NOTIONS)
@settings(max_examples=12)  # each solves to the optimum, for every notion
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(2, 9),
    st.floats(0.02, 1.5),
    st.floats(0.02, 1.5),
)
def test_merging_optimal_merging_random_response_bound(notion, seed, n_s, n_x, low, up):
    joint = ll.Joint.random(n_s, n_x, seed=seed)
    criterion = NOTIONS[notion](low, up)
    subset = ll.subset_merging(joint, criterion).audit.nmi
    merged = ll.optimal_merging(joint, criterion).audit.nmi
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert subset <= merged + 1e-12
    assert merged <= release.audit.nmi + 1e-6
    assert release.audit.nmi <= release.certificate.upper_bound <= 1
    # What atoms keep away from the boundary costs l1-lift a few 1e-6 at the smallest budgets.
    assert release.certificate.gap <= (1e-5 if notion == "l1" else 2e-6)
    assert release.audit.mutual_information <= joint.entropy_x + 1e-12


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_larger_budget_keeps_no_less(notion, seed):
    joint = ll.Joint.random(3, 8, seed=100 + seed)
    budgets = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    nmi = [ll.random_response(joint, NOTIONS[notion](e, e)).audit.nmi for e in budgets]
    assert (np.diff(nmi) >= -1e-6).all()
    if notion == "alip":
        for side in range(2):
            pairs = [(0.2, e) if side else (e, 0.2) for e in budgets]
            nmi = [ll.random_response(joint, ll.ALIP(*pair)).audit.nmi for pair in pairs]
            assert (np.diff(nmi) >= -1e-6).all()


@given(st.integers(0, 10**6), st.sampled_from([(2, 5), (3, 4), (3, 7), (5, 3)]), st.booleans())
def test_sparse_counts_never_break_the_guarantee(seed, sizes, is_zero_budget):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, sizes) * rng.integers(0, 2, sizes)
    counts[:, 0] += 1
    counts[0] += 1
    joint = ll.Joint.from_counts(counts)
    criterion = ll.LIP(0.0 if is_zero_budget else float(rng.uniform(0.01, 1)))
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi <= release.certificate.upper_bound + 1e-12
    assert release.audit.nmi >= ll.subset_merging(joint, criterion).audit.nmi
    assert ll.verify_certificate(joint, criterion, release.certificate)
