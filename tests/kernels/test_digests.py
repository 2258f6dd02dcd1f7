"""Digests of many ids: the numbers are those of hashlib, whatever the ids are."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlift import Channel
from lowlift._kernels.compilation import prepare
from lowlift._kernels.digests import LANES, tally, uniform_numbers
from lowlift.tables import AliasTable, alias_draw, uniform_of
from lowlift.tables.alias import key_text

SUBKEY = bytes(range(32))


@pytest.fixture(autouse=True, scope="module")
def compiled():
    prepare("digests")


def numbers_of(ids):
    octets = [text.encode() for text in ids]
    offsets = np.cumsum([0, *map(len, octets)])
    found = np.full(len(ids), -1)
    key = np.frombuffer(key_text(SUBKEY).encode(), ">u4").astype(np.uint32)
    uniform_numbers(key, offsets, np.frombuffer(bytearray(b"".join(octets)), np.uint8), found)
    return found.tolist()


@given(st.lists(st.text(max_size=150), max_size=3 * LANES))
def test_ids_have_the_numbers_of_one_record(ids):
    assert numbers_of(ids) == [uniform_of(SUBKEY, text) for text in ids]


@pytest.mark.parametrize("step", [1, 7])
def test_every_length_around_the_ends_of_blocks(step):
    ids = ["x" * size for size in range(0, 260 * step, step)]
    assert numbers_of(ids) == [uniform_of(SUBKEY, text) for text in ids]


def test_long_ids_beside_short_ones():
    ids = ["", "y" * 100_000, "7", "ä" * 999, "z" * 9, "z" * 10]
    assert numbers_of(ids) == [uniform_of(SUBKEY, text) for text in ids]


def test_the_digest_is_that_of_the_standard():
    text = f"{key_text(SUBKEY)}3:abc"
    expected = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 4
    assert numbers_of(["abc"]) == [expected]


@given(st.data())
def test_outputs_are_counted_as_the_alias_table_draws(data):
    channel = Channel([[3, 1, 0], [0, 2, 2], [4, 0, 0]])
    table = AliasTable.from_channel(channel)
    number = st.integers(0, (1 << 60) - 1)
    rows = data.draw(st.lists(st.tuples(st.integers(-1, 2), number), max_size=50))
    expected = [0] * 4
    for symbol, uniform in rows:
        expected[alias_draw(table, symbol, uniform) if symbol >= 0 else 3] += 1
    slots = table.thresholds.size
    ends = np.column_stack([table.thresholds.ravel(), np.full(slots, channel.denominator)])
    outputs = np.column_stack([table.firsts.ravel(), table.others.ravel()])
    counts = np.zeros(4, np.int64)
    tally(
        np.array([uniform for _, uniform in rows], np.int64),
        np.array([symbol for symbol, _ in rows], np.int32),
        np.arange(0, 2 * slots, 2),
        ends.ravel(),
        outputs.ravel(),
        table.slot_bits,
        table.place_bits,
        counts,
    )
    assert counts.tolist() == expected
