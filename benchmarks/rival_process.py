"""Talks to `rival_server.py`, which runs in the rivals' own virtual environment."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from contest import Unavailable

SERVER = Path(__file__).parent / "rival_server.py"


class RivalProcess:
    """A process that answers one JSON line for one JSON line.

    Parameters
    ----------
    python
        The interpreter of the rivals' environment, made by ``scripts/apart``; None for none.
    """

    def __init__(self, python: Path | None) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None

    def ask(self, job: str, **arguments: object) -> dict[str, Any]:
        """Return the answer; raise `Unavailable` without the environment.

        Raises
        ------
        RuntimeError
            When the rival fails.
        """
        if self.python is None or not self.python.exists():
            raise Unavailable("build/rivals has not been made")
        if self._process is None:
            self._process = subprocess.Popen(
                [self.python, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        asked, answers = self._process.stdin, self._process.stdout
        if asked is None or answers is None:
            raise RuntimeError("the rivals' process has no pipes.")
        asked.write(json.dumps({"job": job, **arguments}) + "\n")
        asked.flush()
        answer = json.loads(answers.readline() or '{"error": "the process ended"}')
        if "error" in answer:
            raise RuntimeError(f"{job} failed in the rivals' process: {answer['error']}.")
        return dict(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(timeout=60)
