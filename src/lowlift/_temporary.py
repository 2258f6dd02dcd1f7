"""Temporary names of outputs, and the removal of those that a killed process left."""

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
from functools import cache
from pathlib import Path

#: The machine, the process, when it started, and chance; DuckDB and SQLite add suffixes of logs.
_FILE = re.compile(r"\..+\.([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{12}\.part(\.wal[a-z.]*|-journal)?")
_TABLE = re.compile(r"lowlift_([0-9a-f]{8})_(\d+)_(\d+)_[0-9a-f]{12}")


def temporary_beside(path: Path) -> Path:
    """Return a hidden name in the same folder, so that renaming is atomic.

    What processes that are dead left in that folder under such names is removed.
    """
    remove_abandoned(path.parent)
    return path.with_name(f".{path.name}.{'-'.join(_mine())}.part")


def temporary_table() -> str:
    """Return a name for a table that gets another one when it is whole."""
    return f"lowlift_{'_'.join(_mine())}"


def _mine() -> tuple[str, str, str, str]:
    process = os.getpid()
    return _machine(), str(process), str(_start(process)), secrets.token_hex(6)


def this_process() -> str:
    """Return a text that tells this process from all others, on any machine."""
    return "-".join(_mine()[:3])


def is_dead(name: str) -> bool:
    """Tell whether `this_process` of a process of this machine named one that has ended.

    False for a process of another machine, of which nothing is known.
    """
    machine, process, start = name.split("-")
    return machine == _machine() and not _is_alive(int(process), int(start))


def is_abandoned(name: str) -> bool:
    """Tell whether this is a temporary name that a dead process of this machine gave."""
    match = _FILE.fullmatch(name) or _TABLE.fullmatch(name)
    if match is None or match[1] != _machine():
        return False
    return not _is_alive(int(match[2]), int(match[3]))


def remove_abandoned(folder: Path) -> None:
    """Remove this user's temporary files and folders of dead processes of this machine."""
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            if not is_abandoned(entry.name):
                continue
            with contextlib.suppress(OSError):
                found = entry.lstat()
                if found.st_uid != os.geteuid():
                    continue
                if stat.S_ISREG(found.st_mode):
                    entry.unlink()
                elif stat.S_ISDIR(found.st_mode):
                    shutil.rmtree(entry)


@cache
def _machine() -> str:
    """Return what tells process numbers of this machine, or container, from those of others."""
    parts = [platform.node()]
    for place in ("/etc/machine-id", "/proc/self/ns/pid"):
        with contextlib.suppress(OSError):
            found = Path(place)
            parts.append(str(found.readlink()) if found.is_symlink() else found.read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _start(process: int) -> int:
    """Return when a process started, in ticks since boot; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="latin-1")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _is_alive(process: int, start: int) -> bool:
    """Tell whether the process that started then still runs; its number may be another's now."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's: it runs
    now = _start(process)
    return 0 in (now, start) or now == start
