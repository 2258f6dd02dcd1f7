"""Verify from scratch: a release, the table it was made from, what was published; no solver."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowlift._audit import audit
from lowlift._labels import number_of
from lowlift._logs import logged
from lowlift._receipts import Receipt, read_receipt, receipt_path
from lowlift._release import Release
from lowlift.encodings import Encoded, is_deterministic
from lowlift.encodings import published as published_form
from lowlift.errors import InvalidInput
from lowlift.estimation import estimate
from lowlift.tables import Counts, ReadBack, Table, open_table, read_back
from lowlift.tables.schema import NO_TABLE
from lowlift.tables.staging import read_back_cells
from lowlift.workflow.bounds import first_broken
from lowlift.workflow.columns import joint_of, per_column

#: A published table this unlikely under its release was not drawn from it.
_UNLIKELY = 1e-9


@dataclass(frozen=True)
class Check:
    """One thing that was checked, whether it is so, and the number behind it."""

    name: str
    is_ok: bool
    detail: str
    #: Not so, and accepted by whoever asked.
    is_accepted: bool = False


SAME_COUNTS = "the table's counts are the stored ones"
#: How it is known that the bound holds on the table that was published.
_COUNTED = "S by X counted there"
_TAKEN = "the receipt says so; it is checked anew when the table that was published is given"


@dataclass(frozen=True)
class _Source:
    """What is known of the table that was published, in words."""

    words: str
    is_broken: bool = False


@dataclass(frozen=True)
class Verification:
    """Everything that was checked."""

    checks: tuple[Check, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all of it is so, apart from what was accepted."""
        return all(check.is_ok or check.is_accepted for check in self.checks)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """What is not so and was accepted."""
        return tuple(f"{c.name} ({c.detail})" for c in self.checks if c.is_accepted)


def _verified(found: Verification) -> str:
    held = sum(check.is_ok for check in found.checks)
    word = "passed" if found.is_ok else "FAILED"
    return f"{held} of {len(found.checks)} checks hold, {word}"


@logged("verify", _verified)
def verify(
    release_file: str | Release,
    *,
    against: Any = None,
    published: Any = None,
    receipt: Receipt | None = None,
    engine: str | None = None,
    accept_unchecked: bool = False,
) -> Verification:
    """Check a release, the table it was counted from, and a table published by it.

    Parameters
    ----------
    release_file
        A release or its file. Its audit is made anew from the stored counts and weights; a file
        whose stored audit disagrees is refused.
    against
        A table: its counts must be the stored ones. If it is the one that was published, by the
        receipt's digest (or name) and rows, the bound is checked on it anew. Otherwise `verify`
        takes the receipt's word that it was checked, and says so.
    published
        A published table: it must have the release's columns and outputs and nothing else, a
        receipt with its rows, and frequencies that the channel explains. Without a receipt it was
        not published: the run that wrote it did not end.
    receipt
        Of a published frame; that of a file or a database table lies beside it.
    accept_unchecked
        Accept a table that was published without S in it, so that the bound was not checked there.
    """
    release = _release_of(release_file)
    if release.origin is None:
        if against is None and published is None:
            return Verification((_bound(release),))
        raise InvalidInput(NO_TABLE, advice="design")
    checks, encoded = _of_release(release)
    if encoded is None:
        return Verification(tuple(checks))
    columns = encoded.origin.columns
    receipt = _receipt_of(published, receipt)
    counts = None
    if against is not None:
        with open_table(against, engine) as table:
            table.check_columns(columns)
            counts = table.count(columns)
            digest = table.sha256()
            is_source = receipt is not None and (
                receipt.source_sha256 == digest
                and (digest is not None or receipt.source == table.description)
                and receipt.rows_in == counts.rows
            )
        checks.append(_same_counts(counts, encoded))
        if not is_source:
            counts = None  # of another table than was published
    if published is not None:
        with open_published(published, engine) as table:
            is_there = all(name in table.kinds for name in encoded.names)
            nothing = ReadBack(tuple(table.kinds), (), 0, None)
            found = _read(table, encoded) if is_there else nothing
        there = _Source(_TAKEN) if counts is None else _counted_there(counts, encoded)
        checks += _published(found, receipt, encoded, there, accept_unchecked)
    return Verification(tuple(checks))


def _read(table: Table, encoded: Encoded) -> ReadBack:
    """Count the outputs in a published table."""
    cells = encoded.origin.cells
    if cells is None:
        return read_back(table, encoded.columns)
    return read_back_cells(table, cells, list(map(number_of, encoded.channel.y_labels)))


def _release_of(given: str | Release) -> Release:
    """Return a release with its audit made anew."""
    if not isinstance(given, Release):
        return Release.from_json(given)
    return replace(given, audit=audit(given.joint, given.channel, given.criterion))


@logged("verify", _verified)
def verify_written(
    release: Release,
    receipt: Receipt,
    found: ReadBack,
    counts: Counts | None,
    *,
    accept_unchecked: bool = False,
) -> Verification:
    """Check a release, a receipt and a table that were written and are not yet visible.

    Parameters
    ----------
    release, receipt
        As they will be published; where they are files, read from them.
    found
        What was read from the written table.
    counts
        Of S by X as read from the input, missing values as values; None when it was not counted.
    """
    checks, encoded = _of_release(release)
    if encoded is None:
        return Verification(tuple(checks))
    if counts is not None:
        checks.append(_same_counts(counts, encoded))
    # The bound was checked on the input by the run that calls this.
    checks += _published(found, receipt, encoded, _Source(_COUNTED), accept_unchecked)
    return Verification(tuple(checks))


def _bound(release: Release) -> Check:
    found = release.audit
    detail = (
        f"{release.criterion}, exact: leakage {found.leakage.lower:.6f} below, "
        f"{found.leakage.upper:.6f} above, over {release.channel.n_y} outputs"
    )
    return Check("the bound holds", found.is_satisfied, detail)


def _of_release(release: Release) -> tuple[list[Check], Encoded | None]:
    """Check the channel that is published; there is none for a release that breaks its bound."""
    if not release.audit.is_satisfied:
        return [_bound(release)], None
    encoded = published_form(release)
    checks = [_bound(encoded.release)]
    words = f"published as {encoded.name}"
    checks.append(Check("it holds as published", encoded.release.audit.is_satisfied, words))
    sensitive = encoded.origin.sensitive
    parts = per_column(release.joint, encoded.channel, release.criterion, sensitive)
    if parts:
        held = [name for name, found in parts if found.is_satisfied]
        words = f"{len(held)} of {len(parts)} sensitive columns"
        checks.append(Check("it holds for each alone", len(held) == len(parts), words))
    return checks, encoded


def open_published(path: Any, engine: str | None) -> Table:
    """Open a published table; ``table:NAME`` is one of Spark's catalog, as for `apply`."""
    if isinstance(path, str) and path.startswith("table:"):
        return open_table(path.removeprefix("table:"), engine or "spark", is_text=True)
    return open_table(path, engine, is_text=True)


def _same_counts(every: Counts, encoded: Encoded) -> Check:
    origin, joint = encoded.origin, encoded.release.joint
    counted = every.after_missing(origin.missing)
    found = joint_of(counted, len(origin.sensitive))
    is_same = (
        found.s_labels == joint.s_labels
        and found.x_labels == joint.x_labels
        and bool((found.counts == joint.counts).all())
    )
    detail = f"{counted.rows:,} rows; designed on {origin.rows:,}"
    return Check(SAME_COUNTS, is_same, detail)


def _published(
    found: ReadBack,
    receipt: Receipt | None,
    encoded: Encoded,
    source: _Source,
    accept_unchecked: bool,
) -> list[Check]:
    origin, kept = encoded.origin, set() if receipt is None else set(receipt.kept)
    clash = kept & {column.name for column in origin.columns}
    if clash:
        words = f"{len(clash)} of the kept columns are of S or X, which are never kept"
        return [Check("it has the released columns and no others", is_ok=False, detail=words)]
    expected = set(encoded.names) | kept
    extra = set(found.names) ^ expected
    words = (
        f"{len(extra)} differ"
        if extra
        else f"{len(expected)} column{'s' if len(expected) > 1 else ''}"
    )
    checks = [Check("it has the released columns and no others", not extra, words)]
    if extra:
        return checks
    no = "in no cell" if encoded.origin.cells is not None else "no output"
    words = f"{found.unknown:,} of {found.rows:,} rows are {no} of the release"
    checks.append(Check("every row is an output", found.unknown == 0, words))
    if receipt is None:
        words = "none beside it: it was not published, the run that wrote it did not end"
        checks.append(Check("receipt", is_ok=False, detail=words))
    else:
        checks += _as_receipt(receipt, found.rows, found.sha256, encoded)
        checks.append(_checked_there(receipt, source, accept_unchecked=accept_unchecked))
        if receipt.outside_the_guarantee:
            words = ", ".join(receipt.outside_the_guarantee)
            checks.append(Check("outside the guarantee", is_ok=True, detail=words))
    if found.unknown == 0 and encoded.release.joint.is_counted:
        is_here = receipt is None or (
            receipt.source_sha256 == origin.sha256 and receipt.rows_in == origin.rows
        )
        test = _plausible if is_here else _possible
        checks.append(test(encoded, found.counts))
    return checks


def _counted_there(counts: Counts, encoded: Encoded) -> _Source:
    """Check the bound anew on the table that the receipt names."""
    if first_broken(counts, encoded) is None:
        return _Source(_COUNTED)
    return _Source("S by X counted there, and it does not hold", is_broken=True)


def _checked_there(receipt: Receipt, source: _Source, *, accept_unchecked: bool) -> Check:
    is_checked = receipt.checked_on_this_table
    words = source.words if is_checked else "S was not in it: its lifts are not known"
    return Check(
        "check of the bound on the table that was published",
        is_checked and not source.is_broken,
        words,
        is_accepted=accept_unchecked and not is_checked,
    )


def _as_receipt(receipt: Receipt, rows: int, sha256: str | None, encoded: Encoded) -> list[Check]:
    """Check that the receipt is of this file and this release."""
    same_release = receipt.release == encoded.release.fingerprint
    written = receipt.output_sha256
    # Who asked for a seed knows that such a table is for tests; who is handed it may not.
    is_seeded = receipt.draws.startswith("seeded")
    checks = [
        Check("as many rows as the receipt", rows == receipt.rows_out, f"{rows:,} rows"),
        Check("the receipt is of this release", same_release, receipt.release[:16]),
        Check("draws", not is_seeded, receipt.draws, is_accepted=is_seeded),
    ]
    if written is not None:  # a table of a database has no digest
        detail = f"SHA-256 {str(sha256)[:16]}"
        checks.append(Check("the file is as it was written", written == sha256, detail))
    return checks


def _receipt_file(path: str) -> Path:
    name = path.rsplit("/", maxsplit=1)[-1]
    is_glob = "://" not in path and "/" in path and "*" in name
    # The files of a folder, as Spark writes them, share the folder's receipt.
    return receipt_path(path.rsplit("/", maxsplit=1)[0] if is_glob else path)


def _receipt_of(published: Any, given: Receipt | None) -> Receipt | None:
    """Return the receipt given, or the one beside a published table; None where there is none."""
    if given is not None or not isinstance(published, str):
        return given
    file = _receipt_file(published)
    return read_receipt(file) if file.exists() else None


def _plausible(encoded: Encoded, counts: Sequence[int]) -> Check:
    """Test whether the published frequencies fit the release: chi-square, Poisson for rare ones."""
    from scipy.special import chdtrc, pdtrc  # scipy.stats takes a second to load

    joint, channel = encoded.release.joint, encoded.channel
    if is_deterministic(channel) and sum(counts) == int(joint.counts.sum()):
        sums = joint.counts.sum(axis=0)
        exact = [int(sum(sums[x] for x in channel.atom(y)[0])) for y in range(channel.n_y)]
        words = "exactly, as nothing was drawn"
        return Check("frequencies fit the release", exact == list(counts), words)
    expected = (encoded.release.audit.p_y * sum(counts)).tolist()
    pairs = list(zip(counts, expected, strict=True))
    common = [(o, e) for o, e in pairs if e >= 5]
    statistic = sum((o - e) ** 2 / e for o, e in common)
    value = float(chdtrc(len(common) - 1, statistic)) if len(common) > 1 else 1.0
    rare = sum(o for o, e in pairs if e < 5), sum(e for _, e in pairs if e < 5)
    if rare[0]:  # too many rows of outputs that are hardly expected
        value = min(value, float(pdtrc(rare[0] - 1, rare[1])))
    detail = f"p = {value:.3g} over {len(common)} common outputs and the rare ones"
    return Check("frequencies fit the release", value > _UNLIKELY, detail)


def _possible(encoded: Encoded, counts: Sequence[int]) -> Check:
    """Test whether any P(X) explains the published frequencies: for another table than designed."""
    found = estimate(encoded.channel, list(counts), 1 - _UNLIKELY)
    words = "published from another table than designed on; some P(X) explains it"
    return Check("frequencies fit the channel", found.is_consistent, words)
