"""All columns looked at, on every engine: the same numbers as counted by hand in NumPy."""

import json
import logging
import math
import random
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import lowlift as ll
from lowlift._cli.app import app
from lowlift.errors import InvalidInput
from lowlift.tables import open_table
from lowlift.workflow import profile_columns, publishable
from lowlift.workflow.overview import histogram_of, overview_of

ROWS = 400


def people():
    """A table of every kind, as {name: (kind, values)}: S is ill."""
    draw = random.Random(3)
    ill = [draw.choice(["no", "no", "no", "mild", "grave"]) for _ in range(ROWS)]
    ward = [draw.choice("abc") if s == "no" else draw.choice("bcd") for s in ill]
    score = [round(draw.gauss({"no": 0, "mild": 1, "grave": 3}[s], 1), 6) for s in ill]
    return {
        "ill": ("text", ill),
        "code": ("integer", [{"no": 7, "mild": 8, "grave": 9}[s] for s in ill]),
        "is ill": ("boolean", [s != "no" for s in ill]),
        "ward": ("text", [None if k % 40 == 0 else w for k, w in enumerate(ward)]),
        "wing": ("integer", [None if k % 40 == 0 else ord(w) for k, w in enumerate(ward)]),
        "score": ("real", score),
        "noise": ("text", [draw.choice("xyz") for _ in range(ROWS)]),
        "id": ("integer", [1000 + 7 * k for k in range(ROWS)]),
        "name": ("text", [f"person {k % 390}" for k in range(ROWS)]),
        "says": ("text", [f"I have felt like {k % 200} for days" for k in range(ROWS)]),
        "site": ("text", ["here"] * ROWS),
        "born": ("date", [f"19{k % 70 + 10}-0{k % 9 + 1}-11" for k in range(ROWS)]),
    }


@pytest.fixture
def table(store):
    return store.put(people()), store.engine


def by(found):
    return {column.name: column for column in found.columns}


def test_flags_are_told_on_every_engine(table):
    found = profile_columns(table[0], "ill", engine=table[1])
    assert {name: column.remarks for name, column in by(found).items()} == {
        "code": "S in other words",
        "is ill": "S, coarser",
        "ward": "same as wing",
        "wing": "same as ward",
        "score": "almost one value per row",
        "noise": "",
        "id": "identifier",
        "name": "identifier",
        "says": "identifier, free text",
        "site": "constant",
        "born": "date, almost one value per row",
    }
    assert publishable(found) == [
        "code", "is ill", "ward", "wing", "score", "noise", "site", "born",
    ]  # fmt: skip


def test_the_numbers_are_those_counted_by_hand(table):
    found = profile_columns(table[0], "ill", engine=table[1])
    data = {name: values for name, (_, values) in people().items()}
    ward = by(found)["ward"]
    pairs, ones = Counter(zip(data["ward"], data["ill"], strict=True)), Counter(data["ward"])
    prior = Counter(data["ill"])
    lifts = [Fraction(pairs[w, s], ones[w]) / Fraction(prior[s], ROWS) for w in ones for s in prior]
    assert ward.lift_low == pytest.approx(float(min(lifts)), abs=1e-12)
    assert ward.lift_high == pytest.approx(float(max(lifts)), rel=1e-12)
    raw = sum(n / ROWS * math.log2(n * ROWS / (ones[w] * prior[s])) for (w, s), n in pairs.items())
    bias = (len(pairs) - len(ones) - len(prior) + 1) / (2 * ROWS) / math.log(2)
    assert ward.information == pytest.approx(raw - bias, rel=1e-9)
    right = 0
    for k in range(ROWS):  # each row guessed from the others
        rest = Counter(
            s for j, s in enumerate(data["ill"]) if j != k and data["ward"][j] == data["ward"][k]
        )
        right += max(rest, key=lambda s: (rest[s], prior[s])) == data["ill"][k]
    assert ward.best_guess == pytest.approx(right / ROWS, abs=1e-12)
    assert ward.missing == pytest.approx(10 / ROWS)
    assert (found.sensitive_values, found.rows, found.base_rate) == (
        3,
        ROWS,
        max(prior.values()) / ROWS,
    )
    # The median of a real column splits it: its bins are the quantiles of NumPy.
    score = np.array(data["score"])
    edges = np.sort(score)[np.ceil(np.arange(1, 20) * ROWS / 20).astype(int) - 1]
    code = np.searchsorted(edges, score)
    cells = Counter(zip(code.tolist(), data["ill"], strict=True))
    most = max(n * ROWS / (20 * prior[s]) for (_, s), n in cells.items())
    assert by(found)["score"].lift_high == pytest.approx(most, rel=1e-12)
    assert by(found)["score"].is_binned
    assert by(found)["score"].n_bins == len(set(code.tolist()))
    assert ward.n_bins is None


def test_what_a_column_adds_is_the_adjusted_r_squared_of_least_squares(table):
    found = profile_columns(table[0], "ill", engine=table[1])
    data = {name: values for name, (_, values) in people().items()}
    code = {}
    for name in ("ward", "wing", "noise"):
        code[name] = pd.Series(data[name]).astype(object).where(pd.notna(data[name]), "none")
    days = pd.to_datetime(pd.Series(data["born"])).map(lambda day: day.toordinal())
    for name, values in (("score", pd.Series(data["score"])), ("born", days)):
        ranks = np.ceil(np.arange(1, 8) * ROWS / 8).astype(int) - 1
        edges = np.unique(np.sort(values)[ranks])
        code[name] = pd.Series(np.searchsorted(edges, values))
    y = pd.get_dummies(pd.Series(data["ill"])).to_numpy(float)
    y = y - y.mean(axis=0)

    def adjusted(names):
        parts = [pd.get_dummies(code[name].astype(str)).to_numpy(float) for name in names]
        z = np.hstack([np.ones((ROWS, 1)), *parts])
        left = y - z @ np.linalg.lstsq(z, y, rcond=None)[0]
        free = ROWS - np.linalg.matrix_rank(z)
        return 1 - (left**2).sum() / free * (ROWS - 1) / (y**2).sum()

    every = list(code)
    whole = adjusted(every)
    assert found.explained == pytest.approx(whole, abs=1e-5)
    for name in every:
        added = whole - adjusted([other for other in every if other != name])
        assert by(found)[name].on_top == pytest.approx(max(0.0, added), abs=1e-5), name
    assert by(found)["ward"].on_top == pytest.approx(0, abs=1e-5)  # wing says it all
    assert by(found)["ward"].alone > 0.05
    assert by(found)["score"].on_top > 0.1
    assert by(found)["code"].on_top is None  # it is S itself: set aside


def test_several_sensitive_columns_are_one(store):
    columns = people()
    both = [f"{s}{w}" for s, w in zip(columns["ill"][1], columns["ward"][1], strict=True)]
    one = profile_columns(
        store.put(columns | {"both": ("text", both)}), "both", engine=store.engine
    )
    two = profile_columns(store.put(columns), ["ill", "ward"], engine=store.engine)
    assert two.sensitive_values == one.sensitive_values
    assert two.entropy == pytest.approx(one.entropy, rel=1e-12)
    for name in ("score", "noise"):
        assert by(two)[name].information == pytest.approx(by(one)[name].information, rel=1e-9)
    assert by(one)["ward"].flags == ("follows-from-sensitive",)


def test_a_measurement_is_no_identifier(files):
    draw = random.Random(1)
    table = files.put(
        {
            "s": ("boolean", [k % 3 == 0 for k in range(300)]),
            "income": ("real", [draw.random() * 9e4 for _ in range(300)]),
            "nan id": ("real", [float(k) if k % 9 else math.nan for k in range(300)]),
            "age": ("integer", [k % 90 for k in range(300)]),
            "key": ("uuid", [f"00000000-0000-0000-0000-00000000000{k % 3}" for k in range(300)]),
        }
    )
    found = by(profile_columns(table, "s"))
    flags = {name: column.flags for name, column in found.items()}
    # Only every third value of age is with s: it and key, by position, follow a pattern.
    assert flags["income"] == ("almost-unique",)
    assert not found["income"].is_withheld
    assert flags["nan id"] == flags["key"] == ("identifier",)
    assert "identifier" not in flags["age"]
    assert found["nan id"].missing == pytest.approx(34 / 300)


def test_a_measurement_in_other_units_is_a_duplicate(files):
    draw = random.Random(2)
    kilos = [draw.gauss(70, 9) for _ in range(300)]
    table = files.put(
        {
            "s": ("boolean", [kilo + draw.gauss(0, 9) > 70 for kilo in kilos]),
            "kg": ("real", kilos),
            "lb": ("real", [2.2 * kilo for kilo in kilos]),
            "cm": ("real", [draw.gauss(170, 9) for _ in kilos]),
        }
    )
    found = by(profile_columns(table, "s"))
    duplicates = {name: column.duplicates for name, column in found.items()}
    assert duplicates == {"kg": ("lb",), "lb": ("kg",), "cm": ()}


def test_bins_that_are_declared_are_looked_at(files):
    table = files.put(people())
    found = by(profile_columns(table, "ill", bins={"score": [0, 2], "id": "width:1000"}))
    joint = ll.read_joint(table, "ill", "score", bins={"score": [0, 2]})
    lift = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(1)).lift
    assert found["score"].lift_high == pytest.approx(lift.max(), rel=1e-12)
    assert not found["score"].is_binned
    assert found["id"].flags == ()  # not when it is published in bins


def test_numeric_s_is_cut_at_its_quartiles_and_says_so(files):
    found = profile_columns(files.put(people()), "score")
    assert found.sensitive_values == 4
    assert found.entropy == pytest.approx(2, abs=1e-3)
    assert "quartiles" in str(found)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_table_of_a_few_rows(files, rows):
    columns = {name: (kind, values[:rows]) for name, (kind, values) in people().items()}
    found = profile_columns(files.put(columns), "ill")
    assert found.rows == rows
    assert "say little" in str(found)
    assert all(column.on_top is None for column in found.columns)


def test_equal_rows_and_one_column(files):
    equal = profile_columns(
        files.put({n: (k, v[:1] * 50) for n, (k, v) in people().items()}), "ill"
    )
    # Only a uuid or what cannot be counted would be withheld.
    assert all(column.flags == ("constant",) for column in equal.columns)
    assert "one value only" in str(equal)
    alone = profile_columns(files.put({"ill": people()["ill"]}), "ill")
    assert alone.columns == ()
    assert publishable(alone) == []
    assert "no column but" in str(alone)


def test_bad_input_is_refused(files, tmp_path):
    table = files.put(people())
    for wrong, words in (
        ("ilness", "must be one of the table's 12"),
        ([], "at least one"),
        (["ill", "ill"], "none twice"),
        (None, "name of a column"),
        ("name", None),
        ("says", None),
    ):
        if words is None:
            assert profile_columns(table, wrong).sensitive_values > 100
        else:
            with pytest.raises(InvalidInput, match=words):
                profile_columns(table, wrong)
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n")
    with pytest.raises(InvalidInput, match="must have rows"):
        profile_columns(str(empty), "a")
    wide = tmp_path / "wide.csv"
    wide.write_text(",".join(f"c{k}" for k in range(10_000)) + "\n" + ",".join("1" * 10_000))
    with pytest.raises(InvalidInput, match="at most 1,000 columns"):
        profile_columns(str(wide), "c1")


def test_many_values_of_s_are_refused_without_naming_one(files):
    columns = people() | {"pin": ("text", [f"secret{k}" for k in range(ROWS)])}
    with pytest.raises(InvalidInput, match="at most 1,000 values") as caught:
        profile_columns(files.put(columns), ["pin", "name"])
    assert "secret" not in str(caught.value)


def test_a_million_different_texts(files):
    table = duckdb.sql(
        "SELECT 'text ' || i AS name, i % 7 AS ward, i % 2 AS s, i % 5000 || 'x' AS place "
        "FROM range(1000000) t(i)"
    )
    found = by(profile_columns(table, "s"))
    assert found["name"].flags == ("identifier",)
    assert found["name"].information is None
    assert found["place"].different == 5000
    assert found["ward"].on_top is not None


def test_a_date_that_differs_in_almost_every_row_is_said_until_it_is_grouped(files):
    start = date(1940, 1, 1)
    days = [(start + timedelta(37 * k)).isoformat() for k in range(ROWS)]
    table = files.put(people() | {"birth": ("date", days)})
    assert by(profile_columns(table, "ill"))["birth"].flags == ("date", "almost-unique")
    found = by(profile_columns(table, "ill", bins={"birth": "year"}))
    assert found["birth"].flags == ("date",)
    assert not found["birth"].is_withheld


def test_no_value_is_logged_or_shown(files, caplog):
    columns = people() | {"pin": ("text", [f"secret{k % 5}" for k in range(ROWS)])}
    with caplog.at_level(logging.DEBUG):
        found = profile_columns(files.put(columns), "ill")
    shown = str(found) + found._repr_html_() + json.dumps(found.to_dict()) + caplog.text
    assert "pin" in shown
    assert "secret" not in shown
    assert "grave" not in shown
    assert "columns: 400 rows, 12 columns" in caplog.text


def test_the_command_prints_a_table_and_json(files):
    table = files.put(people())
    shown = CliRunner().invoke(app, ["columns", table, "-s", "ill"])
    assert shown.exit_code == 0
    assert "S in other words" in shown.output
    assert "Not to be published unless you name them: id, name, says." in shown.output
    told = json.loads(CliRunner().invoke(app, ["columns", table, "-s", "ill", "--json"]).output)
    assert told["publishable"][0] == "code"
    assert {column["name"] for column in told["columns"]} == set(people()) - {"ill"}
    binned = CliRunner().invoke(app, ["columns", table, "-s", "score", "--bin", "score=0,2"])
    assert "S is score: 3 values" in binned.output


def test_python_users_get_a_frame_and_a_card(files):
    found = ll.columns(pd.DataFrame({n: v for n, (_, v) in people().items()}), sensitive="ill")
    frame = found.to_pandas()
    assert list(frame["name"]) == [n for n in people() if n != "ill"]
    assert frame.set_index("name").loc["wing", "duplicates"] == ("ward",)
    assert "<table" in found._repr_html_()
    assert ll.columns(pd.DataFrame({"a": [1], "b": [2]}), sensitive="a").to_pandas().shape[0] == 1


def test_a_kind_that_cannot_be_counted_is_withheld(tmp_path):
    frame = duckdb.sql("SELECT i % 2 AS s, [i] AS parts, i % 5 AS x FROM range(200) t(i)")
    found = profile_columns(frame, "s")
    assert by(found)["parts"].flags == ("not-counted",)
    assert publishable(found) == ["x"]
    with pytest.raises(InvalidInput, match="Cast it"):
        profile_columns(frame, "parts")


def test_more_columns_than_are_compared(files):
    draw = random.Random(8)
    s = [draw.random() < 0.4 for _ in range(500)]
    columns = {"s": ("boolean", s)} | {
        f"c{k}": ("integer", [int(draw.random() < 0.3 + 0.1 * v) for v in s]) for k in range(60)
    }
    found = profile_columns(files.put(columns), "s")
    assert sum(column.on_top is not None for column in found.columns) == 40
    assert "among the 40" in str(found)


def test_few_values_of_numbers_are_found_on_every_engine(store):
    given = {
        "a": ("integer", [3, 1, None, 3]),
        "b": ("real", [0.5, "NaN", None, 1]),
        "c": ("decimal", ["0.10", "0.10", None, None]),
    }
    with open_table(store.put(given), store.engine) as table:
        look = table.profiling()
        assert sorted(look.values("a", 9)) == [1, 3]
        assert sorted(look.values("b", 9)) == [0.5, 1.0]
        assert [float(value) for value in look.values("c", 9)] == [0.1]
        assert len(look.values("a", 1)) == 1


def test_rows_that_no_other_equals_are_counted_on_every_engine(store):
    """Missing values are equal to each other; names are those that a query could mistake."""
    given = {
        "n": ("integer", [1, 1, 2, None, None, 3]),
        "c0": ("text", ["a", "a", "a", "b", "b", None]),
        "real": ("real", [0.5, 0.5, 0.5, "NaN", "NaN", 1]),
        "day": ("date", ["2020-01-01"] * 5 + ["2020-01-02"]),
    }
    with open_table(store.put(given), store.engine) as table:
        look = table.profiling()
        assert look.unique_rows(["n", "c0", "real", "day"]) == 2
        assert look.unique_rows(["c0"]) == 1
        assert look.unique_rows(["n", "c0"]) == 2
        assert look.unique_rows(["real"]) == 1


# Before S is chosen ------------------------------------------------------------------------------


def test_an_overview_shows_values_and_ranges_on_every_engine(table):
    found = overview_of(table[0], engine=table[1])
    assert found.rows == ROWS
    assert list(found.kinds) == list(people())
    assert found.publishable == tuple(
        name for name in people() if name not in {"id", "name", "says"}
    )
    data = {name: values for name, (_, values) in people().items()}
    assert set(found.examples["ill"]) == {"no", "mild", "grave"}
    assert found.examples["ill"][0] == "no"  # most frequent first
    assert set(found.examples["wing"]) == {"97", "98", "99", "100"}
    assert set(found.examples["is ill"]) == {"yes", "no"}
    low, middle, high = found.ranges["score"]
    assert (low, high) == (min(data["score"]), max(data["score"]))
    assert middle == sorted(data["score"])[ROWS // 2 - 1]
    days = sorted((date.fromisoformat(text) - date(1970, 1, 1)).days for text in data["born"])
    assert found.ranges["born"][::2] == (days[0], days[-1])
    assert found.single == {"code": "each", "wing": "each"}
    assert "mild" not in repr(found)  # values are for the page, not for logs


def test_examples_are_of_the_whole_table(tmp_path):
    rows = ["no,1"] * 6000 + ["yes,2"] * 5000
    (tmp_path / "sorted.csv").write_text("\n".join(["says,code", *rows]))
    found = overview_of(tmp_path / "sorted.csv").examples
    assert {name: set(values) for name, values in found.items()} == {
        "says": {"yes", "no"},
        "code": {"1", "2"},
    }


@pytest.mark.parametrize(
    ("name", "width"), [("wing", 1), ("score", None), ("id", None), ("born", None)]
)
def test_a_histogram_counts_every_row_on_every_engine(table, name, width):
    found = histogram_of(table[0], name, engine=table[1])
    values = [value for value in people()[name][1] if value is not None]
    if name == "born":
        values = [(date.fromisoformat(text) - date(1970, 1, 1)).days for text in values]
    assert width is None or found.step == width
    size = len(found.counts)
    edges = found.start + found.step * np.arange(size + 1)
    assert found.counts == tuple(np.histogram(values, edges)[0])
    assert (sum(found.counts), found.missing) == (len(values), ROWS - len(values))
    assert found.counts[0] > 0
    assert found.counts[-1] > 0
    ordered = sorted(values)
    wanted = {float(ordered[math.ceil(k * len(values) / 4) - 1]) for k in (1, 2, 3)}
    assert set(found.quartiles) == wanted


@pytest.mark.parametrize("name", ["ill", "is ill", "nowhere"])
def test_only_numbers_and_dates_have_a_histogram(table, name):
    with pytest.raises(InvalidInput):
        histogram_of(table[0], name, engine=table[1])


def test_columns_can_be_measured_alone(table):
    whole = by(profile_columns(table[0], "ill", engine=table[1]))
    alone = profile_columns(table[0], "ill", engine=table[1], is_alone=True)
    for name, column in by(alone).items():
        assert column.on_top is None
        assert (column.lift_low, column.lift_high) == (whole[name].lift_low, whole[name].lift_high)
        assert column.flags == whole[name].flags
    assert alone.explained is None


def test_names_addresses_and_numbers_of_few_people_are_identifiers(store):
    people = ["Ada", "Bo", "Cy", "Dee", "Eva", "Fay", "Gus", "Hal", "Ivy", "Ada"]
    table = store.put(
        {
            "name": ("text", [f"{name} Lee" for name in people]),
            "mail": ("text", [f"{name.lower()}{k}@example.org" for k, name in enumerate(people)]),
            "row": ("integer", [7 + k for k in range(10)]),
            "age": ("integer", [31, 44, 27, 63, 58, 39, 71, 22, 80, 50]),
            "kilos": ("real", [60.5 + 1.25 * k for k in range(10)]),
            "ward": ("text", [*"abcdabcdab"]),
            "ill": ("text", ["yes", "no"] * 5),
        }
    )
    found = profile_columns(table, "ill", engine=store.engine)
    assert publishable(found) == ["age", "kilos", "ward"]
    assert {name: by(found)[name].flags for name in ("name", "mail", "row")} == dict.fromkeys(
        ("name", "mail", "row"), ("identifier",)
    )


def test_e_mail_addresses_that_repeat_are_identifiers(store):
    """Each person has ten rows, which no share of different values tells."""
    mails = [None if k % 7 == 0 else f"m{k % 40}@mail.example.org" for k in range(ROWS)]
    ways = [("by mail @ noon", "a@b", "@ada", "x.y", "")[k % 5] for k in range(ROWS)]
    table = store.put(people() | {"mail": ("text", mails), "way": ("text", ways)})
    found = by(profile_columns(table, "ill", engine=store.engine))
    assert found["mail"].flags == ("identifier",)
    assert found["mail"].is_withheld
    assert found["way"].flags == ()


def test_one_address_of_an_office_is_no_identifier(files):
    office = ["north@example.org", "south@example.org"] * (ROWS // 2)
    found = by(profile_columns(files.put(people() | {"office": ("text", office)}), "ill"))
    assert found["office"].flags == ()
