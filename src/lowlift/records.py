"""One record at a time: a released value is drawn where the record is collected."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import numpy as np

from lowlift._one_record import Drawer
from lowlift._record_program import encoded_for_records, program_of
from lowlift._release import Release
from lowlift.encodings import Encoded
from lowlift.tables.values import plain

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
        self._encoded = encoded_for_records(release)
        self._drawer = Drawer(program_of(self._encoded), plain)

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
            Dates, times and UUIDs may be texts, as JSON has them: "2024-03-05T13:45:00".
        id, key
            Draw by 32 secret bytes (`lowlift.workflow.read_key`) and the person's id: the same
            draw each time, here and where a table with this id is published by the same key.
        unseen
            What to do with values that the design did not have: "error" or "suppress" (None is
            returned, and nothing may be published).

        Returns
        -------
        None too where a value is missing and the design left such rows out (missing "drop").

        Raises
        ------
        InvalidInput
            For other keys than the released columns, a value of another kind, one that the design
            did not have, or a missing one where missing values were errors at design. No value is
            in the message.
        """
        identity = int(id) if isinstance(id, np.integer) else id
        return self._drawer.draw(record, id=identity, key=key, unseen=unseen)
