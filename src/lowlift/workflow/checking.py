"""Verify from scratch: a release, the table it was made from, what was published; no solver."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lowlift.composition import Together, audit_together
from lowlift.encodings import encode
from lowlift.errors import InvalidInput
from lowlift.joint import Joint
from lowlift.release import Release
from lowlift.tables import Column, OutputColumn, Table, open_table
from lowlift.workflow.applying import output_columns, receipt_path
from lowlift.workflow.columns import Spec, check_kinds

__all__ = ["Check", "Verification", "audit_releases", "counts_of_outputs", "verify"]

#: A published table this unlikely under its release was not drawn from it.
_UNLIKELY = 1e-9


@dataclass(frozen=True)
class Check:
    """One thing that was checked, whether it is so, and the number behind it."""

    name: str
    is_ok: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    """Everything that was checked."""

    checks: tuple[Check, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all of it is so."""
        return all(check.is_ok for check in self.checks)


def verify(
    release_file: str,
    *,
    against: Any = None,
    published: str | None = None,
    engine: str | None = None,
) -> Verification:
    """Check a release file, the table it was counted from, and a table published by it.

    Parameters
    ----------
    release_file
        Its audit is made anew from the stored counts and weights; a file whose stored audit
        disagrees is refused.
    against
        A table: its counts must be the stored ones.
    published
        A published table: it must have the release's columns and outputs and nothing else, the
        rows of its receipt, and frequencies that the channel explains.
    """
    release = Release.from_json(release_file)
    audit = release.audit
    detail = (
        f"{release.criterion}, exact: leakage {audit.leakage.lower:.6f} below, "
        f"{audit.leakage.upper:.6f} above, over {release.channel.n_y} outputs"
    )
    checks = [Check("the bound holds", audit.is_satisfied, detail)]
    if against is None and published is None:
        return Verification(tuple(checks))
    spec = Spec.from_dict(release.table)
    encoded = encode(release, spec.encoding)
    words = f"published as {encoded.name}"
    checks.append(Check("it holds as published", encoded.release.audit.is_satisfied, words))
    if against is not None:
        with open_table(against, engine) as table:
            checks.append(_same_counts(table, spec, release.joint))
    if published is not None:
        checks += _published(published, output_columns(encoded, spec), release, engine)
    return Verification(tuple(checks))


def _same_counts(table: Table, spec: Spec, joint: Joint) -> Check:
    check_kinds(table, (*spec.sensitive, *spec.released))
    counted = table.count([*spec.sensitive, *spec.released], missing=spec.missing)
    found = counted.joint(len(spec.sensitive))
    is_same = (
        found.s_labels == joint.s_labels
        and found.x_labels == joint.x_labels
        and bool((found.counts == joint.counts).all())
    )
    detail = f"{counted.rows:,} rows; designed on {spec.rows:,}"
    return Check("the table's counts are the stored ones", is_same, detail)


def _published(
    path: str, columns: Sequence[OutputColumn], release: Release, engine: str | None
) -> list[Check]:
    kept, rows = _receipt(path)
    with open_table(path, engine, is_text=True) as table:
        expected = {column.name for column in columns} | set(kept)
        extra = sorted(set(table.kinds) ^ expected)
        checks = [
            Check(
                "it has the released columns and no others",
                not extra,
                f"{len(expected)} columns" if not extra else f"{len(extra)} differ",
            )
        ]
        if extra:
            return checks
        counts, unknown = counts_of_outputs(table, columns)
    detail = f"{unknown:,} of {sum(counts) + unknown:,} rows are no output of the release"
    checks.append(Check("every row is an output", unknown == 0, detail))
    if rows is not None:
        total = sum(counts) + unknown
        checks.append(Check("as many rows as the receipt", rows == total, f"{total:,} rows"))
    if release.joint.is_counted and unknown == 0:
        checks.append(_plausible(release, columns, counts))
    return checks


def counts_of_outputs(table: Table, columns: Sequence[OutputColumn]) -> tuple[list[int], int]:
    """Return the rows of each output in a published table, and the rows that are none."""
    asked = []
    for column in columns:
        if column.name not in table.kinds:
            raise InvalidInput(
                f"the published table must have the column {column.name!r}; it has not."
            )
        asked.append(Column(column.name, "text"))  # what was written, whatever it looks like
    counted = table.count(asked)
    outputs = list(zip(*(column.texts for column in columns), strict=True))
    place = {texts: y for y, texts in enumerate(outputs)}
    counts, unknown = [0] * len(outputs), 0
    for symbol, amount in zip(counted.symbols, counted.counts, strict=True):
        texts = tuple(c.text_of(label) for c, label in zip(asked, symbol, strict=True))
        if texts in place:
            counts[place[texts]] += amount
        else:
            unknown += amount
    return counts, unknown


def _receipt(path: str) -> tuple[list[str], int | None]:
    """Return the kept columns and the rows that the receipt beside a published table says."""
    file = receipt_path(path)
    if not Path(file).exists():
        return [], None
    try:
        saved = json.loads(Path(file).read_text("utf-8"))
        return [str(name) for name in saved["kept"]], int(saved["rows_out"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{Path(file).name} is no receipt, or is damaged.") from error


def _plausible(release: Release, columns: Sequence[OutputColumn], counts: list[int]) -> Check:
    """Test whether the published frequencies fit the channel (a chi-square test)."""
    from scipy import stats

    encoded = encode(release, Spec.from_dict(release.table).encoding)
    expected = encoded.release.audit.p_y * sum(counts)
    # Outputs that texts do not tell apart do not occur: labels differ.
    enough = expected >= 5
    observed = np.array(counts, np.float64)
    pairs = [(observed[enough], expected[enough])]
    if not enough.all():
        pairs.append((observed[~enough].sum(keepdims=True), expected[~enough].sum(keepdims=True)))
    o, e = (np.concatenate(part) for part in zip(*pairs, strict=True))
    statistic = float(((o - e) ** 2 / np.maximum(e, 1e-300)).sum())
    value = float(stats.chi2.sf(statistic, max(1, len(o) - 1)))
    detail = f"chi-square p = {value:.3g} over {len(o)} of {len(columns[0].texts)} outputs"
    return Check("frequencies fit the release", value > _UNLIKELY, detail)


def audit_releases(files: Sequence[str]) -> tuple[list[Release], Together]:
    """Return the verdict on several releases of the same table, drawn independently.

    Raises
    ------
    InvalidInput
        When they are not of the same table and columns, or have different criteria.
    """
    if len(files) < 2:
        raise InvalidInput("name two or more releases to audit together.")
    releases = [Release.from_json(file) for file in files]
    first = releases[0].joint
    for file, release in zip(files[1:], releases[1:], strict=True):
        if not _is_same_table(release, releases[0]):
            raise InvalidInput(
                f"{Path(file).name} must be of the table and columns of {Path(files[0]).name}; "
                "it is not. Releases of other columns can be audited together only on the table: "
                "release all columns at once."
            )
        if release.criterion != releases[0].criterion:
            raise InvalidInput(
                f"{Path(file).name} has another criterion than {Path(files[0]).name}; the verdict "
                "is on one bound. Design both for the bound that shall hold together."
            )
    channels = [_published_channel(release) for release in releases]
    return releases, audit_together(first, channels, releases[0].criterion)


def _is_same_table(one: Release, other: Release) -> bool:
    """Tell whether two releases have the same columns of the same table: not only equal counts."""
    joints = one.joint, other.joint
    if joints[0].labels != joints[1].labels or (joints[0].masses != joints[1].masses).any():
        return False
    if one.table is None or other.table is None:
        return one.table is None and other.table is None
    first, second = Spec.from_dict(one.table), Spec.from_dict(other.table)
    return replace(first, encoding="", source="") == replace(second, encoding="", source="")


def _published_channel(release: Release) -> Any:
    if release.table is None:
        return release.channel
    return encode(release, Spec.from_dict(release.table).encoding).release.channel
