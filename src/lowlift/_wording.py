"""Labels, factors and shares as people read them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowlift._labels import Label

_CELL = 80


def shown(label: "Label") -> str:
    """Return a label as people read it.

    Examples
    --------
    >>> shown(("1st", None, 3))
    '1st, (missing), 3'
    """
    if isinstance(label, tuple):
        return ", ".join(shown(part) for part in label)
    return "(missing)" if label is None else str(label)


def shortened(text: str, most: int) -> str:
    """Return text of at most so many letters; what was cut is shown by an ellipsis.

    Examples
    --------
    >>> shortened("bronchitis", 6)
    'bronc…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def told_apart(texts: Sequence[str], most: int) -> list[str]:
    """Return `shortened` texts; without their middles where they would be the same otherwise.

    Examples
    --------
    >>> told_apart(["bronchitis", "flu"], 8), told_apart(["hepatitis A", "hepatitis B"], 8)
    (['bronchi…', 'flu'], ['hepa…s A', 'hepa…s B'])
    """
    found = [shortened(text, most) for text in texts]
    if len(set(found)) == len(set(texts)):
        return found
    half = most // 2
    return [
        text if len(text) <= most else f"{text[:half]}…{text[half + 1 - most :]}" for text in texts
    ]


def cell(text: str) -> str:
    """Return a label short enough for a cell: one group can name thousands of values."""
    return shortened(text, _CELL)


def times(lift: float) -> str:
    """Return a measured factor to three digits.

    Examples
    --------
    >>> times(3.0956), times(0.0), times(1e-9)
    ('×3.1', '×0', '×1e-09')
    """
    return f"×{lift:.3g}"


def percent(share: float) -> str:
    """Return a share in percent; what is not 0 or 1 is not written so.

    Examples
    --------
    >>> percent(0.12345), percent(0.0), percent(1e-6), percent(0.99999), percent(1.0)
    ('12.3%', '0%', '<0.1%', '>99.9%', '100%')
    """
    if share in {0, 1}:
        return f"{share:.0%}"
    if not 0.001 <= share <= 0.999:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{share:.1%}"


def counted(number: int, one: str, more: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "value"), counted(2201, "row"), counted(2, "class", "classes")
    ('1 value', '2,201 rows', '2 classes')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Return words with commas and an "and", or another word before the last.

    Examples
    --------
    >>> joined(["class", "sex", "age"]), joined(["ward"]), joined(["sex", "age"], "or")
    ('class, sex and age', 'ward', 'sex or age')
    """
    return f" {last} ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def of_rows(text: str) -> str:
    """Return a sentence on published values as one on published rows.

    Examples
    --------
    >>> of_rows("seeing a published value tells nothing")
    'seeing a published row tells nothing'
    """
    return text.replace("a published value", "a published row")


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]
