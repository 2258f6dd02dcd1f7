"""The structures by which DuckDB lends rows and reads ours without a copy, and without a package.

https://arrow.apache.org/docs/format/CDataInterface.html and its stream interface.
"""

from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p

#: The name of a capsule with a stream.
STREAM = b"arrow_array_stream"


class Schema(Structure):
    """A type."""


class Array(Structure):
    """A part of the rows."""


class Stream(Structure):
    """All parts, one after the other."""


RELEASE = CFUNCTYPE(None, c_void_p)
ASK = CFUNCTYPE(c_int, c_void_p, c_void_p)
ERROR = CFUNCTYPE(c_void_p, c_void_p)

Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", POINTER(Schema)),
    ("release", RELEASE),
    ("private_data", c_void_p),
]
Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)),
    ("release", RELEASE),
    ("private_data", c_void_p),
]
Stream._fields_ = [
    ("get_schema", ASK),
    ("get_next", ASK),
    ("get_last_error", ERROR),
    ("release", RELEASE),
    ("private_data", c_void_p),
]
