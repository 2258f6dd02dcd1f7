"""From a table to an audit and to a design: columns, missing values, bins, encodings, files."""

import datetime as dt
import json
import math
import re

import numpy as np
import pytest

import lowlift as ll
from lowlift.codebook import Codebook
from lowlift.tables import Each, Edges, Quantiles, Width
from lowlift.workflow import Asked, Spec, audit_table, codebook_of, criterion_of, design, guesses
from lowlift.workflow.choices import choose
from lowlift.workflow.columns import _marginal as marginal
from people import (
    COUNTS,
    DISEASES,
    ROWS,
    WARDS,
    rows_of,
    sha256,
    write_csv,
    write_parquet,
    write_people,
)

ASKED = Asked(("disease",), ("ward",))
JOINT = ll.Joint.from_counts(COUNTS, DISEASES, WARDS)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture(scope="module")
def merged(people):
    return design(people, ASKED, ll.LIP(0.4), mechanism="subset-merging")


@pytest.fixture(scope="module")
def mixed(people):
    return design(people, ASKED, ll.LIP(0.3), mechanism="random-response", time_limit=5)


# --- audit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "expected"),
    [(ll.LIP(3.0), True), (ll.LIP(0.5), False), (ll.LIP(0.0), False), (ll.LIP(math.inf), True)],
)
def test_an_audit_is_that_of_the_counts(people, bound, expected):
    found = audit_table(people, ASKED, bound)
    oracle = ll.audit(JOINT, ll.Channel.identity(JOINT), bound)
    assert found.is_satisfied is found.audit.is_satisfied is oracle.is_satisfied is expected
    assert found.audit.joint.labels == JOINT.labels
    assert (found.audit.joint.counts == np.array(COUNTS)).all()
    np.testing.assert_allclose(found.audit.lift, oracle.lift, rtol=1e-14)
    assert found.columns == ()
    assert (found.spec.rows, found.spec.source) == (ROWS, "people.csv")
    assert found.spec.sha256 == sha256(people)


def test_the_intervals_of_an_audit_hold_the_lifts(people):
    found = audit_table(people, ASKED, ll.LIP(1.0))
    assert (found.intervals.low < found.audit.lift).all()
    assert (found.audit.lift < found.intervals.high).all()
    assert (found.intervals.n_rows, found.intervals.zero_cells) == (ROWS, 0)


def test_zero_cells_are_reported(tmp_path):
    table = write_csv(
        tmp_path / "t.csv", "sx", rows_of([[5, 0, 5], [5, 5, 0]], ("a", "b"), ("u", "v", "w"))
    )
    found = audit_table(table, Asked(("s",), ("x",)), ll.ALIP(1.0, 1.0))
    assert found.intervals.zero_cells == 2
    assert math.isinf(found.audit.min_lift_leakage)
    assert not found.is_satisfied


S_PAIRS = (("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1"))
#: L1 leakage below of the pair is 0.593, that of column a alone 0.617.
HIDDEN = ((2, 11), (2, 15), (9, 17), (11, 3))


def pairs_table(path, counts):
    rows = [(*s, x) for s, x in rows_of(counts, S_PAIRS, ("u", "v"))]
    return write_csv(path, ("a", "b", "x"), rows)


def test_several_sensitive_columns_are_audited_jointly_and_one_by_one(tmp_path):
    table = pairs_table(tmp_path / "t.csv", HIDDEN)
    asked = Asked(("a", "b"), ("x",))
    found = audit_table(table, asked, ll.LIP(5.0))
    assert found.audit.joint.s_labels == S_PAIRS
    assert [name for name, _ in found.columns] == ["a", "b"]
    for place, (name, part) in enumerate(found.columns):
        alone = audit_table(table, Asked((name,), ("x",)), ll.LIP(5.0))
        assert (part.joint.counts == alone.audit.joint.counts).all()
        assert (marginal(found.audit.joint, place).counts == part.joint.counts).all()
        # A pair cannot say less than one of its columns, for a convex criterion.
        assert part.max_lift_leakage <= found.audit.max_lift_leakage + 1e-12
        assert part.min_lift_leakage <= found.audit.min_lift_leakage + 1e-12


def test_a_criterion_that_is_not_convex_is_checked_per_column(tmp_path):
    table = pairs_table(tmp_path / "t.csv", HIDDEN)
    asked, bound = Asked(("a", "b"), ("x",)), ll.L1Lift(0.605, 9.0)
    found = audit_table(table, asked, bound)
    assert found.audit.is_satisfied
    assert [part.is_satisfied for _, part in found.columns] == [False, True]
    assert not found.is_satisfied
    made = design(table, asked, bound)
    assert made.release.audit.is_satisfied
    assert not made.is_satisfied


# --- what is asked for -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (((), ("ward",)), "sensitive columns: name at least one"),
        ((("disease",), ()), "released columns: name at least one"),
        ((("ward",), ("ward",)), "'ward' is not"),
        ((("disease",), ("ward", "ward")), "named once"),
        ((("disease", "disease"), ("ward",)), "named once"),
        ((("disease",), ("ward",), {"age": Each()}), "'age' is neither"),
        ((("disease",), ("ward",), {}, "skip"), "value, drop, error"),
    ],
)
def test_columns_that_cannot_be_asked_for(arguments, word):
    with pytest.raises(ll.InvalidInput, match=word):
        Asked(*arguments)


def test_an_unknown_column_is_refused_with_close_names(people):
    with pytest.raises(ll.InvalidInput, match=r"'wrad'.*'ward'"):
        audit_table(people, Asked(("disease",), ("wrad",)), ll.LIP(1.0))
    with pytest.raises(ll.InvalidInput, match=r"'Disease'.*'disease'"):
        design(people, Asked(("Disease",), ("ward",)), ll.LIP(1.0))


def test_a_table_without_rows_is_refused(tmp_path):
    for name, text in (("head.csv", "s,x\n"), ("nothing.csv", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ll.InvalidInput, match=name):
            design(str(tmp_path / name), Asked(("s",), ("x",)), ll.LIP(1.0))
    table = write_csv(tmp_path / "t.csv", "sx", [("", "u"), ("a", "")])
    with pytest.raises(ll.InvalidInput, match="missing"):
        design(table, Asked(("s",), ("x",), missing="drop"), ll.LIP(1.0))


@pytest.mark.parametrize("mechanism", ["auto", "watchdog", "subset-merging", "optimal-merging"])
@pytest.mark.parametrize("rows", [[("a", "u")], [("a", "u"), ("a", "v")] * 20])
def test_one_value_of_s_has_nothing_to_protect(tmp_path, rows, mechanism):
    """All is well then, without a warning (warnings are errors here)."""
    table = write_csv(tmp_path / "t.csv", "sx", rows)
    asked = Asked(("s",), ("x",))
    assert audit_table(table, asked, ll.LIP(0.0)).is_satisfied
    made = design(table, asked, ll.LIP(0.0), mechanism=mechanism)
    assert made.is_satisfied
    assert made.release.audit.nmi == 1.0


def test_one_value_of_x_is_published_as_it_is(tmp_path):
    table = write_csv(tmp_path / "t.csv", "sx", [("a", "u"), ("b", "u")] * 5)
    made = design(table, Asked(("s",), ("x",)), ll.LIP(0.0))
    assert (made.is_satisfied, made.release.channel.n_y) == (True, 1)


# --- missing values --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """60 whole rows, 6 without X, 5 without S, 3 without either."""
    rows = [("a", "u"), ("b", "v"), ("a", "v"), ("b", "u")] * 15
    rows += [("a", "")] * 6 + [("", "u")] * 5 + [("", "")] * 3
    return write_csv(tmp_path_factory.mktemp("gaps") / "gaps.csv", ("s", "x"), rows)


def test_missing_is_a_value_of_its_own(gaps):
    joint = audit_table(gaps, Asked(("s",), ("x",)), ll.LIP(1.0)).audit.joint
    assert (joint.s_labels, joint.x_labels) == (("a", "b", None), ("u", "v", None))
    assert joint.counts.tolist() == [[15, 15, 6], [15, 15, 0], [5, 0, 3]]


def test_missing_rows_can_be_dropped(gaps):
    found = audit_table(gaps, Asked(("s",), ("x",), missing="drop"), ll.LIP(1.0))
    assert found.audit.joint.counts.tolist() == [[15, 15], [15, 15]]
    assert found.spec.rows == 60


def test_missing_rows_can_be_an_error(gaps):
    with pytest.raises(ll.InvalidInput, match="14 rows"):
        audit_table(gaps, Asked(("s",), ("x",), missing="error"), ll.LIP(1.0))


# --- numbers and types -----------------------------------------------------------------------

AGES = (0, 3, 17, 18, 29, 30, 64, 65, 80, -1)


@pytest.fixture(scope="module")
def ages(tmp_path_factory):
    rows = [(s, age, age + 0.5) for age in AGES for s in ("a", "b")]
    return write_csv(tmp_path_factory.mktemp("ages") / "ages.csv", ("s", "age", "dose"), rows)


def x_of(table, bins, name="age"):
    joint = audit_table(table, Asked(("s",), (name,), {name: bins}), ll.LIP(1.0)).audit.joint
    return dict(zip(joint.x_labels, joint.counts.sum(axis=0).tolist(), strict=True))


def test_bins_are_what_they_say(ages):
    assert x_of(ages, Edges((0, 18, 30, 65))) == {
        "< 0": 2,
        "[0, 18)": 6,
        "[18, 30)": 4,
        "[30, 65)": 4,
        ">= 65": 4,
    }
    assert x_of(ages, Width(10)) == {
        "[-10, 0)": 2,
        "[0, 10)": 4,
        "[10, 20)": 4,
        "[20, 30)": 2,
        "[30, 40)": 2,
        "[60, 70)": 4,
        "[80, 90)": 2,
    }
    assert x_of(ages, Each()) == dict.fromkeys(sorted(AGES), 2)
    assert sum(x_of(ages, Quantiles(4)).values()) == 2 * len(AGES)
    assert len(x_of(ages, Quantiles(4))) == 4
    assert x_of(ages, Width(50), "dose") == {"[-50, 0)": 2, "[0, 50)": 12, "[50, 100)": 6}


@pytest.mark.parametrize("side", ["s", "x"])
def test_numbers_without_bins_are_refused_with_the_ways_to_fix_it(ages, side, tmp_path):
    asked = Asked(("s",), ("age",)) if side == "x" else Asked(("age",), ("s",))
    many = tmp_path / "many.csv"  # few values of S need no bins
    many.write_text("s,age\n" + "".join(f"{k % 2},{k}\n" for k in range(21)))
    with pytest.raises(ll.InvalidInput) as found:
        audit_table(ages if side == "x" else str(many), asked, ll.LIP(1.0))
    for word in ("bins=", "0,18", "width:10", "each"):
        assert word in str(found.value)
    with pytest.raises(ll.InvalidInput, match="width:1") as found:
        audit_table(ages, Asked(("s",), ("dose",)), ll.LIP(1.0))
    assert "each" not in str(found.value)


def test_edges_from_the_data_are_said(ages):
    made = design(ages, Asked(("s",), ("age",), {"age": Quantiles(3)}), ll.LIP(0.5))
    assert made.spec.from_data == Spec.from_dict(made.release.table).from_data == ("age",)
    made = design(ages, Asked(("s",), ("age",), {"age": Width(10)}), ll.LIP(0.5))
    assert made.spec.from_data == ()


@pytest.mark.parametrize("value", [3.5e301, math.inf])
def test_quantiles_of_values_beyond_range_tell_no_value(tmp_path, value):
    table = write_parquet(tmp_path / "t.parquet", {"s": ["a", "b"] * 9, "x": [value] * 18})
    with pytest.raises(ll.InvalidInput) as found:
        audit_table(table, Asked(("s",), ("x",), {"x": Quantiles(3)}), ll.LIP(1.0))
    assert "e+301" not in str(found.value)
    assert "got inf" not in str(found.value)


def test_each_kind_has_its_labels(tmp_path):
    days = [dt.date(2020, 1, day) for day in (1, 2)]
    columns = {"s": ["a", "b"] * 4, "b": [True, False] * 4, "d": days * 4, "t": ["u", "v"] * 4}
    table = write_parquet(tmp_path / "t.parquet", columns)
    joint = audit_table(table, Asked(("s",), ("b", "d", "t")), ll.LIP(1.0)).audit.joint
    assert set(joint.x_labels) == {(True, "2020-01-01", "u"), (False, "2020-01-02", "v")}


def test_dates_that_are_not_written_as_iso(tmp_path):
    rows = [("a", "01/02/2024"), ("b", "13/02/2024")] * 20
    table = write_csv(tmp_path / "t.csv", ("s", "d"), rows)
    joint = audit_table(table, Asked(("s",), ("d",)), ll.LIP(1.0)).audit.joint
    assert joint.counts.tolist() == [[20, 0], [0, 20]]


# --- design ----------------------------------------------------------------------------------


def test_a_design_holds_and_says_why_it_was_chosen(people):
    made = design(people, ASKED, ll.LIP(0.3), time_limit=5)
    assert made.is_satisfied
    assert made.chosen.name == "random-response"
    assert "4 symbols of X by 3 of S" in made.chosen.reason
    before, after = guesses(made.release.joint, made.encoded.release.channel)
    assert before == pytest.approx(max(map(sum, COUNTS)) / ROWS)
    assert before <= after <= 1
    assert made.intervals.low.shape == (3, made.encoded.release.channel.n_y)


def test_too_many_symbols_are_refused_and_never_started():
    """10**6 symbols take 11 minutes to merge, by the estimate: that is a hang."""

    class Large:
        n_s, n_x = 2, 1_000_000

    for name in ("auto", "subset-merging", "watchdog", "random-response"):
        with pytest.raises(ll.InvalidInput, match="1,000,000 symbols"):
            choose(name, Large, criterion_of("lip", epsilon=1.0))


def test_many_symbols_are_counted_in_time_that_grows_with_them(tmp_path):
    """With the square of the symbols it would take longer than a test may take."""
    size = 240_000
    columns = {"s": ["a", "b", "b"] * (size // 3), "x": [f"v{k}" for k in range(size)]}
    table = write_parquet(tmp_path / "t.parquet", columns)
    with pytest.raises(ll.InvalidInput, match="480,000 cells"):
        design(table, Asked(("s",), ("x",)), ll.LIP(1.0), mechanism="subset-random-response")


def test_an_unknown_mechanism_or_encoding(people):
    with pytest.raises(ll.InvalidInput, match="mechanism"):
        design(people, ASKED, ll.LIP(1.0), mechanism="best")
    with pytest.raises(ll.InvalidInput, match="encoding"):
        design(people, ASKED, ll.LIP(1.0), encoding="text")
    with pytest.raises(ll.InvalidInput, match="engine"):
        design(people, ASKED, ll.LIP(1.0), engine="sqlite")


# --- encodings -------------------------------------------------------------------------------


def test_what_merges_is_published_as_groups(merged):
    assert merged.encoded.name == merged.spec.encoding == "groups"
    assert merged.encoded.release.channel.denominator == 1
    assert all(re.fullmatch(r"\w+|\{\w+(, \w+)+\}", text) for text in merged.encoded.texts)
    members = sorted(ward for label in merged.encoded.labels for ward in label)
    assert members == sorted(WARDS)


def test_what_draws_is_published_as_codes_and_not_as_groups(people, mixed):
    assert mixed.encoded.name == "codes"
    assert mixed.encoded.release.channel.denominator > 1
    with pytest.raises(ll.InvalidInput, match="groups"):
        design(
            people,
            ASKED,
            ll.LIP(0.3),
            mechanism="random-response",
            encoding="groups",
            time_limit=5,
        )


@pytest.mark.parametrize("mechanism", ["subset-merging", "random-response"])
def test_values_keep_the_distribution_and_are_audited_as_what_they_are(people, mechanism):
    made = design(people, ASKED, ll.LIP(0.3), mechanism=mechanism, encoding="values", time_limit=5)
    published = made.encoded.release
    assert set(published.channel.y_labels) <= set(WARDS)
    # The audit is that of the channel to X', made anew from its weights.
    anew = ll.audit(published.joint, published.channel, ll.LIP(0.3))
    assert anew.is_satisfied
    assert made.is_satisfied
    np.testing.assert_allclose(anew.lift, published.audit.lift, rtol=1e-12)
    law = dict(zip(published.channel.y_labels, anew.p_y, strict=True))
    for ward, share in zip(WARDS, JOINT.p_x, strict=True):
        assert law[ward] == pytest.approx(share, abs=1e-9)
    # Drawing a member loses information, and changes rows.
    assert published.audit.nmi <= made.release.audit.nmi + 1e-12
    stays = sum(
        JOINT.p_x[x] * published.channel.p_y_given_x[x, published.channel.y_labels.index(ward)]
        for x, ward in enumerate(WARDS)
    )
    assert made.encoded.share_changed == pytest.approx(1 - stays)


def test_values_that_would_break_a_bound_are_refused(people):
    """Mixing can break a criterion that is not convex; whatever comes out, it holds."""
    bound = ll.L1Lift(0.2, 0.2)
    for encoding in ("codes", "groups", "values"):
        try:
            made = design(people, ASKED, bound, mechanism="subset-merging", encoding=encoding)
        except ll.BoundViolated:
            assert encoding == "values"
            continue
        published = made.encoded.release
        assert ll.audit(published.joint, published.channel, bound).is_satisfied


# --- files -----------------------------------------------------------------------------------


def test_a_release_file_is_confidential_and_says_so(merged, tmp_path):
    path = tmp_path / "release.json"
    path.write_text("old")
    path.chmod(0o644)
    merged.release.to_json(path)
    assert path.stat().st_mode & 0o777 == 0o600
    saved = json.loads(path.read_text("utf-8"))
    assert "confidential" in saved
    found = ll.Release.from_json(path)
    assert found.fingerprint == merged.release.fingerprint
    assert Spec.from_dict(found.table) == merged.spec
    assert [part.name for part in merged.spec.sensitive] == ["disease"]


def numbers_in(text):
    return {int(number) for number in re.findall(r"(?<![\d.])\d+(?![\d.])", text)}


@pytest.mark.parametrize("encoding", ["codes", "groups", "values"])
@pytest.mark.parametrize("round_to", [None, 0.01])
def test_a_codebook_has_nothing_of_s_and_no_counts(people, tmp_path, encoding, round_to):
    made = design(people, ASKED, ll.LIP(0.4), mechanism="subset-merging", encoding=encoding)
    path = tmp_path / "codebook.json"
    codebook_of(made, round_to).to_json(path)
    text = path.read_text("utf-8")
    for word in (*DISEASES, "disease", "people.csv", made.spec.sha256):
        assert word not in text
    counts = np.array(COUNTS)
    secret = {*counts.ravel(), *counts.sum(axis=0), *counts.sum(axis=1), ROWS}
    assert not secret & numbers_in(text)
    assert "not covered" in text.lower()
    book = Codebook.from_json(path)
    assert book.guarantee.startswith("No published value makes any sensitive value more than")
    assert [part["name"] for part in book.columns] == ["code" if encoding == "codes" else "ward"]


def test_rounding_outward_contains_the_truth(mixed):
    exact, rounded = codebook_of(mixed), codebook_of(mixed, 0.05)
    for truth, ends in zip(exact.p_x_given_y, rounded.p_x_given_y, strict=True):
        for (p, _), (low, high) in zip(truth, ends, strict=True):
            assert low <= p <= high
            assert high - low == pytest.approx(0.05)
            assert low / 0.05 == pytest.approx(round(low / 0.05))
    with pytest.raises(ll.InvalidInput, match="round_to"):
        codebook_of(mixed, 0.9)


def test_a_codebook_warns_of_small_counts(tmp_path, merged):
    assert codebook_of(merged).warnings == ()
    few = [[2, 50, 50], [2, 50, 50]]
    table = write_csv(tmp_path / "t.csv", "sx", rows_of(few, ("a", "b"), ("u", "v", "w")))
    made = design(table, Asked(("s",), ("x",)), ll.LIP(1.0))
    (warning,) = codebook_of(made).warnings
    assert "fewer than 5 times" in warning
    assert "1 value occurs" in warning
