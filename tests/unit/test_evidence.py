"""New rows against a channel fixed before: no false proof, and proof where the bound is broken."""

import math

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift._population.evidence import evidence_against
from lowlift.errors import BoundViolated, LowliftWarning

TITANIC = ll.datasets.titanic()


def evidence(counts, channel, criterion, alpha=0.05):
    before = TITANIC.p_s, TITANIC.p_x @ channel
    return evidence_against(counts.astype(float), channel, criterion, before, alpha)


def tables(rows, times, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multinomial(rows, TITANIC.p_sx.ravel(), times).reshape(times, *TITANIC.p_sx.shape)


BOUNDS = [ll.LIP(0.5), ll.ALIP(0.9, 0.4), ll.MaxLift(0.5), ll.LDP(1.0), ll.L1Lift(math.inf, 0.3),
          ll.Chi2Lift(math.inf, 0.4), ll.AlphaLift(2, 0.9, 0.2)]  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_channel_on_its_bound_is_hardly_ever_refused(bound):
    """The optimum for the population lies on the bound, the hardest case where it holds."""
    channel = ll.random_response(TITANIC, bound).channel.p_y_given_x
    for rows in (200, 2201):
        proofs = sum(evidence(counts, channel, bound).is_proof for counts in tables(rows, 150))
        assert proofs <= 0.05 * 150


def test_the_mean_e_value_is_at_most_one_on_every_population_of_a_tiny_table():
    """All tables of 3 rows, with P(s) known: the mean of the product is at most 1, exactly."""
    from itertools import product

    from lowlift._population.evidence import _scores, _Side

    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    truth = np.array([[0.3, 0.2], [0.2, 0.3]])
    lift = truth @ channel / (truth.sum(axis=0) @ channel) / truth.sum(axis=1)[:, None]
    side = _Side(1.0, float(lift.max()), 0.0)
    with_s, without = _scores(channel, side, truth.sum(axis=0) @ channel, 0.5)
    for rate in (0.1, 0.5):
        for y in range(2):
            factors = 1 + rate * np.stack([with_s[:, y], without[:, y]])
            assert factors.min() > 0
            mean = sum(
                math.prod(truth[c] * factors[c] for c in cells)
                for cells in product(np.ndindex(2, 2), repeat=3)
            )
            assert mean <= 1 + 1e-12


def test_a_broken_bound_is_proved():
    loose = ll.random_response(TITANIC, ll.LIP(1.0)).channel.p_y_given_x
    for rows, least in ((2201, 0.95), (22010, 1.0)):
        found = [evidence(counts, loose, ll.LIP(0.5)) for counts in tables(rows, 30)]
        assert np.mean([each.is_proof for each in found]) >= least
    assert "is proof" in found[0].words


def test_a_broken_bound_on_a_mean_is_proved():
    counts = np.asarray(TITANIC.counts) * 20
    for bound in (ll.AlphaLift(2, math.inf, 0.1), ll.AlphaLift(4, 0.2, math.inf)):
        assert evidence(counts, np.eye(14), bound).is_proof


def test_more_rows_or_a_larger_error_prove_more():
    loose = ll.random_response(TITANIC, ll.LIP(0.75)).channel.p_y_given_x
    counts = np.asarray(TITANIC.counts)
    values = [evidence(counts * k, loose, ll.LIP(0.5)).log_value for k in (1, 5, 25)]
    assert values == sorted(values)
    strict, lax = (evidence(counts, loose, ll.LIP(0.5), alpha).needed for alpha in (1e-6, 0.1))
    assert strict > lax


def test_a_criterion_without_a_bound_is_never_broken():
    found = evidence(np.asarray(TITANIC.counts), np.eye(14), ll.MaxLift(math.inf))
    assert not found.is_proof


# ---- applied to new rows


def frame(counts):
    s, x = np.nonzero(counts)
    times = counts[s, x]
    return pd.DataFrame({"ill": np.repeat(s, times) == 1, "ward": np.repeat(x, times).astype(str)})


@pytest.fixture(scope="module")
def designed():
    rows = frame(np.asarray(TITANIC.counts))
    return rows, ll.sanitize(
        rows, sensitive="ill", released="ward", criterion=ll.Population(ll.LIP(0.5)),
        encoding="codes", time_limit=10,
    ).release  # fmt: skip


def test_one_percent_more_rows_are_hardly_ever_refused(designed):
    from lowlift.workflow.bounds import _evidence

    _, release = designed
    rng = np.random.default_rng(5)
    base, refused = np.asarray(release.joint.counts), 0
    shares = (base / base.sum()).ravel()
    for more in rng.multinomial(22, shares, 200).reshape(200, *base.shape):
        joint = ll.Joint.from_counts(base + more, release.joint.s_labels, release.joint.x_labels)
        channel = release.channel
        spread = ll.Channel.from_atoms(
            joint, [channel.atom(y) for y in range(channel.n_y)], channel.denominator,
            [(y,) for y in range(channel.n_y)],
        )  # fmt: skip
        refused += _evidence(joint, spread, release).is_proof
    assert refused <= 2


def test_new_rows_of_the_same_law_are_published(designed):
    rows, release = designed
    more = rows.sample(22, random_state=1)
    grown = pd.concat([rows, more])
    assert len(release.apply(grown)) == len(grown)
    assert len(release.apply(rows.sample(frac=0.5, random_state=2))) == round(len(rows) / 2)


def test_a_release_for_the_table_is_refused_on_one_more_row(designed):
    rows, _ = designed
    release = ll.sanitize(
        rows, sensitive="ill", released="ward", criterion=ll.LIP(0.5), encoding="codes"
    ).release
    with pytest.raises(BoundViolated, match="on this table the release does not satisfy"):
        release.apply(pd.concat([rows, rows.sample(22, random_state=1)]))


def test_rows_that_prove_the_bound_broken_are_refused(designed):
    rows, release = designed
    changed = rows.copy()
    changed["ill"] = changed["ward"].isin(["0", "1", "2", "3", "4"])  # S is now known from X
    with pytest.raises(BoundViolated, match=r"prove that the population .* to 1 is proof"):
        release.apply(changed)


def test_rows_in_doubt_are_published_with_a_warning(designed):
    rows, release = designed
    few = rows.sample(40, random_state=3)
    with pytest.warns(LowliftWarning, match="which chance alone can do"):
        assert len(release.apply(few)) == 40
