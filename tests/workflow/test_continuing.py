"""Keyed draws that survive a redesign, and the audit of what changed."""

import numpy as np
import pytest

import lowlift as ll
from lowlift import BoundViolated, InvalidInput, Release
from lowlift._channel import MAX_DENOMINATOR
from lowlift.encodings import published
from lowlift.tables import Column, Origin
from lowlift.tables.layouts import Layout, overlaps
from lowlift.workflow import Asked, Options, sanitize
from lowlift.workflow.continuing import continued
from people import COUNTS, DISEASES, WARDS, column_of, rows_of, write_csv, write_people

KEY = bytes(range(32))
ORIGIN = Origin(
    (Column("ill", "boolean"),), (Column("ward", "text"),), "value", "people.csv", 80, None, "codes"
)


def release(weights, counts, labels="abcd"):
    joint = ll.Joint.from_counts(counts, [False, True], labels[: len(weights)])
    channel = ll.Channel(np.array(weights) * (MAX_DENOMINATOR // 8), joint.x_labels)
    return Release.of(joint.with_table(ORIGIN), channel, ll.LIP(3.0))


BEFORE = release([[6, 2, 0], [1, 7, 0], [0, 4, 4]], [[9, 11, 20], [20, 10, 10]])
#: The second row is another, the fourth is new.
AFTER = release([[6, 2, 0], [3, 5, 0], [0, 4, 4], [2, 2, 4]], [[10, 12, 20, 3], [20, 11, 11, 4]])


def test_unchanged_rows_keep_their_draws():
    found, _ = continued(published(BEFORE), published(AFTER))
    found.draws.check(found.channel)
    before = Layout.of_alias(BEFORE.channel, published(BEFORE).key_scope)
    assert found.draws.scope == before.scope
    numbers = np.random.default_rng(0).integers(0, 1 << 60, 3000).tolist()
    for number in numbers:
        for x in (0, 2):
            assert found.draws.draw(x, number) == before.draw(x, number)
    changed = np.mean([found.draws.draw(1, n) != before.draw(1, n) for n in numbers])
    assert changed == pytest.approx(0.25, abs=0.05)  # 2 of 8: no more than must


def test_the_audit_is_of_the_pairs_that_one_number_draws():
    found, pairs = continued(published(BEFORE), published(AFTER))
    before = Layout.of_alias(BEFORE.channel, "")
    joint, masses = AFTER.joint, {}
    for x in range(4):
        old = before.pieces[x] if x < 3 else ((0, -1),)
        for drawn, size in overlaps([old, found.draws.pieces[x]]).items():
            column = masses.setdefault(drawn, np.zeros(2, object))
            column += joint.counts[:, x].astype(object) * size
    p_s = np.array(joint.prior, object)
    lifts = sorted(
        tuple(float(c * p_s.sum() / (column.sum() * p)) for c, p in zip(column, p_s, strict=True))
        for column in masses.values()
    )
    assert pairs.channel.n_y == len(lifts)
    np.testing.assert_allclose(sorted(map(tuple, pairs.lift.T)), lifts, rtol=1e-12)


def test_the_same_design_changes_nothing():
    found, pairs = continued(published(BEFORE), published(BEFORE))
    assert found.draws == Layout.of_alias(BEFORE.channel, published(BEFORE).key_scope)
    assert pairs.channel.n_y == BEFORE.channel.n_y


def test_other_columns_are_refused():
    other = ORIGIN.__class__(ORIGIN.sensitive, (Column("job", "text"),), *("value", "p", 80, None))
    later = AFTER.with_table(other.__class__(**{**vars(other), "encoding": "codes"}))
    with pytest.raises(InvalidInput, match="continues one of the same columns and bins"):
        continued(published(BEFORE), published(later))


def keyed(**more):
    return Options(id="pid", key=KEY, keep=("pid",), accept_uncovered=True, **more)


@pytest.fixture
def first(tmp_path):
    people = write_people(tmp_path / "people.csv")
    asked = Asked(("disease",), ("ward",))
    how = {"mechanism": "subset-merging", "encoding": "values"}
    return sanitize(people, asked, ll.LIP(0.4), str(tmp_path / "first.csv"), keyed(), **how)


def test_rows_of_a_table_that_grew_keep_what_was_published(first, tmp_path):
    rows = [(f"p{k}", *row) for k, row in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
    # The same law, and a ward that was not there and says next to nothing of the disease.
    grown = rows + [(f"q{k}", s, x) for k, (_, s, x) in enumerate(rows)]
    more = [s for s, n in zip(DISEASES, map(sum, COUNTS), strict=True) for _ in range(n // 10)]
    grown += [(f"r{k}", s, "new") for k, s in enumerate(more)]
    table = write_csv(tmp_path / "grown.csv", ("pid", "disease", "ward"), grown)
    asked = Asked(("disease",), ("ward",))
    how = {"mechanism": "subset-merging", "encoding": "values"}
    target = str(tmp_path / "second.csv")
    second = sanitize(table, asked, ll.LIP(0.4), target, keyed(), continues=first.release, **how)
    assert second.verification.is_ok
    files = [str(tmp_path / "first.csv"), target]
    before, after = (
        dict(zip(column_of(f, "pid"), column_of(f, "ward"), strict=True)) for f in files
    )
    old, new = (each.release.channel for each in (first, second))
    rows_old = dict(zip(old.x_labels, old.p_y_given_x.tolist(), strict=True))
    same = [
        x
        for x, row in zip(new.x_labels, new.p_y_given_x.tolist(), strict=True)
        if x in rows_old
        and dict(zip(new.y_labels, row, strict=True)).items()
        >= dict(zip(old.y_labels, rows_old[x], strict=True)).items()
    ]
    assert same
    for name, _, ward in rows:
        if ward in same:
            assert after[name] == before[name]


def test_a_redesign_whose_changes_tell_too_much_is_refused(first, tmp_path):
    rows = [(f"p{k}", *row) for k, row in enumerate(rows_of(COUNTS, DISEASES, WARDS))]
    table = write_csv(tmp_path / "same.csv", ("pid", "disease", "ward"), rows)
    asked = Asked(("disease",), ("ward",))
    with pytest.raises(BoundViolated, match="pairs of an earlier and a new output break it"):
        sanitize(
            table,
            asked,
            ll.LIP(0.3),
            str(tmp_path / "second.csv"),
            keyed(),
            mechanism="random-response",
            encoding="values",
            continues=first.release,
        )
    assert not list(tmp_path.glob("second.*"))
