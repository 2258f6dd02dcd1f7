"""Uniform numbers from a key and an id, and the slots by which they draw an output."""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from lowlift._one_record.symbols import whole_number
from lowlift._one_record.texts import TEXTS, type_word
from lowlift.errors import InvalidInput

KEY_SIZE, UNIFORM_BITS = 32, 60
#: Hex digits of the subkey in a digest: 160 bits, and one block of SHA-256 with a short id.
_KEY_DIGITS = 40
#: No id has more bits: Python does not write longer numbers.
_MOST_ID_BITS = 4096


def key_fault(key: Any) -> str | None:
    """Return what is wrong with a key."""
    if isinstance(key, bytes) and len(key) == KEY_SIZE:
        return None
    return TEXTS["key"].format(len(key) if isinstance(key, bytes) else type_word(key))


def subkey_of(key: bytes, fingerprint: str) -> bytes:
    """Return the key of one release's draws: HMAC-SHA-256 of its fingerprint (and columns).

    Examples
    --------
    >>> len(subkey_of(bytes(32), "ab" * 32))
    32
    """
    return hmac.new(key, fingerprint.encode(), hashlib.sha256).digest()


def key_text(subkey: bytes) -> str:
    """Return the part of a subkey that enters a digest, as text."""
    return subkey.hex()[:_KEY_DIGITS]


def uniform_of(subkey: bytes, text: str) -> int:
    """Return the uniform number of an id: the leading 60 bits of a SHA-256.

    The digest is of subkey, length of the id in UTF-8 bytes, a colon and the id.

    Parameters
    ----------
    subkey
        At least 20 bytes.
    text
        The id: whole numbers in decimal digits, UUIDs lower-case with hyphens.

    Examples
    --------
    >>> hex(uniform_of(bytes(32), "7"))
    '0x7dd13e9ef1d93a5'
    """
    octets = text.encode()
    digest = hashlib.sha256(f"{key_text(subkey)}{len(octets)}:".encode() + octets)
    return int(digest.hexdigest()[: UNIFORM_BITS // 4], 16)


def id_text(identity: Any) -> str:
    """Return an id as the text that is hashed: digits, the text, or a UUID in lower case."""
    whole = whole_number(identity)
    if isinstance(identity, str | UUID):
        text = str(identity)
    elif whole is not None and whole.bit_length() <= _MOST_ID_BITS:
        text = str(whole)
    else:
        raise InvalidInput(TEXTS["id"].format(type_word(identity, "id")))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(TEXTS["surrogate"]) from None
    return text


def poured(
    outputs: Sequence[int], weights: Sequence[int], slots: int, capacity: int
) -> tuple[list[int], list[int], list[int]]:
    """Return thresholds, first and other outputs of one symbol's slots (Walker 1977, Vose 1991).

    See `lowlift.tables.alias`.

    Examples
    --------
    >>> poured([0, 1], [3, 1], 2, 4)
    ([4, 2], [0, 1], [0, 0])
    """
    padding = slots - len(outputs)
    names = [*outputs] + [outputs[0]] * padding
    left = [weight * slots for weight in weights] + [0] * padding
    thresholds, others = [capacity] * slots, names.copy()
    small = [slot for slot in range(slots) if left[slot] < capacity]
    large = [slot for slot in range(slots) if left[slot] > capacity]
    # Whole numbers: what is missing in the small slots is exactly what the large ones have over.
    while small:
        slot, donor = small.pop(), large[-1]
        thresholds[slot], others[slot] = left[slot], names[donor]
        left[donor] -= capacity - left[slot]
        if left[donor] <= capacity:
            large.pop()
            if left[donor] < capacity:
                small.append(donor)
    return thresholds, names, others
