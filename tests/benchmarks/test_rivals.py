"""The rivals that we wrote ourselves do their job: no rival is crippled by a mistake of ours."""

from itertools import pairwise

import inputs
import kary
import pytest
import vertices
from naive_merging import block_entropy, naive_merging

import lowlift as ll


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("budget", [0.1, 0.5, 1.5])
def test_the_naive_port_makes_the_same_partition(seed, budget):
    joint = ll.Joint.random(4, 15, seed=seed)
    release = ll.subset_merging(joint, ll.LIP(budget))
    blocks = naive_merging(joint.p_sx, budget, budget)
    found = {frozenset(block) for block in blocks}
    offsets, members = release.channel.offsets, release.channel.members
    ours = {frozenset(members[a:b].tolist()) for a, b in pairwise(offsets)}
    assert found == ours
    assert block_entropy(joint.p_sx, blocks) == pytest.approx(release.audit.nmi, abs=1e-12)


@pytest.mark.parametrize("budget", [0.1, 0.5, 1.0])
def test_the_budget_of_randomised_response_is_the_largest(budget):
    joint, criterion = ll.Joint.random(3, 6, seed=1), ll.LIP(budget)
    epsilon = kary.largest_epsilon(joint, criterion)
    assert ll.audit(joint, kary.channel_of(joint, epsilon), criterion).is_satisfied
    if epsilon < kary.LARGEST:
        more = kary.channel_of(joint, epsilon + 1e-6)
        assert not ll.audit(joint, more, criterion).is_satisfied


def test_the_best_recoding_is_allowed_and_loses_to_the_best_partition():
    table = inputs.titanic()
    joint, criterion = table.joint(), ll.LIP(0.5)
    release = inputs.best_recoding(table, joint, criterion)
    assert release.audit.is_satisfied
    assert release.audit.nmi <= ll.optimal_merging(joint, criterion).audit.nmi


def test_the_hierarchies_cover_the_values():
    for table in (inputs.titanic(), inputs.clinic(200)):
        for column, levels in table.hierarchies.items():
            assert set(table.frame[column]) <= set(levels[0])
            assert len({len(level) for level in levels}) == 1
            assert set(levels[-1]) == {"*"}


def test_what_a_table_became_is_a_channel():
    table = inputs.titanic()
    joint = table.joint()
    published = {k: ("seen",) for k in range(len(table.frame)) if k != 0}
    channel = inputs.channel_of(joint, published, table)
    assert channel.y_labels == (("seen",), ("withheld",))
    assert inputs.share_kept(joint, channel) == pytest.approx(1 / len(table.frame), rel=1e-6)
    assert inputs.share_kept(joint, ll.Channel.identity(joint)) == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["highs-ds", "highs-ipm"])
@pytest.mark.parametrize("criterion", [ll.ALIP(0.25, 0.25), ll.ALIP(0.65, 0.35), ll.ALIP(0.0, 0.1)])
def test_the_program_of_all_pairs_finds_the_optimum(method, criterion):
    joint = ll.Joint.random(2, 60, seed=3)
    found = vertices.pairs_by_linprog(joint, criterion, method, 60.0)
    certificate = ll.random_response(joint, criterion, gap=1e-6).certificate
    assert certificate.upper_bound - 2e-6 <= found <= certificate.upper_bound + 1e-9


def test_the_program_of_all_pairs_has_the_vertices_that_qhull_lists():
    joint, criterion = ll.Joint.random(2, 9, seed=1), ll.ALIP(0.3, 0.2)
    listed = vertices.vertices_by_qhull(joint, criterion)
    assert vertices.pairs_of_two(joint, criterion) == len(listed)
    found = vertices.pairs_by_linprog(joint, criterion, "highs-ds", 60.0)
    assert found == pytest.approx(vertices.mixed_by_linprog(joint, listed), abs=1e-9)


def test_the_counts_of_a_real_table_have_every_row():
    joint = inputs.happiness(3, "black")
    assert (joint.n_s, joint.n_x) == (2, 1081)
    assert joint.counts.sum() == 17137
