"""Dates and timestamps are binned the same on every engine, as Python's calendar says."""

from collections import Counter
from datetime import date, datetime, timedelta

import numpy as np
import pytest

from lowlift import Channel, InvalidInput
from lowlift.tables import (
    Calendar,
    Column,
    DateEdges,
    Days,
    Draw,
    Edges,
    Output,
    OutputColumn,
    Quantiles,
    Width,
    open_table,
    parse_bins,
)

FORMS = [
    "day",
    "month",
    "quarter",
    "year",
    "width:7",
    "width:10",
    "2019-12-30,2020-02-29,2021-01-01",
]


def days():
    rng = np.random.default_rng(0)
    random = [date.fromordinal(int(n)) for n in rng.integers(1, date.max.toordinal() + 1, 200)]
    recent = [date(2019, 12, 20) + timedelta(n) for n in range(450)]
    return [*random, *recent, date.min, date.max, date(1969, 12, 31), date(1970, 1, 1), None]


def expected(day, form):
    if day is None:
        return None
    if form.startswith("width:"):
        width = int(form.removeprefix("width:"))
        start = (day.toordinal() - 1) // width * width + 1
        end = min(start + width - 1, date.max.toordinal())
        return f"{date.fromordinal(start)} to {date.fromordinal(end)}"
    if "," in form:
        first, second, third = form.split(",")
        before = {first: "before 2019-12-30", second: "2019-12-30 to 2020-02-28"}
        before[third] = "2020-02-29 to 2020-12-31"
        return next((before[e] for e in before if day.isoformat() < e), "from 2021-01-01")
    quarter = (day.month - 1) // 3 + 1
    return {
        "day": day.isoformat(),
        "month": day.isoformat()[:7],
        "quarter": f"{day.isoformat()[:4]}-Q{quarter}",
        "year": day.isoformat()[:4],
    }[form]


def test_weeks_begin_on_mondays():
    assert expected(date(2024, 1, 3), "width:7") == "2024-01-01 to 2024-01-07"


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_bins_of_dates_are_the_calendars_on_every_engine(store, kind):
    values = days()
    if kind == "timestamp":
        # Spark's files hold times from 1900 or so on without rebasing them.
        values = [
            day and datetime.combine(day, datetime.min.time()) + timedelta(hours=23, minutes=59)
            for day in values
            if day is None or day.year > 1900
        ]
    source = store.put({"when": (kind, values)})
    plain = [day.date() if isinstance(day, datetime) else day for day in values]
    with open_table(source, store.engine) as table:
        assert table.kinds["when"] == kind
        for form in FORMS:
            column = table.column("when", parse_bins(f"when={form}")[1])
            counts = table.count([column])
            found = {label: n for (label,), n in zip(counts.symbols, counts.counts, strict=True)}
            assert found == Counter(expected(day, form) for day in plain)
            labels = [label for (label,) in counts.symbols]
            assert labels[-1] is None
            starts = [label.removeprefix("before ").removeprefix("from ") for label in labels[:-1]]
            if "," not in form:
                assert starts == sorted(starts)
            for label in labels:
                assert column.label_of(column.text_of(label)) == label
            assert Column.from_dict(column.to_dict()) == column


def test_binned_dates_are_drawn_from(store):
    values = [date(2024, 1, 1) + timedelta(n) for n in range(90)]
    source = store.put({"when": ("date", values), "n": ("integer", range(90))})
    symbols = ("2024-01", "2024-02", "2024-03")
    with open_table(source, store.engine) as table:
        draw = Draw(
            (table.column("when", Calendar("month")),), Channel(np.eye(3, dtype=int)), symbols
        )
        target = store.target()
        table.apply(draw, Output(target, (OutputColumn("y", "text", symbols),), keep=("n",)))
    assert {n: y for y, n in store.read(target)} == {
        n: day.isoformat()[:7] for n, day in enumerate(values)
    }


def test_times_of_a_csv_are_binned_and_kept_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("at,x\n2024-03-05 23:59:59,a\n2024-03-31 00:00:00,b\n,c\n")
    with open_table(path) as table:
        assert table.kinds["at"] == "timestamp"
        counts = table.count([table.column("at", Calendar("month"))])
        assert dict(zip(counts.symbols, counts.counts, strict=True)) == {
            ("2024-03",): 2,
            (None,): 1,
        }
        draw = Draw((table.column("x"),), Channel(np.eye(3, dtype=int)), ("a", "b", "c"))
        column = OutputColumn("y", "text", ("a", "b", "c"))
        kept = Output(str(tmp_path / "o.csv"), (column,), ("at",), keep_order=True)
        table.apply(draw, kept)
    assert "a,2024-03-05 23:59:59\n" in (tmp_path / "o.csv").read_text()


def test_dates_outside_the_calendar_have_a_symbol(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE far AS SELECT unnest(ARRAY['infinity', '-infinity', '0044-03-15 BC',"
            "'10000-01-01', '2024-03-05']::date[]) AS d"
        )
    with open_table(f"{postgres}&table=far") as table:
        for bins in (Calendar("month"), Days(7)):
            column = table.column("d", bins)
            counts = table.count([column])
            found = dict(zip(counts.symbols, counts.counts, strict=True))
            assert found["before 0001-01-01",] == 2
            assert found["after 9999-12-31",] == 2
            assert counts.symbols[0] == ("before 0001-01-01",)
            assert [column.label_of(column.text_of(label)) for (label,) in counts.symbols] == [
                label for (label,) in counts.symbols
            ]


@pytest.mark.parametrize(
    ("kind", "bins", "reason"),
    [
        ("date", Edges((1, 2)), "must be days of a calendar"),
        ("date", Width(1.5), "must be days of a calendar"),
        ("date", Quantiles(4), "must be days of a calendar"),
        ("timestamp", None, "must have declared bins.* Use month"),
        ("integer", Calendar("month"), "must be numbers"),
        ("real", Days(3), "must be numbers"),
        ("text", Calendar("month"), "only columns of numbers or dates"),
    ],
)
def test_bins_must_fit_the_kind(kind, bins, reason):
    with pytest.raises(InvalidInput, match=reason):
        Column("when", kind, bins)


@pytest.mark.parametrize(
    "text",
    [
        "w=decade", "w=month:2", "w=2024-01-01,2023-01-01", "w=2024-01-01,5", "w=2024-13-01",
        "w=2024-W01-1", "w=2024-01-01 10:00", "w=2024-01-01,2024-01-01",
    ],
)  # fmt: skip
def test_what_is_no_bin_of_dates_is_refused(text):
    with pytest.raises(InvalidInput):
        parse_bins(text)


def test_edges_may_be_dates():
    assert DateEdges((date(2024, 1, 1),)) == DateEdges(("2024-01-01",))
    assert Column("w", "date", Width(7)).bins == Days(7)


@pytest.mark.parametrize(
    "label", ["2024-00", "2024-13", "2024-3", "x", "", "2024", "before 2024-01-01"]
)
def test_a_label_of_no_month_is_refused(label):
    with pytest.raises(InvalidInput, match="declared bin"):
        Calendar("month").text_of(label)
