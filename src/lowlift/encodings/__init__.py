"""The three encodings of Y, each a channel that is audited as what it is.

`codes` publishes the number of the output, `groups` the list of values that were merged, `values`
a value of X drawn from P(x | y). The first two are the release's own channel under other names;
the third is another channel, from X to X, with an audit of its own.
"""

from lowlift.encodings.encoded import Encoded, text_of
from lowlift.encodings.encoding import (
    default_encoding,
    described,
    encode,
    is_deterministic,
    published,
)
from lowlift.encodings.values import MOST_ENTRIES
from lowlift.tables.schema import ENCODINGS

__all__ = [
    "ENCODINGS",
    "MOST_ENTRIES",
    "Encoded",
    "default_encoding",
    "described",
    "encode",
    "is_deterministic",
    "published",
    "text_of",
]
