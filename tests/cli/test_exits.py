"""Exit codes, each from a real process: 0, 1, 2, 70, 130, 141, 143."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needs import SHORT_JOBS
from people import names, write_people

ENVIRONMENT = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
S_X = ("-s", "disease", "-x", "ward")


def command(*arguments):
    return [sys.executable, "-m", "lowlift", *map(str, arguments)]


def run(*arguments, cwd, environment=ENVIRONMENT):
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env=environment,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    write_people(tmp_path / "people.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--version",), 0),
        (("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", 5), 0),
        (("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", 0.1), 1),
        (("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", -1), 2),
        (("audit", "absent.csv", *S_X, "--criterion", "lip", "--epsilon", 1), 2),
        (("audit", "people.csv", "--no-such-option"), 2),
        (("no-such-command",), 2),
    ],
)
def test_fine_bound_input(folder, arguments, code):
    found = run(*arguments, cwd=folder)
    assert found.returncode == code, found.stderr
    assert "Traceback" not in found.stdout + found.stderr


#: Breaks a part of lowlift in the process that runs, as a defect of ours would.
BROKEN = """
import sys
import lowlift.workflow as workflow
def audit_table(*_, **__):
    raise KeyError("a data value")
workflow.audit_table = audit_table
from lowlift._cli import main
sys.argv[0] = "lowlift"
main()
"""


@pytest.mark.parametrize("debug", ["", "1"])
def test_our_own_fault_exits_70_and_asks_for_a_report_without_data(folder, debug):
    arguments = ("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", "1")
    found = subprocess.run(
        [sys.executable, "-c", BROKEN, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=ENVIRONMENT | {"LOWLIFT_DEBUG": debug},
        check=False,
    )
    assert (found.returncode, found.stdout) == (70, "")
    line, _, rest = found.stderr.partition("\n")
    assert line.startswith("lowlift: an error in lowlift itself: KeyError at lowlift._cli.tables:")
    assert "Please report this line" in line
    assert "data value" not in line
    assert ("Traceback" in rest) == bool(debug)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", "0.1"),
        ("audit", "people.csv", *S_X, "--criterion", "lip", "--epsilon", "0.1", "--json"),
    ],
)
def test_a_reader_that_leaves_is_141(folder, arguments):
    ours, theirs = os.pipe()
    os.close(ours)  # nobody reads
    with subprocess.Popen(
        command(*arguments), stdout=theirs, stderr=subprocess.PIPE, cwd=folder, env=ENVIRONMENT
    ) as running:
        os.close(theirs)
        _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (141, b"")


#: Sends itself a signal while long work runs in a library.
AT_WORK = """
import os, signal, sys, threading
from lowlift._cli.exits import run

def signal_soon():
    number = getattr(signal, sys.argv[2])
    threading.Timer(0.5, lambda: os.kill(os.getpid(), number)).start()

def in_duckdb():
    from lowlift.tables.engines.sandbox import Sandbox
    sandbox = Sandbox([], "t")
    signal_soon()
    sandbox.run("SELECT sum(sin(range)) FROM range(1000000000000)")

def in_spark():
    from lowlift.tables.engines.spark_sessions import session_of
    from lowlift.tables.sources import SparkTable
    session, _ = session_of(SparkTable("t", "table", "t"))
    session.sparkContext.setLogLevel("OFF")
    session.range(1).collect()
    signal_soon()
    session.range(10**14).selectExpr("sum(sin(id))").collect()

def in_kernels():
    import lowlift as ll
    ll.random_response(ll.Joint.random(3, 6, seed=0), ll.LIP(0.1))
    signal_soon()
    for _ in range(10000):
        ll.random_response(ll.Joint.random(5, 17, seed=0), ll.LIP(0.1))

def work():
    try:
        globals()[sys.argv[1]]()
    finally:
        print("cleaned up")
sys.exit(run(work))
"""


@pytest.mark.parametrize(
    ("where", "name", "code"),
    [
        ("in_duckdb", "SIGINT", 130),
        ("in_duckdb", "SIGTERM", 143),
        ("in_duckdb", "SIGHUP", 129),
        ("in_kernels", "SIGINT", 130),
        pytest.param("in_spark", "SIGINT", 130, marks=pytest.mark.second_lane),
        pytest.param("in_spark", "SIGTERM", 143, marks=pytest.mark.second_lane),
    ],
)
def test_a_signal_during_long_work_ends_it_and_cleans_up(where, name, code, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", AT_WORK, where, name],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env=os.environ | SHORT_JOBS,
        check=False,
    )
    # Both are 130 in a shell; Python ends by the signal when it came within exec("...").
    assert found.returncode in {code, 128 - code}, found.stderr
    assert "Traceback" not in found.stderr
    word = "interrupted" if name == "SIGINT" else "terminated"
    assert f"lowlift: {word}.\n" in found.stderr
    assert found.stdout == "cleaned up\n"


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_a_command_that_is_stopped_while_it_writes_leaves_no_half_file(tmp_path, sent, code):
    """It is stopped as soon as the file under its temporary name is there."""
    size = 1_500_000
    rng = np.random.default_rng(0)
    columns = {
        "s": pa.array(["a", "b"]).take(pa.array(rng.integers(0, 2, size))),
        "x": pa.array(["u", "v", "w"]).take(pa.array(rng.integers(0, 3, size))),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    bound = ("--criterion", "lip", "--epsilon", 0.4)
    with subprocess.Popen(
        command("sanitize", "t.parquet", "-s", "s", "-x", "x", *bound, "-o", "safe.csv"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT | {"TMPDIR": str(scratch)},
        start_new_session=True,
    ) as running:
        deadline = time.monotonic() + 60
        while running.poll() is None and time.monotonic() < deadline:
            if any(path.suffix == ".part" for path in tmp_path.iterdir()):
                break
            time.sleep(0.002)
        running.send_signal(sent)
        _, err = running.communicate(timeout=30)
    assert running.returncode == code
    assert "Traceback" not in err
    seen = [name for name in names(tmp_path) if not name.startswith(".")]
    assert seen == ["scratch", "t.parquet"]
    # What is private stays private.
    assert all(path.stat().st_mode & 0o077 == 0 for path in scratch.iterdir())
    if sent != signal.SIGKILL:
        assert (names(tmp_path), names(scratch)) == (["scratch", "t.parquet"], [])


def test_a_signal_that_the_parent_ignores_stays_ignored():
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from lowlift._cli.exits import run\n"
        "sys.exit(run(lambda: os.kill(os.getpid(), signal.SIGHUP)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
