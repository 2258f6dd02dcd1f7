"""Check that the bound holds on the table that is to be published, with what is kept beside Y."""

import warnings
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from lowlift._audit import Audit, audit
from lowlift._channel import Channel
from lowlift._joint import Joint, Label
from lowlift._population.evidence import Evidence, evidence_against
from lowlift._release import Release
from lowlift.criteria import Population, criterion_on, plain_criterion
from lowlift.encodings import Encoded
from lowlift.errors import BoundViolated, InvalidInput, LowliftWarning
from lowlift.tables import Column, Counts, Each, Table
from lowlift.workflow.columns import per_column, quiet_joint

#: Kinds of columns whose values can be told apart one by one, so that keeping them can be audited.
_AUDITABLE = {"text", "integer", "boolean", "date", "uuid"}


def refuse_false(encoded: Encoded) -> None:
    """Refuse a release whose audit is false, as a whole or for one sensitive column."""
    release = encoded.release
    parts = per_column(release.joint, release.channel, release.criterion, encoded.origin.sensitive)
    if not all(part.is_satisfied for part in (release.audit, *(found for _, found in parts))):
        raise BoundViolated(
            f"this release does not satisfy {release.criterion}; nothing was written. "
            "Design it again with a mechanism that repairs it."
        )


def refuse_unchecked(encoded: Encoded, present: Sequence[Column]) -> None:
    """Refuse a table that has not all columns of S."""
    missing = [repr(column.name) for column in encoded.origin.sensitive if column not in present]
    raise BoundViolated(
        f"the sensitive columns must be in the table; {', '.join(missing)} of the release is not, "
        "so the bound cannot be checked here. Nothing was written. Give the table with that column "
        "under its name, or accept a table on which the bound is not checked.",
        advice="unchecked",
    )


def check_here(counts: Counts, encoded: Encoded) -> None:
    """Audit the channel under this table's own counts, of some columns of S by X."""
    missing, size = encoded.origin.missing, len(encoded.origin.released)
    counts.after_missing(missing)  # refuses missing values where they are an error
    if missing == "drop":
        without = sum(
            amount
            for symbol, amount in zip(counts.symbols, counts.counts, strict=True)
            if None in symbol[:-size] and None not in symbol[-size:]
        )
        if without:
            raise InvalidInput(
                f"{without:,} rows have no value of S, so they were not part of the design, but "
                "would be published.",
                advice="missing",
            )
    if isinstance(encoded.release.criterion, Population):
        _check_new_rows(counts, encoded)
        return
    found = first_broken(counts, encoded)
    if found is not None:
        raise BoundViolated(
            f"{broken_words(found)} Nothing was written. Design the release on this table; a "
            "design with a smaller budget leaves room for change."
        )


def _check_new_rows(counts: Counts, encoded: Encoded) -> None:
    """Refuse rows that prove the bound for the population broken; warn of those in doubt."""
    here, criterion = _here(counts, encoded), encoded.release.criterion
    if here is None:
        return
    joint, channel = here
    found, plain = _evidence(joint, channel, encoded.release), plain_criterion(criterion)
    if found.is_proof:
        raise BoundViolated(
            f"these rows prove that the population no longer satisfies {plain}, with an error of "
            f"at most {found.alpha:.3g}: {found.words}. Nothing was written. Design the release on "
            "these rows."
        )
    verdict = audit(joint, channel, plain)
    if not verdict.is_satisfied:
        warnings.warn(
            f"in these rows {len(verdict.violations)} of {channel.n_y} outputs are beyond {plain} "
            f"(leakage {verdict.leakage.lower:.4f} below, {verdict.leakage.upper:.4f} above), "
            "which chance alone can do: they do not prove that the population changed.",
            LowliftWarning,
            stacklevel=4,
        )


def _evidence(joint: Joint, channel: Channel, release: Release) -> Evidence:
    """Return how strongly new rows speak against a release for the population."""
    criterion = release.criterion
    share = dict(zip(map(_tuple, release.joint.s_labels), release.joint.p_s, strict=True))
    rare = 1 / (2 * release.joint.total)  # of a value that the design did not have
    p_s = np.array([share.get(_tuple(label), rare) for label in joint.s_labels])
    p_y = np.array([release.audit.p_y[label[0]] for label in channel.y_labels])  # type: ignore[index]  # pairs
    alpha = float(1 - Fraction(repr(criterion.confidence)))  # type: ignore[attr-defined]  # Population
    bound = plain_criterion(criterion_on(criterion, joint))
    counts = joint.counts.astype(np.float64)
    return evidence_against(counts, channel.p_y_given_x, bound, (p_s, p_y), alpha)


def _tuple(label: Label) -> Label:
    return label if isinstance(label, tuple) else (label,)


def broken_words(found: Audit) -> str:
    """Say how an audit on a table fails."""
    return (
        f"on this table the release does not satisfy {found.criterion}: "
        f"{len(found.violations)} of {found.channel.n_y} outputs break it (leakage "
        f"{found.leakage.lower:.4f} below, {found.leakage.upper:.4f} above)."
    )


def first_broken(counts: Counts, encoded: Encoded) -> Audit | None:
    """Return the first false audit under counts of S by X (by kept columns), None when all hold.

    Some columns of S may be absent. S is audited as a whole and column by column. Symbols that the
    design did not have are left out: their rows are refused or suppressed.
    """
    here, release = _here(counts, encoded), encoded.release
    if here is None:
        return None
    joint, channel = here
    criterion = release.criterion
    sensitive = [column for column in encoded.origin.sensitive if column in counts.columns]
    is_kept = len(counts.columns) > len(sensitive) + len(encoded.origin.released)
    if isinstance(criterion, Population) and not is_kept:
        is_proof = _evidence(joint, channel, release).is_proof
        return audit(joint, channel, plain_criterion(criterion)) if is_proof else None
    parts = per_column(joint, channel, criterion, sensitive)
    every = (audit(joint, channel, criterion), *(found for _, found in parts))
    return next((found for found in every if not found.is_satisfied), None)


def _here(counts: Counts, encoded: Encoded) -> tuple[Joint, Channel] | None:
    """Return counts of S by X and kept columns as a joint, and the channel that publishes them."""
    origin, release = encoded.origin, encoded.release
    number = {label: x for x, label in enumerate(release.joint.x_labels)}
    n_s = sum(column in counts.columns for column in origin.sensitive)
    n_x = len(origin.released)
    cells: dict[tuple[Label, ...], dict[tuple[Label, ...], int]] = {}
    for symbol, amount in zip(counts.symbols, counts.counts, strict=True):
        s, x, kept = symbol[:n_s], symbol[n_s : n_s + n_x], symbol[n_s + n_x :]
        label: Label = x[0] if n_x == 1 else x
        is_dropped = origin.missing == "drop" and None in x
        if label in number and not is_dropped:
            row = cells.setdefault((number[label], *kept), {})
            row[s] = row.get(s, 0) + amount
    if not cells:
        return None
    s_labels = list(dict.fromkeys(s for row in cells.values() for s in row))
    table = [[row.get(s, 0) for row in cells.values()] for s in s_labels]
    joint = quiet_joint(table, s_labels, list(cells))
    return joint, _spread(joint, release.channel)


def _spread(joint: Joint, channel: Channel) -> Channel:
    """Return the channel (x, kept) -> (y, kept); the joint's symbols are (number of x, kept)."""
    outputs: dict[Label, list[tuple[int, int]]] = {}
    for y in range(channel.n_y):
        for x, weight in zip(*channel.atom(y), strict=True):
            outputs.setdefault(x, []).append((y, weight))
    atoms: dict[tuple[Label, ...], tuple[list[int], list[int]]] = {}
    for place, label in enumerate(joint.x_labels):
        number, *kept = label if isinstance(label, tuple) else (label,)
        for y, weight in outputs[number]:
            members, weights = atoms.setdefault((y, *kept), ([], []))
            members.append(place)
            weights.append(weight)
    return Channel.from_atoms(joint, list(atoms.values()), channel.denominator, list(atoms))


def refuse_kept(encoded: Encoded, keep: Sequence[str]) -> None:
    """Refuse to keep a column of S or X beside Y.

    Names are compared without regard to case: most engines read a name in either case as the same
    column, in quotes too.
    """
    protected = {name.casefold() for name in encoded.origin.schema.names}
    clash = sorted(name for name in keep if name.casefold() in protected)
    if clash:
        raise InvalidInput(f"{clash[0]!r} is a column of S or X; it cannot be kept as it is.")


def why_not_covered(table: Table, encoded: Encoded, keep: Sequence[str]) -> str:
    """Audit Y and the kept columns together; return why the bound does not cover them, or ""."""
    counts = _with_kept(table, encoded, keep)
    if isinstance(counts, str):
        return counts
    found = first_broken(counts, encoded)
    if found is None:
        return ""
    return (
        f"{len(found.violations):,} of {found.channel.n_y:,} pairs of output and kept values break "
        f"{encoded.release.criterion}"
    )


def audit_with_kept(table: Table, encoded: Encoded, keep: Sequence[str]) -> Audit | None:
    """Return the audit of Y and the kept columns together; None where they cannot be counted."""
    counts = _with_kept(table, encoded, keep)
    here = None if isinstance(counts, str) else _here(counts, encoded)
    return None if here is None else audit(*here, encoded.release.criterion)


def _with_kept(table: Table, encoded: Encoded, keep: Sequence[str]) -> Counts | str:
    """Count S by X and the kept columns; return why they cannot be counted."""
    origin = encoded.origin
    refuse_kept(encoded, keep)
    if any(column.name not in table.kinds for column in origin.sensitive):
        return "S is not in this table, so it cannot be told"
    columns = []
    for name in keep:
        if name not in table.kinds:
            raise InvalidInput(f"the kept column {name!r} is not in the table.")
        kind = table.kinds[name]
        if kind not in _AUDITABLE:
            return f"{name!r} is of kind {kind}, too fine to be counted"
        columns.append(Column(name, kind, Each() if kind == "integer" else None))
    try:
        # A missing value of a kept column is published as such: it counts as a value.
        return table.count([*origin.columns, *columns])
    except InvalidInput as error:
        return f"they have too many values to be counted: {error}"
