"""Draw what is published for one record, from a program: the release as plain data.

`lowlift._record_program` makes the program. Each file here needs the standard library only, as
``lowlift export --to python`` copies them; `draw.js` is the same in JavaScript.
"""

from lowlift._one_record.drawer import Drawer
from lowlift._one_record.draws import key_fault, key_text, poured, subkey_of, uniform_of
from lowlift._one_record.symbols import published_value, symbol_reader

__all__ = [
    "Drawer",
    "key_fault",
    "key_text",
    "poured",
    "published_value",
    "subkey_of",
    "symbol_reader",
    "uniform_of",
]
