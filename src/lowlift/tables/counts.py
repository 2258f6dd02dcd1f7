"""How many rows each combination of symbols has, and the joint distribution of S and X in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowlift._arrays import Ints
from lowlift._joint import Joint, Label
from lowlift._wording import counted
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
        # By column and not by row: there may be half a million of them.
        *texts, numbers = list(zip(*found, strict=True)) or [()] * (len(columns) + 1)
        ranked = [_ranked(column, part) for column, part in zip(columns, texts, strict=True)]
        order = np.lexsort([ranks for _, ranks in reversed(ranked)])
        labels = ([known[rank] for rank in ranks[order].tolist()] for known, ranks in ranked)
        amounts = [int(numbers[group]) for group in order.tolist()]
        symbols = list(zip(*labels, strict=True))
        return cls(tuple(columns), symbols, amounts, sum(amounts), 0).after_missing(missing)

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
                f"no value may be missing in {names}; {counted(dropped, 'row lacks', 'rows lack')} "
                "one.",
                advice="missing",
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
        parts = list(zip(*self.symbols, strict=True))
        s_labels, s = _numbered(parts[:n_sensitive])
        x_labels, x = _numbered(parts[n_sensitive:])
        if len(s_labels) * len(x_labels) > _MOST_CELLS:
            raise InvalidInput(
                f"S and X must span at most {_MOST_CELLS} cells; they have {len(s_labels)} times "
                f"{len(x_labels)} symbols. Use fewer columns or wider bins."
            )
        table = np.zeros((len(s_labels), len(x_labels)), np.int64)
        np.add.at(table, (s, x), self.counts)
        # The combinations are sorted, so S already is; X is sorted here.
        order = _order(x_labels, self.columns[n_sensitive:])
        return Joint.from_counts(table[:, order], s_labels, [x_labels[k] for k in order])


def _numbered(parts: Sequence[Sequence[Label]]) -> tuple[list[Any], list[int]]:
    """Return the different symbols as they first come, and the number of each one given.

    The label itself for one column, a tuple for more.
    """
    symbols = parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))
    number_of = {symbol: number for number, symbol in enumerate(dict.fromkeys(symbols))}
    return list(number_of), list(map(number_of.__getitem__, symbols))


def _order(symbols: list[Any], columns: Sequence[Column]) -> list[int]:
    """Return the places of symbols in the order of their labels, column by column."""
    if len(columns) == 1:
        keys: list[Any] = list(map(columns[0].order_of, symbols))
    else:
        keys = [tuple(map(Column.order_of, columns, symbol)) for symbol in symbols]
    return sorted(range(len(symbols)), key=keys.__getitem__)


def _ranked(column: Column, texts: Sequence[str | None]) -> tuple[list[Label], Ints]:
    """Return the labels of a column in their order, and the place there of each text's label."""
    label_of = {text: column.label_of(text) for text in dict.fromkeys(texts)}
    labels = sorted(label_of.values(), key=column.order_of)
    rank_of = {label: rank for rank, label in enumerate(labels)}
    ranks = {text: rank_of[label] for text, label in label_of.items()}
    return labels, np.fromiter(map(ranks.__getitem__, texts), np.int64, len(texts))
