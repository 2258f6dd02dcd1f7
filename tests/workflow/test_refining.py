"""Refining a published table: by a key, given the first."""

import json
import stat

import pytest

import lowlift as ll
from lowlift import BoundViolated, InvalidInput, Refinement, Release
from lowlift.tables import uniform_of
from lowlift.tables.layouts import Layout
from lowlift.workflow import Asked, Options, audit_releases, refine_table, sanitize, verify
from lowlift.workflow.keys import subkey_of
from people import COUNTS, DISEASES, WARDS, column_of, rows_of, write_people

KEY = bytes(range(32))
ASKED = Asked(("disease",), ("ward",))


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture
def first(people, tmp_path):
    options = Options(id="pid", key=KEY)
    target = str(tmp_path / "first.csv")
    return sanitize(
        people, ASKED, ll.LIP(0.2), target, options, mechanism="random-response", encoding="codes"
    )


def keyed(**more):
    return Options(id="pid", key=KEY, **more)


def test_each_row_gets_an_output_that_refines_its_first_one(people, first, tmp_path):
    target = str(tmp_path / "second.csv")
    # The kept ids are for this test: they tell which rows belong together.
    made = refine_table(
        people,
        first.release,
        ll.LIP(0.4),
        target,
        keyed(keep=("pid",), accept_uncovered=True),
        first=str(tmp_path / "first.csv"),
    )
    assert made.verification.is_ok
    assert made.release.audit.is_satisfied
    assert made.release.audit.nmi > first.release.audit.nmi
    before = Layout.of_alias(first.release.channel, first.design.encoded.key_scope)
    after, parents = made.release.draws, made.release.refines.parents
    subkey = subkey_of(KEY, before.scope)
    wards = [x for _, x in rows_of(COUNTS, DISEASES, WARDS)]
    codes = dict(zip(column_of(target, "pid"), column_of(target, "code"), strict=True))
    number = {label: x for x, label in enumerate(first.release.joint.x_labels)}
    for k, ward in enumerate(wards):
        uniform, x = uniform_of(subkey, f"p{k}"), number[ward]
        assert after.draw(x, uniform) == int(codes[f"p{k}"])
        assert parents[int(codes[f"p{k}"])] == before.draw(x, uniform)


def test_one_record_draws_what_the_table_draws(people, first, tmp_path):
    target = str(tmp_path / "second.csv")
    options = keyed(keep=("pid",), accept_uncovered=True)
    made = refine_table(
        people, first.release, ll.LIP(0.4), target, options, first=str(tmp_path / "first.csv")
    )
    codes = dict(zip(column_of(target, "pid"), column_of(target, "code"), strict=True))
    for k in (0, 100, 5000):
        ward = rows_of(COUNTS, DISEASES, WARDS)[k][1]
        drawn = made.release.apply_one({"ward": ward}, id=f"p{k}", key=KEY)
        assert str(drawn["code"]) == codes[f"p{k}"]
    with pytest.raises(InvalidInput, match="must be drawn given"):
        made.release.apply_one({"ward": ward})


def test_files_are_written_and_verified(people, first, tmp_path):
    where = {"first": str(tmp_path / "first.csv")}
    target = str(tmp_path / "second.csv")
    made = refine_table(people, first.release, ll.LIP(0.4), target, keyed(), **where)
    file = tmp_path / "second.release.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Refinement.from_json(file).refines.first == first.release.fingerprint
    found = verify(str(file), published=str(tmp_path / "second.csv"), against=people)
    assert found.is_ok
    assert made.receipt.draws == "keyed"


def test_another_key_or_a_fresh_first_table_is_refused(people, first, tmp_path):
    other = Options(id="pid", key=bytes(32))
    where = str(tmp_path / "first.csv")
    with pytest.raises(InvalidInput, match="must be the one that this key"):
        refine_table(
            people, first.release, ll.LIP(0.4), str(tmp_path / "b.csv"), other, first=where
        )
    with pytest.raises(InvalidInput, match="must be drawn given what that one published"):
        refine_table(
            people, first.release, ll.LIP(0.4), str(tmp_path / "b.csv"), Options(), first=where
        )
    with pytest.raises(InvalidInput, match="how the first table was drawn must be known"):
        refine_table(people, first.release, ll.LIP(0.4), str(tmp_path / "b.csv"), keyed())
    assert not list(tmp_path.glob("b.*"))


def test_a_damaged_layout_is_refused(people, first, tmp_path):
    target, where = str(tmp_path / "second.csv"), str(tmp_path / "first.csv")
    refine_table(people, first.release, ll.LIP(0.4), target, keyed(), first=where)
    file = tmp_path / "second.release.json"
    saved = json.loads(file.read_text())
    saved["draws"]["pieces"][0][0][1] ^= 1
    file.write_text(json.dumps(saved))
    with pytest.raises(InvalidInput, match=r"second\.release\.json is damaged: the pieces"):
        Release.from_json(file)


def test_rows_cannot_be_refined(people, tmp_path):
    asked = Asked(("disease",), ("ward",), cells=4)
    rows = sanitize(people, asked, ll.LIP(0.3), str(tmp_path / "rows.csv"))
    with pytest.raises(InvalidInput, match="a release of rows cannot be refined"):
        refine_table(people, rows.release, ll.LIP(0.5), str(tmp_path / "second.csv"), keyed())


def test_a_smaller_total_writes_nothing(people, first, tmp_path):
    with pytest.raises(BoundViolated, match="the first release alone"):
        refine_table(
            people, first.release, ll.ALIP(0.4, 0.01), str(tmp_path / "second.csv"), keyed()
        )
    assert not list(tmp_path.glob("second.*"))


@pytest.mark.parametrize("encoding", ["values", "groups"])
def test_other_encodings_are_refined_too(people, tmp_path, encoding):
    mechanism = "subset-merging" if encoding == "groups" else "random-response"
    where = str(tmp_path / "first.csv")
    first = sanitize(
        people, ASKED, ll.LIP(0.2), where, keyed(), mechanism=mechanism, encoding=encoding
    )
    target = str(tmp_path / "second.csv")
    made = refine_table(people, first.release, ll.LIP(0.4), target, keyed(), first=where)
    assert made.verification.is_ok


def test_a_release_and_what_refines_it_are_audited_as_what_they_are(first, people, tmp_path):
    second = ll.refine(first.release, ll.LIP(0.4))
    files = [str(tmp_path / "first.release.json"), str(tmp_path / "second.json")]
    second.to_json(files[1])
    releases, found = audit_releases(files)
    assert len(releases) == 1
    assert found.is_satisfied
    assert found.nmi == pytest.approx(second.nmi, rel=1e-12)
    other = str(tmp_path / "other.json")
    ll.refine(first.release, ll.LIP(0.5)).to_json(other)
    with pytest.raises(InvalidInput, match="drawn by the same numbers are not independent"):
        audit_releases([*files, other])
