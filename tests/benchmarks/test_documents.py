"""The README's block, the page and the plots are what the stored results give."""

import copy
import re
import subprocess
import sys
from pathlib import Path

import contest as contests
import pages
import population
import pytest
import reasons
import results as records
import rows_targets
import run
import targets

STORED = Path(__file__).resolve().parents[2] / "benchmarks" / "results.json"


@pytest.fixture(scope="module")
def stored():
    return records.read(STORED)


def test_the_texts_are_what_the_results_give(stored):
    assert [name for name in run.differing(stored) if not name.endswith(".svg")] == []


@pytest.mark.second_lane  # the lowest matplotlib writes the same plots in other bytes
def test_the_documents_are_what_the_results_give(stored):
    assert run.differing(stored) == []


def test_the_stored_results_are_of_the_full_form(stored):
    assert stored["form"] == "full"
    assert stored["machine"]["cores"] >= 1
    assert all(not contest["absent"] for contest in stored["contests"])


def test_a_changed_number_changes_the_block(stored):
    other = copy.deepcopy(stored)
    other["rows"][0]["entries"][0]["seconds"] *= 7
    assert pages.block(other) != pages.block(stored)


def test_what_promises_something_else_is_not_compared(stored):
    assert any(c["group"].startswith(pages.UNLIKE) for c in stored["contests"])
    text = pages.page(stored, {})
    assert not re.search(r"k-ary|OpenDP make|GRR_Client", text)
    assert "full-domain recoding" in text
    assert "OpenDP" not in pages.block(stored)


def entry(who, objective, **more):
    return {"who": who, "objective": objective, "seconds": {"median": 1.0}, **more}


@pytest.mark.parametrize(
    ("objective", "low", "high", "words"),
    [
        (0.5, 2.0, 3.0, "same value, slower than ours"),
        (0.5, 0.2, 0.9, "same value, **faster than ours**"),
        (0.5, 0.9, 1.2, "same value, as fast as ours"),
        (0.6, 2.0, 3.0, "**keeps more** (+0.100), slower than ours"),
        (0.3, 2.0, 3.0, "**keeps less** (-0.200), slower than ours"),
        (0.49999, 2.0, 3.0, "keeps less (-1.0e-05), slower than ours"),
    ],
)
def test_the_reading_says_who_is_better(objective, low, high, words):
    contest = {"measure": "NMI", "better": "higher", "tolerance": 1e-6, "ours": entry("a", 0.5)}
    rival = entry("b", objective, ratio={"low": low, "median": (low + high) / 2, "high": high})
    assert pages.reading(contest, rival) == words


def test_a_readme_without_the_marks_is_refused():
    with pytest.raises(ValueError, match="must hold one block"):
        pages.with_block("# lowlift\n", "block")


def test_a_record_without_versions_is_refused(stored, tmp_path):
    broken = {name: value for name, value in stored.items() if name != "versions"}
    records.write(broken, tmp_path / "results.json")
    with pytest.raises(ValueError, match="versions is missing"):
        records.read(tmp_path / "results.json")


def test_the_spread_of_a_few_rounds():
    assert records.spread([3.0, 1.0]) == {"median": 2.0, "low": 1.0, "high": 3.0}
    assert records.spread([1.0, 2.0, 3.0, 4.0, 5.0]) == {"median": 3.0, "low": 2.0, "high": 4.0}


def target(**changed):
    measured = {"limit": 10.0, "seconds": 2.0, "nmi": 0.98, "gap": 5e-5, "memory_mb": 300.0}
    made = {
        "id": str(targets.FULL[-1]),
        "name": "random",
        "n_x": 5000,
        "n_s": 2,
        "classes": 5000,
        "criterion": "LIP(0.5)",
        "goal": {"gap": 1e-4, "seconds": 10.0, "memory_mb": 1500.0},
        "load": 0.5,
        "date": "2026-01-01",
        "rivals": [],
    }
    return made | measured | changed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "met"),
        ({"gap": 2e-4}, "**not met**"),
        ({"seconds": 10.1}, "**not met**"),
        ({"memory_mb": 1600.0}, "**not met**"),
        ({"goal": {"gap": 1e-4, "seconds": 10.0, "memory_mb": None}, "memory_mb": 9e3}, "met"),
        ({"goal": None}, "-"),
    ],
)
def test_a_goal_is_met_by_gap_time_and_memory(changed, words):
    row = pages.target_row(target(**changed))
    assert row[11] == words


def test_a_rival_without_a_result_is_named_with_the_reason():
    rivals = [{"who": "a", "seconds": 1.0, "nmi": 0.97, "memory_mb": 2500.0},
              {"who": "b", "why": "no answer in 120 s"}]  # fmt: skip
    words = pages.target_row(target(rivals=rivals))[12]
    assert words == "a: NMI -1.0e-02, 1 s, 2.5 GB; b: no answer in 120 s"


def test_a_run_of_targets_replaces_what_it_measured_alone(stored):
    new = stored | {"contests": [], "growth": [], "targets": [target()], "rows": []}
    made = run.with_targets(stored, new)
    assert made == stored | {"targets": [*stored["targets"][:-1], target()]}
    assert records.faults(made) == []


def test_a_target_that_is_no_longer_asked_for_is_left_out(stored):
    old = stored | {"targets": [*stored["targets"], target(id="random 3 2 0 ALIP 1.0 0.5")]}
    new = stored | {"contests": [], "growth": [], "targets": [target()]}
    assert run.with_targets(old, new) == run.with_targets(stored, new)


def test_a_run_of_rows_replaces_what_it_measured_alone(stored):
    one = stored["rows"][0] | {"load": 99.0}
    new = stored | {"contests": [], "growth": [], "targets": [], "rows": [one]}
    assert run.with_targets(stored, new) == stored | {"rows": [one, *stored["rows"][1:]]}


def test_a_run_of_all_contests_keeps_the_goals(stored):
    new = stored | {"date": "2030-01-01", "targets": [], "rows": []}
    assert run.with_targets(stored, new) == stored | {"date": "2030-01-01"}


def test_a_run_that_lacks_a_contest_or_a_curve_is_not_published(stored):
    for part in ("contests", "growth"):
        new = stored | {"targets": [], "rows": [], part: stored[part][1:]}
        with pytest.raises(SystemExit, match="argets"):
            run.with_targets(stored, new)


def test_the_stored_rows_are_all_that_there_are(stored):
    asked = rows_targets.FULL + rows_targets.ENGINES
    assert [one["id"] for one in stored["rows"]] == [str(target) for target in asked]


@pytest.mark.parametrize(
    "changed", [{"targets": [], "rows": []}, {"form": "quick"}, {"machine": {}}]
)
def test_a_run_of_anything_else_is_not_published_in_part(stored, changed):
    new = stored | {"contests": [], "growth": [], "targets": [target()]} | changed
    with pytest.raises(SystemExit, match="argets"):
        run.with_targets(stored, new)


def test_goals_with_some_of_the_contests_are_not_published(stored):
    new = stored | {"contests": stored["contests"][:1], "growth": [], "targets": [target()]}
    with pytest.raises(SystemExit, match="argets"):
        run.with_targets(stored, new)


def test_the_stored_targets_are_all_that_there_are(stored):
    names = [target["id"] for target in stored["targets"]]
    assert names == [str(target) for target in targets.FULL]


def test_the_page_on_populations_is_what_its_results_give():
    lines, cells = population.stored()
    page = population.PAGE.read_text(encoding="utf-8")
    for name, text in (population.tables(lines) | {"cells": population.cells_table(cells)}).items():
        assert population.START.format(name) + text + population.END in page
    whole = [line for line in lines if line.key[1:] == ("LIP(.5)", 10_000, False)]
    assert (len(whole), {line.samples for line in whole}) == (20, {200})
    assert not any(line.is_missed for line in lines)


def test_fewer_samples_of_a_population_are_the_first_of_more():
    one, two = (population.measured("0", "MaxLift(.5)", 1000, False, n) for n in (1, 2))
    assert (one.samples, two.samples, one.broken, two.broken) == (1, 2, 0, 0)
    first, second = (next(population.samples_of("0", 1000))[0] for _ in range(2))
    assert (first.counts == second.counts).all()
    assert two.nmi != one.nmi


def ahead_of_us(who, group="Leakage measures", ratio=0.5):
    rival = entry(who, 0.5, ratio={"low": ratio, "median": ratio, "high": ratio})
    return {"group": group, "name": "a job", "rivals": [rival]}


def test_each_ratio_below_one_has_a_reason(stored):
    assert reasons.unexplained(stored, pages.UNLIKE) == []
    unknown = {"contests": [ahead_of_us("somebody"), ahead_of_us("else", ratio=1.5)]}
    assert reasons.unexplained(unknown, pages.UNLIKE) == ["Leakage measures, a job: somebody"]
    with pytest.raises(SystemExit, match="must say why"):
        run.publish(unknown)


def test_reasons_are_shown_where_the_ratio_is_below_one():
    jobs = [ahead_of_us("qif", ratio=ratio) for ratio in (0.25, 0.5, 2.0)]
    shown = pages.ahead(jobs)
    assert "- qif, ratio 0.25 to 0.5 in 2 jobs: one call of compiled C++" in shown
    assert pages.ahead(jobs[2:]) == ""


def test_cpu_ratios_are_of_processes_of_the_run():
    record = {
        "ours": entry("lowlift", 1.0) | {"seconds": [4.0, 4.0], "cpu": [2.0, 4.0]},
        "rivals": [entry("copy", 1.0) | {"seconds": [2.0, 1.0], "cpu": [1.0, 1.0]}],
    }
    made = records.contest_of(record)["rivals"][0]
    assert made["cpu_ratio"] == 0.375
    assert pages.ratios(made) == "0.38 (0.25 to 0.5); CPU 0.38"
    assert "cpu_ratio" not in records.contest_of(record | {"is_here": False})["rivals"][0]


def test_the_cpu_time_of_started_processes_counts():
    clock = contests.Processors()
    code = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"
    busy = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert busy.stdout.readline() == "done\n"
        running = clock.seconds()
    finally:
        busy.communicate("\n")
    assert running > 0.25
    assert clock.seconds() > 0.25


def in_engine(data, **seconds):
    ours, *rivals = ({"who": who, "seconds": {"median": s}} for who, s in seconds.items())
    return {"name": "publish", "data": data, "ours": ours, "rivals": rivals}


def test_copies_are_said_for_keyed_draws_with_what_they_cannot_go_below():
    fresh, keyed, copy_, hashed = "fresh draws", "keyed draws", "plain copy of x", "SHA-256 of each"
    slow = in_engine("Spark, 9 rows", **{fresh: 4.0, keyed: 15.0, copy_: 1.0, hashed: 3.0})
    text = reasons.copies([slow, in_engine("DuckDB", **{fresh: 2.0, copy_: 1.0})])
    assert "- Spark, ids: 15 copies (aim 3); a SHA-256" in text
    assert text.endswith("takes 3, so the aim cannot be reached.")
    quick = in_engine("PostgreSQL, 9 rows", **{keyed: 4.4, copy_: 1.0, hashed: 1.3})
    assert reasons.copies([quick]).endswith("4.4 copies (aim 5); a SHA-256 of each id, and nothing "
                                            "else, takes 1.3.")  # fmt: skip
    assert reasons.copies([in_engine("DuckDB", **{fresh: 2.0, copy_: 1.0})]) == ""
