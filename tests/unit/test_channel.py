"""Channels are integer weights over one power of two, and fit their joint."""

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest

import lowlift as ll
from lowlift._channel import MAX_DENOMINATOR
from lowlift._exact import largest_remainders
from lowlift.errors import InvalidInput, LowliftWarning

JOINT = ll.Joint.from_counts([[1, 2, 1], [3, 4, 1]], x_labels="abc")
ARRAYS = ("offsets", "members", "member_weights", "weights")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[3, 1], [2, 1]], r"one denominator in every row; row 1 sums to 3, the first row to 4"),
        ([[3, 1], [8, 0]], r"row 1 sums to 8, the first row to 4"),
        ([[2, 1], [2, 1]], r"power of two up to 2\*\*48 in every row; row 0 sums to 3"),
        ([[0, 0], [0, 0]], r"row 0 sums to 0"),
        ([[2**48, 2**48]], r"row 0 sums to 562949953421312"),
        ([[2**49, 0], [0, 2**49]], r"0\.\.2\*\*48; got 562949953421312 in row 0, column 0"),
        ([[3, 1], [5, -1]], r"0\.\.2\*\*48; got -1 in row 1, column 1"),
        (np.array([[2**64 - 1, 2]], np.uint64), r"got 18446744073709551615 in row 0, column 0"),
        ([[0.5, 0.5], [0.0, 1.0]], r"whole numbers; got dtype float64. Use Channel.from_prob"),
        ([[True, False]], r"whole numbers; got dtype bool"),
        ([[2**200, 0]], r"whole numbers; got dtype object"),
        ([["1", "0"]], r"whole numbers; got dtype <U1"),
        ([1, 0], r"table of \|X\| rows and \|Y\| columns, neither empty; got shape \(2,\)"),
        ([[]], r"got shape \(1, 0\)"),
        ([[1, 1], [2]], r"table"),
    ],
)
def test_bad_weights_are_refused_by_place(weights, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Channel(weights)


def test_the_row_is_named_by_its_label():
    with pytest.raises(InvalidInput, match=r"row 'nurse' \(1\) sums to 3"):
        ll.Channel([[3, 1], [2, 1]], x_labels=["clerk", "nurse"])
    with pytest.raises(InvalidInput, match=r"got -1 in row 'nurse' \(1\), column 1"):
        ll.Channel([[3, 1], [5, -1]], x_labels=["clerk", "nurse"])


def test_sums_beyond_int64_do_not_wrap_around():
    # 65537 * 2**48 = 2**64 + 2**48: in 64 bits this would look like one full row.
    row = np.full((1, 65537), MAX_DENOMINATOR)
    with pytest.raises(InvalidInput, match="power of two"):
        ll.Channel(row)
    first = np.zeros((1, 65537), np.int64)
    first[0, 0] = MAX_DENOMINATOR
    with pytest.raises(InvalidInput, match="row 1 sums to 18447025548686262272"):
        ll.Channel(np.concatenate([first, row]))


def test_an_output_without_weight_is_refused_or_dropped():
    with pytest.raises(InvalidInput, match=r"every output must occur; 'q' has no weight.*drop_em"):
        ll.Channel([[1, 0, 1], [2, 0, 0]], y_labels="pqr")
    with pytest.warns(LowliftWarning, match=r"dropped 1 output") as caught:
        channel = ll.Channel([[1, 0, 1], [2, 0, 0]], y_labels="pqr", drop_empty=True)
    assert caught[0].filename == __file__
    assert channel.y_labels == ("p", "r")
    assert channel.weights.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize("axis", ["x", "y"])
def test_labels_are_checked(axis):
    with pytest.raises(InvalidInput, match=f"{axis}_labels must name each of the 2"):
        ll.Channel([[1, 1], [2, 0]], **{f"{axis}_labels": "abc"})
    with pytest.raises(InvalidInput, match=f"{axis}_labels must differ; 'a' stands at 0"):
        ll.Channel([[1, 1], [2, 0]], **{f"{axis}_labels": "aa"})


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], r"rows .* sum to 1 within 1e-9; row 1 sums to .*0\.9.*Divide"),
        ([[0.5, 0.5 + 2e-9]], r"row 0 sums to .*1\.000000002"),
        ([[0.5, 0.5], [1.5, -0.5]], r"0 or more; got -0.5 at row 1, column 1"),
        ([[float("nan"), 1.0]], r"0 or more; got nan at row 0, column 0"),
        ([[float("inf"), 1.0]], r"0 or more; got inf at row 0, column 0"),
        ([["1", "0"]], r"real numbers; got dtype <U1"),
        ([], r"got shape \(0,\)"),
        ([[1.0], [0.5, 0.5]], r"table"),
    ],
)
def test_bad_probabilities_are_refused_by_place(p, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Channel.from_probabilities(p)


@pytest.mark.parametrize("denominator", [0, -4, 3, 2**49])
def test_from_probabilities_needs_a_power_of_two(denominator):
    with pytest.raises(InvalidInput, match=rf"power of two up to 2\*\*48; got {denominator}"):
        ll.Channel.from_probabilities([[1.0]], denominator=denominator)


def test_from_probabilities_names_the_row_by_label():
    with pytest.raises(InvalidInput, match=r"row 'b' \(1\) sums to"):
        ll.Channel.from_probabilities([[1.0], [0.9]], x_labels="ab")


def test_messages_show_plain_numbers():
    with pytest.raises(InvalidInput, match=r"row 1 sums to 0\.9\. Divide"):
        ll.Channel.from_probabilities([[1.0], [0.9]])


def test_from_probabilities_rounds_each_weight_by_less_than_one():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(7), 20)
    p[:, 3] = 0
    p /= p.sum(axis=1, keepdims=True)
    p = np.delete(p, 3, axis=1)
    p[4] = [0, 0.25, 0, 0.75, 0, 0]
    for denominator in (16, 2**20, MAX_DENOMINATOR):
        channel = ll.Channel.from_probabilities(p, denominator=denominator)
        assert (channel.weights.sum(axis=1) == denominator).all()
        assert (channel.weights[p == 0] == 0).all()
        for weight, value, row in zip(
            channel.weights.flat, p.flat, np.repeat(p, 6, 0), strict=True
        ):
            exact = Fraction(value) / sum(map(Fraction, row)) * denominator
            assert abs(int(weight) - exact) < 1


def test_from_probabilities_drops_what_rounds_to_nothing():
    with pytest.raises(InvalidInput, match="every output must occur; 1 has no weight"):
        ll.Channel.from_probabilities([[1.0, 0.0], [1.0, 0.0]])
    with pytest.warns(LowliftWarning, match="dropped 1"):
        channel = ll.Channel.from_probabilities([[1.0, 1e-30]], drop_empty=True)
    assert channel.n_y == 1


def test_largest_remainders_keep_the_sum_and_go_to_the_first_on_a_tie():
    assert largest_remainders([1, 1, 1], 16) == [6, 5, 5]
    assert largest_remainders([0, 1, 3], 4) == [0, 1, 3]
    assert largest_remainders([2**200, 1], 2**48) == [2**48, 0]


def test_the_parts_of_a_channel_by_hand():
    channel = ll.Channel([[3, 1], [0, 4], [2, 2]], x_labels="abc", y_labels="pq")
    assert channel.denominator == 4
    assert (channel.n_x, channel.n_y) == (3, 2)
    assert channel.atom(0) == ([0, 2], [3, 2])
    assert channel.atom(1) == ([0, 1, 2], [1, 4, 2])
    assert channel.p_y_given_x.tolist() == [[0.75, 0.25], [0, 1], [0.5, 0.5]]
    assert channel.exact_masses(JOINT, 0) == [3 * 1 + 2 * 1, 3 * 3 + 2 * 1]
    assert channel.output_masses(JOINT).tolist() == [[5, 11], [11, 21]]
    assert repr(channel) == "<Channel |X|=3 |Y|=2 denominator=4>"


def test_identity_and_partitions():
    assert ll.Channel.identity(JOINT).weights.tolist() == np.eye(3).tolist()
    channel = ll.Channel.from_partition(JOINT, ll.Partition([["c", "a"], ["b"]]))
    assert channel.y_labels == (("c", "a"), "b")
    assert channel.weights.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert channel.denominator == 1


def test_outputs_that_would_be_called_the_same_are_numbered():
    joint = ll.Joint.from_counts([[1, 2, 1], [3, 4, 1]], x_labels=["a", "b", ("a", "b")])
    channel = ll.Channel.from_partition(joint, ll.Partition([["a", "b"], [("a", "b")]]))
    assert channel.y_labels == (("a", "b", "output 0"), (("a", "b"), "output 1"))
    twice = ll.Channel.from_atoms(JOINT, [([0, 1], [1, 3]), ([0, 1], [3, 1]), ([2], [4])], 4)
    assert twice.y_labels == (("a", "b", "output 0"), ("a", "b", "output 1"), "c")
    names = ["a", "b", ("a", "b", "output 0")]
    odd = ll.Joint.from_counts([[1, 2, 1], [3, 4, 1]], x_labels=names)
    both = ll.Channel.from_atoms(odd, [([0, 1], [1, 3]), ([0, 1], [3, 1]), ([2], [4])], 4)
    assert both.y_labels == (0, 1, 2)


@pytest.mark.parametrize(
    ("atoms", "denominator", "message"),
    [
        ([([0, 1], [2, 2])], 2, r"must sum to 2; those of 'c' \(2\) sum to 0"),
        ([([0, 1, 2], [2, 2, 1])], 2, r"those of 'c' \(2\) sum to 1"),
        ([([0, 1, 2], [3, 3, 3])], 3, r"power of two up to"),
        ([([0, 1, 3], [1, 1, 1])], 1, r"numbers of symbols of X"),
        ([([0, 1, -1], [1, 1, 1])], 1, r"numbers of symbols of X"),
        ([([[0], 1, 2], [1, 1, 1])], 1, r"numbers of symbols of X"),  # no number: it has no hash
        ([([0, 1, 2], [1, 1, 1]), ([], [])], 1, r"atom 1 does not"),
        ([([0, 1, 2], [3, 2, 2]), ([0], [-1])], 2, r"positive whole weights; atom 0"),
        ([([0, 1, 2], [2**49] * 3)], 2**49, r"power of two"),
        ([], 0, r"denominator|output"),
        (
            [([0, 0, 1, 2], [1, 1, 2, 2])],
            2,
            r"different numbers .*atom 0",
        ),  # a symbol twice in one output
        ([([0, 1], [1, 1, 1]), ([2], [1])], 1, r"weight"),  # one weight too many
        ([([0, 1, 2], [1.5, 1, 1])], 1, r"whole|integer"),  # truncated, this would pass
    ],
)
def test_from_atoms_refuses_what_is_no_channel(atoms, denominator, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Channel.from_atoms(JOINT, atoms, denominator)


@pytest.mark.parametrize("blocks", [[[0, 1]], [[0, 1], [1, 2]], [[0], [1], [2], [2]]])
def test_blocks_must_hold_each_symbol_once(blocks):
    with pytest.raises(InvalidInput, match=r"the weights of each symbol must sum to 1"):
        ll.Channel.from_blocks(JOINT, blocks)


def test_from_atoms_is_the_same_channel_as_its_table():
    channel = ll.Channel.from_atoms(JOINT, [([2, 0], [2, 3]), ([0, 1, 2], [1, 4, 2])], 4, "pq")
    assert channel.weights.tolist() == [[3, 1], [0, 4], [2, 2]]
    assert channel.x_labels == JOINT.x_labels


def test_a_joint_of_other_symbols_is_refused():
    with pytest.raises(InvalidInput, match="same X; got 2 and 3 symbols"):
        ll.Channel([[1, 0], [0, 1]]).check_fits(JOINT)
    with pytest.raises(InvalidInput, match=r"at 1 the channel has 'c', the joint 'b'"):
        ll.Channel(np.eye(3, dtype=int), x_labels="acb").check_fits(JOINT)
    ll.Channel(np.eye(3, dtype=int), x_labels="abc").check_fits(JOINT)
    ll.Channel(np.eye(3, dtype=int)).check_fits(JOINT)  # without labels: by position


@pytest.mark.parametrize(
    "copied", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy]
)
@pytest.mark.parametrize(
    "channel",
    [
        ll.Channel([[3, 1], [0, 4], [2, 2]], y_labels=[None, (True, 1)]),
        ll.Channel.from_partition(JOINT, ll.Partition([["c", "a"], ["b"]])),
        ll.Channel.from_probabilities([[0.3, 0.7], [0.5, 0.5], [1, 0]], x_labels="abc"),
    ],
)
def test_copies_are_equal_and_read_only(channel, copied):
    for name in ARRAYS:
        getattr(channel, name)
    other = copied(channel)
    assert (other.weights == channel.weights).all()
    assert other.denominator == channel.denominator
    assert repr((other.x_labels, other.y_labels)) == repr((channel.x_labels, channel.y_labels))
    for name in ARRAYS:
        assert not getattr(other, name).flags.writeable, name


def test_what_is_drawn_from_cannot_be_changed():
    # `draw` reads the outputs of the entries: writable, they would undo the audit.
    with pytest.raises(ValueError, match="read-only"):
        ll.Channel([[3, 1], [0, 4]]).entry_outputs[:] = 0


def test_attributes_are_frozen_and_input_is_copied():
    given = np.array([[3, 1], [0, 4]])
    channel = ll.Channel(given)
    given[0] = 2
    assert channel.weights.tolist() == [[3, 1], [0, 4]]
    for name in ("denominator", "members", "n_x", "y_labels"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(channel, name, 1)
    with pytest.raises(ValueError, match="read-only"):
        channel.weights[0, 0] = 1
