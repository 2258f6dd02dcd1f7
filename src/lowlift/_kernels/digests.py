"""Uniform numbers of many ids: SHA-256 of each, 32 at a time, by vector instructions.

A message is the digits of the subkey, the length of the id, a colon and the id (FIPS 180-4 pads
it). Each message of a group is a column of the arrays, so that every step of the compression is one
loop over the columns, which the compiler turns into vector instructions.
"""

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Ints
from lowlift._kernels.compilation import helper, kernel

Words: TypeAlias = npt.NDArray[np.uint32]
Octets: TypeAlias = npt.NDArray[np.uint8]

#: Messages that are hashed together.
LANES = 32
U = np.uint32

_PRIMES = [n for n in range(2, 312) if all(n % k for k in range(2, math.isqrt(n) + 1))]
#: The leading 32 bits of the fractions of the square roots of 8 primes, and the cube roots of 64.
_STATE = np.array([math.isqrt(p << 64) & 0xFFFFFFFF for p in _PRIMES[:8]], U)


def _cube_root(number: int) -> int:
    root = 1 << -(-number.bit_length() // 3)
    while (lower := (2 * root + number // root**2) // 3) < root:
        root = lower
    return root


_ROUND = np.array([_cube_root(p << 96) & 0xFFFFFFFF for p in _PRIMES], U)


@helper(forceinline=True)
def _round(
    v: Words, w: Words, t: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int
) -> None:
    """Do round t, where the working variables a to h are these rows of v (8, LANES)."""
    constant = _ROUND[t]
    for k in range(LANES):
        x, z = v[a, k], v[e, k]
        s1 = U((z >> U(6)) | (z << U(26))) ^ U((z >> U(11)) | (z << U(21)))
        s1 ^= U((z >> U(25)) | (z << U(7)))
        chosen = U(v[g, k] ^ U(z & U(v[f, k] ^ v[g, k])))
        first = U(U(U(v[h, k] + s1) + U(chosen + constant)) + w[t, k])
        s0 = U((x >> U(2)) | (x << U(30))) ^ U((x >> U(13)) | (x << U(19)))
        s0 ^= U((x >> U(22)) | (x << U(10)))
        majority = U(U(x & v[b, k]) | U(v[c, k] & U(x | v[b, k])))
        v[d, k] = U(v[d, k] + first)
        v[h, k] = U(first + U(s0 + majority))


@helper()
def _compress(w: Words, v: Words, state: Words) -> None:
    """Add the block in the first 16 rows of w (64, LANES) to the state (8, LANES)."""
    for t in range(16, 64):
        for k in range(LANES):
            x, z = w[t - 15, k], w[t - 2, k]
            s0 = U((x >> U(7)) | (x << U(25))) ^ U((x >> U(18)) | (x << U(14))) ^ U(x >> U(3))
            s1 = U((z >> U(17)) | (z << U(15))) ^ U((z >> U(19)) | (z << U(13))) ^ U(z >> U(10))
            w[t, k] = U(U(w[t - 16, k] + s0) + U(w[t - 7, k] + s1))
    for i in range(8):
        for k in range(LANES):
            v[i, k] = state[i, k]
    # Eight rounds, after which each variable is in its own row again: rows that are constants
    # let the compiler see that they do not overlap.
    for t in range(0, 64, 8):
        _round(v, w, t, 0, 1, 2, 3, 4, 5, 6, 7)
        _round(v, w, t + 1, 7, 0, 1, 2, 3, 4, 5, 6)
        _round(v, w, t + 2, 6, 7, 0, 1, 2, 3, 4, 5)
        _round(v, w, t + 3, 5, 6, 7, 0, 1, 2, 3, 4)
        _round(v, w, t + 4, 4, 5, 6, 7, 0, 1, 2, 3)
        _round(v, w, t + 5, 3, 4, 5, 6, 7, 0, 1, 2)
        _round(v, w, t + 6, 2, 3, 4, 5, 6, 7, 0, 1)
        _round(v, w, t + 7, 1, 2, 3, 4, 5, 6, 7, 0)
    for i in range(8):
        for k in range(LANES):
            state[i, k] = U(state[i, k] + v[i, k])


@helper()
def _write(words: Words, k: int, key: Words, octets: Octets, start: int, end: int) -> int:
    """Write the message of one id, padded, as words (n, LANES) in column k; return its blocks."""
    size, at = end - start, 4 * len(key)
    for i in range(len(key)):
        words[i, k] = key[i]
    power = 1
    while 10 * power <= size:
        power *= 10
    rest, word = size, U(0)
    while power:
        word = U(word << U(8)) | U(48 + rest // power)
        if at & 3 == 3:
            words[at >> 2, k] = word
        rest, power, at = rest % power, power // 10, at + 1
    # The colon, the id, and a bit after its end.
    for i in range(size + 2):
        octet = U(58) if i == 0 else U(128) if i > size else U(octets[start + i - 1])
        word = U(word << U(8)) | octet
        if at & 3 == 3:
            words[at >> 2, k] = word
        at += 1
    if at & 3:
        words[at >> 2, k] = U(word << U(32 - 8 * (at & 3)))
    blocks = (at + 8 + 63) // 64
    for i in range((at + 3) >> 2, 16 * blocks - 2):
        words[i, k] = U(0)
    bits = 8 * (at - 1)
    words[16 * blocks - 2, k] = U(bits >> 32)
    words[16 * blocks - 1, k] = U(bits & 0xFFFFFFFF)
    return blocks


@kernel("uint32[::1], int64[::1], uint8[::1], int64[::1]")
def uniform_numbers(key: Words, offsets: Ints, octets: Octets, found: Ints) -> None:
    """Write the uniform number of each id, the leading 60 bits of its digest, to `found` (n,).

    Parameters
    ----------
    key
        The digits of the subkey, which are a multiple of 4, as big-endian words.
    offsets, octets
        Id i is ``octets[offsets[i]:offsets[i + 1]]``, in UTF-8.
    """
    longest = 0
    for i in range(len(found)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    room = (4 * len(key) + longest + 20 + 9 + 63) // 64
    words = np.zeros((16 * room, LANES), U)
    w, v, state = np.empty((64, LANES), U), np.empty((8, LANES), U), np.empty((8, LANES), U)
    blocks = np.zeros(LANES, np.int64)
    for begin in range(0, len(found), LANES):
        lanes = min(LANES, len(found) - begin)
        most = 0
        for k in range(lanes):
            start, end = offsets[begin + k], offsets[begin + k + 1]
            blocks[k] = _write(words, k, key, octets, start, end)
            most = max(most, blocks[k])
        for i in range(8):
            for k in range(LANES):
                state[i, k] = _STATE[i]
        for b in range(most):
            for t in range(16):
                for k in range(LANES):
                    w[t, k] = words[16 * b + t, k]
            _compress(w, v, state)
            for k in range(lanes):
                if blocks[k] == b + 1:
                    found[begin + k] = (np.int64(state[0, k]) << 28) | (np.int64(state[1, k]) >> 4)


@kernel("int64[::1], int32[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64[::1]")
def tally(
    uniform: Ints,
    symbols: npt.NDArray[np.int32],
    begins: Ints,
    ends: Ints,
    outputs: Ints,
    slot_bits: int,
    place_bits: int,
    counts: Ints,
) -> None:
    """Add the rows of each output to `counts` (|Y| + 1,); the last are rows of no symbol.

    Parameters
    ----------
    uniform, symbols
        Of each row; its symbol is negative where the channel does not know it.
    begins, ends, outputs
        Slot c of symbol x has the pieces from ``begins[x << slot_bits | c]`` on: a piece has its
        output and the place before which it ends.
    slot_bits, place_bits
        The leading bits of a number are its slot, those that follow its place.
    """
    mask = (np.int64(1) << place_bits) - 1
    for i in range(len(uniform)):
        if symbols[i] < 0:
            counts[-1] += 1
            continue
        slot = uniform[i] >> (60 - slot_bits)
        place = (uniform[i] >> (60 - slot_bits - place_bits)) & mask
        piece = begins[(np.int64(symbols[i]) << slot_bits) | slot]
        while place >= ends[piece]:
            piece += 1
        counts[outputs[piece]] += 1
