"""P(X) from published rows: exact without noise, covered with it, honest where undetermined."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import lowlift as ll
from lowlift.confidence import clopper_pearson
from lowlift.encodings import encode
from lowlift.errors import InvalidInput
from lowlift.estimation import estimate, estimates

RESPONSE = ll.Channel([[6, 1, 1], [1, 6, 1], [1, 1, 6]], x_labels="abc")
MERGED = ll.Channel([[1, 0], [1, 0], [0, 1]], x_labels="abc")
#: The third row is half of the first and half of the second.
BETWEEN = ll.Channel([[4, 0, 4], [0, 4, 4], [2, 2, 4]])


def test_counts_without_noise_give_p_back():
    rng = np.random.default_rng(0)
    for n_x, n_y in ((2, 2), (3, 5), (8, 8), (20, 25)):
        channel = ll.Channel.from_probabilities(rng.dirichlet(np.full(n_y, 0.3), n_x))
        p = rng.dirichlet(np.ones(n_x))
        # Whole numbers of 2**80 rows are p to a rounding.
        counts = [round(r * 2**80) for r in (p @ channel.p_y_given_x).tolist()]
        found = estimate(channel, counts)
        np.testing.assert_allclose(found.p_x, p, atol=1e-6)
        assert found.gap <= 1e-9
        assert found.is_identified.all()
        assert found.is_consistent
        assert (found.low <= p + 1e-9).all()
        assert (p <= found.high + 1e-9).all()
        assert found.skipped == 0
        assert found.notes == ()


def test_randomised_response_is_its_closed_form():
    """P(y|x) = a where y = x, else b: p = (r - b) / (a - b)."""
    counts = np.array([400, 350, 250])
    found = estimate(RESPONSE, counts)
    np.testing.assert_allclose(found.p_x, (counts / 1000 - 1 / 8) / (5 / 8), atol=1e-8)
    np.testing.assert_allclose(found.fitted, counts / 1000, atol=1e-9)
    assert found.log_likelihood == pytest.approx(float(counts @ np.log(counts / 1000)), abs=1e-6)
    assert found.x_labels == ("a", "b", "c")
    assert "identified=3 rows=1000" in repr(found)


def test_where_the_closed_form_is_negative_the_simplex_is_kept():
    """r below b for one output: p is 0 there, and no other p is likelier."""
    counts = np.array([600, 350, 50])
    found = estimate(RESPONSE, counts)
    assert found.p_x[2] == 0
    assert found.p_x.sum() == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(0)
    for p in rng.dirichlet(np.ones(3), 200):
        assert counts @ np.log(p @ RESPONSE.p_y_given_x) <= found.log_likelihood + 1e-6


def test_the_gap_bounds_every_other_p():
    rng = np.random.default_rng(1)
    channel = ll.Channel.from_probabilities(rng.dirichlet(np.full(6, 0.5), 9))
    counts = rng.multinomial(500, np.full(9, 1 / 9) @ channel.p_y_given_x)
    found = estimate(channel, counts)
    for p in rng.dirichlet(np.full(9, 0.3), 500):
        gain = counts @ np.log(p @ channel.p_y_given_x) - found.log_likelihood
        assert gain <= 500 * found.gap + 1e-6


def test_merged_values_have_totals_and_bounds():
    found = estimate(MERGED, [300, 700])
    assert found.is_identified.tolist() == [False, False, True]
    assert np.isnan(found.p_x[:2]).all()
    assert found.p_x[2] == 0.7
    block, other = found.blocks
    assert block.symbols == (0, 1)
    assert block.total == 0.3
    assert other.symbols == (2,)
    low, high = (float(end) for end in clopper_pearson(np.array(300.0), np.array(1000.0), 0.05))
    assert (block.low, block.high) == (pytest.approx(low), pytest.approx(high))
    assert found.low[:2].tolist() == [0, 0]
    assert found.high[:2].tolist() == [block.high] * 2
    assert found.gap == 0
    assert "2 values like others: their totals are estimated" in found.notes[0]


def test_merging_many_values_is_quick_and_solves_nothing():
    n = 50_000
    joint = ll.Joint(np.full((2, n), 0.5 / n))
    blocks = [list(range(k, k + 5)) for k in range(0, n, 5)]
    counts = np.arange(n // 5) % 7
    found = estimate(ll.Channel.from_blocks(joint, blocks), counts)
    assert len(found.blocks) == n // 5
    np.testing.assert_allclose([b.total for b in found.blocks], counts / counts.sum())


def test_values_drawn_within_merged_blocks_are_the_blocks():
    """Outputs of one direction say the same of x: only their sum counts."""
    joint = ll.Joint.from_counts([[3, 4, 5, 6], [6, 5, 4, 3]])
    release = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[0, 1, 2], [3]]), ll.LIP(1))
    drawn = encode(release, "values").channel
    found, merged = estimate(drawn, [90, 120, 90, 200]), estimate(release.channel, [300, 200])
    assert found.blocks == merged.blocks
    assert found.gap == 0
    np.testing.assert_allclose(found.fitted, [0.2, 0.2, 0.2, 0.4], atol=1e-12)
    noisy = ll.Channel([[2, 4, 1, 1], [1, 2, 2, 3]])  # the first two are one, halved 1 : 2
    np.testing.assert_allclose(
        estimate(noisy, [10, 20, 30, 40]).p_x,
        estimate(ll.Channel([[6, 1, 1], [3, 2, 3]]), [30, 30, 40]).p_x,
        atol=1e-9,
    )


def test_equal_rows_of_a_drawing_channel_are_one_block():
    channel = ll.Channel([[6, 2], [1, 7], [6, 2]])
    found = estimate(channel, [500, 500])
    assert [block.symbols for block in found.blocks] == [(0, 2), (1,)]
    assert found.blocks[0].total == pytest.approx((0.5 - 1 / 8) / (5 / 8), abs=1e-8)
    assert found.is_identified.tolist() == [False, True, False]
    assert found.high[0] == found.high[2] == found.blocks[0].high
    assert found.low[0] == 0


def test_what_the_outputs_do_not_determine_has_bounds_only():
    """p and p + t (1, 1, -2) have the same outputs."""
    found = estimate(BETWEEN, [300, 200, 500])
    assert found.is_identified.tolist() == [False, False, False]
    assert np.isnan(found.p_x).all()
    assert [len(block.symbols) for block in found.blocks] == [1, 1, 1]
    np.testing.assert_allclose(found.fitted, [0.3, 0.2, 0.5], atol=1e-9)
    assert "3 more values are not determined" in found.notes[0]
    # All of x3 but for the tenth that only x1 explains, and none of it: both are inside.
    for p in ([0.6, 0.4, 0.0], [0.2, 0.0, 0.8], [0.3, 0.1, 0.6]):
        assert (found.low <= np.array(p) + 1e-9).all()
        assert (np.array(p) <= found.high + 1e-9).all()


def test_an_undetermined_part_leaves_the_rest_determined():
    channel = ll.Channel([[4, 0, 0], [0, 4, 0], [2, 2, 0], [0, 0, 4]])
    found = estimate(channel, [300, 200, 500])
    assert found.is_identified.tolist() == [False, False, False, True]
    assert found.p_x[3] == pytest.approx(0.5, abs=1e-9)


def test_a_value_at_zero_can_be_determined_where_ranks_say_nothing():
    """Only the first output was seen: whoever has most of it has everything."""
    channel = ll.Channel([[6, 2], [2, 6], [4, 4]])
    found = estimate(channel, [50, 0])
    assert found.is_identified.all()
    assert found.p_x.tolist() == [1, 0, 0]


def test_outputs_that_were_not_seen_count():
    found = estimate(RESPONSE, [10, 0, 0])
    assert found.p_x.tolist() == [1, 0, 0]
    assert found.low[0] > 0.3
    assert found.high[1] < 0.7
    merged = estimate(MERGED, [0, 5])
    assert merged.p_x.tolist() == [0, 0, 1]  # a total of 0 determines its members
    assert merged.is_identified.all()
    assert merged.high[0] > 0.4


def test_one_row_says_little():
    found = estimate(RESPONSE, [1, 0, 0])
    assert (found.high - found.low).min() > 0.9


def test_one_output_says_nothing():
    found = estimate(ll.Channel([[1], [1]]), [7])
    assert found.low.tolist() == [0, 0]
    assert found.high.tolist() == [1, 1]
    assert found.blocks[0].total == 1
    assert found.blocks[0].low == pytest.approx(1, abs=1e-11)


def test_a_table_that_no_p_explains_is_called_so():
    """Every x has each output at most half of the time."""
    channel = ll.Channel([[4, 4, 0], [0, 4, 4], [4, 0, 4]])
    found = estimate(channel, [1000, 0, 0])
    assert not found.is_consistent
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    assert "does not look drawn from this channel" in found.notes[0]
    assert found.p_x[1] == 0


@pytest.mark.parametrize(
    ("channel", "p"),
    [
        (RESPONSE, [0.7, 0.25, 0.05]),
        (ll.Channel([[5, 3, 0], [0, 5, 3], [2, 0, 6], [2, 4, 2]]), [0.4, 0.1, 0.3, 0.2]),
        (BETWEEN, [0.2, 0.3, 0.5]),
    ],
)
@pytest.mark.parametrize("rows", [20, 2000])
def test_all_values_are_covered_at_once(channel, p, rows):
    """At least 95% of the draws, within three standard errors of 100 trials."""
    rng = np.random.default_rng(rows)
    r = np.array(p) @ channel.p_y_given_x
    covered = []
    for counts in rng.multinomial(rows, r, 100):
        found = estimate(channel, counts)
        covered.append(found.is_consistent and bool(((found.low <= p) & (p <= found.high)).all()))
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100)


def test_estimates_come_close_with_rows():
    rng = np.random.default_rng(2)
    joint = ll.Joint.random(4, 12, seed=1)
    channel = ll.random_response(joint, ll.LIP(0.5)).channel
    r = joint.p_x @ channel.p_y_given_x
    widths = []
    for rows in (10**3, 10**5, 10**7):
        found = estimate(channel, rng.multinomial(rows, r / r.sum()))
        inside = (found.low <= joint.p_x) & (joint.p_x <= found.high)
        assert inside.all()
        widths.append(float((found.high - found.low).mean()))
    assert widths[0] > 3 * widths[1] > 9 * widths[2]
    np.testing.assert_allclose(found.p_x, joint.p_x, atol=5e-3)


def test_the_intervals_are_those_of_the_linear_programs():
    rng = np.random.default_rng(3)
    for n_x, n_y in ((4, 4), (6, 4), (4, 7)):
        channel = ll.Channel.from_probabilities(rng.dirichlet(np.full(n_y, 0.4), n_x))
        counts = rng.multinomial(400, rng.dirichlet(np.ones(n_x)) @ channel.p_y_given_x)
        found = estimate(channel, counts, 0.9)
        low, high = clopper_pearson(counts.astype(float), np.array(400.0), 0.1 / n_y)
        a = channel.p_y_given_x.T
        for x in range(n_x):
            for sign, end in ((1, found.low[x]), (-1, found.high[x])):
                solved = linprog(
                    sign * np.eye(n_x)[x],
                    np.vstack([a, -a]),
                    np.concatenate([high, -low]),
                    np.ones((1, n_x)),
                    [1],
                )
                assert end == pytest.approx(sign * solved.fun, abs=1e-6)


def test_without_time_the_intervals_are_wider_and_true():
    rng = np.random.default_rng(3)
    channel = ll.Channel.from_probabilities(0.6 * np.eye(12) + 0.4 / 12)
    p = rng.dirichlet(np.ones(12))
    counts = rng.multinomial(10**5, p @ channel.p_y_given_x)
    quick, slow = estimate(channel, counts, time_limit=0), estimate(channel, counts)
    assert (quick.skipped, slow.skipped) == (12, 0)
    assert "12 intervals are true but may be wider" in quick.notes[0]
    assert (quick.low <= slow.low + 1e-9).all()
    assert (quick.high >= slow.high - 1e-9).all()
    assert (quick.high - quick.low).max() < 0.1
    singular = estimate(BETWEEN, [300, 200, 500], time_limit=0)
    full = estimate(BETWEEN, [300, 200, 500])
    assert (singular.low <= full.low + 1e-9).all()
    assert (singular.high >= full.high - 1e-9).all()


def test_two_hundred_values():
    rng = np.random.default_rng(0)
    channel = ll.Channel.from_probabilities(0.5 * np.eye(200) + 0.5 / 200)
    p = rng.dirichlet(np.ones(200))
    found = estimate(channel, rng.multinomial(10**6, p @ channel.p_y_given_x), time_limit=60)
    assert found.gap <= 1e-9
    assert ((found.low <= p) & (p <= found.high)).all()


def test_too_many_values_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(estimates, "MOST_BLOCKS", 2)
    with pytest.raises(InvalidInput, match=r"at most 2 different rows here; this one has 3\."):
        estimate(RESPONSE, [1, 2, 3])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], r"each of the 3 outputs; got shape \(2,\)"),
        ([[1, 2, 3]], "each of the 3 outputs"),
        (5, "each of the 3 outputs"),
        ([1, -2, 3], "whole numbers, 0 or more; got -2 at 1"),
        ([1, 2, 0.5], "whole numbers, 0 or more; got 0.5 at 2"),
        ([1, math.nan, 3], "whole numbers, 0 or more; got nan at 1"),
        ([1, math.inf, 3], "whole numbers, 0 or more; got inf at 1"),
        ([0, 0, 0], "not all be 0"),
        (["a", "b", "c"], "must hold whole numbers"),
        ([[1], [1, 2], 3], "must hold whole numbers"),
        ([True, False, True], "one whole number for each"),
        (None, "outputs"),
    ],
)
def test_bad_counts_are_refused(counts, message):
    with pytest.raises(InvalidInput, match=message):
        estimate(RESPONSE, counts)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="channel must be a Channel; got list"):
        estimate([[1]], [1])
    for level in (0, 1, "0.9", None):
        with pytest.raises(InvalidInput, match="level must lie"):
            estimate(RESPONSE, [1, 2, 3], level)
    for seconds in (-1, None, "1", math.nan):
        with pytest.raises(InvalidInput, match="time_limit must be"):
            estimate(RESPONSE, [1, 2, 3], time_limit=seconds)
