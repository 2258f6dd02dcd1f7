"""One record at a time: a released value is drawn where the record is collected."""

import os
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from lowlift._arguments import check_choice
from lowlift._release import Release
from lowlift.encodings import Encoded, published
from lowlift.errors import InvalidInput
from lowlift.tables.alias import AliasTable, alias_draw, uniform_of
from lowlift.tables.draws import UNSEEN, Draw
from lowlift.tables.values import symbol_reader
from lowlift.workflow.bounds import refuse_false
from lowlift.workflow.keys import check_key, subkey_of

__all__ = ["OneRecord"]


class OneRecord:
    """Draws the released values of one record after the other.

    Parameters
    ----------
    release
        A release that was designed on a table, so that its columns are known, or that release as
        `lowlift.encodings.published` returns it.

    Raises
    ------
    BoundViolated
        When the audit of the release is false.
    InvalidInput
        When the release does not say its columns.

    Guarantee
        Each draw has the channel's law, exactly. The audit holds for the table that the release was
        designed on. Whether the bound holds for the people whose records are collected cannot be
        checked on one record: check it on a table of them that has S, as `lowlift.workflow.apply`
        does.

        A second fresh draw for the same person reveals more than the bound says. Give `id` and
        `key` where a person may be asked again.

    Cost
        Once: O(|X| + |Y| + entries of the channel). Then some microseconds a record. No solver,
        compiler or table engine is loaded.

    Examples
    --------
    >>> import lowlift as ll
    >>> from lowlift.tables import Column, Origin, Width
    >>> joint = ll.Joint.from_counts([[3, 5], [5, 3]], x_labels=["[30, 40)", "[40, 50)"])
    >>> release = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[0, 1]]), ll.LIP(0.1))
    >>> columns = Origin(
    ...     (Column("sick", "boolean"),), (Column("age", "integer", Width(10)),),
    ...     "value", "people.csv", 16, None, "groups",
    ... )
    >>> OneRecord(release.with_table(columns)).draw({"age": 41})
    {'age': '{[30, 40), [40, 50)}'}
    """

    def __init__(self, release: Release | Encoded) -> None:
        if not isinstance(release, Release | Encoded):
            raise InvalidInput(f"release must be a Release; got {type(release).__name__}.")
        encoded = published(release) if isinstance(release, Release) else release
        refuse_false(encoded)
        if encoded.origin.cells is not None:
            raise InvalidInput(
                "a release of rows draws rows of a table; one record has none. Use apply on the "
                "table."
            )
        released = encoded.origin.released
        self._encoded, self._missing = encoded, encoded.origin.missing
        self._scope = encoded.key_scope
        self._readers = {column.name: symbol_reader(column) for column in released}
        symbols = Draw(released, encoded.channel, encoded.release.joint.x_labels).texts()
        self._symbols = {texts: x for x, texts in enumerate(symbols)}
        names = [column.name for column in encoded.columns]
        rows = zip(*(column.values for column in encoded.columns), strict=True)
        self._published = [dict(zip(names, row, strict=True)) for row in rows]
        self._outputs, self._sums, self._starts = _by_symbol(encoded)

    def __reduce__(self) -> tuple[type["OneRecord"], tuple[Encoded]]:
        return OneRecord, (self._encoded,)  # functions cannot be pickled: they are made anew

    def draw(
        self,
        record: Mapping[str, Any],
        *,
        id: int | str | UUID | None = None,  # noqa: A002 (the option's name everywhere)
        key: bytes | None = None,
        unseen: str = "error",
    ) -> dict[str, Any] | None:
        """Return what is published for a record: the value of each published column, by name.

        Parameters
        ----------
        record
            The value of each released column, by name, and nothing else. None is a missing value.
        id, key
            Draw by 32 secret bytes (`lowlift.workflow.read_key`) and the person's id: the same
            draw each time, here and where a table with this id is published by the same key.
        unseen
            What to do with values that the design did not have: "error" or "suppress" (None is
            returned, and nothing may be published).

        Raises
        ------
        InvalidInput
            For other keys than the released columns, a value of another kind, one that the design
            did not have, or a missing one where the release leaves such records out. No value is in
            the message.
        """
        check_choice(unseen, "unseen", UNSEEN)
        x = self._symbols.get(self._texts(record))
        if x is None:
            if unseen == "suppress":
                return None
            raise InvalidInput(
                "a record must have values that were seen at design, together; this one has not. "
                "Design again on a table that has them, or use unseen='suppress'."
            )
        y = self._fresh(x) if id is None and key is None else self._keyed(x, id, key)
        return self._published[y].copy()

    def _texts(self, record: Mapping[str, Any]) -> tuple[str | None, ...]:
        readers = self._readers
        if not isinstance(record, Mapping) or record.keys() != readers.keys():
            raise InvalidInput(self._misfit(record))
        texts = tuple([read(record[name]) for name, read in readers.items()])
        if self._missing != "value" and None in texts:
            names = list(readers)
            raise InvalidInput(
                f"a record must have a value in {names[texts.index(None)]!r}; here it is missing, "
                "and the release was designed without such records. Leave the record out."
            )
        return texts

    def _misfit(self, record: Any) -> str:
        shown = ", ".join(map(repr, self._readers))
        rule = f"a record must be a mapping with the released columns as keys ({shown})"
        if not isinstance(record, Mapping):
            return f"{rule}; got {type(record).__name__}."
        lacking = [repr(name) for name in self._readers if name not in record]
        if lacking:
            return f"{rule}; it lacks {', '.join(lacking)}. Use None for a missing value."
        more = len(record.keys() - self._readers.keys())
        return f"{rule} and no others; it has {more} more. Leave out what is not released."

    def _fresh(self, x: int) -> int:
        """Return an output, drawn by the operating system's entropy."""
        self._encoded.release.refuse_fresh()
        start, end = self._starts[x], self._starts[x + 1]
        if end - start == 1:
            return self._outputs[start]
        # The denominator is a power of two, at most 2**48: these bits are uniform below it.
        uniform = int.from_bytes(os.urandom(8)) & (self._encoded.channel.denominator - 1)
        return self._outputs[bisect_right(self._sums, uniform, start, end)]

    def _keyed(self, x: int, identity: Any, key: Any) -> int:
        """Return the output that every engine draws for this id."""
        if identity is None or key is None:
            raise InvalidInput("keyed draws need both id and key; got one of them. Give the other.")
        check_key(key)
        text = _id_text(identity)
        uniform = uniform_of(subkey_of(key, self._scope), text)
        layout = self._encoded.release.draws
        return alias_draw(self._alias, x, uniform) if layout is None else layout.draw(x, uniform)

    @cached_property
    def _alias(self) -> AliasTable:
        return AliasTable.from_channel(self._encoded.channel)


def _by_symbol(encoded: Encoded) -> tuple[list[int], list[int], list[int]]:
    """Return the outputs of each symbol, running sums of their weights, and where each starts."""
    channel = encoded.channel
    order = np.argsort(channel.members, kind="stable")
    starts = np.searchsorted(channel.members[order], np.arange(channel.n_x + 1))
    sums = np.empty(len(order), np.int64)
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        np.cumsum(channel.member_weights[order[start:end]], out=sums[start:end])
    return channel.entry_outputs[order].tolist(), sums.tolist(), starts.tolist()


def _id_text(identity: Any) -> str:
    """Return an id as the text that is hashed: digits, the text, or a UUID in lower case."""
    if isinstance(identity, bool) or not isinstance(identity, int | str | UUID | np.integer):
        raise InvalidInput(f"id must be an int, a str or a UUID; got {type(identity).__name__}.")
    text = str(int(identity)) if isinstance(identity, int | np.integer) else str(identity)
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    raise InvalidInput("id must be a text that UTF-8 can encode; it has half of a surrogate pair.")
