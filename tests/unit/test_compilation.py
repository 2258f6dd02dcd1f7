"""Compiling: once per machine, one signature each, before time counts, and never from elsewhere."""

import json
import math
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lowlift as ll
from lowlift.kernels import compilation

PACKAGE = Path(ll.__file__).parent
NOBODY = 65534
AS_NOBODY = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
#: Merges a small table by a compiled kernel, and says where its code is kept and whether it was.
MERGE = """
import json
import lowlift as ll
from lowlift.kernels import compilation
release = ll.subset_merging(ll.Joint.random(3, 6, seed=0), ll.LIP(0.3))
from lowlift.kernels.merging import cover
stats = cover.stats
print(json.dumps({
    "nmi": release.audit.nmi,
    "folder": stats.cache_path,
    "hits": sum(stats.cache_hits.values()),
    "compiled": sum(stats.cache_misses.values()),
}))
"""


def run(code, env, *command):
    """Run Python code in a process of its own; return what it prints as JSON."""
    kept = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, sys.executable, "-c", code],
        env=kept | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def frozen(tmp_path_factory):
    """A copy of the package that nobody can write, for a user without a home."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.fail("this test changes its user: run it as root, with setpriv")
    root = tmp_path_factory.mktemp("readonly")
    shutil.copytree(PACKAGE, root / "lowlift", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    # pytest's own folders are for one user.
    for folder in root.parents:
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    yield root
    root.chmod(0o755)


@pytest.fixture
def free():
    """A folder that the other user owns, at a short path."""
    folder = Path(f"/tmp/lowlift-test-{os.getpid()}-{time.monotonic_ns()}")
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def as_nobody(frozen, **env):
    env = {"PYTHONPATH": str(frozen), "HOME": "/nonexistent"} | env
    return run(MERGE, env, "setpriv", *AS_NOBODY)


def test_a_read_only_package_is_compiled_once_into_a_private_folder(frozen, free):
    first, second = (as_nobody(frozen, TMPDIR=str(free)) for _ in range(2))
    assert first["compiled"] == 1
    assert (second["compiled"], second["hits"]) == (0, 1)
    assert second["nmi"] == first["nmi"]
    folder = free / f"lowlift-{NOBODY}"
    assert Path(first["folder"]).is_relative_to(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_for_caches_comes_before_the_temporary_folder(frozen, free):
    found = as_nobody(frozen, XDG_CACHE_HOME=str(free / "cache"), TMPDIR=str(free))
    assert Path(found["folder"]).is_relative_to(free / "cache" / "lowlift")


def test_where_nothing_can_be_written_it_is_compiled_without_a_cache(frozen):
    code = f"import tempfile; tempfile.tempdir = {str(frozen)!r}\n{MERGE}"
    env = {"PYTHONPATH": str(frozen), "HOME": "/nonexistent"}
    found = run(code, env, "setpriv", *AS_NOBODY)
    assert found["folder"] is None
    assert found["nmi"] > 0


def test_a_folder_that_the_user_chose_but_cannot_write_is_passed_over(frozen):
    found = as_nobody(frozen, NUMBA_CACHE_DIR=str(frozen / "lowlift"))
    assert found["folder"] is None


@pytest.fixture
def candidates(monkeypatch, tmp_path):
    """No package folder, and only these folders to choose from."""
    folders = []
    monkeypatch.setattr(compilation, "_candidates", lambda: iter(folders))
    compilation.private_folder.cache_clear()
    yield folders
    compilation.private_folder.cache_clear()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o1777])
def test_a_folder_that_others_can_open_holds_no_code(candidates, tmp_path, mode):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    candidates.append(shared)
    assert compilation.private_folder() is None


def test_a_link_or_a_folder_of_another_user_holds_no_code(candidates, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(target)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, NOBODY, NOBODY)
    candidates += [tmp_path / "link", foreign]
    assert compilation.private_folder() is None


def test_a_folder_that_others_can_replace_holds_no_code(candidates, tmp_path):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    (above / "own").mkdir(mode=0o700)
    candidates.append(above / "own")
    assert compilation.private_folder() is None
    compilation.private_folder.cache_clear()
    above.chmod(0o1777)  # as /tmp is: only an owner may rename
    candidates.append(above / "own")
    assert compilation.private_folder().is_relative_to(above / "own")


def test_every_kernel_has_one_signature_whatever_the_criterion():
    joint = ll.Joint.random(4, 24, seed=0)
    for criterion in (
        ll.LIP(1),
        ll.ALIP(0.3, math.inf),
        ll.LDP(1),
        ll.L1Lift(math.inf, 0.2),
        ll.Chi2Lift(math.inf, 0.2),
        ll.AlphaLift(3, 0.4, 0.4),
    ):
        release = ll.random_response(joint, criterion, time_limit=3)
        assert ll.verify_certificate(joint, criterion, release.certificate)
        ll.optimal_merging(joint, criterion, time_limit=0.1)
        ll.watchdog(joint, criterion)
    for pairs in compilation._functions.values():
        for dispatcher, _ in pairs:
            if dispatcher is not None:
                assert len(dispatcher.signatures) == 1, dispatcher


def test_time_for_compiling_does_not_count(monkeypatch):
    """The time limit is over when compiling ends, unless its clock starts then."""
    modules = ("random_response", "column_generation", "blocks", "optimal_merging")
    for module in modules:
        path = f"lowlift.mechanisms.{module}.prepare"
        monkeypatch.setattr(path, lambda *_: waited.append(time.sleep(2)))
    monkeypatch.setattr("lowlift.certificates.prepare", lambda *_: None)
    compilation.prepare("merging", "search", "partitions")
    waited, states = [], []
    joint, criterion = ll.Joint.random(5, 17, seed=0), ll.ALIP.split(0.5, 0.5)
    release = ll.random_response(joint, criterion, time_limit=1.9, progress=states.append)
    assert waited
    assert release.certificate.gap <= 1e-6
    assert all(state.seconds < 1.9 for state in states)


def test_log_and_observer_hear_of_compiling_once(tmp_path):
    code = """
import json, logging
heard, logged = [], []
class Kept(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())
logging.getLogger("lowlift").addHandler(Kept())
logging.getLogger("lowlift").setLevel("INFO")
from lowlift.kernels.compilation import is_compiled, observe, prepare
with observe(lambda done, total: heard.append((done, total))):
    was = is_compiled("partitions")
    prepare("partitions")
    prepare("partitions")
print(json.dumps({"heard": heard, "logged": logged, "was": was}))
"""
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)}
    cold, warm = run(code, env), run(code, env)
    assert cold["heard"] == [[0, 2], [1, 2], [2, 2], [2, 2]]
    assert [text.split()[0] for text in cold["logged"]] == ["compiling", "compiled"]
    assert not cold["was"]
    assert warm == {"heard": [], "logged": [], "was": True}


@pytest.mark.second_lane
def test_from_an_empty_cache_the_first_call_is_as_good_as_the_second(tmp_path):
    """17 x 5 at 20 seconds, of which compiling once took more."""
    code = """
import json
import lowlift as ll
joint, criterion = ll.Joint.random(5, 17, seed=0), ll.ALIP.split(0.5, 0.5)
release = ll.random_response(joint, criterion, time_limit=20)
print(json.dumps({"nmi": release.audit.nmi, "gap": release.certificate.gap}))
"""
    found = run(code, {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)})
    assert found["gap"] <= 1e-6
    assert found["nmi"] == pytest.approx(0.76355, abs=1e-5)
