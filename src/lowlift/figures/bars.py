"""Horizontal bars: shares of values, in one part or two, before and after."""

from collections.abc import Sequence

import numpy as np

from lowlift._arrays import Floats
from lowlift._wording import percent
from lowlift.errors import InvalidInput
from lowlift.figures.canvas import Canvas
from lowlift.figures.palette import COLOURS, GRID
from lowlift.figures.svg import inline_svg

#: The first part of a bar, and the rest of it.
BAR_COLOURS = (COLOURS[1], "#a9d0e8")
_ROW, _LETTER, _NUMBER = 0.21, 0.074, 0.62
#: Letters of a label.
_LONGEST = 22


def bar_chart_svg(
    labels: Sequence[str],
    shares: Floats,
    *,
    title: str,
    parts: Floats | None = None,
    width: float = 3.7,
    most: float | None = None,
    letters: int = 0,
    salt: str = "",
) -> str:
    """Return shares between 0 and 1 as horizontal bars, an ``<svg>`` element to put into HTML.

    `parts` is what is drawn dark of each share, all by default. `most` is the share at the right
    end; of a larger one only the number is shown. There is room for labels of so many `letters`, or
    more: two charts with the same of both have one scale. For `title` and `salt` see `inline_svg`.
    """
    values = np.asarray(shares, np.float64)
    first = values if parts is None else np.asarray(parts, np.float64)
    if not len(labels) or values.shape != (len(labels),) or first.shape != values.shape:
        raise InvalidInput(
            f"shares and parts must have one number per label; got shapes {values.shape} and "
            f"{first.shape} for {len(labels)} labels."
        )
    names = _shortened(labels)
    left = min(1.75, 0.14 + _LETTER * max(min(letters, _LONGEST), *map(len, names)))
    canvas = Canvas(width, 0.12 + _ROW * len(names))
    most = float(values.max()) if most is None else most
    scale = (width - left - _NUMBER) / (most or 1.0)
    middles = [canvas.height - 0.06 - _ROW * (k + 0.5) for k in range(len(names))]
    for low, high, colour in ((first, values, BAR_COLOURS[1]), (0 * first, first, BAR_COLOURS[0])):
        boxes = [
            (left + scale * a, left + scale * b, y - 0.32 * _ROW, y + 0.32 * _ROW)
            for k, (a, b, y) in enumerate(zip(low.tolist(), high.tolist(), middles, strict=True))
            if b > a and not values[k] > most
        ]
        canvas.boxes(boxes, colour)
    canvas.lines([(left, 0.06, left, canvas.height - 0.06)], GRID, 1)
    for name, value, y in zip(names, values.tolist(), middles, strict=True):
        canvas.text(left - 0.06, y, name, 8.5, ha="right")
        shown = value if value <= most else 0.0
        canvas.text(left + scale * shown + 0.06, y, percent(value), 8.5)
    return inline_svg(canvas.figure, title, salt)


def _shortened(labels: Sequence[str]) -> list[str]:
    """Return labels without their middles where they are long.

    Examples
    --------
    >>> _shortened(["crew, woman, adult", "from the north of town, 1", "from the north of town, 2"])
    ['crew, woman, adult', 'from the no…of town, 1', 'from the no…of town, 2']
    """
    half = _LONGEST // 2
    return [
        one if len(one) <= _LONGEST else f"{one[:half]}…{one[half + 1 - _LONGEST :]}"
        for one in labels
    ]
