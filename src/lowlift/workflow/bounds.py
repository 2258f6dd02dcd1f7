"""Check that the bound holds on the table that is to be published, with what is kept beside Y."""

from collections.abc import Sequence

from lowlift._audit import Audit, audit
from lowlift._channel import Channel
from lowlift._joint import Joint, Label
from lowlift.encodings import Encoded
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables import Column, Counts, Each, Table
from lowlift.workflow.columns import after_missing, per_column, quiet_joint

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
    after_missing(counts, missing)  # refuses missing values where they are an error
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
    found = first_broken(counts, encoded)
    if found is not None:
        raise BoundViolated(
            f"{broken_words(found)} Nothing was written. Design the release on this table; a "
            "design with a smaller budget leaves room for change."
        )


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
    origin, release = encoded.origin, encoded.release
    number = {label: x for x, label in enumerate(release.joint.x_labels)}
    sensitive = [column for column in origin.sensitive if column in counts.columns]
    n_s, n_x = len(sensitive), len(origin.released)
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
    channel, criterion = _spread(joint, release.channel), release.criterion
    parts = per_column(joint, channel, criterion, sensitive)
    every = (audit(joint, channel, criterion), *(found for _, found in parts))
    return next((found for found in every if not found.is_satisfied), None)


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


def why_not_covered(table: Table, encoded: Encoded, keep: Sequence[str]) -> str:
    """Audit Y and the kept columns together; return why the bound does not cover them, or ""."""
    origin = encoded.origin
    clash = sorted(set(keep) & set(origin.schema.names))
    if clash:
        raise InvalidInput(f"{clash[0]!r} is a column of S or X; it cannot be kept as it is.")
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
        counts = table.count([*origin.columns, *columns])
    except InvalidInput as error:
        return f"they have too many values to be counted: {error}"
    found = first_broken(counts, encoded)
    if found is None:
        return ""
    return (
        f"{len(found.violations):,} of {found.channel.n_y:,} pairs of output and kept values break "
        f"{encoded.release.criterion}"
    )
