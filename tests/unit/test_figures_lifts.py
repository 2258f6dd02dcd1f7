"""Heat maps and bars: safe in a page, honest about zeros and bounds, the same in every thread."""

import math
import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lowlift.errors import InvalidInput
from lowlift.figures import bar_chart_svg, colour_limit, heat_map_svg
from lowlift.figures.palette import ALARM, ZERO

SVG = "{http://www.w3.org/2000/svg}"
LOGS = np.array([[0.0, 1.2, -np.inf], [-0.1, -2.0, 0.4]])
ROWS, COLUMNS = ("lost", "saved $5 & <b>"), ("a", "b", "c")


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]


def drawn(logs=LOGS, rows=ROWS, columns=COLUMNS, **options):
    return heat_map_svg(logs, rows, columns, title="Lift", **options)


def wide(n):
    logs = np.random.default_rng(0).normal(size=(4, n))
    return drawn(logs, list("abcd"), [f"x{k}" for k in range(n)], refused=np.arange(n) % 2 == 0)


@pytest.mark.parametrize(
    "draw", [lambda: drawn(lower=0.5, upper=0.5), lambda: wide(50), lambda: wide(200)]
)
def test_heat_maps_are_safe_to_put_into_a_page(draw):
    svg = draw()
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == "Lift"
    assert root.get("width") is None
    assert re.findall(r"https?:[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    forbidden = {f"{SVG}{name}" for name in ("style", "script", "metadata", "a")}
    assert not forbidden & {element.tag for element in root.iter()}
    assert not any("style" in element.attrib for element in root.iter())


def test_cells_are_shapes_up_to_50_columns_and_a_picture_beyond():
    scale = 1  # the colour bar is a picture in any case
    assert wide(50).count("<image") == scale
    assert wide(51).count("<image") == scale + 1
    assert len(wide(200)) < 60_000


def test_lifts_are_written_where_there_is_room_and_zeros_are_named():
    found = texts(drawn())
    assert {"1.00", "3.33", "0", "0.90", "0.13", "1.50", "0: ruled out", *ROWS} <= set(found)
    assert ZERO in drawn()
    assert "0: ruled out" not in texts(drawn(np.zeros((2, 3))))
    many = np.zeros((2, 30))
    many[1, 7] = -np.inf
    assert texts(drawn(many, columns=[f"x{k}" for k in range(30)])).count("0") == 1


def test_budgets_stand_on_the_scale_rounded_away_from_one():
    found = texts(drawn(lower=0.5, upper=0.5))
    assert "×1.65 at most" in found
    assert "×0.606 at least" in found
    assert not any("at " in text for text in texts(drawn()))


def test_a_column_is_marked_by_the_verdict_and_not_by_its_floats():
    """The floats are beyond the budget in every column; the verdict refuses the last alone."""
    plain = drawn(lower=0.05, upper=0.05, refused=np.zeros(3, bool))
    marked = drawn(lower=0.05, upper=0.05, refused=np.array([False, False, True]))
    assert ALARM not in plain
    assert "breaks it" not in texts(plain)
    assert ALARM in marked
    assert "breaks it" in texts(marked)
    outlines = [
        element.get("d").count("M")
        for element in ET.fromstring(marked).iter(f"{SVG}path")
        if element.get("stroke") == ZERO and element.get("stroke-width") == "1.4"
    ]
    assert outlines == [4]  # one box around the two cells of the last column


def test_colours_end_at_three_budgets_or_before():
    assert colour_limit([LOGS], 0.5, 0.5) == 1.5
    assert colour_limit([LOGS], 0.5, math.inf) == 1.5
    assert colour_limit([LOGS], math.inf, math.inf) == pytest.approx(math.log(3))
    assert colour_limit([np.zeros((2, 2))], math.inf, math.inf) == 0.1
    assert colour_limit([0.1 * LOGS], 0.01, 0.01) == pytest.approx(0.2)


def test_pictures_are_the_same_in_every_thread():
    expected = drawn(), wide(120)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: (drawn(), wide(120)), range(8)))
    assert set(found) == {expected}


def test_bars_show_what_is_there():
    svg = bar_chart_svg(
        ["a", "b", "rest"], np.array([0.3, 0.00001, 0.69999]), title="Shares", most=0.3
    )
    assert {"30.0%", "<0.1%", "70.0%"} <= set(texts(svg))
    one = bar_chart_svg(["a"], np.array([0.3]), title="Shares", letters=22)
    two = bar_chart_svg(["a" * 22], np.array([0.3]), title="Shares")
    assert one.replace(">a<", f">{'a' * 22}<") == two  # one scale, whatever the labels
    with pytest.raises(InvalidInput, match="one number per label"):
        bar_chart_svg(["a"], np.array([0.5, 0.5]), title="Shares")


def test_long_names_are_told_apart():
    rows = [f"diabetes, without complications, type {k}" for k in (1, 2)]
    columns = [f"a district in the north of the city, {k}" for k in range(3)]
    found = texts(drawn(rows=rows, columns=columns))
    for end in ("type 1", "type 2", "city, 0", "city, 1", "city, 2"):
        assert sum(text.endswith(end) for text in found) == 1
    assert "saved by another boat…" in texts(
        drawn(rows=("lost", "saved by another boat, later on"))
    )


def test_labels_must_fit():
    with pytest.raises(InvalidInput, match=r"got shape \(2, 3\)"):
        heat_map_svg(LOGS, ROWS, ("a",), title="Lift")
