"""Spark's sessions: whose they are, where they keep what they need for a time, and their errors."""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from lowlift.errors import InvalidInput
from lowlift.tables.engines.private import PrivateFolder
from lowlift.tables.sources import Frame, SparkTable

#: A session of our own listens to nobody else and logs no values.
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
#: Set where somebody else has configured Spark: by spark-submit, a cluster or a server.
_CONFIGURED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONF_DIR", "MASTER")


@contextmanager
def refusing(about: str) -> Iterator[None]:
    """Turn Spark's errors into one line, and keep PySpark from logging them: they quote values."""
    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    fault = None
    try:
        yield
    except PySparkException as error:
        fault = said(error.getCondition() or type(error).__name__, about)
    except Py4JError as error:
        condition = re.search(r"\[([A-Z_]+)(\.[A-Z_.]+)?\]", str(error))
        fault = said(condition[1] if condition else type(error).__name__, about)
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
    if fault is not None:
        raise InvalidInput(fault)


def said(condition: str, about: str) -> str:
    """Return what may be told of an error: its condition, by Spark's name."""
    if "MALFORMED" in condition or "FAILED_READ_FILE" in condition:
        return f"{about} must be well-formed; Spark found a record that is not."
    if condition in {"PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND"}:
        return f"the table must exist; Spark does not find {about}."
    if condition == "LOCATION_ALREADY_EXISTS":
        return (
            f"{about} must have a free place in Spark's warehouse; a folder of its name is there, "
            "of a table that the catalog does not know. Remove the folder, or choose another name."
        )
    return f"{about} could not be read or written by Spark ({condition})."


@contextmanager
def _handler_kept() -> Iterator[None]:
    """Keep the handler of Ctrl+C, which PySpark replaces by one that fails inside a job."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def session_of(source: SparkTable | Frame) -> tuple[SparkSession, bool]:
    """Return the frame's session, the active one, or a new one that is ours to stop."""
    if isinstance(source, Frame):
        return source.value.sparkSession, False
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    builder = SparkSession.builder.appName("lowlift")
    if any(name in os.environ for name in _CONFIGURED):
        with refusing(source.description), _handler_kept():
            return builder.getOrCreate(), True
    builder = builder.master("local[*]")
    # Spark's 200 are for clusters: on one machine each costs more than it saves.
    partitions = {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}
    for key, value in (_LOCAL | partitions).items():
        builder = builder.config(key, value)
    folder = str(_temporary_folder())
    # The variables win over the settings. Python's workers must run the Python that starts them.
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    with (
        refusing(source.description),
        _handler_kept(),
        _environment(SPARK_LOCAL_DIRS=folder, PYSPARK_PYTHON=python),
    ):
        return builder.config("spark.local.dir", folder).getOrCreate(), True


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set environment variables for a time."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@cache
def _temporary_folder() -> Path:
    """Return the folder for all that Spark writes for a time, which only this user can enter.

    One per process: Java keeps the first one that it was given, and would make it anew, readable
    by everybody, for a second session.
    """
    return PrivateFolder(local_folder()).path


def local_folder() -> str | None:
    """Return the folder that Spark is told to use for a time; None where it is told none."""
    given = [part for part in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if part.strip()]
    return given[0].strip() if given else None
