"""Batches of a query's columns as NumPy arrays, by the Arrow C stream that DuckDB lends.

A batch is some hundred thousand rows, so that a large table never is in memory.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift.tables.arrow import STREAM, Array, Schema, Stream


class StreamEnded(Exception):
    """The query behind a stream failed, or was stopped."""


class Batch:
    """Some rows; what it lends must not be used after `release`."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self.rows = int(array.length)

    def _buffer(self, column: int, which: int, kind: type, size: int) -> npt.NDArray[Any]:
        child = self._array.children[column].contents
        place = child.buffers[which]
        if not place or not size:  # no text has any bytes
            return np.empty(0, kind)
        pointer = ctypes.cast(place, ctypes.POINTER(np.ctypeslib.as_ctypes_type(kind)))
        return np.ctypeslib.as_array(pointer, (size,))

    def _start(self, column: int) -> int:
        return int(self._array.offset + self._array.children[column].contents.offset)

    def numbers(self, column: int) -> npt.NDArray[np.int32]:
        """Return a column of whole numbers of 32 bits, none of which is missing."""
        start = self._start(column)
        return self._buffer(column, 1, np.int32, start + self.rows)[start:]

    def texts(self, column: int, kind: type) -> tuple[Ints, npt.NDArray[np.uint8]]:
        """Return where each text begins, and last where all end; and the bytes of all.

        `kind` is that of the offsets, by the format of the column.
        """
        start = self._start(column)
        offsets = self._buffer(column, 1, kind, start + self.rows + 1)[start:].astype(np.int64)
        return offsets, self._buffer(column, 2, np.uint8, int(offsets[-1]))

    def release(self) -> None:
        """Give the buffers back."""
        self._array.release(ctypes.addressof(self._array))


class Batches:
    """The batches of a stream, one after the other, to any thread that asks."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._is_over = False
        schema = Schema()
        self._ask(stream.get_schema, schema)
        #: The format of each column, in Arrow's letters.
        self.formats = [schema.children[k].contents.format for k in range(schema.n_children)]
        schema.release(ctypes.addressof(schema))

    def _ask(self, question: Any, answer: ctypes.Structure) -> None:
        if question(ctypes.addressof(self._stream), ctypes.addressof(answer)):
            self._is_over = True
            raise StreamEnded

    def __iter__(self) -> Iterator[Batch]:
        while True:
            array = Array()
            with self._lock:
                if self._is_over:
                    return
                self._ask(self._stream.get_next, array)
                if not array.release:
                    self._is_over = True
                    return
            batch = Batch(array)
            try:
                yield batch
            finally:
                batch.release()


@contextmanager
def batches(relation: Any) -> Iterator[Batches]:
    """Lend the batches of a relation of DuckDB.

    Raises
    ------
    StreamEnded
        In whichever thread meets it, when the query fails or is interrupted.
    """
    capsule = relation.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = pointer(capsule, STREAM)
    # The capsule owns the stream, and lets go of it when it is deleted.
    try:
        yield Batches(Stream.from_address(place))
    finally:
        del capsule
