"""Bins, columns and their labels."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowlift import InvalidInput
from lowlift.tables import Column, Each, Edges, Quantiles, Width, parse_bins
from lowlift.tables.bins import bins_from_dict

NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6).map(lambda x: round(x, 3)))


def test_edges_name_what_lies_outside():
    assert Edges((0, 18, 30.5)).labels == ("< 0", "[0, 18)", "[18, 30.5)", ">= 30.5")
    assert Edges((5,)).labels == ("< 5", ">= 5")


@pytest.mark.parametrize(
    "edges", [(), (1, 1), (2, 1), (0, math.nan), (0, math.inf), ("a",), (1 << 63,)]
)
def test_edges_must_increase(edges):
    with pytest.raises(InvalidInput, match="edge"):
        Edges(edges)


@pytest.mark.parametrize("width", [0, -1, math.nan, math.inf, "10", True, 1e-300])
def test_widths_must_be_positive_numbers(width):
    with pytest.raises(InvalidInput, match="width"):
        Width(width)


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6), st.integers(0, 4))
def test_width_labels_are_read_back(index, digits, places):
    bins = Width(digits / 10**places)
    label = bins.label_of(str(index))
    assert bins.text_of(label) == str(index)
    assert bins.text_of(bins.label_of("<")) == "<"
    assert (
        bins.order_of(bins.label_of("<")) < bins.order_of(label) < bins.order_of(bins.label_of(">"))
    )


def test_labels_of_the_largest_whole_numbers_are_apart_and_read_back():
    for width, texts in ((30, [(2**128 - 1) // 30, (2**128 - 1) // 30 - 1]), (0.5, [-(2**128)])):
        bins = Width(width)
        labels = [bins.label_of(str(index)) for index in texts]
        assert len(set(labels)) == len(texts)
        assert [bins.text_of(label) for label in labels] == [str(index) for index in texts]


def test_width_labels_are_decimal():
    assert Width(0.1).label_of("3") == "[0.3, 0.4)"
    assert Width(10).label_of("-1") == "[-10, 0)"
    assert Width(2.5).label_of("1") == "[2.5, 5)"
    for label in ("[1, 2)", "x", None, 3, "[0, 20)"):
        with pytest.raises(InvalidInput):
            Width(10).text_of(label)


@pytest.mark.parametrize("bins", [Edges((0, 1.5)), Width(10), Width(0.25), Each(), Quantiles(4)])
def test_bins_are_read_back(bins):
    assert bins_from_dict(bins.to_dict()) == bins
    column = Column("a", "integer", bins)
    assert Column.from_dict(column.to_dict()) == column


@pytest.mark.parametrize(
    "values", [{}, {"bins": "other"}, {"bins": "width"}, {"bins": "quantiles", "parts": "x"}]
)
def test_other_bins_are_refused(values):
    with pytest.raises(InvalidInput):
        bins_from_dict(values)
    with pytest.raises(InvalidInput):
        Column.from_dict({"name": "a", "kind": "integer", "bins": values})
    with pytest.raises(InvalidInput):
        Column.from_dict(values)


def test_bins_are_parsed():
    assert parse_bins("age=0,18,30,45") == ("age", Edges((0, 18, 30, 45)))
    assert parse_bins("age=width:10") == ("age", Width(10))
    assert parse_bins("age=width:0.5") == ("age", Width(0.5))
    assert parse_bins("class=each") == ("class", Each())
    assert parse_bins("age=quantiles:4") == ("age", Quantiles(4))
    assert parse_bins("a=b=1,2") == ("a=b", Edges((1, 2)))


@pytest.mark.parametrize(
    "text",
    [
        "age",
        "=1,2",
        "age=",
        "age=x",
        "age=width:",
        "age=width:x",
        "age=quantiles:1.5",
        "age=quantiles:1",
        "age=1,,2",
        "age=2,1",
        "age=width:0",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInput):
        parse_bins(text)


def test_labels_have_their_type():
    assert Column("a", "text").label_of("x") == "x"
    assert Column("a", "text").label_of("") == ""
    assert Column("a", "boolean").label_of("true") is True
    assert Column("a", "boolean").label_of("false") is False
    assert Column("a", "integer", Each()).label_of("-7") == -7
    assert Column("a", "date").label_of("2020-01-02") == "2020-01-02"
    for kind, bins in (("text", None), ("integer", Each()), ("boolean", None)):
        column = Column("a", kind, bins)
        assert column.label_of(None) is None
        assert column.text_of(None) is None
    assert Column("a", "boolean").text_of(True) == "true"


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (Column("a", "text"), 1),
        (Column("a", "boolean"), 1),
        (Column("a", "boolean"), "true"),
        (Column("a", "integer", Each()), True),
        (Column("a", "integer", Each()), "1"),
        (Column("a", "integer", Edges((0,))), "[0, 1)"),
    ],
)
def test_labels_of_another_type_are_refused(column, label):
    with pytest.raises(InvalidInput):
        column.text_of(label)


def test_kinds_and_bins_must_fit():
    with pytest.raises(InvalidInput, match="declared bins"):
        Column("age", "integer")
    with pytest.raises(InvalidInput, match="only columns of numbers or dates"):
        Column("ward", "text", Each())
    with pytest.raises(InvalidInput, match="real numbers"):
        Column("height", "real", Each())
    with pytest.raises(InvalidInput, match="Cast it"):
        Column("when", "other")
    with pytest.raises(InvalidInput, match="resolved"):
        Column("age", "integer", Quantiles(4)).label_of("1")


def test_released_values_keep_their_kind():
    assert Column("a", "integer", Each()).output_kind == "integer"
    assert Column("a", "integer", Width(10)).output_kind == "text"
    assert Column("a", "date").output_kind == "date"
    assert Column("a", "real", Edges((0,))).output_kind == "text"
