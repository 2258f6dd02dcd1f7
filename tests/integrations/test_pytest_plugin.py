"""The pytest plugin, in pytest runs of their own."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from people import write_people

pytest_plugins = ("pytester",)

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import lowlift as ll
import pandas as pd
import pytest

ASKED = {"sensitive": "disease", "released": "ward"}

def test_holds(lowlift_audit):
    assert lowlift_audit("people.csv", at_most=4, **ASKED).is_satisfied

def test_breaks(lowlift_audit):
    lowlift_audit("people.csv", at_most=1.5, **ASKED)

def test_a_frame_and_a_criterion(lowlift_audit):
    lowlift_audit(pd.read_csv("people.csv"), criterion=ll.LIP(2.0), **ASKED)

def test_a_belief_breaks(lowlift_audit):
    lowlift_audit("people.csv", at_most=["disease=cholera:0.3"], **ASKED)

def test_a_schema(lowlift_audit):
    lowlift_audit("people.csv", at_most="4", schema=ll.Schema("disease", "ward"))

def test_no_bound(lowlift_audit):
    with pytest.raises(TypeError, match="needs a bound"):
        lowlift_audit("people.csv", **ASKED)
    with pytest.raises(TypeError, match="one bound"):
        lowlift_audit("people.csv", at_most=2, criterion=ll.LIP(1.0), **ASKED)
"""


def test_a_test_fails_with_the_words_of_the_verdict(pytester):
    write_people(pytester.path / "people.csv")
    pytester.makepyfile(TESTS)
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "ignore")
    found.assert_outcomes(passed=4, failed=2)
    text = found.stdout.str()
    assert "people.csv: 8,695 rows; publishing as they are: ward" in text
    assert "DOES NOT HOLD: seeing a published value can make a sensitive value" in text
    assert "Values that break the bound: 3 of 4." in text
    # What CI prints is public: no value of the table is in it.
    assert not any(word in text for word in ("north", "asthma", "bronchitis"))


def test_it_is_declared_and_loads_nothing_of_lowlift():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"lowlift": "lowlift_pytest"}
    code = (
        "import sys, pytest, lowlift_pytest\n"
        "assert not {'lowlift', 'numpy'} & {name.partition('.')[0] for name in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_library_does_not_need_pytest():
    code = "import sys, lowlift\nassert not {'pytest', 'lowlift_pytest'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("name", ["lowlift_audit"])
def test_its_fixture_is_listed(pytester, name):
    found = pytester.runpytest_subprocess("--fixtures", "-q")
    assert f"{name} [session scope]" in found.stdout.str()
