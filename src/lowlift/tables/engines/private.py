"""Private folders for temporary data: removed on close, and after a crash by the next process."""

import atexit
import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import IO

_PREFIX = "lowlift-"


class PrivateFolder:
    """A folder that only this user can enter.

    A killed process cannot remove its folder, which may hold rows of the table. It is recognised
    by its lock, which died with the process, and removed when the next one is made.
    """

    def __init__(self, parent: str | None = None) -> None:
        parent = parent or tempfile.gettempdir()
        _remove_abandoned(parent)
        self.path = Path(parent).resolve() / f"{_PREFIX}{secrets.token_hex(16)}"
        self._process = os.getpid()
        self._lock: IO[str] | None = None
        # Before there is a folder: a signal may stop us anywhere, even before our caller knows it.
        atexit.register(self.close)
        self.path.mkdir(mode=0o700)
        # Locked before it has its name: nobody ever finds a lock that is not held.
        early = self.path / "locking"
        self._lock = early.open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        early.rename(self.path / "lock")

    def close(self) -> None:
        """Remove the folder and all it holds."""
        if self._process == os.getpid():  # a forked process ends with the folders of its parent
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
        atexit.unregister(self.close)


def _remove_abandoned(parent: str) -> None:
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with (folder / "lock").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
