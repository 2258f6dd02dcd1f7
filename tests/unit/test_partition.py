"""Blocks are disjoint, not empty, and compared as sets."""

import copy
import dataclasses
import pickle

import pytest

import lowlift as ll
from lowlift.errors import InvalidInput


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([["a", "b"], ["b", "c"]], r"must not overlap; 'b' is in blocks 0 and 1"),
        ([["a", "a"]], r"must not overlap; 'a' is in blocks 0 and 0"),
        ([["a"], ["b"], [1], [True]], r"must not overlap; True is in blocks 2 and 3"),
        ([["a"], []], r"at least one symbol; block 1 is empty"),
    ],
)
def test_bad_blocks_are_refused_by_place(blocks, message):
    with pytest.raises(InvalidInput, match=message):
        ll.Partition(blocks)


@pytest.mark.parametrize("blocks", [[["b"], [{}]], [["b"], ["a", {"a"}]]])
def test_labels_that_cannot_be_hashed_are_refused(blocks):
    with pytest.raises(InvalidInput, match="1"):
        ll.Partition(blocks)


def test_nested_lists_stand_for_nested_tuples():
    assert ll.Partition([["a"], [["b", ["c"]]]]).blocks == (("a",), (("b", ("c",)),))


def test_a_string_is_one_symbol_and_a_list_label_a_tuple():
    assert ll.Partition(["ab", ["c", ["d", 1]]]).blocks == (("ab",), ("c", ("d", 1)))


def test_order_of_blocks_and_members_does_not_matter():
    one, other = ll.Partition([["a", "b"], ["c"]]), ll.Partition([["c"], ["b", "a"]])
    assert one == other
    assert hash(one) == hash(other)
    assert one != ll.Partition([["a"], ["b", "c"]])
    assert one != "abc"
    assert len(one) == 2
    assert list(one) == [("a", "b"), ("c",)]
    assert one.block_of == {"a": 0, "b": 0, "c": 1}
    assert repr(one) == "Partition([['a', 'b'], ['c']])"


def test_refines_is_a_partial_order():
    fine, middle, coarse = (
        ll.Partition([[1], [2], [3], [4]]),
        ll.Partition([[1, 2], [3, 4]]),
        ll.Partition([[1, 2, 3, 4]]),
    )
    across = ll.Partition([[1, 3], [2, 4]])
    chain = (fine, middle, coarse)
    for i, a in enumerate(chain):
        for j, b in enumerate(chain):
            assert a.refines(b) is (i <= j)
    assert not across.refines(middle)
    assert not middle.refines(across)


def test_refines_refuses_other_symbols():
    with pytest.raises(InvalidInput, match=r"same symbols.*2 symbol\(s\) stand in one"):
        ll.Partition([["a"], ["b"]]).refines(ll.Partition([["a"], ["c"]]))
    with pytest.raises(InvalidInput, match=r"1 symbol\(s\)"):
        ll.Partition([["a"]]).refines(ll.Partition([["a", "c"]]))


def test_a_channel_needs_every_symbol_and_no_other():
    joint = ll.Joint.from_counts([[1, 2, 1], [3, 4, 1]], x_labels="abc")
    with pytest.raises(InvalidInput, match=r"every symbol of X; 'b' \(1\) is in none"):
        ll.Channel.from_partition(joint, ll.Partition([["a", "c"]]))
    with pytest.raises(InvalidInput, match=r"symbols of X; 2 label\(s\) are not"):
        ll.Channel.from_partition(joint, ll.Partition([["a", "c"], ["b", "z"], ["y"]]))


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_copies_are_equal_and_frozen(copied):
    partition = ll.Partition([["a", ("b", 1)], [None]])
    other = copied(partition)
    assert other == partition
    assert other.blocks == partition.blocks
    with pytest.raises(dataclasses.FrozenInstanceError):
        other.blocks = ()
