"""What checker/check.py says of a release, beside what the library's exact audit says of it."""

import functools
import hashlib
import importlib.util
import json
import runpy
import sys
import warnings
from pathlib import Path

import lowlift as ll
from lowlift.criteria import criterion_on, from_dict
from lowlift.errors import LowliftError, LowliftWarning
from lowlift.tables.layouts import Layout

CHECK = Path(__file__).parents[2] / "checker" / "check.py"


@functools.cache
def checker():
    """Return the checker as a module."""
    spec = importlib.util.spec_from_file_location("check", CHECK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["check"] = module  # as utility.py imports it
    return module


def half_spaces(release):
    """Return the half-spaces by which the checker proves a bound on the distance."""
    found = runpy.run_path(checker().UTILITY)["half_spaces"]
    return found(release, release.saved["certificate"]["tangents"])


def is_accepted(saved):
    """Return the checker's verdict on what a release's file holds; None: undecided."""
    try:
        checker().Release(saved).check_release(None)
    except checker().Refused:
        return False
    except Exception:  # noqa: BLE001 (as the program: what it does not know is undecided)
        return None
    return True


def is_allowed(saved):
    """Judge by the library's exact audit; what it refuses to read is not allowed."""
    stored, part = saved["joint"], saved["channel"]
    make, key = (ll.Joint.from_counts, "counts") if "counts" in stored else (ll.Joint, "p_sx")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowliftWarning)
            joint = make(stored[key], stored["s_labels"], stored["x_labels"])
        channel = ll.Channel.from_atoms(joint, part["atoms"], part["denominator"], part["y_labels"])
        if "draws" in saved:
            Layout.from_dict(saved["draws"]).check(channel)
        bound = criterion_on(from_dict(saved["criterion"]), joint)
        return ll.audit(joint, channel, bound).is_satisfied
    except LowliftError:
        return False


def _is_decidable(saved):
    """Tell whether the bound is one for the table, and the channel the one that is published."""
    table = saved["table"] or {}
    is_another = saved["version"] == 1 and table.get("encoding") == "values"
    return not (is_another or table.get("pilot") or "criterion" in saved["criterion"])


_JUDGED = set()


def disagreement(text, *, is_whole=True):
    """Return how the checker and the audit disagree on the text of a release's file; else None.

    A text is judged once. With `is_whole` False it may be a file that a test damaged, which the
    checker may refuse for more than the bound.
    """
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    if digest in _JUDGED:
        return None
    _JUDGED.add(digest)
    try:
        saved = json.loads(text)
        accepted = is_accepted(saved)
        # A file that says itself that the bound fails is refused, whatever its channel.
        is_compared = is_whole and saved["audit"]["is_satisfied"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None  # a test's damaged file
    if accepted is None and is_compared and _is_decidable(saved):
        return "check.py does not decide a release"
    if accepted is None or not (accepted or is_compared):
        return None
    allowed = is_allowed(saved)
    words = {True: "accepts", False: "refuses"}
    return None if accepted == allowed else f"check.py {words[accepted]} a release; the audit not"
