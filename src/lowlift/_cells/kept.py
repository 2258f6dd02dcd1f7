"""How many values of rows stay as they are, when rows of cells are published in their place."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._cells.features import Feature, is_rest


class ValuesKept(NamedTuple):
    """What becomes of the values of rows, in expectation, by column.

    Attributes
    ----------
    names
        The columns.
    shares
        The share of rows whose value stays as it is.
    by_chance
        The same if each row were replaced by any row of the table.
    moved, moved_by_chance
        How far a value is from the one that is published: of numbers and dates the difference of
        ranks, of all else 0 or 1; and the same by chance.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    by_chance: tuple[float, ...]
    moved: tuple[float, ...]
    moved_by_chance: tuple[float, ...]

    @property
    def share(self) -> float:
        """The share of all values of these columns that stay as they are."""
        return float(np.mean(self.shares))

    @property
    def chance(self) -> float:
        """The share of all values that chance alone keeps."""
        return float(np.mean(self.by_chance))

    @property
    def nearness(self) -> float:
        """How near rows stay to what they were: 0 is any row of the table, 1 the row itself.

        It depends on no kinds of rows, so that releases with few and with many can be compared.
        """
        most = sum(self.moved_by_chance)
        return min(1.0, max(0.0, 1 - sum(self.moved) / most)) if most else 0.0


def values_kept(
    features: Sequence[Feature], of: Ints, sizes: Ints, flows: tuple[Ints, Ints, Floats]
) -> ValuesKept:
    """Return how many values stay when a row gets another one, drawn from the cell that it gets.

    Parameters
    ----------
    features
        The columns, of rows of the table.
    of
        The cell of each of these rows.
    sizes
        How many rows of the whole table are in each cell.
    flows
        Cells, the cells that rows are drawn from instead, and the share of all rows of each pair.

    Cost
        A product of two sparse matrices, cells by values, for each column.
    """
    found = [
        (*_staying(feature, of, sizes, flows), *_moving(feature, of, sizes, flows))
        for feature in features
    ]
    shares, by_chance, moved, moved_by_chance = zip(*found, strict=True)
    names = tuple(feature.name for feature in features)
    return ValuesKept(names, shares, by_chance, moved, moved_by_chance)


def _moving(
    feature: Feature, of: Ints, sizes: Ints, flows: tuple[Ints, Ints, Floats]
) -> tuple[float, float]:
    """Return how far values of one column move: as published, and by chance.

    Distances are those of classes of values, by which cells are learnt.
    """
    apart = feature.distances
    counts = np.zeros((len(sizes), len(apart)))
    np.add.at(counts, (of, feature.codes), 1)
    rows = counts.sum(axis=1)
    within = ((counts @ apart) * counts).sum(axis=1) - counts @ np.diag(apart)
    inside = (1 - 1 / np.maximum(sizes, 1)) * within / np.maximum(rows * (rows - 1), 1.0)
    shares = counts / np.maximum(rows, 1.0)[:, None]
    source, target, masses = flows
    stays = source == target
    moves = np.zeros((len(sizes), len(sizes)))
    np.add.at(moves, (source[~stays], target[~stays]), masses[~stays])
    moved = float(masses[stays] @ inside[source[stays]] + ((moves @ shares @ apart) * shares).sum())
    whole = counts.sum(axis=0) / len(of)
    return moved, float(whole @ apart @ whole)


def _staying(
    feature: Feature, of: Ints, sizes: Ints, flows: tuple[Ints, Ints, Floats]
) -> tuple[float, float]:
    """Return how many values of one column stay: as published, and by chance.

    Two rows of different cells agree with probability ``sum_v p(v|c) p(v|d)``; two of one cell are
    one row with probability 1/size, else two different ones of those that are looked at.
    """
    from scipy.sparse import csr_matrix

    values, codes = np.unique(feature.places, return_inverse=True)
    shape = len(sizes), len(values)
    counts = csr_matrix((np.ones(len(of)), (of, codes.reshape(-1))), shape)
    total = np.asarray(counts.sum(axis=0)).reshape(-1)
    alike = _alike(feature, values, total)
    rows = np.asarray(counts.sum(axis=1)).reshape(-1)
    squares = np.asarray(counts.multiply(counts).multiply(alike).sum(axis=1)).reshape(-1)
    pairs = np.maximum(rows * (rows - 1), 1.0)
    inside = np.maximum(squares - counts @ alike, 0.0) / pairs
    own = 1 / np.maximum(sizes, 1)
    inside = own + (1 - own) * inside
    source, target, masses = flows
    stays = source == target
    shares = counts.multiply(1 / np.maximum(rows, 1.0)[:, None]).tocsr()
    moves = csr_matrix((masses[~stays], (source[~stays], target[~stays])), (shape[0], shape[0]))
    moved = (moves @ shares).multiply(shares).multiply(alike).sum()
    chance = float((alike * (total**2 - total)).sum() + total.sum()) / len(of) ** 2
    return min(1.0, float(masses[stays] @ inside[source[stays]] + moved)), min(1.0, chance)


def _alike(feature: Feature, places: Floats, rows: Floats) -> Floats:
    """Return for each place how often two different rows there have the same value.

    That is always, but where rare values share one place. The feature knows how often two rows
    there agree that may be one and the same.
    """
    alike = np.ones(len(places))
    if feature.is_number:
        return alike
    for k in np.flatnonzero([is_rest(feature.values[int(place)]) for place in places]).tolist():
        agree = 1 - feature.distances[int(places[k]), int(places[k])]
        alike[k] = max(0.0, (agree * rows[k] - 1) / max(rows[k] - 1, 1.0))
    return alike
