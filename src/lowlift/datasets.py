"""Small published tables, embedded as numbers, for examples and first steps."""

import csv
import os
from pathlib import Path

from lowlift._joint import Joint

__all__ = ["titanic", "write_titanic"]

_CLASSES = ("1st", "2nd", "3rd", "crew")
#: (sex, age): people lost and people saved, by class.
_TITANIC = {
    ("man", "adult"): ((118, 154, 387, 670), (57, 14, 75, 192)),
    ("woman", "adult"): ((4, 13, 89, 3), (140, 80, 76, 20)),
    ("man", "child"): ((0, 0, 35, 0), (5, 11, 13, 0)),
    ("woman", "child"): ((0, 0, 17, 0), (1, 13, 14, 0)),
}


def titanic() -> Joint:
    """Return the 2201 people aboard the Titanic: survival (S) by class, sex and age (X).

    Fourteen combinations of class, sex and age occurred. Source of the counts: R. J. MacG. Dawson,
    "The 'Unusual Episode' Data Revisited", Journal of Statistics Education 3(3), 1995.

    Examples
    --------
    >>> joint = titanic()
    >>> joint.counts.sum(), joint.s_labels, joint.n_x
    (np.int64(2201), ('lost', 'saved'), 14)
    """
    labels, lost, saved = [], [], []
    for (sex, age), (dead, alive) in _TITANIC.items():
        for name, n_dead, n_alive in zip(_CLASSES, dead, alive, strict=True):
            if n_dead + n_alive:
                labels.append(f"{name} {sex} {age}")
                lost.append(n_dead)
                saved.append(n_alive)
    return Joint.from_counts([lost, saved], ("lost", "saved"), labels)


def write_titanic(path: str | os.PathLike[str]) -> None:
    """Write the same as a CSV file, one row per person: class, sex, age, survived."""
    joint = titanic()
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("class", "sex", "age", "survived"))
        for s, row in zip(joint.s_labels, joint.counts.tolist(), strict=True):
            for x, amount in zip(joint.x_labels, row, strict=True):
                writer.writerows([(*str(x).split(" "), s)] * int(amount))
