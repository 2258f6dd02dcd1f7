"""How many values rows keep: against pairs of rows one by one, and against rows that were drawn."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowlift as ll
from lowlift._cells.features import features_of
from lowlift._cells.kept import values_kept
from lowlift.tables import open_table
from lowlift.workflow.preview import preview_table
from lowlift.workflow.rows import design
from lowlift.workflow.utility import published_for


def one_by_one(columns, of, channel):
    """Return the share of each column, over all rows and the rows that they may get."""
    sizes = np.bincount(of)
    found = []
    for values in columns.values():
        share = Fraction(0)
        for row, own in enumerate(values):
            for donor, other in enumerate(values):
                chance = Fraction(channel[of[row]][of[donor]]).limit_denominator(64)
                share += chance / int(sizes[of[donor]]) * (own == other)
        found.append(share / len(of))
    return found


@given(st.data())
def test_the_share_is_that_of_all_pairs_of_rows(data):
    n_cells = data.draw(st.integers(1, 3))
    n = data.draw(st.integers(n_cells, 9))
    of = np.array([*range(n_cells), *(data.draw(st.integers(0, n_cells - 1)) for _ in range(n))])
    columns = {}
    for name, most in (("a", 1), ("b", 3), ("c", 20)):
        values = data.draw(st.lists(st.integers(0, most), min_size=len(of), max_size=len(of)))
        columns[name] = np.array(values, np.float64)
    parts = [data.draw(st.integers(0, 16)) for _ in range(n_cells)]
    # A row stays with so many of 16 chances; else it goes to the next cell.
    channel = np.zeros((n_cells, n_cells))
    for c, part in enumerate(parts):
        channel[c, c] += part / 16
        channel[c, (c + 1) % n_cells] += 1 - part / 16
    source, target = np.nonzero(channel)
    sizes = np.bincount(of)
    flows = source, target, channel[source, target] * sizes[source] / len(of)
    found = values_kept(features_of(columns), of, sizes, flows)
    assert found.names == ("a", "b", "c")
    assert found.shares == pytest.approx([float(v) for v in one_by_one(columns, of, channel)])
    alone = np.ones((1, 1))
    chance = one_by_one(columns, np.zeros(len(of), int), alone)
    assert found.by_chance == pytest.approx([float(v) for v in chance])
    # Few different numbers are categories, whose distance is 0 or 1.
    for name, k in (("a", 0), ("b", 1)):
        assert len(set(columns[name].tolist())) <= 8
        assert found.moved[k] == pytest.approx(1 - found.shares[k])
        assert found.moved_by_chance[k] == pytest.approx(1 - found.by_chance[k])


def test_values_that_are_too_rare_to_be_told_apart_are_not_taken_for_one():
    values = np.array([f"v{k // 2}" for k in range(1000)], object)  # 500 values, of which 200 are
    of = np.zeros(1000, int)
    found = values_kept(
        features_of({"x": values}), of, np.array([1000]), (of[:1], of[:1], np.ones(1))
    )
    assert found.shares[0] == pytest.approx(2 / 1000, abs=1e-4)
    assert found.share - found.by_chance[0] == pytest.approx(0, abs=1e-4)
    assert found.moved[0] == pytest.approx(1 - found.shares[0], abs=1e-3)
    assert found.nearness == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("encoding", ["rows", "columns"])
def test_drawn_rows_keep_what_was_said(encoding):
    rng = np.random.default_rng(1)
    n = 8000
    frame = pd.DataFrame(
        {
            "job": rng.choice(list("abcdef"), n),
            "age": rng.integers(18, 90, n),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(1)),
        }
    )
    frame["ill"] = rng.random(n) < 0.1 + 0.4 * (frame["age"] > 60) * (frame["job"] < "c")
    schema = ll.Schema("ill", ["job", "age", "pay"], cells="auto", encoding=encoding)
    made = design(frame, schema, ll.LIP.at_most(1.5))
    with open_table(frame) as table:
        drawn = preview_table(table, made)
    assert drawn.values_unchanged == pytest.approx(made.kept.share, abs=0.01)
    assert [share for _, share in drawn.unchanged] == pytest.approx(made.kept.shares, abs=0.025)
    assert made.kept.share > made.kept.chance
    assert 0 < made.kept.nearness < 1


def test_numbers_move_by_as_much_as_rows_that_are_drawn():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(40, 9, 6000), "pay": rng.exponential(9, 6000)})
    frame["ill"] = rng.random(6000) < 0.1 + 0.4 * (frame["age"] > 50)
    made = design(frame, ll.Schema("ill", ["age", "pay"], cells=40), ll.LIP.at_most(1.5))
    x = made.encoded.origin.cells.bins.tree.assign([frame[n].to_numpy() for n in ("age", "pay")])
    place = {label: k for k, label in enumerate(made.release.joint.x_labels)}
    x = np.array([place[cell] for cell in x.tolist()])
    rows, donors = published_for(made.release.channel, x, np.tile(np.arange(6000), 5), 3)
    for k, name in enumerate(("age", "pay")):
        ranks = frame[name].rank().to_numpy() / 6000
        moved = np.abs(ranks[rows] - ranks[donors]).mean()
        assert made.kept.moved[k] == pytest.approx(moved, rel=0.1)  # by classes of ranks
        assert made.kept.moved_by_chance[k] == pytest.approx(1 / 3, rel=0.02)
    # Not one value is as it was, but of rows that are drawn for themselves.
    assert made.kept.share < 0.05 < 0.3 < made.kept.nearness


def test_a_design_for_the_population_is_measured_beyond_the_rows_it_was_learnt_from():
    rng = np.random.default_rng(4)
    n = 20_000
    frame = pd.DataFrame({"job": rng.choice(list("abcdef"), n), "age": rng.integers(18, 90, n)})
    frame["ill"] = rng.random(n) < 0.1 + 0.4 * (frame["age"] > 60)
    made = design(
        frame, ll.Schema("ill", ["job", "age"], cells="auto"), ll.Population(ll.LIP.at_most(2))
    )
    with open_table(frame) as table:
        drawn = preview_table(table, made)
    assert drawn.values_unchanged == pytest.approx(made.kept.share, abs=0.03)
