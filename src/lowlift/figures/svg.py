"""Figures of matplotlib as SVG that is safe in a page, and as PNG."""

import contextlib
import io
import re
import threading
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lowlift.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
#: matplotlib's settings are shared by all threads.
_LOCK = threading.Lock()
#: What XML cannot hold: control characters, halves of surrogate pairs.
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[report]' to draw charts (matplotlib).") from error
    return Figure((width, height), dpi=DPI, facecolor="white")


def png_of(figure: "Figure") -> bytes:
    """Return the figure as the bytes of a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    with _LOCK, _no_warnings():
        canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Keep matplotlib from naming the letters that its fonts lack: they are data."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def writable(text: str) -> str:
    r"""Return text with what XML cannot hold replaced.

    Examples
    --------
    >>> writable("a\x01b")
    'a�b'
    """
    return _UNWRITABLE.sub("�", text)


def inline_svg(figure: "Figure", title: str, salt: str) -> str:
    """Return the figure as an ``<svg>`` element without a size: the page sets its width.

    `title` says what is drawn to those who do not see it. `salt` makes ids differ from those of the
    same picture elsewhere on the page. Nothing acts on the page: there is no style element.
    """
    root = svg_of(figure, title, f"{salt}/{title}")
    del root.attrib["width"], root.attrib["height"]
    return ET.tostring(root, encoding="unicode")


def svg_of(figure: "Figure", title: str, salt: str) -> ET.Element:
    """Return the figure as SVG without namespaces, metadata, style sheet and idle ids."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": salt, "svg.id": None}
    with _LOCK, _no_warnings(), rc_context(settings):
        canvas.print_svg(buffer, metadata=nothing)
    figure.dpi = DPI  # which the canvas has changed
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", writable(buffer.getvalue()), count=2)
    drawn = ET.fromstring(text.replace("xlink:href", "href"))  # noqa: S314 (written above)
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    title = writable(title)
    root.attrib |= {"aria-label": title} | drawn.attrib
    # What matplotlib's style sheet says, which would also hold for the page around.
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    root.set("font-family", "sans-serif")
    root.attrib.pop("version", None)
    ET.SubElement(root, "title").text = title
    root.extend(child for child in drawn if child.find("style") is None)
    used = set(re.findall(r'(?:href="|url\()#(\w+)', text))
    for element in root.iter():
        _tidy(element, used)
    for element in root.iter("use"):  # which has the colours, but for black
        element.attrib.setdefault("fill", "#000000")
    for path in root.findall(".//defs/path"):  # a page cannot reach into what is used
        for name in [name for name in path.attrib if name.startswith("stroke")]:
            del path.attrib[name]
    return root


def _tidy(element: ET.Element, used: set[str]) -> None:
    """Drop idle ids and blanks, round numbers, and turn inline styles into attributes.

    Inline styles may be forbidden by the page's content security policy.
    """
    for declaration in element.attrib.pop("style", "").split(";"):
        name, _, value = declaration.partition(":")
        if name.strip() not in {"", "font-family"}:
            element.set(name.strip(), value.strip())
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    for name in {"d", "x", "y", "width", "height", "transform"} & element.attrib.keys():
        value = " ".join(element.attrib[name].split())
        element.set(name, re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}", value))
    if element.tag not in {"text", "title"}:
        element.text = None
    element.tail = None
