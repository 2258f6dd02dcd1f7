"""One sampler: integers against integer weights."""

import os

import numpy as np
import numpy.typing as npt

from lowlift._arguments import check_instance
from lowlift._arrays import Ints
from lowlift._channel import Channel
from lowlift.errors import InvalidInput

_CHUNK = 1 << 20


def draw(
    channel: Channel,
    symbols: npt.ArrayLike,
    seed: int | np.random.Generator | None = None,
) -> Ints:
    """Return one output number per symbol number, drawn by the channel's integer weights.

    A uniform integer below the denominator (a power of two, so its bits are the random bits) is
    compared with the running sums of the symbol's weights: the law of the draw is the channel,
    exactly.

    Parameters
    ----------
    channel
        The channel to draw from.
    symbols
        Numbers of symbols of X, any length.
    seed
        None draws from the operating system's entropy. An integer or a generator repeats the draw,
        and whoever knows it can undo the randomisation.

    Raises
    ------
    InvalidInput
        When a number is not a symbol of X.

    Cost
        O(N log |Y|) time and O(N) memory for N symbols.

    Examples
    --------
    >>> draw(Channel([[0, 1], [1, 0]]), [0, 0, 1])
    array([1, 1, 0])
    """
    check_instance(channel, Channel, "channel", "Use Channel.from_probabilities for an array.")
    try:
        rows = np.asarray(symbols)
    except ValueError as error:
        raise InvalidInput("symbols must be a list of numbers of symbols of X.") from error
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInput("symbols must be a list of numbers of symbols of X.")
    if rows.size and (rows.min() < 0 or rows.max() >= channel.n_x):
        wrong = (rows < 0) | (rows >= channel.n_x)
        raise InvalidInput(
            f"symbols must lie in 0..{channel.n_x - 1}; {int(wrong.sum())} of {rows.size} do not, "
            f"the first at position {int(np.argmax(wrong))}."
        )
    try:
        rng = None if seed is None else np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "seed must be None, a whole number of 0 or more, or a NumPy generator."
        ) from error
    out = np.empty(rows.size, np.int64)
    for start in range(0, rows.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = _draw_chunk(channel, rows[part].astype(np.int64), rng)
    return out


def _draw_chunk(channel: Channel, rows: Ints, rng: np.random.Generator | None) -> Ints:
    by_row = np.argsort(channel.members, kind="stable")
    outputs, weights = channel.entry_outputs[by_row], channel.member_weights[by_row]
    firsts = np.searchsorted(channel.members[by_row], np.arange(channel.n_x + 1))
    if channel.denominator == 1:  # a function of x: nothing to draw
        return outputs[firsts[rows]]
    uniform = _uniform_below(channel.denominator, rows.size, rng)
    out = np.empty(rows.size, np.int64)
    order = np.argsort(rows, kind="stable")
    present, starts = np.unique(rows[order], return_index=True)
    ends = np.append(starts[1:], rows.size)
    for x, start, end in zip(present.tolist(), starts.tolist(), ends.tolist(), strict=True):
        entries = slice(firsts[x], firsts[x + 1])
        sums = np.cumsum(weights[entries])
        here = order[start:end]
        out[here] = outputs[entries][np.searchsorted(sums, uniform[here], side="right")]
    return out


def _uniform_below(denominator: int, size: int, rng: np.random.Generator | None) -> Ints:
    """Return uniform integers in [0, denominator), denominator a power of two."""
    if rng is None:
        words = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    else:
        words = rng.integers(0, 1 << 64, size, dtype=np.uint64)
    return (words & np.uint64(denominator - 1)).astype(np.int64)
