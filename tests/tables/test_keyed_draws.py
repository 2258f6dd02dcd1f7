"""Large tables are drawn by a kernel: the outputs are those of DuckDB's own digests."""

import threading
import uuid
from collections import Counter

import numpy as np
import pytest

from lowlift import Channel, InvalidInput
from lowlift.tables import (
    AliasTable,
    Draw,
    Each,
    Output,
    OutputColumn,
    alias_draw,
    open_table,
    uniform_of,
)
from lowlift.tables.engines import keyed_draws
from lowlift.tables.engines.arrow_stream import StreamEnded, batches
from lowlift.tables.engines.sandbox import Sandbox
from lowlift.tables.layouts import Layout

ROWS = 5000
SUBKEY = bytes(range(32))
SYMBOLS = ("a", "b", "ö", "", None)
IDS = {
    "integer": [7 * k - 9000 for k in range(ROWS)],
    "text": ["", *(f"{k} ä" * (1 + k % 30) for k in range(1, ROWS))],
    "uuid": [str(uuid.UUID(int=k * 0x9E3779B97F4A7C15F39CC0605CED)) for k in range(ROWS)],
}


def some(values, rows, seed=0):
    return [values[k] for k in np.random.default_rng(seed).integers(0, len(values), rows)]


def channel_of(symbols=SYMBOLS, outputs=7):
    weights = np.random.default_rng(3).random((len(symbols), outputs))
    return Channel.from_probabilities(weights / weights.sum(axis=1, keepdims=True))


def codes(channel):
    return OutputColumn("y", "integer", tuple(map(str, range(channel.n_y))))


@pytest.fixture
def by_kernel(monkeypatch):
    """Tables of any size are drawn by the kernel; the list says how many were."""
    real, drawn = keyed_draws._by_kernel, []

    def watched(*given):
        found = real(*given)
        drawn.append(found is not None)
        return found

    monkeypatch.setattr(keyed_draws, "FEWEST", 0)
    monkeypatch.setattr(keyed_draws, "_by_kernel", watched)
    return drawn


def counts_of(store, table, draw):
    target = store.target()
    applied = table.apply(draw, Output(target, (codes(draw.channel),)))
    written = Counter(y for (y,) in store.read(target))
    assert [written[y] for y in range(draw.channel.n_y)] == list(applied.counts)
    return applied


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
@pytest.mark.parametrize("kind", IDS)
def test_outputs_are_those_of_the_digests(stores, name, kind, by_kernel):
    store, ids, xs = stores(name), IDS[kind], some(SYMBOLS, ROWS)
    channel = channel_of()
    alias = AliasTable.from_channel(channel)
    place = {symbol: x for x, symbol in enumerate(SYMBOLS)}
    expected = Counter(
        alias_draw(alias, place[x], uniform_of(SUBKEY, str(i)))
        for i, x in zip(ids, xs, strict=True)
    )
    with open_table(store.put({"x": ("text", xs), "i": (kind, ids)}), store.engine) as table:
        draw = Draw((table.column("x"),), channel, SYMBOLS, id="i", subkey=SUBKEY)
        applied = counts_of(store, table, draw)
    assert by_kernel == [True]
    assert list(applied.counts) == [expected[y] for y in range(channel.n_y)]


def test_layouts_and_several_columns(stores, by_kernel, monkeypatch):
    store = stores("duckdb")
    channel = channel_of(symbols=range(6), outputs=5)
    symbols = [(x, z) for x in ("a", None, "ö") for z in (1, 2)]
    columns = {
        "x": ("text", some(["a", None, "ö"], ROWS)),
        "z": ("integer", some([1, 2], ROWS, seed=1)),
        "i": ("integer", range(ROWS)),
    }
    layout = Layout.of_alias(channel, "").renamed(range(channel.n_y))
    with open_table(store.put(columns)) as table:
        asked = (table.column("x"), table.column("z", Each()))
        for pieces in (None, layout):
            draw = Draw(asked, channel, tuple(symbols), id="i", subkey=SUBKEY, layout=pieces)
            found = counts_of(store, table, draw).counts
            monkeypatch.setattr(keyed_draws, "FEWEST", ROWS + 1)
            assert counts_of(store, table, draw).counts == found
            monkeypatch.setattr(keyed_draws, "FEWEST", 0)
    assert by_kernel == [True, True]


def test_rows_that_leave_are_not_counted(stores, by_kernel):
    store = stores("duckdb")
    xs = ["a", "b", "unseen", None, "unseen", "a"]
    channel = Channel([[1, 1], [2, 0]])
    with open_table(store.put({"x": ("text", xs), "n": ("integer", range(6))})) as table:
        given = {"id": "n", "subkey": SUBKEY, "unseen": "suppress"}
        draw = Draw((table.column("x"),), channel, ("a", "b"), missing="drop", **given)
        applied = counts_of(store, table, draw)
        assert (applied.rows_out, applied.dropped, applied.unseen) == (3, 1, 2)
    assert by_kernel == [True]


def test_a_stream_that_fails_leaves_the_draw_to_duckdb(stores, by_kernel, monkeypatch):
    store, xs = stores("duckdb"), some(("a", "b"), 100)
    channel = Channel([[1, 3], [2, 2]])

    def fails(*_):
        raise StreamEnded

    with open_table(store.put({"x": ("text", xs), "n": ("integer", range(100))})) as table:
        draw = Draw((table.column("x"),), channel, ("a", "b"), id="n", subkey=SUBKEY)
        found = counts_of(store, table, draw).counts
        monkeypatch.setattr(keyed_draws, "_count", fails)
        monkeypatch.setattr(keyed_draws, "_by_kernel", _unwatched)
        assert counts_of(store, table, draw).counts == found
    assert by_kernel == [True]


_unwatched = keyed_draws._by_kernel


@pytest.fixture
def sandbox():
    sandbox = Sandbox([], "a table")
    yield sandbox
    sandbox.close()


def test_batches_are_all_rows_in_any_number_of_threads(sandbox):
    rows = 400_000
    relation = sandbox.connection.sql(
        f"SELECT CAST(i AS INTEGER), repeat('ä', i % 3) FROM range({rows}) r(i)"
    )
    numbers, texts = [], []

    def work(found):
        for batch in found:
            numbers.append(batch.numbers(0).copy())
            offsets, octets = batch.texts(1, np.int32)
            texts.append((np.diff(offsets).sum(), len(octets)))

    with batches(relation) as found:
        assert found.formats == [b"i", b"u"]
        threads = [threading.Thread(target=work, args=(found,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert np.array_equal(np.sort(np.concatenate(numbers)), np.arange(rows))
    assert all(a == b for a, b in texts)
    assert sum(a for a, _ in texts) == 2 * sum(i % 3 for i in range(rows))


def test_a_query_that_fails_ends_the_stream(sandbox):
    query = "SELECT CAST(if(i = 300000, 'x', '1') AS INTEGER) FROM range(400000) r(i)"
    with pytest.raises(StreamEnded), batches(sandbox.connection.sql(query)) as found:
        for _ in found:
            pass


def test_texts_without_bytes(sandbox):
    with batches(sandbox.connection.sql("SELECT '' FROM range(3)")) as found:
        ((offsets, octets),) = [batch.texts(0, np.int32) for batch in found]
    assert offsets.tolist() == [0, 0, 0, 0]
    assert octets.size == 0


def test_repeated_ids_are_refused_before_a_draw(stores, by_kernel):
    store = stores("duckdb")
    source = store.put({"x": ("text", ["a", "b", "a"]), "n": ("text", ["1", "2", "1"])})
    with open_table(source) as table:
        draw = Draw((table.column("x"),), Channel([[1, 3], [2, 2]]), ("a", "b"), id="n",
                    subkey=SUBKEY)  # fmt: skip
        with pytest.raises(InvalidInput, match="1 repeated"):
            table.apply(draw, Output(store.target(), (codes(draw.channel),)))
    assert by_kernel == []
