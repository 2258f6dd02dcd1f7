"""What a time depends on: processor, memory, system, versions and how busy the machine was."""

import datetime as dt
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages whose version is stated: ours, what we stand on, the rivals.
PACKAGES = (
    *("lowlift", "numpy", "scipy", "numba", "highspy", "duckdb", "pandas"),
    *("pycanon", "qif", "dit", "pycddlib-standalone", "pplpy", "opendp", "multi-freq-ldpy"),
    *("pytest-benchmark",),
)


def processor() -> str:
    """Return the processor's model as the system names it."""
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def system() -> str:
    """Return the name of the operating system, without the machine's own."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def memory() -> float:
    """Return the memory in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def facts() -> dict[str, object]:
    """Return the machine's record for the results: no host name, no path."""
    return {
        "processor": processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory(), 1),
        "system": system(),
        "python": platform.python_version(),
    }


def load() -> list[float]:
    """Return the mean number of runnable processes over 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def today() -> str:
    """Return the date in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def versions() -> dict[str, str]:
    """Return the versions of what is installed here."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def rival_versions(python: Path) -> dict[str, str]:
    """Return the versions in the rivals' own environment; empty without it."""
    if not python.exists():
        return {}
    code = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({f'{n} (own environment)': m.version(n) for n in ('anjana', 'pycanon')}))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))
