"""The same questions to everyone who publishes rows: change, tables, and an attack."""

from typing import Any

import numpy as np
import numpy.typing as npt
from rows_rivals import Published
from rows_tables import Rows

from lowlift._arrays import Floats
from lowlift._cells.features import number_feature
from lowlift._cells.utility import Values, compare
from lowlift.workflow.attack import attacks

#: A column of numbers with at most so many different values is a category, as it is for cells.
FEW = 8


def places(source: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[Floats, Floats] | None:
    """Return the ranks of numbers, in [0, 1], in the source; None for a category."""
    if source.dtype.kind != "f" or len(np.unique(source[~np.isnan(source)])) <= FEW:
        return None
    ranks = number_feature("", source).places
    known = ~np.isnan(source)
    values, first = np.unique(source[known], return_index=True)
    found = np.interp(other, values, ranks[known][first])
    if not known.all():
        found = np.where(np.isnan(other), ranks[~known][0], found)
    return ranks, found


def change(source: Values, rows: Any, published: Values) -> float:
    """Return the mean over columns of the distance between rows and what is published for them.

    The distance of numbers and dates is that of their ranks in the source, all else is 0 or 1.
    """
    found = []
    for name, values in source.items():
        ranks = places(values, published[name])
        if ranks is not None:
            found.append(float(np.abs(ranks[0][rows] - ranks[1]).mean()))
            continue
        here, there = values[rows], published[name]
        same = here == there
        if values.dtype.kind == "f":
            same |= np.isnan(here) & np.isnan(there)
        found.append(1 - float(np.mean(same)))
    return float(np.mean(found))


def scores(table: Rows, made: Published, draws: int) -> dict[str, Any]:
    """Return what becomes of rows and tables, over some draws, and what an attacker guesses."""
    drawn = [made.draw(seed) for seed in range(draws)]
    tables = [compare(table.columns, one, seed) for seed, one in enumerate(drawn)]
    found: dict[str, Any] = {
        "change": float(np.mean([change(table.columns, made.rows, one) for one in drawn])),
        "random": at_random(table),
        "middle": made.middle and change(table.columns, made.rows, made.middle),
    }
    for name in ("columns_mean", "bootstrap_columns", "pairs_mean", "bootstrap_pairs"):
        found[name] = float(np.mean([getattr(one, name) for one in tables]))
    shown = drawn[0] if made.shown is None else made.shown
    # What is shown are further rows: the attack is told which of them is published for which row.
    both = {name: np.concatenate([table.columns[name], shown[name]]) for name in table.columns}
    guess = attacks(
        both,
        np.concatenate([table.sensitive, table.sensitive[made.rows]]).tolist(),
        made.rows,
        len(table) + np.arange(len(made.rows)),
    )[1]
    return found | {"attack": guess.published, "attack_raw": guess.raw}


def at_random(table: Rows) -> float:
    """Return the change to a row of the table drawn at random."""
    rows = np.arange(len(table))
    other = np.random.default_rng(0).permutation(rows)
    return change(table.columns, rows, {name: x[other] for name, x in table.columns.items()})
