"""Names of choices, and errors as the pages and the log may show them."""

import re
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
    "subkey": "Export it by the command line.",
    "unaudited": "Publish by the command line, which can be told where the earlier releases are.",
    "unchecked": "Choose a table that has them.",
    "uncovered": "Publish those columns in the same release, or leave them out.",
}
#: What the fields of one value each are called on the page.
FIELDS: Mapping[str, str] = {
    "limit": "Limit",
    "audience": "Who the rows are",
    "criterion": "Criterion",
    "epsilon": "Budget in nats",
    "split": "Lambda",
    "alpha": "Order",
    "at_least": "Least belief before",
    "confidence": "Confidence",
    "mechanism": "Mechanism",
    "encoding": "How it is written",
    "cells": "Kinds of rows",
    "seconds": "Seconds for a search",
    "missing": "Missing values",
}
#: What can be bounded instead of the limit, by the names of addresses; the name ends at the colon.
#: Short enough for the width of a field.
CRITERIA: Mapping[str, str] = {
    "lip": "LIP: gains and losses, one budget",
    "alip": "ALIP: gains and losses apart",
    "ldp": "LDP: telling two values apart",
    "max-lift": "Max-lift: gains alone",
    "l1": "ℓ1-lift: mean change",
    "chi2": "χ²-lift: mean square change",
    "alpha": "α-lift: from mean to largest",
    "every-prior": "Every prior: other beliefs before",
}
#: How rows and values are changed, likewise.
MECHANISMS: Mapping[str, str] = {
    "auto": "Automatic: the best for the size",
    "watchdog": "Watchdog: merge all risky values",
    "subset-merging": "Subset merging: coarser, fast",
    "optimal-merging": "Optimal merging: coarser, best",
    "random-response": "Optimal random response: best",
    "subset-random-response": "Subset random response: fast",
    "least-distortion": "Least distortion: near values",
}
#: How an answer is shown that holds and is useful, not in green, as columns identify people; its
#: title; and what warns of them.
NAMES, NAMES_TITLE = "names", "Holds, but can identify people"
#: The same where rows are published, and a column among them tells what is protected.
TELLS, TELLS_TITLE = "tells", "Holds, but a column gives it away"
#: The same where something was consented to on the step Publish that speaks against the table.
WARNED, WARNED_TITLE = "warned", "Holds, but you were warned"
IDENTIFIES = re.compile(r"'.+' (is|together are) nearly unique")


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


#: Errors of choices that do not go together: what is in them, the field that is meant, and
#: what the page says instead.
_TOGETHER = (
    (
        re.compile("is not convex|needs a convex criterion"),
        "criterion",
        (
            "this criterion does not go with values or rows that are drawn anew: choose another "
            "criterion, or a mechanism that merges and no kinds of rows."
        ),
    ),
    (
        re.compile("^cells publish rows by the mechanism"),
        "cells",
        (
            "rows are published by the mechanism Automatic or Least distortion, written as fits "
            "the mechanism: choose these, or leave kinds of rows empty and all columns alike."
        ),
    ),
    (
        re.compile("^subset-random-response takes bounds for this table only"),
        "mechanism",
        "subset random response is for rows that are everybody: choose another mechanism.",
    ),
)
#: Numbers that are not grouped: some criteria, mechanisms and ways of writing need groups.
_UNGROUPED = re.compile(
    r"^column (?P<name>'.*'|\".*\") (?:is numeric \(\w+\)|holds timestamps) "
    "and must have declared bins"
)
_OPTION = re.compile(f"^({'|'.join(FIELDS)}) must ")
#: The name of a mechanism in a sentence, and no column of that name; "auto" is one of cells too.
_NAMED = "|".join(each for each in MECHANISMS if each != "auto")
_MECHANISM = re.compile(rf"((?<=mechanism )auto|(?<![\w'-])(?:{_NAMED}))(?![\w'-])")


def on_page(message: str) -> tuple[str, str]:
    """Return an error with fields and mechanisms as the page calls them, and the field it means.

    The field is empty where none is meant.

    Examples
    --------
    >>> on_page("at_least must be at most 1/3, as S has 3 values.")
    ('Least belief before must be at most 1/3, as S has 3 values.', 'at_least')
    >>> on_page("random-response takes up to 9 cells. Use mechanism auto or fewer columns.")
    ('Optimal random response takes up to 9 cells. Use mechanism Automatic or fewer columns.', \
'mechanism')
    >>> on_page("column 'age' has no bins.")
    ("column 'age' has no bins.", '')
    >>> on_page("column 'age' is numeric (integer) and must have declared bins; got none.")[0]
    "what is chosen under Advanced needs groups of 'age': group it under Columns, or choose \
otherwise under Advanced."
    """
    for pattern, name, words in _TOGETHER:
        if pattern.search(message):
            return words, name
    if found := _UNGROUPED.match(message):
        what = f"what is chosen under Advanced needs groups of {found['name']}"
        return f"{what}: group it under Columns, or choose otherwise under Advanced.", ""
    if found := _OPTION.match(message):
        return f"{FIELDS[found[1]]}{message[found.end(1) :]}", found[1]
    is_of_mechanism = _MECHANISM.match(message) is not None
    message = _MECHANISM.sub(lambda found: name_of(MECHANISMS[found[1]]), message)
    return message, "mechanism" if is_of_mechanism else ""


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
