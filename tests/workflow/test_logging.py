"""The log of a run: one line per step, and nothing of the table, the paths or the key."""

import logging
import re
import subprocess
import sys

import pandas as pd
import pytest

import lowlift as ll
from lowlift.workflow import Options, apply, design, sanitize, verify

KEY = bytes(range(100, 132))
ROWS = 240
#: Every value, column and folder has one of these in it.
MARKS = ["zebra", "quokka", "lemur", "okapi", "7654", "secretfolder", "pangolin"]


def table():
    return pd.DataFrame(
        {
            "quokka_ill": [f"zebra-{k % 2}" for k in range(ROWS)],
            "lemur_ward": [f"okapi-{k * k % 5}" for k in range(ROWS)],
            "quokka_age": [76540 + 10 * (k % 3) for k in range(ROWS)],
            "pangolin_id": [f"pangolin-{k}" for k in range(ROWS)],
        }
    )


def schema(missing="value"):
    return ll.Schema("quokka_ill", ["lemur_ward", "quokka_age"], {"quokka_age": "each"}, missing)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "secretfolder"
    made.mkdir()
    table().to_csv(made / "in.csv", index=False)
    return made


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG, "lowlift")
    return caplog


def lines(log):
    """Return what was logged; refuse marks in lines, arguments and tracebacks."""
    formatter = logging.Formatter("%(message)s")
    found = [formatter.format(record) for record in log.records if record.name == "lowlift"]
    everything = "\n".join([*found, *(repr(record.args) for record in log.records)])
    for mark in [*MARKS, KEY.hex(), repr(KEY)]:
        assert mark not in everything
    return [line for line in found if not line.startswith("compil")]


def steps(log):
    return [line.partition(":")[0] for line in lines(log)]


def test_sanitize_writes_a_line_per_step_and_no_value(folder, log):
    source, target = str(folder / "in.csv"), str(folder / "safe.csv")
    options = Options(id="pangolin_id", key=KEY)
    safe = sanitize(source, schema(), ll.LIP(0.5), target, options, encoding="codes")
    assert steps(log) == ["count", "design", "apply", "verify"]
    count, made, applied, verified = lines(log)
    assert "240 rows, |S| = 2, |X| = 9" in count
    assert safe.design.chosen.name in made
    assert "the bound holds" in made
    assert f"NMI {safe.audit.nmi:.4f}" in made
    assert "240 rows of 240 written as codes, keyed draws" in applied
    assert "passed" in verified
    assert all(re.search(r", \d+\.\d{3} s$", line) for line in lines(log))
    assert all(record.levelno == logging.INFO for record in log.records)


def test_a_frame_is_logged_the_same_and_shows_itself(folder, log):
    target = str(folder / "safe.parquet")
    bound = ll.LIP(0.5)
    safe = ll.sanitize(table(), schema=schema(), criterion=bound, target=target, seed=7654)
    assert steps(log) == ["count", "design", "apply", "verify"]
    assert "seeded draws" in lines(log)[2]
    assert "The bound holds" in safe._repr_html_()
    assert "240 of 240" in safe._repr_html_()
    assert "The bound holds" in safe.design._repr_html_()


def test_design_apply_and_verify_are_logged_alone(folder, log):
    made = design(str(folder / "in.csv"), schema(), ll.LIP(0.5))
    release = folder / "release.json"
    made.release.to_json(release)
    apply(str(folder / "in.csv"), made.release, str(folder / "safe.csv"))
    verify(str(release), against=str(folder / "in.csv"), published=str(folder / "safe.csv"))
    assert steps(log) == ["count", "design", "apply", "verify"]


def test_read_joint_is_a_count(log):
    ll.read_joint(table(), schema())
    assert steps(log) == ["count"]


def test_an_error_is_logged_by_its_kind(log):
    broken = table()
    broken.loc[3, "lemur_ward"] = None
    with pytest.raises(ll.InvalidInput):
        ll.sanitize(broken, schema=schema("error"), criterion=ll.LIP(0.5))
    (line,) = lines(log)
    assert line.startswith("count: InvalidInput after ")


def test_a_failed_verification_is_logged_as_failed(folder, log):
    made = design(str(folder / "in.csv"), schema(), ll.LIP(0.5))
    made.release.to_json(folder / "release.json")
    other = table()
    other.loc[0, "quokka_ill"] = "zebra-1"
    assert not verify(str(folder / "release.json"), against=other).is_ok
    assert "FAILED" in lines(log)[-1]


def test_nothing_is_printed_unless_an_application_asks(tmp_path):
    code = (
        "import logging, lowlift as ll\n"
        "log = logging.getLogger('lowlift')\n"
        "assert [type(h).__name__ for h in log.handlers] == ['NullHandler']\n"
        "assert log.level == logging.NOTSET\n"
        "log.error('not shown')\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert found.stdout == found.stderr == ""
