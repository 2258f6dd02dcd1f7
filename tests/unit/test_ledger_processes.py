"""Processes that write one ledger at the same time, and are killed, lose no entry."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lowlift._ledger import Ledger

#: Writes entries for ever, and says each id when it is written.
_WRITER = """
import sys
import time
sys.path.insert(0, {tests!r})
from ledger_entries import entry
from lowlift._ledger import Ledger
print("ready", flush=True)
sys.stdin.readline()
while True:
    one = entry()
    with Ledger({path!r}, patience=60) as ledger:
        print("begin", one.id, flush=True)
        ledger.add(one)
        print("added", one.id, flush=True)
        ledger.end(one, is_published=True)
        print("ended", one.id, flush=True)
    time.sleep(0.005)  # SQLite is not fair: let the other write too
"""


def started(path):
    code = _WRITER.format(tests=str(Path(__file__).parents[1]), path=str(path))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed_at_random(path, chance):
    """Let two processes write, kill both at random, and return what each said."""
    both = [started(path) for _ in range(2)]
    try:
        for process in both:
            assert process.stdout.readline() == "ready\n"
        for process in both:
            process.stdin.write("\n")
            process.stdin.flush()
        # Each has written something; the kill then falls anywhere.
        said = [[process.stdout.readline().split() for _ in range(3)] for process in both]
        time.sleep(chance.uniform(0.0, 0.3))
        for process in chance.sample(both, 2):
            process.send_signal(signal.SIGKILL)
    finally:
        for process in both:
            process.kill()
    for process, lines in zip(both, said, strict=True):
        rest = process.stdout.read()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        # The last line may be cut by the kill.
        lines += [line.split() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    return said


def lose_nothing(path, times):
    chance = random.Random(times)
    begun, added, ended = set(), set(), set()
    for _ in range(times):
        for lines in killed_at_random(path, chance):
            for word, name in lines:
                {"begin": begun, "added": added, "ended": ended}[word].add(name)
        with Ledger(path) as ledger:
            entries = {entry.id: entry for entry in ledger.entries()}
        assert added <= entries.keys() <= begun
        assert all(entries[name].state == "published" for name in ended)
    assert len(added) >= 2 * times


def test_two_writers_that_are_killed_lose_nothing(tmp_path):
    lose_nothing(tmp_path / "ledger.sqlite", 2)


@pytest.mark.second_lane
@pytest.mark.timeout(1800)
def test_two_writers_that_are_killed_fifty_times_lose_nothing(tmp_path):
    lose_nothing(tmp_path / "ledger.sqlite", 50)
