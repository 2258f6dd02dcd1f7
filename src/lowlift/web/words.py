"""Names of choices, and errors as the pages and the log may show them."""

import traceback
from collections.abc import Mapping
from pathlib import Path

from lowlift.errors import LowliftError

#: What to do about an error, by the keys of `lowlift.errors.ADVICE`.
ADVICE: Mapping[str, str] = {
    "bins": "Write them under its name, such as {example}; other forms: {forms}.",
    "cells": "Or publish rows by the command line: lowlift sanitize --cells auto.",
    "design": "Design one on a table first.",
    "first": "Refine by the command line.",
    "held": "Refine what was published by the command line (lowlift refine), or leave it at that; "
    "what was never handed out: lowlift ledger withdraw.",
    "https": "Start the web app with both a certificate and its key.",
    "key": "Make a new one.",
    "missing": "Take missing values as values of their own, or remove them.",
    "overwrite": "Try again.",
    "remote": "Start the web app with a password, a certificate and its key.",
    "unaudited": "Publish by the command line, which can be told where the earlier releases are.",
    "unchecked": "Choose a table that has them.",
    "uncovered": "Publish those columns in the same release, or leave them out.",
}
#: What can be bounded instead of the limit, by the names of addresses; the name ends at the colon.
CRITERIA: Mapping[str, str] = {
    "lip": "LIP: gains and losses, one budget (δ-disclosure)",
    "alip": "ALIP: gains and losses of belief apart",
    "ldp": "LDP: telling two values apart",
    "max-lift": "Max-lift: gains of belief alone (PML, β-likeness)",
    "l1": "ℓ1-lift: mean change (t-closeness)",
    "chi2": "χ²-lift: the mean square change",
    "alpha": "α-lift: from the mean to the largest",
    "every-prior": "Every prior: readers with other beliefs before",
}
#: How rows and values are changed, likewise.
MECHANISMS: Mapping[str, str] = {
    "auto": "Automatic: the best for the size",
    "watchdog": "Watchdog: merge all risky values",
    "subset-merging": "Subset merging: coarser, and true (fast)",
    "optimal-merging": "Optimal merging: coarser, and true",
    "random-response": "Optimal random response: a search",
    "subset-random-response": "Subset random response",
    "least-distortion": "Least distortion: near values",
}


def name_of(choice: str) -> str:
    """Return the name of a choice without what it is explained by.

    Examples
    --------
    >>> name_of(CRITERIA["l1"]), name_of(MECHANISMS["subset-random-response"])
    ('ℓ1-lift', 'Subset random response')
    """
    return choice.partition(":")[0]


def message_of(error: BaseException) -> str:
    """Return the text of an error for a page, with the advice that fits the page."""
    return error.said(ADVICE) if isinstance(error, LowliftError) else str(error)


def redacted(error: BaseException) -> str:
    """Return the kind of an error and the line that raised it; its text may hold data.

    Examples
    --------
    >>> redacted(KeyError("a secret"))
    'KeyError'
    """
    frames = traceback.extract_tb(error.__traceback__)
    kind = type(error).__name__
    return f"{kind} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else kind
