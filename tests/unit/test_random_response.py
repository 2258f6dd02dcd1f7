"""The optimal random response: what it promises, and what it refuses."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift._deadline import Deadline
from lowlift._mechanisms import random_response as module
from lowlift._solver import column_generation
from lowlift._solver.master import Master
from lowlift._solver.support import split_support
from lowlift._solver.unit_lift import unit_lift_weights

INF = math.inf
POLYHEDRAL = [
    ll.LIP(0.3),
    ll.ALIP(0.4, 0.2),
    ll.ALIP(0.3, INF),
    ll.MaxLift(0.2),
    ll.LDP(0.6),
    ll.L1Lift(INF, 0.2),
]
CONVEX = [ll.Chi2Lift(INF, 0.3), ll.AlphaLift(2, 0.3, 0.3), ll.AlphaLift(7.5, 0.4, INF)]
AT_INFINITY = ll.AlphaLift(INF, 0.4, 0.2)


def supports(release):
    return [len(release.channel.atom(y)[0]) for y in range(release.channel.n_y)]


@pytest.mark.parametrize("criterion", [*POLYHEDRAL, AT_INFINITY], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_few_small_atoms_that_satisfy_and_close_the_gap(criterion, seed):
    joint = ll.Joint.random(4, 11, seed=seed)
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.is_certified
    assert release.channel.n_y <= joint.n_x
    assert max(supports(release)) <= np.linalg.matrix_rank(joint.p_s_given_x)
    certificate = release.certificate
    assert certificate.scope == "mechanisms"
    assert certificate.is_optimal
    assert certificate.gap <= 1e-6
    assert certificate.gap == pytest.approx(certificate.upper_bound - release.audit.nmi, abs=1e-15)
    assert release.audit.nmi >= ll.optimal_merging(joint, criterion).audit.nmi - 1e-6


@pytest.mark.parametrize("criterion", CONVEX, ids=str)
def test_convex_criteria_close_the_gap_they_are_asked_for(criterion):
    joint = ll.Joint.random(3, 8, seed=5)
    release = ll.random_response(joint, criterion, gap=1e-4)
    assert release.audit.is_satisfied
    assert release.certificate.gap <= 1e-4
    assert release.certificate.tangents
    assert ll.verify_certificate(joint, criterion, release.certificate)


def test_alpha_lift_tends_to_alip():
    joint = ll.Joint.random(3, 8, seed=2)
    limit = ll.random_response(joint, ll.LIP(0.3)).audit.nmi
    found = [
        ll.random_response(joint, ll.AlphaLift(alpha, 0.3, 0.3), gap=1e-4).audit.nmi
        for alpha in (2, 10, 100, 1000)
    ]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(limit, abs=1e-3)
    at_infinity = ll.random_response(joint, ll.AlphaLift(INF, 0.3, 0.3)).audit.nmi
    assert at_infinity == pytest.approx(limit, abs=1e-6)


@pytest.mark.parametrize("criterion", [ll.LIP(INF), ll.LDP(INF), ll.LIP(50.0)], ids=str)
def test_a_budget_that_asks_nothing_publishes_x(criterion):
    joint = ll.Joint.random(3, 6, seed=0)
    release = ll.random_response(joint, criterion)
    assert release.audit.nmi == 1
    assert release.certificate.upper_bound == 1
    assert release.certificate.gap == 0


DEGENERATE = {
    "repeated columns": [[1, 1, 2, 4, 4], [3, 3, 1, 1, 1], [2, 2, 2, 5, 5]],
    "fewer x than s": [[1, 5], [2, 2], [4, 1], [3, 3]],
    "zero cells": [[0, 3, 1, 2], [4, 0, 2, 1], [1, 2, 0, 3]],
    "a symbol that decides s": [[5, 0, 1], [0, 4, 2]],
    "independent": [[1, 2, 3], [2, 4, 6]],
    "proportional but one": [[1, 2, 3, 1], [2, 4, 6, 5]],
}


@pytest.mark.parametrize("criterion", [*POLYHEDRAL, ll.LIP(0.0), ll.LDP(0.0)], ids=str)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_joints(name, criterion):
    joint = ll.Joint.from_counts(DEGENERATE[name])
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.optimal_merging(joint, criterion).audit.nmi - 1e-6
    assert release.certificate.upper_bound >= release.audit.nmi - 1e-12
    assert release.certificate.gap <= 1e-5


@pytest.mark.parametrize(
    "criterion",
    [
        ll.LIP(0),
        ll.LDP(0),
        ll.MaxLift(0),
        ll.ALIP(0, 3),
        ll.L1Lift(INF, 0),
        ll.Chi2Lift(INF, 0),
        ll.AlphaLift(3, 1, 0),
        ll.AlphaLift(1, 0, 0),
    ],
    ids=str,
)
def test_perfect_privacy_where_merging_alone_gives_nothing(criterion):
    counts = np.random.default_rng(0).integers(1, 30, (3, 12))
    joint = ll.Joint.from_counts(counts)
    assert ll.subset_merging(joint, criterion).audit.nmi == 0
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi == pytest.approx(0.672598, abs=2e-6)
    assert release.certificate.gap <= 2e-6
    assert release.audit.max_lift_leakage < 1e-12


def test_the_alpha_lift_of_order_one_is_no_bound_from_above():
    joint = ll.Joint.random(3, 6, seed=1)
    release = ll.random_response(joint, ll.AlphaLift(1, INF, 0.0))
    assert release.audit.nmi == 1


def test_perfect_privacy_of_a_float_joint_is_honest():
    """Its exact weights would need more than 48 bits: nothing is released; the bound says so."""
    joint = ll.Joint.random(3, 12, seed=0)
    release = ll.random_response(joint, ll.LIP(0.0))
    assert release.audit.is_satisfied
    assert not release.certificate.is_optimal
    assert release.certificate.upper_bound > 0.6


def test_unit_lift_weights_are_the_least_integers_of_lift_one():
    joint = ll.Joint.from_counts([[2, 4, 6, 8], [8, 6, 4, 2]])
    assert unit_lift_weights(joint, [0, 3]) == [1, 1]
    assert unit_lift_weights(joint, [0, 2]) == [1, 3]
    assert unit_lift_weights(joint, [0, 1]) is None
    assert unit_lift_weights(joint, [0, 1, 2, 3]) is None


def test_tiny_positive_budgets_do_not_break():
    joint = ll.Joint.from_counts([[2, 4, 6, 8], [8, 6, 4, 2]])
    for epsilon in (5e-324, 1e-100, 1e-12, 1e-9, 1e-7, 1e-5):
        release = ll.random_response(joint, ll.LIP(epsilon))
        assert release.audit.is_satisfied
        assert release.certificate.upper_bound >= release.audit.nmi - 1e-12
        assert release.audit.nmi == pytest.approx(0.562907, abs=1e-4)


def test_split_support_keeps_lift_and_mixture():
    joint = ll.Joint.random(3, 9, seed=3)
    members, shares = np.arange(9), joint.p_x
    atoms = split_support(joint.lift, members, shares)
    assert max(len(xs) for xs, _ in atoms) <= 3
    for xs, ws in atoms:
        np.testing.assert_allclose(joint.lift[:, xs] @ ws, joint.lift @ joint.p_x, atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0])
def test_few_symbols_are_solved_as_many_are(epsilon, monkeypatch):
    """Without the rounds with all pairs at once, the master comes to the same optimum."""
    joint, criterion = ll.Joint.random(5, 17, seed=0), ll.ALIP.split(epsilon, 0.65)
    few = ll.random_response(joint, criterion)
    monkeypatch.setattr(column_generation, "_SMALL", 0)
    many = ll.random_response(joint, criterion)
    for release, other in ((few, many), (many, few)):
        assert release.certificate.gap <= 1e-6
        assert release.audit.nmi <= other.certificate.upper_bound
    assert ll.verify_certificate(joint, criterion, few.certificate)


def test_progress_is_told_of_few_symbols_and_may_stop_them():
    joint, criterion, states = ll.Joint.random(5, 17, seed=0), ll.LIP(0.5), []
    release = ll.random_response(joint, criterion, progress=states.append)
    assert states
    assert all(state.nmi <= release.certificate.upper_bound <= state.bound for state in states)
    stopped = ll.random_response(joint, criterion, progress=lambda _: False)
    assert stopped.certificate.is_stopped
    merged = ll.subset_merging(joint, criterion).audit.nmi
    assert merged + 0.05 < stopped.audit.nmi <= release.certificate.upper_bound


def test_progress_sees_bounds_close_and_may_stop():
    joint, criterion = ll.Joint.random(8, 60, seed=0), ll.LIP(0.3)
    states = []
    ll.random_response(joint, criterion, gap=1e-3, progress=states.append)
    assert states[-1].bound - states[-1].nmi <= 1e-3
    assert [s.bound for s in states] == sorted((s.bound for s in states), reverse=True)
    assert all(s.columns > 0 and s.seconds > 0 for s in states)
    stopped = ll.random_response(joint, criterion, progress=lambda _: False)
    assert stopped.audit.is_satisfied
    assert stopped.audit.nmi >= ll.subset_merging(joint, criterion).audit.nmi
    assert stopped.certificate.upper_bound >= states[-1].nmi
    assert not stopped.certificate.is_optimal


def test_time_limit_returns_an_allowed_release_with_its_bound():
    joint, criterion = ll.Joint.random(8, 60, seed=0), ll.LIP(0.2)
    release = ll.random_response(joint, criterion, time_limit=0.05)
    assert release.audit.is_satisfied
    assert release.audit.nmi <= release.certificate.upper_bound <= 1
    assert release.certificate.gap > 1e-6


def test_the_result_does_not_depend_on_jobs():
    joint, criterion = ll.Joint.random(6, 40, seed=1), ll.LIP(0.4)
    one = ll.random_response(joint, criterion, jobs=1)
    two = ll.random_response(joint, criterion, jobs=2)
    np.testing.assert_array_equal(one.channel.weights, two.channel.weights)
    assert one.certificate == two.certificate


@pytest.mark.parametrize("criterion", [ll.L1Lift(0.5, 0.5), ll.Chi2Lift(0.5, INF)], ids=str)
@pytest.mark.parametrize("mechanism", [ll.random_response, ll.subset_random_response])
def test_a_criterion_that_is_not_convex_is_refused_with_the_reason(mechanism, criterion):
    with pytest.raises(ll.InvalidInput, match=r"not: mixing two .* lower=math.inf"):
        mechanism(ll.Joint.random(3, 5, seed=0), criterion)


class NoCuts:
    lower, upper = INF, 0.1

    def leakage(self, lift_sy, p_s):
        return np.zeros(lift_sy.shape[1]), np.log(lift_sy.max(axis=0))

    def risk(self, lift_sy, p_s):
        return np.log(lift_sy.max(axis=0))


class OwnMaxLift(NoCuts):
    """A user's criterion with half-spaces: the same region as MaxLift(0.1)."""

    def half_spaces(self, p_s):
        return ll.MaxLift(0.1).half_spaces(p_s)

    def cut(self, lift_s, p_s):
        return ll.MaxLift(0.1).cut(lift_s, p_s)


def test_a_criterion_without_cuts_is_refused():
    with pytest.raises(ll.InvalidInput, match="half_spaces and cut; NoCuts has not both"):
        ll.random_response(ll.Joint.random(3, 5, seed=0), NoCuts())


def test_a_criterion_of_ones_own_works_and_is_not_certified():
    joint = ll.Joint.random(3, 7, seed=0)
    release = ll.random_response(joint, OwnMaxLift())
    expected = ll.random_response(joint, ll.MaxLift(0.1))
    assert release.audit.nmi == pytest.approx(expected.audit.nmi, abs=2e-6)
    assert not release.audit.is_certified


@pytest.mark.parametrize(
    ("option", "value"), [("gap", 0), ("gap", -1.0), ("time_limit", 0), ("time_limit", math.nan)]
)
def test_bad_options_are_refused(option, value):
    with pytest.raises(ll.InvalidInput, match=f"{option} must be positive"):
        ll.random_response(ll.Joint.random(3, 5, seed=0), ll.LIP(0.1), **{option: value})


@pytest.mark.parametrize("criterion", [*POLYHEDRAL, *CONVEX], ids=str)
def test_rounding_to_integers_costs_less_than_a_millionth(criterion):
    joint, states = ll.Joint.random(5, 30, seed=4), []
    release = ll.random_response(joint, criterion, gap=1e-4, time_limit=5.0, progress=states.append)
    assert release.audit.is_satisfied
    assert release.audit.nmi == pytest.approx(states[-1].nmi, abs=1e-6)


@pytest.mark.parametrize(
    "criterion", [ll.AlphaLift(2, 0.125, 0.125), ll.Chi2Lift(INF, 0.25)], ids=str
)
def test_small_convex_budgets_close_at_17_x_5(criterion):
    """Tangents dropped while a proof rests on them would come back for ever."""
    release = ll.random_response(ll.Joint.random(5, 17, seed=0), criterion, gap=1e-4)
    assert release.certificate.gap <= 1e-4


def test_a_large_block_is_split_without_halving_it_over_and_over():
    """Halving gives two to the number of symbols beyond the rank: 2**57 atoms here."""
    joint = ll.Joint.random(3, 60, seed=5)
    atoms = split_support(joint.lift, np.arange(60), joint.p_x)
    assert len(atoms) <= 60
    lift = joint.lift @ joint.p_x
    for members, shares in atoms:
        assert (shares > 0).all()
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(joint.lift[:, members] @ shares, lift, atol=1e-9)
    table = np.zeros((60, len(atoms)))
    for k, (members, shares) in enumerate(atoms):
        table[members, k] = shares
    from scipy.optimize import nnls

    assert nnls(table, joint.p_x)[1] < 1e-9
    release = ll.random_response(joint, ll.LIP(0.001), gap=1e-4, time_limit=20)
    assert release.audit.is_satisfied


@pytest.mark.parametrize("rare", [1e-6, 1e-8, 4e-12, 1e-13])
@pytest.mark.parametrize("n_x", [17, 40])
def test_rare_symbols_cost_nothing(rare, n_x):
    """P(x) down to about 1e-14: the bound is reached, and both are as without the rare symbols."""
    weights = np.random.default_rng(0).random((5, n_x))
    weights[:, [3, 5, 8]] *= rare
    joint, criterion = ll.Joint(weights / weights.sum()), ll.LIP(0.5)
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.certificate.gap <= 1e-6
    if n_x == 17:
        assert release.audit.nmi == pytest.approx(0.84403, abs=1e-5)
    assert ll.verify_certificate(joint, criterion, release.certificate)


@pytest.mark.parametrize("criterion", [ll.AlphaLift(2, math.inf, 0.2), ll.Chi2Lift(math.inf, 0.2)])
def test_rare_symbols_cost_nothing_where_tangents_are_taken(criterion):
    weights = np.random.default_rng(0).random((3, 8))
    weights[:, 3] *= 1e-7
    joint = ll.Joint(weights / weights.sum())
    release = ll.random_response(joint, criterion)
    assert release.certificate.gap <= 2e-6
    assert ll.verify_certificate(joint, criterion, release.certificate)


@pytest.mark.parametrize("solves", [0, 1, 2])
def test_what_the_solver_cannot_solve_leaves_a_release_and_a_true_bound(monkeypatch, solves):
    """HiGHS, allowed no step from some solve on, ends without an optimum."""
    original, count = Master.solve, 0

    def solve(self, seconds):
        nonlocal count
        if count == solves:
            self.solver.setOptionValue("simplex_iteration_limit", 0)
            self.solver.setOptionValue("presolve", "off")
            self.solver.clearSolver()
        count += 1
        return original(self, seconds)

    joint, criterion = ll.Joint.random(4, 40, seed=0), ll.LIP(0.4)
    best = ll.random_response(joint, criterion).audit.nmi
    monkeypatch.setattr(Master, "solve", solve)
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.subset_merging(joint, criterion).audit.nmi
    assert release.certificate.upper_bound >= best
    assert not release.certificate.is_optimal
    assert ll.verify_certificate(joint, criterion, release.certificate)
    assert ll.subset_random_response(joint, criterion).audit.is_satisfied


def test_an_output_that_rounding_empties_does_not_shift_the_others():
    """The one that fails is folded, whatever the number of those that are gone."""
    joint, criterion = ll.Joint.from_counts([[50, 50, 1, 99], [50, 50, 99, 1]]), ll.LIP(0.1)
    alone = [(p, (np.array([x]), np.ones(1))) for x, p in enumerate(joint.p_x[:2].tolist())]
    both = (float(joint.p_x[2:].sum()), (np.array([2, 3]), np.full(2, 0.5)))
    gone = (1e-18, (np.array([0]), np.ones(1)))
    odd = (1e-9, (np.array([1, 2]), np.array([0.5, 0.5])))
    atoms = [gone, gone, *alone, odd, both]
    release = module.round_atoms(joint, criterion, atoms, "random_response", Deadline(None))
    assert release.audit.is_satisfied
    assert release.channel.n_y == 3
    assert release.audit.nmi == pytest.approx(0.75, abs=1e-6)
