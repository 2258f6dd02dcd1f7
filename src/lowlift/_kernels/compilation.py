"""Compile the kernels once per machine: one signature each, kept in a folder nobody else can write.

`prepare` compiles what a mechanism needs, or loads what an earlier process compiled. Mechanisms
call it before they start to count time. Whoever wants to show progress calls `observe`.
"""

import hashlib
import importlib
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from lowlift._logs import LOG

#: Told how many functions are compiled, and how many there are.
Observer: TypeAlias = Callable[[int, int], object]
F = TypeVar("F", bound=Callable[..., Any])

#: The modules that each part of the library needs.
_MODULES = {
    "digests": ("digests",),
    "merging": ("merging",),
    "partitions": ("partitions",),
    "pairs": ("intervals",),
    "search": ("lp", "pricing", "underestimates", "branching", "branch_and_bound"),
}
#: How all of it is compiled: threads run it together, and a division by zero is inf or NaN.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
#: A folder for compiled code, inside a folder for caches.
_CACHE = "lowlift"

_lock = threading.RLock()
_ready: set[str] = set()
#: By module, its kernels and their signatures; None for each helper.
_functions: dict[str, list[tuple[Any, str]]] = {}
_observers: list[Observer] = []


def kernel(signature: str) -> Callable[[F], F]:
    """Declare a function that Python calls, with the types of its arguments.

    `prepare` compiles it. Arrays must be writable: a read-only one is another type to numba.
    """

    def declare(function: F) -> F:
        dispatcher = _cached(function)
        _functions.setdefault(function.__module__, []).append((dispatcher, f"({signature},)"))
        return cast("F", dispatcher)

    return declare


def helper(**options: Any) -> Callable[[F], F]:
    """Declare a function that only kernels call: it has no entry for Python, and no file."""

    def declare(function: F) -> F:
        numba: Any = importlib.import_module("numba")
        _functions.setdefault(function.__module__, []).append((None, ""))
        inside = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return cast("F", numba.njit(**_OPTIONS, **inside, **options)(function))

    return declare


def prepare(*parts: str) -> None:
    """Compile the kernels of some parts ("merging", "search"), or load them from the cache.

    In a process that has them it returns at once. A time limit starts after it.
    """
    if _ready.issuperset(parts):
        return
    with _lock:
        found = _declared(*parts)
        with _told(len(found)):
            for dispatcher, signature in found:
                if dispatcher is None or dispatcher.signatures:
                    continue
                # It is compiled even where its file cannot be written (a full disk).
                with suppress(OSError):
                    dispatcher.compile(signature)
                dispatcher.disable_compile()
        _ready.update(parts)


def _declared(*parts: str) -> list[tuple[Any, str]]:
    names = [f"lowlift._kernels.{name}" for part in parts for name in _MODULES[part]]
    for name in names:
        importlib.import_module(name)
    return [pair for name in names for pair in _functions[name]]


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Call the observer while kernels are compiled; not at all when they are in the cache."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


@contextmanager
def _told(total: int) -> Iterator[None]:
    """Tell log and observers about each of our functions that numba compiles."""
    from numba.core import event

    class Listener(event.Listener):
        done, start = -1, time.monotonic()

        def on_start(self, event: Any) -> None:
            if self.done < 0 and _is_ours(event):
                LOG.info("compiling for this machine, once")
                self.tell(0)

        def on_end(self, event: Any) -> None:
            if _is_ours(event):
                self.tell(min(self.done + 1, total))

        def tell(self, done: int) -> None:
            self.done = done
            for observer in tuple(_observers):
                observer(done, total)

    listener = Listener()
    with event.install_listener("numba:compile", listener):
        yield
    if listener.done >= 0:
        listener.tell(total)
        LOG.info("compiled in %.1f s", time.monotonic() - listener.start)


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("lowlift._kernels.")


# ---- where compiled code is kept


def _cached(function: Callable[..., Any]) -> Any:
    """Return the dispatcher, with a cache where a folder for it can be had."""
    numba: Any = importlib.import_module("numba")
    folder = _folder(numba.config.CACHE_DIR)
    if folder is None:
        return numba.njit(**_OPTIONS)(function)
    # The setting is read while the cache is made, and is put back for the user's own functions.
    with _lock:
        chosen, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(cache=True, **_OPTIONS)(function)
        except RuntimeError:
            return numba.njit(**_OPTIONS)(function)
        finally:
            numba.config.CACHE_DIR = chosen


def _folder(chosen: str) -> Path | None:
    """Return the folder for compiled code of this version of the kernels; None when there is none.

    One that the user chose, or the package's own: whoever can write that can change the package as
    well. Else a private one.
    """
    if chosen:
        return Path(chosen) / f"{_CACHE}-{_sources()}"
    if _is_package_writable():
        return Path(__file__).parent / "__pycache__" / _sources()
    return private_folder()


@cache
def _is_package_writable() -> bool:
    folder = Path(__file__).parent / "__pycache__"
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def private_folder() -> Path | None:
    """Return a folder for compiled code that no other user can write; None when there is none.

    Loading from the cache runs what is in it. So every folder on the way must belong to this user
    or to root, and only its owner may rename what is in it.
    """
    for candidate in _candidates():
        try:
            # A link on the way could lead elsewhere after it was checked.
            folder = candidate.parent.resolve() / candidate.name
            if not _are_trusted(folder.parents):
                continue
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            inner = folder / _sources()
            if _is_private(folder):
                inner.mkdir(mode=0o700, exist_ok=True)
                if _is_private(inner):
                    with tempfile.TemporaryFile(dir=inner):
                        return inner
        except OSError:
            continue
    return None


def _candidates() -> Iterator[Path]:
    if (home := os.environ.get("XDG_CACHE_HOME")) and Path(home).is_absolute():
        yield Path(home) / _CACHE
    with suppress(RuntimeError):  # no home
        yield Path.home() / ".cache" / _CACHE
    # gettempdir falls back to the working directory, which is no place for a cache.
    with suppress(OSError):
        folder = Path(tempfile.gettempdir())
        if hasattr(os, "geteuid") and folder != Path.cwd():
            yield folder / f"{_CACHE}-{os.geteuid()}"


def _is_private(folder: Path) -> bool:
    if not hasattr(os, "geteuid"):  # a user's profile on Windows is private
        return True
    here = folder.lstat()
    is_own = stat.S_ISDIR(here.st_mode) and here.st_uid == os.geteuid()
    return is_own and not here.st_mode & 0o077 and _are_trusted(folder.parents)


def _are_trusted(folders: Iterable[Path]) -> bool:
    """Tell whether no other user can replace what is in these folders, as far as they exist."""
    if not hasattr(os, "geteuid"):
        return True
    for folder in folders:
        with suppress(FileNotFoundError):
            its = folder.lstat()
            is_shared = its.st_mode & 0o022 and not its.st_mode & stat.S_ISVTX
            if its.st_uid not in (0, os.geteuid()) or is_shared or not stat.S_ISDIR(its.st_mode):
                return False
    return True


@cache
def _sources() -> str:
    """Return a name for this version of the kernels; numba looks at the caller's file only."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
