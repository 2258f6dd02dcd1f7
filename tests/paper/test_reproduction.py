"""The whole of `lowlift.paper.reproduce`: its folder, its files and its page."""

import base64
import csv
import json
import math
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import distributed
import joblib
import numpy as np
import pytest

import lowlift as ll
from lowlift.paper import EXPERIMENTS, FIGURES, printed, reproduce, reproduction, runs
from lowlift.paper.runs import Size, run_experiment, runner

pytestmark = [pytest.mark.second_lane, pytest.mark.xdist_group("reproduction")]  # made once
TINY = {"joints": 2, "quick": True}
MANIFEST = "reproduction.json"


def patient(_, experiment):
    """Cut the searches of Figure 6 short; let no other be stopped by a busy machine."""
    return 0.4 if experiment.number == 6 else 60.0


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(Size, "seconds_of", patient)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Every figure, in two processes, and the calls of progress."""
    folder, calls = tmp_path_factory.mktemp("parent") / "deep" / "result", []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Size, "seconds_of", patient)
        page = reproduce(folder, **TINY, jobs=2, progress=lambda *state: calls.append(state))
    return page, calls


@pytest.fixture(scope="module")
def folder(result):
    return result[0].parent


@pytest.fixture(scope="module")
def sweeps(folder, tmp_path_factory):
    """The sweeps of Figures 2 to 8, read back from the pieces on disk."""
    pieces = tmp_path_factory.mktemp("pieces")
    shutil.copytree(folder / "pieces", pieces, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, runner(1) as parallel:
        patch.setattr(Size, "seconds_of", patient)
        patch.setattr(runs, "run_task", None)  # all of it is there
        size = Size(2, is_quick=True)
        return {
            figure: run_experiment(experiment, size, pieces, parallel)
            for figure, experiment in EXPERIMENTS.items()
        }


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# The files.


def test_every_file_is_written(result):
    page, calls = result
    figures = {f"figure-{n}.{kind}" for n in FIGURES for kind in ("svg", "png", "csv")}
    names = {path.name for path in page.parent.iterdir()}
    files = {"index.html", "propositions.csv", "comparison.json", MANIFEST, "pieces"}
    assert names == files | figures
    assert {state[0] for state in calls} == set(EXPERIMENTS)
    for figure in EXPERIMENTS:
        done = [state[1:] for state in calls if state[0] == figure]
        assert done[0] == (0, done[-1][1])
        assert done[-1][0] == done[-1][1]


def test_the_manifest_says_how_it_was_made(folder):
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    assert manifest["made_by"] == "lowlift paper"
    assert manifest["version"] == ll.__version__
    assert manifest["figures"] == list(range(1, 9))
    assert (manifest["seed"], manifest["joints"], manifest["quick"]) == (9, 2, True)


@pytest.mark.parametrize("figure", FIGURES)
def test_pictures_are_what_they_are_called(figure, folder):
    root = ET.fromstring((folder / f"figure-{figure}.svg").read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    title = root.find("{http://www.w3.org/2000/svg}title").text
    assert title.startswith(f"Figure {figure}: ")
    png = (folder / f"figure-{figure}.png").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) > 10_000


@pytest.mark.parametrize("figure", EXPERIMENTS)
def test_the_csv_has_the_means_of_the_sweeps(figure, folder, sweeps):
    rows = table(folder / f"figure-{figure}.csv")
    count = 0
    for name, sweep in sweeps[figure].items():
        for quantity in ("nmi", "min_lift_leakage", "max_lift_leakage", "seconds"):
            points = printed(figure, name, quantity)
            some = [row for row in rows if (row["quantity"], row["series"]) == (quantity, name)]
            assert [float(row["epsilon"]) for row in some] == sweep.epsilons.tolist()
            for k, row in enumerate(some):
                cells = sweep.values[quantity][:, k]
                assert float(row["ours"]) == pytest.approx(cells.mean(), rel=1e-14, abs=1e-300)
                assert int(row["joints"]) == len(cells)
                error = cells.std(ddof=1) / math.sqrt(len(cells)) if len(cells) > 1 else math.nan
                assert float(row["standard_error"]) == pytest.approx(error, nan_ok=True)
                held = sweep.values["is_satisfied"][:, k].mean()
                assert float(row["satisfied"]) == held
                paper = points.get(sweep.epsilons[k])
                assert row["paper"] == ("" if paper is None else str(paper))
            count += len(some)
    assert count == len(rows)


@pytest.mark.parametrize("figure", [4, 5, 6, 7, 8])
def test_no_marker_keeps_more_than_its_proven_bound(figure, folder):
    markers = {series.name for series in EXPERIMENTS[figure].markers}
    rows = [
        row
        for row in table(folder / f"figure-{figure}.csv")
        if row["series"] in markers and row["quantity"] == "nmi"
    ]
    assert {row["series"] for row in rows} == markers
    for row in rows:
        assert 1 >= float(row["upper_bound"]) >= float(row["ours"]) >= 0
        assert float(row["satisfied"]) == 1


def test_markers_keep_no_less_than_their_curve(sweeps):
    for figure in (4, 5, 6):
        for marker in EXPERIMENTS[figure].markers:
            sweep, base = sweeps[figure][marker.name], sweeps[figure][marker.beside]
            at = [base.epsilons.tolist().index(e) for e in sweep.epsilons.tolist()]
            below = base.values["nmi"][: sweep.joints, at] - sweep.values["upper_bound"]
            assert below.max() <= 1e-12


def test_figure_1_has_both_generators_beside_the_print(folder):
    rows = table(folder / "figure-1.csv")
    assert len({row["generator"] for row in rows}) == 2
    assert len(rows) == 2 * 169
    for name in {row["generator"] for row in rows}:
        for column in ("ours", "paper"):
            total = sum(float(row[column]) for row in rows if row["generator"] == name)
            assert total == pytest.approx(1, abs=1e-9)


def test_propositions_are_tried(folder):
    rows = table(folder / "propositions.csv")
    assert {row["proposition"][0] for row in rows} >= set("13456")
    assert all(int(row["cases"]) > 0 for row in rows)
    broken = [row for row in rows if int(row["violations"])]
    assert 0 < len(broken) < len(rows)
    assert all(row["counter_example"] for row in broken)


# The page.

VOID = {"br", "meta"}


class Page(HTMLParser):
    """Reads a page: headings, tables by their section, ids, references and stray tags."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.stray = [], []
        self.tags, self.ids, self.references = Counter(), [], []
        self.headings, self.tables, self.section = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "h2":
            self.section = dict(attrs)["id"]
            self.headings.append("")
        elif tag == "table":
            self.tables.append((self.section, []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        found = dict(attrs)
        self.tags[tag] += 1
        self.ids += [found["id"]] if "id" in found else []
        for name in ("href", "xlink:href", "src", "srcset", "data", "action", "aria-labelledby"):
            if name in found:
                prefix = "#" if name == "aria-labelledby" else ""
                self.references.append((tag, prefix + found[name]))

    def handle_endtag(self, tag):
        if self.stack and self.stack[-1] == tag:
            self.stack.pop()
        else:
            self.stray.append((tag, self.getpos()))

    def handle_data(self, data):
        if "h2" in self.stack:
            self.headings[-1] += data
        elif "td" in self.stack or "th" in self.stack:
            self.tables[-1][1][-1][-1] += data

    def rows(self, section, column):
        """Return the rows of the tables in a section that have a column, as dictionaries."""
        return [
            dict(zip(rows[0], row, strict=True))
            for name, rows in self.tables
            if name == section and column in rows[0]
            for row in rows[1:]
        ]


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "index.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_well_formed(page, text):
    assert page.stack == []
    assert page.stray == []
    assert text.startswith("<!doctype html>")
    assert page.tags["section"] == 8 + 3
    assert page.tags["table"] == len(page.tables) > 20
    assert page.tags["h1"] == 1
    assert len(set(page.ids)) == len(page.ids)


def test_the_page_needs_nothing_from_outside(page, text):
    addresses = re.sub(r'xmlns(:\w+)?="http://www\.w3\.org/[^"]*"', "", text)
    assert not re.search(r"https?:|//\w+\.\w", re.sub(r'href="data:[^"]*"', "", addresses))
    for tag in ("script", "link", "img", "iframe", "object", "embed", "base", "form"):
        assert page.tags[tag] == 0, tag
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    inside = {"#" + name for name in page.ids}
    for tag, reference in page.references:
        is_csv = tag == "a" and reference.startswith("data:text/csv;base64,")
        assert reference in inside or is_csv, (tag, reference[:60])
    assert set(re.findall(r"url\((#[^)]*)\)", text)) <= inside


def test_the_page_has_every_figure(page):
    expected = ["Figure 1. How often each log-lift occurs"]
    expected += [f"Figure {n}. {experiment.title}" for n, experiment in EXPERIMENTS.items()]
    expected += ["Propositions", "Where we differ from the paper", "Vertices of the polytope"]
    assert page.headings == expected
    panels = 2 + sum(len(experiment.quantities) for experiment in EXPERIMENTS.values())
    assert page.tags["svg"] > panels


def test_the_page_offers_the_numbers(page, folder):
    links = [ref for tag, ref in page.references if tag == "a" and ref.startswith("data:")]
    assert len(links) == 8
    for figure, link in zip(FIGURES, links, strict=True):
        data = base64.b64decode(link.partition(",")[2])
        assert data == (folder / f"figure-{figure}.csv").read_bytes()


@pytest.mark.parametrize("figure", EXPERIMENTS)
def test_every_printed_panel_has_a_verdict(figure, page):
    experiment = EXPERIMENTS[figure]
    rows = page.rows(f"figure-{figure}", "verdict")
    found = {(row["panel"], row["series"]): row["verdict"] for row in rows}
    assert len(found) == len(rows)
    expected = {
        (reproduction.TITLES[quantity], curve.label): quantity
        for quantity in experiment.quantities
        for curve in experiment.curves
        if printed(figure, curve.name, quantity)
    }
    assert found.keys() == expected.keys()
    for key, quantity in expected.items():
        words = {"other machine"} if quantity == "seconds" else {"agrees", "differs"}
        assert found[key] in words


def test_every_marker_is_beside_its_curve(page, sweeps):
    for figure in (4, 5, 6, 7, 8):
        rows = page.rows(f"figure-{figure}", "proven bound")
        expected = []
        for marker in EXPERIMENTS[figure].markers:
            sweep, base = sweeps[figure][marker.name], sweeps[figure][marker.beside]
            for k, epsilon in enumerate(sweep.epsilons.tolist()):
                i = base.epsilons.tolist().index(epsilon)
                before = base.values["nmi"][: sweep.joints, i].mean()
                expected.append(
                    (
                        marker.label,
                        f"{epsilon:g}",
                        f"{before:.4f}",
                        f"{sweep.mean('nmi')[k]:.4f}",
                        f"{sweep.mean('upper_bound')[k]:.4f}",
                    )
                )
        names = ("mechanism", "ε", "curve's NMI", "NMI", "proven bound")
        assert [tuple(row[name] for name in names) for row in rows] == expected


def test_both_readings_are_shown(page):
    for figure in (2, 4, 6, 7, 8):
        rows = page.rows(f"figure-{figure}", "reading")
        readings = {row["reading"] for row in rows}
        assert {series.mechanism for series in EXPERIMENTS[figure].readings} < readings
        assert any(name.endswith("(used)") for name in readings)


def test_the_propositions_are_judged(page, folder):
    rows = page.rows("propositions", "verdict")
    claims = table(folder / "propositions.csv")
    assert len(rows) == len(claims)
    for row, claim in zip(rows, claims, strict=True):
        assert row["no."] == claim["proposition"]
        assert row["statement"].startswith(claim["statement"])
        assert row["verdict"] == ("false" if int(claim["violations"]) else "holds")
    assert {row["verdict"] for row in rows} == {"holds", "false"}


def test_the_summary_counts_the_verdicts(page):
    head, *rows = page.tables[0][1]
    assert [row[0] for row in rows] == [str(n) for n in FIGURES]
    assert re.fullmatch(r"total variation 0\.\d\d with .*", rows[0][2])
    names = dict(zip(head[2:], list(reproduction.TITLES.values())[:3], strict=True))
    for row in rows[1:]:
        verdicts = page.rows(f"figure-{row[0]}", "verdict")
        for column, panel in names.items():
            some = [item["verdict"] for item in verdicts if item["panel"] == panel]
            agree, cell = some.count("agrees"), row[head.index(column)]
            expected = f"{agree} of {len(some)} series agree"
            assert cell == ("agrees" if agree == len(some) else expected)


def test_the_impossible_points_are_listed(page):
    rows = page.rows("differences", "worst")
    assert {row["figure"] for row in rows} == {"7", "8"}
    assert all(int(row["points"].split(" of ")[0]) > 0 for row in rows)


# One figure at a time, on other backends, again.


def numbers(path):
    """Return the rows of a figure's CSV without those of seconds."""
    return [row for row in table(path) if row["quantity"] != "seconds"]


def figures_of(page):
    return [h for h in Page(page.read_text("utf-8")).headings if h.startswith("Figure")]


def test_one_figure_makes_a_page(folder, tmp_path):
    page = reproduce(tmp_path / "one", [7, 7], **TINY, jobs=1)
    assert figures_of(page) == [f"Figure 7. {EXPERIMENTS[7].title}"]
    assert numbers(page.parent / "figure-7.csv") == numbers(folder / "figure-7.csv")
    assert json.loads((page.parent / MANIFEST).read_text("utf-8"))["figures"] == [7]


def test_an_empty_folder_will_do(folder, tmp_path):
    page = reproduce(str(tmp_path), [1], **TINY, jobs=1)
    assert page == tmp_path / "index.html"
    assert figures_of(page) == ["Figure 1. How often each log-lift occurs"]
    assert (tmp_path / "figure-1.csv").read_bytes() == (folder / "figure-1.csv").read_bytes()


def test_dask_finds_the_same_numbers(folder, tmp_path):
    # A port of its own for the dashboard: the usual one may be taken, which is a warning.
    with (
        distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client,
        joblib.parallel_config(backend="dask"),
    ):
        page = reproduce(tmp_path / "dask", [4], **TINY)
        done = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(done) == 2
    assert sum(done.values()) >= 2
    assert numbers(page.parent / "figure-4.csv") == numbers(folder / "figure-4.csv")


# Joblib's multiprocessing forks, which Python 3.12 and later warn about where threads run.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_backend_without_generators_finds_the_same_numbers(folder, tmp_path):
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        page = reproduce(tmp_path / "pool", [4], **TINY)
    assert numbers(page.parent / "figure-4.csv") == numbers(folder / "figure-4.csv")


def test_an_earlier_result_is_taken_up(folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path / "again")
    monkeypatch.setattr(runs, "run_task", None)  # nothing is left to run
    page = reproduce(tmp_path / "again", [5], **TINY, jobs=1)
    assert page == tmp_path / "again" / "index.html"
    # Seconds as well: they were measured once.
    name = "figure-5.csv"
    assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


# Folders and arguments that are refused.


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_bytes(b"precious")
    with pytest.raises(ll.InvalidInput, match="lowlift paper did not write"):
        reproduce(tmp_path, [1], **TINY, jobs=1)
    assert contents(tmp_path) == {"thesis.txt": b"precious"}


@pytest.mark.parametrize("manifest", [b"", b"[]", b'{"made_by": "other"}', b"\xff", b'{"a": 1}'])
def test_a_manifest_of_something_else_is_left_alone(manifest, tmp_path):
    (tmp_path / MANIFEST).write_bytes(manifest)
    with pytest.raises(ll.InvalidInput, match="new or empty folder"):
        reproduce(tmp_path, [1], **TINY, jobs=1)
    assert contents(tmp_path) == {MANIFEST: manifest}


def test_a_file_is_not_a_folder(tmp_path):
    path = tmp_path / "notes"
    path.write_bytes(b"precious")
    with pytest.raises(ll.InvalidInput, match="must be a folder; it is a file"):
        reproduce(path, [1], **TINY, jobs=1)
    assert contents(tmp_path) == {"notes": b"precious"}


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path):
    (tmp_path / "notes").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (tmp_path / "notes" / "result", tmp_path / "link"):
        with pytest.raises(ll.InvalidInput, match="Choose another folder"):
            reproduce(out, [1], **TINY, jobs=1)
    assert (tmp_path / "notes").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("figures", "options", "message"),
    [
        ([9], {}, "figures must be numbers from 1 to 8; got 9"),
        ([4, 0, 12], {}, "got 0, 12"),
        ([], {}, "got none"),
        (FIGURES, {"joints": 0}, "joints must be 1 or more; got 0"),
        (FIGURES, {"jobs": 0}, "jobs must be 1 or more; got 0"),
        (FIGURES, {"seed": -1}, "seed must be 0 or more; got -1"),
    ],
)
def test_bad_arguments_write_nothing(figures, options, message, tmp_path):
    with pytest.raises(ll.InvalidInput, match=message):
        reproduce(tmp_path / "new", figures, **options)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / MANIFEST).write_text('{"made_by": "lowlift paper"}')
    with pytest.raises(ll.InvalidInput):
        reproduce(tmp_path, figures, **options)
    assert contents(tmp_path) == {MANIFEST: b'{"made_by": "lowlift paper"}'}


def test_means_are_finite_on_every_curve(sweeps):
    for found in sweeps.values():
        for sweep in found.values():
            for name in ("nmi", "min_lift_leakage", "max_lift_leakage", "seconds"):
                assert np.isfinite(sweep.mean(name)).all()


# Another setup.


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    out = tmp_path_factory.mktemp("elsewhere") / "result"
    options = {"n_s": 3, "n_x": 8, "lambdas": [0.3], "epsilons": [1.0, 2.0], "seconds": 5.0}
    return reproduce(out, [1, 2, 5, 7], joints=3, jobs=1, **options)


def test_another_setup_is_drawn_and_compared_with_nothing(elsewhere):
    folder = elsewhere.parent
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    assert (manifest["n_s"], manifest["n_x"], manifest["lambdas"]) == (3, 8, [0.3])
    content = json.loads((folder / "comparison.json").read_text("utf-8"))
    assert content["departs_from_the_paper"]["epsilons"] == [1.0, 2.0]
    assert content["comparisons"] == content["readings"] == content["impossible"] == []
    for number in (2, 5, 7):
        rows = table(folder / f"figure-{number}.csv")
        assert {row["paper"] for row in rows} == {""}
        assert {float(row["epsilon"]) for row in rows} == {1.0, 2.0}
        assert all(math.isfinite(float(row["ours"])) for row in rows)
        assert "the paper" not in (folder / f"figure-{number}.svg").read_text("utf-8")
    first = table(folder / "figure-1.csv")
    assert {row["generator"] for row in first} == {
        "uniform entries, |X|=8",
        "|N(0,1)| entries, |X|=8",
    }
    for name in {row["generator"] for row in first}:
        ours = [float(row["ours"]) for row in first if row["generator"] == name]
        assert sum(ours) == pytest.approx(1, abs=1e-12)
    text = elsewhere.read_text("utf-8")
    assert text.count("Not the paper's setup") == 4
    assert text.count("no points to compare with. <a download") == 4
    assert "|S|=3, |X|=8, means over 3 random joints" in text
    assert "nan" not in re.sub(r"<svg.*?</svg>|base64,[^\"]*", "", text, flags=re.DOTALL)
