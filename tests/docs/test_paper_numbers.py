"""The numbers of docs/paper.md are those of the run they were made from."""

import copy
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lowlift.paper import EXPERIMENTS, counterexamples
from lowlift.paper.density import densities
from lowlift.paper.vertices import growth_exponent, vertex_counts

pytestmark = pytest.mark.second_lane
ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "paper-numbers"


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("paper_numbers", str(SCRIPT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec = importlib.util.spec_from_loader("paper_numbers", loader)
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    return module


@pytest.fixture
def kept(script):
    return json.loads(script.KEPT.read_text("utf-8"))


def run(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_is_what_the_kept_numbers_give():
    found = run("--check")
    assert (found.returncode, found.stderr) == (0, "")


def test_another_number_makes_another_page(script, kept):
    page = script.PAGE.read_text("utf-8")
    assert script.filled(page, script.parts(kept)) == page
    for change in (
        lambda some: some["largest"]["5, SRR"].update(nmi=0.5),
        lambda some: some["tolerances"].update(max_lift_leakage=0.5),
        lambda some: some["low"]["l1-0.65"]["by_seed"].update({"3": 0.5}),
        lambda some: some.update(kept=0.5),
        lambda some: some["exponents"].update({"5": 2.5}),
        lambda some: some["polytope"].update(nonempty=1),
        lambda some: some["impossible"]["8, alpha-2"].append(8.0),
    ):
        other = copy.deepcopy(kept)
        change(other)
        assert script.filled(page, script.parts(other)) != page


def test_each_part_stands_on_the_page_once(script, kept):
    parts = script.parts(kept)
    page = script.PAGE.read_text("utf-8")
    last = list(script.MARKED.finditer(page))[-1]
    for wrong in (page + last[0], page.replace(last[0], "")):
        with pytest.raises(SystemExit, match="each generated part once"):
            script.filled(wrong, parts)


def test_a_part_within_a_sentence_does_not_begin_a_line(script):
    """It would end the paragraph: a comment at the beginning of a line is a block of its own."""
    page = script.PAGE.read_text("utf-8")
    for match in script.MARKED.finditer(page):
        begins = page[match.start() - 1] == "\n"
        assert begins == match[3].startswith("\n"), match[2]


def test_the_table_has_every_series_once(script):
    named = [(line[1], series) for line in script.LINES for series in line[2]]
    every = [
        (n, curve.name) for n, experiment in EXPERIMENTS.items() for curve in experiment.curves
    ]
    assert sorted(named) == sorted(every)


def test_kept_numbers_are_still_what_the_package_finds(kept):
    seed = kept["seed"]
    distances = [density.distance for density in densities(1000, seed)]
    assert kept["distances"] == pytest.approx(distances, abs=1e-9)
    exponent = growth_exponent(vertex_counts(3, seed=seed))
    assert kept["exponents"]["3"] == pytest.approx(exponent, abs=1e-3)
    for number in (7, 8):
        budgets = {}
        for row in counterexamples._impossible(EXPERIMENTS[number], seed):
            budgets.setdefault(f"{number}, {row.series}", set()).update(row.epsilons)
        own = {name: set(v) for name, v in kept["impossible"].items() if name[0] == str(number)}
        assert own == budgets


@pytest.mark.parametrize(
    "change",
    [
        {"quick": True},
        {"joints": 50},
        {"figures": [4, 6]},
        {"departs_from_the_paper": {"n_x": 30}},
    ],
    ids=str,
)
def test_a_short_run_is_refused(change, tmp_path):
    found = {"quick": False, "joints": None, "figures": list(range(1, 9))} | change
    (tmp_path / "comparison.json").write_text(json.dumps(found), "utf-8")
    before = (ROOT / "docs" / "paper.md").read_bytes()
    refused = run("--from", tmp_path)
    assert refused.returncode == 1
    assert "needs a full run" in refused.stderr
    assert (ROOT / "docs" / "paper.md").read_bytes() == before


def test_a_folder_without_numbers_is_refused(tmp_path):
    refused = run("--from", tmp_path)
    assert refused.returncode == 1
    assert "must be the result of lowlift paper" in refused.stderr
    assert "Traceback" not in refused.stderr
