"""Our k-ary randomised response is the one that OpenDP and multi-freq-ldpy state."""

import kary
import numpy as np
import pytest
from opendp import prelude as dp

import lowlift as ll


def test_randomised_response_is_what_the_packages_draw():
    """The probability of the truth, as multi-freq-ldpy and OpenDP state it."""
    dp.enable_features("contrib")
    k, epsilon = 5, 1.3
    channel = kary.channel_of(ll.Joint.random(3, k, seed=0), epsilon)
    assert np.diag(channel.p_y_given_x) == pytest.approx(kary.truth(k, epsilon), abs=1e-12)
    respond = dp.m.make_randomized_response(list(range(k)), kary.truth(k, epsilon))
    assert respond.map(1) == pytest.approx(epsilon, abs=1e-9)
