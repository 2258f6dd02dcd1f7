"""Declared bins of a column: which numbers share a symbol, and what it is called."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from lowlift._joint import Label
from lowlift._one_record import symbols
from lowlift.errors import InvalidInput
from lowlift.schemas import check
from lowlift.tables.cells import CellBins
from lowlift.tables.date_bins import Calendar, DateBins, DateEdges, Days, Declared, Labelled

Number: TypeAlias = int | float

_FORMS = (
    "edges (0,18,30,45), width:10, each or quantiles:4; of dates month, quarter, year, day, "
    "width:7 (days) or 2024-01-01,2024-07-01"
)
#: The numerator and denominator of a width stay below it, and a value that lies this many bins from
#: zero is said to lie outside.
FAR = symbols.FAR
_LARGEST = 1 << 63
#: A width of 15 digits times a number of a bin, of up to 39 digits, has more than the usual 28.
_EXACT = Context(prec=64)


@dataclass(frozen=True)
class Edges(Labelled):
    """Half-open bins between increasing edges, and what lies below the first and above the last.

    Parameters
    ----------
    edges
        Finite, increasing numbers, at least one.

    Raises
    ------
    InvalidInput
        When they are not.

    Examples
    --------
    >>> Edges((0, 18, 30)).labels
    ('< 0', '[0, 18)', '[18, 30)', '>= 30')
    """

    _kind = "edges"
    edges: tuple[Number, ...]

    def __post_init__(self) -> None:
        edges = tuple(_number(edge, "an edge") for edge in self.edges)
        if not edges or any(a >= b for a, b in pairwise(edges)):
            raise InvalidInput(
                "edges must be increasing numbers, at least one; "
                f"got {', '.join(map(_shown, edges)) or 'none'}."
            )
        object.__setattr__(self, "edges", edges)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the bins, from low to high."""
        shown = [_shown(edge) for edge in self.edges]
        inner = (f"[{a}, {b})" for a, b in pairwise(shown))
        return (f"< {shown[0]}", *inner, f">= {shown[-1]}")


@dataclass(frozen=True)
class Width(Declared):
    """Bins of one width that start at multiples of it.

    A number x is in bin floor(x / width). A decimal width w = p / q is applied as floor(x q / p),
    so that 0.3 lies in [0.3, 0.4) when the width is 0.1.

    Parameters
    ----------
    width
        A positive number.

    Examples
    --------
    >>> Width(10).label_of("2"), Width(0.1).label_of("3")
    ('[20, 30)', '[0.3, 0.4)')
    """

    _kind = "width"
    width: Number

    def __post_init__(self) -> None:
        width = _number(self.width, "a width")
        if width <= 0:
            raise InvalidInput(f"a width must be positive; got {width}.")
        object.__setattr__(self, "width", width)
        if max(self.ratio) >= FAR:
            raise InvalidInput(f"a width must have at most 15 digits; got {width}.")

    @cached_property
    def ratio(self) -> tuple[int, int]:
        """The width as a fraction of whole numbers (p, q)."""
        return Decimal(repr(self.width)).as_integer_ratio()

    def label_of(self, text: str) -> Label:
        """Return the label of a symbol text: a bin number, or ``<`` or ``>`` far outside."""
        if text in {"<", ">"}:
            return f"{'<' if text == '<' else '>='} {self._edge(self._furthest(text))}"
        index = int(text)
        return f"[{self._edge(index)}, {self._edge(index + 1)})"

    def text_of(self, label: Label) -> str:
        """Return the symbol text of a label."""
        for text in "<>":
            if label == self.label_of(text):
                return text
        lower = str(label).removeprefix("[").partition(",")[0]
        try:
            index = _EXACT.divide(Decimal(lower), Decimal(repr(self.width)))
            text = str(int(index.to_integral_value()))
        except (ArithmeticError, ValueError):
            text = ""
        if not text or self.label_of(text) != label:
            raise InvalidInput("a label must be that of a declared bin; one is not.")
        return text

    def order_of(self, label: Label) -> float:
        """Return a number that sorts labels from low to high."""
        text = self.text_of(label)
        return {"<": -math.inf, ">": math.inf}.get(text) or float(text)

    def _furthest(self, text: str) -> int:
        return -FAR if text == "<" else FAR

    def _edge(self, index: int) -> str:
        return _plain(_EXACT.multiply(Decimal(repr(self.width)), Decimal(index)))


@dataclass(frozen=True)
class Each(Declared):
    """Every value of an integer column is a symbol of its own; its label is the whole number."""

    _kind = "each"

    def label_of(self, text: str) -> Label:
        """Return the whole number."""
        try:
            return int(text)
        except ValueError:
            pass
        raise InvalidInput("a column of whole numbers must hold them only; one value is none.")

    def text_of(self, label: Label) -> str:
        """Return the decimal digits."""
        if not isinstance(label, int) or isinstance(label, bool):
            raise InvalidInput("a label of an integer column must be a whole number; one is not.")
        return str(label)

    def order_of(self, label: Label) -> Any:
        """Return the number itself."""
        return label


@dataclass(frozen=True)
class Quantiles(Declared):
    """A request for bins of about equal size; the table resolves it to `Edges`.

    The edges then come from the data, which is itself a (small) disclosure: the caller says so.

    Parameters
    ----------
    parts
        How many bins, 2 to 1000.
    """

    _kind = "quantiles"
    parts: int

    def __post_init__(self) -> None:
        if not isinstance(self.parts, int) or not 2 <= self.parts <= 1000:
            raise InvalidInput(f"quantiles must be a whole number in 2..1000; got {self.parts}.")

    def resolved(self, values: Iterable[Number]) -> Edges:
        """Return the edges at the values of the inner quantiles, equal ones once."""
        try:
            return Edges(tuple(sorted({_number(value, "an edge") for value in values})))
        except InvalidInput:
            fault = "quantiles must be finite and below 2**63; some are not. Declare edges."
        raise InvalidInput(fault)  # of its own: the other one has a value of the table


_BY_NAME: Mapping[str, Any] = {
    "edges": Edges,
    "width": Width,
    "each": Each,
    "calendar": Calendar,
    "days": Days,
    "dates": DateEdges,
}
Bins: TypeAlias = Edges | Width | Each | Quantiles | DateBins | CellBins


def bins_from_dict(values: Mapping[str, Any]) -> Bins:
    """Return the bins that ``to_dict`` wrote.

    Examples
    --------
    >>> bins_from_dict(Width(10).to_dict())
    Width(width=10)
    """
    match values:
        case {"bins": "quantiles", "parts": int(parts)} if len(values) == 2:
            return Quantiles(parts)  # of a schema; the columns of a file have edges instead
    check(values, "release", "bins")
    if values["bins"] == "cells":
        return CellBins.from_dict(values)
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k != "bins"}
    found: Bins = _BY_NAME[values["bins"]](**plain)
    return found


def parse_bins(text: str) -> tuple[str, Bins]:
    """Return the column and the bins of a command line option.

    Parameters
    ----------
    text
        ``COLUMN=BINS``; the column may itself contain an equals sign: the last one divides.

    Raises
    ------
    InvalidInput
        When the text is not of that form.

    Examples
    --------
    >>> parse_bins("age=0,18,30")
    ('age', Edges(edges=(0, 18, 30)))
    >>> parse_bins("a=b=width:0.5")
    ('a=b', Width(width=0.5))
    >>> parse_bins("born=month")
    ('born', Calendar(unit='month'))
    """
    name, equals, form = text.rpartition("=")
    if not equals or not name:
        raise InvalidInput(
            f"bins must be written COLUMN=BINS, such as age=width:10; got {text!r}. "
            f"BINS may be {_FORMS}."
        )
    return name, as_bins(name, form)


def bins_text(bins: Bins) -> str:
    """Return bins as the text that `as_bins` reads.

    Examples
    --------
    >>> bins_text(Edges((0, 18, 30))), bins_text(Width(10)), bins_text(Calendar("month"))
    ('0,18,30', 'width:10', 'month')
    """
    match bins:
        case Edges() | DateEdges():
            return ",".join(edge if isinstance(edge, str) else _shown(edge) for edge in bins.edges)
        case Width():
            return f"width:{_shown(bins.width)}"
        case Days():
            return f"width:{bins.days}"
        case Quantiles():
            return f"quantiles:{bins.parts}"
        case Calendar():
            return bins.unit
        case Each():
            return "each"
    raise InvalidInput("cells are learnt from the table: no text says them.")


def _bins_of(name: str, form: str) -> Bins:
    kind, colon, size = form.strip().partition(":")
    if kind == "each" and not colon:
        return Each()
    if kind in {"day", "month", "quarter", "year"} and not colon:
        return Calendar(kind)
    if re.match(r"\s*\d{4}-\d", form):
        return DateEdges(tuple(part.strip() for part in form.split(",")))
    try:
        if kind == "width" and colon:
            return Width(_parsed(size))
        if kind == "quantiles" and colon:
            parts = _parsed(size)
            return Quantiles(parts if isinstance(parts, int) else 0)
        return Edges(tuple(map(_parsed, form.split(","))))
    except InvalidInput:
        raise
    except ValueError:
        pass
    raise InvalidInput(f"bins of {name!r} must be {_FORMS}; got {form.strip()!r}.")


def as_bins(name: str, value: Any) -> Bins:
    """Return the bins of a column from any form: bins, a text such as "width:10", or edges.

    Raises
    ------
    InvalidInput
        For anything else.

    Examples
    --------
    >>> as_bins("age", "width:10"), as_bins("age", [0, 18, 65])
    (Width(width=10), Edges(edges=(0, 18, 65)))
    """
    if isinstance(value, Bins):
        return value
    if isinstance(value, str):
        return _bins_of(name, value)
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise InvalidInput(
            f"bins of {name!r} must be edges, or a text such as 'width:10'; "
            f"got {type(value).__name__}."
        )
    return Edges(tuple(edge.item() if hasattr(edge, "item") else edge for edge in value))


def as_bins_by_name(given: Any) -> dict[str, Bins]:
    """Return the bins of several columns, by name; see `as_bins`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(
            "bins must be a mapping from column to bins, such as {'age': 'width:10'}; got "
            f"{type(given).__name__}."
        )
    return {name: as_bins(name, value) for name, value in given.items()}


def _parsed(part: str) -> Number:
    try:
        return int(part)
    except ValueError:
        return float(part)


def _number(value: Any, what: str) -> Number:
    """Return a finite number; a float that is whole becomes an int, so that labels are short."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidInput(f"{what} must be a number; got {type(value).__name__}.")
    if isinstance(value, Decimal):
        value = float(value)
    if not -_LARGEST < value < _LARGEST:
        raise InvalidInput(f"{what} must be finite and below 2**63; got {value}.")
    return int(value) if value == int(value) else value


def _shown(number: Number) -> str:
    return _plain(Decimal(repr(number)))


def _plain(number: Decimal) -> str:
    """Return the digits without an exponent or trailing zeros."""
    digits = f"{number:f}"
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) or "0"
