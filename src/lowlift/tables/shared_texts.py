"""Texts that many rows share, lent to DuckDB without a copy.

A column is a dictionary: its different texts, and a number for each row. DuckDB keeps it so while
it writes, which it does not after a join. All memory is of Python and outlives the stream, so that
to release it is to say so.
"""

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, Structure, c_char_p, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift.tables.arrow import ASK, ERROR, RELEASE, STREAM, Array, Schema, Stream

#: As many rows as DuckDB has in a group, which a thread writes.
_ROWS = 122_880
#: Whole numbers without a sign, by their bytes; long texts; a column that may have missing values.
_NUMBERS, _TEXTS, _NULLABLE = {1: b"C", 2: b"S", 4: b"I"}, b"U", 2


def _releases(kind: Any) -> Any:
    """Return what marks a structure as released: its `release` is NULL."""
    return RELEASE(lambda at: setattr(kind.from_address(at), "release", RELEASE()))


_RELEASERS = {kind: _releases(kind) for kind in (Schema, Array, Stream)}
_NO_ERROR = ERROR(lambda _stream: None)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class SharedTexts:
    """Rows whose columns are texts by number, for `Sandbox.register`.

    Parameters
    ----------
    columns
        The texts of each column; None is a missing value.
    numbers
        For each row the number of its text, of one, two or four bytes without a sign.

    Keep it until the last query has ended: what DuckDB reads lies here.
    """

    def __init__(
        self, columns: Mapping[str, Sequence[str | None]], numbers: npt.NDArray[Any]
    ) -> None:
        self._numbers, self._kept = np.ascontiguousarray(numbers), list[Any]()
        self._names = [name.encode() for name in columns]
        self._texts = [self._array(*_texts(texts)) for texts in columns.values()]
        # DuckDB reads the texts anew for each part.
        self._part = max(_ROWS, 16 * max(map(len, columns.values())))

    def __arrow_c_stream__(self, _requested: object = None) -> Any:
        """Return a stream of all rows."""
        starts = iter(range(0, len(self._numbers), self._part))

        def get_schema(_stream: int, at: int) -> int:
            number = _NUMBERS[self._numbers.itemsize]
            texts = self._schema(_TEXTS, b"")
            columns = [self._schema(number, name, dictionary=texts) for name in self._names]
            self._move(self._schema(b"+s", b"", columns), at)
            return 0

        def get_next(_stream: int, at: int) -> int:
            start = next(starts, None)
            if start is None:
                Array.from_address(at).release = RELEASE()
                return 0
            part = self._numbers[start : start + self._part]
            columns = [self._array(len(part), [None, part], dictionary=t) for t in self._texts]
            self._move(self._array(len(part), [None], columns), at)
            return 0

        calls = ASK(get_schema), ASK(get_next)
        stream = Stream(*calls, _NO_ERROR, _RELEASERS[Stream], None)
        self._kept += [stream, calls]
        return _new_capsule(ctypes.addressof(stream), STREAM, None)

    def _schema(
        self,
        kind: bytes,
        name: bytes,
        columns: Sequence[Schema] = (),
        dictionary: Schema | None = None,
    ) -> Schema:
        below = self._pointers(Schema, columns)
        inner = None if dictionary is None else ctypes.pointer(dictionary)
        release = _RELEASERS[Schema]
        made = Schema(kind, name, None, _NULLABLE, len(columns), below, inner, release, None)
        self._kept.append(made)
        return made

    def _array(
        self,
        length: int,
        buffers: Sequence[npt.NDArray[Any] | None],
        columns: Sequence[Array] = (),
        dictionary: Array | None = None,
    ) -> Array:
        places = (c_void_p * len(buffers))(*(None if b is None else b.ctypes.data for b in buffers))
        below = self._pointers(Array, columns)
        inner = None if dictionary is None else ctypes.pointer(dictionary)
        missing = -1 if buffers[0] is not None else 0  # to be counted by the reader
        sizes = (length, missing, 0, len(buffers), len(columns))
        made = Array(*sizes, places, below, inner, _RELEASERS[Array], None)
        self._kept += [made, places, *buffers]
        return made

    def _pointers(self, kind: Any, of: Sequence[Any]) -> Any:
        found = (POINTER(kind) * len(of))(*map(ctypes.pointer, of))
        self._kept.append(found)
        return found

    @staticmethod
    def _move(made: Structure, at: int) -> None:
        ctypes.memmove(at, ctypes.addressof(made), ctypes.sizeof(made))


def _texts(texts: Sequence[str | None]) -> tuple[int, list[npt.NDArray[Any] | None]]:
    """Return the number of texts and their buffers: which are there, where they begin, all."""
    encoded = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    present = np.packbits([text is not None for text in texts], bitorder="little")
    data = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
    return len(texts), [None if None not in texts else present, ends, data]
