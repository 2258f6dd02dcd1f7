"""A joint is checked once, exact, and stays as it is."""

import copy
import dataclasses
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

import lowlift as ll
from lowlift.errors import InvalidInput, LowliftWarning

GOOD = [[0.25, 0.125], [0.25, 0.375]]
ARRAYS = ("masses", "p_sx", "p_s", "p_x", "p_s_given_x", "lift", "counts", "masses_given_s")


@pytest.mark.parametrize(
    ("p_sx", "message"),
    [
        ([[0.5, 0.25], [-0.25, 0.5]], r"0 or more; got -0.25 at row 1, column 0"),
        ([[0.5, float("nan")], [0.25, 0.25]], r"got nan at row 0, column 1"),
        ([[0.5, 0.25], [0.25, float("inf")]], r"got inf at row 1, column 1"),
        ([[0.5, 0.25], [0.25, -float("inf")]], r"got -inf at row 1, column 1"),
        ([[0.5, 0.25], [0.25, 2e-9]], r"sum to 1 within 1e-09; it sums to 1\.000000002"),
        ([[0.5, 0.25], [0.25, 0.25]], r"it sums to 1\.25"),
        ([[1, 3], [3, 1]], r"it sums to 8\.0. Use Joint.from_counts"),
        ([[]], r"neither empty; got shape \(1, 0\)"),
        ([], r"neither empty; got shape \(0,\)"),
        (np.zeros((0, 3)), r"neither empty; got shape \(0, 3\)"),
        ([0.5, 0.5], r"got shape \(2,\)"),
        (np.full((2, 2, 2), 0.125), r"got shape \(2, 2, 2\)"),
        ([[0.5, 0.25], [0.25]], r"p_sx must be a table with rows of equal length"),
        ([["0.5", "0.5"], ["0", "0"]], r"real numbers; got dtype <U3"),
        ([[0.5, None], [0.25, 0.25]], r"real numbers; got dtype object"),
        ([[0.5 + 0j, 0.5], [0, 0]], r"real numbers; got dtype complex128"),
        ([[1.0, 1e-301], [0.0, 1e-301]], r"positive cell must be at least 1e-300"),
    ],
)
def test_bad_probabilities_are_refused_by_place(p_sx, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Joint(p_sx)


@pytest.mark.parametrize("off", [0.9e-9, -0.9e-9])
def test_a_sum_off_by_less_than_the_tolerance_is_divided_out(off):
    joint = ll.Joint([[0.5 + off, 0.0], [0.25, 0.25]])
    total = Fraction(0.5 + off) + Fraction(1, 2)
    assert Fraction(int(joint.counts[0, 0]), sum(joint.prior)) == Fraction(0.5 + off) / total


@pytest.mark.parametrize("off", [1.1e-9, -1.1e-9])
def test_a_sum_off_by_more_than_the_tolerance_is_refused(off):
    with pytest.raises(InvalidInput, match="must sum to 1"):
        ll.Joint([[0.5 + off, 0.0], [0.25, 0.25]])


@pytest.mark.parametrize("axis", ["s", "x"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], r"name each of the 2 symbols once; got 1 labels"),
        (["a", "b", "c"], r"name each of the 2 symbols once; got 3 labels"),
        (["a", "a"], r"differ; 'a' stands at 0 and at 1"),
        ([1, True], r"differ; True stands at 0 and at 1"),
        ([(1, "a"), [1, "a"]], r"differ; \(1, 'a'\) stands at 0 and at 1"),
        (["a", float("nan")], r"be finite; got nan at 1"),
        ([float("-inf"), "a"], r"be finite; got -inf at 0"),
        (["a", ("b", float("inf"))], r"be finite; got inf at 1"),
        (["a", b"b"], r"be strings, .*got bytes at 1"),
        ([{"a"}, "b"], r"be strings, .*got set at 0"),
        (["a", ("b", {})], r"be strings, .*got dict at 1"),
        (["a", 1j], r"be strings, .*got complex at 1"),
    ],
)
def test_bad_labels_are_refused_by_place(axis, labels, message):
    message = f"^{axis}_labels must {message}"
    with pytest.raises(InvalidInput, match=message):
        ll.Joint(GOOD, **{f"{axis}_labels": labels})
    with pytest.raises(InvalidInput, match=message):
        ll.Joint.from_counts([[2, 1], [2, 3]], **{f"{axis}_labels": labels})


def test_labels_are_kept_as_plain_values():
    joint = ll.Joint(GOOD, s_labels=[None, True], x_labels=np.array([7, 8]))
    assert joint.s_labels == (None, True)
    assert [type(label) for label in joint.x_labels] == [int, int]
    assert ll.Joint(GOOD, x_labels=[["a", 1], ("b", None)]).x_labels == (("a", 1), ("b", None))
    assert ll.Joint(GOOD).labels == ((0, 1), (0, 1))


EMPTY = [[1, 0, 2], [0, 0, 0], [3, 0, 4]]


@pytest.mark.parametrize(
    "make", [ll.Joint.from_counts, lambda c, *a: ll.Joint(np.array(c) / 10, *a)]
)
def test_symbols_of_probability_zero_are_refused_by_name(make):
    with pytest.raises(InvalidInput, match=r"symbol of S must have .*; 'q' \(1\) has none.*drop_e"):
        make(EMPTY, "pqr", "abc")
    with pytest.raises(InvalidInput, match=r"symbol of X must have .*; 'b' \(1\) has none"):
        make([EMPTY[0], EMPTY[2]], "pr", "abc")


@pytest.mark.parametrize(
    ("make", "given"),
    [(ll.Joint.from_counts, EMPTY), (ll.Joint, np.array(EMPTY) / 16 * 1.6)],
)
def test_drop_empty_drops_warns_and_shrinks_the_exact_counts(make, given):
    with pytest.warns(LowliftWarning, match="dropped 1 symbol") as caught:
        joint = make(given, "pqr", "abc", drop_empty=True)
    assert [str(warning.message).split(") of ")[1][0] for warning in caught] == ["S", "X"]
    assert joint.labels == (("p", "r"), ("a", "c"))
    assert joint.p_sx.shape == joint.counts.shape == (2, 2)
    assert joint.p_sx == pytest.approx(np.array([[0.1, 0.2], [0.3, 0.4]]), rel=1e-15)
    if joint.is_counted:
        assert joint.counts.tolist() == [[1, 2], [3, 4]]
        assert joint.prior == (3, 7)


def test_one_value_of_s_warns():
    with pytest.warns(LowliftWarning, match="nothing to protect"):
        ll.Joint([[0.5, 0.5]])
    with pytest.warns(LowliftWarning, match="nothing to protect"):
        ll.Joint.from_counts([[1, 2]])


@pytest.mark.parametrize("make", [ll.Joint, ll.Joint.from_counts])
@pytest.mark.parametrize("p_sx", [[[1, 0]], [[1, 0], [0, 0]]])
def test_warnings_point_at_the_line_that_made_the_joint(make, p_sx):
    with pytest.warns(LowliftWarning) as caught:
        make(p_sx, drop_empty=True)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2], [0.5, 3]], r"whole numbers; got 0.5 at row 1, column 0"),
        ([[1, 2], [3, -1]], r"0 or more; got -1 at row 1, column 1"),
        ([[1, -(2**200)], [3, 1]], r"0 or more; got -\d+ at row 0, column 1"),
        ([[float("nan"), 2], [3, 1]], r"whole numbers; got nan at row 0, column 0"),
        ([[1, float("inf")], [3, 1]], r"whole numbers; got inf at row 0, column 1"),
        ([[1, None], [3, 1]], r"whole numbers; got None at row 0, column 1"),
        ([["1", "2"], ["3", "4"]], r"whole numbers; got 1 at row 0, column 0"),
        ([[0, 0], [0, 0]], r"must not all be 0"),
        ([[1, 2], [3]], r"counts must be a table with rows of equal length"),
        ([[], []], r"neither empty"),
        ([1, 2], r"got shape \(2,\)"),
        ([[1, 10**301], [1, 1]], r"count must be at least 1e-300 .* got 1 at row 0, column 0"),
    ],
)
def test_bad_counts_are_refused_by_place(counts, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Joint.from_counts(counts)


@pytest.mark.parametrize(
    "counts",
    [
        [[2**200, 1], [3, 2**200 + 1]],
        [[2**63 + 1, 5], [3, 4]],  # NumPy alone would make floats of these
        [[2**53 + 1, 2**53], [1, 2**62 + 1]],
        [[2**64 + 1, 5], [3, 4]],
        [[2.0, 1.0], [3.0, 4.0]],
    ],
)
def test_whole_numbers_of_any_size_are_kept_exactly(counts):
    joint = ll.Joint.from_counts(counts)
    assert joint.counts.tolist() == counts
    assert joint.prior == tuple(sum(int(n) for n in row) for row in counts)
    assert joint.is_counted
    total = sum(joint.prior)
    exact = [[float(Fraction(int(n), total)) for n in row] for row in counts]
    assert joint.p_sx == pytest.approx(np.array(exact), rel=1e-15)


def test_huge_counts_are_told_apart_where_floats_cannot():
    even, odd = [[2**200, 2**200], [2**200, 2**200]], [[2**200, 2**200], [2**200, 2**200 + 1]]
    for counts, verdict in ((even, True), (odd, False)):
        joint = ll.Joint.from_counts(counts)
        assert ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0)).is_satisfied is verdict


def test_floats_are_the_binary_fractions_they_are():
    rng = np.random.default_rng(3)
    values = rng.random((3, 4))
    joint = ll.Joint(values / values.sum())
    assert not joint.is_counted
    ratios = {Fraction(p) / n for p, n in zip(joint.masses.flat, joint.counts.flat, strict=True)}
    assert len(ratios) == 1
    assert joint.prior == tuple(sum(row) for row in joint.counts.tolist())


def test_marginals_and_lifts_by_hand():
    joint = ll.Joint.from_counts([[1, 2], [3, 2]])
    assert joint.p_s.tolist() == [3 / 8, 5 / 8]
    assert joint.p_x.tolist() == [0.5, 0.5]
    assert joint.p_s_given_x.tolist() == [[0.25, 0.5], [0.75, 0.5]]
    assert joint.lift == pytest.approx(np.array([[2 / 3, 4 / 3], [6 / 5, 4 / 5]]), rel=1e-15)
    assert joint.entropy_x == pytest.approx(np.log(2), rel=1e-15)


def test_random_is_the_papers_generator():
    values = np.random.default_rng(7).random((5, 17))
    joint = ll.Joint.random(5, 17, seed=7)
    assert (joint.masses == values / values.sum()).all()
    rng = np.random.default_rng(7)
    assert (ll.Joint.random(5, 17, seed=rng).masses == joint.masses).all()


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (-1, 3)])
def test_random_refuses_empty_axes(sizes):
    with pytest.raises(InvalidInput, match=r"n_[sx] must be a whole number, 1 or more"):
        ll.Joint.random(*sizes)


JOINTS = [
    ll.Joint.random(3, 4, seed=1),
    ll.Joint.from_counts([[1, 2, 3], [4, 5, 6]], ["a", None], [True, (1, "x"), 2.5]),
    ll.Joint.from_counts([[2**200, 1], [3, 2**200]]),
]
COPIES = [lambda x: x, lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy]


@pytest.mark.parametrize("copied", COPIES, ids=["itself", "pickle", "deepcopy", "copy"])
@pytest.mark.parametrize("joint", JOINTS, ids=["floats", "counts", "huge"])
def test_copies_are_equal_and_read_only(joint, copied):
    for name in ARRAYS:  # also what is computed on demand must not leak writable into a copy
        getattr(joint, name)
    other = copied(joint)
    for name in ARRAYS:
        assert not getattr(other, name).flags.writeable, name
        assert (getattr(other, name) == getattr(joint, name)).all(), name
    assert repr(other.labels) == repr(joint.labels)
    assert other.is_counted is joint.is_counted
    assert other.prior == joint.prior


def test_pickling_a_joint_of_one_s_does_not_warn_again():
    with pytest.warns(LowliftWarning, match="nothing to protect"):
        joint = ll.Joint([[0.5, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(joint)).n_s == 1


def test_attributes_are_frozen_and_input_is_copied():
    given = np.array(GOOD)
    joint = ll.Joint(given)
    given[0, 0] = 9
    assert joint.masses[0, 0] == 0.25
    for name in ("masses", "total", "s_labels", "p_sx", "anything"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(joint, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        joint.p_sx[0, 0] = 1.0


def test_given_counts_are_copied():
    given = np.array([[1, 2], [3, 4]])
    joint = ll.Joint.from_counts(given)
    given[0, 0] = 9
    assert joint.counts[0, 0] == 1
    assert given.flags.writeable


def test_repr_shows_sizes_and_no_numbers():
    assert repr(ll.Joint(GOOD, x_labels=["secret", "b"])) == "<Joint |S|=2 |X|=2>"
