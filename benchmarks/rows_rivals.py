"""What else publishes rows under a bound on lifts: full-domain recoding, k-ary response, anjana.

All are given the same rows, and our exact audit judges what they publish, in their own terms.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from rival_process import RivalProcess
from rows_tables import Rows

import lowlift as ll
from lowlift._arrays import Floats, Ints
from lowlift._cells.features import Feature, features_of
from lowlift._cells.utility import Values

#: Quantile bins of a column of numbers, level by level; values as they are come before.
BINS = (16, 8, 4, 2)
#: Outputs of the k-ary response on each column whose lifts are computed.
OUTPUTS = 2000
#: Draws of such outputs, each with the budget that the one before allows.
MOST_DRAWS = 20
#: Settings of anjana: k, and the percentage of rows that it may withhold.
SETTINGS = ((20, 0), (100, 0), (100, 30))


@dataclass(frozen=True)
class Published:
    """What a rival publishes.

    Parameters
    ----------
    verdict
        Whether the bound holds, and how that is known.
    holds
        The same as a fact: None where it is not known.
    settings
        What it was told, and what it found.
    rows
        The rows that are shown.
    draw
        Returns the values of these rows as an analyst reads them, from a seed.
    shown
        What an attacker sees; None: what `draw` returns.
    middle
        Groups read as their median or most frequent value; None where values are published.
    """

    verdict: str
    holds: bool | None
    settings: str
    rows: Ints
    draw: Callable[[int], Values]
    shown: Values | None = None
    middle: Values | None = None


def holds_exactly(masses: Any, criterion: ll.Criterion) -> bool:
    """Tell by the exact audit whether outputs with these masses, (|S|, outputs), are allowed."""
    joint = ll.Joint.from_counts(masses)
    return ll.audit(joint, ll.Channel.identity(joint), criterion).is_satisfied


def holds_in_floats(masses: Any, p_s: Floats, criterion: ll.LIP) -> npt.NDArray[np.bool_]:
    """Tell the same of each output in floats, which is fast; with room for rounding."""
    lift = masses / masses.sum(axis=0) / p_s[:, None]
    room = math.exp(criterion.epsilon) * (1 - 1e-12)
    return np.asarray(((lift <= room) & (lift >= 1 / room)).all(axis=0))


def donors(of: Ints, rows: Ints, seed: int) -> Ints:
    """Return for each row a row drawn uniformly in its class."""
    order = np.argsort(of, kind="stable")
    sizes = np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    at = np.random.default_rng(seed).integers(0, sizes[of[rows]])
    return np.asarray(order[starts[of[rows]] + at])


def chosen(values: Values, rows: Ints) -> Values:
    return {name: column[rows] for name, column in values.items()}


# Full-domain recoding


def levels_of(feature: Feature) -> list[Ints]:
    """Return a hierarchy of a column: the group of each row, from its values to one group.

    Numbers are put into quantile bins. Categories stand in the order of their likeness, and two
    neighbours become one group from level to level. Missing is the largest number, or a category.
    """
    values = np.unique(feature.places, return_inverse=True)[1].reshape(-1)
    found = [values]
    if feature.is_number:
        for bins in BINS:
            cuts = np.unique(np.quantile(feature.places, np.arange(1, bins) / bins))
            found.append(np.searchsorted(cuts, feature.places))
    else:
        while found[-1].max() > 0:
            found.append(found[-1] // 2)
    found.append(np.zeros_like(values))
    found = [np.unique(codes, return_inverse=True)[1].reshape(-1) for codes in found]
    # Each level has fewer groups than the one before.
    return [codes for k, codes in enumerate(found) if k == 0 or codes.max() < found[k - 1].max()]


class Recodings:
    """The lattice of full-domain recodings: one level per column."""

    def __init__(self, table: Rows, features: Sequence[Feature]) -> None:
        self.table, self.features = table, features
        self.levels = [levels_of(feature) for feature in features]
        self.top = tuple(len(levels) - 1 for levels in self.levels)

    def classes(self, node: Sequence[int]) -> Ints:
        """Return the class of each row."""
        of = np.zeros(len(self.table), np.int64)
        for levels, level in zip(self.levels, node, strict=True):
            codes = levels[level]
            if level < len(levels) - 1:
                of = of * (int(codes.max()) + 1) + codes
                of = np.unique(of, return_inverse=True)[1].reshape(-1)
        return of

    def change(self, of: Ints) -> float:
        """Return the mean distance of a row to one drawn in its class."""
        rows = np.arange(len(self.table))
        other = donors(of, rows, 0)
        parts = (
            np.abs(f.places - f.places[other]) if f.is_number else f.codes != f.codes[other]
            for f in self.features
        )
        return float(np.mean([part.mean() for part in parts]))

    def best(self, criterion: ll.LIP, audits: int) -> tuple[tuple[int, ...], int, bool]:
        """Return the allowed recoding of least change, how many were audited, and if that is all.

        Where a class breaks the bound, so does one of the classes that it is split into: nothing
        below such a node is allowed. So the search begins with one class, and splits what is
        allowed, the least change first.
        """
        p_s = np.bincount(self.table.sensitive) / len(self.table)
        heap, seen, done = [(self.change(self.classes(self.top)), self.top)], {self.top}, 0
        found = heap[0]
        while heap and done < audits:
            node = heapq.heappop(heap)[1]
            for k, level in enumerate(node):
                finer = (*node[:k], level - 1, *node[k + 1 :])
                if level == 0 or finer in seen:
                    continue
                seen.add(finer)
                done += 1
                of = self.classes(finer)
                if holds_in_floats(self.table.counts(of), p_s, criterion).all():
                    one = self.change(of), finer
                    heapq.heappush(heap, one)
                    found = min(found, one)
        return found[1], done, not heap


def recoding(table: Rows, criterion: ll.LIP, audits: int) -> Published:
    """Publish groups of values: the best full-domain recoding that is found."""
    features = features_of(table.columns)
    lattice = Recodings(table, features)
    node, done, is_all = lattice.best(criterion, audits)
    of = lattice.classes(node)
    codes = [levels[level] for levels, level in zip(lattice.levels, node, strict=True)]
    kept = sum(level < top for level, top in zip(node, lattice.top, strict=True))
    words = f"{int(of.max()) + 1:,} classes, {kept} of {len(node)} columns not left out whole; "
    words += f"{done:,} recodings audited, {'all that can be allowed' if is_all else 'best first'}"
    holds = holds_exactly(table.counts(of), criterion)
    return grouped(table, np.arange(len(table)), of, codes, holds, words)


def grouped(
    table: Rows, rows: Ints, of: Ints, codes: Sequence[Ints], holds: bool, settings: str
) -> Published:
    """Return what a recoding publishes: `codes` has the group of each row in each column."""
    pairs = list(zip(table.columns.items(), codes, strict=True))
    shown = {
        name: part.astype(np.float64) if values.dtype.kind == "f" else part.astype(str).astype("O")
        for (name, values), part in pairs
    }
    middle = {name: middles(values, part) for (name, values), part in pairs}
    return Published(
        "yes" if holds else "no",
        holds,
        settings,
        rows,
        lambda seed: chosen(table.columns, donors(of, rows, seed)),
        chosen(shown, rows),
        chosen(middle, rows),
    )


def middles(values: npt.NDArray[Any], groups: Ints) -> npt.NDArray[Any]:
    """Return for each row the median of its group, or the most frequent value of a category."""
    column = pd.Series(values)
    few = values.dtype.kind != "f" or column.nunique() <= 8
    way = (lambda x: x.mode(dropna=False).iloc[0]) if few else "median"
    return np.asarray(column.groupby(groups).transform(way).to_numpy(values.dtype))


# k-ary response


def odds_of(counts: Ints, criterion: ll.LIP) -> int:
    """Return the largest whole a for which the k-ary response with odds a + 1 to 1 is allowed.

    A symbol is published as itself with weight a + 1 and as each of the k - 1 others with weight 1,
    so that P(s, y) is n_sy a + n_s over n (a + k). Lifts move away from 1 as a grows.
    """
    p_s = counts.sum(axis=1) / counts.sum()
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        allowed = holds_in_floats(masses_of(counts, middle), p_s, criterion).all()
        low, high = (middle, high) if allowed else (low, middle)
    return low


def masses_of(counts: Ints, odds: int) -> Ints:
    """Return n P(s, y) (a + k) of the k-ary response, in whole numbers."""
    return np.asarray(counts * odds + counts.sum(axis=1, keepdims=True))


def kary_tuple(table: Rows, of: Ints, criterion: ll.LIP, word: str) -> Published:
    """Publish the symbol of a row, or any other; and of it a row drawn uniformly."""
    counts = table.counts(of)
    odds, k = odds_of(counts, criterion), counts.shape[1]
    rows = np.arange(len(table))

    def draw(seed: int) -> Values:
        rng = np.random.default_rng([seed, 2])
        stays = rng.random(len(rows)) < odds / (odds + k)
        symbols = np.where(stays, of, rng.integers(0, k, len(rows)))
        order, sizes = np.argsort(of, kind="stable"), np.bincount(of)
        starts = np.cumsum(sizes) - sizes
        return chosen(table.columns, order[starts[symbols] + rng.integers(0, sizes[symbols])])

    holds = holds_exactly(masses_of(counts, odds), criterion)
    truth = (odds + 1) / (odds + k)
    words = f"{k:,} {word}, true with probability {truth:.3f}: the most that is allowed"
    return Published("yes" if holds else "no", holds, words, rows, draw)


def kary_rows(table: Rows, criterion: ll.LIP) -> Published:
    """Publish the row, or any other one: the symbols are the different rows."""
    of = np.unique(KaryColumns(table).codes, axis=1, return_inverse=True)[1].reshape(-1)
    return kary_tuple(table, of, criterion, "different rows")


class KaryColumns:
    """The k-ary response on each column, of one budget: lifts and draws.

    The probability of y given x is a constant times e**(budget * matches), where `matches` counts
    the columns in which they are equal.
    """

    def __init__(self, table: Rows) -> None:
        self.table = table
        self.domains, codes = [], []
        for values in table.columns.values():
            keys = values if values.dtype.kind == "f" else np.array([repr(v) for v in values])
            _, first, code = np.unique(keys, return_index=True, return_inverse=True)
            self.domains.append(values[first])
            codes.append(code.reshape(-1))
        self.codes = np.array(codes)

    def drawn(self, budget: float, seed: int) -> Ints:
        """Return the codes of published values, (columns, rows)."""
        rng = np.random.default_rng([seed, 3])
        out = self.codes.copy()
        for row, domain in zip(out, self.domains, strict=True):
            k = len(domain)
            lies = rng.random(len(row)) < k / (math.exp(budget) + k - 1)
            row[lies] = rng.integers(0, k, int(lies.sum()))
        return out

    def values(self, codes: Ints) -> Values:
        """Return values from their codes."""
        pairs = zip(self.table.columns, self.domains, codes, strict=True)
        return {name: domain[part] for name, domain, part in pairs}

    def matches(self, outputs: Ints) -> Ints:
        """Return the rows of each s by columns that match, (outputs, |S|, columns + 1)."""
        size, n_s = len(self.codes) + 1, self.table.n_s
        found = []
        for output in outputs.T:
            equal = (self.codes == output[:, None]).sum(axis=0)
            found.append(np.bincount(self.table.sensitive * size + equal, minlength=n_s * size))
        return np.array(found).reshape(-1, n_s, size)

    def masses(self, matches: Ints, budget: float) -> Floats:
        """Return P(s, y), but for a factor that depends on y alone, (|S|, outputs)."""
        return np.asarray((matches @ np.exp(budget * np.arange(matches.shape[2]))).T)

    def largest(self, matches: Ints, criterion: ll.LIP, high: float) -> float:
        """Return the largest budget up to `high` for which these outputs are allowed."""
        p_s, low = np.bincount(self.table.sensitive) / len(self.table), 0.0
        if holds_in_floats(self.masses(matches, high), p_s, criterion).all():
            return high
        while high - low > 1e-4:
            middle = (low + high) / 2
            allowed = holds_in_floats(self.masses(matches, middle), p_s, criterion).all()
            low, high = (middle, high) if allowed else (low, middle)
        return low


def kary_columns(table: Rows, criterion: ll.LIP, *, is_proven: bool) -> Published:
    """Publish each column by a k-ary response, all with one budget.

    Proven: the budgets of the columns sum to that of the criterion, so that the row has local
    differential privacy with it, which implies the bound. Else: the largest budget for which no
    output is seen to break it, of rows of the table and of rows drawn, 2,000 each; the outputs are
    too many to compute all lifts.
    """
    response = KaryColumns(table)
    rows = np.arange(len(table))
    budget = criterion.epsilon / len(table.columns)
    verdict = "yes, by composition"
    holds: bool | None = True
    if not is_proven:
        some = np.random.default_rng(0).permutation(len(table))[:OUTPUTS]
        budget = response.largest(response.matches(response.codes[:, some]), criterion, 10.0)
        verdict, holds = "seen to break", False
        for _ in range(MOST_DRAWS):
            seen = response.matches(response.drawn(budget, 0)[:, some])
            if (less := response.largest(seen, criterion, budget)) == budget:
                verdict, holds = "not seen to break", None
                break
            budget = less
    words = f"budget {budget:.3f} on each of {len(table.columns)} columns"
    return Published(
        verdict, holds, words, rows, lambda seed: response.values(response.drawn(budget, seed))
    )


# anjana


def anjana(
    table: Rows, criterion: ll.LIP, rivals: RivalProcess, folder: Path
) -> tuple[Published, float, float]:
    """Return what anjana publishes by delta-disclosure, its seconds and CPU seconds.

    Of the settings, that of least change among those which our audit allows.
    """
    features = features_of(table.columns)
    lattice = Recodings(table, features)
    texts = [[np.char.add(f"{k}:", part.astype(str)) for k, part in enumerate(levels)]
             for levels in lattice.levels]  # fmt: skip
    for levels in texts:
        levels[-1][:] = "*"
    names = [f"c{k}" for k in range(len(texts))]
    frame = pd.DataFrame({name: levels[0] for name, levels in zip(names, texts, strict=True)})
    path = folder / "anjana.csv"
    frame.assign(s=table.sensitive).to_csv(path, index=False)
    firsts = [np.unique(levels[0], return_index=True)[1] for levels in texts]
    hierarchies = {
        name: [level[first].tolist() for level in levels]
        for name, levels, first in zip(names, texts, firsts, strict=True)
    }
    best: tuple[tuple[bool, float], Published, float, float] | None = None
    for k, share in SETTINGS:
        answer = rivals.ask(
            "anonymise", path=str(path), released=names, sensitive="s", hierarchies=hierarchies,
            delta=criterion.epsilon, k=k, suppressed=share,
        )  # fmt: skip
        if not answer["rows"]:
            continue
        made = _of_anjana(table, criterion, answer, f"k = {k}, up to {share}% of rows withheld")
        change = Recodings.change(lattice, made[1])
        rank = (not made[0].holds, change)
        if best is None or rank < best[0]:
            best = rank, made[0], answer["seconds"], answer["cpu"]
    if best is None:
        raise ValueError("anjana publishes nothing at any setting")
    return best[1:]


def _of_anjana(
    table: Rows, criterion: ll.LIP, answer: dict[str, Any], settings: str
) -> tuple[Published, Ints]:
    """Return what an answer publishes, and the class of each row; withheld rows are the last."""
    rows = np.array(answer["rows"], np.int64)
    values = np.array(answer["values"])
    shown = np.full((len(table), values.shape[1]), "withheld", dtype=object)
    shown[rows] = values
    codes = [np.unique(column.astype(str), return_inverse=True)[1] for column in shown.T]
    of = np.unique(shown.astype(str), axis=0, return_inverse=True)[1].reshape(-1)
    counts = table.counts(of)
    is_shown = np.isin(np.arange(counts.shape[1]), of[rows])
    joint = ll.Joint.from_counts(counts)
    audit = ll.audit(joint, ll.Channel.identity(joint), criterion)
    holds = bool(audit.allowed[is_shown].all())
    kept = sum(len(np.unique(column[rows])) > 1 for column in codes)
    words = f"{settings}, the best of {len(SETTINGS)} settings; {int(is_shown.sum()):,} classes, "
    words += f"{kept} columns not left out whole, {1 - len(rows) / len(table):.0%} withheld"
    return grouped(table, rows, of, codes, holds, words), of
