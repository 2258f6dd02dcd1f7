"""Templates filled in."""

from typing import Any

from lowlift._rounding import ceiling
from lowlift.figures.page import environment_of, render
from lowlift.report.beliefs import allowed_text, worst_first
from lowlift.report.outcome import most_words, whole_percent
from lowlift.web.settings import shortest


def show(template: str, **context: Any) -> str:
    """Return a page or a part of one."""
    return render("lowlift.web", template, **context)


def sentence(message: str) -> str:
    """Return an error as a sentence of the page.

    Examples
    --------
    >>> sentence("column 'age' has none.")
    "Column 'age' has none."
    >>> sentence("people.csv has no rows.")
    'people.csv has no rows.'
    """
    first = message.split(maxsplit=1)[0] if message else ""
    return message[:1].upper() + message[1:] if first.isalpha() else message


def bound(value: float) -> str:
    """Return a proven bound on NMI, rounded up."""
    return ceiling(min(value, 1.0), 4)


environment_of("lowlift.web").filters.update(sentence=sentence, bound=bound)
environment_of("lowlift.web").globals.update(
    most_words=most_words,
    worst_first=worst_first,
    allowed_text=allowed_text,
    whole_percent=whole_percent,
    shortest=shortest,
)


def one_line(html: str) -> str:
    """Return HTML as the one line that an event carries."""
    return " ".join(html.split())
