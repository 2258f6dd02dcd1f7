"""What a column's own counts tell of it: whether it names a person, or has one value only."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowlift.tables.profiling import Profiling, Summary

#: With so many values or fewer, few rows are as likely a reason for different values as names are.
_FEW = 20
#: Different values per row from which texts, and numbers, are identifiers; numbers almost unique.
_MANY_TEXTS, _MANY_NUMBERS, _MANY_SINGLE = 0.5, 0.9, 0.5
#: Of few values: how many there are at least, and how many per row, from which texts name persons.
_LEAST, _NEARLY_ALL = 5, 0.9
#: Values that may be an identifier that repeats: more than so many, for so many rows each or fewer,
#: and of numbers nearly as often one as the other (the largest variance of their counts, relative
#: to the squared mean). Measurements have values that heap; ages are fewer.
_MANY_REPEATED, _ROWS_EACH, _UNEVEN = 120, 10, 0.36
#: Free text: so many spaces on average, and so many different values per row.
_SPACES, _MANY_SENTENCES = 3.0, 0.2
#: The share of texts that are e-mail addresses from which a column has them, however they repeat.
_MAILS = 0.5


def flags_of(
    look: "Profiling", name: str, kind: str, found: "Summary | None", rows: int
) -> list[str]:
    """Return what a column's own counts tell of it; see `ColumnProfile.flags`."""
    if found is None:
        return ["not-counted"]
    if found.different + (found.present < rows) <= 1:
        return ["constant"]
    share = found.different / max(found.present, 1)
    is_many = found.different > _FEW
    unique = ["almost-unique"] if is_many and share > _MANY_SINGLE else []
    if kind in {"date", "timestamp"}:
        return ["date", *unique]
    if kind == "text" and is_many and found.spaces >= _SPACES and share > _MANY_SENTENCES:
        return ["identifier", "free-text"]
    is_whole = kind == "integer" or (kind == "real" and found.fractional == 0)
    limit = _MANY_TEXTS if kind == "text" else _MANY_NUMBERS if is_whole else math.inf
    is_few = not is_many and _is_of_few(look, name, kind, found, is_whole=is_whole)
    has_mails = found.different >= _LEAST and found.mails > _MAILS * found.present
    if kind == "uuid" or has_mails or is_few or (is_many and share > limit):
        return ["identifier"]
    may_repeat = found.different > _MANY_REPEATED and share * _ROWS_EACH >= 1
    is_even = kind == "text" or (is_whole and may_repeat and look.unevenness(name, found) < _UNEVEN)
    return ["few-rows-each"] if may_repeat and is_even else unique


def _is_of_few(
    look: "Profiling", name: str, kind: str, found: "Summary", *, is_whole: bool
) -> bool:
    """Tell whether few values name few rows: texts nearly one a row, or numbers that count rows.

    Other numbers of few rows, such as ages, differ as often by chance.
    """
    if found.different < _LEAST:
        return False
    if kind == "text":
        return found.different >= _NEARLY_ALL * found.present
    if not is_whole or found.different < found.present:
        return False
    ends = look.ranges([name])[name]
    return ends is not None and ends[1] - ends[0] == found.different - 1
