"""Subset random response: Algorithm 2 in the form that keeps the guarantee."""

import math

import pytest

import lowlift as ll

CRITERIA = [ll.LIP(0.3), ll.ALIP(0.5, 0.2), ll.LDP(0.5), ll.L1Lift(math.inf, 0.2), ll.MaxLift(0.3)]


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_between_merging_its_blocks_and_the_bound(criterion, seed):
    joint = ll.Joint.random(4, 14, seed=seed)
    release = ll.subset_random_response(joint, criterion)
    merged = ll.subset_merging(joint, criterion)
    assert release.audit.is_satisfied
    assert release.partition == merged.partition
    assert merged.audit.nmi <= release.audit.nmi
    bound = ll.random_response(joint, criterion).certificate.upper_bound
    assert release.audit.nmi <= bound


def test_one_block_of_all_is_the_random_response():
    joint, criterion = ll.Joint.random(3, 9, seed=0), ll.LIP(0.3)
    whole = ll.Partition([joint.x_labels])
    found = ll.subset_random_response(joint, criterion, partition=whole)
    expected = ll.random_response(joint, criterion)
    assert found.audit.nmi == pytest.approx(expected.audit.nmi, abs=2e-6)


def test_blocks_that_violate_when_merged_join_the_next_then_earlier_ones():
    joint = ll.Joint.from_counts([[1, 9, 5, 5, 9, 1], [9, 1, 5, 5, 1, 9]], x_labels="abcdef")
    criterion = ll.LIP(0.1)
    # {a} violates and joins {b}; {c, d} holds; {e} violates, takes {f}.
    alone = ll.Partition([["a"], ["b"], ["c", "d"], ["e"], ["f"]])
    release = ll.subset_random_response(joint, criterion, partition=alone)
    assert release.partition == ll.Partition([["a", "b"], ["c", "d"], ["e", "f"]])
    assert release.audit.is_satisfied
    # Blocks that hold stay as they are.
    backward = ll.Partition([["a", "e"], ["c"], ["f", "b", "d"]])
    release = ll.subset_random_response(joint, criterion, partition=backward)
    assert release.partition == ll.Partition([["a", "e"], ["c"], ["b", "d", "f"]])
    # {b, c} violates and takes {d}, {e, f} in vain, then {a}: nothing is left before it.
    last = ll.Partition([["b", "c"], ["d"], ["e", "f"], ["a"]])
    release = ll.subset_random_response(joint, criterion, partition=last)
    assert release.partition == ll.Partition([list("abcdef")])
    # {a} at the end has nothing after it, and goes back.
    back = ll.Partition([["e", "f"], ["c", "d", "b"], ["a"]])
    release = ll.subset_random_response(joint, ll.LIP(0.6), partition=back)
    assert release.partition == ll.Partition([["e", "f"], ["a", "b", "c", "d"]])


def test_unions_end_with_all_of_x():
    joint = ll.Joint.from_counts([[1, 9, 4], [9, 1, 6]])
    release = ll.subset_random_response(
        joint, ll.LIP(1e-3), partition=ll.Partition([[0], [1], [2]])
    )
    assert release.partition == ll.Partition([[0, 1, 2]])
    assert release.audit.is_satisfied


@pytest.mark.parametrize(
    ("blocks", "message"),
    [([[0, 1]], "every symbol of X"), ([[0, 1], [2, 3, 4], [9]], "must hold symbols of X")],
)
def test_a_partition_that_does_not_cover_x_is_refused(blocks, message):
    joint = ll.Joint.random(2, 5, seed=0)
    with pytest.raises(ll.InvalidInput, match=message):
        ll.subset_random_response(joint, ll.LIP(0.1), partition=ll.Partition(blocks))


def test_convex_criteria_work_on_blocks():
    joint, criterion = ll.Joint.random(3, 9, seed=1), ll.AlphaLift(2, 0.3, 0.3)
    release = ll.subset_random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi >= ll.subset_merging(joint, criterion).audit.nmi
