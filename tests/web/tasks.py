"""What the tests of jobs let jobs do; imported by their processes."""

import os
import time

from lowlift.errors import InvalidInput


def add(one, other, tell):
    """Return a sum."""
    tell(("adding",))
    return one + other


def own_process(tell):
    """Return the number of the process."""
    return os.getpid()


def refuse(tell):
    """Refuse the input."""
    raise InvalidInput("the number must be even. Use another one.")


def break_down(text, tell):
    """Fail with a text that may hold data."""
    raise KeyError(text)


def run_out(tell):
    """Fail for want of memory."""
    raise MemoryError


def lose_file(path, tell):
    """Fail to read a file."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (plain on purpose)
        return file.read()


def work_until_stopped(tell):
    """Count steps until it is asked to stop, and return the best so far."""
    done = 0
    while tell((done, 0.0, 1.0, 0.0)):
        done += 1
        time.sleep(0.01)
    return done


def sleep_long(tell):
    """Say who it is, and never end."""
    tell((os.getpid(),))
    time.sleep(600)


def answer_and_talk(steps, tell):
    """Tell a stage and an answer, then progress."""
    tell("reading")
    tell({"first": "answer"})
    talk(steps, tell)


def talk(n, tell):
    """Take many steps."""
    for step in range(n):
        tell((step,))
    return n


def unpicklable(tell):
    """Return what cannot be sent."""
    return lambda: None
