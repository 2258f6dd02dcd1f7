"""Errors of the app reach standard error, although the library's own logger is silent."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("before", ["", "logging.basicConfig()\n"])
def test_an_error_is_shown_once(before):
    code = (
        f"import logging, lowlift\n{before}"
        "from lowlift.web import guard, server\n"
        "server._show_errors()\n"
        "guard._LOG.error('KeyError at guard.py')\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stderr.count("KeyError at guard.py") == 1
