"""A release as a program: plain data by which one record is drawn, here and in exported files.

The program has what a codebook without rounding has (columns, labels, the channel), and neither
counts nor values of S.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from lowlift._channel import Channel
from lowlift._release import Release
from lowlift.encodings import Encoded, published
from lowlift.errors import InvalidInput
from lowlift.tables.alias import slot_bits
from lowlift.tables.draws import Draw
from lowlift.tables.outputs import OutputColumn
from lowlift.tables.schema import NO_TABLE
from lowlift.tables.values import column_rule
from lowlift.workflow.bounds import refuse_false

Program: TypeAlias = dict[str, Any]


def encoded_for_records(release: Release | Encoded) -> Encoded:
    """Return a release in the form in which it is published, if records can be drawn by it.

    Raises
    ------
    BoundViolated
        When its audit is false.
    InvalidInput
        When it does not say its columns, or publishes rows of a table.
    """
    encoded = encoded_for_draws(release)
    if encoded.origin.cells is not None:
        raise InvalidInput(
            "what is published must be drawn from the record itself; this release publishes "
            f"{encoded.name} of other records of its table, which one record does not have. "
            "Use apply on the table, or design with bins."
        )
    return encoded


def encoded_for_draws(release: Release | Encoded) -> Encoded:
    """Return a release in the form in which it is published, if a program with a table can draw it.

    Raises
    ------
    BoundViolated
        When its audit is false.
    InvalidInput
        When it does not say its columns.
    """
    if not isinstance(release, Release | Encoded):
        raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
    if isinstance(release, Release) and release.origin is None:
        raise InvalidInput(NO_TABLE, advice="design")
    encoded = published(release) if isinstance(release, Release) else release
    refuse_false(encoded)
    return encoded


def program_of(encoded: Encoded) -> Program:
    """Return the program of a release, ready for JSON.

    Parameters
    ----------
    encoded
        What `encoded_for_records` returned.

    Returns
    -------
    ``columns``: the released columns, and how a value becomes a text. ``values``: the texts of each
    column. ``symbols``: for each symbol and column, the number of its text. ``rows``: the
    different rows of the channel, each as outputs and weights in turn, which add up to ``2**bits``;
    ``row_of``: the row of each symbol. ``outputs``: the published columns, their texts, and for
    each output the number of its text. ``scope``: what a subkey is made of. ``pieces``: for a
    release that refines another, where ranges of uniform numbers begin (hexadecimal) and their
    outputs, in turn; ``pieces_of``: those of each symbol. ``no_fresh``, ``no_keyed``: why such
    draws are refused; empty where they are not.

    Cost
        O(|X| + |Y| + entries of the channel).
    """
    origin, channel = encoded.origin, encoded.channel
    texts = Draw(origin.released, channel, encoded.release.joint.x_labels).texts()
    numbered = [_numbered(column) for column in zip(*texts, strict=True)]
    rows, row_of = _numbered(_rows(channel))
    layout = encoded.release.draws
    pieces = () if layout is None else layout.pieces
    parts, pieces_of = _numbered(tuple(_flat((f"{s:x}", y) for s, y in part)) for part in pieces)
    slots, no_keyed = _slot_bits(channel)
    return {
        "release": encoded.release.fingerprint,
        "scope": encoded.key_scope,
        "missing": origin.missing,
        "columns": [column_rule(column) for column in origin.released],
        "values": [values for values, _ in numbered],
        "symbols": _flat(zip(*(places for _, places in numbered), strict=True)),
        "bits": channel.denominator.bit_length() - 1,
        "slot_bits": slots,
        "rows": list(map(list, rows)),
        "row_of": row_of,
        "pieces": list(map(list, parts)),
        "pieces_of": pieces_of,
        "outputs": [_output(column) for column in encoded.columns],
        "no_fresh": _refused_fresh(encoded.release),
        "no_keyed": no_keyed if layout is None else "",
    }


def _output(column: OutputColumn) -> dict[str, Any]:
    # `values` refuses days that Python has no type for.
    texts, places = _numbered(column.values and column.written)
    return {"name": column.name, "kind": column.kind, "texts": texts, "places": places}


def _numbered(values: Iterable[Hashable]) -> tuple[list[Any], list[int]]:
    """Return the different values, and for each value its number."""
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(value, len(numbers)) for value in values]
    return list(numbers), places


def _rows(channel: Channel) -> list[tuple[int, ...]]:
    """Return for each symbol its outputs and weights in turn, in the order of the alias table."""
    order = np.argsort(channel.members, kind="stable")
    pairs = np.column_stack([channel.entry_outputs[order], channel.member_weights[order]])
    flat = pairs.ravel().tolist()
    ends = (2 * np.cumsum(np.bincount(channel.members, minlength=channel.n_x))).tolist()
    return [tuple(flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _flat(parts: Iterable[Sequence[Any]]) -> list[Any]:
    return [one for part in parts for one in part]


def _slot_bits(channel: Channel) -> tuple[int, str]:
    try:
        return slot_bits(channel), ""
    except InvalidInput as error:
        return 0, str(error)


def _refused_fresh(release: Release) -> str:
    try:
        release.refuse_fresh()
    except InvalidInput as error:
        return str(error)
    return ""
