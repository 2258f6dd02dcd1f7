"""Propositions 2 and 7, Theorem 1, and the closed forms of the watchdog's utility."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import lowlift as ll
from lowlift import measures
from oracles import rational
from strategies import counts, criteria, joint_of, partitions, positive_counts, tables, weights

#: What float sums of a few terms may be off by.
ABSOLUTE = 1e-12


@given(tables(), st.floats(0, 4), st.floats(0, 1))
def test_prop_2_ldp_keeps_at_least_what_alip_keeps(table, epsilon, lam):
    joint = joint_of(table)
    alip = ll.ALIP.split(epsilon, lam)
    ldp = ll.LDP(rational.sum_up(alip.lower, alip.upper))
    assert set(ll.high_risk(joint, ldp)) <= set(ll.high_risk(joint, alip))
    less, more = (ll.watchdog(joint, c, repair=False) for c in (alip, ldp))
    assert more.partition.refines(less.partition)
    assert more.audit.mutual_information >= less.audit.mutual_information - ABSOLUTE


@st.composite
def randomised_high_risk(draw, make):
    """A table, a criterion, its high-risk symbols, and any weights r(y|x) on them."""
    table = draw(positive_counts(n_x=(2, 5)))
    criterion = make(draw(st.floats(0.01, 2)))
    high = ll.high_risk(joint_of(table), criterion)
    assume(high)
    return table, criterion, high, draw(weights(len(high)))


def lifts_on(table, high, rows):
    """Return the exact lifts of the outputs that the high-risk symbols are randomised to."""
    part = [[row[x] for x in high] for row in table]
    p_s = rational.prior(table)
    return [rational.lift(column, p_s) for column in rational.columns(part, rows)]


def channel_with(joint, high, rows):
    """Return the watchdog's channel with this randomisation, its outputs Y_H first."""
    total, size = sum(rows[0]), len(rows[0])
    low = [x for x in joint.x_labels if x not in high]
    table = np.zeros((joint.n_x, size + len(low)), np.int64)
    table[list(high), :size] = rows
    for k, x in enumerate(low):
        table[x, size + k] = total
    return ll.Channel(table)


@given(randomised_high_risk(ll.LDP))
def test_theorem_1_x_invariant_randomisation_minimises_gamma(case):
    table, criterion, high, rows = case
    joint = joint_of(table)
    gamma = measures.local_differential_privacy(joint, channel_with(joint, high, rows)).gamma
    exact = [max(l_s) / min(l_s) for l_s in lifts_on(table, high, rows)]
    np.testing.assert_allclose(gamma[: len(exact)], [float(g) for g in exact], rtol=ABSOLUTE)
    release = ll.watchdog(joint, criterion, repair=False)
    merged = rational.lift(rational.block_column(table, high), rational.prior(table))
    y = release.channel.y_labels.index(high if len(high) > 1 else high[0])
    least = measures.local_differential_privacy(joint, release.channel).gamma[y]
    assert least == pytest.approx(float(max(merged) / min(merged)), rel=ABSOLUTE)
    assert max(exact) >= max(merged) / min(merged)


@given(randomised_high_risk(ll.LIP))
def test_x_invariant_randomisation_minimises_both_leakages_of_alip(case):
    """Equations 8 and 9: no randomisation of X_H has less max-lift, nor more min-lift."""
    table, criterion, high, rows = case
    release = ll.watchdog(joint_of(table), criterion, repair=False)
    y = release.channel.y_labels.index(high if len(high) > 1 else high[0])
    merged = rational.lift(rational.block_column(table, high), rational.prior(table))
    np.testing.assert_allclose(release.audit.lift[:, y], [float(v) for v in merged], rtol=ABSOLUTE)
    found = lifts_on(table, high, rows)
    assert max(map(max, found)) >= max(merged)
    assert min(map(min, found)) <= min(merged)


@given(randomised_high_risk(ll.LDP))
def test_prop_7_ldp_is_attainable_on_x_h_iff_merging_attains_it(case):
    table, criterion, high, rows = case
    joint = joint_of(table)
    merged = rational.lift(rational.block_column(table, high), rational.prior(table))
    is_attainable = rational.at_most_exp(max(merged) / min(merged), criterion.epsilon)
    release = ll.watchdog(joint, criterion, repair=False)
    assert release.audit.is_satisfied == is_attainable
    tight = rational.log_up(max(merged) / min(merged))
    assert ll.audit(joint, release.channel, ll.LDP(max(tight, criterion.epsilon))).is_satisfied
    if tight > 0:
        below = ll.LDP(math.nextafter(tight, 0))
        anyone = ll.audit(joint, channel_with(joint, high, rows), below)
        assert not anyone.allowed[: len(rows[0])].all()


shares = st.one_of(
    st.integers(1, 5), st.lists(st.floats(0.01, 1), min_size=2, max_size=4).map(tuple)
)


def members(release, y):
    return tuple(release.channel.atom(y)[0])


@given(tables(), criteria(), st.booleans(), shares, shares)
def test_every_r_gives_the_same_lifts_and_information(table, criterion, repair, first, second):
    joint = joint_of(table)
    found = [ll.watchdog(joint, criterion, outputs=r, repair=repair) for r in (1, first, second)]
    assert len({release.audit.is_satisfied for release in found}) == 1
    one = found[0]
    expected = {members(one, y): one.audit.lift[:, y] for y in range(one.channel.n_y)}
    for release in found:
        for y in range(release.channel.n_y):
            np.testing.assert_allclose(
                release.audit.lift[:, y], expected[members(release, y)], rtol=ABSOLUTE
            )
        assert release.audit.mutual_information == pytest.approx(
            one.audit.mutual_information, abs=ABSOLUTE
        )


def information_lost(p_x, block):
    mass = sum(p_x[x] for x in block)
    return math.fsum(p_x[x] * math.log(mass / p_x[x]) for x in block)


@given(tables(), criteria(), shares)
def test_equation_11_closed_form_of_the_watchdog(table, criterion, outputs):
    joint = joint_of(table)
    release = ll.watchdog(joint, criterion, outputs=outputs, repair=False)
    high = ll.high_risk(joint, criterion)
    closed = measures.entropy(joint.p_x) - information_lost(joint.p_x, high)
    assert measures.mutual_information(joint, release.channel) == pytest.approx(
        closed, abs=ABSOLUTE
    )


@given(st.data())
def test_equation_13_closed_form_of_subset_merging(data):
    joint = joint_of(data.draw(tables()))
    blocks = data.draw(partitions(joint.n_x))
    channel = ll.Channel.from_partition(joint, ll.Partition(blocks))
    lost = math.fsum(information_lost(joint.p_x, block) for block in blocks)
    closed = measures.entropy(joint.p_x) - lost
    assert measures.mutual_information(joint, channel) == pytest.approx(closed, abs=ABSOLUTE)


@given(st.data())
def test_refinement_raises_information(data):
    joint = joint_of(data.draw(counts(n_x=(2, 6))))
    coarse = data.draw(partitions(joint.n_x))
    fine = [
        [block[k] for k in part] for block in coarse for part in data.draw(partitions(len(block)))
    ]
    finer, coarser = ll.Partition(fine), ll.Partition(coarse)
    assert finer.refines(coarser)
    more, less = (
        measures.mutual_information(joint, ll.Channel.from_partition(joint, p))
        for p in (finer, coarser)
    )
    if finer == coarser:
        assert more == pytest.approx(less, abs=ABSOLUTE)
    else:  # strictly: every symbol has at least a millionth of the mass
        assert more > less
