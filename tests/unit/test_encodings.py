"""Codes, groups and values: each satisfies the criterion in the form in which it is published."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import lowlift as ll
from lowlift.encodings import MOST_ENTRIES, default_encoding, encode, is_deterministic, values
from lowlift.errors import BoundViolated, InvalidInput
from oracles import rational
from strategies import criteria, joint_of, releases

INF = math.inf
COUNTS = ll.Joint.from_counts([[1, 2, 4, 9], [2, 1, 4, 7]], ["p", "q"], ["a", "b", "c", "d"])
MERGED = ll.Release.of(
    COUNTS,
    ll.Channel.from_blocks(COUNTS, [[1, 0], [2], [3]]),
    ll.LIP(0.3),
    partition=ll.Partition([["b", "a"], ["c"], ["d"]]),
    mechanism="test",
)
NOISY = ll.Release.of(
    COUNTS, ll.Channel([[3, 1], [1, 3], [0, 4], [2, 2]], COUNTS.x_labels), ll.LIP(1.0)
)
LABELS = [None, True, 7, ("a", (2, None)), "text", 2.5]


def law_error(encoded):
    """Return how far the expected shares of the published values are from P(x), exactly."""
    joint, channel = encoded.release.joint, encoded.channel
    n_x = [sum(column) for column in zip(*joint.counts.tolist(), strict=True)]
    found = dict.fromkeys(joint.x_labels, Fraction(0))
    for y, label in enumerate(encoded.labels):
        members, weights = channel.atom(y)
        mass = sum(n_x[x] * w for x, w in zip(members, weights, strict=True))
        found[label] = Fraction(mass, channel.denominator * sum(n_x))
    truth = {label: Fraction(n, sum(n_x)) for label, n in zip(joint.x_labels, n_x, strict=True)}
    return max(abs(found[label] - truth[label]) for label in truth)


def product(release):
    """Return sum_y P(y|x) P(x'|y) in floats, (|X|, |X|)."""
    return release.channel.p_y_given_x @ release.p_x_given_y.T


def test_codes_are_the_release_under_numbers():
    encoded = encode(NOISY, "codes")
    assert encoded.release is NOISY
    assert encoded.labels == (0, 1)
    assert encoded.texts == ("0", "1")
    assert encoded.nmi == NOISY.audit.nmi
    assert encoded.share_changed == 1.0
    assert "codes" in repr(encoded)


def test_groups_are_the_release_under_lists_in_the_order_of_x():
    encoded = encode(MERGED, "groups")
    assert encoded.release is MERGED
    assert encoded.labels == (("a", "b"), ("c",), ("d",))
    assert encoded.texts == ("{a, b}", "c", "d")
    assert encoded.share_changed == pytest.approx(6 / 30, abs=1e-15)


def test_groups_need_a_channel_that_draws_nothing():
    with pytest.raises(InvalidInput, match=r"draws\. Use the encoding codes or values"):
        encode(NOISY, "groups")
    # Its denominator is not 1, but Y is a function of X all the same.
    same = ll.Release.of(COUNTS, ll.Channel([[4, 0], [4, 0], [0, 4], [0, 4]]), ll.LIP(1.0))
    assert is_deterministic(same.channel)
    assert encode(same, "groups").texts == ("{a, b}", "{c, d}")


def test_the_default_is_groups_for_merging_and_codes_for_drawing():
    assert default_encoding(MERGED) == "groups"
    assert default_encoding(NOISY) == "codes"


@pytest.mark.parametrize("name", ["", "Codes", "value", None, 3])
def test_other_encodings_are_refused(name):
    with pytest.raises(InvalidInput, match="must be codes, groups or values; got"):
        encode(MERGED, name)


def test_what_is_no_release_is_refused():
    with pytest.raises(InvalidInput, match="release must be a Release; got Channel"):
        encode(MERGED.channel, "codes")


def test_values_of_merged_symbols_are_drawn_from_their_block():
    encoded = encode(MERGED, "values")
    assert encoded.labels == ("a", "b", "c", "d")
    expected = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert encoded.channel.p_y_given_x.tolist() == expected
    assert encoded.channel.denominator == 2  # in lowest terms
    assert encoded.share_changed == pytest.approx(3 / 30, abs=1e-15)
    assert encoded.nmi == pytest.approx(MERGED.audit.nmi, abs=1e-12)
    assert encoded.release.mechanism == "test"
    assert encoded.release.partition is MERGED.partition
    assert law_error(encoded) == 0


def test_values_of_merged_symbols_keep_every_lift_exactly():
    """All symbols of a block have one row, so x' has the lift of the block, at budget 0 too."""
    joint = ll.Joint.from_counts([[1, 2, 4], [2, 1, 4]])
    uneven = ll.Joint.from_counts([[1, 3, 7, 11], [2, 1, 5, 14]])
    for table, blocks, criterion in (
        (joint, [[0, 1], [2]], ll.LIP(0)),
        (uneven, [[0, 1, 2, 3]], ll.LIP(0)),
        (uneven, [[0, 2], [1, 3]], ll.ALIP(0.3, 0.4)),
    ):
        release = ll.Release.of(table, ll.Channel.from_blocks(table, blocks), criterion)
        encoded = encode(release, "values")
        assert encoded.release.audit.is_satisfied
        assert law_error(encoded) <= 2.0**-40
        for block in blocks:
            rows = encoded.channel.weights[block]
            assert (rows == rows[0]).all()


def test_values_of_the_identity_change_nothing():
    release = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.LIP(2.0))
    encoded = encode(release, "values")
    assert encoded.channel.weights.tolist() == np.eye(4).tolist()
    assert encoded.share_changed == 0.0
    assert encoded.nmi == 1.0


def test_values_of_a_drawing_channel_are_the_product():
    encoded = encode(NOISY, "values")
    np.testing.assert_allclose(encoded.channel.p_y_given_x, product(NOISY), atol=1e-13)
    assert encoded.nmi < NOISY.audit.nmi
    kept = float(COUNTS.p_x @ np.diag(product(NOISY)))
    assert encoded.share_changed == pytest.approx(1 - kept, abs=1e-12)
    assert law_error(encoded) <= 2.0**-40


@pytest.mark.parametrize(
    "make",
    [
        lambda: ll.random_response(ll.Joint.random(4, 9, seed=3), ll.LIP(0.2)),
        lambda: ll.random_response(ll.datasets.titanic(), ll.LIP(0.3)),
        lambda: ll.watchdog(ll.Joint.random(4, 9, seed=3), ll.LIP(0.2), outputs=3),
        lambda: ll.watchdog(ll.datasets.titanic(), ll.LIP(0.5), outputs=[1.0, 2.0, 4.5]),
        lambda: ll.subset_merging(ll.datasets.titanic(), ll.LIP(0.0)),
    ],
)
def test_values_have_the_shares_of_x_in_expectation(make):
    release = make()
    encoded = encode(release, "values")
    assert encoded.release.audit.is_satisfied
    assert law_error(encoded) <= 2.0**-40
    assert encoded.nmi <= release.audit.nmi + 1e-9
    np.testing.assert_allclose(
        encoded.channel.p_y_given_x[:, np.argsort(_numbers(encoded))],
        product(release),
        atol=1e-9,
    )


def _numbers(encoded):
    return [encoded.release.joint.x_labels.index(label) for label in encoded.labels]


def test_values_of_lift_one_keep_it_exactly():
    """Rounding would break a budget of 0: P(x|y) is split in whole multiples of the atoms."""
    release = ll.random_response(ll.datasets.titanic(), ll.LIP(0.0))
    assert not is_deterministic(release.channel)
    encoded = encode(release, "values")
    assert encoded.release.audit.is_satisfied
    assert encoded.release.audit.max_lift_leakage < 1e-12
    assert law_error(encoded) <= 2.0**-24


def test_values_of_rare_symbols_get_some_fresh_draws():
    """Weights of 1e-10 are too coarse for a bound that is met: draws from P_X make room."""
    big, size = 10**9, 1 << 48
    table = [[3 * big, big, 2], [big, 3 * big, 2]]
    first = [(5 << 45) + 1, (3 << 45) - 3, size]
    rows = [[w, size - w] for w in first]
    joint = ll.Joint.from_counts(table)
    criterion = ll.ALIP(*rational.tight_budgets((table, rows)))
    release = ll.Release.of(joint, ll.Channel(rows), criterion)
    assert release.audit.is_satisfied
    rounded = ll.Channel.from_probabilities(product(release))
    assert not ll.audit(joint, rounded, criterion).is_satisfied
    encoded = encode(release, "values")
    assert encoded.release.audit.is_satisfied
    assert law_error(encoded) <= 2.0**-40
    off = np.abs(encoded.channel.p_y_given_x - product(release)).sum(axis=1)
    assert 0 < off.max() <= 2 * 2.0**-12


@given(releases())
def test_the_product_is_rounded_from_integers(release):
    """No machine's floats enter, so that keyed draws are the same everywhere."""
    table, rows = release
    joint, channel = joint_of(table), ll.Channel(rows)
    places, found = values._mixture(joint, channel)
    n_x = [sum(map(Fraction, column)) for column in zip(*table, strict=True)]
    masses = [
        sum(n * row[y] for n, row in zip(n_x, rows, strict=True)) for y in range(len(rows[0]))
    ]
    for place, weight in zip(places.tolist(), found.tolist(), strict=True):
        x, other = divmod(place, len(n_x))
        truth = sum(
            Fraction(rows[x][y], channel.denominator) * n_x[other] * rows[other][y] / masses[y]
            for y in range(len(masses))
        )
        assert abs(Fraction(weight, 1 << 48) - truth) <= Fraction(2, 1 << 48)
    assert np.bincount(places // len(n_x), found).tolist() == [2.0**48] * len(n_x)


def test_pairs_and_tables_make_the_same_product(monkeypatch):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(5, 0.3), 7) * (rng.random((7, 5)) < 0.8)
    channel = ll.Channel.from_probabilities(shares / shares.sum(axis=1, keepdims=True))
    joint = ll.Joint.from_counts(rng.integers(1, 50, (3, 7)))
    places, weights = values._mixture(joint, channel)
    monkeypatch.setattr(values, "MOST_ENTRIES", 0)
    again, same = values._mixture(joint, channel)
    assert places.tolist() == again.tolist()
    assert weights.tolist() == same.tolist()


def test_values_break_a_criterion_that_is_not_convex():
    """L1Lift's counter-example: two outputs within 0.418, values drawn from both beyond."""
    p_s = np.array([0.166, 0.622, 0.212])
    lifts = np.array([[0.952, 0.678, 1.984], [2.282, 0.66, 0.992]])
    own = np.linalg.solve([[0.9, 0.1], [0.1, 0.9]], lifts)
    rest = (1 - 0.2 * own.sum(axis=0)) / 0.6
    table = (np.array([0.2 * own[0], 0.2 * own[1], 0.6 * rest]) * p_s).T
    joint = ll.Joint(table / table.sum())
    channel = ll.Channel.from_probabilities([[0.9, 0.1, 0], [0.1, 0.9, 0], [0, 0, 1]])
    release = ll.Release.of(joint, channel, ll.L1Lift(math.log(1.418), INF))
    assert release.audit.is_satisfied
    with pytest.raises(BoundViolated, match=r"not convex. Use the encoding codes\."):
        encode(release, "values")
    assert encode(release, "codes").nmi == release.audit.nmi


def test_what_is_too_tight_for_whole_weights_is_refused():
    """Lift 1 exactly, by weights that leave nothing to split: no rounding keeps it."""
    joint = ll.Joint.from_counts([[1, 2, 3, 4], [4, 3, 2, 1]])
    size = 1 << 48
    first = [(size - 1) // 3, 0, size - 1, 0]  # {x1: 1/4, x3: 3/4} of odd weights
    channel = ll.Channel([[w, size - w] for w in first])
    release = ll.Release.of(joint, channel, ll.LIP(0))
    assert release.audit.is_satisfied
    with pytest.raises(
        BoundViolated, match=r"no room for so tight a bound. Use the encoding codes"
    ):
        encode(release, "values")


@pytest.mark.parametrize("name", ["codes", "groups", "values"])
def test_a_release_that_breaks_its_bound_is_not_published(name):
    release = ll.Release.of(COUNTS, ll.Channel.identity(COUNTS), ll.LIP(0.01))
    with pytest.raises(BoundViolated, match="does not satisfy LIP"):
        encode(release, name)


def test_too_many_pairs_are_refused_with_their_number():
    joint = ll.Joint.random(2, 1500, seed=0)
    channel = ll.Channel.from_blocks(joint, [list(range(1500))])
    release = ll.Release.of(joint, channel, ll.LIP(0))
    with pytest.raises(InvalidInput, match=f"at most {MOST_ENTRIES} pairs.* up to 2250000. Use"):
        encode(release, "values")
    assert encode(release, "groups").channel.n_y == 1


def test_many_small_blocks_are_fine():
    joint = ll.Joint.random(2, 3000, seed=0)
    blocks = [list(range(k, k + 3)) for k in range(0, 3000, 3)]
    release = ll.Release.of(joint, ll.Channel.from_blocks(joint, blocks), ll.LIP(9))
    encoded = encode(release, "values")
    assert len(encoded.channel.members) == 9000
    assert encoded.nmi == pytest.approx(release.audit.nmi, abs=1e-9)


def test_every_kind_of_label_is_published():
    joint = ll.Joint(ll.Joint.random(3, 6, seed=4).masses, x_labels=LABELS)
    channel = ll.Channel.from_blocks(joint, [[0, 3], [1, 2, 4], [5]])
    release = ll.Release.of(joint, channel, ll.LIP(3))
    assert encode(release, "groups").texts == ("{null, (a, (2, null))}", "{true, 7, text}", "2.5")
    assert encode(release, "values").labels == tuple(LABELS)
    assert encode(release, "values").texts[:3] == ("null", "true", "7")


def test_texts_differ_even_where_labels_look_alike():
    labels = ["a, b", "a", "b", "c", None, "null", 1, "1"]
    joint = ll.Joint(ll.Joint.random(3, 8, seed=4).masses, x_labels=labels)
    channel = ll.Channel.from_blocks(joint, [[0, 3], [1, 2], [4], [5], [6], [7]])
    release = ll.Release.of(joint, channel, ll.LIP(3))
    assert len(set(encode(release, "groups").texts)) == 6
    assert encode(release, "groups").texts[0] == '["a, b", "c"]'
    assert encode(release, "values").texts[4:] == ("null", '"null"', "1", '"1"')


def test_encoded_releases_survive_a_pickle():
    encoded = pickle.loads(pickle.dumps(encode(NOISY, "values")))
    assert encoded.name == "values"
    assert encoded.nmi == encode(NOISY, "values").nmi


@given(releases(), criteria())
def test_what_is_encoded_is_allowed_by_an_exact_check_that_is_not_lowlifts(release, criterion):
    table, weights = release
    joint = joint_of(table)
    made = ll.Release.of(joint, ll.Channel(weights), criterion)
    p_s = rational.prior(table)
    for name in ("codes", "values"):
        try:
            encoded = encode(made, name)
        except BoundViolated:
            assert not made.audit.is_satisfied or name == "values"
            # What merges can always be drawn from, by any criterion.
            assert not (is_deterministic(made.channel) and made.audit.is_satisfied)
            continue
        columns = rational.columns(table, encoded.channel.weights.tolist())
        assert all(rational.is_allowed(criterion, column, p_s) for column in columns)
        assert 0 <= encoded.share_changed <= 1
        if name == "values":
            assert law_error(encoded) <= 2.0**-24


def wide(rows):
    """A release that merges 2,000 symbols with labels of 20 bytes into one output."""
    joint = ll.Joint.from_counts(
        np.full((2, 2000), rows), x_labels=[f"{x:020}" for x in range(2000)]
    )
    return ll.Release.of(joint, ll.Channel.from_blocks(joint, [range(2000)]), ll.LIP(1.0))


def test_groups_that_would_fill_the_disk_are_refused_before_they_are_written():
    with pytest.raises(InvalidInput, match=r"up to 44\.0 kB, and all rows together 528\.0 MB"):
        encode(wide(3), "groups")
    assert default_encoding(wide(3)) == "codes"
    assert encode(wide(3), "codes").texts == ("0",)


def test_long_groups_of_few_rows_are_written():
    assert default_encoding(wide(1)) == "groups"
    assert len(encode(wide(1), "groups").texts[0]) == 44_000


def test_short_groups_of_many_rows_are_written():
    joint = ll.Joint.from_counts([[10**8, 10**8], [10**8, 10**8]], x_labels="ab")
    merged = ll.Release.of(joint, ll.Channel.from_blocks(joint, [[0, 1]]), ll.LIP(1.0))
    assert default_encoding(merged) == "groups"
    assert encode(merged, "groups").texts == ("{a, b}",)
