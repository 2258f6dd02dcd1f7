"""What tests need beyond Python, and what happens when it is not there."""

import os
import shutil
from pathlib import Path

import pytest

#: For a process that starts a Spark of its own: Java compiles as short jobs need it.
SHORT_JOBS = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def without(reason):
    """Skip for want of a server or a browser; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def chromium():
    """Return the path of the system's Chromium."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    return path or without("Chromium is not installed (Debian: apt-get install chromium)")


def node():
    """Return the path of Node."""
    path = shutil.which("node") or shutil.which("nodejs")
    return path or without("Node is not installed (Debian: apt-get install nodejs)")


def dbt():
    """Return the path of dbt, which has an environment of its own."""
    path = Path(__file__).resolve().parents[1] / "build" / "dbt" / "bin" / "dbt"
    return path if path.exists() else without("dbt is not installed (make build/dbt/done)")
