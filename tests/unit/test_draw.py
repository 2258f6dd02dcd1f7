"""The law of the draw is the channel: integers against integer weights."""

import os

import numpy as np
import pytest
from scipy import stats

import lowlift as ll
from lowlift import _draw
from lowlift.errors import InvalidInput

WEIGHTS = [[3, 1, 4], [0, 8, 0], [1, 6, 1], [7, 0, 1]]
CHANNEL = ll.Channel(WEIGHTS)


@pytest.mark.parametrize("interleaved", [False, True])
def test_every_uniform_word_once_gives_the_weights_exactly(monkeypatch, interleaved):
    if interleaved:
        rows, words = np.tile(np.arange(4), 8), np.repeat(np.arange(8), 4)
    else:
        rows, words = np.repeat(np.arange(4), 8), np.tile(np.arange(8), 4)
    monkeypatch.setattr(_draw, "_uniform_below", lambda *_: words)
    out = ll.draw(CHANNEL, rows)
    table = np.zeros((4, 3), int)
    np.add.at(table, (rows, out), 1)
    assert table.tolist() == WEIGHTS


def test_the_law_is_exact_at_the_largest_denominator(monkeypatch):
    channel = ll.Channel([[1, 2**48 - 1], [2**48 - 1, 1]])
    words = np.array([0, 1, 2**48 - 1, 0, 2**48 - 2, 2**48 - 1])
    monkeypatch.setattr(_draw, "_uniform_below", lambda *_: words)
    assert ll.draw(channel, [0, 0, 0, 1, 1, 1]).tolist() == [0, 1, 1, 0, 0, 1]


def test_the_law_is_exact_for_atoms_in_any_order(monkeypatch):
    joint = ll.Joint.from_counts([[1, 2], [3, 4]])
    channel = ll.Channel.from_atoms(joint, [([1, 0], [5, 2]), ([0, 1], [6, 3])], 8)
    words = np.tile(np.arange(8), 2)
    monkeypatch.setattr(_draw, "_uniform_below", lambda *_: words)
    out = ll.draw(channel, np.repeat([0, 1], 8))
    assert [int((out[:8] == y).sum()) for y in (0, 1)] == [2, 6]
    assert [int((out[8:] == y).sum()) for y in (0, 1)] == [5, 3]


@pytest.mark.parametrize("denominator", [2, 8, 2**48])
def test_uniform_words_are_the_low_bits_of_the_entropy(monkeypatch, denominator):
    words = np.array([0, 1, 2**63 + 5, 2**64 - 1, 2**48, 2**48 - 1], np.uint64)
    monkeypatch.setattr(os, "urandom", lambda size: words.tobytes()[:size])
    found = _draw._uniform_below(denominator, 6, None)
    assert found.tolist() == [int(word) % denominator for word in words]
    assert found.dtype == np.int64


def test_without_a_seed_the_operating_system_is_asked_and_with_one_it_is_not(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(size))
    assert ll.draw(CHANNEL, [0, 1, 2]).tolist() == [0, 1, 0]
    assert asked == [24]
    ll.draw(CHANNEL, [0, 1, 2], seed=1)
    ll.draw(CHANNEL, [0, 1, 2], seed=np.random.default_rng(1))
    assert asked == [24]


def test_seeds_repeat():
    rows = np.random.default_rng(0).integers(0, 4, 500)
    once = ll.draw(CHANNEL, rows, seed=5)
    assert (once == ll.draw(CHANNEL, rows, seed=5)).all()
    assert (once == ll.draw(CHANNEL, rows, seed=np.random.default_rng(5))).all()
    assert (once != ll.draw(CHANNEL, rows, seed=6)).any()
    rng = np.random.default_rng(5)
    assert (ll.draw(CHANNEL, rows, rng) != ll.draw(CHANNEL, rows, rng)).any()


def test_drawing_without_a_seed_does_not_repeat():
    rows = np.zeros(2000, int)
    assert (ll.draw(CHANNEL, rows) != ll.draw(CHANNEL, rows)).any()


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_chunks_do_not_change_the_draw(monkeypatch, chunk):
    rows = np.random.default_rng(0).integers(0, 4, 1000)
    function = ll.Channel([[0, 1], [1, 0], [0, 1], [1, 0]])
    seeded = ll.draw(CHANNEL, rows, seed=3)
    monkeypatch.setattr(_draw, "_CHUNK", chunk)
    assert ll.draw(function, rows).tolist() == [1 - x % 2 for x in rows]
    assert (ll.draw(CHANNEL, rows, seed=3) == seeded).all()


def test_frequencies_fit_the_channel():
    # False alarms: one in 1e9.
    out = ll.draw(CHANNEL, np.repeat([0, 2], 40_000)).reshape(2, -1)
    for row, weights in zip(out, (WEIGHTS[0], WEIGHTS[2]), strict=True):
        expected = np.array(weights) / 8 * row.size
        assert stats.chisquare(np.bincount(row, minlength=3), expected).pvalue > 1e-9


def test_outputs_of_no_weight_never_occur():
    out = ll.draw(CHANNEL, np.repeat([1, 3], 10_000)).reshape(2, -1)
    assert set(out[0].tolist()) == {1}
    assert set(out[1].tolist()) == {0, 2}


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ([0, 4, 1], r"must lie in 0\.\.3; 1 of 3 do not, the first at position 1"),
        ([0, 1, -1, 9], r"2 of 4 do not, the first at position 2"),
        ([0.0, 1.0], r"list of numbers of symbols"),
        ([True, False], r"list of numbers of symbols"),
        (["0"], r"list of numbers of symbols"),
        ([[0, 1]], r"list of numbers of symbols"),
        (0, r"list of numbers of symbols"),
    ],
)
def test_bad_symbols_are_refused_by_place(symbols, message):
    with pytest.raises(InvalidInput, match=message):
        ll.draw(CHANNEL, symbols)


@pytest.mark.parametrize("seed", [-1, "secret", 1.5])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InvalidInput, match="seed"):
        ll.draw(CHANNEL, [0], seed)


def test_nothing_in_nothing_out():
    for channel in (CHANNEL, ll.Channel([[1]])):
        assert ll.draw(channel, []).tolist() == []
    assert ll.draw(CHANNEL, np.array([1], np.uint8)).tolist() == [1]
