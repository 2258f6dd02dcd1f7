"""Compiling: once per machine, one signature each, before time counts, and never from elsewhere."""

import contextlib
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
from lowlift._kernels import compilation

PACKAGE = Path(ll.__file__).parent
NOBODY = 65534
#: Even root can make no folder there.
HOMELESS = "/proc/nobody"
#: Root ignores the modes of files unless it gives up this right.
AS_A_USER = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
AS_A_USER = AS_A_USER if os.geteuid() == 0 else []
#: Runs a kernel, and says where its code is kept and whether it was there.
CALL = """
import json
import numpy as np
import lowlift
from lowlift._kernels.compilation import prepare
prepare("partitions")
from lowlift._kernels.partitions import subset_sums
stats = subset_sums.stats
print(json.dumps({
    "sums": subset_sums(np.ones((1, 2))).tolist(),
    "package": lowlift.__file__,
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
def frozen(tmp_path):
    """A copy of the package that cannot be written, for a user without a home."""
    root = tmp_path / "package"
    shutil.copytree(PACKAGE, root / "lowlift", ignore=shutil.ignore_patterns("__pycache__"))
    folders = [path for path in (root, *root.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o555)
    yield root
    for folder in folders:
        folder.chmod(0o755)


@pytest.fixture
def free(tmp_path):
    """A folder that can be written."""
    folder = tmp_path / "free"
    folder.mkdir(mode=0o700)
    return folder


def as_a_user(frozen, **env):
    env = {"PYTHONPATH": str(frozen), "HOME": HOMELESS} | env
    found = run(CALL, env, *AS_A_USER)
    assert Path(found["package"]).is_relative_to(frozen)
    return found


def test_a_read_only_package_is_compiled_once_into_a_private_folder(frozen, free):
    first, second = (as_a_user(frozen, TMPDIR=str(free)) for _ in range(2))
    assert first["compiled"] == 1
    assert (second["compiled"], second["hits"]) == (0, 1)
    assert second["sums"] == first["sums"] == [[0.0, 1.0, 1.0, 2.0]]
    folder = free / f"lowlift-{os.geteuid()}"
    assert Path(first["folder"]).is_relative_to(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_for_caches_comes_before_the_temporary_folder(frozen, free):
    found = as_a_user(frozen, XDG_CACHE_HOME=str(free / "cache"), TMPDIR=str(free))
    assert Path(found["folder"]).is_relative_to(free / "cache" / "lowlift")


def test_where_nothing_can_be_written_it_is_compiled_without_a_cache(frozen):
    code = f"import tempfile; tempfile.tempdir = {str(frozen)!r}\n{CALL}"
    env = {"PYTHONPATH": str(frozen), "HOME": HOMELESS}
    found = run(code, env, *AS_A_USER)
    assert found["folder"] is None
    assert found["sums"] == [[0.0, 1.0, 1.0, 2.0]]


def test_a_folder_that_the_user_chose_but_cannot_write_is_passed_over(frozen):
    found = as_a_user(frozen, NUMBA_CACHE_DIR=str(frozen / "lowlift"))
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
    candidates.append(tmp_path / "link")
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir(mode=0o700)
        os.chown(foreign, NOBODY, NOBODY)
        candidates.append(foreign)
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


def test_a_link_on_the_way_is_followed_once(candidates, tmp_path):
    """Whoever made the link could let it lead elsewhere after the check."""
    (tmp_path / "caches").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "caches")
    candidates.append(tmp_path / "link" / "lowlift")
    found = compilation.private_folder()
    assert found.parent == (tmp_path / "caches" / "lowlift").resolve()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder away")
def test_nothing_is_left_in_the_home_of_another_user(candidates, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    os.chown(home, NOBODY, NOBODY)
    candidates.append(home / ".cache" / "lowlift")
    assert compilation.private_folder() is None
    assert list(home.iterdir()) == []


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
    waited = []

    def prepare(*_):
        if not waited:  # as the real one, which compiles once
            waited.append(time.sleep(2))

    monkeypatch.setattr("lowlift._solver.growing.prepare", prepare)
    compilation.prepare("merging", "search")
    joint, criterion = ll.Joint.random(5, 17, seed=0), ll.ALIP.split(0.5, 0.5)
    release = ll.random_response(joint, criterion, time_limit=1.9)
    assert waited
    assert release.certificate.gap <= 1e-6


def test_log_and_observer_hear_of_compiling_once(tmp_path):
    code = """
import json, logging
heard, logged = [], []
class Kept(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())
logging.getLogger("lowlift").addHandler(Kept())
logging.getLogger("lowlift").setLevel("INFO")
from lowlift._kernels.compilation import observe, prepare
with observe(lambda done, total: heard.append((done, total))):
    prepare("partitions")
    prepare("partitions")
print(json.dumps({"heard": heard, "logged": logged}))
"""
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)}
    cold, warm = run(code, env), run(code, env)
    assert cold["heard"] == [[0, 2], [1, 2], [2, 2], [2, 2]]
    assert [text.split()[0] for text in cold["logged"]] == ["compiling", "compiled"]
    assert warm == {"heard": [], "logged": []}


def read_all(terminal):
    """Return what is written to a terminal until its other end is closed."""
    parts = []
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    return b"".join(parts)


def test_the_command_line_says_so_on_a_terminal_and_nowhere_else(tmp_path):
    """A terminal of the kernel's own stands for standard error."""
    code = """
from lowlift._cli import compiling
from lowlift._kernels.compilation import prepare
with compiling.shown():
    prepare("partitions")
"""
    env = {
        "PATH": os.environ["PATH"],
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(PACKAGE.parent),
        "TERM": "xterm",
    }
    said = []
    for _ in range(2):
        ours, theirs = os.openpty()
        with subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=theirs
        ) as process:
            os.close(theirs)
            said.append(read_all(ours).decode())
            assert process.communicate(timeout=60)[0] == b""
        os.close(ours)
    assert "Compiling for this machine" in said[0]
    assert "━" in said[0]
    assert said[1] == ""
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    silent = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert (silent.stdout, silent.stderr) == (b"", b"")


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
