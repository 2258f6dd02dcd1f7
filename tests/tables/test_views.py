"""A view that gives other rows each time it is read: what is published was counted and audited."""

import secrets
from urllib.parse import quote

import duckdb
import pytest

import lowlift as ll
from lowlift.tables import open_table
from lowlift.workflow import Asked, Options, sanitize

ASKED = Asked(("disease",), ("ward",))
#: One person in three has the flu; the ward is drawn anew for each query.
VIEW = (
    "CREATE VIEW {name} AS SELECT i AS pid, i % 2 AS year, "
    "CASE WHEN i % 3 = 0 THEN 'flu' ELSE 'cold' END AS disease, "
    "CASE WHEN {random} THEN 'a' ELSE 'b' END AS ward FROM {rows}"
)
WAYS = {
    "fresh": Options(),
    "kept": Options(keep=("year",), accept_uncovered=True),
    "keyed": Options(id="pid", key=bytes(32)),
}


def changing(store, tmp_path, request):
    """Make the view in the engine; return what open_table takes."""
    name = f"people_{secrets.token_hex(4)}"
    if store.name == "duckdb":
        database = tmp_path / "people.duckdb"
        with duckdb.connect(str(database)) as connection:
            connection.execute(
                VIEW.format(name=name, random="random() < 0.5", rows="range(3000) r(i)")
            )
        return f"{database}?table={name}"
    if store.name == "postgres":
        import psycopg

        rows = "generate_series(0, 2999) r(i)"
        with psycopg.connect(store.server) as connection:
            connection.execute(VIEW.format(name=name, random="random() < 0.5", rows=rows))
        return f"{store.server}&table={quote(name)}"
    # Spark's own rand() keeps its seed in a plan; Java's does not.
    random = "substr(reflect('java.util.UUID', 'randomUUID'), 1, 1) < '8'"
    text = VIEW.format(name=name, random=random, rows="(SELECT id AS i FROM range(3000)) AS r")
    spark = request.getfixturevalue("spark")
    spark.sql(text.replace("CREATE VIEW", "CREATE TEMP VIEW"))
    request.addfinalizer(lambda: spark.catalog.dropTempView(name))
    return name


@pytest.mark.parametrize("way", WAYS)
def test_what_is_published_of_a_changing_view_was_audited(
    store, tmp_path, monkeypatch, request, way
):
    monkeypatch.chdir(tmp_path)
    source, target = changing(store, tmp_path, request), store.target()
    with open_table(source, store.engine) as table:
        columns = [table.column("disease"), table.column("ward")]
        seen = {tuple(table.count(columns).counts) for _ in range(5)}
    assert len(seen) > 1

    def publish():
        return sanitize(
            source,
            ASKED,
            ll.LIP(1.0),
            target,
            WAYS[way],
            mechanism="watchdog",
            encoding="codes",
            engine=store.engine,
        )

    if store.name == "postgres" and way != "fresh":
        # The server reads the rows again; it holds no copy of them.
        with pytest.raises(ll.InvalidInput, match="read the same each time"):
            publish()
        assert not store.exists(target)
        assert list(tmp_path.iterdir()) == []
        return
    made = publish()
    release = made.design.release
    # Nothing is drawn, so that the published rows tell the counts that they were made from.
    counted = release.joint.counts.sum(axis=0)
    expected = {
        y: int(sum(counted[x] for x in release.channel.atom(y)[0]))
        for y in range(release.channel.n_y)
    }
    codes = [int(row[0]) for row in store.read(target)]
    assert len(expected) > 1
    assert {y: codes.count(y) for y in expected} == expected


@pytest.mark.parametrize("column", ["ward", "rowid"])
def test_a_view_is_told_from_a_table_whatever_its_columns_are_called(tmp_path, column):
    database = tmp_path / "people.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT i AS age, i AS {column} FROM range(9) r(i)"
        )
        connection.execute("CREATE VIEW shown AS FROM people")
    with open_table(f"{database}?table=people") as table:
        assert table.is_steady
    with open_table(f"{database}?table=shown") as table:
        assert not table.is_steady
