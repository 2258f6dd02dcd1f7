"""Refinements: a second release drawn given the first, within a total budget."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import lowlift as ll
from lowlift import BoundViolated, InvalidInput, Refinement, Release
from lowlift._channel import MAX_DENOMINATOR
from lowlift._population.rows import population_region
from lowlift.tables import AliasTable, alias_draw
from lowlift.tables.layouts import Layout

JOINT = ll.Joint.random(5, 17, seed=0)


@pytest.fixture(scope="module")
def quarter():
    return ll.random_response(JOINT, ll.LIP(0.25))


@pytest.mark.parametrize(("before", "total", "least"), [(0.25, 0.5, 0.82), (0.5, 1.0, 0.92)])
def test_the_optimum_refined_keeps_what_the_notes_measured(before, total, least):
    first = ll.random_response(JOINT, ll.LIP(before))
    second = ll.refine(first, ll.LIP(total))
    assert second.audit.is_satisfied
    assert least <= second.nmi <= second.upper_bound <= second.nmi + 1e-5
    at_once = ll.random_response(JOINT, ll.LIP(total))
    assert second.nmi <= at_once.certificate.upper_bound


def test_the_law_of_the_first_output_stays_what_it_was(quarter):
    second = ll.refine(quarter, ll.LIP(0.5))
    scale = MAX_DENOMINATOR // quarter.channel.denominator
    assert (second.first_channel.weights == quarter.channel.weights * scale).all()
    assert second.first_channel.y_labels == quarter.channel.y_labels


def test_the_pairs_hold_against_the_prior_of_before_both(quarter):
    second = ll.refine(quarter, ll.LIP(0.5))
    prior, channel = JOINT.prior, second.release.channel
    largest = Fraction(math.nextafter(math.exp(0.5), 0))
    for y in range(channel.n_y):
        posterior = channel.exact_masses(JOINT, y)
        for mass, p in zip(posterior, prior, strict=True):
            assert Fraction(mass * sum(prior), p * sum(posterior)) <= largest


def test_fifty_refinements_of_one_release_each_with_an_exact_verdict(quarter):
    for k in range(50):
        total = ll.LIP(0.26 + 0.02 * k)
        second = ll.refine(quarter, total)
        assert second.audit.is_satisfied
        assert second.audit.is_certified
        assert second.nmi >= quarter.audit.nmi


@pytest.mark.second_lane
def test_a_chain_of_fifty_refinements_each_with_an_exact_verdict(quarter):
    found = quarter
    for k in range(50):
        found = ll.refine(found, ll.LIP(0.27 + 0.02 * k))
        assert found.audit.is_satisfied
    assert found.nmi > 0.9


def test_a_refinement_is_refined_again(quarter):
    found, kept = quarter, quarter.audit.nmi
    for total in (0.3, 0.4, 0.6, 0.9):
        found = ll.refine(found, ll.LIP(total))
        assert found.audit.is_satisfied
        assert found.nmi > kept
        kept = found.nmi


@pytest.mark.parametrize(
    "total",
    [
        ll.LDP(2.0),
        ll.MaxLift(1.0),
        ll.ALIP(0.5, 0.4),
        ll.L1Lift(1.0, 1.0),
        ll.Chi2Lift(math.inf, 0.6),
        ll.AlphaLift(2.0, 0.8, 0.8),
        ll.AtMost({0: 0.5}, 2),
    ],
    ids=str,
)
def test_every_criterion_can_be_the_total(quarter, total):
    second = ll.refine(quarter, total)
    assert second.audit.is_satisfied
    assert second.nmi >= quarter.audit.nmi


def test_values_that_the_first_output_rules_out_stay_ruled_out():
    joint = ll.Joint.from_counts([[4, 0, 3], [2, 5, 1], [0, 3, 6]], x_labels="abc")
    first = ll.random_response(joint, ll.MaxLift(0.3))
    assert ll.refine(first, ll.MaxLift(0.5)).audit.is_satisfied


def test_the_same_budget_adds_nothing_that_breaks_it(quarter):
    second = ll.refine(quarter, ll.LIP(0.25))
    assert second.audit.is_satisfied
    assert second.nmi == pytest.approx(quarter.audit.nmi, abs=1e-5)


def test_a_smaller_total_is_refused(quarter):
    with pytest.raises(InvalidInput, match="is smaller than"):
        ll.refine(quarter, ll.LIP(0.2))


def test_a_total_that_the_first_release_breaks_is_refused(quarter):
    with pytest.raises(BoundViolated, match="the first release alone does not satisfy"):
        ll.refine(quarter, ll.ALIP(0.5, 0.1))


def test_a_criterion_of_floats_is_refused(quarter):
    class Own:
        lower = upper = 1.0

        def leakage(self, lift_sy, p_s):
            return np.zeros(lift_sy.shape[1]), np.zeros(lift_sy.shape[1])

        def risk(self, lift_sy, p_s):
            return np.zeros(lift_sy.shape[1])

    with pytest.raises(InvalidInput, match="must have an exact verdict"):
        ll.refine(quarter, Own())


def test_outputs_are_drawn_given_the_first(quarter):
    second = ll.refine(quarter, ll.LIP(0.5))
    labels = [x for x in JOINT.x_labels for _ in range(3000)]
    firsts = quarter.sample(labels, seed=1)
    drawn = second.sample(labels, firsts, seed=2)
    names = second.release.channel.y_labels
    parent = dict(zip(names, second.refines.parents, strict=True))
    outputs = second.refines.outputs
    assert [outputs[parent[y]] for y in drawn] == firsts
    number = {label: y for y, label in enumerate(names)}
    counts = np.zeros((JOINT.n_x, len(names)))
    np.add.at(counts, (np.repeat(np.arange(17), 3000), [number[y] for y in drawn]), 1)
    law = second.release.channel.p_y_given_x
    spread = np.sqrt(3000 * law * (1 - law))
    assert (np.abs(counts - 3000 * law) <= 6 * spread + 1e-9).all()


def test_fresh_draws_of_a_refinement_are_refused(quarter):
    second = ll.refine(quarter, ll.LIP(0.5))
    with pytest.raises(InvalidInput, match="must be drawn given what that one published"):
        second.release.sample([0, 1])
    with pytest.raises(InvalidInput, match="1 of 2 are not, the first at position 1"):
        second.sample([0, "?"], quarter.sample([0, 0]))


def test_a_first_release_that_merges_is_known_from_x():
    joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    second = ll.refine(ll.subset_merging(joint, ll.LIP(0.5)), ll.LIP(0.7))
    assert second.release.sample("abc") == ["a", "b", "c"]


def test_a_refinement_is_written_and_read(quarter, tmp_path):
    second = ll.refine(quarter, ll.LIP(0.5))
    second.to_json(tmp_path / "second.json")
    again = Refinement.from_json(tmp_path / "second.json")
    assert again.release.fingerprint == second.release.fingerprint
    assert (again.nmi, again.upper_bound) == (second.nmi, second.upper_bound)
    assert again.given(quarter.channel.y_labels[1]) == second.given(quarter.channel.y_labels[1])
    quarter.to_json(tmp_path / "first.json")
    with pytest.raises(InvalidInput, match="must say what it refines"):
        Refinement.from_json(tmp_path / "first.json")
    assert Release.from_json(tmp_path / "first.json").fingerprint == quarter.fingerprint


def test_a_layout_draws_what_the_alias_table_draws(quarter):
    table, layout = AliasTable.from_channel(quarter.channel), Layout.of_alias(quarter.channel, "")
    layout.check(quarter.channel)
    numbers = np.random.default_rng(0).integers(0, 1 << 60, 2000).tolist()
    for place, number in enumerate([0, (1 << 60) - 1, *numbers]):
        x = place % 17
        assert layout.draw(x, number) == alias_draw(table, x, number)


def test_the_pieces_of_a_refinement_are_cut_never_moved(quarter):
    second = ll.refine(quarter, ll.LIP(0.5))
    before = Layout.of_alias(quarter.channel, "scope")
    after = before.cut(second.release.channel, second.refines.parents)
    after.check(second.release.channel)
    for number in np.random.default_rng(1).integers(0, 1 << 60, 2000).tolist():
        x = number % 17
        assert second.refines.parents[after.draw(x, number)] == before.draw(x, number)
    k, rows = after.lookup()
    sizes = np.zeros(17, object)
    np.add.at(sizes, rows[:, 0], (rows[:, 3] - rows[:, 2]).astype(object))
    assert set(sizes.tolist()) == {1 << 60}
    assert rows[:, 1].max() < 1 << k


def test_a_layout_of_other_weights_is_refused(quarter):
    layout = Layout.of_alias(quarter.channel, "scope")
    with pytest.raises(InvalidInput, match="must have the channel's weights"):
        layout.check(ll.random_response(JOINT, ll.LIP(0.5)).channel)
    moved = Layout("scope", (((5, 0),), *layout.pieces[1:]))
    with pytest.raises(InvalidInput, match="must have the channel's weights"):
        moved.check(quarter.channel)


def sampled(seed, rows, n_s=2, n_x=4):
    """Return a population of S by X, and the joint of a sample with all values."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_s * n_x, 2.0)).reshape(n_s, n_x)
    counts = rng.multinomial(rows, truth.ravel()).reshape(n_s, n_x)
    return ll.Joint(truth), ll.Joint.from_counts(counts)


@pytest.mark.parametrize(("n_s", "samples"), [(2, 40), (3, 12)])
def test_a_refinement_for_the_population_holds_in_the_population(n_s, samples):
    refined = 0
    for seed in range(samples):
        people, joint = sampled(seed, 3000, n_s)
        first = ll.random_response(joint, ll.Population(ll.LIP(0.3)), gap=0.1, time_limit=2)
        second = ll.refine(first, ll.Population(ll.LIP(0.7)), gap=0.1, time_limit=2)
        assert second.audit.is_satisfied
        assert second.nmi <= second.upper_bound
        assert ll.audit(people, second.release.channel, ll.LIP(0.7)).is_satisfied
        scale = MAX_DENOMINATOR // first.channel.denominator
        assert (second.first_channel.weights == first.channel.weights * scale).all()
        refined += second.nmi > first.audit.nmi + 0.01
    assert refined > samples / 2


@pytest.mark.parametrize(("seed", "rows"), [(3, 2000), (8, 700)])
def test_a_refinement_for_the_population_is_the_best_that_all_columns_allow(seed, rows):
    """Columns of a fine grid that are allowed, mixed by a linear program, keep no more."""
    _, joint = sampled(seed, rows, 2, 3)
    first = ll.random_response(joint, ll.Population(ll.LIP(0.2)), gap=1e-4)
    total = ll.Population(ll.LIP(0.5))
    second = ll.refine(first, total, gap=1e-4)
    region, more = population_region(joint, total), 0.0
    p = first.p_x_given_y
    for y in range(first.channel.n_y):
        members = np.flatnonzero(p[:, y]).tolist()
        atoms = []
        for weights in product(range(25), repeat=len(members)):
            used = [(x, w) for x, w in zip(members, weights, strict=True) if w]
            if used and math.gcd(*weights) == 1 and region.allows(*zip(*used, strict=True)):
                v = np.zeros(joint.n_x)
                v[members] = np.array(weights) * joint.p_x[members]
                atoms.append(v / v.sum())
        atoms = np.array([*atoms, p[:, y]])
        cost = -(atoms * np.log(np.where(atoms > 0, atoms, 1))).sum(axis=1)
        best = linprog(cost, A_eq=atoms.T, b_eq=p[:, y])
        entropy = -(p[members, y] * np.log(p[members, y])).sum()
        more += first.audit.p_y[y] * (entropy - best.fun)
    grid = (first.audit.mutual_information + more) / joint.entropy_x
    assert second.nmi > first.audit.nmi + 0.01
    assert grid <= second.upper_bound + 1e-9
    assert second.upper_bound <= second.nmi + 3e-4
    assert second.nmi <= grid + 0.02  # the grid is coarse


def test_a_first_release_that_the_sample_does_not_support_cannot_be_refined_for_the_population():
    _, joint = sampled(1, 400)
    first = ll.random_response(joint, ll.LIP(0.5))
    with pytest.raises(BoundViolated, match="the first release alone does not satisfy Population"):
        ll.refine(first, ll.Population(ll.LIP(0.6)))


def test_an_output_on_its_bound_stays_as_it_is():
    _, joint = sampled(2, 2000)
    bound = ll.Population(ll.LIP(0.3))
    first = ll.random_response(joint, bound)
    second = ll.refine(first, bound)
    assert second.audit.is_satisfied
    assert second.nmi >= first.audit.nmi - 1e-12
