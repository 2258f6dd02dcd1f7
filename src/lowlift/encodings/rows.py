"""Rows drawn inside cells: the cells in words, how many rows stay, how far they move."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._joint import Label
from lowlift._labels import number_of
from lowlift._release import Release
from lowlift.tables.schema import Origin

if TYPE_CHECKING:
    from lowlift._distortion.certificate import DistortionCertificate


def cell_texts(origin: Origin, labels: Sequence[Label]) -> tuple[str, ...]:
    """Return the conditions of cells in words, no two alike."""
    bins: Any = None if origin.cells is None else origin.cells.bins
    texts = [bins.tree.describe(number_of(label)) for label in labels]
    count = Counter(texts)  # long lists of values are cut, so that two can read the same
    return tuple(
        text if count[text] == 1 else f"{text} (cell {label})"
        for text, label in zip(texts, labels, strict=True)
    )


@dataclass(frozen=True)
class RowChanges:
    """How rows that are published differ from those that they replace, in expectation.

    Parameters
    ----------
    cells, parts
        Cells of the program, and the parts that they were split into afterwards.
    stay
        The share of rows that are published from their own cell.
    distortion, lower_bound
        The mean distance between the cell of a row and the cell it is published from, 0 to 1; and
        what is proven that no channel on these cells that keeps their law and the bound has less.
        None for a release without a certificate.
    """

    cells: int
    parts: int
    stay: float
    distortion: float | None = None
    lower_bound: float | None = None

    @classmethod
    def of(cls, release: Release) -> "RowChanges":
        """Return what a release of cells does to rows."""
        joint, channel = release.joint, release.channel
        proven: DistortionCertificate | Any = release.certificate
        parent = np.array((proven and proven.bins) or range(joint.n_x))
        number = {label: x for x, label in enumerate(joint.x_labels)}
        outputs = np.array([number[label] for label in channel.y_labels])
        is_own = parent[outputs][channel.entry_outputs] == parent[channel.members]
        masses = joint.p_x[channel.members] * (channel.member_weights / channel.denominator)
        stay = min(1.0, float(masses[is_own].sum()))
        ends = (proven.distortion, proven.lower_bound) if proven else (None, None)
        return cls(len(np.unique(parent)), joint.n_x, stay, *ends)
