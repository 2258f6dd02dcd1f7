"""The alias table and fresh counts have the channel's law, exactly."""

import hashlib
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lowlift import Channel, InvalidInput, Joint
from lowlift.tables import AliasTable, Column, alias_draw, uniform_of
from lowlift.tables.draws import rows_per_output, shuffled_codes, split_rows
from lowlift.tables.layouts import Layout, lookup
from lowlift.tables.row_plans import RowPlan


@st.composite
def channels(draw, most_bits=48):
    n_x, n_y = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    denominator = 1 << draw(st.integers(0, most_bits))
    rows = []
    for _ in range(n_x):
        cuts = sorted(
            draw(st.lists(st.integers(0, denominator), min_size=n_y - 1, max_size=n_y - 1))
        )
        rows.append(np.diff([0, *cuts, denominator]))
    weights = np.array(rows)
    return Channel(weights[:, weights.any(axis=0)])


@given(channels())
def test_the_alias_table_holds_the_weights_exactly(channel):
    table = AliasTable.from_channel(channel)
    slots = 1 << table.slot_bits
    assert 1 << table.place_bits == channel.denominator
    assert table.slot_bits + table.place_bits <= 60
    assert table.thresholds.min() >= 0
    assert table.thresholds.max() <= channel.denominator
    held = np.zeros((channel.n_x, channel.n_y), object)
    for x, c in itertools.product(range(channel.n_x), range(slots)):
        held[x, table.firsts[x, c]] += int(table.thresholds[x, c])
        held[x, table.others[x, c]] += channel.denominator - int(table.thresholds[x, c])
    assert (held == channel.weights.astype(object) * slots).all()


@given(channels(most_bits=5), st.integers(0, 1 << 40))
def test_draws_from_every_uniform_number_have_the_weights(channel, rest):
    table = AliasTable.from_channel(channel)
    bits = table.slot_bits + table.place_bits
    for x in range(channel.n_x):
        drawn = [
            alias_draw(table, x, (lead << (60 - bits)) | (rest & ((1 << (60 - bits)) - 1)))
            for lead in range(1 << bits)
        ]
        counts = np.bincount(drawn, minlength=channel.n_y)
        assert (counts == channel.weights[x] << table.slot_bits).all()


@given(channels(most_bits=40), st.booleans(), st.integers(0, (1 << 60) - 1))
def test_pieces_by_digits_draw_what_the_table_draws(channel, is_layout, number):
    layout = Layout.of_alias(channel, "") if is_layout else None
    symbols, columns, bits = lookup(channel, layout)
    table = AliasTable.from_channel(channel)
    alias = {"c0": np.array([str(x) for x in symbols], object)} | columns
    plan = RowPlan((Column("x", "text"),), alias, bits, "key", "null", "id")
    pieces = plan.by_digits()
    ends = [int(each, 16) if each != "g" else 1 << 60 for each in (*pieces["low"], *pieces["high"])]
    for u in (number, 0, (1 << 60) - 1, *(end - k for end in ends[:60] for k in (0, 1))):
        if not 0 <= u < 1 << 60:
            continue
        digest = f"{u:015x}" + "0" * 49
        for x in range(channel.n_x):
            (at,) = [
                k
                for k, low in enumerate(pieces["low"])
                if pieces["c0"][k] == str(x)
                and digest.startswith(pieces["leading"][k])
                and low <= digest < pieces["high"][k]
            ]
            assert pieces["first"][at] == alias_draw(table, x, u)


def test_a_channel_with_too_many_slots_is_refused():
    with pytest.raises(InvalidInput, match="at most"):
        AliasTable.from_channel(Channel(np.full((1, 8192), 1)))
    wide = np.zeros((1 << 13, 1 << 10), np.int64)
    wide[:, 0] = 1 << 10
    wide[0] = 1
    with pytest.raises(InvalidInput, match="at most"):
        AliasTable.from_channel(Channel(wide))


def test_a_large_partition_is_fast():
    joint = Joint.from_counts(np.ones((2, 50_000), int))
    table = AliasTable.from_channel(Channel.identity(joint))
    assert table.slot_bits == table.place_bits == 0
    assert alias_draw(table, 49_999, (1 << 60) - 1) == 49_999


@pytest.mark.parametrize("text", ["7", "", "ä ö", "123456789012345678901234567890" * 5])
def test_the_uniform_number_is_sixty_bits_of_a_digest(text):
    subkey = bytes(range(32))
    octets = text.encode()
    message = subkey.hex()[:40].encode() + str(len(octets)).encode() + b":" + octets
    assert uniform_of(subkey, text) == int(hashlib.sha256(message).hexdigest()[:15], 16)


def test_length_keeps_key_and_id_apart():
    assert uniform_of(bytes(20), "1:1") != uniform_of(bytes(20), "1")


@given(st.data(), st.integers(1, 16))
def test_split_rows_gives_each_output_its_share(data, bits):
    cuts = data.draw(st.sets(st.integers(1, (1 << bits) - 1), max_size=6))
    sums = np.array([*sorted(cuts), 1 << bits])
    # Every second bit is set, so each range is halved exactly.
    counts = split_rows(1 << 16, sums, lambda size: b"\x55" * size)
    assert (counts == np.diff(sums, prepend=0) << (16 - bits)).all()


def test_split_rows_has_the_law_of_uniform_numbers():
    # All bits that three halvings of three rows can draw, against all numbers of three rows.
    sums = np.array([1, 3, 4])
    found, expected = Counter(), Counter()
    for drawn in itertools.product(range(8), repeat=3):
        given = (bytes([bits << 5]) for bits in drawn)
        counts = split_rows(3, sums, lambda size, given=given: next(given)[:size])
        found[tuple(counts.tolist())] += 1
    for numbers in itertools.product(range(4), repeat=3):
        outputs = np.searchsorted(sums, numbers, side="right")
        expected[tuple(np.bincount(outputs, minlength=3).tolist())] += 8
    assert found == expected


def test_split_rows_draws_the_rest_of_a_number_only_where_it_matters():
    # The boundary is at 0.5 + 2**-17: rows are decided unless their bits are 1, 0, 0, ...
    sums = np.array([(1 << 16) + 1, 1 << 17])
    taken = []

    def take(size):
        taken.append(size)
        return b"\x0f" * size

    assert split_rows(64, sums, take).tolist() == [36, 28]
    assert taken == [8, 4, 2, *[1] * 14]


@pytest.mark.parametrize("seed", [None, 5])
def test_fresh_counts_have_the_law_of_the_channel(seed):
    rng = np.random.default_rng(1)
    weights = rng.random((5, 7)) * (rng.random((5, 7)) < 0.7) + np.eye(5, 7) * 0.1
    weights[:, 6] += 0.01
    channel = Channel.from_probabilities(weights / weights.sum(axis=1, keepdims=True))
    rows = [200_000, 3_000, 0, 16_384, 1]
    expected = np.array(rows) @ channel.p_y_given_x
    found = rows_per_output(channel, rows, seed)
    assert found.sum() == sum(rows)
    assert (found == rows_per_output(channel, rows, seed)).all() == (seed is not None)
    # Sums of multinomials: the chi-square law is an upper bound on the spread.
    assert stats.chisquare(found, expected).pvalue > 1e-9


def test_one_symbol_has_the_law_of_the_channel():
    channel = Channel.from_probabilities([[0.1, 0.2, 0.3, 0.4]])
    for rows in (10_000, 1_000_000):
        found = rows_per_output(channel, [rows])
        assert stats.chisquare(found, rows * channel.p_y_given_x[0]).pvalue > 1e-9


def test_shuffled_codes_are_those_counted():
    counts = [3, 0, 300, 1]
    codes = shuffled_codes(counts)
    assert codes.dtype == np.uint8
    assert np.bincount(codes, minlength=4).tolist() == counts
    assert (np.diff(codes.astype(int)) < 0).any()
    assert (shuffled_codes(counts, 1) == shuffled_codes(counts, 1)).all()
    assert shuffled_codes([1] * 300).dtype == np.uint16
    assert len(shuffled_codes([0, 0])) == 0


def test_shuffled_codes_are_in_random_order():
    counts = [400_000, 90_000, 9_000, 1_000, 20, 0]
    codes = shuffled_codes(counts, 3).astype(int)
    assert np.bincount(codes, minlength=6).tolist() == counts
    # Where outputs are, and what their neighbours are, is as independent as after a shuffle.
    places = np.minimum(np.arange(len(codes)) * 64 // len(codes), 63)
    for left, right in ((codes, places), (codes[:-1], codes[1:])):
        seen = np.zeros((5, 64))
        np.add.at(seen, (left, right), 1)
        seen = seen[:4, seen.sum(axis=0) > 5_000]
        assert stats.chi2_contingency(seen).pvalue > 1e-6
