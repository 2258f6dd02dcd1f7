"""`sanitize` reads its input three times at most: one count, one hash, one pass to draw rows."""

import pytest

import lowlift as ll
from lowlift.tables import engines, open_table
from lowlift.tables.engines import duckdb as duckdb_engine
from lowlift.workflow import Asked, Options, apply, design, sanitize
from people import COUNTS, DISEASES, WARDS, rows_of

ASKED, BOUND = Asked(("disease",), ("ward",)), ll.LIP(0.4)


def given(size=None):
    rows = rows_of(COUNTS, DISEASES, WARDS)[:size]
    return {
        "disease": ("text", [s for s, _ in rows]),
        "ward": ("text", [x for _, x in rows]),
        "pid": ("integer", range(len(rows))),
    }


class Reads:
    """Statements that read all of the input, as the engine's connection gets them."""

    def __init__(self):
        self.counts, self.draws, self.hashes = 0, 0, 0

    def note(self, text, source):
        """A query that stops after one row, or asks for names and types, is no reading."""
        if source not in text or text.startswith(("DESCRIBE", "CREATE TEMP VIEW", "SELECT 1 ")):
            return
        words = text.lower()
        if "sha256" in words or "sha2(" in words or "count(" not in words:
            self.draws += 1
        else:
            self.counts += 1


@pytest.fixture
def reads(monkeypatch, store):
    """Count at the connection of the real engine."""
    found = Reads()
    real_digest = engines.digest_of_files
    inputs = []

    def digest(paths):
        found.hashes += any(str(path.resolve()) in inputs for path in paths)
        return real_digest(paths)

    monkeypatch.setattr(engines, "digest_of_files", digest)
    if store.name == "duckdb":
        real = duckdb_engine.Sandbox.run

        def run(self, query, values=None):
            text = query if isinstance(query, str) else query.sql(dialect="duckdb")
            if inputs and self.about == inputs[1]:
                found.note(text, '"source"')
            return real(self, query, values)

        monkeypatch.setattr(duckdb_engine.Sandbox, "run", run)
    elif store.name == "postgres":
        from lowlift.tables.engines.postgres import Session

        real = Session.execute

        def execute(self, text, values=()):
            if inputs:
                found.note(" ".join(text.split()), inputs[1])
            return real(self, text, values)

        monkeypatch.setattr(Session, "execute", execute)
        real_copy = Session.copy_out

        def copy_out(self, query, file):
            if inputs:
                found.note(query.sql(dialect="postgres"), inputs[1])
            return real_copy(self, query, file)

        monkeypatch.setattr(Session, "copy_out", copy_out)
    else:
        from lowlift.tables.engines.spark import Spark

        real_query, names = Spark.query, {}

        def query(self, query, values=None):
            # The first table of an engine is its input; a copy of it comes later. The engine is
            # kept, so that no other gets its number.
            _, first = names.setdefault(id(self), (self, getattr(self, "table", None)))
            if first is not None:
                found.note(query.sql(dialect="spark"), first.name)
            return real_query(self, query, values)

        monkeypatch.setattr(Spark, "query", query)
    return found, inputs


def named(store, source):
    """Return the input's path, and the name by which statements and sandboxes call it."""
    from pathlib import Path
    from urllib.parse import unquote

    if store.name == "postgres":
        return [source, unquote(source.partition("&table=")[2])]
    return [str(Path(source).resolve()), Path(source).name]


WAYS = {
    "fresh": Options(),
    "keyed": Options(id="pid", key=bytes(32)),
    "kept": Options(keep=("pid",), accept_uncovered=True),
    "keyed and kept": Options(id="pid", key=bytes(32), keep=("pid",), accept_uncovered=True),
}
#: Counts of the input, and passes over its rows: DuckDB and Spark copy what is read again.
#: PostgreSQL counts on the server, S by X and with kept columns; then it sends the rows, with
#: their ids, which are checked here.
EXPECTED = {
    "fresh": {"postgres": (1, 0), "other": (1, 0)},
    "keyed": {"postgres": (1, 1), "other": (0, 1)},
    "kept": {"postgres": (2, 1), "other": (0, 1)},
    "keyed and kept": {"postgres": (2, 1), "other": (0, 1)},
}


def check_reads(found, store, way):
    by_engine = EXPECTED[way]
    assert (found.counts, found.draws) == by_engine.get(store.name, by_engine["other"])
    assert found.hashes == (0 if store.name == "postgres" else 1)
    assert found.counts + found.draws + found.hashes <= 3


@pytest.mark.parametrize("way", WAYS)
def test_sanitize_reads_its_input_three_times_at_most(store, reads, tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    found, inputs = reads
    source = store.put(given())
    inputs[:] = named(store, source)
    is_keyed = "keyed" in way
    made = sanitize(
        source,
        ASKED,
        BOUND,
        store.target(),
        WAYS[way],
        mechanism="random-response" if is_keyed else "subset-merging",
        encoding="values" if is_keyed else None,
        time_limit=5,
        engine=store.engine,
    )
    assert made.verification.is_ok
    check_reads(found, store, way)


@pytest.mark.parametrize("way", WAYS)
def test_apply_reads_its_input_three_times_at_most(store, reads, tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    found, inputs = reads
    source = store.put(given())
    made = design(
        source, ASKED, BOUND, mechanism="random-response", time_limit=5, engine=store.engine
    )
    inputs[:] = named(store, source)
    found.counts = found.draws = found.hashes = 0
    apply(source, made.release, store.target(), WAYS[way], engine=store.engine)
    check_reads(found, store, way)


def test_opening_reads_one_row(store):
    with open_table(store.put(given(50)), store.engine) as table:
        assert "rows" not in vars(table)
        assert table.rows == 50
        assert table.count([table.column("ward")]).rows == 50


def test_an_empty_table_is_refused(store):
    with pytest.raises(ll.InvalidInput, match="must have rows"):
        open_table(store.put(given(0)), store.engine)
