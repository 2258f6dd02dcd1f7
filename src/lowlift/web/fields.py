"""Fields of a setting that have one value each: how they are read, and what is wrong with one."""

import contextlib
import math
from collections.abc import Mapping
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

from lowlift.errors import InvalidInput
from lowlift.tables.columns import MISSING
from lowlift.web.words import FIELDS, message_of
from lowlift.workflow import MECHANISMS
from lowlift.workflow.criteria import IN_NATS

#: Empty: the mechanism's own.
ENCODINGS = ("", "codes", "groups", "values")
#: The longest search.
MOST_SECONDS = 3600
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "missing": tuple(MISSING),
    "criterion": ("", *IN_NATS),
    "audience": ("table", "population"),
    "mechanism": MECHANISMS,
    "encoding": ENCODINGS,
}
#: Given without a criterion and a limit, as former addresses have them: the criterion was this one.
_BUDGETS, _FORMER_CRITERION, _FORMER_MECHANISM = (
    ("epsilon", "split", "alpha", "at_least"),
    "alip",
    "subset-merging",
)


class _Range(NamedTuple):
    """Which numbers a field takes, its ends among them, and how that is said."""

    least: float
    most: float
    words: str

    def said(self, name: str) -> str:
        """Return it as an error of the field."""
        return self.words.format(label=FIELDS[name])


#: By the names of fields. All numbers are finite; the limit is above 1, the confidence below 1.
_NUMBERS: Mapping[str, _Range] = {
    "limit": _Range(math.nextafter(1, 2), math.inf, "enter a number above 1, such as 2.5."),
    "epsilon": _Range(0, math.inf, "{label} must be a number, 0 or more, such as 1."),
    "split": _Range(0, 1, "{label} must be a number from 0 to 1, such as 0.5."),
    "alpha": _Range(1, math.inf, "{label} must be a number, 1 or more, such as 2."),
    "at_least": _Range(0, 0.5, "{label} must be a number from 0 to 0.5, such as 0.01."),
    "confidence": _Range(
        0.5, math.nextafter(1, 0), "{label} must be a number from 0.5 to below 1, such as 0.95."
    ),
    "seconds": _Range(1, MOST_SECONDS, f"{{label}} must be a number between 1 and {MOST_SECONDS}."),
}


def fields_of(
    last: Mapping[str, str], empty: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of one value each that are given, and what is wrong with others.

    Parameters
    ----------
    last
        The values of a query by their names, the last of each name.
    empty
        Names that are given without a value. A number that is in force must not be one of them:
        the answer would be to a number that nobody sees.
    """
    given, faults = dict[str, Any](), dict[str, str]()
    for name, allowed in _CHOICES.items():
        if last.get(name) in allowed:
            given[name] = last[name]
        elif name in last:
            faults[name] = f"{FIELDS[name]} must be one of {', '.join(filter(None, allowed))}."
    for name, reader in {**dict.fromkeys(_NUMBERS, _number), "cells": _cells}.items():
        try:
            given |= {name: reader(name, last[name])} if name in last else {}
        except InvalidInput as error:
            faults[name] = message_of(error)
    idle = {"limit"} if given.get("criterion") else set(_BUDGETS)
    for name in (empty & set(_NUMBERS)) - idle:
        faults[name] = _NUMBERS[name].said(name)
    if not {"criterion", "limit"} & set(last) and set(_BUDGETS) & set(last):
        given["criterion"] = _FORMER_CRITERION
    if given.get("criterion") and not {"mechanism", "limit"} & set(last):
        given.setdefault("mechanism", _FORMER_MECHANISM)
    return given, faults


def _number(name: str, text: str) -> float:
    allowed = _NUMBERS[name]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and allowed.least <= value <= allowed.most):
        raise InvalidInput(allowed.said(name))
    return value


def _cells(name: str, text: str) -> str:
    if text == "auto" or (text.isdecimal() and int(text) >= 1):
        return text
    raise InvalidInput(f"{FIELDS[name]} must be a whole number, 1 or more, or auto.")


def disorder(text: str) -> str:
    """Return which start of a group does not go up, numbers or dates; nothing where all do.

    Examples
    --------
    >>> disorder("60, 30")
    'each group must start above the one before; 30 comes after 60.'
    >>> disorder("30, 60") or disorder("width:x")
    ''
    """
    parts = [part.strip() for part in text.split(",")]
    values: list[Any] = []
    try:
        values = [float(part) for part in parts]
    except ValueError:
        with contextlib.suppress(ValueError):
            values = [date.fromisoformat(part) for part in parts]
    for k, (one, other) in enumerate(pairwise(values)):
        if one >= other:
            order = f"{parts[k + 1]} comes after {parts[k]}"
            return f"each group must start above the one before; {order}."
    return ""
