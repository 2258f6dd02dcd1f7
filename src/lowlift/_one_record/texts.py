"""What is said about bad input, the same in every language; no value is in it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

#: What is said about bad input, in every language.
TEXTS = {
    "mapping": "a record must be a mapping with the released columns as keys ({}); got {}.",
    "lacks": "a record must be a mapping with the released columns as keys ({}); it lacks {}. "
    "Use None (in JSON: null) for a missing value.",
    "more": "a record must be a mapping with the released columns as keys ({}) and no others; it "
    "has {} more. Leave out what is not released.",
    "missing": "a record must have a value in {}; here it is missing, and the release was designed "
    "without such records. Leave the record out.",
    "kind": "a value of column {} must be {}, or None (in JSON: null) where it is missing; got {}. "
    "Convert it before it is drawn.",
    "unseen": "a record must have values that were seen at design, together; this one has not. "
    "Design again on a table that has them, or use unseen='suppress'.",
    "choice": "unseen must be one of error, suppress; got {}.",
    "pair": "keyed draws need both id and key; got one of them. Give the other.",
    "key": "a key must be 32 bytes; got {}.",
    "new_key": "Make one with `lowlift key new`.",
    "id": "id must be a whole number, a text or a UUID; got {}.",
    "surrogate": "id must be a text that UTF-8 can encode; it has half of a surrogate pair.",
}
#: By kind of column: what a value must be.
KINDS = {
    "text": "a text",
    "integer": "a whole number of at most 128 bits",
    "real": "a number",
    "boolean": "a boolean",
    "date": "a date without a time (as text: 2024-03-05)",
    "timestamp": "a time without a time zone (as text: 2024-03-05T13:45:00)",
    "uuid": "a UUID (as text: 8-4-4-4-12 hexadecimal digits)",
}
#: By what a value is for: the type of which some values will do.
PARTLY = dict.fromkeys(("integer", "real", "id"), "a number") | dict.fromkeys(
    ("date", "timestamp", "uuid", "unseen"), "a text"
)


def type_word(value: Any, use: str = "") -> str:
    """Return the type of a value as every language calls it; "another" of a type that may do.

    Examples
    --------
    >>> type_word(7), type_word("7", "integer"), type_word(7.5, "integer")
    ('a number', 'a text', 'another number')
    """
    word = type(value).__name__
    if value is None:
        word = "nothing"
    elif isinstance(value, bool):
        word = "a boolean"
    elif isinstance(value, str):
        word = "a text"
    elif isinstance(value, int | float | Decimal):
        word = "a number"
    elif isinstance(value, list | tuple):
        word = "a list"
    elif isinstance(value, Mapping):
        word = "a mapping"
    return word.replace("a ", "another ", 1) if word == PARTLY.get(use) else word
