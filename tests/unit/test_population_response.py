"""Mechanisms under a bound for the population: certified, audited, and true in simulations."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import lowlift as ll
from lowlift._population.rows import population_region
from lowlift._solver.population import PopulationPolytope

TITANIC = ll.datasets.titanic()
LIP = ll.Population(ll.LIP(0.5))


def small(seed: int, rows: int, n_s: int = 2, n_x: int = 3) -> ll.Joint:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_s * n_x, 2.0))
    return ll.Joint.from_counts(rng.multinomial(rows, truth).reshape(n_s, n_x) + 1)


def test_the_polytope_has_the_columns_that_the_audit_allows():
    for n_s, criterion in ((2, LIP), (3, LIP), (3, ll.Population(ll.LDP(1.0)))):
        joint = small(n_s, 900, n_s, 5)
        polytope, region = PopulationPolytope(joint, criterion), population_region(joint, criterion)
        rng = np.random.default_rng(0)
        columns = rng.integers(0, 50, (400, 5)) * (rng.random((400, 5)) < 0.6) + rng.integers(
            0, 30, (400, 1)
        )
        columns = columns[columns.max(axis=1) > 0]
        atoms = columns * joint.p_x / (columns @ joint.p_x)[:, None]
        excess = polytope.excess(polytope.lifts(atoms), 0.0)
        polytope.cut(polytope.lifts(atoms))
        seen = set()
        for column, atom, beyond in zip(columns, atoms, excess, strict=True):
            members = np.flatnonzero(column).tolist()
            is_allowed = region.allows(members, column[members].tolist())
            assert abs(beyond) < 1e-9 or is_allowed == (beyond < 0)
            seen.add(is_allowed)
            # Rows hold for what is allowed, and cut off what is not.
            is_inside = (polytope.rows @ atom <= polytope.outer[1] + 1e-12).all()
            assert is_inside == is_allowed or abs(beyond) < 1e-6
        assert seen == {True, False}


def test_pulled_toward_the_constant_a_column_is_just_allowed():
    polytope = PopulationPolytope(TITANIC, LIP)
    lifts = polytope.lift  # each symbol alone
    shares = polytope.shares_inside(lifts, is_exact=True)
    excess = polytope.excess(polytope.toward(lifts, shares), 0.0)
    assert (np.abs(excess[shares < 1]) < 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_all_columns_of_a_fine_grid(seed):
    joint = small(seed, 1500)
    release = ll.random_response(joint, LIP)
    region = population_region(joint, LIP)
    steps = 40
    grid = np.array([w for w in product(range(steps + 1), repeat=3) if max(w) == steps])
    allowed = np.array([
        w for w in grid if region.allows([x for x in range(3) if w[x]], [int(v) for v in w if v])
    ])  # fmt: skip
    atoms = allowed * joint.p_x / (allowed @ joint.p_x)[:, None]
    cost = -(atoms * np.log(np.where(atoms > 0, atoms, 1.0))).sum(axis=1)
    best = linprog(cost, A_eq=atoms.T, b_eq=joint.p_x, method="highs")
    nmi = 1 - best.fun / joint.entropy_x
    assert release.audit.is_satisfied
    assert nmi <= release.certificate.upper_bound + 1e-9
    assert nmi <= release.audit.nmi + 1e-5
    assert release.audit.nmi <= nmi + 0.03  # the grid is coarse


def test_the_optimum_for_the_population_is_certified():
    release = ll.random_response(TITANIC, LIP, gap=1e-4)
    certificate = release.certificate
    assert release.audit.is_satisfied
    assert certificate.is_optimal
    assert 0.75 < release.audit.nmi <= certificate.upper_bound
    assert release.audit.nmi < ll.random_response(TITANIC, ll.LIP(0.5)).audit.nmi
    assert ll.verify_certificate(TITANIC, LIP, certificate)
    false = replace(certificate, floor=certificate.floor + 1e-2, upper_bound=0.6)
    assert not ll.verify_certificate(TITANIC, LIP, false)
    looser = ll.verify_certificate(TITANIC, ll.Population(ll.LIP(0.8)), certificate)
    assert not looser  # a looser bound allows more
    with pytest.raises(ll.InvalidInput, match="columns of a channel"):
        ll.verify_certificate(TITANIC, LIP, replace(certificate, tangents=((1.0, 2.0),)))


@pytest.mark.parametrize(
    "bound",
    [ll.ALIP(1.0, 0.4), ll.MaxLift(0.5), ll.LDP(1.0), ll.L1Lift(math.inf, 0.3),
     ll.Chi2Lift(math.inf, 0.4), ll.Chi2Lift(0.5, 0.4), ll.AlphaLift(2, 1.0, 0.3),
     ll.AtMost({True: 0.5})],
    ids=str,
)  # fmt: skip
def test_every_bound_with_rows_has_mechanisms(bound):
    counts = TITANIC.counts
    joint = ll.Joint.from_counts(counts, [False, True], TITANIC.x_labels)
    criterion = ll.Population(bound.on(joint) if isinstance(bound, ll.AtMost) else bound)
    merged = ll.subset_merging(joint, criterion)
    release = ll.random_response(joint, criterion, time_limit=5)
    assert merged.audit.is_satisfied
    assert release.audit.is_satisfied
    assert merged.audit.nmi <= release.audit.nmi + 1e-12
    assert release.audit.nmi <= release.certificate.upper_bound
    dog = ll.watchdog(joint, criterion)
    assert dog.audit.is_satisfied


def test_a_budget_of_zero_leaves_one_output():
    release = ll.random_response(small(0, 100), ll.Population(ll.LIP(0.0)))
    assert release.channel.n_y == 1
    assert release.audit.is_satisfied


def test_blocks_that_are_best_for_the_population():
    joint = small(1, 3000, 2, 6)
    best = ll.optimal_merging(joint, LIP)
    assert best.audit.is_satisfied
    assert best.audit.nmi >= ll.subset_merging(joint, LIP).audit.nmi - 1e-12


def test_what_takes_tables_only_says_so():
    with pytest.raises(ll.InvalidInput, match="bounds for this table only"):
        ll.subset_random_response(TITANIC, LIP)


@pytest.mark.parametrize(
    ("bound", "rows"), [(ll.LIP(0.5), 2000), (ll.LDP(1.0), 1000), (ll.MaxLift(0.5), 4000)], ids=str
)
def test_the_true_bound_holds_where_a_design_for_the_table_breaks_it(bound, rows):
    truth = TITANIC.p_sx
    rng = np.random.default_rng(7)
    broken = {True: 0, False: 0}
    for counts in rng.multinomial(rows, truth.ravel(), 6).reshape(-1, *truth.shape):
        seen = counts.sum(axis=0) > 0
        joint = ll.Joint.from_counts(counts[:, seen])
        population = ll.Joint(truth[:, seen] / truth[:, seen].sum())
        for criterion in (bound, ll.Population(bound)):
            release = ll.random_response(joint, criterion, gap=1e-2, time_limit=20)
            verdict = ll.audit(population, release.channel, bound)
            broken[isinstance(criterion, ll.Population)] += not verdict.is_satisfied
    assert broken[True] == 0
    assert broken[False] >= 5
