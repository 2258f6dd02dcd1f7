"""The points that the paper's figures print, as data."""

import csv
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from lowlift._arrays import Floats

#: Per (figure, series, quantity): the value at each printed epsilon.
Points: TypeAlias = MappingProxyType[tuple[int, str, str], MappingProxyType[float, float]]


def _rows(name: str) -> list[dict[str, str]]:
    with (resources.files("lowlift.paper") / "data" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def _points() -> Points:
    found: dict[tuple[int, str, str], dict[float, float]] = {}
    for row in _rows("figures.csv"):
        key = int(row["figure"]), row["series"], row["quantity"]
        found.setdefault(key, {})[float(row["epsilon"])] = float(row["value"])
    return MappingProxyType({key: MappingProxyType(curve) for key, curve in found.items()})


def printed(figure: int, series: str, quantity: str) -> MappingProxyType[float, float]:
    """Return the values that a figure prints for a series, by epsilon; empty when it prints none.

    Parameters
    ----------
    figure
        2 to 8.
    series
        For example "alip-0.5" (the number is lambda), "aorr", "alpha-10".
    quantity
        "nmi", "min_lift_leakage", "max_lift_leakage" or "seconds".

    Examples
    --------
    >>> round(printed(4, "alip-0.5", "nmi")[2.0], 3)
    0.833
    """
    return _points().get((figure, series, quantity), MappingProxyType({}))


def histogram() -> tuple[Floats, Floats]:
    """Return the centres of Figure 1's bins (log-lift) and their probabilities.

    Examples
    --------
    >>> centres, probabilities = histogram()
    >>> len(centres), round(probabilities.sum(), 9)
    (169, np.float64(1.0))
    """
    rows = _rows("figure1.csv")
    centres = np.array([float(row["log_lift"]) for row in rows])
    return centres, np.array([float(row["probability"]) for row in rows])
