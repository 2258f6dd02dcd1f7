"""Figure 1: how often each log-lift occurs, under the paper's generator and the one that fits."""

import math
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Floats
from lowlift.paper.points import histogram

_N_S = 5
#: Name, |X| and how entries are drawn.
GENERATORS = (
    ("uniform entries, |X|=17 (as stated)", 17, "uniform"),
    ("|N(0,1)| entries, |X|=18 (fits)", 18, "normal"),
)


@dataclass(frozen=True, eq=False)
class Density:
    """The probability of each bin of the smallest and largest log-lifts of symbols."""

    name: str
    centres: Floats
    ours: Floats
    #: The printed histogram; None at another size than the paper's.
    theirs: Floats | None
    #: The smallest and largest log-lift seen, per side.
    min_lift_range: tuple[float, float]
    max_lift_range: tuple[float, float]

    @property
    def distance(self) -> float:
        """The total variation distance from the printed histogram; NaN where there is none."""
        if self.theirs is None:
            return math.nan
        return float(np.abs(self.ours - self.theirs).sum() / 2)


def lifts_of(entries: Floats) -> Floats:
    """Return P(s|x) / P(s) of random joints (k, |S|, |X|) that are not yet scaled to sum to 1."""
    p_sx = entries / entries.sum(axis=(1, 2), keepdims=True)
    return np.asarray(p_sx / p_sx.sum(axis=1, keepdims=True) / p_sx.sum(axis=2, keepdims=True))


def densities(
    joints: int, seed: int, n_s: int | None = None, n_x: int | None = None
) -> list[Density]:
    """Return the histogram of min_s and max_s log-lift over random joints, per generator.

    The bins are the printed ones; at another size, as many of their width as it takes.

    Examples
    --------
    >>> [round(d.distance, 1) for d in densities(1000, seed=0)]
    [0.2, 0.0]
    """
    found = []
    for generator, own, kind in GENERATORS:
        rng = np.random.default_rng([seed, n_x or own])
        size = joints, n_s or _N_S, n_x or own
        entries = rng.random(size) if kind == "uniform" else np.abs(rng.standard_normal(size))
        lift = lifts_of(entries)
        low, high = np.log(lift.min(axis=1)).ravel(), np.log(lift.max(axis=1)).ravel()
        ends = (float(low.min()), float(low.max())), (float(high.min()), float(high.max()))
        theirs: Floats | None
        name, (centres, theirs) = generator, histogram()
        half = (centres[1] - centres[0]) / 2
        if n_s is not None or n_x is not None:
            theirs = None
            name = f"{generator.partition(', |X|')[0]}, |X|={n_x or own}"
            span = np.floor(ends[0][0] / (2 * half)), np.ceil(ends[1][1] / (2 * half))
            centres = np.arange(span[0], span[1] + 1) * 2 * half
        edges = np.append(centres - half, centres[-1] + half)
        # What lies beyond the printed range counts in the outermost bins.
        values = np.clip(np.concatenate([low, high]), edges[0], edges[-1])
        ours = np.histogram(values, edges)[0] / len(values)
        found.append(Density(name, centres, ours, theirs, *ends))
    return found
