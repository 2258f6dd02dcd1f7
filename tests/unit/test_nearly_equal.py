"""Nearly equal columns joined: what is designed holds, what is proven is true, forgeries fail."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._mechanisms import random_response as module
from lowlift._solver.classes import Classes, binned

CRITERIA = [
    ll.LIP(0.7),
    ll.ALIP(0.9, 0.5),
    ll.MaxLift(0.6),
    ll.LDP(1.2),
    ll.L1Lift(math.inf, 0.4),
    ll.Chi2Lift(math.inf, 0.5),
    ll.AlphaLift(2.0, math.inf, 0.3),
    ll.AlphaLift(5.0, 0.8, 0.4),
]


def clusters(seed, n_s=3, groups=8, each=8, width=0.02):
    """A joint of groups of symbols whose columns differ by a few percent."""
    rng = np.random.default_rng(seed)
    columns = np.repeat(rng.dirichlet(np.ones(n_s), groups), each, axis=0).T
    columns = columns * np.exp(rng.uniform(-width, width, columns.shape))
    return ll.Joint.from_counts(np.ceil(columns * rng.integers(10**5, 10**7, groups * each)))


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@given(seed=st.integers(0, 2**32), width=st.floats(0.001, 0.5))
def test_raised_budgets_hold_for_lifts_within_the_factor(criterion, seed, width):
    rng = np.random.default_rng(seed)
    p_s = rng.dirichlet(np.ones(4))
    lifts = rng.dirichlet(np.full(4, 1 + 30 * rng.random()), 50).T / p_s[:, None]
    moved = lifts * np.exp(rng.uniform(-width, width, lifts.shape))
    moved /= p_s @ moved  # as lifts do, on average
    spread = np.abs(np.log(moved / lifts)).max()
    for low, high in zip(
        np.stack(criterion.leakage(lifts, p_s)).T,
        np.stack(criterion.leakage(moved, p_s)).T,
        strict=True,
    ):
        at = dataclasses.replace(
            criterion,
            **{
                name: value
                if name == "alpha" or math.isinf(value)
                else float(
                    low[0] if name == "lower" else low.max() if name == "epsilon" else low[1]
                )
                for name, value in criterion.parameters().items()
            },
        )
        raised = at.shifted(float(spread))
        assert math.isinf(raised.lower) or high[0] <= raised.lower + 1e-9
        assert math.isinf(raised.upper) or high[1] <= raised.upper + 1e-9


def test_spread_is_that_of_the_columns():
    joint = clusters(0)
    bins = binned(joint, 20)
    assert len(bins) <= 20
    exact = max(
        abs(math.log(joint.lift[s, x] / bins.joint.lift[s, bins.of[x]]))
        for s in range(3)
        for x in range(joint.n_x)
    )
    assert exact <= bins.spread <= exact + 1e-9
    assert Classes(joint).spread <= 1e-9


def test_zeros_stay_with_zeros():
    counts = np.array([[0, 0, 5, 6, 0, 9], [7, 8, 7, 8, 9, 9], [3, 4, 3, 4, 1, 9]])
    joint = ll.Joint.from_counts(counts)
    bins = binned(joint, 2)
    assert bins.spread < math.inf
    for number in range(len(bins)):
        assert len(np.unique(counts[:, bins.of == number] == 0, axis=1).T) == 1


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_design_and_bound_enclose_the_optimum(criterion, monkeypatch):
    joint, criterion = clusters(0, groups=6, each=7), criterion.scaled(0.5)
    optimum = ll.random_response(joint, criterion, time_limit=2).certificate
    monkeypatch.setattr(module, "_MOST_CLASSES", 40)
    release = ll.random_response(joint, criterion, time_limit=2)
    certificate = release.certificate
    assert release.audit.is_satisfied
    assert certificate.bins
    assert release.audit.nmi <= optimum.upper_bound + 1e-12
    assert certificate.upper_bound >= optimum.upper_bound - optimum.gap - 1e-12
    assert certificate.gap < 0.3
    assert ll.verify_certificate(joint, criterion, certificate)


def test_certificates_with_bins_are_saved_and_checked(monkeypatch, tmp_path):
    joint, criterion = clusters(1), ll.LIP(0.7)
    monkeypatch.setattr(module, "_MOST_CLASSES", 50)
    certificate = ll.random_response(joint, criterion, time_limit=20).certificate
    certificate.to_json(tmp_path / "certificate.json")
    assert ll.Certificate.from_json(tmp_path / "certificate.json") == certificate
    old = {name: value for name, value in certificate.to_dict().items() if name != "bins"}
    assert ll.Certificate.from_dict(old).bins == ()
    for bins in ([1.5], ["0"], [-1], [True], [2**40]):
        with pytest.raises(ll.InvalidInput, match=r"no certificate|must be"):
            ll.Certificate.from_dict(old | {"bins": bins})
    with pytest.raises(ll.InvalidInput, match="64 symbols"):
        ll.verify_certificate(joint, criterion, dataclasses.replace(certificate, bins=(0, 1)))


def test_forged_bins_prove_nothing(monkeypatch):
    joint, criterion = clusters(2), ll.LIP(0.4)
    best = ll.random_response(joint, criterion, time_limit=20)
    monkeypatch.setattr(module, "_MOST_CLASSES", 50)
    true = ll.random_response(joint, criterion, time_limit=20).certificate
    rng = np.random.default_rng(0)
    for _ in range(20):
        forged = dataclasses.replace(
            true,
            upper_bound=best.audit.nmi - 1e-6,
            bins=tuple(rng.integers(0, 1 + rng.integers(40), joint.n_x).tolist()),
        )
        # The claim must follow from duals and floor: lower the floor's distance to suit it.
        short = (true.upper_bound - forged.upper_bound) * joint.entropy_x
        forged = dataclasses.replace(forged, floor=true.floor + short + 1e-9)
        assert not ll.verify_certificate(joint, criterion, forged, time_limit=20)


def test_bins_that_join_a_zero_with_others_are_refused():
    joint = ll.Joint.from_counts([[0, 5, 6], [7, 7, 8], [3, 3, 4]])
    certificate = ll.random_response(joint, ll.LIP(0.2)).certificate
    with pytest.raises(ll.InvalidInput, match="nearly equal"):
        ll.verify_certificate(joint, ll.LIP(0.2), dataclasses.replace(certificate, bins=(0, 0, 1)))


def test_progress_can_stop_it_and_hears_true_numbers(monkeypatch):
    joint, criterion, heard = clusters(3), ll.LIP(0.7), []
    monkeypatch.setattr(module, "_MOST_CLASSES", 50)
    release = ll.random_response(joint, criterion, time_limit=20, progress=heard.append)
    assert all(state.bound >= release.audit.nmi - 1e-9 for state in heard)
    stopped = ll.random_response(
        joint, criterion, time_limit=20, progress=lambda state: state.nmi == 0
    )
    assert stopped.audit.is_satisfied
    assert stopped.certificate.upper_bound >= release.audit.nmi - 1e-9
