"""Records drawn one after the other by a program."""

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from itertools import accumulate
from typing import Any

from lowlift._one_record.draws import (
    UNIFORM_BITS,
    id_text,
    key_fault,
    poured,
    subkey_of,
    uniform_of,
)
from lowlift._one_record.symbols import published_value, symbol_reader
from lowlift._one_record.texts import TEXTS, type_word
from lowlift.errors import InvalidInput

UNSEEN = ("error", "suppress")


class Drawer:
    """Draws the published values of one record after the other, by a program."""

    def __init__(
        self, program: Mapping[str, Any], plain: Callable[[Any], Any] | None = None
    ) -> None:
        columns, values, places = program["columns"], program["values"], program["symbols"]
        self._program = program
        self._readers = {column["name"]: symbol_reader(column, plain) for column in columns}
        size = len(columns)
        parts = [[values[k][place] for place in places[k::size]] for k in range(size)]
        self._symbols = {texts: x for x, texts in enumerate(zip(*parts, strict=True))}
        outputs = program["outputs"]
        names, typed = [one["name"] for one in outputs], map(_typed, outputs)
        self._published = [dict(zip(names, row, strict=True)) for row in zip(*typed, strict=True)]
        # Each is made when a symbol that has this row is first drawn.
        self._sums, self._slots = cache(self._sums_of), cache(self._slots_of)
        self._pieces = cache(self._pieces_of)

    def _sums_of(self, row: int) -> tuple[list[int], list[int]]:
        weights = self._program["rows"][row]
        return list(accumulate(weights[1::2])), weights[::2]

    def _slots_of(self, row: int) -> tuple[list[int], list[int], list[int]]:
        weights, program = self._program["rows"][row], self._program
        return poured(weights[::2], weights[1::2], 1 << program["slot_bits"], 1 << program["bits"])

    def _pieces_of(self, row: int) -> tuple[list[int], list[int]]:
        pieces = self._program["pieces"][row]
        return [int(start, 16) for start in pieces[::2]], pieces[1::2]

    def draw(
        self,
        record: Mapping[str, Any],
        *,
        id: Any = None,  # noqa: A002 (the option's name everywhere)
        key: bytes | None = None,
        unseen: str = "error",
    ) -> dict[str, Any] | None:
        """Return what is published for a record: the value of each published column, by name.

        Parameters
        ----------
        record
            The value of each released column, by name, and nothing else. None is a missing value.
        id, key
            Draw by 32 secret bytes and the person's id: the same draw each time, and the one that
            a table with this id is published by. Without them, each call draws anew.
        unseen
            What to do with values that the design did not have: "error" or "suppress" (None is
            returned, and nothing may be published).

        Returns
        -------
        None too where a value is missing and the design left such rows out (missing "drop").

        Raises
        ------
        InvalidInput
            For a record, an id or a key that breaks a rule. No value is in the message.
        """
        if unseen not in UNSEEN:
            raise InvalidInput(TEXTS["choice"].format(type_word(unseen, "unseen")))
        texts = self._texts(record)
        if texts is None:
            return None
        x = self._symbols.get(texts)
        if x is None:
            if unseen == "suppress":
                return None
            raise InvalidInput(TEXTS["unseen"])
        y = self._fresh(x) if id is None and key is None else self._keyed(x, id, key)
        return self._published[y].copy()

    def _texts(self, record: Mapping[str, Any]) -> tuple[str | None, ...] | None:
        """Return the texts of a record's symbol; None where the record is left out."""
        readers = self._readers
        if not isinstance(record, Mapping) or record.keys() != readers.keys():
            raise InvalidInput(self._misfit(record))
        texts = tuple([read(record[name]) for name, read in readers.items()])
        missing = self._program["missing"]
        if missing == "value" or None not in texts:
            return texts
        if missing == "error":
            name = list(readers)[texts.index(None)]
            raise InvalidInput(TEXTS["missing"].format(repr(name)))
        return None

    def _misfit(self, record: Any) -> str:
        shown = ", ".join(map(repr, self._readers))
        if not isinstance(record, Mapping):
            return TEXTS["mapping"].format(shown, type_word(record))
        lacking = [repr(name) for name in self._readers if name not in record]
        if lacking:
            return TEXTS["lacks"].format(shown, ", ".join(lacking))
        return TEXTS["more"].format(shown, len(record.keys() - self._readers.keys()))

    def _fresh(self, x: int) -> int:
        """Return an output, drawn by the operating system's entropy."""
        program = self._program
        if program["no_fresh"]:
            raise InvalidInput(program["no_fresh"])
        row = program["row_of"][x]
        sums, outputs = self._sums(row)
        if len(outputs) == 1:
            return outputs[0]
        # The weights add up to a power of two, at most 2**48: these bits are uniform below it.
        uniform = int.from_bytes(os.urandom(8)) & ((1 << program["bits"]) - 1)
        return outputs[bisect_right(sums, uniform)]

    def _keyed(self, x: int, identity: Any, key: Any) -> int:
        """Return the output that every engine draws for this id."""
        if identity is None or key is None:
            raise InvalidInput(TEXTS["pair"])
        fault = key_fault(key)
        if fault:
            raise InvalidInput(f"{fault} {TEXTS['new_key']}")
        program = self._program
        uniform = uniform_of(subkey_of(key, program["scope"]), id_text(identity))
        if program["pieces"]:
            starts, drawn = self._pieces(program["pieces_of"][x])
            return drawn[bisect_right(starts, uniform) - 1]
        if program["no_keyed"]:
            raise InvalidInput(program["no_keyed"])
        bits: int = program["bits"]
        rest: int = UNIFORM_BITS - program["slot_bits"]
        slot, place = uniform >> rest, (uniform >> (rest - bits)) & ((1 << bits) - 1)
        thresholds, firsts, others = self._slots(program["row_of"][x])
        return firsts[slot] if place < thresholds[slot] else others[slot]


def _typed(output: Mapping[str, Any]) -> list[Any]:
    """Return the value of each output in a published column."""
    values = [published_value(text, output["kind"]) for text in output["texts"]]
    return [values[place] for place in output["places"]]
