"""A belief before and after as one bar: a picture of a line's height."""

from html import escape

from lowlift.figures.svg import writable

#: The size of the picture in its own units: 100 wide, so that a share in percent is a place.
_WIDTH, _HEIGHT = 100.0, 14


def belief_svg(
    before: float,
    least: float,
    most: float,
    limit: float | None = None,
    *,
    title: str,
    top: float = 1.0,
) -> str:
    """Return an ``<svg>`` element: a tick before, a band after, dots at the limit.

    The end of the band is as high as the band: tick and dots, which are higher, are seen behind it.
    It has classes and no colours: ``track``, ``band``, ``beyond`` (the part of the band beyond the
    limit), ``limit``, ``prior`` and ``worst``; the page's style sheet draws them in its theme.

    Parameters
    ----------
    before, least, most, limit
        Shares between 0 and 1; a limit of None, or of 1 and more, is not drawn.
    title
        What is drawn, in words: for those who do not see it, and on hover.
    top
        The share at the end of the bar, which begins at 0; a limit beyond it is not drawn.

    Examples
    --------
    >>> 'class="beyond"' in belief_svg(0.1, 0.05, 0.3, 0.2, title="ill")
    True
    >>> 'class="beyond"' in belief_svg(0.1, 0.05, 0.2, 0.2, title="ill")
    False
    """
    before, least, most = before / top, least / top, most / top
    limit = None if limit is None else limit / top
    start, end = _place(least), _place(most)
    words = escape(writable(title), quote=True)
    parts = [
        f'<rect class="track" y="3" width="{_WIDTH:g}" height="8"/>',
        f'<rect class="band" x="{start}" y="3" width="{_text(end, start)}" height="8"/>',
    ]
    if limit is not None and most > limit:
        edge = max(_place(limit), start)
        parts.append(
            f'<rect class="beyond" x="{edge}" y="3" width="{_text(end, edge)}" height="8"/>'
        )
    if limit is not None and limit < 1:
        parts.append(f'<path class="limit" d="M{_place(limit)} 0V{_HEIGHT}"/>')
    parts.append(f'<path class="prior" d="M{_place(before)} 0V{_HEIGHT}"/>')
    if limit is None or most <= limit:
        parts.append(f'<path class="worst" d="M{end} 3V11"/>')
    return (
        f'<svg class="belief" viewBox="0 0 {_WIDTH:g} {_HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{words}"><title>{words}</title>{"".join(parts)}</svg>'
    )


def _place(share: float) -> float:
    return round(_WIDTH * min(max(float(share), 0.0), 1.0), 2)


def _text(end: float, start: float) -> str:
    return f"{max(end - start, 0.0):g}"
