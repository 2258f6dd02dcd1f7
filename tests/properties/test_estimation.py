"""Whatever was published: the likelihood is largest, and the intervals hold the estimate."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift.estimation import estimate
from strategies import weights


@st.composite
def published(draw):
    """A channel and counts of its outputs, zeros among them."""
    channel = ll.Channel(draw(weights(draw(st.integers(1, 6)), n_y=(1, 5))))
    cells = st.one_of(st.integers(0, 5), st.integers(0, 10**6))
    counts = draw(st.lists(cells, min_size=channel.n_y, max_size=channel.n_y))
    return channel, counts if any(counts) else [1] * channel.n_y


@given(published())
def test_no_other_p_is_likelier(case):
    channel, counts = case
    found = estimate(channel, counts)
    assert found.gap <= 1e-9
    # Karush, Kuhn and Tucker, from what is returned: g(x) <= 1, with 1 where p is positive.
    q = np.array(counts) / sum(counts)
    seen = q > 0
    g = channel.p_y_given_x[:, seen] @ (q[seen] / found.fitted[seen])
    assert g.max() <= 1 + 1e-8
    positive = found.is_identified & (np.nan_to_num(found.p_x) > 1e-6)
    np.testing.assert_allclose(g[positive], 1, atol=1e-4)


@given(published())
def test_estimates_lie_in_their_intervals(case):
    channel, counts = case
    found = estimate(channel, counts)
    if not found.is_consistent:
        return
    assert (found.low <= found.high).all()
    assert (found.low >= 0).all()
    assert (found.high <= 1).all()
    assert sum(len(block.symbols) for block in found.blocks) == channel.n_x
    totals = np.array([block.total for block in found.blocks])
    if not np.isnan(totals).any():
        np.testing.assert_allclose(totals.sum(), 1, atol=1e-9)
    known = found.is_identified
    fits = np.abs(found.fitted - np.array(counts) / sum(counts)).max() < 1e-9
    if fits:  # then the fitted shares are in the box, and p with them
        assert (found.low[known] <= found.p_x[known] + 1e-6).all()
        assert (found.p_x[known] <= found.high[known] + 1e-6).all()
