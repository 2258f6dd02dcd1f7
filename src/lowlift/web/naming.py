"""Settings in plain words: what a column of a comparison is called, and what was set."""

import math
from collections.abc import Sequence
from decimal import Decimal

from lowlift._rounding import PARTS, at_least
from lowlift._wording import joined
from lowlift.web.settings import Setting, shortest
from lowlift.web.words import MECHANISMS, name_of
from lowlift.workflow.criteria import SINGLE

#: How missing values are published.
MISSING = {"value": "a value of their own", "drop": "their rows are left out", "error": "an error"}
#: Columns that are named.
_MOST_NAMED = 4
#: What a limit is on, by the names of criteria; empty for the limit itself.
_LIMITED = {
    "": "both ways",
    "lip": "both ways, one budget",
    "alip": "both ways, each its own",
    "ldp": "between any two values",
    "max-lift": "only upwards",
    "l1": "the mean change",
    "chi2": "the mean square change",
    "alpha": "between the mean and the largest change",
    "every-prior": "for readers with other beliefs",
}
#: How values are changed, by the names of mechanisms.
_CHANGED = {
    "watchdog": "merged",
    "subset-merging": "merged",
    "optimal-merging": "merged",
    "random-response": "mixed by chance",
    "subset-random-response": "mixed by chance",
    "least-distortion": "mixed by chance",
}
_WHOLE = {"table": "these rows", "population": "a sample"}


def titles_of(settings: Sequence[Setting]) -> list[str]:
    """Return each setting in a few words: its limit, and what else differs between them."""
    parts = [
        (
            _limit(one),
            limited(one),
            _WHOLE[one.audience],
            _CHANGED.get(one.mechanism, ""),
            _other_columns(one, settings[0]),
            joined(one.sensitive),
        )
        for one in settings
    ]
    differs = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    differs[0] = True
    return [
        ", ".join(part for part, is_told in zip(one, differs, strict=True) if is_told and part)
        for one in parts
    ]


def _other_columns(one: Setting, first: Setting) -> str:
    """Return how the columns differ from the first setting's; empty where they do not."""
    if one.released == first.released:
        return ""
    count, _, words = columns_of(one.released, first).partition(", ")
    return words or f"{count} columns"


def part_of(least: str, *, is_kept: bool) -> str:
    """Return how far a likelihood falls: a half, or so many times.

    Where a limit is kept that is said by a fraction, the fraction is said: its digits are cut.

    Examples
    --------
    >>> part_of("0.5", is_kept=False), part_of("0.666", is_kept=True), part_of("0.3", is_kept=True)
    ('half', 'two thirds', '0.3 times')
    """
    for factor, words in PARTS.items():
        is_it = Decimal(least) * Decimal(factor) == 1
        if is_it or (is_kept and least == at_least(-math.log(float(factor)))):
            return words
    return f"{least} times"


def _limit(one: Setting) -> str:
    factor = one.factor if one.criterion else shortest(one.limit)
    return f"{factor} times" if factor else f"a budget of {shortest(one.epsilon)}"


def limited(one: Setting) -> str:
    """Return what the limit of a setting is on."""
    if one.criterion == "every-prior":
        return f"{_LIMITED['every-prior']}, at least {shortest(one.at_least)}"
    return _LIMITED[one.criterion]


def changed(mechanism: str) -> str:
    """Return how a mechanism changes values, with its name; empty for none.

    Examples
    --------
    >>> changed("subset-merging"), changed("auto")
    ('merged: subset merging', 'the best for the size')
    """
    if mechanism == "auto":
        return "the best for the size"
    name = name_of(MECHANISMS.get(mechanism, mechanism))
    return f"{_CHANGED[mechanism]}: {name[:1].lower()}{name[1:]}" if mechanism in _CHANGED else name


def bound_texts(one: Setting) -> dict[str, str]:
    """Return the limit of a setting, what it is on and of whom it holds, by the names of rows."""
    limit = _limit(one)
    # A factor follows from the budget of its side: of two sides, it is said how much that has.
    if one.criterion and one.criterion not in SINGLE and (not one.factor or one.split != 0.5):
        limit += f", {shortest(one.split)} of it downwards" if one.split != 0.5 else ""
    who = "all there are" if one.audience == "table" else f"a sample, {100 * one.confidence:g}%"
    return {"Limit": limit, "The limit is": limited(one), "The rows are": who}


def bins_text(bins: Sequence[tuple[str, str]]) -> str:
    """Return the groups of columns."""
    return ", ".join(f"{name} {text}" for name, text in bins) or "none"


def columns_of(released: Sequence[str], first: Setting) -> str:
    """Return how many columns are published, and how they differ from the first setting's."""
    less = [name for name in first.released if name not in released]
    more = [name for name in released if name not in first.released]
    is_first = tuple(released) == first.released
    words = joined(released) if is_first and len(released) <= _MOST_NAMED else f"{len(released)}"
    words += f", without {joined(less)}" if less else ""
    return words + (f", with {joined(more)}" if more else "")
