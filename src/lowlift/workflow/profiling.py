"""Look at all columns of a table before some are chosen: what each is, and says about S."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowlift._kernels import association
from lowlift._logs import logged
from lowlift._wording import counted, joined
from lowlift.errors import InvalidInput
from lowlift.tables import Table, open_table
from lowlift.tables.bins import as_bins_by_name
from lowlift.tables.columns import NUMERIC, Column
from lowlift.tables.schema import column_names
from lowlift.workflow.identifiers import flags_of
from lowlift.workflow.profiles import ColumnProfile, TableProfile

if TYPE_CHECKING:
    from lowlift._arrays import Ints
    from lowlift.tables.profiling import Coding, Profiling, Summary

#: Columns to accept, and those of them of which we measure what they add to each other.
_MOST_COLUMNS, _MOST_TOGETHER = 1_000, 40
#: Combinations of the values of S to accept.
_MOST_SENSITIVE = 1_000
#: Numbers with more different values are cut at quantiles, into this many parts.
_FEW_VALUES, _PARTS = 50, 20
#: Categories counted one by one; in pairs of columns, and the parts of numbers there.
_MOST_VALUES, _MOST_PAIRED, _PAIRED_PARTS = 1_000, 14, 8
#: Rows that pairs of columns are counted in, about.
_PAIRED_ROWS = 100_000
#: How often a guess must be right for a column that nearly determines S.
_NEARLY = 0.99
#: Rows below which the numbers say little.
_FEW_ROWS = 100

#: By whether the column determines S, and S the column.
_RELATIONS = {
    (True, True): "same-as-sensitive",
    (True, False): "determines-sensitive",
    (False, True): "follows-from-sensitive",
}
_TELLING = frozenset((*_RELATIONS.values(), "nearly-determines-sensitive"))


def profile_columns(
    source: Any,
    sensitive: str | Sequence[str],
    *,
    bins: Mapping[str, Any] | None = None,
    engine: str | None = None,
    is_alone: bool = False,
) -> TableProfile:
    """Look at every column of a table: its kind, what it says about S, what speaks against it.

    Parameters
    ----------
    source, engine
        As for `lowlift.tables.open_table`.
    sensitive
        The columns of S; several are one symbol.
    bins
        As for `Schema`, for columns that shall be looked at as they will be published. Other
        numbers are cut at quantiles; S at its quartiles, if it has more than 50 values.
    is_alone
        Whether each column is measured by itself only, which spares the pass over pairs.

    Raises
    ------
    InvalidInput
        For a table or columns that cannot be counted; no value of the table is in the message.

    Cost
        One pass for different and missing values, one for quantiles, one for all counts by S, and
        one for all pairs of columns. Only counts leave the engine.
    """
    names = column_names(sensitive, "sensitive")
    if not names or len(set(names)) < len(names):
        raise InvalidInput(
            f"sensitive must name at least one column, none twice; got {len(names)} names."
        )
    with open_table(source, engine) as table:
        return profile_table(table, names, as_bins_by_name(bins), is_alone=is_alone)


@logged("columns", lambda found: f"{found.rows:,} rows, {len(found.columns):,} columns")
def profile_table(
    table: Table,
    sensitive: Sequence[str],
    bins: Mapping[str, Any] | None = None,
    *,
    is_alone: bool = False,
) -> TableProfile:
    """Look at the columns of an open table, which are all held (`Table.hold`)."""
    _check_size(table, sensitive)
    return _Look(table, tuple(sensitive), bins or {}).profile(is_alone=is_alone)


def flagged(
    table: Table, sensitive: Sequence[str], released: Sequence[str] = ()
) -> tuple[ColumnProfile, ...]:
    """Return columns with what their own counts tell: those released, or all but S.

    One pass over the columns; nothing of S is counted.
    """
    if not released:
        _check_size(table, sensitive)
    names = released or [name for name in table.kinds if name not in sensitive]
    table.hold((*sensitive, *names))
    look: Profiling = table.profiling()
    found = look.summaries([name for name in names if table.kinds[name] != "other"])
    return tuple(
        ColumnProfile(
            name,
            table.kinds[name],
            found[name].different if name in found else None,
            1 - found[name].present / table.rows if name in found else None,
            flags=tuple(flags_of(look, name, table.kinds[name], found.get(name), table.rows)),
        )
        for name in names
    )


def _check_size(table: Table, sensitive: Sequence[str]) -> None:
    for name in sensitive:
        table.check_name(name)
    if len(table.kinds) > _MOST_COLUMNS:
        raise InvalidInput(
            f"a table must have at most {_MOST_COLUMNS:,} columns to be looked at; this one has "
            f"{len(table.kinds):,}. Use a part of it, or name the columns to publish."
        )
    table.hold(table.kinds)


class _Look:
    """One look at a table."""

    def __init__(self, table: Table, sensitive: tuple[str, ...], bins: Mapping[str, Any]) -> None:
        self.table, self.sensitive = table, sensitive
        self.engine: Profiling = table.profiling()
        self.binned = {name: table.column(name, each) for name, each in bins.items()}
        for name in sensitive:
            if table.kinds[name] == "other":
                Column(name, "other")  # which says what to do about it
        self.names = [n for n, kind in table.kinds.items() if kind != "other"]
        self.summaries: dict[str, Summary] = self.engine.summaries(self.names)
        self.rows = table.rows
        self.notes: list[str] = []
        #: The counts of pairs of columns, in the table's order.
        self.pairs: dict[tuple[str, str], Ints] = {}
        cut = [n for n in self.names if self._is_cut(n)]
        sizes = {n: self.summaries[n].present for n in cut}
        fine = {n: k for n, k in sizes.items() if n not in sensitive}
        self.edges = self.engine.edges(fine, _PARTS)
        self.coarse = self.engine.edges(fine, _PAIRED_PARTS)
        own = self.engine.edges({n: k for n, k in sizes.items() if n in sensitive}, 4)
        if own:
            self.notes.append(
                f"S is cut at its quartiles here ({joined(list(own))}); declare bins to look at "
                "the values that you will protect."
            )
        self.s_codings = [
            self._coding(n, own.get(n), self.summaries[n].different) for n in sensitive
        ]
        size = math.prod(coding.size for coding in self.s_codings)
        if size > 4 * _MOST_SENSITIVE:
            raise InvalidInput(
                f"S must have at most {_MOST_SENSITIVE:,} values to look at columns; "
                f"{joined(list(sensitive))} may have {size:,}. Give numbers and dates wider bins, "
                "or name fewer columns."
            )
        #: Categories of a column that get a code of their own.
        self.most = max(_FEW_VALUES, min(_MOST_VALUES, 100_000 // size))

    def _is_cut(self, name: str) -> bool:
        kind, found = self.table.kinds[name], self.summaries[name]
        is_ordered = kind in NUMERIC | {"date", "timestamp"}
        return is_ordered and name not in self.binned and found.different > _FEW_VALUES

    def _coding(self, name: str, edges: Sequence[float] | None, most: int) -> "Coding":
        return self.engine.coding(name, self.binned.get(name), edges, most)

    def profile(self, *, is_alone: bool) -> TableProfile:
        others = [name for name in self.table.kinds if name not in self.sensitive]
        if not others:
            self.notes.append("There is no column but the sensitive ones.")
        flags = {name: self._flags(name) for name in others}
        measured = [
            n for n in others if {"identifier", "not-counted", "constant"}.isdisjoint(flags[n])
        ]
        codings = [self._coding(name, self.edges.get(name), self.most) for name in measured]
        alone = self.engine.by_sensitive(codings or [self.s_codings[0]], self.s_codings)
        s = alone[0].sum(axis=0)
        s = s[s > 0]
        if len(s) > _MOST_SENSITIVE:
            raise InvalidInput(
                f"S must have at most {_MOST_SENSITIVE:,} values to look at columns; it has "
                f"{len(s):,}. Give numbers and dates wider bins, or name fewer columns."
            )
        counts = dict(zip(measured, alone, strict=False))
        if len(s) == 1:
            self.notes.append("S has one value only: no column says anything about it.")
            counts = {}
        if self.rows < _FEW_ROWS:
            self.notes.append(
                f"With {counted(self.rows, 'row')} the numbers say little, and identifiers can be "
                "missed: look at each column yourself."
            )
        for name, found in counts.items():
            flags[name] += self._says_s(name, association.occupied(found))
        telling = [name for name in counts if not _TELLING.isdisjoint(flags[name])]
        added, explained = self._on_top(
            {} if is_alone else {n: f for n, f in counts.items() if n not in telling}
        )
        if (
            not is_alone
            and set(counts) - set(added)
            and any(not _TELLING.isdisjoint(f) for f in flags.values())
        ):
            self.notes.append(
                "What the others add to each other is measured without the columns that tell S by "
                "themselves."
            )
        if explained is not None and explained >= _NEARLY:
            self.notes.append("The columns that were measured together nearly determine S.")
        duplicates = self._duplicates(counts)
        columns = tuple(
            self._column(name, flags[name], counts.get(name), added.get(name), duplicates)
            for name in others
        )
        return TableProfile(
            self.table.description,
            self.rows,
            self.sensitive,
            len(s),
            association.entropy(s) / math.log(2),
            float(s.max() / s.sum()),
            explained,
            columns,
            tuple(self.notes),
        )

    def _flags(self, name: str) -> list[str]:
        kind = self.table.kinds[name]
        found = flags_of(self.engine, name, kind, self.summaries.get(name), self.rows)
        if name not in self.binned or "free-text" in found:
            return found
        return [f for f in found if f not in {"identifier", "almost-unique"}]  # bins repeat

    def _column(
        self,
        name: str,
        flags: list[str],
        counts: "Ints | None",
        on_top: float | None,
        duplicates: Mapping[str, tuple[str, ...]],
    ) -> ColumnProfile:
        kind, found = self.table.kinds[name], self.summaries.get(name)
        values = None if found is None else found.different
        missing = None if found is None else 1 - found.present / self.rows
        if counts is None:
            return ColumnProfile(name, kind, values, missing, flags=tuple(flags))
        # The first code is of missing values.
        n_bins = int((counts[1:].sum(axis=1) > 0).sum()) if name in self.edges else None
        counts = association.occupied(counts)
        low, high = association.lift_range(counts)
        bits = association.information(counts) / math.log(2)
        guess = association.guessed(counts)
        whole = association.entropy(counts.sum(axis=0)) / math.log(2)
        alone = association.explained(counts)
        return ColumnProfile(
            name,
            kind,
            values,
            missing,
            low,
            high,
            bits,
            bits / whole,
            guess,
            None if math.isnan(alone) else alone,
            on_top,
            name in self.edges,
            n_bins,
            tuple(flags),
            duplicates.get(name, ()),
        )

    def _says_s(self, name: str, counts: "Ints") -> list[str]:
        """Return whether the column determines S, from the counts of its codes by S."""
        if self._has_codes(name) and self.rows >= 2 * len(counts):
            is_known = bool((np.count_nonzero(counts, axis=1) == 1).all())
            follows = bool((np.count_nonzero(counts, axis=0) == 1).all())
            if is_known or follows:
                return [_RELATIONS[is_known, follows]]
        base = float(counts.sum(axis=0).max() / counts.sum())
        is_near = association.guessed(counts) >= max(_NEARLY, base + 0.001)
        return ["nearly-determines-sensitive"] if is_near else []

    def _has_codes(self, name: str) -> bool:
        """Tell whether each value of a column was counted by itself."""
        return name not in self.edges and self.summaries[name].different <= self.most

    def _on_top(self, counts: Mapping[str, "Ints"]) -> tuple[dict[str, float | None], float | None]:
        """Return what each column adds to the others, and what all of them explain."""
        if not counts:
            return {}, None
        names = list(counts)
        if len(names) > _MOST_TOGETHER:
            said = {name: association.information(counts[name]) for name in names}
            best = set(sorted(names, key=lambda name: -said[name])[:_MOST_TOGETHER])
            names = [name for name in names if name in best]
            self.notes.append(
                f"What a column adds to the others is measured among the {_MOST_TOGETHER} that "
                "say most alone."
            )
        part = max(1, self.rows // _PAIRED_ROWS)
        if part > 1:
            self.notes.append(
                f"What a column adds to the others is measured in one of {part} rows."
            )
        codings = [self._coding(name, self.coarse.get(name), _MOST_PAIRED) for name in names]
        by_s, pairs = self.engine.by_pairs(codings, self.s_codings, part)
        self.pairs = {(names[a], names[b]): found for (a, b), found in pairs.items()}
        if not by_s[0].any():
            return {}, None
        added, whole = association.explained_on_top(by_s, pairs)
        if math.isnan(whole):
            return {}, None
        return dict(zip(names, added, strict=True)), whole

    def _duplicates(self, counts: Mapping[str, "Ints"]) -> dict[str, tuple[str, ...]]:
        """Return for each column those with the same values, one to one.

        Only columns with as many values and missing ones can be, and where each value has a code,
        with the same counts by S: few are compared in the engine.
        """
        alike: dict[Any, list[str]] = {}
        for name, by_s in counts.items():
            found = self.summaries[name]
            own = sorted(association.occupied(by_s).tolist()) if self._has_codes(name) else None
            alike.setdefault((found.different, found.present, str(own)), []).append(name)
        same: dict[str, tuple[str, ...]] = {}
        for (different, present, _), group in alike.items():
            size = different + (present < self.rows)
            # Columns that are nearly unique are one to one, whatever they hold.
            is_unique = 2 * size > self.rows
            rest = list(group)
            while len(rest) > 1:
                first, *others = rest
                near = [o for o in others if not is_unique or self._is_same_order(first, o)]
                sizes = self.engine.different_pairs([(first, other) for other in near])
                equal = [o for o, pairs in zip(near, sizes, strict=True) if pairs == size]
                for name in (first, *equal) if equal else ():
                    same[name] = tuple(n for n in (first, *equal) if n != name)
                rest = [name for name in others if name not in equal]
        return same

    def _is_same_order(self, first: str, second: str) -> bool:
        """Tell whether two columns of numbers have the same quantiles."""
        found = self.pairs.get((first, second))
        if found is None:
            return False
        return all(bool((np.count_nonzero(found, axis) <= 1).all()) for axis in (0, 1))
