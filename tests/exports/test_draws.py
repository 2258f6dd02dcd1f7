"""Exported files draw what `OneRecord` draws, on releases of every kind."""

import functools
import hashlib
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lowlift as ll
from exports import driver
from exports.releases import as_json, release_of, releases
from exports.runtimes import KEY, Library, here, number, tagged
from lowlift._exports import javascript
from lowlift._exports.carrying import carried
from lowlift.tables import Column, Each, Edges, Width

IDS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=70),
    st.integers(-(2**70), 2**70),
    st.uuids().map(str),
)
KEYED = {"key": tagged("octets", KEY.hex())}


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(made=releases(), ids=st.lists(IDS, min_size=16, max_size=16))
def test_keyed_draws_are_bit_identical_on_random_releases(runtime, tmp_path, made, ids):
    release, records = made
    ids = [number(one) if isinstance(one, int) else one for one in ids]
    calls = [[record, KEYED | {"id": one}] for record, one in zip(records, ids, strict=False)]
    calls += [[record, KEYED | {"id": 7, "unseen": "suppress"}] for record in records]
    assert runtime.run(release, calls, tmp_path) == here(release, calls)


def people():
    """Return a release of two columns, 36 symbols and several outputs."""
    columns = [Column("age", "integer", Width(10)), Column("region", "text")]
    rows = [(k % 90, "news"[k % 4]) for k in range(360)]
    release = release_of(columns, rows, seed=5, encoding="values", bits=48)
    assert release.channel.n_y > 30
    return release


def digest_of(many, count):
    """Return the digest of what is drawn for so many people, 50,000 at a time."""
    found = hashlib.sha256()
    for start in range(0, count, 50_000):
        size = min(50_000, count - start)
        lines = many(start, size, KEY.hex())
        assert lines.count("\n") == size - 1
        found.update(lines.encode())
    return found.hexdigest()


@functools.cache
def digest_here(count):
    return digest_of(functools.partial(driver.many, Library(people())), count)


#: One process runs what is compared with a million draws of the library, which it makes once.
MILLION = [pytest.mark.second_lane, pytest.mark.timeout(900), pytest.mark.xdist_group("draws")]


@pytest.mark.parametrize(
    ("runtime", "count"),
    [
        ("node", 10_000),
        ("python", 10_000),
        pytest.param("node", 10**6, marks=MILLION),
        pytest.param("python", 10**6, marks=MILLION),
    ],
    indirect=["runtime"],
)
def test_many_keyed_draws_are_those_of_the_library(runtime, tmp_path, count):
    runtime.run(people(), [], tmp_path)
    assert digest_of(lambda *given: runtime.ask(many=given), count) == digest_here(count)


@pytest.mark.parametrize("count", [10_000, pytest.param(10**6, marks=MILLION)])
def test_many_keyed_draws_in_chromium(chromium, tmp_path, count):
    """A page that is opened from a file: the module inside it, and nothing else."""
    script = javascript.script(carried(people()))
    page = f"<!doctype html><script>{script}globalThis.module = {{ draw, InvalidInput }};</script>"
    (tmp_path / "page.html").write_text(page, "utf-8")
    tab = chromium.new_page()
    tab.goto((tmp_path / "page.html").as_uri())
    tab.add_script_tag(path=Path(__file__).parent / "calls.js")
    code = "(given) => globalThis.many(globalThis.module, ...given)"
    assert digest_of(lambda *given: tab.evaluate(code, given), count) == digest_here(count)
    tab.close()


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_few_places_so_that_many_draws_lie_on_a_threshold(runtime, tmp_path, bits):
    rows = [(x,) for x in "abcdef"]
    release = release_of([Column("x", "text")], rows, seed=bits, encoding="values", bits=bits)
    calls = [[{"x": "abcdef"[k % 6]}, KEYED | {"id": k}] for k in range(600)]
    assert runtime.run(release, calls, tmp_path) == here(release, calls)


def test_a_release_that_refines_another_is_drawn_by_its_pieces(runtime, tmp_path):
    rng = np.random.default_rng(4)
    joint = ll.Joint.from_counts(rng.integers(1, 40, (3, 6)), x_labels=list("abcdef"))
    columns = release_of([Column("ward", "text")], [(x,) for x in "abcdef"], encoding="codes")
    first = ll.random_response(joint.with_table(columns.origin), ll.LIP(0.2))
    second = ll.refine(first, ll.LIP(0.6)).release
    assert second.draws is not None
    calls = [[{"ward": "abcdef"[k % 6]}, KEYED | {"id": k}] for k in range(600)]
    calls.append([{"ward": "a"}, {}])
    found = runtime.run(second, calls, tmp_path)
    assert found == here(second, calls)
    assert "must be drawn given what that one published" in found[-1]["text"]
    codes = {result["code"] for result in found[:-1]}
    assert codes == set(range(second.channel.n_y))


def test_numbers_at_the_ends_of_their_range(runtime, tmp_path):
    edges = Edges((-(2**62), -1, 0, 2**53, 2**53 + 2, 2**62))
    whole = [
        0,
        -1,
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**53 + 2,
        2**62,
        -(2**62) - 1,
        2**128 - 1,
        -(2**127),
    ]
    column = Column("x", "integer", edges)
    release = release_of([column], [(v,) for v in whole], encoding="values", bits=20)
    calls = [[{"x": number(v)}, KEYED | {"id": number(v)}] for v in whole]
    calls += [[{"x": tagged("number", "-0")}, KEYED | {"id": tagged("number", "-0")}]]
    assert runtime.run(release, calls, tmp_path) == here(release, calls)
    reals = [0.3, 0.1 + 0.2, -0.0, 1e300, -1e300, 2.0**53 / 10, 0.7, 1.1, 5e-324, -5e-324]
    release = release_of(
        [Column("x", "real", Width(0.1))], [(v,) for v in reals], encoding="values"
    )
    calls = [[{"x": number(v)}, KEYED | {"id": k}] for k, v in enumerate([*reals, 10**300])]
    assert runtime.run(release, calls, tmp_path) == here(release, calls)


def test_big_whole_numbers_are_published_exactly(node, python, tmp_path):
    values = [2**53 + 1, -(2**62) - 1, 7]
    column = Column("x", "integer", Each())
    release = release_of([column], [(v,) for v in values], encoding="groups")
    identity = ll.Release.of(release.joint, ll.Channel.identity(release.joint), ll.MaxLift(50.0))
    origin = release_of([column], [(v,) for v in values], encoding="values").origin
    release = identity.with_table(origin)
    calls = [[{"x": number(v)}, {}] for v in values]
    wanted = [{"x": number(v)} for v in values]
    for runtime in (node, python):
        assert runtime.run(release, calls, tmp_path) == wanted


def test_values_are_published_in_the_types_of_the_language(node, tmp_path):
    days = [date(1, 1, 1), date(2024, 2, 29)]
    release = release_of([Column("d", "date")], [(d,) for d in days], encoding="values", bits=0)
    calls = [[{"d": as_json(d)}, {}] for d in days]
    assert node.run(release, calls, tmp_path) == here(release, calls)
