"""Random cases: positive tables, channels of whole weights and sets of riskiest symbols."""

import numpy as np

from lowlift._arrays import Bools, Ints
from lowlift.paper.propositions.measures import Cases, Table

#: Few symbols show what is false; 1(2) needs three values of S and of Y (it holds for two).
SHAPES = ((2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 6), (5, 17))
#: Counts and weights: whole numbers this small have exact sums and products in floats.
_COUNTS, _WEIGHTS = 1 << 16, 1 << 10


def random_cases(rng: np.random.Generator, k: int, n_s: int, n_x: int) -> Cases:
    """Return k random positive tables, each with a channel and a set of riskiest symbols."""
    shape = (k, n_s, n_x)
    uniform, normal = rng.random(shape), rng.standard_normal(shape)
    diagonal = np.arange(n_s)[:, None] == np.arange(n_x) % n_s
    factor = rng.random((k, 1, 1))
    entries = np.choose(
        rng.integers(0, 5, k)[:, None, None],
        [
            uniform,
            -np.log1p(-uniform),
            np.abs(normal),
            # One value of S is nearly ruled out, or made likely, by each symbol.
            (4 + uniform) * np.where(diagonal, factor, 1.0),
            (4 + uniform) * np.where(diagonal, 1 + 4 * factor, 1.0),
        ],
    )
    is_skewed = rng.random((k, 1, 1)) < 0.4
    entries = entries * np.where(is_skewed, np.exp(rng.standard_normal((k, n_s, 1))), 1.0)
    scaled = entries / entries.max(axis=(1, 2), keepdims=True)
    counts = 1 + (_COUNTS * scaled).astype(np.int64)
    return Cases(counts, _random_weights(rng, k, n_x), _riskiest(rng, counts))


def _random_weights(rng: np.random.Generator, k: int, n_x: int) -> Ints:
    """Return k channels (k, |X|, |X|): the identity, a partition, or noise on the diagonal."""
    identity = np.broadcast_to(_WEIGHTS * np.eye(n_x, dtype=np.int64), (k, n_x, n_x))
    blocks = rng.permuted(np.broadcast_to(np.arange(n_x), (k, n_x)), axis=1)
    blocks = blocks % rng.integers(2, n_x + 1, k)[:, None]
    partition = _WEIGHTS * (blocks[:, :, None] == np.arange(n_x)).astype(np.int64)
    kept = rng.integers(0, _WEIGHTS, k)[:, None, None]
    cuts = np.sort((rng.random((k, n_x, n_x - 1)) * (_WEIGHTS - kept + 1)).astype(np.int64), axis=2)
    ends = [np.zeros((k, n_x, 1), np.int64), cuts, np.broadcast_to(_WEIGHTS - kept, (k, n_x, 1))]
    noisy = np.diff(np.concatenate(ends, axis=2), axis=2) + kept * np.eye(n_x, dtype=np.int64)
    return np.choose(rng.integers(0, 3, k)[:, None, None], [identity, partition, noisy])


def _riskiest(rng: np.random.Generator, counts: Ints) -> Bools:
    """Return X_H of the LDP watchdog at random budgets: the symbols of largest Gamma(x)."""
    rates = counts / counts.sum(axis=2, keepdims=True)
    gamma = rates.max(axis=1) / rates.min(axis=1)
    place = rng.integers(0, gamma.shape[1], (len(counts), 1))
    return np.asarray(gamma >= np.take_along_axis(np.sort(gamma, axis=1), place, axis=1))


def published(counts: Table) -> Cases:
    """Return the one case that publishes X itself."""
    table = np.array([counts])
    return Cases(
        table, np.eye(table.shape[2], dtype=np.int64)[None], np.ones(table[:, 0].shape, np.bool_)
    )
