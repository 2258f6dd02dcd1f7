"""Exported statements draw what `apply` draws: in the engines, and transpiled from other SQL."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import lowlift as ll
from lowlift._exports.carrying import carried
from lowlift._exports.checks import Check, limits_of
from lowlift._exports.dialects import DIALECTS
from lowlift._exports.files import Export
from lowlift._exports.statements import Statement
from lowlift.tables import open_table
from lowlift.tables.dialects import table_named
from lowlift.tables.sources import parse_postgres
from lowlift.workflow import Options, apply, design
from lowlift.workflow.columns import count
from lowlift.workflow.keys import subkey_text
from tables.test_records import COLUMNS, bins_of, mixing, neighbours, released_from, table_of

KEY = bytes(range(32))
WARDS = ["north", 'it\'s \\ "quoted"', "{{ x }} {% y %}", "é\n", "[null]", "null", None]
#: Spark needs minutes for both ways on a busy machine.
MILLION = [pytest.mark.second_lane, pytest.mark.timeout(900)]
TRANSPILED = ["bigquery", "snowflake", "redshift", "trino", "spark"]
KEPT = {"keep": ["id"], "accept_uncovered": True}


def people(rows, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.integers(-5, 90, rows)
    return {
        "id": ("integer", rng.permutation(rows).tolist()),
        "ill": ("text", np.where(rng.random(rows) * 120 < age, "yes", "no").tolist()),
        "age": ("integer", age.tolist()),
        "ward": ("text", [WARDS[k] for k in rng.integers(0, len(WARDS), rows)]),
    }


def run(store, program, source, subkey):
    """Return the rows of a statement in the engine that a table was put into."""
    if store.name == "duckdb":
        with duckdb.connect() as connection:
            connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{source}')")
            connection.execute(f"SET VARIABLE lowlift_subkey = '{subkey}'")
            return connection.execute(program.text).fetchall()
    if store.name == "postgres":
        import psycopg

        name = parse_postgres(source).name[-1]
        with psycopg.connect(store.server) as connection:
            connection.execute("SELECT set_config('lowlift.subkey', %s, true)", [subkey])
            connection.execute(f'CREATE TEMP VIEW given AS SELECT * FROM "{name}"')
            return connection.execute(program.text.encode()).fetchall()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    session.read.parquet(source).createOrReplaceTempView("given")
    text = program.text.rstrip().rstrip(";")
    target = store.target()  # rows by way of a file: Python gets a million of them slowly
    try:
        session.sql(text, args={"lowlift_subkey": subkey}).write.parquet(target)
    finally:
        session.catalog.dropTempView("given")
    return store.read(target)


def applied(store, release, source, **options):
    target = store.target()
    options = {"id": "id", "key": KEY, "keep": ("id",), "accept_uncovered": True} | options
    options |= {"accept_unchecked": True}
    apply(source, release, target, Options(**options), engine=store.engine)
    return store.read(target)


def test_every_kind_of_column_is_drawn_as_apply_draws_it(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the receipt of a database's table goes here
    source = store.put(few(table_of(1)))
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    for channel, encoding in ((mixing, "codes"), (neighbours, "values")):
        release, _ = released_from(source, store.engine, channel, encoding, bins)
        program = ll.export(release, "sql", dialect=store.name, table="given", id="id", **KEPT)
        drawn = run(store, program, source, subkey_text(release, KEY))
        assert Counter(drawn) == Counter(applied(store, release, source))


def test_settings_of_a_server_change_no_draw(stores, tmp_path, monkeypatch):
    """As a database or a role may have them, which `apply` sets for itself."""
    settings = ("datestyle=German", "standard_conforming_strings=off", "timezone=Asia/Tokyo")
    monkeypatch.setenv("PGOPTIONS", " ".join(f"-c {each}" for each in settings))
    test_every_kind_of_column_is_drawn_as_apply_draws_it(stores("postgres"), tmp_path, monkeypatch)


@pytest.mark.parametrize("dialect", TRANSPILED)
def test_other_dialects_draw_the_same_when_transpiled_to_duckdb(files, dialect):
    source = files.put(few(table_of(2)))
    bins = {name: bins for name in COLUMNS if (bins := bins_of(name)[1])}
    for channel, encoding in ((mixing, "codes"), (neighbours, "values")):
        release, _ = released_from(source, None, channel, encoding, bins)
        program = ll.export(release, "sql", dialect=dialect, table="given", id="id", **KEPT)
        drawn = run_transpiled(program.text, dialect, source, subkey_text(release, KEY))
        wanted = Counter(map(without_uuid, applied(files, release, source)))
        assert Counter(map(without_uuid, drawn)) == wanted


def few(table, rows=100):
    return {name: (kind, values[:rows]) for name, (kind, values) in table.items()}


def without_uuid(row):
    return tuple(str(value) if isinstance(value, UUID) else value for value in row)


SPARK_TYPE = """spark_type(value) AS CASE typeof(value) WHEN 'VARCHAR' THEN 'string'
    WHEN 'UUID' THEN 'string' WHEN 'TIMESTAMP' THEN 'timestamp_ntz' ELSE lower(typeof(value)) END"""
#: What DuckDB calls otherwise than the other warehouses.
MACROS = [
    "from_base(digits, base) AS CAST(concat('0x', digits) AS BIGINT)",
    "bitwise_right_shift(value, bits) AS value >> bits",
    "fail(text) AS error(text)",
    "raise_error(text) AS error(text)",
    SPARK_TYPE,
]


def run_transpiled(text, dialect, source, subkey):
    """Run a statement of another warehouse in DuckDB; what sqlglot does not know is replaced."""
    tree = sqlglot.parse_one(text, read=dialect)
    for node in list(tree.walk()):
        other = in_duckdb(node, subkey)
        if other is not None:
            node.replace(other)
    with duckdb.connect() as connection:
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro}")
        connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{source}')")
        return connection.execute(tree.sql("duckdb")).fetchall()


def in_duckdb(node, subkey):
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Placeholder | exp.Parameter) or name == "CURRENT_SETTING":
        return exp.Literal.string(subkey)
    if isinstance(node, exp.Typeof):  # Spark's names
        return exp.Anonymous(this="SPARK_TYPE", expressions=[node.this])
    if isinstance(node, exp.ToNumber) or name == "CONV":
        digits = node.this if isinstance(node, exp.ToNumber) else node.expressions[0]
        return exp.Anonymous(this="FROM_BASE", expressions=[digits, exp.Literal.number(16)])
    if isinstance(node, exp.ByteLength) or name == "OCTET_LENGTH":
        value = node.this if isinstance(node, exp.ByteLength) else node.expressions[0]
        return exp.Anonymous(this="STRLEN", expressions=[value])
    if isinstance(node, exp.Length) and isinstance(node.this, exp.Encode):
        return exp.Anonymous(this="STRLEN", expressions=[node.this.this])
    if isinstance(node, exp.Div) and isinstance(node.this.unnest(), exp.Sub):
        return exp.IntDiv(this=node.this, expression=node.expression)  # whole numbers, no rest
    if isinstance(node, exp.Cast) and node.to.is_type("binary", "varbinary"):
        return node.this  # DuckDB digests the bytes of a text, and casts no other than ASCII
    if isinstance(node, exp.DataType) and node.expressions:
        return exp.DataType(this=node.this)  # VARCHAR(MAX)
    return None


@pytest.fixture(scope="module")
def released():
    """A release of two columns whose law is that of an optimal mechanism."""
    frame = pd.DataFrame({name: values for name, (_, values) in people(20_000).items()})
    schema = ll.Schema("ill", ["age", "ward"], bins={"age": "width:10"})
    method = {"mechanism": "random-response", "encoding": "values", "time_limit": 3}
    return design(frame, schema, ll.LIP(0.3), **method).encoded.release


@pytest.mark.parametrize("rows", [10_000, pytest.param(1_000_000, marks=MILLION)])
def test_a_large_table_is_drawn_bit_by_bit_as_apply_draws_it(
    store, released, rows, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    table = people(rows, seed=2)
    del table["ill"]  # other rows than those of the design
    source = store.put(table)
    program = ll.export(released, "sql", dialect=store.name, table="given", id="id", **KEPT)
    drawn = run(store, program, source, subkey_text(released, KEY))
    assert len(drawn) == rows
    assert sorted(drawn, key=last) == sorted(applied(store, released, source), key=last)
    if rows == 10_000:
        other = run(store, program, source, subkey_text(released, KEY[::-1]))
        assert sorted(other, key=last) != sorted(drawn, key=last)


def last(row):
    return row[-1]


SMALL = {
    "id": ("integer", [1, 2, 3, 4]),
    "ill": ("text", ["y", "n", "n", "n"]),
    "ward": ("text", ["a", "a", "b", "b"]),
}


def small(store, missing="value", channel=None):
    """A release on a table of four rows, by mixing or the given channel."""
    source = store.put(SMALL)
    with open_table(source, store.engine) as table:
        joint, _ = count(table, ll.Schema("ill", ["ward"], missing=missing))
    weights = [[3, 1], [1, 3]] if channel is None else channel
    release = ll.Release.of(joint, ll.Channel(weights), ll.MaxLift(700.0))
    return release.with_table(replace(joint.origin, encoding="codes"))


@pytest.mark.parametrize(
    ("change", "missing", "message"),
    [
        ({"ward": ("text", ["a", "c", "b", "b"])}, "value", "must have been seen at design"),
        ({"ward": ("text", ["a", None, "b", "b"])}, "value", "must have been seen at design"),
        ({"ward": ("text", ["a", None, "b", "b"])}, "error", "every value must be present"),
        ({"id": ("integer", [1, 1, None, 4])}, "value", "1 missing and 1 repeated ones in 4 rows"),
        ({}, "value", "must be 40 digits of 0-9 and a-f, in lower case; got 39 characters"),
    ],
)
def test_every_engine_refuses_what_apply_refuses(store, change, missing, message):
    release = small(store, missing)
    source = store.put(SMALL | change)
    program = ll.export(release, "sql", dialect=store.name, table="given", id="id")
    subkey = subkey_text(release, KEY)[: 40 if change else 39]
    with pytest.raises(Exception, match=message):  # each engine has its own
        run(store, program, source, subkey)


@pytest.mark.parametrize("other", ["A", "g", "é"])
def test_a_subkey_of_other_letters_is_refused_by_what_it_must_be(store, other):
    program = ll.export(small(store), "sql", dialect=store.name, table="given", id="id")
    said = "0-9 and a-f, in lower case; of its 40 characters some are not"
    with pytest.raises(Exception, match=said):  # each engine has its own
        run(store, program, store.put(SMALL), "0" * 39 + other)


#: What a reader of files may make of line ends.
READERS = [lambda text: text.replace("\r\n", "\n").replace("\r", "\n")]
READERS += [lambda text: text.replace("\n", "\r\n")]
LINES = ["cr\rx", "\n", "a\r\nb\n", "plain"]


def lines(store, encoding):
    """A release of values with line ends, and the table of it."""
    source = store.put(SMALL | {"ward": ("text", LINES)})
    with open_table(source, store.engine) as table:
        joint, _ = count(table, ll.Schema("ill", ["ward"]))
    weights = [[3, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, 2], [0, 0, 1, 3]]
    release = ll.Release.of(joint, ll.Channel(weights, y_labels=joint.x_labels), ll.MaxLift(700.0))
    return release.with_table(replace(joint.origin, encoding=encoding)), source


@pytest.mark.parametrize("encoding", ["values", "codes"])
def test_a_reader_that_changes_line_ends_changes_no_value(store, encoding, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release, source = lines(store, encoding)
    program = ll.export(release, "sql", dialect=store.name, table="given", id="id", **KEPT)
    wanted = Counter(applied(store, release, source))
    for read in READERS:
        changed = Export({"a.sql": read(program.text)})
        assert Counter(run(store, changed, source, subkey_text(release, KEY))) == wanted


def test_a_server_that_reads_backslashes_as_escapes_reads_no_other_values(
    stores, tmp_path, monkeypatch
):
    """Nor a statement in a value, whose quote would be an escaped one."""
    import psycopg

    monkeypatch.chdir(tmp_path)
    store = stores("postgres")
    wards = ["\\'; DROP TABLE given; --", "\\n", "a\\", "\\\\"]
    source = store.put(SMALL | {"ward": ("text", wards)})
    with open_table(source) as table:
        joint, _ = count(table, ll.Schema("ill", ["ward"]))
    weights = [[3, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, 2], [0, 0, 1, 3]]
    release = ll.Release.of(joint, ll.Channel(weights, y_labels=joint.x_labels), ll.MaxLift(700.0))
    release = release.with_table(replace(joint.origin, encoding="values"))
    program = ll.export(release, "sql", dialect="postgres", table="given", id="id", **KEPT)
    wanted = Counter(applied(store, release, source))
    name = parse_postgres(source).name[-1]
    for setting in ("on", "off"):
        with psycopg.connect(store.server) as connection:
            connection.execute(f'CREATE TEMP VIEW given AS SELECT * FROM "{name}"')
            connection.execute(f"SET LOCAL standard_conforming_strings = {setting}")
            subkey = subkey_text(release, KEY)
            connection.execute(f"SET LOCAL lowlift.subkey = '{subkey}'")
            assert Counter(connection.execute(program.text.encode()).fetchall()) == wanted


@pytest.mark.parametrize("dialect", TRANSPILED)
def test_line_ends_are_no_characters_of_a_file_for_other_dialects(files, dialect):
    release, source = lines(files, "values")
    program = ll.export(release, "sql", dialect=dialect, table="given", id="id", **KEPT)
    wanted = Counter(applied(files, release, source))
    for read in READERS:
        found = run_transpiled(read(program.text), dialect, source, subkey_text(release, KEY))
        assert Counter(found) == wanted


def test_unseen_rows_can_be_left_out_and_missing_ones_are_as_designed(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = store.put(SMALL | {"ward": ("text", ["a", "c", None, "b"])})
    for missing, left in (("value", [1, 4]), ("drop", [1, 4])):
        release = small(store, missing)
        method = {"dialect": store.name, "table": "given", "id": "id", "unseen": "suppress"}
        program = ll.export(release, "sql", **method, **KEPT)
        drawn = run(store, program, source, subkey_text(release, KEY))
        assert sorted(row[-1] for row in drawn) == left
        assert Counter(drawn) == Counter(applied(store, release, source, unseen="suppress"))


def test_a_release_that_draws_nothing_needs_no_id_and_no_key(store):
    release = small(store, channel=[[1, 0], [0, 1]])
    program = ll.export(release, "sql", dialect=store.name, table="given", **KEPT)
    assert "sha" not in program.text.lower()
    drawn = run(store, program, store.put(SMALL), "")
    assert sorted(drawn, key=last) == [(0, 1), (0, 2), (1, 3), (1, 4)]


@pytest.mark.parametrize("kind", ["text", "uuid"])
def test_ids_may_be_texts_or_uuids(store, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [str(UUID(int=k << 90 | 0xABCDEF)) for k in range(4)]
    texts = ["é", "", " a ", "it's \\"]
    release = small(store)
    source = store.put(SMALL | {"id": (kind, ids if kind == "uuid" else texts)})
    program = ll.export(release, "sql", dialect=store.name, table="given", id="id", **KEPT)
    drawn = run(store, program, source, subkey_text(release, KEY))
    assert Counter(drawn) == Counter(applied(store, release, source))


def test_the_check_of_the_bound_agrees_in_every_engine(store):
    release = small(store)
    written = DIALECTS[store.name]
    statement = Statement(carried(release), written, table_named("given"), "id", written.subkey())
    worst = release.audit.max_lift_leakage
    for budget, is_broken in ((worst * (1 - 1e-13), True), (worst * (1 + 1e-13), False)):
        check = Check(statement, table_named("given"), limits_of(ll.MaxLift(budget)))
        text = check._with_tables(check._bound_fault()).sql(store.name, identify=True)
        found = run(store, Export({"check.sql": text}), store.put(SMALL), "")
        assert (found[0][0] > 0) == is_broken


def test_a_view_and_a_table_of_the_subkey(files):
    release = small(files)
    method = {"table": "given", "id": "id", "key_table": "hidden", "view": "main.safe"}
    program = ll.export(release, "sql", **method)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{files.put(SMALL)}')")
        connection.execute(f"CREATE TABLE hidden AS SELECT '{subkey_text(release, KEY)}' AS subkey")
        connection.execute(program.text)
        drawn = connection.execute("SELECT code FROM safe").fetchall()
    assert Counter(drawn) == Counter((row[0],) for row in applied(files, release, files.put(SMALL)))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("form", [{}, {"view": "v", "key_table": "k"}, {"dbt": True}])
def test_no_column_of_s_or_x_is_kept(files, dialect, form):
    """Not in another case either, in which an engine reads the same column."""
    table = SMALL | {"Ill since": ("date", ["2001-02-03"] * 4), "age": ("integer", [1, 5, 20, 30])}
    source = files.put(table)
    bins = {"age": "width:10", "Ill since": "month"}
    with open_table(source) as opened:
        joint, _ = count(opened, ll.Schema(["ill", "Ill since"], ["ward", "age"], bins=bins))
    channel = ll.Channel(np.eye(joint.n_x, dtype=int))
    release = ll.Release.of(joint, channel, ll.MaxLift(9.0))
    release = release.with_table(replace(joint.origin, encoding="codes"))
    method = {"dialect": dialect, "table": "given", "id": "id", "accept_uncovered": True} | form
    for name in ("ill", "ILL", "Ill", "Ill since", "ill Since", "ward", "Ward", "age", "AGE"):
        with pytest.raises(ll.InvalidInput, match=f"'{name}' is a column of S or X; it cannot be"):
            ll.export(release, "sql", keep=["id", name], **method)
    assert ll.export(release, "sql", keep=["id"], **method).text


def test_the_name_of_the_table_is_no_column_to_keep(files):
    """DuckDB and PostgreSQL read it as the whole row, with S."""
    release = small(files)
    for name in ("given", "Given"):
        method = {"keep": [name], "accept_uncovered": True, "table": "given", "id": "id"}
        program = ll.export(release, "sql", **method)
        with pytest.raises(duckdb.BinderException, match="does not have a column"):
            run(files, program, files.put(SMALL), subkey_text(release, KEY))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_view_needs_a_table_of_the_subkey_where_it_is_a_parameter(files, dialect):
    method = {"dialect": dialect, "table": "given", "view": "v"}
    release = small(files)
    if dialect in {"spark", "bigquery", "trino"}:
        with pytest.raises(ll.InvalidInput, match=r"from a table.*with key_table"):
            ll.export(release, "sql", id="id", **method)
    else:
        assert "CREATE VIEW" in ll.export(release, "sql", id="id", **method).text
    assert "CREATE VIEW" in ll.export(release, "sql", id="id", key_table="k", **method).text
    merged = small(files, channel=[[1, 0], [0, 1]])  # draws nothing, so needs no subkey
    assert "CREATE VIEW" in ll.export(merged, "sql", **method).text


def test_what_cannot_be_exported_is_refused(files, tmp_path):
    release = small(files)
    method = {"dialect": "duckdb", "table": "given", "id": "id"}
    for options, error, message in (
        ({"dialect": "oracle"}, ll.InvalidInput, "dialect must be one of duckdb"),
        ({"table": ""}, ll.InvalidInput, "must name the table"),
        ({"id": None}, ll.InvalidInput, "because this release draws"),
        ({"keep": ["id"]}, ll.BoundViolated, "cannot tell"),
        ({"keep": ["Code"], "accept_uncovered": True}, ll.InvalidInput, "different names"),
        ({"colour": "red"}, ll.InvalidInput, "got colour"),
        ({"model": "m"}, ll.InvalidInput, "for dbt"),
        ({"dbt": True, "view": "v"}, ll.InvalidInput, "not both"),
        ({"dbt": True, "model": "a b"}, ll.InvalidInput, "letters, digits and underscores"),
    ):
        with pytest.raises(error, match=message):
            ll.export(release, "sql", **(method | options))
    broken = ll.Release.of(release.joint, release.channel, ll.LIP(0.0)).with_table(release.origin)
    joint = ll.Joint.from_counts([[1, 2], [2, 1]])
    plain = ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(9.0))
    for given, error in ((broken, ll.BoundViolated), (plain, ll.InvalidInput)):
        with pytest.raises(error):
            ll.export(given, "sql", **method)
    with pytest.raises(ll.InvalidInput, match="32 bytes; got 31"):
        subkey_text(release, KEY[1:])
    made = ll.export(release, "sql", **method)
    made.write(tmp_path / "safe.sql")
    with pytest.raises(ll.InvalidInput, match="exists"):
        made.write(tmp_path / "safe.sql")
    made.write(tmp_path / "safe.sql", force=True)
    assert (tmp_path / "safe.sql").read_text("utf-8") == made.text
