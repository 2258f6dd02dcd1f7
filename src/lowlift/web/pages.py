"""Templates filled in."""

from typing import Any

from markupsafe import Markup, escape

from lowlift._rounding import ceiling
from lowlift.figures.page import environment_of, render
from lowlift.report.beliefs import allowed_text, top_of, worst_first
from lowlift.report.outcome import NEARNESS, TITLES, most_words, whole_percent
from lowlift.report.promises import MARKS
from lowlift.web.naming import part_of
from lowlift.web.settings import shortest
from lowlift.web.words import (
    MECHANISMS,
    NAMES,
    NAMES_TITLE,
    TELLS,
    TELLS_TITLE,
    WARNED,
    WARNED_TITLE,
    name_of,
)


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


def emphasised(text: str) -> Markup:
    r"""Return a sentence of `lowlift.report.promises`, names of columns by other letters.

    Examples
    --------
    >>> str(emphasised("what \x02<i>\x03 tells"))
    'what <em>&lt;i&gt;</em> tells'
    """
    first, last = MARKS
    return escape(text).replace(first, Markup("<em>")).replace(last, Markup("</em>"))


def bound(value: float) -> str:
    """Return a proven bound on NMI, rounded up."""
    return ceiling(min(value, 1.0), 4)


def mechanism_name(name: str) -> str:
    """Return what a mechanism is called within a sentence.

    Examples
    --------
    >>> mechanism_name("random-response")
    'optimal random response'
    """
    return name_of(MECHANISMS[name]).lower()


def set_local(is_local: bool) -> None:
    """Say on every page whether only this machine reaches the server, of which a process has one.

    Pages promise "nothing leaves this machine" only then.
    """
    environment_of("lowlift.web").globals["is_local"] = is_local


set_local(False)
environment_of("lowlift.web").filters.update(sentence=sentence, bound=bound, emphasised=emphasised)
environment_of("lowlift.web").globals.update(
    most_words=most_words,
    nearness=NEARNESS,
    state_titles={**TITLES, NAMES: NAMES_TITLE, TELLS: TELLS_TITLE, WARNED: WARNED_TITLE},
    mechanism_name=mechanism_name,
    worst_first=worst_first,
    allowed_text=allowed_text,
    top_of=top_of,
    whole_percent=whole_percent,
    shortest=shortest,
    part_of=part_of,
)


def one_line(html: str) -> str:
    """Return HTML as the one line that an event carries."""
    return " ".join(html.split())
