"""Counts and labels are the same on every engine; expected values come from plain Python."""

import math
from collections import Counter

import numpy as np
import pytest

from lowlift import InvalidInput, Joint
from lowlift.tables import Column, Each, Edges, Quantiles, Width, open_table, read_joint

NAMES = [
    '"; drop table t; --',
    "select",
    "ä ö",
    "a.b",
    "it's",
    "back`tick",
    "100%",
    "$1",
    ":x",
    "{y}",
]
WARDS = ["north", "south", None, "", "ö'\"\\"]


def people(rows=1000):
    rng = np.random.default_rng(0)

    def some(values):
        return [values[k] for k in rng.integers(0, len(values), rows)]

    return {
        "ward": ("text", some(WARDS)),
        "age": ("integer", some([None, -5, 0, 17, 18, 30, 44, 45, 120])),
        "height": ("real", some([None, "NaN", "Infinity", "-Infinity", 0.3, -0.1, 1.75, 1e300])),
        "price": ("decimal", some([None, "0.10", "0.30", "19.99", "-0.01"])),
        "sick": ("boolean", some([None, "true", "false"])),
        "born": ("date", some([None, "1999-12-31", "2020-02-29"])),
        "key": ("uuid", some([None, "6f1d5a0c-1f2e-4d3b-9a8c-0123456789ab"])),
        "class": ("integer", some([1, 2, 3, -3, None])),
    }


def values(columns, name):
    return columns[name][1]


def counted(table, *columns, **options):
    found = table.count(list(columns), **options)
    assert sum(found.counts) == found.rows
    return dict(zip(found.symbols, found.counts, strict=True)), found


def edge_label(value):
    if value is None:
        return None
    edges = [0, 18, 30, 45]
    if value < 0:
        return "< 0"
    if value >= 45:
        return ">= 45"
    k = max(k for k in range(4) if edges[k] <= value)
    return f"[{edges[k]}, {edges[k + 1]})"


def test_labels_have_the_type_of_their_kind(store):
    columns = people()
    with open_table(store.put(columns), store.engine) as table:
        assert table.rows == 1000
        assert table.engine == store.name
        kinds = {name: kind for name, (kind, _) in columns.items()} | {"price": "real"}
        if store.name == "spark":
            kinds["key"] = "text"
        assert dict(table.kinds) == kinds
        for name in ("ward", "born", "key"):
            found, _ = counted(table, table.column(name))
            assert found == Counter((value,) for value in values(columns, name))
        found, _ = counted(table, table.column("sick"))
        truth = {"true": True, "false": False, None: None}
        assert found == Counter((truth[value],) for value in values(columns, "sick"))
        assert all(type(label) is bool or label is None for (label,) in found)
        found, _ = counted(table, table.column("class", Each()))
        assert found == Counter((value,) for value in values(columns, "class"))


def test_bins(store):
    columns = people()
    with open_table(store.put(columns), store.engine) as table:
        ages = values(columns, "age")
        found, _ = counted(table, table.column("age", Edges((0, 18, 30, 45))))
        assert found == Counter((edge_label(age),) for age in ages)
        found, _ = counted(table, table.column("age", Edges((17.5, 44))))
        assert found[("< 17.5",)] == sum(age is not None and age < 17.5 for age in ages)
        found, _ = counted(table, table.column("age", Width(10)))
        expected = Counter(
            (None if a is None else f"[{a // 10 * 10}, {a // 10 * 10 + 10})",) for a in ages
        )
        assert found == expected
        found, _ = counted(table, table.column("age", Width(0.5)))
        assert (("[17, 17.5)",) in found) == (17 in ages)

        heights = [None if h is None else float(h) for h in values(columns, "height")]
        missing = sum(h is None or math.isnan(h) for h in heights)
        found, _ = counted(table, table.column("height", Width(0.1)))
        assert found[(None,)] == missing
        assert found[("[0.3, 0.4)",)] == heights.count(0.3)
        assert found[("[-0.1, 0)",)] == heights.count(-0.1)
        assert found[("< -900719925474099.2",)] == heights.count(-math.inf)
        assert found[(">= 900719925474099.2",)] == heights.count(math.inf) + heights.count(1e300)
        found, _ = counted(table, table.column("height", Edges((0, 1.75))))
        assert found[(">= 1.75",)] == sum(h is not None and h >= 1.75 for h in heights)
        assert found[(None,)] == missing

        found, _ = counted(table, table.column("price", Edges((0, 0.1, 0.3))))
        prices = Counter(values(columns, "price"))
        assert found == {
            ("< 0",): prices["-0.01"],
            ("[0.1, 0.3)",): prices["0.10"],
            (">= 0.3",): prices["0.30"] + prices["19.99"],
            (None,): prices[None],
        }


def test_quantiles_become_edges_of_the_data(store):
    numbers = [7, 1, 1, 2, 3, None, 5, 8, 13]
    columns = {
        "n": ("integer", numbers),
        "r": ("real", [None if n is None else n / 4 for n in numbers]),
        "none": ("real", [None] * len(numbers)),
    }
    with open_table(store.put(columns), store.engine) as table:
        assert table.column("n", Quantiles(4)).bins == Edges((1, 3, 7))
        assert table.column("r", Quantiles(2)).bins == Edges((0.75,))
        assert table.column("n", Quantiles(100)).bins == Edges((1, 2, 3, 5, 7, 8, 13))
        with pytest.raises(InvalidInput, match="has none"):
            table.column("none", Quantiles(2))


def test_missing_values(store):
    columns = people()
    with open_table(store.put(columns), store.engine) as table:
        ward, sick = table.column("ward"), table.column("sick")
        pairs = list(zip(values(columns, "ward"), values(columns, "sick"), strict=True))
        gone = sum(None in pair for pair in pairs)
        everything = table.count([ward, sick])
        assert (everything.rows, everything.dropped) == (1000, 0)
        dropped = table.count([ward, sick], missing="drop")
        assert (dropped.rows, dropped.dropped) == (1000 - gone, gone)
        assert not any(None in symbol for symbol in dropped.symbols)
        with pytest.raises(InvalidInput, match=f"{gone} rows"):
            table.count([ward, sick], missing="error")
        with pytest.raises(InvalidInput, match="missing must be"):
            table.count([ward], missing="maybe")
        # An empty text is a value, and not the missing one.
        assert {("",), (None,)} < set(table.count([ward]).symbols)


def test_the_joint_is_the_same_on_every_engine(store):
    columns = people()
    bins = {"age": Edges((0, 18, 30, 45)), "class": Each()}
    joint = read_joint(
        store.put(columns), ["sick", "class"], ["age", "ward"], bins=bins, engine=store.engine
    )
    truth = {"true": True, "false": False, None: None}
    rows = Counter(
        ((truth[sick], number), (edge_label(age), ward))
        for sick, number, age, ward in zip(
            *(values(columns, name) for name in ("sick", "class", "age", "ward")), strict=True
        )
    )
    sicks, classes = [False, True, None], [-3, 1, 2, 3, None]
    assert list(joint.s_labels) == [
        (s, c) for s in sicks for c in classes if any(k[0] == (s, c) for k in rows)
    ]
    ages = ["< 0", "[0, 18)", "[18, 30)", "[30, 45)", ">= 45", None]
    wards = [*sorted(ward for ward in WARDS if ward is not None), None]
    assert list(joint.x_labels) == [
        (a, w) for a in ages for w in wards if any(k[1] == (a, w) for k in rows)
    ]
    for (s, x), count in rows.items():
        assert joint.counts[joint.s_labels.index(s), joint.x_labels.index(x)] == count
    assert joint.counts.sum() == 1000


def test_one_column_has_plain_labels(store):
    source = store.put({"s": ("text", ["a", "b", "a"]), "x": ("text", ["u", None, "v"])})
    joint = read_joint(source, "s", ["x"], engine=store.engine)
    assert joint.labels == (("a", "b"), ("u", "v", None))
    assert joint.counts.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert isinstance(joint, Joint)


def test_awkward_names(store):
    columns = {name: ("text", ["x", "y", None]) for name in NAMES}
    columns["n%"] = ("integer", [1, 2, 3])
    options = {"name": 'ta"ble; drop'} if store.name == "postgres" else {}
    with open_table(store.put(columns, **options), store.engine) as table:
        assert list(table.kinds) == list(columns)
        for name in NAMES:
            assert table.count([table.column(name)]).counts == [1, 1, 1]
        assert table.column("n%", Quantiles(2)).bins == Edges((2,))
        every = [table.column(name) for name in NAMES]
        assert table.count(every).symbols == [("x",) * 10, ("y",) * 10, (None,) * 10]


def test_unknown_columns_name_close_ones(store):
    with open_table(store.put({"ward": ("text", ["a"])}), store.engine) as table:
        with pytest.raises(InvalidInput, match="'ward'"):
            table.column("wart")
        with pytest.raises(InvalidInput, match="different"):
            table.count([table.column("ward")] * 2)
        with pytest.raises(InvalidInput, match="none"):
            table.count([])
    with pytest.raises(InvalidInput, match="'x' is neither"):
        read_joint("none.csv", "a", "b", bins={"x": Each()})


def test_a_column_of_another_kind_is_refused(files):
    with open_table(files.put({"x": ("text", ["SECRET123"])})) as table:
        with pytest.raises(
            InvalidInput, match="must be of kind integer, as at design; here it is of kind text"
        ) as caught:
            table.count([Column("x", "integer", Each())])
        assert "SECRET" not in str(caught.value)


def test_other_types_are_named_and_refused(store):
    source = store.put({"when": ("timestamp", ["2020-01-01 10:00:00"]), "n": ("integer", [1])})
    with open_table(source, store.engine) as table:
        assert table.kinds["when"] == "timestamp"
        with pytest.raises(InvalidInput, match="timestamps and must have declared bins"):
            table.column("when")
        with pytest.raises(InvalidInput, match="must have declared bins"):
            table.column("n")


def test_too_many_groups_are_an_error_with_their_number_and_columns(store):
    source = store.put({"n": ("integer", range(50)), "z": ("text", ["a", "b"] * 25)})
    with open_table(source, store.engine) as table:
        columns = [table.column("z"), table.column("n", Each())]
        assert len(table.count(columns, most=50).counts) == 50
        reason = r"at most 49 combinations.*they have 50 \('n' has 50, 'z' has 2\)"
        with pytest.raises(InvalidInput, match=reason):
            table.count(columns, most=49)


def test_an_empty_table_is_refused(store):
    with pytest.raises(InvalidInput, match="must have rows"):
        open_table(store.put({"a": ("text", [])}), store.engine)


def test_large_integers_and_negative_bins_are_exact(store):
    numbers = [-(1 << 63), -11, -10, -1, 0, 9, 10, (1 << 53) + 1, (1 << 63) - 1]
    with open_table(store.put({"n": ("integer", numbers)}), store.engine) as table:
        found, _ = counted(table, table.column("n", Width(10)))
        assert found == Counter((f"[{n // 10 * 10}, {n // 10 * 10 + 10})",) for n in numbers)
        found, _ = counted(table, table.column("n", Each()))
        assert found == Counter((n,) for n in numbers)
        found, _ = counted(table, table.column("n", Edges(((1 << 53) + 1,))))
        assert found == {(f"< {(1 << 53) + 1}",): 7, (f">= {(1 << 53) + 1}",): 2}


def test_a_joint_needs_both_sides(files):
    with open_table(files.put({"a": ("text", ["x", None]), "b": ("text", [None, "y"])})) as table:
        counts = table.count([table.column("a"), table.column("b")], missing="drop")
        with pytest.raises(InvalidInput, match="n_sensitive"):
            counts.joint(2)
        with pytest.raises(InvalidInput, match="must have rows"):
            counts.joint(1)


def test_a_joint_with_too_many_cells_is_refused(files):
    source = files.put({"a": ("integer", range(5000)), "b": ("integer", range(5000))})
    with pytest.raises(InvalidInput, match="5000 times 5000"):
        read_joint(source, "a", "b", bins={"a": Each(), "b": Each()})
