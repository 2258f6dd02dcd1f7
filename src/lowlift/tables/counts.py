"""How many rows each combination of symbols has, and the joint distribution of S and X in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowlift._joint import Joint, Label
from lowlift.errors import InvalidInput
from lowlift.tables.columns import MISSING, Column

_MOST_CELLS = 20_000_000


@dataclass(frozen=True)
class Counts:
    """The rows of each combination of symbols that occurs.

    Parameters
    ----------
    columns
        What was counted.
    symbols
        One tuple of labels per combination, sorted: numbers and bins by size, missing last.
    counts
        The rows of each.
    rows
        Rows counted: the sum of `counts`.
    dropped
        Rows that left because a value was missing.
    """

    columns: tuple[Column, ...]
    symbols: list[tuple[Label, ...]]
    counts: list[int]
    rows: int
    dropped: int

    @classmethod
    def from_rows(
        cls, columns: Sequence[Column], found: Iterable[tuple[Any, ...]], missing: str
    ) -> "Counts":
        """Return the counts of an engine's answer: symbol texts, then the number.

        Raises
        ------
        InvalidInput
            When values are missing and `missing` is "error"; the message has their number.
        """
        if not isinstance(missing, str) or missing not in MISSING:
            raise InvalidInput(f"missing must be value, drop or error; got {missing!r}.")
        ranked = [_Ranked(column) for column in columns]
        groups = [
            (tuple(map(_Ranked.label, ranked, texts)), int(number)) for *texts, number in found
        ]
        ranks = [part.ranks() for part in ranked]
        groups.sort(key=lambda group: tuple(map(dict.__getitem__, ranks, group[0])))
        return cls._of(columns, groups).after_missing(missing)

    @classmethod
    def _of(
        cls, columns: Sequence[Column], groups: Sequence[tuple[Any, int]], dropped: int = 0
    ) -> "Counts":
        numbers = [number for _, number in groups]
        return cls(tuple(columns), [labels for labels, _ in groups], numbers, sum(numbers), dropped)

    def after_missing(self, missing: str) -> "Counts":
        """Return counts that have missing values as values with those treated as `missing` says."""
        if missing == "value":
            return self
        pairs = zip(self.symbols, self.counts, strict=True)
        kept = self._of(self.columns, [pair for pair in pairs if None not in pair[0]], self.dropped)
        dropped = self.rows - kept.rows
        if missing == "error" and dropped:
            names = ", ".join(repr(column.name) for column in self.columns)
            raise InvalidInput(
                f"no value may be missing in {names}; {dropped} rows have one. "
                "Count missing as a value, or drop those rows."
            )
        return replace(kept, dropped=self.dropped + dropped)

    def last_columns(self, size: int) -> "Counts":
        """Return the counts of the last columns alone."""
        sums: dict[tuple[Label, ...], int] = {}
        for symbol, amount in zip(self.symbols, self.counts, strict=True):
            sums[symbol[-size:]] = sums.get(symbol[-size:], 0) + amount
        return self._of(self.columns[-size:], list(sums.items()), self.dropped)

    def joint(self, n_sensitive: int) -> Joint:
        """Return the joint distribution of S (the first columns) and X (the others), exactly.

        Parameters
        ----------
        n_sensitive
            How many columns are S; at least one is left for X.

        Raises
        ------
        InvalidInput
            When nothing was counted or the table of S and X would be too large.

        Guarantee
            The same rows give the same joint, labels in the same order, on every engine.

        Cost
            O(|S| |X|) memory.
        """
        if not 0 < n_sensitive < len(self.columns):
            raise InvalidInput(
                f"n_sensitive must lie in 1..{len(self.columns) - 1}; got {n_sensitive}."
            )
        if not self.symbols:
            raise InvalidInput("a joint must have rows; all were dropped for missing values.")
        s_of: dict[tuple[Label, ...], int] = {}
        x_of: dict[tuple[Label, ...], int] = {}
        cells = []
        for labels in self.symbols:
            s = s_of.setdefault(labels[:n_sensitive], len(s_of))
            cells.append((s, x_of.setdefault(labels[n_sensitive:], len(x_of))))
        if len(s_of) * len(x_of) > _MOST_CELLS:
            raise InvalidInput(
                f"S and X must span at most {_MOST_CELLS} cells; they have {len(s_of)} times "
                f"{len(x_of)} symbols. Use fewer columns or wider bins."
            )
        table = np.zeros((len(s_of), len(x_of)), np.int64)
        places = np.array(cells)
        np.add.at(table, (places[:, 0], places[:, 1]), self.counts)
        # The combinations are sorted, so S already is; X is sorted here.
        found = list(x_of)
        order = self._sorted(found, self.columns[n_sensitive:])
        return Joint.from_counts(
            table[:, order], _shown(list(s_of)), _shown([found[x] for x in order])
        )

    @staticmethod
    def _sorted(symbols: list[tuple[Label, ...]], columns: Sequence[Column]) -> list[int]:
        keys = [
            tuple(column.order_of(label) for column, label in zip(columns, symbol, strict=True))
            for symbol in symbols
        ]
        return sorted(range(len(symbols)), key=keys.__getitem__)


def _shown(symbols: list[tuple[Label, ...]]) -> list[Label]:
    """Return the label itself for one column, a tuple for more."""
    return [symbol[0] if len(symbol) == 1 else symbol for symbol in symbols]


class _Ranked:
    """The labels of one column, made once per text, and their order."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.labels: dict[str | None, Label] = {}

    def label(self, text: str | None) -> Label:
        if text not in self.labels:
            self.labels[text] = self.column.label_of(text)
        return self.labels[text]

    def ranks(self) -> dict[Label, int]:
        labels = sorted(self.labels.values(), key=self.column.order_of)
        return {label: rank for rank, label in enumerate(labels)}
