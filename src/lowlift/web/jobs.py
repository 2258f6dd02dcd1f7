"""Jobs: each runs in a process of its own, reports progress, and can be stopped.

Each job is one process, forked from a server that has everything loaded (`preload`).
It sends progress and one outcome; it ends when asked to, and when whoever started it is gone.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import secrets
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from itertools import compress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from lowlift.errors import LowliftError
from lowlift.web.words import message_of, redacted

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["lowlift.web.preload"])
#: Seconds that a process gets to end by itself.
_PATIENCE = 0.5
#: Seconds before the fork server is asked again.
_PAUSES = (0.05, 0.3, 1.0)
#: Seconds that a failure is shown before the work is tried again.
_SHOWN = 10.0
#: What a page says of work that was ended, by its state.
_ENDED = {
    "cancelled": "this work was cancelled.",
    "abandoned": "this work was ended, as no page waited for it. Start it again.",
}
#: Progress kept for the chart of a search.
_MOST_STEPS = 400


#: Given to a job's function as its last argument: takes a step of progress, and returns False once
#: the job is asked to stop and give the best it has.
Tell: TypeAlias = Callable[[Any], bool]


class Job:
    """One piece of work and where it stands.

    The process calls `function`, of a module, with the pickled `arguments` and a `Tell`. Its
    temporary files go into a folder of their own under `folder`, which is removed when it ends.
    """

    def __init__(
        self, function: Callable[..., Any], *arguments: Any, folder: Path | None = None
    ) -> None:
        self.id = secrets.token_urlsafe(12)
        #: "running", then "done", "refused" (see `error`), "failed", "cancelled" by a user, or
        #: "abandoned": no page listened.
        self.state = "running"
        self.steps: list[Any] = []
        self.result: Any = None
        self.error = ""
        self.started = time.monotonic()
        self.ended = self.last_seen = self.started
        self.listeners = 0
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._folder = tempfile.mkdtemp(prefix="job-", dir=folder)
        self._work: tuple[Any, ...] = (function, arguments, self._folder)
        self._pipe, self._process = self._prepared()
        # Starting waits for the fork server, which loads modules first.
        threading.Thread(target=self._run, daemon=True).start()

    def _prepared(self) -> tuple[Connection, Any]:
        """Return our end of a pipe, and a process with the other."""
        ours, theirs = _context.Pipe()
        process = _context.Process(target=_work, args=(*self._work, theirs), daemon=True)
        return ours, process

    @property
    def is_running(self) -> bool:
        """Whether there is no outcome yet."""
        return self.state == "running"

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether asking again starts it anew; a failure is shown for a while first."""
        is_over = time.monotonic() - self.ended > _SHOWN
        return self.state in {"cancelled", "abandoned"} or (self.state == "failed" and is_over)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    async def wait(self, seconds: float, is_enough: Callable[[], bool] = lambda: False) -> bool:
        """Wait for the outcome, so long or until `is_enough`; return whether there is one."""
        end = time.monotonic() + seconds
        self.listeners += 1
        try:
            while self.is_running and not is_enough() and (left := end - time.monotonic()) > 0:
                await self.change(left)
        finally:
            self.listeners -= 1
            self.last_seen = time.monotonic()
        return not self.is_running

    async def change(self, seconds: float) -> None:
        """Wait for progress or the outcome, at most so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    def stop(self) -> None:
        """Ask the function to end with the best result so far."""
        with contextlib.suppress(OSError, ValueError):
            self._pipe.send("stop")

    def cancel(self, state: str = "cancelled") -> None:
        """End the process; there is no result."""
        if self.is_running:
            self._settle(state, None, _ENDED[state])
        if self._process.pid is not None:
            self._process.terminate()

    def _run(self) -> None:
        """Start the process and pass on what it says, in a thread."""
        try:
            self._start()
            if not self.is_running:  # cancelled before it had begun
                self._process.terminate()
            while True:
                kind, content = self._pipe.recv()
                self._later(self._step if kind == "step" else self._finish, kind, content)
                if kind != "step":
                    break
        except (EOFError, OSError, TypeError, ValueError):
            words = "the work ended early, perhaps for want of memory."
            self._later(self._finish, "failed", words)
        if self._process.pid is not None:
            self._process.join(_PATIENCE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        """Start the process; again if the fork server has died, which starts that anew."""
        for pause in _PAUSES:
            try:
                self._process.start()
            except (EOFError, OSError):
                time.sleep(pause)  # a dying server is not seen to be dead at once
                self._pipe, self._process = self._prepared()
            else:
                break
        else:
            self._process.start()
        self._work = ()  # the process has it

    def _later(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _step(self, _: str, step: Any) -> None:
        if len(self.steps) >= _MOST_STEPS:  # thinned; a step of another kind (an answer) is kept
            kept = (i % 2 == 0 or not isinstance(old, tuple) for i, old in enumerate(self.steps))
            self.steps = list(compress(self.steps, kept))
        self.steps.append(step)
        self._wake()

    def _finish(self, kind: str, content: Any) -> None:
        if self.is_running:
            is_done = kind == "done"
            self._settle(kind, content if is_done else None, "" if is_done else str(content))

    def _settle(self, state: str, result: Any, error: str) -> None:
        self.state, self.result, self.error = state, result, error
        self.ended = time.monotonic()
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def prepare() -> None:
    """Start the server that jobs are forked from; it goes on loading meanwhile."""
    from multiprocessing import forkserver

    forkserver.ensure_running()


def _work(
    function: Callable[..., Any], arguments: tuple[Any, ...], folder: str, pipe: Connection
) -> None:
    """Run the function of a job in its process and send the outcome."""
    # Collecting what was loaded before the fork would find nothing, and copy all its pages.
    gc.freeze()
    tempfile.tempdir = folder
    os.umask(0o077)
    os.nice(5)  # pages come first
    warnings.simplefilter("ignore")  # their text may hold data
    stopped = threading.Event()
    threading.Thread(target=_listen, args=(pipe, stopped), daemon=True).start()

    def tell(step: Any) -> bool:
        pipe.send(("step", step))
        return not stopped.is_set()

    try:
        outcome = ("done", function(*arguments, tell))
    except LowliftError as error:
        outcome = ("refused", message_of(error))
    except MemoryError:
        outcome = ("refused", "this needs more memory than there is. Use fewer columns or rows.")
    except OSError as error:
        outcome = ("refused", f"a file could not be read or written: {error.strerror}.")
    except Exception as error:  # noqa: BLE001 (its text may hold data: the kind alone is told)
        outcome = ("failed", f"this went wrong on our side: {redacted(error)}.")
    with contextlib.suppress(OSError):
        pipe.send(outcome)


def _listen(pipe: Connection, stopped: threading.Event) -> None:
    """Wait for "stop"; end the process when the other side is gone."""
    try:
        while pipe.recv() == "stop":
            stopped.set()
    except (EOFError, OSError):
        os._exit(1)
