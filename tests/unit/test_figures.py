"""Charts are safe to put into a page, show every value, and are the same in every run."""

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from lowlift.errors import InvalidInput, MissingExtra
from lowlift.figures import COLOURS, Curve, Panel, figure_files, legend, panel_svg
from lowlift.figures.axes import _log_ticks
from lowlift.figures.palette import DASHES, SHAPES

SVG = "{http://www.w3.org/2000/svg}"
BUDGETS = np.arange(1, 33) / 4
LABELS = ("ALIP λ=0.5", "ℓ1 λ=0.65", "χ² λ=0.5", "α-lift, α=10", "ω = Λ + Ψ, $5 & <b>")


def panel(title="NMI at ε", **options):
    curves = []
    for k, label in enumerate(LABELS):
        y = 1 - np.exp(-BUDGETS * (k + 1) / 4)
        curves += [
            Curve(label, BUDGETS, y, colour=k, low=y - 0.05, high=y + 0.05),
            Curve(label, BUDGETS, y + 0.01, "points", k, in_legend=False),
        ]
    some = BUDGETS[::4]
    curves += [
        Curve("optimal merging", some, 0.5 + some / 20, "marker", 0),
        Curve("proven bound", some, 0.6 + some / 20, "tick", 1),
    ]
    return Panel(title, "LDP budget ε", "NMI, I(X;Y)/H(X)", tuple(curves), **options)


def small(*curves, **options):
    return Panel("t", "x", "y", curves, **options)


def tree(svg):
    return ET.fromstring(svg)


def texts(svg):
    return [element.text for element in tree(svg).iter(f"{SVG}text")]


def marks(svg, colour):
    """Return the heights of all markers with this stroke or fill; bands are none."""
    uses = [use for use in tree(svg).iter(f"{SVG}use") if use.get("fill-opacity") != "0.18"]
    return [float(use.get("y")) for use in uses if colour in {use.get("stroke"), use.get("fill")}]


def test_panels_are_safe_to_put_into_a_page():
    svg = panel_svg(panel())
    root = tree(svg)
    assert svg.startswith("<svg ")
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox").split()[:2] == ["0", "0"]
    assert root.get("width") is None
    assert root.get("height") is None
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == "NMI at ε"
    assert len(svg.encode()) < 60_000
    assert re.findall(r"https?:[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    forbidden = {f"{SVG}{name}" for name in ("style", "script", "image", "metadata", "a")}
    assert not forbidden & {element.tag for element in root.iter()}
    assert not any("style" in element.attrib for element in root.iter())


def test_ids_are_those_that_are_used_and_differ_by_salt():
    one, two = (panel_svg(panel(), salt=salt) for salt in "ab")
    found = []
    for svg in (one, two):
        ids = [element.get("id") for element in tree(svg).iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert set(ids) == set(re.findall(r"#([a-z]\w{9,})\b", svg))
        found.append(set(ids))
    assert not found[0] & found[1]


def test_a_page_can_set_the_colours_of_markers():
    """What is used takes its colours from where it is used: a page reaches no further."""
    point = Curve("here", np.array([1.0]), np.array([0.5]), "marker", 0)
    root = tree(panel_svg(small(point)))
    paths = root.findall(f".//{SVG}defs/{SVG}path")
    assert paths
    assert not any(name.startswith("stroke") for path in paths for name in path.attrib)
    uses = list(root.iter(f"{SVG}use"))
    assert all(use.get("fill") and use.get("stroke") for use in uses)
    assert "#000000" in {use.get("fill") for use in uses}


def test_text_is_text():
    svg = panel_svg(panel("Λ, Ψ & $x$ <b>", y_scale="log"))
    assert {"Λ, Ψ & $x$ <b>", "LDP budget ε", "NMI, I(X;Y)/H(X)"} <= set(texts(svg))
    assert tree(svg).get("font-family") == "sans-serif"
    assert "DejaVu" not in svg
    drawn, _ = figure_files([panel()], "Figure 7")
    assert {*LABELS, "Figure 7", "optimal merging"} <= set(texts(drawn))


def test_output_is_the_same_in_every_run_thread_and_style():
    expected = panel_svg(panel()), figure_files([panel()], "T")

    def draw(_):
        return panel_svg(panel()), figure_files([panel()], "T")

    with ThreadPoolExecutor(2) as pool:
        assert all(found == expected for found in pool.map(draw, range(2)))
    hostile = {"axes.facecolor": "red", "axes.grid": False, "lines.linewidth": 9}
    hostile |= {"savefig.bbox": "tight", "xtick.color": "blue", "text.color": "red"}
    hostile |= {"axes.prop_cycle": mpl.cycler(color=["r"]), "axes.titleweight": "bold"}
    hostile |= {"figure.facecolor": "black", "legend.frameon": True, "axes.spines.top": True}
    with mpl.rc_context(hostile):
        before = dict(mpl.rcParams)
        assert draw(0) == expected
        assert dict(mpl.rcParams) == before


def test_values_that_are_not_finite_are_left_out():
    x, y = np.arange(6.0), np.array([0.1, np.nan, 0.3, np.inf, -np.inf, 0.6])
    nan = np.full(6, np.nan)
    for style in ("line", "points", "marker", "tick", "bars"):
        with_gaps = small(Curve("a", x, y, style, low=y - 0.01, high=y + 0.01))
        svg = panel_svg(with_gaps)
        assert not re.search(r"\b(nan|inf)\b", svg)
        assert "0.6" in texts(svg)
        empty = Curve("a", nan, x, style), Curve("b", x, nan, style), Curve("c", [], [], style)
        assert panel_svg(small(*empty, y_scale="log"))
    assert len(marks(panel_svg(small(Curve("a", x, y, "points", 1))), COLOURS[1])) == 3


def test_a_value_between_two_gaps_is_shown_as_a_dot():
    x, y = np.arange(5.0), np.array([1.0, 2.0, np.nan, 3.0, np.nan])
    assert len(marks(panel_svg(small(Curve("a", x, y, colour=2))), COLOURS[2])) == 1


@pytest.mark.parametrize("style", ["line", "points", "marker", "tick", "bars"])
def test_values_beyond_the_limits_are_shown_at_the_edge(style):
    x, y = np.arange(1.0, 6.0), np.array([-3.0, 0.2, 0.5, 7.0, 0.8])
    svg = panel_svg(small(Curve("a", x, y, style, 1), y_limits=(0.0, 1.0)))
    inside = 0 if style in {"line", "bars"} else 3
    heights = marks(svg, COLOURS[1])
    assert len(heights) == inside + 2
    # Downwards in an SVG: the chevrons are the lowest and the highest marks.
    low, high = heights[-2:]
    assert low - high > 100
    assert all(high < height < low for height in heights[:-2])


def test_zero_on_a_logarithmic_axis_is_shown_at_the_edge():
    x, y = np.arange(1.0, 5.0), np.array([1e-5, 0.0, 1e-1, 10.0])
    svg = panel_svg(small(Curve("a", x, y, colour=1, low=0 * y, high=2 * y), y_scale="log"))
    # The first value has lost its neighbour and is a dot; the chevron is just above the axis.
    dot, chevron = marks(svg, COLOURS[1])
    assert 0 < chevron - dot < 20
    assert {"10⁻⁵", "10⁻³", "10⁰"} <= set(texts(svg))


@pytest.mark.parametrize("span", [0.01, 0.3, 0.9, 1.5, 2.6, 2.99, 3.0, 6.0, 14.0])
def test_logarithmic_axes_have_a_few_ticks(span):
    low = 1.1e-3
    ticks = _log_ticks(low, low * 10**span)
    assert len(ticks) <= 9
    assert len(ticks) >= 3 or span < 1


def test_limits_hold_the_data_with_a_margin():
    y = np.array([2.0, 4.0])
    heights = marks(panel_svg(small(Curve("a", [0, 1], y, "points", 1))), COLOURS[1])
    wider = marks(
        panel_svg(small(Curve("a", [0, 1], y, "points", 1), y_limits=(1.92, 4.08))), COLOURS[1]
    )
    np.testing.assert_allclose(heights, wider, atol=0.02)


def test_legend_has_each_label_once_and_in_order():
    entries = legend([panel(), panel()])
    assert [entry.label for entry in entries] == [*LABELS, "optimal merging", "proven bound"]
    assert len({entry.svg for entry in entries}) == len(entries)
    for entry in entries:
        root = tree(entry.svg)
        assert (root.get("width"), root.get("height")) == ("34", "12")


def test_labels_of_one_colour_have_their_own_dash_as_the_panel_draws_it():
    curves = [Curve(str(k), BUDGETS, BUDGETS + k, colour=3) for k in range(3)]
    entries = legend([small(*curves)])
    dashes = [re.search(r'dasharray="([^"]*)"', entry.svg) for entry in entries]
    expected = [" ".join(f"{1.6 * on:.4g}" for on in DASHES[k]) for k in (3, 7, 6)]
    assert [found[1] for found in dashes] == expected
    lines = tree(panel_svg(small(*curves))).iter(f"{SVG}path")
    drawn = [line.get("stroke-dasharray") for line in lines if line.get("stroke") == COLOURS[3]]
    assert [" ".join(dash.split(",")) for dash in drawn] == expected


def test_a_label_with_two_styles_has_both_in_its_swatch():
    x = np.arange(3.0)
    both = small(Curve("a", x, x, "points", 1), Curve("a", x, x, colour=1))
    (entry,) = legend([both])
    assert "<circle" in entry.svg
    assert "<path" in entry.svg


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2))])
def test_files_have_panels_in_a_grid_and_the_legend_below(count, shape):
    title = "Figure 7. Subset merging"
    svg, png = figure_files([panel(f"({k})") for k in range(count)], title)
    assert svg.startswith("<?xml")
    root = tree(svg)
    assert root.get("width").endswith("pt")
    assert root.get("aria-label") == title
    found = {element.text: element for element in root.iter(f"{SVG}text")}
    titles = [found[f"({k})"] for k in range(count)]
    places = {(t.get("y"), t.get("x")) for t in titles}
    assert len({y for y, _ in places}) == shape[0]
    assert len({x for _, x in places}) == shape[1]
    names = [e for e in root.iter(f"{SVG}text") if e.text == "LDP budget ε"]
    lowest = max(float(name.get("y")) for name in names)
    assert all(float(found[label].get("y")) > lowest + 5 for label in LABELS)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    pixels = imread(io.BytesIO(png))
    assert pixels.shape[1] == pytest.approx(150 / 72 * float(root.get("width")[:-2]), abs=2)
    assert pixels[..., :3].std() > 0.05


def test_a_legend_wider_than_its_figure_widens_it():
    wide = Curve("a very long label " * 8, BUDGETS, BUDGETS)
    svg, _ = figure_files([small(wide)], "T")
    assert float(tree(svg).get("width")[:-2]) > 500


def test_colours_are_distinct_and_the_darkest_first():
    def luminance(colour):
        channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    brightness = [luminance(colour) for colour in COLOURS]
    assert len(set(COLOURS)) == len(set(DASHES)) == len(set(SHAPES)) == 8
    assert all(1.05 / (value + 0.05) >= 3 for value in brightness[:4])
    assert brightness == sorted(brightness)


def test_curves_keep_their_own_arrays():
    y = np.arange(3.0)
    curve = Curve("a", [1, 2, 3], y)
    y[0] = 9
    assert curve.y[0] == 0
    assert curve.x.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        curve.y[0] = 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "dots"}, "style must be"),
        ({"colour": 8}, "colour must be 0 to 7"),
        ({"low": [0, 0]}, "must be given together"),
        ({"y": [1.0]}, "of one length"),
        ({"low": [0, 0], "high": [1]}, "of one length"),
        ({"x": 1.0}, "one-dimensional"),
    ],
)
def test_curves_are_checked(options, message):
    with pytest.raises(InvalidInput, match=message):
        Curve(**({"label": "a", "x": [1, 2], "y": [1, 2]} | options))


def test_panels_are_checked():
    with pytest.raises(InvalidInput, match="y_scale"):
        small(y_scale="symlog")
    for limits in ((1, 0), (0, np.nan), (0, np.inf), (-np.inf, 0)):
        with pytest.raises(InvalidInput, match="y_limits"):
            small(y_limits=limits)
    with pytest.raises(InvalidInput, match="y_limits"):
        small(y_limits=(0, 1), y_scale="log")
    with pytest.raises(InvalidInput, match="panels"):
        figure_files([], "T")


def test_matplotlib_waits_for_the_first_chart():
    code = "import sys, lowlift.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_matplotlib_the_error_has_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lowlift\[report\]'"):
        panel_svg(panel())
    assert legend([panel()])
