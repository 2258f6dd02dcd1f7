"""A new design that draws as an earlier one did: who did not change gets the same output again.

Draws of both designs are made by the same uniform number of an id. A symbol whose row of the
channel is unchanged keeps its pieces, so that its rows keep their outputs; of a row that changed,
as much is kept as both have. Who holds both tables then holds the pair of outputs that one number
draws, and this pair is audited as one release.
"""

from dataclasses import replace

from lowlift._audit import Audit, audit
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._release import Release
from lowlift.encodings import Encoded, published
from lowlift.errors import BoundViolated, InvalidInput
from lowlift.tables.layouts import Layout
from lowlift.workflow.designing import Design


def continue_design(before: Release, made: Design) -> Design:
    """Return a design that draws by a key as an earlier release did, wherever it can.

    Raises
    ------
    InvalidInput
        For releases of other columns, or of rows drawn inside cells.
    BoundViolated
        When the pairs of an earlier and a new output break the criterion.
    """
    encoded = made.encoded
    found, pairs = continued(published(before), encoded)
    if not pairs.is_satisfied:
        raise BoundViolated(
            f"who holds what the earlier release published would learn more than "
            f"{type(found.criterion).__name__} allows from what changed: {len(pairs.violations):,} "
            f"of {pairs.channel.n_y:,} pairs of an earlier and a new output break it (leakage "
            f"{pairs.leakage.lower:.4f} below, {pairs.leakage.upper:.4f} above). Apply the earlier "
            "release to these rows, or refine it."
        )
    return replace(made, encoded=Encoded(encoded.name, found))


def continued(before: Encoded, new: Encoded) -> tuple[Release, Audit]:
    """Return a release that draws as an earlier one did, and the audit of the pairs of outputs.

    Outputs are the same when they are published as the same values.

    Guarantee
        The law of the new draws is the new channel, exactly. The audit is of people whose symbol is
        the same as before, or who were not there.
    """
    for each in (before, new):
        if each.origin.cells is not None:
            raise InvalidInput(
                "a release of rows does not continue another: its cells are learnt anew from each "
                "table. Apply the earlier release to this table by the same key, or publish it as "
                "a further release."
            )
    if before.origin.released != new.origin.released:
        raise InvalidInput(
            "a release continues one of the same columns and bins; this one has others. Publish "
            "it as a further release."
        )
    joint, layout = new.release.joint, before.release.draws
    layout = layout or Layout.of_alias(before.channel, before.key_scope)
    same = {text: y for y, text in enumerate(_texts(before))}
    names = [same.get(text, -1) for text in _texts(new)]
    old_rows, new_rows = _rows(before.channel), _rows(new.channel)
    number = {label: x for x, label in enumerate(before.release.joint.x_labels)}
    atoms, pieces = dict[tuple[int, int], tuple[list[int], list[int]]](), []
    for x, label in enumerate(joint.x_labels):
        place = number.get(label)
        old = {-1: MAX_DENOMINATOR} if place is None else old_rows[place]
        pieces.append(((0, -1),) if place is None else layout.pieces[place])
        for pair, weight in _plan(old, new_rows[x], names).items():
            members, weights = atoms.setdefault(pair, ([], []))
            members.append(x)
            weights.append(weight)
    labels = tuple(range(len(atoms)))
    channel = Channel.from_atoms(joint, list(atoms.values()), MAX_DENOMINATOR, labels)
    cut = Layout(layout.scope, tuple(pieces)).cut(channel, [parent for parent, _ in atoms])
    draws = cut.renamed([y for _, y in atoms])
    made = replace(new.release, draws=draws)
    return made, audit(joint, channel, made.criterion)


def _texts(encoded: Encoded) -> list[tuple[tuple[str, str | None], ...]]:
    """Return what is published for each output: names of columns and their texts."""
    columns = [[(column.name, text) for text in column.texts] for column in encoded.columns]
    return list(zip(*columns, strict=True))


def _rows(channel: Channel) -> list[dict[int, int]]:
    """Return the weights of each symbol's outputs, of 2**48 in all."""
    scale = MAX_DENOMINATOR // channel.denominator
    found = [dict[int, int]() for _ in range(channel.n_x)]
    for y in range(channel.n_y):
        for x, weight in zip(*channel.atom(y), strict=True):
            found[x][y] = weight * scale
    return found


def _plan(old: dict[int, int], new: dict[int, int], names: list[int]) -> dict[tuple[int, int], int]:
    """Return how much of each old output becomes each new one: as much as can be stays the same."""
    found, left = dict[tuple[int, int], int](), dict(old)
    waiting = list[list[int]]()
    for y, weight in new.items():
        kept = min(left.get(names[y], 0), weight) if names[y] >= 0 else 0
        if kept:
            found[names[y], y] = kept
            left[names[y]] -= kept
        if weight > kept:
            waiting.append([y, weight - kept])
    for before, rest in left.items():
        size = rest
        while size:
            y, weight = waiting[-1]
            taken = min(size, weight)
            found[before, y] = found.get((before, y), 0) + taken
            size, waiting[-1][1] = size - taken, weight - taken
            if taken == weight:
                waiting.pop()
    return found
