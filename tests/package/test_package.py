"""Wheel and sdist are built as `make package` builds them, and the wheel works alone."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "scripts" / "package"
#: What is installed beside lowlift for each library of frames.
FRAMES = {
    "pandas": ["lowlift", "pandas"],
    "polars": ["lowlift", "polars"],
    "pyarrow": ["lowlift", "pyarrow"],
    "duckdb": ["lowlift"],
    "pyspark": ["lowlift[spark]"],
}

pytestmark = [
    pytest.mark.second_lane,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("package"),  # built once
]


def run(*command, **environment):
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    clean = {name: value for name, value in os.environ.items() if name not in hidden}
    words = list(map(str, command))
    done = subprocess.run(
        words, env=clean | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    return folder, run(sys.executable, SCRIPT, "--out", folder)


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """The interpreter of an environment with the wheel alone: not even its dependencies."""
    folder = tmp_path_factory.mktemp("alone")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    made = folder / "bin" / "python"
    (wheel,) = built[0].glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", made, "install", "-q", "--no-deps", wheel)
    return made


def needed(names):
    """Return the installed packages that these need, by what each says of itself."""
    waiting, found = [Requirement(name) for name in names], {}
    while waiting:
        one = waiting.pop()
        if one.extras <= found.get(one.name, frozenset()) and one.name in found:
            continue
        found[one.name] = found.get(one.name, frozenset()) | one.extras
        for text in importlib.metadata.requires(one.name) or ():
            more = Requirement(text)
            extras = ["", *one.extras]
            if more.marker is None or any(more.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(more)
    return sorted(set(found) - {"lowlift"})


def linked(names, folder):
    """Link these packages, and no others, into a folder."""
    for name in names:
        package = importlib.metadata.distribution(name)
        tops = {Path(file).parts[0] for file in package.files} - {"..", "__pycache__"}
        for top in tops:
            if not (folder / top).exists():
                (folder / top).symlink_to(package.locate_file(top))


def test_the_wheel_is_whole_and_runs_the_demo_in_an_empty_environment(built):
    folder, printed = built
    assert "twine finds no fault" in printed
    assert "all of them" in printed
    assert "safe.csv" in printed
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_comes_back_in_an_environment_that_has_its_library_only(library, python, tmp_path):
    names = needed(FRAMES[library])
    assert not set(names) & ({"pandas", "polars", "pyarrow", "pyspark"} - {library})
    linked(names, tmp_path)
    printed = run(python, "-W", "error", HERE / "frame_lines.py", library, PYTHONPATH=str(tmp_path))
    assert str(python.parent.parent) in printed
