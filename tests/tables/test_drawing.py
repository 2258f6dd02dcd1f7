"""Rows are drawn by the channel's weights: keyed ones the same everywhere, fresh by its law."""

import uuid
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from lowlift import Channel, InvalidInput, Joint
from lowlift.tables import (
    AliasTable,
    Column,
    Draw,
    Each,
    Output,
    OutputColumn,
    alias_draw,
    open_table,
    uniform_of,
)
from lowlift.tables.layouts import Layout

SUBKEY = bytes(range(32))
SYMBOLS = ("a", "b", "ö", "", None)
ROWS = 100_000


def channel_of(symbols=SYMBOLS, outputs=7, seed=3):
    rng = np.random.default_rng(seed)
    weights = rng.random((len(symbols), outputs)) * (rng.random((len(symbols), outputs)) < 0.8)
    weights[:, 0] += 0.05
    return Channel.from_probabilities(
        weights / weights.sum(axis=1, keepdims=True), drop_empty=False
    )


def codes(channel, name="y"):
    return OutputColumn(name, "integer", tuple(map(str, range(channel.n_y))))


def some(values, rows, seed=0):
    return [values[k] for k in np.random.default_rng(seed).integers(0, len(values), rows)]


IDS = {
    "integer": [3 * k - 150_000 for k in range(ROWS)],
    "text": [f"id {k} ä" if k % 2 else f"{k}:{k}" for k in range(ROWS)],
    "uuid": [str(uuid.UUID(int=k * 0x9E3779B97F4A7C15F39CC0605CED)) for k in range(ROWS)],
}


@pytest.mark.parametrize("kind", IDS)
def test_keyed_draws_are_equal_row_for_row_on_every_engine(store, kind):
    ids, xs = IDS[kind], some(SYMBOLS, ROWS)
    channel = channel_of()
    table = AliasTable.from_channel(channel)
    place = {symbol: x for x, symbol in enumerate(SYMBOLS)}
    expected = {
        name: alias_draw(table, place[x], uniform_of(SUBKEY, str(name)))
        for name, x in zip(ids, xs, strict=True)
    }
    source = store.put({"it's": (kind, ids), "x": ("text", xs)})
    with open_table(source, store.engine) as opened:
        draw = Draw((opened.column("x"),), channel, SYMBOLS, id="it's", subkey=SUBKEY)
        target = store.target()
        applied = opened.apply(draw, Output(target, (codes(channel),), keep=("it's",)))
        assert applied.rows_in == applied.rows_out == ROWS
        written = store.read(target)
        found = {name if kind == "integer" else str(name): y for y, name in written}
        assert found == expected
        assert Counter(found.values()) == dict(enumerate(applied.counts))
        if kind != "integer":
            return
        # Nothing kept: the same outputs, but only their number is published.
        target = store.target()
        again = opened.apply(draw, Output(target, (codes(channel),)))
        assert again.counts == applied.counts
        assert Counter(y for (y,) in store.read(target)) == dict(enumerate(applied.counts))


def test_fresh_draws_have_the_law_of_the_channel(store):
    rows = 20_000
    channel = channel_of()
    xs = some(SYMBOLS, rows)
    counts = np.array([xs.count(symbol) for symbol in SYMBOLS])
    expected = counts @ channel.p_y_given_x
    with open_table(
        store.put({"x": ("text", xs), "n": ("integer", range(rows))}), store.engine
    ) as table:
        draw = Draw((table.column("x"),), channel, SYMBOLS)
        drawn = set()
        for keep in ((), ("n",)):
            target = store.target()
            applied = table.apply(draw, Output(target, (codes(channel),), keep=keep))
            written = store.read(target)
            assert Counter(row[0] for row in written) == dict(enumerate(applied.counts))
            assert stats.chisquare(applied.counts, expected).pvalue > 1e-9
            drawn.add(applied.counts)
        assert len(drawn) == 2
        place = {symbol: x for x, symbol in enumerate(SYMBOLS)}
        seen = np.zeros((len(SYMBOLS), channel.n_y))
        for y, n in written:
            seen[place[xs[n]], y] += 1
        assert sorted(n for _, n in written) == list(range(rows))
        for x, row in enumerate(seen):
            used = channel.weights[x] > 0
            assert not row[~used].any()
            assert (
                stats.chisquare(row[used], row.sum() * channel.p_y_given_x[x, used]).pvalue > 1e-9
            )


def test_a_seed_repeats_the_draw_and_a_fresh_one_does_not(files):
    channel = channel_of()
    source = files.put({"x": ("text", some(SYMBOLS, 5000)), "n": ("integer", range(5000))})
    with open_table(source) as table:
        for keep in ((), ("n",)):
            runs = []
            for seed in (1, 1, None):
                target = files.target()
                draw = Draw((table.column("x"),), channel, SYMBOLS, seed=seed)
                table.apply(draw, Output(target, (codes(channel),), keep=keep))
                runs.append(files.read(target))
            assert runs[0] == runs[1] != runs[2]


def test_a_deterministic_channel_is_a_function(store):
    joint = Joint.from_counts([[1, 2, 3], [3, 2, 1]], x_labels=["u", "v", None])
    channel = Channel.from_blocks(joint, [[0, 2], [1]])
    xs = some(["u", "v", None], 3000)
    with open_table(
        store.put({"x": ("text", xs), "n": ("integer", range(3000))}), store.engine
    ) as table:
        column = table.column("x")
        for draw in (
            Draw((column,), channel, joint.x_labels),
            Draw((column,), channel, joint.x_labels, id="n", subkey=SUBKEY),
        ):
            target = store.target()
            applied = table.apply(draw, Output(target, (codes(channel),), keep=("n",)))
            assert {n: y for y, n in store.read(target)} == {
                n: int(x == "v") for n, x in enumerate(xs)
            }
            assert applied.counts == (3000 - xs.count("v"), xs.count("v"))
            assert (
                table.apply(draw, Output(store.target(), (codes(channel),))).counts
                == applied.counts
            )


def test_several_columns_of_every_kind(store):
    rng = np.random.default_rng(5)
    rows = 2000
    data = {
        "sick": ("boolean", [("true", "false", None)[k] for k in rng.integers(0, 3, rows)]),
        "class": ("integer", [(1, 2, None)[k] for k in rng.integers(0, 3, rows)]),
        "born": ("date", [("2000-01-01", None)[k] for k in rng.integers(0, 2, rows)]),
        "n": ("integer", range(rows)),
    }
    with open_table(store.put(data), store.engine) as table:
        columns = (table.column("sick"), table.column("class", Each()), table.column("born"))
        symbols = tuple(table.count(columns).symbols)
        assert len(symbols) == 18
        channel = Channel(np.eye(18, dtype=int))
        draw = Draw(columns, channel, symbols, id="n", subkey=SUBKEY)
        made = tuple(
            OutputColumn(
                f"{column.name}!", column.output_kind, tuple(column.text_of(s[k]) for s in symbols)
            )
            for k, column in enumerate(columns)
        )
        target = store.target()
        table.apply(draw, Output(target, made, keep=("n",)))
        truth = {"true": True, "false": False, None: None}
        for sick, number, born, n in store.read(target):
            assert sick is truth[data["sick"][1][n]]
            assert number == data["class"][1][n]
            assert (None if born is None else born.isoformat()) == data["born"][1][n]


def test_order_carries_nothing(store):
    rows = 5000
    xs = ["a"] * (rows // 2) + ["b"] * (rows // 2)
    channel = Channel([[1, 0], [0, 1]])
    given = {"x": ("text", xs), "n": ("integer", range(rows))}
    turned = {name: (kind, list(values)[::-1]) for name, (kind, values) in given.items()}
    orders = []
    for data, modes in ((given, ((), ("n",))), (turned, ())):
        with open_table(store.put(data), store.engine) as table:
            target = store.target()
            draw = Draw((table.column("x"),), channel, ("a", "b"), id="n", subkey=SUBKEY)
            table.apply(draw, Output(target, (codes(channel),), keep=("n",)))
            orders.append([n for _, n in store.read(target)])
            for keep in modes:
                target = store.target()
                draw = Draw((table.column("x"),), channel, ("a", "b"))
                table.apply(draw, Output(target, (codes(channel),), keep=keep))
                ys = [row[0] for row in store.read(target)]
                # A sorted input would leave one run of each output.
                assert 2000 < sum(a != b for a, b in pairwise(ys)) < 3000
    # Keyed: the order is a function of key and id, whatever the input's order was.
    assert orders[0] == orders[1] != sorted(orders[0])
    assert abs(stats.spearmanr(orders[0], range(rows)).statistic) < 0.1


def test_unseen_symbols(store):
    xs = ["a", "b", "SECRET123", None, "SECRET456", "SECRET123"]
    channel = Channel([[1, 1], [2, 0]])
    with open_table(
        store.put({"x": ("text", xs), "n": ("integer", range(6))}), store.engine
    ) as table:
        column = table.column("x")
        keyed = {"id": "n", "subkey": SUBKEY}
        for options, keep in (({}, ()), (keyed, ()), (keyed, ("n",))):
            target = store.target()
            output = Output(target, (codes(channel),), keep=keep)
            with pytest.raises(InvalidInput, match="4 rows have 3 unseen values") as caught:
                table.apply(Draw((column,), channel, ("a", "b"), **options), output)
            assert "SECRET" not in str(caught.value)
            assert not store.exists(target)
            lenient = {"unseen": "suppress", "missing": "drop", **options}
            applied = table.apply(Draw((column,), channel, ("a", "b"), **lenient), output)
            assert (applied.rows_in, applied.rows_out) == (6, 2)
            assert (applied.dropped, applied.unseen) == (1, 3)
            written = store.read(target)
            assert len(written) == 2
            assert not keep or {n for _, n in written} == {0, 1}
        with pytest.raises(InvalidInput, match="1 row lacks one"):
            table.apply(
                Draw((column,), channel, ("a", "b"), missing="error"),
                Output(store.target(), (codes(channel),)),
            )


def test_nobody_may_be_left(store):
    channel = Channel([[1]])
    with open_table(store.put({"x": ("text", ["a"] * 3)}), store.engine) as table:
        draw = Draw((table.column("x"),), channel, ("b",), unseen="suppress")
        target = store.target()
        assert table.apply(draw, Output(target, (codes(channel),))).rows_out == 0
        assert store.read(target) == []


@pytest.mark.parametrize(
    ("ids", "reason"),
    [([1, None, 3], "1 missing and 0 repeated"), ([1, 2, 2], "0 missing and 1 repeated"),
     ([2, 2, None], "1 missing and 1 repeated")],
)  # fmt: skip
@pytest.mark.parametrize("channel", [Channel([[1]]), Channel([[1, 1]])], ids=["sure", "random"])
def test_ids_must_be_there_and_differ(store, tmp_path, ids, reason, channel):
    folder = tmp_path / "made"
    folder.mkdir()
    # A row that is dropped for its missing x counts too.
    given = {"x": ("text", ["a", "a", None]), "i": ("integer", ids)}
    with open_table(store.put(given), store.engine) as table:
        keyed = {"id": "i", "subkey": SUBKEY, "missing": "drop"}
        made, file = store.target(), str(folder / "made.csv")
        for keep, target in (((), made), (("i",), made), (("i",), file)):
            with pytest.raises(InvalidInput, match=reason):
                table.apply(
                    Draw((table.column("x"),), channel, ("a",), **keyed),
                    Output(target, (codes(channel),), keep=keep),
                )
    assert not store.exists(made)
    assert not list(folder.iterdir())


def test_ids_must_be_of_a_kind_with_one_text(files):
    channel = Channel([[1]])
    with open_table(files.put({"x": ("text", ["a"]), "r": ("real", [1.5])})) as table:
        draw = Draw((table.column("x"),), channel, ("a",), id="r", subkey=SUBKEY)
        with pytest.raises(InvalidInput, match="integer, text or uuid; 'r' is real"):
            table.apply(draw, Output(files.target(), (codes(channel),)))


@pytest.mark.parametrize(
    "options",
    [
        {"columns": ()},
        {"symbols": ("a",)},
        {"missing": "x"},
        {"unseen": "x"},
        {"id": "n"},
        {"subkey": SUBKEY},
        {"id": "n", "subkey": b"short"},
        {"id": "n", "subkey": SUBKEY, "seed": 1},
        {"seed": -1},
    ],
)
def test_draws_are_checked(options):
    good = {
        "columns": (Column("x", "text"),),
        "channel": Channel([[1, 0], [0, 1]]),
        "symbols": ("a", "b"),
    }
    Draw(**good)
    with pytest.raises(InvalidInput):
        Draw(**(good | options))


def test_symbols_must_fit_their_columns():
    channel = Channel([[1, 0], [0, 1]])
    column = Column("x", "text")
    for symbols in (("a", 1), ("a", "a")):
        with pytest.raises(InvalidInput):
            Draw((column,), channel, symbols).texts()
    for symbols in (("a", "b"), (("a", "b"), ("a",))):
        with pytest.raises(InvalidInput):
            Draw((column, Column("z", "text")), channel, symbols).texts()


def test_a_column_must_be_what_it_was_at_design(files):
    channel = Channel([[1]])
    with open_table(files.put({"x": ("integer", [1])})) as table:
        with pytest.raises(
            InvalidInput, match="must be of kind text, as at design; here it is of kind integer"
        ):
            table.apply(
                Draw((Column("x", "text"),), channel, ("1",)),
                Output(files.target(), (codes(channel),)),
            )
        with pytest.raises(InvalidInput, match="'x'"):
            table.apply(
                Draw((Column("xx", "text"),), channel, ("1",)),
                Output(files.target(), (codes(channel),)),
            )


def test_a_channel_with_wide_weights_and_many_outputs(store):
    """48 bits of weights and 12 of slots use all 60 bits."""
    rng = np.random.default_rng(9)
    weights = rng.random((2, 2100)) + 0.01
    channel = Channel.from_probabilities(weights / weights.sum(axis=1, keepdims=True))
    table = AliasTable.from_channel(channel)
    assert table.slot_bits + table.place_bits == 60
    rows = 3000
    xs = some(["a", "b"], rows)
    with open_table(
        store.put({"x": ("text", xs), "n": ("integer", range(rows))}), store.engine
    ) as opened:
        draw = Draw((opened.column("x"),), channel, ("a", "b"), id="n", subkey=SUBKEY)
        target = store.target()
        opened.apply(draw, Output(target, (codes(channel),), keep=("n",)))
        for y, n in store.read(target):
            assert y == alias_draw(table, "ab".index(xs[n]), uniform_of(SUBKEY, str(n)))


def test_pieces_that_were_cut_are_drawn_alike_on_every_engine(store):
    """Each output is split in three: the same number draws the whole and its part."""
    channel, rows = channel_of(), 3000
    before = Layout.of_alias(channel, "")
    rng = np.random.default_rng(5)
    weights, parents = np.zeros((len(SYMBOLS), 3 * channel.n_y), np.int64), []
    for y in range(channel.n_y):
        for x, whole in zip(*channel.atom(y), strict=True):
            first = int(rng.integers(1, whole - 1))
            second = int(rng.integers(0, whole - first))
            weights[x, 3 * y : 3 * y + 3] = first, second, whole - first - second
        parents += [y] * 3
    finer = Channel(weights)
    after = before.cut(finer, parents)
    xs = some(SYMBOLS, rows)
    place = {symbol: x for x, symbol in enumerate(SYMBOLS)}
    source = store.put({"x": ("text", xs), "n": ("integer", range(rows))})
    with open_table(source, store.engine) as opened:
        columns = (opened.column("x"),)
        draw = Draw(columns, finer, SYMBOLS, id="n", subkey=SUBKEY, layout=after)
        target = store.target()
        opened.apply(draw, Output(target, (codes(finer),), keep=("n",)))
        for y, n in store.read(target):
            uniform = uniform_of(SUBKEY, str(n))
            assert y == after.draw(place[xs[n]], uniform)
            assert parents[y] == before.draw(place[xs[n]], uniform)


@pytest.mark.parametrize(
    ("ids", "different"),
    [
        ([5, 5, 6, None], 2),
        ([-40_000, 40_000, 0, 32_768, 32_769, -32_768, -32_768, 1], 7),
        ([7], 1),
        ([-(2**63), 2**63 - 1, 0, 0], 3),
        ([k * 64 for k in range(2000)], 2000),
    ],
)
def test_different_ids_are_counted_exactly(store, ids, different):
    source = store.put({"x": ("text", ["a"] * len(ids)), "i": ("integer", ids)})
    with open_table(source, store.engine) as table:
        present = sum(i is not None for i in ids)
        assert table._engine.ids("i") == (len(ids), present, different)
