"""Whatever bytes are read, the only errors are ours, and what is accepted is what the file says.

The same targets run here by hypothesis, and by atheris in `make fuzz`, led by the code they reach.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lowlift as ll
from fuzz.seeds import TABLES, documents
from fuzz.targets import READERS, verdicts
from lowlift.codebook import Codebook
from lowlift.criteria import from_dict
from lowlift.workflow import verify

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fuzz"


@st.composite
def files(draw, reader):
    """Bytes of any kind, valid files, and valid files changed a few times."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(st.sampled_from(reader.seeds()))
    for _ in range(draw(st.integers(0, 3))):
        data = reader.change(data, draw(st.randoms(use_true_random=False)))
    return data


@pytest.mark.parametrize("name", [name for name in READERS if name not in TABLES])
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_reader_refuses_with_our_errors_only(name, data):
    READERS[name].run(data.draw(files(READERS[name])))


@pytest.mark.parametrize("name", TABLES)
@settings(suppress_health_check=list(HealthCheck), max_examples=settings.default.max_examples // 3)
@given(data=st.data())
def test_a_table_is_refused_with_our_errors_only(name, data):
    READERS[name].run(data.draw(files(READERS[name])))


def test_fuzzing_starts_from_files_that_are_accepted(tmp_path):
    path = tmp_path / "given.json"
    outcomes = set()
    for data in documents()["release"]:
        path.write_bytes(data)
        found = ll.Release.from_json(path)
        outcomes.add((type(found.criterion).__name__, found.audit.is_satisfied))
    assert {name for name, _ in outcomes} == {
        "ALIP", "AlphaLift", "Chi2Lift", "L1Lift", "LDP", "LIP", "MaxLift"
    }  # fmt: skip
    assert {is_satisfied for _, is_satisfied in outcomes} == {True, False}
    for data in documents()["codebook"]:
        path.write_bytes(data)
        assert Codebook.from_json(path).labels
    for data in documents()["certificate"]:
        path.write_bytes(data)
        assert ll.Certificate.from_json(path).upper_bound < 1
    release, published, receipt = (documents()[k][0] for k in ("release", "published", "receipt"))
    (tmp_path / "safe.release.json").write_bytes(release)
    (tmp_path / "safe.csv").write_bytes(published)
    (tmp_path / "safe.receipt.json").write_bytes(receipt)
    found = verify(str(tmp_path / "safe.release.json"), published=str(tmp_path / "safe.csv"))
    assert found.is_ok


def test_the_truth_that_releases_are_compared_with_sees_a_false_one():
    stored = json.loads(documents()["release"][-2])
    found = verdicts(from_dict(stored["criterion"]), stored)
    assert all(found) is stored["audit"]["is_satisfied"]
    stored["criterion"] = {"name": "LIP", "epsilon": 0.0}
    assert not all(verdicts(from_dict(stored["criterion"]), stored))


@pytest.mark.second_lane  # atheris is in the dev extra
def test_atheris_finds_nothing_in_a_few_seconds(tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    command = [sys.executable, str(SCRIPT), "--seconds", "6", "--corpus", str(tmp_path), "every"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.split()[1]) > 30
