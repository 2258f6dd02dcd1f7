"""The limits of axes, and their ticks."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._arrays import Floats
from lowlift.figures.palette import INK
from lowlift.figures.panels import Curve

if TYPE_CHECKING:
    from matplotlib.axis import Axis

_MARGIN = 0.04
#: How all text of a chart looks, whatever matplotlib is set to.
TEXT: dict[str, Any] = {"color": INK, "family": "sans-serif", "weight": "normal"}
TEXT |= {"usetex": False, "parse_math": False}


def x_limits(curves: Iterable[Curve], is_log: bool = False) -> tuple[float, float]:
    """Return limits that hold every value and bar that can be drawn."""
    found = [np.empty(0)]
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        found.append(curve.x[keep])
        if curve.style == "bars":
            found.append(bars_and_edges(curve.x[keep], curve.y[keep])[1])
    return _padded(np.concatenate(found), is_log)


def y_limits(curves: Iterable[Curve], is_log: bool) -> tuple[float, float]:
    """Return limits that hold every value and band that can be drawn."""
    found = [np.empty(0)]
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        found += [end[keep] for end in (curve.y, curve.low, curve.high) if end is not None]
        if curve.style == "bars" and not is_log:
            found.append(np.zeros(1))
    return _padded(np.concatenate(found), is_log)


def bars_and_edges(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return bars in order, and their edges half-way between the centres."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    half = np.diff(x) / 2
    if not len(half):
        return y, np.concatenate([x - 0.5, x + 0.5])
    return y, np.concatenate([[x[0] - half[0]], x[:-1] + half, [x[-1] + half[-1]]])


def set_ticks(axis: "Axis", limits: tuple[float, float], *, is_log: bool) -> None:
    """Set a few ticks, written without TeX; the limits matter on a logarithmic axis."""
    from matplotlib import ticker

    axis.set_minor_locator(ticker.NullLocator())
    axis.get_offset_text().set(fontsize=9, **TEXT)
    ticks = _log_ticks(*limits) if is_log else []
    if len(ticks) < 3:
        axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(
            ticker.ScalarFormatter(useOffset=False, useMathText=False, usetex=False)
        )
        return
    is_plain = ticks[0] >= 1e-3 and ticks[-1] < 1e5
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:g}" if is_plain else _power(value))
    )


def _padded(values: Floats, is_log: bool) -> tuple[float, float]:
    """Return limits a little beyond the finite values; on a log scale beyond the positive ones."""
    if is_log:
        low, high = _padded(np.log10(values[values > 0]), is_log=False)
        return 10.0**low, 10.0**high
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    pad = _MARGIN * (high - low) if high - low > 1e-9 * size else (_MARGIN * size or 0.5)
    return low - pad, high + pad


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between the limits, and 2 and 5 times them where those are few."""
    span = math.log10(high) - math.log10(low)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    stride = max(1, math.ceil(span / 7))
    # Three decades hold three powers, one decade three of 1, 2 and 5.
    steps = (1, 2, 5) if span < 3 else (1,)
    ticks = [float(f"{step}e{power}") for power in powers if power % stride == 0 for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def _power(value: float) -> str:
    """Write a number as a power of ten, without TeX.

    Examples
    --------
    >>> _power(2e-5), _power(0.001)
    ('2×10⁻⁵', '10⁻³')
    """
    digit, power = f"{value:.0e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if digit == "1" else f"{digit}×10{raised}"
