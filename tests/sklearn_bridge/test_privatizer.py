"""What `LiftPrivatizer` publishes is what was audited, and nothing of S is in it."""

import math
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import lowlift as ll
from lowlift.errors import BoundViolated, InvalidInput, LowliftWarning
from lowlift.sklearn import LiftPrivatizer
from people import COUNTS, DISEASES, WARDS, rows_of

BOUND = ll.LIP(0.3)


@pytest.fixture(scope="module")
def people():
    """Disease by ward, with a year and an age that depend on the row's number only."""
    rows = rows_of(COUNTS, DISEASES, WARDS)
    number = np.arange(len(rows))
    return pd.DataFrame(
        {
            "disease": [s for s, _ in rows],
            "ward": [x for _, x in rows],
            "old": number % 3 == 0,
            "floor": (number % 4).astype(np.int8),
        },
        index=[f"p{k}" for k in number],
    )


@pytest.fixture(scope="module")
def wards(people):
    return people[["disease", "ward"]]


@pytest.fixture(scope="module")
def fitted(wards):
    return LiftPrivatizer("disease", BOUND).fit(wards)


# ---- the guarantee


@pytest.mark.parametrize("encoding", ["values", "codes", "groups"])
@pytest.mark.parametrize("mechanism", ["random-response", "subset-merging", "watchdog"])
def test_the_release_is_the_one_of_the_library_and_its_audit_is_exact(wards, encoding, mechanism):
    if encoding == "groups" and mechanism == "random-response":
        with pytest.raises(InvalidInput, match="groups need a channel that merges"):
            LiftPrivatizer("disease", BOUND, mechanism, encoding=encoding).fit(wards)
        return
    one = LiftPrivatizer("disease", BOUND, mechanism, encoding=encoding).fit(wards)
    joint = ll.read_joint(wards, "disease", "ward")
    assert joint.counts.tolist() == [list(row) for row in COUNTS]
    assert one.release_.joint.counts.tolist() == joint.counts.tolist()
    again = ll.audit(joint, one.encoded_.channel, BOUND)
    assert again.is_satisfied
    assert one.audit_.is_satisfied
    assert one.leakage_ == again.leakage
    assert one.nmi_ == again.nmi == one.encoded_.nmi
    assert one.share_changed_ == one.encoded_.share_changed


def test_what_is_published_follows_the_channel_row_by_row(wards, fitted):
    """Drawn from the operating system: the counts of each x's outputs against its weights."""
    published = fitted.transform(wards)
    channel = fitted.encoded_.channel
    names, drawn = list(fitted.release_.joint.x_labels), 0
    for x, ward in enumerate(names):
        share = channel.p_y_given_x[x]
        seen = published["ward"][wards["ward"] == ward].value_counts()
        counts = np.array([seen.get(label, 0) for label in fitted.encoded_.labels])
        assert counts[share == 0].sum() == 0
        expected = share[share > 0] * counts.sum()
        if len(expected) > 1:
            drawn += 1
            assert stats.chisquare(counts[share > 0], expected).pvalue > 1e-7
    assert drawn


def test_rows_keep_their_place_and_index_and_s_is_gone(people):
    one = LiftPrivatizer("disease", ll.LIP(9.0), bins={"floor": "each"}).fit(people)
    published = one.transform(people)
    assert published.columns.tolist() == ["ward", "old", "floor"]
    assert published.index.equals(people.index)
    assert one.share_changed_ == 0.0  # a bound that allows all: each row is its own
    pd.testing.assert_frame_equal(published, people[["ward", "old", "floor"]])


def test_types_are_kept_and_bins_become_text():
    table = pd.DataFrame(
        {
            "s": ["a", "b"] * 40,
            "kind": pd.Categorical(["u", "v", "v", "u"] * 20, categories=["v", "u"]),
            "small": pd.array([1, None, 3, 3] * 20, dtype="Int64"),
            "flag": pd.array([True, None] * 40, dtype="boolean"),
            "age": np.linspace(0.0, 50.0, 80),
            "word": pd.Series([None, "x", math.nan, "x"] * 20, dtype=object),
        }
    )
    one = LiftPrivatizer("s", ll.LIP(30.0), bins={"small": "each", "age": "width:10"})
    published = one.fit_transform(table)
    kept = ["kind", "small", "flag"]
    assert published[kept].dtypes.tolist() == table[kept].dtypes.tolist()
    assert set(published["age"]) <= {f"[{a}, {a + 10})" for a in range(0, 60, 10)}
    assert set(published["word"].dropna()) <= {"x"}
    assert one.release_.joint.n_x > 4


def test_a_missing_value_is_a_value_or_refused():
    table = pd.DataFrame({"s": ["a", "a", "b", None] * 10, "x": ["u", None, "u", math.nan] * 10})
    one = LiftPrivatizer("s", ll.LIP(9.0)).fit(table)
    assert set(one.release_.joint.x_labels) == {"u", None}
    assert None in one.release_.joint.s_labels
    with pytest.raises(InvalidInput, match="no value may be missing"):
        LiftPrivatizer("s", ll.LIP(9.0), missing="error").fit(table)
    whole = LiftPrivatizer("s", ll.LIP(9.0), missing="error").fit(table.dropna())
    with pytest.raises(InvalidInput, match="no value may be missing"):
        whole.transform(table)
    only = one.transform(pd.DataFrame({"x": pd.Series([None, None], dtype=object)}))
    assert len(only) == 2


def test_several_sensitive_columns_are_one_s_and_each_is_audited(people):
    one = LiftPrivatizer(["disease", "old"], BOUND, bins="each").fit(people)
    assert one.release_.joint.n_s == 6
    assert one.transform(people).columns.tolist() == ["ward", "floor"]


def test_a_column_of_s_that_is_not_protected_alone_is_refused():
    counts = ((2, 11), (2, 15), (9, 17), (11, 3))  # for L1 a pair may hide more than a column
    pairs = (("g", "p"), ("g", "q"), ("h", "p"), ("h", "q"))
    table = pd.DataFrame(
        [(*s, x) for s, x in rows_of(counts, pairs, ("u", "v"))], columns=["a", "b", "x"]
    )
    bound = ll.L1Lift(0.605, 9.0)
    with pytest.raises(BoundViolated, match="for each sensitive column alone"):
        LiftPrivatizer(["a", "b"], bound, encoding="codes").fit(table)


# ---- another table


def test_s_may_be_left_out_of_the_table_to_transform(wards, fitted):
    assert len(fitted.transform(wards[["ward"]])) == len(wards)


def test_with_s_in_it_the_bound_is_checked_on_that_table(wards):
    other = wards[(wards["disease"] != "asthma") | (wards["ward"] == "east")]
    one = LiftPrivatizer("disease", BOUND).fit(wards)
    with pytest.raises(BoundViolated, match="on this table the release does not satisfy LIP"):
        one.transform(other)
    one.set_params(on_violation="warn")
    with pytest.warns(LowliftWarning, match="Do not publish it"):
        assert len(one.transform(other)) == len(other)
    assert len(one.set_params(on_violation="ignore").transform(other)) == len(other)
    assert len(one.set_params(on_violation="raise").transform(wards)) == len(wards)


def test_one_of_two_sensitive_columns_is_checked_too(people):
    one = LiftPrivatizer(["disease", "old"], BOUND, columns=["ward"]).fit(people)
    other = people[(people["disease"] != "asthma") | (people["ward"] == "east")]
    with pytest.raises(BoundViolated, match="on this table"):
        one.transform(other.drop(columns="old"))


def test_unseen_values_are_refused_or_stand_for_the_most_common(wards, fitted):
    other = pd.DataFrame({"ward": ["attic", "east", "cellar"]})
    with pytest.raises(InvalidInput, match="2 of 3 rows have an unseen one") as caught:
        fitted.transform(other)
    assert "attic" not in str(caught.value)
    one = clone(fitted).set_params(unseen="most_common", random_state=3).fit(wards)
    common = wards["ward"].mode()[0]
    same = pd.DataFrame({"ward": [common, "east", common]})
    pd.testing.assert_frame_equal(one.transform(other), one.transform(same))


def test_unseen_rows_count_in_the_check_as_what_they_are_published_as(wards):
    one = LiftPrivatizer("disease", BOUND, unseen="most_common").fit(wards)
    strange = pd.DataFrame({"disease": ["cholera"] * 4000, "ward": ["attic"] * 4000})
    with pytest.raises(BoundViolated, match="on this table"):
        one.transform(pd.concat([wards, strange]))


def test_other_columns_or_kinds_are_refused(wards, fitted):
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(wards.assign(more=1))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(wards[["disease"]])
    with pytest.raises(InvalidInput, match="must be of kind text, as at design"):
        fitted.transform(pd.DataFrame({"ward": [1, 2]}))


# ---- where S comes from


def test_s_may_be_the_target_a_column_or_given_beside(wards):
    by_column = LiftPrivatizer("disease", BOUND).fit(wards)
    by_target = LiftPrivatizer("y", BOUND).fit(wards[["ward"]], wards["disease"])
    beside = LiftPrivatizer(criterion=BOUND).fit(
        wards[["ward"]], sensitive_features=wards["disease"].to_numpy()
    )
    for one in (by_target, beside):
        assert one.release_.joint.counts.tolist() == by_column.release_.joint.counts.tolist()
        assert one.nmi_ == by_column.nmi_
        assert len(one.transform(wards[["ward"]])) == len(wards)


def test_a_column_named_y_is_not_taken_for_the_target():
    table = pd.DataFrame({"y": ["a", "b"] * 9, "x": ["u", "v", "v"] * 6})
    with pytest.raises(InvalidInput, match="must not have a column 'y'"):
        LiftPrivatizer("y", BOUND).fit(table, ["a"] * 18)
    assert LiftPrivatizer(["y"], BOUND).fit(table).get_feature_names_out().tolist() == ["x"]


def test_whole_numbers_in_s_are_taken_one_by_one_and_reals_need_bins():
    x = pd.DataFrame({"x": ["u", "v"] * 30})
    by_floats = LiftPrivatizer("y", BOUND, bins="width:10").fit(x, [0.0, 1.0, 2.0] * 20)
    assert by_floats.release_.joint.s_labels == (0, 1, 2)
    with pytest.raises(InvalidInput, match=r"'y' is numeric \(real\) and must have declared bins"):
        LiftPrivatizer("y", BOUND, bins="width:10").fit(x, np.linspace(0, 1, 60))
    binned = LiftPrivatizer("y", BOUND, bins={"y": [0.5]}).fit(x, np.linspace(0, 1, 60))
    assert binned.release_.joint.s_labels == ("< 0.5", ">= 0.5")


def test_s_reaches_a_pipeline_by_metadata_routing(wards):
    with config_context(enable_metadata_routing=True):
        one = LiftPrivatizer(criterion=BOUND).set_fit_request(sensitive_features=True)
        model = make_pipeline(one, OneHotEncoder(), LogisticRegression())
        target = np.arange(len(wards)) % 2
        model.fit(wards[["ward"]], target, sensitive_features=wards["disease"])
    assert model[0].release_.joint.s_labels == DISEASES


# ---- containers


def test_frames_come_back_as_what_they_were(wards):
    one = LiftPrivatizer("disease", BOUND, random_state=1)
    by_pandas = one.fit_transform(wards)
    frame = pl.from_pandas(wards)
    by_polars = one.fit_transform(frame)
    assert isinstance(by_polars, pl.DataFrame)
    assert by_polars["ward"].to_list() == by_pandas["ward"].tolist()
    by_array = one.set_params(sensitive="x0").fit_transform(wards.to_numpy())
    assert isinstance(by_array, np.ndarray)
    assert by_array[:, 0].tolist() == by_pandas["ward"].tolist()
    assert one.get_feature_names_out().tolist() == ["x1"]
    assert one.get_feature_names_out(["ill", "place"]).tolist() == ["place"]
    by_lists = one.fit_transform(wards.to_numpy().tolist())
    assert by_lists.tolist() == by_array.tolist()


def test_whole_numbers_that_may_be_missing_stay_whole_in_another_library():
    x = pl.DataFrame({"s": ["a", "b"] * 20, "n": [1, None, 2, 2] * 10})
    made = LiftPrivatizer("s", bins={"n": "each"}, criterion=ll.LIP(1.0), encoding="values")
    published = made.set_output(transform="pandas").fit_transform(x)
    assert str(published["n"].dtype) == "Int64"


def test_polars_types_are_kept():
    frame = pl.DataFrame(
        {
            "s": ["a", "b"] * 30,
            "kind": pl.Series(["u", "v", None] * 20, dtype=pl.Enum(["v", "u"])),
            "small": pl.Series([1, 2, 2] * 20, dtype=pl.UInt8),
        }
    )
    published = LiftPrivatizer("s", ll.LIP(9.0), bins="each").fit_transform(frame)
    assert published.schema == frame.drop("s").schema
    assert published.equals(frame.drop("s"))


def test_categories_that_no_output_has_are_not_published():
    """They may be those of rows that were left out, such as of one person."""
    known = ["v", "u", "only one person"]
    rows = {"s": ["a", "b"] * 30, "kind": ["u", "v", "v"] * 20}
    frames = [
        pd.DataFrame(rows | {"kind": pd.Categorical(rows["kind"], known, ordered=True)}),
        pl.DataFrame(rows | {"kind": pl.Series(rows["kind"], dtype=pl.Enum(known))}),
    ]
    for frame in frames:
        dtype = LiftPrivatizer("s", ll.LIP(9.0)).fit_transform(frame)["kind"].dtype
        assert list(dtype.categories) == ["v", "u"]
        assert getattr(dtype, "ordered", True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_chooses_the_frame(people, library):
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library]
    inputs = {
        "pandas": people,
        "polars": pl.from_pandas(people),
        "array": people.to_numpy(),
    }
    for name, table in inputs.items():
        sensitive, floor = ("x0", "x3") if name == "array" else ("disease", "floor")
        one = LiftPrivatizer(sensitive, ll.LIP(9.0), bins={floor: "each"})
        published = one.set_output(transform=library).fit_transform(table)
        assert isinstance(published, kind)
        assert list(published.columns) == one.get_feature_names_out().tolist()
        assert list(published[one.get_feature_names_out()[0]]) == people["ward"].tolist()
    with config_context(transform_output=library):
        assert isinstance(LiftPrivatizer("disease", BOUND, bins="each").fit_transform(people), kind)


def test_codes_and_groups_are_one_column(people):
    table = people.assign(code=pd.Categorical(people["ward"])).drop(columns=["ward", "floor"])
    codes = LiftPrivatizer("disease", BOUND, encoding="codes")
    published = codes.fit_transform(table)
    assert published.columns.tolist() == codes.get_feature_names_out().tolist() == ["code"]
    assert published["code"].dtype == np.int64
    assert set(published["code"]) <= set(range(codes.encoded_.channel.n_y))
    groups = LiftPrivatizer(
        "disease", ll.LIP(0.1), "optimal-merging", encoding="groups", columns=["code"]
    )
    published = groups.fit_transform(table)
    assert set(published["code"]) == set(groups.encoded_.texts)
    assert any(text.startswith("{") for text in groups.encoded_.texts)


def test_whole_numbers_in_an_array_stay_whole_numbers():
    table = np.array([[0, 1], [0, 2], [1, 1], [1, 2], [1, 2]] * 20)
    one = LiftPrivatizer("x0", ll.LIP(0.1), bins="each")
    assert one.fit_transform(table).dtype == np.int64
    named = pd.DataFrame(table)  # columns 0 and 1: no names
    assert one.fit_transform(named).dtype == np.int64
    assert not hasattr(one, "feature_names_in_")


# ---- draws


def test_a_seed_repeats_and_none_does_not(wards):
    seeded = LiftPrivatizer("disease", BOUND, random_state=np.int64(5)).fit(wards)
    pd.testing.assert_frame_equal(seeded.transform(wards), seeded.transform(wards))
    pd.testing.assert_frame_equal(seeded.transform(wards), clone(seeded).fit_transform(wards))
    other = seeded.transform(wards)
    assert not other.equals(seeded.set_params(random_state=6).transform(wards))
    fresh = LiftPrivatizer("disease", BOUND).fit(wards)
    assert not fresh.transform(wards).equals(fresh.transform(wards))


@pytest.mark.parametrize("state", [-1, 0.5, "a", np.random.RandomState(0)])
def test_a_seed_must_be_a_whole_number(wards, state):
    with pytest.raises(InvalidInput, match="random_state must be None"):
        LiftPrivatizer("disease", BOUND, random_state=state).fit(wards)


def test_it_can_be_saved_and_loaded(tmp_path, people):
    one = LiftPrivatizer("disease", BOUND, bins="each", random_state=2).fit(people)
    joblib.dump(one, tmp_path / "privatizer.joblib")
    for again in (joblib.load(tmp_path / "privatizer.joblib"), pickle.loads(pickle.dumps(one))):
        pd.testing.assert_frame_equal(again.transform(people), one.transform(people))
        assert again.audit_.is_satisfied
        assert again.release_.fingerprint == one.release_.fingerprint


def test_the_release_can_be_applied_from_its_file(tmp_path, wards, fitted):
    fitted.release_.to_json(tmp_path / "release.json")
    release = ll.Release.from_json(tmp_path / "release.json")
    assert release.table["encoding"] == "values"
    assert release.audit.is_satisfied


# ---- with scikit-learn


def test_in_a_pipeline_a_search_and_a_column_transformer(people):
    target = people["ward"].isin(["east", "north"]).to_numpy() ^ (np.arange(len(people)) % 5 == 0)
    one = LiftPrivatizer("disease", BOUND, bins="each", unseen="most_common", random_state=0)
    model = make_pipeline(one, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(people, target)
    assert model.score(people.drop(columns="disease"), target) > 0.5
    model.set_params(liftprivatizer__on_violation="ignore")
    assert np.isfinite(cross_val_score(model, people, target, cv=2)).all()
    budgets = [ll.LIP(0.05), ll.LIP(2.0)]
    search = GridSearchCV(model, {"liftprivatizer__criterion": budgets}, cv=2, error_score="raise")
    assert search.fit(people, target).best_params_ == {"liftprivatizer__criterion": budgets[1]}
    both = ColumnTransformer(
        [("release", one, ["disease", "ward"]), ("code", OneHotEncoder(), ["floor"])],
        sparse_threshold=0,
    )
    assert both.fit_transform(people).shape == (len(people), 5)
    assert both.get_feature_names_out()[0] == "release__ward"


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": None}, "criterion must be one of"),
        ({"criterion": ll.LIP}, r"Write LIP\(0\.5\)"),
        ({"sensitive": None}, "fit must know S"),
        ({"sensitive": "illness"}, "must be one of the table's .*; got 'illness'"),
        ({"columns": ["ward", "wing"]}, "must be one of the table's .*; got 'wing'"),
        ({"columns": ["ward", "disease"]}, "either sensitive or released"),
        ({"mechanism": "best"}, "mechanism must be one of auto"),
        ({"encoding": "text"}, "encoding must be one of codes"),
        ({"missing": "drop"}, "missing must be one of value, error"),
        ({"unseen": "suppress"}, "unseen must be one of error, most_common"),
        ({"on_violation": True}, "on_violation must be one of raise"),
        (
            {"bins": None},
            r"'floor' is numeric \(integer\) and must have declared bins; got none\. Declare them",
        ),
        ({"bins": {"floor": 3}}, "must be edges, or a text"),
        ({"bins": {"floor": "narrow"}}, "bins of 'floor' must be edges .*; got 'narrow'"),
        (
            {"bins": {"floor": "each", "ward": "each"}},
            "only columns of numbers or dates may have bins",
        ),
        ({"bins": {"floor": "each", "roof": "each"}}, "'roof' is neither"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(people, parameters, message):
    given = {"sensitive": "disease", "criterion": BOUND, "bins": "each"} | parameters
    with pytest.raises(InvalidInput, match=message):
        LiftPrivatizer(**given).fit(people)


def test_bins_from_the_data_warn(people):
    table = people.assign(age=np.linspace(0, 90, len(people)))[["disease", "age"]]
    with pytest.warns(LowliftWarning, match="'age' are quantiles of the data"):
        LiftPrivatizer("disease", BOUND, bins="quantiles:4").fit(table)


def test_tables_that_cannot_be_read_are_refused(wards):
    one = LiftPrivatizer("disease", BOUND)
    with pytest.raises(InvalidInput, match="upper and lower case"):
        one.fit(wards.assign(WARD="a"))
    with pytest.raises(InvalidInput, match="Collect it first"):
        one.fit(pl.from_pandas(wards).lazy())
    with pytest.raises(ValueError, match="2-dimensional container"):
        one.fit(wards["ward"])
    with pytest.raises(InvalidInput, match="must have rows"):
        one.fit(wards.iloc[:0])
    with pytest.raises(InvalidInput, match="released columns: name at least one"):
        one.fit(wards[["disease"]])
    with pytest.raises(InvalidInput, match="sensitive_features must be left out"):
        one.fit(wards, sensitive_features=wards["disease"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LiftPrivatizer("y", BOUND).fit(wards[["ward"]], ["a"])
    with pytest.raises(NotFittedError):
        LiftPrivatizer("y", BOUND).transform(wards)
