"""The examples run, and print the numbers that they are about."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What an example prints, run once, as a user runs it."""
    found = {}

    def run(name):
        if name not in found:
            done = subprocess.run(
                [sys.executable, "-W", "error", str(FOLDER / name)],
                capture_output=True,
                text=True,
                cwd=tmp_path_factory.mktemp("here"),
                check=False,
            )
            assert done.returncode == 0, done.stderr
            found[name] = done.stdout
        return found[name]

    return run


def numbers(text, start):
    """Return the numbers after the first line that begins with these words."""
    lines = [line.strip() for line in text.splitlines()]
    line = next(line for line in lines if line.startswith(start))
    return [float(part) for part in NUMBER.findall(line.removeprefix(start))]


def test_every_example_is_tested():
    names = {path.name for path in FOLDER.glob("*.py")}
    tested = {"clinical_table.py", "custom_criterion.py", "fairness.py", "survey.py", "titanic.py"}
    assert names == tested | {"survey_page.py"}  # the last in tests/exports/test_survey_page.py


def test_titanic(printed):
    text = printed("titanic.py")
    assert "VIOLATED by 9 output(s)" in text
    assert text.count(": satisfied") == 4
    assert numbers(text, "proven: no other of all mechanisms")[-1] == pytest.approx(
        0.8951, abs=1e-4
    )


def test_survey(printed):
    text = printed("survey.py")
    assert numbers(text, "6366 women;") == [32.2]
    # 2053 of 6366 report an affair; of the 36 in a very poor marriage and mildly religious, 28
    assert numbers(text, "very poor")[1] == round(28 / 36 / (2053 / 6366), 2)
    assert "13 of 20 pairs break it" in text
    rows = [numbers(text, name) for name in ("watchdog", "subset_merging", "optimal_merging")]
    utilities = [row[1] for row in rows]
    assert utilities == pytest.approx([0.5492, 0.7803, 0.8450], abs=1e-4)
    outputs, utility, bound = numbers(text, "random_response")
    assert (outputs, utility, bound) == (20, pytest.approx(0.9217, abs=1e-4), utility)
    assert text.count("True") == 4
    in_survey, estimated = zip(*(numbers(last(text, word), "") for word in RATINGS), strict=True)
    assert in_survey == (1.6, 5.5, 15.6, 35.2, 42.2)
    assert max(abs(a - b) for a, b in zip(in_survey, estimated, strict=True)) < 4


RATINGS = ("very poor", "poor", "fair", "good", "very good")


def last(text, start):
    return [line for line in text.splitlines() if line.strip().startswith(start)][-1]


def test_clinical_table(printed):
    text = printed("clinical_table.py")
    assert "8000 patients, 27 combinations" in text
    assert "satisfied: False, 24 break the bound" in text
    assert "satisfied: True" in text
    low, high = numbers(text, "lifts between")
    # the bound is e**-1 to e**0.7; the optimum reaches both ends
    assert (low, high) == (0.368, 2.014)
    assert "8000 rows written, columns: age, region, visits\n" in text
    assert "all of it: True" in text
    assert "NOT" not in text
    for region in ("north", "south", "coast"):
        here, published = numbers(last(text, region), region)
        assert abs(here - published) < 4  # 7 standard deviations of a share of 8000 rows


def test_custom_criterion(printed):
    text = printed("custom_criterion.py")
    merging, response = text.split("random_response")
    for part, expected in (
        (merging, [0.4336, 0.6407, 0.8520, 0.9768, 1.0]),
        (response, [0.8482, 0.9076, 0.9601, 0.9934, 1.0]),
    ):
        built_in, every, one = (
            numbers(part, name) for name in ("MaxLift", "all values", "one value")
        )
        assert every == pytest.approx(built_in, abs=2e-4)
        assert one[:5] == pytest.approx(expected, abs=2e-4)
        assert all(a <= b for a, b in zip(built_in[:5], one[:5], strict=True))
        assert built_in[5:] == one[5:] == [100, 100]
    assert "verdict exact: True" in text
    assert numbers(text, "largest lift of each value of S:")[0] == pytest.approx(1.5, abs=1e-4)


def test_fairness(printed):
    text = printed("fairness.py")
    as_it_is, table, population = (
        part.splitlines()[1:] for part in re.split("For the (?:table|population)", text)
    )
    assert all(float(line.split()[-1]) < 0.5 for line in as_it_is)
    for part in (table, population):
        assert len(part) == 7
        exact = [numbers(line, line.strip().partition("exact")[0])[0] for line in part]
        limits = [float(line.split()[-1]) for line in part]
        assert min(exact) >= 0.8
        assert min(limits) >= 0.8
    # The optimum uses the bound up, so that some rule is at four fifths.
    assert numbers(table[0].strip(), "the worst rule there is")[0] == 0.8
    page = (FOLDER.parent / "docs" / "guide" / "fairness.md").read_text("utf-8")
    assert table[0] in page
