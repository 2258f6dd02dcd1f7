"""One job, done by us and by what a user would pick instead: same input, same run, turn by turn.

A round runs every rival once and then ours, so that a busy moment meets all of them.
pytest-benchmark times ours; rivals run in its `setup` and are timed there. Warm-ups are not
counted, and neither are imports: a contender imports before its function is called, or at its
first call, which is a warm-up.
"""

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: A round lasts at least this long, so that a clock's step and a call's cost do not show.
LEAST_SECONDS = 0.004
MOST_CALLS = 2000


class Unavailable(Exception):
    """A rival cannot run here; the table says so."""


@dataclass(frozen=True)
class Contender:
    """Someone who does the job.

    Parameters
    ----------
    who
        Package and function.
    run
        Does the job once and returns the result.
    objective
        Turns the result into the number that stands beside the time.
    settings
        What it was told, beyond defaults.
    note
        What else the result shows (a verdict, a proven bound), in words.
    seconds
        For a rival in a process of its own: its time by its own clock, out of the result.
    rounds
        At most so many; for a slow one.
    """

    who: str
    run: Callable[[], Any]
    objective: Callable[[Any], float] = float
    settings: str = ""
    note: Callable[[Any], str] = field(default=lambda _: "")
    seconds: Callable[[Any], float] | None = None
    rounds: int = 1000


@dataclass(frozen=True)
class Job:
    """What is done, and how to read the objective.

    Parameters
    ----------
    group, name, data
        Heading in the page, the job, the input with its sizes.
    bound
        The privacy bound that all meet; empty without.
    measure
        What the objective is.
    better
        "higher", "lower" or "same" (all must find one value).
    tolerance
        Objectives closer than this are equal.
    is_here
        Whether all work is done by this process and those that it started, whose CPU time is known.
    """

    group: str
    name: str
    data: str
    measure: str
    bound: str = ""
    better: str = "higher"
    tolerance: float = 1e-6
    is_here: bool = True


@dataclass
class Turns:
    """A contender's turns: calls of one turn, seconds of each."""

    contender: Contender
    objective: float
    note: str
    calls: int
    #: Of the warm-up.
    expected: float
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def take(self) -> None:
        """Take a turn, unless there were enough."""
        if len(self.seconds) < self.contender.rounds:
            clock = Processors()
            self.seconds.append(timed(self.contender, self.calls)[0])
            self.cpu.append(clock.seconds() / self.calls)

    def record(self) -> dict[str, Any]:
        """Return the turns for the results."""
        return {
            "who": self.contender.who,
            "settings": self.contender.settings,
            "objective": self.objective,
            "note": self.note,
            "calls": self.calls,
            "seconds": self.seconds,
            "cpu": self.cpu,
        }


class Processors:
    """The CPU time since it was made, of this process and of those that it started, ended or not.

    It tells more than the clock where other work runs on the machine. Linux counts the time of a
    process that has not ended in steps of 10 ms. What it takes to ask is not counted.
    """

    def __init__(self) -> None:
        self._others = _others()
        self._own = time.process_time()

    def seconds(self) -> float:
        """Return the time so far."""
        own = time.process_time() - self._own
        return own + _others() - self._others


def _others() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + _running("self")


def _running(process: str) -> float:
    """Return the CPU time of the processes below one; 0 where the system does not list them."""
    total = 0.0
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            for child in listed.read_text("ascii").split():
                # After the name in brackets: the 12th to 15th field are ticks of a hundredth.
                fields = Path(f"/proc/{child}/stat").read_text("utf-8").rpartition(")")[2].split()
                total += sum(map(int, fields[11:15])) / 100 + _running(child)
        except OSError:  # it ended
            continue
    return total


def timed(contender: Contender, calls: int) -> tuple[float, Any]:
    """Return the seconds of one call, as the mean over a turn, and the last result."""
    start = time.perf_counter()
    for _ in range(calls):
        result = contender.run()
    elapsed = (time.perf_counter() - start) / calls
    return (contender.seconds(result) if contender.seconds else elapsed), result


def warmed(contender: Contender) -> Turns:
    """Run a contender until it is warm, and learn how many calls make a turn."""
    seconds, result = timed(contender, 1)
    if seconds < 1:  # else the first call's own cost does not matter
        seconds, result = timed(contender, 1)
    calls = 1 if contender.seconds else max(1, min(MOST_CALLS, int(LEAST_SECONDS / seconds) + 1))
    value, note = float(contender.objective(result)), contender.note(result)
    return Turns(contender, value, note, calls, seconds)


def play(
    benchmark: Any, job: Job, ours: Contender, rivals: Sequence[Contender], rounds: int
) -> dict[str, Any]:
    """Run the contest and return its record; see `results` for the form."""
    absent, others = [], []
    for rival in rivals:
        try:
            others.append(warmed(rival))
        except (Unavailable, ImportError) as error:
            absent.append({"who": rival.who, "why": str(error)})
    own = warmed(ours)

    clocks: list[Processors] = []

    def between() -> None:
        # Ours is timed from outside: what its turn took is asked for when the next one begins.
        if clocks:
            own.cpu.append(clocks.pop().seconds() / own.calls)

    def rivals_first() -> None:
        between()
        for turns in others:
            turns.take()
        clocks.append(Processors())

    def turn() -> None:
        for _ in range(own.calls):
            ours.run()

    benchmark.pedantic(turn, setup=rivals_first, rounds=rounds)
    between()
    own.seconds = [seconds / own.calls for seconds in benchmark.stats.stats.data]
    record = {
        **{name: getattr(job, name) for name in Job.__dataclass_fields__},
        "ours": own.record(),
        "rivals": [turns.record() for turns in others],
        "absent": absent,
    }
    benchmark.extra_info["contest"] = record
    return record
