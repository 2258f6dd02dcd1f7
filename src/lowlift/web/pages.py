"""Templates filled in, and the small pictures that are drawn while work goes on."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from lowlift.figures.page import environment_of, render
from lowlift.rounding import ceiling


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


def one_line(html: str) -> str:
    """Return HTML as the one line that an event carries."""
    return " ".join(html.split())


def search_svg(steps: Sequence[tuple[int, float, float, float]]) -> Markup:
    """Draw a search: NMI reached from below, the proven bound from above, over seconds."""
    times = [step[3] for step in steps]
    lows = [step[1] for step in steps]
    highs = [min(step[2], 1.0) for step in steps]
    floor = min(lows, default=0.0)
    ceiling = max(highs, default=1.0)
    span, last = max(ceiling - floor, 1e-9), max([*times, 1e-9])

    def line(values: Sequence[float]) -> str:
        points = []
        for second, value in zip(times, values, strict=True):
            y = 76 - 72 * (value - floor) / span if math.isfinite(value) else 76
            points.append(f"{4 + 292 * second / last:.1f},{y:.1f}")
        return " ".join(points)

    return Markup(
        '<svg viewBox="0 0 300 80" role="img" class="search" aria-label="Information kept and the '
        'proven bound, over time" preserveAspectRatio="none">'
        '<polyline class="bound" points="{}"/><polyline class="reached" points="{}"/></svg>'
    ).format(line(highs), line(lows))
