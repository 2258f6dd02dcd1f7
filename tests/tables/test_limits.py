"""Columns with too many combinations of values are refused before they are counted."""

import gzip
import math
import re

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import lowlift as ll
from lowlift.tables import Column, Counts, Each, Width, open_table, queries, read_joint

MOST = 10_000


@pytest.fixture
def statements(monkeypatch):
    """What is asked of the table's engine, as SQL; the real engine answers."""

    def watch(table):
        asked, real = [], table._engine.fetch

        def fetch(query, values=None):
            asked.append(query.sql(dialect=table._engine.dialect.name))
            return real(query, values)

        monkeypatch.setattr(table._engine, "fetch", fetch)
        return asked

    return watch


def number_in(message):
    return int(re.search(r"they have (?:about |more than )?([\d,]+)", message)[1].replace(",", ""))


def refused(table, columns, most=MOST):
    with pytest.raises(ll.InvalidInput) as error:
        table.count(columns, most=most)
    return str(error.value)


def test_far_too_many_are_refused_and_not_counted(store, statements):
    size = 6 * MOST
    source = store.put(
        {"id": ("integer", range(size)), "z": ("text", ["a", "b", None] * (size // 3))}
    )
    with open_table(source, store.engine) as table:
        asked = statements(table)
        message = refused(table, [table.column("z"), table.column("id", Each())])
    assert not any("GROUP BY" in statement for statement in asked)
    first = size if store.name == "spark" else 4 * MOST
    assert number_in(message) == pytest.approx(first, rel=0.1)
    assert (f"in the first {first:,} rows" in message) == (store.name != "spark")
    assert f"('id' has {size:,}, 'z' has 2)" in message
    assert "at most 10,000 combinations" in message
    assert "wider bins" in message


def test_as_many_as_accepted_are_counted_whatever_the_estimate_and_one_more_is_refused(store):
    values = [k % (MOST + 1) for k in range(5 * MOST)]
    fits = [min(value, MOST - 1) for value in values]
    with open_table(store.put({"n": ("integer", fits)}), store.engine) as table:
        assert len(table.count([table.column("n", Each())], most=MOST).symbols) == MOST
    with open_table(store.put({"n": ("integer", values)}), store.engine) as table:
        message = refused(table, [table.column("n", Each())])
    assert number_in(message) == pytest.approx(MOST + 1, rel=0.1)


@pytest.mark.second_lane
def test_a_sorted_table_is_estimated_as_a_whole(store, statements):
    """Its first rows have a tenth of what is accepted."""
    source = store.put({"n": ("integer", [k // 40 for k in range(80_000)])})
    with open_table(source, store.engine) as table:
        asked = statements(table)
        message = refused(table, [table.column("n", Each())], most=1000)
    assert not any("GROUP BY" in statement for statement in asked)
    assert "they have 2,000 ('n' has 2,000)" in message


def test_bins_come_before_the_estimate(store):
    source = store.put({"n": ("integer", range(50_000))})
    with open_table(source, store.engine) as table:
        assert len(table.count([table.column("n", Width(100))], most=1000).symbols) == 500
        message = refused(table, [table.column("n", Each())], most=1000)
    assert number_in(message) == (50_000 if store.name == "spark" else 4000)


def test_a_few_values_in_many_rows_are_estimated_by_the_first_rows_alone(store, statements):
    source = store.put({"n": ("integer", [k % 7 for k in range(20_000)])})
    with open_table(source, store.engine) as table:
        asked = statements(table)
        assert len(table.count([table.column("n", Each())], most=1000).symbols) == 7
    looks = ("LIMIT 250", "LIMIT 4000", '"file_row_number" < 250)', '"file_row_number" < 4000)')
    whole = [statement for statement in asked if not any(look in statement for look in looks)]
    estimates = [s for s in whole if "GROUP BY" not in s and "DISTINCT" in s]
    # Spark's LIMIT takes as long as reading all.
    assert len(estimates) <= (1 if store.name == "spark" else 0)


def test_missing_values_are_told_apart_in_an_estimate(store):
    pairs = [(a, b) for a in (None, "", "x", "NULL") for b in (None, 0, 1)] * 3
    source = store.put(
        {"a": ("text", [a for a, _ in pairs]), "b": ("integer", [b for _, b in pairs])}
    )
    with open_table(source, store.engine) as table:
        columns = [Column("a", "text"), Column("b", "integer", Each())]
        engine = table._engine
        query = queries.groups(columns, engine.table, engine.dialect)
        assert engine.fetch(query) == [(12,)]


def test_parts_of_the_combinations_add_up(store):
    """An estimate counts one in `part`, and its error is what chance gives."""
    source = store.put({"n": ("integer", range(40_000)), "z": ("text", ["a", None] * 20_000)})
    with open_table(source, store.engine) as table:
        columns = [table.column("n", Each()), table.column("z")]
        for part in (2, 16, 64):
            query = queries.groups(columns, table._engine.table, table._engine.dialect, part)
            found = part * table._engine.fetch(query)[0][0]
            assert abs(found - 40_000) < 6 * math.sqrt(40_000 * part)


def test_a_million_values_are_refused_from_every_kind_of_source(tmp_path, monkeypatch):
    monkeypatch.setattr(Counts, "from_rows", lambda *_: pytest.fail("counted in Python"))
    place = tmp_path / "t"
    with duckdb.connect(f"{place}.duckdb") as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 's' || i % 2 AS s, 'x' || i AS x FROM range(1000000) r(i)"
        )
        connection.execute(f"COPY t TO '{place}.parquet'")
        connection.execute(f"COPY t TO '{place}.csv'")
        frame = connection.sql("FROM t").to_arrow_table()
    sources = [f"{place}.parquet", f"{place}.csv", f"{place}.duckdb?table=t", frame]
    for source in [*sources, frame.to_pandas()]:
        with pytest.raises(ll.InvalidInput, match="'x' has 200,000, 's' has 2") as error:
            read_joint(source, "s", "x")
        assert number_in(str(error.value)) == pytest.approx(1_000_000, rel=0.1)


def test_the_bound_on_rows_is_never_too_low(store, tmp_path):
    with open_table(store.put({"n": ("integer", [1] * 3000)}), store.engine) as table:
        bound = table._engine.most_different()
        # Spark knows bytes: equal rows may take less than one.
        assert bound >= (100 if store.name == "spark" else 3000)
    if store.name != "duckdb":
        return
    text = "a,b\n" + ",\n" * 99 + "1,"
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    frame = pd.DataFrame({"a": ["x"] * 100, "b": ["y"] * 100})
    for k in range(3):
        frame.to_parquet(tmp_path / f"many{k}.parquet")
    bounds = {"t.csv": (100, 105), "t.csv.gz": (math.inf,) * 2, "many*.parquet": (300, 300)}
    for name, (least, most) in bounds.items():
        with open_table(str(tmp_path / name)) as table:
            assert least <= table._engine.most_different() <= most
            table.hold(["a"])
            assert table._engine.most_different() == (300 if "many" in name else 100)
    for source in (frame, pa.Table.from_pandas(frame)):
        with open_table(source) as table:
            assert table._engine.most_different() == 100


@pytest.mark.parametrize("name", ["n", "file_row_number", "RowId"])
def test_first_rows_are_found_whatever_the_columns_are_called(tmp_path, name):
    place = tmp_path / "t"
    with duckdb.connect(f"{place}.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 7 + i % 3 AS {name} FROM range(500) r(i)")
        connection.execute(f"COPY t TO '{place}.parquet'")
    for source in (f"{place}.parquet", f"{place}.duckdb?table=t"):
        with open_table(source) as table:
            found = table._engine.fetch(queries.rows(table._engine.head(90)))
            assert found == [(90,)]
            assert len(table.count([table.column(name, Each())], most=10).symbols) == 3
